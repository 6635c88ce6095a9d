"""What single words and figures mean: months, weekdays, seasons, feasts, written dates."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hmem.timeparse import almanac as cal
from hmem.timeparse.almanac import DAY, Stretch
from hmem.timeparse.phrase import Now, Time, once
from hmem.timeparse.words import PARTS, listed


@cache
def month(number: int) -> Time:
    """A month of whichever year."""
    return Time(lambda n: cal.months(n, number), "month", "recurring", 0.9, "year")


@cache
def weekday(number: int) -> Time:
    """A weekday of whichever week, Monday = 0. Never today."""

    def turn(n: int) -> Stretch:
        return cal.days(date.fromordinal(7 * n + 1 + number))

    return Time(turn, "day", "recurring", 0.9, "week", strict=True)


@cache
def season(number: int, *, south: bool) -> Time:
    """Three whole months, spring = 0; winter counts to the year that it begins in."""
    begin = 3 * number + (9 if south else 3)

    def turn(n: int) -> Stretch:
        return cal.months(n, (begin - 1) % 12 + 1, 3)

    return Time(turn, "season", "recurring", 0.85, "year")


@cache
def quarter(number: int) -> Time:
    """A quarter of whichever year."""
    return Time(
        lambda n: cal.months(n, 3 * number - 2, 3), "quarter", "recurring", 0.85, "year"
    )


@cache
def half(number: int) -> Time:
    """Half a year of whichever year."""
    return Time(
        lambda n: cal.months(n, 6 * number - 5, 6), "half", "recurring", 0.85, "year"
    )


def month_day(number: int, day: int) -> Time | None:
    """A day of whichever year; None for one that no year has."""
    if not 1 <= day <= (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[number - 1]:
        return None
    return Time(
        lambda n: cal.days(date(n, number, day)), "day", "recurring", 0.9, "year"
    )


def month_date(day: int) -> Time | None:
    """A day of whichever month ("the 5th")."""
    if not 1 <= day <= 31:
        return None

    def turn(n: int) -> Stretch:
        return cal.days(date(n // 12, n % 12 + 1, day))

    return Time(turn, "day", "recurring", 0.65, "month")


WEEKEND = Time(
    lambda n: cal.weekend(date.fromordinal(7 * n + 1)),
    "weekend",
    "recurring",
    0.8,
    "week",
)

_Feast = Callable[[int], date]


def _on(number: int, day: int) -> _Feast:
    return lambda year: date(year, number, day)


def _nth(number: int, day: int, nth: int, plus: int = 0) -> _Feast:
    return lambda year: cal.nth_weekday(year, number, day, nth) + timedelta(days=plus)


def _easter(plus: int) -> _Feast:
    return lambda year: cal.easter(year) + timedelta(days=plus)


_FEASTS: tuple[tuple[str, _Feast, float], ...] = (
    ("christmas eve", _on(12, 24), 0.9),
    ("christmas(?: day)?|xmas", _on(12, 25), 0.9),
    ("boxing day", _on(12, 26), 0.9),
    ("new year'?s eve", _on(12, 31), 0.9),
    ("new year'?s day", _on(1, 1), 0.9),
    ("new year(?:'?s)?", _on(1, 1), 0.7),
    ("valentine'?s? day|valentine's", _on(2, 14), 0.9),
    ("(?:saint |st\\.? )patrick'?s day", _on(3, 17), 0.9),
    ("april fools?'?s?(?: day)?", _on(4, 1), 0.9),
    ("may day", _on(5, 1), 0.8),
    ("mother'?s day", _nth(5, 6, 2), 0.6),
    ("father'?s day", _nth(6, 6, 3), 0.6),
    ("memorial day", _nth(5, 0, -1), 0.8),
    ("juneteenth", _on(6, 19), 0.9),
    ("independence day", _on(7, 4), 0.6),
    ("labor day", _nth(9, 0, 1), 0.85),
    ("hallowe'?en", _on(10, 31), 0.9),
    ("thanksgiving(?: day)?", _nth(11, 3, 4), 0.85),
    ("black friday", _nth(11, 3, 4, 1), 0.9),
    ("cyber monday", _nth(11, 3, 4, 4), 0.9),
    ("ash wednesday", _easter(-46), 0.9),
    ("palm sunday", _easter(-7), 0.9),
    ("good friday", _easter(-2), 0.9),
    ("easter monday", _easter(1), 0.9),
    ("easter(?: sunday)?", _easter(0), 0.9),
    ("pentecost|whit sunday", _easter(49), 0.9),
)
_FEAST = re.compile(
    f"(?:{'|'.join(f'({words})' for words, _, _ in _FEASTS)})(?!\\w)", re.IGNORECASE
)
FEAST_STARTS = frozenset(
    listed(
        """
    christmas xmas boxing new valentine saint st april may mother father
    memorial juneteenth independence labor halloween hallowe thanksgiving
    black cyber ash palm good easter pentecost whit
    """
    )
)
"""First words of feasts, without what follows an apostrophe."""


@cache
def _feast(index: int) -> Time:
    _, day, sure = _FEASTS[index]
    return Time(
        lambda n: cal.days(day(n)), "day", "recurring", sure, "year", guard="noun"
    )


def feast(text: str, start: int) -> tuple[int, Time] | None:
    """The feast that is named at a place in a text: where its name ends, and when it is.

    Those of the western and the US calendar; "Thanksgiving" is that of the United States.
    """
    found = _FEAST.match(text, start)
    if found is None or found.lastindex is None:
        return None
    name = found[0]
    if name.lower() in ("new year", "new year's") and not name[4].isupper():
        return None
    return found.end(), _feast(found.lastindex - 1)


def named(name: str) -> Time:
    """A feast by its name."""
    found = feast(name, 0)
    assert found is not None
    return found[1]


def written_date(text: str, now: Now) -> Time:
    """A date in figures. Raises ValueError when there is no such day.

    Which comes first, day or month, is told by the figures; where both could be, by the
    zone (the month in the United States and where no place is given), and then doubted.
    """
    parts = [int(part) for part in re.split(r"[-/.]", text)]
    if len(parts) == 2:
        year, number = parts if parts[0] > 31 else reversed(parts)
        if not 1 <= number <= 12:
            raise ValueError("no such month")
        return once(cal.months(year, number), "month", "absolute", 0.85)
    if parts[0] > 31:
        return once(cal.days(date(*parts)), "day", "absolute", 0.97)
    first, second, year = parts
    if "." in text or first > 12:
        return once(cal.days(date(year, second, first)), "day", "absolute", 0.95)
    if second > 12 or first == second:
        return once(cal.days(date(year, first, second)), "day", "absolute", 0.95)
    if month_first(now.zone):
        first, second = second, first
    return once(cal.days(date(year, second, first)), "day", "absolute", 0.5)


def month_first(zone: ZoneInfo) -> bool:
    """Whether 5/8/2023 is the eighth of May: not where a zone lies outside America."""
    elsewhere = ("Europe/", "Asia/", "Africa/", "Australia/", "Indian/")
    return not (zone.key or "").startswith(elsewhere)


def stamp(text: str, now: Now) -> Time:
    """An ISO 8601 time; with an offset it is that instant. Raises ValueError."""
    value = datetime.fromisoformat(text.replace(",", ".").replace(" ", "T", 1))
    exact = None
    if value.utcoffset() is not None:
        instant = value.astimezone(UTC).replace(second=0, microsecond=0)
        exact = (instant, instant + timedelta(minutes=1))
        value = instant.astimezone(now.zone)
    start = cal.wall(value.date(), value.hour * 60 + value.minute)
    time = once(Stretch(start, start + 1), "minute", "absolute", 0.97)
    return time.but(exact=exact)


def clock(text: str) -> tuple[int, int] | None:
    """A time of day: its first minute and how many it spans (60 for a full hour)."""
    found = re.match(r"([0-9]{1,2})(?:[:.]([0-9]{2}))?(?::[0-9]{2})?\s?([AaPp])?", text)
    if found is None:
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "Pp" else 0)
    return hour * 60 + minute, 1 if found[2] else 60


def at_clock(stretch: Stretch, minute: int, size: int) -> Stretch:
    """A time of day within a day, or within a night that runs into the next."""
    start = stretch.start - stretch.start % DAY + minute
    if start < stretch.start:
        start += DAY
    return Stretch(start, start + size)


def part_of(stretch: Stretch, part: str) -> Stretch:
    """A part of the day that a stretch begins with."""
    first, last = PARTS[part]
    day = stretch.start - stretch.start % DAY
    return Stretch(day + 60 * first, day + 60 * last)


def decade(text: str) -> Time | None:
    """ "1990s", "90s": None for one of which the century is not plain."""
    year = int("".join(c for c in text if c.isdigit()))
    if year >= 1000:
        sure = 0.5 if year % 100 == 0 else 0.95
        return once(cal.years(year, 10), "decade", "absolute", sure)
    if 50 <= year <= 90:
        return once(cal.years(1900 + year, 10), "decade", "absolute", 0.75)
    return once(cal.years(2000, 10), "decade", "absolute", 0.7) if year == 0 else None
