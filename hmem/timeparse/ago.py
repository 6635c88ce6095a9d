"""Rules for what lies so many units back: "3 days ago", "the past two weeks"."""

from datetime import timedelta
from itertools import islice

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.counted import exact, moved
from hmem.timeparse.phrase import Now, Time, last_turns, nth_last, once
from hmem.timeparse.rules import Made, Rule, one, only, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import (
    MINUTES,
    SIZES,
    amount_and_unit,
    away,
    precision_of,
    shift,
    span,
)
from hmem.timeparse.words import Amount, exactly


def _ago(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    return moved(now, amount, unit, -1)


def _half_ago(now: Now, tokens: list[Token]) -> Made:
    """ "Half a year ago"."""
    return moved(now, exactly(0.5), tokens[0].value.name, -1)


def _and_half_ago(now: Now, tokens: list[Token]) -> Made:
    """ "A year and a half ago"."""
    amount, unit = amount_and_unit(tokens)
    return moved(now, exactly(amount.size + 0.5), unit, -1)


def _one_or_ago(now: Now, tokens: list[Token]) -> Made:
    """ "A day or two ago"."""
    amount, unit = amount_and_unit(tokens)
    return moved(now, Amount(amount.size, 1, amount.size), unit, -1)


def _more_than_ago(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    day = shift(now.today, unit, -amount.size)
    stretch = Stretch(cal.OPEN_START, cal.wall(day))
    return once(stretch, precision_of(unit), "open", 0.6)


def _less_than_ago(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    day = shift(now.today, unit, -amount.size)
    return once(
        Stretch(cal.wall(day), now.tomorrow), precision_of(unit), "relative", 0.6
    )


def _ago_today(now: Now, tokens: list[Token]) -> Made:
    """ "A year ago today": that very day."""
    amount, unit = amount_and_unit(tokens)
    if unit in MINUTES or amount.low != amount.high:
        return None
    day = shift(now.shifted(tokens[-1].value), unit, -amount.size)
    return once(cal.days(day), "day", "relative", 0.9)


def _to_the_day(now: Now, tokens: list[Token]) -> Made:
    """ "Exactly a year ago", "a year ago to the day"."""
    amount, unit = amount_and_unit(tokens)
    if unit in MINUTES or amount.low != amount.high:
        return None
    return once(cal.days(shift(now.today, unit, -amount.size)), "day", "relative", 0.85)


def _about_ago(now: Now, tokens: list[Token]) -> Made:
    """ "About a week ago"."""
    made = _ago(now, tokens)
    return made.doubted(0.85) if isinstance(made, Time) else None


def _sum_ago(now: Now, tokens: list[Token]) -> Made:
    """ "A year and three months ago", "2 weeks 3 days ago"."""
    units = [t.value.name for t in only(tokens, "UNIT", "UYEAR")]
    numbers = [t.value for t in only(tokens, "NUM", "NUMW")]
    numbers = [exactly(1)] * (2 - len(numbers)) + numbers
    if any(n.low != n.high for n in numbers) or SIZES.index(units[0]) <= SIZES.index(
        units[1]
    ):
        return None
    if units[0] in MINUTES:
        whole = sum(n.size * MINUTES[u] for n, u in zip(numbers, units, strict=True))
        return exact(now, -whole, 1, "minute", 0.85)
    day = shift(now.today, units[0], -numbers[0].size)
    return away(day, numbers[1], units[1], -1)


def _ago_this(now: Now, tokens: list[Token]) -> Made:
    """ "A year ago this month"."""
    amount, unit = amount_and_unit(tokens)
    size = only(tokens, "UNIT", "UYEAR")[-1].value.name
    if unit in MINUTES or amount.low != amount.high:
        return None
    return once(span(size, shift(now.today, unit, -amount.size)), size, "relative", 0.8)


def _ago_last(now: Now, tokens: list[Token]) -> Made:
    """ "Two years ago last month", "a year ago last Christmas"."""
    amount, unit = amount_and_unit(tokens[:-1])
    last = tokens[-1]
    if unit in MINUTES or amount.low != amount.high:
        return None
    if last.code in ("UNIT", "UYEAR"):
        name = last.value.name
        day = shift(shift(now.today, name, -1), unit, -amount.size)
        return once(span(name, day), precision_of(name), "relative", 0.75)
    time = time_of(last)
    found = next(last_turns(time, now), None)
    if found is None or time.cycle != unit or amount.size != int(amount.size):
        return None
    stretch = time.turn(found[0] - int(amount.size))
    return once(stretch, time.precision, "relative", 0.75)


def _week_last(now: Now, tokens: list[Token]) -> Made:
    """ "A week last Tuesday": the one before last."""
    amount, unit = amount_and_unit(tokens)
    weekday = one(tokens, "WDAY")
    if unit != "week" or weekday is None or amount.low != amount.high:
        return None
    return nth_last(time_of(weekday), now, 1 + int(amount.size), 0.75)


def _last_few_named(now: Now, tokens: list[Token]) -> Made:
    """ "The last two summers"."""
    return _several_last(now, tokens[0].value, time_of(tokens[1]))


def _several_last(now: Now, amount: Amount, time: Time) -> Made:
    """From the nth last turn of a time to its last one."""
    found = [s for _, s in islice(last_turns(time, now), int(amount.high))]
    if not found:
        return None
    stretch = Stretch(found[-1].start, found[0].end)
    return Token("FIX", 0, 0, None, once(stretch, time.precision, "relative", 0.75))


def _weeks_ago_on(now: Now, tokens: list[Token]) -> Made:
    """ "Two weeks ago on Friday": of the week that it comes to."""
    amount, unit = amount_and_unit(tokens)
    weekday = one(tokens, "WDAY")
    if unit != "week" or amount.low != amount.high or weekday is None:
        return None
    monday = cal.day_of(span("week", shift(now.today, unit, -amount.size)).start)
    return once(
        cal.days(monday + timedelta(days=weekday.value)), "day", "relative", 0.6
    )


def _years_ago_in(now: Now, tokens: list[Token]) -> Made:
    """ "March two years ago", "Christmas three years ago"."""
    amount, unit = amount_and_unit(tokens)
    named = next((t for t in tokens if t.time is not None), None)
    if unit != "year" or named is None or amount.size != int(amount.size):
        return None
    time = time_of(named)
    if time.cycle != "year" or amount.low != amount.high:
        return None
    stretch = time.turn(now.today.year - int(amount.size))
    return once(stretch, time.precision, "relative", 0.85)


def _named_ago(now: Now, tokens: list[Token]) -> Made:
    """ "Two Fridays ago", "three summers ago": counted back over those that are over."""
    amount, plural = tokens[0].value, tokens[1]
    if amount.low != amount.high or amount.size != int(amount.size):
        return None
    if plural.code in ("PLPART", "PART"):
        day = cal.days(now.shifted(-int(amount.size)))
        return once(atoms.part_of(day, plural.value), "part", "relative", 0.9)
    return nth_last(time_of(plural), now, int(amount.size), 0.85)


def _weekends_ago(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    if unit != "weekend":
        return _ago(now, tokens)
    if amount.low != amount.high:
        return None
    return nth_last(atoms.WEEKEND, now, int(amount.size), 0.85)


def _trailing(now: Now, tokens: list[Token]) -> Made:
    """ "The past two weeks": so many units back from today, today included."""
    amount, unit = amount_and_unit(tokens)
    if unit in MINUTES:
        size = int(amount.high * MINUTES[unit])
        pair = (now.at - timedelta(minutes=size), now.at)
        time = once(Stretch(now.minute - size, now.minute), unit, "relative", 0.85)
        return time.but(exact=pair)
    if unit == "weekend":
        if amount.size == 1:
            return nth_last(atoms.WEEKEND, now, 1, 0.8)
        return _several_last(now, amount, atoms.WEEKEND)
    first = shift(now.today, unit, -amount.high)
    stretch = Stretch(cal.wall(first), now.tomorrow)
    sure = 0.6 if unit in ("decade", "century") else 0.85  # or the calendar's
    time = once(stretch, precision_of(unit), "relative", sure)
    return Token("FIX", 0, 0, None, time)


def _trailing_or(now: Now, tokens: list[Token]) -> Made:
    """ "The last year or two"."""
    made = _trailing(now, tokens)
    return (
        Token(made.code, 0, 0, None, made.time.but(sure=0.6))
        if isinstance(made, Token) and made.time is not None
        else None
    )


def _trailing_one(now: Now, tokens: list[Token]) -> Made:
    unit = tokens[0].value
    return None if unit.name == "day" or unit.plural else _trailing(now, tokens)


_MANY = "(NUMBER|a) UNIT"
_NOT_OF = "(?!of|in the? (TIME|YEAR|last|this|next))"
AGO: tuple[Rule, ...] = (
    (f"exact? {_MANY} ago this UNIT", _ago_this),
    (f"exact {_MANY} ago", _to_the_day),
    (f"{_MANY} ago (to the UNIT|exact)", _to_the_day),
    (f"{_MANY} ago last (UNIT|UYEAR|NAMED)", _ago_last),
    ("(NUMBER|a) UNIT and a half ago", _and_half_ago),
    (f"{_MANY} (and|comma)? {_MANY} ago", _sum_ago),
    ("half a UNIT ago", _half_ago),
    (f"(more than|over) {_MANY} ago", _more_than_ago),
    (f"(less than|under) {_MANY} ago", _less_than_ago),
    ("a UNIT or NUMBER ago", _one_or_ago),
    (f"(around|about) {_MANY} ago (?!DAY|on|WDAY)", _about_ago),
    (f"{_MANY} ago DAY", _ago_today),
    (f"{_MANY} ago (on the?)? WDAY", _weeks_ago_on),
    (f"WDAY {_MANY} ago", _weeks_ago_on),
    (f"YEARLY comma? {_MANY} ago", _years_ago_in),
    (f"{_MANY} ago comma? (in|on|at) YEARLY", _years_ago_in),
    (f"{_MANY} ago", _weekends_ago),
    ("NUMBER (PLURAL|PART) ago", _named_ago),
    ("(the)? (last|past|previous) NUMBER (PLWDAY|PLSEASON|PLHOLI)", _last_few_named),
    (f"{_MANY} last WDAY", _week_last),
    (f"(IN|over|for)? the? (last|past|previous) NUMBER UNIT {_NOT_OF}", _trailing),
    ("(IN|over|for)? the? (last|past) UNIT or NUMBER", _trailing_or),
    (f"(IN|over|for) the last UNIT {_NOT_OF}", _trailing_one),
    ("(IN|over|for)? (the|this)? past UNIT", _trailing_one),
)
