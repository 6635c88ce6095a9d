"""What a text may hold, and the form in which two texts are the same. Pure.

Imported through `hmem.text`.
"""

import re
import unicodedata

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# C0/C1 controls that str.split() leaves in place
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f]")

# Marks that only decorate a letter: Latin, Greek, Cyrillic accents, Hebrew points, Arabic
# and Syriac vowel signs. Not the overlays U+0337/0338 (they make "not equal" of "equal"),
# not the marks of Indic, Thai or kana, which are letters' parts and change the word.
_DECORATION = (
    (0x0300, 0x0336),
    (0x0339, 0x036F),
    (0x0483, 0x0489),
    (0x0591, 0x05BD),
    (0x05BF, 0x05BF),
    (0x05C1, 0x05C2),
    (0x05C4, 0x05C5),
    (0x05C7, 0x05C7),
    (0x0610, 0x061A),
    (0x0640, 0x0640),  # tatweel, a stretched line
    (0x064B, 0x065F),
    (0x0670, 0x0670),
    (0x06D6, 0x06DC),
    (0x06DF, 0x06E4),
    (0x06E7, 0x06E8),
    (0x06EA, 0x06ED),
    (0x0711, 0x0711),
    (0x0730, 0x074A),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20DD, 0x20E4),
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFE20, 0xFE2F),
    (0x1F3FB, 0x1F3FF),  # skin tones
    (0xE0100, 0xE01EF),
)
_INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0\u17b4\u17b5\u2800")
# Letters that Unicode does not decompose, but that people type without their stroke.
_PLAIN = {
    "\u00f8": "o",
    "\u0142": "l",
    "\u0111": "d",
    "\u0127": "h",
    "\u0131": "i",
    "\u00e6": "ae",
    "\u0153": "oe",
    "\u00f0": "d",
    "\u00fe": "th",
    "\u2018": "'",
    "\u2019": "'",
    "\u02bc": "'",
}


class _Fold(dict[int, str | None]):
    """`str.translate` table that works out one character at a time, once."""

    def __missing__(self, point: int) -> str | None:
        folded = self[point] = _folded(point)
        return folded


def _folded(point: int) -> str | None:
    char = chr(point)
    if any(low <= point <= high for low, high in _DECORATION) or char in _INVISIBLE:
        return None
    category = unicodedata.category(char)
    if category in ("Cf", "Cs") or (category == "Cc" and not char.isspace()):
        return None
    if category == "Nd":
        return str(unicodedata.decimal(char))
    return _PLAIN.get(char, char)


_FOLD = _Fold()


def clean(text: str) -> str:
    """`text` without what a store cannot hold: NUL and lone surrogates.

    A pair of surrogates becomes the character it stands for. All else stays verbatim.
    """
    if _UNSTORABLE.search(text) is None:
        return text
    units = text.replace("\0", "").encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "ignore")


def normalise(text: str) -> str:
    """The form for hashing and matching.

    NFKC, casefolded, diacritics folded, digits of all scripts as 0-9, zero-width and
    bidi controls dropped, whitespace collapsed. Idempotent; never raises.
    """
    if text.isascii():
        folded = " ".join(text.lower().split())
        if folded.isprintable():
            return folded
        return " ".join(_CONTROLS.sub("", folded).split())
    text = unicodedata.normalize("NFKD", text).casefold()
    text = unicodedata.normalize("NFKD", text).translate(_FOLD)
    return " ".join(unicodedata.normalize("NFC", text).split())
