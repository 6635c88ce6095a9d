"""What one user's facts are at every moment of both times, in plain Python.

A fact is believed from `since` until it is ended or the next one of its line begins. A
line is in order of (since, seq): late or not, that is where a fact that supersedes another
belongs. Reinstating a fact parts its line behind it. `recorded` and `closed` are wall times.
Times are micros.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

Told = tuple[str, str | None, str | None]
"""An event of a fact's history: its name, what superseded it, why."""


@dataclass(slots=True, eq=False)
class Fact:
    """One version."""

    seq: int
    id: str
    text: str
    since: int
    recorded: int
    expires: int | None
    line: list["Fact"]
    family: set[str]
    ended: int | None = None
    closed: int | None = None
    told: list[Told] = field(default_factory=lambda: [("ADD", None, None)])
    was: list[tuple[int, int | None]] = field(default_factory=list)

    @property
    def next(self) -> "Fact | None":
        """What superseded it."""
        at = self.line.index(self) + 1
        return self.line[at] if at < len(self.line) else None

    @property
    def until(self) -> int | None:
        """When it ceased to be believed."""
        ends = [self.ended] if self.ended is not None else []
        if self.next is not None:
            ends.append(self.next.since)
        return min(ends, default=None)

    def lives(self, now: int) -> bool:
        """Whether it has not expired."""
        return self.expires is None or self.expires > now


@dataclass(slots=True)
class Person:
    """One user's facts. `now` is the wall time of each change."""

    facts: dict[str, Fact] = field(default_factory=dict)

    def twin(self, text: str, now: int) -> Fact | None:
        """The open fact that says the same."""
        for fact in self.facts.values():
            if fact.text == text and fact.until is None and fact.lives(now):
                return fact
        return None

    def add(
        self,
        id_: str,
        text: str,
        since: int,
        now: int,
        *,
        target: Fact | None = None,
        expires: int | None = None,
        reason: str | None = None,
    ) -> str:
        """A fact that no open one says already. The status that it should have had."""
        line: list[Fact] = [] if target is None else target.line
        family: set[str] = set() if target is None else target.family
        seq = len(self.facts) + 1
        new = Fact(seq, id_, text, since, now, expires, line, family)
        was_open = target is not None and target.until is None
        family.add(id_)
        line.append(new)
        line.sort(key=lambda fact: (fact.since, fact.seq))
        self.facts[id_] = new
        at = line.index(new)
        for fact in line[max(at - 1, 0) : at + 1]:
            if fact.next is not None:
                fact.told.append(("SUPERSEDE", fact.next.id, reason))
                fact.closed = now if fact.closed is None else fact.closed
        self._note(now)
        if new.next is not None:
            return "late"
        return "applied" if target is None or was_open else "chained"

    def close(self, fact: Fact, at: int, now: int, reason: str | None = None) -> str:
        """An end without successor, never before the beginning."""
        if fact.until is not None:
            return "not_open"
        fact.ended, fact.closed = max(at, fact.since), now
        fact.told.append(("CLOSE", None, reason))
        self._note(now)
        return "applied"

    def cite(self, fact: Fact, now: int, reason: str | None) -> str:
        """It was said again."""
        if fact.until is not None or not fact.lives(now):
            return "not_open"
        fact.told += [] if reason is None else [("CITE", None, reason)]
        return "applied"

    def reinstate(self, fact: Fact, now: int, reason: str | None = None) -> str:
        """Open a closed fact again, as if it had never been closed."""
        if fact.until is None or self.twin(fact.text, now) is not None:
            return "duplicate"
        at = fact.line.index(fact) + 1
        rest = fact.line[at:]
        del fact.line[at:]
        for other in rest:
            other.line = rest
        fact.ended = fact.closed = None
        fact.was = [(fact.recorded, None)]
        fact.told.append(("REINSTATE", None, reason))
        self._note(now)
        return "applied"

    def visible(
        self, asked_at: int, as_of: int | None = None, known_at: int | None = None
    ) -> set[str]:
        """The facts that a question sees: the open ones; with `as_of` those believed then;
        with `known_at` without what was recorded or closed since."""
        return {f.id for f in self._seen(asked_at, as_of, known_at)}

    def held(
        self, asked_at: int, as_of: int | None = None, known_at: int | None = None
    ) -> set[str]:
        """The same, were an end that a late arrival moved known as it stood at
        `known_at`."""
        return {f.id for f in self._seen(asked_at, as_of, known_at, strict=True)}

    def replaced(
        self, fact: Fact, asked_at: int, as_of: int | None, known_at: int | None
    ) -> list[str]:
        """What a seen fact took the place of, newest first, as far as it may be seen."""
        now = _moment(asked_at, as_of, known_at)
        before = fact.line[: fact.line.index(fact)][::-1]
        return [
            f.id
            for f in before
            if f.lives(now)
            and (as_of is None or f.since <= as_of)
            and (known_at is None or f.recorded <= known_at)
        ]

    def _seen(
        self,
        asked_at: int,
        as_of: int | None,
        known_at: int | None,
        *,
        strict: bool = False,
    ) -> Iterator[Fact]:
        for fact in self.facts.values():
            until = fact.until
            if known_at is not None:
                if fact.recorded > known_at:
                    continue
                if strict:
                    until = [end for wall, end in fact.was if wall <= known_at][-1]
                elif fact.closed is not None and fact.closed > known_at:
                    until = None
            if as_of is None:
                seen = until is None
            else:
                seen = fact.since <= as_of and (until is None or as_of < until)
            if seen and fact.lives(_moment(asked_at, as_of, known_at)):
                yield fact

    def _note(self, now: int) -> None:
        """Remember how all facts stand from now on."""
        for fact in self.facts.values():
            if not fact.was or fact.was[-1][1] != fact.until:
                fact.was.append((now, fact.until))


def _moment(asked_at: int, as_of: int | None, known_at: int | None) -> int:
    """When a fact must not have expired."""
    if as_of is not None:
        return as_of
    return asked_at if known_at is None else min(asked_at, known_at)
