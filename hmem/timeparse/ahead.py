"""Rules for what is to come: "in two weeks", "a week on Friday", "the next three days"."""

from datetime import timedelta

from hmem.timeparse import almanac as cal
from hmem.timeparse.almanac import DAY, Stretch
from hmem.timeparse.counted import moved
from hmem.timeparse.phrase import Now, Time, nth_next, once
from hmem.timeparse.rules import Made, Rule, one, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import (
    MINUTES,
    amount_and_unit,
    precision_of,
    shift,
)
from hmem.timeparse.words import exactly


def _ahead(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    if unit == "minute" and len(tokens) == 1:  # "in a minute"
        return None
    made = moved(now, amount, unit, 1)
    return (
        made.but(guard="ahead", sure=min(made.sure, 0.75))
        if isinstance(made, Time)
        else None
    )


def _about_ahead(now: Now, tokens: list[Token]) -> Made:
    made = _ahead(now, tokens)
    return made.doubted(0.85) if isinstance(made, Time) else None


def _half_ahead(now: Now, tokens: list[Token]) -> Made:
    """ "In half an hour"."""
    made = moved(now, exactly(0.5), tokens[0].value.name, 1)
    return made.but(guard="ahead", sure=0.7) if isinstance(made, Time) else None


def _from_now(now: Now, tokens: list[Token]) -> Made:
    amount, unit = amount_and_unit(tokens)
    return moved(now, amount, unit, 1)


def _ahead_exactly(now: Now, tokens: list[Token]) -> Made:
    """ "In exactly two weeks"."""
    amount, unit = amount_and_unit(tokens)
    if unit in MINUTES or amount.low != amount.high:
        return None
    day = shift(now.today, unit, amount.size)
    return once(cal.days(day), "day", "relative", 0.75).but(guard="ahead")


def _weeks_on(now: Now, tokens: list[Token]) -> Made:
    """ "Friday week", "a week tomorrow", "two weeks on Friday": so many weeks after it;
    "a week yesterday" is before."""
    amount, unit = amount_and_unit(tokens)
    named = one(tokens, "WDAY", "DAY")
    assert named is not None
    if unit not in ("week", "fortnight") or amount.low != amount.high:
        return Token(named.code, 0, 0, named.value, named.time)  # "two hours yesterday"
    weeks = amount.size * (2 if unit == "fortnight" else 1)
    if named.code == "DAY" and named.value < 0:
        day = shift(now.shifted(named.value), "week", -weeks)
        return once(cal.days(day), "day", "relative", 0.75)
    if named.code == "DAY":
        base = now.shifted(named.value)
    else:
        base = cal.day_of(nth_next(time_of(named), now, 1).start)
    time = once(cal.days(shift(base, "week", weeks)), "day", "relative", 0.75)
    return time.but(guard="ahead") if named.value != 1 else time


def _plural_ahead(now: Now, tokens: list[Token]) -> Made:
    """ "Two Fridays from now"."""
    amount, time = tokens[0].value, time_of(tokens[1])
    if amount.low != amount.high:
        return None
    return once(nth_next(time, now, int(amount.size)), time.precision, "relative", 0.75)


def _within_ahead(now: Now, tokens: list[Token]) -> Made:
    """ "Within two weeks": from now on."""
    amount, unit = amount_and_unit(tokens)
    if unit in MINUTES or unit == "weekend":
        return None
    last = shift(now.today, unit, amount.high)
    stretch = Stretch(now.midnight, cal.wall(last) + DAY)
    return once(stretch, precision_of(unit), "relative", 0.6).but(guard="ahead")


def _coming(now: Now, tokens: list[Token]) -> Made:
    """ "The next three weeks": from today on."""
    amount, unit = amount_and_unit(tokens)
    if unit in MINUTES:
        end = now.at + timedelta(minutes=int(amount.high * MINUTES[unit]))
        time = once(Stretch(now.minute, now.minute + 1), precision_of(unit), sure=0.78)
        return time.but(exact=(now.at, end))
    if unit == "weekend":
        return None
    last = shift(now.today, unit, amount.high)
    stretch = Stretch(now.midnight, cal.wall(last) + DAY)
    return Token("FIX", 0, 0, None, once(stretch, precision_of(unit), "relative", 0.78))


_MANY = "(NUMBER|a) UNIT"
AHEAD: tuple[Rule, ...] = (
    (f"in exact {_MANY}", _ahead_exactly),
    (f"{_MANY} from now", _from_now),
    ("NUMBER PLURAL from now", _plural_ahead),
    (f"within {_MANY} (?!of|after|before|ago|from)", _within_ahead),
    (f"in (around|about) {_MANY} time?", _about_ahead),
    ("in half a UNIT time?", _half_ahead),
    (f"in {_MANY} time?", _ahead),
    (
        "(on|next|this|coming)? (WDAY|DAY) UNIT (?!NUM|of|before|after|ago|BIG)",
        _weeks_on,
    ),
    (f"{_MANY} (on|this|next)? (WDAY|DAY)", _weeks_on),
    ("(IN|over)? the? (next|coming) NUMBER UNIT", _coming),
)
