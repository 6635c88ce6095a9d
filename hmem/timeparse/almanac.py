"""The calendar in *wall minutes*: whole minutes of a clock on the wall since 1 January 1.

Wall minutes know nothing of zones, so that a day is always 1,440 of them; `to_utc` asks
the zone at the very end. All stretches are half-open.
"""

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

DAY = 1440
BEGINNING = datetime.min.replace(tzinfo=UTC)
"""The start of a stretch that has none ("before 2020")."""
LAST = datetime.max.replace(tzinfo=UTC)
"""The end of a stretch that has none ("after 2020")."""
OPEN_START = -1
OPEN_END = (date.max.toordinal() + 1) * DAY


class Stretch(NamedTuple):
    """[start, end) in wall minutes."""

    start: int
    end: int


def wall(day: date, minute: int = 0) -> int:
    """The wall minute at which a day begins, or so many minutes later."""
    return day.toordinal() * DAY + minute


def day_of(minute: int) -> date:
    """The day that a wall minute lies in. Raises ValueError outside the calendar."""
    return date.fromordinal(minute // DAY)


def days(first: date, count: int = 1) -> Stretch:
    """So many days from `first` on."""
    return Stretch(wall(first), wall(first) + count * DAY)


def week(day: date) -> Stretch:
    """The week, Monday to Sunday, that a day lies in."""
    return days(day - timedelta(days=day.weekday()), 7)


def weekend(day: date) -> Stretch:
    """Saturday and Sunday of the week that a day lies in."""
    return days(day + timedelta(days=5 - day.weekday()), 2)


def iso_week(year: int, number: int) -> Stretch:
    """An ISO week. Raises ValueError for one that the year does not have."""
    return days(date.fromisocalendar(year, number, 1), 7)


def months(year: int, month: int, count: int = 1) -> Stretch:
    """So many months from one on; `month` may lie outside 1..12 and carries over."""
    return Stretch(wall(_first(year, month)), _wall_of_month(year, month + count))


def years(year: int, count: int = 1) -> Stretch:
    """So many calendar years."""
    return months(year, 1, 12 * count)


def add_months(day: date, count: int) -> date:
    """The same day so many months on, or the last of a shorter month."""
    first = _first(day.year, day.month + count)
    return first.replace(day=min(day.day, monthrange(first.year, first.month)[1]))


def quarter(day: date) -> Stretch:
    """The quarter that a day lies in."""
    return months(day.year, day.month - (day.month - 1) % 3, 3)


def nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    """The nth such weekday of a month, -1 for the last. Raises ValueError."""
    first, size = monthrange(year, month)
    found = range(1 + (weekday - first) % 7, size + 1, 7)
    if not (nth == -1 or 1 <= nth <= len(found)):
        raise ValueError("no such weekday")
    return date(year, month, found[-1] if nth == -1 else found[nth - 1])


def easter(year: int) -> date:
    """Easter Sunday, western reckoning (Gauss, in the form of Meeus and Butcher)."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def to_utc(stretch: Stretch, zone: ZoneInfo) -> tuple[datetime, datetime] | None:
    """A stretch of a zone's clocks in UTC; None when it has no length there.

    A time that the clocks skip is read with the offset from before the gap; one that they
    show twice is the first of the two. Up to an hour is measured in time that passes, so
    that no jump of the clocks can turn it around.
    """
    start = instant(stretch.start, zone)
    size = stretch.end - stretch.start
    if size <= 60 and start < LAST:
        end = start + timedelta(minutes=size)
    else:
        end = instant(stretch.end, zone)
    return (start, end) if start < end else None


def instant(minute: int, zone: ZoneInfo) -> datetime:
    """A wall minute of a zone's clocks in UTC."""
    if minute < DAY:
        return BEGINNING
    if minute >= OPEN_END:
        return LAST
    ordinal, rest = divmod(minute, DAY)
    clock = time(rest // 60, rest % 60)
    try:
        local = datetime.combine(date.fromordinal(ordinal), clock, tzinfo=zone)
        return local.astimezone(UTC)
    except OverflowError:
        return BEGINNING if ordinal < 400 else LAST


def _first(year: int, month: int) -> date:
    carry, index = divmod(month - 1, 12)
    return date(year + carry, index + 1, 1)


def _wall_of_month(year: int, month: int) -> int:
    carry, index = divmod(month - 1, 12)
    if (year + carry, index) == (10_000, 0):
        return OPEN_END
    return wall(date(year + carry, index + 1, 1))
