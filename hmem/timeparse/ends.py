"""Rules for one end: "since 2021", "before Christmas", "until last Friday"."""

from collections.abc import Callable

from hmem.timeparse import almanac as cal
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.led import likely
from hmem.timeparse.phrase import (
    Guard,
    Now,
    Time,
)
from hmem.timeparse.rules import Made, Rule, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import MINUTES


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


UNTIL_NOW: tuple[Rule, ...] = (
    ("from the? TIMES comma? (up? (to|until) the? now)", _since),
    ("(DATE|MON|MDAY|ANYMONTH|YEAR) (to|until|dash) the? now", _since),
)
ONE_END: tuple[Rule, ...] = (
    ("from? the? TIMES onwards|from the? TIMES on (?!the? TIMES)", _since),
    ("start (on|in|from)? the? (TIMES|YEAR)", _starting),
    ("every? later than the? TIMES", _until),
    ("since (the|in)? TIMES", _since),
    ("(before|prior to) the? TIMES", likely(_before_it)),
    ("after the? TIMES", likely(_after_it)),
    ("up? (until|by) the? TIMES|up to the? TIMES", likely(_until)),
)
