"""A real HTTP server on a loopback port, which answers as it is told. Needs starlette and
uvicorn."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Body = dict[str, Any]
Answer = Callable[[Body], Response | Awaitable[Response]]
_PATIENCE = 10.0


class Loopback:
    """Serves `POST` to one path in a thread while its `with` block lasts; any other path
    is not found. `url` is the address up to `/v1`.

    `bodies`, `headers` and `paths` hold what was asked; `answer` decides the reply. `most`
    is how many requests were open at once at most, `gone` how many clients went away before
    they were answered.
    """

    path = "/v1"

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answer: Answer = self.well
        self.most = 0
        self.gone = 0
        self.url = ""
        self._open = 0
        routes = [
            Route(self.path, self._serve, methods=["POST"]),
            Route("/{rest:path}", self._lost, methods=["POST", "GET"]),
        ]
        self._server = uvicorn.Server(
            uvicorn.Config(
                Starlette(routes=routes), log_config=None, lifespan="off", ws="none"
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
        self.paths.clear()
        self.most = self.gone = 0
        self.answer = self.well

    def well(self, body: Body) -> Response | Awaitable[Response]:
        """The right reply."""
        raise NotImplementedError

    async def _serve(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self._note(request)
        self.bodies.append(body)
        self._open += 1
        self.most = max(self.most, self._open)
        try:
            answer = self.answer(body)
            if isinstance(answer, Response):
                return answer
            return await self._while_there(request, answer)
        finally:
            self._open -= 1

    async def _while_there(
        self, request: Request, answer: Awaitable[Response]
    ) -> Response:
        """The answer, unless the client goes away first."""
        answering = asyncio.ensure_future(answer)
        leaving = asyncio.ensure_future(request.receive())
        try:
            await asyncio.wait(
                (answering, leaving), return_when=asyncio.FIRST_COMPLETED
            )
            if answering.done():
                return answering.result()
            self.gone += 1
            return Response(status_code=499)
        finally:
            answering.cancel()
            leaving.cancel()

    async def _lost(self, request: Request) -> Response:
        self._note(request)
        return JSONResponse({"error": {"message": "not found"}}, status_code=404)

    def _note(self, request: Request) -> None:
        self.headers.append(dict(request.headers))
        self.paths.append(request.url.path)
