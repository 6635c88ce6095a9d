"""Round files: the requests that wait, one JSON object a line, and the answers to them.

    {"key": "8d2f...", "request": {"model": ..., "messages": [...], "schema": ...,
     "rung": "json_schema", "max_tokens": 900}, "reply": null}

An answer is such a line with its `reply`, or one with the `key` alone. The reply is the
model's text (or, read already, its JSON value); `finish` ("stop", "length", "refused"),
`prompt_tokens` and `completion_tokens` may stand beside it. A reply that is null or blank,
without a `finish`, is no answer yet.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmem.errors import InputError, InputTypeError
from hmem.protocols import Completion
from hmem.replay.entries import ChatRequest, chat_request, plain

_NAME = re.compile(r"round-(\d{4,})\.jsonl")
_FIELDS = {
    *("key", "request", "reply", "finish"),
    *("prompt_tokens", "completion_tokens"),
}
_FINISHES = ("stop", "length", "refused")
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: a key, the request where it is there, the answer where there is one."""

    key: str
    request: ChatRequest | None
    answer: Completion | None


def rounds_in(folder: Path) -> dict[int, Path]:
    """The round files of a folder by their number, the first one first."""
    if not folder.is_dir():
        return {}
    found = {int(m[1]): p for p in folder.iterdir() if (m := _NAME.fullmatch(p.name))}
    return dict(sorted(found.items()))


def write_requests(folder: Path, requests: Iterable[ChatRequest]) -> Path:
    """Write the next round of a folder, whole or not at all; the last round if that holds
    the same requests."""
    wanted = {request.key: request for request in requests}
    rounds = rounds_in(folder)
    last = max(rounds, default=0)
    if rounds and {line.key for line in read_lines(rounds[last])[0]} == set(wanted):
        return rounds[last]
    text = "".join(
        line_of({"key": key, "request": request.as_json(), "reply": None})
        for key, request in wanted.items()
    )
    path = folder / f"round-{last + 1:04}.jsonl"
    new = path.with_suffix(".new")
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(fd)
    os.replace(new, path)
    return path


def read_lines(file: Path) -> tuple[list[Line], bool]:
    """The lines of a file, and whether its last one was cut off (which is left out).

    Raises InputError, which names the line, for anything else that is not such a line.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(f"{file} cannot be read: {type(e).__name__}") from e
    found, cut = [], False
    rows = text.split("\n")
    for number, row in enumerate(rows, start=1):
        if not row.strip():
            continue
        try:
            value = json.loads(row)
        except (ValueError, RecursionError) as e:
            cut = number == len(rows)
            if cut:
                break
            raise InputError(f"{file}: line {number} is not JSON") from e
        found.append(_line(value, f"{file}: line {number}"))
    return found, cut


def line_of(value: Mapping[str, Any]) -> str:
    """A value as one line, whatever a reader takes for the end of one."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ud800-\udfff]", _escaped, text) + "\n"


def named(keys: Iterable[str]) -> str:
    """Some of the names, and how many more there are."""
    every = sorted(keys)
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return ", ".join(every[:_NAMED]) + more


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _line(value: Any, where: str) -> Line:
    if not isinstance(value, dict):
        raise InputError(f"{where} is not a JSON object")
    if unknown := value.keys() - _FIELDS:
        raise InputError(
            f"{where} has fields that mean nothing: {named(unknown)}; there are "
            f"{', '.join(sorted(_FIELDS))}"
        )
    request = _part(where, lambda: _request(value.get("request")))
    key = value.get("key", None if request is None else request.key)
    if not isinstance(key, str):
        raise InputError(f"{where} has no key")
    if request is not None and request.key != key:
        raise InputError(f"{where}: {key} is not the key of its request")
    return Line(key=key, request=request, answer=_part(where, lambda: _answer(value)))


def _part(where: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except InputError as e:
        raise InputError(f"{where}: {e}") from e


def _request(value: Any) -> ChatRequest | None:
    if value is None:
        return None
    names = ("model", "messages", "schema", "rung", "max_tokens")
    if not isinstance(value, dict) or set(value) != set(names):
        raise InputError(f"a request has {', '.join(names)}")
    if not isinstance(value["messages"], list) or not isinstance(value["model"], str):
        raise InputTypeError("a request names its model and lists its messages")
    model, messages, schema, rung, most = (value[name] for name in names)
    return chat_request(model, messages, schema=schema, rung=rung, max_tokens=most)


def _answer(value: Mapping[str, Any]) -> Completion | None:
    reply, finish = value.get("reply"), value.get("finish")
    if finish is None and (reply is None or (reply == "" or str(reply).isspace())):
        return None
    if finish is not None and finish not in _FINISHES:
        raise InputError(f"finish is one of {', '.join(_FINISHES)}")
    counts = [value.get(name, 0) for name in ("prompt_tokens", "completion_tokens")]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise InputError("tokens are counted in whole numbers")
    return Completion(
        content=reply if isinstance(reply, str | None) else plain(reply),
        finish=finish or "stop",
        prompt_tokens=counts[0],
        completion_tokens=counts[1],
    )
