import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from hmem import Config
from hmem.breaker import backoff
from hmem.daemon import run_worker
from hmem.ingest import turn_texts
from hmem.protocols import Claim
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HangingEmbedder, HashEmbedder
from hmem.testing.yard import ScriptedEmbedder, Yard, eventually
from hmem.vectors import codec

Matrix = NDArray[np.float32]
Purpose = Literal["passage", "query"]


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    config = Config(
        path=tmp_path / "m",
        shards=2,
        durability="normal",
        max_attempts=3,
        users_in_parallel=3,
        embed_timeout=5,
    )
    store = EmbeddedStore(config)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.aclose)
        await store.open()
        yield Yard(config, store, stack)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of milliseconds."""
    monkeypatch.setattr("hmem.worker._BASE", 0.01)
    monkeypatch.setattr("hmem.worker._CAP", 0.05)


# ------------------------------------------------------------------ ordinary work


async def test_a_users_jobs_are_done_in_order_and_once(yard: Yard) -> None:
    embedder = HashEmbedder()
    ids = [await yard.add("u", f"number {n}") for n in range(30)]
    await yard.start(embedder)
    assert {(await yard.ended("u", i)).status for i in ids} == {"done"}
    said = [t.split("number ")[1] for call in embedder.calls for t in call]
    assert said == [str(n) for n in range(30)]


async def test_every_passage_gets_its_own_vector(yard: Yard) -> None:
    embedder = HashEmbedder()
    ids = [await yard.add("u", "one", "two"), await yard.add("u", "three " * 400)]
    await yard.start(embedder)
    for i in ids:
        await yard.ended("u", i)
    delta = await yard.store.delta("u")
    assert delta is not None
    texts = [t for call in embedder.calls for t in call]
    rows = [r for r in delta.vectors if r.kind == "turn"]
    keys = np.concatenate([r.keys for r in rows])
    assert len(keys) == len(texts) == sum(len(t.ends) for t in delta.turns)
    assert len({tuple(k) for k in keys.tolist()}) == len(keys)
    codes = np.concatenate([r.codes for r in rows])
    held = codec("int8").decode(codes, 64)
    wanted = {
        (turn.seq, n): embedder.vector(text)
        for turn in delta.turns
        for n, text in enumerate(turn_texts(turn, yard.config.zone))
    }
    for key, vector in zip(keys.tolist(), held, strict=True):
        assert float(vector @ wanted[tuple(key)]) > 0.99


async def test_users_run_in_parallel_but_not_all_of_them(yard: Yard) -> None:
    async def script(texts: Sequence[str]) -> None:
        await asyncio.sleep(0.02)

    embedder = ScriptedEmbedder(script)
    ids = {f"u{n}": await yard.add(f"u{n}", "hi") for n in range(9)}
    await yard.start(embedder)
    for user, i in ids.items():
        await yard.ended(user, i)
    assert embedder.busy == yard.config.users_in_parallel


async def test_one_users_hanging_job_holds_up_nobody_else(yard: Yard) -> None:
    never = asyncio.Event()

    async def script(texts: Sequence[str]) -> None:
        if any("hang" in text for text in texts):
            await never.wait()

    stuck = await yard.add("a", "hang")
    await yard.start(ScriptedEmbedder(script))
    for n in range(20):
        i = await yard.add(f"b{n}", "quick")
        assert (await yard.ended(f"b{n}", i, 2)).status == "done"
    job = await yard.job("a", stuck)
    assert job.status == "running"


async def test_two_workers_do_each_job_once(yard: Yard) -> None:
    embedders = [HashEmbedder(), HashEmbedder()]
    users = [f"u{n % 7}" for n in range(140)]
    ids = [await yard.add(user, f"job {n} ") for n, user in enumerate(users)]
    for embedder in embedders:
        await yard.start(embedder)
    for user, i in zip(users, ids, strict=True):
        assert (await yard.ended(user, i)).status == "done"
    said = [t for e in embedders for call in e.calls for t in call]
    assert len(said) == len(set(said)) == 140


# ------------------------------------------------------------------------- leases


async def test_a_cancelled_worker_gives_its_job_back_at_once(yard: Yard) -> None:
    hanging = HangingEmbedder()
    i = await yard.add("u", "hi")
    worker = yard.worker(hanging)
    task = asyncio.create_task(worker.run())
    await eventually(lambda: hanging.waiting > 0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await yard.start(HashEmbedder())
    job = await yard.ended("u", i, 2)  # far less than the lease
    assert (job.status, job.attempts) == ("done", 1)


async def test_stopping_ends_what_is_in_work_and_claims_no_more(yard: Yard) -> None:
    hanging = HangingEmbedder()
    first = await yard.add("u", "hi")
    worker = yard.worker(hanging)
    task = asyncio.create_task(worker.run())
    await eventually(lambda: hanging.waiting > 0)
    worker.stop()
    second = await yard.add("v", "hi")
    await asyncio.sleep(0.05)
    assert not task.done()
    hanging.release()
    await asyncio.wait_for(task, 2)
    assert (await yard.ended("u", first, 1)).status == "done"
    job = await yard.job("v", second)
    assert job.status == "queued"


async def test_the_heartbeat_keeps_a_long_job(yard: Yard) -> None:
    yard.config = replace(yard.config, lease=0.3)

    async def script(texts: Sequence[str]) -> None:
        await asyncio.sleep(1.0)

    slow, quick = ScriptedEmbedder(script), HashEmbedder()
    i = await yard.add("u", "hi")
    await yard.start(slow)
    await eventually(lambda: slow.running > 0)
    await yard.start(quick)
    job = await yard.ended("u", i)
    assert (job.status, job.attempts, quick.calls) == ("done", 1, [])


async def test_a_lapsed_lease_is_taken_over_and_the_late_plan_refused(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard.config = replace(yard.config, lease=0.2)
    renew, paused = yard.store.renew, asyncio.Event()

    async def script(texts: Sequence[str]) -> None:
        await paused.wait()

    async def no_heartbeat(claim: Claim, lease: float) -> bool:
        return True if not paused.is_set() else await renew(claim, lease)

    monkeypatch.setattr(yard.store, "renew", no_heartbeat)
    slow = ScriptedEmbedder(script)
    i = await yard.add("u", "hi")
    await yard.start(slow)
    await eventually(lambda: slow.running > 0)
    await asyncio.sleep(0.25)
    await yard.start(HashEmbedder())
    job = await yard.ended("u", i)
    paused.set()
    await eventually(lambda: slow.running == 0)
    await asyncio.sleep(0.05)
    assert await yard.store.job("u", i) == job
    delta = await yard.store.delta("u")
    assert delta is not None
    assert sum(len(r.keys) for r in delta.vectors) == 1


async def test_work_stops_when_its_lease_is_lost(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard.config = replace(yard.config, lease=0.2)
    hanging = HangingEmbedder()

    async def lost(claim: Claim, lease: float) -> bool:
        return False

    monkeypatch.setattr(yard.store, "renew", lost)
    await yard.add("u", "hi")
    await yard.start(hanging)
    await eventually(lambda: hanging.waiting > 0)
    await eventually(lambda: hanging.waiting == 0)


# ----------------------------------------------------------------------- the rest


async def test_another_models_space_stops_the_worker_and_keeps_the_jobs(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    await yard.store.adopt_space("somebody-else", 8)
    ids = [await yard.add(f"u{n}", "hi") for n in range(5)]
    worker = await yard.start(HashEmbedder())
    await eventually(lambda: worker.halted is not None)
    await asyncio.sleep(0.05)
    assert "somebody-else" in str(worker.halted)
    for n, i in enumerate(ids):
        job = await yard.job(f"u{n}", i)
        assert (job.status, job.attempts) == ("queued", 0)
    assert len([r for r in caplog.records if r.levelno >= logging.ERROR]) == 1


async def test_an_erased_users_jobs_end_quietly(yard: Yard) -> None:
    hanging = HangingEmbedder()
    await yard.add("u", "hi")
    worker = await yard.start(hanging)
    await eventually(lambda: hanging.waiting > 0)
    await yard.store.erase_user("u")
    again = await yard.add("u", "hi again")
    hanging.release()
    assert (await yard.ended("u", again)).status == "done"
    assert not worker.stuck


async def test_run_worker_works_until_it_is_stopped(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.parts.make_embedder", lambda config: HashEmbedder())
    i = await yard.add("u", "hi")
    stop = asyncio.Event()
    task = asyncio.create_task(run_worker(yard.config, stop=stop))
    assert (await yard.ended("u", i)).status == "done"
    stop.set()
    await asyncio.wait_for(task, 2)


def test_the_pause_doubles_is_capped_and_spread() -> None:
    pauses = [[backoff(n, base=1, cap=60) for _ in range(200)] for n in range(1, 12)]
    for n, some in enumerate(pauses):
        middle = min(60, 2**n)
        assert 0.75 * middle <= min(some) < max(some) <= 1.25 * middle
    assert backoff(10**9, base=1, cap=60) <= 75
