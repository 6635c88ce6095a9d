"""The shipped facts about the vocabularies of cl100k_base and o200k_base.

Read once, on first use. Written by tools/build_token_table.py.
"""

import re
import zlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CL100K, O200K = 1, 2
"""The flags of a token: whose it is."""

CASES = ("lower", "Capital", "UPPER")
PREFIXES = ("", *" ._(-/\"'[<=:,$#*@&>|{\\\t")
"""What may stand before a word in one token with it."""
SUFFIXES = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")

_CAMEL = re.compile(r"[a-z][A-Z]").search


class TokenTable(NamedTuple):
    """Tokens of two bytes and more as latin-1 text of their UTF-8, with their flags.

    cl100k_base is complete but for `skipped` tokens. Of o200k_base it holds what
    cl100k_base has too, and contracted words. Tokens that begin or end inside a character are all there, of
    both. `contracted`: the contracted words that are over two tokens of o200k_base though
    the word alone is one.
    """

    flags: dict[str, int]
    contracted: frozenset[str]


def cased(word: str, case: str) -> str:
    """A lower-case word in one of CASES; a NUL where that is no other form."""
    if case == "lower":
        return word
    if case == "Capital":
        return word.capitalize()
    return word.upper() if len(word) > 1 else "\x00"


def skipped(name: str) -> bool:
    """Whether the table leaves a token out: a long identifier of source code."""
    return len(name) > 12 and _CAMEL(name) is not None


@cache
def token_table() -> TokenTable:
    """The table. The first call takes a tenth of a second."""
    packed = files("hmem").joinpath("data/tokens.bin").read_bytes()
    sections = _sections(zlib.decompress(packed))
    flags: dict[str, int] = {}
    bases = _front_decoded(next(sections), next(sections))
    for prefix in PREFIXES:
        for case in CASES:
            rows = np.flatnonzero(_bits(next(sections), len(bases)))
            both = _bits(next(sections), len(rows)).tolist()
            for row, shared in zip(rows.tolist(), both, strict=True):
                flags[prefix + cased(bases[row], case)] = 1 + 2 * shared
    others = _front_decoded(next(sections), next(sections))
    flags.update(zip(others, next(sections), strict=True))
    return TokenTable(flags, frozenset(next(sections).decode().split("\0")))


def _sections(body: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "little")
        yield body[at + 4 : at + 4 + size]
        at += 4 + size


def _front_decoded(shared: bytes, rests: bytes) -> list[str]:
    names, last = [], ""
    for same, rest in zip(shared, rests.decode("latin-1").split("\0"), strict=True):
        last = last[:same] + rest
        names.append(last)
    return names


def _bits(packed: bytes, count: int) -> NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count)
