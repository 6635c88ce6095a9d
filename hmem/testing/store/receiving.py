"""What `job`, `queued` and `wait_for_work` promise."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio
import time

from hmem.protocols import JobEnd
from hmem.records import Usage
from hmem.testing.store.making import accept, add, code, item, plan, put, quiet, turn
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
            await hear()
            await store.accept("ana", accept(turn("a")))
        """
        async with world.process(body) as child:
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
