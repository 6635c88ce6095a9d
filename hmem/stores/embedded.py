"""The embedded store: one folder of SQLite shards, opened by any number of processes."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from hmem.config import Config
from hmem.protocols import (
    Accept,
    Accepted,
    Applied,
    Claim,
    Clock,
    Delta,
    Job,
    JobEntry,
    JobPlace,
    Mark,
    MemoryRow,
    Note,
    Profile,
    Space,
    TurnRow,
    WritePlan,
)
from hmem.records import Erased, JobStatus, Kind
from hmem.stores import (
    erase,
    erase_row,
    figures,
    jobs,
    plans,
    profiles,
    reads,
    retries,
    writes,
)
from hmem.stores.handle import Handle
from hmem.stores.queueing import Queue
from hmem.times import utc_now

TRUNCATE_WITHIN: Final = 2.0


class EmbeddedStore:
    """`hmem.protocols.Store` in SQLite files. See the protocol for what each verb promises.

    `separate_reader=False` lets reads share the writer's connection (for comparison).
    One object belongs to one event loop and one process.
    """

    def __init__(
        self, config: Config, *, separate_reader: bool = True, clock: Clock = utc_now
    ) -> None:
        self._handle = Handle(config, clock, separate_reader=separate_reader)
        self._queue = Queue(self._handle)

    async def open(self) -> None:
        """See `Store.open`."""
        await self._handle.open()

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        if self._handle.usable:
            await self._queue.drain()
        await self._handle.aclose()

    @property
    def hops(self) -> int:
        """Functions run on shards' threads so far: one per operation of the store."""
        return self._handle.pool.hops

    @property
    def commits(self) -> int:
        """Transactions committed so far."""
        return self._handle.pool.commits

    # ------------------------------------------------------------------- rows

    async def accept(self, user_id: str, accept: Accept) -> Accepted:
        """See `Store.accept`. The limit counts the other shards as last seen."""
        handle = self._handle
        n = handle.shard_of(user_id)
        room = writes.Room(handle.config.queue_limit, handle.pool.queued_outside(n))
        return await handle.write(
            n,
            lambda conn: writes.accept(conn, user_id, accept, room),
            lambda done: done.created and done.status == "queued",
        )

    async def delta(self, user_id: str, since: Mark | None = None) -> Delta | None:
        """See `Store.delta`."""
        n = self._handle.known(user_id)
        if n is None:
            return None
        return await self._handle.read(
            n, lambda conn: reads.delta(conn, user_id, since)
        )

    async def rows(
        self, user_id: str, ids: Sequence[str]
    ) -> list[MemoryRow | TurnRow | None]:
        """See `Store.rows`."""
        n = self._handle.known(user_id)
        if n is None:
            return [None] * len(ids)
        return await self._handle.read(n, lambda conn: reads.rows(conn, user_id, ids))

    async def page(
        self, user_id: str, kind: Kind, *, after: int, limit: int, closed: bool = False
    ) -> list[MemoryRow] | list[TurnRow]:
        """See `Store.page`."""
        n = self._handle.known(user_id)
        if n is None:
            return []
        return await self._handle.read(
            n,
            lambda conn: reads.page(conn, user_id, kind, after, limit, closed=closed),
        )

    async def chain(self, user_id: str, id: str) -> list[MemoryRow]:  # noqa: A002
        """See `Store.chain`."""
        n = self._handle.known(user_id)
        if n is None:
            return []
        return await self._handle.read(n, lambda conn: reads.chain(conn, user_id, id))

    async def notes(self, user_id: str, id: str) -> list[Note]:  # noqa: A002
        """See `Store.notes`."""
        n = self._handle.known(user_id)
        if n is None:
            return []
        return await self._handle.read(n, lambda conn: reads.notes(conn, user_id, id))

    async def profile(self, user_id: str) -> Profile | None:
        """See `Store.profile`."""
        n = self._handle.known(user_id)
        if n is None:
            return None
        return await self._handle.read(n, lambda conn: profiles.read(conn, user_id))

    async def apply(self, user_id: str, plan: WritePlan) -> Applied:
        """See `Store.apply`."""
        handle = self._handle
        done, _ = await handle.write(
            handle.shard_of(user_id),
            lambda conn: plans.apply(conn, user_id, plan, handle.now),
            lambda done: done[1],
        )
        return done

    # ------------------------------------------------------------------ queue

    async def claim(self, *, worker: str, lease: float, limit: int) -> list[Claim]:
        """See `Store.claim`."""
        self._handle.check()
        return await self._queue.claim(worker=worker, lease=lease, limit=limit)

    async def renew(self, claim: Claim, lease: float) -> bool:
        """See `Store.renew`."""
        return await self._queue.renew(claim, lease)

    async def release(
        self, claim: Claim, *, delay: float = 0.0, attempted: bool = True
    ) -> None:
        """See `Store.release`."""
        await self._queue.release(claim, delay=delay, attempted=attempted)

    async def hurry(self, user_id: str) -> bool:
        """See `Store.hurry`."""
        return await self._queue.hurry(user_id)

    async def job(self, user_id: str, job_id: str) -> Job | None:
        """See `Store.job`."""
        n = self._handle.known(user_id)
        if n is None:
            return None
        return await self._handle.read(n, lambda conn: jobs.job(conn, user_id, job_id))

    async def jobs(
        self,
        *,
        statuses: Sequence[JobStatus],
        limit: int,
        after: JobPlace | None = None,
    ) -> list[JobEntry]:
        """See `Store.jobs`."""
        self._handle.check()
        if limit <= 0 or not statuses:
            return []
        return await figures.listed(self._handle, statuses, limit, after)

    async def retry(self, user_id: str, job_id: str) -> bool:
        """See `Store.retry`. The limit counts the other shards as last seen."""
        handle = self._handle
        n = handle.known(user_id)
        if n is None:
            return False
        room = writes.Room(handle.config.queue_limit, handle.pool.queued_outside(n))
        return await handle.write(
            n,
            lambda conn: retries.retry(conn, user_id, job_id, handle.now(), room),
            bool,
        )

    async def queued(self, user_id: str | None = None) -> int:
        """See `Store.queued`. Of all users: those in shards that can be read."""
        self._handle.check()
        count = partial(jobs.queued, user_id=user_id)
        if user_id is not None:
            n = self._handle.known(user_id)
            return 0 if n is None else await self._handle.read(n, count)
        return await figures.queued(self._handle)

    async def wait_for_work(self, timeout: float) -> bool:
        """See `Store.wait_for_work`."""
        return await self._queue.wait(timeout)

    # ------------------------------------------------------------------ whole

    async def erase_user(self, user_id: str) -> Erased:
        """See `Store.erase_user`."""
        n = self._handle.known(user_id)
        if n is None:
            return Erased(rows={})
        rows = await self._handle.write(n, lambda conn: erase.erase(conn, user_id))
        return Erased(rows=rows, pending=await self._left(n))

    async def erase(self, user_id: str, id: str) -> Erased:  # noqa: A002
        """See `Store.erase`."""
        n = self._handle.known(user_id)
        if n is None:
            return Erased(rows={})
        rows, _ = await self._handle.write(
            n,
            lambda conn: erase_row.erase_row(conn, user_id, id),
            lambda done: done[1],
        )
        return Erased(rows=rows, pending=await self._left(n))

    async def _left(self, n: int) -> tuple[str, ...]:
        """What still holds what was erased, once the WAL is emptied. To be asked also when
        nothing was erased: an earlier call may have been cut off before this."""
        async with self._handle.pool.use(n) as shard:
            if await shard.truncate(TRUNCATE_WITHIN):
                return ()
        why = "a reader keeps old pages; a checkpoint ends them"
        return (f"{shard.path.name}-wal: {why}",)

    async def space(self) -> Space | None:
        """See `Store.space`."""
        folder = self._handle.folder
        await asyncio.to_thread(folder.reload)
        return folder.space

    async def adopt_space(self, model: str, dim: int) -> Space:
        """See `Store.adopt_space`."""
        return await asyncio.to_thread(self._handle.folder.adopt_space, model, dim)

    async def stats(self) -> Mapping[str, Any]:
        """See `Store.stats`; `bytes_by_table` is empty where SQLite cannot say."""
        return await figures.stats(self._handle)

    async def health(self) -> Mapping[str, Any]:
        """See `Store.health`."""
        return await figures.health(self._handle)
