"""What single words and figures mean: months, weekdays, seasons, written dates."""

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hmem.timeparse import almanac as cal
from hmem.timeparse.almanac import DAY, Stretch
from hmem.timeparse.phrase import Now, Time, once
from hmem.timeparse.words import PARTS, Clock


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


def written_date(text: str, now: Now) -> Time:
    """A date in figures. Raises ValueError when there is no such day.

    Which comes first, day or month, is told by the figures; where both could be, by the
    zone (the month in the United States and where no place is given), and then doubted.
    """
    parts = [int(part) for part in re.split(r"[-/.]", text)]
    if len(parts) == 3 and max(parts) < 100:
        parts[2] = short_year(parts[2], now)
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


def short_year(two: int, now: Now) -> int:
    """The year of two figures: no more than ten years ahead."""
    year = now.today.year - now.today.year % 100 + two
    return year - 100 if year > now.today.year + 10 else year


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


def clock(text: str) -> Clock | None:
    """A time of day in figures. "9:15" may be either half of the day, "09:15" is not."""
    found = re.match(r"([0-9]{1,2})(?:[:.]([0-9]{2}))?(?::[0-9]{2})?\s?([AaPp])?", text)
    if found is None:
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "Pp" else 0)
    either = "figures" if not half and len(found[1]) == 1 and hour else ""
    return Clock(hour * 60 + minute, 1 if found[2] else 60, either)


def at_clock(stretch: Stretch, time: Clock) -> Stretch:
    """A time of day within a day or a part of it; a night runs into the next day.

    Where it may be either half of the day ("half past six"), the one within the part or
    nearest to it.
    """
    midnight = stretch.start - stretch.start % DAY
    tries = [midnight + time.minute]
    if stretch.start >= midnight + DAY // 2:
        tries.append(midnight + DAY + time.minute)
    morning = midnight < stretch.start < stretch.end <= midnight + DAY // 2
    if time.either and not morning:
        tries.append(midnight + time.minute % (DAY // 2) + DAY // 2)
    start = min(tries, key=lambda t: max(stretch.start - t, t - stretch.end + 1, 0))
    return Stretch(start, start + time.size)


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
