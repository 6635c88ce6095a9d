"""Text -> the times it speaks of."""

from collections.abc import Iterator
from datetime import datetime

from hmem.timeparse import almanac as cal
from hmem.timeparse.ago import AGO
from hmem.timeparse.ahead import AHEAD
from hmem.timeparse.alike import ALIKE
from hmem.timeparse.beside import BESIDE
from hmem.timeparse.clocks import CLOCKS
from hmem.timeparse.dates import DATES
from hmem.timeparse.doubtful import WORDS
from hmem.timeparse.ends import ONE_END, UNTIL_NOW
from hmem.timeparse.guards import RATE, alone, blocked, hanging
from hmem.timeparse.joined import JOINED
from hmem.timeparse.led import LED
from hmem.timeparse.numbers import NUMBERS
from hmem.timeparse.phrase import Lean, Now, Time, When, nearer, settle
from hmem.timeparse.ranges import TWO_ENDS
from hmem.timeparse.relative import RELATIVE
from hmem.timeparse.rules import Stage
from hmem.timeparse.tense import NO_SIGN, Leaning, leaning
from hmem.timeparse.tokens import Token, islands
from hmem.timeparse.within import WITHIN
from hmem.timeparse.words import listed

_STAGES = (
    NUMBERS,
    CLOCKS,
    WORDS,
    DATES,
    Stage(ALIKE, AGO, AHEAD, RELATIVE),
    JOINED,
    Stage(WITHIN, BESIDE),
    JOINED,
    Stage(UNTIL_NOW, TWO_ENDS, ONE_END, LED),
)
_GIVEN = frozenset(
    listed(
        """
    DAY DATE WEEK MON YR FIX YFL WFL MFL MDAY TONIGHT HOLI PLAINM WDAY OUT
    """
    )
)
_PREPOSITIONS = frozenset(
    listed(
        """
    in during over on for from of at
    """
    )
)
_PLAIN = str.maketrans("\u2019\u2018\u2013\u2014\u00a0\u202f", "''--  ")
"""Marks that have a plain form, place by place."""


def read(text: str, now: Now) -> Iterator[tuple[Token, Time]]:
    """The phrases of a text and what each means, before it is settled which one."""
    text = text.translate(_PLAIN)
    for island in islands(text, now):
        tokens = island
        for stage in _STAGES:
            tokens = stage.apply(tokens, now)
        for i, token in enumerate(tokens):
            if token.code in _GIVEN and token.time is not None:
                before = tokens[i - 1] if i else None
                if not blocked(_led(tokens, i), token.time, before, text):
                    partly = _in_part(tokens, i) or hanging(token, text)
                    doubt = 0.6 if partly else 1.0
                    yield _led(tokens, i), token.time.doubted(doubt)


def _in_part(tokens: list[Token], place: int) -> bool:
    """Whether words of time beside a phrase were left unread: then it may be half of what
    was said."""
    first = place - 1
    while first > 0 and tokens[first].code in _GLUE:
        first -= 1
    if first >= 0 and tokens[first].code in _UNREAD:
        return True
    near = tokens[max(0, place - 1) : place + 2 : 2] if place else tokens[1:2]
    if any(t.code in _GIVEN and t.time is not None for t in near):
        return True  # "two years ago last month"
    after = [token.code for token in tokens[place + 1 : place + 4]]
    if after and after[0] in _BOUNDS:  # "last week to Rome" is whole
        return any(code.isupper() for code in after)
    return bool(after) and after[0] in _UNREAD_AFTER


_GLUE = frozenset(listed("dash to and or the of in on at comma"))
_UNREAD = frozenset(
    listed(
        """
    early mid late last next half start end before after between NUM NUMW ORD ORDW
    latter ending same UNIT UYEAR WEAKW WEAKS PART TENS
    FUZZY oclock CLOCKS PLPART PLWDAY QUARTER WNUM PAIR
    """
    )
)
_UNREAD_AFTER = frozenset(listed("ago before after UNIT ORD"))
_BOUNDS = frozenset(listed("to until dash"))


def _led(tokens: list[Token], place: int) -> Token:
    """A phrase with the preposition and the article before it."""
    token, first = tokens[place], place
    for codes in (("the",), _PREPOSITIONS):
        if first and tokens[first - 1].code in codes:
            first -= 1
    token.start = tokens[first].start
    return token


def readings(text: str, now: Now, *, every: bool = False) -> Iterator[When]:
    """The times of a text, in order.

    What comes again is settled as its sentence leans; with `every` the other way as well,
    at half the confidence.
    """
    for token, time in read(text, now):
        leans = _leaning(token, time, text, now)
        if leans is None:
            continue
        lean, sure = leans
        first = _given(token, time.doubted(sure), now, lean)
        if first is not None:
            yield first
        if every and time.cycle != "once":
            other = _given(token, time.doubted(sure / 2), now, _OTHER[lean])
            if other is not None and (first is None or other.start != first.start):
                yield other


def _leaning(token: Token, time: Time, text: str, now: Now) -> Leaning | None:
    """How the sentence around a phrase leans; None where it makes the phrase no time."""
    if time.cycle == "once" and time.guard != "ahead":
        return Leaning("past", 1.0)
    lean, sure = leaning(text, token.start, token.end)
    if time.guard == "ahead":  # not "finished in two weeks", "how many days in a year"
        rate = RATE.search(text, max(0, token.start - 60), token.start)
        finished = lean == "past" and sure == 1.0
        return None if finished or rate is not None else Leaning(lean, 1.0)
    if sure == NO_SIGN and time.guard in ("loose", "generic"):
        # "at 3 pm", "in winter", of whichever
        return Leaning(lean, sure) if alone(token, text) else None
    if sure == NO_SIGN and time.guard == "near":
        return Leaning(nearer(time, now), sure)
    return Leaning(lean, sure)


_OTHER: dict[Lean, Lean] = {"past": "future", "future": "past"}


def _given(token: Token, time: Time, now: Now, lean: Lean) -> When | None:
    """A phrase with its turn chosen, in UTC."""
    try:
        pair = time.exact or _in_utc(time, now, lean)
    except (ValueError, OverflowError):  # off the calendar
        return None
    if pair is None:
        return None
    point = None if time.point is None else cal.instant(time.point, now.zone)
    return When(
        start=pair[0],
        end=pair[1],
        precision=time.precision,
        confidence=round(time.sure, 3),
        span=(token.start, token.end),
        kind=time.kind,
        point=point,
    )


def _in_utc(time: Time, now: Now, lean: Lean) -> tuple[datetime, datetime] | None:
    stretch = settle(time, now, lean)
    return None if stretch is None else cal.to_utc(stretch, now.zone)
