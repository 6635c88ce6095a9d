"""A hundred thousand queries that nobody should ask, and words that have to be found.

    python -m bench.queries --queries 100000 --seed 1

No query may raise anything but an InputError for being blank; scores lie in 0..1, fall,
and are what their parts add up to. A row is among the best when it is asked for by its
word, whatever the script. No query may hold the event loop for long. Prints JSON; the exit
code is 1 when anything is wrong.
"""

import argparse
import asyncio
import json
import math
import random
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.holding import Held, holding
from bench.hostile import Hostile
from bench.planted import SCRIPTS, asked_by, planted
from bench.queries_kinds import Kinds
from hmem import AsyncMemory, Config, InputError
from hmem.records import Hit, SearchResult
from hmem.testing.fakes import HashEmbedder
from hmem.text import clean, words

USER = "maya"
TOP = 3  # places among which a planted row must be
HELD_MS = 5.0
_BEGAN = datetime(2024, 1, 3, 9, tzinfo=UTC)


class WordEmbedder(HashEmbedder):
    """Knows the words of all scripts and what no word means, and looks at the first ones
    alone, so that what is measured is hmem."""

    def __init__(self) -> None:
        super().__init__(256, model="test-words")

    @staticmethod
    def _words(text: str) -> list[str]:
        return words(text[:200])


@dataclass
class Tally:
    """What was seen. `wrong` is what must be empty."""

    queries: int = 0
    blank: int = 0
    wrong: list[str] = field(default_factory=list)
    hits: int = 0
    ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    held: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    degraded: Counter[str] = field(default_factory=Counter)


async def fill(mem: AsyncMemory, *, seed: int, turns: int) -> None:
    """A user of whom much of every kind is stored."""
    hostile = Hostile(random.Random(f"{seed} fill"))
    for n in range(turns // 5):
        at = _BEGAN + timedelta(days=n * 800 // max(1, turns // 5))
        labels = {"session_id": f"s{n % 9}", "agent_id": ("desk", "field")[n % 2]}
        said = [
            {
                "role": ("user", "assistant")[m % 2],
                "content": hostile.text((30, 120, 600)[m % 3]),
                "metadata": {"n": m},
            }
            for m in range(4)
        ]
        await mem.add(said, user_id=USER, observed_at=at, **labels)  # type: ignore[arg-type]
        fact = {
            "text": hostile.text(60)[:2_000],
            "event_start": at,
            "metadata": {"n": n % 3},
        }
        await mem.add([fact], user_id=USER, observed_at=at, infer=False)
    await mem.flush(timeout=120)


async def plant(mem: AsyncMemory) -> None:
    """The rows that have to be found, half of them said and half of them known."""

    async def put(n: int, text: str) -> None:
        known = n % 2 == 0
        await mem.add(
            [text],
            user_id=USER,
            session_id=None if known else f"p{n}",
            observed_at=_BEGAN + timedelta(hours=7 * n),
            infer=not known,
        )

    await asyncio.gather(*(put(n, one.text) for n, one in enumerate(planted())))
    await mem.flush(timeout=120)


async def fuzz(
    mem: AsyncMemory, count: int, *, seed: int, long: float, tally: Tally, held: Held
) -> None:
    """Ask what nobody should."""
    kinds = Kinds(random.Random(f"{seed} ask"))
    for n in range(count):
        kind, query = kinds.pick(long=long)
        options = kinds.options()
        explain = kinds.dice.random() < 0.5
        held.start()
        began = time.perf_counter()
        found = await _ask(mem, query, explain=explain, **options)
        tally.ms[kind].append((time.perf_counter() - began) * 1e3)
        computed = held.computed_ms
        for _ in range(
            2
        ):  # a collection of garbage, or another process, is not its own
            if computed > HELD_MS:
                held.start()
                await _ask(mem, query, explain=explain, **options)
                computed = min(computed, held.computed_ms)
        tally.held[kind] = max(tally.held[kind], computed)
        tally.wrong += [
            f"{seed}/{n} {kind}: {fault}"
            for fault in _judged(query, found, tally, explain=explain, options=options)
        ]


async def _ask(
    mem: AsyncMemory, query: str, **options: Any
) -> SearchResult | InputError | str:
    """The answer, the error that is meant for blank queries, or where another one was."""
    try:
        return await mem.search(query, user_id=USER, timeout=60, **options)
    except InputError as e:
        return e
    except Exception:  # noqa: BLE001 - any at all is what is looked for
        return " ".join(traceback.format_exc(limit=-2).splitlines()[-6:])


def _judged(
    query: str,
    found: SearchResult | InputError | str,
    tally: Tally,
    *,
    explain: bool,
    options: dict[str, Any],
) -> Iterator[str]:
    """What is wrong with what came of a query."""
    tally.queries += 1
    if isinstance(found, str):
        yield found
    elif isinstance(found, InputError):
        tally.blank += 1
        if "blank" not in str(found) or not is_blank(query):
            yield str(found)
    elif is_blank(query):
        yield "a blank query is answered"
    else:
        tally.hits += len(found)
        tally.degraded.update(found.degraded)
        yield from faults(found, explain=explain, options=options)


def is_blank(query: str) -> bool:
    """Whether nothing is left of a query that a store could hold."""
    return not clean(query).strip()


def faults(
    found: SearchResult, *, explain: bool, options: dict[str, Any]
) -> Iterator[str]:
    """What is wrong with an answer."""
    scores = [hit.score for hit in found]
    if not all(math.isfinite(s) and 0 <= s <= 1 + 1e-6 for s in scores):
        yield "a score outside of 0..1"
    if scores != sorted(scores, reverse=True):
        yield "not the best first"
    if len({hit.id for hit in found}) < len(found):
        yield "a row twice"
    if len(found) > options.get("k", 10):
        yield "more than k"
    if any(score < options.get("min_score", 0) for score in scores):
        yield "a score under min_score"
    if not all(_adds_up(hit) if explain else not hit.explain for hit in found):
        yield "parts that do not add up, or that nobody asked for"
    sure = found.answerability
    if sure is not None and not 0 <= sure <= 1:
        yield "answerability outside of 0..1"


def _adds_up(hit: Hit) -> bool:
    return abs(sum(hit.explain.values()) - hit.score) <= 1e-5


async def find(mem: AsyncMemory, *, seed: int, rounds: int) -> dict[str, Any]:
    """Of each script, how many of the questions for a word found a row that holds it."""
    dice = random.Random(f"{seed} find")
    asked: Counter[str] = Counter()
    lost: list[str] = []
    for _ in range(rounds):
        for one in planted():
            query = asked_by(one, dice)
            found = await mem.search(query, user_id=USER, k=TOP)
            asked[one.script] += 1
            if not any(one.word in hit.text for hit in found):
                lost.append(f"{one.script}: {query}")
    return {"asked": dict(asked), "lost": lost}


async def run(
    count: int, *, seed: int, turns: int = 400, rounds: int = 3, long: float = 0.02
) -> dict[str, Any]:
    """Fill a store and ask it."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder, holding() as held:
        config = Config(
            path=Path(folder) / "m",
            embed="none",
            durability="normal",
            query_embed_timeout=60.0,
        )
        async with AsyncMemory(config, embedder=WordEmbedder()) as mem:
            await fill(mem, seed=seed, turns=turns)
            await mem.search("a day in May", user_id=USER)  # loads what reads times
            began = time.perf_counter()
            await fuzz(mem, count, seed=seed, long=long, tally=tally, held=held)
            seconds = time.perf_counter() - began
            await plant(mem)
            found = await find(mem, seed=seed, rounds=rounds)
    return report(tally, found, seed=seed, seconds=seconds)


def report(
    tally: Tally, found: dict[str, Any], *, seed: int, seconds: float
) -> dict[str, Any]:
    """As one JSON object. `held_ms` is the longest step by kind, computing alone."""
    mean = {kind: fmean(ms) for kind, ms in tally.ms.items()}
    slowest = sorted(mean, key=mean.__getitem__, reverse=True)
    held = sorted(tally.held, key=tally.held.__getitem__, reverse=True)
    return {
        "seed": seed,
        "queries": tally.queries,
        "refused_as_blank": tally.blank,
        "hits": tally.hits,
        "degraded": dict(tally.degraded),
        "queries_a_second": round(tally.queries / seconds),
        "slowest_ms": {k: [round(mean[k], 2), round(max(tally.ms[k]), 1)] for k in slowest[:8]},
        "held_ms": {k: round(tally.held[k], 2) for k in held[:8]},
        "planted": found,
        "scripts": len(SCRIPTS),
        "wrong": len(tally.wrong) + len(found["lost"]),
        "examples": tally.wrong[:20],
        "seconds": round(seconds, 1),
    }  # fmt: skip


def main() -> int:
    """Run, print, and tell by the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.queries", description=__doc__
    )
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = asyncio.run(run(given.queries, seed=given.seed))
    print(json.dumps(found, indent=2, ensure_ascii=False))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
