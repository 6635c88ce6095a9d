"""Accepting a round of 100 words: one adder, then 100 at once, at FULL and at NORMAL.

python -m benchmarks_perf.accept [--json] [--quick] [--rounds 1000] [--profile]

One adder stands beside one fdatasync of 4 KB in the same run; bursts of 100 adders on one
shard and on 16 take turns. Nobody works on the jobs (`worker="off"`), so that what is
timed is the accepting alone.
"""

import asyncio
import contextlib
import cProfile
import pstats
import time
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks_perf import floors
from benchmarks_perf.floors import (
    Json,
    Lists,
    clock,
    medians,
    ms,
    percentile,
    ratio,
    us,
)
from benchmarks_perf.inside import connection, hop
from benchmarks_perf.people import DIM, Writer
from hmem import AsyncMemory, Config
from hmem.config import Durability
from hmem.ingest import Intake
from hmem.inputs.scope import scope_of
from hmem.protocols import Accept
from hmem.saying import read_call
from hmem.stores import writes
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder
from hmem.times import utc_now

ADDERS = 100
Rounds = list[list[dict[str, str]]]
_PLAIN: Any = {"observed_at": None, "infer": True, "metadata": None, "key": None}
LEVELS: tuple[Durability, ...] = ("full", "normal")


class Place:
    """An open memory and its store."""

    def __init__(
        self, folder: Path, *, shards: int, durability: Durability, embedder: bool
    ) -> None:
        config = Config(
            path=folder,
            shards=shards,
            durability=durability,
            worker="off",
            embed="none",
        )
        self.store = EmbeddedStore(config)
        self.mem = AsyncMemory(
            config, store=self.store, embedder=HashEmbedder(DIM) if embedder else None
        )

    @property
    def commits(self) -> int:
        """Commits so far, over all shards."""
        return self.store.commits

    async def add(self, said: list[dict[str, str]], user: int) -> None:
        """One add by a user, in the session that the user has."""
        await self.mem.add(said, user_id=f"user-{user}", session_id="s")


@asynccontextmanager
async def places(
    folder: Path, shards: int, *, embedder: bool = False
) -> AsyncIterator[dict[str, Place]]:
    """One place per durability."""
    async with contextlib.AsyncExitStack() as stack:
        made: dict[str, Place] = {}
        for level in LEVELS:
            where = folder / f"{level}-{shards}-{embedder}"
            place = Place(where, shards=shards, durability=level, embedder=embedder)
            await stack.enter_async_context(place.mem)
            made[level] = place
        yield made


def write_rounds(n: int, seed: int) -> Rounds:
    """Rounds of 100 words, written beforehand."""
    writer = Writer(seed)
    return [writer.round() for _ in range(n)]


async def one_adder(folder: Path, disk: floors.Disk, n: int, *, embedder: bool) -> Json:
    """One add after the other, in turn with the floor."""
    t, said = Lists(), write_rounds(n, 1)
    async with places(folder, 1, embedder=embedder) as at:
        for i, words in enumerate(said):
            if i == 10:
                t.clear()
            for level in LEVELS:
                await clock(t[level], at[level].add(words, i % 20))
            t["fdatasync"].append(disk.fdatasync())
    over = percentile(t["full"], 50) - percentile(t["fdatasync"], 50)
    return {f"{name}_ms": ms(seconds) for name, seconds in t.items()} | {
        "full_less_fdatasync_ms": round(over * 1e3, 3),
        "full_over_fdatasync": ratio(t["full"], t["fdatasync"]),
        "full_over_normal": ratio(t["full"], t["normal"]),
    }


async def many_adders(
    folder: Path, shards: int, bursts: int, *, embedder: bool
) -> Json:
    """Bursts of 100 adders with ten adds each; FULL and NORMAL in turn."""
    found: dict[str, list[Json]] = {level: [] for level in LEVELS}
    took = Lists()
    async with places(folder, shards, embedder=embedder) as at:
        for burst in range(bursts + 1):
            said = write_rounds(10 * ADDERS, 100 + burst)
            for level in LEVELS:
                one = await _burst(at[level], said, took[level])
                if burst:
                    found[level].append(one)
                else:
                    took[level].clear()  # the first opens the shards
    return {
        level: medians(runs) | {"ms": ms(took[level])} for level, runs in found.items()
    }


async def _burst(place: Place, said: Rounds, took: list[float]) -> Json:
    commits, cpu, began = place.commits, time.process_time(), time.perf_counter()

    async def adder(n: int) -> None:
        for words in said[n::ADDERS]:
            await clock(took, place.add(words, n))

    await asyncio.gather(*(adder(n) for n in range(ADDERS)))
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    return {
        "accepts_per_commit": len(said) / max(1, place.commits - commits),
        "accepts_per_s": len(said) / wall,
        "cpu_us_per_accept": cpu / len(said) * 1e6,
    }


async def parts(folder: Path, n: int) -> Json:
    """What an accept is made of, step by step, in microseconds of the one thread that
    does it: reading the call, cutting and tokenising, and the store's own function."""
    place = Place(folder / "parts", shards=1, durability="normal", embedder=False)
    config = place.mem.config
    intake = Intake(config, embedder=None, clock=utc_now)
    t = Lists()
    async with place.mem:
        writer = await connection(place.store, write=True)
        for i, said in enumerate(write_rounds(n, 2)):
            scope = scope_of(user_id=f"user-{i % 20}", session_id="s")
            with floors.timed(t["read_call"]):
                call, _ = read_call(said, scope=scope, config=config, **_PLAIN)
            with floors.timed(t["intake"]):
                accept = intake.build(call, queue=False)

            def write(
                conn: Any, user: str = scope.user_id, it: Accept = accept
            ) -> None:
                conn.execute("BEGIN IMMEDIATE")
                with floors.timed(t["store_accept"]):
                    writes.accept(conn, user, it, writes.Room(1 << 30))
                with floors.timed(t["commit_normal"]):
                    conn.execute("COMMIT")

            await writer.run(write)
            await clock(t["hop"], hop(writer))
    return {f"{name}_us": us(seconds) for name, seconds in t.items()}


async def profile(folder: Path, top: int) -> Json:
    """Where the CPU goes for 2,000 accepts by 100 adders on one shard at NORMAL: on the
    loop's thread and on the connection's. Profiling makes all of it slower."""
    place = Place(folder / "profile", shards=1, durability="normal", embedder=False)
    said, found = write_rounds(2_000, 3), {}
    async with place.mem:
        await _burst(place, said[:200], [])
        writer = await connection(place.store, write=True)
        loop, thread = cProfile.Profile(), cProfile.Profile()
        await writer.run(lambda _: thread.enable())
        loop.enable()
        await _burst(place, said[200:], [])
        loop.disable()
        await writer.run(lambda _: thread.disable())
        for name, one in (("loop", loop), ("connection", thread)):
            found[name] = _top(one, len(said) - 200, top)
    return found


def _top(profiler: cProfile.Profile, accepts: int, top: int) -> list[Json]:
    stats: dict[Any, Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    rows = [
        {
            "function": f"{Path(file).stem}:{line}:{name}" if line else name,
            "own_us": round(own / accepts * 1e6, 1),
            "with_callees_us": round(total / accepts * 1e6, 1),
            "calls": round(calls / accepts, 1),
        }
        for (file, line, name), (_, calls, own, total, _) in stats.items()
    ]
    return sorted(rows, key=lambda row: -float(row["own_us"]))[:top]


async def run(folder: Path, options: Namespace) -> Json:
    """Everything."""
    n = 60 if options.quick else options.rounds
    bursts = 1 if options.quick else 7
    result: Json = {"words_per_add": 100, "adders": ADDERS}
    with floors.disk(folder) as disk, floors.quiet_gc():
        for name, embedder in (("no_embedder", False), ("hash_embedder", True)):
            place = folder / name
            result[name] = {
                "one_adder": await one_adder(place, disk, n, embedder=embedder),
                "on_1_shard": await many_adders(place, 1, bursts, embedder=embedder),
                "on_16_shards": await many_adders(place, 16, bursts, embedder=embedder),
            }
        result["parts"] = await parts(folder, n)
    if options.profile:
        result["profile"] = await profile(folder, 25)
    return result


def main() -> None:
    """Run and print."""
    parser = floors.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument(
        "--profile", action="store_true", help="list the dearest functions"
    )
    options = parser.parse_args()
    with floors.workplace(options.folder) as folder:
        floors.report(asyncio.run(run(folder, options)), options)


if __name__ == "__main__":
    main()
