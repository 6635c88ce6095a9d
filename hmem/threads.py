"""Work off the event loop: computing in few threads, and what must come to its end."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

T = TypeVar("T")
AT_ONCE = min(4, max(2, os.cpu_count() or 2))
"""Threads of a loop that compute at once. Each that competes for the interpreter may keep
the loop from it for 5 ms (`sys.getswitchinterval`), and no queue says whose turn it is."""
_few: RunVar[anyio.CapacityLimiter] = RunVar("hmem_computing")


async def compute(call: Callable[[], T]) -> T:
    """What `call` gives, computed off the loop, when one of few threads is free. Raises
    what it raises."""
    few = _few.get(None)
    if few is None:
        few = anyio.CapacityLimiter(AT_ONCE)
        _few.set(few)
    return await anyio.to_thread.run_sync(call, limiter=few)


async def to_its_end(work: Awaitable[T]) -> T:
    """What `work` gives. A caller who is cancelled meanwhile leaves once it has ended, so
    that what it touches or writes is whole by then. Raises what it raises, also to the
    cancelled.

    A shielded scope alone holds off the cancellation of anyio's scopes, not a task's own
    (`Task.cancel`, as `asyncio.wait_for` does it).
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as e:
                cancelled = e
    if cancelled is not None and task.exception() is None:
        raise cancelled
    return task.result()
