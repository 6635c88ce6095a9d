"""Plain numpy indexes: exact scans, for users of the usual size.

An index carries `recall_floor` (recall@10 against exact search) and `score_tolerance` (how
far a score may lie from the true cosine).
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hmem.errors import InputError, UnknownBackendError
from hmem.protocols import VectorIndex
from hmem.vectors.codecs import quantise
from hmem.vectors.slots import Columns, Ids, Slots, Snapshot, as_ids
from hmem.vectors.units import unit, unit_query

Scores = NDArray[np.float32]
_SORT_ALL = 800  # measured: below, sorting everything beats partitioning first
_NEAR = np.float32(2e-6)  # more than BLAS's rounding differs between equal rows
_BLOCK = 256  # rows widened at a time: their floats stay in the second-level cache


class _ScanIndex(ABC):
    """The contract over `Slots`; a subclass says how rows are kept and scored."""

    def __init__(self, dim: int) -> None:
        if dim < 1:
            raise InputError("an index needs a dimension of 1 or more")
        self.dim = dim
        self._slots = Slots(self._pack(np.empty((0, dim), np.float32)))

    def add(self, ids: Ids, vectors: NDArray[np.float32]) -> None:
        """(n,) and (n, dim); normalised here; an id that is present is replaced.

        Nothing is added when a vector is bad: BadVectorError.
        """
        numbers, rows = as_ids(ids), unit(vectors, dim=self.dim)
        if numbers.size != rows.shape[0]:
            raise InputError(f"{numbers.size} ids for {rows.shape[0]} vectors")
        self._slots.put(numbers, self._pack(rows))

    def remove(self, ids: Ids) -> int:
        """How many were removed; unknown ids are ignored."""
        return self._slots.drop(as_ids(ids))

    def search(
        self,
        query: NDArray[np.float32],
        k: int,
        *,
        allowed: Ids | NDArray[np.bool_] | None = None,
    ) -> tuple[Scores, Ids]:
        """Scores and ids, best first, ties by id, min(k, allowed) of them.

        `allowed` is ids, or a mask in the order of `ids`; InputError for a mask of another
        length. BadVectorError for a bad query.
        """
        wanted = unit_query(query, dim=self.dim)
        return self._slots.read(lambda now: self._best(now, wanted, k, allowed))

    def scores(self, query: NDArray[np.float32]) -> Scores:
        """Cosines in the order of `ids`: one matrix-vector product."""
        wanted = unit_query(query, dim=self.dim)
        return self._slots.read(lambda now: self._scan(now, wanted))

    def vectors(self, ids: Ids) -> NDArray[np.float32]:
        """(n, dim) unit rows as held, in the order given; zero rows for unknown ids."""
        wanted = as_ids(ids)

        def gather(now: Snapshot) -> NDArray[np.float32]:
            at = self._slots.find(now, wanted)
            out = np.zeros((wanted.size, self.dim), np.float32)
            out[at >= 0] = self._rows(now, at[at >= 0])
            return out

        return self._slots.read(gather)

    @property
    def ids(self) -> Ids:
        """The ids held, in slot order: a copy."""
        return self._slots.read(lambda now: now.ids[: now.n].copy())

    @property
    def nbytes(self) -> int:
        """Bytes held, the room to grow included."""
        return self._slots.nbytes

    def __len__(self) -> int:
        return len(self._slots)

    @abstractmethod
    def _pack(self, rows: NDArray[np.float32]) -> Columns:
        """Unit rows as the columns kept."""
        ...

    @abstractmethod
    def _rows(self, now: Snapshot, at: NDArray[np.intp]) -> NDArray[np.float32]:
        """The unit rows in those slots."""
        ...

    @abstractmethod
    def _scan(self, now: Snapshot, query: NDArray[np.float32]) -> Scores:
        """Every slot's cosine."""
        ...

    def _best(
        self, now: Snapshot, query: NDArray[np.float32], k: int, allowed: Any
    ) -> tuple[Scores, Ids]:
        scores, live = self._scan(now, query), now.n
        if allowed is not None:
            mask = _mask(now.ids[: now.n], allowed)
            live = int(np.count_nonzero(mask))
            scores = np.where(mask, scores, np.float32(-np.inf))
        k = min(k, live)
        if k < 1:
            return np.empty(0, np.float32), np.empty(0, np.uint64)
        order = _leading(scores, min(k + 1, live))
        top = scores[order]
        if top.size > 1 and (top[:-1] - top[1:]).min() <= _NEAR:
            # BLAS rounds equal rows differently by where they lie: score what is this
            # close again, row by row, so that ties are ties.
            order = np.flatnonzero(scores >= top[k - 1] - _NEAR)
            top = np.add.reduce(self._rows(now, order) * query, axis=1)
            best = np.lexsort((now.ids[order], -top))
            order, top = order[best], top[best]
        return top[:k], now.ids[order[:k]]


class Float32Index(_ScanIndex):
    """`float32`: unit rows as they are."""

    recall_floor: ClassVar[float] = 1.0
    score_tolerance: ClassVar[float] = 1e-5

    def _pack(self, rows: NDArray[np.float32]) -> Columns:
        return (rows,)

    def _rows(self, now: Snapshot, at: NDArray[np.intp]) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = now.columns[0][at]
        return rows

    def _scan(self, now: Snapshot, query: NDArray[np.float32]) -> Scores:
        scores: Scores = now.columns[0][: now.n] @ query
        return scores


class Int8Index(_ScanIndex):
    """`int8`: the codes of the stored codec of that name, a quarter of the memory.

    What comes from that codec is kept as it was stored, bit by bit.
    """

    recall_floor: ClassVar[float] = 0.993
    score_tolerance: ClassVar[float] = 0.01

    def _pack(self, rows: NDArray[np.float32]) -> Columns:
        return quantise(rows)

    def _rows(self, now: Snapshot, at: NDArray[np.intp]) -> NDArray[np.float32]:
        codes, scales = now.columns
        rows: NDArray[np.float32] = codes[at].astype(np.float32) * scales[at, None]
        return rows

    def _scan(self, now: Snapshot, query: NDArray[np.float32]) -> Scores:
        codes, scales = now.columns
        scores = np.empty(now.n, np.float32)
        wide = np.empty((min(now.n, _BLOCK), self.dim), np.float32)
        for start in range(0, now.n, _BLOCK):
            part = codes[start : min(start + _BLOCK, now.n)]
            rows = wide[: len(part)]
            np.copyto(rows, part)
            np.dot(rows, query, out=scores[start : start + len(part)])
        scores *= scales[: now.n]
        return scores


def _mask(ids: Ids, allowed: Any) -> NDArray[np.bool_]:
    wanted = np.asarray(allowed)
    if wanted.dtype != np.bool_:
        return np.isin(ids, as_ids(wanted))
    if wanted.shape != ids.shape:
        raise InputError(f"a mask of {wanted.size} for {ids.size} vectors")
    return wanted


def _leading(scores: Scores, m: int) -> NDArray[np.intp]:
    """Slots of the m best scores, best first; m >= 1."""
    if scores.size < _SORT_ALL or m >= scores.size:
        return np.argsort(scores)[: -m - 1 : -1]
    part = np.argpartition(scores, scores.size - m)[-m:]
    return part[np.argsort(scores[part])[::-1]]


INDEXES: dict[str, type[Any]] = {"float32": Float32Index, "int8": Int8Index}


def auto(dim: int, *, expect: int) -> str:
    """The index `auto` stands for, by dimension and number of vectors expected.

    The one place of that rule: float32, the fastest scan where compression buys bytes only.
    """
    del dim, expect
    return "float32"


def index(name: str, dim: int, *, expect: int = 0) -> VectorIndex:
    """A new, empty index; `auto` picks one for `expect` vectors. UnknownBackendError."""
    try:
        made: VectorIndex = INDEXES[
            auto(dim, expect=expect) if name == "auto" else name
        ](dim)
    except KeyError as e:
        known = ", ".join(["auto", *sorted(INDEXES)])
        raise UnknownBackendError(f"no vector index {name!r}; there are {known}") from e
    return made
