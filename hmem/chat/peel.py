"""From a model's reply to the JSON value in it.

A value comes back only when nothing of the reply was lost on the way: what is cut off, or
can be read in two ways, is `Unreadable`.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from hmem.chat.mend import extent, mend, whole
from hmem.chat.unreadable import EMPTY, CutOff, Unreadable

__all__ = ["LONGEST", "CutOff", "Unreadable", "text_of", "value_of"]

LONGEST = 2_000_000
"""Characters of a reply at most; a longer one has run away."""
_DEEPEST = 32
_JUMPS = 64

# Reasoning that a server left in the text. A closing tag without an opening one closes what
# the prompt's template had opened.
_NAMES = (
    r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad)"
)
_OPEN = (
    rf"<\|?{_NAMES}\b[^<>]*>|\[THINK\]|◁think▷|<\|begin_of_thought\|>"
    r"|<\|channel\|>(?:analysis|commentary)[^<>]*<\|message\|>"
)
_CLOSE = (
    rf"<\|?/{_NAMES}\s*\|?>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>"
    r"|<\|channel\|>final[^<>]*<\|message\|>"
)
_TAG = re.compile(rf"(?P<close>{_CLOSE})|(?P<open>{_OPEN})", re.IGNORECASE)
_MARK = re.compile(rf"{_TAG.pattern}|(?P<bracket>[\[\]{{}}])", re.IGNORECASE)
# A bracket of prose, as in "[see below]", is none of JSON's.
_LIST = re.compile(
    r"\[\s*(?:[\[{\]\"']|-?\d[\d.]*\s*[,\]]|(?:true|false|null)\b|\Z)", re.IGNORECASE
)
# Prose that is a piece of JSON: its brackets were lost.
_STRAY = re.compile(r"[\"']\s*:|[\"']\s*,\s*[\"']")
_FENCE = re.compile(r"`{3,}[\w-]*")
_INVISIBLE = "\ufeff\u200b\u2060"
_PARTS = frozenset(
    {"text", "output_text", "refusal", "thinking", "reasoning", "reasoning_text"}
)


def value_of(content: object, *, keys: Collection[str] | None = None) -> Any:
    """The JSON object (dict) or list in a reply. Raises Unreadable.

    Text loses think tags, fences and prose round the JSON; several objects that each hold
    the same list become one, other alike ones a list; a list said twice under one key is
    joined. Slips (quotes, commas, Python's words) are mended where that adds and removes
    punctuation alone, and, given `keys`, where no others come out. A mapping or a list
    passes. Numbers beyond a double's range are None, lone surrogates U+FFFD. The reason
    is "empty" for a reply that says nothing.
    """
    text = text_of(content)
    return _clean(content) if text is None else _from_text(text, keys)


def text_of(content: object) -> str | None:
    """The text of a reply's content, its parts joined and their reasoning left out; None
    where it is a value already."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not content:
        return None
    if not all(isinstance(p, Mapping) and p.get("type") in _PARTS for p in content):
        return None
    said = [p.get("text") for p in content if p["type"] in ("text", "output_text")]
    return "".join(text for text in said if isinstance(text, str))


def _from_text(text: str, keys: Collection[str] | None, *, inner: bool = False) -> Any:
    text = whole(text).strip().strip(_INVISIBLE).strip()
    if len(text) > LONGEST:
        raise Unreadable("too long")
    if not text:
        raise Unreadable(EMPTY)
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        value = _Peeling(text, keys).value()
    if isinstance(value, str) and not inner:  # JSON that was encoded twice
        return _from_text(value, keys, inner=True)
    if value is None:
        raise Unreadable(EMPTY)
    return _clean(value)


class _Peeling:
    """The values in a text that is more than one JSON value, from left to right."""

    def __init__(self, text: str, keys: Collection[str] | None) -> None:
        self._text = text
        self._keys = keys
        self._values: list[Any] = []
        self._prose: list[str] = []
        self._asides = 0  # brackets of prose that are open
        self._jumps = 0

    def value(self) -> Any:
        """What the values are together. Raises Unreadable."""
        at = 0
        while (mark := _MARK.search(self._text, at)) is not None:
            self._prose.append(self._text[at : mark.start()])
            at = self._after(mark)
        self._prose.append(self._text[at:])
        prose = "".join(self._prose)
        if not self._values:
            silent = not _FENCE.sub("", prose).strip()
            raise Unreadable(EMPTY if silent else "holds no JSON object or list")
        if _STRAY.search(prose):
            raise Unreadable("pieces of JSON outside its brackets")
        if len(self._values) > 1 and len(_FENCE.findall(prose)) % 2:
            raise CutOff("cut off")  # the fence round them was not closed
        value = together(self._values)
        if value and not _says(value):
            raise Unreadable("holds no JSON object or list")
        return value

    def _after(self, mark: re.Match[str]) -> int:
        """Take in what a mark begins; where to look on."""
        if mark["open"]:
            return self._end_of_thought(mark)
        if mark["close"]:
            return self._forget(mark.end())
        if mark[0] == "]" and self._asides:
            self._asides -= 1
            return mark.end()
        if mark[0] == "[" and not _LIST.match(self._text, mark.start()):
            self._asides += 1
            return mark.end()
        return self._json(mark.start())

    def _end_of_thought(self, opened: re.Match[str]) -> int:
        """Where reasoning ends: at its tag, or, where tags are only spoken of in it, at
        the last one; without any nowhere."""
        depth, last = 1, len(self._text)
        for tag in _TAG.finditer(self._text, opened.end()):
            depth += 1 if tag["open"] else -1
            if tag["close"]:
                last = tag.end()
            if not depth:
                break
        return last

    def _forget(self, at: int) -> int:
        """What came before a closing tag was reasoning."""
        self._values.clear()
        self._prose.clear()
        self._asides = 0
        return at

    def _json(self, start: int) -> int:
        """Read the value that begins at a bracket."""
        try:
            value, end = _DECODER.raw_decode(self._text, start)
        except (ValueError, RecursionError):
            for tag in _TAG.finditer(self._text, start):
                if tag["close"] and self._jumps < _JUMPS:
                    self._jumps += 1
                    return self._forget(tag.end())
            end = extent(self._text, start)
            value = mend(self._text[start:end], keys=self._keys)
        self._values.append(value)
        return end


def together(values: list[Any]) -> Any:
    """Several values as one. Raises Unreadable where that would lose some of them."""
    apart = list({_told(value): value for value in values}.values())
    if len(apart) > 1:  # marks like [1], and the schema given back before the answer
        apart = [value for value in apart if _says(value)] or apart[:1]
    if len(apart) == 1:
        return apart[0]
    if all(isinstance(value, list) for value in apart):
        return [item for value in apart for item in value]
    if all(isinstance(value, dict) for value in apart):
        return _one_object(apart)
    raise Unreadable("several values that are not alike")


def _says(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, (dict, list, str)) for item in value)
    return bool(value) and not (
        value.get("type") == "object" and isinstance(value.get("properties"), dict)
    )


def _one_object(objects: list[dict[str, Any]]) -> Any:
    """Objects that hold the same list as one; others that share a key as a list."""
    shared = set.intersection(*(set(one) for one in objects))
    if any(all(isinstance(one[key], list) for one in objects) for key in shared):
        merged = _gathered(pair for one in objects for pair in one.items())
        if merged is not None:
            return merged
    if shared:
        return objects
    raise Unreadable("several objects that are not alike")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key said twice must not lose a value."""
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    gathered = _gathered(pairs)
    if gathered is None:
        raise Unreadable("an object says one key twice")
    return gathered


def _gathered(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any] | None:
    """One object of them; lists under the same key are joined, an item said twice kept
    once. None where they contradict."""
    made: dict[str, Any] = {}
    known: dict[str, set[str]] = {}
    for key, value in pairs:
        had = made.setdefault(key, value)
        if isinstance(had, list) and isinstance(value, list) and had is not value:
            if key not in known:
                made[key] = had = list(had)
                known[key] = {_told(item) for item in had}
            new = {_told(item): item for item in value}
            had += [item for told, item in new.items() if told not in known[key]]
            known[key] |= set(new)
        elif had is not value and _told(had) != _told(value):
            return None
    return made


def _told(value: Any) -> str:
    """A text that two values share when they are the same."""
    return json.dumps(value, sort_keys=True)


def _real(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= 308 else None


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=_real,
    parse_int=_integer,
    parse_constant=lambda _: None,
    strict=False,
)


def _clean(value: Any, depth: int = 0) -> Any:
    """A value that is JSON through and through, in new dicts and lists."""
    if depth > _DEEPEST:
        raise Unreadable("nested too deeply")
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, Mapping):
        return {_key(k): _clean(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item, depth + 1) for item in value]
    if depth == 0 or not (value is None or isinstance(value, (bool, int, float))):
        raise Unreadable("holds no JSON object or list")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) >= 10**308:
        return None
    return value


def _key(key: Any) -> str:
    if not isinstance(key, str) or min(key, default=" ") < " ":
        raise Unreadable("a key that is no name")
    return whole(key)
