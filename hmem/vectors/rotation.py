"""A fixed rotation of any dimension that looks random: the same everywhere, for ever.

Three rounds; each permutes the coordinates, flips signs and applies Walsh-Hadamard
transforms to blocks whose sizes are the powers of two that make up the dimension (384 is
256 + 128). It is an orthogonal map without padding, so d coordinates stay d. Rounds with
other permutations carry energy from block to block: after three of them a vector with one
component, the worst case, is spread as evenly as chance would spread it.

Permutations and signs come from SHAKE-256 (FIPS 202) over a seed that is written here, not
from a random generator whose stream a library may change. What follows is additions,
subtractions and products of single float32 numbers, never a sum whose order is left to a
library: every machine and every batch size gives the same bits. That is why it is no
matrix product; and it takes d log d steps and no d x d matrix.
"""

import hashlib
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

SEED: Final = b"hmem turboquant 1"
_ROUNDS: Final = 3


class Rotation:
    """The rotation of one dimension. Vectors are columns: (dim, n) float32."""

    def __init__(self, dim: int, *, seed: bytes = SEED) -> None:
        self.dim = dim
        self._blocks = _blocks(dim)
        norms = np.concatenate([np.full(m, m, np.float32) for _, m in self._blocks])
        self._rounds = []
        for number in range(_ROUNDS):
            stream = hashlib.shake_256(b"%b/%d/%d" % (seed, dim, number))
            drawn = stream.digest(9 * dim)
            order = np.argsort(np.frombuffer(drawn, "<u8", dim), kind="stable")
            odd = np.frombuffer(drawn, np.uint8, dim, 8 * dim) & 1
            signs = 1.0 - 2.0 * odd.astype(np.float32)
            self._rounds.append((order, (signs / np.sqrt(norms))[:, None]))

    def forward(self, columns: Floats) -> Floats:
        """(dim, n) -> (dim, n), a new array, rotated. Each column stands alone."""
        now = columns
        for order, factors in self._rounds:
            now = now[order]
            now *= factors
            self._transform(now)
        return now

    def backward(self, columns: Floats) -> Floats:
        """The inverse of `forward`."""
        now = columns.copy()
        for order, factors in reversed(self._rounds):
            self._transform(now)
            now *= factors
            before = np.empty_like(now)
            before[order] = now
            now = before
        return now

    def _transform(self, now: Floats) -> None:
        """The Hadamard transform of every block, in place, without its factor."""
        spare = np.empty_like(now)
        for start, size in self._blocks:
            here, there = now[start : start + size], spare[start : start + size]
            half = 1
            while half < size:
                shape = (size // (2 * half), 2, half, now.shape[1])
                old, new = here.reshape(shape), there.reshape(shape)
                np.add(old[:, 0], old[:, 1], out=new[:, 0])
                np.subtract(old[:, 0], old[:, 1], out=new[:, 1])
                here, there, half = there, here, 2 * half
            if size.bit_length() % 2 == 0:  # an odd number of steps ended in `spare`
                there[:] = here


@lru_cache(maxsize=16)
def rotation(dim: int) -> Rotation:
    """The rotation of that dimension, made once (0.1 ms at d=384)."""
    return Rotation(dim)


def column_sums(columns: Floats) -> Floats:
    """(d, n) -> (n,). Added in a fixed order; the argument is used up."""
    left = columns
    while len(left) > 1:
        half = (len(left) + 1) // 2
        left[: len(left) - half] += left[half:]
        left = left[:half]
    total: Floats = left[0]
    return total


def _blocks(dim: int) -> list[tuple[int, int]]:
    """Start and size of the blocks: the powers of two in `dim`, largest first."""
    blocks, start = [], 0
    for power in reversed(range(dim.bit_length())):
        if dim >> power & 1:
            blocks.append((start, 1 << power))
            start += 1 << power
    return blocks
