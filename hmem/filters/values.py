"""Values of filters and rows: of which type, and how they compare."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

from hmem.errors import BadTimeError, InputError, InputTypeError
from hmem.times import Span, span

Scalar = str | bool | int | float | None
Type = Literal["null", "bool", "number", "text", "date"]
Period = tuple[datetime, datetime]
"""A day, a month, a year, or one microsecond. Half-open."""
_INSTANT = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC)
MAX_TEXT = 16_384


@dataclass(frozen=True, slots=True)
class Operand:
    """A value to compare with. `period` where it is a date; `zone` reads those of rows.

    Of type "date" it was a date of Python's, and `value` is its ISO form.
    """

    type: Type
    value: Scalar
    period: Period | None
    zone: ZoneInfo

    def equals(self, other: object) -> bool:
        """Whether a scalar of a row is the same; of a moment (a datetime), whether it
        falls into the date."""
        if isinstance(other, datetime):
            return self.period is not None and self.period[0] <= other < self.period[1]
        if self.type in ("text", "date"):
            if self.type == "text" and isinstance(other, str) and other == self.value:
                return True
            return self.period is not None and _theirs(other, self.zone) == self.period
        return type_of(other) == self.type and other == self.value

    def orders(self, op: str, other: object) -> bool:
        """Whether a scalar of a row stands so to it; False where there is no order."""
        if self.type == "number":
            return type_of(other) == "number" and _ORDER[op](other, self.value)
        if self.period is not None:
            theirs = _theirs(other, self.zone)
            if theirs is not None:
                return _BY_PERIOD[op](theirs[0], self.period)
        if self.type != "text" or not isinstance(other, str):
            return False
        return _ORDER[op](other, self.value)


_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
_BY_PERIOD: dict[str, Callable[[datetime, Period], bool]] = {
    "gt": lambda begin, ours: begin >= ours[1],
    "gte": lambda begin, ours: begin >= ours[0],
    "lt": lambda begin, ours: begin < ours[0],
    "lte": lambda begin, ours: begin < ours[1],
}


def type_of(value: object) -> Type | None:
    """The type of a scalar; None for lists, objects and what JSON has not."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else None


def operand(value: object, zone: ZoneInfo, name: str) -> Operand:
    """A value of a filter, checked. Raises InputTypeError, InputError."""
    if isinstance(value, (datetime, date)):
        try:
            found = span(value, zone, name=name)
        except BadTimeError as e:
            raise InputError(f"{name} holds a time that cannot be read") from e
        return Operand("date", value.isoformat(), _period(found), zone)
    kind = type_of(value)
    if kind is None:
        raise InputTypeError(
            f"{name} takes a text, a number, a bool, None or a date,"
            f" not {type(value).__name__}"
        )
    assert value is None or isinstance(value, (str, int, float))
    if isinstance(value, float) and (value != value or value in (_INF, -_INF)):
        raise InputTypeError(f"{name} holds a NaN or an infinity")
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise InputError(f"{name} holds a text over {MAX_TEXT} characters")
        return Operand("text", value, period_of(value, zone), zone)
    return Operand(kind, value, None, zone)


_INF = float("inf")


def _theirs(value: object, zone: ZoneInfo) -> Period | None:
    """What a value of a row stands for where it is a time: a text, or a UTC datetime."""
    if isinstance(value, str):
        return period_of(value, zone)
    return _period(value) if isinstance(value, datetime) else None


@lru_cache(maxsize=4096)
def period_of(text: str, zone: ZoneInfo) -> Period | None:
    """What an ISO date stands for; None for any other text."""
    if not (4 <= len(text) <= 40 and text[:4].isdigit()):
        return None
    try:
        return _period(span(text, zone, name="a date"))
    except BadTimeError:
        return None


def _period(found: Span | datetime) -> Period:
    if isinstance(found, Span):
        return found.start, found.end
    return found, found if found > _LAST - _INSTANT else found + _INSTANT
