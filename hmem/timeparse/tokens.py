"""A text as islands of time words: runs of tokens with nothing else between them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.feasts import FEAST_STARTS, feast, named
from hmem.timeparse.figures import FIGURES
from hmem.timeparse.phrase import Now, Time, once
from hmem.timeparse.words import (
    LEXICON,
    PLAIN_MONTHS,
    SKIPPED,
    WEAK_DAYS,
    WEAK_MONTHS,
)


@dataclass(slots=True)
class Token:
    """One word, figure or mark, or what a rule made of several.

    `code` is its class. `value` is what rules count with, `time` what it means alone.
    """

    code: str
    start: int
    end: int
    value: Any = None
    time: Time | None = None


_LEFT = r"(?<![\w.,:/#$€£+@%*=\\])(?<![0-9]-)"
_RIGHT = r"(?![\w%°€£$#@\\]|[.,:/'][0-9]|-[0-9])"
_YEAR = r"[12][0-9]{3}"
_HALF = r"\s?[AaPp]\.?[Mm]\b\.?"
_TOKEN = re.compile(
    rf"""
    (?P<word>(?<![@#._\\])[A-Za-z]+(?:'[A-Za-z]+)?(?!\w|[.@]\w)
      |\b2(?:moro|morrow|day|nite|night)\b)
  | (?P<mark>[,/&]|-+|~(?=[0-9]))
  | (?P<stamp>{_LEFT}{_YEAR}-[0-9]{{2}}-[0-9]{{2}}[T\ ][0-9]{{2}}:[0-9]{{2}}
        (?::[0-9]{{2}}(?:[.,][0-9]{{1,9}})?)?
        (?:Z|\ ?[+-][0-9]{{2}}:?[0-9]{{2}})?(?![\w:]))
  | (?P<date>{_LEFT}(?<![A-Za-z]-)(?:{_YEAR}(?P<s1>[-/.])[0-9]{{1,2}}(?P=s1)[0-9]{{1,2}}
        | [0-9]{{1,2}}(?P<s2>[-/.])[0-9]{{1,2}}(?P=s2){_YEAR}
        | [0-9]{{1,2}}/[0-9]{{1,2}}/[0-9]{{2}}
        | (?:0[1-9]|[12][0-9]|3[01])\.(?:0[1-9]|1[0-2])\.[0-9]{{2}}
        | {_YEAR}-(?:0[1-9]|1[0-2]) | [0-9]{{1,2}}/{_YEAR}){_RIGHT})
  | (?P<isoweek>{_LEFT}{_YEAR}-?W[0-9]{{2}}(?:-?[1-7])?{_RIGHT})
  | (?P<quarter>(?<![\w.,:/#$€£+@%*=\\])(?:{_YEAR}[\ -]?[Qq][1-4] | [Qq][1-4] | H[12] | W[0-9]{{1,2}})
        (?:{_RIGHT}|(?='[0-9]{{2}}(?![\w']))))
  | (?P<fiscal>{_LEFT}FY[\ -]?(?:{_YEAR}|'?[0-9]{{2}}){_RIGHT})
  | (?P<md>(?<=\bon\s)[0-9]{{1,2}}/[0-9]{{1,2}}(?![\w/%]|[.,][0-9]))
  | (?P<clocks>{_LEFT}[0-9]{{1,2}}\s?-\s?(?:1[0-2]|0?[1-9]){_HALF}(?![\w:]))
  | (?P<clock>{_LEFT}(?:(?:2[0-3]|[01]?[0-9]):[0-5][0-9](?::[0-5][0-9])?(?:{_HALF})?
        | (?:1[0-2]|0?[1-9])(?:\.[0-5][0-9])?{_HALF})(?![\w:]))
  | (?P<decade>(?<![\w.,$€£])(?:[12][0-9]{{2}}0|'?[0-9]0)'?s(?!\w))
  | (?P<short>(?:(?<![\w.,])|(?<=[Qq][1-4]))'[0-9]{{2}}(?![\w']))
  | (?P<ordinal>{_LEFT}[0-9]{{1,2}}(?:st|nd|rd|th)(?!\w))
  | (?P<pair>{_LEFT}[0-9]{{1,4}}\s?-\s?[0-9]{{1,4}}(?!\s?-){_RIGHT})
  | (?P<number>{_LEFT}[0-9]{{1,4}}{_RIGHT})
  | (?P<other>\w+|[^\w\s])
    """,
    re.VERBOSE,
)
_MARKS = {",": "comma", "/": "slash", "&": "and", "~": "around"}
_SHORTENED = re.compile(
    r"(?<![A-Za-z])(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
    r"|Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\Z",
    re.IGNORECASE,
)
_EXACT = re.compile(
    r"(?<!in )(?:exactly|precisely)\s+\w+\s+(?:week|month|year)s?\s+ago"
    r"|(?<=in )(?:exactly|precisely)\s+\w+\s+(?:week|month|year)s?",
    re.IGNORECASE,
)
_SMALL = re.compile(r"(?:early|small|wee) \Z", re.IGNORECASE)
_KEEP = Token("", 0, 0)
"""Stands for a word that neither counts nor ends an island."""


def islands(text: str, now: Now) -> list[list[Token]]:
    """The runs of time words of a text that hold more than function words."""
    found: list[list[Token]] = []
    run: list[Token] = []
    skip, last = 0, 0
    for match in _TOKEN.finditer(text):
        start = match.start()
        if start < skip:
            continue
        token = _token(match, text, now)
        if token is None and run and (told := _told_of(run[-1], text)):
            skip = told
            continue
        if token is _KEEP:
            continue
        if run and (token is None or "\n" in text[last:start]):
            found.append(run)
            run = []
        if token is not None:
            run.append(token)
            skip = last = token.end
    found.append(run)
    return [run for run in found if any(token.code.isupper() for token in run)]


def _told_of(last: Token, text: str) -> int:
    """Where a year goes on that tells of a time with its noun ("the Christmas party last
    year", "Q3 numbers of 2022"); 0 where none does."""
    if last.code not in _WITH_NOUN:
        return 0
    found = _NOUN_YEAR.match(text, last.end)
    return 0 if found is None else found.end()


_WITH_NOUN = frozenset({"HOLI", "QUARTER", "MONTH", "PLAINM", "SEASON"})
_NOUN_YEAR = re.compile(
    r"(?: (?!(?:and|or|to|we|i|he|she|they|you)\b)[a-z]+){1,2} "
    r"(?=(?:of |in |from )?(?:last|this|next) year\b|(?:of|in|from) (?:19|20)[0-9][0-9]\b"
    r"|(?:a|two|three|four|five|six|[0-9]{1,2}) years? (?:ago|back)\b)"
)


def _token(match: re.Match[str], text: str, now: Now) -> Token | None:
    kind, start, end = match.lastgroup or "", match.start(), match.end()
    if kind == "mark":
        return Token(_MARKS.get(match[0], "dash"), start, end)
    if kind == "other":
        return _KEEP if _silent(match[0], start, text) else None
    try:
        if kind == "word":
            return _word(match[0], start, text, now)
        made = FIGURES[kind](match[0], now)
    except (ValueError, OverflowError):  # no such day, or off the calendar
        return None
    return made and Token(made[0], start, end, made[1], made[2])


def _silent(mark: str, start: int, text: str) -> bool:
    """Whether a mark belongs to the word before it: "weeks' time", "Dec. 5"."""
    if mark == "'":
        return start > 0 and text[start - 1].isalpha()
    return mark == "." and bool(_SHORTENED.search(text, max(0, start - 6), start))


def _word(word: str, start: int, text: str, now: Now) -> Token | None:
    low, end = word.lower(), start + len(word)
    if low not in LEXICON:
        if low in SKIPPED:
            exact = _EXACT.match(text, start) or text[start - 5 : start] == " ago "
            return Token("exact", start, end) if exact else _KEEP
        low = low.partition("'")[0]
    if low in FEAST_STARTS and (day := feast(text, start)):
        code = "dead" if day[1] is None else "HOLI"
        return Token(code, start, day[0], None, day[1])
    if low not in LEXICON:
        return None
    code, value = _class(low, word, text[max(0, start - 6) : start])
    time = _TIMES[code](value, now) if code in _TIMES else None
    return Token(code, start, end, value, time) if code else None


def _class(low: str, word: str, before: str) -> tuple[str, Any]:
    """The class and value of a word of the lexicon; no class where it is another word."""
    code, value = LEXICON[low]
    if code == "MONTH":
        weak = low in WEAK_MONTHS and word[0].islower()
        plain = value in PLAIN_MONTHS and len(low) > 3 and low != "sept"
        return "WEAKM" if weak else "PLAINM" if plain else code, value
    if low == "hours" and _SMALL.search(before):
        return "PART", "hours"
    mere = low in WEAK_DAYS and not word[0].isupper()
    other = code == "VAGUE" and before.lower().endswith(("as ", "least "))
    return "" if mere or other else code, value


_TIMES: dict[str, Callable[[Any, Now], Time]] = {
    "MONTH": lambda value, _: atoms.month(value),
    "PLAINM": lambda value, _: atoms.month(value),
    "WEAKM": lambda value, _: atoms.month(value),
    "WDAY": lambda value, _: atoms.weekday(value),
    "WEAKW": lambda value, _: atoms.weekday(value),
    "PLWDAY": lambda value, _: atoms.weekday(value),
    "SEASON": lambda value, now: atoms.season(value, south=now.south),
    "PLSEASON": lambda value, now: atoms.season(value, south=now.south),
    "WEAKS": lambda value, now: atoms.season(value, south=now.south),
    "PLHOLI": lambda value, _: named(value),
    "DAY": lambda value, now: once(cal.days(now.shifted(value)), "day"),
    "TONIGHT": lambda _, now: once(
        atoms.part_of(cal.days(now.today), "night"), "part", "relative", 0.9
    ),
    "DECADE": lambda value, _: once(cal.years(value, 10), "decade", "absolute", 0.85),
}
