"""The embedded store in several processes, under kills, and under clocks that jump."""

import asyncio
import json
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hmem.config import Config
from hmem.stores import wakeups
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store.making import DONE, accept, add, plan, turn
from hmem.testing.store.view import kept
from hmem.times import to_micros

WRITER = """
import asyncio, sys
from hmem.config import Config
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store.making import DONE, accept, add, plan, turn
path, name, tasks, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
async def main():
    store = EmbeddedStore(Config(path=path, shards=1, checkpoint_pages=20))
    await store.open()
    async def adder(task):
        for n in range(rounds):
            text = f"{name} {task} {n}"
            await store.accept(f"user {task % 3}", accept(
                turn(text), key=text, body_hash=b"1"))
            print(text, flush=True)
    async def worker():
        while True:
            for claim in await store.claim(worker=name, lease=5, limit=3):
                ops = [add(f"fact of {t.text}") for j in claim.jobs for t in j.turns]
                await store.apply(claim.user_id, plan(*ops, claim=claim, end=DONE))
            await store.wait_for_work(0.05)
    works = asyncio.create_task(worker())
    await asyncio.gather(*(adder(t) for t in range(tasks)))
    works.cancel()
    await asyncio.wait([works])
    await store.aclose()
asyncio.run(main())
"""


@asynccontextmanager
async def writer(*args: object) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        WRITER,
        *map(str, args),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def intact(where: Path) -> None:
    with closing(sqlite3.connect(where / "shard-00.db")) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def work_off(store: EmbeddedStore) -> None:
    """End every job as the writers' workers do."""
    while await store.queued():
        for claim in await store.claim(worker="last", lease=60, limit=9):
            ops = [add(f"fact of {t.text}") for j in claim.jobs for t in j.turns]
            await store.apply(claim.user_id, plan(*ops, claim=claim, end=DONE))
        await asyncio.sleep(0.02)


async def test_kills_lose_nothing_acknowledged_and_apply_nothing_twice(
    tmp_path: Path,
) -> None:
    rng = random.Random(7)
    acknowledged: list[str] = []
    for n in range(5):
        async with writer(tmp_path, f"run{n}", 8, 10_000) as process:
            assert process.stdout is not None
            first = await asyncio.wait_for(process.stdout.readline(), 20)
            await asyncio.sleep(rng.uniform(0.02, 0.25))
            process.kill()
            rest, _ = await process.communicate()
        lines = (first + rest).decode().split("\n")
        acknowledged += lines[:-1]  # the last may be cut
        intact(tmp_path)
    assert len(acknowledged) > 20
    store = EmbeddedStore(
        Config(path=tmp_path, shards=1),
        clock=lambda: datetime.now(UTC) + timedelta(seconds=10),  # leases are over
    )
    await store.open()
    await work_off(store)
    turns: Counter[str] = Counter()
    facts: Counter[str] = Counter()
    for user in range(3):
        view = await kept(store, f"user {user}")
        turns.update(row.text for row in view.turns.values())
        facts.update(row.text for row in view.memories.values())
        assert view.pending == frozenset()
    await store.aclose()
    assert [text for text in acknowledged if turns[text] != 1] == []
    assert [text for text, n in turns.items() if n != 1] == []
    assert facts == Counter({f"fact of {text}": 1 for text in turns})


async def test_two_processes_and_this_one_write_one_shard_without_an_error(
    tmp_path: Path,
) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1, checkpoint_pages=20))
    await store.open()
    async with writer(tmp_path, "a", 8, 25) as a, writer(tmp_path, "b", 8, 25) as b:
        for n in range(50):
            await store.accept("user 0", accept(turn(f"mine {n}")))
        ends = [await p.communicate() for p in (a, b)]
    assert [(p.returncode, end[1]) for p, end in zip((a, b), ends, strict=True)] == [
        (0, b"")
    ] * 2
    views = [await kept(store, f"user {n}") for n in range(3)]
    assert sum(len(view.turns) for view in views) == 450
    await work_off(store)
    views = [await kept(store, f"user {n}") for n in range(3)]
    assert sum(len(view.memories) for view in views) == 450
    await store.aclose()
    intact(tmp_path)


# ------------------------------------------------------------------------------ clocks


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
async def clocked(tmp_path: Path) -> AsyncIterator[tuple[EmbeddedStore, Clock]]:
    clock = Clock()
    store = EmbeddedStore(Config(path=tmp_path, shards=1), clock=clock)
    await store.open()
    yield store, clock
    await store.aclose()


async def claims(store: EmbeddedStore) -> list[int]:
    store._handle.wakeups.note(0)
    found = await store.claim(worker="w", lease=60, limit=5)
    return [claim.token for claim in found]


async def test_a_lease_ends_when_the_clock_was_set_back(
    clocked: tuple[EmbeddedStore, Clock],
) -> None:
    store, clock = clocked
    await store.accept("ana", accept(turn("a")))
    (old,) = await store.claim(worker="w", lease=60, limit=1)
    assert await claims(store) == []
    clock.now -= timedelta(hours=1)
    (token,) = await claims(store)
    assert token != old.token
    refused = await store.apply("ana", plan(add("late"), claim=old, end=DONE))
    assert refused.refused == "lease"


async def test_a_delay_ends_when_the_clock_was_set_back(
    clocked: tuple[EmbeddedStore, Clock],
) -> None:
    store, clock = clocked
    await store.accept("ana", accept(turn("a")))
    (claim,) = await store.claim(worker="w", lease=60, limit=1)
    await store.release(claim, delay=30)
    assert await claims(store) == []
    clock.now -= timedelta(hours=1)
    assert len(await claims(store)) == 1


async def test_a_clock_set_forward_ends_leases_and_harms_nothing_else(
    clocked: tuple[EmbeddedStore, Clock],
) -> None:
    store, clock = clocked
    await store.accept("ana", accept(turn("a")))
    (old,) = await store.claim(worker="w", lease=60, limit=1)
    clock.now += timedelta(days=365)
    (token,) = await claims(store)
    assert token != old.token
    clock.now -= timedelta(days=365)
    assert len(await claims(store)) == 1, "set right again, the lease is in the future"
    job = await store.job("ana", old.jobs[0].id)
    assert job is not None
    assert (job.status, job.attempts) == ("running", 3)


async def test_jobs_recorded_in_the_future_are_claimed_now(
    clocked: tuple[EmbeddedStore, Clock],
) -> None:
    store, _ = clocked
    await store.accept("ana", accept(turn("a"), at=40_000))
    assert len(await claims(store)) == 1


async def test_waiting_wakes_when_a_lease_of_this_process_is_over(
    tmp_path: Path,
) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1))
    await store.open()
    await store.accept("ana", accept(turn("a")))
    assert len(await store.claim(worker="w", lease=0.3, limit=1)) == 1
    assert await store.wait_for_work(0.01) is False
    assert await store.wait_for_work(3) is True
    assert len(await store.claim(worker="w", lease=60, limit=1)) == 1
    await store.aclose()


async def test_a_lost_hint_is_made_up_for_by_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups, "SWEEP", 0.2)
    store, other = (EmbeddedStore(Config(path=tmp_path, shards=2)) for _ in range(2))
    await store.open()
    await other.open()
    monkeypatch.setattr(other._handle.folder.hints, "touch", lambda _: None)
    await other.accept("ana", accept(turn("a")))
    assert await store.wait_for_work(3) is True
    assert len(await store.claim(worker="w", lease=60, limit=1)) == 1
    for found in (store, other):
        await found.aclose()


async def test_jobs_of_one_claim_do_not_die_with_the_one_that_kills(
    tmp_path: Path,
) -> None:
    clock = Clock()
    store = EmbeddedStore(Config(path=tmp_path, shards=1, max_attempts=4), clock=clock)
    await store.open()
    ids = [(await store.accept("ana", accept(turn(f"{n}")))).job_id for n in range(4)]
    for _ in range(30):
        store._handle.wakeups.note(0)
        for claim in await store.claim(worker="w", lease=5, limit=1):
            if ids[1] in [job.id for job in claim.jobs]:
                clock.now += timedelta(seconds=6)  # its worker died
            else:
                await store.apply("ana", plan(claim=claim, end=DONE))
    jobs = [await store.job("ana", job_id) for job_id in ids]
    assert [job and job.status for job in jobs] == ["done", "dead", "done", "done"]
    dead = jobs[1]
    assert dead is not None
    assert dead.attempts == 4
    assert "4 times" in str(dead.reason)
    await store.aclose()
    assert json.dumps(dead.reason)


async def test_a_claim_that_waited_for_the_lock_takes_no_lease_made_meanwhile(
    tmp_path: Path,
) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1))
    await store.open()
    await store.accept("ana", accept(turn("a")))
    path = tmp_path / "shard-00.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waits = asyncio.create_task(store.claim(worker="w", lease=60, limit=1))
        await asyncio.sleep(1.2)
        now = to_micros(datetime.now(UTC))
        other.execute(
            "UPDATE users SET token = token + 1, hold_from = ?, hold_until = ?",
            (now, now + 60_000_000),
        )
        other.execute("COMMIT")
    assert await waits == []
    await store.aclose()
