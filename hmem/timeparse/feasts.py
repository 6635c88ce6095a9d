"""Feasts and other days with a name: when they are in a year.

Those of the western calendar, with what the United States and Britain keep. What follows
the moon of another calendar, or is kept on other days from country to country, is left
unread, but known by name, so that "Chinese New Year" is not read as New Year.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

from hmem.timeparse import almanac as cal
from hmem.timeparse.phrase import Guard, Time
from hmem.timeparse.words import listed

_Feast = Callable[[int], date]


def _on(number: int, day: int) -> _Feast:
    return lambda year: date(year, number, day)


def _nth(number: int, day: int, nth: int, plus: int = 0) -> _Feast:
    return lambda year: cal.nth_weekday(year, number, day, nth) + timedelta(days=plus)


def _easter(plus: int) -> _Feast:
    return lambda year: cal.easter(year) + timedelta(days=plus)


_FEASTS: tuple[tuple[str, _Feast, float], ...] = (
    ("(?:christmas|xmas) eve", _on(12, 24), 0.9),
    ("(?:christmas|xmas)(?: day)?", _on(12, 25), 0.9),
    ("boxing day|(?:saint |st\\.? )stephen'?s day", _on(12, 26), 0.9),
    ("new year'?s eve|nye(?= |\\W|$)|hogmanay", _on(12, 31), 0.9),
    ("new year'?s day", _on(1, 1), 0.9),
    ("new year(?:'?s)?", _on(1, 1), 0.7),
    ("epiphany|three kings'? day", _on(1, 6), 0.75),
    ("australia day", _on(1, 26), 0.9),
    ("burns night", _on(1, 25), 0.85),
    ("mlk(?:'s)? day", _nth(1, 0, 3), 0.85),
    ("groundhog day", _on(2, 2), 0.7),
    ("president'?s'? day", _nth(2, 0, 3), 0.85),
    ("valentine'?s?'? day|valentine'?s", _on(2, 14), 0.9),
    ("leap day", _on(2, 29), 0.85),
    ("(?:saint |st\\.? )david'?s day", _on(3, 1), 0.9),
    ("pi day", _on(3, 14), 0.85),
    ("(?:saint |st\\.? )patrick'?s day|(?:st\\.? )?paddy'?s day", _on(3, 17), 0.9),
    ("april fools?'?s?'?(?: day)?", _on(4, 1), 0.9),
    ("tax day", _on(4, 15), 0.7),
    ("earth day", _on(4, 22), 0.85),
    ("(?:saint |st\\.? )george'?s day", _on(4, 23), 0.9),
    ("anzac day", _on(4, 25), 0.9),
    ("may (?:day )?bank holiday(?: monday)?", _nth(5, 0, 1), 0.7),
    ("may day", _on(5, 1), 0.8),
    ("cinco de mayo", _on(5, 5), 0.9),
    ("mother'?s'? day", _nth(5, 6, 2), 0.6),
    ("spring bank holiday(?: monday)?", _nth(5, 0, -1), 0.8),
    ("memorial day", _nth(5, 0, -1), 0.8),
    ("father'?s'? day", _nth(6, 6, 3), 0.6),
    ("juneteenth", _on(6, 19), 0.9),
    ("canada day", _on(7, 1), 0.9),
    ("independence day", _on(7, 4), 0.6),
    ("bastille day", _on(7, 14), 0.9),
    ("august bank holiday(?: monday)?", _nth(8, 0, -1), 0.8),
    ("labor day", _nth(9, 0, 1), 0.85),
    ("(?:columbus|indigenous peoples'?) day", _nth(10, 0, 2), 0.85),
    ("hallowe'?en", _on(10, 31), 0.9),
    ("saints?'? day", _on(11, 1), 0.9),
    ("souls?'? day", _on(11, 2), 0.9),
    ("bonfire night|fawkes(?: night| day)?", _on(11, 5), 0.85),
    ("(?:veterans?'?|armistice|remembrance) day", _on(11, 11), 0.85),
    ("thanksgiving(?: day)?", _nth(11, 3, 4), 0.85),
    ("black friday", _nth(11, 3, 4, 1), 0.9),
    ("cyber monday", _nth(11, 3, 4, 4), 0.9),
    ("(?:saint |st\\.? )andrew'?s day", _on(11, 30), 0.9),
    ("(?:saint |st\\.? )nicholas'? day", _on(12, 6), 0.85),
    ("shrove tuesday|pancake day|pancake tuesday|mardi gras", _easter(-47), 0.85),
    ("ash wednesday", _easter(-46), 0.9),
    ("palm sunday", _easter(-7), 0.9),
    ("maundy thursday|holy thursday", _easter(-3), 0.9),
    ("good friday", _easter(-2), 0.9),
    ("easter (?:saturday|eve)|holy saturday", _easter(-1), 0.85),
    ("easter monday", _easter(1), 0.9),
    ("easter(?: sunday)?", _easter(0), 0.9),
    ("ascension day", _easter(39), 0.9),
    ("pentecost|whit sunday", _easter(49), 0.9),
    ("whit monday|pentecost monday", _easter(50), 0.9),
    ("corpus christi(?: day)?", _easter(60), 0.7),
)
FEAST = re.compile(
    f"(?:{'|'.join(f'({words})' for words, _, _ in _FEASTS)})(?!\\w)", re.IGNORECASE
)
_OTHERS = re.compile(
    r"\b(?:chinese|lunar|jewish|persian|islamic|hindu|tamil|thai|tibetan|korean"
    r"|vietnamese|ethiopian|orthodox|greek|russian|coptic|serbian|canadian|swedish"
    r"|merry|happy|uk|british|white|twelve days of|father|fake|julian|little) \Z",
    re.IGNORECASE,
)
FEAST_STARTS = frozenset(
    listed(
        """
    christmas xmas boxing hogmanay nye new valentine valentines saint st paddy paddys
    epiphany australia three burns mlk groundhog president presidents leap pi april tax earth anzac
    may cinco mother mothers spring memorial father fathers juneteenth canada
    independence bastille august labor columbus indigenous halloween hallowe saints souls
    bonfire fawkes veteran veterans armistice remembrance thanksgiving black cyber shrove
    pancake mardi ash palm maundy holy good easter ascension pentecost whit corpus
    """
    )
)
"""First words of feasts, without what follows an apostrophe."""


@cache
def _feast(index: int) -> Time:
    _, day, sure = _FEASTS[index]
    # "Groundhog Day" is a film, "Tax Day" comes again: only in a sentence with a tense.
    guard: Guard = "noun" if sure > 0.7 else "generic"
    return Time(
        lambda n: cal.days(day(n)), "day", "recurring", sure, "year", guard=guard
    )


def feast(text: str, start: int) -> tuple[int, Time | None] | None:
    """The feast that is named at a place in a text: where its name ends, and when it is.

    The time is None for one of another calendar ("Chinese New Year") and in a greeting
    ("Merry Christmas"). "Thanksgiving" is that of the United States.
    """
    found = FEAST.match(text, start)
    if found is None or found.lastindex is None:
        return None
    name = found[0]
    if name.lower() in ("new year", "new year's") and not name[4].isupper():
        return None
    if _OTHERS.search(text, max(0, start - 16), start):
        return found.end(), None
    return found.end(), _feast(found.lastindex - 1)


def named(name: str) -> Time:
    """A feast by its name."""
    found = feast(name, 0)
    assert found is not None
    assert found[1] is not None
    return found[1]
