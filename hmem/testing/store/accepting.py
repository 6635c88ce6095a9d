"""What `Store.accept` promises."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio
from dataclasses import replace

import pytest

from hmem.errors import IdempotencyError, QueueFullError
from hmem.protocols import MemoryRow, TurnRow
from hmem.testing.store.making import (
    DONE,
    accept,
    add,
    close,
    day,
    item,
    plan,
    quiet,
    turn,
)
from hmem.testing.store.strangers import SHARED_TEXT
from hmem.testing.store.view import dump, kept
from hmem.testing.store.world import World


class AcceptTests:
    """Rows, ids, duplicates and idempotency keys."""

    async def test_a_turn_comes_back_as_it_was_given(self, world: World) -> None:
        given = turn(
            "H\u00e9llo \u6771\u4eac \U0001f642\nagain",
            at=3,
            role="assistant",
            name="Ann",
            message_id="x1",
            passages=2,
            metadata={"n": 1, "deep": [{"\u00e9": None}]},
        )
        done = await world.store.accept("ana", accept(given, at=4, agent_id="a1"))
        view = await kept(world.store, "ana")
        (row,) = view.turns.values()
        assert row == TurnRow(
            seq=1,
            id=done.turns[0],
            text=given.text,
            ends=given.ends,
            agent_id="a1",
            session_id="s1",
            role="assistant",
            name="Ann",
            observed_at=day(3),
            recorded_at=day(4),
            message_id="x1",
            job=row.job,
            metadata={"n": 1, "deep": [{"\u00e9": None}]},
        )
        assert view.pending == {row.job}
        assert await world.store.rows("ana", done.turns) == [row]

    async def test_an_item_comes_back_as_it_was_given(self, world: World) -> None:
        given = item(
            "Met L\u00e9a in Ghent",
            at=3,
            entities=["l\u00e9a", "ghent"],
            passages=3,
            category="episodic",
            importance=9,
            event_start=day(-5),
            event_end=day(-4),
            event_precision="day",
            agent_id="a1",
            session_id="s7",
            source_ids=("t1", "t2"),
            quote="met L\u00e9a",
            verified=False,
            expires_at=day(99),
            metadata={"k": [1.5, True]},
            prompt_version="p1",
        )
        done = await world.store.accept("ana", quiet(given, at=6))
        view = await kept(world.store, "ana")
        (row,) = view.memories.values()
        assert row == MemoryRow(
            seq=1,
            id=done.added[0],
            text=given.text,
            ends=given.ends,
            agent_id="a1",
            session_id="s7",
            category="episodic",
            importance=9,
            event_start=day(-5),
            event_end=day(-4),
            event_precision="day",
            valid_from=day(3),
            valid_to=None,
            recorded_at=day(6),
            closed_recorded_at=None,
            superseded_by=None,
            source_ids=("t1", "t2"),
            quote="met L\u00e9a",
            verified=False,
            hash=given.hash,
            expires_at=day(99),
            forgotten_at=None,
            last_accessed=None,
            metadata={"k": [1.5, True]},
            prompt_version="p1",
        )
        assert view.entities == {"ghent": (1,), "l\u00e9a": (1,)}

    async def test_ids_and_sequences_follow_the_order_given(self, world: World) -> None:
        turns = [turn(f"turn {n}") for n in range(40)]
        items = [item(f"fact {n}") for n in range(40)]
        done = await world.store.accept("ana", accept(*turns, *items))
        view = await kept(world.store, "ana")
        assert list(view.turns) == list(view.memories) == list(range(1, 41))
        assert [r.text for r in view.turns.values()] == [t.text for t in turns]
        assert [r.text for r in view.memories.values()] == [i.text for i in items]
        assert [r.id for r in view.turns.values()] == list(done.turns)
        assert [r.id for r in view.memories.values()] == list(done.added)
        assert len({*done.turns, *done.added, done.job_id}) == 81

    async def test_sequences_go_on_from_call_to_call(self, world: World) -> None:
        for n in range(3):
            await world.store.accept("ana", quiet(turn(f"t{n}"), item(f"i{n}")))
        view = await kept(world.store, "ana")
        assert [(s, r.text) for s, r in view.turns.items()] == [
            (1, "t0"),
            (2, "t1"),
            (3, "t2"),
        ]

    async def test_a_queued_accept_says_so_and_a_quiet_one_is_done(
        self, world: World
    ) -> None:
        queued = await world.store.accept("ana", accept(turn("a")))
        done = await world.store.accept("ana", quiet(turn("b")))
        assert (queued.status, queued.created) == ("queued", True)
        assert (done.status, done.created) == ("done", True)
        assert await world.store.queued("ana") == await world.store.queued() == 1

    async def test_an_open_fact_is_not_stored_twice(self, world: World) -> None:
        first = await world.store.accept("ana", quiet(item(SHARED_TEXT, at=1)))
        again = await world.store.accept(
            "ana", quiet(item("New"), item(SHARED_TEXT, at=2), item("New"))
        )
        view = await kept(world.store, "ana")
        assert [r.text for r in view.memories.values()] == [SHARED_TEXT, "New"]
        assert len(again.added) == 1
        assert [s.id for s in again.skipped] == [first.added[0], again.added[0]]
        assert all(s.reason for s in again.skipped)

    async def test_an_item_without_labels_takes_those_of_its_add(
        self, world: World
    ) -> None:
        given = quiet(
            item("a"), item("b", session_id="s2"), session="s1", agent_id="a1"
        )
        await world.store.accept("ana", given)
        rows = (await kept(world.store, "ana")).memories.values()
        assert [(r.session_id, r.agent_id) for r in rows] == [
            ("s1", "a1"),
            ("s2", "a1"),
        ]

    async def test_times_far_off_come_back_exactly(self, world: World) -> None:
        times = [-62_135_596_800_000_000, -1, 0, 1, 253_402_300_799_999_999]
        for n, micros in enumerate(times):
            given = replace(item(f"{n}"), valid_from=micros, event_end=micros)
            said = replace(turn(f"{n}"), observed_at=micros)
            await world.store.accept("ana", quiet(said, given))
        view = await kept(await world.reopen(), "ana")
        rows = view.memories.values()
        assert [r.observed_at for r in view.turns.values()] == times
        assert [(r.valid_from, r.event_end) for r in rows] == [(t, t) for t in times]

    async def test_an_expired_fact_is_no_reason_to_skip_its_equal(
        self, world: World
    ) -> None:
        first = quiet(item("On leave", expires_at=day(3)), at=1)
        done = await world.store.accept("ana", first)
        again = await world.store.accept("ana", quiet(item("On leave"), at=2))
        assert [s.id for s in again.skipped] == list(done.added)
        late = await world.store.accept("ana", quiet(item("On leave", at=4), at=4))
        assert (len(late.added), late.skipped) == (1, ())

    async def test_a_closed_fact_may_come_again(self, world: World) -> None:
        first = await world.store.accept("ana", quiet(item("Is a vegan", at=1)))
        await world.store.apply("ana", plan(close(first.added[0], at=2)))
        again = await world.store.accept("ana", quiet(item("Is a vegan", at=3)))
        assert len(again.added) == 1
        assert again.skipped == ()
        assert len((await kept(world.store, "ana")).memories) == 2

    async def test_a_duplicate_of_another_handles_row_is_seen(
        self, world: World
    ) -> None:
        other = await world.reopen()
        first = await world.store.accept("ana", quiet(item("Has a cat")))
        again = await other.accept("ana", quiet(item("Has a cat")))
        assert again.added == ()
        assert [s.id for s in again.skipped] == list(first.added)

    async def test_a_key_seen_before_gives_the_earlier_job(self, world: World) -> None:
        given = accept(turn("a"), item("b"), key="k1", body_hash=b"1")
        first = await world.store.accept("ana", given)
        before = await dump(world.store, "ana")
        again = await world.store.accept("ana", given)
        assert (first.created, again.created) == (True, False)
        assert again.job_id == first.job_id
        assert await dump(world.store, "ana") == before
        assert await world.store.queued("ana") == 1

    async def test_a_key_outlives_its_job_and_the_handle(self, world: World) -> None:
        given = quiet(turn("a"), key="k1", body_hash=b"1")
        first = await world.store.accept("ana", given)
        other = await world.reopen()
        again = await other.accept("ana", given)
        assert (again.job_id, again.created, again.status) == (
            first.job_id,
            False,
            "done",
        )

    async def test_a_key_with_another_body_is_refused(self, world: World) -> None:
        await world.store.accept("ana", quiet(turn("a"), key="k1", body_hash=b"1"))
        before = await dump(world.store, "ana")
        with pytest.raises(IdempotencyError):
            await world.store.accept("ana", quiet(turn("b"), key="k1", body_hash=b"2"))
        assert await dump(world.store, "ana") == before

    async def test_keys_are_each_users_own(self, world: World) -> None:
        for user in ("ana", "ben"):
            done = await world.store.accept(
                user, quiet(turn(user), key="k1", body_hash=user.encode())
            )
            assert done.created
        assert len((await kept(world.store, "ana")).turns) == 1

    async def test_one_key_in_two_processes_makes_one_job(self, world: World) -> None:
        body = """
            await hear()
            ids = []
            for n in range(10):
                done = await store.accept("ana", quiet(
                    turn(f"t{n}"), key=f"key {n}", body_hash=b"1"))
                ids.append(done.job_id)
            return ids
        """
        async with world.process(body) as child:
            await child.tell("go")
            ids = []
            for n in range(10):
                given = quiet(turn(f"t{n}"), key=f"key {n}", body_hash=b"1")
                ids.append((await world.store.accept("ana", given)).job_id)
            assert await child.hear() == ids
        assert len((await kept(world.store, "ana")).turns) == 10

    async def test_fifty_accepts_of_one_fact_at_once_make_one_row(
        self, world: World
    ) -> None:
        other = await world.reopen()
        stores = [world.store, other]
        done = await asyncio.gather(
            *(
                stores[n % 2].accept("ana", quiet(item(SHARED_TEXT, at=n)))
                for n in range(50)
            )
        )
        view = await kept(other, "ana")
        added = [a for d in done for a in d.added]
        assert [r.id for r in view.memories.values()] == added
        assert len(added) == 1
        assert {s.id for d in done for s in d.skipped} == set(added)

    async def test_fifty_accepts_at_once_lose_no_link_of_an_entity(
        self, world: World
    ) -> None:
        other = await world.reopen()
        stores = [world.store, other]
        await asyncio.gather(
            *(
                stores[n % 2].accept("ana", quiet(item(f"f{n}", entities=["ghent"])))
                for n in range(50)
            )
        )
        for store in stores:
            view = await kept(store, "ana")
            assert view.entities == {"ghent": tuple(range(1, 51))}

    async def test_the_queues_limit_refuses_and_writes_nothing(
        self, world: World
    ) -> None:
        store = await world.reopen(queue_limit=2)
        for n in range(2):
            await store.accept("ana", accept(turn(f"t{n}")))
        before = await dump(store, "ana")
        with pytest.raises(QueueFullError) as caught:
            await store.accept("ana", accept(turn("t2"), key="k5", body_hash=b"5"))
        assert caught.value.retryable
        assert await dump(store, "ana") == before
        await store.accept("ana", quiet(turn("nothing to do")))
        (claim,) = await store.claim(worker="w", lease=60, limit=1)
        await store.apply("ana", plan(claim=claim, end=DONE))
        again = await store.accept("ana", accept(turn("t2"), key="k5", body_hash=b"5"))
        assert (again.created, again.status) == (True, "queued")

    async def test_the_queues_limit_counts_all_users(self, world: World) -> None:
        store = await world.reopen(queue_limit=5)
        refused = []
        for n in range(12):
            try:
                await store.accept(f"user {n}", accept(turn("a")))
            except QueueFullError:
                refused.append(n)
        assert refused == list(range(5, 12))
        assert await store.queued() == 5
        assert await store.delta("user 7") is None

    async def test_what_cannot_be_stored_fails_alone_among_many(
        self, world: World
    ) -> None:
        bad = quiet(turn("bad"), item("bad", metadata={"it": object()}))
        done = await asyncio.gather(
            world.store.accept("ana", quiet(turn("one"))),
            world.store.accept("ana", bad),
            world.store.accept("ana", quiet(turn("two"))),
            add_facts(world, 5),
            return_exceptions=True,
        )
        assert isinstance(done[1], Exception)
        view = await kept(world.store, "ana")
        assert sorted(r.text for r in view.turns.values()) == ["one", "two"]
        assert len(view.memories) == 5
        assert "bad" not in {r.text for r in view.memories.values()}

    async def test_labels_and_texts_may_hold_anything(self, world: World) -> None:
        odd = ["x' OR '1'='1", "../..", "\u202e\u0000x", "", "%s{}", "\U0001f642" * 50]
        for n, text in enumerate(odd):
            await world.store.accept(
                "ana",
                quiet(
                    turn(text, name=text, message_id=f"{n}{text}"),
                    item(f"{n} {text}", entities=[f"{n}{text}"], agent_id=text),
                    session=text,
                    key=f"{n}{text}",
                    body_hash=b"1",
                ),
            )
        view = await kept(await world.reopen(), "ana")
        assert [r.text for r in view.turns.values()] == odd
        assert [r.session_id for r in view.turns.values()] == odd
        assert [r.agent_id for r in view.memories.values()] == odd
        assert set(view.entities) == {f"{n}{t}" for n, t in enumerate(odd)}

    async def test_user_ids_that_look_alike_are_different_users(
        self, world: World
    ) -> None:
        users = [
            "a",
            "A",
            "a ",
            "\u00e4",
            "a\u0308",
            "a/b",
            "a_b",
            "..",
            "7",
            "07",
            "7.0",
        ]
        for user in users:
            await world.store.accept(user, quiet(turn(f"I am <{user}>")))
        for user in users:
            view = await kept(world.store, user)
            assert [r.text for r in view.turns.values()] == [f"I am <{user}>"]


async def add_facts(world: World, count: int) -> None:
    """Facts by way of a plan."""
    done = await world.store.apply(
        "ana", plan(*(add(f"planned {n}") for n in range(count)))
    )
    assert [o.status for o in done.outcomes] == ["applied"] * count
