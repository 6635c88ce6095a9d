"""A process that adds numbered things until it is killed: the victim of `kills`.

It says on stdout, a line each and never buffered: `ready`; `try NUMBER` before an add;
`ok NUMBER RECEIPT USER` when `add()` returned. On stdin it is asked `RECEIPT USER` and
says `seen RECEIPT STATUS`. SIGTERM closes it properly.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from benchmarks_perf.floors import die_with_parent
from hmem import AsyncMemory, Config, HmemError
from hmem.testing.fakes import HashEmbedder

TASKS = 8
SHARDS = 4
LEASE = 0.5
DIM = 32


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


def config(folder: str, *, worker: Any = "inline") -> Config:
    """How every process opens the folder."""
    return Config(path=folder, shards=SHARDS, lease=LEASE, worker=worker)


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


def say(*words: str) -> None:
    """One line, in one write: it arrives whole or not at all."""
    os.write(1, (" ".join(words) + "\n").encode())


async def adder(mem: AsyncMemory, prefix: str, pause: float) -> None:
    """Add without end."""
    n = 0
    while True:
        n += 1
        what = thing(f"{prefix}-{n}")
        say("try", what.number)
        say("ok", what.number, await add(mem, what), what.user_id)
        await asyncio.sleep(pause)


async def answers(mem: AsyncMemory) -> None:
    """Look receipts up as asked."""
    async for line in _lines():
        receipt, user = line.split()
        try:
            found = await mem.receipt(receipt, user_id=user)
            say("seen", receipt, found.status)
        except HmemError as e:
            say("seen", receipt, e.code)


async def _lines() -> AsyncIterator[str]:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        yield line.decode()


async def main(folder: str, name: str, pause: float) -> None:
    """Open, add and answer until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with AsyncMemory(config(folder), embedder=HashEmbedder(DIM)) as mem:
        say("ready")
        tasks = [
            asyncio.create_task(adder(mem, f"{name}-{task}", pause))
            for task in range(TASKS)
        ]
        answering = asyncio.create_task(answers(mem))
        stopped = asyncio.create_task(stop.wait())
        done, _ = await asyncio.wait(
            [stopped, *tasks], return_when=asyncio.FIRST_COMPLETED
        )
        for task in (*tasks, answering, stopped):
            task.cancel()
        for task in done - {stopped}:
            task.result()  # an adder never ends by itself: show why


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
