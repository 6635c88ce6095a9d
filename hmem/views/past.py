"""How facts stood before their ends were moved or undone: only those of whom that is so."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import Former, MemoryRow, Micros
from hmem.views.table import FOREVER

_Flat = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class Past:
    """Former states by position of the row, in the order in which they changed."""

    __slots__ = ("_flat", "_followed", "_states")

    def __init__(self) -> None:
        self._states: dict[int, tuple[Former, ...]] = {}
        self._followed: dict[str, set[int]] = {}
        self._flat: _Flat | None = None

    def put(self, at: int, states: Sequence[Former]) -> None:
        """Take over a row's former states; none: it has none any more."""
        if not states and at not in self._states:
            return
        for state in self._states.pop(at, ()):
            self._followed.get(state.superseded_by or "", set()).discard(at)
        self._flat = None
        if states:
            self._states[at] = tuple(states)
        for state in states:
            if state.superseded_by is not None:
                self._followed.setdefault(state.superseded_by, set()).add(at)

    def at(self, at: int, known_at: Micros) -> Former | None:
        """How a row stood at a wall time, where it stands otherwise now."""
        states = self._states.get(at, ())
        return next((state for state in states if state.until > known_at), None)

    def followed_by(self, name: str) -> set[int]:
        """Positions of rows that were once superseded by the one with this id."""
        return self._followed.get(name, set())

    def as_known(self, at: int, row: MemoryRow, known_at: Micros) -> MemoryRow:
        """The row with the end that it had at a wall time."""
        stood = self.at(at, known_at)
        if stood is None:
            return row
        closings = [
            state.until
            for state in self._states[at]
            if state.valid_to is None and state.until <= known_at
        ]
        return row._replace(
            valid_to=stood.valid_to,
            superseded_by=stood.superseded_by,
            closed_recorded_at=closings[-1] if stood.valid_to is not None else None,
        )

    def undo(self, ends: NDArray[np.int64], known_at: Micros) -> None:
        """Put the ends that were known at a wall time into (rows,) the ends of today."""
        if not self._states:
            return
        rows, until, was = self._flat = self._flat or self._flattened()
        later = np.flatnonzero(until > known_at)
        first = np.ones(len(later), np.bool_)  # of those of a row, the first holds
        first[1:] = rows[later[1:]] != rows[later[:-1]]
        ends[rows[later[first]]] = was[later[first]]

    def _flattened(self) -> _Flat:
        """(states,) each one's row, `until` and end, a row's in order."""
        found = [
            (at, s.until, FOREVER if s.valid_to is None else s.valid_to)
            for at, states in self._states.items()
            for s in states
        ]
        rows, until, was = np.array(found, np.int64).reshape(-1, 3).T
        return rows, until, was

    def __bool__(self) -> bool:
        return bool(self._states)

    @property
    def nbytes(self) -> int:
        """Bytes held: an estimate of Python's objects."""
        return 300 * sum(map(len, self._states.values()))
