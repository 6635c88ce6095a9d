"""What some turns say, and what follows from when they were said: the ground on which a fact
is checked. Pure.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from hmem.text import normalise, words
from hmem.times import local
from hmem.truth import words as w
from hmem.truth.figures import Date, Figure, figures, word_at
from hmem.truth.tokens import Token, tokens


class Stretch(Protocol):
    """A time that a text may speak of: [start, end)."""

    @property
    def start(self) -> datetime:
        """Its first instant, aware."""
        ...

    @property
    def end(self) -> datetime:
        """The first instant after it."""
        ...


class When(Protocol):
    """Reads times out of a text that was said at `at`. Readings that may be meant."""

    def __call__(self, text: str, *, at: datetime, zone: ZoneInfo) -> Iterable[Stretch]:
        """Stretches in any order; none where it speaks of no time."""
        ...


_LITTLE_WORDS = (
    "a an the and or of in on at to for from with by as is are was were be been has have had "
    "do does did will would can could may that this it its he she they them his her their "
    "my your our i you we not no user assistant there who which what when where how s"
)
LITTLE = frozenset(_LITTLE_WORDS.split())
_ROLES = frozenset(("user", "assistant", "tool", "the"))
_NOBODY = frozenset(words("user users assistant"))
_TWO = frozenset(("couple", "both", "pair", "twins", "twin", "two"))
_MONTH_OF_DAYS = timedelta(days=32)
_WEEK = timedelta(days=7, hours=2)  # a week with a change of the clocks in it
_A_YEAR = timedelta(days=367)
_NEAR = timedelta(days=400)
_MICRO = timedelta(microseconds=1)


class Evidence:
    """What the sources say, and what follows from when they said it."""

    def __init__(
        self,
        sources: Sequence[str],
        at: Sequence[datetime],
        zone: ZoneInfo,
        names: Collection[str],
        when: When,
    ) -> None:
        self._sources = sources
        self._said = [tokens(source) for source in sources]
        self._figures = [f for said in self._said for _, f in figures(said)]
        self._days = [local(moment, zone).date() for moment in at]
        self._times = {f"{local(m, zone):%H:%M}".lstrip("0") for m in at}
        self._spans = [
            (_day(s.start, zone), _day(s.end - _MICRO, zone), s.end - s.start)
            for source, moment in zip(sources, at, strict=True)
            for s in when(source, at=moment, zone=zone)
        ]
        self._words = {_bare(t.word) for said in self._said for t in said}
        self._lines = " ".join(map(normalise, sources))
        self._others = {
            _bare(word) for name in names for word in normalise(name).split()
        }
        self._measured = self._units()

    def _units(self) -> dict[str, set[str]]:
        """Each number of the sources with what it measures."""
        found: dict[str, set[str]] = {}
        before: Figure | None = None
        for figure in self._figures:
            if figure.kind == "unit" and before is not None:
                found[before.value].add(figure.value)
            before = figure if figure.kind == "number" else None
            if before is not None:
                found.setdefault(before.value, set())
        return found

    # ----------------------------------------------------------------- numbers

    def has_numbers(self, said: Sequence[Token]) -> bool:
        """Whether every number of a fact's stands in a source, of the same measure."""
        found = list(figures(said))
        versions = {token.word for token in said if token.kind == "version"}
        return versions <= self._words and all(
            self._has_number(word_at(said, at), figure, _unit(found, n + 1))
            for n, (at, figure) in enumerate(found)
        )

    def _has_number(self, word: str, figure: Figure, unit: str | None) -> bool:
        if figure.kind == "ordinal":
            return figure.value == "1" or self._has_ordinal(figure.value)
        if figure.kind != "number" or word in ("one", "once"):
            return True
        if figure.value not in self._measured:
            two = figure.value == "2" and not self._words.isdisjoint(_TWO)
            return two or self._has_ordinal(figure.value) or self._is_in_date(figure)
        units = self._measured[figure.value]
        return unit is None or not units or unit in units

    def _has_ordinal(self, value: str) -> bool:
        return any(
            f.kind in ("ordinal", "number") and f.value == value for f in self._figures
        )

    def _is_in_date(self, figure: Figure) -> bool:
        """Whether it is a part of a date or time of the sources', or of their own time."""
        parts = {
            str(part)
            for f in self._figures
            if f.date is not None
            for part in f.date[:3]
            if part is not None
        }
        parts |= {str(day.year) for day in self._days}
        parts |= {str(first.year) for first, _, _ in self._spans}
        return figure.value in parts

    # ------------------------------------------------------------------- times

    def has_time(self, figure: Figure) -> bool:
        """Whether a date or time of the fact's stands in a source, or follows."""
        if figure.kind == "time":
            return self._has_clock(figure.value)
        if figure.kind != "date":
            return True
        if any(f.kind == "date" and f.value == figure.value for f in self._figures):
            return True
        own = figure.date
        if own is None or "/" in figure.value:
            return False
        if own.weekday is not None:
            return self._has_weekday(own)
        if own.month is None:
            return own.year is not None and self._has_year(own.year)
        return any(self._has_day(own, day) for day in self._days)

    def _has_clock(self, value: str) -> bool:
        hour, _, minutes = value.partition(":")
        said = {f.value for f in self._figures if f.kind == "time"} | self._times
        if value in said or f"{int(hour) % 12}:{minutes}" in said:
            return True
        return minutes == "00" and str(int(hour) % 12 or 12) in self._measured

    def _has_weekday(self, own: Date) -> bool:
        days = [first for first, last, _ in self._spans if first == last]
        told = {f.date.weekday for f in self._figures if f.date is not None}
        return own.weekday in told or any(
            day.weekday() == own.weekday for day in (*days, *self._days)
        )

    def _has_year(self, year: int) -> bool:
        if any(f.date is not None and f.date.year == year for f in self._figures):
            return True
        if str(year) in self._measured or any(d.year == year for d in self._days):
            return True
        if any(
            size <= _A_YEAR and first.year <= year <= last.year
            for first, last, size in self._spans
        ):
            return True
        ages = [
            int(v) for v, units in self._measured.items() if _counts_years(v, units)
        ]
        return any(year == day.year - age for age in ages for day in self._days)

    def _has_day(self, own: Date, said_on: date) -> bool:
        """Whether a month or a day follows from what was said on a day."""
        if any(_fits(own, f.date, said_on) for f in self._figures if f.date):
            return True
        if _of(said_on, own):
            return True
        for first, last, size in self._spans:
            limit = _MONTH_OF_DAYS if own.day is None else _WEEK
            if size <= limit and _between(own, first, last):
                return True
        return own.day is not None and self._is_day_of_this_month(own, said_on)

    def _is_day_of_this_month(self, own: Date, said_on: date) -> bool:
        """ "On the 5th", said in that month or the one beside it."""
        day = _as_date(own, said_on)
        return (
            day is not None
            and abs(day - said_on) <= _MONTH_OF_DAYS
            and self._has_ordinal(str(own.day))
        )

    # ------------------------------------------------------------- names, words

    def has_name(self, name: str) -> bool:
        """Whether all words of a name stand in the sources, or are a talker's."""
        if not name.isascii() and name in self._lines:
            return True
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self._lines):
            return True
        return all(map(self._has_word, name.split()))

    def _has_word(self, word: str) -> bool:
        word = _bare(word)
        if not word or word in LITTLE or word in _ROLES or word.isdecimal():
            return True
        if word in w.MONTHS or word in w.WEEKDAYS:
            return True
        held = self._words | self._others
        if word in held or f"{word}s" in held or word.removesuffix("s") in held:
            return True
        parts = [token.word for token in tokens(word) if token.kind != "sign"]
        return bool(parts) and held.issuperset(parts)

    def has_some_word(self, text: str) -> bool:
        """Whether any telling word of a fact's stands in a source, in some form."""
        own = set(words(text)) - _NOBODY
        return any(not own.isdisjoint(words(source)) for source in self._sources)


def _unit(found: Sequence[tuple[int, Figure]], at: int) -> str | None:
    """The unit that comes as figure number `at`, if one does."""
    figure = found[at][1] if at < len(found) else None
    return figure.value if figure is not None and figure.kind == "unit" else None


def _bare(word: str) -> str:
    """A word without a possessor's ending."""
    return word.removesuffix("'s").removesuffix("'")


def _day(moment: datetime, zone: ZoneInfo) -> date:
    return local(moment.astimezone(UTC), zone).date()


def _counts_years(value: str, units: set[str]) -> bool:
    return "year" in units and value.isdecimal() and len(value) < 4


def _fits(own: Date, said: Date, said_on: date) -> bool:
    """Whether a date is one that was said, its year left out where it was near."""
    if said.month != own.month or said.month is None:
        return False
    if own.day is not None and said.day != own.day:
        return False
    if own.year is None or said.year == own.year:
        return True
    day = _as_date(own, said_on)
    return said.year is None and day is not None and abs(day - said_on) <= _NEAR


def _as_date(own: Date, said_on: date) -> date | None:
    """A date with what is left out filled in from the day on which it was said."""
    try:
        return date(own.year or said_on.year, own.month or 1, own.day or 1)
    except ValueError:
        return None


def _of(day: date, own: Date) -> bool:
    """Whether a day lies in what a date names."""
    return (
        own.year in (None, day.year)
        and own.month == day.month
        and own.day in (None, day.day)
    )


def _between(own: Date, first: date, last: date) -> bool:
    """Whether a date names a day or month that some days reach into."""
    day = first
    while day <= last:
        if _of(day, own):
            return True
        day += timedelta(days=1)
    return False
