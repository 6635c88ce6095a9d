"""What `claim`, `renew` and `release` promise."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio
import time

import pytest

from hmem.protocols import Claim, Store, StoreReply
from hmem.testing.store.making import (
    DONE,
    accept,
    add,
    item,
    plan,
    quiet,
    turn,
)
from hmem.testing.store.view import dump, kept
from hmem.testing.store.world import World

SHORT = 0.05
LONG = 60.0


async def claim_one(store: Store, lease: float = LONG) -> Claim:
    """The one claim there is."""
    claims = await store.claim(worker="w", lease=lease, limit=10)
    assert len(claims) == 1
    return claims[0]


async def claim_when_it_can_be(
    store: Store, *, limit: int = 10, lease: float = LONG
) -> list[Claim]:
    """Claims, waited for at most five seconds."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if claims := await store.claim(worker="w2", lease=lease, limit=limit):
            return claims
        await asyncio.sleep(0.01)
    return []


async def work_off(store: Store, user_id: str) -> list[str]:
    """End every job of the user, one claim after the other; their ids in that order."""
    ended: list[str] = []
    while claims := await store.claim(worker="w", lease=LONG, limit=1):
        assert claims[0].user_id == user_id
        done = await store.apply(user_id, plan(claim=claims[0], end=DONE))
        assert done.refused is None
        ended += [job.id for job in claims[0].jobs]
    return ended


class ClaimTests:
    """Leases, tokens and attempts."""

    async def test_nothing_queued_gives_no_claim(self, world: World) -> None:
        await world.store.accept("ana", quiet(turn("a")))
        assert await world.store.claim(worker="w", lease=LONG, limit=5) == []
        assert await world.store.queued() == 0

    async def test_a_claim_carries_the_rows_the_job_came_with(
        self, world: World
    ) -> None:
        done = await world.store.accept(
            "ana", accept(turn("a"), turn("b"), item("c"), session="s9")
        )
        claim = await claim_one(world.store)
        view = await kept(world.store, "ana")
        (job,) = claim.jobs
        assert claim.user_id == "ana"
        assert view.mark is not None
        assert claim.incarnation == view.mark.incarnation
        assert (job.id, job.attempts, job.session_id, job.reply) == (
            done.job_id,
            1,
            "s9",
            None,
        )
        assert list(job.turns) == list(view.turns.values())
        assert list(job.items) == list(view.memories.values())
        assert {r.job for r in job.turns} == {job.seq}

    async def test_a_users_jobs_are_worked_in_order(self, world: World) -> None:
        given = [
            (await world.store.accept("ana", accept(turn(f"{n}")))).job_id
            for n in range(12)
        ]
        assert await work_off(world.store, "ana") == given

    async def test_one_claim_per_user_is_out_at_a_time(self, world: World) -> None:
        other = await world.reopen()
        for n in range(3):
            await world.store.accept("ana", accept(turn(f"{n}")))
        await claim_one(world.store)
        await world.store.accept("ana", accept(turn("later")))
        for store in (world.store, other):
            assert await store.claim(worker="v", lease=LONG, limit=5) == []

    async def test_users_are_claimed_side_by_side_up_to_the_limit(
        self, world: World
    ) -> None:
        users = [f"user {n}" for n in range(7)]
        for user in users:
            await world.store.accept(user, accept(turn(user)))
        first = await world.store.claim(worker="w", lease=LONG, limit=4)
        second = await (await world.reopen()).claim(worker="v", lease=LONG, limit=9)
        assert (len(first), len(second)) == (4, 3)
        assert sorted(c.user_id for c in first + second) == users
        for claim in first + second:
            assert [t.text for j in claim.jobs for t in j.turns] == [claim.user_id]

    async def test_who_adds_again_and_again_starves_nobody(self, world: World) -> None:
        users = [f"user {n}" for n in range(6)]
        for user in users:
            await world.store.accept(user, accept(turn("a")))
        served = set()
        for n in range(2 * len(users)):
            (claim,) = await world.store.claim(worker="w", lease=LONG, limit=1)
            served.add(claim.user_id)
            await world.store.apply(claim.user_id, plan(claim=claim, end=DONE))
            await world.store.accept(claim.user_id, accept(turn(f"again {n}"), at=n))
        assert served == set(users)

    async def test_live_adds_go_before_imports(self, world: World) -> None:
        old = [f"old {n}" for n in range(8)]
        for user in old:
            await world.store.accept(user, accept(turn("x"), priority="import"))
        live = ["ana", "ben", "dan"]
        for user in live:
            await world.store.accept(user, accept(turn("x"), at=9))
        order = []
        for _ in old + live:
            (claim,) = await world.store.claim(worker="w", lease=LONG, limit=1)
            order.append(claim.user_id)
        assert sorted(order[:3]) == live
        assert sorted(order[3:]) == old

    async def test_a_users_live_add_goes_before_the_users_imports(
        self, world: World
    ) -> None:
        for n in range(2):
            await world.store.accept("ana", accept(turn(f"{n}"), priority="import"))
        live = await world.store.accept("ana", accept(turn("live")))
        assert (await claim_one(world.store)).jobs[0].id == live.job_id

    async def test_a_lapsed_lease_is_taken_over_and_the_old_token_refused(
        self, world: World
    ) -> None:
        await world.store.accept("ana", accept(turn("a")))
        old = await claim_one(world.store, lease=SHORT)
        other = await world.reopen()
        (new,) = await claim_when_it_can_be(other)
        assert new.token != old.token
        assert (old.jobs[0].attempts, new.jobs[0].attempts) == (1, 2)
        before = await dump(world.store, "ana")
        refused = await world.store.apply(
            "ana", plan(add("from the old one"), claim=old, end=DONE)
        )
        assert (refused.refused, refused.outcomes) == ("lease", ())
        assert await dump(world.store, "ana") == before
        assert not await world.store.renew(old, LONG)
        await world.store.release(old)
        assert await world.store.claim(worker="w", lease=LONG, limit=5) == []
        done = await other.apply("ana", plan(add("from the new"), claim=new, end=DONE))
        assert done.refused is None
        view = await kept(world.store, "ana")
        assert [r.text for r in view.memories.values()] == ["from the new"]

    async def test_a_renewed_lease_is_not_taken(self, world: World) -> None:
        await world.store.accept("ana", accept(turn("a")))
        claim = await claim_one(world.store, lease=0.6)
        assert await world.store.renew(claim, LONG)
        await asyncio.sleep(0.7)
        for store in (world.store, await world.reopen()):
            assert await store.claim(worker="v", lease=LONG, limit=5) == []
        job = await world.store.job("ana", claim.jobs[0].id)
        assert job is not None
        assert job.status == "running"
        done = await world.store.apply("ana", plan(claim=claim, end=DONE))
        assert done.refused is None

    async def test_a_job_can_be_ended_once(self, world: World) -> None:
        await world.store.accept("ana", accept(turn("a")))
        claim = await claim_one(world.store)
        ends = await asyncio.gather(
            *(
                store.apply("ana", plan(add(f"n{n}"), claim=claim, end=DONE))
                for n, store in enumerate([world.store, await world.reopen()] * 3)
            )
        )
        assert sorted(str(e.refused) for e in ends) == ["None"] + ["lease"] * 5
        assert len((await kept(world.store, "ana")).memories) == 1
        assert not await world.store.renew(claim, LONG)

    async def test_a_released_job_waits_its_delay(self, world: World) -> None:
        await world.store.accept("ana", accept(turn("a")))
        claim = await claim_one(world.store)
        began = time.monotonic()
        await world.store.release(claim, delay=0.3)
        (again,) = await claim_when_it_can_be(await world.reopen())
        assert time.monotonic() - began >= 0.25
        assert again.jobs[0].id == claim.jobs[0].id

    async def test_a_delayed_job_is_not_overtaken_by_the_users_next(
        self, world: World
    ) -> None:
        first = await world.store.accept("ana", accept(turn("a")))
        await world.store.release(await claim_one(world.store), delay=0.2)
        await world.store.accept("ana", accept(turn("b")))
        (claim,) = await claim_when_it_can_be(world.store)
        assert claim.jobs[0].id == first.job_id

    @pytest.mark.parametrize(("attempted", "count"), [(True, 2), (False, 1)])
    async def test_attempts_are_counted_at_the_claim(
        self, world: World, *, attempted: bool, count: int
    ) -> None:
        done = await world.store.accept("ana", accept(turn("a")))
        claim = await claim_one(world.store)
        row = await (await world.reopen()).job("ana", done.job_id)
        assert row is not None
        assert (row.status, row.attempts) == ("running", 1)
        await world.store.release(claim, attempted=attempted)
        row = await world.store.job("ana", done.job_id)
        assert row is not None
        assert (row.status, row.attempts) == ("queued", count - 1)
        assert (await claim_one(world.store)).jobs[0].attempts == count

    @pytest.mark.parametrize("how", ["released", "lapsed"])
    async def test_a_job_tried_too_often_is_dead_and_the_next_goes_on(
        self, world: World, how: str
    ) -> None:
        store = await world.reopen(max_attempts=2)
        done = await store.accept("ana", accept(turn("poison")))
        for _ in range(2):
            lease = LONG if how == "released" else SHORT
            (claim,) = await claim_when_it_can_be(store, limit=1, lease=lease)
            assert claim.jobs[0].id == done.job_id
            if how == "released":
                await store.release(claim)
        await asyncio.sleep(2 * SHORT)
        after = await store.accept("ana", accept(turn("next")))
        (claim,) = await claim_when_it_can_be(store)
        assert [j.id for j in claim.jobs] == [after.job_id]
        job = await store.job("ana", done.job_id)
        assert job is not None
        assert (job.status, job.attempts) == ("dead", 2)
        assert job.reason
        assert job.ended_at is not None
        view = await kept(store, "ana")
        assert view.pending == {view.turns[2].job}
        assert await store.queued("ana") == 1

    async def test_a_stored_reply_is_there_at_the_next_claim(
        self, world: World
    ) -> None:
        done = await world.store.accept("ana", accept(turn("a")))
        claim = await claim_one(world.store)
        reply = StoreReply(job_id=done.job_id, reply=b"\x00{facts}\xff")
        kept_ = await world.store.apply("ana", plan(reply, claim=claim))
        assert [o.status for o in kept_.outcomes] == ["applied"]
        await world.store.release(claim)
        assert (await claim_one(world.store)).jobs[0].reply == b"\x00{facts}\xff"

    async def test_a_reply_for_a_lost_lease_is_refused(self, world: World) -> None:
        done = await world.store.accept("ana", accept(turn("a")))
        old = await claim_one(world.store, lease=SHORT)
        (new,) = await claim_when_it_can_be(world.store)
        reply = StoreReply(job_id=done.job_id, reply=b"late")
        assert (
            await world.store.apply("ana", plan(reply, claim=old))
        ).refused == "lease"
        await world.store.release(new)
        assert (await claim_one(world.store)).jobs[0].reply is None

    async def test_two_processes_double_no_claim(self, world: World) -> None:
        users = [f"u{n % 12}" for n in range(48)]
        for n, user in enumerate(users):
            await world.store.accept(user, accept(turn(f"{n}")))
        body = """
            import asyncio
            await hear()
            ended = []
            for _ in range(400):
                claims = await store.claim(worker="child", lease=60, limit=2)
                for claim in claims:
                    done = await store.apply(claim.user_id, plan(
                        *(add(f"from {t.text}") for j in claim.jobs for t in j.turns),
                        claim=claim, end=DONE))
                    assert done.refused is None
                    ended += [j.id for j in claim.jobs]
                if not claims and not await store.queued():
                    break
                await asyncio.sleep(0)
            return ended
        """
        ended: list[str] = []
        async with world.process(body) as child:
            await child.tell("go")
            while await world.store.queued():
                for claim in await world.store.claim(worker="w", lease=LONG, limit=2):
                    texts = [t.text for j in claim.jobs for t in j.turns]
                    ops = [add(f"from {text}") for text in texts]
                    done = await world.store.apply(
                        claim.user_id, plan(*ops, claim=claim, end=DONE)
                    )
                    assert done.refused is None
                    ended += [j.id for j in claim.jobs]
            theirs = await child.hear()
        assert len(ended) + len(theirs) == len({*ended, *theirs}) == 48
        facts = [
            r.text
            for user in sorted(set(users))
            for r in (await kept(world.store, user)).memories.values()
        ]
        assert sorted(facts) == sorted(f"from {n}" for n in range(48))

    async def test_a_killed_processes_claim_is_taken_over(self, world: World) -> None:
        done = await world.store.accept("ana", accept(turn("a")))
        body = """
            claims = await store.claim(worker="child", lease=0.3, limit=1)
            say(len(claims))
            await hear()
        """
        async with world.process(body) as child:
            assert await child.hear() == 1
            child.kill()
        (claim,) = await claim_when_it_can_be(world.store)
        assert (claim.jobs[0].id, claim.jobs[0].attempts) == (done.job_id, 2)
