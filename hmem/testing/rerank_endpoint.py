"""A real reranking endpoint on a loopback port, which answers as it is told.

    with RerankEndpoint() as endpoint:
        reranker = RemoteReranker("any", base_url=endpoint.url)
        endpoint.answer = lambda body: PlainTextResponse("busy", 503)

Its scores are `WordReranker`'s. Needs starlette and uvicorn.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from hmem.testing.fakes import WordReranker
from hmem.testing.loopback import Answer, Body, Loopback

__all__ = ["Body", "RerankEndpoint"]

_FOR_EVER = 3_600.0


class RerankEndpoint(Loopback):
    """Serves `POST /v1/rerank` in a thread while its `with` block lasts."""

    path = "/v1/rerank"

    def well(self, body: Body) -> Response:
        """The right reply, the best text first, as such servers answer."""
        query, texts = body["query"], body["documents"]
        scores = [WordReranker.score(query, text) for text in texts]
        return self.reply(sorted(enumerate(scores), key=lambda one: -one[1]))

    @staticmethod
    def reply(
        scores: Iterable[tuple[Any, Any]],
        *,
        under: str = "results",
        named: str = "relevance_score",
    ) -> JSONResponse:
        """A reply of (index, score) in this order."""
        items = [{"index": index, named: score} for index, score in scores]
        usage = {"total_tokens": 100}
        return JSONResponse({"model": "any", under: items, "usage": usage})

    async def hang(self, body: Body) -> Response:  # noqa: ARG002 - an answer's signature
        """An answer that never comes."""
        await asyncio.sleep(_FOR_EVER)
        return Response()

    def drip(self, seconds: float) -> Answer:
        """An answer of one byte at a time, so many seconds apart, without end."""

        async def bytes_() -> AsyncIterator[bytes]:
            while True:
                yield b" "
                await asyncio.sleep(seconds)

        return lambda _: StreamingResponse(bytes_(), media_type="application/json")
