"""Which facts close which: dialogues played through the whole write path of an open
memory, and what stands in the store in the end held against what is to stand there."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from bench.dialogues import Add, Dialogue, Pair, Said
from bench.proposals import plain, wordings
from hmem import AsyncMemory
from hmem.records import AddResult, MemoryRecord

PARALLEL = 8
_EDITED = 3
"""Of four facts that are closed while a model thinks, so many are replaced by an edit."""


@dataclass(slots=True)
class Row:
    """A stored fact; the dialogue it came of, and the key of the fact that it is. `edited`:
    made by the bench, in place of one that the talk made."""

    record: MemoryRecord
    dialogue: Dialogue
    add: int
    key: str | None = None
    edited: bool = False


@dataclass(slots=True)
class Played:
    """What came of playing dialogues as one user. `turns` maps the public ids of turns to
    the adds they came with; `deleted` are rows that the bench closed itself."""

    user: str
    dialogues: tuple[Dialogue, ...]
    rows: dict[str, Row] = field(default_factory=dict)
    turns: dict[str, tuple[Dialogue, int]] = field(default_factory=dict)
    results: list[AddResult] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)

    def pairs(self) -> list[tuple[Row, Row | None]]:
        """The closed rows, each with the one that took its place."""
        return [
            (row, self.rows.get(row.record.superseded_by or ""))
            for row in self.rows.values()
            if row.record.valid_to is not None
        ]


KeyOf = Callable[[MemoryRecord, Dialogue, int], str | None]
"""Which fact of an add a stored one is."""


def by_text(record: MemoryRecord, dialogue: Dialogue, add: int) -> str | None:
    """The key of the fact with exactly this text, or another wording of it."""
    for fact in dialogue.adds[add].facts:
        if plain(record.text) in map(plain, wordings(fact.text)):
            return fact.key
    return None


class Closer:
    """Closes facts while a model thinks about replacing them: by an edit that says the
    same in other words, or for good."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[AsyncMemory, Played, str]] = {}

    def watch(self, memory: AsyncMemory, played: Played) -> None:
        """Know the rows of a user."""
        for id_, row in played.rows.items():
            self._open[plain(row.record.text)] = (memory, played, id_)

    async def __call__(self, text: str, dice: random.Random) -> None:
        """Close the open fact with this text."""
        if text not in self._open:
            return
        memory, played, id_ = self._open[text]
        old = await memory.get(id_, user_id=played.user)
        if not isinstance(old, MemoryRecord) or old.valid_to is not None:
            return
        at = dice.choice((None, old.valid_from))
        if dice.randrange(_EDITED + 1) == 0:
            await memory.delete(id_, user_id=played.user, observed_at=at)
            played.deleted.add(id_)
            return
        new = await memory.update(
            id_, user_id=played.user, text=wordings(old.text)[-1], observed_at=at
        )
        row = played.rows[id_]
        played.rows[new.id] = Row(new, row.dialogue, row.add, row.key, edited=True)


async def play(
    memory: AsyncMemory,
    dialogues: Sequence[Dialogue],
    *,
    user: str,
    backwards: bool = False,
    key_of: KeyOf = by_text,
    closer: Closer | None = None,
) -> Played:
    """Add dialogues as one user, an add of each in turn, each waited for; read back every
    row that came of it. `backwards`: the last add first, as it would arrive late."""
    played = Played(user, tuple(dialogues))
    steps = [
        (one, n)
        for n in range(max(len(one.adds) for one in dialogues))
        for one in dialogues
        if n < len(one.adds)
    ]
    for one, n in reversed(steps) if backwards else steps:
        add = one.adds[n]
        receipt = await memory.add(
            [_message(turn, add) for turn in add.turns],
            user_id=user,
            session_id=f"{one.id}-{n}",
            observed_at=add.at,
            wait=True,
        )
        result = await receipt
        played.results.append(result)
        played.turns.update(dict.fromkeys(result.turns, (one, n)))
        for id_ in result.added:
            record = await memory.get(id_, user_id=user)
            if isinstance(record, MemoryRecord):
                played.rows[id_] = Row(record, one, n, key_of(record, one, n))
        if closer is not None:
            closer.watch(memory, played)
    for id_, row in played.rows.items():
        record = await memory.get(id_, user_id=user)
        assert isinstance(record, MemoryRecord)
        row.record = record
    return played


async def play_all(
    memory: AsyncMemory, groups: Iterable[Sequence[Dialogue]], **how: Any
) -> list[Played]:
    """Play groups of dialogues, each group as a user of its own, several at a time."""
    found: dict[int, Played] = {}
    limiter = anyio.CapacityLimiter(PARALLEL)

    async def one(n: int, group: Sequence[Dialogue]) -> None:
        async with limiter:
            user = f"{n}-{'+'.join(d.id for d in group)}"
            found[n] = await play(memory, group, user=user, **how)

    async with anyio.create_task_group() as tasks:
        for n, group in enumerate(groups):
            tasks.start_soon(one, n, group)
    return [found[n] for n in sorted(found)]


def strangers(dialogues: Sequence[Dialogue]) -> list[tuple[Dialogue, Dialogue]]:
    """Pairs of dialogues whose people have nothing to do with each other."""
    named = [one for one in dialogues if one.me is not None]
    return list(zip(named, named[1:] + named[:1], strict=True))


# ------------------------------------------------------------------------- verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One dialogue: the closings that are right, those that are wrong and those that are
    missing; `lost` facts, which no row says; what else is amiss. `unjudged` closings are of
    rows that are no fact of the dialogue."""

    dialogue: Dialogue
    right: frozenset[Pair]
    wrong: frozenset[Pair]
    missed: frozenset[Pair]
    unjudged: int = 0
    lost: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it ended as it is to end."""
        return not (self.wrong or self.missed or self.lost or self.problems)


def judge(played: Played) -> Verdict:
    """A dialogue that was played alone."""
    (dialogue,) = played.dialogues
    facts, allowed = dialogue.facts(), dialogue.allowed()
    seen: set[Pair] = set()
    wrong: set[Pair] = set()
    unjudged = 0
    for old, new in played.pairs():
        if old.key is None:
            unjudged += 1
            continue
        pair = (old.key, None if new is None else _name(new, dialogue))
        fine = pair in allowed or (new is None and _had_ended(old))
        (seen if fine else wrong).add(pair)
    gold = {
        (old, new): {(old, new), (old, None)}
        if new and facts[new].ends == old
        else {(old, new)}
        for old, new in dialogue.closed
    }
    return Verdict(
        dialogue=dialogue,
        right=frozenset(pair for pair, forms in gold.items() if forms & seen),
        missed=frozenset(pair for pair, forms in gold.items() if not forms & seen),
        wrong=frozenset(wrong),
        unjudged=unjudged,
        lost=tuple(lost(played)),
        unverified=tuple(
            row.key
            for row in played.rows.values()
            if row.key is not None and not row.record.verified
        ),
        problems=tuple(_problems(played)),
    )


def wrong_closings(played: Played) -> list[tuple[str, str, str | None]]:
    """Closings that must not be, of one or more dialogues played as one user: dialogue, the
    fact that was closed, and what is said to have taken its place."""
    return [
        (
            old.dialogue.id,
            old.key or old.record.text,
            None if new is None else _by(old, new),
        )
        for old, new in played.pairs()
        if not _may_be(old, new, played)
    ]


def _may_be(old: Row, new: Row | None, played: Played) -> bool:
    """Whether a closing is no mistake."""
    if new is None:
        return old.record.id in played.deleted or _had_ended(old)
    by = _by(old, new)
    if by == old.key:
        return True  # an edit, or another wording
    pairs: set[tuple[str | None, str | None]] = {(old.key, by)}
    at_once = old.record.valid_from == new.record.valid_from
    if new.edited or at_once:  # said again then; of equal times the one that came later
        pairs.add((by, old.key))
    return bool(pairs & old.dialogue.allowed())


def _had_ended(old: Row) -> bool:
    """Whether a fact that was closed without successor did not hold any more by then."""
    until = old.record.valid_to
    said = {f.key: add.at for add in old.dialogue.adds for f in add.facts}
    pairs = {(a, b) for a, b in old.dialogue.allowed() if b is not None}
    pairs |= {(b, a) for a, b in pairs if said[a] == said[b]}  # whichever came later
    return until is not None and any(
        key == old.key and said[new] <= until for key, new in pairs
    )


def _by(old: Row, new: Row) -> str:
    """What took the place, with its dialogue where that is another one."""
    name = new.key or new.record.text
    return name if new.dialogue is old.dialogue else f"{new.dialogue.id}.{name}"


def summary(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Precision and recall of closings, and the dialogues that did not end as they are to."""
    right = sum(len(v.right) for v in verdicts)
    wrong = sum(len(v.wrong) for v in verdicts)
    gold = sum(len(v.dialogue.closed) for v in verdicts)
    return {
        "dialogues": len(verdicts),
        "passed": sum(v.passed for v in verdicts),
        "closings": gold,
        "right": right,
        "wrong": wrong,
        "unjudged": sum(v.unjudged for v in verdicts),
        "precision": round(right / (right + wrong), 4) if right + wrong else None,
        "recall": round(right / gold, 4) if gold else None,
        "lost_facts": sum(len(v.lost) for v in verdicts),
        "unverified_facts": sum(len(v.unverified) for v in verdicts),
        "unverified": [
            f"{v.dialogue.id}: {key}" for v in verdicts for key in v.unverified
        ],
        "failed": {v.dialogue.id: told(v) for v in verdicts if not v.passed},
    }


def told(verdict: Verdict) -> dict[str, Any]:
    """What is wrong with a dialogue, in words."""
    found: Mapping[str, Any] = {
        "kind": verdict.dialogue.kind,
        "wrong": _words(verdict.wrong),
        "missed": _words(verdict.missed),
        "lost": list(verdict.lost),
        "problems": list(verdict.problems),
    }
    return {name: value for name, value in found.items() if value}


def _words(pairs: Iterable[Pair]) -> list[str]:
    return sorted(f"{old} by {new or 'nothing'}" for old, new in pairs)


def _name(new: Row, dialogue: Dialogue) -> str:
    """The key of a successor. One that is no fact of the dialogue, but came with the add of
    the right successor, is taken for it."""
    if new.key is not None:
        return new.key
    closing = {by for _, by in dialogue.closed}
    keys = [f.key for f in dialogue.adds[new.add].facts if f.key in closing]
    return keys[0] if len(keys) == 1 else new.record.text


def lost(played: Played) -> Iterable[str]:
    """Facts that no row says: not themselves, nor one with their text, nor one that
    repeats them or that they repeat."""
    texts = {row.record.text for row in played.rows.values()}
    for dialogue in played.dialogues:
        facts = dialogue.facts()
        stored = {row.key for row in played.rows.values() if row.dialogue is dialogue}
        stored |= {facts[key].repeats for key in stored if key is not None}
        for key, fact in facts.items():
            if not stored & {key, fact.repeats or key} and fact.text not in texts:
                yield key


def _problems(played: Played) -> Iterable[str]:
    for result in played.results:
        if result.status != "done":
            yield f"a job ended as {result.status}: {result.reason}"
    for old, new in played.pairs():
        since, until = old.record.valid_from, old.record.valid_to
        if until is not None and until < since:
            yield f"{old.key} ends before it begins"
        if new is not None and until is not None and until > new.record.valid_from:
            yield f"{old.key} is believed beside {new.key}"


def _message(turn: Said, add: Add) -> dict[str, Any]:
    said = {"role": turn.role, "content": turn.text, "timestamp": add.at}
    return said if turn.name is None else {**said, "name": turn.name}
