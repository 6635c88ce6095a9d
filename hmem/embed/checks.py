"""What every embedder checks of what goes in and what comes out."""

import asyncio
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hmem.errors import EmbedderError, HmemError, InputTypeError
from hmem.protocols import Embedder


def checked_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list that can be encoded as UTF-8; lone surrogates become `?`.

    Raises InputTypeError for a single string and for what is not a string.
    """
    if isinstance(texts, (str, bytes)):
        raise InputTypeError("texts must be a list of strings, not one string")
    return [_encodable(text) for text in texts]


async def embed(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    purpose: Literal["passage", "query"] = "passage",
) -> NDArray[np.float32]:
    """(n, dim) rows of an embedder that anybody may have brought. Raises EmbedderError for
    whatever else it raises, and for what is not one row of finite numbers per text."""
    try:
        found = await embedder.embed(texts, purpose=purpose)
        rows = np.asarray(found, dtype=np.float32)
    except HmemError:
        raise
    except asyncio.CancelledError as e:
        if being_cancelled():
            raise
        raise EmbedderError("the embedder failed: it was cancelled itself") from e
    except Exception as e:
        raise EmbedderError(f"the embedder failed: {type(e).__name__}") from e
    if rows.ndim != 2 or len(rows) != len(texts):
        raise EmbedderError("the embedder returned another number of vectors")
    if embedder.dim not in (None, rows.shape[1]):
        raise EmbedderError("the embedder returned vectors of another dimension")
    if not (np.isfinite(rows).all() and rows.any(axis=1).all()):
        raise EmbedderError("the embedder returned a vector with NaN, Inf or no length")
    return rows


def being_cancelled() -> bool:
    """Whether a CancelledError is for the task that sees it. Otherwise something that it
    waited for was cancelled, which nobody asked of the caller."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


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
