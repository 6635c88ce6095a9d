"""Rules for what counts from the time of asking: "last week", "next Friday", "tonight"."""

from collections.abc import Callable

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.phrase import (
    Now,
    Time,
    last_turns,
    next_turns,
    nth_last,
    nth_next,
    once,
    onwards,
)
from hmem.timeparse.rules import Made, Rule, dead, time_of, unit_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import MINUTES, precision_of, shift, span
from hmem.timeparse.vague import coming


def _unit(step: int, sure: float) -> Callable[[Now, list[Token]], Made]:
    """The calendar unit so many before or after the current one."""

    def build(now: Now, tokens: list[Token]) -> Made:
        unit = tokens[0].value
        if unit.name in MINUTES or unit.name in ("day", "fortnight") or unit.plural:
            return None
        stretch = span(unit.name, shift(now.today, unit.name, step))
        doubt = 0.7 if (unit.name, step) == ("weekend", 1) else 1.0
        return once(stretch, unit.name, "relative", sure * doubt)

    return build


def _this_coming(now: Now, tokens: list[Token]) -> Made:
    """ "This coming weekend": the nearest; "this coming week": the next."""
    near = tokens[0].value.name == "weekend" and now.today.weekday() < 5
    return _unit(0 if near else 1, 0.8)(now, tokens)


def _beside_today(sign: int) -> Callable[[Now, list[Token]], Made]:
    """ "The day before yesterday", "the day after tomorrow"; it may go on from there."""

    def build(now: Now, tokens: list[Token]) -> Made:
        unit, day = tokens[0].value, tokens[1]
        if unit.name != "day" or unit.plural:
            return None
        away = day.value + sign
        return Token("DAY", 0, 0, away, once(cal.days(now.shifted(away)), "day"))

    return build


def _unit_gone(now: Now, tokens: list[Token]) -> Made:
    """ "This weekend just gone"."""
    if tokens[0].value.name == "weekend":
        return nth_last(atoms.WEEKEND, now, 1, 0.85)
    return _unit(-1, 0.85)(now, tokens)


def _coming(now: Now, tokens: list[Token]) -> Made:
    """ "The coming weekend": the nearest; "the coming weeks": some."""
    if tokens[0].value.plural:
        return coming(now, tokens)
    return (_this_coming if tokens[0].value.name == "weekend" else _unit(1, 0.85))(
        now, tokens
    )


def _two_away(now: Now, unit: str, step: int) -> Made:
    if unit in MINUTES:
        return None
    return once(span(unit, shift(now.today, unit, step)), precision_of(unit))


def _before_last(now: Now, tokens: list[Token]) -> Made:
    token = tokens[0]
    if token.code == "PART":
        day = cal.days(now.shifted(-2))
        return once(atoms.part_of(day, token.value), "part")
    if token.code in ("UNIT", "UYEAR"):
        return _two_away(now, token.value.name, -2)
    return nth_last(time_of(token), now, 2, 0.85)


def _after_next(now: Now, tokens: list[Token]) -> Made:
    token = tokens[0]
    if token.code in ("UNIT", "UYEAR"):
        return _two_away(now, token.value.name, 2)
    time = time_of(token)
    return once(nth_next(time, now, 2), time.precision, "relative", 0.7)


def _last_named(now: Now, tokens: list[Token]) -> Made:
    time = time_of(tokens[0])
    return _nearest(time, now, next(last_turns(time, now), None))


def _next_named(now: Now, tokens: list[Token]) -> Made:
    time = time_of(tokens[0])
    return _nearest(time, now, next(next_turns(time, now), None))


def _nearest(time: Time, now: Now, found: tuple[int, Stretch] | None) -> Time | None:
    """The nearest turn. Doubted in the current week or year, where "next Friday" may also
    be that of next week."""
    if found is None:
        return None
    here = found[0] == now.turn(time.cycle)
    return once(found[1], time.precision, "relative", 0.75 if here else 0.85)


def _this_named(now: Now, tokens: list[Token]) -> Made:
    """The one of this week, month or year; the season that it is, or the nearest."""
    time = time_of(tokens[0])
    here = now.turn(time.cycle)
    stretch = time.turn(here)
    if time.precision != "season":
        return once(stretch, time.precision, "relative", 0.8)
    for _, stretch in onwards(time, here - 1, 2):
        if stretch.start <= now.minute < stretch.end:
            return once(stretch, time.precision, "relative", 0.85)
    return time.but(kind="relative", sure=0.75, guard="near")


def _part(step: int) -> Callable[[Now, list[Token]], Made]:
    def build(now: Now, tokens: list[Token]) -> Made:
        part = tokens[0].value
        day = cal.days(now.shifted(step))
        sure = 0.95 if step == 0 or part in ("night", "evening") else 0.6
        return once(atoms.part_of(day, part), "part", "relative", sure)

    return build


def _earlier(now: Now, tokens: list[Token]) -> Made:
    stretch, size = _current(now, tokens[0])
    return once(Stretch(stretch.start, now.tomorrow), size, "relative", 0.85)


def _later(now: Now, tokens: list[Token]) -> Made:
    stretch, size = _current(now, tokens[0])
    return once(Stretch(now.midnight, stretch.end), size, "relative", 0.85)


def _current(now: Now, token: Token) -> tuple[Stretch, str]:
    """The unit that today lies in and its name; today itself for "today"."""
    name = "day" if token.code == "DAY" else token.value.name
    return span(name, now.today), precision_of(name)


def _of_unit(now: Now, tokens: list[Token]) -> Made:
    """The unit in "the end of the month", a time only as part of that."""
    made = _unit(0, 0.7)(now, tokens)
    return Token("OFUNIT", 0, 0, None, made) if isinstance(made, Time) else None


def _numbered(_: Now, tokens: list[Token]) -> Made:
    """ "The 19th century", "the second quarter"."""
    unit = unit_of(tokens).name
    if unit == "quarter" and 1 <= tokens[0].value <= 4:
        quarter = atoms.quarter(tokens[0].value).but(sure=0.65)
        return Token("QUARTER", 0, 0, tokens[0].value, quarter)
    if unit != "century":
        return None
    first = 100 * (tokens[0].value - 1) + 1
    return once(cal.years(first, 100), "century", "absolute", 0.9)


_NOT_OF = "(?!of|in the? (TIME|YEAR|last|this|next))"
_NOT_BEFORE = "(?!before the? (NAMED|DATE|YFL))"
RELATIVE: tuple[Rule, ...] = (
    ("the? UNIT before the? DAY", _beside_today(-1)),
    ("the? UNIT after the? DAY", _beside_today(1)),
    ("the? (UNIT|PART|NAMED) before last (?!TIME|UNIT|PART)", _before_last),
    ("the? (UNIT|WDAY|SEASON|ANYMONTH) after next (?!TIME|UNIT)", _after_next),
    ("earlier (on? (this UNIT|DAY)|(in|on) the UNIT)", _earlier),
    ("so far this UNIT|this UNIT so far", _earlier),
    ("later (on? (this UNIT|DAY)|(in|on) the UNIT)", _later),
    ("last to last UNIT", _unit(-2, 0.85)),
    ("(this|the)? NAMED just? gone", _last_named),
    ("(this|the)? UNIT just? gone", _unit_gone),
    (
        "(WDAY|SEASON|ANYMONTH) next (?!NAMED|UNIT|PART|TIMES|NTH|NUMBER|to)",
        _next_named,
    ),
    ("(WDAY|SEASON|ANYMONTH) last (?!NAMED|UNIT|PART|TIMES|NTH|NUMBER)", _last_named),
    ("the? rest of (the|this) UNIT", _later),
    ("last UYEAR", _unit(-1, 0.9)),
    (f"last UNIT {_NOT_OF}", _unit(-1, 0.9)),
    ("the previous UNIT", _unit(-1, 0.5)),
    ("this (coming|next) UNIT", _this_coming),
    ("this UNIT", _unit(0, 0.9)),
    ("the next UNIT", _unit(1, 0.5)),
    ("(IN|over)? the? coming UNIT", _coming),
    ("next UNIT", _unit(1, 0.85)),
    ("last PART", _part(-1)),
    ("this PART", _part(0)),
    ("next PART", dead),
    (f"(the|this)? (last|past|previous) NAMED {_NOT_OF} {_NOT_BEFORE}", _last_named),
    (f"(the|this)? (next|coming) NAMED {_NOT_OF}", _next_named),
    ("this NAMED", _this_named),
    ("(?<=(start|mid|end|half|UNIT|WDAY|NTH|part) of the) UNIT (?!of)", _of_unit),
    ("(?<=(early|late) in the) UNIT", _of_unit),
    ("the? (ORD|ORDW) dash? UNIT (?!of|in)", _numbered),
)
