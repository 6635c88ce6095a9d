"""Plain indexes: exact scans, for users of the usual size.

An index carries `recall_floor` (recall@10 against exact search) and `score_tolerance` (how
far a score may lie from the true cosine).
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hmem.errors import InputError
from hmem.vectors.codecs import codec, int8_parts, quantise
from hmem.vectors.simd import Asked, Int8s, asked, best_dots, fine, rough
from hmem.vectors.slots import Columns, Ids, Slots, Snapshot, as_ids, room_for
from hmem.vectors.units import unit, unit_query

Scores = NDArray[np.float32]
_SORT_ALL = 800  # measured: below, sorting everything beats partitioning first
_NEAR = np.float32(2e-6)  # more than BLAS's rounding differs between equal rows
ROUGH = np.float32(
    1.5
)  # times a query's scale: what half its bits may be off (5 sigma)


class ScanIndex(ABC):
    """The contract over `Slots`; a subclass says how rows are kept and scored."""

    name: ClassVar[str]
    recall_floor: ClassVar[float]
    score_tolerance: ClassVar[float]
    _room = staticmethod(room_for)  # makes the arrays that columns are kept in

    def __init__(self, dim: int) -> None:
        if dim < 1:
            raise InputError("an index needs a dimension of 1 or more")
        self.dim = dim
        self._slots = Slots(self._no_rows(), room=self._room)

    def add(self, ids: Ids, vectors: NDArray[np.float32]) -> None:
        """(n,) and (n, dim); normalised here; an id that is present is replaced.

        Nothing is added when a vector is bad: BadVectorError.
        """
        numbers, rows = as_ids(ids), unit(vectors, dim=self.dim)
        _same_count(numbers, rows)
        self._put(numbers, self._pack(rows))

    def add_codes(self, ids: Ids, codes: NDArray[np.uint8], codec_name: str) -> None:
        """Like `add`, of rows as the codec of that name stored them: at most decoded, and
        not even that where the index keeps the same codes. DamagedStoreError."""
        numbers = as_ids(ids)
        _same_count(numbers, codes)
        self._put(numbers, self._unpack(codes, codec_name))

    def remove(self, ids: Ids) -> int:
        """How many were removed; unknown ids are ignored."""
        return self._drop(as_ids(ids))

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

    def _put(self, ids: Ids, columns: Columns) -> None:
        self._slots.put(ids, columns)

    def _drop(self, ids: Ids) -> int:
        return len(self._slots.drop(ids).gone)

    def _unpack(self, codes: NDArray[np.uint8], codec_name: str) -> Columns:
        """Stored codes as the columns kept; decoded rows are unit rows."""
        return self._pack(codec(codec_name).decode(codes, self.dim))

    @abstractmethod
    def _no_rows(self) -> Columns:
        """Empty columns of the right types."""
        ...

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

    @abstractmethod
    def _best(
        self, now: Snapshot, query: NDArray[np.float32], k: int, allowed: Any
    ) -> tuple[Scores, Ids]:
        """The k best slots' scores and ids."""
        ...


class Float32Index(ScanIndex):
    """`float32`: unit rows as they are."""

    name: ClassVar[str] = "float32"
    recall_floor: ClassVar[float] = 1.0
    score_tolerance: ClassVar[float] = 1e-5

    def _no_rows(self) -> Columns:
        return (np.empty((0, self.dim), np.float32),)

    def _pack(self, rows: NDArray[np.float32]) -> Columns:
        return (rows,)

    def _rows(self, now: Snapshot, at: NDArray[np.intp]) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = now.columns[0][at]
        return rows

    def _scan(self, now: Snapshot, query: NDArray[np.float32]) -> Scores:
        scores: Scores = now.columns[0][: now.n] @ query
        return scores

    def _best(
        self, now: Snapshot, query: NDArray[np.float32], k: int, allowed: Any
    ) -> tuple[Scores, Ids]:
        scores, live = masked(now, self._scan(now, query), allowed)
        k = min(k, live)
        if k < 1:
            return nothing()
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


class Int8Index(ScanIndex):
    """`int8`: the codes of the stored codec of that name, a quarter of the memory.

    What comes from that codec is kept as it was stored, bit by bit. The query becomes
    whole numbers too, so sums are exact: equal rows score the same wherever they lie, and
    on every machine. `scores` uses half the query's bits, `search` all for the best rows.
    """

    name: ClassVar[str] = "int8"
    recall_floor: ClassVar[float] = 0.993
    score_tolerance: ClassVar[float] = 0.01

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self._dots = best_dots()

    def _no_rows(self) -> Columns:
        return np.empty((0, self.dim), np.int8), np.empty(0, np.float32)

    def _pack(self, rows: NDArray[np.float32]) -> Columns:
        return quantise(rows)

    def _unpack(self, codes: NDArray[np.uint8], codec_name: str) -> Columns:
        if codec_name == "int8":
            return int8_parts(codes, self.dim)
        return super()._unpack(codes, codec_name)

    def _rows(self, now: Snapshot, at: NDArray[np.intp]) -> NDArray[np.float32]:
        rows = self._codes_at(now, at).astype(np.float32)
        rows *= now.columns[1][at, None]
        return rows

    def _codes_at(self, now: Snapshot, at: NDArray[np.intp]) -> Int8s:
        codes: Int8s = now.columns[0][at]
        return codes

    def _scan(self, now: Snapshot, query: NDArray[np.float32]) -> Scores:
        return self._rough(now, asked(query))

    def _rough(self, now: Snapshot, query: Asked) -> Scores:
        codes, scales = now.columns
        return rough(self._dots, codes[: now.n], scales[: now.n], query)

    def _best(
        self, now: Snapshot, query: NDArray[np.float32], k: int, allowed: Any
    ) -> tuple[Scores, Ids]:
        whole = asked(query)
        scores, live = masked(now, self._rough(now, whole), allowed)
        k = min(k, live)
        if k < 1:
            return nothing()
        last = np.partition(scores, now.n - k)[now.n - k]
        return self._among(
            now, np.flatnonzero(scores >= last - ROUGH * whole.scale), whole, k
        )

    def _among(
        self, now: Snapshot, at: NDArray[np.intp], query: Asked, k: int
    ) -> tuple[Scores, Ids]:
        """The k best of some slots: scores of both parts of the query."""
        codes, scales = self._codes_at(now, at), now.columns[1][at]
        scores, ids = fine(self._dots, codes, scales, query), now.ids[at]
        best = np.lexsort((ids, -scores))[:k]
        return scores[best], ids[best]


def nothing() -> tuple[Scores, Ids]:
    """No scores and no ids."""
    return np.empty(0, np.float32), np.empty(0, np.uint64)


def masked(now: Snapshot, scores: Scores, allowed: Any) -> tuple[Scores, int]:
    """Scores, minus infinity where a slot is not allowed, and how many are."""
    if allowed is None:
        return scores, now.n
    mask = as_mask(now.ids[: now.n], allowed)
    return np.where(mask, scores, np.float32(-np.inf)), int(np.count_nonzero(mask))


def as_mask(ids: Ids, allowed: Any) -> NDArray[np.bool_]:
    """`allowed`, ids or a mask, as a mask of `ids`. Raises InputError."""
    wanted = np.asarray(allowed)
    if wanted.dtype != np.bool_:
        return np.isin(ids, as_ids(wanted))
    if wanted.shape != ids.shape:
        raise InputError(f"a mask of {wanted.size} for {ids.size} vectors")
    return wanted


def _same_count(ids: Ids, rows: NDArray[Any]) -> None:
    if ids.size != rows.shape[0]:
        raise InputError(f"{ids.size} ids for {rows.shape[0]} vectors")


def _leading(scores: Scores, m: int) -> NDArray[np.intp]:
    """Slots of the m best scores, best first; m >= 1."""
    if scores.size < _SORT_ALL or m >= scores.size:
        return np.argsort(scores)[: -m - 1 : -1]
    part = np.argpartition(scores, scores.size - m)[-m:]
    return part[np.argsort(scores[part])[::-1]]
