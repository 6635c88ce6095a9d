"""One thread that runs small batches off the event loop: queries first, then hits that are
read again while somebody waits for them, then passages."""

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmem.errors import ClosedError, EmbedderError, ForkedError, HmemError

Purpose = Literal["query", "hit", "passage"]
Rows = NDArray[np.float32]
Tokenize = Callable[[str], list[int]]
Forward = Callable[[Sequence[Sequence[int]]], Iterable[Any]]
"""Token ids of texts, shortest first -> one result for each."""
_POLL = 0.005


class _Call:
    """One call: the texts still to do, the results so far, and who waits for them."""

    def __init__(self, texts: Sequence[str], rows: Any, forward: Forward) -> None:
        self.texts = texts
        self.rows = rows
        self.forward = forward
        self.taken = 0
        self.left = len(texts)
        self.over = False
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self._next: list[int] | None = None

    def peek(self, tokenize: Tokenize) -> list[int]:
        """The tokens of the next text; kept until `take`."""
        if self._next is None:
            self._next = tokenize(self.texts[self.taken])
        return self._next

    def take(self) -> int:
        """Count the next text as taken; its position."""
        self._next = None
        self.taken += 1
        return self.taken - 1

    def put(self, position: int, row: Any) -> None:
        """Store a result; the last one ends the call."""
        self.rows[position] = row
        self.left -= 1
        if self.left == 0:
            self.settle(None)

    def settle(self, error: HmemError | None) -> None:
        """Hand rows or the error to the waiting loop, once."""
        if self.over:
            return
        self.over = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(_resolve, self.future, self.rows, error)


class _Piece(NamedTuple):
    """One text in a batch."""

    call: _Call
    position: int
    ids: list[int]


class Lane:
    """Runs `forward` over token lists, shortest first, in one daemon thread.

    Work is cut into batches of at most `budget` tokens (one text at least). Between two
    batches waiting queries are taken first, so a query waits behind one batch at most.
    Texts of several calls share a batch, where they are for the same forward pass, and
    calls of one purpose take turns.
    """

    def __init__(
        self,
        *,
        forward: Forward,
        tokenize: Tokenize,
        dim: int,
        budget: int,
    ) -> None:
        self._forward = forward
        self._tokenize = tokenize
        self._dim = dim
        self._budget = budget
        self._wake = threading.Condition()
        # Loops append; only the thread takes away.
        self._calls: dict[Purpose, deque[_Call]] = {
            "query": deque(),
            "hit": deque(),
            "passage": deque(),
        }
        self._thread: threading.Thread | None = None
        self._closed = False
        self._pid = os.getpid()

    async def run(self, texts: Sequence[str], purpose: Purpose) -> Rows:
        """(n, dim) rows in the order of `texts`. Cancelling drops what has not begun.

        Raises EmbedderError, ClosedError, ForkedError.
        """
        rows = np.empty((len(texts), self._dim), dtype=np.float32)
        done: Rows = await self._wait_for(_Call(texts, rows, self._forward), purpose)
        return done

    async def run_each(
        self, texts: Sequence[str], purpose: Purpose, forward: Forward
    ) -> list[Any]:
        """What another forward pass makes of each text, in their order. See `run`."""
        call = _Call(texts, [None] * len(texts), forward)
        done: list[Any] = await self._wait_for(call, purpose)
        return done

    async def _wait_for(self, call: _Call, purpose: Purpose) -> Any:
        if os.getpid() != self._pid:
            raise ForkedError("the embedder was opened before the fork; open it anew")
        with self._wake:
            if self._closed:
                raise ClosedError("the embedder is closed")
            self._calls[purpose].append(call)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="hmem-embed", daemon=True
                )
                self._thread.start()
            self._wake.notify()
        try:
            return await call.future
        finally:
            call.over = True

    async def aclose(self) -> None:
        """Fail the waiting calls with ClosedError and end the thread. Idempotent."""
        self.close()
        thread = self._thread
        if thread is None or os.getpid() != self._pid:
            return
        while thread.is_alive():  # noqa: ASYNC110 - its end cannot set an event
            await asyncio.sleep(_POLL)

    def close(self) -> None:
        """Ask the thread to end after the batch it is in."""
        if os.getpid() != self._pid:
            return  # a child has no such thread, and the lock may be held for ever
        with self._wake:
            self._closed = True
            self._wake.notify()

    def _work(self) -> None:
        while self._wait():
            for calls in self._calls.values():
                if batch := self._take(calls):
                    self._run(batch)
                    break
        for calls in self._calls.values():
            for call in calls:
                call.settle(ClosedError("the embedder was closed"))

    def _wait(self) -> bool:
        """Sleep until there is work. False: closed."""
        with self._wake:
            while not (self._closed or any(self._calls.values())):
                self._wake.wait()
            return not self._closed

    def _take(self, calls: deque[_Call]) -> list[_Piece]:
        """The next batch's texts; ended and cancelled calls leave the queue."""
        batch: list[_Piece] = []
        used = 0
        while calls:
            call = calls[0]
            if batch and call.forward is not batch[0].call.forward:
                break
            if call.over or call.taken == len(call.texts):
                calls.popleft()
                continue
            try:
                ids = call.peek(self._tokenize)
            except Exception as e:  # noqa: BLE001 - must reach the waiter, not end the thread
                call.settle(_failure(e))
                continue
            if batch and used + len(ids) > self._budget:
                break
            batch.append(_Piece(call, call.take(), ids))
            used += len(ids)
        calls.rotate(-1)
        return batch

    def _run(self, batch: list[_Piece]) -> None:
        batch.sort(key=lambda piece: len(piece.ids))
        try:
            rows = batch[0].call.forward([piece.ids for piece in batch])
        except Exception as e:  # noqa: BLE001 - must reach the waiters, not end the thread
            for piece in batch:
                piece.call.settle(_failure(e))
            return
        for piece, row in zip(batch, rows, strict=True):
            piece.call.put(piece.position, row)


def _failure(error: Exception) -> HmemError:
    """What the waiter sees. Foreign messages may hold text, so only the type is told."""
    if isinstance(error, EmbedderError):
        return error
    known = EmbedderError(
        f"the local model failed: {type(error).__name__}",
        retryable=isinstance(error, MemoryError),
    )
    known.__cause__ = error
    return known


def _resolve(future: "asyncio.Future[Any]", rows: Any, error: HmemError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(rows)
    else:
        future.set_exception(error)
