"""A real embeddings endpoint on a loopback port, which answers as it is told.

    with EmbeddingsEndpoint() as endpoint:
        embedder = RemoteEmbedder("any", base_url=endpoint.url)
        endpoint.answer = lambda body: PlainTextResponse("busy", 503)

Its vectors are `HashEmbedder`'s. Needs starlette and uvicorn.
"""

import base64
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hmem.testing.fakes import HashEmbedder

Body = dict[str, Any]
Answer = Callable[[Body], Response | Awaitable[Response]]
_PATIENCE = 10.0


class EmbeddingsEndpoint:
    """Serves `POST /v1/embeddings` in a thread while its `with` block lasts.

    `bodies` and `headers` hold what was asked; `answer` decides the reply.
    """

    def __init__(self, *, dim: int = 64) -> None:
        self.vectors = HashEmbedder(dim)
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Answer = self.well
        self.url = ""
        route = Route("/v1/embeddings", self._serve, methods=["POST"])
        self._server = uvicorn.Server(
            uvicorn.Config(
                Starlette(routes=[route]), log_config=None, lifespan="off", ws="none"
            )
        )
        # Named as TCP, or asyncio would leave Nagle's algorithm on: 40 ms per request.
        self._socket = socket.socket(proto=socket.IPPROTO_TCP)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), daemon=True
        )

    def __enter__(self) -> Self:
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._thread.start()
        deadline = time.monotonic() + _PATIENCE
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("the endpoint did not start")
            time.sleep(0.005)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.force_exit = True  # a request that hangs is not waited for
        self._server.should_exit = True
        self._thread.join(_PATIENCE)
        self._socket.close()

    def reset(self) -> None:
        """Forget the requests and answer well again."""
        self.bodies.clear()
        self.headers.clear()
        self.answer = self.well

    def well(self, body: Body) -> Response:
        """The right reply, in the encoding asked for."""
        return self.reply(body["input"], encoding=body.get("encoding_format"))

    def reply(self, texts: Sequence[str], *, encoding: str | None = None) -> Response:
        """A reply with these texts' vectors."""
        rows = [self.vectors.vector(text) for text in texts]
        data = [
            {
                "object": "embedding",
                "index": i,
                "embedding": base64.b64encode(row.tobytes()).decode()
                if encoding == "base64"
                else row.tolist(),
            }
            for i, row in enumerate(rows)
        ]
        return JSONResponse({"object": "list", "model": "any", "data": data})

    async def _serve(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        answer = self.answer(body)
        return answer if isinstance(answer, Response) else await answer
