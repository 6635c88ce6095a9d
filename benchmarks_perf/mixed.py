"""Searches while adds arrive: with the writer's connection, and with one of their own.

python -m benchmarks_perf.mixed [--json] [--quick] [--seconds 30] [--rate 500]

Two stores of one shard are open side by side, one whose reads share the writer's
connection and one whose reads have their own; slices of the load go to them in turn. Then
another process holds the write lock for 3 seconds, once for each.
"""

import asyncio
import contextlib
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks_perf import floors
from benchmarks_perf.floors import Json, clock, ms, ratio
from benchmarks_perf.inside import file_of
from benchmarks_perf.people import DIM, Writer, crowd, vectors
from hmem import AsyncMemory, Config
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder

ADDING = 1_024
SEARCHES_PER_S = 100
SLICE = 2.5
LOCKED = 3.0
HOLD = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
db.execute("ROLLBACK")
"""


class Side:
    """One of the two stores, and what was timed on it."""

    def __init__(self, folder: Path, users: int, *, separate: bool) -> None:
        self.users = users
        config = Config(path=folder, shards=1, worker="off")
        self.store = EmbeddedStore(config, separate_reader=separate)
        self.mem = AsyncMemory(config, store=self.store, embedder=HashEmbedder(DIM))
        self.quiet: list[float] = []
        self.search: list[float] = []
        self.accept: list[float] = []
        self.late: list[float] = []
        self._writer = Writer(4)
        self._rounds = [self._writer.round() for _ in range(2_000)]
        self._questions = [self._writer.question() for _ in range(256)]
        self._vectors = vectors(8, 256)
        self._n = 0

    async def open(self) -> None:
        """Fill and open; every view is loaded once."""
        await self.store.open()
        space = await self.store.adopt_space(HashEmbedder(DIM).model, DIM)
        await crowd(self.store, range(self.users), facts=200, turns=400, space=space)
        await self.mem.open()
        for n in range(self.users):
            await self.one_search(n)

    async def one_search(self, n: int) -> None:
        """The n-th search: users in turn."""
        vector: Any = self._vectors[n % 256]
        query = self._questions[n % 256]
        await self.mem.search(query, user_id=f"crowd-{n % self.users}", vector=vector)

    async def one_add(self, n: int) -> None:
        """The n-th add: to those who search, and to many more."""
        said = self._rounds[n % len(self._rounds)]
        user = f"crowd-{n % ADDING}"
        await self.mem.add(said, user_id=user, session_id=f"s{n // ADDING}")

    async def load(self, seconds: float, rate: float, into: list[float]) -> None:
        """Searches and, at `rate` a second, adds. Ends when all have been answered."""
        async with floors.ticking() as ticker, asyncio.TaskGroup() as group:
            group.create_task(_paced(SEARCHES_PER_S, seconds, self.one_search, into))
            if rate:
                adds = _paced(rate, seconds, self._next_add, self.accept)
                group.create_task(adds)
        if rate:
            self.late += ticker.late

    async def _next_add(self, _: int) -> None:
        self._n += 1
        await self.one_add(self._n)


async def _paced(
    rate: float,
    seconds: float,
    call: Callable[[int], Awaitable[None]],
    into: list[float],
) -> None:
    """Start `call(n)` `rate` times a second, whether earlier ones are done or not."""
    began, n = time.perf_counter(), 0
    async with asyncio.TaskGroup() as group:
        while (now := time.perf_counter() - began) < seconds:
            while n < now * rate:
                group.create_task(clock(into, call(n)))
                n += 1
            await asyncio.sleep(max(0.001, (n / rate) - now))


async def locked(side: Side, path: Path) -> Json:
    """Searches and adds while another process holds the write lock."""
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLD, str(path), str(LOCKED)), stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    searches: list[float] = []
    accepts: list[float] = []
    failed = 0

    async def add(n: int) -> None:
        nonlocal failed
        try:
            await clock(accepts, side.one_add(10_000_000 + n))
        except Exception:  # noqa: BLE001 - counted
            failed += 1

    async with asyncio.TaskGroup() as group:
        group.create_task(
            _paced(SEARCHES_PER_S, LOCKED - 0.2, side.one_search, searches)
        )
        group.create_task(_paced(50, LOCKED - 0.2, add, []))
        for_the_time = len(searches)
    await holder.wait()
    return {
        "held_s": LOCKED,
        "searches": len(searches) - for_the_time,
        "search_ms": ms(searches),
        "accept_ms": ms(accepts),
        "accepts_failed": failed,
    }


async def run(folder: Path, options: Namespace) -> Json:
    """Everything."""
    seconds, users = (2.5, 8) if options.quick else (options.seconds, 64)
    shared = Side(folder / "shared", users, separate=False)
    separate = Side(folder / "separate", users, separate=True)
    sides = {"shared": shared, "separate": separate}
    async with contextlib.AsyncExitStack() as stack:
        for side in sides.values():
            await side.open()
            stack.push_async_callback(side.mem.aclose)
        with floors.quiet_gc():
            idle = await floors.idle_lag(1.0)
            slices = max(1, round(seconds / SLICE))
            for _ in range(slices):
                for side in sides.values():
                    await side.load(SLICE / 5, 0, side.quiet)
                    await side.load(SLICE, options.rate, side.search)
            held = {
                name: await locked(side, file_of(folder / name))
                for name, side in sides.items()
            }
    return {
        "accepts_per_s": options.rate,
        "searches_per_s": SEARCHES_PER_S,
        "seconds_each": slices * SLICE,
        "users_searched": users,
        "rows_per_user": [200, 400],
        "idle_lag_ms": ms(idle),
        "separate_over_shared": ratio(separate.search, shared.search),
        **{
            name: {
                "search_ms": ms(side.search),
                "search_without_adds_ms": ms(side.quiet),
                "accept_ms": ms(side.accept),
                "loop_lag_ms": ms(side.late),
                "while_write_lock_is_held": held[name],
            }
            for name, side in sides.items()
        },
    }


def main() -> None:
    """Run and print."""
    parser = floors.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="for each side")
    parser.add_argument("--rate", type=float, default=500.0, help="accepts per second")
    options = parser.parse_args()
    with floors.workplace(options.folder) as folder:
        floors.report(asyncio.run(run(folder, options)), options)


if __name__ == "__main__":
    main()
