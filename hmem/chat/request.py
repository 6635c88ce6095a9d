"""The body of a chat request, in the dialect that the endpoint has turned out to speak."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hmem.chat.faults import Quirk
from hmem.prompts import without_lengths
from hmem.protocols import Rung

_TITLE = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Dialect:
    """What an endpoint takes. It begins with all that is usual, and gives way once per
    quirk."""

    def __init__(self, *, openai: bool) -> None:
        """`openai`: it is OpenAI's own, whose newer models know only the newer names."""
        self._temperature = True
        self._lengths = not openai
        self._limit = "max_completion_tokens" if openai else "max_tokens"

    def give_way(self, quirk: Quirk) -> None:
        """Do without what was refused from now on."""
        if quirk == "temperature":
            self._temperature = False
        elif quirk == "max_tokens":
            self._limit = "max_completion_tokens"
        else:
            self._lengths = False

    def body(
        self,
        model: str,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None,
        rung: Rung,
        max_tokens: int | None,
    ) -> dict[str, Any]:
        """The request. Lone surrogates, which cannot be sent, become `?`."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [
                {name: _encodable(text) for name, text in message.items()}
                for message in messages
            ],
        }
        if self._temperature:
            body["temperature"] = 0
        if max_tokens is not None:
            body[self._limit] = max_tokens
        if schema is not None and rung != "plain":
            body["response_format"] = self._form(schema, rung)
        return body

    def _form(self, schema: Mapping[str, Any], rung: Rung) -> dict[str, Any]:
        if rung == "json_object":
            return {"type": "json_object"}
        title = schema.get("title")
        named = isinstance(title, str) and _TITLE.fullmatch(title)
        form = {
            "name": title if named else "answer",
            "strict": True,
            "schema": dict(schema) if self._lengths else without_lengths(schema),
        }
        return {"type": "json_schema", "json_schema": form}


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
