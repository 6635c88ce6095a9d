"""Tests that say the same of few and of many: the default run has the short form.

The long forms run by `pytest -m slow`; HMEM_LONG=1 runs them all, and makes the random
ones long as well.
"""

import os
from typing import Any

import pytest

LONG = bool(os.environ.get("HMEM_LONG"))


def many(short: int, long: int) -> int:
    """How many random examples."""
    return long if LONG else short


def forms(names: str, *, short: Any, long: Any) -> pytest.MarkDecorator:
    """The short form, and the long one as a `slow` test of its own."""

    def values(form: Any) -> tuple[Any, ...]:
        return form if isinstance(form, tuple) else (form,)

    return pytest.mark.parametrize(
        names.split(","),
        [
            pytest.param(*values(short), id="short"),
            pytest.param(*values(long), id="long", marks=pytest.mark.slow),
        ],
    )
