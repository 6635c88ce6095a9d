"""Reads the reply of an OpenAI-compatible chat endpoint. Trusts nothing in it."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from hmem.chat.peel import text_of
from hmem.errors import LLMError
from hmem.protocols import Completion

_CUT = frozenset({"length", "max_tokens", "model_length"})
_DECLINED = frozenset({"content_filter", "safety", "refusal"})


def read_reply(body: bytes, *, retries: int = 0) -> Completion:
    """The completion in a reply's body. Reasoning is no content; a reply without an answer
    has None. Raises LLMError for a body that is no chat completion."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError) as e:
        raise _odd() from e
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list):
        raise _odd()
    choice = choices[0] if choices else {}
    if not isinstance(choice, dict):
        raise _odd()
    message = choice.get("message")
    said = message if isinstance(message, dict) else {}
    usage = reply.get("usage")
    spent = usage if isinstance(usage, dict) else {}
    return Completion(
        content=_content(said.get("content")),
        finish=_finish(choice.get("finish_reason"), said),
        prompt_tokens=_count(spent.get("prompt_tokens")),
        completion_tokens=_count(spent.get("completion_tokens")),
        retries=retries,
    )


def _content(content: Any) -> object:
    """Text, or a value that was read already."""
    text = text_of(content)
    return content if text is None else text or None


def _finish(
    reason: Any, message: Mapping[str, Any]
) -> Literal["stop", "length", "refused"]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    refused = any(isinstance(p, dict) and p.get("type") == "refusal" for p in parts)
    if message.get("refusal") or refused or reason in _DECLINED:
        return "refused"
    return "length" if reason in _CUT else "stop"


def _count(tokens: Any) -> int:
    return tokens if type(tokens) is int and tokens > 0 else 0


def _odd() -> LLMError:
    """Some other page, or half of one. It counts as down: another try may meet a healthier
    server, and no job is to blame."""
    return LLMError(
        "the chat endpoint's reply is no chat completion (HMEM_BASE_URL)", why="down"
    )
