"""A table of what stands before, after or around a phrase and makes it something else."""

import re
from collections.abc import Callable
from typing import NamedTuple

from hmem.timeparse.phrase import Time
from hmem.timeparse.tokens import Token


class Sign(NamedTuple):
    """A sign that a phrase is no time.

    `of` tells which phrases it counts for. `before` is searched for in so many characters
    before the phrase (`reach`), `after` matched right behind it, `near` searched for on
    both sides.
    """

    of: Callable[[Token, Time, str], bool]
    reach: int = 0
    before: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None
    near: re.Pattern[str] | None = None

    def stands(self, token: Token, text: str) -> bool:
        """Whether it stands beside a phrase."""
        first = max(0, token.start - self.reach)
        return bool(
            (self.before and self.before.search(text, first, token.start))
            or (self.after and self.after.match(text, token.end))
            or (self.near and self.near.search(text, first, token.end + self.reach))
        )


def _pattern(words: str, after: str = "") -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b{after}", re.IGNORECASE | re.VERBOSE)


def _named(token: Token, _: Time, __: str) -> bool:
    return token.code in ("WDAY", "PLAINM")


def _weekday(token: Token, _: Time, __: str) -> bool:
    return token.code == "WDAY"


def _lasting(token: Token, _: Time, text: str) -> bool:
    return _LASTING.match(text, token.start) is not None


def _in_figures(token: Token, _: Time, text: str) -> bool:
    return text[token.start].isdigit()


def _with_capital(token: Token, _: Time, text: str) -> bool:
    return text[token.start].isupper()


def _quarter(token: Token, time: Time, text: str) -> bool:
    said = text[token.start : token.end].lower()
    return time.precision == "quarter" and "quarter" in said


def _from(token: Token, time: Time, text: str) -> bool:
    return (
        time.kind == "range" and text[token.start : token.start + 4].lower() == "from"
    )


def _short_decade(token: Token, time: Time, text: str) -> bool:
    said = text[token.start : token.end]
    plain = "'" in said or re.search("[12][0-9]{3}", said) is not None
    return time.precision == "decade" and "0s" in said and not plain


_LASTING = re.compile(
    r"last (?:an? |[0-9]|(?:one|two|three|four|five|six|seven|eight|nine|ten|several|few"
    r"|another|at|about|all|until|till|for)\b)",
    re.IGNORECASE,
)
_ENDS = r"\.?:?\ ?\#?\Z"
SIGNS: tuple[Sign, ...] = (
    Sign(  # "may last two weeks"
        _lasting,
        12,
        before=re.compile(
            r"(?:\b(?:will|can|could|would|should|might|may|must|to)|'ll|n't) \Z"
        ),
    ),
    Sign(  # "our cat's name is October"
        _named,
        40,
        before=_pattern(
            r"(?:sur|nick|user)?name|(?:favou?rite|best|worst|least)\ \w+",
            r"(?:\ is|\ was|:)?\ \Z",
        ),
    ),
    Sign(  # "Monday is his surname"
        _named,
        after=re.compile(
            r" (?:is|was) (?:my|his|her|our|their|your|the) (?:\w+ ){0,2}"
            r"(?:(?:sur|nick)?name|day|month)\b",
            re.IGNORECASE,
        ),
    ),
    Sign(  # "Saturday (March 16)": the date tells which
        _weekday, after=re.compile(r" ?\((?:\w+\.? )?[0-9]")
    ),
    Sign(  # "bin day is always Thursday"
        _weekday,
        40,
        near=_pattern(
            r"always|usually|typically|normally|generally|(?:every|each)\ week"
        ),
    ),
    Sign(  # "they scored in the fourth quarter"
        _quarter,
        80,
        near=_pattern(
            "lost|won|scored?|touchdowns?|game|points|yards|goals?|match|inning|ball"
        ),
    ),
    Sign(  # "moved from 3 May to 10 May": two days, not what lies between
        _from,
        40,
        before=_pattern(
            "moved|changed|shifted|rescheduled|postponed|pushed|switched|brought",
            r"(?:\ \w+){0,3}\ \Z",
        ),
    ),
    Sign(  # "version 2.10.2024", "room 2020"
        _in_figures,
        14,
        before=_pattern(
            """version|ver|v|release|firmware|build|model|file|error|article|section
            |clause|chapter|verse|page|pages|pp|line|lines|room|flight|ticket|invoice
            |order|ref|reference|case|part|number|no|id|serial|ip""",
            _ENDS,
        ),
    ),
    Sign(  # "the movie Yesterday"
        _with_capital,
        12,
        before=_pattern(
            """films?|movies?|book|novel|song|album|band|show|series|sitcom|play|poem
            |game|podcast|magazine|called|titled|named|entitled""",
            r"\ \Z",
        ),
    ),
    Sign(  # "temperatures in the 80s"
        _short_decade,
        40,
        before=_pattern(
            """temperatures?|degrees?|highs?|lows?|heat|fahrenheit|celsius|bpm|pulse
            |weighs?|speeds?|scored?|grades?|iq|humidity|percent"""
        ),
    ),
)
