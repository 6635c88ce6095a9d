"""`faiss:int8`: FAISS scans signed bytes (`QT_8bit_direct_signed`).

What it hides: the query is cut to whole numbers there, so it is scaled up and rounded
before; a row's own scale is not applied there, so all rows share one; removal there shifts
every later row, so slots are kept here, in the memory that FAISS reads; and what it pads
short results with, and its arrays of ids that cost a look at each row, are not used.
"""

import threading
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hmem.vectors.codecs import codec
from hmem.vectors.indexes import ROUGH, Int8Index, Scores, as_mask, nothing
from hmem.vectors.simd import Asked, Int8s, asked, needs, rough
from hmem.vectors.slots import Columns, Ids, Snapshot, room_for

Floats = NDArray[np.float32]
_MORE = 32  # candidates beyond k: rounding leaves lengths unequal by less than one code
_HEAP = 1_000  # above, its heap is slower than scoring everything
_BLOCK = 2_048  # rows unbiased at a time


class _Codes(np.ndarray[Any, Any]):
    """(room, dim) bytes, each 128 more than its code, in the memory of a FAISS index."""

    faiss: Any = None


class FaissInt8Index(Int8Index):
    """A scan by FAISS over codes of one scale for all rows, d + 5 bytes each.

    127 codes are a component of 4.5 / sqrt(dim). A row with a larger one gets a scale of its
    own and is scored whether FAISS names it or not. A model whose every row has such a
    component gains nothing by this index: everything is scored, as `int8` does.
    """

    name: ClassVar[str] = "faiss:int8"
    recall_floor: ClassVar[float] = 0.985
    score_tolerance: ClassVar[float] = 0.01

    def __init__(self, dim: int) -> None:
        self._faiss = needs("faiss", self.name, "faiss")
        self._steps = common_steps(dim)
        self._one_search = threading.Lock()
        self._room = self._room_in_faiss
        super().__init__(dim)

    def _no_rows(self) -> Columns:
        codes = np.empty((0, self.dim), np.uint8)
        return codes, np.empty(0, np.float32), np.empty(0, np.bool_)

    def _pack(self, rows: Floats) -> Columns:
        codes, scales, odd = commonly_quantised(rows, self._steps)
        return (codes.view(np.uint8) ^ np.uint8(128)), scales, odd

    def _unpack(self, codes: NDArray[np.uint8], codec_name: str) -> Columns:
        return self._pack(codec(codec_name).decode(codes, self.dim))

    def _codes_at(self, now: Snapshot, at: NDArray[np.intp]) -> Int8s:
        return _signed(now.columns[0][at])

    def _rough(self, now: Snapshot, query: Asked) -> Scores:
        codes, scales, _ = now.columns
        scores = np.empty(now.n, np.float32)
        for start in range(0, now.n, _BLOCK):
            stop = min(start + _BLOCK, now.n)
            part = _signed(codes[start:stop])
            scores[start:stop] = rough(self._dots, part, scales[start:stop], query)
        return scores

    def _best(
        self, now: Snapshot, query: Floats, k: int, allowed: Any
    ) -> tuple[Scores, Ids]:
        mask = None if allowed is None else as_mask(now.ids[: now.n], allowed)
        live = now.n if mask is None else int(np.count_nonzero(mask))
        k = min(k, live)
        if k < 1:
            return nothing()
        wide, whole = min(k + _MORE, live), asked(query)
        odd = np.flatnonzero(now.columns[2][: now.n])
        if wide > _HEAP or odd.size > now.n // 8:
            return super()._best(now, query, k, mask)
        products, at = self._ask(now, whole, wide, mask)
        apart = (products[k - 1] - products[-1]) * whole.scale / self._steps
        if wide < live and apart < 1.0 / self._steps + ROUGH * whole.scale:
            return super()._best(now, query, k, mask)  # the k-th may lie beyond
        if odd.size:
            at = np.union1d(at, odd if mask is None else odd[mask[odd]])
        return self._among(now, at, whole, k)

    def _ask(
        self, now: Snapshot, query: Asked, k: int, mask: NDArray[np.bool_] | None
    ) -> tuple[Floats, NDArray[np.intp]]:
        """Products and slots, the k largest first."""
        params = None
        if mask is not None:
            bits = np.packbits(mask, bitorder="little")
            params = self._faiss.SearchParameters(
                sel=self._faiss.IDSelectorBitmap(bits)
            )
        codes: Any = now.columns[0]
        whole = query.parts[:1].astype(np.float32)
        with self._one_search:
            codes.faiss.ntotal = now.n
            found, at = codes.faiss.search(whole, k, params=params)
        return found[0], at[0]

    def _room_in_faiss(self, like: NDArray[Any], n: int) -> NDArray[Any]:
        return self._codes(n) if like.ndim == 2 else room_for(like, n)

    def _codes(self, room: int) -> _Codes:
        faiss = self._faiss
        flat = faiss.IndexScalarQuantizer(
            self.dim,
            faiss.ScalarQuantizer.QT_8bit_direct_signed,
            faiss.METRIC_INNER_PRODUCT,
        )
        flat.codes.resize(room * self.dim)
        memory = (
            faiss.rev_swig_ptr(flat.codes.data(), room * self.dim)
            if room
            else np.empty(0, np.uint8)
        )
        codes = memory.reshape(room, self.dim).view(_Codes)
        codes.faiss = flat
        return codes


def common_steps(dim: int) -> np.float32:
    """How many codes a component of 1 is worth: 4.5 standard deviations of a component
    are 127 of them. In few dimensions no component is above 127."""
    return np.float32(127.0 * max(1.0, dim**0.5 / 4.5))


def commonly_quantised(
    rows: Floats, steps: np.float32
) -> tuple[Int8s, Floats, NDArray[np.bool_]]:
    """Unit rows -> codes (n, d), scales (n,), and which rows have a scale of their own;
    codes * scale are unit rows."""
    own = np.float32(127.0) / np.abs(rows).max(axis=1, initial=np.float32(1e-9))
    each = np.minimum(steps, own)
    codes = np.rint(rows * each[:, None]).astype(np.int8)
    whole = codes.astype(np.int32)
    lengths = np.sqrt(np.einsum("ij,ij->i", whole, whole).astype(np.float64))
    return codes, (1.0 / lengths).astype(np.float32), own < steps


def _signed(codes: NDArray[np.uint8]) -> Int8s:
    return (np.asarray(codes) ^ np.uint8(128)).view(np.int8)
