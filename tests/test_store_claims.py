"""A claim whose wait is cancelled, at any moment: it goes back, and no task is left over."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hmem.config import Config
from hmem.errors import StoreError
from hmem.protocols import Claim
from hmem.stores.embedded import EmbeddedStore
from hmem.stores.folder import bucket
from hmem.testing.store.making import accept, turn

MOMENTS = 30


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    found = EmbeddedStore(Config(path=tmp_path, shards=1, durability="normal"))
    await found.open()
    yield found
    await found.aclose()


def claiming(store: EmbeddedStore) -> asyncio.Task[list[Claim]]:
    return asyncio.create_task(store.claim(worker="w", lease=60, limit=1))


def behind(waits: asyncio.Task[list[Claim]]) -> asyncio.Task[Any]:
    """The task that claims for the one that waits."""
    others = asyncio.all_tasks() - {waits}
    [found] = [t for t in others if "Queue." in repr(t.get_coro())]
    return found


async def claimed(store: EmbeddedStore) -> list[Claim]:
    """What is claimed as soon as there is something."""
    async with asyncio.timeout(5):
        while not (claims := await store.claim(worker="v", lease=60, limit=1)):
            await store.wait_for_work(0.1)
    return claims


def attempts(claims: list[Claim]) -> list[tuple[str, int]]:
    return [(job.id, job.attempts) for claim in claims for job in claim.jobs]


async def test_a_claim_cancelled_at_any_moment_is_given_back(
    store: EmbeddedStore,
) -> None:
    done = await store.accept("ana", accept(turn("a")))
    cancelled = 0
    for turns_of_the_loop in range(MOMENTS):
        waits = claiming(store)
        for _ in range(turns_of_the_loop):
            await asyncio.sleep(0)
        waits.cancel()
        claims = (await asyncio.gather(waits, return_exceptions=True))[0]
        if isinstance(claims, BaseException):
            cancelled += isinstance(claims, asyncio.CancelledError)
            claims = await claimed(store)
        assert attempts(claims) == [(done.job_id, 1)]
        await store.release(claims[0], attempted=False)
    assert cancelled


async def test_a_claim_cancelled_in_the_moment_it_comes_is_given_back(
    store: EmbeddedStore,
) -> None:
    done = await store.accept("ana", accept(turn("a")))
    waits = claiming(store)
    await asyncio.sleep(0)
    behind(waits).add_done_callback(lambda _: waits.cancel())
    with pytest.raises(asyncio.CancelledError):
        await waits
    assert attempts(await claimed(store)) == [(done.job_id, 1)]


async def test_closing_waits_for_a_claim_that_is_being_given_back(
    tmp_path: Path,
) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1, durability="normal"))
    await store.open()
    done = await store.accept("ana", accept(turn("a")))
    waits = claiming(store)
    await asyncio.sleep(0)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    await store.aclose()
    await store.open()
    claims = await store.claim(worker="v", lease=60, limit=1)
    assert attempts(claims) == [(done.job_id, 1)]
    await store.aclose()


# ------------------------------------------------------------------------ loops that end


def end(loop: asyncio.AbstractEventLoop) -> None:
    """What `asyncio.run` does at its end: nothing waits for a task that is younger."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.wait_for(_all(tasks), 10))


async def _all(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("moment", ["it comes", "it is given back"])
def test_a_loop_that_ends_when_a_claim_comes_leaves_no_task(
    tmp_path: Path, moment: str
) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1, durability="normal"))

    async def begin() -> None:
        await store.open()
        await store.accept("ana", accept(turn("a")))

    async def until_it_comes() -> None:
        waits = claiming(store)
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        behind(waits).add_done_callback(lambda _: loop.stop())
        if moment == "it is given back":
            waits.cancel()

    with closing(asyncio.new_event_loop()) as loop:
        loop.run_until_complete(begin())
        loop.create_task(until_it_comes())  # the loop stops itself
        loop.run_forever()
        end(loop)
        assert asyncio.all_tasks(loop) == set()
        loop.run_until_complete(store.aclose())
        loop.run_until_complete(loop.shutdown_default_executor())


def test_a_loop_that_ends_at_any_moment_of_a_claim_leaves_no_task(
    tmp_path: Path,
) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1, durability="normal"))

    async def begin(turns_of_the_loop: int) -> list[asyncio.Task[list[Claim]]]:
        await store.open()
        await store.accept("ana", accept(turn("a")))
        waits = [claiming(store), claiming(store)]
        for _ in range(turns_of_the_loop):
            await asyncio.sleep(0)
        if turns_of_the_loop % 2:  # one is not waited for any more when the loop ends
            waits[0].cancel()
        return waits

    for turns_of_the_loop in range(MOMENTS):
        with closing(asyncio.new_event_loop()) as loop:
            waits = loop.run_until_complete(begin(turns_of_the_loop))
            end(loop)
            assert asyncio.all_tasks(loop) == set()
            assert all(task.done() for task in waits)
            for task in waits:
                _ = task.cancelled() or task.exception()
            loop.run_until_complete(store.aclose())
            loop.run_until_complete(loop.shutdown_default_executor())


async def test_a_shard_that_another_process_keeps_locked_keeps_no_other_s_jobs_waiting(
    tmp_path: Path,
) -> None:
    config = Config(path=tmp_path, shards=2, durability="normal", busy_timeout=0.05)
    store = EmbeddedStore(config)
    await store.open()
    users = {bucket(f"u{n}", 2): f"u{n}" for n in range(20)}
    for user in users.values():
        await store.accept(user, accept(turn("hi")))
    file = tmp_path / "shard-00.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        [claim] = await store.claim(worker="w", lease=60, limit=4)
        assert claim.user_id == users[1]
        for _ in range(3):  # nothing else is there, and the lock is told
            with pytest.raises(StoreError):
                await store.claim(worker="w", lease=60, limit=4)
        await store.release(claim, delay=0.0, attempted=True)
        [claim] = await store.claim(worker="w", lease=60, limit=4)
        assert claim.user_id == users[1]
        other.execute("ROLLBACK")
    [claim] = await store.claim(worker="w", lease=60, limit=4)
    assert claim.user_id == users[0]
    await store.aclose()
