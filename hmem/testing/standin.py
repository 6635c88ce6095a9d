"""A responder that stands in for a chat model where none can be had. NOT a model.

It reads the form of hmem's extraction prompt and copies: each statement that a user turn
makes becomes one fact, quoted word for word. So the whole path runs offline and gives the
same store each time, while nothing that depends on understanding is shown by it: its facts
are no better than the turns, and no measurement of quality may rest on it.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hmem.protocols import Completion, Rung
from hmem.testing.llms import Call, fact, facts

_HEADING = "NEW TURNS"
_TURN = re.compile(
    r"\[(?P<number>\d+)\] \w{3} (?P<date>\d{4}-\d\d-\d\d) \d\d:\d\d (?P<speaker>.+)"
)
_SPEAKER = re.compile(r"(?P<name>.+) \((?P<role>\w+)\)")
_STATEMENT = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
_NAME = re.compile(r"\b[A-Z][\w'-]+")
_LEAST_WORDS = 3
_LONGEST = 300
_QUESTIONS = ("what", "who", "where", "when", "why", "how", "should", "could", "can")


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A turn as the prompt shows it."""

    number: int
    date: str
    role: str
    name: str | None
    text: str


Parse = Callable[[str], Sequence[Numbered]]


class StandInLLM:
    """An LLM that answers extraction prompts by rule; see the module.

    To a prompt without new turns it answers `{"facts": []}`. `parse` reads the turns from
    the last message, for prompts of another form. `calls` records what was asked. Tokens
    are counted as words. Two objects answer alike: deterministic, on every machine.
    """

    def __init__(self, *, model: str = "stand-in", parse: Parse | None = None) -> None:
        self.model = model
        self.calls: list[Call] = []
        self._parse = parse or new_turns

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """The facts of the turns in the last message."""
        said = tuple(dict(message) for message in messages)
        call = Call(messages=said, schema=schema, rung=rung, max_tokens=max_tokens)
        self.calls.append(call)
        found = [
            one
            for turn in self._parse(said[-1]["content"] if said else "")
            for one in stated(turn)
        ]
        reply = json.dumps(facts(*found), ensure_ascii=False)
        return Completion(
            content=reply,
            prompt_tokens=len(call.text.split()),
            completion_tokens=len(reply.split()),
        )

    async def aclose(self) -> None:
        """Nothing to release."""


def new_turns(prompt: str) -> list[Numbered]:
    """The new turns of an extraction prompt (see `hmem.extract.messages`)."""
    lines = prompt.splitlines()
    if _HEADING not in lines:
        return []
    found: list[Numbered] = []
    words: list[str] = []
    head: re.Match[str] | None = None
    for line in [*lines[lines.index(_HEADING) + 1 :], ""]:
        if line.startswith("  "):
            words.append(line[2:])
            continue
        if head is not None:
            found.append(_numbered(head, words))
        head, words = _TURN.fullmatch(line), []
    return found


def stated(turn: Numbered) -> list[dict[str, Any]]:
    """The statements of a user's turn as facts: sentences of three words and more that
    ask nothing. The speaker's name, or "The user", stands before the words."""
    if turn.role != "user":
        return []
    who = turn.name or "The user"
    found = []
    for sentence in _STATEMENT.findall(turn.text):
        quote = " ".join(sentence.split())[:_LONGEST]
        words = quote.split()
        if len(words) < _LEAST_WORDS or quote.endswith("?"):
            continue
        if words[0].lower() in _QUESTIONS:
            continue
        names = dict.fromkeys([who, *_NAME.findall(quote)])
        found.append(
            fact(
                f"{who} said on {turn.date}: {quote}",
                turns=[turn.number],
                quote=quote,
                category="episodic",
                when=turn.date,
                entities=[name for name in names if name not in _NO_NAMES],
            )
        )
    return found


_NO_NAMES = frozenset(("The user", "I", "The", "And", "But", "My", "We", "It", "So"))


def _numbered(head: re.Match[str], words: Sequence[str]) -> Numbered:
    known = _SPEAKER.fullmatch(head["speaker"])
    return Numbered(
        number=int(head["number"]),
        date=head["date"],
        role=head["speaker"] if known is None else known["role"],
        name=None if known is None else known["name"],
        text="\n".join(words),
    )
