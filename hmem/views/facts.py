"""Facts of one user, with the times they held and the entities in them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log2
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import Former, MemoryRow, Micros, VectorIndex
from hmem.text import lexical
from hmem.views.grow import Grow
from hmem.views.past import Past
from hmem.views.table import FOREVER, Table

CATEGORIES: tuple[str, ...] = ("semantic", "episodic", "procedural")
_TIMES = (
    *("valid_from", "valid_to", "recorded_at", "closed_recorded_at"),
    *("expires_at", "forgotten_at", "event_start", "event_end"),
)
_NOTHING: Mapping[int, Sequence[Former]] = MappingProxyType({})


class Facts(Table[MemoryRow]):
    """Memories. `times[name]` is a column of micros, FOREVER where there is none."""

    def __init__(self, index: VectorIndex | None) -> None:
        super().__init__(index)
        self.times = {name: Grow(np.int64) for name in _TIMES}
        self.category, self.importance = Grow(np.int8), Grow(np.float32)
        self.verified = Grow(np.bool_)
        self.by_id: dict[str, int] = {}
        self.replaced: dict[str, list[int]] = {}
        self.past = Past()
        self.entities: dict[str, tuple[NDArray[np.int64], float]] = {}
        self._name_bytes = 0
        # Plain tuples all through, which the garbage collector leaves out.
        self._entity_terms: dict[int, tuple[tuple[tuple[int, ...], str], ...]] = {}
        self._named: tuple[list[str], NDArray[np.int64], NDArray[np.int64]] | None = (
            None
        )
        self._linked: dict[str, set[str]] = {}

    def put(
        self,
        rows: Sequence[MemoryRow],
        former: Mapping[int, Sequence[Former]] = _NOTHING,
    ) -> None:
        """Add new rows and take over changed ones, with how they stood before."""
        changed = [(at, r) for r in rows if (at := self.row_of(r.seq)) is not None]
        known = {r.seq for _, r in changed}
        self._append([r for r in rows if r.seq not in known])
        for at, row in changed:
            self._replace(at, row)
        for at, row in self.placed(rows) if former or self.past else ():
            self.past.put(at, former.get(row.seq, ()))

    def placed(self, rows: Iterable[MemoryRow]) -> Iterator[tuple[int, MemoryRow]]:
        """Those of some rows that are held, with their positions."""
        for row in rows:
            at = self.row_of(row.seq)
            if at is not None:
                yield at, row

    def _append(self, rows: Sequence[MemoryRow]) -> None:
        start = len(self.rows)
        self.append_rows(rows)
        for name, column in self.times.items():
            column.extend([_time(r, name) for r in rows])
        self.agent.extend([self.agents.number(r.agent_id) for r in rows])
        self.session.extend([self.sessions.number(r.session_id) for r in rows])
        self.category.extend([CATEGORIES.index(r.category) for r in rows])
        self.importance.extend([r.importance for r in rows])
        self.verified.extend([r.verified for r in rows])
        for at, row in enumerate(rows, start):
            self.by_id[row.id] = at
            self._link(at, row)

    def _replace(self, at: int, row: MemoryRow) -> None:
        before = self.rows[at].superseded_by
        if before is not None and before != row.superseded_by:
            # It was reinstated, or another came between.
            self.replaced[before].remove(at)
        self.rows[at] = row
        for name, column in self.times.items():
            column.view[at] = _time(row, name)
        self.importance.view[at] = row.importance
        self.verified.view[at] = row.verified
        self.sieve.changed(at)
        self._link(at, row)

    def _link(self, at: int, row: MemoryRow) -> None:
        for other in row.links:
            self._linked.setdefault(row.id, set()).add(other)
            self._linked.setdefault(other, set()).add(row.id)
        if row.superseded_by:
            older = self.replaced.setdefault(row.superseded_by, [])
            if at not in older:
                older.append(at)

    def put_entities(self, entities: Mapping[str, Iterable[int]]) -> None:
        """Take over which rows (sequences) each name occurs in."""
        self._named = None
        for name, seqs in entities.items():
            if name not in self.entities:
                terms = tuple(sorted(set(lexical(name).tolist())))
                if terms:
                    others = self._entity_terms.get(terms[0], ())
                    self._entity_terms[terms[0]] = (*others, (terms, name))
                self._name_bytes += 300
            found = [at for seq in seqs if (at := self.row_of(seq)) is not None]
            self._name_bytes += 8 * (
                len(found) - len(self.entities.get(name, ((),))[0])
            )
            weight = 1.0 / (1.0 + log2(len(found))) if found else 0.0
            self.entities[name] = np.array(found, np.int64), weight

    def named(self, terms: frozenset[int]) -> NDArray[np.float32] | None:
        """(rows,) in [0, 1]: how rare a name of the query occurs in the row. None when
        the query has no name that is known.

        A name counts 1 / (1 + log2(rows it is in)), so that a name which is everywhere
        says little.
        """
        names = [
            name
            for first in terms
            for wanted, name in self._entity_terms.get(first, ())
            if terms.issuperset(wanted)
        ]
        if not names:
            return None
        out = np.zeros(len(self.rows), np.float32)
        for name in names:
            rows, weight = self.entities[name]
            out[rows] = np.maximum(out[rows], weight)
        return out

    def akin(self, at: int) -> Iterator[tuple[NDArray[np.int64], float]]:
        """Rows that a row is linked to or has a name in common with, and how much that
        says: a link 1, a name the less, the more rows have it."""
        linked = self._linked.get(self.rows[at].id, ())
        there = [n for other in linked if (n := self.by_id.get(other)) is not None]
        yield np.array(sorted(there), np.int64), 1.0
        for name in self._names_of(at):
            yield self.entities[name]

    def _names_of(self, at: int) -> list[str]:
        """The names in a row, sorted."""
        if self._named is None:
            names = sorted(self.entities)
            held = [self.entities[name][0] for name in names]
            which = np.repeat(np.arange(len(names)), [len(rows) for rows in held])
            self._named = names, np.concatenate([np.empty(0, np.int64), *held]), which
        names, rows, which = self._named
        return [names[n] for n in which[rows == at].tolist()]

    def ends(self, known_at: Micros | None) -> NDArray[np.int64]:
        """(rows,) until when each fact was believed, as the database knew it at a wall
        time; None: as it knows it now. Not to be written to."""
        ends, closed = (self.times[n].view for n in ("valid_to", "closed_recorded_at"))
        if known_at is None:
            return ends
        known = np.where(closed <= known_at, ends, FOREVER)
        self.past.undo(known, known_at)
        return known

    def known(self, at: int, known_at: Micros | None) -> Former:
        """How a fact stood, as the database knew it at a wall time: its `until` is that of
        the next change of its end, FOREVER where none has come."""
        row = self.rows[at]
        if known_at is not None:
            former = self.past.at(at, known_at)
            if former is not None:
                return former
            closed = row.closed_recorded_at
            if closed is not None and closed > known_at:
                return Former(closed, None)
        return Former(int(FOREVER), row.valid_to, row.superseded_by)

    def chain(self, at: int, known_at: Micros | None = None) -> list[int]:
        """Positions of what a row replaced, newest first, as the database knew it at a
        wall time."""
        out: list[int] = []
        queue = self._forerunners(at, known_at)
        while queue:
            older = queue.pop(0)
            if older not in out:
                out.append(older)
                queue.extend(self._forerunners(older, known_at))
        return out

    def _forerunners(self, at: int, known_at: Micros | None) -> list[int]:
        """Positions of what a row replaced itself. What came later than `known_at` leads
        to nothing, though it may stand where something was erased that did."""
        own = self.rows[at].id
        now = self.replaced.get(own, [])
        if known_at is None:
            return list(now)
        recorded = self.times["recorded_at"].view
        if not self.past:
            return [n for n in now if recorded[n] <= known_at]
        once = sorted({*now, *self.past.followed_by(own)})
        return [
            n
            for n in once
            if recorded[n] <= known_at and self.known(n, known_at).superseded_by == own
        ]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        columns = (*self.times.values(), self.category, self.importance)
        links = 200 * len(self._linked)
        held = super().nbytes + self.past.nbytes
        return held + sum(c.nbytes for c in columns) + self._name_bytes + links


def _time(row: MemoryRow, name: str) -> int:
    value: int | None = getattr(row, name)
    return FOREVER if value is None else value
