"""Rules for number words, doubtful words, and dates with a day, a month or a year."""

from datetime import date

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import DAY, Stretch
from hmem.timeparse.phrase import Now, Time, in_turn, once
from hmem.timeparse.rules import Made, Rule, Stage, dead, one, only, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.vague import VAGUE
from hmem.timeparse.words import Amount, Unit, exactly


def _sum(_: Now, tokens: list[Token]) -> Made:
    return Token("NUMW", 0, 0, exactly(sum(t.value.size for t in tokens)))


def _nth_sum(_: Now, tokens: list[Token]) -> Made:
    """ "Twenty-first"."""
    return Token("ORDW", 0, 0, int(tokens[0].value.size) + tokens[1].value)


def _part_of_hour(_: Now, tokens: list[Token]) -> Made:
    """ "Quarter of an hour", "half an hour": a unit of its own."""
    whole = tokens[-1].value
    part = tokens[0].value.name if len(tokens) == 2 else "half"
    if whole.name != "hour" or part not in ("quarter", "half"):
        return None
    return Token("UNIT", 0, 0, Unit(f"{part}-hour"))


def _dozens(_: Now, tokens: list[Token]) -> Made:
    """ "Half a dozen"."""
    amount = tokens[0].value
    return Token("NUMW", 0, 0, exactly(6)) if amount.size == 12 else None


def _and_half(_: Now, tokens: list[Token]) -> Made:
    return Token("NUMW", 0, 0, exactly(tokens[0].value.size + 0.5))


def _or(_: Now, tokens: list[Token]) -> Made:
    """ "Two or three", "2-3"."""
    numbers = [t.value.size for t in tokens] if len(tokens) == 2 else tokens[0].value
    low, high = sorted(numbers)
    return Token("NUMW", 0, 0, Amount(high, low, high))


def _fuzzy(_: Now, tokens: list[Token]) -> Made:
    return Token("NUMW", 0, 0, tokens[0].value)


def _taken_as(code: str) -> Rule:
    """Nothing but another class for a word whose neighbours tell what it is."""

    def build(_: Now, tokens: list[Token]) -> Made:
        return Token(code, 0, 0, tokens[0].value, tokens[0].time)

    return code, build


_MONTH, _WDAY, _SEASON = (_taken_as(c)[1] for c in ("MONTH", "WDAY", "SEASON"))

WORDS = Stage(
    VAGUE,
    (
        ("TENS dash? ORDW", _nth_sum),
        ("TENS dash? NUMW", _sum),
        ("TENS", _sum),
        ("UNIT of a UNIT (?=ago|before|from|later|earlier)", _part_of_hour),
        ("half a FUZZY", _dozens),
        ("a? FUZZY of?", _fuzzy),
        ("NUMBER (or|to|dash) NUMBER (?=UNIT)|PAIR (?=UNIT)", _or),
        ("NUMBER and a half (?=UNIT)", _and_half),
        # "may", "march", "sun", "sat", "fall": only where the neighbours tell
        ("(?<=IN|since|until|early|mid|late|of|last|between|from) WEAKM", _MONTH),
        ("(?<=ANYMONTH (and|or|to|until|dash|slash)) WEAKM", _MONTH),
        ("(?<=ORD) WEAKM", _MONTH),
        ("(?<=(on|since|until|by|before|after) NUM) WEAKM", _MONTH),
        ("(?<=on|since|until|by|before|after) WEAKM (?=NUM)", _MONTH),
        ("WEAKM (?=ANYYEAR|ORD|NUM comma? ANYYEAR|PAIR)", _MONTH),
        ("(?<=on|last|next|this) WEAKW", _WDAY),
        ("WEAKW (?=(to|dash|until) (WEAKW|WDAY))", _WDAY),
        ("(?<=(WEAKW|WDAY) (to|dash|until)) WEAKW", _WDAY),
        ("WEAKW (?=(comma|at|the)? (CLOCK|NUM|ORD|ANYMONTH|PART|DATE))", _WDAY),
        ("(?<=IN|since|until|early|mid|late|last|this|next) WEAKS", _SEASON),
        ("(?<=(IN|over) the) WEAKS", _SEASON),
        ("(?<=YEAR) WEAKS", _SEASON),
        ("WEAKS (?=of? ANYYEAR|of (last|this|next) UNIT)", _SEASON),
        # what comes again and again, or was named before, is no date
        (
            "EVERY EVERY? (NUMBER|NTH)? (UNIT|WDAY|WEAKW|ANYMONTH|SEASON|PART|HOLI) PART?",
            dead,
        ),
        ("(a|NUMW) (WDAY|ANYMONTH) PART? (?!ago)", dead),
        ("WDAY PLPART", dead),
    ),
)


def _year(tokens: list[Token]) -> int | None:
    found = one(tokens, "YEAR", "SHORT")
    if found is None:
        return None
    if not 1000 <= found.value <= 2999:
        raise ValueError("no year")
    return int(found.value)


def _day_number(token: Token) -> int:
    """A day of the month from an ordinal or a plain number. Raises ValueError."""
    value = token.value
    size = value if isinstance(value, int) else value.size
    if size != int(size) or not 1 <= size <= 31:
        raise ValueError("no day of a month")
    return int(size)


def _day(_: Now, tokens: list[Token]) -> Made:
    """A day of a month, with or without its year and weekday."""
    number = one(tokens, "ORD", "ORDW", "NUM")
    named = one(tokens, "MONTH", "PLAINM")
    assert number is not None
    assert named is not None
    month, day, year = named.value, _day_number(number), _year(tokens)
    weekday = one(tokens, "WDAY")
    if year is not None:
        when = date(year, month, day)
        false = weekday is not None and when.weekday() != weekday.value
        return once(cal.days(when), "day", "absolute", 0.5 if false else 0.97)
    time = atoms.month_day(month, day)
    if time is None:
        return None
    if number.code == "NUM" and number.start > named.start:
        time = time.but(guard="count")  # "in May 5 people came"
    return Token(
        "MDAY", 0, 0, None, time if weekday is None else _on(time, weekday.value)
    )


def _on(time: Time, weekday: int) -> Time:
    """Only those turns that fall on a weekday."""

    def turn(n: int) -> Stretch:
        stretch = time.turn(n)
        if cal.day_of(stretch.start).weekday() != weekday:
            raise ValueError("another weekday")
        return stretch

    return time.but(turn=turn, sure=0.9)


def _short_day(now: Now, tokens: list[Token]) -> Made:
    """ "8th May 23"; what is no year is a count ("on 8 May 3 people came")."""
    named, last = one(tokens, "MONTH", "PLAINM"), tokens[-1]
    assert named is not None
    size = last.value.size
    if last.end - last.start != 2 or size < 10:
        return None
    year = Token("YEAR", 0, 0, atoms.short_year(int(size), now))
    made = _day(now, [*tokens[:-1], year])
    return made.doubted(0.75).but(guard="count") if isinstance(made, Time) else None


def _short_with_year(now: Now, tokens: list[Token]) -> Made:
    """ "The summer of 69"."""
    last = tokens[-1]
    if last.end - last.start != 2:
        return None
    year = Token("YEAR", 0, 0, atoms.short_year(int(last.value.size), now))
    made = with_year(now, [tokens[0], year])
    return made.doubted(0.85).but(guard="count") if isinstance(made, Time) else None


def _weekday_date(_: Now, tokens: list[Token]) -> Made:
    """ "Friday the 12th"."""
    time = atoms.month_date(tokens[-1].value)
    return time and _on(time, tokens[0].value).but(sure=0.75)


def _around_time(_: Now, tokens: list[Token]) -> Made:
    """ "Christmas time"."""
    return time_of(tokens[0]).but(sure=0.6, guard="")


def _days(_: Now, tokens: list[Token]) -> Made:
    """From one day to another of the same month."""
    named = one(tokens, "MONTH", "PLAINM")
    assert named is not None
    pair = one(tokens, "PAIR")
    if pair is not None:
        first, last = pair.value
    else:
        first, last = (_day_number(t) for t in only(tokens, "ORD", "NUM"))
    if not 1 <= first < last:
        return None
    month, year = named.value, _year(tokens)

    def turn(n: int) -> Stretch:
        end = cal.wall(date(n, month, last)) + DAY
        return Stretch(cal.wall(date(n, month, first)), end)

    if year is not None:
        return once(turn(year), "day", "range", 0.95)
    if atoms.month_day(month, last) is None:
        return None
    return Time(turn, "day", "range", 0.9, "year")


def _either_day(now: Now, tokens: list[Token]) -> Made:
    """ "On the 20th or 21st of November"."""
    made = _days(now, tokens)
    return made.doubted(0.8) if isinstance(made, Time) else None


def with_year(_: Now, tokens: list[Token]) -> Made:
    """A month, season, feast or quarter of a year."""
    year = _year(tokens)
    assert year is not None
    named = next(t for t in tokens if t.time is not None)
    time = time_of(named)
    if time.cycle != "year":
        return None
    winter = time.precision == "season" and time.turn(2001).end > cal.wall(
        date(2002, 1, 1)
    )
    return in_turn(time, year, sure=0.6 if winter else 0.95).but(guard="")


def _numbered_week(_: Now, tokens: list[Token]) -> Made:
    year, unit = _year(tokens), one(tokens, "UNIT", "UYEAR")
    if unit is not None and unit.value.name != "week":
        return None
    number = one(tokens, "WNUM", "NUM")
    assert number is not None
    assert year is not None
    week = number.value if number.code == "WNUM" else int(number.value.size)
    return once(cal.iso_week(year, week), "week", "absolute", 0.9)


def _the_year(_: Now, tokens: list[Token]) -> Made:
    return once(cal.years(tokens[1].value), "year", "absolute", 0.95)


def _decade(_: Now, tokens: list[Token]) -> Made:
    return time_of(tokens[0])


def _around_feast(_: Now, tokens: list[Token]) -> Made:
    """ "Easter weekend", "Christmas week"."""
    unit = tokens[1].value.name
    time = time_of(tokens[0]).but(guard="", sure=0.8)
    if unit == "week":
        return time.over(lambda s: cal.week(cal.day_of(s.start)), "week")
    if unit == "weekend":
        return time.over(_long_weekend, "weekend")
    return None


def _long_weekend(feast: Stretch) -> Stretch:
    """The weekend next to a feast, with it where it is a Friday or a Monday."""
    day = cal.day_of(feast.start)
    if day.weekday() == 0:
        return Stretch(feast.start - 2 * DAY, feast.end)
    saturday = cal.weekend(day)
    return Stretch(feast.start if day.weekday() == 4 else saturday.start, saturday.end)


_WDAY_FIRST = "(WDAY comma? the?)? the?"
DATES = Stage(
    (
        (
            (
                "from? the? (DAYNUM (to|dash|until) the? DAYNUM|PAIR) of? ANYMONTH"
                "(comma? of? ANYYEAR)?"
            ),
            _days,
        ),
        (
            "between the? DAYNUM and the? DAYNUM of? ANYMONTH (comma? of? ANYYEAR)?",
            _days,
        ),
        (
            (
                "from? ANYMONTH the? (DAYNUM (to|dash|until) the? DAYNUM|PAIR)"
                "(?!of? ANYMONTH|UNIT) (comma? ANYYEAR)?"
            ),
            _days,
        ),
        (
            (
                "between ANYMONTH the? DAYNUM and the? DAYNUM (?!of? ANYMONTH)"
                "(comma? ANYYEAR)?"
            ),
            _days,
        ),
        (
            "the? DAYNUM (and|or|slash) the? DAYNUM of? ANYMONTH (comma? of? ANYYEAR)?",
            _either_day,
        ),
        (f"{_WDAY_FIRST} (ORD|NUM|ORDW of) of? ANYMONTH comma? of? ANYYEAR", _day),
        (f"{_WDAY_FIRST} ANYMONTH the? (ORD|NUM|ORDW) comma? of? ANYYEAR", _day),
        (
            "(WDAY comma?)? (ORD|NUM) of? ANYMONTH comma? NUM (?!oclock|UNIT|to|dash)",
            _short_day,
        ),
        (
            "ANYMONTH DAYNUM (and|or|slash) the? DAYNUM (?!of? ANYMONTH|UNIT) (comma? ANYYEAR)?",
            _either_day,
        ),
        ("NUM dash ANYMONTH dash YEAR", _day),
        ("(on|at)? the? WDAY comma? the? ORD (?!of|ANYMONTH|UNIT|half)", _weekday_date),
        ("YEAR ANYMONTH DAYNUM", _day),
        (f"{_WDAY_FIRST} (ORD|ORDW of|NUM) of? ANYMONTH", _day),
        ("(WDAY comma?)? ANYMONTH (the (ORD|ORDW)|DAYNUM) (?!UNIT|PLURAL)", _day),
        ("(ANYMONTH|SEASON|HOLI|QUARTER) comma? (of|in)? ANYYEAR", with_year),
        ("YEAR (ANYMONTH|QUARTER|SEASON|HOLI)", with_year),
        ("(SEASON|ANYMONTH) of NUM (?!UNIT|FUZZY)", _short_with_year),
        ("UNIT NUM comma? of? YEAR", _numbered_week),
        ("YEAR comma? UNIT NUM", _numbered_week),
        ("WNUM (of|comma|slash)? YEAR", _numbered_week),
        ("YEAR WNUM", _numbered_week),
        ("UYEAR YEAR", _the_year),
        ("(?<=my (early|mid|late)) DECADE", dead),
        ("the DECADE", _decade),
        ("(SEASON|HOLI) time", _around_time),
        ("HOLI UNIT", _around_feast),
    )
)
