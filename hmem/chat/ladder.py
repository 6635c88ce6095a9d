"""From a question to a value: forms of JSON tried from the strictest down, one asking
again, and an error that says what went wrong."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

import anyio.to_thread

from hmem.chat.mend import whole
from hmem.chat.peel import LONGEST, text_of, value_of
from hmem.chat.unreadable import EMPTY, CutOff, Unreadable
from hmem.errors import (
    ExtractionError,
    LLMError,
    RefusedError,
    TruncatedError,
)
from hmem.meter import Meter
from hmem.protocols import LLM, Completion, Rung
from hmem.records import Usage

T = TypeVar("T")
Messages = list[dict[str, str]]

_RUNGS: tuple[Rung, ...] = get_args(Rung)
# Where a stricter form did not work: the form to begin with, by endpoint and model.
_LEARNED: dict[tuple[str, str], Rung] = {}
_ABSURD = 10**9
_LONG = 20_000
"""Characters of a reply from which on it is read in a thread."""
_UNANSWERED = frozenset({"down", "busy", "setup", "waiting"})


@dataclass(frozen=True, slots=True)
class Schema:
    """What is asked for: a JSON Schema of an object. A new `version` with each change."""

    name: str
    version: str
    json: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What was read. `reply` is JSON text that `value_of` reads to the same value again;
    `usage` is of all requests it took."""

    value: T
    reply: str
    usage: Usage


class Ladder:
    """Asks a chat model for JSON, in the strictest form that it can do.

    The form that worked is remembered by endpoint and model for the life of the process,
    and what was above it is not tried again; for a model without an `endpoint` each Ladder
    remembers for itself.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        meter: Meter | None = None,
        price_in: float = 0.0,
        price_out: float = 0.0,
    ) -> None:
        """Prices are per million tokens; without any there is no cost."""
        self._llm = llm
        self.meter = meter or Meter()
        self._price_in = price_in
        self._price_out = price_out
        endpoint = getattr(llm, "endpoint", None)
        self._learned = _LEARNED if isinstance(endpoint, str) else {}
        self._key = (str(endpoint), llm.model)

    @property
    def rung(self) -> Rung:
        """The form that the next question begins with."""
        return self._learned.get(self._key, _RUNGS[0])

    async def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Schema,
        read: Callable[[Any], T],
        purpose: str,
        max_tokens: int,
    ) -> Answer[T]:
        """Ask, and read the answer. `read` raises Unreadable for a value that is not what
        was asked for.

        At most 4 requests (one per form and one asking again, quoting what was wrong);
        a client may retry each, RemoteLLM up to twice. A reply that says nothing is met
        with one further try. Raises TruncatedError for one that was cut off, RefusedError,
        ExtractionError for one that cannot be read, and other LLMErrors as they come; its
        `usage` is what was spent.
        """
        climb = _Climb(self, schema, purpose, max_tokens)
        failed = False
        try:
            return await climb.up(messages, read)
        except LLMError as e:
            failed = e.why != "waiting"
            e.usage = climb.spent
            raise
        finally:
            self.meter.note(purpose, climb.spent, failed=failed)

    def _learn(self, rung: Rung) -> None:
        """Begin with this form from now on, unless that is a stricter one."""
        if _RUNGS.index(rung) > _RUNGS.index(self.rung):
            self._learned[self._key] = rung

    async def _complete(
        self, messages: Messages, schema: Schema, rung: Rung, max_tokens: int
    ) -> Completion:
        """One request. Raises LLMError for whatever a model that anybody may have brought
        raises."""
        try:
            found = await self._llm.complete(
                messages, schema=schema.json, rung=rung, max_tokens=max_tokens
            )
        except LLMError:
            raise
        except Exception as e:  # of ours, too: a closed model is no closed store
            raise LLMError(f"the chat model failed: {type(e).__name__}") from e
        if not isinstance(found, Completion):
            raise LLMError("the chat model returned no Completion", why="reply")
        return found

    def _usage(
        self, rung: Rung, seconds: float, outcome: Completion | LLMError
    ) -> Usage:
        """What one request cost."""
        usage = Usage(rung=rung, milliseconds=seconds * 1e3)
        if isinstance(outcome, LLMError):
            spent = outcome.usage if isinstance(outcome.usage, Usage) else Usage()
            calls = int(outcome.why not in _UNANSWERED)
            return spent + usage + Usage(llm_calls=calls)
        tokens_in, tokens_out, retries = (
            _count(outcome.prompt_tokens),
            _count(outcome.completion_tokens),
            _count(outcome.retries),
        )
        cost = tokens_in * self._price_in + tokens_out * self._price_out
        return usage + Usage(
            llm_calls=1,
            prompt_tokens=tokens_in,
            completion_tokens=tokens_out,
            retries=retries,
            cost=cost / 1e6 if self._price_in or self._price_out else None,
        )


def _count(value: object) -> int:
    """A count that an endpoint gave; 0 for what is none."""
    is_count = isinstance(value, int) and 0 <= value < _ABSURD
    return int(value) if is_count else 0  # type: ignore[call-overload]


class _Climb:
    """One question on its way down the forms."""

    def __init__(
        self, ladder: Ladder, schema: Schema, purpose: str, max_tokens: int
    ) -> None:
        self.spent = Usage()
        self._ladder = ladder
        self._schema = schema
        self._purpose = purpose
        self._max_tokens = max_tokens
        self._keys = frozenset(_names(schema.json))
        self._rung = ladder.rung
        self._proven = ladder.rung  # what was above it is known not to work
        self._wrong = ""  # what the asking again quotes
        self._empties = 0

    async def up(
        self, messages: Sequence[Mapping[str, str]], read: Callable[[Any], T]
    ) -> Answer[T]:
        """The answer, from the first form that gives one."""
        while True:
            completion = await self._request(messages)
            if completion is None:
                continue
            try:
                value, reply = await self._understood(completion.content, read)
            except Unreadable as e:
                self._next(e)
            else:
                self._ladder._learn(self._proven)
                return Answer(value=value, reply=reply, usage=self.spent)

    async def _request(
        self, messages: Sequence[Mapping[str, str]]
    ) -> Completion | None:
        """One answer in the present form; None when the endpoint will not take it, and
        another one is to be tried."""
        rung = self._rung
        asked = _told(messages, self._schema, rung, self._wrong)
        outcome: Completion | LLMError | None = None
        began = time.perf_counter()
        try:
            outcome = await self._ladder._complete(
                asked, self._schema, rung, self._max_tokens
            )
        except LLMError as e:
            outcome = e
            if e.why != "form" or rung == _RUNGS[-1]:
                raise
            self._rung = self._proven = _below(rung)
            self._ladder._learn(self._rung)
            return None
        finally:
            if outcome is not None:
                seconds = time.perf_counter() - began
                self.spent += self._ladder._usage(rung, seconds, outcome)
        if outcome.finish == "length":
            raise TruncatedError("the model's reply was cut off at its token limit")
        if outcome.finish == "refused":
            raise RefusedError("the model, or a filter, declined to answer")
        return outcome

    async def _understood(
        self, content: object, read: Callable[[Any], T]
    ) -> tuple[T, str]:
        """The value read, and the text to keep."""
        text = text_of(content)
        if text is not None and len(text) > _LONG:
            return await anyio.to_thread.run_sync(self._read, content, text, read)
        return self._read(content, text, read)

    def _read(
        self, content: object, text: str | None, read: Callable[[Any], T]
    ) -> tuple[T, str]:
        value = value_of(content, keys=self._keys)
        if text is None or not _is_json(text):
            # What stood round it, reasoning above all, is not kept.
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if len(text) > LONGEST:
            raise Unreadable("too long")
        return read(value), whole(text)

    def _next(self, error: Unreadable) -> None:
        """What to try after a reply that cannot be read. Raises when nothing is left."""
        empty = str(error) == EMPTY
        self._empties += empty
        if self._empties == 2:
            raise ExtractionError(
                "the model's reply is empty: it may have spent its tokens on reasoning"
            ) from error
        if self._rung != _RUNGS[-1]:
            self._rung = _below(self._rung)
            if not isinstance(error, CutOff):  # which is no fault of the form
                self._proven = self._rung
        elif not self._wrong:
            self._wrong = str(error)[:200] or "not what was asked for"
        elif isinstance(error, CutOff):
            raise TruncatedError("the model's reply ends in the middle") from error
        else:
            raise ExtractionError(
                f"the model's reply cannot be read ({self._purpose}): "
                f"{str(error)[:200]}"
            ) from error


def _below(rung: Rung) -> Rung:
    return _RUNGS[_RUNGS.index(rung) + 1]


def _names(schema: Any) -> set[str]:
    """All names of properties in a JSON Schema."""
    if isinstance(schema, list):
        return {name for part in schema for name in _names(part)}
    if not isinstance(schema, Mapping):
        return set()
    found = {name for part in schema.values() for name in _names(part)}
    properties = schema.get("properties")
    return found | set(properties) if isinstance(properties, Mapping) else found


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _told(
    messages: Sequence[Mapping[str, str]], schema: Schema, rung: Rung, wrong: str
) -> Messages:
    """The messages, with what the form needs said, and what was wrong before. Both are
    added to messages there are: some models take only user and assistant in turn."""
    told = [dict(message) for message in messages]
    if rung != "json_schema":
        form = json.dumps(dict(schema.json), ensure_ascii=False, separators=(",", ":"))
        words = (
            "Answer with one JSON object alone, without any text before or after it, "
            f"that fits this JSON Schema:\n{form}"
        )
        _add(told, "system", words)
    if wrong:
        words = (
            f"Your last answer could not be used ({wrong}). Answer again, with the "
            "complete JSON object and nothing else."
        )
        _add(told, "user", words)
    return told


def _add(messages: Messages, role: str, words: str) -> None:
    """Add words to the last message of a role; to a new one where there is none."""
    for message in reversed(messages):
        if message.get("role") == role:
            message["content"] = f"{message['content']}\n\n{words}"
            return
    at = 0 if role == "system" else len(messages)
    messages.insert(at, {"role": role, "content": words})
