"""When something happened, as a caller says it: half-open, with how exactly it is known."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any, Final, NamedTuple

from hmem.config import Config
from hmem.errors import BadTimeError
from hmem.protocols import MemoryRow
from hmem.times import Span, from_micros, span


class Unchanged(Enum):
    """The type of UNCHANGED."""

    UNCHANGED = "unchanged"

    def __repr__(self) -> str:
        return self.name


UNCHANGED: Final = Unchanged.UNCHANGED
"""What an argument of `update` is where it is not given: None clears."""


class Event(NamedTuple):
    """When it happened; all None where that is not known."""

    start: datetime | None = None
    end: datetime | None = None
    precision: str | None = None


def read_event(given: Mapping[str, Any], where: str, config: Config) -> Event:
    """`event_start` and `event_end` of a mapping. A date, a month or a year as
    `event_start` alone is its whole span. Raises BadTimeError and InputTypeError."""
    first, last = given.get("event_start"), given.get("event_end")
    if first is None:
        if last is not None:
            raise BadTimeError(f"{where} has an event_end without an event_start")
        return Event()
    begun = span(first, config.zone, name=f"{where}.event_start")
    start = begun.start if isinstance(begun, Span) else begun
    precision = begun.precision if isinstance(begun, Span) else "instant"
    if last is None:
        return Event(start, begun.end if isinstance(begun, Span) else None, precision)
    return Event(start, _end(last, start, where, config), precision)


def revised_event(row: MemoryRow, start: object, end: object, config: Config) -> Event:
    """A memory's event as an update says it: a start says all of it anew, an end alone
    leaves its start. Raises BadTimeError and InputTypeError."""
    where = "the update"
    if start is not UNCHANGED:
        last = None if end is UNCHANGED else end
        return read_event({"event_start": start, "event_end": last}, where, config)
    was = Event(_moment(row.event_start), _moment(row.event_end), row.event_precision)
    if end is UNCHANGED:
        return was
    if end is None:
        return was._replace(end=None)
    if was.start is None:
        raise BadTimeError(f"{where} has an event_end without an event_start")
    return was._replace(end=_end(end, was.start, where, config))


def _end(value: object, start: datetime, where: str, config: Config) -> datetime:
    ended = span(value, config.zone, name=f"{where}.event_end")
    end = ended.end if isinstance(ended, Span) else ended
    if end < start or (isinstance(ended, Span) and end <= start):
        raise BadTimeError(f"{where}.event_end must not come before its event_start")
    return end


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
