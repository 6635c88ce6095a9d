"""What a store should believe, in plain Python: the yardstick of the state machine."""

from dataclasses import dataclass, field, replace

from hmem.protocols import MemoryRow
from hmem.testing.store.making import DAY, T0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One version. Times are days."""

    seq: int
    id: str
    text: str
    since: int
    until: int | None = None
    successor: str | None = None
    line: int = 0


@dataclass(slots=True)
class Person:
    """One user's facts and turns."""

    facts: dict[str, Fact] = field(default_factory=dict)
    turns: list[str] = field(default_factory=list)
    links: dict[str, set[int]] = field(default_factory=dict)
    codes: dict[tuple[str, int], bytes] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)

    def equal(self, text: str) -> Fact | None:
        """The open fact of that text."""
        rows = self.facts.values()
        return next((f for f in rows if f.text == text and f.until is None), None)

    def insert(self, id_: str, text: str, since: int, target: Fact | None) -> str:
        """Add a fact; the status that it should have had.

        A line is kept in order of (start, sequence), and each version ends where the
        next one begins: late or not, that is all there is to it.
        """
        seq = len(self.facts) + 1
        new = Fact(seq=seq, id=id_, text=text, since=since, line=seq)
        if target is not None:
            new = replace(new, line=target.line)
        self.facts[id_] = new
        rows = sorted(
            (f for f in self.facts.values() if f.line == new.line),
            key=lambda f: (f.since, f.seq),
        )
        for row, following in zip(rows, [*rows[1:], None], strict=True):
            until = None if following is None else following.since
            successor = None if following is None else following.id
            self.facts[row.id] = replace(row, until=until, successor=successor)
        if rows[-1].id != id_:
            return "late"
        return "applied" if target is None or target.until is None else "chained"

    def close(self, fact: Fact, until: int) -> str:
        """End a fact without successor; the status that it should have had."""
        if fact.until is not None:
            return "not_open"
        self.facts[fact.id] = replace(fact, until=until)
        return "applied"

    def ended(self, line: int) -> bool:
        """Whether the line has no open version."""
        return all(f.until is not None for f in self.facts.values() if f.line == line)


def as_fact(row: MemoryRow, line: int) -> Fact:
    """A stored row in the model's terms."""
    until = row.valid_to
    return Fact(
        seq=row.seq,
        id=row.id,
        text=row.text,
        since=(row.valid_from - T0) // DAY,
        until=None if until is None else (until - T0) // DAY,
        successor=row.superseded_by,
        line=line,
    )
