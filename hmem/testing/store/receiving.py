"""What `job`, `queued` and `wait_for_work` promise."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio
import time

import pytest

from hmem.protocols import JobEnd
from hmem.records import Skipped, Usage
from hmem.testing.store.making import (
    accept,
    add,
    code,
    day,
    item,
    plan,
    put,
    quiet,
    turn,
)
from hmem.testing.store.queueing import LONG, claim_one
from hmem.testing.store.view import kept
from hmem.testing.store.world import World


class JobTests:
    """What a receipt can read, and who is woken."""

    async def test_a_jobs_end_is_readable_in_another_process(
        self, world: World
    ) -> None:
        done = await world.store.accept("ana", accept(turn("a"), item("b"), item("b")))
        old = await world.store.accept("ana", quiet(item("old", at=1)))
        claim = await claim_one(world.store)
        usage = Usage(llm_calls=1, prompt_tokens=20, embedded_texts=3)
        applied = await world.store.apply(
            "ana",
            plan(
                add("c", at=3, supersedes=old.added[0]),
                put("turn", {(1, 0): code("a")}),
                at=9,
                claim=claim,
                end=JobEnd(status="partial", reason="one reply was cut", usage=usage),
            ),
        )
        job = await world.store.job("ana", done.job_id)
        assert job is not None
        assert (job.status, job.reason, job.attempts) == (
            "partial",
            "one reply was cut",
            1,
        )
        assert job.ended_at is not None
        assert job.turns == done.turns
        assert set(job.added) == {*done.added, applied.outcomes[0].id}
        assert job.superseded == old.added
        assert [s.id for s in job.skipped] == list(done.added)
        assert job.usage == usage
        found = await world.second_process(
            """
            job = await store.job("ana", args["id"])
            other = await store.job("ben", args["id"])
            return [job.status, job.reason, list(job.turns), sorted(job.added), other]
            """,
            id=done.job_id,
        )
        assert found == [
            "partial",
            "one reply was cut",
            list(done.turns),
            sorted(job.added),
            None,
        ]

    @pytest.mark.parametrize("queue", [True, False])
    async def test_what_was_not_stored_is_kept_with_the_job(
        self, world: World, *, queue: bool
    ) -> None:
        first = await world.store.accept("ana", quiet(turn("a"), item("b")))
        refused = (Skipped(reason="no text"), Skipped(reason="system message", id="x"))
        given = accept(
            turn("a"),
            turn("new"),
            item("b"),
            queue=queue,
            resend=True,
            skipped=refused,
            key="k",
            body_hash=b"1",
        )
        done = await world.store.accept("ana", given)
        assert done.skipped[:2] == refused
        assert [s.id for s in done.skipped[2:]] == [None, first.added[0]]
        found = await world.second_process(
            """
            job = await store.job("ana", args["id"])
            return [[s.reason, s.id] for s in job.skipped]
            """,
            id=done.job_id,
        )
        assert found == [[s.reason, s.id] for s in done.skipped]
        again = await world.store.accept("ana", given)
        assert (again.created, again.skipped) == (False, done.skipped)
        if queue:
            claim = await claim_one(world.store)
            late = (Skipped(reason="not in its source"),)
            end = JobEnd(status="partial", reason="r", skipped=late)
            await world.store.apply("ana", plan(add("b"), claim=claim, end=end))
            job = await world.store.job("ana", done.job_id)
            assert job is not None
            twice = Skipped(reason="duplicate", id=first.added[0])
            assert job.skipped == (*done.skipped, twice, *late)

    async def test_a_claimed_job_says_when_it_came_and_whether_to_be_read(
        self, world: World
    ) -> None:
        for n, extract in enumerate((True, False, True)):
            await world.store.accept("ana", accept(turn("a"), at=n, extract=extract))
        claim = await claim_one(await world.reopen())
        assert [(j.created_at, j.extract) for j in claim.jobs] == [
            (day(0), True),
            (day(1), False),
            (day(2), True),
        ]

    async def test_a_dead_end_keeps_its_reason(self, world: World) -> None:
        done = await world.store.accept("ana", accept(turn("a")))
        claim = await claim_one(world.store)
        end = JobEnd(status="dead", reason="no facts could be read")
        await world.store.apply("ana", plan(claim=claim, end=end))
        job = await (await world.reopen()).job("ana", done.job_id)
        assert job is not None
        assert (job.status, job.reason) == ("dead", "no facts could be read")
        assert await world.store.queued() == 0
        assert (await kept(world.store, "ana")).pending == frozenset()

    async def test_queued_counts_each_users_own(self, world: World) -> None:
        for user, count in {"ana": 3, "ben": 2}.items():
            for n in range(count):
                await world.store.accept(user, accept(turn(f"{n}")))
        await world.store.claim(worker="w", lease=LONG, limit=1)
        counts = [await world.store.queued(u) for u in ("ana", "ben", "bo", "nobody")]
        assert counts == [3, 2, 0, 0]
        assert await (await world.reopen()).queued() == 5

    async def test_waiting_without_work_ends_in_time(self, world: World) -> None:
        began = time.monotonic()
        while await world.store.wait_for_work(0.05):  # hints may be left over
            assert await world.store.claim(worker="w", lease=LONG, limit=1) == []
            assert time.monotonic() - began < 2
        assert time.monotonic() - began < 3

    async def test_work_of_this_handle_and_of_another_wakes(self, world: World) -> None:
        other = await world.reopen()
        for number, giver in enumerate((world.store, other)):
            while await world.store.wait_for_work(0.01):
                await world.store.claim(worker="w", lease=LONG, limit=10)
            waiting = asyncio.create_task(world.store.wait_for_work(5))
            await asyncio.sleep(0.02)
            await giver.accept(f"user {number}", accept(turn("a")))
            began = time.monotonic()
            assert await waiting
            assert time.monotonic() - began < 2

    async def test_work_of_another_process_wakes(self, world: World) -> None:
        body = """
            say("ready")
            await hear()
            await store.accept("ana", accept(turn("a")))
        """
        async with world.process(body) as child:
            assert await child.hear() == "ready"
            while await world.store.wait_for_work(0.01):
                await world.store.claim(worker="w", lease=LONG, limit=10)
            waiting = asyncio.create_task(world.store.wait_for_work(10))
            await child.tell("go")
            await child.hear()
            assert await waiting
            assert len(await world.store.claim(worker="w", lease=LONG, limit=1)) == 1

    async def test_work_left_by_a_closed_handle_wakes_a_new_one(
        self, world: World
    ) -> None:
        await world.second_process('await store.accept("ana", accept(turn("a")))')
        fresh = await world.reopen()
        assert await fresh.wait_for_work(5)
        assert len(await fresh.claim(worker="w", lease=LONG, limit=1)) == 1
