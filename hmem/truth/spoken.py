"""The commonest ways to name a time by how far it lies from now. Pure.

Enough to see that a date follows from what was said. Each reading is a stretch of whole
days; a phrase that can mean two ("on Friday") gives both.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hmem.text import normalise
from hmem.times import local
from hmem.truth.words import MONTHS, ONES, WEEKDAYS

_DAY = timedelta(days=1)
_COUNTS = {**ONES, "a": 1, "an": 1, "couple of": 2, "a couple of": 2}
_COUNT = r"(\d{1,3}|" + "|".join(sorted(_COUNTS, key=len, reverse=True)) + ")"
_NAMES = "|".join(sorted({*MONTHS, *WEEKDAYS}, key=len, reverse=True))
_DAYS = {
    "day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "just": 0,
    "day after tomorrow": 2,
    "tomorrow": 1,
}
_PHRASE = re.compile(
    rf"\b(?:(?P<day>{'|'.join(_DAYS)})"
    rf"|{_COUNT} (?P<unit>day|week|month|year)s? (?P<way>ago|before|earlier|from now|later)"
    rf"|(?:in|for|past) (?:the (?:last|past) )?{_COUNT} (?P<unit2>day|week|month|year)s?"
    rf"|(?P<which>last|this|next|past|coming)"
    rf" (?P<what>weekend|week|month|year|spring|summer|autumn|fall|winter|{_NAMES})"
    rf"|(?P<name>{_NAMES}))\b"
)
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


class Stretch(NamedTuple):
    """[start, end) in UTC."""

    start: datetime
    end: datetime


def spoken(text: str, *, at: datetime, zone: ZoneInfo) -> Iterator[Stretch]:
    """What a text said at `at` may mean by its relative times. Linear; never raises."""
    day = local(at, zone).date()
    for match in _PHRASE.finditer(normalise(text)):
        for first, last in _days(match, day):
            try:
                yield Stretch(_midnight(first, zone), _midnight(last, zone))
            except (OverflowError, ValueError):  # outside the calendar
                continue


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


Days = Iterator[tuple[date, date]]


def _days(match: re.Match[str], day: date) -> Days:
    try:
        if match["day"]:
            first = day + _DAYS[match["day"]] * _DAY
            yield first, first + _DAY
        elif match["unit"]:
            count = _count(match[2])
            back = match["way"] in ("ago", "before", "earlier")
            yield from _away(day, match["unit"], -count if back else count)
        elif match["unit2"]:
            count = _count(match[5])
            yield from _away(day, match["unit2"], count)
            yield from _away(day, match["unit2"], -count)
        elif match["what"]:
            turn = {"last": -1, "past": -1, "this": 0}.get(match["which"], 1)
            yield from _turn(day, match["what"], turn)
        else:
            yield from _named(day, match["name"])
    except (OverflowError, ValueError):
        return


def _count(word: str) -> int:
    return int(word) if word.isdecimal() else _COUNTS[word]


def _away(day: date, unit: str, count: int) -> Days:
    """So many units from a day: that day itself, for weeks its week, and so on."""
    if unit == "day":
        first = day + count * _DAY
        yield first, first + _DAY
    elif unit == "week":
        there = day + 7 * count * _DAY
        yield there - 3 * _DAY, there + 4 * _DAY
        yield from _week(there)
    elif unit == "month":
        yield _month(day, count), _month(day, count + 1)
    else:
        yield date(day.year + count, 1, 1), date(day.year + count + 1, 1, 1)


def _turn(day: date, what: str, turn: int) -> Days:
    """The last, this or next week, month, year, season, weekday or month of a name."""
    if what == "week":
        yield from _week(day + 7 * turn * _DAY)
        yield (day + 7 * turn * _DAY, day + 7 * (turn + 1) * _DAY)
    elif what == "weekend":
        for away in {turn, min(turn + 1, 0), turn - 1 if turn > 0 else turn}:
            saturday = day + (5 - day.weekday() + 7 * away) * _DAY
            yield saturday, saturday + 2 * _DAY
    elif what == "month":
        yield _month(day, turn), _month(day, turn + 1)
    elif what == "year":
        yield date(day.year + turn, 1, 1), date(day.year + turn + 1, 1, 1)
    elif what in _SEASONS:
        for year in {day.year + turn, day.year, day.year + min(turn, 0)}:
            first = date(year, _SEASONS[what], 1)
            yield first, _month(first, 3)
    else:
        yield from _named(day, what)


def _named(day: date, name: str) -> Days:
    """The weekday or month of a name before and after a day, and that of the day."""
    if name in MONTHS:
        for year in (day.year - 1, day.year, day.year + 1):
            first = date(year, MONTHS[name], 1)
            yield first, _month(first, 1)
    else:
        away = (WEEKDAYS[name] - day.weekday()) % 7
        for weeks in (-2, -1, 0, 1):
            first = day + (away + 7 * weeks) * _DAY
            yield first, first + _DAY


def _week(day: date) -> Days:
    """The week that a day lies in, from Monday and from Sunday on."""
    monday = day - day.weekday() * _DAY
    yield monday, monday + 7 * _DAY
    yield monday - _DAY, monday + 6 * _DAY


def _month(day: date, away: int) -> date:
    """The first of the month so many months away."""
    months = day.year * 12 + day.month - 1 + away
    return date(months // 12, months % 12 + 1, 1)
