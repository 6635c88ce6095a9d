"""Text -> the times it speaks of."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from hmem.timeparse import almanac as cal
from hmem.timeparse.ago import AGO
from hmem.timeparse.beside import BESIDE
from hmem.timeparse.dates import DATES, WORDS
from hmem.timeparse.joined import JOINED
from hmem.timeparse.phrase import Lean, Now, Time, When, settle
from hmem.timeparse.ranges import OPEN
from hmem.timeparse.relative import RELATIVE
from hmem.timeparse.rules import Stage
from hmem.timeparse.tense import leaning
from hmem.timeparse.tokens import Token, islands
from hmem.timeparse.within import WITHIN
from hmem.timeparse.words import COUNTED, FUNCTION, LEXICON, OCCASIONS, listed

_STAGES = (
    WORDS,
    DATES,
    Stage(AGO, RELATIVE),
    JOINED,
    Stage(WITHIN, BESIDE),
    JOINED,
    OPEN,
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
_NEXT_WORD = re.compile(r"[ \t]*([^\W\d_]+)")
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
                if not _blocked(token, token.time, before, text):
                    doubt = 0.6 if _in_part(tokens, i) else 1.0
                    yield _led(tokens, i), token.time.doubted(doubt)


def _in_part(tokens: list[Token], place: int) -> bool:
    """Whether words of time before a phrase were left unread: then it may be half of what
    was said."""
    first = place - 1
    while first > 0 and tokens[first].code in ("dash", "to", "and", "or", "the"):
        first -= 1
    return first >= 0 and tokens[first].code in _UNREAD


_UNREAD = frozenset(
    listed("early mid late last next half start end before after between NUM NUMW ORDW")
)


def _led(tokens: list[Token], place: int) -> Token:
    """A phrase with the preposition and the article before it."""
    token, first = tokens[place], place
    for codes in (("the",), _PREPOSITIONS):
        if first and tokens[first - 1].code in codes:
            first -= 1
    token.start = tokens[first].start
    return token


def _blocked(token: Token, time: Time, before: Token | None, text: str) -> bool:
    """Whether what stands around a phrase makes it something else."""
    if token.code == "WDAY" and _within_name(token, before, text):
        return True
    if text[token.start : token.start + 5].lower() == "last " and _LASTS.search(
        text, max(0, token.start - 12), token.start
    ):
        return True  # "may last two weeks"
    guard = "noun" if token.code in ("WDAY", "PLAINM") else time.guard
    check = _GUARDS.get(guard)
    if check is None or text[token.end - 2 : token.end] == "'s":
        return False
    following = _NEXT_WORD.match(text, token.end)
    return check("" if following is None else following[1])


def _within_name(token: Token, before: Token | None, text: str) -> bool:
    """ "The Monday meeting", "on a Tuesday", "Mr Friday"."""
    if before is not None:
        return before.code in ("the", "a")
    named = _NAME.search(text, max(0, token.start - 20), token.start)
    return named is not None and named[1].lower() not in FUNCTION


_NAME = re.compile(r"\b([A-Z][a-z]+) \Z")
_LASTS = re.compile(
    r"(?:\b(?:will|can|could|would|should|might|may|must|to)|'ll|n't) \Z"
)
_GUARDS: dict[str, Callable[[str], bool]] = {
    "noun": lambda word: (
        word.islower() and word not in FUNCTION and word not in LEXICON
    ),
    "count": lambda word: (
        word in COUNTED
        or (word.endswith("s") and word not in FUNCTION and word not in LEXICON)
    ),
    "name": lambda word: word != "I" and word[:1].isupper(),
    "occasion": lambda word: word.lower() not in OCCASIONS,
}


def readings(text: str, now: Now, *, every: bool = False) -> Iterator[When]:
    """The times of a text, in order.

    What comes again is settled as its sentence leans; with `every` the other way as well,
    at half the confidence.
    """
    for token, time in read(text, now):
        lean: Lean = "past"
        sure = 1.0
        if time.cycle != "once" or time.guard == "ahead":
            lean, sure = leaning(text, token.start, token.end)
        if time.guard == "ahead":
            if lean == "past" and sure == 1.0:  # "finished in two weeks"
                continue
            sure = 1.0
        first = _given(token, time.doubted(sure), now, lean)
        if first is not None:
            yield first
        if every and time.cycle != "once":
            other = _given(token, time.doubted(sure / 2), now, _OTHER[lean])
            if other is not None and (first is None or other.start != first.start):
                yield other


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
