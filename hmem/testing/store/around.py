"""What `erase` does to what is around the row: its history, what cites it, what is in
work."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio

import pytest

from hmem.protocols import MemoryRow, Note, PutProfile, StoreReply, TurnRow
from hmem.testing.store.applying import applied
from hmem.testing.store.making import (
    DONE,
    accept,
    add,
    cite,
    close,
    code,
    day,
    item,
    plan,
    put,
    quiet,
    reinstate,
    turn,
)
from hmem.testing.store.queueing import LONG, claim_one
from hmem.testing.store.reinstating import line
from hmem.testing.store.strangers import STRANGERS
from hmem.testing.store.view import dump, kept
from hmem.testing.store.world import World


async def fact(world: World, id_: str) -> MemoryRow:
    """A fact of ana's that is there."""
    (row,) = await (await world.reopen()).rows("ana", [id_])
    assert isinstance(row, MemoryRow)
    return row


async def texts(world: World, id_: str) -> list[str]:
    """The versions of a fact."""
    return [row.text for row in await world.store.chain("ana", id_)]


class EraseAroundTests:
    """`erase`, and the rows that stay."""

    # -------------------------------------------------------------------- its history

    @pytest.mark.parametrize("reason", [None, "because"])
    async def test_what_it_replaced_is_followed_by_what_replaced_it(
        self, world: World, reason: str | None
    ) -> None:
        ids = await line(world, 1, 5, 9, reason=reason)
        await world.store.erase("ana", ids[1])
        rows = await (await world.reopen()).chain("ana", ids[0])
        assert rows == await world.store.chain("ana", ids[2])
        assert [row.id for row in rows] == [ids[0], ids[2]]
        assert rows[0].superseded_by == ids[2]
        assert (rows[0].valid_to, rows[1].valid_from) == (day(5), day(9))
        assert rows[0].closed_recorded_at == day(51)
        noted = [Note("SUPERSEDE", ids[0], day(51), ids[2], None)] if reason else []
        assert await world.store.notes("ana", ids[2]) == noted

    @pytest.mark.parametrize("reason", [None, "because"])
    async def test_what_it_replaced_stays_closed_without_it(
        self, world: World, reason: str | None
    ) -> None:
        ids = await line(world, 1, 5, reason=reason)
        await world.store.erase("ana", ids[1])
        (row,) = await world.store.chain("ana", ids[0])
        assert (row.valid_to, row.superseded_by) == (day(5), None)
        noted = [Note("CLOSE", ids[0], day(51), None, None)] if reason else []
        assert await world.store.notes("ana", ids[0]) == noted
        done = await applied(world, reinstate(ids[0], reason="back"), at=60)
        assert done.outcomes[0].status == "applied"
        assert await world.store.notes("ana", ids[0]) == [
            Note("CLOSE", ids[0], day(51), None, None),
            Note("REINSTATE", ids[0], day(60), None, "back"),
        ]

    async def test_what_replaced_it_stays_as_it_is(self, world: World) -> None:
        ids = await line(world, 1, 5, 9)
        before = await world.store.chain("ana", ids[0])
        await world.store.erase("ana", ids[0])
        assert await world.store.chain("ana", ids[2]) == before[1:]
        late = await applied(world, add("late", at=3, supersedes=ids[1]))
        assert late.outcomes[0].status == "late"
        assert await texts(world, ids[2]) == ["late", "v1", "v2"]

    async def test_a_late_arrival_finds_its_place_beside_the_gap(
        self, world: World
    ) -> None:
        for at, ends, begins in ((3, 3, 9), (7, 5, 9)):
            ids = await line(world, 1, 5, 9)
            await world.store.erase("ana", ids[1])
            late = await applied(world, add("late", at=at, supersedes=ids[2]))
            assert late.outcomes[0].status == "late"
            rows = await world.store.chain("ana", ids[0])
            assert [row.text for row in rows] == ["v0", "late", "v2"]
            assert [row.superseded_by for row in rows] == [
                rows[1].id,
                rows[2].id,
                None,
            ]
            assert [row.valid_to for row in rows] == [day(ends), day(begins), None]
            for row in rows:
                await world.store.erase("ana", row.id)

    async def test_a_parted_history_stays_one(self, world: World) -> None:
        for erased in range(3):
            ids = await line(world, 1, 5, 9)
            await applied(world, reinstate(ids[1]))
            await world.store.erase("ana", ids[erased])
            left = [id_ for id_ in ids if id_ != ids[erased]]
            for id_ in left:
                rows = await world.store.chain("ana", id_)
                assert [row.id for row in rows] == left
            for id_ in left:
                await world.store.erase("ana", id_)

    async def test_an_erased_target_is_unknown_to_a_plan(self, world: World) -> None:
        (old,) = await line(world, 1)
        await world.store.erase("ana", old)
        done = await applied(
            world,
            add("new", supersedes=old),
            close(old, at=3),
            cite(old, "s"),
            reinstate(old),
            put("memory", {(1, 0): code("x")}),
        )
        assert {o.status for o in done.outcomes} == {"unknown"}
        view = await kept(world.store, "ana")
        assert [row.text for row in view.memories.values()] == ["new"]
        assert view.codes == {}

    async def test_links_to_it_are_gone(self, world: World) -> None:
        done = await applied(world, add("a", links=[1, 2]), add("b"), add("c"))
        ids = [outcome.id or "" for outcome in done.outcomes]
        await world.store.erase("ana", ids[1])
        assert (await fact(world, ids[0])).links == (ids[2],)

    # -------------------------------------------------------------------- what cites it

    async def test_a_fact_that_rests_on_it_alone_stands_unverified(
        self, world: World
    ) -> None:
        said = await world.store.accept("ana", quiet(turn("I keep bees"), turn("b")))
        ops = [
            add("one", source_ids=[said.turns[0]], quote="I keep bees"),
            add("two", source_ids=[said.turns[0], said.turns[0]]),
            add("three", source_ids=[said.turns[1]], quote="b"),
            add("four"),
            add("five", source_ids=["elsewhere", said.turns[0]], quote="bees"),
        ]
        ids = [o.id or "" for o in (await applied(world, *ops)).outcomes]
        await applied(world, close(ids[1], at=4))
        await world.store.erase("ana", said.turns[0])
        rows = [await fact(world, id_) for id_ in ids]
        assert [(r.source_ids, r.quote, r.verified) for r in rows] == [
            ((), None, False),
            ((), None, False),
            ((said.turns[1],), "b", True),
            ((), None, True),
            (("elsewhere",), None, False),
        ]
        assert [row.text for row in rows] == ["one", "two", "three", "four", "five"]

    async def test_a_quote_that_another_source_says_too_stays(
        self, world: World
    ) -> None:
        said = await world.store.accept(
            "ana", quiet(turn("I keep bees"), turn("Yes, I keep bees!"), turn("hens"))
        )
        ops = [
            add("one", source_ids=said.turns[:2], quote="I keep bees"),
            add("two", source_ids=[said.turns[0], said.turns[2]], quote="I keep bees"),
            add("three", source_ids=[said.turns[0], said.turns[2]]),
        ]
        ids = [o.id or "" for o in (await applied(world, *ops)).outcomes]
        await world.store.erase("ana", said.turns[0])
        rows = [await fact(world, id_) for id_ in ids]
        assert [(r.source_ids, r.quote, r.verified) for r in rows] == [
            (said.turns[1:2], "I keep bees", True),
            (said.turns[2:], None, False),
            (said.turns[2:], None, True),
        ]

    async def test_another_users_facts_keep_their_sources(self, world: World) -> None:
        said = await world.store.accept("ana", quiet(turn("t")))
        await world.store.accept(
            "ben", quiet(item("f", source_ids=said.turns, quote="t"))
        )
        before = await dump(world.store, "ben")
        await world.store.erase("ana", said.turns[0])
        assert await dump(world.store, "ben") == before

    # ------------------------------------------------------------------ what is in work

    @pytest.mark.parametrize("kind", ["turn", "memory"])
    async def test_a_claim_that_is_out_is_worth_nothing(
        self, world: World, kind: str
    ) -> None:
        done = await world.store.accept("ana", accept(turn("a"), turn("b"), item("f")))
        later = await world.store.accept("ana", accept(turn("c")))
        claim = await claim_one(world.store)
        reply = StoreReply(job_id=done.job_id, reply=b"of a")
        await world.store.apply("ana", plan(reply, claim=claim))
        erased = await world.store.erase(
            "ana", done.turns[0] if kind == "turn" else done.added[0]
        )
        assert erased.total > 0
        late = plan(
            add("made of a"), PutProfile(text="a", turn_seq=1), claim=claim, end=DONE
        )
        assert (await world.store.apply("ana", late)).refused == "lease"
        assert not await world.store.renew(claim, LONG)
        await world.store.release(claim)
        again = await claim_one(await world.reopen())
        assert [job.id for job in again.jobs] == [done.job_id, later.job_id]
        assert [(job.attempts, job.reply) for job in again.jobs] == [(1, None)] * 2
        said = [row.text for job in again.jobs for row in job.turns]
        facts = [row.text for job in again.jobs for row in job.items]
        assert (said, facts) == (
            (["b", "c"], ["f"]) if kind == "turn" else (["a", "b", "c"], [])
        )
        assert await world.store.queued() == 2

    async def test_a_worker_is_woken_for_what_is_queued_again(
        self, world: World
    ) -> None:
        other = await world.reopen()
        done = await world.store.accept("ana", accept(turn("a"), turn("b")))
        await claim_one(world.store)
        while await other.wait_for_work(0.01):
            await other.claim(worker="w", lease=LONG, limit=10)
        waiting = asyncio.create_task(other.wait_for_work(5))
        await asyncio.sleep(0.02)
        await world.store.erase("ana", done.turns[0])
        assert await waiting
        assert (await claim_one(other)).jobs[0].id == done.job_id

    async def test_a_deferral_and_a_delay_go_on(self, world: World) -> None:
        for user, how in (("ana", "defer"), ("ben", "release")):
            done = await world.store.accept(user, accept(turn("a"), turn("b")))
            claim = await claim_one(world.store)
            if how == "defer":
                await world.store.apply(user, plan(claim=claim, defer=LONG))
            else:
                await world.store.release(claim, delay=LONG)
            await world.store.erase(user, done.turns[0])
            assert await world.store.claim(worker="w", lease=LONG, limit=5) == []
        assert await world.store.hurry("ana")
        assert (await claim_one(world.store)).user_id == "ana"

    async def test_a_job_whose_turns_are_all_gone_can_end(self, world: World) -> None:
        done = await world.store.accept("ana", accept(turn("a")))
        await world.store.erase("ana", done.turns[0])
        claim = await claim_one(world.store)
        assert claim.jobs[0].turns == ()
        ended = await world.store.apply("ana", plan(claim=claim, end=DONE))
        assert ended.refused is None
        assert await world.store.queued() == 0

    async def test_an_erasure_among_accepts_takes_its_row_alone(
        self, world: World
    ) -> None:
        other = await world.reopen()
        done = await world.store.accept("ana", quiet(turn("gone"), item("f")))
        await asyncio.gather(
            *(other.accept("ana", quiet(turn(f"t{n}"))) for n in range(10)),
            world.store.erase("ana", done.turns[0]),
            *(world.store.accept("ana", quiet(item(f"i{n}"))) for n in range(10)),
        )
        view = await kept(world.store, "ana")
        assert {row.text for row in view.turns.values()} == {f"t{n}" for n in range(10)}
        assert len(view.memories) == 11
        assert {k[1] for k in view.tokens if k[0] == "turn"} == set(view.turns)

    async def test_it_survives_a_restart_and_strangers_stay(self, world: World) -> None:
        done = await world.store.accept("ana", quiet(turn("a"), turn("b")))
        strangers = [await dump(world.store, user) for user in STRANGERS]
        await world.second_process(
            'return (await store.erase("ana", args["id"])).total', id=done.turns[0]
        )
        await world.store.aclose()
        again = await world.reopen()
        first, second = await again.rows("ana", done.turns)
        assert first is None
        assert isinstance(second, TurnRow)
        assert [await dump(again, user) for user in STRANGERS] == strangers
