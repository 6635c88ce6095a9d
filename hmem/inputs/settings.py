"""The first argument of a memory -> a Config."""

import os
from collections.abc import Mapping

from hmem.config import Config
from hmem.errors import InputTypeError


def read_settings(given: object) -> Config:
    """The Config that was given; None reads the environment. Raises InputTypeError, which
    says how one is made of what was given instead."""
    if given is None:
        return Config.from_env()
    if isinstance(given, Config):
        return given
    how = ""
    if isinstance(given, (str, os.PathLike)):
        how = ": name the folder by Config(path=...)"
    elif isinstance(given, Mapping):
        how = ": write Config(path=..., ...), or Config(**settings)"
    kind = type(given).__name__
    raise InputTypeError(f"the settings must be a Config, not {kind}{how}")
