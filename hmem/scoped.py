"""The verbs of an AsyncMemory with the scope bound: each one line."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hmem.inputs.events import UNCHANGED, Unchanged
from hmem.inputs.scope import Scope
from hmem.protocols import Priority
from hmem.receipts import Receipt
from hmem.records import (
    Block,
    Category,
    Episode,
    Erased,
    HistoryEvent,
    Kind,
    MemoryRecord,
    Page,
    Preview,
    SearchResult,
    Timeline,
)
from hmem.times import During, Time

if TYPE_CHECKING:
    from hmem.memory import AsyncMemory


class Scoped:
    """One user (and agent, and session) of an AsyncMemory. See there for each verb.

    The labels are stored by `add` and filter in what searches, lists and counts; what
    goes by id is the user's as a whole.
    """

    def __init__(self, memory: "AsyncMemory", scope: Scope) -> None:
        self._memory = memory
        self.scope = scope

    async def add(
        self,
        messages: object,
        *,
        observed_at: Time | None = None,
        infer: bool = True,
        metadata: object = None,
        idempotency_key: str | None = None,
        priority: Priority = "live",
        wait: bool = False,
        timeout: float | None = None,
    ) -> Receipt:
        """See `AsyncMemory.add`."""
        return await self._memory.add(
            messages,
            user_id=self.scope.user_id,
            agent_id=self.scope.agent_id,
            session_id=self.scope.session_id,
            observed_at=observed_at,
            infer=infer,
            metadata=metadata,
            idempotency_key=idempotency_key,
            priority=priority,
            wait=wait,
            timeout=timeout,
        )

    async def preview(
        self,
        messages: object,
        *,
        observed_at: Time | None = None,
        timeout: float | None = None,
    ) -> list[Preview]:
        """See `AsyncMemory.preview`."""
        return await self._memory.preview(
            messages,
            user_id=self.scope.user_id,
            agent_id=self.scope.agent_id,
            session_id=self.scope.session_id,
            observed_at=observed_at,
            timeout=timeout,
        )

    async def search(
        self,
        query: str,
        *,
        k: int = 10,
        vector: Sequence[float] | None = None,
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
        return await self._memory.search(
            query,
            user_id=self.scope.user_id,
            k=k,
            vector=vector,
            agent_id=self.scope.agent_id,
            session_id=self.scope.session_id,
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

    async def context(
        self,
        query: str,
        *,
        max_tokens: int | None = None,
        vector: Sequence[float] | None = None,
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
        return await self._memory.context(
            query,
            user_id=self.scope.user_id,
            max_tokens=max_tokens,
            vector=vector,
            agent_id=self.scope.agent_id,
            session_id=self.scope.session_id,
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

    async def get(self, id: str) -> MemoryRecord | Episode | None:
        """See `AsyncMemory.get`."""
        return await self._memory.get(id, user_id=self.scope.user_id)

    async def get_all(
        self,
        *,
        limit: int = 100,
        cursor: str | None = None,
        category: Category | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        entity: str | None = None,
        filters: Mapping[str, Any] | None = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
    ) -> Page:
        """See `AsyncMemory.get_all`."""
        return await self._memory.get_all(
            user_id=self.scope.user_id,
            limit=limit,
            cursor=cursor,
            category=category,
            kinds=kinds,
            entity=entity,
            filters=filters,
            agent_id=self.scope.agent_id,
            session_id=self.scope.session_id,
            as_of=as_of,
            known_at=known_at,
            during=during,
        )

    async def timeline(
        self,
        *,
        entity: str | None = None,
        category: Category | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        filters: Mapping[str, Any] | None = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Timeline:
        """See `AsyncMemory.timeline`."""
        return await self._memory.timeline(
            user_id=self.scope.user_id,
            category=category,
            kinds=kinds,
            entity=entity,
            filters=filters,
            agent_id=self.scope.agent_id,
            session_id=self.scope.session_id,
            as_of=as_of,
            known_at=known_at,
            during=during,
            limit=limit,
            cursor=cursor,
        )

    async def count(
        self,
        *,
        category: Category | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        entity: str | None = None,
        filters: Mapping[str, Any] | None = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
    ) -> int:
        """See `AsyncMemory.count`."""
        return await self._memory.count(
            user_id=self.scope.user_id,
            category=category,
            kinds=kinds,
            entity=entity,
            filters=filters,
            agent_id=self.scope.agent_id,
            session_id=self.scope.session_id,
            as_of=as_of,
            known_at=known_at,
            during=during,
        )

    async def update(
        self,
        id: str,
        *,
        text: str,
        metadata: object = None,
        event_start: Time | Unchanged | None = UNCHANGED,
        event_end: Time | Unchanged | None = UNCHANGED,
        observed_at: Time | None = None,
        timeout: float | None = None,
    ) -> MemoryRecord:
        """See `AsyncMemory.update`."""
        return await self._memory.update(
            id,
            user_id=self.scope.user_id,
            text=text,
            metadata=metadata,
            event_start=event_start,
            event_end=event_end,
            observed_at=observed_at,
            timeout=timeout,
        )

    async def delete(self, id: str, *, observed_at: Time | None = None) -> bool:
        """See `AsyncMemory.delete`."""
        return await self._memory.delete(
            id, user_id=self.scope.user_id, observed_at=observed_at
        )

    async def reinstate(self, id: str, *, reason: str | None = None) -> MemoryRecord:
        """See `AsyncMemory.reinstate`."""
        return await self._memory.reinstate(
            id, user_id=self.scope.user_id, reason=reason
        )

    async def history(self, id: str) -> list[HistoryEvent]:
        """See `AsyncMemory.history`."""
        return await self._memory.history(id, user_id=self.scope.user_id)

    async def receipt(self, id: str) -> Receipt:
        """See `AsyncMemory.receipt`."""
        return await self._memory.receipt(id, user_id=self.scope.user_id)

    async def flush(self, *, timeout: float | None = None) -> None:
        """See `AsyncMemory.flush`; it waits for all users' jobs."""
        await self._memory.flush(timeout=timeout)

    async def erase(self, id: str) -> Erased:
        """See `AsyncMemory.erase`."""
        return await self._memory.erase(id, user_id=self.scope.user_id)

    async def delete_user(self) -> Erased:
        """See `AsyncMemory.delete_user`."""
        return await self._memory.delete_user(self.scope.user_id)
