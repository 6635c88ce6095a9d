"""The grammar of times against a calendar that counts days one by one.

Nothing here uses the code under test to compute what is right: days are walked, zones are
asked minute by minute, Easter comes from the tables of epacts.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from hmem.timeparse import BEGINNING, HIGH, LAST, find

LONG = bool(os.environ.get("HMEM_LONG"))
MANY = 4_000 if LONG else 300
ZONES = (
    "Europe/Brussels",
    "America/New_York",
    "America/Sao_Paulo",  # clocks once jumped at midnight, and it lies in the south
    "Africa/Cairo",  # they still do
    "Australia/Lord_Howe",  # by half an hour
)
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
DAYS = (
    *("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
)
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ONE = timedelta(days=1)
Days = tuple[date | None, date | None] | None
"""First day and the day after the last; None is an open end; None instead: no time."""


class Asked(NamedTuple):
    """A phrase, what it means, and whether it is asked about the past."""

    text: str
    days: Days
    past: bool = True
    clock: int | None = None
    size: int = 1


# ------------------------------------------------------------- a calendar by counting


def walk(day: date, step: int, until: Callable[[date], bool]) -> date:
    """The first day from `day` on, in steps of one day, that fits."""
    while not until(day):
        day += step * ONE
    return day


def week(day: date) -> tuple[date, date]:
    monday = walk(day, -1, lambda d: DAYS[d.weekday()] == "Monday")
    return monday, walk(monday + ONE, 1, lambda d: DAYS[d.weekday()] == "Monday")


def month(day: date) -> tuple[date, date]:
    return (
        walk(day, -1, lambda d: d.day == 1),
        walk(day + ONE, 1, lambda d: d.day == 1),
    )


def year(day: date) -> tuple[date, date]:
    return date(day.year, 1, 1), date(day.year + 1, 1, 1)


def quarter(day: date) -> tuple[date, date]:
    first = walk(day, -1, lambda d: d.day == 1 and d.month in (1, 4, 7, 10))
    return first, walk(
        first + ONE, 1, lambda d: d.day == 1 and d.month in (1, 4, 7, 10)
    )


def weekend(day: date) -> tuple[date, date]:
    saturday = week(day)[0] + 5 * ONE
    return saturday, saturday + 2 * ONE


UNITS = {"week": week, "month": month, "year": year, "quarter": quarter}


def months_on(day: date, count: int) -> date:
    """Month by month; a day that a month lacks becomes its last."""
    number, where = day.day, day.replace(day=1)
    for _ in range(abs(count)):
        where = month(where)[1] if count > 0 else month(where - ONE)[0]
    last = (month(where)[1] - ONE).day
    return where.replace(day=min(number, last))


def valid(y: int, m: int, d: int) -> bool:
    return 1 <= d <= (month(date(y, m, 1))[1] - ONE).day


def easter(y: int) -> date:
    """By golden number, epact and the Sunday after the full moon."""
    golden = y % 19 + 1
    century = y // 100 + 1
    solar, lunar = 3 * century // 4 - 12, (8 * century + 5) // 25 - 5
    epact = (11 * golden + 20 + lunar - solar) % 30
    if epact == 24 or (epact == 25 and golden > 11):
        epact += 1
    moon = 44 - epact
    moon += 30 if moon < 21 else 0
    full = date(y, 3, 1) + (moon - 1) * ONE
    return walk(full + ONE, 1, lambda d: DAYS[d.weekday()] == "Sunday")


def feast(name: str, y: int) -> date:
    if name == "Thanksgiving":
        found = [date(y, 11, d) for d in range(1, 31) if date(y, 11, d).weekday() == 3]
        return found[3]
    if name == "Easter":
        return easter(y)
    return {
        "Christmas": date(y, 12, 25),
        "Halloween": date(y, 10, 31),
        "New Year's Eve": date(y, 12, 31),
        "Christmas Eve": date(y, 12, 24),
    }[name]


# --------------------------------------------------------------------- zones by asking


@cache
def first_moment(day: date, zone: ZoneInfo) -> datetime:
    """The first moment at which the clocks of a zone show a day or a later one."""
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=16)
    for _ in range(4 * 40):
        if moment.astimezone(zone).date() >= day:
            return moment
        moment += timedelta(minutes=15)
    raise AssertionError


@cache
def moment_of(day: date, minute: int, zone: ZoneInfo) -> datetime:
    """When the clocks first show a time; in a gap, as long after it as the time asked."""
    wanted = (day, minute)
    moment = first_moment(day, zone)
    while True:
        local = moment.astimezone(zone)
        shown = (local.date(), local.hour * 60 + local.minute)
        if shown == wanted:
            return moment
        if shown > wanted:
            before = (moment - timedelta(minutes=1)).astimezone(zone)
            missed = minute - (before.hour * 60 + before.minute + 1)
            return moment + timedelta(minutes=missed)
        moment += timedelta(minutes=1)


# ----------------------------------------------------------------------- what is asked


def moments(rng: random.Random) -> tuple[datetime, ZoneInfo]:
    """A time to ask at: borders of months, years and weeks, leap days, changed clocks."""
    zone = ZoneInfo(rng.choice(ZONES))
    y = rng.randint(2004, 2032)
    days = [
        date(y, 1, 1),
        date(y, 12, 31),
        date(y, 1, 3),
        date(y, 2, 28),
        date(y, 3, 1),
        month(date(y, rng.randint(1, 12), 1))[1] - ONE,
        date(y, rng.randint(1, 12), 1),
        date(y, rng.randint(1, 12), rng.randint(1, 28)),
        date(y, rng.choice((3, 4, 10, 11)), rng.randint(1, 30)),
        date(2027, 1, 3),
        date(2024, 2, 29),
        date(2016, 10, 16),
        date(2024, 4, 26),
    ]
    day = rng.choice(days)
    minute = rng.choice((0, 30, 150, 720, 893, 1380, 1439))
    return moment_of(day, minute, zone), zone


def near(rng: random.Random, today: date) -> date:
    return today + rng.randint(-900, 900) * ONE


def written(rng: random.Random, d: date) -> str:
    m = MONTHS[d.month - 1]
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(d.day % 10, "th")
    suffix = "th" if d.day in (11, 12, 13) else suffix
    return rng.choice(
        [
            f"{d.day} {m} {d.year}",
            f"{m} {d.day}, {d.year}",
            f"{m} {d.day}{suffix}, {d.year}",
            f"the {d.day}{suffix} of {m} {d.year}",
            f"{d.day} {m[:3]} {d.year}",
            d.isoformat(),
            f"{d.year}/{d.month:02}/{d.day:02}",
            f"{d.day:02}.{d.month:02}.{d.year}",
            f"{DAYS[d.weekday()]}, {d.day} {m} {d.year}",
        ]
    )


def relative_days(rng: random.Random, today: date, *, south: bool) -> Iterator[Asked]:
    for text, n in (
        ("yesterday", -1),
        ("today", 0),
        ("the day before yesterday", -2),
        ("tomorrow", 1),
        ("the day after tomorrow", 2),
    ):
        yield Asked(text, (today + n * ONE, today + (n + 1) * ONE), n < 1)
    n = rng.randint(1, 10)
    number = rng.choice((str(n), WORDS[n - 1]))
    s = "s" * (n > 1)
    yield Asked(f"{number} day{s} ago", (today - n * ONE, today - (n - 1) * ONE))
    yield Asked(
        f"in {number} day{s}", (today + n * ONE, today + (n + 1) * ONE), past=False
    )
    yield Asked(f"the last {n + 1} days", (today - (n + 1) * ONE, today + ONE))
    yield Asked(f"in the past {n + 1} weeks", (today - 7 * (n + 1) * ONE, today + ONE))
    yield Asked(
        f"over the last {n + 1} months", (months_on(today, -n - 1), today + ONE)
    )
    yield Asked(f"{number} week{s} ago", week(today - 7 * n * ONE))
    yield Asked(f"{number} month{s} ago", month(months_on(today, -n)))
    back = months_on(today, -12 * n)
    yield Asked(f"{number} year{s} ago", month(back) if n == 1 else year(back))
    yield Asked("a year and a half ago", month(months_on(today, -18)))
    yield Asked(f"in {number} week{s}", week(today + 7 * n * ONE), past=False)
    yield Asked(f"in {number} month{s}", month(months_on(today, n)), past=False)


def units(rng: random.Random, today: date, *, south: bool) -> Iterator[Asked]:
    for name, span in UNITS.items():
        first, after = span(today)
        before = span(first - ONE)
        yield Asked(f"last {name}", before)
        yield Asked(f"this {name}", (first, after))
        yield Asked(f"next {name}", span(after), past=False)
        yield Asked(f"the {name} before last", span(before[0] - ONE))
        yield Asked(f"earlier this {name}", (first, today + ONE))
    yield Asked("last weekend", weekend(today - 7 * ONE))
    yield Asked("this weekend", weekend(today))
    n = rng.randint(2, 5)
    ended = walk(today, -1, lambda d: d.weekday() == 0)  # a weekend ends on Monday
    yield Asked(f"{WORDS[n - 1]} weekends ago", weekend(ended - 7 * n * ONE))
    first = date(today.year - today.year % 10, 1, 1)
    yield Asked("this decade", (first, date(first.year + 10, 1, 1)))
    monday, after = week(today - 7 * ONE)
    d = rng.randrange(7)
    yield Asked(f"on {DAYS[d]} last week", (monday + d * ONE, monday + (d + 1) * ONE))
    yield Asked(
        f"{DAYS[d]} of next week", (after + (7 + d) * ONE, after + (8 + d) * ONE), False
    )


def weekdays(rng: random.Random, today: date, *, south: bool) -> Iterator[Asked]:
    d = rng.randrange(7)
    name = DAYS[d]
    past = walk(today - ONE, -1, lambda x: x.weekday() == d)
    coming = walk(today + ONE, 1, lambda x: x.weekday() == d)
    yield Asked(f"on {name}", (past, past + ONE))
    yield Asked(f"last {name}", (past, past + ONE))
    yield Asked(f"next {name}", (coming, coming + ONE), past=False)
    yield Asked(f"on {name}", (coming, coming + ONE), past=False)
    n = rng.randint(2, 6)
    then = past - 7 * (n - 1) * ONE
    yield Asked(f"{WORDS[n - 1]} {name}s ago", (then, then + ONE))
    ours = week(today)[0] + d * ONE
    yield Asked(f"this {name}", (ours, ours + ONE))
    base = near(rng, today)
    before = walk(base - ONE, -1, lambda x: x.weekday() == d)
    later = walk(base + ONE, 1, lambda x: x.weekday() == d)
    yield Asked(f"the {name} before {written(rng, base)}", (before, before + ONE))
    yield Asked(f"the {name} after {written(rng, base)}", (later, later + ONE))
    inside = [month(base)[0] + i * ONE for i in range(31)]
    inside = [x for x in inside if x.weekday() == d and x.month == base.month]
    nth = rng.randrange(4)
    place = f"{MONTHS[base.month - 1]} {base.year}"
    which = ("first", "second", "third", "fourth")[nth]
    yield Asked(f"the {which} {name} of {place}", (inside[nth], inside[nth] + ONE))
    yield Asked(f"the last {name} of {place}", (inside[-1], inside[-1] + ONE))


def months_of(rng: random.Random, today: date, *, south: bool) -> Iterator[Asked]:
    m = rng.randint(1, 12)
    name = MONTHS[m - 1]
    begun = month(walk(today, -1, lambda d: d.month == m))
    ended = month(walk(month(today)[0] - ONE, -1, lambda d: d.month == m))
    coming = month(walk(month(today)[1], 1, lambda d: d.month == m))
    yield Asked(f"in {name}", begun)
    yield Asked(f"last {name}", ended)
    yield Asked(f"next {name}", coming, past=False)
    y = today.year + rng.randint(-9, 2)
    first, after = month(date(y, m, 1))
    yield Asked(f"in {name} {y}", (first, after))
    yield Asked(f"early {name} {y}", (first, first + 10 * ONE))
    yield Asked(f"mid-{name} {y}", (first + 10 * ONE, first + 20 * ONE))
    yield Asked(f"late {name} {y}", (first + 20 * ONE, after))
    yield Asked(f"the first week of {name} {y}", (first, first + 7 * ONE))
    yield Asked(f"the last day of {name} {y}", (after - ONE, after))
    yield Asked(f"the second half of {name} {y}", (first + 15 * ONE, after))
    yield Asked(f"since {name} {y}", (first, today + ONE if first <= today else None))
    yield Asked(f"before {name} {y}", (None, first))
    yield Asked(f"after {name} {y}", (after, None))
    yield Asked(f"in {name} of last year", month(date(today.year - 1, m, 1)))
    n = rng.randint(2, 5)
    yield Asked(
        f"{WORDS[n - 1]} years ago in {name}", month(date(today.year - n, m, 1))
    )
    m2 = rng.randint(m, 12)
    if m2 > m:
        stretch = (first, month(date(y, m2, 1))[1])
        yield Asked(f"between {name} and {MONTHS[m2 - 1]} {y}", stretch)
    d = rng.randint(1, 31)
    last = month(month(today)[0] - ONE)[0]
    fits = valid(last.year, last.month, d)
    then = last + (d - 1) * ONE
    yield Asked(f"the {d}th of last month", (then, then + ONE) if fits else None)


def dates(rng: random.Random, today: date, *, south: bool) -> Iterator[Asked]:
    d = near(rng, today)
    yield Asked(f"on {written(rng, d)}", (d, d + ONE))
    m, n = rng.choice(((2, 29), (2, 30), (4, 31), (6, 31), (9, 31), (11, 31), (2, 28)))
    y = rng.randint(2000, 2030)
    then = date(y, m, 1) + (n - 1) * ONE
    text = rng.choice((f"{n} {MONTHS[m - 1]} {y}", f"{y}-{m:02}-{n}"))
    yield Asked(f"on {text}", (then, then + ONE) if valid(y, m, n) else None)
    name = MONTHS[d.month - 1]
    latest = walk(today, -1, lambda x: (x.month, x.day) == (d.month, d.day))
    yield Asked(f"on {d.day} {name}", (latest, latest + ONE))
    latest = walk(today, -1, lambda x: x.day == d.day)
    yield Asked(f"on the {d.day}th", (latest, latest + ONE))
    n = rng.randint(2, 9)
    yield Asked(f"{n} days before {written(rng, d)}", (d - n * ONE, d - (n - 1) * ONE))
    yield Asked(f"{n} days after {written(rng, d)}", (d + n * ONE, d + (n + 1) * ONE))
    yield Asked(f"the week of {written(rng, d)}", week(d))
    yield Asked(f"the week before {written(rng, d)}", (d - 7 * ONE, d))
    yield Asked(f"the day after {written(rng, d)}", (d + ONE, d + 2 * ONE))
    e = d + rng.randint(1, 40) * ONE
    yield Asked(f"from {written(rng, d)} to {written(rng, e)}", (d, e + ONE))
    if d.month == e.month:
        yield Asked(f"from {d.day} to {e.day} {name} {d.year}", (d, e + ONE))
        yield Asked(f"{name} {d.day}-{e.day}, {d.year}", (d, e + ONE))
    clock = rng.choice((0, 90, 125, 150, 180, 599, 956, 1439))
    text = f"{clock // 60}:{clock % 60:02}"
    yield Asked(f"at {text} on {written(rng, d)}", (d, d + ONE), clock=clock)
    yield Asked(f"yesterday at {text}", (today - ONE, today), clock=clock)


def years_of(rng: random.Random, today: date, *, south: bool) -> Iterator[Asked]:
    y = today.year + rng.randint(-20, -1)
    first, after = date(y, 1, 1), date(y + 1, 1, 1)
    yield Asked(f"in {y}", (first, after))
    yield Asked(f"since {y}", (first, today + ONE))
    yield Asked(f"before {y}", (None, first) if y % 100 else None)
    yield Asked(f"in early {y}", (first, date(y, 5, 1)))
    yield Asked(f"in late {y}", (date(y, 9, 1), after))
    yield Asked(f"the first half of {y}", (first, date(y, 7, 1)))
    yield Asked(f"from {y} to {y + 3}", (first, date(y + 4, 1, 1)))
    q = rng.randint(1, 4)
    span = quarter(date(y, 3 * q, 1))
    yield Asked(rng.choice((f"in Q{q} {y}", f"in Q{q} of {y}", f"in {y} Q{q}")), span)
    which = ("first", "second", "third", "fourth")[q - 1]
    yield Asked(f"the {which} quarter of {y}", span)
    decade = rng.choice((1950, 1960, 1970, 1980, 1990, 2010))
    span = (date(decade, 1, 1), date(decade + 10, 1, 1))
    yield Asked(f"in the {decade}s", span)
    name = rng.choice(("spring", "summer", "autumn"))
    begin = {"spring": 3, "summer": 6, "autumn": 9}[name]
    start = date(y, begin, 1)
    if south:
        start = months_on(start, 6)
        start = start.replace(year=y)
    span = (start, months_on(start, 3))
    if start.month != 12:
        yield Asked(f"in {name} {y}", span)
    over = walk(today, -1, lambda d: (d.month, d.day) == (months_on(start, 3).month, 1))
    yield Asked(f"last {name}", (months_on(over, -3), over))
    monday = walk(date(y, 1, 4), -1, lambda d: d.weekday() == 0)
    w = rng.choice((1, 2, 9, 26, 52, 53))
    then = monday + 7 * (w - 1) * ONE
    exists = w < 53 or (then + 3 * ONE).year == y  # a week belongs to its Thursday
    span53 = (then, then + 7 * ONE) if exists else None
    text = rng.choice((f"in {y}-W{w:02}", f"in week {w} of {y}"))
    yield Asked(text, span53)


def feasts(rng: random.Random, today: date, *, south: bool) -> Iterator[Asked]:
    name = rng.choice(
        ("Christmas", "Easter", "Thanksgiving", "Halloween", "New Year's Eve")
    )
    y = today.year + rng.randint(-9, 3)
    d = feast(name, y)
    yield Asked(f"at {name} {y}", (d, d + ONE))
    begun = [feast(name, today.year - i) for i in (0, 1)]
    latest = next(d for d in begun if d <= today)
    yield Asked(f"at {name}", (latest, latest + ONE))
    ended = next(d for d in begun if d < today)
    yield Asked(f"last {name}", (ended, ended + ONE))
    coming = [feast(name, today.year + i) for i in (0, 1)]
    first = next(d for d in coming if d > today)
    yield Asked(f"next {name}", (first, first + ONE), past=False)
    n = rng.randint(2, 6)
    then = d - n * ONE
    yield Asked(f"{WORDS[n - 1]} days before {name} {y}", (then, then + ONE))
    yield Asked(f"the week of {name} {y}", week(d))
    if name != "New Year's Eve":
        yield Asked(f"since {name} {y}", (d, today + ONE if d <= today else None))


def clocks(rng: random.Random, today: date, *, south: bool) -> Iterator[Asked]:
    yesterday = (today - ONE, today)
    h = rng.randint(1, 11)
    hour = rng.choice((f"{h}pm", f"{h} pm", f"{h} p.m."))
    yield Asked(f"yesterday at {hour}", yesterday, clock=720 + 60 * h, size=60)
    yield Asked(f"around {hour} yesterday", yesterday, clock=720 + 60 * h, size=60)
    yield Asked("yesterday at noon", yesterday, clock=720, size=60)
    late = rng.randint(7, 9)
    text = f"half past {WORDS[late - 1]} yesterday evening"
    yield Asked(text, yesterday, clock=720 + 60 * late + 30)
    text = f"at {late} o'clock yesterday evening"
    yield Asked(text, yesterday, clock=720 + 60 * late, size=60)
    d = near(rng, today)
    text = f"at {late} in the morning on {written(rng, d)}"
    yield Asked(text, (d, d + ONE), clock=60 * late, size=60)
    noon = rng.randint(2, 4)
    text = f"a quarter past {WORDS[noon - 1]} in the afternoon on {written(rng, d)}"
    yield Asked(text, (d, d + ONE), clock=720 + 60 * noon + 15)
    yield Asked(f"quarter to {WORDS[noon - 1]} yesterday", yesterday)


def written_years(rng: random.Random, today: date, *, south: bool) -> Iterator[Asked]:
    ten = rng.choice((("fifty", 50), ("eighty", 80), ("ninety", 90)))
    n = rng.randint(1, 9)
    y = 1900 + ten[1] + n
    span = (date(y, 1, 1), date(y + 1, 1, 1))
    yield Asked(f"in nineteen {ten[0]}-{WORDS[n - 1]}", span)
    y = today.year - rng.randint(2, 8)
    yield Asked(f"in '{y % 100:02}", (date(y, 1, 1), date(y + 1, 1, 1)))
    d = rng.randint(13, 28)
    m = rng.randint(1, 12)
    then = date(y, m, d)
    yield Asked(f"on {d}/{m}/{y % 100:02}", (then, then + ONE))
    yield Asked(f"on {d:02}.{m:02}.{y % 100:02}", (then, then + ONE))
    yield Asked("so far this month", (month(today)[0], today + ONE))
    yield Asked("year to date", (date(today.year, 1, 1), today + ONE))
    back = today - 7 * ONE
    yield Asked("a week ago to the day", (back, back + ONE))
    then = months_on(today, -12)
    yield Asked("exactly a year ago", (then, then + ONE))
    before = week(today)[0] - 14 * ONE
    yield Asked("last to last week", (before, before + 7 * ONE))
    yield Asked("the week just gone", (before + 7 * ONE, before + 14 * ONE))


TABLES = (relative_days, units, weekdays, months_of, dates, years_of, feasts, clocks)
TABLES = (*TABLES, written_years)
PAST = ("What did I do {}?", "Where was I {}?", "I met Noor {}.", "did we talk {}")
FUTURE = ("What will I do {}?", "I am going to see Noor {}.", "We will meet {}, right?")


def expected(asked: Asked, zone: ZoneInfo) -> tuple[datetime, datetime] | None:
    if asked.days is None:
        return None
    first, after = asked.days
    if asked.clock is not None and first is not None:
        start = moment_of(first, asked.clock, zone)
        return start, start + timedelta(minutes=asked.size)
    return (
        BEGINNING if first is None else first_moment(first, zone),
        LAST if after is None else first_moment(after, zone),
    )


class Verdict(NamedTuple):
    kind: str
    said: str


def judged(asked: Asked, at: datetime, zone: ZoneInfo, rng: random.Random) -> Verdict:
    text = rng.choice(PAST if asked.past else FUTURE).format(asked.text)
    found = find(text, at=at, zone=zone)
    right = expected(asked, zone)
    said = f"{text!r} at {at.astimezone(zone)} ({zone.key}): {found} not {right}"
    if not found:
        return Verdict("right" if right is None else "nothing", said)
    if len(found) == 1 and (found[0].start, found[0].end) == right:
        return Verdict("right", said)
    sure = any(when.confidence >= HIGH for when in found)
    return Verdict("wrong, and sure of it" if sure else "wrong", said)


def verdicts(count: int, seed: int) -> Iterator[tuple[str, Verdict]]:
    rng = random.Random(seed)
    done = 0
    while done < count:
        at, zone = moments(rng)
        today = at.astimezone(zone).date()
        south = zone.key in ("America/Sao_Paulo", "Australia/Lord_Howe")
        table = TABLES[rng.randrange(len(TABLES))]
        questions = list(table(rng, today, south=south))
        for asked in rng.sample(questions, min(4, len(questions))):
            yield asked.text, judged(asked, at, zone, rng)
            done += 1


def test_generated_phrases_are_read_as_a_calendar_counts_them() -> None:
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for _, verdict in verdicts(MANY, seed=20260508):
        seen[verdict.kind] += 1
        if verdict.kind not in ("right", "nothing"):
            wrong.append(verdict.said)
    total = sum(seen.values())
    assert total >= MANY
    assert seen["wrong, and sure of it"] == 0, "\n".join(wrong[:10])
    assert len(wrong) <= 0.02 * total, "\n".join(wrong[:10])
    assert seen["nothing"] <= 0.05 * total, seen


@pytest.mark.parametrize("y", [1961, 1981, 2000, 2008, 2019, 2024, 2038, 2049])
def test_the_oracle_knows_easter(y: int) -> None:
    known = {
        1961: date(1961, 4, 2),
        1981: date(1981, 4, 19),
        2000: date(2000, 4, 23),
        2008: date(2008, 3, 23),
        2019: date(2019, 4, 21),
        2024: date(2024, 3, 31),
        2038: date(2038, 4, 25),
        2049: date(2049, 4, 18),
    }
    assert easter(y) == known[y]
