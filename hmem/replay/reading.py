"""Reads the text form of cassettes; see `hmem.replay.written` for what it looks like.

A section without its end was cut off by the end of its writer: it is not read. One that
ends, but with another checksum, or whose request does not have its key, is damage.
"""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

import numpy as np

from hmem.errors import DamagedStoreError, NewerFormatError
from hmem.protocols import Completion, Rung
from hmem.replay.entries import (
    VERDICTS,
    Chat,
    Count,
    Embedding,
    Entry,
    Purpose,
    Refusal,
    chat_request,
    embedding_key,
)
from hmem.replay.written import HEADER, checksum, text_digest

_ANY_VERSION = re.compile(rb"hmem cassette (\d+)\r?\n")
_END = "= end"
_FINISHES = {"stop", "length", "refused"}
_HOW = {"text", "json", "none"}


@dataclass(slots=True)
class Section:
    """A whole section: its fields by name, its blocks as (head, lines)."""

    kind: str
    key: str
    line: int
    fields: dict[str, str] = field(default_factory=dict)
    blocks: list[tuple[str, list[str]]] = field(default_factory=list)


class Reader:
    """Reads a file as it grows; texts that entries share are kept for those to come.

    `end` counts the bytes up to the end of the last whole section, `cut` the sections
    before it that had no end.
    """

    def __init__(self, name: str) -> None:
        self.shared: dict[str, str] = {}
        self.end = 0
        self.cut = 0
        self._name = name
        self._lines = 0

    def read(self, data: bytes) -> Iterator[Entry]:
        """The entries in `data`, which are the bytes from `end` on. Raises
        DamagedStoreError, and NewerFormatError for a later version's file."""
        if self.end == 0:
            data = self._after_header(data)
        at, start = 0, self.end
        body: list[str] = []
        for number, raw in enumerate(data.split(b"\n")[:-1], start=self._lines + 1):
            at += len(raw) + 1
            self._take(body, self._decode(raw, number), number)
            if body and body[-1].startswith(_END):
                entry = self._entry(self._section(body, number))
                body.clear()
                if entry is not None:
                    yield entry
            if not body:
                self.end, self._lines = start + at, number

    def _take(self, body: list[str], line: str, number: int) -> None:
        """Add a line to the section that is being read, or begin one with it."""
        if line.startswith("= ") and not line.startswith(_END):
            self.cut += bool(body)
            body[:] = [line]
        elif body:
            body.append(line)
        elif line:
            raise self._damage(number, "is no part of an entry")

    def _after_header(self, data: bytes) -> bytes:
        if HEADER.startswith(data) and data != HEADER:  # nothing, or cut in the header
            return b""
        found = _ANY_VERSION.match(data)
        if found is None:
            raise DamagedStoreError(f"{self._name} is not a cassette")
        if found[1] != b"1":
            raise NewerFormatError(f"{self._name} was written by a newer hmem")
        self.end, self._lines = found.end(), 1
        return data[found.end() :]

    def _decode(self, raw: bytes, number: int) -> str:
        try:
            # No line of ours ends in a carriage return: it came with a checkout.
            return raw.decode("utf-8").removesuffix("\r")
        except UnicodeDecodeError as e:
            raise self._damage(number, "is not UTF-8") from e

    def _section(self, lines: list[str], number: int) -> Section:
        """The section that these lines are; the last of them closes it."""
        start = number - len(lines) + 1
        *body, end = lines
        said = end.removeprefix(_END).strip()
        if said and said != checksum("\n".join(body)):
            raise self._damage(
                start,
                "begins an entry that was changed since it was written; if that was on "
                f"purpose, write `{_END}` alone at its end",
            )
        _, kind, key = (*body[0].split(), "", "")[:3]
        section = Section(kind, key, start)
        for line in body[1:]:
            if line.startswith("- "):
                section.blocks.append((line[2:], []))
            elif section.blocks:
                section.blocks[-1][1].append(line)
            else:
                name, _, value = line.partition(" ")
                section.fields[name] = value
        return section

    def _entry(self, section: Section) -> Entry | None:
        """What a section says; None for a shared text."""
        try:
            key, entry = self._read(section)
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as e:
            raise self._damage(
                section.line, "begins an entry that cannot be read"
            ) from e
        if key != section.key:
            raise self._damage(
                section.line,
                f"begins an entry that should be named {key}: what was asked was changed",
            )
        return entry

    def _read(self, section: Section) -> tuple[str, Entry | None]:
        if section.kind == "text":
            text = _text(section.blocks[0][1])
            key = text_digest(text)
            self.shared[key] = text
            return key, None
        if section.kind == "chat":
            chat = _chat(section, self.shared)
            return chat.key, chat
        if section.kind == "embedding":
            embedding = _embedding(section)
            return embedding.key, embedding
        if section.kind == "count":
            tokens, model = int(section.fields["tokens"]), _value(section, "model")
            return section.key, Count(key=section.key, model=model, tokens=tokens)
        raise ValueError("of no known kind")

    def _damage(self, line: int, what: str) -> DamagedStoreError:
        return DamagedStoreError(f"{self._name}: line {line} {what}")


def _chat(section: Section, shared: dict[str, str]) -> Chat:
    *said, (last, lines) = section.blocks
    limit, schema = section.fields.get("max_tokens"), section.fields.get("schema")
    request = chat_request(
        _value(section, "model"),
        [_message(head, text, shared) for head, text in said],
        schema=None if schema is None else json.loads(shared[schema[1:]]),
        rung=cast(Rung, section.fields["rung"]),
        max_tokens=None if limit is None else int(limit),
    )
    return Chat(key=request.key, request=request, reply=_reply(last, _text(lines)))


def _message(head: str, lines: list[str], shared: dict[str, str]) -> dict[str, str]:
    role, _, rest = head.partition(" ")
    fields = {"role": role}
    digest = ""
    if rest.startswith("@"):
        digest, _, rest = rest[1:].partition(" ")
    if role == "message":
        fields = json.loads(rest)
    return {**fields, "content": shared[digest] if digest else _text(lines)}


def _reply(head: str, text: str) -> Completion | Refusal:
    what, *words = head.split()
    if what == "refused":
        if words[0] not in VERDICTS:
            raise ValueError("no verdict")
        return Refusal(why=words[0], message=text)
    told = dict(word.split("=") for word in words)
    how, finish = told.get("as", "text"), told["finish"]
    if (what, how in _HOW, finish in _FINISHES) != ("reply", True, True):
        raise ValueError("no reply")
    content: object = None if how == "none" else text
    return Completion(
        content=json.loads(text) if how == "json" else content,
        finish=cast(Literal["stop", "length", "refused"], finish),
        prompt_tokens=int(told["prompt"]),
        completion_tokens=int(told["completion"]),
        retries=int(told.get("retries", 0)),
    )


def _embedding(section: Section) -> Embedding:
    (_, said), (head, encoded) = section.blocks
    model, purpose = _value(section, "model"), section.fields["purpose"]
    if purpose not in get_args(Purpose):
        raise ValueError("no purpose")
    text = _text(said)
    raw = base64.b64decode(_text(encoded), validate=True)
    vector = np.frombuffer(raw, dtype="<f4").astype(np.float32)
    if len(vector) != int(head.split()[1]):
        raise ValueError("of another length")
    vector.flags.writeable = False
    return Embedding(
        key=embedding_key(model, cast(Purpose, purpose), text),
        model=model,
        purpose=cast(Purpose, purpose),
        text=text,
        window=int(section.fields["window"]),
        vector=vector,
    )


def _text(lines: list[str]) -> str:
    return "\n".join(map(_line, lines))


def _line(line: str) -> str:
    if line.startswith("\\ "):
        return line[2:].encode("ascii").decode("unicode_escape")
    if line != "|" and not line.startswith("| "):
        raise ValueError("no line of a text")
    return line[2:]


def _value(section: Section, name: str) -> str:
    text = section.fields[name]
    return str(json.loads(text)) if text.startswith('"') else text
