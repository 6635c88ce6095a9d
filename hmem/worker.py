"""Claims jobs, works on them, retries, dead-letters. Runs inside an AsyncMemory or in a
process of its own (`hmem.daemon`)."""

import logging
import math
import os
import socket
import time
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from hmem.breaker import Breaker, backoff
from hmem.config import Config
from hmem.errors import EmbeddingSpaceError, LifecycleError, StoreError
from hmem.events import Events
from hmem.process import Processor
from hmem.protocols import Claim, Store, WritePlan
from hmem.receipts import Bell
from hmem.setbacks import Lost, Outage, Retry

log = logging.getLogger("hmem.worker")
_IDLE = 1.0
_BREATH = 0.01
"""Seconds from a wake to the claim. What was said is often asked about at once: a claim at
the same moment doubles that search's time, and one a moment later takes all that came."""
_BASE, _CAP = 0.5, 60.0
_STORE_CAP = 5.0
"""Seconds between two tries at a store that fails, at most: a try costs it next to nothing,
and a disk that has room again must not be waited for."""
_REMEMBERED = 10_000
_LET_GO = 1.0
"""Seconds that giving a lease back may take at once; after that it is offered again, or
lapses at shutdown."""


@dataclass(frozen=True, slots=True)
class _Back:
    """How a claim is given back."""

    delay: float = 0.0
    attempted: bool = False


class Worker:
    """One process's worker: users in parallel, each user's jobs in order.

    `run` works until `stop`. A claim whose work is cancelled goes back at once and its
    attempt is not counted; one that cannot be given back is free when its lease lapses.
    """

    def __init__(
        self,
        config: Config,
        *,
        store: Store,
        processor: Processor,
        bell: Bell | None = None,
        events: Events | None = None,
    ) -> None:
        self._config = config
        self._store = store
        self._processor = processor
        self._bell = bell or Bell()
        self._events = events or Events(config.on_event)
        self._name = f"{socket.gethostname()}:{os.getpid()}:{id(self):x}"
        self._free = config.users_in_parallel
        self._freed = anyio.Event()
        self._store_failures = 0
        self._failed: dict[str, None] = {}
        self._stopping = False
        self._claiming: anyio.CancelScope | None = None
        self._working: anyio.CancelScope | None = None
        self._owed: dict[
            anyio.CancelScope, float
        ] = {}  # claims to give back, since when
        self.breaker = Breaker(
            processor.embedding.probe, self._events, base=_BASE, cap=_CAP
        )
        self.halted: EmbeddingSpaceError | None = None

    @property
    def stuck(self) -> bool:
        """Whether waiting for it is pointless for now."""
        down = self.breaker.is_open or self._store_failures > 0
        return down or self.halted is not None or self._stopping or self._owes

    @property
    def _owes(self) -> bool:
        """Whether the store has long refused to take a claim back."""
        oldest = min(self._owed.values(), default=math.inf)
        return time.monotonic() - oldest > _STORE_CAP

    @property
    def model_down(self) -> str:
        """Why extraction waits for the chat model, "" while it does not; turns are
        embedded all the same."""
        return self._processor.down

    @property
    def leaves_work(self) -> bool:
        """Whether jobs wait here for a process that has the chat model."""
        return self._processor.leaves_work

    @property
    def busy(self) -> bool:
        """Whether jobs are in work here."""
        return self._free < self._config.users_in_parallel

    def stop(self) -> None:
        """Claim nothing more; `run` returns when what is in work has ended."""
        self._stopping = True
        if self._claiming is not None:
            self._claiming.cancel()
        for scope in self._owed:
            scope.cancel()

    def abandon(self) -> None:
        """Stop, and give back at once what is in work."""
        self.stop()
        if self._working is not None:
            self._working.cancel()

    async def run(self) -> None:
        """Work until `stop`. Cancelled or abandoned: gives all claims back at once.

        What nothing foresaw (a bug of ours or of a part that was brought) is told, and it
        starts anew: whoever waits for a job must not wait for ever.
        """
        falls = 0
        while not self._stopping:
            try:
                await self._shift()
            except Exception as e:  # noqa: BLE001  # a worker must not end by accident
                falls += 1
                kind = type(e.exceptions[0] if isinstance(e, ExceptionGroup) else e)
                log.error("the worker failed with %s and starts anew", kind.__name__)
                self._events("worker_error", error=kind.__name__)
                with anyio.CancelScope() as self._claiming:
                    self._working = self._claiming
                    await anyio.sleep(backoff(falls, base=_BASE, cap=_CAP))

    async def _shift(self) -> None:
        """Work until `stop`, or until something breaks."""
        async with anyio.create_task_group() as group:
            self._working = group.cancel_scope
            with anyio.CancelScope() as self._claiming:
                while not self._stopping:
                    await self._round(group)

    async def _round(self, group: TaskGroup) -> None:
        """Start what can be started, or wait."""
        if self.halted is not None:
            await anyio.sleep_forever()
        elif self.breaker.is_open:
            await self.breaker.recover()
        elif not self._free:
            await self._slot()
        elif not await self._start(group):
            await self._rest()

    async def _start(self, group: TaskGroup) -> bool:
        """Claim and start. False: there was nothing."""
        try:
            # Shielded: a claim that nobody hears of would be out until its lease lapses.
            with anyio.CancelScope(shield=True):
                claims = await self._store.claim(
                    worker=self._name, lease=self._config.lease, limit=self._free
                )
        except LifecycleError:
            self.stop()  # the store was closed under us
            return False
        except Exception as e:  # noqa: BLE001  # a worker must not end by accident
            self._store_failed(e)
            await self._let_store_be(self._store_failures)
            return False
        self._store_works()
        suspect = next((claim for claim in claims if self._suspects(claim)), None)
        for claim in claims:
            if suspect is None:
                self._free -= 1
                group.start_soon(self._work, group, claim)
            elif claim is not suspect:
                await self._give_back(group, claim, _Back())
        if suspect is not None:
            self._free -= 1
            await self._work(group, suspect, alone=True)
        return bool(claims)

    def _suspects(self, claim: Claim) -> bool:
        """Whether the claim may be what ends our processes: tried often, and not because
        it failed here. Such a one works alone, so that it takes no others with it: their
        attempts are counted at the claim, too."""
        often = max(2, (self._config.max_attempts + 1) // 2)
        return any(j.attempts >= often and j.id not in self._failed for j in claim.jobs)

    async def _slot(self) -> None:
        """Until something that is in work ended."""
        self._freed = anyio.Event()
        await self._freed.wait()

    async def _rest(self) -> None:
        """Until there may be work, or a moment passed."""
        try:
            await self._store.wait_for_work(_IDLE)
            await anyio.sleep(_BREATH)
        except StoreError as e:
            self._store_failed(e)
        except LifecycleError:
            self.stop()

    # ------------------------------------------------------------------ one claim

    async def _work(
        self, shift: TaskGroup, claim: Claim, *, alone: bool = False
    ) -> None:
        """One claim, from lease to end; `alone`: once nothing else is in work."""
        back: _Back | None = _Back()  # what holds when we are cancelled
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._keep, claim, group.cancel_scope)
                while alone and self._free < self._config.users_in_parallel - 1:
                    await self._slot()
                back = await self._attempt(claim)
                group.cancel_scope.cancel()
        finally:
            if back is not None:
                await self._give_back(shift, claim, back)
            try:
                if back is None:
                    await self._afterwards(claim)
            finally:
                self._free += 1
                self._freed.set()

    async def _afterwards(self, claim: Claim) -> None:
        """What nobody waits for; that it fails is no failure of the jobs, which ended."""
        try:
            await self._processor.afterwards(claim)
        except Exception as e:  # noqa: BLE001  # a worker must not end by accident
            log.info("a profile was not written: %s", type(e).__name__)

    async def _keep(self, claim: Claim, scope: anyio.CancelScope) -> None:
        """Renew the lease until cancelled; cancel the work when it was lost."""
        while True:
            await anyio.sleep(self._config.lease / 3)
            try:
                held = await self._store.renew(claim, self._config.lease)
            except (StoreError, LifecycleError) as e:
                log.debug("a lease could not be renewed: %s", e)
                continue
            if not held:
                log.info("a lease was lost; its jobs are left to whoever has it now")
                scope.cancel()

    async def _attempt(self, claim: Claim) -> _Back | None:
        """Plan and apply. None: the jobs ended; else how they go back."""
        try:
            await self._apply(claim, await self._processor.plan(claim))
        except Outage as e:
            self.breaker.trip(str(e))
            return _Back()
        except EmbeddingSpaceError as e:
            self._halt(e)
            return _Back()
        except Lost as e:
            log.info("a claim was lost while it was worked on (%s)", e)
        except Retry as e:
            log.info("a job failed and will be tried again: %s", e)
            return self._later(claim)
        except Exception as e:  # noqa: BLE001  # the last line of defence, once per job
            return await self._surprise(claim, e)
        return None

    async def _apply(self, claim: Claim, plan: WritePlan) -> None:
        """Carry out the plan and tell who waits."""
        with anyio.CancelScope(shield=True):
            applied = await self._store.apply(claim.user_id, plan)
        if applied.refused is not None:
            log.info("a plan came too late (%s); nothing was written", applied.refused)
            for job in claim.jobs:
                self._bell.ring(job.id)
            return
        if plan.end is None:
            self._events("jobs_deferred", jobs=len(claim.jobs), delay=plan.defer)
            return
        ended = plan.end.jobs or tuple(job.id for job in claim.jobs)
        for job_id in ended:
            self._bell.ring(job_id)
            self._events(f"job_{plan.end.status}", job_id=job_id, user_id=claim.user_id)
        if plan.end.reason:
            log.warning("a job ended as %s: %s", plan.end.status, plan.end.reason)

    async def _surprise(self, claim: Claim, error: Exception) -> _Back | None:
        """A failure that nothing foresaw: the store's, or a bug."""
        if isinstance(error, StoreError) and error.retryable:
            self._store_failed(error)
            return _Back(delay=_BASE)
        if isinstance(error, LifecycleError):
            return _Back()
        kind = type(error).__name__
        self._events("worker_error", error=kind)
        log.error(
            "a job failed with %s", kind, exc_info=log.isEnabledFor(logging.DEBUG)
        )
        if _attempts(claim) < self._config.max_attempts:
            return self._later(claim)
        try:
            await self._apply(
                claim, self._processor.given_up(claim, f"it fails: {kind}")
            )
        except (StoreError, LifecycleError) as e:
            log.error("a job could not be ended: %s", e)
            return self._later(claim)
        return None

    def _later(self, claim: Claim) -> _Back:
        self._failed.update(dict.fromkeys(job.id for job in claim.jobs))
        while len(self._failed) > _REMEMBERED:
            del self._failed[next(iter(self._failed))]
        return _Back(backoff(_attempts(claim), base=_BASE, cap=_CAP), attempted=True)

    async def _give_back(self, shift: TaskGroup, claim: Claim, back: _Back) -> None:
        """Release a claim, also while cancelled. What the store would not take is offered
        again beside the other work: its jobs must not wait until the lease lapses."""
        if not await self._released(claim, back) and not self._stopping:
            shift.start_soon(self._offer, claim, back)

    async def _offer(self, claim: Claim, back: _Back) -> None:
        """Release a claim as soon as the store takes it; at the end a last time."""
        taken, tries = False, 0
        with anyio.CancelScope() as scope:
            self._owed[scope] = time.monotonic()
            try:
                while not taken and not self._stopping:
                    tries += 1
                    await self._let_store_be(tries)
                    taken = await self._released(claim, back)
            finally:
                del self._owed[scope]
                if not taken:
                    await self._released(claim, back)

    async def _released(self, claim: Claim, back: _Back) -> bool:
        """Whether a claim was released, in a second and also while cancelled. True, too,
        where the store never will."""
        with anyio.move_on_after(_LET_GO, shield=True):
            return await self._release(claim, back)
        return False

    async def _release(self, claim: Claim, back: _Back) -> bool:
        try:
            await self._store.release(claim, delay=back.delay, attempted=back.attempted)
        except (StoreError, LifecycleError) as e:
            log.debug("a lease is not given back: %s", e)
            return not (isinstance(e, StoreError) and e.retryable)
        self._events("job_released", jobs=len(claim.jobs), delay=back.delay)
        return True

    # ---------------------------------------------------------------- what is down

    async def _let_store_be(self, failures: int) -> None:
        await anyio.sleep(backoff(failures, base=_BASE, cap=min(_CAP, _STORE_CAP)))

    def _store_failed(self, error: Exception) -> None:
        self._store_failures += 1
        if self._store_failures == 1:
            ours = isinstance(error, StoreError)
            log.error("the store fails, jobs wait: %s", error if ours else type(error))
            self._events("store_failed", error=type(error).__name__)

    def _store_works(self) -> None:
        if self._store_failures:
            self._store_failures = 0
            log.warning("the store works again")
            self._events("store_recovered")

    def _halt(self, error: EmbeddingSpaceError) -> None:
        if self.halted is None:
            self.halted = error
            log.error("no jobs are worked on here: %s", error)
            self._events("other_embedding_space")


def _attempts(claim: Claim) -> int:
    return max(job.attempts for job in claim.jobs)
