"""A port that leads to a server while it is open and refuses while it is shut."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self


class Door:
    """Passes bytes between its port and the server's, which is `to`'s, while its `async
    with` block lasts. `shut` breaks what is under way; it opens again on the same port."""

    def __init__(self, to: str) -> None:
        """`to` is the server's address, as `ChatEndpoint.url` has it."""
        self._to = int(to.rsplit(":", 1)[1].split("/")[0])
        self._path = to.rsplit(":", 1)[1].partition("/")[2]
        self._server: asyncio.Server | None = None
        self._port = 0
        self._passing: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The address to ask instead of the server's."""
        return f"http://127.0.0.1:{self._port}/{self._path}"

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.shut()

    async def open(self) -> None:
        """Let requests through."""
        self._server = await asyncio.start_server(
            self._meet, "127.0.0.1", self._port, reuse_address=True
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        """Refuse."""
        if self._server is not None:
            self._server.close()
            passing = list(self._passing)
            for task in passing:
                task.cancel()
            await asyncio.gather(*passing, return_exceptions=True)
            await self._server.wait_closed()
            self._server = None

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Not a coroutine: asyncio would complain of one that is cancelled.
        task = asyncio.create_task(self._pass(reader, writer))
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        try:
            with contextlib.suppress(OSError):
                await asyncio.gather(_pump(reader, back), _pump(there, writer))
        finally:
            for one in (writer, back):
                one.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
