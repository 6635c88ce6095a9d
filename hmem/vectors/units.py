"""The one door through which vectors and their codes come in."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmem.errors import BadVectorError, DamagedStoreError

_LOW, _HIGH = 1e-12, 1e12  # squared lengths that float32 can sum without losing range


def unit(vectors: Any, *, dim: int | None = None) -> NDArray[np.float32]:
    """(n, d) vectors -> (n, d) float32 unit rows, a new array. Each row stands alone.

    Raises BadVectorError for NaN, Inf and zero rows, another shape, or not `dim` columns.
    """
    rows = matrix(vectors, dim=dim)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        narrow = rows.astype(np.float32)
        # A row's sum must not depend on its neighbours: this reduction adds contiguous
        # rows in the same order wherever they lie; BLAS and einsum do not.
        squares = np.add.reduce(narrow * narrow, axis=1)
        out: NDArray[np.float32] = narrow / np.sqrt(squares)[:, None]
        odd = np.flatnonzero(~((squares > _LOW) & (squares < _HIGH)))
        if odd.size:
            out[odd] = _unit_wide(rows[odd].astype(np.float64))
    return out


def unit_query(vector: Any, *, dim: int) -> NDArray[np.float32]:
    """One (dim,) query vector -> float32 of length 1. Raises BadVectorError."""
    query = _floats(vector)
    if query.shape != (dim,):
        raise BadVectorError(f"a query vector must have shape ({dim},)")
    squared = float(query.dot(query)) if query.dtype == np.float32 else 0.0
    if _LOW < squared < _HIGH:  # the usual case, and cheap
        scaled: NDArray[np.float32] = query * np.float32(1.0 / math.sqrt(squared))
        return scaled
    one: NDArray[np.float32] = unit(query[None, :], dim=dim)[0]
    return one


def matrix(vectors: Any, *, dim: int | None = None) -> NDArray[np.floating[Any]]:
    """`vectors` as a C-contiguous float array (n, d), d >= 1. Raises BadVectorError."""
    rows = _floats(vectors)
    if rows.ndim != 2 or rows.shape[1] < 1:
        raise BadVectorError("vectors must be an array of shape (n, dim)")
    if dim is not None and rows.shape[1] != dim:
        raise BadVectorError(f"vectors have {rows.shape[1]} dimensions, not {dim}")
    return np.ascontiguousarray(rows)


def peaked(vectors: Any) -> NDArray[np.floating[Any]]:
    """(n, d) -> a new (n, d) array, each row over its largest component's size.

    Exact to the last bit on every machine. Raises BadVectorError.
    """
    rows = matrix(vectors)
    peaks = np.abs(rows).max(axis=1, initial=0.0)
    if not (np.isfinite(peaks).all() and (peaks > 0.0).all()):
        raise BadVectorError("a vector has NaN, Inf or no length; embed the text again")
    out: NDArray[np.floating[Any]] = rows / peaks[:, None]
    return out


def checked(codes: NDArray[np.uint8], row_bytes: int) -> NDArray[np.uint8]:
    """`codes` as a contiguous (n, row_bytes) array. Raises DamagedStoreError."""
    if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] != row_bytes:
        raise DamagedStoreError(
            f"stored vectors are of shape {codes.shape}, not (n, {row_bytes}) bytes"
        )
    return np.ascontiguousarray(codes)


def _unit_wide(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Very long, very short and bad rows."""
    peaks = np.abs(rows).max(axis=1)
    if not (np.isfinite(peaks).all() and (peaks > 0.0).all()):
        raise BadVectorError("a vector has NaN, Inf or no length; embed the text again")
    rows /= peaks[:, None]
    rows /= np.sqrt(np.add.reduce(rows * rows, axis=1))[:, None]
    return rows


def _floats(vectors: Any) -> NDArray[np.floating[Any]]:
    try:
        array = np.asarray(vectors)
    except ValueError as e:  # rows of unequal lengths
        raise BadVectorError("vectors must be numbers in rows of one length") from e
    if array.dtype.kind not in "fiu":
        raise BadVectorError("vectors must be real numbers")
    return (
        array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    )
