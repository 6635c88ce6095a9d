"""What `add()` gives back: a handle on a durable job, good in any process."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import anyio

from hmem.errors import InputError
from hmem.inputs.deadline import deadline
from hmem.protocols import Job
from hmem.records import AddResult, JobStatus

FINAL: frozenset[JobStatus] = frozenset(("done", "partial", "dead"))
_FIRST_POLL, _SLOWEST_POLL = 0.05, 1.0


class Jobs(Protocol):
    """Where the state of a job is read: a store."""

    async def job(self, user_id: str, job_id: str) -> Job | None:
        """One job of the user, or None."""
        ...


class Bell:
    """Wakes those who wait for a job that ends in this process, and knows which of the
    jobs accepted here have not been seen to end (the latest `limit` of them)."""

    def __init__(self, *, limit: int = 100_000) -> None:
        self._waiting: dict[str, list[anyio.Event]] = {}
        self._limit = limit
        self.expected: dict[str, str] = {}

    def expect(self, job_id: str, user_id: str) -> None:
        """The job was accepted here."""
        if len(self.expected) >= self._limit:
            # Other processes end jobs without ringing here; forget the oldest.
            del self.expected[next(iter(self.expected))]
        self.expected[job_id] = user_id

    @contextmanager
    def listen(self, job_id: str) -> Iterator[anyio.Event]:
        """An event that is set when the job's bell rings."""
        event = anyio.Event()
        self._waiting.setdefault(job_id, []).append(event)
        try:
            yield event
        finally:
            waiting = self._waiting.get(job_id, [])
            if event in waiting:
                waiting.remove(event)
            if not waiting:
                self._waiting.pop(job_id, None)

    def ring(self, job_id: str) -> None:
        """The job ended."""
        self.expected.pop(job_id, None)
        for event in self._waiting.pop(job_id, ()):
            event.set()

    def ring_all(self) -> None:
        """Wake everybody, to see that the memory was closed or a user erased."""
        for waiting in list(self._waiting.values()):
            for event in waiting:
                event.set()


class Receipt:
    """A job that is on disk.

    `await receipt` gives its AddResult once it ended, which another process may bring
    about, also after a restart. Cancelling the wait never cancels the job. By its `id` (""
    where nothing was stored) and its `user_id` it is found again. `repeated`: it is of an
    earlier call with the same idempotency key, and this one stored nothing.
    """

    __slots__ = (
        "_bell",
        "_check",
        "_job",
        "_jobs",
        "_result",
        "id",
        "repeated",
        "user_id",
    )

    def __init__(
        self,
        job_id: str,
        *,
        user_id: str,
        jobs: Jobs,
        bell: Bell,
        check: Callable[[], None] = lambda: None,
        known: Job | None = None,
        result: AddResult | None = None,
    ) -> None:
        self.id = job_id
        self.user_id = user_id
        self.repeated = False
        self._jobs = jobs
        self._bell = bell
        self._check = check
        self._job = known
        self._result = result

    @property
    def status(self) -> JobStatus:
        """As last seen; `await refresh()` looks again."""
        if self._result is not None:
            return self._result.status
        return "queued" if self._job is None else self._job.status

    @property
    def done(self) -> bool:
        """Whether the job was seen to have ended, well or not."""
        return self.status in FINAL

    @property
    def seen(self) -> AddResult | None:
        """The result, where the job was seen to have ended. Looks nowhere, so that it can
        be had after the memory was closed and without a loop."""
        if self._result is None and self._job is not None and self.done:
            self._result = result_of(self._job)
        return self._result

    async def refresh(self) -> JobStatus:
        """Look at the job once. Raises InputError when its record is gone: the user was
        erased, or it is past `Config.receipt_days`."""
        if not self.done:
            self._check()
            job = await self._jobs.job(self.user_id, self.id)
            if job is None:
                self._bell.ring(self.id)
                raise unknown_receipt()
            self._job = job
            if job.status in FINAL:
                self._bell.ring(self.id)
        return self.status

    async def result(self, *, timeout: float | None = None) -> AddResult:
        """Wait for the end. Raises DeadlineError after `timeout` seconds; the job goes on."""
        with deadline(
            timeout,
            "the job has not ended yet; it goes on where a worker runs (inline, or `hmem worker`)",
        ):
            return await self._ended()

    def __await__(self) -> Generator[Any, Any, AddResult]:
        return self._ended().__await__()

    def __repr__(self) -> str:
        return f"<Receipt {self.id or '(nothing stored)'} {self.status}>"

    async def _ended(self) -> AddResult:
        pause = _FIRST_POLL
        while (result := self.seen) is None:
            # Listen first, then look: it may end between the two.
            with self._bell.listen(self.id) as event:
                if await self.refresh() not in FINAL:
                    with anyio.move_on_after(pause):
                        await event.wait()
            pause = min(2 * pause, _SLOWEST_POLL)
        return result


def result_of(job: Job) -> AddResult:
    """A job's end as its caller sees it."""
    return AddResult(
        status=job.status,
        turns=job.turns,
        added=job.added,
        superseded=job.superseded,
        skipped=job.skipped,
        usage=job.usage,
        reason=job.reason,
    )


def unknown_receipt() -> InputError:
    """One error for what never was, is gone, and is somebody else's."""
    return InputError("no such receipt for this user, or its record has been cleared")
