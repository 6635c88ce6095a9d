"""The fields of one item of a model's reply, each read on its own. Pure.

Nothing is believed and nothing raises: a field that cannot be read is left out, and says
why where that loses something.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from hmem.errors import BadTimeError, InputTypeError
from hmem.prompts import one_line
from hmem.records import Category
from hmem.text import normalise
from hmem.times import Span, span

BLANK: tuple[Any, ...] = (None, "", [], {})
_SEPARATORS = re.compile(r"[\s\-]+")
_MOST = 64  # entries read of any list inside an item
_ENTITIES = 16
_ENTITY_CHARS = 80


def first(item: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The value of the first key that holds one; None where none does."""
    values = (item.get(key) for key in keys)
    return next((value for value in values if value not in BLANK), None)


def plain_keys(item: Mapping[Any, Any]) -> dict[str, Any]:
    """A mapping with its keys as we spell them: "Source Turns" is "source_turns". Of two
    that are spelt alike the first counts."""
    found: dict[str, Any] = {}
    for key, value in item.items():
        found.setdefault(_SEPARATORS.sub("_", str(key).strip().lower()), value)
    return found


def line(value: object, *, most: int) -> str:
    """A string field as one clean line, cut to `most` characters; "" for anything else."""
    return one_line(value)[:most].rstrip() if isinstance(value, str) else ""


# ------------------------------------------------------------------- references

_PLAIN_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


class Numbers(NamedTuple):
    """Positions that exist, each once, and how many references were refused."""

    found: tuple[int, ...]
    refused: int


def numbers(value: object, size: int) -> Numbers:
    """References into `size` things. An exact integer in range counts, and its plain
    decimal string; not True, 1.0, -1, "#1" or "01"."""
    given = value if isinstance(value, (list, tuple)) else [value]
    said = [one for one in given[:_MOST] if one is not None and one != ""]
    found = [n for one in said if (n := _number(one)) is not None and n < size]
    return Numbers(tuple(dict.fromkeys(found)), len(said) - len(found))


def _number(value: object) -> int | None:
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


# ------------------------------------------------------------------------- scales

_WORDS = {"low": 3, "medium": 5, "normal": 5, "high": 8, "critical": 10}
_CATEGORIES: Mapping[str, Category] = {
    **dict.fromkeys(("semantic", "fact", "preference", "profile"), "semantic"),
    **dict.fromkeys(("episodic", "event", "experience", "plan"), "episodic"),
    **dict.fromkeys(("procedural", "instruction", "procedure"), "procedural"),
}


def importance(value: object) -> int:
    """1..10; 5 where it cannot be read."""
    if isinstance(value, str):
        text = normalise(value)
        if text in _WORDS:
            return _WORDS[text]
        value = _float(text.partition("/")[0])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 5
    if isinstance(value, float) and math.isnan(value):
        return 5
    return round(max(1, min(10, value)))


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def category(value: object, *, dated: bool) -> Category:
    """The category meant; where none is, what is dated happened."""
    meant = _CATEGORIES.get(normalise(value)) if isinstance(value, str) else None
    return meant or ("episodic" if dated else "semantic")


# -------------------------------------------------------------------------- lists

_NOBODY = frozenset(
    (
        *("i", "me", "my", "we", "us", "our", "you", "your", "it", "its"),
        *("he", "him", "his", "she", "her", "they", "them", "their"),
        *("user", "assistant", "tool", "speaker", "someone"),
        *("none", "null", "n/a", "unknown"),
    )
)
_ARTICLE = re.compile(r"(?:the|a|an) ")


def names(value: object) -> tuple[str, ...]:
    """Entities, normalised as `hmem.text.proper_nouns` gives them, each once; no pronouns
    and no roles."""
    found: dict[str, None] = {}
    for text in _texts(value):
        name = normalise(line(text, most=_ENTITY_CHARS))
        if name and _ARTICLE.sub("", name) not in _NOBODY:
            found[name] = None
    return tuple(found)[:_ENTITIES]


def chosen(value: object, allowed: Sequence[str]) -> tuple[str, ...]:
    """Those of the allowed labels that are named, in their own order."""
    named = {normalise(text) for text in _texts(value)}
    return tuple(label for label in allowed if normalise(label) in named)


def _texts(value: object) -> Iterator[str]:
    """The strings of a list, or of one string with commas; a mapping's `name`."""
    given = value.split(",") if isinstance(value, str) else value
    for one in given[:_MOST] if isinstance(given, (list, tuple)) else ():
        named = one.get("name") if isinstance(one, Mapping) else one
        if isinstance(named, str):
            yield named


# -------------------------------------------------------------------------- times

_START = ("when", "event_start", "start", "start_date", "event_date", "date", "time")
_END = ("event_end", "end", "end_date")
_UNTOLD = frozenset(
    ("", "none", "null", "n/a", "unknown", "untold", "ongoing", "present", "now")
)
_TO = re.compile(r"\s*/\s*|\s+(?:to|until|-)\s+|\s*(?:\.\.+|[\u2013\u2014])\s*")
_SLASHES = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?!\d)", re.ASCII)
_BLANKED = re.compile(r"(?:-(?:00|xx|\?\?))+$", re.IGNORECASE)
# A formatter's padding: nobody says that something happened at the stroke of midnight.
_PADDING = re.compile(
    r"[T ](?:00:00(?::00(?:\.0+)?)?|23:59(?::59(?:\.9+)?)?)(?:Z|\+00:?00)?$",
    re.IGNORECASE,
)
_SHORT_END = re.compile(r"\d{2}(?:[-:]\d{2})?", re.ASCII)


class Event(NamedTuple):
    """When something happened, half-open; how exactly that is known; and why a date that
    was given is left out."""

    start: datetime | None = None
    end: datetime | None = None
    precision: str | None = None
    why: str = ""


def event(item: Mapping[str, Any], zone: ZoneInfo) -> Event:
    """The event of an item: a date, month, year, time, or two of them joined by "/"."""
    begun, ended = _ends(first(item, _START), first(item, _END))
    if begun in _UNTOLD and ended in _UNTOLD:
        return Event()
    try:
        start = span(begun, zone, name="when")
        end = None if ended in _UNTOLD else span(ended, zone, name="when")
    except (BadTimeError, InputTypeError):
        return Event(why="a date that cannot be read")
    return _between(start, end)


def _ends(begin: Any, last: Any) -> tuple[str, str]:
    """Both ends as strings that `hmem.times` may read."""
    if isinstance(begin, Mapping):
        begin, last = first(begin, _START), first(begin, _END)
    if isinstance(begin, (list, tuple)) and 0 < len(begin) <= 2:
        begin, last = begin[0], begin[1] if len(begin) == 2 else last
    begun, ended = _stamp(begin), _stamp(last)
    parts = _TO.split(begun)
    if len(parts) == 2 and begun.lower() not in _UNTOLD:
        begun, joined = parts
        if _SHORT_END.fullmatch(joined) and len(begun) > len(joined):
            joined = begun[: -len(joined)] + joined  # ISO 8601 lets the end leave out
        ended = joined
    return _date(begun), _date(ended)


def _stamp(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 999 < value < 10_000:
        return str(value)
    if value is None:
        return ""
    if not isinstance(value, str):
        return "?"
    return _SLASHES.sub(_dashed, line(value, most=80))


def _dashed(match: re.Match[str]) -> str:
    return f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}"


def _date(text: str) -> str:
    text = _BLANKED.sub("", _PADDING.sub("", text))
    return "" if text.lower() in _UNTOLD else text


def _between(start: Span | datetime, end: Span | datetime | None) -> Event:
    begun = start.start if isinstance(start, Span) else start
    precision = start.precision if isinstance(start, Span) else "instant"
    if begun.year < 1000:  # "0001-01-01" is how some say none
        return Event(why="a date that cannot be read")
    if end is None:
        return Event(begun, start.end if isinstance(start, Span) else None, precision)
    ended = end.end if isinstance(end, Span) else end
    if ended == begun and not isinstance(start, Span):
        return Event(begun, None, precision)
    if ended <= begun:
        return Event(why="an event that ends before it begins")
    return Event(begun, ended, precision)
