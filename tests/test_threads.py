"""Work in a thread that is waited for to its end, whoever is cancelled how."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest

from hmem.threads import to_its_end


class Work:
    """A call that lasts until it is let go."""

    def __init__(self, *, fails: bool = False) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.ended = False
        self._fails = fails

    def __call__(self) -> int:
        self.begun.set()
        assert self.go_on.wait(20)
        self.ended = True
        if self._fails:
            raise OSError("no space left")
        return 7

    async def has_begun(self) -> None:
        while not self.begun.is_set():  # noqa: ASYNC110  # a thread sets it
            await asyncio.sleep(0)


@pytest.fixture
def work() -> Work:
    return Work()


@contextmanager
def let_go_at_last(work: Work) -> Iterator[None]:
    """A failed assertion leaves no thread behind that holds up the run."""
    try:
        yield
    finally:
        work.go_on.set()


async def test_it_gives_what_the_call_gives(work: Work) -> None:
    work.go_on.set()
    assert await to_its_end(work) == 7


async def test_it_raises_what_the_call_raises() -> None:
    failing = Work(fails=True)
    failing.go_on.set()
    with pytest.raises(OSError, match="no space left"):
        await to_its_end(failing)


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_a_cancelled_task_leaves_once_the_call_has_ended(
    work: Work, times: int
) -> None:
    task = asyncio.create_task(to_its_end(work))
    with let_go_at_last(work):
        await work.has_begun()
        for _ in range(times):
            task.cancel()
            await asyncio.wait([task], timeout=0.01)
            assert not task.done()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.ended


async def test_a_cancelled_scope_is_left_once_the_call_has_ended(work: Work) -> None:
    with let_go_at_last(work):
        async with anyio.create_task_group() as group:
            group.start_soon(to_its_end, work)
            await work.has_begun()
            group.cancel_scope.cancel()
            threading.Timer(0.05, work.go_on.set).start()
        assert work.ended


async def test_a_timeout_that_came_meanwhile_is_told_after_it(work: Work) -> None:
    threading.Timer(0.1, work.go_on.set).start()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(to_its_end(work), 0.01)
    assert work.ended


async def test_a_failure_is_told_also_to_the_cancelled() -> None:
    failing = Work(fails=True)
    task = asyncio.create_task(to_its_end(failing))
    with let_go_at_last(failing):
        await failing.has_begun()
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(OSError, match="no space left"):
        await task
