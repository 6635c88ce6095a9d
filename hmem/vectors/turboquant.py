"""`turboquant:4`, `:3.5` and `:2`: rotated coordinates on optimal scalar levels.

As Algorithm 1 of A. Zandieh et al., TurboQuant (arXiv 2504.19874): a unit row x is rotated
to y; a coordinate of a random point on the sphere has the density
Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)) * (1 - t^2)^((d-3)/2), which tends to N(0, 1/d); each
coordinate becomes the nearest of the levels that are optimal (Lloyd-Max) for it. Nothing is
trained, so a row is encoded alone and never again. Three things differ from the paper:

- The rotation is `hmem.vectors.rotation`, in place of the QR of a Gaussian matrix.
- A row carries a scale, the least-squares one: with L the levels of y, <y, L> / <L, L>. That
  is the biased form of EDEN (S. Vargaftik et al., ICML 2022), of which the paper's
  quantiser is the case without a scale (R. Ben-Basat et al., arXiv 2604.18555).
- 3.5 bits are 11 levels a coordinate, two coordinates to 7 bits (121 of 128 numbers). Half
  of the coordinates at 4 and half at 3 bits take the same bytes and have an error of 0.0220
  in place of 0.0192 (recall@10 .933 in place of .940, the mean of 16 rotations).

The levels are those of the limit, N(0, 1), for every d: at d = 384 they cost less than 0.1%
in error against the exact density. A row's bytes: the numbers' bits by planes (bit 0 of all
numbers, then bit 1, ...; little-endian, padded with zeros to whole bytes), then the scale,
a little-endian float32: d/2 + 4, 3.5 d/8 + 4 and d/4 + 4, rounded up for odd d.

Decoded rows are unit rows. A view decodes when it is loaded or extended, and searches what
came of it like any other vectors: the codes save bytes on disk, not time or memory in a
search. At d=384 decoding takes 5 us a row (int8: 0.15), 0.2 ms where a row comes alone, and
2 MB for a moment; encoding 8 us a row, or 0.26 ms for one; at d=1536 25 and 42 us a row.
"""

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hmem.errors import DamagedStoreError
from hmem.vectors.rotation import Floats, column_sums, rotation
from hmem.vectors.units import checked, peaked

Numbers = NDArray[np.uint8]
_COMPONENTS: Final = 128 * 1024  # at a time: work arrays of 512 KB, measured best

# The optimal levels >= 0 for N(0, 1), to nine digits; the others mirror them.
LEVELS: Final[dict[int, tuple[float, ...]]] = {
    4: (0.452780035, 1.510417608),
    11: (0.0, 0.367458112, 0.752367292, 1.178826407, 1.692639034, 2.425746394),
    16: (
        *(0.128395030, 0.388048299, 0.656759119, 0.942340456),
        *(1.256231197, 1.618046386, 2.069017227, 2.732589571),
    ),
}


class _TurboQuantCodec:
    """The common part: a subclass says how many levels, and how they share bits."""

    name: str
    levels: ClassVar[int]
    together: ClassVar[int]  # coordinates that share one number
    bits: ClassVar[int]  # of such a number
    recall_floor: ClassVar[float]
    cosine_floor: ClassVar[float]

    def row_bytes(self, dim: int) -> int:
        """Bytes per vector."""
        return -(-sum(self._planes(dim)) // 8) + 4

    def encode(self, vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
        """(n, dim) -> (n, row_bytes). Raises BadVectorError."""
        rows = peaked(vectors)
        out = np.empty((len(rows), self.row_bytes(rows.shape[1])), np.uint8)
        for part in _slices(rows):
            out[part] = self._encoded(rows[part].astype(np.float32, copy=False))
        return out

    def decode(self, codes: NDArray[np.uint8], dim: int) -> NDArray[np.float32]:
        """(n, row_bytes) -> (n, dim), unit rows. Raises DamagedStoreError."""
        rows = checked(codes, self.row_bytes(dim))
        out = np.empty((len(rows), dim), np.float32)
        for part in _slices(out):
            out[part] = self._decoded(rows[part], dim)
        return out

    def _encoded(self, rows: Floats) -> NDArray[np.uint8]:
        dim = rows.shape[1]
        turned = rotation(dim).forward(rows.T)
        turned *= np.sqrt(np.float32(dim) / column_sums(turned * turned))
        table = _table(self.levels)
        codes = _nearest(turned, table)
        held = table.take(codes)
        scales = column_sums(turned * held) / column_sums(held * held)
        scales /= np.float32(math.sqrt(dim))
        packed = self._packed(codes)
        return np.hstack([packed, scales.astype("<f4")[:, None].view(np.uint8)])

    def _decoded(self, rows: NDArray[np.uint8], dim: int) -> Floats:
        scales = rows[:, -4:].copy().view("<f4")[:, 0].astype(np.float32)
        held = self._unpacked(rows[:, :-4], dim)
        lengths = np.sqrt(column_sums(held * held))
        with np.errstate(over="ignore", invalid="ignore"):
            cosines = scales * lengths
        # The scale tells the cosine between the row and its code. Both grow together from
        # coordinate to coordinate, so that it is 1/d at least (Chebyshev's inequality).
        if not ((cosines > 0.99 / dim) & (cosines < 1.001)).all():
            raise DamagedStoreError(f"a stored {self.name} vector has a wrong scale")
        held /= lengths
        return rotation(dim).backward(held).T

    def _planes(self, dim: int) -> list[int]:
        """How many numbers have a bit 0, a bit 1, ...: a last one may stand alone."""
        whole, rest = divmod(dim, self.together)
        alone = (self.levels - 1).bit_length() if rest else 0
        return [whole + (bit < alone) for bit in range(self.bits)]

    def _packed(self, codes: Numbers) -> NDArray[np.uint8]:
        """(dim, n) codes -> (n, bytes)."""
        planes = self._planes(len(codes))
        numbers = codes[: planes[0]].copy()
        if self.together == 2:
            others = codes[planes[0] :]
            numbers[: len(others)] += np.uint8(self.levels) * others
        bits = [numbers[:count] >> bit & 1 for bit, count in enumerate(planes)]
        return np.packbits(np.concatenate(bits).T, axis=1, bitorder="little")

    def _unpacked(self, packed: NDArray[np.uint8], dim: int) -> Floats:
        """(n, bytes) -> (dim, n) levels. Raises DamagedStoreError."""
        planes = self._planes(dim)
        bits = np.unpackbits(packed, axis=1, count=sum(planes), bitorder="little")
        numbers = bits[:, : planes[0]].copy()
        start = planes[0]
        for bit, count in enumerate(planes[1:], 1):
            numbers[:, :count] |= bits[:, start : start + count] << bit
            start += count
        table = _table(self.levels)
        if self.together == 1:
            return table.take(numbers.T)
        self._check(numbers, alone=dim % 2 > 0)
        second, first = np.divmod(numbers.T, np.uint8(self.levels))
        return table.take(np.concatenate([first, second[: dim // 2]]))

    def _check(self, numbers: Numbers, *, alone: bool) -> None:
        """Seven bits hold more numbers than there are pairs; four more than levels."""
        last = self.levels if alone else self.levels**2
        if (numbers >= self.levels**2).any() or (numbers[:, -1] >= last).any():
            raise DamagedStoreError(f"a stored {self.name} vector has unknown levels")


class TurboQuant4Codec(_TurboQuantCodec):
    """`turboquant:4`: 16 levels, d/2 + 4 bytes."""

    name = "turboquant:4"
    levels, together, bits = 16, 1, 4
    recall_floor = 0.935
    cosine_floor = 0.98


class TurboQuant35Codec(_TurboQuantCodec):
    """`turboquant:3.5`: 11 levels, 3.5 d/8 + 4 bytes."""

    name = "turboquant:3.5"
    levels, together, bits = 11, 2, 7
    recall_floor = 0.905
    cosine_floor = 0.97


class TurboQuant2Codec(_TurboQuantCodec):
    """`turboquant:2`: 4 levels, d/4 + 4 bytes."""

    name = "turboquant:2"
    levels, together, bits = 4, 1, 2
    recall_floor = 0.81
    cosine_floor = 0.85


def _table(levels: int) -> Floats:
    """All levels, ascending."""
    upper = np.array(LEVELS[levels], np.float32)
    return np.concatenate([-upper[::-1][: levels // 2], upper])


def _nearest(turned: Floats, table: Floats) -> Numbers:
    """The number of the nearest level: how many midpoints lie below."""
    codes = np.zeros(turned.shape, np.uint8)
    for midpoint in (table[1:] + table[:-1]) / np.float32(2):
        codes += turned > midpoint
    return codes


def _slices(rows: NDArray[Any]) -> Iterator[slice]:
    """Parts of the rows whose work arrays stay in a cache."""
    step = max(16, _COMPONENTS // rows.shape[1])
    for start in range(0, len(rows), step):
        yield slice(start, start + step)
