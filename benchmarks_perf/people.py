"""People with memories: made-up facts, turns and questions, and stores full of them.

Lengths are those of long chats between two people: a fact of about 17 tokens, a turn of
about 34, a round (a turn and its reply) of about 100 words. Words are drawn from a small
stock of common ones and a long tail, so that postings look as they do in life.
"""

import asyncio
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import (
    Accept,
    NewMemory,
    NewTurn,
    PutVectors,
    Space,
    Store,
    Tokens,
    VectorRows,
    WritePlan,
)
from hmem.records import Kind
from hmem.text import content_hash, lexical, proper_nouns, turn_digest, turn_key
from hmem.times import to_micros
from hmem.vectors import codec

DIM = 384
FACT_WORDS, TURN_WORDS, ROUND_WORDS = 14, 27, 100
START = datetime(2025, 3, 1, 9, tzinfo=UTC)
NAMES = ("Orla", "Teun", "Ines", "Bram", "Saskia", "Jaro", "Pilar", "Anouk", "Niko")


def _listed(text: str) -> list[str]:
    return text.split()


_SMALL = _listed(
    "the a to and I of in it that is was for with my we on at you but so have had "
    "this be are not they her his from about would when just really there what"
)
_COMMON = _listed(
    "garden piano train weekend kitchen sister brother market river bicycle school letter "
    "doctor holiday concert recipe puppy office lesson museum painting summer winter shop "
    "coffee bread mountain village birthday exam project guitar camera window neighbour "
    "bought started moved learned visited painted cooked played finished found planned "
    "baked walked called met lost fixed promised joined missed planted sold wrote taught "
    "old new small green quiet happy tired second first early late local warm busy strange"
)
_ONSETS, _VOWELS = tuple("bdfgklmnprstv"), ("a", "e", "i", "o", "u", "ai")
_TAIL = 3_000


def _long_tail() -> list[str]:
    dice = random.Random(7)
    made = {
        "".join(dice.choice(_ONSETS) + dice.choice(_VOWELS) for _ in range(n)) + end
        for n in (2, 3)
        for end in ("", "n", "s", "ling", "er")
        for _ in range(_TAIL // 8)
    }
    return sorted(made)[:_TAIL]


_WORDS = [*_COMMON, *_long_tail()]
_ODDS = [1.0 / (n + 3) for n in range(len(_WORDS))]
_PLACES = [word.capitalize() for word in _WORDS[-400:]]
_PLACE_ODDS = [1.0 / (n + 3) for n in range(len(_PLACES))]


class Writer:
    """Writes texts; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def words(self, n: int) -> str:
        """A sentence of n words."""
        content = iter(self._dice.choices(_WORDS, _ODDS, k=n))
        said = [
            self._dice.choice(_SMALL) if self._dice.random() < 0.5 else next(content)
            for _ in range(n - 2)
        ]
        (place,) = self._dice.choices(_PLACES, _PLACE_ODDS)
        said.insert(self._dice.randrange(1, len(said)), place)
        return f"{self._dice.choice(NAMES)} {' '.join(said)}."

    def around(self, n: int) -> str:
        """A sentence of about n words."""
        return self.words(max(4, round(self._dice.gauss(n, n / 4))))

    def question(self) -> str:
        """A question with five words that occur."""
        first, *rest = self._dice.choices(_WORDS, _ODDS, k=4)
        return f"When did {self._dice.choice(NAMES)} {first} the {' '.join(rest)}?"

    def round(self, n: int = ROUND_WORDS) -> list[dict[str, str]]:
        """A user's turn and its reply, n words together."""
        said = n // 2
        return [
            {"role": "user", "content": self.words(said)},
            {"role": "assistant", "content": self.words(n - said)},
        ]


@lru_cache(maxsize=1 << 16)
def _tokens(text: str) -> Tokens:
    return lexical(text)


def new_turn(text: str, *, n: int) -> NewTurn:
    """The n-th turn of a conversation, as the write path would store it."""
    at = START + timedelta(minutes=7 * n)
    role, speaker = ("user", "Orla") if n % 2 == 0 else ("assistant", "Teun")
    return NewTurn(
        role=role,
        text=text,
        observed_at=to_micros(at),
        digest=turn_digest(role, speaker, text),
        tokens=(lexical(turn_key(text, speaker=speaker, at=at)),),
        ends=(len(text),),
        name=speaker,
    )


def new_memory(text: str, *, n: int) -> NewMemory:
    """The n-th fact of a user, as the write path would store it."""
    return NewMemory(
        text=text,
        hash=content_hash(text),
        tokens=(_tokens(text),),
        ends=(len(text),),
        valid_from=to_micros(START + timedelta(hours=n)),
        entities=proper_nouns(text),
    )


@dataclass(frozen=True, slots=True)
class Person:
    """What is stored of one user."""

    facts: tuple[NewMemory, ...]
    turns: tuple[NewTurn, ...]


def person(seed: int, *, facts: int, turns: int) -> Person:
    """A user with so many facts and turns."""
    writer = Writer(seed)
    return Person(
        tuple(new_memory(writer.around(FACT_WORDS), n=n) for n in range(facts)),
        tuple(new_turn(writer.around(TURN_WORDS), n=n) for n in range(turns)),
    )


def vectors(seed: int, n: int, dim: int = DIM) -> NDArray[np.float32]:
    """(n, dim) random directions."""
    made = np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


async def plant(
    store: Store,
    user_id: str,
    who: Person,
    *,
    space: Space | None = None,
    seed: int = 0,
    turns_per_add: int = 20,
) -> None:
    """Store a person whose account is new, in adds of some turns and half as many facts,
    each followed by the random vectors of what it brought, in `space`. Nothing is left
    queued."""
    facts_per_add = max(1, turns_per_add // 2)
    parts = max(
        1, -(-len(who.turns) // turns_per_add), -(-len(who.facts) // facts_per_add)
    )
    for n in range(parts):
        facts, turns = (_share(len(rows), n, parts) for rows in (who.facts, who.turns))
        accept = Accept(
            turns=who.turns[turns.start : turns.stop],
            items=who.facts[facts.start : facts.stop],
            session_id=f"s{n * turns_per_add // 40}",
            recorded_at=to_micros(START + timedelta(hours=n)),
            queue=False,
        )
        await store.accept(user_id, accept)
        if space is not None:
            kinds: dict[Kind, range] = {"memory": facts, "turn": turns}
            await store.apply(user_id, _vector_plan(kinds, space, seed + n))


def _share(rows: int, n: int, parts: int) -> range:
    return range(rows * n // parts, rows * (n + 1) // parts)


def _vector_plan(kinds: dict[Kind, range], space: Space, seed: int) -> WritePlan:
    int8 = codec("int8")
    puts = []
    for kind, rows in kinds.items():
        if rows:
            keys = np.zeros((len(rows), 2), np.uint32)
            keys[:, 0] = np.array(rows) + 1  # sequences count from 1 per user and kind
            codes = int8.encode(vectors(seed + rows.stop, len(rows), space.dim))
            put = VectorRows(kind, space.id, int8.name, keys, codes)
            puts.append(PutVectors(rows=put))
    return WritePlan(at=to_micros(START), ops=tuple(puts))


async def crowd(
    store: Store,
    numbers: range,
    *,
    facts: int,
    turns: int,
    space: Space | None = None,
    turns_per_add: int = 1_000,
) -> None:
    """Fill a store with users. All draw on sixteen persons' texts, and each user is one
    add and one plan: what is measured in their midst must not be theirs."""
    models = [person(1000 + i, facts=facts, turns=turns) for i in range(16)]
    waiting = asyncio.Semaphore(64)

    async def one(i: int) -> None:
        async with waiting:
            who = models[i % 16]
            await plant(
                store,
                f"crowd-{i}",
                who,
                space=space,
                seed=i % 16,
                turns_per_add=turns_per_add,
            )

    await asyncio.gather(*(one(i) for i in numbers))
