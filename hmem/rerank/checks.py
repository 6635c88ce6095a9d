"""What is checked of a reranker's scores, whoever brought it."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hmem.embed.checks import being_cancelled
from hmem.errors import ModelError
from hmem.protocols import Reranker

_SLACK = 1e-6  # what adding up in float32 may leave outside [0, 1]


async def rerank(
    reranker: Reranker, query: str, texts: Sequence[str]
) -> NDArray[np.float32]:
    """(n,) scores in [0, 1] of a reranker that anybody may have brought. Raises ModelError
    for whatever it raises, and for what is not one such number per text."""
    given = list(texts)  # a reranker may sort or shorten its own
    try:
        scores = np.asarray(await reranker.rerank(query, given))
    except ModelError:
        raise
    except asyncio.CancelledError as e:
        if being_cancelled():
            raise
        raise ModelError("the reranker failed: it was cancelled itself") from e
    except Exception as e:
        raise ModelError(f"the reranker failed: {type(e).__name__}") from e
    if scores.dtype.kind not in "fiu":
        raise ModelError("the reranker returned what are no numbers")
    if scores.shape != (len(texts),):
        raise ModelError("the reranker returned another number of scores")
    # NaN is neither.
    if not ((scores >= -_SLACK) & (scores <= 1.0 + _SLACK)).all():
        raise ModelError("the reranker returned a score outside 0..1")
    return np.clip(scores, 0.0, 1.0).astype(np.float32)
