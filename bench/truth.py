"""How true extracted facts are, by rules that anybody can check: against reference facts,
against the turns that they cite, against each other, and against dates worked out by hand."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from bench.dialogues import Dialogue
from bench.matching import NEARLY_ALL, best, calibration, score, terms
from bench.supersession import Played, by_text
from hmem.extract.fields import event
from hmem.records import MemoryRecord

SUPPORTED = 0.5
"""Share of a fact's content words, numbers and names that its sources must hold, their
speakers' names included."""
_UTC = ZoneInfo("UTC")
_MATCHER = (
    "stemmed content words, numbers and names in common, at least {threshold}; none where "
    "people, numbers, dates or a 'not' differ (bench.matching)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored fact. `group` is where its references are looked for (a session, an add);
    `said` holds the turns that it cites and those before them, as "speaker: words"."""

    text: str
    group: Hashable
    said: tuple[str, ...]
    user: str = ""
    is_open: bool = True
    never: tuple[str, ...] = ()


def scores(
    stored: Sequence[Stored], references: Mapping[Hashable, Sequence[str]]
) -> dict[str, Any]:
    """Precision and recall by content match, junk and duplicates.

    A fact that matches no reference need not be false: references are never complete.
    """
    by_group: dict[Hashable, list[str]] = defaultdict(list)
    for one in stored:
        by_group[one.group].append(one.text)
    n_references = sum(map(len, references.values()))
    found = sum(
        best(text, by_group.get(group, ())) is not None
        for group, texts in references.items()
        for text in texts
    )
    matched = sum(
        best(one.text, references.get(one.group, ())) is not None for one in stored
    )
    why = Counter(filter(None, map(junk, stored)))
    copies = duplicates(stored)
    n_open = sum(one.is_open for one in stored)
    return {
        "facts": len(stored),
        "references": n_references,
        "recall": _share(found, n_references),
        "precision": _share(matched, len(stored)),
        "junk": dict(sorted(why.items())),
        "junk_rate": _share(why.total(), len(stored)),
        "duplicates": copies,
        "duplicate_rate": _share(copies, n_open),
        "matcher": _MATCHER.format(**calibration()),
    }


def junk(one: Stored) -> str | None:
    """Why a fact is junk: it says nothing, its sources do not say it, or it is among what
    must not be read out of them."""
    if any(score(one.text, text) >= NEARLY_ALL for text in one.never):
        return "must not be read"
    taken = terms(one.text)
    wanted = taken.content | taken.numbers
    if not wanted:
        return "says nothing"
    held: set[str] = set()
    for text in one.said:
        there = terms(text)
        held |= there.content | there.numbers | there.names
    return (
        None if len(wanted & held) / len(wanted) >= SUPPORTED else "not in its sources"
    )


def duplicates(stored: Iterable[Stored]) -> int:
    """Open facts that repeat an earlier open one of the same user."""
    by_user: dict[str, list[str]] = defaultdict(list)
    for one in stored:
        if one.is_open:
            by_user[one.user].append(one.text)
    return sum(
        any(score(text, earlier) >= NEARLY_ALL for earlier in texts[:n])
        for texts in by_user.values()
        for n, text in enumerate(texts)
    )


# ------------------------------------------------------------------------- dialogues


def by_match(record: MemoryRecord, dialogue: Dialogue, add: int) -> str | None:
    """The key of the add's fact with this text, or the one that it tells most of."""
    exact = by_text(record, dialogue, add)
    facts = dialogue.adds[add].facts
    near = best(record.text, [fact.text for fact in facts])
    return exact or (None if near is None else facts[near[0]].key)


def of_dialogues(
    played: Iterable[Played],
) -> tuple[list[Stored], dict[Hashable, list[str]]]:
    """The stored facts of dialogues, and the references: what a perfect model would say of
    the same add."""
    stored: list[Stored] = []
    references: dict[Hashable, list[str]] = {}
    for one in played:
        for dialogue in one.dialogues:
            for n, add in enumerate(dialogue.adds):
                references[dialogue.id, n] = [fact.text for fact in add.facts]
        for row in one.rows.values():
            adds = row.dialogue.adds
            said = tuple(f"{t.name or t.role}: {t.text}" for t in adds[row.add].turns)
            known = tuple(fact.text for add in adds[: row.add] for fact in add.facts)
            stored.append(
                Stored(
                    text=row.record.text,
                    group=(row.dialogue.id, row.add),
                    # Both sides of a change are named: the earlier one was said earlier.
                    said=said + known,
                    user=one.user,
                    is_open=row.record.valid_to is None,
                    never=row.dialogue.never,
                )
            )
    return stored, references


def dates(played: Iterable[Played]) -> dict[str, Any]:
    """How many facts whose date is worked out from words like "last Friday" begin on the
    day that was worked out by hand; of those not, the first few."""
    wanted = right = there = 0
    wrong: list[str] = []
    for one in played:
        rows = {(r.dialogue.id, r.key): r.record for r in one.rows.values() if r.key}
        for dialogue in one.dialogues:
            for key, fact in dialogue.facts().items():
                if not (fact.said and fact.when):
                    continue
                wanted += 1
                record = rows.get((dialogue.id, key))
                if record is None:
                    continue
                there += 1
                if _day(record.event_start) == _day(
                    event({"when": fact.when}, _UTC).start
                ):
                    right += 1
                else:
                    wrong.append(f"{dialogue.id}: {key} ({fact.said})")
    return {
        "with_a_relative_date": wanted,
        "stored": there,
        "right": right,
        "accuracy_of_stored": _share(right, there),
        "accuracy_of_all": _share(right, wanted),
        "wrong": wrong[:20],
    }


def _day(at: datetime | None) -> str | None:
    return None if at is None else at.date().isoformat()


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
