"""Work in a thread that is waited for to its end."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")


async def to_its_end(call: Callable[[], T]) -> T:
    """What `call` gives, run in a thread. A caller who is cancelled meanwhile leaves once
    it has ended, so that what it touches or writes is whole by then. Raises what `call`
    raises, also to the cancelled.

    A shielded scope alone holds off the cancellation of anyio's scopes, not a task's own
    (`Task.cancel`, as `asyncio.wait_for` does it).
    """
    work = asyncio.ensure_future(anyio.to_thread.run_sync(call))
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not work.done():
            try:
                await asyncio.wait([work])
            except asyncio.CancelledError as e:
                cancelled = e
    if cancelled is not None and work.exception() is None:
        raise cancelled
    return work.result()
