"""What `Memory.add()` gives back."""

from hmem.receipts import Receipt
from hmem.records import AddResult, JobStatus
from hmem.sync.loop import LoopThread


class SyncReceipt:
    """A job that is on disk: the Receipt of synchronous callers.

    `result()` blocks until the job ended. Interrupting it never cancels the job.
    """

    def __init__(self, inner: Receipt, loop: LoopThread) -> None:
        self._inner = inner
        self._loop = loop

    @property
    def id(self) -> str:
        """See `Receipt.id`."""
        return self._inner.id

    @property
    def user_id(self) -> str:
        """See `Receipt.user_id`."""
        return self._inner.user_id

    @property
    def repeated(self) -> bool:
        """See `Receipt.repeated`."""
        return self._inner.repeated

    @property
    def status(self) -> JobStatus:
        """As last seen; `refresh()` looks again."""
        return self._inner.status

    @property
    def done(self) -> bool:
        """See `Receipt.done`."""
        return self._inner.done

    @property
    def seen(self) -> AddResult | None:
        """See `Receipt.seen`."""
        return self._inner.seen

    def refresh(self) -> JobStatus:
        """See `Receipt.refresh`."""
        return self.status if self.done else self._loop.run(self._inner.refresh)

    def result(self, *, timeout: float | None = None) -> AddResult:
        """See `Receipt.result`. What was seen to end is told also after closing."""
        return self.seen or self._loop.run(lambda: self._inner.result(timeout=timeout))

    def __repr__(self) -> str:
        return f"<Sync{repr(self._inner)[1:]}"
