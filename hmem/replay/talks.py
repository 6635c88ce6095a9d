"""What a request has in common with a recorded one, and where they part."""

import json
import logging
from collections.abc import Iterable
from typing import NamedTuple

from hmem.replay.cassette import Cassette
from hmem.replay.entries import RUNGS, Chat, ChatRequest

log = logging.getLogger("hmem.replay")
_NAMED = 3


def same_talk(a: ChatRequest, b: ChatRequest) -> bool:
    """Whether both ask one thing of one model, if on other rungs.

    On a lower rung the form of the answer is described in words, after the system
    message: so one system message has to begin the other, and all else is the same.
    """
    if (a.model, a.max_tokens) != (b.model, b.max_tokens):
        return False
    if None not in (a.schema, b.schema) and a.schema != b.schema:
        return False
    (system_a, rest_a), (system_b, rest_b) = _halves(a), _halves(b)
    return rest_a == rest_b and (
        system_a.startswith(system_b) or system_b.startswith(system_a)
    )


class Talks:
    """The recorded answers to one talk, by whichever rung they were asked for."""

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._version = -1
        self._found: dict[int, list[Chat]] = {}

    def other_rungs(self, asked: ChatRequest) -> tuple[list[Chat], list[Chat]]:
        """The answers to the same talk on stricter rungs than the one asked for, the
        nearest first, and those on laxer ones. Reads the cassette."""
        if self._version != self._cassette.load().version:
            self._version = self._cassette.version
            self._found = {}
            for chat in self._cassette.chats():
                self._found.setdefault(talk_of(chat.request), []).append(chat)
        rank = RUNGS.index(asked.rung)
        same = [
            (RUNGS.index(chat.request.rung) - rank, chat)
            for chat in self._found.get(talk_of(asked), ())
            if same_talk(chat.request, asked)
        ]
        stricter = sorted((c for c in same if c[0] < 0), key=lambda c: -c[0])
        return [chat for _, chat in stricter], [chat for n, chat in same if n > 0]


class Apart(NamedTuple):
    """A recorded request and the parts in which another one differs from it."""

    key: str
    parts: tuple[str, ...]


def nearest(chats: Iterable[Chat], asked: ChatRequest) -> Apart | None:
    """The recorded request that differs least. Names parts and lines, never their text;
    the first lines that differ are logged at DEBUG."""
    best = min(chats, key=lambda chat: _distance(chat.request, asked), default=None)
    if best is None:
        return None
    parts = [*_settings(best.request, asked), *_messages(best.request, asked)]
    return Apart(best.key, tuple(parts[:_NAMED]))


def _distance(recorded: ChatRequest, asked: ChatRequest) -> tuple[int, int]:
    """Settings that differ; then, negative, the lines that both have."""
    pairs = zip(recorded.messages, asked.messages, strict=False)
    shared = sum(
        len(set(was["content"].split("\n")) & set(now["content"].split("\n")))
        for was, now in pairs
    )
    return len(_settings(recorded, asked)), -shared


def _settings(recorded: ChatRequest, asked: ChatRequest) -> list[str]:
    found = []
    for name in ("model", "rung", "max_tokens"):
        was, now = getattr(recorded, name), getattr(asked, name)
        if was != now:
            found.append(f"{name} (recorded {was}, asked {now})")
    if recorded.schema != asked.schema:
        found.append("schema")
    return found


def _messages(recorded: ChatRequest, asked: ChatRequest) -> list[str]:
    found = []
    if len(recorded.messages) != len(asked.messages):
        counts = f"recorded {len(recorded.messages)}, asked {len(asked.messages)}"
        found.append(f"the number of messages ({counts})")
    pairs = zip(recorded.messages, asked.messages, strict=False)
    for number, (was, now) in enumerate(pairs, start=1):
        if was == now:
            continue
        old, new = was["content"].split("\n"), now["content"].split("\n")
        line = _same_start(old, new)
        found.append(f"message {number} ({now['role']}) from line {line + 1} on")
        log.debug(
            "message %d, line %d: recorded %r, asked %r",
            number,
            line + 1,
            old[line : line + 1],
            new[line : line + 1],
        )
    return found


def _same_start(old: list[str], new: list[str]) -> int:
    pairs = zip(old, new, strict=False)
    return next(
        (n for n, (was, now) in enumerate(pairs) if was != now), min(len(old), len(new))
    )


def talk_of(request: ChatRequest) -> int:
    """A number that requests of the same talk share."""
    return hash(json.dumps(_halves(request)[1]))


def _halves(request: ChatRequest) -> tuple[str, list[dict[str, str]]]:
    """The system messages as one text, and the other messages."""
    system = [m["content"] for m in request.messages if m["role"] == "system"]
    return "\n".join(system), [
        dict(m) for m in request.messages if m["role"] != "system"
    ]
