"""How long single steps hold an event loop."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Held:
    """The longest step since `start`, in milliseconds: by the clock, and by what the
    loop's own thread computed, which does not count what other threads and processes took
    from it."""

    clock_ms: float = 0.0
    computed_ms: float = 0.0

    def start(self) -> None:
        """Forget what was."""
        self.clock_ms = self.computed_ms = 0.0


@contextmanager
def holding() -> Iterator[Held]:
    """Watch the steps of all event loops of this thread, those of asyncio itself."""
    held = Held()
    plain: Callable[[Any], None] = asyncio.events.Handle._run

    def watched(handle: Any) -> None:
        began, computed = time.perf_counter(), time.thread_time()
        plain(handle)
        held.clock_ms = max(held.clock_ms, (time.perf_counter() - began) * 1e3)
        held.computed_ms = max(held.computed_ms, (time.thread_time() - computed) * 1e3)

    asyncio.events.Handle._run = watched  # type: ignore[assignment]
    try:
        yield held
    finally:
        asyncio.events.Handle._run = plain  # type: ignore[assignment]
