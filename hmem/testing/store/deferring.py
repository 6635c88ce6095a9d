"""What a plan promises that gives up its claim: some jobs end, the others wait."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio
import time

import pytest

from hmem.protocols import Claim, Job, JobEnd, Store, StoreReply
from hmem.records import Skipped, Usage
from hmem.testing.store.making import DONE, accept, add, item, plan, quiet, turn
from hmem.testing.store.queueing import LONG, claim_one, claim_when_it_can_be
from hmem.testing.store.view import kept
from hmem.testing.store.world import World


async def give(store: Store, *texts: str) -> list[str]:
    """One queued job of ana's for each text; their ids."""
    return [(await store.accept("ana", accept(turn(text)))).job_id for text in texts]


async def defer(store: Store, seconds: float = LONG) -> Claim:
    """Claim what can be claimed, and put all of it off."""
    claim = await claim_one(store)
    done = await store.apply(claim.user_id, plan(claim=claim, defer=seconds))
    assert done.refused is None
    return claim


async def job_of(store: Store, job_id: str) -> Job:
    """One job of ana's."""
    job = await store.job("ana", job_id)
    assert job is not None
    return job


async def claimable(store: Store) -> list[str]:
    """The jobs that can be claimed now. They are given back uncounted."""
    claims = await store.claim(worker="w", lease=LONG, limit=10)
    for claim in claims:
        await store.release(claim, attempted=False)
    return [job.id for claim in claims for job in claim.jobs]


class SubsetTests:
    """`JobEnd.jobs`."""

    async def test_some_jobs_end_and_the_others_are_queued_where_they_stood(
        self, world: World
    ) -> None:
        ids = await give(world.store, "a", "b", "c", "d")
        claim = await claim_one(world.store)
        end = JobEnd(status="done", jobs=(ids[0], ids[2]))
        done = await world.store.apply("ana", plan(claim=claim, end=end))
        assert done.refused is None
        other = await world.reopen()
        jobs = [await job_of(other, id_) for id_ in ids]
        assert [j.status for j in jobs] == ["done", "queued", "done", "queued"]
        assert [j.attempts for j in jobs] == [1, 0, 1, 0]
        assert [j.ended_at is None for j in jobs] == [False, True, False, True]
        assert await other.queued("ana") == await other.queued() == 2
        assert (await kept(other, "ana")).pending == {2, 4}
        assert not await world.store.renew(claim, LONG)
        again = await claim_one(other)
        assert [(j.id, j.attempts) for j in again.jobs] == [(ids[1], 1), (ids[3], 1)]

    async def test_a_live_job_that_is_left_still_goes_before_imports(
        self, world: World
    ) -> None:
        await world.store.accept("ana", accept(turn("old"), priority="import"))
        ids = await give(world.store, "a", "b")
        claim = await claim_one(world.store)
        assert [job.id for job in claim.jobs] == ids
        end = JobEnd(status="done", jobs=(ids[0],))
        await world.store.apply("ana", plan(claim=claim, end=end))
        assert await claimable(world.store) == [ids[1]]

    async def test_usage_and_skips_are_those_of_the_last_job_that_ends(
        self, world: World
    ) -> None:
        ids = await give(world.store, "a", "b", "c")
        claim = await claim_one(world.store)
        usage = Usage(llm_calls=2, retries=1, rung="plain", cost=0.0)
        skipped = (Skipped(reason="no quote"), Skipped(reason="near", id="x"))
        end = JobEnd(
            status="partial",
            reason="cut",
            usage=usage,
            jobs=(ids[1], ids[0]),
            skipped=skipped,
        )
        await world.store.apply("ana", plan(claim=claim, end=end))
        jobs = [await job_of(await world.reopen(), id_) for id_ in ids]
        assert [j.usage for j in jobs] == [Usage(), usage, Usage()]
        assert [j.skipped for j in jobs] == [(), skipped, ()]
        assert [j.reason for j in jobs] == ["cut", "cut", None]

    async def test_what_a_plan_adds_for_a_job_that_waits_is_told_by_that_job(
        self, world: World
    ) -> None:
        ids = await give(world.store, "a", "b")
        claim = await claim_one(world.store)
        (said,) = claim.jobs[1].turns
        ops = [add("of b", source_ids=[said.id]), add("of nobody")]
        end = JobEnd(status="done", jobs=(ids[0],))
        done = await world.store.apply("ana", plan(*ops, claim=claim, end=end))
        first, second = [o.id for o in done.outcomes]
        assert (await job_of(world.store, ids[1])).added == (first,)
        assert (await job_of(world.store, ids[0])).added == (second,)
        claim = await claim_one(world.store)
        done = await world.store.apply(
            "ana", plan(add("of b, too"), claim=claim, end=DONE)
        )
        assert (await job_of(world.store, ids[1])).added == (
            first,
            done.outcomes[0].id,
        )

    async def test_what_a_plan_adds_while_its_claim_goes_on_is_told_by_the_job(
        self, world: World
    ) -> None:
        (id_,) = await give(world.store, "a")
        claim = await claim_one(world.store)
        ids = []
        for text in ("one", "two"):
            done = await world.store.apply("ana", plan(add(text), claim=claim))
            ids.append(done.outcomes[0].id)
            assert (await job_of(world.store, id_)).status == "running"
        await world.store.apply("ana", plan(claim=claim, end=DONE))
        assert (await job_of(world.store, id_)).added == tuple(ids)

    @pytest.mark.parametrize("named", ["none", "another's"])
    async def test_jobs_that_are_not_the_claims_are_not_ended(
        self, world: World, named: str
    ) -> None:
        theirs = await world.store.accept("ben", accept(turn("ben's")))
        (bens,) = await world.store.claim(worker="w", lease=LONG, limit=1)
        ids = await give(world.store, "a", "b")
        claim = await claim_one(world.store)
        jobs = () if named == "none" else (theirs.job_id, "nonsense")
        end = JobEnd(status="dead", reason="no", jobs=jobs)
        done = await world.store.apply("ana", plan(claim=claim, end=end))
        assert done.refused is None
        assert await claimable(world.store) == ids
        assert await world.store.renew(bens, LONG)
        assert await world.store.queued("ben") == 1

    async def test_what_is_left_queued_wakes_at_once(self, world: World) -> None:
        ids = await give(world.store, "a", "b")
        claim = await claim_one(world.store)
        while await world.store.wait_for_work(0.01):
            await world.store.claim(worker="w", lease=LONG, limit=10)
        end = JobEnd(status="done", jobs=(ids[0],))
        await world.store.apply("ana", plan(claim=claim, end=end))
        assert await world.store.wait_for_work(5)
        assert await claimable(world.store) == [ids[1]]


class DeferTests:
    """`WritePlan.defer` and `hurry`."""

    async def test_deferred_jobs_wait_uncounted_and_their_claim_is_over(
        self, world: World
    ) -> None:
        ids = await give(world.store, "a", "b")
        claim = await defer(world.store)
        for store in (world.store, await world.reopen()):
            assert await claimable(store) == []
            jobs = [await job_of(store, id_) for id_ in ids]
            assert [(j.status, j.attempts) for j in jobs] == [("queued", 0)] * 2
            assert await store.queued("ana") == 2
        late = await world.store.apply("ana", plan(add("x"), claim=claim, end=DONE))
        assert late.refused == "lease"
        assert not await world.store.renew(claim, LONG)
        await world.store.release(claim)
        assert await claimable(world.store) == []

    async def test_what_an_end_leaves_can_be_deferred(self, world: World) -> None:
        ids = await give(world.store, "a", "b")
        claim = await claim_one(world.store)
        end = JobEnd(status="done", jobs=(ids[0],))
        await world.store.apply("ana", plan(add("f"), claim=claim, end=end, defer=LONG))
        assert await claimable(world.store) == []
        jobs = [await job_of(world.store, id_) for id_ in ids]
        assert [(j.status, j.attempts) for j in jobs] == [("done", 1), ("queued", 0)]
        assert await world.store.hurry("ana")
        assert await claimable(world.store) == [ids[1]]

    async def test_a_deferral_ends_after_its_seconds(self, world: World) -> None:
        ids = await give(world.store, "a")
        began = time.monotonic()
        await defer(world.store, 0.3)
        (claim,) = await claim_when_it_can_be(await world.reopen())
        assert 0.25 <= time.monotonic() - began < 5
        assert [(j.id, j.attempts) for j in claim.jobs] == [(ids[0], 1)]

    @pytest.mark.parametrize("seconds", [0.0, -5.0])
    async def test_a_deferral_of_no_time_is_none(
        self, world: World, seconds: float
    ) -> None:
        ids = await give(world.store, "a")
        await defer(world.store, seconds)
        assert await claimable(world.store) == ids
        assert not await world.store.hurry("ana")

    async def test_where_every_job_ends_nothing_is_deferred(self, world: World) -> None:
        await give(world.store, "a")
        claim = await claim_one(world.store)
        await world.store.apply("ana", plan(claim=claim, end=DONE, defer=LONG))
        assert not await world.store.hurry("ana")

    async def test_deferrals_are_never_tries(self, world: World) -> None:
        store = await world.reopen(max_attempts=2)
        ids = await give(store, "a")
        for _ in range(5):
            await defer(store)
            assert await store.hurry("ana")
        (job,) = (await claim_one(store)).jobs
        assert (job.id, job.attempts) == (ids[0], 1)

    async def test_a_stored_reply_outlives_a_deferral(self, world: World) -> None:
        (id_,) = await give(world.store, "a")
        claim = await claim_one(world.store)
        reply = StoreReply(job_id=id_, reply=b"facts")
        await world.store.apply("ana", plan(reply, claim=claim, defer=LONG))
        assert await world.store.hurry("ana")
        assert (await claim_one(world.store)).jobs[0].reply == b"facts"

    async def test_a_deferral_holds_nobody_else_back(self, world: World) -> None:
        await give(world.store, "a")
        await defer(world.store)
        theirs = await world.store.accept("ben", accept(turn("b"), priority="import"))
        assert await claimable(world.store) == [theirs.job_id]

    async def test_the_next_accept_ends_a_deferral_for_all_that_wait(
        self, world: World
    ) -> None:
        ids = await give(world.store, "a", "b")
        await defer(world.store)
        ids += await give(await world.reopen(), "c")
        assert await claimable(world.store) == ids

    async def test_an_accept_that_queues_nothing_ends_no_deferral(
        self, world: World
    ) -> None:
        given = accept(turn("a", message_id="m"), item("i"), key="k", body_hash=b"1")
        await world.store.accept("ana", given)
        await defer(world.store)
        again = await world.store.accept("ana", given)
        assert not again.created
        await world.store.accept("ana", quiet(turn("b"), item("j")))
        held = accept(turn("a", message_id="m"), item("i"), resend=True)
        assert (await world.store.accept("ana", held)).status == "done"
        await world.store.accept("ben", quiet(turn("c")))
        await world.store.apply("ana", plan(add("d")))
        assert await claimable(world.store) == []
        assert await world.store.hurry("ana")

    async def test_hurrying_ends_a_deferral_once(self, world: World) -> None:
        ids = await give(world.store, "a")
        assert not await world.store.hurry("ana")
        await defer(world.store)
        for user in ("ben", "nobody"):
            assert not await world.store.hurry(user)
            assert await world.store.delta(user) is None
        assert await claimable(world.store) == []
        assert await (await world.reopen()).hurry("ana")
        assert not await world.store.hurry("ana")
        assert await claimable(world.store) == ids

    @pytest.mark.parametrize("how", ["accept", "hurry"])
    async def test_the_end_of_a_deferral_wakes_another_process(
        self, world: World, how: str
    ) -> None:
        await give(world.store, "a")
        await defer(world.store)
        body = """
            assert await store.claim(worker="child", lease=60, limit=5) == []
            while await store.wait_for_work(0.01):
                assert await store.claim(worker="child", lease=60, limit=5) == []
            say("waits")
            assert await store.wait_for_work(20)
            claims = await store.claim(worker="child", lease=60, limit=5)
            return [job.attempts for claim in claims for job in claim.jobs]
        """
        async with world.process(body) as child:
            assert await child.hear() == "waits"
            began = time.monotonic()
            if how == "hurry":
                assert await world.store.hurry("ana")
            else:
                await give(world.store, "b")
            attempts = await child.hear()
        assert attempts == [1] * (1 if how == "hurry" else 2)
        assert time.monotonic() - began < 10

    @pytest.mark.parametrize("how", ["accept", "hurry"])
    async def test_the_end_of_a_deferral_wakes_its_own_process(
        self, world: World, how: str
    ) -> None:
        await give(world.store, "a")
        await defer(world.store)
        while await world.store.wait_for_work(0.01):
            assert await claimable(world.store) == []
        waiting = asyncio.create_task(world.store.wait_for_work(20))
        await asyncio.sleep(0.02)
        began = time.monotonic()
        if how == "hurry":
            await world.store.hurry("ana")
        else:
            await give(world.store, "b")
        assert await waiting
        assert time.monotonic() - began < 5

    @pytest.mark.parametrize("how", ["accept", "hurry"])
    async def test_what_comes_while_a_claim_is_out_forestalls_its_deferral(
        self, world: World, how: str
    ) -> None:
        ids = await give(world.store, "a")
        claim = await claim_one(world.store)
        if how == "hurry":
            assert not await (await world.reopen()).hurry("ana")
        else:
            ids += await give(world.store, "b")
        await world.store.apply("ana", plan(claim=claim, defer=LONG))
        again = await claim_one(world.store)
        assert [(j.id, j.attempts) for j in again.jobs] == [(id_, 1) for id_ in ids]
        await world.store.apply("ana", plan(claim=again, defer=LONG))
        assert await claimable(world.store) == [], "nothing came since"

    @pytest.mark.parametrize("hold", ["lease", "backoff"])
    async def test_other_holds_are_ended_by_neither_accept_nor_hurry(
        self, world: World, hold: str
    ) -> None:
        await give(world.store, "a")
        claim = await claim_one(world.store)
        if hold == "backoff":
            await world.store.release(claim, delay=LONG)
        assert not await world.store.hurry("ana")
        await give(world.store, "b")
        assert not await world.store.hurry("ana")
        for store in (world.store, await world.reopen()):
            assert await claimable(store) == []
        assert await world.store.renew(claim, LONG) == (hold == "lease")

    async def test_a_deferral_goes_with_the_user(self, world: World) -> None:
        await give(world.store, "a")
        claim = await defer(world.store)
        await world.store.erase_user("ana")
        assert not await world.store.hurry("ana")
        ids = await give(world.store, "anew")
        late = await world.store.apply("ana", plan(claim=claim, defer=LONG))
        assert late.refused in {"lease", "incarnation"}
        assert await claimable(world.store) == ids

    async def test_without_a_claim_a_plan_ends_and_defers_nothing(
        self, world: World
    ) -> None:
        ids = await give(world.store, "a")
        await world.store.apply("ana", plan(add("f"), end=DONE, defer=LONG))
        assert await claimable(world.store) == ids
