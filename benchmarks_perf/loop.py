"""How late the event loop is with 1,000 searches, or 1,000 adds, under way at once.

python -m benchmarks_perf.loop [--json] [--quick] [--users 128]

A ticker wants to wake every 5 ms; how late it wakes is the lag. An idle loop's lag is
taken in the same run, in turn. Searches go to many users over 16 shards: all started in
one instant ("burst"), and kept at 1,000 under way ("steady"). Adds start on a new folder,
the opening of its files included; with the local model at work beside them where
HMEM_MINILM_DIR names its weights.
"""

import asyncio
import os
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from benchmarks_perf import floors
from benchmarks_perf.floors import Json, clock, ms
from benchmarks_perf.people import DIM, Writer, crowd, vectors
from hmem import AsyncMemory, Config
from hmem.protocols import Embedder
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder

AT_ONCE = 1_000
REST = 0.5


class Load:
    """What was timed of one kind of load."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.calls: list[float] = []
        self.took = 0.0

    def report(self) -> Json:
        """Lag, the calls' own times, and how many a second."""
        return {
            "lag_ms": ms(self.late),
            "call_ms": ms(self.calls),
            "per_s": round(len(self.calls) / self.took),
        }


async def searches(folder: Path, users: int, repeats: int) -> Json:
    """1,000 searches at once, over and over."""
    config = Config(path=folder, worker="off")
    store = EmbeddedStore(config)
    await store.open()
    space = await store.adopt_space(HashEmbedder(DIM).model, DIM)
    await crowd(store, range(users), facts=200, turns=400, space=space)
    writer, asked = Writer(6), vectors(3, 256)
    questions = [writer.question() for _ in range(256)]
    idle: list[float] = []
    first, burst, steady = Load(), Load(), Load()
    async with AsyncMemory(config, store=store, embedder=HashEmbedder(DIM)) as mem:

        async def search(n: int, into: Load) -> None:
            vector: Any = asked[n % 256]
            user = f"crowd-{n % users}"
            await clock(
                into.calls,
                mem.search(questions[n % 256], user_id=user, vector=vector),
            )

        async def stay(n: int) -> None:
            for i in range(3):
                await search(7 * n + i, steady)

        with floors.quiet_gc():
            for load in (first, *[burst] * repeats):
                idle += await floors.idle_lag(REST)
                await _at_once(load, [search(n, load) for n in range(AT_ONCE)])
            for _ in range(repeats):
                idle += await floors.idle_lag(REST)
                await _at_once(steady, [stay(n) for n in range(AT_ONCE)])
    return {
        "users": users,
        "rows_per_user": [200, 400],
        "idle_lag_ms": ms(idle),
        "first_burst": first.report(),
        "burst": burst.report(),
        "steady": steady.report(),
    }


async def _at_once(load: Load, calls: list[Any]) -> None:
    async with floors.ticking() as ticker:
        began = time.perf_counter()
        await asyncio.gather(*calls)
        load.took += time.perf_counter() - began
    load.late += ticker.late


async def adds(folder: Path, embedder: Embedder, *, drain: bool) -> Json:
    """A new folder opened, 1,000 adds at once, and the work that they leave."""
    load, working, writer = Load(), Load(), Writer(11)
    said = [writer.round() for _ in range(AT_ONCE)]
    mem = AsyncMemory(Config(path=folder, worker="inline"), embedder=embedder)

    async def add(n: int) -> None:
        await clock(
            load.calls,
            mem.add(said[n], user_id=f"user-{n % 200}", session_id=f"s{n}"),
        )

    async def everything() -> None:
        await mem.open()
        await asyncio.gather(*(add(n) for n in range(AT_ONCE)))

    idle = await floors.idle_lag(REST)
    with floors.quiet_gc():
        await _at_once(load, [everything()])
        # What the adds left to do, for a while, with a few searches beside it.
        await _at_once(working, [_work(mem, working, 10.0 if drain else 2.0)])
    left = await mem.admin.queued()
    await mem.aclose(timeout=0.0)
    return {
        "embedder": embedder.model,
        "idle_lag_ms": ms(idle),
        "open_and_add": load.report(),
        "while_embedding": working.report(),
        "jobs_left": left,
    }


async def _work(mem: AsyncMemory, load: Load, seconds: float) -> None:
    writer, ends, n = Writer(12), time.perf_counter() + seconds, 0
    while time.perf_counter() < ends and await mem.admin.queued():
        n += 1
        user = f"user-{n % 200}"
        await clock(load.calls, mem.search(writer.question(), user_id=user))
        await asyncio.sleep(0.02)


async def run(folder: Path, options: Namespace) -> Json:
    """Everything."""
    users = 8 if options.quick else options.users
    repeats = 1 if options.quick else 8
    result = {
        "searches": await searches(folder / "searches", users, repeats),
        "adds": await adds(folder / "adds", HashEmbedder(DIM), drain=False),
    }
    if os.environ.get("HMEM_MINILM_DIR") and not options.quick:
        from hmem.embed.minilm import MiniLM  # noqa: PLC0415 - an extra

        model = await asyncio.to_thread(MiniLM.load)
        try:
            result["adds_minilm"] = await adds(folder / "minilm", model, drain=True)
        finally:
            await model.aclose()
    return result


def main() -> None:
    """Run and print."""
    parser = floors.parser(__doc__)
    parser.add_argument("--users", type=int, default=128)
    options = parser.parse_args()
    with floors.workplace(options.folder) as folder:
        floors.report(asyncio.run(run(folder, options)), options)


if __name__ == "__main__":
    main()
