"""What stands behind an open AsyncMemory. Holds no reference to it, so that one that is
dropped without being closed is seen."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import ExitStack, asynccontextmanager

import anyio

from hmem.backfill import Backfill
from hmem.config import Config
from hmem.editing import Editor, read_row_id
from hmem.errors import InputError, LifecycleError, StoreError
from hmem.events import Events
from hmem.extract import Talk
from hmem.ingest import UNSAVED, Call, Intake
from hmem.parts import Parts
from hmem.protocols import LLM, Accepted, Clock, Embedder, Reranker, Space, Store
from hmem.queries import RememberedQueries
from hmem.receipts import FINAL, Bell, Receipt
from hmem.reconcile import Decision
from hmem.records import AddResult, Erased, Preview, Skipped
from hmem.retrieve import Lacking, Retriever
from hmem.running.lifecycle import Life
from hmem.worker import Worker

log = logging.getLogger("hmem.memory")
_HURRY = 0.05


class Rooms:
    """The write path, the read path and the worker over one set of parts."""

    def __init__(self, config: Config, parts: Parts, life: Life, clock: Clock) -> None:
        self._life = life
        self.parts = parts
        self.events = Events(config.on_event)
        self.bell = Bell(limit=config.queue_limit)
        self.intake = Intake(config, embedder=parts.embedder, clock=clock)
        self.editor = Editor(
            config,
            parts=parts,
            intake=self.intake,
            clock=clock,
            on_space=self.adopt,
        )
        self._queries = (
            RememberedQueries(parts.embedder, config.query_cache)
            if parts.embedder is not None
            else None
        )
        self.backfill: Backfill | None = None
        self.retriever = Retriever(
            config=config,
            store=parts.store,
            embedder=self._queries,
            reranker=parts.reranker,
            on_lacking=self._lacks,
        )
        self.retriever.use_space(parts.space)
        self.processor = parts.processor(
            config,
            retriever=self.retriever,
            clock=clock,
            events=self.events,
            on_space=self.adopt,
        )
        self.worker = self._make_worker(config, clock)
        self._task = self._start_worker()
        self._filling: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        config: Config,
        *,
        store: Store | None,
        embedder: Embedder | None,
        llm: LLM | None,
        reranker: Reranker | None,
        life: Life,
        clock: Clock,
    ) -> "Rooms":
        """Open the parts and start the worker."""
        parts = await Parts.open(
            config,
            store=store,
            embedder=embedder,
            llm=llm,
            reranker=reranker,
            reads=True,
        )
        return cls(config, parts, life, clock)

    async def aclose(self, timeout: float | None) -> None:
        """Drain for up to `timeout` seconds (None: as long as it takes), then give back what is in work and close."""
        self.bell.ring_all()
        if self.backfill is not None:
            self.backfill.stop()
        try:
            with anyio.move_on_after(timeout):
                await self._drain()
                if self.worker is not None:
                    self.worker.stop()
                await self._life.idle()
                if self._task is not None:
                    await asyncio.wait([self._task])
        finally:
            try:
                await self._end_worker()
                if self._filling is not None:
                    await asyncio.wait([self._filling])
            finally:
                self.retriever.views.clear()
                if self._queries is not None:
                    await self._queries.aclose()
                await self.parts.aclose()

    # ------------------------------------------------------------------- writing

    async def accept(self, call: Call, skipped: tuple[Skipped, ...]) -> Receipt:
        """Make a call durable. One with nothing in it writes nothing."""
        if not call.messages and not call.items:
            result = AddResult(status="done", skipped=skipped)
            return self.receipt("", call.scope.user_id, result=result)
        await self.parts.look(self.adopt)
        accept = await self.intake.accept(
            call, queue=self.parts.queues, extract=self.parts.extracts, skipped=skipped
        )
        accepted = await self.parts.store.accept(call.scope.user_id, accept)
        return await self._accepted(call.scope.user_id, accepted)

    async def preview(self, call: Call) -> list[Preview]:
        """What accepting a call would make of it."""
        turns = self.intake.unsaved(call)
        if not turns:
            return []
        decided = await self.processor.preview(call.scope.user_id, turns)
        return [_preview(talk, decision) for talk, decision in decided]

    async def _accepted(self, user_id: str, accepted: Accepted) -> Receipt:
        if not accepted.created:
            receipt = self.receipt(accepted.job_id, user_id)
            receipt.repeated = True
            await receipt.refresh()
            return receipt
        self.events("accepted", job_id=accepted.job_id, user_id=user_id)
        if accepted.status not in FINAL:
            self.bell.expect(accepted.job_id, user_id)
            return self.receipt(accepted.job_id, user_id)
        result = AddResult(
            status=accepted.status,
            turns=accepted.turns,
            added=accepted.added,
            skipped=accepted.skipped,
        )
        return self.receipt(accepted.job_id, user_id, result=result)

    def receipt(
        self,
        job_id: str,
        user_id: str,
        *,
        result: AddResult | None = None,
        check: Callable[[], None] | None = None,
    ) -> Receipt:
        """A receipt on this store; its waits end when the memory is closed."""
        return Receipt(
            job_id,
            user_id=user_id,
            jobs=self.parts.store,
            bell=self.bell,
            check=check or self._life.check,
            result=result,
        )

    async def find_receipt(self, job_id: str, user_id: str) -> Receipt:
        """A receipt by its id. Raises InputError for an unknown and a foreign one."""
        receipt = self.receipt(read_row_id(job_id), user_id)
        await receipt.refresh()
        return receipt

    async def retry(self, user_id: str, job_id: str) -> bool:
        """Queue a job again that ended badly; False for any other."""
        if not await self.parts.store.retry(user_id, job_id):
            return False
        self.events("job_retried", job_id=job_id, user_id=user_id)
        self.bell.expect(job_id, user_id)
        return True

    async def flush(self, check: Callable[[], None] | None = None) -> None:
        """Until all that was accepted here before has ended. Turns that wait for more of
        them are read now."""
        expected = list(self.bell.expected.items())
        async with self.hurrying({user for _, user in expected}):
            for job_id, user_id in expected:
                receipt = self.receipt(job_id, user_id, check=check)
                try:
                    await receipt
                except InputError:  # its user was erased
                    self.bell.ring(job_id)

    @asynccontextmanager
    async def hurrying(self, users: Collection[str]) -> AsyncIterator[None]:
        """While the body runs no turns of these users wait for more of them, as far as
        the worker of this process has put them off."""
        with ExitStack() as stack:
            for user_id in users:
                stack.enter_context(self.processor.hurrying(user_id))
            # Not a task group: what the body raises must leave as it is.
            hurry = asyncio.create_task(self._hurry(users), name="hmem-hurry")
            try:
                yield
            finally:
                hurry.cancel()

    async def _hurry(self, users: Collection[str]) -> None:
        """End the deferrals that there are, and those that still come."""
        deferred = self.processor.deferred
        while True:
            for user_id in [user for user in users if user in deferred]:
                deferred.pop(user_id, None)
                try:
                    await self.parts.store.hurry(user_id)
                except (StoreError, LifecycleError) as e:
                    log.debug("a deferral is left to run out: %s", e)
            await anyio.sleep(_HURRY)

    # ------------------------------------------------------------------- reading

    async def pending(self, user_id: str) -> frozenset[int]:
        """The user's jobs that have not ended."""
        if not await self.parts.store.queued(user_id):
            return frozenset()
        found = await self.retriever.views.read(user_id, lambda view: view.pending)
        return found or frozenset()

    def adopt(self, space: Space) -> None:
        """The store's embedding space is known from now on."""
        if self.parts.space != space:
            self.parts.space = space
            self.retriever.use_space(space)

    async def erase_row(self, user_id: str, row_id: object) -> Erased:
        """Destroy one memory or one turn."""
        erased = await self.parts.store.erase(user_id, read_row_id(row_id))
        self.retriever.forget(user_id)
        if erased.total:
            self.events("row_erased", user_id=user_id, rows=erased.total)
        return erased

    async def erase(self, user_id: str) -> Erased:
        """Destroy all of a user."""
        erased = await self.parts.store.erase_user(user_id)
        self.retriever.forget(user_id)
        if self._queries is not None:
            self._queries.forget()
        for job_id in [j for j, u in self.bell.expected.items() if u == user_id]:
            self.bell.ring(job_id)
        self.events("user_erased", rows=erased.total)
        return erased

    # ---------------------------------------------------------------- the worker

    def _make_worker(self, config: Config, clock: Clock) -> Worker | None:
        if config.worker == "off" or config.read_only or not self.parts.works:
            return None
        worker = Worker(
            config,
            store=self.parts.store,
            processor=self.processor,
            bell=self.bell,
            events=self.events,
        )
        self.backfill = Backfill(
            config,
            store=self.parts.store,
            retriever=self.retriever,
            embedding=self.processor.embedding,
            worker=worker,
            clock=clock,
            on_space=self.adopt,
        )
        return worker

    def _lacks(self, user_id: str, lacking: Lacking) -> None:
        """Passages of the user have no vector: the task that makes them starts when the
        first such user is met."""
        if self.backfill is None or self._life.state != "open":
            return
        self.backfill.note(user_id, lacking)
        if self._filling is None:
            self._filling = asyncio.create_task(
                self.backfill.run(), name="hmem-backfill"
            )

    def _start_worker(self) -> asyncio.Task[None] | None:
        if self.worker is None:
            return None
        task = asyncio.create_task(self.worker.run(), name="hmem-worker")
        task.add_done_callback(_tell)
        return task

    async def _drain(self) -> None:
        """Work off what was accepted here, as long as that gets anywhere."""
        worker = self.worker
        if worker is None:
            return
        async with anyio.create_task_group() as group:
            group.start_soon(_watch, worker, group.cancel_scope)
            await self.flush(check=_unchecked)
            group.cancel_scope.cancel()

    async def _end_worker(self) -> None:
        if self.worker is not None and self._task is not None:
            self.worker.abandon()
            await asyncio.wait([self._task])


def _preview(talk: Talk, one: Decision) -> Preview:
    fact = one.candidate
    return Preview(
        text=fact.text,
        action=one.action,
        target=one.target,
        reason=one.reason,
        category=fact.category,
        importance=fact.importance,
        event_start=fact.event_start,
        event_end=fact.event_end,
        event_precision=fact.event_precision,
        entities=fact.entities,
        quote=one.quote,
        verified=one.verified,
        messages=tuple(talk.turns[at].seq - UNSAVED for at in fact.sources),
    )


async def _watch(worker: Worker, scope: anyio.CancelScope) -> None:
    """Stop waiting when the worker gets nowhere."""
    while not (worker.stuck or worker.model_down):  # noqa: ASYNC110  # many causes, and seconds at most
        await anyio.sleep(0.02)
    scope.cancel()


def _unchecked() -> None:
    """Closing is when a receipt may be waited for without asking whether it is open."""


def _tell(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        kind = type(task.exception()).__name__
        log.error("the inline worker ended with %s; jobs wait for the next open", kind)
