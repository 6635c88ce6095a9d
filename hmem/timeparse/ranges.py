"""Rules for two ends or one ("between May and July", "since 2021"), and for what is only a
time behind its preposition ("in March", "on the 5th", "in 2023")."""

from collections.abc import Callable
from datetime import date
from functools import partial

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.clocks import loose_clock
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
from hmem.timeparse.rules import Made, Stage, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import MINUTES, SIZES

# ----------------------------------------------------------------------- two ends


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


# ------------------------------------------------------------------------ one end


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


def _bare(_: Now, tokens: list[Token]) -> Made:
    """A text that says nothing else: "2019", "Q1"."""
    time = time_of(tokens[0])
    return _out(time.but(sure=0.7, guard="bare"))


def _two_days(_: Now, tokens: list[Token]) -> Made:
    """ "Between the 5th and the 9th"."""
    first, last = (t.value for t in tokens)
    if not 1 <= first < last <= 31:
        return None

    def turn(n: int) -> Stretch:
        end = cal.wall(date(n // 12, n % 12 + 1, last)) + cal.DAY
        return Stretch(cal.wall(date(n // 12, n % 12 + 1, first)), end)

    return _out(Time(turn, "day", "range", 0.6, "month"))


def _since(now: Now, tokens: list[Token]) -> Made:
    """From its beginning to the end of today; to the end of time where it lies ahead."""

    def shape(stretch: Stretch) -> Stretch:
        ahead = stretch.start >= now.tomorrow
        return Stretch(stretch.start, cal.OPEN_END if ahead else now.tomorrow)

    return _opened(tokens, shape, 0.9)


def _starting(now: Now, tokens: list[Token]) -> Made:
    """ "Starting in May": from then on, as far as one knows."""
    made = _since(now, tokens)
    return made.but(sure=0.6) if isinstance(made, Time) else None


def _as_of(_: Now, tokens: list[Token]) -> Made:
    """ "As far back as 2010", "as of May"."""
    time = time_of(tokens[-1])
    return _out(time.but(sure=min(time.sure, 0.75)))


def _before_it(_: Now, tokens: list[Token]) -> Made:
    return _opened(tokens, lambda s: Stretch(cal.OPEN_START, s.start), 0.85)


def _after_it(_: Now, tokens: list[Token]) -> Made:
    if time_of(tokens[-1]).precision in MINUTES:  # "after 6 pm" begins at six
        return _opened(tokens, lambda s: Stretch(s.start, cal.OPEN_END), 0.85)
    return _opened(tokens, lambda s: Stretch(s.end, cal.OPEN_END), 0.85)


def _until(_: Now, tokens: list[Token]) -> Made:
    """Up to its end, or to a time of day."""
    if time_of(tokens[-1]).precision in MINUTES:
        return _before_it(_, tokens)
    return _opened(tokens, lambda s: Stretch(cal.OPEN_START, s.end), 0.7)


_OPENED: dict[str, Guard] = {"MONTH": "name", "SEASON": "generic"}


def _opened(
    tokens: list[Token], shape: Callable[[Stretch], Stretch], most: float
) -> Made:
    time = time_of(tokens[-1])
    if time.kind == "open":
        return None
    guard = _OPENED.get(tokens[-1].code, time.guard)
    sure = min(time.sure, most)
    return time.but(
        shape=shape, kind="open", sure=sure, guard=guard, point=None, exact=None
    )


# ------------------------------------------------------- only behind a preposition


def _out(time: Time | None) -> Made:
    """To be handed out as it stands."""
    return time and Token("OUT", 0, 0, None, time)


def _month(_: Now, tokens: list[Token]) -> Made:
    return _out(time_of(tokens[-1]))


def _year(_: Now, tokens: list[Token]) -> Made:
    if tokens[-1].code == "YEAR" and not 1800 <= tokens[-1].value <= 2200:
        return None
    return _out(time_of(tokens[-1]))


def _occasion(_: Now, tokens: list[Token]) -> Made:
    """ "The 2022 trip"."""
    year = tokens[0].value
    if not 1900 <= year <= 2100:
        return None
    return _out(once(cal.years(year), "year", "absolute", 0.7).but(guard="occasion"))


def _season(_: Now, tokens: list[Token]) -> Made:
    time = time_of(tokens[-1])
    return _out(time.but(sure=min(time.sure, 0.65), guard="generic"))


def _over(_: Now, tokens: list[Token]) -> Made:
    """ "Over Christmas": with the days around it."""
    time = time_of(tokens[-1])
    made = time.over(lambda s: Stretch(s.start - cal.DAY, s.end + cal.DAY))
    return _out(made.but(sure=min(time.sure, 0.7)))


def _day_of_month(_: Now, tokens: list[Token]) -> Made:
    time = atoms.month_date(tokens[-1].value)
    return _out(time and time.but(guard="noun"))


def _the_weekend(_: Now, tokens: list[Token]) -> Made:
    unit = tokens[0].value
    if unit.name != "weekend" or unit.plural:
        return None
    return atoms.WEEKEND.but(sure=0.7, guard="noun")


def _likely(build: Callable[[Now, list[Token]], Made]) -> Callable[..., Made]:
    """Not for a number that is as likely an amount as a year."""

    def checked(now: Now, tokens: list[Token]) -> Made:
        last = tokens[-1]
        if last.code == "YEAR" and not (
            1800 <= last.value <= 2200 and last.value % 100
        ):
            return None
        return build(now, tokens)

    return checked


_END = "(DAY|DATE|MDAY|MON|ANYMONTH|YFL|QUARTER|FIX|YR)"
OPEN = Stage(
    (
        ("between the ORD and the? ORD (?!of|ANYMONTH|UNIT)", _two_days),
        ("from the ORD (to|until|dash) the? ORD (?!of|ANYMONTH|UNIT)", _two_days),
        ("from the? TIMES comma? (up? (to|until) the? now)", _since),
        ("(DATE|MON|MDAY|ANYMONTH|YEAR) (to|until|dash) the? now", _since),
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
        ("from? the? TIMES onwards|from the? TIMES on (?!the? TIMES)", _since),
        ("start (on|in|from)? the? (TIMES|YEAR)", _starting),
        ("every? later than the? TIMES", _until),
        ("as of? (YEAR|ANYMONTH)", _likely(_as_of)),
        ("the of YEAR", _likely(_year)),
        ("IN? ANYMONTH (comma ANYMONTH)+ comma? (and|or) (MON|ANYMONTH)", _between),
        ("since (the|in)? TIMES", _since),
        ("(before|prior to) the? TIMES", _likely(_before_it)),
        ("after the? TIMES", _likely(_after_it)),
        ("up? (until|by) the? TIMES|up to the? TIMES", _likely(_until)),
        ("(over|at|on|IN)? (the|my) UNIT (?!of|before|after)", _the_weekend),
        ("IN ANYMONTH", _month),
        ("IN (YEAR|SHORT)|circa YEAR", _year),
        ("from YEAR", _likely(_year)),
        ("every of YEAR", _likely(_year)),
        ("YEAR", _occasion),
        ("QUARTER|SHORT", _bare),
        ("(at|around) CLOCK", loose_clock),
        ("over the? HOLI", _over),
        (
            "(on|since|until|before|after) the ORDW (?!UNIT|PART|TIMES|ORD|half|time|of|NUM)",
            _day_of_month,
        ),
        ("(IN|over|from|for|of) the? SEASON", _season),
        ("(IN|for|of|from) the? QUARTER", _month),
        (
            (
                "(on|for|since|until|by|before|after) the? ORD"
                "(?!UNIT|PART|TIMES|ORD|half|time|PLURAL)"
            ),
            _day_of_month,
        ),
    )
)
