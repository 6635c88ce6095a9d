"""What spans users: `mem.admin`."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from hmem.parts import Parts
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
    ) -> None:
        self._call = call
        self._parts = parts
        self._worker = worker
        self._views = views

    async def stats(self) -> dict[str, Any]:
        """Counts over all users: the store's, and `embedder`, `llm`, `space`, `worker`,
        `views`; `models`: what this process has asked of the chat model, by purpose:
        calls, tokens, retries, milliseconds, failures, the forms of JSON, the cost."""
        with self._call():
            stats = dict(await self._parts.store.stats())
            space, embedder = self._parts.space, self._parts.embedder
            stats["embedder"] = None if embedder is None else embedder.model
            stats["llm"] = None if self._parts.llm is None else self._parts.llm.model
            stats["models"] = self._parts.meter.snapshot()
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
            if worker is not None and worker.halted is not None:
                problems.append(str(worker.halted))
            return {**health, "ok": not problems, "problems": problems}

    async def queued(self) -> int:
        """Jobs of all users that have not ended."""
        with self._call():
            return await self._parts.store.queued()

    def _worker_state(self) -> str:
        if self._worker is None:
            return "off"
        return "waiting" if self._worker.stuck else "running"
