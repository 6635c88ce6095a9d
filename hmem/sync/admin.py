"""What spans users, for synchronous callers: `mem.admin`."""

from typing import Any

from hmem.memory import AsyncMemory
from hmem.sync.loop import LoopThread


class SyncAdmin:
    """For operators; never for one user's request. See `Admin` for each method."""

    def __init__(self, inner: AsyncMemory, loop: LoopThread) -> None:
        self._inner = inner
        self._loop = loop

    def stats(self) -> dict[str, Any]:
        """See `Admin.stats`."""
        return self._loop.run(lambda: self._inner.admin.stats())

    def health(self) -> dict[str, Any]:
        """See `Admin.health`."""
        return self._loop.run(lambda: self._inner.admin.health())

    def queued(self) -> int:
        """See `Admin.queued`."""
        return self._loop.run(lambda: self._inner.admin.queued())
