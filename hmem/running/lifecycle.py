"""When a memory may be used: opened, not closed, in its process and on its loop."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import anyio

from hmem.errors import ClosedError, ForkedError, NotOpenError, WrongLoopError

State = Literal["new", "open", "closing", "closed"]


class Life:
    """The state of one AsyncMemory, and how many of its calls run."""

    def __init__(self) -> None:
        self.state: State = "new"
        self._pid = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running = 0
        self._idle: anyio.Event | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop it was opened on."""
        return self._loop

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that opened it."""
        return self._pid == os.getpid()

    def begin(self) -> None:
        """Bind to the running loop and this process. Raises WrongLoopError without
        asyncio."""
        self._loop = running_loop()
        self._pid = os.getpid()

    def check(self) -> None:
        """Raise the LifecycleError that says why it cannot be used now."""
        if self.state == "new":
            raise NotOpenError(
                "not open: use `async with AsyncMemory(...) as mem:` or `await mem.open()`"
            )
        if self._loop is not None and not self.is_ours:
            raise ForkedError(
                "opened in the parent process; open a new AsyncMemory in this one"
            )
        if self.state != "open":
            raise ClosedError("this AsyncMemory was closed; open a new one")
        self.check_loop()

    def check_loop(self) -> None:
        """Raise WrongLoopError on another loop than the one it was opened on."""
        if running_loop() is not self._loop:
            raise WrongLoopError(
                "opened on another event loop; open one AsyncMemory per loop"
            )

    @contextmanager
    def call(self) -> Iterator[None]:
        """Check, and count the call as running while the body runs."""
        self.check()
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running and self._idle is not None:
                self._idle.set()

    async def idle(self) -> None:
        """Until no call runs."""
        while self._running:
            self._idle = anyio.Event()
            await self._idle.wait()


def running_loop() -> asyncio.AbstractEventLoop:
    """The running asyncio loop. Raises WrongLoopError where there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError as e:
        raise WrongLoopError(
            "hmem runs on asyncio: no asyncio loop is running here (trio is not supported)"
        ) from e
