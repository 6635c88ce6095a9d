"""The victims of `kills`, seen from outside.

They are forked from a server that has everything imported, holds no thread and no file of
ours, and so starts one in milliseconds.
"""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Iterable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from benchmarks_perf import kills_child

PATIENCE = 20.0


class Heard:
    """What all children said."""

    def __init__(self) -> None:
        self.tried: set[str] = set()
        self.acknowledged: dict[str, tuple[str, str]] = {}
        self.seen: list[tuple[str, str]] = []
        self.bad_exits: list[str] = []
        self.plans_refused = 0


class Child:
    """One process, and whether it may end with an error."""

    def __init__(
        self, process: ForkServerProcess, tell: Connection, heard: Heard
    ) -> None:
        self._process = process
        self._tell = tell
        self._heard = heard
        self._is_ready = asyncio.Event()
        self._may_end_with = {0}
        self._listening: asyncio.Task[None] | None = None

    def listen(self, to: Connection) -> None:
        """Take in what it says, to its end."""
        self._listening = asyncio.create_task(self._listen(to))

    async def _listen(self, to: Connection) -> None:
        reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
        with os.fdopen(os.dup(to.fileno()), "rb") as pipe:
            to.close()
            transport, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), pipe
            )
            while line := await reader.readline():
                self._take(*line.decode().split())
            transport.close()
        self._is_ready.set()  # nothing more will come

    def _take(self, verb: str, *words: str) -> None:
        if verb == "ready":
            self._is_ready.set()
        elif verb == "try":
            self._heard.tried.add(words[0])
        elif verb == "ok":
            self._heard.acknowledged[words[0]] = words[1], words[2]
        elif verb == "seen":
            self._heard.seen.append((words[0], words[1]))
        elif verb == "refused":
            self._heard.plans_refused += 1

    async def ready(self) -> None:
        """Until it is open."""
        await asyncio.wait_for(self._is_ready.wait(), PATIENCE)

    def ask(self, receipts: Iterable[tuple[str, str]]) -> None:
        """Have it look up receipts."""
        lines = "".join(f"{receipt} {user}\n" for receipt, user in receipts)
        os.write(self._tell.fileno(), lines.encode())

    def kill(self) -> None:
        """kill -9."""
        self._may_end_with = {-signal.SIGKILL}
        self._process.kill()

    def terminate(self) -> None:
        """SIGTERM. Before it is ready nobody heeds the signal yet."""
        if not self._is_ready.is_set():
            self._may_end_with.add(-signal.SIGTERM)
        self._process.terminate()

    async def ended(self) -> None:
        """Until it is gone and all it said is heard. One that hangs is a bad exit."""
        await asyncio.to_thread(self._process.join, PATIENCE)
        if self._process.exitcode is None:
            self._heard.bad_exits.append("it hung")
            self.kill()
            await asyncio.to_thread(self._process.join)
        code = self._process.exitcode
        self._process.close()
        self._tell.close()
        if self._listening is not None:
            await self._listening
        if code not in self._may_end_with:
            self._heard.bad_exits.append(f"it ended with {code}")


def start(folder: Path, name: str, heard: Heard, way: kills_child.Way) -> Child:
    """A process that adds under numbers that begin with `name`, two numbers."""
    hear, mouth = _context.Pipe(duplex=False)
    ear, tell = _context.Pipe(duplex=False)
    process = _context.Process(
        target=kills_child.main, args=(str(folder), name, way, mouth, ear)
    )
    process.start()
    mouth.close()
    ear.close()
    child = Child(process, tell, heard)
    child.listen(hear)
    return child


os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["benchmarks_perf.kills_child"])
