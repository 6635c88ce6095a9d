"""While the embedder is down nothing is claimed; one probe at a time looks whether it is
back. An outage is told once when it begins and once when it ends."""

import logging
import random
from collections.abc import Awaitable, Callable

import anyio

from hmem.events import Events

log = logging.getLogger("hmem.worker")


def backoff(attempt: int, *, base: float, cap: float) -> float:
    """Seconds to wait after the n-th failure (from 1): doubling, capped, jittered +-25%."""
    pause = min(cap, base * 2.0 ** min(attempt - 1, 30))
    return pause * (0.75 + 0.5 * random.random())


class Breaker:
    """Open while something that every job needs is down."""

    def __init__(
        self,
        probe: Callable[[], Awaitable[bool]],
        events: Events,
        *,
        base: float,
        cap: float,
    ) -> None:
        self._probe = probe
        self._events = events
        self._base = base
        self._cap = cap
        self._failures = 0
        self._since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether to claim nothing."""
        return self._failures > 0

    def trip(self, why: str) -> None:
        """It is down. Further failures of the same outage change nothing."""
        if not self._failures:
            self._failures = 1
            self._since = anyio.current_time()
            log.warning("the embedder is down, jobs wait: %s", why)
            self._events("outage_started", reason=why)

    async def recover(self) -> None:
        """Wait a while, then look. Returns with the breaker open or closed."""
        await anyio.sleep(backoff(self._failures, base=self._base, cap=self._cap))
        if not await self._probe():
            self._failures += 1
            return
        seconds = anyio.current_time() - self._since
        self._failures = 0
        log.warning("the embedder is back after %.0f s", seconds)
        self._events("outage_ended", seconds=seconds)
