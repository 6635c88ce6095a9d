"""Arithmetic in units of time."""

from collections.abc import Callable
from datetime import date, timedelta

from hmem.timeparse import almanac as cal
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.phrase import Time, once
from hmem.timeparse.rules import one, unit_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.words import Amount, exactly, listed

SIZES = listed(
    """
    minute hour part day weekend week month season quarter half year decade
    century
    """
)
"""All precisions, the smallest first."""
MINUTES = {"minute": 1, "hour": 60, "quarter-hour": 15, "half-hour": 30}
DAYS = {"day": 1, "week": 7, "fortnight": 14, "weekend": 7}
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_SPANS: dict[str, Callable[[date], Stretch]] = {
    "day": cal.days,
    "week": cal.week,
    "fortnight": cal.week,
    "weekend": cal.weekend,
    "month": lambda day: cal.months(day.year, day.month),
    "quarter": cal.quarter,
    "year": lambda day: cal.years(day.year),
    "decade": lambda day: cal.years(day.year - day.year % 10, 10),
    "century": lambda day: cal.years(day.year - (day.year - 1) % 100, 100),
}


def span(unit: str, day: date) -> Stretch:
    """The calendar unit that a day lies in. Raises ValueError for hours and minutes."""
    if unit not in _SPANS:
        raise ValueError("not of the calendar")
    return _SPANS[unit](day)


def shift(day: date, unit: str, count: float) -> date:
    """A day so many units on.

    Half a month is fifteen days. Raises ValueError for hours and minutes, and for halves
    of days.
    """
    if unit in MINUTES:
        raise ValueError("not of the calendar")
    steps = count * (DAYS.get(unit) or MONTHS[unit])
    if unit in DAYS:
        if steps != int(steps):
            raise ValueError("not a whole number of days")
        return day + timedelta(days=int(steps))
    rest = round((steps - int(steps)) * 30)  # "a month and a half"
    return cal.add_months(day, int(steps)) + timedelta(days=rest)


def precision_of(unit: str) -> str:
    """How records call the size of a unit."""
    return _CALLED.get(unit, unit)


_CALLED = {"fortnight": "week", "quarter-hour": "minute", "half-hour": "minute"}


def amount_and_unit(tokens: list[Token]) -> tuple[Amount, str]:
    """How many of what; one where only "a" was said. Raises ValueError for none."""
    number, unit = one(tokens, "NUM", "NUMW"), unit_of(tokens)
    amount = exactly(1) if number is None else number.value
    if amount.size <= 0:
        raise ValueError("none")
    return amount, unit.name


def away(anchor: date, amount: Amount, unit: str, sign: int) -> Time:
    """So many units before or after a day.

    Days are that day. Longer units are the calendar unit it comes to, with the very day
    as `point`; a year is its month. "A few" is a stretch.
    """
    day = shift(anchor, unit, sign * amount.size)
    if amount.low != amount.high:
        ends = [
            span(unit, shift(anchor, unit, sign * n)) for n in (amount.low, amount.high)
        ]
        stretch = Stretch(min(e.start for e in ends), max(e.end for e in ends))
        return once(stretch, precision_of(unit), "relative", 0.6)
    if unit == "day":
        return once(cal.days(day), "day")
    half = amount.size != int(amount.size)
    sure = 0.78 if unit in ("week", "weekend", "month", "fortnight") else 0.75
    size = "month" if unit == "year" and (half or amount.size == 1) else unit
    if unit in ("decade", "century"):  # a round number of years
        size = "year" if amount.size * MONTHS[unit] <= 120 else "decade"
        sure = 0.6
    if half and size == unit:
        return once(cal.days(day), "day", "relative", 0.6)
    time = once(span(size, day), precision_of(size), "relative", sure)
    return time.but(point=cal.wall(day))
