"""What one user's facts are at every moment of both times, in plain Python.

A fact is believed from `since` until it is ended or the next one of its line begins. A
line is in order of (since, seq): late or not, that is where a fact that supersedes another
belongs. Reinstating a fact parts its line behind it; erasing one takes it out of all that
was ever known. `recorded` and `closed` are wall times. Times are micros.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

Told = tuple[str, str | None, str | None]
"""An event of a fact's history: its name, what superseded it, why."""


class State(NamedTuple):
    """How a fact stood from a wall time on: its end, and the id of what superseded it."""

    wall: int
    until: int | None
    by: str | None


class When(NamedTuple):
    """The times of a question."""

    asked_at: int
    as_of: int | None = None
    known_at: int | None = None
    during: tuple[int, int] | None = None

    @property
    def moment(self) -> int:
        """When a fact must not have expired."""
        if self.as_of is not None:
            return self.as_of
        known_at = self.asked_at if self.known_at is None else self.known_at
        return min(self.asked_at, known_at)


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
    was: list[State] = field(default_factory=list)
    inherited: bool = False

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

    def known(self, known_at: int | None) -> State:
        """How it stood, as was known at a wall time when it had been recorded."""
        if known_at is None:
            return self.was[-1]
        return [state for state in self.was if state.wall <= known_at][-1]

    def known_closed(self, known_at: int | None) -> int | None:
        """When it had been closed, in the eyes of a wall time."""
        closed = None
        for state in self.was:
            if known_at is None or state.wall <= known_at:
                closed = state.wall if closed is None else closed
                closed = None if state.until is None else closed
        return closed


@dataclass(slots=True)
class Person:
    """One user's facts. `now` is the wall time of each change."""

    facts: dict[str, Fact] = field(default_factory=dict)
    born: int = 0

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
        self.born += 1
        new = Fact(self.born, id_, text, since, now, expires, line, family)
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
        fact.told.append(("REINSTATE", None, reason))
        self._note(now)
        return "applied"

    def erase(self, fact: Fact) -> None:
        """Take a fact out. What it replaced ends where it ended, and is followed by what
        followed it."""
        at, by = fact.line.index(fact), fact.next
        before = fact.line[at - 1] if at else None
        if before is not None:
            before.ended, before.inherited = before.until, True
        del fact.line[at]
        fact.family.discard(fact.id)
        del self.facts[fact.id]
        for other in self.facts.values():
            heir = by.id if by is not None and other is before else None
            event = "CLOSE" if other is before and heir is None else "SUPERSEDE"
            other.told = [
                (event, heir, None) if told[1] == fact.id else told
                for told in other.told
            ]
            other.was = [
                state._replace(by=heir) if state.by == fact.id else state
                for state in other.was
            ]

    def visible(self, when: When) -> set[str]:
        """The facts that a question sees: the open ones; with `as_of` those believed then;
        with `known_at` as was known then, whatever was found out or undone since."""
        return {
            f.id for f in self.told_of(when) if _holds(f.known(when.known_at), when)
        }

    def visible_by_todays_ends(self, when: When) -> set[str]:
        """The same, were nothing known of an end but its first closing and where it is
        today."""
        found = set()
        for fact in self.told_of(when):
            state = fact.was[-1]
            if when.known_at is not None and (fact.closed or 0) > when.known_at:
                state = State(0, None, None)
            found |= {fact.id} if _holds(state, when) else set()
        return found

    def told_of(self, when: When) -> Iterator[Fact]:
        """The facts that had been believed, whether or not they still were."""
        for fact in self.facts.values():
            if when.known_at is not None and fact.recorded > when.known_at:
                continue
            if when.as_of is not None and fact.since > when.as_of:
                continue
            if when.during and not when.during[0] <= fact.since < when.during[1]:
                continue
            if fact.lives(when.moment):
                yield fact

    def replaced(self, fact: Fact, when: When) -> list[Fact]:
        """What a seen fact took the place of, newest first, as far as it may be seen."""
        seen = {f.id for f in self.told_of(when._replace(during=None))}
        found, names = [], {fact.id}
        while names:
            older = [
                f
                for f in self.facts.values()
                if when.known_at is None or f.recorded <= when.known_at
                if f.known(when.known_at).by in names
            ]
            found += older
            names = {f.id for f in older}
        return [f for f in found if f.id in seen]

    def ended(self, fact: Fact, when: When) -> tuple[int | None, str | None]:
        """When a fact ceased to be believed, and what took its place, in a question's
        eyes."""
        state = fact.known(when.known_at)
        if state.until is None or (when.as_of is not None and state.until > when.as_of):
            return None, None
        seen = {f.id for f in self.told_of(when._replace(during=None))}
        return state.until, state.by if state.by in seen else None

    def _note(self, now: int) -> None:
        """Remember how all facts stand from now on."""
        for fact in self.facts.values():
            state = State(now, fact.until, None if fact.next is None else fact.next.id)
            if not fact.was or fact.was[-1][1:] != state[1:]:
                fact.was.append(state)


def _holds(state: State, when: When) -> bool:
    if when.as_of is None or state.until is None:
        return state.until is None
    return when.as_of < state.until
