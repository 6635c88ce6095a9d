"""A time as a phrase means it, before it is settled which one is meant.

"Last week" is one stretch. "In March" is one in every year: it has a *cycle*, and turn n
of it is that of year n. What is built on it ("three days before Christmas") keeps the
cycle. Only at the end is a turn chosen, by the rules in the package's docstring.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Literal
from zoneinfo import ZoneInfo

from hmem.timeparse.almanac import DAY, Stretch, wall
from hmem.timeparse.words import listed

Kind = Literal["absolute", "relative", "recurring", "range", "open", "foreign"]
Lean = Literal["past", "future"]
Cycle = Literal["once", "day", "week", "month", "year"]
Guard = Literal[
    "", "noun", "count", "name", "occasion", "ahead", "loose", "near", "generic"
]
HIGH = 0.8
"""From this confidence on a reading is meant to be right or absent."""
_SOUTHERN = listed(
    """
    Antarctica/ Australia/ Pacific/Auckland Pacific/Fiji Africa/Johannesburg
    Africa/Harare Africa/Maputo Africa/Windhoek Africa/Gaborone
    Indian/Mauritius America/Argentina/ America/Sao_Paulo America/Santiago
    America/Montevideo America/Asuncion America/Buenos_Aires
    America/Punta_Arenas NZ
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A time that a text speaks of: `[start, end)` in UTC.

    `precision` is the size of what was said: minute, hour, part (of a day), day, weekend,
    week, month, season, quarter, half, year, decade, century; for a part of one of these
    ("early May") that of the whole, for a stretch between two that of its ends, for a
    stretch counted from now ("the past two weeks") that of its unit. `confidence` lies in
    0..1. `span` is the place in the text. `kind`:

    absolute   says its year ("7 May 2023", "Q3 2024", "the 90s")
    relative   counts from the time of asking ("yesterday", "two weeks ago")
    recurring  comes again, and one was chosen ("in March", "on Tuesday", "at Christmas")
    range      between two times ("from 3 to 10 March")
    open       with one end only ("before 2020": from `BEGINNING`; "after": to `LAST`)
    foreign    read by `dateparser`

    `point` is the start of the day that an "ago" counts back to, where the range is wider.
    """

    start: datetime
    end: datetime
    precision: str
    confidence: float
    span: tuple[int, int]
    kind: Kind
    point: datetime | None = None


@dataclass(frozen=True, slots=True)
class Now:
    """The time of asking, as the clocks of the zone show it."""

    at: datetime
    zone: ZoneInfo
    today: date = field(init=False)
    minute: int = field(init=False)
    south: bool = field(init=False)

    def __post_init__(self) -> None:
        local = self.at.astimezone(self.zone)
        day = local.date()
        object.__setattr__(self, "today", day)
        object.__setattr__(self, "minute", wall(day, local.hour * 60 + local.minute))
        key = self.zone.key or ""
        object.__setattr__(self, "south", any(map(key.startswith, _SOUTHERN)))

    def shifted(self, count: int) -> date:
        """The day so many days from today."""
        return self.today + timedelta(days=count)

    @property
    def midnight(self) -> int:
        """The wall minute at which today begins."""
        return wall(self.today)

    @property
    def tomorrow(self) -> int:
        """The wall minute at which today ends."""
        return wall(self.today) + DAY

    def turn(self, cycle: Cycle) -> int:
        """The number of the turn that today lies in."""
        if cycle == "year":
            return self.today.year
        if cycle == "month":
            return self.today.year * 12 + self.today.month - 1
        if cycle == "day":
            return self.today.toordinal()
        return (self.today.toordinal() - 1) // 7 if cycle == "week" else 0


Turn = Callable[[int], Stretch]


@dataclass(frozen=True, slots=True)
class Time:
    """What a phrase means. `turn(n)` may raise ValueError or OverflowError: not in n.

    `strict`: today is never meant ("on Tuesday", asked on a Tuesday). `shape` is applied
    once the turn is chosen. `exact` stands where clocks on the wall cannot say it. `guard`
    names what must not hold around it (see `finder`).
    """

    turn: Turn
    precision: str
    kind: Kind
    sure: float = 0.95
    cycle: Cycle = "once"
    strict: bool = False
    shape: Callable[[Stretch], Stretch] | None = None
    point: int | None = None
    exact: tuple[datetime, datetime] | None = None
    guard: Guard = ""

    def over(self, change: Callable[[Stretch], Stretch], precision: str = "") -> "Time":
        """The same in each turn, changed."""
        turn = self.turn
        return replace(
            self,
            turn=lambda n: change(turn(n)),
            precision=precision or self.precision,
            point=None,
        )

    def but(self, **changes: object) -> "Time":
        """A copy with other fields."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def doubted(self, factor: float) -> "Time":
        """The same, less sure."""
        return replace(self, sure=self.sure * factor)


def once(
    stretch: Stretch, precision: str, kind: Kind = "relative", sure: float = 0.95
) -> Time:
    """One stretch."""
    return Time(lambda _: stretch, precision, kind, sure)


def fixed(time: Time) -> Stretch:
    """The stretch of a time without a cycle."""
    return time.turn(0)


def in_turn(time: Time, number: int, *, sure: float | None = None) -> Time:
    """The one of a certain turn. Raises ValueError where there is none."""
    stretch = time.turn(number)
    return time.but(
        turn=lambda _: stretch,
        cycle="once",
        kind="absolute",
        strict=False,
        sure=time.sure if sure is None else sure,
    )


def backwards(time: Time, first: int, most: int = 9) -> Iterator[tuple[int, Stretch]]:
    """Its turns from `first` back to earlier ones, those that there are."""
    yield from _turns(time, range(first, first - most, -1))


def onwards(time: Time, first: int, most: int = 9) -> Iterator[tuple[int, Stretch]]:
    """Its turns from `first` on."""
    yield from _turns(time, range(first, first + most))


def _turns(time: Time, numbers: range) -> Iterator[tuple[int, Stretch]]:
    for number in numbers:
        try:
            yield number, time.turn(number)
        except (ValueError, OverflowError):  # no 29 February, or off the calendar
            continue


def settle(time: Time, now: Now, lean: Lean) -> Stretch | None:
    """The stretch that is meant; None where there is none near."""
    chosen = time.turn(0) if time.cycle == "once" else _choose(time, now, lean)
    if chosen is None or time.shape is None:
        return chosen
    return time.shape(chosen)


def _choose(time: Time, now: Now, lean: Lean) -> Stretch | None:
    here = now.turn(time.cycle)
    if lean == "past":
        limit = now.midnight if time.strict else now.minute + 1
        return next((s for _, s in backwards(time, here + 1) if s.start < limit), None)
    for _, stretch in onwards(time, here - 1):
        later = (
            stretch.start >= now.tomorrow if time.strict else stretch.end > now.minute
        )
        if later:
            return stretch
    return None


def nearer(time: Time, now: Now) -> Lean:
    """Which way the turn nearest to now lies."""
    past, ahead = _choose(time, now, "past"), _choose(time, now, "future")
    if past is None or ahead is None:
        return "future" if past is None else "past"
    return "past" if now.minute - past.end < ahead.start - now.minute else "future"


def last_turns(time: Time, now: Now) -> Iterator[tuple[int, Stretch]]:
    """Its turns that are over, the latest first. A day is over when it is not today."""
    for number, stretch in backwards(time, now.turn(time.cycle) + 1, 120):
        started = time.precision in ("day", "part") and stretch.start < now.midnight
        if started or stretch.end <= now.midnight:
            yield number, stretch


def nth_last(time: Time, now: Now, nth: int, sure: float) -> Time | None:
    """The nth last turn that is over; None where there are not as many."""
    found = (
        next(islice(last_turns(time, now), nth - 1, None), None) if nth > 0 else None
    )
    return found and once(found[1], time.precision, "relative", sure)


def next_turns(time: Time, now: Now) -> Iterator[tuple[int, Stretch]]:
    """Its turns that begin after today, the nearest first."""
    for number, stretch in onwards(time, now.turn(time.cycle) - 1, 120):
        if stretch.start >= now.tomorrow:
            yield number, stretch


def nth_next(time: Time, now: Now, nth: int) -> Stretch:
    """The nth turn to come. Raises ValueError where the calendar ends."""
    for _, stretch in islice(next_turns(time, now), nth - 1, None):
        return stretch
    raise ValueError("off the calendar")
