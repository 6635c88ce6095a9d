"""The verbs of a Memory with the scope bound: each one line."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hmem.inputs.events import UNCHANGED, Unchanged
from hmem.inputs.scope import Scope
from hmem.protocols import Priority
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
from hmem.sync.receipt import SyncReceipt
from hmem.times import During, Time

if TYPE_CHECKING:
    from hmem.sync.memory import Memory


class SyncScoped:
    """One user (and agent, and session) of a Memory. See there for each verb, and
    `Scoped` for what the labels do."""

    def __init__(self, memory: "Memory", scope: Scope) -> None:
        self._memory = memory
        self.scope = scope

    def add(
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
    ) -> SyncReceipt:
        """See `Memory.add`."""
        return self._memory.add(
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

    def preview(
        self,
        messages: object,
        *,
        observed_at: Time | None = None,
        timeout: float | None = None,
    ) -> list[Preview]:
        """See `Memory.preview`."""
        return self._memory.preview(
            messages,
            user_id=self.scope.user_id,
            agent_id=self.scope.agent_id,
            session_id=self.scope.session_id,
            observed_at=observed_at,
            timeout=timeout,
        )

    def search(
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
        """See `Memory.search`."""
        return self._memory.search(
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

    def context(
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
        """See `Memory.context`."""
        return self._memory.context(
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

    def get(self, id: str) -> MemoryRecord | Episode | None:
        """See `Memory.get`."""
        return self._memory.get(id, user_id=self.scope.user_id)

    def get_all(
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
        """See `Memory.get_all`."""
        return self._memory.get_all(
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

    def timeline(
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
        """See `Memory.timeline`."""
        return self._memory.timeline(
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

    def count(
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
        """See `Memory.count`."""
        return self._memory.count(
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

    def update(
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
        """See `Memory.update`."""
        return self._memory.update(
            id,
            user_id=self.scope.user_id,
            text=text,
            metadata=metadata,
            event_start=event_start,
            event_end=event_end,
            observed_at=observed_at,
            timeout=timeout,
        )

    def delete(self, id: str, *, observed_at: Time | None = None) -> bool:
        """See `Memory.delete`."""
        return self._memory.delete(
            id, user_id=self.scope.user_id, observed_at=observed_at
        )

    def reinstate(self, id: str, *, reason: str | None = None) -> MemoryRecord:
        """See `Memory.reinstate`."""
        return self._memory.reinstate(id, user_id=self.scope.user_id, reason=reason)

    def history(self, id: str) -> list[HistoryEvent]:
        """See `Memory.history`."""
        return self._memory.history(id, user_id=self.scope.user_id)

    def receipt(self, id: str) -> SyncReceipt:
        """See `Memory.receipt`."""
        return self._memory.receipt(id, user_id=self.scope.user_id)

    def flush(self, *, timeout: float | None = None) -> None:
        """See `Memory.flush`; it waits for all users' jobs."""
        self._memory.flush(timeout=timeout)

    def erase(self, id: str) -> Erased:
        """See `Memory.erase`."""
        return self._memory.erase(id, user_id=self.scope.user_id)

    def delete_user(self) -> Erased:
        """See `Memory.delete_user`."""
        return self._memory.delete_user(self.scope.user_id)
