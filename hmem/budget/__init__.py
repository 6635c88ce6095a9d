"""How many tokens a text may take: never fewer than cl100k_base or o200k_base count.

Both encodings cut a text into pieces by a pattern, and merge each piece's bytes pairwise
until no two neighbours together are a token. The cutting is done here as they do it. The
merging needs their whole vocabularies, so each piece is *bounded*: a piece that the table
knows as a token is one; else it is the longest chain of tokens that could remain, in
which no two neighbours are a token that the table knows. What merging leaves is such a
chain, so the bound holds whatever the table lacks. Pure; see `hmem.budget.table`.
"""

import re
import unicodedata
from functools import lru_cache

from hmem.budget.chains import longest_chain
from hmem.budget.table import CL100K, O200K, token_table

# A text's "shape": itself, with each character that is not plain ASCII replaced by one
# of these, so that the patterns need no Unicode classes. They are control characters; a
# control character of the text becomes _SIGN.
_LOWER, _UPPER, _LETTER, _MARK, _NUMBER, _SPACE, _SIGN, _UNKNOWN = "\1\2\3\4\5\6\7\x08"
_L = f"A-Za-z{_LOWER}{_UPPER}{_LETTER}"
_UP = f"A-Z{_UPPER}{_LETTER}{_MARK}"
_LOW = f"a-z{_LOWER}{_LETTER}{_MARK}"
_N = f"0-9{_NUMBER}"
_WS = rf"\s{_SPACE}"
_CONTRACTION = r"'(?:[sdmtSDMT]|[lL]{2}|[vV][eE]|[rR][eE])"

_PIECES = {
    CL100K: re.compile(
        rf"{_CONTRACTION}|[^\r\n{_L}{_N}]?[{_L}]+|[{_N}]{{1,3}}"
        rf"| ?[^{_WS}{_L}{_N}]+[\r\n]*"
        rf"|[{_WS}]+\Z|[{_WS}]*[\r\n]|[{_WS}]+(?![^{_WS}])|[{_WS}]",
        re.ASCII,
    ),
    O200K: re.compile(
        rf"[^\r\n{_L}{_N}]?[{_UP}]*[{_LOW}]+(?:{_CONTRACTION})?"
        rf"|[^\r\n{_L}{_N}]?[{_UP}]+[{_LOW}]*(?:{_CONTRACTION})?|[{_N}]{{1,3}}"
        rf"| ?[^{_WS}{_L}{_N}]+[\r\n/]*"
        rf"|[{_WS}]*[\r\n]+|[{_WS}]+(?![^{_WS}])|[{_WS}]+",
        re.ASCII,
    ),
}
_NOT_PLAIN = re.compile(r"[^\t-\r -~]").search
_SURROGATE = re.compile("[\ud800-\udfff]").search
# Where both encodings cut, whatever stands around.
_ALWAYS_CUT = re.compile(r"(?<=[A-Za-z0-9])(?= [A-Za-z])")
_AFTER_NEWLINE = re.compile(r"(?<=\n)(?=[^\s/])")
_ODD_SPACE = re.compile(r"[^\S \n]|  | \n|\n \Z").search
_CONTRACTED = re.compile(r"( ?[A-Za-z]+)'(?:[stmd]|re|ve|ll)").fullmatch


def upper_bound(text: str) -> int:
    """At least as many tokens as `text` has in cl100k_base and in o200k_base.

    English is counted within some percent, code, other scripts and noise more loosely;
    never more than the bytes of its UTF-8. For texts that end in a newline, followed by
    one that begins neither with white space nor with "/", it adds up:
    `upper_bound(a + b) <= upper_bound(a) + upper_bound(b)`. See `line_bound`.
    """
    if _SURROGATE(text) is not None:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    parts = _AFTER_NEWLINE.split(text) if "\n" in text else [text]
    both = sum(map(_line, parts))
    return max(both >> _HIGH, both & _HALF)


def line_bound(line: str) -> int:
    """What a line costs among others, wherever it stands, its newline counted.

    `upper_bound("\\n".join(lines)) <= sum(map(line_bound, lines))` for lines that begin
    neither with white space nor with "/" and are not empty: so that a packer can count
    each line once and add.
    """
    return max(upper_bound(line), upper_bound(line + "\n"))


def warm() -> None:
    """Load the table now, off the event loop, instead of at the first count."""
    token_table()


# Counts under both encodings travel as one number, cl100k's in the high half: adding
# such numbers adds both.
_HIGH = 32
_HALF = (1 << _HIGH) - 1


def _line(text: str) -> int:
    """Both bounds of a text between two newlines or more."""
    if _ODD_SPACE(text) is not None:
        return _both(text)
    # Both encodings cut before a space that a word follows: count word by word.
    first, *rest = text.split(" ")
    total = sum(map(_spaced_word, rest))
    return total + _both(first) if first else total


@lru_cache(maxsize=1 << 14)
def _spaced_word(word: str) -> int:
    return _both(" " + word)


def _both(text: str) -> int:
    """Both bounds of a text."""
    if _NOT_PLAIN(text) is None:
        return _shaped(text, text, CL100K) << _HIGH | _shaped(text, text, O200K)
    shape = text.translate(_SHAPES)
    count = _guarded if _UNKNOWN in shape else _shaped
    return count(text, shape, CL100K) << _HIGH | count(text, shape, O200K)


def _shaped(text: str, shape: str, encoding: int) -> int:
    flags = token_table().flags
    total = 0
    for match in _PIECES[encoding].finditer(shape):
        piece = text[match.start() : match.end()]
        if not piece.isascii():
            piece = piece.encode().decode("latin-1")
        known = flags.get(piece, 0) & encoding
        total += 1 if known else _piece_bound(piece, encoding)
    return total


def _guarded(text: str, shape: str, encoding: int) -> int:
    """The bound of a text with characters that this Python does not know: how the
    encodings cut around them is not known, so what stands between two certain cuts is
    taken as bytes."""
    total = start = 0
    ends = [match.start() for match in _ALWAYS_CUT.finditer(text)]
    for end in [*ends, len(text)]:
        part, part_shape = text[start:end], shape[start:end]
        if _UNKNOWN in part_shape:
            total += len(part.encode())
        else:
            total += _shaped(part, part_shape, encoding)
        start = end
    return total


@lru_cache(maxsize=1 << 14)
def _piece_bound(piece: str, encoding: int) -> int:
    """The bound of one piece, given as latin-1 text, that is no known token."""
    if len(piece) == 1:
        return 1
    if encoding == O200K:
        match = _CONTRACTED(piece)
        # Checked for each such word when the table was built, not true of all words.
        if match is not None and piece not in token_table().contracted:
            word = match[1]
            if len(word) == 1 or token_table().flags.get(word, 0) & O200K:
                return 2
    return longest_chain(piece, encoding)


# ----------------------------------------------------------------------- shapes


class _Shapes(dict[int, str]):
    """`str.translate` table that works out one character at a time, once."""

    def __missing__(self, point: int) -> str:
        shape = self[point] = _shape(point)
        return shape


_SHAPES = _Shapes()
_BY_CATEGORY = {
    "Ll": _LOWER,
    "Lu": _UPPER,
    "Lt": _UPPER,
    "Lm": _LETTER,
    "Lo": _LETTER,
    "Cn": _UNKNOWN,
}
_BY_KIND = {"M": _MARK, "N": _NUMBER, "Z": _SPACE}
# Assigned to one use, though this Python may not know each character yet.
_EMOJI = range(0x1F300, 0x1FB00)


def _shape(point: int) -> str:
    char = chr(point)
    if point < 0x80:
        return _SIGN if point < 0x20 and char not in "\t\n\v\f\r" else char
    if point == 0x85:
        return _SPACE
    if point == 0x17F:  # a long s is an "s" to a pattern that ignores case
        return _UNKNOWN
    category = unicodedata.category(char)
    if category == "Cn" and point in _EMOJI:
        return _SIGN
    return _BY_CATEGORY.get(category) or _BY_KIND.get(category[0]) or _SIGN
