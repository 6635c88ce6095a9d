"""People with hostile memories, and questions about them, made from a seed."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from bench.hostile import ENGLISH, Hostile
from hmem import AsyncMemory
from hmem.protocols import PutProfile, WritePlan
from hmem.testing.fakes import FrozenClock

BEGAN = datetime(2024, 1, 3, 8, tzinfo=UTC)
DAYS = 850
ASKED = BEGAN + timedelta(days=DAYS + 10)
AGENTS = ("desk", "field", "宿")
_CATEGORIES = ("semantic", "episodic", "procedural")
_NAMES = (
    "Maya",
    "Bo",
    "1",
    "[2 May 2026]",
    "Profile",
    "Dr. O'Neil: ",
    "美咲",
    "user (pending)",
)
_CAPS = (1, 2, 3, 5, 8, 12, 20, 499, 500, 501, 1_000, 7_999, 8_000)
_SPREAD = (
    "summarize everything about the {}",
    "in what order did the {} happen?",
    "how many different {} are there in total?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One block to ask for: `verb` says through which call."""

    user: str
    query: str
    cap: int
    verb: Literal["context", "search"]
    options: Mapping[str, Any]


def users(seed: int, count: int) -> list[str]:
    """The people of a world."""
    return [f"p{seed}-{n}" for n in range(count)]


def dice_of(seed: int, user: str, what: str) -> random.Random:
    """Dice of their own for each purpose, so that one does not move another."""
    return random.Random(f"{seed} {user} {what}")


async def fill(
    mem: AsyncMemory, user: str, *, seed: int, sessions: int, clock: FrozenClock
) -> None:
    """All that is known of one person but what waits to be worked on."""
    dice = dice_of(seed, user, "fill")
    hostile = Hostile(dice)
    added: list[str] = []
    for n in range(sessions):
        at = BEGAN + timedelta(days=DAYS * n / sessions, hours=dice.randrange(12))
        labels: dict[str, Any] = {
            "session_id": f"s{n}",
            "agent_id": dice.choice((None, *AGENTS)),
        }
        await mem.add(_talk(hostile, at), user_id=user, observed_at=at, **labels)
        receipt = await mem.add(
            [_fact(hostile, at) for _ in range(dice.randint(1, 6))],
            user_id=user,
            observed_at=at,
            infer=False,
            **labels,
        )
        added += (await receipt).added
        clock.advance(hours=1)
    await mem.flush(timeout=60)
    await _edit(mem, user, hostile, added)
    if dice.random() < 0.6:
        profile = PutProfile(text=hostile.text(dice.choice((20, 200, 900))), turn_seq=1)
        plan = WritePlan(at=0, ops=(profile,))
        await mem._rooms.parts.store.apply(user, plan)


async def leave_waiting(mem: AsyncMemory, user: str, *, seed: int) -> None:
    """Some turns more; nobody works on them."""
    dice = dice_of(seed, user, "waiting")
    hostile = Hostile(dice)
    for n in range(dice.randrange(4)):
        at = ASKED - timedelta(hours=9 - n)
        await mem.add(
            _talk(hostile, at), user_id=user, observed_at=at, session_id="last"
        )


def questions(user: str, *, seed: int, count: int, most: int) -> list[Question]:
    """What is asked about one person, for blocks of at most `most` tokens."""
    dice = dice_of(seed, user, "ask")
    hostile = Hostile(dice)
    return [_question(user, hostile, most) for _ in range(count)]


def _talk(hostile: Hostile, at: datetime) -> list[dict[str, Any]]:
    dice = hostile.dice
    said: list[dict[str, Any]] = []
    for n in range(dice.randint(1, 6)):
        one: dict[str, Any] = {
            "role": dice.choice(("user", "user", "assistant", "tool")),
            "content": hostile.text(dice.choice((8, 40, 120, 300, 2_500))),
            "timestamp": at + timedelta(minutes=n),
            "metadata": {"n": dice.randrange(4)},
        }
        if dice.random() < 0.5:
            name = dice.choice([*_NAMES, hostile.text(8)[:60]])
            one["name"] = name if name.strip() else "Maya"
        said.append(one)
    return said


def _fact(hostile: Hostile, at: datetime) -> dict[str, Any]:
    dice = hostile.dice
    fact: dict[str, Any] = {
        "text": hostile.text(dice.choice((10, 40, 90, 900)))[:2_000],
        "category": dice.choice(_CATEGORIES),
        "importance": dice.randint(1, 10),
        "metadata": {"n": dice.randrange(4), hostile.dice.choice(ENGLISH): True},
    }
    day = at - timedelta(days=dice.randrange(60))
    form = dice.randrange(4)
    if form == 1:
        fact["event_start"] = day.date()
    elif form == 2:
        fact["event_start"] = f"{day:%Y-%m}"
    elif form == 3:
        fact |= {
            "event_start": day,
            "event_end": day + timedelta(hours=dice.randint(1, 99)),
        }
    return fact


async def _edit(
    mem: AsyncMemory, user: str, hostile: Hostile, added: Sequence[str]
) -> None:
    """Replace some facts, some of them again and again, and close some."""
    dice = hostile.dice
    for first in added:
        latest, chance = first, dice.random()
        if chance < 0.1:
            await mem.delete(first, user_id=user)
        for n in range(dice.randint(1, 4) if chance > 0.75 else 0):
            at = BEGAN + timedelta(days=DAYS + n + 1)
            text = hostile.text(dice.choice((10, 60)))[:2_000]
            told = await mem.update(latest, user_id=user, text=text, observed_at=at)
            latest = told.id


def _question(user: str, hostile: Hostile, most: int) -> Question:
    dice = hostile.dice
    word = dice.choice(ENGLISH)
    query = dice.choice(
        [
            *(word, f"where is the {word}?", hostile.english(9), hostile.any()),
            *(dice.choice(_SPREAD).format(word), f"the {word} last week", "水鳥 猫"),
            hostile.text(dice.choice((10, 200, 9_000))),
        ]
    )
    cap = int(most ** dice.uniform(0.3, 1))
    if dice.random() < 0.2:
        cap = dice.choice([cap for cap in _CAPS if cap <= most])
    return Question(
        user=user,
        query=query if query.strip("\0").strip() else word,
        cap=cap,
        verb="context" if dice.random() < 0.7 else "search",
        options=_options(dice),
    )


def _options(dice: random.Random) -> dict[str, Any]:
    def day() -> datetime:
        return BEGAN + timedelta(
            days=dice.randrange(DAYS + 9), hours=dice.randrange(24)
        )

    first = day()
    maybe: dict[str, Any] = {
        "asked_at": ASKED + timedelta(days=dice.randrange(300)),
        "as_of": day(),
        "known_at": ASKED + timedelta(days=dice.randrange(40)),
        "during": (first, first + timedelta(days=dice.randint(1, 300))),
        "agent_id": dice.choice(AGENTS),
        "session_id": f"s{dice.randrange(9)}",
        "category": dice.choice(_CATEGORIES),
        "filters": {"n": {"gte": dice.randrange(4)}},
        "kinds": dice.choice(("memory", "turn")),
        "min_score": dice.random() / 3,
    }
    return {name: value for name, value in maybe.items() if dice.random() < 0.06}
