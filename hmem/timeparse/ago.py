"""Rules for what is so many units away from now: "3 days ago", "the past two weeks"."""

from datetime import timedelta

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import DAY, Stretch
from hmem.timeparse.phrase import Now, Time, nth_last, once
from hmem.timeparse.rules import Made, Rule, one, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import (
    MINUTES,
    amount_and_unit,
    away,
    precision_of,
    shift,
    span,
)
from hmem.timeparse.words import Amount, exactly


def _exact(now: Now, minutes: float, size: int, unit: str, sure: float) -> Time:
    """A moment in time that passes, with some room around it."""
    centre = now.at + timedelta(minutes=minutes)
    half = timedelta(minutes=size / 2)
    local = now.minute + int(minutes)
    time = once(Stretch(local, local + size), unit, "relative", sure)
    return time.but(exact=(centre - half, centre + half))


def _ago(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    return _moved(now, amount, unit, -1)


def _moved(now: Now, amount: Amount, unit: str, sign: int) -> Made:
    if unit not in MINUTES:
        return away(now.today, amount, unit, sign)
    if amount.low != amount.high:
        return None
    size = MINUTES[unit]
    return _exact(now, sign * amount.size * size, size, unit, 0.9)


def _half_ago(now: Now, tokens: list[Token]) -> Made:
    """ "Half a year ago"."""
    return _moved(now, exactly(0.5), tokens[0].value.name, -1)


def _and_half_ago(now: Now, tokens: list[Token]) -> Made:
    """ "A year and a half ago"."""
    amount, unit = amount_and_unit(tokens)
    return _moved(now, exactly(amount.size + 0.5), unit, -1)


def _one_or_ago(now: Now, tokens: list[Token]) -> Made:
    """ "A day or two ago"."""
    amount, unit = amount_and_unit(tokens)
    return _moved(now, Amount(amount.size, 1, amount.size), unit, -1)


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


def _ahead(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    made = _moved(now, amount, unit, 1)
    return (
        made.but(guard="ahead", sure=min(made.sure, 0.75))
        if isinstance(made, Time)
        else None
    )


def _from_now(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    return _moved(now, amount, unit, 1)


def _ago_today(now: Now, tokens: list[Token]) -> Made:
    """ "A year ago today": that very day."""
    amount, unit = amount_and_unit(tokens)
    if unit in MINUTES or tokens[-1].value != 0:
        return None
    return once(cal.days(shift(now.today, unit, -amount.size)), "day", "relative", 0.9)


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
        return nth_last(atoms.WEEKEND, now, 1, 0.8) if amount.size == 1 else None
    first = shift(now.today, unit, -amount.high)
    time = once(
        Stretch(cal.wall(first), now.tomorrow), precision_of(unit), "relative", 0.85
    )
    return Token("FIX", 0, 0, None, time)


def _trailing_one(now: Now, tokens: list[Token]) -> Made:
    unit = tokens[0].value
    return None if unit.name == "day" or unit.plural else _trailing(now, tokens)


def _coming(now: Now, tokens: list[Token]) -> Made:
    """ "The next three weeks": from today on."""
    amount, unit = amount_and_unit(tokens)
    if unit in MINUTES or unit == "weekend":
        return None
    last = shift(now.today, unit, amount.high)
    stretch = Stretch(now.midnight, cal.wall(last) + DAY)
    return Token("FIX", 0, 0, None, once(stretch, precision_of(unit), "relative", 0.8))


_MANY = "(NUMBER|a) UNIT"
_NOT_OF = "(?!of|in the? (TIME|YEAR|last|this|next))"
AGO: tuple[Rule, ...] = (
    ("(NUMBER|a) UNIT and a half ago", _and_half_ago),
    ("half a UNIT ago", _half_ago),
    (f"(more than|over) {_MANY} ago", _more_than_ago),
    (f"(less than|under) {_MANY} ago", _less_than_ago),
    ("a UNIT or NUMBER ago", _one_or_ago),
    (f"{_MANY} ago DAY", _ago_today),
    (f"{_MANY} ago (on the?)? WDAY", _weeks_ago_on),
    (f"WDAY {_MANY} ago", _weeks_ago_on),
    (f"YEARLY comma? {_MANY} ago", _years_ago_in),
    (f"{_MANY} ago comma? (in|on|at) YEARLY", _years_ago_in),
    (f"{_MANY} ago", _weekends_ago),
    ("NUMBER (PLURAL|PART) ago", _named_ago),
    (f"{_MANY} from now", _from_now),
    (f"in {_MANY} time?", _ahead),
    (f"(IN|over|for)? the? (last|past|previous) NUMBER UNIT {_NOT_OF}", _trailing),
    ("(IN|over)? the? (next|coming) NUMBER UNIT", _coming),
    (f"(IN|over|for) the last UNIT {_NOT_OF}", _trailing_one),
    ("(IN|over|for)? (the|this)? past UNIT", _trailing_one),
)
