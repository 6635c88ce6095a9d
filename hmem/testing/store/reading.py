"""What `Store.delta`, `rows`, `page` and `chain` promise."""
# ruff: noqa: D102 - the tests' names are their sentences

import numpy as np
import pytest

from hmem.protocols import MemoryRow, PutVectors, TurnRow, VectorRows
from hmem.testing.store.making import (
    DONE,
    accept,
    add,
    close,
    code,
    item,
    plan,
    put,
    quiet,
    tokens,
    turn,
)
from hmem.testing.store.view import Kept, dump, kept
from hmem.testing.store.world import World

NO_IDS = [
    "",
    "x",
    "0",
    "-1",
    "../../etc",
    "' OR '1'='1",
    "\u0000",
    "\U0001f642",
    "x" * 5000,
    "00000000-0000-7000-8000-000000000000",
]


class DeltaTests:
    """A view that took every delta equals one that was read whole."""

    async def test_nothing_of_a_user_is_none(self, world: World) -> None:
        before = await world.store.stats()
        assert await world.store.delta("nobody") is None
        assert await world.store.delta("nobody", None) is None
        assert (await world.store.stats())["users"] == before["users"]

    async def test_a_first_delta_is_whole(self, world: World) -> None:
        await world.store.accept("ana", quiet(turn("a"), item("b")))
        delta = await world.store.delta("ana")
        assert delta is not None
        assert delta.whole
        assert [r.text for r in delta.turns] == ["a"]
        assert [r.text for r in delta.memories] == ["b"]

    async def test_nothing_new_gives_the_same_mark_and_nothing_else(
        self, world: World
    ) -> None:
        await world.store.accept("ana", accept(turn("a"), item("b", entities=["c"])))
        view = await kept(world.store, "ana")
        for store in (world.store, await world.reopen()):
            delta = await store.delta("ana", view.mark)
            assert delta is not None
            assert delta.mark == view.mark
            assert (delta.whole, len(delta.memories), len(delta.turns)) == (False, 0, 0)
            assert (len(delta.lexical), len(delta.vectors)) == (0, 0)
            assert dict(delta.entities) == {}
            assert delta.pending == view.pending != frozenset()

    async def test_strangers_writes_move_no_mark(self, world: World) -> None:
        await world.store.accept("ana", quiet(turn("a")))
        view = await kept(world.store, "ana")
        for n in range(5):
            await world.store.accept("ben", quiet(turn(f"b{n}"), item(f"c{n}")))
        delta = await world.store.delta("ana", view.mark)
        assert delta is not None
        assert delta.mark == view.mark

    async def test_a_delta_brings_what_was_added_and_no_more(
        self, world: World
    ) -> None:
        await world.store.accept("ana", quiet(*(turn(f"t{n}") for n in range(100))))
        view = await kept(world.store, "ana")
        await world.store.accept("ana", quiet(turn("new"), item("fact")))
        delta = await view.refresh(world.store, "ana")
        assert delta is not None
        assert not delta.whole
        assert [r.text for r in delta.turns] == ["new"]
        assert [r.text for r in delta.memories] == ["fact"]
        assert view.dump() == await dump(world.store, "ana")

    async def test_a_changed_row_comes_again(self, world: World) -> None:
        done = await world.store.accept("ana", quiet(item("a"), item("b")))
        view = await kept(world.store, "ana")
        await world.store.apply("ana", plan(close(done.added[0], at=5)))
        delta = await view.refresh(world.store, "ana")
        assert delta is not None
        assert [r.text for r in delta.memories] == ["a"]
        assert view.memories[1].valid_to is not None
        assert view.dump() == await dump(world.store, "ana")

    async def test_every_passages_tokens_come_under_its_own_key(
        self, world: World
    ) -> None:
        long = "one two three four five six seven eight"
        await world.store.accept("ana", quiet(turn(long, passages=2), item("nine ten")))
        await world.store.accept("ana", quiet(turn("eleven"), item(long, passages=3)))
        view = await kept(world.store, "ana")
        assert {k: len(v) for k, v in view.tokens.items()}.keys() == {
            ("turn", 1, 0),
            ("turn", 1, 1),
            ("turn", 2, 0),
            ("memory", 1, 0),
            ("memory", 2, 0),
            ("memory", 2, 1),
            ("memory", 2, 2),
        }
        for (kind, seq, passage), found in view.tokens.items():
            row = (view.turns if kind == "turn" else view.memories)[seq]
            start = row.ends[passage - 1] if passage else 0
            text = row.text[start : row.ends[passage]]
            assert found == tuple(tokens(text).tolist())

    async def test_a_passage_without_words_keeps_its_place(self, world: World) -> None:
        await world.store.accept("ana", quiet(turn("a b"), turn(""), turn("c")))
        view = await kept(world.store, "ana")
        assert view.tokens.get(("turn", 2, 0), ()) == ()
        assert view.tokens["turn", 3, 0] == tuple(tokens("c").tolist())

    async def test_many_rows_in_many_calls_pair_with_their_tokens(
        self, world: World
    ) -> None:
        view = Kept()
        for n in range(30):
            words = [f"w{n}x{i}" for i in range(n % 9)]
            more = [turn(f"t{n} {w}") for w in words]
            await world.store.accept("ana", quiet(item(f"m{n}"), *more))
            await view.refresh(world.store, "ana")
        assert view.dump() == await dump(world.store, "ana")
        assert len(view.tokens) == len(view.turns) + len(view.memories)
        for seq, row in view.turns.items():
            assert view.tokens["turn", seq, 0] == tuple(tokens(row.text).tolist())

    async def test_vectors_may_come_later_than_their_rows(self, world: World) -> None:
        await world.store.accept("ana", quiet(*(turn(f"t{n}") for n in range(90))))
        view = await kept(world.store, "ana")
        assert view.codes == {}
        for part in (range(40, 70), range(1, 40), range(70, 91)):
            codes = {(n, 0): code(view.turns[n].text) for n in part}
            await world.store.apply("ana", plan(put("turn", codes)))
            delta = await view.refresh(world.store, "ana")
            assert delta is not None
            assert sum(len(v.keys) for v in delta.vectors) == len(codes)
            assert (len(delta.turns), delta.whole) == (0, False)
        assert view.dump() == await dump(world.store, "ana")
        assert view.codes == {
            ("turn", n, 0): (1, "float32", code(f"t{n - 1}")) for n in range(1, 91)
        }

    async def test_vectors_of_both_kinds_do_not_mix(self, world: World) -> None:
        await world.store.accept("ana", quiet(turn("a", passages=2), item("b")))
        await world.store.apply(
            "ana",
            plan(
                put("turn", {(1, 1): code("a1"), (1, 0): code("a0")}),
                put("memory", {(1, 0): code("b0")}),
            ),
        )
        assert (await kept(world.store, "ana")).codes == {
            ("turn", 1, 0): (1, "float32", code("a0")),
            ("turn", 1, 1): (1, "float32", code("a1")),
            ("memory", 1, 0): (1, "float32", code("b0")),
        }

    async def test_a_later_vector_replaces_an_earlier_one(self, world: World) -> None:
        await world.store.accept("ana", quiet(turn("a"), turn("b")))
        old = {(1, 0): code("old"), (2, 0): code("b")}
        await world.store.apply("ana", plan(put("turn", old)))
        view = await kept(world.store, "ana")
        await world.store.apply("ana", plan(put("turn", {(1, 0): code("new")})))
        await view.refresh(world.store, "ana")
        for found in (view.codes, (await kept(world.store, "ana")).codes):
            assert found["turn", 1, 0][2] == code("new")
            assert found["turn", 2, 0][2] == code("b")

    async def test_vectors_of_other_spaces_and_codecs_stay_apart(
        self, world: World
    ) -> None:
        await world.store.accept("ana", quiet(*(turn(f"t{n}") for n in range(4))))
        wide = VectorRows(
            kind="turn",
            space=2,
            codec="wide",
            keys=np.array([[2, 0], [1, 0]], dtype=np.uint32),
            codes=np.arange(40, dtype=np.uint8).reshape(2, 20),
        )
        view = await kept(world.store, "ana")
        ops = [
            put("turn", {(3, 0): code("x")}),
            PutVectors(rows=wide),
            put("turn", {(4, 0): code("y")}),
        ]
        for op in ops:
            await world.store.apply("ana", plan(op))
            await view.refresh(world.store, "ana")
        assert view.codes == {
            ("turn", 1, 0): (2, "wide", bytes(range(20, 40))),
            ("turn", 2, 0): (2, "wide", bytes(range(20))),
            ("turn", 3, 0): (1, "float32", code("x")),
            ("turn", 4, 0): (1, "float32", code("y")),
        }
        assert view.dump() == await dump(world.store, "ana")

    async def test_another_users_mark_gives_a_whole_delta(self, world: World) -> None:
        for user in ("ana", "ben"):
            await world.store.accept(user, quiet(turn(user), item(user)))
        ben = await kept(world.store, "ben")
        delta = await world.store.delta("ana", ben.mark)
        assert delta is not None
        assert delta.whole
        assert [r.text for r in delta.turns] == ["ana"]

    async def test_an_entity_names_all_its_facts(self, world: World) -> None:
        await world.store.accept("ana", quiet(item("a", entities=["ghent", "bo"])))
        view = await kept(world.store, "ana")
        await world.store.accept(
            "ana", quiet(item("b", entities=["ghent"]), item("c", entities=["cy"]))
        )
        delta = await view.refresh(world.store, "ana")
        assert delta is not None
        assert {k: sorted(v) for k, v in delta.entities.items()} == {
            "ghent": [1, 2],
            "cy": [3],
        }
        assert view.dump() == await dump(world.store, "ana")

    async def test_a_name_in_hundreds_of_facts_keeps_them_all(
        self, world: World
    ) -> None:
        view = Kept()
        for part in range(3):
            facts = [item(f"{part} {n}", entities=["ghent"]) for n in range(140)]
            await world.store.accept("ana", quiet(*facts))
            await view.refresh(world.store, "ana")
        assert view.entities == {"ghent": tuple(range(1, 421))}
        assert view.dump() == await dump(world.store, "ana")

    async def test_pending_names_the_jobs_of_turns_not_worked_on(
        self, world: World
    ) -> None:
        for n in range(3):
            await world.store.accept("ana", accept(turn(f"t{n}")))
        view = await kept(world.store, "ana")
        assert {r.job for r in view.turns.values()} == view.pending
        assert len(view.pending) == 3
        (claim,) = await world.store.claim(worker="w", lease=60, limit=5)
        await view.refresh(world.store, "ana")
        assert len(view.pending) == 3
        await world.store.apply("ana", plan(claim=claim, end=DONE))
        await view.refresh(world.store, "ana")
        assert view.pending == (await kept(world.store, "ana")).pending
        assert len(view.pending) == 3 - len(claim.jobs)

    async def test_another_processes_writes_are_in_the_next_delta(
        self, world: World
    ) -> None:
        done = await world.store.accept("ana", quiet(turn("mine"), item("old", at=1)))
        view = await kept(world.store, "ana")
        body = """
            seen = await kept(store, "ana")
            await store.accept("ana", quiet(turn("yours"), item("new", at=2)))
            await store.apply("ana", plan(close(args["id"], at=3)))
            await store.apply("ana", plan(put("turn", {(2, 0): code("yours")})))
            say(len(seen.turns))
            await hear()
            delta = await seen.refresh(store, "ana")
            return [len(seen.turns), seen.text_of(3), delta.whole]
        """
        async with world.process(body, id=done.added[0]) as child:
            assert await child.hear() == 1
            delta = await view.refresh(world.store, "ana")
            assert delta is not None
            assert not delta.whole
            assert [r.text for r in view.turns.values()] == ["mine", "yours"]
            assert view.codes["turn", 2, 0][2] == code("yours")
            assert view.memories[1].valid_to is not None
            await world.store.accept("ana", quiet(turn("last"), item("third")))
            await child.tell("go")
            assert await child.hear() == [3, "third", False]
        await view.refresh(world.store, "ana")
        assert view.dump() == await dump(world.store, "ana")


class RowTests:
    """By id, by page, by chain."""

    async def test_rows_come_in_the_order_asked(self, world: World) -> None:
        done = await world.store.accept("ana", quiet(turn("a"), turn("b"), item("c")))
        ids = [done.added[0], done.turns[1], done.turns[0], done.turns[1]]
        rows = await (await world.reopen()).rows("ana", ids)
        assert [r and r.text for r in rows] == ["c", "b", "a", "b"]
        assert [type(r) for r in rows] == [MemoryRow, TurnRow, TurnRow, TurnRow]
        assert await world.store.rows("ana", []) == []

    async def test_another_users_id_is_an_unknown_id(self, world: World) -> None:
        theirs = await world.store.accept("ben", quiet(turn("a"), item("b"), item("c")))
        await world.store.apply("ben", plan(close(theirs.added[1], at=2)))
        mine = await world.store.accept("ana", quiet(turn("mine")))
        ids = [*theirs.turns, *theirs.added, *NO_IDS]
        rows = await world.store.rows("ana", [ids[0], mine.turns[0], *ids[1:]])
        assert [r is not None for r in rows] == [False, True] + [False] * (len(ids) - 1)
        for id_ in ids:
            assert await world.store.chain("ana", id_) == []
            assert await world.store.job("ana", id_) is None
            assert await world.store.chain("nobody", id_) == []
        assert await world.store.rows("nobody", ids) == [None] * len(ids)
        assert await world.store.job("ana", theirs.job_id) is None

    async def test_an_id_with_one_character_changed_is_unknown(
        self, world: World
    ) -> None:
        turns = [turn(f"t{n}") for n in range(40)]
        items = [item(f"m{n}") for n in range(40)]
        done = await world.store.accept("ana", accept(*turns, *items))
        for id_ in (done.turns[20], done.added[20], done.job_id):
            near = {
                id_[:at] + digit + id_[at + 1 :]
                for at in range(len(id_))
                for digit in "0123456789abcdef-"
            } - {*done.turns, *done.added, done.job_id}
            near |= {id_ + "0", id_[:-1], " " + id_, id_ + "\n", "{" + id_ + "}"}
            found = await world.store.rows("ana", sorted(near))
            assert set(found) == {None}
        assert await world.store.rows("ana", [done.job_id]) == [None]
        assert await world.store.job("ana", done.turns[0]) is None

    @pytest.mark.parametrize("kind", ["memory", "turn"])
    async def test_pages_put_together_are_everything(
        self, world: World, kind: str
    ) -> None:
        things = [(turn if kind == "turn" else item)(f"{n}") for n in range(25)]
        await world.store.accept("ana", quiet(*things))
        await world.store.accept("ben", quiet(*things))
        found: list[str] = []
        after = 0
        sizes = []
        while rows := await world.store.page("ana", kind, after=after, limit=10):  # type: ignore[arg-type]
            sizes.append(len(rows))
            found += [r.text for r in rows]
            after = rows[-1].seq
        assert sizes == [10, 10, 5]
        assert found == [str(n) for n in range(25)]
        assert await world.store.page("nobody", "memory", after=0, limit=5) == []

    async def test_pages_leave_closed_facts_out_unless_asked(
        self, world: World
    ) -> None:
        done = await world.store.accept("ana", quiet(*(item(f"{n}") for n in range(8))))
        await world.store.apply(
            "ana", plan(*(close(i, at=1) for i in done.added[:6:2]))
        )
        rows = await world.store.page("ana", "memory", after=0, limit=3)
        assert [r.text for r in rows] == ["1", "3", "5"]
        every = await world.store.page("ana", "memory", after=0, limit=9, closed=True)
        assert [r.text for r in every] == [str(n) for n in range(8)]

    async def test_a_chain_is_found_from_each_of_its_versions(
        self, world: World
    ) -> None:
        done = await world.store.accept("ana", quiet(item("v1", at=1), item("apart")))
        second = await world.store.apply(
            "ana", plan(add("v2", at=2, supersedes=done.added[0]))
        )
        third = await world.store.apply(
            "ana", plan(add("v3", at=3, supersedes=second.outcomes[0].id))
        )
        ids = [done.added[0], second.outcomes[0].id, third.outcomes[0].id]
        for id_ in ids:
            assert id_ is not None
            chain = await world.store.chain("ana", id_)
            assert [r.text for r in chain] == ["v1", "v2", "v3"]
            assert [r.superseded_by for r in chain] == [*ids[1:], None]
        alone = await world.store.chain("ana", done.added[1])
        assert [r.text for r in alone] == ["apart"]
