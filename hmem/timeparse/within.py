"""Rules for a part of a time: "early May", "the first week of June", "the second half"."""

from collections.abc import Callable
from datetime import timedelta

from hmem.timeparse import almanac as cal
from hmem.timeparse.almanac import DAY, Stretch
from hmem.timeparse.phrase import Now, Time
from hmem.timeparse.rules import Made, Rule, one, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.units import MINUTES, amount_and_unit, precision_of, shift
from hmem.timeparse.words import Unit, exactly

_THIRDS = {
    "early": (0, 1),
    "start": (0, 1),
    "mid": (1, 2),
    "late": (2, 3),
    "end": (2, 3),
    "early-mid": (0, 2),
    "mid-late": (1, 3),
}
_CUTS = {
    "week": (0, 2, 4, 7),
    "month": (0, 10, 20, None),
    "season": (0, 1, 2, 3),
    "quarter": (0, 1, 2, 3),
    "half": (0, 2, 4, 6),
    "year": (0, 4, 8, 12),
    "decade": (0, 4, 7, 10),
    "century": (0, 33, 67, 100),
}


def _third(word: str) -> Callable[[Now, list[Token]], Made]:
    """Its first, middle or last part: ten days of a month, four months of a year, ..."""
    first, last = _THIRDS[word]

    def build(_: Now, tokens: list[Token]) -> Made:
        time = time_of(tokens[0])
        if time.kind in ("range", "open"):
            return None
        cuts = _CUTS.get(time.precision)
        if cuts is None:  # "early yesterday", "late last weekend"
            return time.doubted(0.8)

        def change(whole: Stretch) -> Stretch:
            return Stretch(
                _cut(whole, time.precision, cuts[first]),
                _cut(whole, time.precision, cuts[last]),
            )

        plain = time.precision == "month" and word in ("early", "mid", "late")
        return time.over(change).but(sure=time.sure * (0.9 if plain else 0.8), guard="")

    return build


def _cut(whole: Stretch, precision: str, steps: int | None) -> int:
    """The wall minute so many steps into a stretch; None is its end."""
    if steps is None:
        return whole.end
    if precision in ("week", "month"):
        return whole.start + steps * DAY
    first = cal.day_of(whole.start)
    count = steps * 12 if precision in ("decade", "century") else steps
    return cal.wall(cal.add_months(first, count)) if steps else whole.start


# -------------------------------------------------------------- the nth, the first two


def _nth_within(_: Now, tokens: list[Token]) -> Made:
    """ "The first week of June", "the third Friday of next month", "the last day of May"."""
    outer = time_of(tokens[-1])
    nth = _nth(tokens[0])
    inner = one(tokens, "UNIT", "UYEAR", "WDAY")
    if outer.kind in ("range", "open") or inner is None:
        return None
    if inner.code == "WDAY":
        weekday = inner.value
        made = outer.over(lambda s: _nth_day(s, weekday, nth), "day")
        return made.but(guard="", sure=min(outer.sure, 0.9))
    name = inner.value.name
    if inner.value.plural:
        return _some_within(name, outer, nth)
    if name in MINUTES:
        return None
    precision = precision_of(name)
    sure = 0.75 if name in ("week", "weekend") else 0.85
    made = outer.over(lambda s: _nth_unit(s, name, nth), precision)
    return made.but(guard="", sure=min(outer.sure, sure))


_SOME = {"day": 7, "week": 3, "month": 3}
"""How many "the last days", "the first weeks" are."""


def _some_within(name: str, outer: Time, nth: int) -> Made:
    """ "The last months of 2022"."""
    if name not in _SOME or nth not in (1, -1):
        return None
    many = Token("NUMW", 0, 0, exactly(_SOME[name]))
    tokens = [many, Token("UNIT", 0, 0, Unit(name)), Token("FIX", 0, 0, None, outer)]
    made = _few(tokens, last=nth == -1)
    return made.but(sure=0.5) if isinstance(made, Time) else None


def _nth(token: Token) -> int:
    """Which one; -1 for the last."""
    if token.code in ("ORD", "ORDW"):
        return int(token.value)
    raise ValueError("no number")


def _last_within(now: Now, tokens: list[Token]) -> Made:
    return _nth_within(now, [Token("ORDW", 0, 0, -1), *tokens])


def _opening(now: Now, tokens: list[Token]) -> Made:
    return _nth_within(now, [Token("ORDW", 0, 0, 1), *tokens])


def _nth_day(whole: Stretch, weekday: int, nth: int) -> Stretch:
    """The nth such weekday of a stretch. Raises ValueError."""
    first = cal.day_of(whole.start)
    first += timedelta(days=(weekday - first.weekday()) % 7)
    if nth == -1:
        last = cal.day_of(whole.end - 1)
        return cal.days(last - timedelta(days=(last.weekday() - weekday) % 7))
    return _inside(cal.days(first + timedelta(days=7 * (nth - 1))), whole)


def _nth_unit(whole: Stretch, name: str, nth: int) -> Stretch:
    """The nth unit of a stretch: days, or sevens of them, or months from its start."""
    if name == "weekend":
        saturday = _nth_day(whole, 5, nth)
        return Stretch(saturday.start, saturday.end + DAY)
    first = cal.day_of(whole.start)
    if nth == -1:
        last = cal.day_of(whole.end - 1) + timedelta(days=1)
        return _inside(Stretch(cal.wall(shift(last, name, -1)), whole.end), whole)
    start, end = (cal.wall(shift(first, name, n)) for n in (nth - 1, nth))
    return _inside(Stretch(start, end), whole)


def _inside(part: Stretch, whole: Stretch) -> Stretch:
    if part.start < whole.start or part.end > whole.end or part == whole:
        raise ValueError("not within")
    return part


def _first_few(_: Now, tokens: list[Token]) -> Made:
    """ "The first three months of 2023"."""
    return _few(tokens, last=False) if tokens[0].value == 1 else None


def _last_few(_: Now, tokens: list[Token]) -> Made:
    return _few(tokens, last=True)


def _few(tokens: list[Token], *, last: bool) -> Made:
    outer = time_of(tokens[-1])
    amount, unit = amount_and_unit(tokens[:-1])
    if unit in MINUTES or unit == "weekend" or outer.kind in ("range", "open"):
        return None

    def change(whole: Stretch) -> Stretch:
        if last:
            end = cal.day_of(whole.end - 1) + timedelta(days=1)
            start = cal.wall(shift(end, unit, -amount.size))
            return _inside(Stretch(start, whole.end), whole)
        first = cal.day_of(whole.start)
        stop = cal.wall(shift(first, unit, amount.size))
        return _inside(Stretch(whole.start, stop), whole)

    return outer.over(change, precision_of(unit)).but(
        guard="", sure=min(outer.sure, 0.85)
    )


def _half_within(_: Now, tokens: list[Token]) -> Made:
    """ "The first half of 2023", "the second half of May": fifteen days of a month."""
    nth = _nth(tokens[0]) if len(tokens) == 2 else 2  # "the latter half"
    outer = time_of(tokens[-1])
    if nth not in (1, 2) or outer.precision not in ("month", "year", "decade"):
        return None
    steps = {"month": 15, "year": 6, "decade": 5}[outer.precision]

    def change(whole: Stretch) -> Stretch:
        middle = _cut(whole, outer.precision, steps)
        return Stretch(whole.start, middle) if nth == 1 else Stretch(middle, whole.end)

    precision = "half" if outer.precision == "year" else outer.precision
    return outer.over(change, precision).but(guard="", sure=min(outer.sure, 0.9))


def _by_the_end(_: Now, tokens: list[Token]) -> Made:
    """ "Before the end of the year": all of it."""
    time = time_of(tokens[-1])
    if time.kind == "open":
        return None
    return time.but(
        shape=lambda s: Stretch(cal.OPEN_START, s.end),
        kind="open",
        sure=min(time.sure, 0.7),
        guard="",
        point=None,
    )


WITHIN: tuple[Rule, ...] = (
    ("(the|my)? early (dash|to)* mid dash? TIMES", _third("early-mid")),
    ("(the|my)? mid (dash|to)* late dash? TIMES", _third("mid-late")),
    ("(before|by|until) the? end of the? TIMES", _by_the_end),
    ("the? early (dash|on? (in|on)? the?) TIMES", _third("early")),
    ("the? mid (dash|in? the?) TIMES", _third("mid")),
    ("the? late (dash|on? (in|on)? the?) TIMES", _third("late")),
    ("the? (early|opening) part of the? TIMES", _third("early")),
    ("the? mid part of the? TIMES", _third("mid")),
    ("the? (late|latter|final|last) part of the? TIMES", _third("late")),
    ("the? start of the? TIMES|start (ANYMONTH|MON|YR|QUARTER)", _third("start")),
    ("the? mid (of|to) the? TIMES", _third("mid")),
    ("the? end of the? TIMES|end (ANYMONTH|MON|YR|QUARTER)", _third("end")),
    ("the? (NTH|latter) half of the? TIMES", _half_within),
    ("the? NTH (UNIT|WDAY) (of|in) the? TIMES", _nth_within),
    ("the? (last|final) (UNIT|WDAY) (of|in) the? TIMES", _last_within),
    ("the opening UNIT of the? TIMES", _opening),
    ("the? ORDW NUMBER UNIT (of|in) the? TIMES", _first_few),
    ("the? (last|final) NUMBER UNIT (of|in) the? TIMES", _last_few),
)
