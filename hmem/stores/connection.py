"""One aiosqlite connection whose thread runs a whole function in one hop.

aiosqlite has no public call for that; this subclass reaches its queue (`_tx`), its thread
(`_thread`) and its stop sentinel. tests/test_store_internals.py says so if they change.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import aiosqlite
from aiosqlite.core import _STOP_RUNNING_SENTINEL as STOP

from hmem.errors import HmemError

T = TypeVar("T")
Item = tuple[asyncio.Future[Any] | None, Callable[[], Any]]
Guard = Callable[[], AbstractContextManager[Any]]


class ShardConnection(aiosqlite.Connection):
    """`await ShardConnection(...)` opens it. What was queued runs, whoever waits for it.

    The thread is a daemon: an interpreter whose user forgot to close must end, and what
    was acknowledged is committed by then. `guard` is held while the connection closes,
    because closing may checkpoint.
    """

    _tx: SimpleQueue[Item]

    def __init__(
        self, connector: Callable[[], sqlite3.Connection], guard: Guard
    ) -> None:
        super().__init__(connector, iter_chunk_size=64)
        self._thread = Thread(
            target=_serve, args=(self._tx,), name="hmem-shard", daemon=True
        )
        self._guard = guard
        self.hops = 0

    def run(self, fn: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Queue `fn` on the thread. Cancelling the future does not cancel `fn`."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.hops += 1
        self._tx.put_nowait((future, partial(fn, self._conn)))
        return future

    async def close(self) -> None:
        """Finish what is queued, close under the guard, end the thread. Idempotent."""
        if self._running:
            future = self.stop()
            if future is not None:
                await asyncio.shield(future)

    def stop(self) -> "asyncio.Future[Any] | None":
        """Queue the end. The future, where there is a loop, is done when it is closed."""
        try:
            future = asyncio.get_running_loop().create_future()
        except RuntimeError:
            future = None
        self._queue_end(future)
        return future

    def _queue_end(self, future: "asyncio.Future[Any] | None") -> None:
        connection, self._connection = self._connection, None
        self._running = False
        self._tx.put_nowait((future, partial(_close, connection, self._guard)))

    def __del__(self) -> None:
        # AsyncMemory gives the one warning about a store that nobody closed.
        if getattr(self, "_running", False) and self._thread.ident is not None:
            self._queue_end(None)


def _close(connection: sqlite3.Connection | None, guard: Guard) -> object:
    """Close on the connection's own thread; the thread ends whatever happens."""
    if connection is not None:
        # Without the folder there is no lock to be had, and nothing left to damage.
        with contextlib.suppress(HmemError, OSError), guard():
            connection.close()
        with contextlib.suppress(sqlite3.Error):
            connection.close()
    return STOP


def _serve(queue: "SimpleQueue[Item]") -> None:
    """The thread: run what is queued, hand results to their loops while those live."""
    while True:
        future, function = queue.get()
        result: Any = None
        error: BaseException | None = None
        try:
            result = function()
        except BaseException as e:  # noqa: BLE001 - it belongs to whoever waits
            error = e
        if future is not None:
            _deliver(future, result, error)
        if result is STOP:
            return
        # Nothing may keep a large result alive until the next call comes.
        del future, function, result, error


def _deliver(
    future: asyncio.Future[Any], result: object, error: BaseException | None
) -> None:
    try:
        future.get_loop().call_soon_threadsafe(_settle, future, result, error)
    except RuntimeError:
        return  # the loop is closed: nobody can be waiting any more


def _settle(
    future: asyncio.Future[Any], result: object, error: BaseException | None
) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
