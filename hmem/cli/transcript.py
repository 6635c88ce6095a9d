"""A file for `hmem add --file` -> what `add` takes, in batches that can be sent twice. Pure.

The first character that is not blank tells what it is, unless `--format` says so:

    [          json    a JSON list of messages; with --no-infer of facts
    {          jsonl   one JSON message on each line that is not blank (one alone may
                       span several lines)
    other      text    each paragraph is a message of the user's; with --no-infer a fact.
                       Blank lines part paragraphs; one that is too long is cut at a blank

The same file gives the same batches with the same keys, and a file that grew at its end
the same ones up to its last.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, get_args

from hmem.cli.failing import Misused

Form = Literal["json", "jsonl", "text"]
FORMS: tuple[Form, ...] = get_args(Form)
BATCH = 100
"""Entries in one call, at most: what is sent again when a run is broken off."""
_PARAGRAPHS = re.compile(r"\n(?:[^\S\n]*\n)+")
_HINT = "; --format says what it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Entries for one `add`, and the idempotency key that stands for them, for all before
    them in the file, and for where they go."""

    entries: tuple[object, ...]
    key: str


def decode(data: bytes, name: str) -> str:
    """The file's text. Raises Misused for what is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise Misused(f"{name} is not UTF-8 (at byte {e.start})") from e


def form_of(text: str) -> Form:
    """What the text is, by the rule above."""
    first = text.lstrip()[:1]
    return "json" if first == "[" else "jsonl" if first == "{" else "text"


def parse(text: str, name: str, *, form: Form | None, longest: int) -> list[Any]:
    """The file's entries. `longest`: characters in a paragraph. Raises Misused."""
    hint = _HINT if form is None else ""
    form = form or form_of(text)
    if form == "text":
        return list(_paragraphs(text, longest))
    if form == "jsonl":
        return list(_lines(text, name, hint))
    found = _loads(text, name, hint)
    if not isinstance(found, list):
        raise Misused(f"{name} must hold a JSON list, not {_kind(found)}{hint}")
    return found


def batches(entries: Sequence[object], *, size: int, seed: object) -> Iterator[Batch]:
    """The entries cut up. `seed` is what of the call decides where they go."""
    chain = _digest(b"hmem add --file", seed)
    for at in range(0, len(entries), size):
        part = tuple(entries[at : at + size])
        for entry in part:
            chain = _digest(chain, entry)
        yield Batch(entries=part, key=f"file:{chain.hex()}")


def with_ids(entries: Sequence[Any]) -> list[Any]:
    """Messages that have no id get one that stands for them and for all before them.

    So a session that holds them is never given them again, however the file is cut up.
    """
    chain, given = b"hmem", []
    for entry in entries:
        chain = _digest(chain, entry)
        message = (
            {"role": "user", "content": entry} if isinstance(entry, str) else entry
        )
        if isinstance(message, dict) and message.get("id") in (None, ""):
            message = {**message, "id": f"file:{chain.hex()}"}
        given.append(message)
    return given


def _paragraphs(text: str, longest: int) -> Iterator[str]:
    for paragraph in _PARAGRAPHS.split(text.replace("\r\n", "\n")):
        rest = paragraph.strip("\n")
        while len(rest) > longest:
            blank = max(rest.rfind(" ", 0, longest), rest.rfind("\n", 0, longest))
            end = blank if blank > 0 else longest
            yield rest[:end]
            rest = rest[end:].lstrip()
        if rest.strip():
            yield rest


def _lines(text: str, name: str, hint: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _loads(line, f"line {number} of {name}", hint)


def _loads(text: str, name: str, hint: str) -> Any:
    """Raises Misused, which says where the JSON is broken and never quotes it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as e:
        where = f"line {e.lineno}, column {e.colno}"
        raise Misused(f"{name} is not JSON ({e.msg} at {where}){hint}") from e
    except (
        ValueError,
        RecursionError,
    ) as e:  # a number without end, nesting without end
        raise Misused(f"{name} is JSON that cannot be read{hint}") from e


def _kind(value: object) -> str:
    return "an object" if isinstance(value, dict) else "a single value"


def _digest(chain: bytes, value: object) -> bytes:
    said = json.dumps(value, sort_keys=True)
    return blake2b(chain + said.encode(), digest_size=16).digest()
