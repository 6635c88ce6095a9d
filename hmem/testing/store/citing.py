"""What a fact refers to: the turns that it was read from, the facts it belongs with."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio

import pytest

from hmem.protocols import MemoryRow, Note
from hmem.testing.store.applying import NOBODY, applied
from hmem.testing.store.making import (
    add,
    cite,
    close,
    day,
    item,
    plan,
    quiet,
    turn,
)
from hmem.testing.store.strangers import SHARED_TEXT
from hmem.testing.store.view import Kept, dump, kept
from hmem.testing.store.world import World

MOST = 256


async def said(world: World, count: int) -> tuple[str, ...]:
    """Turns of ana's; their ids."""
    done = await world.store.accept(
        "ana", quiet(*(turn(f"t{n}") for n in range(count)))
    )
    return done.turns


async def row_of(world: World, id_: str | None) -> MemoryRow:
    """One fact, as another handle reads it."""
    (row,) = await (await world.reopen()).rows("ana", [id_ or ""])
    assert isinstance(row, MemoryRow)
    return row


class CiteTests:
    """Sources that come later: by a citation, or with a duplicate."""

    @pytest.mark.parametrize("way", ["cite", "plan", "accept"])
    async def test_sources_are_added_in_order_and_once(
        self, world: World, way: str
    ) -> None:
        a, b, c, d = await said(world, 4)
        first = await applied(world, add(SHARED_TEXT, source_ids=[b, a]))
        id_ = first.outcomes[0].id or ""
        before = await row_of(world, id_)
        view = await kept(world.store, "ana")
        sources = (a, d, c, d, b)
        if way == "cite":
            done = await applied(world, cite(id_, *sources), at=5)
            assert (done.outcomes[0].status, done.outcomes[0].id) == ("applied", id_)
        elif way == "plan":
            done = await applied(world, add(SHARED_TEXT, at=5, source_ids=sources))
            assert (done.outcomes[0].status, done.outcomes[0].id) == ("duplicate", id_)
        else:
            given = quiet(item(SHARED_TEXT, at=5, source_ids=sources), at=5)
            again = await world.store.accept("ana", given)
            assert [s.id for s in again.skipped] == [id_]
        after = await row_of(world, id_)
        assert after == before._replace(source_ids=(b, a, d, c))
        delta = await view.refresh(world.store, "ana")
        assert delta is not None
        assert not delta.whole
        assert list(delta.memories) == [after]
        assert view.dump() == await dump(world.store, "ana")

    async def test_known_sources_change_nothing(self, world: World) -> None:
        a, b = await said(world, 2)
        done = await applied(world, add("x", source_ids=[a, b]))
        view = await kept(world.store, "ana")
        again = await applied(
            world,
            cite(done.outcomes[0].id or "", b),
            cite(done.outcomes[0].id or ""),
            add("x", source_ids=[b]),
        )
        assert [o.status for o in again.outcomes] == ["applied", "applied", "duplicate"]
        delta = await view.refresh(world.store, "ana")
        assert delta is not None
        assert list(delta.memories) == []

    async def test_sources_may_be_names_from_elsewhere(self, world: World) -> None:
        (a,) = await said(world, 1)
        done = await applied(world, add("x", source_ids=[a]), add("y"))
        one, two = [o.id or "" for o in done.outcomes]
        await applied(world, cite(one, "mail-7", "\u00e9\0"), cite(two, "mail-7"))
        assert (await row_of(world, one)).source_ids == (a, "mail-7", "\u00e9\0")
        assert (await row_of(world, two)).source_ids == ("mail-7",)

    async def test_sources_are_capped_and_none_that_is_there_is_lost(
        self, world: World
    ) -> None:
        names = [f"s{n}" for n in range(2 * MOST)]
        done = await applied(
            world,
            add("few", source_ids=names[:200]),
            add("many", source_ids=names[: MOST + 40]),
        )
        few, many = [o.id or "" for o in done.outcomes]
        for id_ in (few, many):
            await applied(world, cite(id_, *names))
        assert (await row_of(world, few)).source_ids == tuple(names[:MOST])
        assert (await row_of(world, many)).source_ids == tuple(names[: MOST + 40])

    async def test_only_an_open_fact_can_be_cited(self, world: World) -> None:
        theirs = await world.store.accept("ben", quiet(item("ben's")))
        done = await applied(
            world, add("closed"), add("expired", expires_at=day(4)), add("open")
        )
        closed, expired, open_ = [o.id or "" for o in done.outcomes]
        await applied(world, close(closed, at=2))
        before = await dump(world.store, "ana")
        bens = await dump(world.store, "ben")
        ids = [closed, expired, NOBODY, "", theirs.added[0]]
        done = await applied(world, *(cite(id_, "s", reason="r") for id_ in ids), at=4)
        states = [o.status for o in done.outcomes]
        assert states == ["not_open", "not_open", *["unknown"] * 3]
        assert await dump(world.store, "ana") == before
        assert await dump(world.store, "ben") == bens
        done = await applied(world, cite(expired, "s"), cite(open_, "s"), at=3)
        assert [o.status for o in done.outcomes] == ["applied", "applied"]

    async def test_a_citation_with_a_reason_is_noted(self, world: World) -> None:
        done = await applied(world, add("x"))
        id_ = done.outcomes[0].id or ""
        await applied(world, cite(id_, "a", reason="said again"), at=3)
        await applied(world, cite(id_, "b"), at=4)
        await applied(world, cite(id_, "a", reason="and again"), at=5)
        assert await (await world.reopen()).notes("ana", id_) == [
            Note("CITE", id_, day(3), None, "said again"),
            Note("CITE", id_, day(5), None, "and again"),
        ]

    async def test_two_equal_facts_in_one_accept_share_their_sources(
        self, world: World
    ) -> None:
        done = await world.store.accept(
            "ana",
            quiet(item("x", source_ids=("a",)), item("x", source_ids=("b", "a"))),
        )
        assert (await row_of(world, done.added[0])).source_ids == ("a", "b")

    async def test_sources_added_at_once_are_all_there(self, world: World) -> None:
        done = await applied(world, add("x"))
        id_ = done.outcomes[0].id or ""
        other = await world.reopen()
        await asyncio.gather(
            *(
                (world.store, other)[n % 2].apply("ana", plan(cite(id_, f"s{n}")))
                for n in range(30)
            )
        )
        row = await row_of(world, id_)
        assert sorted(row.source_ids) == sorted(f"s{n}" for n in range(30))


class LinkTests:
    """`AddMemory.links`."""

    async def test_facts_of_one_plan_are_linked_to_what_they_name(
        self, world: World
    ) -> None:
        old = await applied(world, add("old", at=1))
        done = await applied(
            world,
            add("a", links=[3, 2]),
            close(old.outcomes[0].id or "", at=2),
            add("b"),
            add("c", at=3, supersedes=old.outcomes[0].id, links=[0, 2]),
        )
        a, _, b, c = [o.id or "" for o in done.outcomes]
        found = [set((await row_of(world, id_)).links) for id_ in (a, b, c)]
        assert found == [{b, c}, set(), {a, b}]
        view = await kept(world.store, "ana")
        assert {r.id: set(r.links) for r in view.memories.values() if r.links} == {
            a: {b, c},
            c: {a, b},
        }

    async def test_a_duplicate_stands_for_the_row_it_repeats_and_gets_no_links(
        self, world: World
    ) -> None:
        first = await applied(world, add("known"))
        known = first.outcomes[0].id or ""
        done = await applied(
            world, add("known", links=[1, 2]), add("new", links=[0, 2]), add("more")
        )
        _, new, more = [o.id or "" for o in done.outcomes]
        assert (await row_of(world, known)).links == ()
        assert set((await row_of(world, new)).links) == {known, more}

    async def test_links_to_nothing_are_ignored(self, world: World) -> None:
        done = await applied(
            world,
            add("a", links=[0, 1, 1, 2, 3, 4, 5, 99, -1]),
            add("b", links=[5]),
            close(NOBODY, at=1),
            cite(NOBODY, "s"),
            add("a"),
            add("c", supersedes=NOBODY, links=[-2]),
        )
        a, b, *_, c = [o.id or "" for o in done.outcomes]
        rows = [await row_of(world, id_) for id_ in (a, b, c)]
        assert [set(row.links) for row in rows] == [{b, c}, {c}, set()]
        assert len(rows[0].links) == 2

    async def test_an_edit_whose_target_is_gone_links_nothing(
        self, world: World
    ) -> None:
        edit = add("edit", supersedes=NOBODY, links=[1])
        lost = type(edit)(
            memory=edit.memory, supersedes=NOBODY, needs_target=True, links=(1,)
        )
        done = await applied(world, lost, add("b", links=[0]))
        assert done.outcomes[0].id is None
        assert (await row_of(world, done.outcomes[1].id)).links == ()

    async def test_many_links_come_back_whole_in_every_reading(
        self, world: World
    ) -> None:
        count = 300
        view = Kept()
        await applied(world, add("before"))
        await view.refresh(world.store, "ana")
        every = range(count)
        done = await applied(world, *(add(f"f{n}", links=every) for n in every))
        ids = [o.id or "" for o in done.outcomes]
        await view.refresh(world.store, "ana")
        assert view.dump() == await dump(world.store, "ana")
        page = await world.store.page("ana", "memory", after=1, limit=count)
        assert [row.id for row in page] == ids
        for row in (*page, *(await world.store.rows("ana", [ids[7], ids[-1]]))):
            assert isinstance(row, MemoryRow)
            assert set(row.links) == {*ids} - {row.id}
            assert len(row.links) == count - 1
