"""Coarse, then exact: an engine names candidates, their int8 codes decide.

Scores, ties and filters are the int8 index's own, bit by bit; an engine can only leave
rows out. Where that would be more work than a scan, or the engine is of no help (few rows,
few allowed, ties beyond its candidates), the scan answers.
"""

import threading
from abc import abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hmem.vectors.indexes import Int8Index, Scores, as_mask, nothing
from hmem.vectors.simd import asked
from hmem.vectors.slots import Columns, Ids, Snapshot, last_of_each
from hmem.vectors.units import unit_query

Floats = NDArray[np.float32]
_BATCH = 4096  # rows decoded at a time for the engine
_TIED = np.float32(1e-6)


class Engine(Protocol):
    """Rows in slots 0..n-1, without their ids. One caller at a time."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        ...

    @property
    def worn(self) -> bool:
        """Whether so much was removed that it should be built anew."""
        ...

    def add(self, rows: Floats) -> None:
        """Unit rows for the next slots."""
        ...

    def swap_remove(self, slot: int) -> None:
        """Forget a slot's row; the last row takes its place."""
        ...

    def search(
        self, query: Floats, k: int, mask: NDArray[np.bool_] | None
    ) -> tuple[Scores, NDArray[np.intp]]:
        """Its scores and slots, best first; at most k, and perhaps fewer than there are.
        `mask` says which slots may be named."""
        ...


class CoarseIndex(Int8Index):
    """An int8 index with an engine in front, from `engine_from` rows on.

    A search takes `over` candidates per result. Calls wait for each other: the engine's
    slots and the codes' must be of one moment.
    """

    engine_from: ClassVar[int] = 2_000
    over: ClassVar[int] = 4

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self._lock = threading.RLock()
        self._engine: Engine | None = None

    @abstractmethod
    def make_engine(self) -> Engine | None:
        """A new, empty engine; None when there is none for this dimension."""
        ...

    def search(
        self,
        query: Floats,
        k: int,
        *,
        allowed: Ids | NDArray[np.bool_] | None = None,
    ) -> tuple[Scores, Ids]:
        """See `ScanIndex.search`."""
        wanted = unit_query(query, dim=self.dim)
        with self._lock:
            now = self._slots.read(lambda now: now)
            if self._engine is None:
                return self._best(now, wanted, k, allowed)
            mask = None if allowed is None else as_mask(now.ids[: now.n], allowed)
            live = now.n if mask is None else int(np.count_nonzero(mask))
            return self._coarse(self._engine, now, wanted, min(k, live), live, mask)

    def scores(self, query: Floats) -> Scores:
        """See `ScanIndex.scores`: a scan of the int8 codes."""
        with self._lock:
            return super().scores(query)

    def vectors(self, ids: Ids) -> Floats:
        """See `ScanIndex.vectors`."""
        with self._lock:
            return super().vectors(ids)

    @property
    def ids(self) -> Ids:
        """The ids held, in slot order: a copy."""
        with self._lock:
            return super().ids

    @property
    def nbytes(self) -> int:
        """Bytes held: codes, ids and the engine."""
        engine = self._engine
        return super().nbytes + (engine.nbytes if engine is not None else 0)

    def _coarse(
        self,
        engine: Engine,
        now: Snapshot,
        query: Floats,
        k: int,
        live: int,
        mask: NDArray[np.bool_] | None,
    ) -> tuple[Scores, Ids]:
        if k < 1:
            return nothing()
        wide = max(self.over * k, self.over * 10)
        if mask is not None and live <= max(now.n // 10, 2 * wide):
            return self._among(now, np.flatnonzero(mask), asked(query), k)
        if 2 * wide >= live:
            return self._best(now, query, k, mask)
        scores, at = engine.search(query, wide, mask)
        if at.size < wide or scores[-1] >= scores[k - 1] - _TIED:
            return self._best(now, query, k, mask)
        return self._among(now, at, asked(query), k)

    def _put(self, ids: Ids, columns: Columns) -> None:
        ids, columns = last_of_each(ids, columns)
        with self._lock:
            self._drop(ids)
            start = len(self._slots)
            self._slots.put(ids, columns)
            if self._engine is not None:
                self._feed(self._engine, start)
            elif len(self._slots) >= self.engine_from:
                self._build()

    def _drop(self, ids: Ids) -> int:
        with self._lock:
            gone = self._slots.drop(ids).gone
            engine = self._engine
            if engine is not None:
                for slot in gone:
                    engine.swap_remove(slot)
                if len(self._slots) < self.engine_from // 2:
                    self._engine = None
                elif engine.worn:
                    self._build()
            return len(gone)

    def _build(self) -> None:
        self._engine = None  # before the new one takes memory
        engine = self.make_engine()
        if engine is not None:
            self._feed(engine, 0)
        self._engine = engine

    def _feed(self, engine: Engine, start: int) -> None:
        """Give the engine the rows from a slot on, as they are held."""
        now: Any = self._slots.read(lambda now: now)
        for first in range(start, now.n, _BATCH):
            at = np.arange(first, min(first + _BATCH, now.n))
            engine.add(self._rows(now, at))
