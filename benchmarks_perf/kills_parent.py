"""The victims of `kills`, seen from outside."""

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path

PATIENCE = 20.0
_ROOT = Path(__file__).resolve().parent.parent


class Heard:
    """What all children said."""

    def __init__(self) -> None:
        self.tried: set[str] = set()
        self.acknowledged: dict[str, tuple[str, str]] = {}
        self.seen: list[tuple[str, str]] = []
        self.bad_exits: list[str] = []


class Child:
    """One process, and whether it may end with an error."""

    def __init__(self, process: asyncio.subprocess.Process, heard: Heard) -> None:
        self._process = process
        self._heard = heard
        self._is_ready = asyncio.Event()
        self._killed = False
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self._take(*line.decode().split())
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

    async def ready(self) -> None:
        """Until it is open."""
        await asyncio.wait_for(self._is_ready.wait(), PATIENCE)

    async def ask(self, receipts: Iterable[tuple[str, str]]) -> None:
        """Have it look up receipts."""
        assert self._process.stdin is not None
        lines = "".join(f"{receipt} {user}\n" for receipt, user in receipts)
        self._process.stdin.write(lines.encode())

    def kill(self) -> None:
        """kill -9."""
        self._killed = True
        if self._process.returncode is None:
            self._process.kill()

    def terminate(self) -> None:
        """SIGTERM."""
        if self._process.returncode is None:
            self._process.terminate()

    async def ended(self) -> None:
        """Until it is gone and all it said is heard. One that hangs is a bad exit."""
        try:
            code = await asyncio.wait_for(self._process.wait(), PATIENCE)
        except TimeoutError:
            self._heard.bad_exits.append("it hung")
            self._process.kill()
            code = await self._process.wait()
        await self._listening
        if not self._killed and code != 0:
            self._heard.bad_exits.append(f"it ended with {code}")


async def start(folder: Path, name: str, heard: Heard, *, pause: float) -> Child:
    """A process that adds under numbers that begin with `name`, two numbers."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks_perf.kills_child"),
        *(str(folder), name, str(pause)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=_ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    return Child(process, heard)
