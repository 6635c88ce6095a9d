"""Many users in one store against each in a store of their own: the same to the last bit.

    python -m bench.shared --data locomo.json --cache DIR

Each user's conversation goes into a store alone, and into stores that all share, of one
shard and of 16, where strangers write between any two sessions, say the same things, are
erased, and come back. Every question must get the same hits, scores, parts and blocks.
Prints JSON; the exit code is 1 when anything differs.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.hostile import ENGLISH, Hostile
from bench.locomo_data import CATEGORIES, load
from bench.running import Options, cache_folder, cached
from bench.talks import Conversation, Fact, Question, Turn
from hmem import AsyncMemory, Config
from hmem.protocols import Embedder
from hmem.records import SearchResult

SHARDS = (1, 16)
BUDGETS = (300, 1_000)
_NAMES = ("Maya", "Bo", "Noor", "\u7f8e\u54b2")


@dataclass
class Tally:
    """What was compared. `wrong` is what must be empty."""

    compared: int = 0
    hits: int = 0
    wrong: list[str] = field(default_factory=list)


Answer = tuple[Any, ...]
"""What a question got, without the ids, which every store makes anew."""


async def compare(
    conversations: Sequence[Conversation],
    folder: Path,
    embedder: Embedder,
    *,
    strangers: int,
    seed: int,
) -> dict[str, Any]:
    """Ask all questions of all stores."""
    began = time.perf_counter()
    tally = Tally()
    alone: dict[str, list[Answer]] = {}
    for one in conversations:
        async with _memory(folder / f"alone-{one.id}", embedder, shards=1) as mem:
            for number in one.sessions():
                await _say(mem, one, number)
            await mem.flush()
            alone[one.id] = [await _answer(mem, one, q) for q in one.questions]
    for shards in SHARDS:
        async with _memory(folder / f"all-{shards}", embedder, shards=shards) as mem:
            crowd = Crowd(mem, conversations, seed=seed, size=strangers)
            await _fill(mem, conversations, crowd, seed=seed)
            for one in conversations:
                for n, question in enumerate(one.questions):
                    found = await _answer(mem, one, question)
                    where = f"{shards} shards, {one.id}, question {n}"
                    _note(tally, where, alone[one.id][n], found)
    return {
        "users": len(conversations),
        "questions": sum(len(one.questions) for one in conversations),
        "strangers": strangers,
        "shards": SHARDS,
        "compared": tally.compared,
        "hits": tally.hits,
        "wrong": len(tally.wrong),
        "examples": tally.wrong[:10],
        "seconds": round(time.perf_counter() - began, 1),
    }


def _memory(folder: Path, embedder: Embedder, *, shards: int) -> AsyncMemory:
    config = Config(
        path=folder,
        embed="none",
        shards=shards,
        durability="normal",
        query_embed_timeout=60.0,
    )
    return AsyncMemory(config, embedder=_Lent(embedder))


class _Lent:
    """An embedder that its users do not close."""

    def __init__(self, embedder: Embedder) -> None:
        self.model, self.window, self.dim = (
            embedder.model,
            embedder.window,
            embedder.dim,
        )
        self.embed, self.count = embedder.embed, embedder.count

    async def aclose(self) -> None:
        """Nothing: others use it, too."""


async def _say(mem: AsyncMemory, one: Conversation, number: int) -> None:
    """A session, and the facts that were made of it."""
    turns = one.sessions()[number]
    said = [
        {"role": t.role, "content": t.text, "id": t.id, "timestamp": t.at}
        | ({"name": t.name} if t.name else {})
        for t in turns
    ]
    where: dict[str, Any] = {"user_id": one.id, "session_id": f"s{number}"}
    await mem.add(said, observed_at=turns[0].at, **where)
    facts = [f for f in one.facts if f.session == number]
    items = [{"text": f.text, "source_ids": list(f.source_ids)} for f in facts]
    if items:
        await mem.add(items, observed_at=turns[0].at, infer=False, **where)


async def _fill(
    mem: AsyncMemory,
    conversations: Sequence[Conversation],
    crowd: "Crowd",
    *,
    seed: int,
) -> None:
    """Everybody's sessions in turns, some of them at one moment, with strangers between."""
    dice = random.Random(f"{seed} turns")
    left = {one.id: list(one.sessions()) for one in conversations}
    while any(left.values()):
        due = [one for one in conversations if left[one.id] and dice.random() < 0.7]
        steps = [_say(mem, one, left[one.id].pop(0)) for one in due]
        await asyncio.gather(*steps, crowd.step())
    await mem.flush()
    await crowd.leave()


class Crowd:
    """Strangers who say what the others say, and are erased."""

    def __init__(
        self,
        mem: AsyncMemory,
        conversations: Sequence[Conversation],
        *,
        seed: int,
        size: int,
    ) -> None:
        self._mem = mem
        self._dice = random.Random(f"{seed} crowd")
        self._hostile = Hostile(self._dice)
        self._said = [t.text for one in conversations for t in one.turns]
        self._users = [f"stranger-{n}" for n in range(size)]

    async def step(self) -> None:
        """Some of them speak; some rows and some of them are destroyed."""
        dice = self._dice
        for user in dice.sample(self._users, k=min(3, len(self._users))):
            texts = [*dice.choices(self._said, k=8), self._hostile.text(200)]
            receipt = await self._mem.add(texts, user_id=user, session_id="s1")
            fact = {"text": f"{dice.choice(_NAMES)} {dice.choice(self._said)[:900]}"}
            await self._mem.add([fact], user_id=user, infer=False)
            if dice.random() < 0.4:
                result = await receipt
                await self._mem.erase(dice.choice(result.turns), user_id=user)
            if dice.random() < 0.2:
                await self._mem.delete_user(user)

    async def leave(self) -> None:
        """Half of them are erased."""
        for user in self._users[::2]:
            await self._mem.delete_user(user)


async def _answer(mem: AsyncMemory, one: Conversation, question: Question) -> Answer:
    asked: dict[str, Any] = {
        "user_id": one.id,
        "asked_at": one.ended + timedelta(days=1),
    }
    found = await mem.search(question.text, k=60, explain=True, **asked)
    blocks = [
        await mem.context(question.text, max_tokens=most, **asked) for most in BUDGETS
    ]
    return (
        _hits(found),
        (found.pending, found.degraded, found.answerability),
        [(near.hit.text, near.hit.score, near.lacks) for near in found.near_misses],
        [(b.text, b.stable, b.tokens, tuple(b.citations)) for b in blocks],
        [found.block(max_tokens=most).text for most in BUDGETS],
    )


def _hits(found: SearchResult) -> list[tuple[Any, ...]]:
    return [
        (h.kind, h.text, h.score, h.at, h.speaker, h.role, dict(h.explain))
        for h in found
    ]


_PARTS = ("hits", "state", "near misses", "blocks", "blocks of hits")


def _note(tally: Tally, where: str, one: Answer, other: Answer) -> None:
    tally.compared += 1
    tally.hits += len(one[0])
    tally.wrong += [
        f"{where}: other {part}"
        for part, a, b in zip(_PARTS, one, other, strict=True)
        if a != b
    ]


def made_up(*, seed: int, users: int, sessions: int, asked: int) -> list[Conversation]:
    """Conversations that nobody had."""
    return [
        _made_up(f"user-{n}", random.Random(f"{seed} {n}"), sessions, asked)
        for n in range(users)
    ]


def _made_up(name: str, dice: random.Random, sessions: int, asked: int) -> Conversation:
    hostile = Hostile(dice)
    turns: list[Turn] = []
    facts: list[Fact] = []
    for session in range(1, sessions + 1):
        at = datetime(2025, 1, 6, 9, tzinfo=UTC) + timedelta(days=9 * session)
        for n in range(dice.randint(2, 9)):
            text = hostile.english(12) if dice.random() < 0.8 else hostile.text(300)
            turns.append(
                Turn(
                    id=f"D{session}:{n}",
                    text=text,
                    session=session,
                    at=at + timedelta(minutes=n),
                    role=("user", "assistant")[n % 2],
                    name=dice.choice((None, *_NAMES)),
                )
            )
        cited = dice.choice(turns).id
        text = f"{dice.choice(_NAMES)}: {hostile.english(7)}"
        facts.append(Fact(text=text, source_ids=(cited,), session=session, at=at))
    questions = [
        Question(
            text=dice.choice(
                (
                    f"where is the {dice.choice(ENGLISH)} of {dice.choice(_NAMES)}?",
                    f"summarize all about the {dice.choice(ENGLISH)} last month",
                    hostile.english(5),
                )
            ),
            answer=None,
            category="made up",
            gold=(),
        )
        for _ in range(asked)
    ]
    return Conversation(
        id=name, turns=tuple(turns), facts=tuple(facts), questions=tuple(questions)
    )


async def _run(
    data: Path, cache: Path, *, strangers: int, seed: int
) -> Mapping[str, Any]:
    conversations = [
        Conversation(
            id=one.id,
            turns=one.turns,
            facts=one.facts,
            questions=tuple(q for q in one.questions if q.category in CATEGORIES),
        )
        for one in load(data)
    ]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        embedder = await cached(Options(data=data, cache=cache), None, stack)
        found = await compare(
            conversations, folder, embedder, strangers=strangers, seed=seed
        )
    return {"seed": seed, **found}


def main() -> int:
    """Run, print, and tell by the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.shared", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="a file in LoCoMo's form"
    )
    parser.add_argument("--cache", type=Path, default=cache_folder())
    parser.add_argument("--strangers", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = asyncio.run(
        _run(given.data, given.cache, strangers=given.strangers, seed=given.seed)
    )
    print(json.dumps(found, indent=2))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
