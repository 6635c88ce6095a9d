"""The private thread on whose event loop one AsyncMemory lives."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from hmem.errors import ClosedError, ForkedError, NotOpenError, WrongLoopError
from hmem.memory import AsyncMemory

T = TypeVar("T")
Make = Callable[[], Coroutine[Any, Any, T]]
_CLOSED = "this Memory was closed; open a new one"


class LoopThread:
    """Runs calls of any number of threads on one loop.

    The thread is a daemon: an interpreter whose user forgot to close must end, and what
    was acknowledged is on disk by then. It holds no reference to the Memory, so that one
    that is dropped is seen.
    """

    def __init__(self, inner: AsyncMemory) -> None:
        self._inner = inner
        self._opening = threading.Lock()
        # Reentrant: a garbage collection may call `abandon` while this thread holds it.
        self._guard = threading.RLock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._pid: int | None = None
        self._ended = False

    @property
    def forgotten(self) -> bool:
        """Whether it is open, in this process, and nobody began to close it."""
        return self._loop is not None and not self._ended and not self._is_child

    def open(self) -> None:
        """Start the thread and open the memory there. Idempotent.

        After a failure it can be tried again; one that was interrupted is closed.
        """
        self._check_caller()
        with self._opening:
            started = self._start()
            try:
                self.run(self._inner.open)
            except Exception:
                if started:
                    self._stop()
                    self._join()
                raise
            except BaseException:
                self.abandon()
                raise

    def run(self, make: Make[T]) -> T:
        """Make a coroutine on the loop and wait for its result.

        A wait that is interrupted (Ctrl-C) cancels that call alone. Raises NotOpenError,
        ClosedError, ForkedError, and WrongLoopError on a thread whose loop it would block.
        """
        self._check_caller()
        with self._guard:
            if self._ended:
                raise ClosedError(_CLOSED)
            future = self._submit(make)
        try:
            return future.result()
        except CancelledError as e:  # the thread ended
            raise ClosedError(_CLOSED) from e
        except BaseException:
            future.cancel()
            raise

    def close(self, timeout: float | None) -> None:
        """Close the memory, then end the thread. Idempotent; in a child it does nothing.

        A wait that is interrupted leaves both going on.
        """
        if self._is_child:
            return
        self._check_caller()
        future = self._close(timeout)
        if future is not None:
            try:
                future.result()
            except CancelledError:  # another close was faster
                pass
            finally:
                if future.done():
                    self._join()

    def abandon(self) -> None:
        """Close at once, without waiting for it."""
        self._close(0.0)

    # ---------------------------------------------------------------- the calling side

    @property
    def _is_child(self) -> bool:
        """Whether this is a fork of the process that opened it."""
        return self._pid not in (None, os.getpid())

    def _check_caller(self) -> None:
        if self._is_child:
            raise ForkedError(
                "opened in the parent process; open a new Memory in this one"
            )
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        raise WrongLoopError(
            "Memory blocks its thread, and an event loop runs on this one: use "
            "AsyncMemory here, or call Memory on another thread (asyncio.to_thread)"
        )

    def _submit(self, make: Make[T]) -> "Future[T]":
        """Hand a call over. Those that got in before `_stop` are run or cancelled."""
        with self._guard:
            if self._loop is None:
                if self._ended:
                    raise ClosedError(_CLOSED)
                raise NotOpenError(
                    "not open: use `with Memory(...) as mem:` or `mem.open()`"
                )
            return asyncio.run_coroutine_threadsafe(_made(make), self._loop)

    def _close(self, timeout: float | None) -> "Future[None] | None":
        with self._guard:
            self._ended = True
            if self._loop is None:
                return None
            future = self._submit(lambda: self._inner.aclose(timeout=timeout))  # type: ignore[arg-type]
        future.add_done_callback(lambda _: self._stop())
        return future

    def _stop(self) -> None:
        """Take no more calls; end the thread after those that were handed over."""
        with self._guard:
            if self._loop is not None and self._stopping is not None:
                self._loop.call_soon_threadsafe(self._stopping.set)
            self._loop = None

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    # -------------------------------------------------------------------- the loop's

    def _start(self) -> bool:
        """Start the thread. False: it runs already."""
        with self._guard:
            if self._ended:
                raise ClosedError(_CLOSED)
            if self._loop is not None:
                return False
            ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
            self._thread = threading.Thread(
                target=self._serve, args=(ready,), name="hmem-memory", daemon=True
            )
            self._thread.start()
            self._loop, self._stopping = ready.result()
            self._pid = os.getpid()
            return True

    def _serve(
        self, ready: "Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]"
    ) -> None:
        """The thread. What is still running at its end is cancelled by the runner."""
        try:
            with asyncio.Runner() as runner:
                runner.run(self._until_stopped(ready))
        except OSError as e:  # no descriptors left for a loop
            if ready.done():
                raise
            ready.set_exception(e)

    async def _until_stopped(
        self, ready: "Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]"
    ) -> None:
        stopping = asyncio.Event()
        ready.set_result((asyncio.get_running_loop(), stopping))
        try:
            await stopping.wait()
        finally:
            self._stop()
            # What was handed over has to be a task, to be cancelled by the runner.
            await asyncio.sleep(0)


async def _made(make: Make[T]) -> T:
    return await make()
