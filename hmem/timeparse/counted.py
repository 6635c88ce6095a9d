"""Moments and stretches so many units away from now."""

from datetime import timedelta

from hmem.timeparse.almanac import Stretch
from hmem.timeparse.phrase import Now, Time, once
from hmem.timeparse.rules import Made
from hmem.timeparse.units import (
    MINUTES,
    away,
    precision_of,
)
from hmem.timeparse.words import Amount


def exact(now: Now, minutes: float, size: int, unit: str, sure: float) -> Time:
    """A moment in time that passes, with some room around it."""
    centre = now.at + timedelta(minutes=minutes)
    half = timedelta(minutes=size / 2)
    local = now.minute + int(minutes)
    time = once(Stretch(local, local + size), unit, "relative", sure)
    return time.but(exact=(centre - half, centre + half))


def moved(now: Now, amount: Amount, unit: str, sign: int) -> Made:
    """So many units from now, back or on: a moment for minutes and hours, else as `away`.
    Raises ValueError where there is no such time."""
    if unit not in MINUTES:
        return away(now.today, amount, unit, sign)
    size = MINUTES[unit]
    if amount.low != amount.high:
        ends = [now.at + timedelta(minutes=sign * n * size) for n in amount[1:]]
        time = once(Stretch(now.minute, now.minute + 1), precision_of(unit), sure=0.6)
        return time.but(exact=(min(ends), max(ends)))
    return exact(now, sign * amount.size * size, size, unit, 0.9)
