"""What spans users, for synchronous callers: `mem.admin`."""

from collections.abc import Iterable
from typing import Any

from hmem.memory import AsyncMemory
from hmem.records import JobPage, JobStatus
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

    def jobs(
        self,
        *,
        status: JobStatus | Iterable[JobStatus] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> JobPage:
        """See `Admin.jobs`."""
        return self._loop.run(
            lambda: self._inner.admin.jobs(status=status, limit=limit, cursor=cursor)
        )

    def retry(self, job_id: str, *, user_id: object) -> bool:
        """See `Admin.retry`."""
        return self._loop.run(lambda: self._inner.admin.retry(job_id, user_id=user_id))
