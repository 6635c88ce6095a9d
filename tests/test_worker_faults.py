import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from hmem import AsyncMemory, Config, DiskFullError, EmbedderError
from hmem.protocols import Claim, WritePlan
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import FailingEmbedder, HangingEmbedder, HashEmbedder
from hmem.testing.yard import ScriptedEmbedder, Yard, eventually

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


def poison(*, retryable: bool) -> ScriptedEmbedder:
    async def script(texts: Sequence[str]) -> None:
        if any("poison" in text for text in texts):
            raise EmbedderError("it chokes", retryable=retryable)

    return ScriptedEmbedder(script)


# ------------------------------------------------------------------------ outages


async def test_an_outage_dead_letters_nothing_and_is_told_once(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = FailingEmbedder(times=None)
    worker = await yard.start(embedder)
    ids = {f"u{n}": await yard.add(f"u{n}", "hi") for n in range(6)}
    await eventually(lambda: embedder.failed > 12)  # far more than max_attempts
    assert worker.stuck
    for user, i in ids.items():
        job = await yard.job(user, i)
        assert (job.status, job.attempts) == ("queued", 0)
    calls = embedder.failed
    await asyncio.sleep(0.1)
    assert embedder.failed - calls <= 5  # one probe per pause, whatever waits
    embedder.times = 0
    for user, i in ids.items():
        assert (await yard.ended(user, i)).status == "done"
    assert yard.events.count("outage_started") == 1
    assert yard.events.count("outage_ended") == 1
    lines = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert [r.getMessage()[:21] for r in lines] == [
        "the embedder is down,",
        "the embedder is back ",
    ]


async def test_an_embedder_that_hangs_is_an_outage(yard: Yard) -> None:
    yard.config = replace(yard.config, embed_timeout=0.05)
    embedder = HangingEmbedder()
    worker = await yard.start(embedder)
    i = await yard.add("u", "hi")
    await eventually(lambda: worker.breaker.is_open)
    embedder.release()
    job = await yard.ended("u", i)
    assert (job.status, job.attempts) == ("done", 1)


async def test_a_full_disk_is_told_once_and_ends(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    claim, failed = yard.store.claim, 0

    async def full(**terms: Any) -> list[Claim]:
        nonlocal failed
        failed += 1
        if failed <= 20:
            raise DiskFullError("no space left")
        return await claim(**terms)

    monkeypatch.setattr(yard.store, "claim", full)
    i = await yard.add("u", "hi")
    worker = await yard.start(HashEmbedder())
    assert (await yard.ended("u", i)).status == "done"
    assert not worker.stuck
    assert yard.events.count("store_failed") == 1
    assert yard.events.count("store_recovered") == 1
    assert len([r for r in caplog.records if r.levelno >= logging.ERROR]) == 1


async def test_a_write_that_fails_costs_no_attempt(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply, failed = yard.store.apply, 0

    async def full(*args: Any) -> Any:
        nonlocal failed
        failed += 1
        if failed <= 5:
            raise DiskFullError("no space left")
        return await apply(*args)

    monkeypatch.setattr(yard.store, "apply", full)
    i = await yard.add("u", "hi")
    await yard.start(HashEmbedder())
    job = await yard.ended("u", i)
    assert (job.status, job.attempts) == ("done", 1)


class FullFor:
    """A store whose disk is full for some users: what works on their jobs cannot be
    written, nor given back. `tried` counts what was to be given back."""

    def __init__(
        self, yard: Yard, monkeypatch: pytest.MonkeyPatch, users: Sequence[str]
    ) -> None:
        self.users = set(users)
        self.tried = 0
        store = yard.store
        apply, release, renew = store.apply, store.release, store.renew

        async def applying(user: str, plan: WritePlan) -> Any:
            self._check(user)
            return await apply(user, plan)

        async def releasing(claim: Claim, **terms: Any) -> None:
            self.tried += 1
            self._check(claim.user_id)
            await release(claim, **terms)

        async def renewing(claim: Claim, lease: float) -> bool:
            self._check(claim.user_id)
            return await renew(claim, lease)

        monkeypatch.setattr(store, "apply", applying)
        monkeypatch.setattr(store, "release", releasing)
        monkeypatch.setattr(store, "renew", renewing)

    def _check(self, user: str) -> None:
        if user in self.users:
            raise DiskFullError("no space left")


async def test_a_claim_that_cannot_be_given_back_is_not_left_until_its_lease_lapses(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert yard.config.lease >= 60
    full = FullFor(yard, monkeypatch, ["u"])
    i = await yard.add("u", "hi")
    await yard.start(HashEmbedder())
    await eventually(lambda: full.tried > 3)
    assert (await yard.job("u", i)).status == "running"
    full.users.clear()
    job = await yard.ended("u", i)
    assert (job.status, job.attempts) == ("done", 1)


async def test_claims_that_cannot_be_given_back_keep_nobody_else_waiting(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = [f"full{n}" for n in range(yard.config.users_in_parallel + 1)]
    full = FullFor(yard, monkeypatch, stuck)
    ids = {user: await yard.add(user, "hi") for user in stuck}
    worker = await yard.start(HashEmbedder())
    await eventually(lambda: full.tried > 2 * len(stuck))
    for user in ("ada", "bea", "cyd", "dov"):
        assert (await yard.ended(user, await yard.add(user, "hi"))).status == "done"
    assert not worker.busy
    full.users.clear()
    for user, i in ids.items():
        job = await yard.ended(user, i)
        assert (job.status, job.attempts) == ("done", 1)


async def test_a_suspect_that_cannot_be_given_back_keeps_nobody_else_waiting(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    i = await yard.add("full", "hi")
    for worker in ("gone", "gone too"):  # tried so often that it may be to blame
        [claim] = await yard.store.claim(worker=worker, lease=60, limit=1)
        await yard.store.release(claim, delay=0.0, attempted=True)
    full = FullFor(yard, monkeypatch, ["full"])
    await yard.start(HashEmbedder())
    await eventually(lambda: full.tried > 1)
    for user in ("ada", "bea"):
        assert (await yard.ended(user, await yard.add(user, "hi"))).status == "done"
    full.users.clear()
    assert (await yard.ended("full", i)).status == "done"


async def test_who_waits_for_the_jobs_learns_that_a_store_long_takes_nothing_back(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.worker._STORE_CAP", 0.05)
    full = FullFor(yard, monkeypatch, ["u"])
    i = await yard.add("u", "hi")
    worker = await yard.start(HashEmbedder())
    await eventually(lambda: full.tried > 3)
    await eventually(lambda: worker.stuck)
    full.users.clear()
    await yard.ended("u", i)
    await eventually(lambda: not worker.stuck)


async def test_a_worker_that_must_stop_does_not_wait_for_a_store_that_fails(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.worker._BASE", 60.0)
    monkeypatch.setattr("hmem.worker._CAP", 60.0)
    monkeypatch.setattr("hmem.worker._STORE_CAP", 60.0)
    full = FullFor(yard, monkeypatch, ["u"])
    await yard.add("u", "hi")
    worker = yard.worker(HashEmbedder())
    running = asyncio.create_task(worker.run())
    await eventually(lambda: full.tried == 1 and not worker.busy)
    worker.stop()
    await asyncio.wait_for(running, 5)
    assert full.tried == 2  # once more, at the end


# -------------------------------------------------------------------- poison jobs


async def test_a_job_that_always_fails_is_tried_so_often_and_no_more(
    yard: Yard,
) -> None:
    embedder = poison(retryable=True)
    bad = await yard.add("u", "poison")
    await yard.start(embedder)
    job = await yard.ended("u", bad)
    assert (job.status, job.attempts) == ("dead", yard.config.max_attempts)
    assert job.reason is not None
    assert job.reason.startswith(
        "the turns and facts are stored and searchable by words"
    )
    good = await yard.add("u", "fine")
    assert (await yard.ended("u", good)).status == "done"
    assert "outage_started" not in yard.events
    assert yard.events.count("job_dead") == 1


async def test_one_bad_passage_among_many_costs_only_itself(yard: Yard) -> None:
    texts = [f"turn {n}" for n in range(40)]
    texts[17] = "poison"
    bad = await yard.add("u", *texts)
    await yard.start(poison(retryable=False))
    job = await yard.ended("u", bad)
    assert (job.status, job.attempts) == ("partial", 1)
    assert job.usage.embedded_texts == 39
    assert job.reason is not None
    assert "embedding failed for 1 of 40: it chokes" in job.reason


async def test_an_outage_in_the_middle_of_sorting_out_is_still_an_outage(
    yard: Yard,
) -> None:
    calls = 0

    async def script(texts: Sequence[str]) -> None:
        nonlocal calls
        calls += 1
        if calls == 1 or 3 <= calls <= 8:  # fails, answers the probe, goes down
            raise EmbedderError("it chokes", retryable=False)

    bad = await yard.add("u", "one", "two")
    await yard.start(ScriptedEmbedder(script))
    job = await yard.ended("u", bad)
    assert (job.status, job.attempts) == ("done", 1)
    assert yard.events.count("outage_started") == 1


async def test_a_bug_is_bounded_and_says_no_word_of_the_user(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    async def script(texts: Sequence[str]) -> None:
        if list(texts) != ["hello"]:
            raise ValueError(f"cannot embed {texts[0]}")

    caplog.set_level(logging.INFO)
    bad = await yard.add("u", "canary7f3a")
    await yard.start(ScriptedEmbedder(script))
    job = await yard.ended("u", bad)
    assert (job.status, job.attempts) == ("dead", yard.config.max_attempts)
    assert job.reason is not None
    assert "ValueError" in job.reason
    assert "canary7f3a" not in job.reason + caplog.text


@pytest.mark.parametrize("rows", ["short", "flat", "nan", "zero", "wide"])
async def test_vectors_that_cannot_be_are_not_stored(yard: Yard, rows: str) -> None:
    class Broken(HashEmbedder):
        async def embed(
            self, texts: Sequence[str], *, purpose: Purpose = "passage"
        ) -> Matrix:
            made = await super().embed(texts, purpose=purpose)
            if texts == ["hello"]:
                return made
            broken = {
                "short": made[:-1],
                "flat": made.ravel(),
                "nan": made * np.float32("nan"),
                "zero": made * np.float32(0),
                "wide": np.hstack([made, made]),  # before there is a space, and after
            }
            return broken[rows]

    bad = await yard.add("u", "one")
    worker = await yard.start(Broken())
    assert (await yard.ended("u", bad)).status == "dead"
    await yard.store.adopt_space(Broken().model, Broken().dim or 0)
    bad = await yard.add("u", "two")
    assert (await yard.ended("u", bad)).status == "dead"
    assert worker.halted is None
    delta = await yard.store.delta("u")
    assert delta is not None
    assert list(delta.vectors) == []


async def test_many_failures_leave_nothing_behind(yard: Yard) -> None:
    bad = [await yard.add(f"u{n}", "poison") for n in range(40)]
    await yard.start(poison(retryable=False))
    for n, i in enumerate(bad):
        assert (await yard.ended(f"u{n}", i)).status == "dead"
    assert len(asyncio.all_tasks()) < 10


async def test_jobs_that_may_kill_their_worker_are_worked_on_one_by_one(
    yard: Yard,
) -> None:
    together: list[int] = []

    async def script(texts: Sequence[str]) -> None:
        await asyncio.sleep(0.02)
        if any("suspect" in text for text in texts):
            together.append(embedder.running)

    embedder = ScriptedEmbedder(script)
    jobs = {f"u{n}": await yard.add(f"u{n}", f"suspect {n}") for n in range(3)}
    for _ in range(2):
        assert len(await yard.store.claim(worker="dead", lease=0.001, limit=9)) == 3
        await asyncio.sleep(0.01)
    others = {f"v{n}": await yard.add(f"v{n}", f"fine {n}") for n in range(9)}
    await yard.start(embedder)
    for user, job_id in (jobs | others).items():
        assert (await yard.ended(user, job_id)).status == "done"
    assert together == [1, 1, 1]
    assert embedder.busy > 1


async def test_a_suspect_waits_for_what_is_in_work(yard: Yard) -> None:
    through = asyncio.Event()
    seen: list[str] = []

    async def script(texts: Sequence[str]) -> None:
        seen.append(texts[0].split(": ")[1])
        if "slow" in texts[0]:
            await through.wait()

    suspect = await yard.add("u", "suspect")
    assert await yard.store.claim(worker="dead", lease=0.001, limit=9)
    await asyncio.sleep(0.01)
    assert await yard.store.claim(worker="dead", lease=0.3, limit=9)
    slow = await yard.add("v", "slow")
    await yard.start(ScriptedEmbedder(script))
    await eventually(lambda: seen == ["slow"])
    job = await yard.job("u", suspect)
    assert job.attempts == 2
    async with asyncio.timeout(5):
        while (await yard.job("u", suspect)).attempts < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert seen == ["slow"]
    through.set()
    assert (await yard.ended("v", slow)).status == "done"
    assert (await yard.ended("u", suspect)).status == "done"
    assert seen == ["slow", "suspect"]


# --------------------------------------------------------------- faults of our own


@pytest.mark.parametrize("where", ["wait_for_work", "release", "renew"])
async def test_a_worker_that_breaks_starts_anew_and_the_jobs_end(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [2]
    whole = getattr(EmbeddedStore, where)

    async def breaks(self: EmbeddedStore, *args: Any, **kwargs: Any) -> Any:
        if broken[0]:
            broken[0] -= 1
            raise RuntimeError("a bug")
        return await whole(self, *args, **kwargs)

    monkeypatch.setattr(EmbeddedStore, where, breaks)
    told: list[str] = []
    config = Config(
        path=tmp_path / "own",
        lease=0.1,
        on_event=lambda name, _: told.append(name),
    )
    embedder = FailingEmbedder(times=2)
    async with AsyncMemory(config, embedder=embedder) as mem:
        receipts = [await mem.add(f"word {n}", user_id=f"u{n}") for n in range(3)]
        for receipt in receipts:
            assert (await receipt.result(timeout=20)).status == "done"
        await eventually(lambda: where == "renew" or "worker_error" in told)
