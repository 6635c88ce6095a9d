"""`turbovec:4` and `turbovec:2`: TurboQuant codes of 4 or 2 bits name the candidates.

The library's own container (0.4 to 1.7 MB before the first row) is never written: rows come
from stored codes and are encoded here, so nothing of it outlives the process.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hmem.vectors.coarse import CoarseIndex, Engine, Floats
from hmem.vectors.indexes import Scores
from hmem.vectors.simd import needs

_LARGEST = 16_384


class TurboEngine:
    """A `TurboQuantIndex`. Dimensions are padded with zeros to a multiple of 8: no
    product changes."""

    worn = False

    def __init__(self, turbovec: Any, dim: int, *, bits: int) -> None:
        self._dim, self._bits = dim, bits
        self._padded = -(-dim // 8) * 8
        self._held = turbovec.TurboQuantIndex(dim=self._padded, bit_width=bits)

    @property
    def nbytes(self) -> int:
        """An upper bound: growing codes were measured to take 1.4 to 2.1 times their size,
        besides some 10 MB a process."""
        return len(self._held) * (2 * self._padded * self._bits // 8 + 16)

    def add(self, rows: Floats) -> None:
        """Unit rows for the next slots."""
        self._held.add(self._pad(rows))

    def swap_remove(self, slot: int) -> None:
        """Forget a slot's row; the last row takes its place."""
        self._held.swap_remove(slot)

    def search(
        self, query: Floats, k: int, mask: NDArray[np.bool_] | None
    ) -> tuple[Scores, NDArray[np.intp]]:
        """Candidates, best first."""
        scores, slots = self._held.search(self._pad(query[None]), k, mask=mask)
        return scores[0], slots[0]

    def _pad(self, rows: Floats) -> Floats:
        if self._padded == self._dim:
            return np.ascontiguousarray(rows)
        padded = np.zeros((len(rows), self._padded), np.float32)
        padded[:, : self._dim] = rows
        return padded


class _TurboIndex(CoarseIndex):
    bits: ClassVar[int]

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self._turbovec = needs("turbovec", self.name, "turbovec")

    def make_engine(self) -> Engine | None:
        """An engine; None above the dimensions that the library takes."""
        if self.dim > _LARGEST:
            return None
        return TurboEngine(self._turbovec, self.dim, bits=self.bits)


class Turbo4Index(_TurboIndex):
    """`turbovec:4`: 4 bits a dimension in front of int8 codes."""

    name: ClassVar[str] = "turbovec:4"
    recall_floor: ClassVar[float] = 0.99
    bits: ClassVar[int] = 4


class Turbo2Index(_TurboIndex):
    """`turbovec:2`: 2 bits a dimension in front of int8 codes."""

    name: ClassVar[str] = "turbovec:2"
    recall_floor: ClassVar[float] = 0.985
    bits: ClassVar[int] = 2
