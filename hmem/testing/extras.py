"""What a suite does about a backend whose extra is not installed."""

import os
from collections.abc import Callable
from typing import TypeVar

import pytest

from hmem.errors import MissingExtraError

T = TypeVar("T")


def or_skip(make: Callable[[], T]) -> T:
    """What `make` makes. A missing extra skips the test; where CI is set it fails, so that
    nothing is silently green."""
    try:
        return make()
    except MissingExtraError as e:
        if os.environ.get("CI"):
            pytest.fail(f"CI needs every extra: {e}", pytrace=False)
        pytest.skip(str(e))
