"""Thousands of context blocks over hostile memories, each checked with exact counts.

    python -m bench.blocks --blocks 5000 --seed 1

A block may not cost more than its cap or than it says by cl100k or o200k; its text is its
stable and its dynamic part; what it cites is there, shown, and nothing else is; no memory
begins a line of its own; and it is the same bytes again, with cold caches, and in a second
process that opens the store anew. Prints JSON; the exit code is 1 when anything is wrong.
"""

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import astuple, dataclass, field, fields
from datetime import timedelta
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.blocks_people import (
    ASKED,
    Question,
    fill,
    leave_waiting,
    questions,
    users,
)
from bench.tokens import count, count_o200k
from hmem import AsyncMemory, Config, budget
from hmem.records import Block, Episode, MemoryRecord
from hmem.render import packing
from hmem.testing.fakes import FrozenClock, HashEmbedder

HEADING = re.compile(r"\[\d{1,2} [A-Z][a-z]+ \d{4}\]")
LINE = re.compile(r"(\d+) (.*)")
_CUT = re.compile(" \u2026(?: |$)")
_SQUASHED = re.compile(r"[\W_]+")
_EDGE = 12  # characters of a line's two ends that must stand in its row
_COLD = 7  # one block in so many is asked for with cold caches, too
_ZONES = ("UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much to do: so many worlds (a store each) of people who are asked things, for
    blocks of at most `cap` tokens."""

    worlds: int
    people: int
    sessions: int
    asked: int
    cap: int = 8_000


@dataclass
class Tally:
    """What was seen. `wrong` is what must be empty: what, and which question of whom."""

    blocks: int = 0
    wrong: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    filled: list[float] = field(default_factory=list)
    over: list[float] = field(default_factory=list)
    slowest_ms: float = 0.0

    def report(self) -> dict[str, Any]:
        """As one JSON object."""
        return {
            "blocks": self.blocks,
            "wrong": len(self.wrong),
            "examples": self.wrong[:20],
            "seen": dict(sorted(self.seen.items())),
            "used_of_cap": round(fmean(self.filled), 3) if self.filled else None,
            "bound_over_exact": round(fmean(self.over), 3) if self.over else None,
            "slowest_ms": round(self.slowest_ms, 1),
        }


def memory(folder: Path, *, seed: int, clock: FrozenClock, worker: Any) -> AsyncMemory:
    """The store of a world."""
    config = Config(
        path=folder,
        embed="none",
        shards=1 + 3 * (seed % 2),
        durability="normal",
        worker=worker,
        profile=True,
        timezone=_ZONES[seed % len(_ZONES)],
        query_embed_timeout=60.0,
        receipt_days=36_500,  # the store's own clock is the machine's
    )
    return AsyncMemory(config, embedder=HashEmbedder(), clock=clock)


async def check_world(folder: Path, *, seed: int, size: Size, tally: Tally) -> None:
    """Fill a store, ask all questions, and ask them again in another process."""
    clock = FrozenClock(ASKED)
    people = users(seed, size.people)
    async with memory(folder, seed=seed, clock=clock, worker="inline") as mem:
        for user in people:
            await fill(mem, user, seed=seed, sessions=size.sessions, clock=clock)
    clock.now = _later()
    digests: list[str] = []
    async with memory(folder, seed=seed, clock=clock, worker="off") as mem:
        for n, question in enumerate(_shuffled(seed, size)[: size.asked]):
            await ask(mem, question)  # so that what comes next finds views to extend
            if n == len(people):
                break
        for user in people:
            await leave_waiting(mem, user, seed=seed)
        for n, question in enumerate(asked_in(seed, size)):
            digests.append(await _checked(mem, question, n, seed, tally))
    again = _in_another_process(folder, seed, size)
    for n, (one, other) in enumerate(zip(digests, again, strict=True)):
        if one != other:
            tally.wrong.append(f"other bytes in another process: {seed}/{n}")


def asked_in(seed: int, size: Size) -> list[Question]:
    """All questions of a world."""
    each = size.asked // size.people
    people = users(seed, size.people)
    return [
        q
        for user in people
        for q in questions(user, seed=seed, count=each, most=size.cap)
    ]


async def ask(mem: AsyncMemory, q: Question) -> Block:
    """The block that a question gets."""
    if q.verb == "context":
        return await mem.context(q.query, user_id=q.user, max_tokens=q.cap, **q.options)
    k = 1 + sum(map(ord, q.query[:9])) % 90
    found = await mem.search(q.query, user_id=q.user, k=k, **q.options)
    return found.block(max_tokens=q.cap)


def digest(block: Block) -> str:
    """Names all that a block holds."""
    cited = sorted(block.citations.items())
    whole = repr((block.text, block.stable, block.dynamic, block.tokens, cited))
    return sha256(whole.encode()).hexdigest()


async def _checked(
    mem: AsyncMemory, q: Question, n: int, seed: int, tally: Tally
) -> str:
    began = time.perf_counter()
    block = await ask(mem, q)
    tally.slowest_ms = max(tally.slowest_ms, (time.perf_counter() - began) * 1e3)
    tally.blocks += 1
    where = f"{seed}/{n} {q.user}"
    faults = [*of_cost(block, q.cap, tally), *of_form(block), *of_lines(block)]
    faults += [f async for f in of_citations(mem, block, q.user, tally)]
    named = digest(block)
    if digest(await ask(mem, q)) != named:
        faults.append("other bytes when asked again")
    if n % _COLD == 0:
        chill(mem)
        if digest(await ask(mem, q)) != named:
            faults.append("other bytes with cold caches")
    tally.wrong += [f"{fault}: {where}" for fault in faults]
    return named


def of_cost(block: Block, cap: int, tally: Tally) -> Iterator[str]:
    """What is wrong with how much a block costs."""
    exact = max(count(block.text), count_o200k(block.text))
    if exact > cap:
        yield "over the cap"
    if block.tokens > cap:
        yield "says that it is over the cap"
    if block.tokens < exact:
        yield "says that it costs less than it does"
    if exact > 100:
        tally.filled.append(exact / cap)
        tally.over.append(block.tokens / exact)
    tally.seen["stable"] += bool(block.stable)
    tally.seen["dynamic"] += bool(block.dynamic)
    tally.seen["empty"] += not block.text


def of_form(block: Block) -> Iterator[str]:
    """What is wrong with its form."""
    if block.text != block.stable + block.dynamic:
        yield "text is not stable and dynamic"
    if any(part and not part.endswith("\n") for part in (block.stable, block.dynamic)):
        yield "a part does not end its line"
    lines = block.text.split("\n")[:-1]
    if lines != block.text.splitlines():
        yield "a line ends inside a line"
    if any(map(_unseen, "".join(lines))):
        yield "a line holds what cannot be seen"


def of_lines(block: Block) -> Iterator[str]:
    """What is wrong with its lines: each is the profile, a day or begins with its number."""
    lines = block.text.splitlines()
    if lines and lines[0].startswith("Profile: "):
        lines = lines[1:]
    numbers = [m[1] for m in map(LINE.fullmatch, lines) if m]
    days = [line for line in lines if HEADING.fullmatch(line)]
    if len(numbers) + len(days) < len(lines):
        yield "a line of its own"
    if numbers != [str(n + 1) for n in range(len(numbers))]:
        yield "a line begins with a number that is not its own"
    if list(block.citations) != numbers:
        yield "the lines and what is cited differ"
    if len(set(days)) < len(days) or any(
        line in days and not LINE.match(after) for line, after in pairwise([*lines, ""])
    ):
        yield "a heading that is none"


async def of_citations(
    mem: AsyncMemory, block: Block, user: str, tally: Tally
) -> AsyncIterator[str]:
    """What is wrong with what it cites."""
    numbered = (LINE.fullmatch(line) for line in block.text.splitlines())
    lines = {m[1]: m[2] for m in numbered if m}
    tally.seen["profile"] += block.text.startswith("Profile: ")
    if len(set(block.citations.values())) < len(block.citations):
        yield "a row is cited twice"
    for number, public in block.citations.items():
        row = await mem.get(public, user_id=user)
        if row is None or row.user_id != user:
            yield "a citation of nothing"
        elif number not in lines or not shows(lines[number], row, tally):
            yield "a line does not show what it cites"


def shows(line: str, row: Episode | MemoryRecord, tally: Tally) -> bool:
    """Whether a line shows a row, or a part of it."""
    whole = squash(row.text)
    if isinstance(row, MemoryRecord):
        tally.seen["before"] += " (before: " in line or "; before: " in line
        tally.seen["event"] += row.event_start is not None
        # Its notes come after it, and what it says may hold brackets, too.
        ends = [m.start() for m in re.finditer(r" \(", line)] + [len(line)]
        told = (
            squash(_CUT.split(line[:end].removeprefix("\u2026 "))[0]) for end in ends
        )
        return any(said[:_EDGE] in whole and said[-_EDGE:] in whole for said in told)
    speaker = squash(row.name or row.role)
    tally.seen["pending"] += row.pending
    if row.pending != (" (pending): " in line and row.pending):
        return False
    said = squash(line.replace(" (pending): ", ": ", 1) if row.pending else line)
    if not said.startswith(speaker):
        return False
    said = said.removeprefix(speaker)
    tally.seen["in part"] += len(said) < len(whole)
    return said[:_EDGE] in whole and said[-_EDGE:] in whole


def squash(text: str) -> str:
    """Letters and digits alone."""
    return _SQUASHED.sub("", text).casefold()


def chill(mem: AsyncMemory) -> None:
    """Empty every cache that a block may come from."""
    mem._rooms.retriever.views.clear()
    packing._costs.clear()
    budget._spaced_word.cache_clear()
    budget._piece_bound.cache_clear()


def _unseen(char: str) -> bool:
    """Whether a character cannot be seen, and joins nothing either."""
    if char.isprintable() or char in "\u200c\u200d":
        return False
    return unicodedata.category(char) != "Cn" or ord(char) & 0xFFFE == 0xFFFE


def _later() -> Any:
    return ASKED + timedelta(days=30)


def _shuffled(seed: int, size: Size) -> list[Question]:
    asked = asked_in(seed, size)
    random.Random(seed).shuffle(asked)
    return asked


async def _again(folder: Path, seed: int, size: Size) -> list[str]:
    """The digests of all questions of a world, asked in another order."""
    asked = asked_in(seed, size)
    order = list(range(len(asked)))
    random.Random(seed + 1).shuffle(order)
    named: dict[int, str] = {}
    clock = FrozenClock(_later())
    async with memory(folder, seed=seed, clock=clock, worker="off") as mem:
        for n in order:
            named[n] = digest(await ask(mem, asked[n]))
    return [named[n] for n in range(len(asked))]


def _in_another_process(folder: Path, seed: int, size: Size) -> list[str]:
    shape = astuple(size)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.blocks", "--again", str(folder)),
            *("--seed", str(seed), "--shape", *map(str, shape)),
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent,
    )
    named: list[str] = json.loads(done.stdout)
    return named


async def run(size: Size, *, seed: int) -> dict[str, Any]:
    """Check all worlds."""
    tally = Tally()
    began = time.perf_counter()
    for n in range(size.worlds):
        with tempfile.TemporaryDirectory() as folder:
            world = seed * 1_000 + n
            await check_world(Path(folder) / "m", seed=world, size=size, tally=tally)
    seconds = round(time.perf_counter() - began, 1)
    return {"seed": seed, **tally.report(), "seconds": seconds}


def main() -> int:
    """Run, print, and tell by the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.blocks", description=__doc__)
    parser.add_argument("--blocks", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--shape", type=int, nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.again:
        names = (f.name for f in fields(Size))
        size = Size(**dict(zip(names, given.shape, strict=True)))
        print(json.dumps(asyncio.run(_again(given.again, given.seed, size))))
        return 0
    worlds = max(1, given.blocks // 500)
    size = Size(worlds=worlds, people=5, sessions=14, asked=-(-given.blocks // worlds))
    found = asyncio.run(run(size, seed=given.seed))
    print(json.dumps(found, indent=2))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
