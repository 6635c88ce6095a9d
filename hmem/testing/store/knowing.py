"""What a delta tells of ends that were moved or undone: what was known when."""
# ruff: noqa: D102 - the tests' names are their sentences

import pytest

from hmem.protocols import AddMemory, Former, Op
from hmem.testing.store.applying import applied
from hmem.testing.store.making import add, cite, close, day, item, quiet, reinstate
from hmem.testing.store.reinstating import line
from hmem.testing.store.view import Kept, dump, kept
from hmem.testing.store.world import World

State = tuple[int | None, str | None]


async def at_day(world: World, n: int, *ops: Op) -> str:
    """Carry out operations on the n-th day; the id of the last one's row."""
    done = await applied(world, *ops, at=n)
    return done.outcomes[-1].id or ""


async def states(world: World, id_: str, *days: int) -> list[State]:
    """How a fact stood on these days, read whole by another handle."""
    view = await kept(await world.reopen(), "ana")
    return [view.known(id_, day(n)) for n in days]


class KnownTests:
    """`Delta.former`. In `line` the n-th version is recorded on day 50 + n."""

    async def test_what_was_never_moved_has_no_former_state(self, world: World) -> None:
        ids = await line(world, 1, 5, 9, reason="moved")
        await at_day(world, 60, close(ids[2], at=12, reason="left"))
        await at_day(world, 61, add("late, at the start", at=0, supersedes=ids[0]))
        await at_day(world, 62, add("x", at=1), add("x", at=2, source_ids=["s"]))
        view = await kept(world.store, "ana")
        assert len(view.memories) == 5
        assert view.former == {}
        assert view.known(ids[0], day(50)) == (None, None)
        assert view.known(ids[0], day(51)) == (day(5), ids[1])

    async def test_before_a_late_arrival_its_forerunner_ended_later(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 9)
        late = await at_day(world, 60, add("late", at=4, supersedes=ids[1]))
        assert await states(world, ids[0], 50, 51, 59, 60) == [
            (None, None),
            (day(9), ids[1]),
            (day(9), ids[1]),
            (day(4), late),
        ]
        assert await states(world, late, 60) == [(day(9), ids[1])]

    async def test_each_of_many_late_arrivals_is_undone_by_itself(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 9)
        late = [
            await at_day(world, 60 + n, add(f"at {at}", at=at, supersedes=ids[0]))
            for n, at in enumerate((5, 3, 7, 2))
        ]
        view = await kept(world.store, "ana")
        found = [view.known(ids[0], day(n)) for n in range(59, 65)]
        assert found == [
            (day(9), ids[1]),
            (day(5), late[0]),
            (day(3), late[1]),
            (day(3), late[1]),
            (day(2), late[3]),
            (day(2), late[3]),
        ]
        assert view.known(late[0], day(61)) == (day(9), ids[1])
        assert view.known(late[0], day(62)) == (day(7), late[2])

    async def test_a_late_arrival_after_a_deletion_moves_its_end(
        self, world: World
    ) -> None:
        (old,) = await line(world, 1)
        await at_day(world, 60, close(old, at=8))
        late = await at_day(world, 61, add("late", at=4, supersedes=old))
        after = await at_day(world, 62, add("after", at=6, supersedes=old))
        assert await states(world, old, 59, 60, 61, 62) == [
            (None, None),
            (day(8), None),
            (day(4), late),
            (day(4), late),
        ]
        assert await states(world, late, 61, 62) == [(None, None), (day(6), after)]

    async def test_an_end_that_stays_may_have_another_successor(
        self, world: World
    ) -> None:
        (old,) = await line(world, 1)
        await at_day(world, 60, close(old, at=4))
        new = await at_day(world, 61, add("new", at=9, supersedes=old))
        between = await at_day(world, 62, add("between", at=6, supersedes=new))
        assert await states(world, old, 59, 60, 61, 62) == [
            (None, None),
            (day(4), None),
            (day(4), new),
            (day(4), between),
        ]

    @pytest.mark.parametrize("reason", [None, "because"])
    async def test_until_it_was_reinstated_a_fact_was_closed(
        self, world: World, reason: str | None
    ) -> None:
        ids = await line(world, 1, 5, reason=reason)
        late = await at_day(world, 60, add("late", at=3, supersedes=ids[0]))
        await at_day(world, 61, reinstate(ids[0], reason="a mistake"))
        await at_day(world, 62, cite(ids[0], "s", reason="said again"))
        await at_day(world, 63, close(ids[0], at=9, reason=reason))
        await at_day(world, 64, reinstate(ids[0]))
        last = await at_day(world, 65, add("last", at=8, supersedes=ids[0]))
        assert await states(world, ids[0], *range(50, 52), *range(59, 66)) == [
            (None, None),
            (day(5), ids[1]),
            (day(5), ids[1]),
            (day(3), late),
            (None, None),
            (None, None),
            (day(9), None),
            (None, None),
            (day(8), last),
        ]

    async def test_what_one_plan_closes_and_supersedes_moved_nothing(
        self, world: World
    ) -> None:
        (old,) = await line(world, 1)
        new = await at_day(world, 60, close(old, at=4), add("v", at=4, supersedes=old))
        assert (await kept(world.store, "ana")).former == {}
        assert await states(world, old, 59, 60) == [(None, None), (day(4), new)]

    async def test_a_view_kept_by_deltas_knows_what_a_rebuilt_one_knows(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 9)
        view = Kept()
        await view.refresh(world.store, "ana")
        ops: list[Op] = [
            add("late", at=4, supersedes=ids[1]),
            reinstate(ids[0]),
            cite(ids[0], "s"),
            add("x", at=7, supersedes=ids[0]),
        ]
        for n, op in enumerate(ops):
            await at_day(world, 60 + n, op)
            await view.refresh(world.store, "ana")
            assert view.dump() == await dump(await world.reopen(), "ana")
        assert len(view.former[1]) == 3

    async def test_a_whole_user_is_read_as_rows_are_one_by_one(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 9)
        late = [
            AddMemory(memory=item(f"late {n}", at=8), supersedes=ids[0])
            for n in range(3)
        ]
        await at_day(world, 60, *late)
        await at_day(world, 61, add("deleted", at=1))
        gone = (await kept(world.store, "ana")).by_text()["deleted"].id
        await at_day(world, 62, close(gone, at=3))
        await at_day(world, 63, add("followed", at=6, supersedes=gone))
        few = await kept(world.store, "ana")
        more = [item(f"other {n}") for n in range(100)]
        await world.store.accept("ana", quiet(*more))
        many = await kept(world.store, "ana")
        assert len(many.memories) == 107
        assert many.former == few.former
        assert set(many.former) == {1, 3, 4, 6}

    async def test_an_erased_version_is_gone_for_all_times(self, world: World) -> None:
        ids = await line(world, 1, 9)
        late = await at_day(world, 60, add("late", at=4, supersedes=ids[1]))
        await world.store.erase("ana", late)
        assert await states(world, ids[0], 50, 51, 60) == [
            (None, None),
            (day(9), ids[1]),
            (day(4), ids[1]),
        ]
        await world.store.erase("ana", ids[1])
        assert await states(world, ids[0], 50, 51, 60) == [
            (None, None),
            (day(9), None),
            (day(4), None),
        ]
        await world.store.erase("ana", ids[0])
        view = await kept(world.store, "ana")
        assert (view.memories, view.former) == ({}, {})

    async def test_an_erased_successor_of_former_times_is_none(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 9)
        await at_day(world, 60, reinstate(ids[0]))
        await world.store.erase("ana", ids[1])
        view = await kept(world.store, "ana")
        assert view.former == {
            1: (Former(day(51), None), Former(day(60), day(9), None))
        }

    async def test_others_of_the_same_number_have_states_of_their_own(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 9)
        await world.store.accept("ben", quiet(*(item(f"b{n}") for n in range(3))))
        before = await dump(world.store, "ben")
        await at_day(world, 60, add("late", at=4, supersedes=ids[1]))
        assert await dump(await world.reopen(), "ben") == before
        assert before["former"] == {}
