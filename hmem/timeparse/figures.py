"""What figures in a text mean: dates, clocks, quarters, years, numbers."""

import re
from collections.abc import Callable
from datetime import date
from typing import Any

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import DAY
from hmem.timeparse.phrase import Now, Time, once
from hmem.timeparse.words import Clock, exactly

Figure = tuple[str, Any, Time | None]
"""The class of a token, what rules count with, and what it means alone."""


def _date(text: str, now: Now) -> Figure:
    time = atoms.written_date(text, now)
    return ("DATE" if time.precision == "day" else "MON"), None, time


def _month_day(text: str, now: Now) -> Figure | None:
    """ "On 3/21", with no year."""
    first, second = (int(part) for part in text.split("/"))
    if text in ("24/7", "9/11"):
        return None
    american = first <= 12 and (second > 12 or atoms.month_first(now.zone))
    month, day = (first, second) if american else (second, first)
    time = atoms.month_day(month, day) if 1 <= month <= 12 else None
    if time is None:
        return None
    sure = 0.75 if max(first, second) > 12 or first == second else 0.5
    return "MDAY", None, time.but(sure=sure)


def _isoweek(text: str, _: Now) -> Figure:
    digits = "".join(c for c in text if c.isdigit())
    year, week = int(digits[:4]), int(digits[4:6])
    if len(digits) == 7:
        day = date.fromisocalendar(year, week, int(digits[6]))
        return "DATE", None, once(cal.days(day), "day", "absolute", 0.97)
    return "WEEK", None, once(cal.iso_week(year, week), "week", "absolute", 0.97)


def _quarter(text: str, _: Now) -> Figure:
    if text[0] == "W":
        return "WNUM", int(text[1:]), None
    number = int(text[-1])
    if text[0].isdigit():
        stretch = cal.months(int(text[:4]), 3 * number - 2, 3)
        return "FIX", None, once(stretch, "quarter", "absolute")
    make = atoms.half if text[0] == "H" else atoms.quarter
    return "QUARTER", number, make(number)


def _clock(text: str, _: Now) -> Figure | None:
    clock = atoms.clock(text)
    return clock and ("CLOCK", clock, None)


def _decade(text: str, _: Now) -> Figure | None:
    time = atoms.decade(text)
    if time is None:
        return None
    return ("DECADE" if len(text) < 5 else "FIX"), None, time


def _short(text: str, now: Now) -> Figure:
    return "SHORT", atoms.short_year(int(text[1:]), now), None


def _fiscal(text: str, now: Now) -> Figure:
    """Whose fiscal year is not said: the calendar year, and not sure."""
    digits = "".join(c for c in text if c.isdigit())
    year = int(digits) if len(digits) == 4 else atoms.short_year(int(digits), now)
    return "FIX", None, once(cal.years(year), "year", "absolute", 0.5)


def _clocks(text: str, _: Now) -> Figure | None:
    """ "2-4pm": the first in the same half of the day, or in the morning."""
    first, last = text.split("-")
    end = atoms.clock(last.strip())
    half = "p" if "p" in last.lower() else "a"
    start = atoms.clock(first.strip() + half)
    if start is None or end is None:
        return None
    return "CLOCKS", clocks(start, end), None


def clocks(start: Clock, end: Clock) -> tuple[Clock, Clock]:
    """From one time of day to another, the first before the second."""
    if start.minute >= end.minute:
        start = start._replace(minute=(start.minute - DAY // 2) % DAY)
    return start, end


def _pair(text: str, _: Now) -> Figure:
    first, last = (int(n) for n in re.findall("[0-9]+", text))
    if 1900 <= first <= 2100 and first % 100 < last < 100:  # "2019-21"
        last += first - first % 100
    return ("YEARS" if first > 999 and last > 999 else "PAIR"), (first, last), None


def _number(text: str, _: Now) -> Figure:
    if len(text) == 4:
        return ("YEAR" if "1" <= text[0] <= "2" else "BIG"), int(text), None
    return "NUM", exactly(int(text)), None


FIGURES: dict[str, Callable[[str, Now], Figure | None]] = {
    "stamp": lambda text, now: ("DATE", None, atoms.stamp(text, now)),
    "date": _date,
    "isoweek": _isoweek,
    "quarter": _quarter,
    "clock": _clock,
    "md": _month_day,
    "clocks": _clocks,
    "fiscal": _fiscal,
    "decade": _decade,
    "short": _short,
    "ordinal": lambda text, _: ("ORD", int(text[:-2]), None),
    "pair": _pair,
    "number": _number,
}
