"""What `apply` promises about time: one line of versions, half-open, none lost."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest

from hmem.protocols import MemoryRow, Outcome
from hmem.testing.store.making import add, close, day, plan
from hmem.testing.store.view import kept
from hmem.testing.store.world import World

Version = tuple[str, int, int | None]


async def put_fact(
    world: World, text: str, at: int, supersedes: str | None = None
) -> Outcome:
    """Add one fact for ana."""
    done = await world.store.apply(
        "ana", plan(add(text, at=at, supersedes=supersedes), at=50)
    )
    return done.outcomes[0]


async def versions(world: World, id_: str | None) -> list[Version]:
    """The chain as (text, from, to) in days, checked to be one line."""
    rows = await world.store.chain("ana", id_ or "")
    check_line(rows)
    return [
        (
            r.text,
            (r.valid_from - day(0)) // (day(1) - day(0)),
            None if r.valid_to is None else (r.valid_to - day(0)) // (day(1) - day(0)),
        )
        for r in rows
    ]


def check_line(rows: Sequence[MemoryRow]) -> None:
    """Each version ends where the next begins and points to it; one at most is open."""
    for row, following in pairwise(rows):
        assert row.valid_to == following.valid_from
        assert row.superseded_by == following.id
    for row in rows:
        assert row.valid_to is None or row.valid_to >= row.valid_from
        assert (row.valid_to is None) == (row.closed_recorded_at is None)
    assert not rows or rows[-1].superseded_by is None
    assert all(r.valid_to is not None for r in rows[:-1])


class BelievingTests:
    """Superseding in order, late, at one moment, and against each other."""

    async def test_a_newer_fact_takes_over_from_its_own_start(
        self, world: World
    ) -> None:
        old = await put_fact(world, "London", 1)
        new = await put_fact(world, "Paris", 5, old.id)
        assert new.status == "applied"
        assert await versions(world, old.id) == [("London", 1, 5), ("Paris", 5, None)]
        (row, _) = await world.store.chain("ana", new.id or "")
        assert row.closed_recorded_at == day(50)

    async def test_back_to_the_first_is_a_third_version(self, world: World) -> None:
        first = await put_fact(world, "London", 1)
        second = await put_fact(world, "Paris", 5, first.id)
        third = await put_fact(world, "London", 9, second.id)
        assert third.status == "applied"
        assert third.id not in {first.id, second.id}
        assert await versions(world, first.id) == [
            ("London", 1, 5),
            ("Paris", 5, 9),
            ("London", 9, None),
        ]

    async def test_a_loser_chains_onto_the_winner(self, world: World) -> None:
        old = await put_fact(world, "London", 1)
        await put_fact(world, "Paris", 5, old.id)
        third = await put_fact(world, "Rome", 7, old.id)
        assert third.status == "chained"
        assert await versions(world, third.id) == [
            ("London", 1, 5),
            ("Paris", 5, 7),
            ("Rome", 7, None),
        ]

    async def test_a_fact_older_than_its_target_is_inserted_closed(
        self, world: World
    ) -> None:
        target = await put_fact(world, "Paris", 5)
        late = await put_fact(world, "London", 1, target.id)
        assert late.status == "late"
        assert await versions(world, late.id) == [("London", 1, 5), ("Paris", 5, None)]

    @pytest.mark.parametrize("target", [0, 1, 2])
    async def test_a_late_fact_goes_between_the_versions(
        self, world: World, target: int
    ) -> None:
        ids = [(await put_fact(world, "one", 10)).id]
        ids.append((await put_fact(world, "two", 20, ids[0])).id)
        ids.append((await put_fact(world, "three", 30, ids[1])).id)
        late = await put_fact(world, "late", 15, ids[target])
        assert late.status in {"late", "chained"}
        assert await versions(world, late.id) == [
            ("one", 10, 15),
            ("late", 15, 20),
            ("two", 20, 30),
            ("three", 30, None),
        ]

    async def test_late_facts_in_any_order_give_one_line(self, world: World) -> None:
        head = await put_fact(world, "at 9", 9)
        for at in (4, 7, 2, 8, 1, 6, 3, 5):
            await put_fact(world, f"at {at}", at, head.id)
        assert await versions(world, head.id) == [
            (f"at {n}", n, n + 1 if n < 9 else None) for n in range(1, 10)
        ]

    async def test_of_one_moment_the_later_sequence_is_the_successor(
        self, world: World
    ) -> None:
        first = await put_fact(world, "a", 3)
        second = await put_fact(world, "b", 3, first.id)
        assert second.status == "applied"
        assert await versions(world, first.id) == [("a", 3, 3), ("b", 3, None)]
        third = await put_fact(world, "c", 3, second.id)
        assert third.status == "applied"
        assert [v[0] for v in await versions(world, first.id)] == ["a", "b", "c"]

    async def test_a_late_fact_of_an_old_ones_moment_follows_it(
        self, world: World
    ) -> None:
        first = await put_fact(world, "one", 10)
        second = await put_fact(world, "two", 20, first.id)
        await put_fact(world, "also one", 10, second.id)
        assert await versions(world, first.id) == [
            ("one", 10, 10),
            ("also one", 10, 20),
            ("two", 20, None),
        ]

    async def test_superseding_a_fact_that_was_closed_loses_nothing(
        self, world: World
    ) -> None:
        old = await put_fact(world, "London", 1)
        await world.store.apply("ana", plan(close(old.id or "", at=4)))
        new = await put_fact(world, "Paris", 6, old.id)
        rows = await world.store.rows("ana", [old.id or "", new.id or ""])
        assert isinstance(rows[0], MemoryRow)
        assert isinstance(rows[1], MemoryRow)
        assert (rows[0].valid_to, rows[1].valid_from) == (day(4), day(6))
        assert (new.status, rows[1].valid_to) == ("chained", None)
        chain = await world.store.chain("ana", old.id or "")
        assert [r.text for r in chain] == ["London", "Paris"]
        assert rows[0].superseded_by == new.id

    async def test_a_fact_that_supersedes_its_equal_is_a_duplicate(
        self, world: World
    ) -> None:
        old = await put_fact(world, "London", 1)
        again = await put_fact(world, "London", 5, old.id)
        assert (again.status, again.id) == ("duplicate", old.id)
        assert await versions(world, old.id) == [("London", 1, None)]

    async def test_a_chain_within_one_plan_is_one_line(self, world: World) -> None:
        old = await put_fact(world, "v0", 0)
        done = await world.store.apply(
            "ana", plan(*(add(f"v{n}", at=n, supersedes=old.id) for n in range(1, 6)))
        )
        assert [o.status for o in done.outcomes] == ["applied"] + ["chained"] * 4
        assert [v[0] for v in await versions(world, old.id)] == [
            f"v{n}" for n in range(6)
        ]

    async def test_facts_that_supersede_one_target_at_once_make_one_line(
        self, world: World
    ) -> None:
        other = await world.reopen()
        old = await put_fact(world, "v", 0)
        done = await asyncio.gather(
            *(
                (world.store, other)[n % 2].apply(
                    "ana", plan(add(f"v{n}", at=n % 7, supersedes=old.id))
                )
                for n in range(20)
            )
        )
        states = [d.outcomes[0].status for d in done]
        assert set(states) <= {"applied", "chained", "late"}
        line = await versions(world, old.id)
        assert len(line) == 21
        assert len([v for v in line if v[2] is None]) == 1

    async def test_two_processes_that_supersede_one_target_make_one_line(
        self, world: World
    ) -> None:
        old = await put_fact(world, "v", 0)
        body = """
            await hear()
            for n in range(15):
                await store.apply("ana", plan(
                    add(f"theirs {n}", at=n, supersedes=args["id"])))
            return 15
        """
        async with world.process(body, id=old.id) as child:
            await child.tell("go")
            for n in range(15):
                await put_fact(world, f"ours {n}", n, old.id)
            assert await child.hear() == 15
        assert len(await versions(world, old.id)) == 31

    async def test_closed_versions_stay_readable(self, world: World) -> None:
        old = await put_fact(world, "London", 1)
        await put_fact(world, "Paris", 5, old.id)
        view = await kept(await world.reopen(), "ana")
        assert [r.text for r in view.memories.values()] == ["London", "Paris"]
        assert ("memory", 1, 0) in view.tokens
