"""The embedded store: one folder of SQLite shards, opened by any number of processes."""

import asyncio
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from hmem.config import Config
from hmem.errors import (
    ClosedError,
    ForkedError,
    HmemError,
    NotOpenError,
    ReadOnlyStoreError,
    WrongLoopError,
)
from hmem.protocols import (
    Accept,
    Accepted,
    Applied,
    Claim,
    Clock,
    Delta,
    Job,
    Mark,
    MemoryRow,
    Space,
    TurnRow,
    WritePlan,
)
from hmem.records import Erased, Kind
from hmem.stores import erase, jobs, plans, reads, rowcodec, writes
from hmem.stores.folder import Folder, bucket
from hmem.stores.pool import Pool
from hmem.stores.schema import Pragmas
from hmem.stores.shard import FRAME, Settings, Shard, wal_size
from hmem.stores.wakeups import Wakeups
from hmem.times import to_micros, utc_now

T = TypeVar("T")
RUNNING: Final = 2
TRUNCATE_WITHIN: Final = 2.0
_SECOND: Final = 1_000_000


class EmbeddedStore:
    """`hmem.protocols.Store` in SQLite files. See the protocol for what each verb promises.

    `separate_reader=False` lets reads share the writer's connection (for comparison).
    One object belongs to one event loop and one process.
    """

    def __init__(
        self, config: Config, *, separate_reader: bool = True, clock: Clock = utc_now
    ) -> None:
        self.config = config
        self._clock = clock
        self._separate_reader = separate_reader
        self._folder: Folder | None = None
        self._pool: Pool
        self._wakeups: Wakeups
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._closed = False
        self._turn = 0

    # ------------------------------------------------------------------- life

    async def open(self) -> None:
        """See `Store.open`."""
        if self._folder is not None and not self._closed:
            self._opened()
            return
        config = self.config
        folder = await asyncio.to_thread(
            Folder.open,
            config.folder,
            shards=config.shards,
            read_only=config.read_only,
            allow_network=config.allow_network_folder,
        )
        settings = Settings(
            pragmas=Pragmas(
                durability=config.durability.upper(),
                busy=config.busy_timeout,
                journal_limit=4 * config.checkpoint_pages * FRAME,
            ),
            checkpoint_pages=config.checkpoint_pages,
            separate_reader=self._separate_reader,
            read_slots=asyncio.Semaphore(RUNNING),
            write_slots=asyncio.Semaphore(RUNNING),
            keep_receipts=lambda: self._now() - int(config.receipt_days * 86_400e6),
        )
        self._pool = Pool(lambda n: Shard(n, folder, settings), config.open_shards)
        self._folder, self._closed = folder, False
        self._loop, self._pid = asyncio.get_running_loop(), os.getpid()
        self._wakeups = Wakeups(folder.hints, self._existing, self._now)

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        if self._folder is None or self._closed or self._pid != os.getpid():
            return
        self._closed = True
        await self._pool.close()
        self._folder.close()

    @property
    def hops(self) -> int:
        """Functions run on the open shards' threads so far."""
        return sum(shard.hops for shard in self._pool.open)

    def _opened(self) -> Folder:
        folder = self._folder
        if folder is None:
            raise NotOpenError(
                "open the store first: async with AsyncMemory(...) as mem"
            )
        if self._pid != os.getpid():
            raise ForkedError("this process was forked: open a store of its own here")
        if self._closed:
            raise ClosedError("the store was closed: open it again")
        if asyncio.get_running_loop() is not self._loop:
            raise WrongLoopError("the store belongs to the event loop that opened it")
        return folder

    def _now(self) -> int:
        return to_micros(self._clock())

    def _existing(self) -> list[int]:
        folder = self._folder
        if folder is None:
            return []
        return [n for n in range(folder.shards) if folder.shard_path(n).exists()]

    def _known(self, user_id: str) -> int | None:
        """The user's shard, None while it has no file."""
        folder = self._opened()
        n = bucket(user_id, folder.shards)
        return n if folder.shard_path(n).exists() else None

    async def _read(self, n: int, fn: Callable[[sqlite3.Connection], T]) -> T:
        async with self._pool.use(n) as shard:
            return await shard.read(fn)

    async def _write(self, n: int, fn: Callable[[sqlite3.Connection], T]) -> T:
        if self._opened().read_only:
            raise ReadOnlyStoreError("the store is open for reading only")
        async with self._pool.use(n) as shard:
            return await shard.write(fn)

    # ------------------------------------------------------------------- rows

    async def accept(self, user_id: str, accept: Accept) -> Accepted:
        """See `Store.accept`."""
        n = bucket(user_id, self._opened().shards)
        elsewhere = sum(s.queued for s in self._pool.open if s.number != n)
        room = writes.Room(self.config.queue_limit, elsewhere)
        done = await self._write(
            n, lambda conn: writes.accept(conn, user_id, accept, room)
        )
        if done.created and done.status == "queued":
            self._wakeups.tell(n)
        return done

    async def delta(self, user_id: str, since: Mark | None = None) -> Delta | None:
        """See `Store.delta`."""
        n = self._known(user_id)
        if n is None:
            return None
        return await self._read(n, lambda conn: reads.delta(conn, user_id, since))

    async def rows(
        self, user_id: str, ids: Sequence[str]
    ) -> list[MemoryRow | TurnRow | None]:
        """See `Store.rows`."""
        n = self._known(user_id)
        if n is None:
            return [None] * len(ids)
        return await self._read(n, lambda conn: reads.rows(conn, user_id, ids))

    async def page(
        self, user_id: str, kind: Kind, *, after: int, limit: int, closed: bool = False
    ) -> list[MemoryRow] | list[TurnRow]:
        """See `Store.page`."""
        n = self._known(user_id)
        if n is None:
            return []
        return await self._read(
            n,
            lambda conn: reads.page(conn, user_id, kind, after, limit, closed=closed),
        )

    async def chain(self, user_id: str, id: str) -> list[MemoryRow]:  # noqa: A002
        """See `Store.chain`."""
        n = self._known(user_id)
        if n is None:
            return []
        return await self._read(n, lambda conn: reads.chain(conn, user_id, id))

    async def apply(self, user_id: str, plan: WritePlan) -> Applied:
        """See `Store.apply`."""
        n = bucket(user_id, self._opened().shards)
        done = await self._write(n, lambda conn: plans.apply(conn, user_id, plan))
        if plan.end is not None and done.refused is None:
            self._wakeups.tell(n)
        return done

    # ------------------------------------------------------------------ queue

    async def claim(self, *, worker: str, lease: float, limit: int) -> list[Claim]:
        """See `Store.claim`."""
        self._opened()
        claims: list[Claim] = []
        shards = self._wakeups.candidates()
        self._turn += 1
        at = self._turn % max(len(shards), 1)
        for n in shards[at:] + shards[:at]:
            if len(claims) >= limit:
                break
            claims += await self._claim_in(n, worker, lease, limit - len(claims))
        return claims

    async def _claim_in(
        self, n: int, worker: str, lease: float, limit: int
    ) -> list[Claim]:
        self._wakeups.begin(n)
        terms = jobs.Claiming(
            now=self._now(),
            lease=int(lease * _SECOND),
            limit=limit,
            worker=worker,
            max_attempts=self.config.max_attempts,
        )
        try:
            found = await self._write(n, lambda conn: jobs.claim(conn, terms))
        except BaseException:
            self._wakeups.note(n)
            raise
        self._wakeups.end(n, more=found.more, next_due=found.next_due)
        return found.claims

    async def renew(self, claim: Claim, lease: float) -> bool:
        """See `Store.renew`."""
        n = bucket(claim.user_id, self._opened().shards)
        now, length = self._now(), int(lease * _SECOND)
        return await self._write(n, lambda conn: jobs.renew(conn, claim, now, length))

    async def release(
        self, claim: Claim, *, delay: float = 0.0, attempted: bool = True
    ) -> None:
        """See `Store.release`."""
        n = bucket(claim.user_id, self._opened().shards)
        now, wait, back = self._now(), int(delay * _SECOND), 0 if attempted else 1
        await self._write(n, lambda conn: jobs.release(conn, claim, now, wait, back))
        self._wakeups.tell(n)

    async def job(self, user_id: str, job_id: str) -> Job | None:
        """See `Store.job`."""
        n = self._known(user_id)
        if n is None:
            return None
        return await self._read(n, lambda conn: jobs.job(conn, user_id, job_id))

    async def queued(self, user_id: str | None = None) -> int:
        """See `Store.queued`."""
        self._opened()
        if user_id is not None:
            n = self._known(user_id)
            shards = [] if n is None else [n]
        else:
            shards = self._existing()
        count = partial(jobs.queued, user_id=user_id)
        return sum([await self._read(n, count) for n in shards])

    async def wait_for_work(self, timeout: float) -> bool:
        """See `Store.wait_for_work`."""
        self._opened()
        return await self._wakeups.wait(timeout)

    # ------------------------------------------------------------------ whole

    async def erase_user(self, user_id: str) -> Erased:
        """See `Store.erase_user`."""
        n = self._known(user_id)
        if n is None:
            return Erased(rows={})
        rows = await self._write(n, lambda conn: erase.erase(conn, user_id))
        if not rows:
            return Erased(rows={})
        async with self._pool.use(n) as shard:
            emptied = await shard.truncate(TRUNCATE_WITHIN)
        name = f"{shard.path.name}-wal"
        why = f"{name}: a reader still uses it; old pages go at the next checkpoint"
        return Erased(rows=rows, pending=() if emptied else (why,))

    async def space(self) -> Space | None:
        """See `Store.space`."""
        folder = self._opened()
        await asyncio.to_thread(folder.reload)
        return folder.space

    async def adopt_space(self, model: str, dim: int) -> Space:
        """See `Store.adopt_space`."""
        return await asyncio.to_thread(self._opened().adopt_space, model, dim)

    async def stats(self) -> Mapping[str, Any]:
        """See `Store.stats`."""
        folder = self._opened()
        rows: Counter[str] = Counter()
        by_status: Counter[str] = Counter()
        by_table: Counter[str] = Counter()
        shards = self._existing()
        for n in shards:
            found = await self._read(n, erase.counts)
            rows, by_status = rows + found[0], by_status + found[1]
            by_table += found[2]
        paths = [folder.shard_path(n) for n in shards]
        return {
            "users": rows["users"],
            "memories": rows["memories"],
            "turns": rows["episodes"],
            "jobs": {status: by_status[status] for status in jobs.STATES},
            "bytes": sum(path.stat().st_size + wal_size(path) for path in paths),
            "rows_by_table": dict(rows),
            "bytes_by_table": dict(by_table),
            "shards": len(shards),
            "open_shards": len(self._pool.open),
        }

    async def health(self) -> Mapping[str, Any]:
        """See `Store.health`."""
        folder = self._opened()
        problems: list[str] = []
        wal: dict[str, int] = {}
        for n in self._existing():
            path = folder.shard_path(n)
            wal[path.name] = wal_size(path)
            try:
                problems += [
                    f"{path.name}: {p}" for p in await self._read(n, erase.check)
                ]
            except HmemError as e:
                problems.append(f"{path.name}: {e}")
        return {
            "ok": not problems,
            "problems": problems,
            "sqlite": sqlite3.sqlite_version,
            "shards": folder.shards,
            "read_only": folder.read_only,
            "wal_bytes": wal,
            "damaged_metadata": rowcodec.damaged_metadata,
        }
