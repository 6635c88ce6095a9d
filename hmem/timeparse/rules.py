"""Tables of rules, and how they are applied.

A rule is a regular expression over the classes of tokens, written in words, and the
function that makes one token of those it matched. A stage is a table: at each place its
first rule that fits is taken, until none fits any more.

Classes in small letters are words as they are (`hmem.timeparse.words`). In capitals:

    NUM NUMW TENS FUZZY     numbers: in figures, in words, "twenty", "a few"
    ORD ORDW PAIR BIG       "5th", "fifth", "3-10", "0042"
    YEAR YEARS SHORT        "2023", "2019-2021", "'23": years if the words around say so
    UNIT UYEAR OFUNIT       "week", "year", and "the month" in "the end of the month"
    MONTH PLAINM WEAKM      "May", "September" (no other word), "may"
    WDAY WEAKW PLWDAY       "Sunday", "Sun", "Sundays"; so SEASON WEAKS PLSEASON
    HOLI QUARTER WNUM       "Christmas", "Q3", "W23"
    CLOCK CLOCKS            "3 pm", "2-4pm"
    PART PLPART VAGUE       "morning", "mornings", "recently"
    DECADE DAY TONIGHT      "90s", "yesterday", "tonight"
    DATE WEEK MON YR FIX    made by rules: a day, week, month, year, other stretch
    MDAY YFL WFL MFL        made: "5 May"; what comes each year, week or month
    OUT                     made: nothing more to do with it
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import cast

from hmem.timeparse.almanac import years
from hmem.timeparse.phrase import Now, Time, once
from hmem.timeparse.tokens import Token
from hmem.timeparse.words import Unit, listed

Made = Token | Time | None
Build = Callable[[Now, list[Token]], Made]
Rule = tuple[str, Build]
"""`Build` gets the tokens with a value that the pattern matched (classes in capitals). It
returns what they mean together, or None for what cannot be: it is then left unread."""

_CODES = listed(
    """
    the a of in during over under on at for to until and or ago before prior
    after since by from onwards between last past previous next coming this
    early mid late start end rest half later earlier around circa every more
    less than now time within up ending final latter opening part about just my
    same other these exact date following as gone so far oclock break comma slash dash dead VAGUE CLOCKS NUM NUMW TENS FUZZY ORD ORDW YEAR
    YEARS PAIR SHORT BIG UNIT UYEAR OFUNIT MONTH PLAINM WEAKM WDAY WEAKW
    PLWDAY SEASON PLSEASON WEAKS HOLI PLHOLI QUARTER WNUM CLOCK PART PLPART
    DECADE DAY TONIGHT DATE WEEK MON YR FIX MDAY YFL WFL MFL OUT
    """
)
_CHAR = {name: chr(0x100 + i) for i, name in enumerate(_CODES)}
_MONTH = "MONTH PLAINM"
_YEARLY = f"{_MONTH} MDAY HOLI SEASON QUARTER YFL"
_FIXED = "DAY DATE WEEK MON YR FIX"
_GROUPS = {
    "ANYMONTH": _MONTH,
    "IN": "in during within",
    "EVERY": "every other these same",
    "after": "after following",
    "UNIT": "UNIT UYEAR",
    "NUMBER": "NUM NUMW FUZZY",
    "NTH": "ORD ORDW",
    "DAYNUM": "ORD NUM",
    "YEARLY": _YEARLY,
    "FIXED": _FIXED,
    "TIME": f"{_YEARLY} {_FIXED} WDAY WFL MFL TONIGHT",
    "DAYLIKE": "DAY DATE MDAY WDAY HOLI WFL YFL MFL",
    "ANYYEAR": "YEAR SHORT",
    "TIMES": f"{_YEARLY} {_FIXED} WDAY WFL MFL TONIGHT YEAR SHORT DECADE OFUNIT",
    "PLURAL": "PLWDAY PLSEASON PLHOLI PLPART",
    "NAMED": f"{_MONTH} MDAY HOLI SEASON WDAY QUARTER",
}
_WORD = re.compile("[A-Za-z]+")


def _pattern(words: str) -> str:
    """A rule's words as a regular expression over token classes."""

    def char(found: re.Match[str]) -> str:
        names = _GROUPS.get(found[0], found[0]).split()
        chars = "".join(_CHAR[name] for name in names)
        return chars if len(chars) == 1 else f"[{chars}]"

    return _WORD.sub(char, re.sub(r"\((?!\?)", "(?:", words)).replace(" ", "")


class Stage:
    """A table of rules."""

    def __init__(self, *tables: Sequence[Rule]) -> None:
        self._rules = [rule for table in tables for rule in table]

    @cached_property
    def _table(self) -> re.Pattern[str]:
        """All rules as one pattern, made at the first use."""
        return re.compile("|".join(f"({_pattern(words)})" for words, _ in self._rules))

    def apply(self, tokens: list[Token], now: Now) -> list[Token]:
        """The tokens with what the rules made of them in their place."""
        for _ in range(6):
            made = self._once(tokens, now)
            if made is tokens:
                break
            tokens = made
        return tokens

    def _once(self, tokens: list[Token], now: Now) -> list[Token]:
        codes = "".join(_CHAR[token.code] for token in tokens)
        search = self._table.search
        found = search(codes)
        if found is None:
            return tokens
        result: list[Token] = []
        place = 0
        while found is not None:
            first, last = found.span()
            result += tokens[place:first]
            result.append(self._build(found.lastindex or 1, tokens[first:last], now))
            place = last
            found = search(codes, place)
        return result + tokens[place:]

    def _build(self, index: int, matched: list[Token], now: Now) -> Token:
        start, end = matched[0].start, matched[-1].end
        try:
            made = self._rules[index - 1][1](
                now, [t for t in matched if t.code.isupper()]
            )
        except (ValueError, OverflowError):  # no such day
            made = None
        if isinstance(made, Time):
            return Token(code_of(made), start, end, None, made)
        if made is None:
            return Token("dead", start, end)
        return Token(made.code, start, end, made.value, made.time)


_BY_PRECISION = {
    "week": "WEEK",
    "month": "MON",
    "year": "YR",
    "day": "DATE",
    "part": "DATE",
    "hour": "DATE",
    "minute": "DATE",
}
_BY_CYCLE = {"year": "YFL", "week": "WFL", "month": "MFL"}


def code_of(time: Time) -> str:
    """The class of what was made."""
    if time.cycle != "once":
        return _BY_CYCLE[time.cycle]
    return _BY_PRECISION.get(time.precision, "FIX")


def time_of(token: Token) -> Time:
    """What a token means alone, a bare year included."""
    if token.time is not None:
        return token.time
    if token.code in ("YEAR", "SHORT") and 1500 <= token.value <= 2200:
        return once(years(token.value), "year", "absolute", 0.9).but(guard="count")
    raise ValueError("not a time")


def unit_of(tokens: Sequence[Token]) -> Unit:
    """The first unit among tokens. Raises ValueError where there is none."""
    found = one(tokens, "UNIT", "UYEAR")
    if found is None:
        raise ValueError("no unit")
    return cast(Unit, found.value)


def only(tokens: Sequence[Token], *codes: str) -> list[Token]:
    """The tokens of certain classes."""
    return [token for token in tokens if token.code in codes]


def one(tokens: Sequence[Token], *codes: str) -> Token | None:
    """The first token of certain classes."""
    return next((token for token in tokens if token.code in codes), None)


def dead(_: Now, __: list[Token]) -> None:
    """What looks like a time and is none."""
