"""`Memory`: AsyncMemory for synchronous callers. No logic: each verb is one line onto the
loop of a private thread."""

import warnings
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from hmem.config import Config
from hmem.inputs.deadline import read_timeout
from hmem.memory import AsyncMemory
from hmem.protocols import LLM, Clock, Embedder, Priority, Reranker, Store
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
)
from hmem.running.opening import DRAIN
from hmem.scoped import During, Time
from hmem.sync.admin import SyncAdmin
from hmem.sync.loop import LoopThread
from hmem.sync.receipt import SyncReceipt
from hmem.sync.scoped import SyncScoped


class Memory:
    """Durable, dated memory per user, for code without an event loop.

        with Memory(Config(path="memories")) as mem:
            mem.add("I moved to Ghent", user_id="maya").result(timeout=60)
            found = mem.search("where does Maya live?", user_id="maya")

    The verbs are AsyncMemory's; see there. Any number of threads may use one object. A
    call that is interrupted (Ctrl-C) is cancelled alone, and a job that was accepted goes
    on. Parts that are handed in, and `Config.on_event`, are called on the private thread.

    Where an event loop runs, use AsyncMemory: a call there would stop that loop, and
    raises WrongLoopError. After a fork it raises ForkedError: open a new one.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        store: Store | None = None,
        llm: LLM | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._inner = AsyncMemory(
            config,
            store=store,
            llm=llm,
            embedder=embedder,
            reranker=reranker,
            clock=clock,
        )
        self._loop = LoopThread(self._inner)

    @property
    def config(self) -> Config:
        """The settings."""
        return self._inner.config

    # ------------------------------------------------------------------ life cycle

    def open(self) -> Self:
        """See `AsyncMemory.open`."""
        self._loop.open()
        return self

    def close(self, *, timeout: float = DRAIN) -> None:
        """See `AsyncMemory.aclose`. An interrupted wait leaves the closing going on."""
        self._loop.close(read_timeout(timeout))

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(timeout=DRAIN if kind is None else 0.0)

    def __del__(self) -> None:
        loop: LoopThread | None = getattr(self, "_loop", None)
        if loop is not None and loop.forgotten:
            warnings.warn(
                "a Memory was not closed", ResourceWarning, stacklevel=2, source=self
            )
            loop.abandon()

    # ---------------------------------------------------------------------- writing

    def add(
        self,
        messages: object,
        *,
        user_id: object,
        agent_id: object = None,
        session_id: object = None,
        observed_at: Time | None = None,
        infer: bool = True,
        metadata: object = None,
        idempotency_key: str | None = None,
        priority: Priority = "live",
        wait: bool = False,
        timeout: float | None = None,
    ) -> SyncReceipt:
        """See `AsyncMemory.add`."""
        receipt = self._loop.run(
            lambda: self._inner.add(
                messages,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                observed_at=observed_at,
                infer=infer,
                metadata=metadata,
                idempotency_key=idempotency_key,
                priority=priority,
                wait=wait,
                timeout=timeout,
            )
        )
        return SyncReceipt(receipt, self._loop)

    def preview(
        self,
        messages: object,
        *,
        user_id: object,
        agent_id: object = None,
        session_id: object = None,
        observed_at: Time | None = None,
        timeout: float | None = None,
    ) -> list[Preview]:
        """See `AsyncMemory.preview`."""
        return self._loop.run(
            lambda: self._inner.preview(
                messages,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                observed_at=observed_at,
                timeout=timeout,
            )
        )

    def update(
        self,
        id: str,
        *,
        user_id: object,
        text: str,
        metadata: object = None,
        observed_at: Time | None = None,
        timeout: float | None = None,
    ) -> MemoryRecord:
        """See `AsyncMemory.update`."""
        return self._loop.run(
            lambda: self._inner.update(
                id,
                user_id=user_id,
                text=text,
                metadata=metadata,
                observed_at=observed_at,
                timeout=timeout,
            )
        )

    def delete(
        self, id: str, *, user_id: object, observed_at: Time | None = None
    ) -> bool:
        """See `AsyncMemory.delete`."""
        return self._loop.run(
            lambda: self._inner.delete(id, user_id=user_id, observed_at=observed_at)
        )

    def reinstate(
        self, id: str, *, user_id: object, reason: str | None = None
    ) -> MemoryRecord:
        """See `AsyncMemory.reinstate`."""
        return self._loop.run(
            lambda: self._inner.reinstate(id, user_id=user_id, reason=reason)
        )

    def delete_user(self, user_id: object) -> Erased:
        """See `AsyncMemory.delete_user`."""
        return self._loop.run(lambda: self._inner.delete_user(user_id))

    def receipt(self, id: str, *, user_id: object) -> SyncReceipt:
        """See `AsyncMemory.receipt`."""
        receipt = self._loop.run(lambda: self._inner.receipt(id, user_id=user_id))
        return SyncReceipt(receipt, self._loop)

    def flush(self, *, timeout: float | None = None) -> None:
        """See `AsyncMemory.flush`."""
        self._loop.run(lambda: self._inner.flush(timeout=timeout))

    # ---------------------------------------------------------------------- reading

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
        kind: Kind | None = None,
    ) -> Page:
        """See `AsyncMemory.get_all`."""
        return self._loop.run(
            lambda: self._inner.get_all(
                user_id=user_id, limit=limit, cursor=cursor, kind=kind
            )
        )

    def history(self, id: str, *, user_id: object) -> list[HistoryEvent]:
        """See `AsyncMemory.history`."""
        return self._loop.run(lambda: self._inner.history(id, user_id=user_id))

    # ----------------------------------------------------------------------- others

    def scoped(
        self, *, user_id: object, agent_id: object = None, session_id: object = None
    ) -> SyncScoped:
        """See `AsyncMemory.scoped`."""
        scope = self._inner.scoped(
            user_id=user_id, agent_id=agent_id, session_id=session_id
        ).scope
        return SyncScoped(self, scope)

    @property
    def admin(self) -> SyncAdmin:
        """See `AsyncMemory.admin`."""
        return SyncAdmin(self._inner, self._loop)
