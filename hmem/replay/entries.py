"""What a cassette holds: requests, what was answered, and the hash that names a request.

A key is 32 hex digits: blake2b of a request's canonical JSON. Whoever asks the same
thing gets the same key, on every machine and in every version of this format.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hmem.errors import InputTypeError, LLMError, LLMFault
from hmem.protocols import Completion, Rung

Purpose = Literal["passage", "query"]
VERDICTS: tuple[LLMFault, ...] = ("form", "too_long", "input")
"""Refusals that are about the request itself: it would be refused again. Only these are
kept; an endpoint that is down or busy has said nothing about what it was asked."""
RUNGS: tuple[Rung, ...] = get_args(Rung)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One call of `LLM.complete`. Build it with `chat_request`, which checks it."""

    model: str
    messages: tuple[Mapping[str, str], ...]
    schema: Mapping[str, Any] | None = None
    rung: Rung = "json_schema"
    max_tokens: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Its fields as plain JSON values."""
        return {
            "model": self.model,
            "messages": [dict(message) for message in self.messages],
            "schema": self.schema,
            "rung": self.rung,
            "max_tokens": self.max_tokens,
        }

    @property
    def key(self) -> str:
        """Its hash."""
        return _key("chat", self.as_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """That the endpoint would not take a request: `why` is one of VERDICTS."""

    why: LLMFault
    message: str

    def error(self) -> LLMError:
        """The error as it was raised."""
        return LLMError(self.message, why=self.why, retryable=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A request to a chat model, and what came of it."""

    key: str
    request: ChatRequest
    reply: Completion | Refusal

    @property
    def place(self) -> tuple[Any, ...]:
        """Where it stands in an ordered file: by model, then by what was said, so that
        requests that resemble each other stand together."""
        said = [(m["role"], m["content"]) for m in self.request.messages]
        return (0, self.request.model, said, self.key)

    def give(self) -> Completion:
        """The completion as it was. Raises LLMError where the request was refused."""
        if isinstance(self.reply, Refusal):
            raise self.reply.error()
        return self.reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """A text's vector, (dim,) float32. `window` is the embedder's, in its tokens."""

    key: str
    model: str
    purpose: Purpose
    text: str
    window: int
    vector: NDArray[np.float32] = field(compare=False, repr=False)

    @property
    def place(self) -> tuple[Any, ...]:
        """After the chats: by model, purpose and text."""
        return (1, self.model, self.purpose, self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many tokens an embedder counted in a text, which is named by its key alone."""

    key: str
    model: str
    tokens: int

    @property
    def place(self) -> tuple[Any, ...]:
        """Last: by model and key."""
        return (2, self.model, self.key)


Entry = Chat | Embedding | Count


def chat_request(
    model: str,
    messages: Sequence[Mapping[str, str]],
    *,
    schema: Mapping[str, Any] | None = None,
    rung: Rung = "json_schema",
    max_tokens: int | None = None,
) -> ChatRequest:
    """The request, checked. Raises InputTypeError for what is no chat, and for a schema
    that is not JSON."""
    if rung not in RUNGS:
        raise InputTypeError(f"a rung is one of {', '.join(RUNGS)}")
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int | None):
        raise InputTypeError("max_tokens is a whole number or None")
    if isinstance(messages, (str, Mapping)) or not all(map(_is_message, messages)):
        raise InputTypeError(
            'messages are mappings of texts, with "role" and "content"'
        )
    request = ChatRequest(
        model=model,
        messages=tuple(dict(message) for message in messages),
        schema=None if schema is None else _through_json(schema),
        rung=rung,
        max_tokens=max_tokens,
    )
    if request.schema is not None and not isinstance(request.schema, dict):
        raise InputTypeError("a schema is a JSON object")
    return request


def embedding_key(model: str, purpose: Purpose, text: str) -> str:
    """The key of a text's vector. One text is one entry, so that batches may be cut
    otherwise when they are replayed."""
    return _key("embedding", {"model": model, "purpose": purpose, "text": text})


def count_key(model: str, text: str) -> str:
    """The key of a text's number of tokens."""
    return _key("count", {"model": model, "text": text})


def plain(value: object) -> Any:
    """The value as JSON gives it back. Raises InputTypeError when it would come back as
    another one, or not at all."""
    back = _through_json(value)
    if repr(back) != repr(value):  # equal is not enough: 1 == True == 1.0
        raise InputTypeError("a value that JSON changes cannot be recorded")
    return back


def _through_json(value: object) -> Any:
    try:
        return json.loads(json.dumps(value, ensure_ascii=False, default=_as_dict))
    except (TypeError, ValueError, RecursionError) as e:
        raise InputTypeError(
            "a value that JSON does not hold cannot be recorded"
        ) from e


def _as_dict(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _is_message(message: object) -> bool:
    if not isinstance(message, Mapping) or not {"role", "content"} <= message.keys():
        return False
    return all(isinstance(part, str) for pair in message.items() for part in pair)


def _key(kind: str, value: Mapping[str, Any]) -> str:
    canonical = json.dumps([kind, value], sort_keys=True, separators=(",", ":"))
    return blake2b(canonical.encode("ascii"), digest_size=16).hexdigest()
