"""Whether a text may speak of a time, told without the grammar that reads it."""

import re

_SPELLED = """
    afternoon afternoons apr april ash aug august autumn autumns black boxing centuries
    century christmas christmases couple cyber day days dec decade decades december dozen
    easter eight eighteen eighth eighties eighty eleven eleventh evening
    evenings fall father feb february few fifteen fifth fifties fifty first five fortnight
    fortnights forty four fourteen fourth fri friday fridays good hallowe halloween hour
    hours independence jan january jul july jun june juneteenth labor mar march may
    memorial midday midnight minute minutes mon monday mondays month months morning
    mornings mother new night nights nine nineteen nineties ninety ninth noon nov november
    oct october one palm pentecost quarter quarters saint sat saturday saturdays second
    sep sept september seven seventeen seventh seventies seventy several six sixteen sixth
    sixties sixty spring springs st summer summers sun sunday sundays ten tenth
    thanksgiving third thirteen thirty three thu thur thurs thursday thursdays today
    tomorrow tonight tue tues tuesday tuesdays twelfth twelve twenty two valentine wed
    wednesday wednesdays week weekend weekends weeks whit winter winters xmas year years
    yesterday
"""
WORDS = frozenset(_SPELLED.split())
"""The words of `hmem.timeparse` of which every English time has one, or a figure."""
_TOKEN = re.compile(r"[0-9]|[a-z]+")


def may_speak_of_time(text: str) -> bool:
    """False only for an English text in which `hmem.timeparse.find` finds nothing."""
    words = _TOKEN.findall(text.lower())
    return any(word in WORDS or word.isdigit() for word in words)
