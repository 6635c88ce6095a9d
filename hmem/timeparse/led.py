"""Rules for what is only a time behind its preposition: "in March", "on the 5th", "in 2023"."""

from collections.abc import Callable

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.clocks import loose_clock
from hmem.timeparse.phrase import (
    Now,
    Time,
    once,
)
from hmem.timeparse.rules import Made, Rule, time_of
from hmem.timeparse.tokens import Token


def _bare(_: Now, tokens: list[Token]) -> Made:
    """ "Q2 goals", or a text that says nothing else: "'19", "Q1"."""
    time = time_of(tokens[0])
    return out(time.but(sure=0.7, guard="occasion"))


def _as_of(_: Now, tokens: list[Token]) -> Made:
    """ "As far back as 2010", "as of May"."""
    time = time_of(tokens[-1])
    return out(time.but(sure=min(time.sure, 0.75)))


def out(time: Time | None) -> Made:
    """To be handed out as it stands."""
    return time and Token("OUT", 0, 0, None, time)


def _month(_: Now, tokens: list[Token]) -> Made:
    return out(time_of(tokens[-1]))


def _year(_: Now, tokens: list[Token]) -> Made:
    if tokens[-1].code == "YEAR" and not 1800 <= tokens[-1].value <= 2200:
        return None
    return out(time_of(tokens[-1]))


def _occasion(_: Now, tokens: list[Token]) -> Made:
    """ "The 2022 trip"."""
    year = tokens[0].value
    if not 1900 <= year <= 2100:
        return None
    return out(once(cal.years(year), "year", "absolute", 0.7).but(guard="occasion"))


def _season(_: Now, tokens: list[Token]) -> Made:
    time = time_of(tokens[-1])
    return out(time.but(sure=min(time.sure, 0.65), guard="generic"))


def _over(_: Now, tokens: list[Token]) -> Made:
    """ "Over Christmas": with the days around it."""
    time = time_of(tokens[-1])
    made = time.over(lambda s: Stretch(s.start - cal.DAY, s.end + cal.DAY))
    return out(made.but(sure=min(time.sure, 0.7)))


def _day_of_month(_: Now, tokens: list[Token]) -> Made:
    time = atoms.month_date(tokens[-1].value)
    return out(time and time.but(guard="noun"))


def _the_weekend(_: Now, tokens: list[Token]) -> Made:
    unit = tokens[0].value
    if unit.name != "weekend" or unit.plural:
        return None
    return atoms.WEEKEND.but(sure=0.7, guard="noun")


def likely(build: Callable[[Now, list[Token]], Made]) -> Callable[..., Made]:
    """Not for a number that is as likely an amount as a year."""

    def checked(now: Now, tokens: list[Token]) -> Made:
        last = tokens[-1]
        if last.code == "YEAR" and not (
            1800 <= last.value <= 2200 and last.value % 100
        ):
            return None
        return build(now, tokens)

    return checked


LED: tuple[Rule, ...] = (
    ("as of? (YEAR|ANYMONTH)", likely(_as_of)),
    ("the of YEAR", likely(_year)),
    ("(over|at|on|IN)? (the|my) UNIT (?!of|before|after)", _the_weekend),
    ("IN ANYMONTH", _month),
    ("IN (YEAR|SHORT)|circa YEAR", _year),
    ("from YEAR", likely(_year)),
    ("every of YEAR", likely(_year)),
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
