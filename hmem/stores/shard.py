"""One SQLite file: its two connections, one-hop runs, group commit, checkpoints."""

import asyncio
import logging
import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from hmem.errors import ForeignFolderError, HmemError, ReadOnlyStoreError
from hmem.stores import jobs
from hmem.stores.checkpoints import checkpoint, truncate
from hmem.stores.commits import (
    Batch,
    Function,
    Outcomes,
    Write,
    answer,
    in_commit,
    in_read,
)
from hmem.stores.connection import ShardConnection
from hmem.stores.faults import is_busy, translate
from hmem.stores.folder import Folder
from hmem.stores.schema import Pragmas, connect

T = TypeVar("T")
log = logging.getLogger("hmem.store")

MAX_BATCH: Final = 512
RUNNING: Final = 2
_PURGE_EVERY: Final = 64
_PURGE_ROWS: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all shards of a store share. `keep_receipts` gives the oldest to keep; `wake`
    is told the shard where a commit left work to do."""

    pragmas: Pragmas
    checkpoint_pages: int
    separate_reader: bool
    keep_receipts: Callable[[], int]
    wake: Callable[[int], None]


class Slots:
    """How many hops of one process's loop run at once: threads that compete for the
    interpreter delay the loop. Writers wait for the disk, so they have their own."""

    def __init__(self) -> None:
        self.read = asyncio.Semaphore(RUNNING)
        self.write = asyncio.Semaphore(RUNNING)


_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, Slots] = WeakKeyDictionary()


class Shard:
    """Opens its connections when they are first needed. Use it from one loop."""

    def __init__(self, number: int, folder: Folder, settings: Settings) -> None:
        self.number = number
        self.path: Path = folder.shard_path(number)
        self.users = 0
        self.queued = 0
        self.commits = 0
        self._past_hops = 0
        self._folder = folder
        self._settings = settings
        self._slots = _slots.setdefault(asyncio.get_running_loop(), Slots())
        self._opening = asyncio.Lock()
        self._writer: ShardConnection | None = None
        self._reader: ShardConnection | None = None
        self._pending: list[Write] = []
        self._committer: asyncio.Task[None] | None = None
        self._inode: int | None = None
        self._writes = 0
        self._pages_per_write = 8.0
        self._purged_to = 0
        self._purge_in = _PURGE_EVERY
        self._tidy = True

    @property
    def hops(self) -> int:
        """Functions run on the connections' threads so far."""
        open_ones = [c for c in (self._writer, self._reader) if c is not None]
        return self._past_hops + sum(c.hops for c in open_ones)

    @property
    def idle(self) -> bool:
        """Whether it may be closed."""
        return self.users == 0 and (self._committer is None or self._committer.done())

    async def read(self, fn: Function[T]) -> T:
        """Run `fn` in one read transaction, in one hop."""
        connection = await self._connection(write=self._shares)
        try:
            async with self._slots.read:
                return await connection.run(partial(in_read, fn))
        except sqlite3.Error as e:
            raise translate(e, self.path.name) from e

    @property
    def _shares(self) -> bool:
        return not self._settings.separate_reader and not self._folder.read_only

    async def write(
        self, fn: Function[T], wakes: Callable[[T], bool] = lambda _: False
    ) -> T:
        """Run `fn` in the next commit. Durable when it returns. Cancelling the wait does
        not cancel `fn`, nor the call for workers if `wakes` says so of its result."""
        if self._folder.read_only:
            raise ReadOnlyStoreError("the store is open for reading only")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._pending.append(Write(fn, future, wakes))
        if self._committer is None or self._committer.done():
            self._committer = asyncio.create_task(self._commit_all())
        # The task that is being cancelled may be one of a loop that ends: what it starts
        # must end with its answer, or is destroyed.
        self._tidy = not _being_cancelled()
        return await future

    async def close(self) -> None:
        """Commit what is pending, then close. Idempotent."""
        while self._committer is not None and not self._committer.done():
            await asyncio.wait([self._committer])
        for connection in (self._reader, self._writer):
            if connection is not None:
                await connection.close()
                self._past_hops += connection.hops
        self._reader = self._writer = None

    async def _connection(self, *, write: bool) -> ShardConnection:
        found = self._writer if write else self._reader
        if found is None:
            # An open that nobody waits for any more must not leave a connection behind.
            found = await asyncio.shield(asyncio.create_task(self._open(write=write)))
        return found

    async def _open(self, *, write: bool) -> ShardConnection:
        async with self._opening:
            found = self._writer if write else self._reader
            if found is None:
                guard = partial(self._folder.checkpoint_lock, self.number)
                connector = partial(
                    _connect, self._folder, self.number, self._settings.pragmas, write
                )
                try:
                    found = ShardConnection(connector, guard)
                    await found
                except sqlite3.Error as e:
                    raise translate(e, self.path.name) from e
                if write:
                    self._writer = found
                    self._inode = self._inode_there()
                else:
                    self._reader = found
            return found

    def _inode_there(self) -> int | None:
        try:
            return self.path.stat().st_ino
        except OSError:
            return None

    def _check_there(self) -> None:
        """Raise ForeignFolderError when the open file is not the one at the path any more:
        what is written to it would be acknowledged and lost."""
        if self._inode is None or self._inode_there() != self._inode:
            raise ForeignFolderError(
                f"{self.path} was removed or replaced while it was open: open it anew"
            )

    # ------------------------------------------------------------------ committing

    async def _commit_all(self) -> None:
        """Commit until nothing is pending: all that waits goes into one transaction."""
        batch: list[Write] = []
        try:
            while self._pending:
                await self._gather()
                batch, self._pending = (
                    self._pending[:MAX_BATCH],
                    self._pending[MAX_BATCH:],
                )
                done = await self._commit([write.fn for write in batch])
                if answer(batch, done.outcomes):
                    self._settings.wake(self.number)
                self._writes += len(batch)
                await asyncio.sleep(0)  # let those just answered add to the next commit
                if self._tidy:
                    await self._keep_house()
        except asyncio.CancelledError:  # the loop ends; who waits from now on, too
            answer(batch + self._pending, None)
            raise

    async def _gather(self) -> None:
        """Wait while more keeps coming: flushing a hundred costs what flushing one does.

        A burst that is let past a few at a time leaves one turn of the loop empty.
        """
        seen = quiet = 0
        while quiet < 2 and len(self._pending) < MAX_BATCH:
            quiet = 0 if len(self._pending) > seen else quiet + 1
            seen = len(self._pending)
            await asyncio.sleep(0)

    async def _commit(self, fns: list[Function[Any]]) -> Batch:
        deadline = time.monotonic() + self._settings.pragmas.busy
        try:
            connection = await self._connection(write=True)
            while True:
                self._check_there()
                async with self._slots.write:
                    batch = await connection.run(partial(in_commit, fns))
                if batch is not None:
                    self.queued = batch.queued
                    self.commits += 1
                    return batch
                if time.monotonic() >= deadline:
                    error = sqlite3.OperationalError("database is locked")
                    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                    raise error
                # Waiting here, not in SQLite, leaves the slots to the other shards.
                await asyncio.sleep(random.uniform(0.001, 0.02))
        except sqlite3.Error as e:
            return self._failed(fns, translate(e, self.path.name), e)
        except HmemError as e:
            return self._failed(fns, e, e.__cause__)
        except Exception as e:  # noqa: BLE001 - those who wait must hear of it
            return Batch([(None, e) for _ in fns], self.queued)

    def _failed(
        self, fns: list[Function[Any]], error: HmemError, cause: BaseException | None
    ) -> Batch:
        """The same failure for all, each with an exception of its own."""
        outcomes: Outcomes = []
        for _ in fns:
            own = type(error)(*error.args)
            own.__cause__ = cause
            outcomes.append((None, own))
        return Batch(outcomes, self.queued)

    # --------------------------------------------------------------- housekeeping

    async def _keep_house(self) -> None:
        """Checkpoint and forget old receipts when it is time. Failing is no error of the
        writes: it is tried again later."""
        self._purge_in -= 1
        writer = self._writer
        if writer is None:
            return
        try:
            if self._purge_in <= 0:
                self._purge_in = _PURGE_EVERY
                await self._purge(writer)
            if self._writes * self._pages_per_write >= self._settings.checkpoint_pages:
                await self._checkpoint(writer)
        except (sqlite3.Error, HmemError) as e:
            log.warning("housekeeping of %s failed: %s", self.path.name, e)
            self._writes = 0

    async def _purge(self, writer: ShardConnection) -> None:
        before = self._settings.keep_receipts()

        def purge(conn: sqlite3.Connection) -> int:
            return jobs.purge(conn, self._purged_to, before, _PURGE_ROWS)

        batch = await writer.run(partial(in_commit, [purge]))
        if batch is not None and batch.outcomes[0][1] is None:
            self._purged_to = batch.outcomes[0][0]

    async def _checkpoint(self, writer: ShardConnection) -> None:
        """Move the WAL's pages into the file; cut it short when it has grown large."""
        limit = self._settings.pragmas.journal_limit
        done = await writer.run(partial(checkpoint, self._folder, self.number, limit))
        if done is not None and done[1] > 0:
            seen = done[1] / max(self._writes, 1)
            self._pages_per_write = min(max(seen, 0.5), 200.0)
        self._writes = 0

    async def truncate(self, timeout: float) -> bool:
        """Empty the WAL. False if a reader kept it from being emptied that long."""
        deadline = time.monotonic() + timeout
        while True:
            writer = await self._connection(write=True)
            try:
                done = await writer.run(partial(truncate, self._folder, self.number))
            except sqlite3.Error as e:
                if not is_busy(e):
                    raise translate(e, self.path.name) from e
                done = (1, 0, 0)
            if done[0] == 0:
                return True
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(0.02)


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _connect(
    folder: Folder,
    n: int,
    pragmas: Pragmas,
    write: bool,  # noqa: FBT001
) -> sqlite3.Connection:
    path = folder.shard_path(n) if folder.read_only else folder.create_shard(n)
    guard = partial(folder.checkpoint_lock, n)
    return connect(path, pragmas, guard, write=write, read_only=folder.read_only)
