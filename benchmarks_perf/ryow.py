"""Read your own writes: what was added is in the very next block, every time.

python -m benchmarks_perf.ryow [--json] [--quick] [--times 1000]

For a user with 200 facts and 400 turns: add a round, ask about it at once, by three of its
words and by none of them in turn, and look for a word of it that no question holds, in ten
hits and in a block of 1,000 tokens in turn. Once with an embedder that answers and a worker
in the same process, once with one that never answers (then every round waits for its
vector). The search after the add stands beside a warm one.
"""

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks_perf import floors
from benchmarks_perf.floors import Json, Lists, clock, ms, ratio
from benchmarks_perf.people import DIM, Writer, person, plant
from hmem import AsyncMemory, Config
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HangingEmbedder, HashEmbedder

ASKED = ("by its words", "by its words", "by none of them", "by none of them")
DEADLINE = 0.02
"""The embedder's share of a search's time (`Config.query_embed_timeout`), so that a
thousand searches that wait it out take less than a minute."""


async def times(folder: Path, n: int, *, hangs: bool) -> Json:
    """Add and ask, n times; then ask again."""
    config = Config(path=folder, shards=1, query_embed_timeout=DEADLINE)
    store = EmbeddedStore(config)
    await store.open()
    embedder = HangingEmbedder(DIM) if hangs else HashEmbedder(DIM)
    space = await store.adopt_space(embedder.model, DIM)
    await plant(store, "orla", person(1, facts=200, turns=400), space=space)
    t, missed, degraded = Lists(), dict.fromkeys(ASKED, 0), 0
    async with AsyncMemory(config, store=store, embedder=embedder) as mem:
        for i, (said, mark, questions) in enumerate(_rounds(n)):
            kind = ASKED[i % len(ASKED)]
            ask: Any = {"query": questions[kind], "user_id": "orla"}
            receipt = await clock(
                t["add"], mem.add(said, user_id="orla", session_id=f"s{i // 20}")
            )
            if i % 2:
                found = await clock(t["search"], mem.search(**ask))
                missed[kind] += not any(mark in hit.text for hit in found)
                degraded += bool(found.degraded)
            else:
                block = await clock(t["context"], mem.context(**ask))
                missed[kind] += mark not in block.text
            if not hangs:
                await receipt
            await clock(t["warm_search"], mem.search(**ask))
            await clock(t["warm_context"], mem.context(**ask))
        queued = await mem.admin.queued()
        await mem.aclose(timeout=0.0 if hangs else 5.0)
    return {
        "times": n,
        "missed": missed,
        "degraded": degraded,
        "jobs_left": queued,
        **{f"{name}_ms": ms(seconds) for name, seconds in t.items()},
        "search_after_add_over_warm": ratio(t["search"], t["warm_search"]),
        "context_after_add_over_warm": ratio(t["context"], t["warm_context"]),
        "embedder_deadline_ms": DEADLINE * 1e3,
    }


def _rounds(n: int) -> Iterator[tuple[list[dict[str, str]], str, dict[str, str]]]:
    """Rounds, a word that only the round has, and the questions about it."""
    writer = Writer(21)
    for i in range(n):
        said = writer.round()
        words = [w for w in said[0]["content"].split() if len(w) > 4][1:8:3]
        mark = f"zq{i}x"
        said[0]["content"] += f" And {mark} too."
        yield (
            said,
            mark,
            {
                "by its words": f"What was that about {' '.join(words)}?",
                "by none of them": "Which thing did I bring up just a moment ago?",
            },
        )


async def run(folder: Path, options: Namespace) -> Json:
    """Everything."""
    n = 100 if options.quick else options.times
    with floors.quiet_gc():
        return {
            "embedder_answers": await times(folder / "answers", n, hangs=False),
            "embedder_hangs": await times(folder / "hangs", n, hangs=True),
        }


def main() -> None:
    """Run and print."""
    parser = floors.parser(__doc__)
    parser.add_argument("--times", type=int, default=1_000)
    options = parser.parse_args()
    with floors.workplace(options.folder) as folder:
        floors.report(asyncio.run(run(folder, options)), options)


if __name__ == "__main__":
    main()
