"""`timeout=`: seconds, or None to wait as long as it takes."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from hmem.errors import DeadlineError, InputError, InputTypeError


def read_timeout(value: object, name: str = "timeout") -> float | None:
    """Seconds >= 0, or None. Raises InputTypeError and InputError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        kind = type(value).__name__
        raise InputTypeError(f"{name} must be seconds or None, not {kind}")
    if not value >= 0:
        raise InputError(f"{name} must be seconds >= 0")
    try:
        seconds = float(value)
    except OverflowError:
        return None  # an int past every float is no limit
    return None if math.isinf(seconds) else seconds


@contextmanager
def deadline(timeout: object, message: str) -> Iterator[None]:
    """Cancel the body after `timeout` seconds and raise DeadlineError(message)."""
    seconds = read_timeout(timeout)
    if seconds is None:  # a scope takes 10 us
        yield
        return
    with anyio.move_on_after(seconds) as scope:
        yield
    if scope.cancelled_caught:
        raise DeadlineError(message)
