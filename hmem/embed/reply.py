"""Reads the reply of an OpenAI-compatible embeddings endpoint. Trusts nothing in it."""

import base64
import binascii
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmem.errors import EmbedderError


def read_reply(body: bytes, n: int) -> NDArray[np.float64]:
    """(n, dim) numbers in the order of the texts asked about.

    The order is taken from `index`, or is the reply's own where no item has one. Vectors
    may be lists or base64 of little-endian float32. Raises EmbedderError for all else.
    """
    try:
        items = json.loads(body)["data"]
        pairs = [(item.get("index"), item["embedding"]) for item in items]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise _odd("is not a list of embeddings") from e
    if len(pairs) != n:
        raise _odd(f"has {len(pairs)} vectors for {n} texts")
    rows = [_numbers(vector) for vector in _in_order(pairs, n)]
    if len({row.size for row in rows}) != 1:
        raise _odd("has vectors of several dimensions")
    return np.stack(rows)


def _in_order(pairs: list[tuple[Any, Any]], n: int) -> list[Any]:
    """The vectors by index."""
    if all(index is None for index, _ in pairs):
        return [vector for _, vector in pairs]
    placed: dict[int, Any] = {
        index: vector for index, vector in pairs if type(index) is int
    }
    if sorted(placed) != list(range(n)):
        raise _odd("does not say which vector belongs to which text")
    return [placed[i] for i in range(n)]


def _numbers(vector: Any) -> NDArray[np.float64]:
    """One vector, not empty."""
    try:
        if isinstance(vector, str):
            raw = base64.b64decode(vector, validate=True)
            numbers = np.frombuffer(raw, dtype="<f4").astype(np.float64)
        elif isinstance(vector, list) and {type(x) for x in vector} <= {int, float}:
            numbers = np.asarray(vector, dtype=np.float64)
        else:
            raise _odd("has a vector that is neither a list of numbers nor base64")
    except (binascii.Error, ValueError, OverflowError) as e:
        raise _odd("has a vector that cannot be read") from e
    if not numbers.size:
        raise _odd("has an empty vector")
    return numbers


def _odd(what: str) -> EmbedderError:
    """An error about the reply; another try may meet a healthier server."""
    return EmbedderError(f"the endpoint's reply {what}", retryable=True)
