"""Keys that nobody knows: named, with what may have been meant."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from hmem.errors import InputError

_ALIKE = 0.8
"""How much of a key has to be another's for it to be a slip of the pen."""
_SHOWN = re.compile(r"[A-Za-z_][\w.-]{0,39}", re.ASCII).fullmatch
"""Keys that an error may hold: names of fields, no text of anybody's."""


def meant(key: object, known: Sequence[str], others: Mapping[str, str]) -> str | None:
    """The known key that this one was to be: another name of it, or a near miss."""
    if not isinstance(key, str):
        return None
    plain = key.casefold()
    if plain in others:
        return others[plain]
    long = [name for name in known if len(name) > 3]  # "ids" is near anything
    return next(iter(get_close_matches(plain, long, 1, _ALIKE)), None)


def unknown_key(
    where: str, key: object, known: Sequence[str], near: str | None, hint: str = ""
) -> InputError:
    """The error for it."""
    shown = isinstance(key, str) and _SHOWN(key)
    named = f"the unknown key {key!r}" if shown else "a key that is not known"
    asked = f"; did you mean {near!r}?" if near else "."
    return InputError(
        f"{where} has {named}{asked} Known keys are {', '.join(known)}{hint}"
    )
