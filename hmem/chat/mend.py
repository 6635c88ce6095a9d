"""Mends slips in JSON, where the parts of it stay what they are.

A repairer guesses. Its guess is believed where our own reading of the text, which knows
fewer slips, sees the same strings, numbers and brackets in the same order.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from hmem.chat.unreadable import CutOff, Unreadable

_LONGEST = 100_000
_CLOSING = {"{": "}", "[": "]"}
_NEXT = re.compile(r"[{}\[\]:]|[\"']|[^\s,{}\[\]:\"']+")
_ENDS = {
    '"': re.compile(r'\\.|"(?=\s*(?:[,:}\]]|\Z)|[ \t]*\n\s*")|\Z', re.DOTALL),
    "'": re.compile(r"\\.|'(?=\s*(?:[,:}\]]|\Z)|[ \t]*\n\s*')|\Z", re.DOTALL),
}
# Quotes inside a string that need not have ended it: round some words, or an apostrophe.
_INNER = {
    '"': re.compile(r'(?<![\w"])"(?=\S)[^"]*(?<=\S)"(?!\w)'),
    "'": re.compile(r"(?<=\w)'(?=\w)|(?<![\w'])'(?=\S)[^']*(?<=\S)'(?!\w)"),
}
_LITERAL = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_PYTHONS = {"None": "null", "True": "true", "False": "false"}
_NAME = re.compile(r"[A-Za-z_][\w-]{0,40}")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class _Token(NamedTuple):
    """`kind` is a string's quote, "bare" or "mark"; `end` is where it ends in the text."""

    kind: str
    text: str
    end: int


def whole(text: str) -> str:
    """The text with surrogate pairs joined and lone ones replaced: it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def extent(text: str, start: int) -> int:
    """Where the value that begins at `start` ends, though it has slips.

    Raises CutOff when the text ends first, and Unreadable for brackets that do not match.
    """
    expected: list[str] = []
    for token in _tokens(text, start):
        if token.kind != "mark" or token.text == ":":
            continue
        if token.text in _CLOSING:
            expected.append(_CLOSING[token.text])
        elif not expected or expected.pop() != token.text:
            raise Unreadable("brackets that do not match")
        if not expected:
            return token.end
    raise CutOff("cut off")


def mend(text: str, *, keys: Collection[str] | None) -> Any:
    """The value of JSON with slips: quotes, commas, Python's words, names without quotes.
    With `keys` it may have no other ones. Raises Unreadable."""
    if len(text) > _LONGEST:
        raise Unreadable("too long to be mended")
    import json_repair  # noqa: PLC0415 - most replies need no mending

    try:
        value: Any = json_repair.loads(text, skip_json_loads=True)
        said = json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as e:
        raise Unreadable("not valid JSON") from e
    if _parts(said) != _parts(text) or not all(_known(k, keys) for k in _keys(value)):
        raise Unreadable("not valid JSON")
    return value


def _tokens(text: str, start: int) -> Iterator[_Token]:
    """Its strings, marks and bare words, without commas. A string ends where punctuation
    follows its quote, so that quotes inside it do not end it. Raises CutOff in one."""
    at, bare = start, -1
    while (found := _NEXT.search(text, at)) is not None:
        mark, at = found[0], found.end()
        if mark in _ENDS:
            if found.start() == bare:  # a quote in the middle of a word opens nothing
                continue
            ends = (end for end in _ENDS[mark].finditer(text, at) if end[0][:1] != "\\")
            end = next(ends)
            if not end[0]:
                raise CutOff("cut off")
            yield _Token(mark, text[at : end.start()], end.end())
            at = end.end()
        elif mark in "{}[]:":
            yield _Token("mark", mark, at)
        else:
            bare = at
            yield _Token("bare", mark, at)


def _parts(text: str) -> list[tuple[str, str]]:
    """What it consists of, but for punctuation that may be mended. Raises Unreadable."""
    tokens = list(_tokens(text, 0))
    parts: list[tuple[str, str]] = []
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        is_key = after is not None and after.text == ":" and after.kind == "mark"
        if token.kind in _ENDS:
            parts.append(("string", _plain(token.text, token.kind)))
        elif token.kind == "mark":
            parts.append(("mark", token.text))
        elif is_key and _NAME.fullmatch(token.text):
            parts.append(("string", token.text))
        else:
            parts.append(("bare", _literal(token.text)))
    return parts


def _keys(value: Any) -> Iterator[Any]:
    """All keys of a value's objects."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _keys(item)


def _known(key: Any, keys: Collection[str] | None) -> bool:
    return bool(_NAME.fullmatch(str(key))) if keys is None else key in keys


def _literal(word: str) -> str:
    word = _PYTHONS.get(word, word)
    if not _LITERAL.fullmatch(word):
        raise Unreadable("not valid JSON")
    return word


def _plain(string: str, quote: str) -> str:
    """A string without quotes and escapes, for comparison. Raises Unreadable where one of
    its quotes may have been its end."""
    if quote in _INNER[quote].sub("", _ESCAPE.sub("x", string)):
        raise Unreadable("not valid JSON")
    plain = whole(_ESCAPE.sub(_unescaped, string))
    return " ".join(re.sub(r"[\"'\\]", "", plain).split())


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return " " if escape[2] in "nrtbf" else escape[2]
