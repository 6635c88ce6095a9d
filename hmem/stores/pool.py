"""The shards that are open: the least recently used go when there are too many."""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from hmem.errors import ClosedError
from hmem.stores.shard import Shard

# Per shard: file and WAL for each of two connections, the shared memory once, and the
# lock file while it checkpoints.
_FDS_PER_SHARD: Final = 6
_FDS_KEPT: Final = 64


class _Use:
    """A shard in use. A class, since every read and write has one: a generator takes three
    times as long."""

    __slots__ = ("_n", "_pool", "_shard")

    def __init__(self, pool: "Pool", n: int) -> None:
        self._pool, self._n = pool, n

    async def __aenter__(self) -> Shard:
        self._shard = await self._pool.take(self._n)
        return self._shard

    async def __aexit__(self, *_: object) -> None:
        self._pool.let_go(self._shard)


class Pool:
    """Opens shards and closes those that nobody uses. Use it from one loop."""

    def __init__(self, make: Callable[[int], Shard], limit: int) -> None:
        self.limit = max(1, min(limit, affordable()))
        self._make = make
        self._open: OrderedDict[int, Shard] = OrderedDict()
        self._closing: dict[int, asyncio.Task[None]] = {}
        self._freed = asyncio.Event()
        self._closed = False
        self._past_hops = 0
        self._past_commits = 0
        self._queued: dict[int, int] = {}

    @property
    def open(self) -> Sequence[Shard]:
        """The open shards, the least recently used first."""
        return tuple(self._open.values())

    def __contains__(self, n: int) -> bool:
        return n in self._open

    @property
    def hops(self) -> int:
        """Functions run on shards' threads so far, those of closed shards too."""
        return self._past_hops + sum(s.hops for s in self._open.values())

    @property
    def commits(self) -> int:
        """Transactions committed so far."""
        return self._past_commits + sum(s.commits for s in self._open.values())

    def queued_outside(self, n: int) -> int:
        """Jobs that waited in the other shards when each was last written."""
        return sum(queued for m, queued in self._queued.items() if m != n)

    def use(self, n: int) -> "_Use":
        """Shard `n`, kept open within an `async with`."""
        return _Use(self, n)

    async def take(self, n: int) -> Shard:
        """Shard `n`, kept open until it is let go."""
        shard = self._open.get(n)
        while shard is None:
            if self._closed:
                raise ClosedError("the store was closed")
            if n in self._closing:
                await asyncio.wait([self._closing[n]])
            elif len(self._open) + len(self._closing) >= self.limit:
                await self._make_room()
            else:
                self._open[n] = self._make(n)
            shard = self._open.get(n)
        self._open.move_to_end(n)
        shard.users += 1
        return shard

    def let_go(self, shard: Shard) -> None:
        """What was taken is used no more."""
        shard.users -= 1
        self._queued[shard.number] = shard.queued
        self._freed.set()

    async def _make_room(self) -> None:
        """Start closing the shard that was idle longest, or wait for any to be idle."""
        idle = next((s for s in self._open.values() if s.idle), None)
        if idle is not None:
            del self._open[idle.number]
            task = asyncio.create_task(self._close(idle))
            self._closing[idle.number] = task
        if self._closing:
            await asyncio.wait(
                self._closing.values(), return_when=asyncio.FIRST_COMPLETED
            )
            return
        self._freed.clear()
        # A shard is not idle before its committer ends, and that tells nobody.
        try:
            async with asyncio.timeout(0.05):
                await self._freed.wait()
        except TimeoutError:
            return

    async def _close(self, shard: Shard) -> None:
        try:
            await shard.close()
            self._past_hops += shard.hops
            self._past_commits += shard.commits
        finally:
            del self._closing[shard.number]
            self._freed.set()

    async def close(self) -> None:
        """Close all, after what is running."""
        self._closed = True
        while self._open or self._closing:
            for shard in self.open:
                if shard.users == 0:
                    del self._open[shard.number]
                    self._closing[shard.number] = asyncio.create_task(
                        self._close(shard)
                    )
            if self._closing:
                await asyncio.wait(list(self._closing.values()))
            else:
                self._freed.clear()
                await self._freed.wait()


def affordable() -> int:
    """How many shards the process's limit on open files leaves room for."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return 64
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 4096
    try:
        used = len(os.listdir("/proc/self/fd"))
    except OSError:
        used = 32
    return (soft - used - _FDS_KEPT) // _FDS_PER_SHARD
