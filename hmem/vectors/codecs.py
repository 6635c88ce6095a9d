"""How vectors are stored. A name stands for its bytes for ever: a new layout, a new name.

A codec carries `recall_floor`: the recall@10 that its codes keep against exact search. One
whose rows lie further than a little from what was encoded also carries `cosine_floor`.
"""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hmem.errors import DamagedStoreError, UnknownBackendError
from hmem.protocols import VectorCodec
from hmem.vectors.turboquant import (
    TurboQuant2Codec,
    TurboQuant4Codec,
    TurboQuant35Codec,
)
from hmem.vectors.units import checked, peaked, unit


class Float32Codec:
    """`float32`: a unit row as little-endian floats, 4 d bytes."""

    name: str = "float32"
    recall_floor: ClassVar[float] = 1.0

    def row_bytes(self, dim: int) -> int:
        """Bytes per vector."""
        return 4 * dim

    def encode(self, vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
        """(n, dim) -> (n, 4 dim). Raises BadVectorError."""
        rows = unit(vectors)
        return rows.astype("<f4", copy=False).view(np.uint8)

    def decode(self, codes: NDArray[np.uint8], dim: int) -> NDArray[np.float32]:
        """(n, 4 dim) -> (n, dim), unit rows. Raises DamagedStoreError."""
        rows = checked(codes, self.row_bytes(dim)).view("<f4").astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.abs(np.einsum("ij,ij->i", rows, rows) - 1.0)
        if not (off < 1e-3).all():  # NaN is not below either
            raise DamagedStoreError("a stored float32 vector is not of length 1")
        return rows


class Int8Codec:
    """`int8`: d signed bytes, then a little-endian float32 scale; d + 4 bytes.

    The largest component becomes +-127. The scale is one over the length of the codes, so
    that codes * scale is a unit row.
    """

    name: str = "int8"
    recall_floor: ClassVar[float] = 0.993

    def row_bytes(self, dim: int) -> int:
        """Bytes per vector."""
        return dim + 4

    def encode(self, vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
        """(n, dim) -> (n, dim + 4). Raises BadVectorError."""
        codes, scales = quantise(vectors)
        out = np.empty((codes.shape[0], self.row_bytes(codes.shape[1])), np.uint8)
        out[:, :-4] = codes.view(np.uint8)
        out[:, -4:] = scales.astype("<f4").view(np.uint8).reshape(-1, 4)
        return out

    def decode(self, codes: NDArray[np.uint8], dim: int) -> NDArray[np.float32]:
        """(n, dim + 4) -> (n, dim), unit rows. Raises DamagedStoreError."""
        steps, scales = int8_parts(codes, dim)
        out = steps.astype(np.float32)
        out *= scales[:, None]
        return out


def int8_parts(
    codes: NDArray[np.uint8], dim: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """(n, dim + 4) of the int8 codec -> (n, dim) codes and (n,) scales, new arrays.

    Raises DamagedStoreError.
    """
    rows = checked(codes, dim + 4)
    scales = rows[:, dim:].copy().view("<f4")[:, 0].astype(np.float32, copy=False)
    # A row with one code at 127 is 127 long at least, 127 sqrt(dim) at most.
    low, high = 0.999 / (127.0 * math.sqrt(dim)), 1.001 / 127.0
    if not ((scales > low) & (scales < high)).all():
        raise DamagedStoreError("a stored int8 vector has an impossible scale")
    return rows[:, :dim].view(np.int8).copy(), scales


def quantise(vectors: Any) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """(n, d) -> codes (n, d) and scales (n,); codes * scale are unit rows.

    Depends on each row's direction alone. Raises BadVectorError.
    """
    steps = peaked(vectors)
    steps *= 127.0
    codes = np.rint(steps, out=steps).astype(np.int8)
    # Sums of whole numbers are exact, whatever the order: every machine and every batch
    # size gives the same bytes.
    whole = codes.astype(np.int32)
    lengths = np.sqrt(np.einsum("ij,ij->i", whole, whole).astype(np.float64))
    return codes, (1.0 / lengths).astype(np.float32)


CODECS: dict[str, type[VectorCodec]] = {
    "float32": Float32Codec,
    "int8": Int8Codec,
    "turboquant:2": TurboQuant2Codec,
    "turboquant:3.5": TurboQuant35Codec,
    "turboquant:4": TurboQuant4Codec,
}


def codec(name: str) -> VectorCodec:
    """The codec of that name. Raises UnknownBackendError."""
    try:
        return CODECS[name]()
    except KeyError as e:
        known = ", ".join(sorted(CODECS))
        raise UnknownBackendError(f"no vector codec {name!r}; there are {known}") from e
