"""Rules that say of which year, week or month: "March last year"; with those of the clock."""

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.clocks import CLOCKED
from hmem.timeparse.dates import with_year
from hmem.timeparse.phrase import Now, fixed, in_turn, once
from hmem.timeparse.rules import Made, Stage, one, time_of
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


def _of_this_month(_: Now, tokens: list[Token]) -> Made:
    """ "The 3rd of the month": the latest, or the next."""
    if time_of(tokens[1]).precision != "month":
        return None
    return atoms.month_date(tokens[0].value)


JOINED = Stage(
    (
        ("YEARLY comma? (of|in|from)? the? YR", _in_year),
        ("YR comma? (in|on|at|around)? the? YEARLY", _in_year),
        ("(YFL|MDAY) (of|in) ANYYEAR", with_year),
        ("YFL comma? ANYYEAR", with_year),
        ("(WDAY|WFL) comma? of? the? WEEK", _in_week),
        ("WEEK comma? on? (WDAY|WFL)", _in_week),
        ("the? NTH of MON", _of_month),
        ("the? NTH of the OFUNIT", _of_this_month),
    ),
    CLOCKED,
)
