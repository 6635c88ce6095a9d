"""The queue over all shards: claims that are gathered, given back, waited for."""

import asyncio
import logging
from typing import Final

from hmem.errors import HmemError, StoreError
from hmem.protocols import Claim
from hmem.stores import holds, leases
from hmem.stores.faults import UNREADABLE
from hmem.stores.handle import Handle

log = logging.getLogger("hmem.store")
_SECOND: Final = 1_000_000


class Queue:
    """What `Store` promises of `claim`, `renew`, `release`, `hurry`, `wait_for_work`."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._heads: dict[int, tuple[int, int]] = {}  # seen waiting, not claimed yet
        self._failing: set[int] = set()
        self._returning: set[asyncio.Task[list[Claim]]] = set()

    async def claim(self, *, worker: str, lease: float, limit: int) -> list[Claim]:
        """See `Store.claim`. Claims that arrive after a cancelled wait are given back, or
        end with their lease where the event loop ends first."""
        left = asyncio.Event()
        task = asyncio.create_task(
            self._offer(left, worker, int(lease * _SECOND), limit)
        )
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # Nothing is started here: a loop that ends waits for the tasks that it had
            # when it began to end, and destroys the others.
            left.set()
            if not task.done():
                self._returning.add(task)
                task.add_done_callback(self._returning.discard)
            elif not task.cancelled() and task.exception() is None:
                await self._give_back(task.result())  # the claims came at this moment
            raise

    async def _offer(
        self, left: asyncio.Event, worker: str, lease: int, limit: int
    ) -> list[Claim]:
        """Claim. Once the wait was `left`, what was claimed goes back."""
        try:
            claims = await self._claim(worker, lease, limit)
        except HmemError as e:
            if not left.is_set():
                raise
            log.info("nothing was claimed, and nobody waits: %s", e)
            return []
        if not left.is_set():
            return claims
        await self._give_back(claims)
        return []

    async def _give_back(self, claims: list[Claim]) -> None:
        try:
            for claim in claims:
                await self.release(claim, delay=0.0, attempted=False)
        except HmemError as e:
            log.info("claims that nobody waits for end with their lease: %s", e)

    async def _claim(self, worker: str, lease: int, limit: int) -> list[Claim]:
        claims: list[Claim] = []
        failed: dict[int, tuple[int, int]] = {}
        error: StoreError | None = None
        await self._look()
        while self._heads and len(claims) < limit:
            # A shard that fails comes last, and alone: it may take its whole busy timeout.
            failing, _, n = min(
                (n in self._failing, at, n) for n, at in self._heads.items()
            )
            if failing and claims:
                break
            head = self._heads.pop(n)
            terms = leases.Claiming(
                clock=self._handle.now,
                lease=lease,
                limit=limit - len(claims),
                worker=worker,
                max_attempts=self._handle.config.max_attempts,
            )
            try:
                claims += await self._claim_in(n, terms)
            except StoreError as e:
                failed[n], error = head, e
                self._failing.add(n)
            else:
                self._failing.discard(n)
        self._heads = failed | self._heads
        if error is not None and not claims:
            raise error
        return claims

    async def _look(self) -> None:
        """Learn who waits longest in each shard that may have changed since the last
        look, and in no other: a claim costs what is new, not what waits. Of one shard
        alone nothing need be known."""
        shards = self._handle.wakeups.candidates()
        for n in shards:
            self._handle.wakeups.begin(n)
            self._heads.pop(n, None)
        if len(shards) == 1 and not self._heads:
            self._heads[shards[0]] = (0, 0)
            return
        for at, n in enumerate(shards):
            try:
                found = await self._handle.read(
                    n, lambda conn: leases.head(conn, self._handle.now())
                )
            except UNREADABLE as e:
                # The others go on; this one is looked at again at the next sweep.
                log.error("no jobs are claimed from shard %s: %s", n, e)
            except StoreError:
                self._handle.wakeups.later(shards[at:])
                raise
            else:
                self._handle.wakeups.end(n, more=False, next_due=found.next_due)
                if found.first is not None:
                    self._heads[n] = found.first

    async def _claim_in(self, n: int, terms: leases.Claiming) -> list[Claim]:
        try:
            found = await self._handle.write(n, lambda conn: leases.claim(conn, terms))
        except UNREADABLE as e:
            log.error("no jobs are claimed from shard %s: %s", n, e)
            return []
        self._handle.wakeups.end(n, more=found.more, next_due=found.next_due)
        return found.claims

    async def renew(self, claim: Claim, lease: float) -> bool:
        """See `Store.renew`."""
        n = self._handle.shard_of(claim.user_id)
        clock, length = self._handle.now, int(lease * _SECOND)
        held = await self._handle.write(
            n, lambda conn: holds.renew(conn, claim, clock, length)
        )
        if held:
            self._handle.wakeups.end(n, more=False, next_due=clock() + length)
        return held

    async def release(self, claim: Claim, *, delay: float, attempted: bool) -> None:
        """See `Store.release`."""
        n = self._handle.shard_of(claim.user_id)
        clock, wait = self._handle.now, int(delay * _SECOND)
        back = 0 if attempted else 1
        await self._handle.write(
            n, lambda conn: holds.release(conn, claim, clock, wait, back), bool
        )

    async def hurry(self, user_id: str) -> bool:
        """See `Store.hurry`."""
        n = self._handle.known(user_id)
        if n is None:
            return False
        return await self._handle.write(
            n, lambda conn: holds.hurry(conn, user_id), bool
        )

    async def wait(self, timeout: float) -> bool:
        """See `Store.wait_for_work`."""
        self._handle.check()
        return bool(self._heads) or await self._handle.wakeups.wait(timeout)

    async def drain(self) -> None:
        """Wait until nothing is being given back."""
        while self._returning:
            await asyncio.wait(list(self._returning))
