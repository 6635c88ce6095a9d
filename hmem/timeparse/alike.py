"""Rules for the same time of another year: "this time last year", "on this day in 2015"."""

from hmem.timeparse import almanac as cal
from hmem.timeparse.phrase import Now, once
from hmem.timeparse.rules import Made, Rule, unit_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import (
    amount_and_unit,
    shift,
    span,
)
from hmem.timeparse.words import Amount, exactly


def _this_time(now: Now, tokens: list[Token]) -> Made:
    """ "This time last year": readers differ, so the month of it, and not sure."""
    token = tokens[-1]
    if token.code == "DAY":
        return once(cal.days(now.shifted(token.value)), "day", "relative", 0.75)
    return _like_now(now, exactly(1), unit_of(tokens).name, -1)


def _this_time_next(now: Now, tokens: list[Token]) -> Made:
    return _like_now(now, exactly(1), unit_of(tokens).name, 1)


def _this_time_ago(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    return _like_now(now, amount, unit, -1)


def _like_now(now: Now, amount: Amount, unit: str, sign: int) -> Made:
    size = {"year": "month", "month": "week", "week": "day"}.get(unit)
    if size is None or amount.low != amount.high:
        return None
    day = shift(now.today, unit, sign * amount.size)
    return once(span(size, day), size, "relative", 0.75 if size == "day" else 0.65)


def _same_last(now: Now, tokens: list[Token]) -> Made:
    """ "This week last year", "on this day last year"."""
    return _same(now, tokens, now.today.year - 1)


def _same_in(now: Now, tokens: list[Token]) -> Made:
    """ "On this day in 2015"."""
    return _same(now, tokens, tokens[-1].value)


def _same(now: Now, tokens: list[Token], year: int) -> Made:
    name = tokens[0].value.name if len(tokens) == 2 else "day"
    if name not in ("day", "week", "weekend", "month") or not 1500 <= year <= 2200:
        return None
    day = cal.add_months(now.today, 12 * (year - now.today.year))
    return once(span(name, day), name, "relative", 0.75)


_MANY = "(NUMBER|a) UNIT"
ALIKE: tuple[Rule, ...] = (
    (f"(this|same) (time|date) {_MANY} ago", _this_time_ago),
    ("(this|same) time (last UNIT|DAY)", _this_time),
    ("(this|same) time next UNIT", _this_time_next),
    ("on? the? (this|same) (UNIT|date) last UYEAR", _same_last),
    ("on? the? (this|same) (UNIT|date) in ANYYEAR", _same_in),
)
