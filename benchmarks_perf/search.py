"""A warm search beside the same arithmetic on bare arrays, a hop and a page-cache read.

python -m benchmarks_perf.search [--json] [--quick] [--users 4000] [--rounds 1500]

One user has 200 facts and 400 turns (d=384), once among 100 and once among 4,000 others in
one shard; both stores are open side by side and everything is measured in turn. FTS5's
bm25() over the same texts stands beside it, so that the choice not to use it stays shown.
"""

import asyncio
import os
from argparse import Namespace
from pathlib import Path

from benchmarks_perf import floors
from benchmarks_perf.bare import Bare, same_rows
from benchmarks_perf.floors import Json, Lists, clock, ms, ratio, timed, us, worked
from benchmarks_perf.fts import Fts
from benchmarks_perf.houses import (
    FACTS,
    ME,
    OTHERS,
    TURNS,
    House,
    K,
    open_house,
    questions,
    read,
)
from benchmarks_perf.people import Writer
from hmem.rank import Ask, rank, rank_and_judge
from hmem.rank.replaced import replaced
from hmem.retrieve import _hit
from hmem.scoring import Weights

WARM_UP = 20


async def warm(
    houses: tuple[House, House], disk: floors.Disk, asks: list[Ask], rounds: int
) -> Json:
    """Searches, their parts and the floors, in turn."""
    small, large = houses
    view, weights = await small.view(), Weights()
    bare, t = Bare(view, weights), Lists()
    for n in range(-WARM_UP, rounds):
        if n == 0:
            t.clear()
        ask = asks[n % len(asks)]
        assert ask.vector is not None
        with worked(t["search_cpu"]):
            await clock(t["search"], small.search(ask))
        await clock(t["large"], large.search(ask))
        terms = ask.terms.tolist()
        with worked(t["bare_cpu"]), timed(t["bare"]):
            bare.search(ask.vector, terms, K)
        await clock(t["hop"], small.hop())
        t["pread"].append(disk.pread())
        with timed(t["read_ask"]):
            read(ask.query, ask.vector)
        await clock(t["delta"], small.store.delta(ME, view.mark))
        with timed(t["rank"]):
            found, _ = rank_and_judge(view, ask, ask.vector, weights)
        with timed(t["hits"]):
            older = replaced(view, ask)
            for one in found:
                _hit(view, one, view.table(one.kind).passage(one.doc), older)
    p50 = {name: us(seconds)["p50"] for name, seconds in t.items()}
    parts = {name: p50[name] for name in ("read_ask", "delta", "rank", "hits")}
    return {
        "search_us": us(t["search"]),
        "bare_us": us(t["bare"]),
        "hop_us": us(t["hop"]),
        "pread_100k_us": us(t["pread"]),
        "search_over_bare": ratio(t["search"], t["bare"]),
        "search_cpu_us": us(t["search_cpu"]),
        "bare_cpu_us": us(t["bare_cpu"]),
        "search_cpu_over_bare": ratio(t["search_cpu"], t["bare_cpu"]),
        "search_over_hop": ratio(t["search"], t["hop"]),
        "search_over_pread": ratio(t["search"], t["pread"]),
        "search_over_bare_and_hop": round(
            p50["search"] / (p50["bare"] + p50["hop"]), 2
        ),
        "rank_over_bare": ratio(t["rank"], t["bare"]),
        "parts_us": parts | {"rest": round(p50["search"] - sum(parts.values()), 1)},
        "bare_finds_the_same_rows": same_rows(bare, view, asks, weights),
        "users": [small.others, large.others],
        "large_us": us(t["large"]),
        "large_over_small": ratio(t["large"], t["search"]),
    }


async def after_add(house: House, asks: list[Ask], rounds: int) -> Json:
    """A search right after an add (its turn waits for its vector), after the job has
    ended (its vector is new), and one after that, in turn. Needs a worker."""
    t, writer = Lists(), Writer(9)
    for n in range(rounds):
        ask = asks[n % len(asks)]
        receipt = await house.mem.add(writer.round(), user_id=ME, session_id="now")
        for name in ("after_add", "after_job", "warm"):
            await clock(t[name], house.search(ask))
            await receipt
    return {name: us(seconds) for name, seconds in t.items()} | {
        "after_add_over_warm": ratio(t["after_add"], t["warm"]),
        "after_job_over_warm": ratio(t["after_job"], t["warm"]),
        "words_per_add": 100,
    }


async def cold(house: House, disk: floors.Disk, rounds: int) -> Json:
    """Searches that have to load the view: with the file in the page cache, and not."""
    t = Lists()
    for _ in range(rounds):
        house.retriever.forget(ME)
        await clock(t["cached"], house.view())
        house.retriever.forget(ME)
        _drop_from_cache(house.path)
        await clock(t["uncached"], house.view())
        await clock(t["warm"], house.view())
        t["pread"].append(disk.pread_cold())
    view = await house.view()
    return {
        "load_ms": ms(t["cached"]),
        "load_uncached_ms": ms(t["uncached"]),
        "warm_view_ms": ms(t["warm"]),
        "pread_100k_uncached_ms": ms(t["pread"]),
        "load_uncached_over_pread": ratio(t["uncached"], t["pread"]),
        "rows": len(view.turns) + len(view.facts),
        "view_bytes": view.nbytes,
    }


def _drop_from_cache(path: Path) -> None:
    """Have the kernel forget the pages of a file that are on the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


async def fts5(folder: Path, houses: tuple[House, House], asks: list[Ask]) -> Json:
    """The same questions, by words alone, to one FTS5 table and to hmem."""
    t = Lists()
    tables = [Fts(folder / f"fts-{house.others}.db", house.others) for house in houses]
    view, weights = await houses[0].view(), Weights()
    for ask in asks:
        for name, table in zip(("small", "large"), tables, strict=True):
            with timed(t[f"range_{name}"]):
                table.by_range(ask.query)
            with timed(t[f"column_{name}"]):
                table.by_column(ask.query)
        with timed(t["rank"]):
            rank(view, ask, None, weights)
    for table in tables:
        table.close()
    return {f"{name}_us": us(seconds) for name, seconds in t.items()} | {
        "range_large_over_small": ratio(t["range_large"], t["range_small"]),
        "column_large_over_small": ratio(t["column_large"], t["column_small"]),
        "range_large_over_rank": ratio(t["range_large"], t["rank"]),
        "column_large_over_rank": ratio(t["column_large"], t["rank"]),
        "filled_s": [table.filled_s for table in tables],
    }


async def run(folder: Path, options: Namespace) -> Json:
    """Everything."""
    users = 400 if options.quick else options.users
    rounds = 200 if options.quick else options.rounds
    houses = (
        await open_house(folder / "small", 100),
        await open_house(folder / "large", users),
    )
    lively = await open_house(folder / "lively", 100, worker="inline")
    asks = questions(64)
    with floors.disk(folder) as disk, floors.quiet_gc():
        result = {
            "filled_s": [house.filled_s for house in houses],
            "rows": {"me": [FACTS, TURNS], "each_of_the_others": OTHERS},
            "warm": await warm(houses, disk, asks, rounds),
            "after_add": await after_add(lively, asks, rounds // 4),
            "cold": await cold(houses[0], disk, max(5, rounds // 50)),
            "fts5": await fts5(folder, houses, asks),
        }
    for house in (*houses, lively):
        await house.mem.aclose()
    return result


def main() -> None:
    """Run and print."""
    parser = floors.parser(__doc__)
    parser.add_argument("--users", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=1_500)
    options = parser.parse_args()
    with floors.workplace(options.folder) as folder:
        floors.report(asyncio.run(run(folder, options)), options)


if __name__ == "__main__":
    main()
