"""Rules for words of which honest readers make different stretches. None is sure.

What is asked about "recently" was often said long ago: its confidence is the least, so
that it only decides between rows that are else as good.

"Recently" and "lately" are the past month, "the other day" one of the past fortnight but
today, "these days" the past three months; "in recent weeks" is the past six, and so for
days (seven), months (six) and years (five).
"""

from datetime import date

from hmem.timeparse import almanac as cal
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.phrase import Now, once
from hmem.timeparse.rules import Made, Rule, unit_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import precision_of, shift, span

_RECENT = {"day": 7, "week": 6, "month": 6, "year": 5}


def _back(now: Now, unit: str, count: int, sure: float) -> Made:
    """So many units back from today, today included."""
    return _up_to_today(now, shift(now.today, unit, -count), unit, sure)


def _up_to_today(now: Now, first: date, unit: str, sure: float) -> Made:
    stretch = Stretch(cal.wall(first), now.tomorrow)
    time = once(stretch, precision_of(unit), "relative", sure)
    return Token("OUT", 0, 0, None, time)


def _word(now: Now, tokens: list[Token]) -> Made:
    meant = tokens[0].value
    if meant == "recently":
        return _back(now, "month", 1, 0.1)
    if meant == "nowadays":
        return _back(now, "month", 3, 0.1)
    return None if meant == "recent" else _so_far(now, meant)


def _so_far(now: Now, unit: str) -> Made:
    return _up_to_today(now, cal.day_of(span(unit, now.today).start), unit, 0.85)


def _to_date(now: Now, tokens: list[Token]) -> Made:
    """ "Year to date"."""
    return _so_far(now, unit_of(tokens).name)


def _recent(now: Now, tokens: list[Token]) -> Made:
    """ "In recent weeks"."""
    unit = unit_of(tokens)
    if tokens[0].value != "recent" or not unit.plural or unit.name not in _RECENT:
        return None
    return _back(now, unit.name, _RECENT[unit.name], 0.4)


def _these_days(now: Now, tokens: list[Token]) -> Made:
    unit = unit_of(tokens)
    plain = unit.plural and unit.name == "day"
    return _back(now, "month", 3, 0.1) if plain else None


def _the_other(now: Now, tokens: list[Token]) -> Made:
    """ "The other day", "the other week": not long ago, and not in the current one."""
    token = tokens[0]
    unit = "day" if token.code == "PART" else token.value.name
    count = {"day": 14, "week": 6, "weekend": 6, "month": 5}.get(unit)
    if count is None or (token.code != "PART" and token.value.plural):
        return None
    end = span("week" if unit == "weekend" else unit, now.today).start
    stretch = Stretch(cal.wall(shift(now.today, unit, -count)), end)
    return Token("OUT", 0, 0, None, once(stretch, precision_of(unit), "relative", 0.2))


def coming(now: Now, tokens: list[Token]) -> Made:
    """ "In the coming weeks": as many as "recent" ones; None for a single one."""
    unit = unit_of(tokens)
    if not unit.plural or unit.name not in _RECENT:
        return None
    last = shift(now.today, unit.name, _RECENT[unit.name])
    stretch = Stretch(now.midnight, cal.wall(last) + cal.DAY)
    return Token("OUT", 0, 0, None, once(stretch, unit.name, "relative", 0.5))


VAGUE: tuple[Rule, ...] = (
    ("(IN|over)? the? more? VAGUE UNIT", _recent),
    ("VAGUE", _word),
    ("these UNIT", _these_days),
    ("the other (UNIT|PART)", _the_other),
    ("UNIT to date", _to_date),
)
