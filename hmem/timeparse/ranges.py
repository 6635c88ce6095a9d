"""Rules for two ends: "between May and July", "from 3 to 10 March"."""

from datetime import date
from functools import partial

from hmem.timeparse import almanac as cal
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.led import out
from hmem.timeparse.phrase import (
    Cycle,
    Guard,
    Now,
    Time,
    backwards,
    fixed,
    nth_next,
    once,
    onwards,
)
from hmem.timeparse.rules import Made, Rule, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import SIZES


def _between(_: Now, tokens: list[Token]) -> Made:
    """From the first day of one time to the last of another."""
    first, last = time_of(tokens[0]), time_of(tokens[-1])
    if "open" in (first.kind, last.kind) or first == last:  # "may or may not"
        return None
    made = _joined(first, last)
    sure = min(first.sure, last.sure, 0.9)
    loose = first.cycle == last.cycle == "week"
    if loose:  # "from Monday to Friday" is often a habit
        sure *= 0.6
    elif first.cycle == "year" and last.cycle == "once" and _two_years(made):
        sure *= 0.8  # "between Christmas and New Year 2023"
    size = min(first.precision, last.precision, key=SIZES.index)
    return made.but(
        kind="range",
        precision=size,
        sure=sure,
        guard=_either(first, last, loose=loose),
        point=None,
        exact=None,
    )


def _either(first: Time, last: Time, *, loose: bool) -> Guard:
    if loose:
        return "loose"
    return "count" if "count" in (first.guard, last.guard) else ""


def _two_years(time: Time) -> bool:
    stretch = fixed(time)
    return cal.day_of(stretch.start).year != cal.day_of(stretch.end - 1).year


def _joined(first: Time, last: Time) -> Time:
    """One stretch, or one in each turn. Raises ValueError where they do not go together."""
    if last.cycle == "once":
        end = fixed(last)
        start = fixed(first) if first.cycle == "once" else _before(first, end)
        return once(_stretched(start, end), "day")
    if first.cycle == "once":
        start = fixed(first)
        return once(_stretched(start, _following(start, last)), "day")
    if first.cycle != last.cycle:
        raise ValueError("of different cycles")
    return last.but(turn=partial(_pair, first, last))


def _pair(first: Time, last: Time, number: int) -> Stretch:
    """The turn of `last` with that of `first` which leads up to it."""
    end = last.turn(number)
    for _, start in backwards(first, number, 2):
        if start.start <= end.start:
            return Stretch(start.start, end.end)
    raise ValueError("no such turn")


def _following(start: Stretch, last: Time) -> Stretch:
    """The first turn that begins no earlier than a fixed start."""
    for _, stretch in onwards(last, _turn_of(start, last.cycle)):
        if stretch.start >= start.start:
            return stretch
    raise ValueError("no such turn")


def _before(first: Time, last: Stretch) -> Stretch:
    """The turn that leads up to a fixed end."""
    for _, stretch in backwards(first, _turn_of(last, first.cycle), 13):
        if stretch.start <= last.start:
            return stretch
    raise ValueError("no such turn")


def _turn_of(stretch: Stretch, cycle: Cycle) -> int:
    """The turn of a cycle that a stretch begins in."""
    day = cal.day_of(stretch.start)
    if cycle == "week":
        return (day.toordinal() - 1) // 7
    return day.year if cycle == "year" else day.year * 12 + day.month - 1


def _stretched(first: Stretch, last: Stretch) -> Stretch:
    if first.start >= last.end:
        raise ValueError("the wrong way round")
    return Stretch(first.start, last.end)


def _from_now_to(now: Now, tokens: list[Token]) -> Made:
    """ "Between now and Christmas": up to the coming one."""
    last = time_of(tokens[-1])
    end = fixed(last) if last.cycle == "once" else nth_next(last, now, 1)
    stretch = _stretched(cal.days(now.today), end)
    return once(stretch, last.precision, "range", min(last.sure, 0.85))


def _years(_: Now, tokens: list[Token]) -> Made:
    """ "2019-2021", "in 2019 or 2020"."""
    pair = [t.value for t in tokens] if len(tokens) == 2 else tokens[0].value
    first, last = pair
    if not 1500 <= first < last <= 2200:
        return None
    stretch = Stretch(cal.years(first).start, cal.years(last).end)
    return once(stretch, "year", "range", 0.9).but(guard="count")


def _bare_years(now: Now, tokens: list[Token]) -> Made:
    """ "1998-2004", without a preposition."""
    made = _years(now, tokens)
    if not isinstance(made, Time) or fixed(made).start < cal.years(1900).start:
        return None
    return Token("FIX", 0, 0, None, made.but(sure=0.7, guard="count"))


def _not_names(now: Now, tokens: list[Token]) -> Made:
    """ "October and November", not "April or June", who are people."""
    if all(token.code == "MONTH" for token in tokens):
        return None
    return _between(now, tokens)


def _two_days(_: Now, tokens: list[Token]) -> Made:
    """ "Between the 5th and the 9th"."""
    first, last = (t.value for t in tokens)
    if not 1 <= first < last <= 31:
        return None

    def turn(n: int) -> Stretch:
        end = cal.wall(date(n // 12, n % 12 + 1, last)) + cal.DAY
        return Stretch(cal.wall(date(n // 12, n % 12 + 1, first)), end)

    return out(Time(turn, "day", "range", 0.6, "month"))


_END = "(DAY|DATE|MDAY|MON|ANYMONTH|YFL|QUARTER|FIX|YR)"


TWO_ENDS: tuple[Rule, ...] = (
    ("between the ORD and the? ORD (?!of|ANYMONTH|UNIT)", _two_days),
    ("from the ORD (to|until|dash) the? ORD (?!of|ANYMONTH|UNIT)", _two_days),
    ("between the? TIMES comma? and the? TIMES", _between),
    ("from the? TIMES comma? (to|until|dash) the? TIMES", _between),
    ("(between|from) now (and|to|until) the? TIMES", _from_now_to),
    ("(from|between|in) YEARS", _years),
    ("YEARS", _bare_years),
    ("YEAR (to|until) YEAR", _bare_years),
    ("(from|between) ANYYEAR (to|and|until|dash) ANYYEAR", _years),
    ("IN YEAR (and|or|slash) YEAR", _years),
    (f"{_END} (to|until|dash) the? {_END}", _between),
    ("(IN|for|of|from)? QUARTER (and|or|slash) (QUARTER|FIX)", _between),
    ("IN (MON|ANYMONTH) (and|or|slash) (MON|ANYMONTH)", _between),
    ("(MON|ANYMONTH) (and|or|slash) (MON|ANYMONTH)", _not_names),
    ("from? (WDAY|WFL) (to|until|dash) the? (WDAY|WFL|DATE)", _between),
    ("from? SEASON (to|until|dash) the? (SEASON|FIX)", _between),
    ("IN? ANYMONTH (comma ANYMONTH)+ comma? (and|or) (MON|ANYMONTH)", _between),
)
