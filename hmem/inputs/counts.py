"""How many: of hits, of rows on a page, of tokens."""

import operator

import numpy as np

from hmem.config import Config
from hmem.errors import InputError, InputTypeError

_MOST_TOKENS = 1_000_000


def read_count(value: object, name: str, *, least: int, most: int) -> int:
    """An int >= `least`, cut to `most`."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise InputTypeError(f"{name} must be an int, not {type(value).__name__}")
    try:
        number = operator.index(value)
    except TypeError as e:  # an array has __index__, and refuses
        raise InputTypeError(f"{name} must be an int") from e
    if number < least:
        raise InputError(f"{name} must be at least {least}")
    return min(number, most)


def read_max_tokens(value: object, config: Config) -> int:
    """A block's cap; None is `Config.context_tokens`."""
    if value is None:
        return config.context_tokens
    return read_count(value, "max_tokens", least=1, most=_MOST_TOKENS)
