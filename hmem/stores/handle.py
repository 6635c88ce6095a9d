"""An open folder: who may use it, and how a function reaches its shard."""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from typing import Final, TypeVar

from hmem.config import Config
from hmem.errors import (
    ClosedError,
    ForkedError,
    LifecycleError,
    NotOpenError,
    ReadOnlyStoreError,
    WrongLoopError,
)
from hmem.protocols import Clock
from hmem.stores.checkpoints import FRAME
from hmem.stores.folder import Folder, bucket
from hmem.stores.pool import Pool
from hmem.stores.schema import Pragmas
from hmem.stores.shard import Settings, Shard
from hmem.stores.wakeups import Wakeups
from hmem.times import to_micros

T = TypeVar("T")
_LARGE: Final = 4  # a WAL of so many times `checkpoint_pages` is cut short


class Handle:
    """One process's, one event loop's way into a folder. `folder` checks on each use."""

    def __init__(self, config: Config, clock: Clock, *, separate_reader: bool) -> None:
        self.config = config
        self.pool: Pool
        self.wakeups: Wakeups
        self._clock = clock
        self._separate_reader = separate_reader
        self._folder: Folder | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._closed = False

    async def open(self) -> None:
        """Open or create the folder. Idempotent; a closed one can be opened again."""
        if self._folder is not None and not self._closed:
            self.check()
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
                journal_limit=_LARGE * config.checkpoint_pages * FRAME,
            ),
            checkpoint_pages=config.checkpoint_pages,
            separate_reader=self._separate_reader,
            wake=lambda n: self.wakeups.tell(n),
            keep_receipts=lambda: self.now() - int(config.receipt_days * 86_400e6),
        )
        self.pool = Pool(lambda n: Shard(n, folder, settings), config.open_shards)
        self._folder, self._closed = folder, False
        self._loop, self._pid = asyncio.get_running_loop(), os.getpid()
        self.wakeups = Wakeups(folder.hints, self.existing, self.now)

    async def aclose(self) -> None:
        """Finish what runs and close. Idempotent; in a forked child it does nothing."""
        if self._folder is None or self._closed or self._pid != os.getpid():
            return
        loop = self._loop
        if loop is not asyncio.get_running_loop() and loop and not loop.is_closed():
            raise WrongLoopError("close it in the event loop that opened it")
        self._closed = True
        self.wakeups.close()
        await self.pool.close()
        self._folder.close()

    @property
    def folder(self) -> Folder:
        """The folder. Raises the LifecycleError that fits if it may not be used now."""
        folder = self._folder
        if folder is None:
            raise NotOpenError("open it first: async with AsyncMemory(...) as mem")
        if self._pid != os.getpid():
            raise ForkedError("this process was forked: open a store of its own here")
        if self._closed:
            raise ClosedError("it was closed: open it again")
        if asyncio.get_running_loop() is not self._loop:
            raise WrongLoopError("it belongs to the event loop that opened it")
        return folder

    def check(self) -> None:
        """Raise what `folder` would raise."""
        _ = self.folder

    @property
    def usable(self) -> bool:
        """Whether it is open, in this process and in this loop."""
        try:
            self.check()
        except LifecycleError:
            return False
        return True

    def now(self) -> int:
        """Wall time in micros."""
        return to_micros(self._clock())

    def existing(self) -> list[int]:
        """The shards that have a file."""
        folder = self._folder
        if folder is None:
            return []
        return [n for n in range(folder.shards) if folder.shard_path(n).exists()]

    def shard_of(self, user_id: str) -> int:
        """The user's shard."""
        return bucket(user_id, self.folder.shards)

    def known(self, user_id: str) -> int | None:
        """The user's shard; None while it has no file, and then the user has no rows."""
        n = self.shard_of(user_id)
        return n if n in self.pool or self.folder.shard_path(n).exists() else None

    async def read(self, n: int, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn` in a read transaction of shard `n`."""
        async with self.pool.use(n) as shard:
            return await shard.read(fn)

    async def write(
        self,
        n: int,
        fn: Callable[[sqlite3.Connection], T],
        wakes: Callable[[T], bool] = lambda _: False,
    ) -> T:
        """Run `fn` in the next commit of shard `n`; durable when it returns. Workers are
        called where `wakes` says so of the result."""
        if self.folder.read_only:
            raise ReadOnlyStoreError(f"{self.folder.path} is open for reading only")
        async with self.pool.use(n) as shard:
            return await shard.write(fn, wakes)
