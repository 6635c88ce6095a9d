"""The reading verbs of `Memory`: each one line onto its loop."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hmem.memory import AsyncMemory
from hmem.records import (
    Block,
    Category,
    Episode,
    HistoryEvent,
    Kind,
    MemoryRecord,
    Page,
    SearchResult,
    Timeline,
)
from hmem.sync.loop import LoopThread
from hmem.times import During, Time


class SyncReading:
    """What can be asked of a memory that is open."""

    _inner: AsyncMemory
    _loop: LoopThread

    def search(
        self,
        query: str,
        *,
        user_id: object,
        k: int = 10,
        vector: Sequence[float] | None = None,
        agent_id: object = None,
        session_id: object = None,
        category: Category | None = None,
        filters: Mapping[str, Any] | None = None,
        asked_at: Time | None = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        min_score: float | None = None,
        explain: bool = False,
        timeout: float | None = None,
    ) -> SearchResult:
        """See `AsyncMemory.search`."""
        return self._loop.run(
            lambda: self._inner.search(
                query,
                user_id=user_id,
                k=k,
                vector=vector,
                agent_id=agent_id,
                session_id=session_id,
                category=category,
                filters=filters,
                asked_at=asked_at,
                as_of=as_of,
                known_at=known_at,
                during=during,
                kinds=kinds,
                min_score=min_score,
                explain=explain,
                timeout=timeout,
            )
        )

    def context(
        self,
        query: str,
        *,
        user_id: object,
        max_tokens: int | None = None,
        vector: Sequence[float] | None = None,
        agent_id: object = None,
        session_id: object = None,
        category: Category | None = None,
        filters: Mapping[str, Any] | None = None,
        asked_at: Time | None = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        min_score: float | None = None,
        timeout: float | None = None,
    ) -> Block:
        """See `AsyncMemory.context`."""
        return self._loop.run(
            lambda: self._inner.context(
                query,
                user_id=user_id,
                max_tokens=max_tokens,
                vector=vector,
                agent_id=agent_id,
                session_id=session_id,
                category=category,
                filters=filters,
                asked_at=asked_at,
                as_of=as_of,
                known_at=known_at,
                during=during,
                kinds=kinds,
                min_score=min_score,
                timeout=timeout,
            )
        )

    def get(self, id: str, *, user_id: object) -> MemoryRecord | Episode | None:
        """See `AsyncMemory.get`."""
        return self._loop.run(lambda: self._inner.get(id, user_id=user_id))

    def get_all(
        self,
        *,
        user_id: object,
        limit: int = 100,
        cursor: str | None = None,
        category: Category | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        entity: str | None = None,
        filters: Mapping[str, Any] | None = None,
        agent_id: object = None,
        session_id: object = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
    ) -> Page:
        """See `AsyncMemory.get_all`."""
        return self._loop.run(
            lambda: self._inner.get_all(
                user_id=user_id,
                limit=limit,
                cursor=cursor,
                category=category,
                kinds=kinds,
                entity=entity,
                filters=filters,
                agent_id=agent_id,
                session_id=session_id,
                as_of=as_of,
                known_at=known_at,
                during=during,
            )
        )

    def timeline(
        self,
        user_id: object,
        *,
        entity: str | None = None,
        category: Category | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        filters: Mapping[str, Any] | None = None,
        agent_id: object = None,
        session_id: object = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Timeline:
        """See `AsyncMemory.timeline`."""
        return self._loop.run(
            lambda: self._inner.timeline(
                user_id,
                category=category,
                kinds=kinds,
                entity=entity,
                filters=filters,
                agent_id=agent_id,
                session_id=session_id,
                as_of=as_of,
                known_at=known_at,
                during=during,
                limit=limit,
                cursor=cursor,
            )
        )

    def count(
        self,
        user_id: object,
        *,
        category: Category | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        entity: str | None = None,
        filters: Mapping[str, Any] | None = None,
        agent_id: object = None,
        session_id: object = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
    ) -> int:
        """See `AsyncMemory.count`."""
        return self._loop.run(
            lambda: self._inner.count(
                user_id,
                category=category,
                kinds=kinds,
                entity=entity,
                filters=filters,
                agent_id=agent_id,
                session_id=session_id,
                as_of=as_of,
                known_at=known_at,
                during=during,
            )
        )

    def history(self, id: str, *, user_id: object) -> list[HistoryEvent]:
        """See `AsyncMemory.history`."""
        return self._loop.run(lambda: self._inner.history(id, user_id=user_id))
