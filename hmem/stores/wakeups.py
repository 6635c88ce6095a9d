"""Which shards may have jobs to claim: own commits, other processes' hints, due times."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final

from hmem.stores.hints import CELL, Hints

POLL: Final = 0.05
SWEEP: Final = 30.0


class Wakeups:
    """A guess that errs on the side of looking. `now` gives wall micros.

    A lost hint costs at most `SWEEP` seconds: then every existing shard is looked at.
    """

    def __init__(
        self,
        hints: Hints,
        existing: Callable[[], Iterable[int]],
        now: Callable[[], int],
    ) -> None:
        self._hints = hints
        self._existing = existing
        self._now = now
        self._seen = hints.read()
        self._dirty: set[int] = set(existing())
        self._due: dict[int, int] = {}
        self._wake = asyncio.Event()
        self._closed = False
        self._next_sweep = time.monotonic() + SWEEP

    def tell(self, n: int) -> None:
        """Shard `n` got work: wake waiters here and in other processes."""
        self._hints.touch(n)
        self.note(n)

    def note(self, n: int) -> None:
        """Shard `n` may have work; others were told."""
        self._dirty.add(n)
        self._wake.set()

    def later(self, shards: Iterable[int]) -> None:
        """These were not looked at after all."""
        self._dirty.update(shards)

    def candidates(self) -> list[int]:
        """Shards to look at now."""
        self._look()
        return sorted(self._dirty)

    def begin(self, n: int) -> None:
        """A claim looks at shard `n` now: what is told from here on counts anew."""
        self._dirty.discard(n)
        self._due.pop(n, None)
        start = n * CELL
        cell = self._hints.read()[start : start + CELL]
        self._seen = self._seen[:start] + cell + self._seen[start + CELL :]

    def end(self, n: int, *, more: bool, next_due: int | None) -> None:
        """The claim found no more, or was full; a hold there ends at `next_due`."""
        if more:
            self._dirty.add(n)
        if next_due is not None:
            self._due[n] = min(next_due, self._due.get(n, next_due))

    async def wait(self, timeout: float) -> bool:
        """True as soon as a shard may have work."""
        deadline = time.monotonic() + timeout
        while not self._closed:
            self._look()
            if self._dirty:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._wake.clear()
            try:
                async with asyncio.timeout(min(left, POLL)):
                    await self._wake.wait()
            except TimeoutError:
                continue
        return False

    def close(self) -> None:
        """End every wait."""
        self._closed = True
        self._wake.set()

    def _look(self) -> None:
        cells = self._hints.read()
        if cells != self._seen:
            for start in range(0, len(cells), CELL):
                if cells[start : start + CELL] != self._seen[start : start + CELL]:
                    self._dirty.add(start // CELL)
            self._seen = cells
        now = self._now()
        over = [n for n, due in self._due.items() if due <= now]
        for n in over:
            del self._due[n]
        self._dirty.update(over)
        if time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + SWEEP
            self._dirty.update(self._existing())
