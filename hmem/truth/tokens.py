"""A sentence as tokens that know where they stand. Pure; imported by the rooms of truth."""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from hmem.text import normalise

TokenKind = Literal["date", "time", "version", "number", "word", "sign"]

_TOKEN = re.compile(
    r"(?P<date>\d{4}-\d{1,2}-\d{1,2}(?![\d-])|\d{4}-(?:0[1-9]|1[0-2])(?![\d-])"
    r"|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})(?![\d/])|\d{1,2}\.\d{1,2}\.\d{4}(?!\d))"
    r"|(?P<time>\d{1,2}:\d{2}(?::\d{2})?(?![\d:]))"
    r"|(?P<version>[vV]?\d{1,9}(?:\.\d{1,9}){2,9}|[vV]\d{1,9}(?:\.\d{1,9}){0,9})"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+\.\d+|\d+,\d{1,2}(?![\d,])|\d+)"
    r"|(?P<word>[^\W\d_]+(?:['\u2019\u02bc][^\W\d_]+)*)"
    r"|(?P<sign>[^\w\s]|_)"
)
_ENDS = frozenset('.!?\u2026\n:;"\u201c\u201d\u3002*\u2022([')
_FEWEST_WORDS = 4


class Token(NamedTuple):
    """`word` is normalised. `capital`: whether it has a capital that its place in the
    sentence does not explain; None where the place does, or where all are capitals.
    `glued`: nothing stands between it and the token before."""

    kind: TokenKind
    word: str
    start: int
    end: int
    capital: bool | None
    glued: bool


def tokens(text: str) -> list[Token]:
    """The tokens of a text, in order. Linear."""
    found: list[Token] = []
    shouted = text.isupper() and text.count(" ") >= _FEWEST_WORDS - 1
    begins, end = True, 0
    for match in _TOKEN.finditer(text):
        kind: TokenKind = match.lastgroup  # type: ignore[assignment]
        raw = match[0]
        capital: bool | None = None
        if kind == "word" and not shouted and not begins:
            capital = raw[0].isupper()
        elif kind == "word" and not shouted and any(map(str.isupper, raw[1:])):
            capital = True  # "iPhone", "NASA"
        glued = match.start() == end and end > 0
        found.append(
            Token(kind, folded(raw), match.start(), match.end(), capital, glued)
        )
        begins = raw in _ENDS if kind == "sign" else False
        end = match.end()
    return found


@lru_cache(maxsize=1 << 14)
def folded(raw: str) -> str:
    """A word in the form in which words are compared."""
    return normalise(raw)
