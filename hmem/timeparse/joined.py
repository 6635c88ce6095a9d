"""Rules that say of which year, week, month or hour: "March last year", "Friday at noon"."""

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.dates import with_year
from hmem.timeparse.phrase import Now, Time, fixed, in_turn, once
from hmem.timeparse.rules import Made, Stage, one, only, time_of
from hmem.timeparse.tokens import Token


def _in_year(_: Now, tokens: list[Token]) -> Made:
    """ "March last year", "last year in March"."""
    year = one(tokens, "YR")
    named = next(t for t in tokens if t is not year)
    assert year is not None
    outer, inner = time_of(year), time_of(named)
    if inner.cycle != "year":
        return None
    number = cal.day_of(fixed(outer).start).year
    made = in_turn(inner, number, sure=min(outer.sure, 0.9))
    return made.but(kind=outer.kind, guard="")


def _in_week(_: Now, tokens: list[Token]) -> Made:
    """ "Monday of last week", "last week on Tuesday"."""
    week, weekday = one(tokens, "WEEK"), one(tokens, "WDAY", "WFL")
    assert week is not None
    assert weekday is not None
    outer = time_of(week)
    monday = cal.day_of(fixed(outer).start)
    inner = in_turn(time_of(weekday), (monday.toordinal() - 1) // 7, sure=outer.sure)
    return inner.but(kind=outer.kind, guard="")


def _of_month(_: Now, tokens: list[Token]) -> Made:
    """ "The 5th of last month"."""
    month, number = one(tokens, "MON"), one(tokens, "ORD", "ORDW")
    assert month is not None
    assert number is not None
    outer = time_of(month)
    first = cal.day_of(fixed(outer).start)
    day = first.replace(day=number.value)
    return once(cal.days(day), "day", outer.kind, min(outer.sure, 0.9))


def _with_part(_: Now, tokens: list[Token]) -> Made:
    """ "Yesterday morning", "Friday night", "the evening of 5 May"."""
    part = one(tokens, "PART")
    day = next(t for t in tokens if t.time is not None)
    time = time_of(day)
    if part is None or time.precision != "day" or time.kind in ("range", "open"):
        return None
    return time.over(lambda s: atoms.part_of(s, part.value), "part").but(guard="")


def _with_clock(_: Now, tokens: list[Token]) -> Made:
    """ "Yesterday at 3 pm"."""
    clock = one(tokens, "CLOCK")
    day = next(t for t in tokens if t.time is not None)
    time = time_of(day)
    if clock is None or time.precision not in ("day", "part"):
        return None
    if time.kind in ("range", "open"):
        return None
    minute, size = clock.value
    sure = time.sure if minute or time.precision == "part" else time.sure * 0.6
    made = time.over(
        lambda s: atoms.at_clock(s, minute, size), "hour" if size == 60 else "minute"
    )
    return made.but(guard="", sure=sure, exact=None)


def _printed(now: Now, tokens: list[Token]) -> Made:
    """ "May 8 14:30:00 2023", as computers print it."""
    day = with_year(now, [tokens[0], tokens[-1]])
    if not isinstance(day, Time):
        return None
    return _with_clock(now, [Token("DATE", 0, 0, None, day), tokens[1]])


def _between_clocks(_: Now, tokens: list[Token]) -> Made:
    """ "From 3 pm to 5 pm yesterday"."""
    first, last = (t.value for t in only(tokens, "CLOCK"))
    time = time_of(next(t for t in tokens if t.time is not None))
    if time.precision != "day" or first[0] >= last[0]:
        return None

    def change(day: Stretch) -> Stretch:
        return Stretch(day.start + first[0], day.start + last[0])

    return time.over(change, "hour").but(guard="", kind="range")


_WITH_DAY = "(IN the|at|on the|on)?"
JOINED = Stage(
    (
        ("YEARLY comma? (of|in|from)? the? YR", _in_year),
        ("YR comma? (in|on|at|around)? the? YEARLY", _in_year),
        ("(YFL|MDAY) (of|in) ANYYEAR", with_year),
        ("(WDAY|WFL) comma? of? WEEK", _in_week),
        ("WEEK comma? on? (WDAY|WFL)", _in_week),
        ("the? NTH of MON", _of_month),
        (f"DAYLIKE comma? {_WITH_DAY} PART", _with_part),
        ("the? PART (of|on) the? DAYLIKE", _with_part),
        ("MDAY comma? CLOCK comma? YEAR", _printed),
        (
            "DAYLIKE comma? (from|between)? CLOCK (to|dash|and|until) CLOCK",
            _between_clocks,
        ),
        (
            "(from|between)? CLOCK (to|dash|and|until) CLOCK comma? (of|on)? the? DAYLIKE",
            _between_clocks,
        ),
        ("(DAYLIKE|TONIGHT) comma? (at|around)? CLOCK", _with_clock),
        ("(at|around)? CLOCK comma? (of|on)? the? (DAYLIKE|TONIGHT)", _with_clock),
    )
)
