"""What `Store.apply` promises: outcomes, preconditions, all or nothing."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio

import pytest

from hmem.protocols import Applied, Op, StoreReply
from hmem.testing.store.making import (
    DONE,
    accept,
    add,
    close,
    code,
    day,
    item,
    plan,
    put,
    quiet,
    short_hash,
    turn,
)
from hmem.testing.store.strangers import SHARED_TEXT
from hmem.testing.store.view import dump, kept
from hmem.testing.store.world import World

NOBODY = "00000000-0000-7000-8000-000000000000"


async def applied(world: World, *ops: Op, at: int = 0) -> Applied:
    """What a plan of these operations gave for ana."""
    done = await world.store.apply("ana", plan(*ops, at=at))
    assert done.refused is None
    assert len(done.outcomes) == len(ops)
    return done


class ApplyTests:
    """One outcome per operation."""

    async def test_an_added_fact_is_there_with_its_vector_and_links(
        self, world: World
    ) -> None:
        await applied(world, add("first", at=1))
        done = await applied(
            world, add("second", at=2, vector=code("second"), entities=["e"]), at=7
        )
        view = await kept(await world.reopen(), "ana")
        row = view.memories[2]
        assert (done.outcomes[0].status, done.outcomes[0].id) == ("applied", row.id)
        assert (row.text, row.valid_from, row.valid_to) == ("second", day(2), None)
        assert row.recorded_at == day(7)
        assert view.codes == {("memory", 2, 0): (1, "float32", code("second"))}
        assert view.entities == {"e": (2,)}

    async def test_outcomes_stand_in_the_order_of_the_operations(
        self, world: World
    ) -> None:
        done = await applied(world, add("a"), add("b"))
        again = await applied(
            world,
            add("b", at=1),
            close(done.outcomes[0].id or "", at=1),
            add("c", at=1),
            close(done.outcomes[0].id or "", at=1),
            close(NOBODY, at=1),
        )
        assert [o.status for o in again.outcomes] == [
            "duplicate",
            "applied",
            "applied",
            "not_open",
            "unknown",
        ]

    async def test_a_duplicate_names_the_row_it_met(self, world: World) -> None:
        first = await applied(world, add(SHARED_TEXT))
        before = await dump(world.store, "ana")
        again = await applied(world, add(SHARED_TEXT, at=4, vector=code("x")))
        assert again.outcomes[0].status == "duplicate"
        assert again.outcomes[0].id == first.outcomes[0].id
        assert (await dump(world.store, "ana"))["memories"] == before["memories"]

    async def test_two_equal_facts_in_one_plan_are_one_row(self, world: World) -> None:
        done = await applied(world, add("same"), add("same", at=1))
        assert [o.status for o in done.outcomes] == ["applied", "duplicate"]
        assert done.outcomes[0].id == done.outcomes[1].id

    async def test_a_fact_after_its_equal_was_closed_in_one_plan_is_added(
        self, world: World
    ) -> None:
        first = await applied(world, add("same"))
        done = await applied(
            world, close(first.outcomes[0].id or "", at=1), add("same", at=2)
        )
        assert [o.status for o in done.outcomes] == ["applied", "applied"]

    async def test_closing_ends_a_fact_and_says_when(self, world: World) -> None:
        first = await applied(world, add("a", at=1))
        id_ = first.outcomes[0].id or ""
        done = await applied(world, close(id_, at=5, reason="no longer"), at=6)
        assert (done.outcomes[0].status, done.outcomes[0].id) == ("applied", id_)
        (row,) = await world.store.chain("ana", id_)
        assert (row.valid_to, row.closed_recorded_at) == (day(5), day(6))
        assert row.superseded_by is None
        again = await applied(world, close(id_, at=8), at=9)
        assert again.outcomes[0].status == "not_open"
        assert await world.store.chain("ana", id_) == [row]

    async def test_a_fact_is_never_closed_before_it_began(self, world: World) -> None:
        first = await applied(world, add("a", at=5))
        id_ = first.outcomes[0].id or ""
        await applied(world, close(id_, at=2))
        (row,) = await world.store.chain("ana", id_)
        assert (row.valid_from, row.valid_to) == (day(5), day(5))

    async def test_another_users_fact_cannot_be_closed_or_superseded(
        self, world: World
    ) -> None:
        theirs = await world.store.accept("ben", quiet(item("ben's"), item("own")))
        before = await dump(world.store, "ben")
        done = await applied(
            world,
            close(theirs.added[0], at=3),
            close(NOBODY, at=3),
            add("ana's", at=3, supersedes=theirs.added[0]),
            add("ana's other", at=3, supersedes=NOBODY),
        )
        assert done.outcomes[0] == done.outcomes[1]
        assert done.outcomes[0].status == "unknown"
        assert [o.status for o in done.outcomes[2:]] == ["unknown", "unknown"]
        rows = await world.store.rows("ana", [o.id or "" for o in done.outcomes[2:]])
        assert [r and r.text for r in rows] == ["ana's", "ana's other"]
        assert await dump(world.store, "ben") == before

    async def test_another_users_job_takes_no_reply(self, world: World) -> None:
        theirs = await world.store.accept("ben", accept(turn("a")))
        done = await applied(
            world,
            StoreReply(job_id=theirs.job_id, reply=b"x"),
            StoreReply(job_id=NOBODY, reply=b"x"),
            StoreReply(job_id="", reply=b"x"),
        )
        assert [o.status for o in done.outcomes] == ["unknown"] * 3
        (claim,) = await world.store.claim(worker="w", lease=60, limit=1)
        assert claim.jobs[0].reply is None

    async def test_vectors_of_rows_that_are_not_there_are_dropped(
        self, world: World
    ) -> None:
        await world.store.accept("ana", quiet(turn("a"), item("b")))
        before = await dump(world.store, "ana")
        codes = {(9, 0): code("none"), (1, 0): code("a"), (4000, 0): code("none")}
        done = await applied(
            world, put("turn", codes), put("memory", {(7, 0): code("none")})
        )
        assert [o.status for o in done.outcomes] == ["applied", "unknown"]
        after = await dump(world.store, "ana")
        assert after.pop("codes") == {("turn", 1, 0): (1, "float32", code("a"))}
        before.pop("codes")
        assert after == before

    async def test_vectors_for_a_user_without_rows_make_no_user(
        self, world: World
    ) -> None:
        await world.store.apply("nobody", plan(put("turn", {(1, 0): code("x")})))
        assert await world.store.delta("nobody") is None

    async def test_another_incarnation_refuses_the_whole_plan(
        self, world: World
    ) -> None:
        await applied(world, add("a"))
        view = await kept(world.store, "ana")
        assert view.mark is not None
        incarnation = view.mark.incarnation
        before = await dump(world.store, "ana")
        no = await world.store.apply("ana", plan(add("b"), incarnation=incarnation + 1))
        assert (no.refused, no.outcomes) == ("incarnation", ())
        assert await dump(world.store, "ana") == before
        yes = await world.store.apply("ana", plan(add("b"), incarnation=incarnation))
        assert yes.refused is None

    async def test_an_incarnation_of_a_user_who_is_not_there_is_refused(
        self, world: World
    ) -> None:
        no = await world.store.apply("nobody", plan(add("a"), incarnation=1))
        assert no.refused == "incarnation"
        assert await world.store.delta("nobody") is None

    @pytest.mark.parametrize("where", ["first", "last"])
    async def test_a_plan_that_fails_writes_nothing(
        self, world: World, where: str
    ) -> None:
        first = await world.store.accept("ana", accept(turn("t"), item("a")))
        (claim,) = await world.store.claim(worker="w", lease=60, limit=1)
        before = await dump(world.store, "ana")
        job = await world.store.job("ana", first.job_id)
        good: list[Op] = [
            add("b", vector=code("b"), entities=["e"]),
            close(first.added[0], at=3),
            put("turn", {(1, 0): code("t")}),
            StoreReply(job_id=first.job_id, reply=b"r"),
        ]
        bad = add("bad", metadata={"it": object()})
        ops: list[Op] = [bad, *good] if where == "first" else [*good, bad]
        with pytest.raises(Exception):  # noqa: B017, PT011 - which is the store's affair
            await world.store.apply("ana", plan(*ops, claim=claim, end=DONE))
        assert await dump(world.store, "ana") == before
        assert await world.store.job("ana", first.job_id) == job
        assert (await applied(world, *good)).outcomes[0].status == "applied"
        assert await world.store.renew(claim, 60)

    async def test_many_plans_at_once_each_give_their_outcome(
        self, world: World
    ) -> None:
        other = await world.reopen()
        done = await asyncio.gather(
            *(
                (world.store, other)[n % 2].apply(
                    "ana", plan(add(f"fact {n % 10}", at=n, entities=[f"e{n % 3}"]))
                )
                for n in range(40)
            )
        )
        states = [d.outcomes[0].status for d in done]
        assert (states.count("applied"), states.count("duplicate")) == (10, 30)
        view = await kept(other, "ana")
        assert sorted(r.hash for r in view.memories.values()) == sorted(
            short_hash(f"fact {n}") for n in range(10)
        )
        assert sum(len(v) for v in view.entities.values()) == 10
