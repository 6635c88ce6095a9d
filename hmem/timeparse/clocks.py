"""Rules for times of day: "half past six", "yesterday at 3 pm", "from 2 to 4 on Friday"."""

from typing import cast

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import Stretch
from hmem.timeparse.dates import with_year
from hmem.timeparse.figures import clocks
from hmem.timeparse.phrase import Now, Time
from hmem.timeparse.rules import Made, Rule, Stage, one, only, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.words import PARTS, Clock


def _hour(token: Token) -> int:
    """An hour of the clock. Raises ValueError for what is none."""
    size = token.value.size
    if size != int(size) or not 1 <= size <= 12:
        raise ValueError("no hour")
    return int(size) % 12


def _spoken(hour: int, minute: int, size: int) -> Token:
    of_day = (60 * hour + minute) % 720
    return Token("CLOCK", 0, 0, Clock(of_day, size, "spoken"))


def _oclock(_: Now, tokens: list[Token]) -> Made:
    """ "Six o'clock"."""
    return _spoken(_hour(tokens[0]), 0, 60)


def _half_past(_: Now, tokens: list[Token]) -> Made:
    """ "Half past six"."""
    return _spoken(_hour(tokens[0]), 30, 1)


def _minutes(tokens: list[Token]) -> int:
    """Of "a quarter", "ten", "20 minutes". Raises ValueError for other units."""
    name = tokens[-1].value.name if tokens[-1].code == "UNIT" else "minute"
    if len(tokens) == 1 and name == "quarter":
        return 15
    if name != "minute" or tokens[0].code not in ("NUM", "NUMW"):
        raise ValueError("no minutes")
    return int(tokens[0].value.size)


def _off(sign: int) -> Rule:
    """ "A quarter to nine", "ten past three"."""

    def build(_: Now, tokens: list[Token]) -> Made:
        minutes, hour = _minutes(tokens[:-1]), tokens[-1]
        if hour.code == "CLOCK":  # "a quarter to noon"
            start = (hour.value.minute + sign * minutes) % 1440
            return Token("CLOCK", 0, 0, Clock(start, 1, hour.value.either))
        return _spoken(_hour(hour), sign * minutes, 1)

    way = "(past|after)" if sign > 0 else "(to|before|until)"
    clock = "(CLOCK|NUM|NUMW oclock?)(?!UNIT|FUZZY|MDAY|ANYMONTH|WEAKM|YEAR|of|to|and)"
    return f"(a? UNIT|(NUM|NUMW) UNIT|NUMW) {way} {clock}", build


def _of_part(_: Now, tokens: list[Token]) -> Made:
    """ "Two in the afternoon": which half of the day it is."""
    number, part = tokens[0], cast(str, tokens[-1].value)
    if number.code == "CLOCK":
        clock = cast(Clock, number.value)
    else:
        clock = Clock(60 * _hour(number), 60, "spoken")
    if not clock.either:
        return Token("CLOCK", 0, 0, clock)
    first, last = PARTS[part]
    if part == "night" and clock.minute % 720 < 360:  # "two at night"
        return Token("CLOCK", 0, 0, Clock(clock.minute % 720, clock.size))
    for minute in (clock.minute % 720, clock.minute % 720 + 720):
        fits = 60 * first <= minute < 60 * last
        if fits or (part == "morning" and minute < 720):
            return Token("CLOCK", 0, 0, Clock(minute, clock.size))
    return None


def _pair(_: Now, tokens: list[Token]) -> Made:
    """ "Between 2 and 4 pm"."""
    last = cast(Clock, tokens[-1].value)
    if last.either or tokens[0].value.size > 12:
        return None
    half = 720 if last.minute >= 720 else 0
    first = Clock(60 * _hour(tokens[0]) + half, 60)
    return Token("CLOCKS", 0, 0, clocks(first, last))


CLOCKS = Stage(
    (
        ("(NUM|NUMW) oclock", _oclock),
        ("half past (NUM|NUMW) oclock? (?!UNIT)", _half_past),
        ("half (NUM|NUMW) (?=on|this|last|DAY|WDAY|in the PART)", _half_past),
        _off(1),
        _off(-1),
        ("CLOCK (in the|at) PART", _of_part),
        ("(?<=at|around|about) (NUM|NUMW) (in the|at) PART", _of_part),
        ("(from|between)? NUM (to|and|dash|until) CLOCK", _pair),
    )
)

# ------------------------------------------------------------------- with its day


def _with_part(_: Now, tokens: list[Token]) -> Made:
    """ "Yesterday morning", "Friday night", "the evening of 5 May"."""
    part = one(tokens, "PART")
    day = next(t for t in tokens if t.time is not None)
    time = time_of(day)
    small = part is not None and part.value == "hours" and time.precision == "part"
    if part is None or time.kind in ("range", "open"):
        return None
    if time.precision != "day" and not small:
        return None
    made = time.over(lambda s: atoms.part_of(s, part.value), "part").but(guard="")
    return made.doubted(0.85) if part.value in ("lunchtime", "hours") else made


def _part_of_date(now: Now, tokens: list[Token]) -> Made:
    """ "The night of the 5th"."""
    day = atoms.month_date(tokens[1].value)
    if day is None:
        return None
    return _with_part(now, [tokens[0], Token("MFL", 0, 0, None, day)])


def _with_clock(_: Now, tokens: list[Token]) -> Made:
    """ "Yesterday at 3 pm". Where it may be either half of the day, the day."""
    clock = cast(Clock, tokens[-1 if tokens[0].time is not None else 0].value)
    time = time_of(next(t for t in tokens if t.time is not None))
    if time.precision not in ("day", "part") or time.kind in ("range", "open"):
        return None
    if clock.either == "spoken" and time.precision == "day":
        return time.but(guard="", point=None)
    if clock.either == "figures" and time.precision == "day":
        time = time.doubted(0.8)
    plain = clock.minute or time.precision == "part"  # whose midnight is it?
    made = time.over(
        lambda s: atoms.at_clock(s, clock), "hour" if clock.size == 60 else "minute"
    )
    return made.but(guard="", sure=time.sure * (1 if plain else 0.6), exact=None)


def _with_hour(now: Now, tokens: list[Token]) -> Made:
    """ "Last night at 9", "at 9 on Friday"."""
    number = one(tokens, "NUM", "NUMW")
    assert number is not None
    size = number.value.size
    time = next(t for t in tokens if t.time is not None)
    if size != int(size) or not 1 <= size <= 12:
        return time_of(time).doubted(0.8)
    clock = Token("CLOCK", 0, 0, Clock(60 * (int(size) % 12), 60, "spoken"))
    return _with_clock(now, [time, clock])


def _printed(now: Now, tokens: list[Token]) -> Made:
    """ "May 8 14:30:00 2023", as computers print it."""
    day = with_year(now, [tokens[0], tokens[-1]])
    if not isinstance(day, Time):
        return None
    return _with_clock(now, [Token("DATE", 0, 0, None, day), tokens[1]])


def _between_clocks(_: Now, tokens: list[Token]) -> Made:
    """ "From 3 pm to 5 pm yesterday"."""
    both = one(tokens, "CLOCKS")
    first, last = both.value if both else (t.value for t in only(tokens, "CLOCK"))
    time = time_of(next(t for t in tokens if t.time is not None))
    if time.precision not in ("day", "part") or time.kind in ("range", "open"):
        return None
    if "spoken" in (first.either, last.either):
        return time.but(guard="")

    def change(day: Stretch) -> Stretch:
        start, end = atoms.at_clock(day, first).start, atoms.at_clock(day, last).start
        return Stretch(start, end if end > start else end + cal.DAY)

    return time.over(change, "hour").but(guard="", kind="range")


_BOTH = "(CLOCK (to|dash|and|until) CLOCK|CLOCKS)"
_AROUND = "(at|around|about)* exact?"
_WITH_DAY = "(IN the|at|on the|on|in)?"
CLOCKED: tuple[Rule, ...] = (
    (f"DAYLIKE comma? {_WITH_DAY} (early|mid|late)? dash? (in the)? PART", _with_part),
    ("the (early|late|mid)? dash? PART (of|on) the? DAYLIKE", _with_part),
    ("(early|late|mid)? dash? PART of the? DAYLIKE", _with_part),
    ("(in the|at)? PART DAY", _with_part),
    ("MDAY comma? CLOCK comma? YEAR", _printed),
    (f"(DAYLIKE|TONIGHT) comma? (from|between)? {_BOTH}", _between_clocks),
    (
        f"(from|between)? {_BOTH} comma? (of|on)? the? (DAYLIKE|TONIGHT)",
        _between_clocks,
    ),
    (f"(DAYLIKE|TONIGHT) comma? {_AROUND} CLOCK", _with_clock),
    (
        f"{_AROUND} CLOCK comma? (of|on|in)? the? (DAYLIKE|TONIGHT) (?!PART)",
        _with_clock,
    ),
    ("the PART of the ORD (?!of|ANYMONTH|UNIT)", _part_of_date),
    (
        "(DAYLIKE|TONIGHT) comma? (at|around) (NUM|NUMW) (?!UNIT|FUZZY|ANYMONTH)",
        _with_hour,
    ),
    ("at (NUM|NUMW) comma? on? (DAYLIKE|TONIGHT)", _with_hour),
)


def loose_clock(_: Now, tokens: list[Token]) -> Made:
    """ "At 3 pm", with no day: the latest, or the next to come."""
    clock = cast(Clock, tokens[-1].value)
    if clock.either or not clock.minute:
        return None

    def turn(n: int) -> Stretch:
        start = cal.wall(cal.day_of(n * cal.DAY)) + clock.minute
        return Stretch(start, start + clock.size)

    size = "hour" if clock.size == 60 else "minute"
    time = Time(turn, size, "recurring", 0.6, "day", guard="loose")
    return Token("OUT", 0, 0, None, time)
