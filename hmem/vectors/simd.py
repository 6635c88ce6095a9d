"""Products of int8 rows with an int8 query, in whole numbers.

Whole numbers have one right sum, so a SIMD kernel and plain numpy give the same bits, and
which of them runs decides nothing but the time it takes.
"""

import functools
import importlib
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmem.errors import MissingExtraError

log = logging.getLogger("hmem.vectors")

Int8s = NDArray[np.int8]
Dots = Callable[[Int8s, Int8s], NDArray[np.float32]]
"""(n, d) rows and (m, d) queries -> (m, n) products, each the float32 next to the sum."""

_BLOCK = 256  # rows widened at a time: their floats stay in the second-level cache
_EXACT = 2.0**24  # float32 counts up to here
_FINER = np.float32(254)
_TRIED = (1, 2, 7, 16, 31, 33, 64, 100, 127, 129, 384, 770, 1537)  # dimensions


class Asked(NamedTuple):
    """A unit query in whole numbers: (parts[0] + parts[1] / 254) * scale, to 15 bits."""

    parts: Int8s
    scale: np.float32


def asked(query: NDArray[np.float32]) -> Asked:
    """(d,) -> parts (2, d); the largest component becomes +-127 in the first."""
    scale = np.abs(query[np.argmax(np.abs(query))]) / np.float32(127)
    steps, parts = query / scale, np.empty((2, query.size), np.int8)
    whole = np.rint(steps)
    parts[0] = whole
    steps -= whole
    steps *= _FINER
    parts[1] = np.rint(steps, out=steps)
    return Asked(parts, scale)


def rough(
    dots: Dots, codes: Int8s, scales: NDArray[np.float32], query: Asked
) -> NDArray[np.float32]:
    """(n,) cosines from the query's first part alone."""
    scores: NDArray[np.float32] = dots(codes, query.parts[:1])[0]
    scores *= scales
    scores *= query.scale
    return scores


def fine(
    dots: Dots, codes: Int8s, scales: NDArray[np.float32], query: Asked
) -> NDArray[np.float32]:
    """(n,) cosines from both parts: the same for equal rows, wherever they lie."""
    both = dots(codes, query.parts)
    both[1] /= _FINER
    scores: NDArray[np.float32] = np.add(both[0], both[1])
    scores *= scales
    scores *= query.scale
    return scores


def plain(rows: Int8s, queries: Int8s) -> NDArray[np.float32]:
    """By BLAS, on blocks of rows widened to floats in which every sum is exact."""
    n, dim = rows.shape
    squares = np.add.reduce(np.square(queries, dtype=np.int64), axis=1)
    # No partial sum is above the product of the lengths.
    fits = float(squares.max()) * dim * 127.0**2 <= _EXACT**2
    wide = np.empty((min(n, _BLOCK), dim), np.float32 if fits else np.float64)
    asked, out = queries.astype(wide.dtype), np.empty((len(queries), n), wide.dtype)
    for start in range(0, n, _BLOCK):
        part = rows[start : min(start + _BLOCK, n)]
        block = wide[: len(part)]
        np.copyto(block, part)
        for query, products in zip(asked, out, strict=True):
            np.dot(block, query, out=products[start : start + len(part)])
    return out.astype(np.float32, copy=False)


@functools.cache
def best_dots() -> Dots:
    """The kernel of the `simd` extra where it is installed and right, else `plain`."""
    try:
        return numkong_dots()
    except MissingExtraError:
        return plain
    except ArithmeticError as e:
        log.warning("int8 vectors are scanned by numpy: %s", e)
        return plain


def numkong_dots() -> Dots:
    """NumKong's kernel. Raises MissingExtraError, and ArithmeticError when it is wrong.

    It picks its instructions by looking at the processor, so it is tried here once, on
    this processor, before anything relies on it.
    """
    numkong = needs("numkong", "int8", "simd")
    cdist: Callable[..., Any] = numkong.cdist

    def dots(rows: Int8s, queries: Int8s) -> NDArray[np.float32]:
        if not len(rows):
            return np.empty((len(queries), 0), np.float32)
        found = cdist(queries, rows, "dot", out_dtype="float32")
        products: NDArray[np.float32] = np.asarray(found)
        return products

    check(dots)
    return dots


def check(dots: Dots) -> None:
    """Compare with exact sums, extremes and odd lengths included: ArithmeticError."""
    rng = np.random.default_rng(1)
    for dim in _TRIED:
        rows = rng.integers(-127, 128, (19, dim)).astype(np.int8)
        rows[:2] = [[127], [-127]]
        for queries in (rows[:1], rows[1:3]):
            exact = queries.astype(np.int64) @ rows.T.astype(np.int64)
            if not np.array_equal(dots(rows, queries), exact.astype(np.float32)):
                raise ArithmeticError(f"NumKong's products are wrong for {dim} numbers")


def needs(module: str, backend: str, extra: str) -> Any:
    """The module. Raises MissingExtraError when it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        if (e.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise MissingExtraError(backend, extra) from e
