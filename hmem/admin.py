"""What spans users: `mem.admin`."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from hmem.editing import read_row_id
from hmem.inputs.counts import read_count
from hmem.inputs.scope import read_id
from hmem.paging import MAX_LIMIT, read_jobs, read_statuses
from hmem.parts import Parts
from hmem.records import JobPage, JobStatus
from hmem.worker import Worker

Call = Callable[[], AbstractContextManager[None]]


class Admin:
    """For operators; never for one user's request."""

    def __init__(
        self,
        call: Call,
        parts: Parts,
        worker: Worker | None,
        views: Callable[[], Mapping[str, int]],
        retry: Callable[[str, str], Awaitable[bool]],
    ) -> None:
        self._call = call
        self._parts = parts
        self._worker = worker
        self._views = views
        self._retry = retry

    async def stats(self) -> dict[str, Any]:
        """Counts over all users: the store's, and `embedder`, `llm`, `space`, `worker`,
        `views`; `models`: what this process has asked of the chat model, by purpose:
        calls, tokens, retries, milliseconds, failures, the forms of JSON, the cost;
        `decisions`: what became here of the facts that it proposed."""
        with self._call():
            stats = dict(await self._parts.store.stats())
            space, embedder = self._parts.space, self._parts.embedder
            stats["embedder"] = None if embedder is None else embedder.model
            stats["llm"] = None if self._parts.llm is None else self._parts.llm.model
            stats["models"] = self._parts.meter.snapshot()
            stats["decisions"] = dict(sorted(self._parts.meter.decisions.items()))
            stats["space"] = (
                None if space is None else {"model": space.model, "dim": space.dim}
            )
            stats["worker"] = self._worker_state()
            stats["views"] = dict(self._views())
            return stats

    async def health(self) -> dict[str, Any]:
        """`{"ok": bool, "problems": [...], ...}`: the store's checks, and what is down."""
        with self._call():
            health = dict(await self._parts.store.health())
            problems = [*health.get("problems", ()), *self._parts.degraded]
            worker = self._worker
            if worker is not None and worker.breaker.is_open:
                problems.append("the embedder is down; jobs wait")
            if worker is not None and worker.model_down:
                problems.append(
                    f"the chat model is down; extraction waits: {worker.model_down}"
                )
            if worker is not None and worker.leaves_work:
                problems.append(
                    "jobs wait for a chat model, and none reads here: run a worker with "
                    "HMEM_LLM set"
                )
            if worker is not None and worker.halted is not None:
                problems.append(str(worker.halted))
            return {**health, "ok": not problems, "problems": problems}

    async def queued(self) -> int:
        """Jobs of all users that have not ended."""
        with self._call():
            return await self._parts.store.queued()

    async def jobs(
        self,
        *,
        status: JobStatus | Iterable[JobStatus] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> JobPage:
        """Jobs of all users, the oldest first; `status` names one or several states. What
        ended is listed for `Config.receipt_days`.

        `limit` is at least 1 and capped at 1,000. The page's `cursor` fetches the next
        one, for the same states; any other raises InputError.
        """
        statuses = read_statuses(status)
        limit = read_count(limit, "limit", least=1, most=MAX_LIMIT)
        with self._call():
            store = self._parts.store
            return await read_jobs(store, statuses, limit=limit, cursor=cursor)

    async def retry(self, job_id: str, *, user_id: object) -> bool:
        """Queue a job again that ended as partial or dead, as new work under its id: its
        turns are read and embedded anew. False for any other job, an unknown id and one
        past `Config.receipt_days`. Raises QueueFullError.

        A fact that the first attempt stored is not stored twice while it is open and said
        in the same words. One that the model puts into other words this time may stand
        beside it, one that was closed since comes back, and the model's calls cost again.
        """
        user, name = read_id(user_id, "user_id"), read_row_id(job_id)
        with self._call():
            return await self._retry(user, name)

    def _worker_state(self) -> str:
        if self._worker is None:
            return "off"
        return "waiting" if self._worker.stuck else "running"
