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


def unit_rows(
    vectors: NDArray[np.float64], *, dim: int | None, first: int = 0
) -> NDArray[np.float32]:
    """(n, dim) rows scaled to length 1; row i belongs to text `first + i`.

    Raises EmbedderError (not retryable) for another dimension than `dim`, and for rows
    with NaN, Inf or no length, with the first such text's position.
    """
    if dim is not None and vectors.shape[1] != dim:
        raise EmbedderError(
            f"the embedder returned vectors of {vectors.shape[1]} dimensions "
            f"where {dim} are expected (HMEM_EMBED_DIM)",
            retryable=False,
        )
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0.0)))
    if bad.size:
        position = first + int(bad[0])
        raise EmbedderError(
            f"the embedder returned no usable vector for text {position}: "
            "it has NaN, Inf or no length",
            retryable=False,
            position=position,
        )
    unit: NDArray[np.float32] = (vectors / lengths[:, None]).astype(np.float32)
    return unit


def _encodable(text: str) -> str:
    if not isinstance(text, str):
        raise InputTypeError("texts must be a list of strings")
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")
