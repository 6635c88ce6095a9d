"""Waiting for jobs that were accepted, as `hmem add --wait` does."""

import math
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from hmem.cli.progress import progress

if TYPE_CHECKING:
    from hmem import Memory, SyncReceipt

_LOOK = 1.0
"""Seconds between two looks at what has ended."""
_PATIENCE = 10.0
"""Seconds without a job's end until it is looked whether a model is down: then nobody
waits any more."""
_FINAL = ("done", "partial", "dead")
_LATE = (
    "jobs have not ended yet; they go on where a worker runs (inline, or `hmem worker`)"
)


def wait_for(
    mem: "Memory",
    receipts: "Sequence[SyncReceipt]",
    timeout: float | None,
    *,
    shown: bool | None,
) -> str | None:
    """Wait for the jobs, which end in order. Gives what to say when the time ran out."""
    until = math.inf if timeout is None else time.monotonic() + timeout
    waiting, moved = deque(receipts), time.monotonic()
    with progress(
        len(waiting) if len(waiting) > 1 else 0, "worked on", shown=shown
    ) as advance:
        while waiting:
            left = max(0.0, until - time.monotonic())
            _let_work(mem, waiting[0], min(_LOOK, left))
            while waiting and (waiting[0].done or waiting[0].refresh() in _FINAL):
                waiting.popleft()
                moved = time.monotonic()
                advance(1)
            if waiting and not left:
                return f"{len(waiting)} of {len(receipts)} {_LATE}"
            if waiting and time.monotonic() - moved > _PATIENCE:
                moved = time.monotonic()
                if down := _down(mem):
                    return f"{len(waiting)} of {len(receipts)} {_LATE}: {down}"
    return None


def _down(mem: "Memory") -> str:
    """Why a model cannot be asked, "" while it can."""
    problems = mem.admin.health()["problems"]
    return next((problem for problem in problems if "is down" in problem), "")


def _let_work(mem: "Memory", first: "SyncReceipt", seconds: float) -> None:
    """Wait a while. `flush` is what lets turns be read that wait for more of them; it
    knows nothing of jobs that an earlier run accepted."""
    from hmem.errors import DeadlineError

    with suppress(DeadlineError):
        mem.flush(timeout=seconds)
        first.result(timeout=seconds)
