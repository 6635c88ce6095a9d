"""The text form of cassettes: sections that a person can read, compare and edit.

    = chat 8d2f0c...
    model small-1
    rung json_schema
    max_tokens 900
    schema @41c2...
    - system @5b0c...
    - user
    | [1] 2024-05-01 Maya: I moved to Ghent.
    - reply finish=stop prompt=812 completion=96
    | {"facts": []}
    = end 1f3a9c02

A line after `| ` stands as it was; one that holds control characters stands after `\\ ` with
Python's escapes. So nothing in a text can look like a line of the form. A text that many
entries share (`@...`) is written once, before the first of them. `= end` closes a section
with a checksum of it; whoever edits a reply by hand writes `= end` alone.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

from hmem.replay.entries import Chat, Embedding, Entry, Refusal

HEADER = b"hmem cassette 1\n"
_ODD = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_PLAIN = re.compile(r"[!#-~]+(?: [!-~]+)*")
_ROLE = re.compile(r"[a-z_]+")
_HEADS = {"reply", "refused", "message", "text", "vector"}
_LONG = 400  # characters from which a system message is shared


def write(entry: Entry, shared: dict[str, str]) -> str:
    """The entry's text, after that of what it shares with others and `shared` lacks;
    `shared` (digest -> text) is filled."""
    if isinstance(entry, Chat):
        before: list[str] = []
        lines = list(_chat_lines(entry, shared, before))
        return "".join([*before, _section("chat", entry.key, lines)])
    if isinstance(entry, Embedding):
        lines = [
            f"model {_value(entry.model)}",
            f"purpose {entry.purpose}",
            f"window {entry.window}",
            *("- text", *_text_lines(entry.text)),
            f"- vector {len(entry.vector)}",
            "| " + base64.b64encode(entry.vector.astype("<f4").tobytes()).decode(),
        ]
        return _section("embedding", entry.key, lines)
    lines = [f"model {_value(entry.model)}", f"tokens {entry.tokens}"]
    return _section("count", entry.key, lines)


def _chat_lines(
    entry: Chat, shared: dict[str, str], before: list[str]
) -> Iterator[str]:
    request, reply = entry.request, entry.reply
    yield f"model {_value(request.model)}"
    yield f"rung {request.rung}"
    if request.max_tokens is not None:
        yield f"max_tokens {request.max_tokens}"
    if request.schema is not None:
        text = json.dumps(request.schema, indent=1, sort_keys=True, ensure_ascii=False)
        yield f"schema @{_share(text, shared, before)}"
    for message in request.messages:
        text, there = message["content"], ""
        if message["role"] == "system" and len(text) >= _LONG:
            there = f" @{_share(text, shared, before)}"
        yield _head(message, there)
        if not there:
            yield from _text_lines(text)
    if isinstance(reply, Refusal):
        yield f"- refused {reply.why}"
        yield from _text_lines(reply.message)
        return
    how, text = _content(reply.content)
    told = {
        "as": "" if how == "text" else how,
        "finish": reply.finish,
        "prompt": str(reply.prompt_tokens),
        "completion": str(reply.completion_tokens),
        "retries": str(reply.retries or ""),
    }
    words = [f"{name}={value}" for name, value in told.items() if value]
    yield f"- reply {' '.join(words)}"
    if how != "none":
        yield from _text_lines(text)


def _content(content: object) -> tuple[str, str]:
    """How a reply's content is written: "text", "none" or "json", and its text."""
    if isinstance(content, str):
        return "text", content
    if content is None:
        return "none", ""
    return "json", json.dumps(content, indent=1, ensure_ascii=False)


def _head(message: Mapping[str, str], there: str) -> str:
    """`- user`, or `- message {...}` where there is more to say than a plain role;
    `there` is where its text stands, when that is shared."""
    role = message["role"]
    if len(message) == 2 and _ROLE.fullmatch(role) and role not in _HEADS:
        return f"- {role}{there}"
    rest = {name: value for name, value in message.items() if name != "content"}
    return f"- message{there} {json.dumps(rest, sort_keys=True)}"


def _share(text: str, shared: dict[str, str], before: list[str]) -> str:
    digest = text_digest(text)
    if digest not in shared:
        shared[digest] = text
        before.append(_section("text", digest, ["- text", *_text_lines(text)]))
    return digest


def _section(kind: str, key: str, lines: Iterable[str]) -> str:
    body = "\n".join([f"= {kind} {key}", *lines])
    return f"\n{body}\n= end {checksum(body)}\n"


def _text_lines(text: str) -> list[str]:
    return [_text_line(line) for line in text.split("\n")]


def _text_line(line: str) -> str:
    if _ODD.search(line):
        # Not JSON: that cannot tell two lone surrogates from the character they make.
        return "\\ " + line.encode("unicode_escape").decode("ascii")
    return f"| {line}" if line else "|"


def _value(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def text_digest(text: str) -> str:
    """What a shared text is named by."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def checksum(body: str) -> str:
    """Of a section's lines, joined by newlines, without the last one."""
    return blake2b(body.encode("utf-8"), digest_size=4).hexdigest()
