"""Where a quote stands in a text, word for word. Pure; linear."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from hmem.truth.tokens import tokens

_GAP = re.compile(r"\s*(?:\[\s*)?(?:\u2026|\.{3,})(?:\s*\])?\s*")
"""An ellipsis: what stands before it and behind must both be there, in this order."""


class Found(NamedTuple):
    """Which of the texts it is, and the stretch of it."""

    text: int
    start: int
    end: int


def find_quote(quote: str, texts: Sequence[str]) -> Found | None:
    """The first text in which the quote's words stand, in order and next to each other.

    Case, white space, punctuation, accents and the kinds of quotes and dashes do not
    count. None for a quote without a word.
    """
    parts = [said for part in _GAP.split(quote) if (said := _words(part)[0])]
    if not parts:
        return None
    for at, text in enumerate(texts):
        stretch = _stretch(parts, text)
        if stretch is not None:
            return Found(at, *stretch)
    return None


def _stretch(parts: Sequence[Sequence[str]], text: str) -> tuple[int, int] | None:
    """From the first word of the first part to the last of the last."""
    said, places = _words(text)
    line = " " + " ".join(said) + " "
    ends = [0]  # where each word begins in the line, less its blank
    for word in said:
        ends.append(ends[-1] + len(word) + 1)
    found: list[tuple[int, int]] = []  # first and last word of each part
    after = 0
    for part in parts:
        place = line.find(f" {' '.join(part)} ", after)
        if place < 0:
            return None
        first = bisect_left(ends, place)
        found.append((first, first + len(part) - 1))
        after = ends[first + len(part)]
    return places[found[0][0]][0], places[found[-1][1]][1]


def _words(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words and numbers of a text, and where each stands."""
    found = [token for token in tokens(text) if token.kind != "sign"]
    kept = [(t.word.replace("'", ""), (t.start, t.end)) for t in found]
    return [word for word, _ in kept if word], [place for word, place in kept if word]
