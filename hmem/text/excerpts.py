"""The part of a text that says most about a question. Pure."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from hmem.text import lexical, passages

_CUT = "\u2026"
_END = re.compile("[.!?\u2026]+[\"')\\]]*(?:\\s+|$)|[\u3002\uff01\uff1f]\\s*|\\n\\s*")
_MOST_WORDS = 8
"""Words of a sentence beyond which it says no more than others."""


def excerpt(text: str, terms: AbstractSet[int], *, limit: int) -> str:
    """At most about `limit` characters of `text`: the run of sentences that holds most of
    the question's words (`hmem.text.lexical` hashes) and then most words at all, the first
    of equals. An ellipsis stands where something was left out.
    """
    if len(text) <= limit:
        return text
    spans = _sentences(text, limit)
    start, end = _best_run(spans, [_worth(text[a:b], terms) for a, b in spans], limit)
    before = f"{_CUT} " if text[:start].strip() else ""
    after = f" {_CUT}" if text[end:].strip() else ""
    return f"{before}{text[start:end].strip()}{after}"


def _sentences(text: str, limit: int) -> list[tuple[int, int]]:
    """Where the sentences and lines of a text stand, blank ones left out; at least one. One
    that is longer than `limit` is taken as parts of half of it, since it may say what is
    asked for anywhere."""
    borders = [0, *(m.end() for m in _END.finditer(text)), len(text)]
    found: list[tuple[int, int]] = []
    for a, b in pairwise(borders):
        if b - a <= limit:
            found.append((a, b))
            continue
        ends = passages(text[a:b], limit=limit // 2)
        found += pairwise([a, *(a + end for end in ends)])
    kept = [(a, b) for a, b in found if text[a:b].strip()]
    starts = [b - len(text[a:b].lstrip()) for a, b in kept]
    return list(zip(starts, (b for _, b in kept), strict=True)) or [(0, len(text))]


def _worth(sentence: str, terms: AbstractSet[int]) -> float:
    """Six words say as much as one of the question's."""
    words = set(lexical(sentence).tolist())
    return len(words & terms) + min(len(words), _MOST_WORDS) / 6


def _best_run(
    spans: Sequence[tuple[int, int]], worth: Sequence[float], limit: int
) -> tuple[int, int]:
    """Where the run of neighbouring sentences lies that is worth most within a limit."""
    best, where = -1.0, spans[0]
    for first, (start, _) in enumerate(spans):
        total = 0.0
        for last in range(first, len(spans)):
            end = spans[last][1]
            if last > first and end - start > limit:
                break
            total += worth[last]
            if total > best + 1e-9:
                best, where = total, (start, end)
    return where
