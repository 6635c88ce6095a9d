"""Times: datetimes at the face, whole microseconds (micros) inside.

A time argument is a datetime, a date or an ISO 8601 string (`YYYY`, `YYYY-MM`,
`YYYY-MM-DD`, or a date with a time). Numbers are refused: seconds and milliseconds since
1970 cannot be told apart. What carries no offset is read in the caller's zone; a time that
the zone's clocks skip is read with the offset from before the gap, one that they show
twice is the first of the two unless its `fold` says otherwise.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hmem.errors import BadTimeError, InputTypeError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Time = datetime | date | str
"""A time argument."""
During = str | date | tuple[Time, Time]
"""A stretch of time as an argument: a date, or a pair (start, end)."""
_MICRO = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC)
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
_STAMP = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}(:?\d{2}(:?\d{2}([.,]\d{1,9})?)?)?"
    r" ?(Z|[+-]\d{2}(:?\d{2}(:?\d{2})?)?)?",
    re.ASCII | re.IGNORECASE,
)
_FORMS = "a datetime, a date or an ISO 8601 string such as '2026-05-08T14:30:00+02:00'"


class Span(NamedTuple):
    """A whole day, month or year, half-open."""

    start: datetime
    end: datetime
    precision: str


def utc_now() -> datetime:
    """The default clock."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Aware datetime -> micros. Exact."""
    return (moment - EPOCH) // _MICRO


def from_micros(micros: int) -> datetime:
    """Micros -> UTC datetime. Exact."""
    return EPOCH + timedelta(microseconds=micros)


def local(at: datetime, zone: ZoneInfo) -> datetime:
    """A moment as the clocks of a zone show it."""
    try:
        return at.astimezone(zone)
    except OverflowError:  # at the very ends of the calendar
        return at


def moment(
    value: object, zone: ZoneInfo, *, end_of_day: bool, name: str = "the time"
) -> datetime:
    """A time argument as a UTC datetime.

    A date without a time (a month, a year) means its first microsecond, or its last with
    `end_of_day`. Raises BadTimeError and InputTypeError; their messages say `name`.
    """
    read = _read(value, zone, name)
    if not isinstance(read, Span):
        return read
    if not end_of_day:
        return read.start
    return read.end if read.end == _LAST else read.end - _MICRO


def interval(
    value: object, zone: ZoneInfo, *, name: str = "during"
) -> tuple[datetime, datetime]:
    """A stretch of time as a half-open pair of UTC datetimes.

    A date, month or year is its whole span. A pair (start, end) runs from the start of
    its first to its second, or to the end of the second where that is a date. Raises
    BadTimeError for one instant and for an empty or inverted pair.
    """
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise BadTimeError(f"{name} must be a date or a pair (start, end)")
        first, last = (_read(part, zone, name) for part in value)
        start = first.start if isinstance(first, Span) else first
        end = last.end if isinstance(last, Span) else last
    else:
        span = _read(value, zone, name)
        if not isinstance(span, Span):
            raise BadTimeError(f"{name} is one instant; give a date or (start, end)")
        start, end = span.start, span.end
    if start >= end:
        raise BadTimeError(f"{name} is empty: its end must come after its start")
    return start, end


def span(value: object, zone: ZoneInfo, *, name: str) -> Span | datetime:
    """A date, month or year as its whole span, anything finer as an instant."""
    return _read(value, zone, name)


def _read(value: object, zone: ZoneInfo, name: str) -> Span | datetime:
    """The one reader behind all of the above."""
    try:
        if isinstance(value, datetime):
            return _instant(value, zone)
        if isinstance(value, date):
            return _days(value.year, value.month, value.day, zone)
        if isinstance(value, str):
            return _parse(value.strip(), zone)
    except Exception as e:  # a caller's tzinfo may raise anything
        raise BadTimeError(f"{name} cannot be read as a time; use {_FORMS}") from e
    raise InputTypeError(f"{name} must be {_FORMS}, not {type(value).__name__}")


def _parse(text: str, zone: ZoneInfo) -> Span | datetime:
    if found := _DATE.fullmatch(text):
        year, month, day = (int(part) if part else None for part in found.groups())
        return _days(year, month, day, zone)
    if not _STAMP.fullmatch(text):
        raise ValueError("not ISO 8601")
    return _instant(datetime.fromisoformat(text.upper().replace(" Z", "Z")), zone)


def _instant(value: datetime, zone: ZoneInfo) -> datetime:
    if value != value:  # pandas' NaT is a datetime
        raise ValueError("not a time")
    aware = value if value.utcoffset() is not None else value.replace(tzinfo=zone)
    stamp = aware.astimezone(UTC)
    # Subclasses of datetime stay outside.
    return EPOCH + timedelta(microseconds=to_micros(stamp))


def _days(year: int | None, month: int | None, day: int | None, zone: ZoneInfo) -> Span:
    """A day, month or year. Ends where the next begins, whatever the clocks do."""
    assert year is not None
    first = date(year, month or 1, day or 1)
    if day is not None:
        precision, after = "day", _plus_day(first)
    elif month is not None:
        precision = "month"
        after = None if (year, month) == (9999, 12) else _next_month(year, month)
    else:
        precision, after = "year", None if year == 9999 else date(year + 1, 1, 1)
    end = _LAST if after is None else _midnight(after, zone)
    return Span(_midnight(first, zone), end, precision)


def _plus_day(day: date) -> date | None:
    return None if day == date.max else day + timedelta(days=1)


def _next_month(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return _instant(datetime(day.year, day.month, day.day, tzinfo=zone), zone)
