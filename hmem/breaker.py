"""While a part is down. One probe at a time looks whether it is back; an outage is told once
when it begins and once when it ends.

Without the embedder nothing is claimed (`Breaker`). Without the chat model turns are still
embedded, and their extraction is put off (`Pause`), unless it is they that it fails on
(`Blame`). Searches do without what keeps them waiting (`Rest`).
"""

import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from hmem.errors import LLMFault
from hmem.events import Events
from hmem.protocols import Clock

log = logging.getLogger("hmem.worker")


_LONGEST = 600.0
"""Seconds of a pause at most, whatever the endpoint asks for."""
_SLACK = 0.01
"""Seconds by which a difference of two moments may be wrong: they are floats."""
_PATIENCE: Mapping[LLMFault, float] = {"down": 1_800.0, "busy": 21_600.0}
"""Seconds for which a model that fails on some turns and answers a trial question is taken
for one that is down or busy; after that the turns are to blame."""
_SOONEST, _SLOWEST = 0.05, 600.0
"""Seconds between two questions about turns that the model fails on."""
_REMEMBERED = 10_000


def forget_oldest(remembered: dict[str, Any]) -> None:
    """Keep the latest 10,000."""
    while len(remembered) > _REMEMBERED:
        del remembered[next(iter(remembered))]


def backoff(attempt: int, *, base: float, cap: float) -> float:
    """Seconds to wait after the n-th failure (from 1): doubling, capped, jittered +-25%."""
    pause = min(cap, base * 2.0 ** min(attempt - 1, 30))
    return pause * (0.75 + 0.5 * random.random())


class Rest:
    """On the read path: what kept a search waiting is left alone for a while, the longer,
    the more often it did. Searches go on without it."""

    def __init__(self, *, base: float, cap: float) -> None:
        """Seconds of the first pause and of the longest."""
        self._base = base
        self._cap = cap
        self._failures = 0
        self.until = 0.0
        self.why = ""

    @property
    def lasts(self) -> bool:
        """Whether it is too early to ask again."""
        return self._failures > 0 and anyio.current_time() < self.until

    def failed(self, why: str) -> str:
        """Begin a pause, a longer one than the last. Returns `why`. Searches that were
        waiting together are one failure."""
        if self.lasts:
            return why
        self._failures += 1
        self.why = why
        pause = backoff(self._failures, base=self._base, cap=self._cap)
        self.until = anyio.current_time() + pause
        return why

    def worked(self) -> None:
        """It answered."""
        self._failures = 0


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


class Pause:
    """A pause in asking the chat model, while it is down. Its time is the clock's."""

    def __init__(
        self,
        probe: Callable[[], Awaitable[bool]],
        events: Events,
        clock: Clock,
        *,
        base: float,
        cap: float,
    ) -> None:
        self.probe = probe
        self._events = events
        self._clock = clock
        self._base = base
        self._cap = cap
        self._failures = 0
        self._until = self._since = self._longest = self._asked = 0.0
        self._trial = False
        self._looking = anyio.Lock()
        self.why = ""

    @property
    def is_open(self) -> bool:
        """Whether the model was down when it was last seen."""
        return self._failures > 0 and not self._trial

    @property
    def left(self) -> float:
        """Seconds until it is worth a look."""
        left = self._until - self._now()
        # A clock that was set back must not make the pause longer than it was.
        return left if 0.0 < left <= self._longest + _SLACK else 0.0

    def trip(self, why: str, *, at_least: float | None = None) -> None:
        """It is down; `at_least`: seconds that it asked to be left alone, which later
        looks of the same outage heed too."""
        if not self._failures:
            self._since, self._asked = self._now(), 0.0
            log.warning("the chat model is down, extraction waits: %s", why)
            self._events("outage_started", reason=why, part="llm")
        elif self.left and not self._trial:
            return  # the same failure, seen by another call
        self._failures += 1
        self._trial = False
        self.why = why
        self._asked = max(self._asked, at_least or 0.0)
        pause = backoff(self._failures, base=self._base, cap=self._cap)
        pause = max(pause, min(self._asked, self._cap))
        self._longest = max(pause, min(at_least or 0.0, _LONGEST))
        self._until = self._now() + self._longest

    async def over(self) -> bool:
        """Whether the model may be asked: looks, when a pause has run out. That it answers
        a trial question is no end of the outage yet: see `answered`."""
        if self.is_open:
            async with self._looking:
                await self._look()
        return not self.is_open

    async def _look(self) -> None:
        if not self.is_open or self.left:
            return
        if await self.probe():
            self._trial = True
        else:
            self.trip(self.why)

    def answered(self) -> None:
        """It answered a question. One asked before the outage does not end it."""
        if not self._trial:
            return
        seconds = self._now() - self._since
        self._failures, self._trial = 0, False
        log.warning("the chat model is back after %.0f s", seconds)
        self._events("outage_ended", seconds=seconds, part="llm")

    def _now(self) -> float:
        return self._clock().timestamp()


@dataclass(slots=True)
class _Strikes:
    """That the model failed on some turns: how often, since when (seconds of the clock),
    and how much else it had answered by then."""

    since: float
    answered: int
    times: int = 0


class Blame:
    """Tells a model that is down from turns that it fails on, each named by their job."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._strikes: dict[str, _Strikes] = {}
        self._answered = 0

    def suspects(self, name: str, why: LLMFault) -> bool:
        """The model failed on these turns. Whether that may be for the turns' sake: it
        answered about others meanwhile, or it has long been so."""
        if why not in _PATIENCE:
            return False
        now = self._clock().timestamp()
        strikes = self._strikes.setdefault(name, _Strikes(now, self._answered))
        strikes.times += 1
        forget_oldest(self._strikes)
        # One that is busy may well take others' smaller questions.
        others = why == "down" and self._answered > strikes.answered
        return others or now - strikes.since >= _PATIENCE[why]

    def ended(self, name: str, *, answered: bool) -> None:
        """These turns are done with."""
        self._strikes.pop(name, None)
        self._answered += answered

    def wait(self, name: str) -> float:
        """Seconds until it is worth asking about these turns again."""
        strikes = self._strikes.get(name)
        times = 1 if strikes is None else strikes.times
        return backoff(times, base=_SOONEST, cap=_SLOWEST)
