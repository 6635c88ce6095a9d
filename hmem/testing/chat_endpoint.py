"""A real chat endpoint on a loopback port, which answers as it is told.

    with ChatEndpoint() as endpoint:
        llm = RemoteLLM("any", base_url=endpoint.url)
        endpoint.say('{"facts": []}', None)                # these, then `well` again
        endpoint.answer = lambda body: PlainTextResponse("busy", 503)

Needs starlette and uvicorn.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from hmem.testing.loopback import Answer, Body, Loopback

__all__ = ["Body", "ChatEndpoint"]

_FOR_EVER = 3_600.0


class ChatEndpoint(Loopback):
    """Serves `POST /v1/chat/completions` in a thread while its `with` block lasts.

    What `say` was given is answered in turn; after that, and from the start, `content`.
    """

    path = "/v1/chat/completions"

    def __init__(self, content: Any = '{"facts": []}') -> None:
        super().__init__()
        self.content = content
        self._script: list[Any] = []

    def reset(self) -> None:
        """Forget the requests and what was to be said, and answer well again."""
        super().reset()
        self.unsay()

    def unsay(self) -> None:
        """Forget what was to be said."""
        self._script.clear()

    def say(self, *replies: Any) -> None:
        """Answer with these, one per request: contents (a string, None, or what else may
        stand there), whole Responses, or functions of the request's body."""
        self._script.extend(replies)

    def well(self, body: Body) -> Response | Awaitable[Response]:
        """The next reply of the script, or `content`."""
        reply = self._script.pop(0) if self._script else self.content
        if isinstance(reply, Response):
            return reply
        return reply(body) if callable(reply) else self.reply(reply)

    @staticmethod
    def reply(
        content: Any, *, finish: str | None = "stop", **message: Any
    ) -> JSONResponse:
        """A completion. `message` adds fields such as `refusal` or `reasoning_content`."""
        said = {"role": "assistant", "content": content, **message}
        choice = {"index": 0, "message": said, "finish_reason": finish}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return JSONResponse(
            {"object": "chat.completion", "choices": [choice], "usage": usage}
        )

    @staticmethod
    def fault(
        status: int, message: str = "no", *, code: str | None = None, **headers: str
    ) -> JSONResponse:
        """A provider's error. Headers are given with `_` for `-`."""
        return JSONResponse(
            {"error": {"message": message, "code": code}},
            status_code=status,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )

    async def hang(self, body: Body) -> Response:  # noqa: ARG002 - an answer's signature
        """An answer that never comes."""
        await asyncio.sleep(_FOR_EVER)
        return Response()

    def drip(self, seconds: float) -> Answer:
        """An answer of one byte at a time, so many seconds apart, without end. A client
        that goes away counts in `gone`."""

        async def bytes_() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b" "
                    await asyncio.sleep(seconds)
            finally:
                self.gone += 1

        return lambda _: StreamingResponse(bytes_(), media_type="application/json")
