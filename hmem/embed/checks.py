"""What every embedder checks of what goes in and what comes out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hmem.errors import EmbedderError, InputTypeError


def checked_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list that can be encoded as UTF-8; lone surrogates become `?`.

    Raises InputTypeError for a single string and for what is not a string.
    """
    if isinstance(texts, (str, bytes)):
        raise InputTypeError("texts must be a list of strings, not one string")
    return [_encodable(text) for text in texts]


def unit_rows(vectors: NDArray[np.float32], *, dim: int | None) -> NDArray[np.float32]:
    """(n, dim) rows scaled to length 1.

    Raises EmbedderError (not retryable) for another dimension than `dim`, and for rows
    with NaN, Inf or no length, naming the first such row.
    """
    if vectors.ndim != 2 or (dim is not None and vectors.shape[1] != dim):
        raise EmbedderError(
            f"the embedder returned vectors of {vectors.shape[-1]} dimensions "
            f"where {dim} are expected (HMEM_EMBED_DIM)",
            retryable=False,
        )
    # In float64: squares of the largest float32 values would overflow.
    wide = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0.0)))
    if bad.size:
        row = int(bad[0])
        raise EmbedderError(
            f"the embedder returned no usable vector for text {row} (NaN, Inf or zero)",
            retryable=False,
            position=row,
        )
    wide /= lengths[:, None]
    return wide.astype(np.float32)


def _encodable(text: str) -> str:
    if not isinstance(text, str):
        raise InputTypeError("texts must be a list of strings")
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")
