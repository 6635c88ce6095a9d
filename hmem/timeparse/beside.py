"""Rules for what lies before, after or around a time: "three days before Christmas"."""

from collections.abc import Callable
from datetime import timedelta

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import DAY, Stretch
from hmem.timeparse.phrase import (
    Now,
    Time,
    fixed,
    nth_next,
    once,
)
from hmem.timeparse.rules import Made, Rule, time_of
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
from hmem.timeparse.words import exactly


def _offset(sign: int) -> Callable[[Now, list[Token]], Made]:
    """ "Three days before Christmas": so many from its first day, or from its last."""

    def build(now: Now, tokens: list[Token]) -> Made:
        outer = time_of(tokens[-1])
        amount, unit = amount_and_unit(tokens[:-1])
        if unit in MINUTES or outer.kind == "open":
            return None
        model = away(now.today, amount, unit, sign)

        def change(whole: Stretch) -> Stretch:
            edge = whole.start if sign < 0 else whole.end - 1
            return fixed(away(cal.day_of(edge), amount, unit, sign))

        made = outer.over(change, model.precision)
        return made.but(guard="", sure=min(outer.sure, model.sure), strict=False)

    return build


def _from(now: Now, tokens: list[Token]) -> Made:
    """ "A week from Friday": from the coming one."""
    outer = time_of(tokens[-1])
    coming = fixed(outer) if outer.cycle == "once" else nth_next(outer, now, 1)
    amount, unit = amount_and_unit(tokens[:-1])
    day = shift(cal.day_of(coming.start), unit, amount.size)
    return once(cal.days(day), "day", "relative", 0.8)


def _beside(sign: int) -> Callable[[Now, list[Token]], Made]:
    """ "The week before 5 May": seven days up to it; before a month, the month before."""

    def build(_: Now, tokens: list[Token]) -> Made:
        unit, outer = tokens[0], time_of(tokens[-1])
        if outer.kind == "open":
            return None
        if unit.code == "PART":
            made = outer.over(lambda s: atoms.part_of(_day_beside(s, sign), unit.value))
            return made.but(precision="part", guard="", strict=False)
        name = unit.value.name
        if name in MINUTES or unit.value.plural:
            return None
        made = outer.over(lambda s: _unit_beside(s, name, sign), precision_of(name))
        sure = 0.9 if name == "day" else 0.75
        return made.but(guard="", sure=min(outer.sure, sure), strict=False)

    return build


def _day_beside(whole: Stretch, sign: int) -> Stretch:
    return (
        Stretch(whole.start - DAY, whole.start)
        if sign < 0
        else Stretch(whole.end, whole.end + DAY)
    )


def _unit_beside(whole: Stretch, name: str, sign: int) -> Stretch:
    whole = Stretch(whole.start - whole.start % DAY, whole.end + -whole.end % DAY)
    if name == "weekend" and sign < 0:  # the last that is over by then
        sunday = _weekday_beside(whole, 6, sign)
        return Stretch(sunday.start - DAY, sunday.end)
    if name == "weekend":
        saturday = _weekday_beside(whole, 5, sign)
        return Stretch(saturday.start, saturday.end + DAY)
    if sign < 0:
        first = cal.day_of(whole.start)
        return Stretch(cal.wall(shift(first, name, -1)), whole.start)
    after = cal.day_of(whole.end)
    return Stretch(whole.end, cal.wall(shift(after, name, 1)))


def _weekday_beside(whole: Stretch, weekday: int, sign: int) -> Stretch:
    """The last such day before a stretch, or the first after it."""
    if sign < 0:
        day = cal.day_of(whole.start) - timedelta(days=1)
        day -= timedelta(days=(day.weekday() - weekday) % 7)
    else:
        day = cal.day_of(whole.end - 1) + timedelta(days=1)
        day += timedelta(days=(weekday - day.weekday()) % 7)
    return cal.days(day)


def _weekday(sign: int) -> Callable[[Now, list[Token]], Made]:
    """ "The Sunday before 25 May"."""

    def build(_: Now, tokens: list[Token]) -> Made:
        weekday, outer = tokens[0].value, time_of(tokens[-1])
        if outer.kind == "open":
            return None
        made = outer.over(lambda s: _weekday_beside(s, weekday, sign), "day")
        return made.but(guard="", sure=min(outer.sure, 0.9), strict=False)

    return build


def _nth_weekday_after(_: Now, tokens: list[Token]) -> Made:
    """ "The first Monday after Easter"."""
    nth, weekday, outer = tokens[0].value, tokens[1].value, time_of(tokens[-1])
    if outer.kind == "open":
        return None
    more = 7 * (nth - 1) * DAY

    def change(whole: Stretch) -> Stretch:
        day = _weekday_beside(whole, weekday, 1)
        return Stretch(day.start + more, day.end + more)

    made = outer.over(change, "day")
    return made.but(guard="", sure=min(outer.sure, 0.9), strict=False)


def _several(sign: int) -> Callable[[Now, list[Token]], Made]:
    """ "The two weeks before Christmas": all of them."""

    def build(_: Now, tokens: list[Token]) -> Made:
        outer = time_of(tokens[-1])
        amount, unit = amount_and_unit(tokens[:-1])
        if outer.kind == "open":
            return None

        def change(whole: Stretch) -> Stretch:
            edge = whole.start if sign < 0 else whole.end
            if unit in MINUTES:
                other = edge + sign * int(amount.high * MINUTES[unit])
            else:
                other = cal.wall(shift(cal.day_of(edge), unit, sign * amount.high))
            return Stretch(min(edge, other), max(edge, other))

        made = outer.over(change, precision_of(unit))
        return made.but(
            guard="", sure=min(outer.sure, 0.85), strict=False, kind="range"
        )

    return build


def _shortly(sign: int) -> Callable[[Now, list[Token]], Made]:
    """ "Just before Christmas": the week before, and not sure."""

    def build(_: Now, tokens: list[Token]) -> Made:
        outer = time_of(tokens[-1])
        if outer.kind == "open":
            return None
        clock = outer.precision in ("hour", "minute")
        days = 7 if outer.precision in ("day", "weekend", "week") else 14
        size = 60 if clock else days * DAY

        def change(whole: Stretch) -> Stretch:
            if sign < 0:
                return Stretch(whole.start - size, whole.start)
            start = whole.start if clock else whole.end
            return Stretch(start, start + size)

        made = outer.over(change, "day")
        return made.but(guard="", sure=0.5, strict=False, kind="range")

    return build


def _some_beside(sign: int) -> Callable[[Now, list[Token]], Made]:
    """ "The days before Christmas": some of them, and not sure."""

    def build(now: Now, tokens: list[Token]) -> Made:
        unit = tokens[0].value
        if tokens[0].code == "PART" or not unit.plural or unit.name not in _SOME:
            return _beside(sign)(now, tokens)
        many = Token("NUMW", 0, 0, exactly(_SOME[unit.name]))
        made = _several(sign)(now, [many, *tokens])
        return made.but(sure=0.5) if isinstance(made, Time) else None

    return build


_SOME = {"day": 7, "week": 4, "month": 3}
"""How many "the days before", "the weeks after" are."""


def _first_after(now: Now, tokens: list[Token]) -> Made:
    """ "The first weekend after Easter"."""
    return _beside(1)(now, tokens[1:]) if tokens[0].value == 1 else None


def _week_from(sign: int) -> Callable[[Now, list[Token]], Made]:
    """ "The week commencing 8 May", "the week ending 14 May"."""

    def build(_: Now, tokens: list[Token]) -> Made:
        unit, outer = tokens[0].value, time_of(tokens[-1])
        if sign < 0 and unit.name in ("month", "quarter", "year") and not unit.plural:
            return _unit_ending(unit.name, outer)
        if unit.name not in ("week", "fortnight") or outer.precision != "day":
            return None
        more = (7 if unit.name == "week" else 14) * DAY

        def change(day: Stretch) -> Stretch:
            if sign > 0:
                return Stretch(day.start, day.start + more)
            return Stretch(day.end - more, day.end)

        made = outer.over(change, "week")
        return made.but(guard="", sure=min(outer.sure, 0.85), strict=False)

    return build


def _unit_ending(name: str, outer: Time) -> Made:
    """ "The quarter ending September 2023"."""
    if outer.precision not in ("month", "day") or outer.kind in ("range", "open"):
        return None

    def change(whole: Stretch) -> Stretch:
        end = cal.day_of(whole.end)
        return Stretch(cal.wall(shift(end, name, -1)), whole.end)

    return outer.over(change, name).but(guard="", sure=min(outer.sure, 0.75))


def _unit_around(_: Now, tokens: list[Token]) -> Made:
    """ "The week of 10 June": the calendar unit that its first day lies in."""
    unit, outer = tokens[0].value, time_of(tokens[-1])
    small = SIZES.index(outer.precision) <= SIZES.index(precision_of(unit.name))
    if unit.plural or not small or outer.kind in ("range", "open"):
        return None
    made = outer.over(
        lambda s: span(unit.name, cal.day_of(s.start)), precision_of(unit.name)
    )
    return made.but(guard="", sure=min(outer.sure, 0.9), strict=False)


def _around(_: Now, tokens: list[Token]) -> Made:
    return time_of(tokens[-1]).doubted(0.85)


def _around_year(_: Now, tokens: list[Token]) -> Made:
    year = tokens[-1].value
    if not 1800 <= year <= 2200:
        return None
    time = once(cal.years(year), "year", "absolute", 0.65).but(guard="count")
    return Token("OUT", 0, 0, None, time)


def _around_month(_: Now, tokens: list[Token]) -> Made:
    time = time_of(tokens[-1])
    return Token("OUT", 0, 0, None, time.but(sure=time.sure * 0.8, guard="noun"))


_MANY = "(NUMBER|a) UNIT"
BESIDE: tuple[Rule, ...] = (
    ("(IN|over)? the NUMBER UNIT before the? TIMES", _several(-1)),
    ("(IN|over)? the NUMBER UNIT (after|since) the? TIMES", _several(1)),
    (f"{_MANY} before the? TIMES", _offset(-1)),
    (f"{_MANY} after the? TIMES", _offset(1)),
    (f"{_MANY} from the? TIMES", _from),
    ("just before the? TIMES", _shortly(-1)),
    ("just after the? TIMES", _shortly(1)),
    ("(the last|(IN|over)? the)? (UNIT|PART) before the? TIMES", _some_beside(-1)),
    ("((IN|over)? the next?)? (UNIT|PART) after the? TIMES", _some_beside(1)),
    ("the? NTH UNIT after the? TIMES", _first_after),
    ("the? NTH WDAY after the? TIMES", _nth_weekday_after),
    ("(the last|the)? WDAY before the? TIMES", _weekday(-1)),
    ("the? WDAY after the? TIMES", _weekday(1)),
    ("the? UNIT (start|from) on? the? TIMES", _week_from(1)),
    ("the? UNIT ending on? the? TIMES", _week_from(-1)),
    ("the? UNIT of the? TIMES", _unit_around),
    ("around the? YEAR", _around_year),
    ("around (ANYMONTH|SEASON)", _around_month),
    ("around (FIXED|MDAY|HOLI|YFL|MFL|WFL)", _around),
)
