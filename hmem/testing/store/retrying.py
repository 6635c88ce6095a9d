"""What `jobs` and `retry` promise."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio
import time
from dataclasses import replace
from typing import Literal

import pytest

from hmem.errors import QueueFullError
from hmem.protocols import Claim, Job, JobEnd, JobEntry, Store, StoreReply
from hmem.records import JobStatus, Skipped, Usage
from hmem.testing.store.making import (
    DONE,
    accept,
    add,
    close,
    item,
    plan,
    quiet,
    turn,
)
from hmem.testing.store.queueing import LONG, claim_one, work_off
from hmem.testing.store.strangers import STRANGERS
from hmem.testing.store.view import dump, kept
from hmem.testing.store.world import World

ALL: tuple[JobStatus, ...] = ("queued", "running", "done", "partial", "dead")
FAILED: tuple[JobStatus, ...] = ("partial", "dead")
Failure = Literal["partial", "dead"]


async def listed(
    store: Store, *statuses: JobStatus, limit: int = 100
) -> list[JobEntry]:
    """Jobs in these states, without the strangers'."""
    found = await store.jobs(statuses=statuses or ALL, limit=limit)
    return [entry for entry in found if entry.user_id not in STRANGERS]


async def fail(
    store: Store, text: str, *, user: str = "ana", at: int = 0, how: Failure = "dead"
) -> str:
    """A job that ended badly; its id."""
    done = await store.accept(user, accept(turn(text), at=at, extract=True))
    claim = await claim_one(store)
    end = JobEnd(status=how, reason=f"no: {text}", usage=Usage(llm_calls=2, cost=0.5))
    await store.apply(user, plan(claim=claim, end=end, at=at))
    return done.job_id


async def job_of(store: Store, job_id: str, user: str = "ana") -> Job:
    """A job that is there."""
    job = await store.job(user, job_id)
    assert job is not None
    return job


class ListTests:
    """`jobs`: for operators, over all users."""

    async def test_jobs_of_all_users_are_listed_by_when_they_came(
        self, world: World
    ) -> None:
        dead = await fail(world.store, "a", at=3)
        half = await fail(world.store, "b", user="ben", at=1, how="partial")
        done = await world.store.accept("dan", quiet(turn("c"), at=2))
        left = await world.store.accept("ana", accept(turn("d"), at=0))
        for store in (world.store, await world.reopen()):
            found = await listed(store)
            assert [(e.id, e.user_id, e.status) for e in found] == [
                (left.job_id, "ana", "queued"),
                (half, "ben", "partial"),
                (done.job_id, "dan", "done"),
                (dead, "ana", "dead"),
            ]
            for entry in found:
                job = await job_of(store, entry.id, entry.user_id)
                assert (entry.attempts, entry.created_at) == (
                    job.attempts,
                    job.created_at,
                )
                assert (entry.ended_at, entry.reason) == (job.ended_at, job.reason)
            assert [e.reason for e in found] == [None, "no: b", None, "no: a"]

    async def test_only_jobs_in_the_states_asked_for_are_listed(
        self, world: World
    ) -> None:
        for n, how in enumerate(FAILED):
            await fail(world.store, f"{n}", at=n, how=how)  # type: ignore[arg-type]
        await world.store.accept("ana", accept(turn("x")))
        claim = await claim_one(world.store)
        await world.store.accept("ana", accept(turn("y"), at=9))
        for status in ALL:
            found = await listed(world.store, status)
            assert {e.status for e in found} <= {status}
            assert len(found) == (0 if status == "done" else 1)
        assert [e.status for e in await listed(world.store, *FAILED)] == list(FAILED)
        (running,) = await listed(world.store, "running")
        assert (running.id, running.attempts) == (claim.jobs[0].id, 1)
        assert await world.store.jobs(statuses=(), limit=9) == []
        assert await world.store.jobs(statuses=ALL, limit=0) == []

    async def test_pages_of_any_size_hold_each_job_once(self, world: World) -> None:
        users = [f"u{n % 5}" for n in range(17)]
        for n, user in enumerate(users):
            await world.store.accept(user, accept(turn(f"{n}"), at=n // 6))
        whole = await world.store.jobs(statuses=ALL, limit=100)
        assert len(whole) == len(users) + len(STRANGERS)
        assert [e.place for e in whole] == sorted(e.place for e in whole)
        for limit in (1, 4, 19):
            got: list[JobEntry] = []
            while page := await world.store.jobs(
                statuses=ALL, limit=limit, after=got[-1].place if got else None
            ):
                assert len(page) <= limit
                got += page
            assert got == whole

    async def test_a_page_goes_on_though_its_last_job_is_gone(
        self, world: World
    ) -> None:
        for n, user in enumerate(("ana", "ben", "dan")):
            await world.store.accept(user, accept(turn("a"), at=n))
        first, second, third = await listed(world.store, "queued")
        await world.store.erase_user("ben")
        for after, rest in ((first, [third]), (second, [third]), (third, [])):
            found = await world.store.jobs(
                statuses=(first.status,), limit=9, after=after.place
            )
            assert found == rest


class RetryTests:
    """`retry`: what ended badly is queued again."""

    @pytest.mark.parametrize("how", FAILED)
    async def test_a_job_that_ended_badly_is_new_work(
        self, world: World, how: Failure
    ) -> None:
        id_ = await fail(world.store, "a", how=how)
        before = await job_of(world.store, id_)
        assert await (await world.reopen()).retry("ana", id_)
        job = await job_of(world.store, id_)
        assert (job.status, job.attempts) == ("queued", 0)
        assert (job.ended_at, job.reason) == (None, None)
        assert (job.created_at, job.turns) == (before.created_at, before.turns)
        assert (await kept(world.store, "ana")).pending == {1}
        assert await world.store.queued() == await world.store.queued("ana") == 1
        (claimed,) = (await claim_one(world.store)).jobs
        assert (claimed.id, claimed.attempts, claimed.extract) == (id_, 1, True)
        assert [row.text for row in claimed.turns] == ["a"]

    async def test_only_a_job_that_ended_badly_is_tried_again(
        self, world: World
    ) -> None:
        done = (await world.store.accept("ana", quiet(turn("a")))).job_id
        dead = await fail(world.store, "b")
        queued = (await world.store.accept("ana", accept(turn("c")))).job_id
        before = await dump(world.store, "ana")
        for user, job_id in (
            ("ana", done),
            ("ana", queued),
            ("ana", "no-id"),
            ("ana", ""),
            ("ana", (await job_of(world.store, dead)).turns[0]),
            ("nobody", dead),
            (STRANGERS[0], dead),
        ):
            assert not await world.store.retry(user, job_id)
        await claim_one(world.store)
        assert not await world.store.retry("ana", queued)
        assert (await job_of(world.store, queued)).status == "running"
        assert await dump(world.store, "ana") == before
        assert await world.store.retry("ana", dead)
        assert not await world.store.retry("ana", dead)
        assert await world.store.queued() == 2

    async def test_of_many_who_try_again_one_does(self, world: World) -> None:
        id_ = await fail(world.store, "a")
        handles = [world.store, await world.reopen()] * 4
        tried = await asyncio.gather(*(h.retry("ana", id_) for h in handles))
        assert sorted(tried) == [False] * 7 + [True]
        assert await world.store.queued() == 1

    async def test_a_job_that_fails_again_may_be_tried_again(
        self, world: World
    ) -> None:
        store = await world.reopen(max_attempts=1)
        id_ = await fail(store, "a")
        for n in range(2):
            assert await store.retry("ana", id_)
            claim = await claim_one(store)
            end = JobEnd(status="dead", reason=f"again {n}")
            await store.apply("ana", plan(claim=claim, end=end))
            job = await job_of(store, id_)
            assert (job.status, job.attempts, job.reason) == ("dead", 1, f"again {n}")

    async def test_what_the_first_attempt_did_stays_and_is_not_doubled(
        self, world: World
    ) -> None:
        refused = Skipped(reason="no text")
        done = await world.store.accept(
            "ana", accept(turn("t"), item("given"), skipped=(refused,))
        )
        usage = Usage(llm_calls=1, prompt_tokens=10, rung="plain", cost=0.5)
        ends = [
            JobEnd(status="partial", reason="cut", usage=usage),
            JobEnd(status="done", usage=replace(usage, rung="json_object")),
        ]
        made = []
        for n, (texts, end) in enumerate(
            zip((("a", "b"), ("a", "c")), ends, strict=True)
        ):
            claim = await claim_one(world.store)
            ops = [add(text, at=1) for text in texts]
            applied = await world.store.apply(
                "ana", plan(*ops, claim=claim, end=end, at=n)
            )
            made.append([outcome.id for outcome in applied.outcomes])
            assert await world.store.retry("ana", done.job_id) is (n == 0)
        assert made[1][0] == made[0][0]
        view = await kept(world.store, "ana")
        assert [r.text for r in view.memories.values()] == ["given", "a", "b", "c"]
        job = await job_of(await world.reopen(), done.job_id)
        assert job.added == (*done.added, *made[0], made[1][1])
        assert job.skipped == (refused, Skipped(reason="duplicate", id=made[0][0]))
        assert job.usage == Usage(
            llm_calls=2, prompt_tokens=20, rung="json_object", cost=1.0
        )

    async def test_a_fact_closed_since_is_added_again(self, world: World) -> None:
        await world.store.accept("ana", accept(turn("t")))
        claim = await claim_one(world.store)
        end = JobEnd(status="partial", reason="cut")
        applied = await world.store.apply("ana", plan(add("a"), claim=claim, end=end))
        first = applied.outcomes[0].id
        assert first is not None
        await world.store.apply("ana", plan(close(first, at=2)))
        assert await world.store.retry("ana", claim.jobs[0].id)
        claim = await claim_one(world.store)
        applied = await world.store.apply("ana", plan(add("a"), claim=claim, end=DONE))
        assert applied.outcomes[0].status == "applied"

    async def test_the_reply_of_the_first_attempt_is_gone(self, world: World) -> None:
        done = await world.store.accept("ana", accept(turn("a")))
        claim = await claim_one(world.store)
        reply = StoreReply(job_id=done.job_id, reply=b"{}")
        await world.store.apply("ana", plan(reply, claim=claim))
        end = JobEnd(status="dead", reason="r")
        await world.store.apply("ana", plan(claim=claim, end=end))
        assert await world.store.retry("ana", done.job_id)
        assert (await claim_one(world.store)).jobs[0].reply is None

    async def test_an_old_claim_ends_no_job_that_is_tried_again(
        self, world: World
    ) -> None:
        done = await world.store.accept("ana", accept(turn("a")))
        old = await claim_one(world.store)
        end = JobEnd(status="dead", reason="r")
        await world.store.apply("ana", plan(claim=old, end=end))
        assert await world.store.retry("ana", done.job_id)
        late = await world.store.apply("ana", plan(add("x"), claim=old, end=DONE))
        assert late.refused == "lease"
        assert (await job_of(world.store, done.job_id)).status == "queued"

    async def test_it_stands_where_it_stood_among_its_users_jobs(
        self, world: World
    ) -> None:
        dead = await fail(world.store, "a")
        later = (await world.store.accept("ana", accept(turn("b")))).job_id
        assert await world.store.retry("ana", dead)
        assert await work_off(world.store, "ana") == [dead, later]

    async def test_one_that_comes_while_its_users_claim_is_out_waits_for_it(
        self, world: World
    ) -> None:
        dead = await fail(world.store, "a")
        later = (await world.store.accept("ana", accept(turn("b")))).job_id
        claim = await claim_one(world.store)
        assert await world.store.retry("ana", dead)
        assert await world.store.claim(worker="v", lease=LONG, limit=5) == []
        done = await world.store.apply("ana", plan(claim=claim, end=DONE))
        assert done.refused is None
        assert (await job_of(world.store, later)).status == "done"
        assert await work_off(world.store, "ana") == [dead]

    async def test_others_who_wait_are_not_overtaken(self, world: World) -> None:
        dead = await fail(world.store, "a", at=0)
        await world.store.accept("ben", accept(turn("b"), at=1))
        assert await world.store.retry("ana", dead)
        order: list[Claim] = []
        for _ in range(2):
            order += await world.store.claim(worker="w", lease=LONG, limit=1)
        assert [claim.user_id for claim in order] == ["ben", "ana"]

    async def test_an_import_is_an_import_again(self, world: World) -> None:
        await world.store.accept("ana", accept(turn("old"), priority="import"))
        claim = await claim_one(world.store)
        end = JobEnd(status="dead", reason="r")
        await world.store.apply("ana", plan(claim=claim, end=end))
        live = (await world.store.accept("ana", accept(turn("new")))).job_id
        assert await world.store.retry("ana", claim.jobs[0].id)
        assert await work_off(world.store, "ana") == [live, claim.jobs[0].id]

    async def test_it_ends_a_deferral(self, world: World) -> None:
        dead = await fail(world.store, "a")
        await world.store.accept("ana", accept(turn("b")))
        claim = await claim_one(world.store)
        await world.store.apply("ana", plan(claim=claim, defer=LONG))
        assert await world.store.claim(worker="w", lease=LONG, limit=1) == []
        assert await world.store.retry("ana", dead)
        assert (await claim_one(world.store)).jobs[0].id == dead

    async def test_it_needs_a_place_in_the_queue(self, world: World) -> None:
        store = await world.reopen(queue_limit=1)
        dead = await fail(store, "a")
        await store.accept("ana", accept(turn("b")))
        before = await job_of(store, dead)
        with pytest.raises(QueueFullError):
            await store.retry("ana", dead)
        assert await job_of(store, dead) == before
        await work_off(store, "ana")
        assert await store.retry("ana", dead)
        with pytest.raises(QueueFullError):
            await store.accept("ana", accept(turn("c")))

    async def test_it_wakes_a_worker_of_another_process(self, world: World) -> None:
        dead = await fail(world.store, "a")
        body = """
            say("ready")
            await hear()
            return await store.retry("ana", args["id"])
        """
        async with world.process(body, id=dead) as child:
            assert await child.hear() == "ready"
            while await world.store.wait_for_work(0.01):
                await world.store.claim(worker="w", lease=LONG, limit=10)
            waiting = asyncio.create_task(world.store.wait_for_work(10))
            began = time.monotonic()
            await child.tell("go")
            assert await child.hear() is True
            assert await waiting
            assert time.monotonic() - began < 10
        assert (await claim_one(world.store)).jobs[0].id == dead

    async def test_it_survives_a_restart(self, world: World) -> None:
        dead = await fail(world.store, "a")
        assert await world.store.retry("ana", dead)
        await world.store.aclose()
        again = await world.reopen()
        assert await again.wait_for_work(5)
        assert await work_off(again, "ana") == [dead]
