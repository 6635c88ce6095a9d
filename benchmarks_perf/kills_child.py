"""A process that adds numbered things until it is killed: the victim of `kills`.

It says, a line each and never buffered: `ready`; `try NUMBER` before an add; `ok NUMBER
RECEIPT USER` when `add()` returned; `refused` when a plan was. It is asked `RECEIPT USER` and says `seen RECEIPT
STATUS`. SIGTERM closes it properly.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from benchmarks_perf.floors import die_with_parent
from hmem import AsyncMemory, Config, HmemError
from hmem.protocols import Applied, WritePlan
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder

TASKS = 8
SHARDS = 4
LEASE = 0.5
MAX_ATTEMPTS = 20  # a job can be in work at many kills and still be no poison
DIM = 32


class Way(NamedTuple):
    """How a process works: seconds between two adds of a task, and of a lease."""

    pause: float
    lease: float = LEASE


class Thing(NamedTuple):
    """What is added under a number: the same in every process that is told the number."""

    number: str
    user_id: str

    @property
    def is_fact(self) -> bool:
        """Facts and raw rounds in turn."""
        return int(self.number.rsplit("-", 1)[1]) % 2 == 0

    @property
    def messages(self) -> Any:
        """What is handed to `add`."""
        if self.is_fact:
            return [{"text": f"Keeps box n{self.number}n in Ghent"}]
        return [
            {"role": "user", "content": f"I moved box n{self.number}n to Cork"},
            {"role": "assistant", "content": f"Noted: n{self.number}n is in Cork"},
        ]


def thing(number: str) -> Thing:
    """`WAVE-PROCESS-TASK-N`: tasks of all processes of a wave share users."""
    wave, _, task, _ = number.split("-")
    return Thing(number, f"w{wave}-u{int(task) % (TASKS // 2)}")


def config(folder: str, *, lease: float = LEASE) -> Config:
    """How every process opens the folder."""
    return Config(path=folder, shards=SHARDS, lease=lease, max_attempts=MAX_ATTEMPTS)


async def add(mem: AsyncMemory, what: Thing) -> str:
    """Add it under its number as key; the receipt's id."""
    receipt = await mem.add(
        what.messages,
        user_id=what.user_id,
        session_id=what.user_id,
        infer=not what.is_fact,
        idempotency_key=what.number,
    )
    return receipt.id


class Watched(EmbeddedStore):
    """A store that tells when a plan came too late: its lease was somebody else's."""

    def __init__(self, settings: Config, tell: Callable[[str], None]) -> None:
        super().__init__(settings)
        self._tell = tell

    async def apply(self, user_id: str, plan: WritePlan) -> Applied:
        """See `Store.apply`."""
        applied = await super().apply(user_id, plan)
        if applied.refused is not None:
            self._tell("refused")
        return applied


class Victim:
    """One process's work, from opening to the end."""

    def __init__(self, name: str, way: Way, mouth: Connection, ear: Connection) -> None:
        self._name = name
        self._way = way
        self._mouth = mouth
        self._ear = ear

    def _say(self, *words: str) -> None:
        """One line, in one write: it arrives whole or not at all."""
        os.write(self._mouth.fileno(), (" ".join(words) + "\n").encode())

    async def run(self, folder: str) -> None:
        """Open, add and answer until SIGTERM."""
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        settings = config(folder, lease=self._way.lease)
        embedder = HashEmbedder(DIM)
        store = Watched(settings, self._say)
        async with AsyncMemory(settings, store=store, embedder=embedder) as mem:
            self._say("ready")
            tasks = [asyncio.create_task(self._add(mem, n)) for n in range(TASKS)]
            answering = asyncio.create_task(self._answer(mem))
            stopped = asyncio.create_task(stop.wait())
            done, _ = await asyncio.wait(
                [stopped, answering, *tasks], return_when=asyncio.FIRST_COMPLETED
            )
            for task in (*tasks, answering, stopped):
                task.cancel()
            for task in done - {stopped}:
                task.result()  # none of them ends by itself: show why

    async def _add(self, mem: AsyncMemory, task: int) -> None:
        n = 0
        while True:
            n += 1
            what = thing(f"{self._name}-{task}-{n}")
            self._say("try", what.number)
            self._say("ok", what.number, await add(mem, what), what.user_id)
            await asyncio.sleep(self._way.pause)

    async def _answer(self, mem: AsyncMemory) -> None:
        async for line in self._questions():
            receipt, user = line.split()
            try:
                found = await mem.receipt(receipt, user_id=user)
                self._say("seen", receipt, found.status)
            except HmemError as e:
                self._say("seen", receipt, e.code)
        await asyncio.sleep(60)  # the parent is gone; so are we, soon

    async def _questions(self) -> AsyncIterator[str]:
        reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
        with os.fdopen(os.dup(self._ear.fileno()), "rb") as pipe:
            await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), pipe
            )
            while line := await reader.readline():
                yield line.decode()


def main(folder: str, name: str, way: Way, mouth: Connection, ear: Connection) -> None:
    """What the process runs."""
    die_with_parent()
    asyncio.run(Victim(name, way, mouth, ear).run(folder))
