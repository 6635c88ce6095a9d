"""A text as the patterns see it. Pure.

Wide and foreign digits and letters as plain ASCII, curly quotes and long dashes as typed
ones, invisible characters left out: what is only dressed up is still found, and every
place in the view leads back to a place in the text.
"""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_TYPED = {
    **dict.fromkeys("\u2018\u2019\u201a\u02bc\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    "\u0130": "I",  # the one capital whose small form is two characters
    "\u2044": "/",
    "\u2215": "/",
}


class View(NamedTuple):
    """`plain` to match in, `low` the same in small letters and of the same length, `digits`
    how many it has. `places[i]` is where character i stands in the text; None: at i."""

    plain: str
    low: str
    digits: int
    places: Sequence[int] | None = None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the text that a stretch of the view stands for."""
        if self.places is None or start == end:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def view(text: str) -> View:
    """The view of a text. Linear."""
    if text.isascii():
        return View(text, text.lower(), _digits(text))
    plain = text.translate(_FORMS)
    places = None
    if len(plain) != len(text):
        places = [at for at, c in enumerate(text) if _FORMS[ord(c)] is not None]
    return View(plain, plain.lower(), _digits(plain), places)


def _digits(plain: str) -> int:
    return sum(map(plain.count, "0123456789"))


class _Forms(dict[int, str | None]):
    """One character at a time for `str.translate`, each worked out once; None: left out.
    Never more than one character for one."""

    def __missing__(self, point: int) -> str | None:
        form = self[point] = _form(chr(point))
        return form


def _form(char: str) -> str | None:
    if char in _TYPED:
        return _TYPED[char]
    category = unicodedata.category(char)
    if category == "Cf" or char in _INVISIBLE or "\ufe00" <= char <= "\ufe0f":
        return None
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(char))
    wide = unicodedata.normalize("NFKC", char)
    return wide if len(wide) == 1 and wide.isascii() else char


_FORMS = _Forms()
