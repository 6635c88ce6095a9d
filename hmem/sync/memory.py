"""`Memory`: AsyncMemory for synchronous callers. No logic: each verb is one line onto the
loop of a private thread."""

import warnings
from types import TracebackType
from typing import Self

from hmem.config import Config
from hmem.inputs.deadline import read_timeout
from hmem.inputs.events import UNCHANGED, Unchanged
from hmem.memory import AsyncMemory
from hmem.protocols import LLM, Clock, Embedder, Priority, Reranker, Store
from hmem.records import (
    Erased,
    MemoryRecord,
    Preview,
)
from hmem.running.naming import face
from hmem.running.opening import DRAIN
from hmem.sync.admin import SyncAdmin
from hmem.sync.loop import LoopThread
from hmem.sync.reading import SyncReading
from hmem.sync.receipt import SyncReceipt
from hmem.sync.scoped import SyncScoped
from hmem.times import Time


@face
class Memory(SyncReading):
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
        event_start: Time | Unchanged | None = UNCHANGED,
        event_end: Time | Unchanged | None = UNCHANGED,
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
                event_start=event_start,
                event_end=event_end,
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

    def erase(self, id: str, *, user_id: object) -> Erased:
        """See `AsyncMemory.erase`."""
        return self._loop.run(lambda: self._inner.erase(id, user_id=user_id))

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
