"""What was decided about a reply's facts, and what they rest on. Pure."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hmem.embedding import Fact
from hmem.extract import Candidate, Talk
from hmem.reconcile import Decision
from hmem.records import Skipped
from hmem.times import from_micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Decisions in the order of the candidates, and the vectors of their texts."""

    talk: Talk
    decisions: tuple[Decision, ...]
    facts: tuple[Fact, ...]

    @property
    def skipped(self) -> list[Skipped]:
        """What is not stored, or not carried out, and why."""
        found = []
        for one in self.decisions:
            if one.action in ("drop", "cite"):
                found.append(Skipped(reason=one.reason or one.action, id=one.target))
            if one.refused is not None:
                target, why = one.refused
                found.append(Skipped(reason=f"kept beside: {why}", id=target))
        return found

    @property
    def ended(self) -> int:
        """How many facts are replaced or ended."""
        replaced = sum(one.action in ("supersede", "close") for one in self.decisions)
        return replaced + sum(one.ends is not None for one in self.decisions)

    @property
    def tally(self) -> dict[str, int]:
        """How often each action was decided, refused, and not verified."""
        found = Counter[str](one.action for one in self.decisions)
        kept = [d for d in self.decisions if d.action in ("add", "supersede")]
        found["unverified"] = sum(not one.verified for one in kept)
        found["refused"] = sum(one.refused is not None for one in self.decisions)
        return {name: n for name, n in found.items() if n}


def said_at(talk: Talk, one: Candidate) -> datetime:
    """When it was said: the last of its sources."""
    turns = [talk.turns[at] for at in one.sources] or list(talk.turns)
    return from_micros(max(turn.observed_at for turn in turns))


def sources_of(talk: Talk, one: Candidate) -> tuple[str, ...]:
    """Ids of the turns that a candidate names."""
    return tuple(dict.fromkeys(talk.turns[at].id for at in one.sources))


def metadata_of(talk: Talk, one: Candidate) -> dict[str, Any]:
    """What all turns that a fact rests on say of themselves, and its labels."""
    turns = [talk.turns[at] for at in one.sources] or list(talk.turns)
    shared = {
        key: value
        for key, value in turns[0].metadata.items()
        if all(t.metadata.get(key) == value for t in turns[1:])
    }
    return {**shared, "categories": list(one.labels)} if one.labels else shared
