"""Stretches found in a text, and the letters and digits by which a key is told from a
word. Pure."""

import re
from typing import NamedTuple


class Span(NamedTuple):
    """Characters [start, end) of a view, and what they are."""

    start: int
    end: int
    kind: str


_LONG_RUN = re.compile("[A-Za-z0-9]{20}")  # no word in everyday use is longer
_RUNS = {least: re.compile(f"[A-Za-z0-9]{{{least},}}") for least in (4, 6, 8)}


def is_random(text: str, *, least: int = 6) -> bool:
    """Whether letters and digits are mixed as words never are: in one unbroken run of at
    least `least` characters (4, 6 or 8), or in a run too long for a word."""
    if _LONG_RUN.search(text):
        return True
    return any(is_mixed(run) for run in _RUNS[least].findall(text))


def is_mixed(run: str) -> bool:
    """Letters and digits, or small and capital letters as they stand in no name of two
    words ("aBCdEf", not "userByName")."""
    if any(c.isdigit() for c in run):
        return any(c.isalpha() for c in run)
    return _CAMEL.fullmatch(run) is None


_CAMEL = re.compile(r"[A-Z]*[a-z]*(?:[A-Z][a-z]+)*[A-Z]?")


def merged(spans: list[Span]) -> list[Span]:
    """In order and apart: what overlaps becomes one, of the kind of the longest."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if not found or span.start >= found[-1].end:
            found.append(span)
            continue
        last = found[-1]
        wider = max(last, span, key=lambda s: s.end - s.start)
        found[-1] = Span(last.start, max(last.end, span.end), wider.kind)
    return found
