"""One line of a block: what it says, and when it is dated."""

import re
import unicodedata
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from hmem.records import Kind
from hmem.text import MONTHS
from hmem.text.excerpts import excerpt


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing to show. `at` is in the reader's zone. `before` is what a fact replaced:
    (text, valid_from, valid_to), newest first; `event` when it happened.

    `longer` are texts that may stand in place of `text` where there is room, each longer
    than the one before: an excerpt's passage, a passage's whole turn.
    """

    id: str
    kind: Kind
    text: str
    at: datetime
    speaker: str = ""
    pending: bool = False
    stable: bool = False
    event: str = ""
    before: tuple[tuple[str, datetime, datetime | None], ...] = ()
    longer: tuple[str, ...] = ()

    @property
    def day(self) -> str:
        """The heading it stands under."""
        return f"[{self.at.day} {MONTHS[self.at.month - 1]} {self.at.year}]"

    def words(self) -> str:
        """The line without its number."""
        text = one_line(self.text)
        if self.kind == "turn":
            mark = " (pending)" if self.pending else ""
            return f"{one_line(self.speaker)}{mark}: {text}"
        notes = [self.event] if self.event else []
        if self.before:
            notes.append("before: " + "; ".join(_was(*b) for b in self.before))
        return f"{text} ({'; '.join(notes)})" if notes else text

    def grown(self) -> "Line":
        """Itself with the next longer text; there must be one."""
        return replace(self, text=self.longer[0], longer=self.longer[1:])


def one_line(text: str) -> str:
    """Text with every run of white space and control characters as one blank, and without
    what is not seen: directions, widths of nothing, letters of tags. What joins two
    letters, or two emoji to one, stays."""
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return " ".join(_JOINS_NOTHING.sub("", line).translate(_SHOWN).split())


class _Shown(dict[int, str]):
    """`str.translate` table that works out one character at a time, once."""

    def __missing__(self, point: int) -> str:
        shown = self[point] = _shown(point)
        return shown


_SHOWN = _Shown()
# A joiner beside ASCII or beside another one: there is no letter that it could change.
_JOINS_NOTHING = re.compile(
    "(?<![^\0-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?![^\0-\x7f\u200c\u200d])"
)


def _shown(point: int) -> str:
    """What is left of a character."""
    char = chr(point)
    if char.isprintable() or char in "\u200c\u200d":
        return char
    category = unicodedata.category(char)
    if category == "Cf" or 0xE0000 <= point < 0xE1000:
        return ""
    # This Python may not know an emoji or a letter yet; what never will be one goes.
    never = point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF
    return char if category == "Cn" and not never else " "


def event_words(
    start: datetime | None, end: datetime | None, precision: str | None
) -> str:
    """When something happened, as exactly as it is known: "2026-03-03 to 2026-03-07".

    `end` is exclusive, as memories keep it. "" without a start.
    """
    if start is None:
        return ""
    form = _FORMS.get(precision or "", "%Y-%m-%d %H:%M")
    first = start.strftime(form)
    last = first if end is None else (end - _INSTANT).strftime(form)
    return first if first == last else f"{first} to {last}"


_FORMS = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
_INSTANT = timedelta(microseconds=1)


def _was(text: str, since: datetime, until: datetime | None) -> str:
    end = f" to {until:%Y-%m-%d}" if until else ""
    return f"{one_line(text)}, {since:%Y-%m-%d}{end}"


def wider(text: str, ends: Sequence[int], part: int) -> tuple[str, ...]:
    """What a passage of a text can grow to: with the passages around it, and all of it.
    `ends` are where the passages end and `part` is which one it is."""
    steps: list[str] = []
    for reach in (1, len(ends)):
        first, last = max(0, part - reach), min(len(ends) - 1, part + reach)
        start = ends[first - 1] if first else 0
        steps.append(text[start : ends[last]])
    passage = text[ends[part - 1] if part else 0 : ends[part]]
    grown = [passage, *steps]
    return tuple(b for a, b in pairwise(grown) if len(b) > len(a))


def gist(line: Line, *, terms: AbstractSet[int], chars: int) -> Line:
    """The line cut to about `chars` characters that hold most of the question's words, and
    able to grow back: for a question that wants a little of everything."""
    short = excerpt(line.text, terms, limit=chars)
    if len(short) >= len(line.text):
        return line
    return replace(line, text=short, longer=(line.text, *line.longer))
