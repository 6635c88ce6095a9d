"""What a store should believe, in plain Python: the yardstick of the state machine."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hmem.protocols import MemoryRow
from hmem.records import Kind
from hmem.testing.store.making import DAY, T0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One version. Times are days. Versions of a `line` follow each other; those of a
    `family` once did."""

    seq: int
    id: str
    text: str
    since: int
    until: int | None = None
    successor: str | None = None
    line: int = 0
    family: int = 0
    sources: tuple[str, ...] = ()
    belongs: frozenset[str] = frozenset()


@dataclass(slots=True)
class Person:
    """One user's facts and turns; `taken` are the sequences given so far."""

    facts: dict[str, Fact] = field(default_factory=dict)
    turns: dict[int, str] = field(default_factory=dict)
    taken: dict[Kind, int] = field(default_factory=lambda: {"memory": 0, "turn": 0})
    links: dict[str, set[int]] = field(default_factory=dict)
    codes: dict[tuple[str, int], bytes] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)
    past_jobs: dict[str, str] = field(default_factory=dict)
    deferred: bool = False
    partings: int = 0

    def equal(self, text: str) -> Fact | None:
        """The open fact of that text."""
        rows = self.facts.values()
        return next((f for f in rows if f.text == text and f.until is None), None)

    def insert(
        self,
        id_: str,
        text: str,
        since: int,
        target: Fact | None,
        sources: Sequence[str] = (),
    ) -> str:
        """Add a fact; the status that it should have had.

        A line is kept in order of (start, sequence), and each version ends where the
        next one begins, or earlier where that was erased.
        """
        seq = self.take("memory")
        new = Fact(seq=seq, id=id_, text=text, since=since, line=seq, family=seq)
        if target is not None:
            new = replace(new, line=target.line, family=target.family)
        self.facts[id_] = replace(new, sources=tuple(sources))
        rows = sorted(
            (f for f in self.facts.values() if f.line == new.line),
            key=lambda f: (f.since, f.seq),
        )
        for row, following in pairwise(rows):
            if id_ in (row.id, following.id):
                until = following.since if row.until is None else row.until
                self.facts[row.id] = replace(
                    row, until=min(until, following.since), successor=following.id
                )
        if rows[-1].id != id_:
            return "late"
        return "applied" if target is None or target.until is None else "chained"

    def take(self, kind: Kind) -> int:
        """The next sequence."""
        self.taken[kind] += 1
        return self.taken[kind]

    def erase(self, fact: Fact) -> None:
        """Take a fact out; what it replaced is followed by what replaced it."""
        del self.facts[fact.id]
        for row in list(self.facts.values()):
            belongs = row.belongs - {fact.id}
            successor = fact.successor if row.successor == fact.id else row.successor
            self.facts[row.id] = replace(row, belongs=belongs, successor=successor)
        for seqs in self.links.values():
            seqs.discard(fact.seq)
        self.links = {name: seqs for name, seqs in self.links.items() if seqs}
        self.codes.pop(("memory", fact.seq), None)

    def close(self, fact: Fact, until: int) -> str:
        """End a fact without successor; the status that it should have had."""
        if fact.until is not None:
            return "not_open"
        self.facts[fact.id] = replace(fact, until=until)
        return "applied"

    def cite(self, fact: Fact, sources: Sequence[str]) -> str:
        """Add sources; the status that it should have had."""
        if fact.until is not None:
            return "not_open"
        new = [name for name in dict.fromkeys(sources) if name not in fact.sources]
        self.facts[fact.id] = replace(fact, sources=(*fact.sources, *new))
        return "applied"

    def reinstate(self, fact: Fact) -> tuple[str, str]:
        """Open a fact again; the status that it should have had, and the id. Those before
        it in its line stay there; those after it are a line of their own."""
        equal = self.equal(fact.text)
        if equal is not None:
            return "duplicate", equal.id
        before = {
            f.id
            for f in self.facts.values()
            if f.line == fact.line and (f.since, f.seq) < (fact.since, fact.seq)
        }
        self.partings += 1
        own = -self.partings
        for id_ in before:
            self.facts[id_] = replace(self.facts[id_], line=own)
        self.facts[fact.id] = replace(fact, until=None, successor=None, line=own)
        return "applied", fact.id

    def family(self, fact: Fact) -> list[str]:
        """The ids of all versions of a fact, oldest first."""
        found = [f for f in self.facts.values() if f.family == fact.family]
        return [f.id for f in sorted(found, key=lambda f: (f.since, f.seq))]

    def ended(self, line: int) -> bool:
        """Whether the line has no open version."""
        return all(f.until is not None for f in self.facts.values() if f.line == line)


def as_fact(row: MemoryRow, like: Fact | None) -> Fact:
    """A stored row in the model's terms; what only the model knows is as in `like`."""
    until = row.valid_to
    return Fact(
        seq=row.seq,
        id=row.id,
        text=row.text,
        since=(row.valid_from - T0) // DAY,
        until=None if until is None else (until - T0) // DAY,
        successor=row.superseded_by,
        line=like.line if like is not None else 0,
        family=like.family if like is not None else 0,
        sources=row.source_ids,
        belongs=frozenset(row.links),
    )
