"""Rules for dates with a day, a month or a year."""

from datetime import date

from hmem.timeparse import almanac as cal
from hmem.timeparse import atoms
from hmem.timeparse.almanac import DAY, Stretch
from hmem.timeparse.phrase import Now, Time, in_turn, once
from hmem.timeparse.rules import Made, Stage, dead, one, only, time_of
from hmem.timeparse.tokens import Token


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


def _day_in_words(now: Now, tokens: list[Token]) -> Made:
    """ "March twenty-first"; "in March first steps were made"."""
    made = _day(now, tokens)
    if isinstance(made, Token) and made.time is not None:
        made.time = made.time.but(guard="noun")
    return made


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


def _over_new_year(_: Now, tokens: list[Token]) -> Made:
    """ "The winter of 2019-20"."""
    first, last = tokens[1].value
    time = time_of(tokens[0]).turn(first)
    if last != first + 1 or time.end < cal.wall(date(last, 1, 1)):
        return None
    return once(time, "season", "absolute", 0.85)


def _weekday_date(_: Now, tokens: list[Token]) -> Made:
    """ "Friday the 12th"."""
    time = atoms.month_date(tokens[-1].value)
    return time and _on(time, tokens[0].value).but(sure=0.75)


def _holidays(_: Now, tokens: list[Token]) -> Made:
    """ "The summer holidays", "spring break": some of that time."""
    time = time_of(tokens[0])
    if time.precision == "season":
        return time.but(sure=0.55, guard="")
    return time.over(lambda s: Stretch(s.start - 7 * DAY, s.end + 7 * DAY), "week").but(
        sure=0.5, guard=""
    )


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
    wide = time.precision in ("week", "weekend")  # "Easter week"
    sure = 0.6 if winter else 0.75 if wide else 0.95
    return in_turn(time, year, sure=sure).but(guard="")


def _numbered_week(_: Now, tokens: list[Token]) -> Made:
    year, unit = _year(tokens), one(tokens, "UNIT", "UYEAR")
    if unit is not None and unit.value.name != "week":
        return None
    number = one(tokens, "WNUM", "NUM")
    assert number is not None
    assert year is not None
    week = number.value if number.code == "WNUM" else int(number.value.size)
    return once(cal.iso_week(year, week), "week", "absolute", 0.9)


def _week_of_month(_: Now, tokens: list[Token]) -> Made:
    """ "Week 3 of January"."""
    unit, number = tokens[0].value.name, tokens[1].value.size
    if unit != "week" or not 1 <= number <= 4:
        return None
    first = 7 * int(number - 1) * DAY
    made = time_of(tokens[2]).over(
        lambda s: Stretch(s.start + first, s.start + first + 7 * DAY), "week"
    )
    return made.but(sure=0.7, guard="")


def _the_year(_: Now, tokens: list[Token]) -> Made:
    return once(cal.years(tokens[1].value), "year", "absolute", 0.95)


def _decade(_: Now, tokens: list[Token]) -> Made:
    return time_of(tokens[0])


def _around_feast(_: Now, tokens: list[Token]) -> Made:
    """ "Easter weekend", "Christmas week"."""
    unit = tokens[1].value.name
    time = time_of(tokens[0]).but(guard="", sure=0.78)
    if unit == "week":
        return time.over(lambda s: cal.week(cal.day_of(s.start)), "week")
    if unit == "weekend":
        return time.over(_long_weekend, "weekend")
    return None


def _around_day(now: Now, tokens: list[Token]) -> Made:
    """ "July 4th weekend"."""
    day = _day(now, tokens[:2])
    if not isinstance(day, Token):
        return None
    return _around_feast(now, [day, tokens[2]])


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
        ("UNIT NUM (of|in) ANYMONTH (?!ANYYEAR)", _week_of_month),
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
        ("ANYMONTH ORDW (?!UNIT|PLURAL|half|PART|TIMES|ORD)", _day_in_words),
        ("(ANYMONTH|SEASON|HOLI|QUARTER) comma? (of|in)? ANYYEAR", with_year),
        ("YEAR (ANYMONTH|QUARTER|SEASON|HOLI)", with_year),
        ("(SEASON|ANYMONTH) of NUM (?!UNIT|FUZZY)", _short_with_year),
        ("SEASON (of|in)? YEARS", _over_new_year),
        ("UNIT NUM comma? of? YEAR", _numbered_week),
        ("YEAR comma? UNIT NUM", _numbered_week),
        ("WNUM (of|comma|slash)? YEAR", _numbered_week),
        ("YEAR WNUM", _numbered_week),
        ("UYEAR YEAR", _the_year),
        ("(?<=my (early|mid|late)) DECADE", dead),
        ("the DECADE", _decade),
        ("(SEASON|HOLI|WEAKS) break", _holidays),
        ("(SEASON|HOLI) time", _around_time),
        ("(HOLI|MDAY) UNIT", _around_feast),
        ("ANYMONTH ORD UNIT", _around_day),
    )
)
