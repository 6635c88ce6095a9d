"""What opening a closed fact again promises, and what the journal keeps."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio

import pytest

from hmem.protocols import Former, MemoryRow, Note, Outcome
from hmem.testing.store.applying import NOBODY, applied
from hmem.testing.store.making import (
    add,
    close,
    day,
    item,
    plan,
    quiet,
    reinstate,
    turn,
)
from hmem.testing.store.strangers import SHARED_TEXT
from hmem.testing.store.view import dump, kept
from hmem.testing.store.world import World


async def line(world: World, *starts: int, reason: str | None = None) -> list[str]:
    """Versions of one fact of ana's, each superseding the one before; their ids. The
    n-th is recorded on day 50 + n."""
    ids: list[str] = []
    for n, start in enumerate(starts):
        op = add(f"v{n}", at=start, supersedes=ids[-1] if ids else None, reason=reason)
        done = await applied(world, op, at=50 + n)
        ids.append(done.outcomes[0].id or "")
    return ids


async def chain(world: World, id_: str) -> list[tuple[str, int, int | None]]:
    """(text, from, to) in days."""
    rows = await (await world.reopen()).chain("ana", id_)
    return [
        (
            row.text,
            (row.valid_from - day(0)) // (day(1) - day(0)),
            None if row.valid_to is None else (row.valid_to - day(0)) // day_length(),
        )
        for row in rows
    ]


def day_length() -> int:
    """A day, in micros."""
    return day(1) - day(0)


class ReinstateTests:
    """`ReinstateMemory`."""

    async def test_a_deleted_fact_is_as_if_it_had_never_been(
        self, world: World
    ) -> None:
        done = await applied(
            world,
            add(SHARED_TEXT, at=1, source_ids=["s"], entities=["e"], metadata={"a": 1}),
        )
        id_ = done.outcomes[0].id or ""
        before = await dump(world.store, "ana")
        await applied(world, close(id_, at=5), at=6)
        view = await kept(world.store, "ana")
        again = await applied(world, reinstate(id_), at=7)
        assert again.outcomes == (Outcome(status="applied", id=id_),)
        await view.refresh(world.store, "ana")
        after = view.dump()
        assert after == await dump(await world.reopen(), "ana")
        states = (Former(day(6), None), Former(day(7), day(5)))
        assert after == before | {"former": {1: states}}

    @pytest.mark.parametrize("pick", [0, 1, 2])
    async def test_what_superseded_a_fact_stays_and_every_id_tells_all(
        self, world: World, pick: int
    ) -> None:
        ids = await line(world, 1, 5, 9)
        await applied(world, close(ids[2], at=12))
        await applied(world, reinstate(ids[pick]))
        ends: list[int | None] = [5, 9, 12]
        ends[pick] = None
        whole = [(f"v{n}", at, ends[n]) for n, at in enumerate((1, 5, 9))]
        for id_ in ids:
            assert await chain(world, id_) == whole
        rows = await world.store.chain("ana", ids[0])
        heads = [None if n == pick else ids[n + 1] for n in range(2)]
        assert [row.superseded_by for row in rows] == [*heads, None]
        assert [row.closed_recorded_at is None for row in rows] == [
            n == pick for n in range(3)
        ]

    async def test_a_reinstated_fact_can_be_superseded_and_reinstated_again(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 5)
        for n in range(3):
            done = await applied(world, reinstate(ids[0]))
            assert done.outcomes[0].status == "applied"
            done = await applied(world, add(f"x{n}", at=7 + n, supersedes=ids[0]))
            assert done.outcomes[0].status == "applied"
            ids.append(done.outcomes[0].id or "")
        for id_ in ids:
            assert await chain(world, id_) == [
                *(("v0", 1, 9), ("v1", 5, None), ("x0", 7, None)),
                *(("x1", 8, None), ("x2", 9, None)),
            ]

    async def test_both_sides_of_a_parting_take_late_arrivals(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 10, 20)
        await applied(world, reinstate(ids[0]))
        old = await applied(world, add("old", at=4, supersedes=ids[0]))
        late = await applied(world, add("late", at=15, supersedes=ids[2]))
        first = await applied(world, add("first", at=5, supersedes=ids[2]))
        assert [d.outcomes[0].status for d in (old, late, first)] == [
            *("applied", "late", "late")
        ]
        assert await chain(world, first.outcomes[0].id or "") == [
            *(("v0", 1, 4), ("old", 4, None), ("first", 5, 10)),
            *(("v1", 10, 15), ("late", 15, 20), ("v2", 20, None)),
        ]

    async def test_an_open_fact_is_its_own_duplicate(self, world: World) -> None:
        done = await applied(world, add("a"), add("b", expires_at=day(1)))
        ids = [o.id or "" for o in done.outcomes]
        before = await dump(world.store, "ana")
        again = await applied(world, *map(reinstate, ids), at=3)
        assert again.outcomes == tuple(
            Outcome(status="duplicate", id=id_) for id_ in ids
        )
        assert await dump(world.store, "ana") == before
        assert await world.store.notes("ana", ids[0]) == []

    async def test_a_fact_that_is_open_once_more_stands_in_the_way(
        self, world: World
    ) -> None:
        first = await applied(world, add("same", at=1))
        old = first.outcomes[0].id or ""
        await applied(world, close(old, at=2))
        second = await applied(world, add("same", at=3, expires_at=day(9)))
        new = second.outcomes[0].id or ""
        before = await dump(world.store, "ana")
        done = await applied(world, reinstate(old), at=8)
        assert done.outcomes == (Outcome(status="duplicate", id=new),)
        assert await dump(world.store, "ana") == before
        done = await applied(world, reinstate(old), at=9)
        assert done.outcomes == (Outcome(status="applied", id=old),)

    async def test_expiry_is_not_undone(self, world: World) -> None:
        done = await applied(world, add("x", expires_at=day(3)))
        id_ = done.outcomes[0].id or ""
        await applied(world, close(id_, at=2))
        await applied(world, reinstate(id_), at=5)
        (row,) = await world.store.chain("ana", id_)
        assert (row.valid_to, row.expires_at) == (None, day(3))
        again = await applied(world, add("x", at=6), at=6)
        assert again.outcomes[0].status == "applied"

    async def test_another_users_fact_cannot_be_reinstated(self, world: World) -> None:
        theirs = await world.store.accept("ben", quiet(item("ben's")))
        await world.store.apply("ben", plan(close(theirs.added[0], at=1)))
        await applied(world, add("a"))
        said = await world.store.accept("ana", quiet(turn("t")))
        before = await dump(world.store, "ben")
        ids = [theirs.added[0], NOBODY, "", said.turns[0]]
        done = await applied(world, *map(reinstate, ids))
        assert {(o.status, o.id) for o in done.outcomes} == {("unknown", None)}
        assert await dump(world.store, "ben") == before
        assert await world.store.notes("ana", theirs.added[0]) == []
        nobody = await world.store.apply("nobody", plan(reinstate(theirs.added[0])))
        assert nobody.outcomes == (Outcome(status="unknown"),)

    async def test_one_of_many_reinstatements_at_once_is_made(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 5)
        other = await world.reopen()
        done = await asyncio.gather(
            *(
                (world.store, other)[n % 2].apply("ana", plan(reinstate(ids[0])))
                for n in range(10)
            )
        )
        states = [d.outcomes[0].status for d in done]
        assert sorted(states) == ["applied"] + ["duplicate"] * 9
        notes = await world.store.notes("ana", ids[1])
        assert [note.event for note in notes] == ["SUPERSEDE", "REINSTATE"]

    async def test_a_chain_of_an_erased_user_is_not_the_next_ones(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 5)
        await applied(world, reinstate(ids[0], reason="r"))
        await world.store.erase_user("ana")
        anew = await line(world, 1, 5)
        rows = await world.store.chain("ana", anew[0])
        assert [row.id for row in rows] == anew
        assert rows[0].superseded_by == anew[1]
        assert await world.store.notes("ana", anew[0]) == []
        assert await world.store.notes("ana", ids[0]) == []


class NoteTests:
    """`notes`: reasons, and what the rows tell no more."""

    async def test_without_reasons_the_rows_tell_all(self, world: World) -> None:
        ids = await line(world, 1, 5)
        await applied(world, close(ids[1], at=8))
        assert await world.store.notes("ana", ids[0]) == []
        for unknown in (NOBODY, ""):
            assert await world.store.notes("ana", unknown) == []
        assert await world.store.notes("nobody", ids[0]) == []

    async def test_every_id_of_a_chain_tells_the_reasons_of_all(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 5, 9, reason="moved")
        await applied(world, close(ids[2], at=12, reason="left"), at=60)
        await applied(world, add("other"), close(NOBODY, at=1, reason="no"))
        for id_ in ids:
            assert await (await world.reopen()).notes("ana", id_) == [
                Note("SUPERSEDE", ids[0], day(51), ids[1], "moved"),
                Note("SUPERSEDE", ids[1], day(52), ids[2], "moved"),
                Note("CLOSE", ids[2], day(60), None, "left"),
            ]

    @pytest.mark.parametrize("reason", [None, "because"])
    async def test_a_reinstatement_keeps_how_the_fact_had_been_closed(
        self, world: World, reason: str | None
    ) -> None:
        ids = await line(world, 1, 5, reason=reason)
        await applied(world, reinstate(ids[0], reason="a mistake"), at=60)
        await applied(world, close(ids[0], at=9, reason=reason), at=61)
        await applied(world, reinstate(ids[0]), at=62)
        assert await world.store.notes("ana", ids[1]) == [
            Note("SUPERSEDE", ids[0], day(51), ids[1], reason),
            Note("REINSTATE", ids[0], day(60), None, "a mistake"),
            Note("CLOSE", ids[0], day(61), None, reason),
            Note("REINSTATE", ids[0], day(62), None, None),
        ]

    async def test_a_late_arrival_keeps_who_was_there_before(
        self, world: World
    ) -> None:
        ids = await line(world, 1, 9)
        late = await applied(
            world, add("late", at=4, supersedes=ids[1], reason="r"), at=60
        )
        later = await applied(world, add("later", at=2, supersedes=ids[1]), at=61)
        one, two = [d.outcomes[0].id or "" for d in (late, later)]
        notes = await world.store.notes("ana", ids[0])
        assert [note for note in notes if note.id == ids[0]] == [
            Note("SUPERSEDE", ids[0], day(51), ids[1], None),
            Note("SUPERSEDE", ids[0], day(60), one, "r"),
            Note("SUPERSEDE", ids[0], day(61), two, None),
        ]
        assert [note for note in notes if note.id != ids[0]] == [
            Note("SUPERSEDE", one, day(60), ids[1], "r")
        ]

    async def test_a_successor_of_a_closed_fact_keeps_that_it_was_closed(
        self, world: World
    ) -> None:
        (old,) = await line(world, 1)
        await applied(world, close(old, at=4), at=60)
        done = await applied(world, add("new", at=6, supersedes=old), at=61)
        new = done.outcomes[0].id or ""
        assert await world.store.notes("ana", new) == [
            Note("CLOSE", old, day(60), None, None),
            Note("SUPERSEDE", old, day(61), new, None),
        ]
        (row, _) = await world.store.chain("ana", new)
        assert isinstance(row, MemoryRow)
        assert (row.valid_to, row.superseded_by) == (day(4), new)
