"""Reads the reply of a reranking endpoint. Trusts nothing in it."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmem.errors import ModelError


def read_reply(body: str, n: int) -> NDArray[np.float64]:
    """(n,) finite scores in the order of the texts, on whatever scale they are.

    The list is `results` (Cohere, Jina, vLLM, llama.cpp, Infinity) or `data` (Voyage); an
    item has an `index` and a `relevance_score`, or a `score`. Raises ModelError for all
    else: an index that is missing, there twice or of no text, a score that is none.
    """
    try:
        reply = json.loads(body)
        items = reply["results"] if "results" in reply else reply["data"]
        pairs = [(item["index"], _score(item)) for item in items]
    except (ValueError, KeyError, TypeError, RecursionError) as e:
        raise _odd("is not a list of scores") from e
    if len(pairs) != n:
        raise _odd(f"has {len(pairs)} scores for {n} texts")
    placed: dict[int, float] = {i: score for i, score in pairs if type(i) is int}
    if sorted(placed) != list(range(n)):
        raise _odd("does not say which score belongs to which text")
    scores = np.asarray([placed[i] for i in range(n)], dtype=np.float64)
    if not np.isfinite(scores).all():
        raise _odd("has a score that is NaN or infinite")
    return scores


def _score(item: Any) -> float:
    value = item["relevance_score"] if "relevance_score" in item else item["score"]
    if type(value) not in (int, float):
        raise TypeError
    try:
        return float(value)
    except OverflowError as e:
        raise ValueError from e


def _odd(what: str) -> ModelError:
    """An error about the reply; another try may meet a healthier server."""
    return ModelError(f"the rerank endpoint's reply {what}", retryable=True)
