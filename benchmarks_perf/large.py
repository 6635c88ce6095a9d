"""One user with 20,000 facts and 20,000 turns: searches, and those right after an add.

python -m benchmarks_perf.large [--json] [--quick] [--rows 20000] [--rounds 300]

Beside each search stands the cheapest scan of the same vectors that numpy has, and the
search of a user with 200 facts and 400 turns in the same store. What a search takes of the
processor tells more than how long it takes where others use the machine. A ticker shows
that the work is done off the loop.
"""

import asyncio
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks_perf import floors
from benchmarks_perf.floors import Json, Lists, clock, ms, ratio, timed, worked
from benchmarks_perf.houses import K, questions
from benchmarks_perf.people import DIM, Writer, person, plant, vectors
from hmem import AsyncMemory, Config
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder

WARM_UP = 3


async def fill(folder: Path, rows: int) -> None:
    """Two users in one shard."""
    store = EmbeddedStore(Config(path=folder, shards=1, durability="normal"))
    await store.open()
    space = await store.adopt_space(HashEmbedder(DIM).model, DIM)
    large = person(1, facts=rows, turns=rows)
    await plant(store, "large", large, space=space, turns_per_add=500)
    await plant(store, "small", person(2, facts=200, turns=400), space=space)
    await store.aclose()


async def searches(mem: AsyncMemory, rows: int, rounds: int) -> Json:
    """Both users and the scan, in turn; then adds, each followed by two searches."""
    t, asks = Lists(), questions(64)
    scanned = vectors(9, 2 * rows)

    async def search(name: str, user: str, n: int) -> None:
        ask = asks[n % len(asks)]
        given: Any = {"user_id": user, "vector": ask.vector, "k": K}
        with worked(t[f"{name}_cpu"]):
            await clock(t[name], mem.search(ask.query, **given))

    async with floors.ticking() as ticker:
        for n in range(-WARM_UP, rounds):
            if n == 0:
                t.clear()
                ticker.late.clear()
            await search("large", "large", n)
            await search("small", "small", n)
        late = list(ticker.late)
    for n in range(rounds):
        query: Any = asks[n % len(asks)].vector
        with timed(t["scan"]):
            np.vecdot(scanned, query)
    writer = Writer(9)
    for n in range(rounds // 3):
        receipt = await mem.add(
            writer.round(), user_id="large", session_id=f"n{n // 9}"
        )
        await search("after_add", "large", n)
        await receipt
        await search("after_job", "large", n + 1)
        await search("warm", "large", n + 2)
    parts = ("large", "small", "after_add", "after_job", "warm")
    times = {f"{name}_ms": ms(t[name]) for name in (*parts, "scan")}
    cpu = {f"{name}_cpu_ms": ms(t[f"{name}_cpu"]) for name in parts}
    return (
        times
        | cpu
        | {
            "large_over_scan": ratio(t["large"], t["scan"]),
            "large_cpu_over_small": ratio(t["large_cpu"], t["small_cpu"]),
            "after_add_over_warm": ratio(t["after_add"], t["warm"]),
            "after_add_cpu_over_warm": ratio(t["after_add_cpu"], t["warm_cpu"]),
            "after_job_cpu_over_warm": ratio(t["after_job_cpu"], t["warm_cpu"]),
            "lag_while_searching_ms": ms(late),
        }
    )


async def run(folder: Path, options: Namespace) -> Json:
    """Everything."""
    rows = 2_000 if options.quick else options.rows
    rounds = 60 if options.quick else options.rounds
    await fill(folder / "large", rows)
    config = Config(path=folder / "large", worker="inline")
    idle = await floors.idle_lag(0.5)
    async with AsyncMemory(config, embedder=HashEmbedder(DIM)) as mem:
        loads: list[float] = []
        await clock(loads, mem.search("hello there", user_id="large"))
        with floors.quiet_gc():
            found = await searches(mem, rows, rounds)
    return {
        "rows": {"facts": rows, "turns": rows},
        "first_search_ms": ms(loads),
        "idle_lag_ms": ms(idle),
    } | found


def main() -> None:
    """Run and print."""
    parser = floors.parser(__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    with floors.workplace(options.folder) as folder:
        floors.report(asyncio.run(run(folder, options)), options)


if __name__ == "__main__":
    main()
