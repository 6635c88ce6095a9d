"""What `erase` promises: one row goes, its words are in no file, and no view keeps it."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio

import pytest

from hmem.protocols import (
    JobEnd,
    MemoryRow,
    Note,
    PutProfile,
    StoreReply,
    TurnRow,
)
from hmem.records import Skipped
from hmem.testing.store.applying import NOBODY, applied
from hmem.testing.store.ending import CANARY, files_with
from hmem.testing.store.making import (
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
from hmem.testing.store.queueing import claim_one
from hmem.testing.store.view import dump, kept
from hmem.testing.store.world import World


def held(world: World, data: bytes) -> bool:
    """Whether any file holds these bytes."""
    files = [path for path in world.where.rglob("*") if path.is_file()]
    return any(data in path.read_bytes() for path in files)


class EraseRowTests:
    """`erase`."""

    async def test_an_erased_fact_is_gone_and_nothing_else(self, world: World) -> None:
        given = await world.store.accept(
            "ana",
            quiet(
                turn("t"),
                *(item(f"f{n}", entities=["ghent", f"e{n}"]) for n in range(3)),
            ),
        )
        codes = {(n, 0): code(f"{n}") for n in (1, 2, 3)}
        await applied(world, put("memory", codes), put("turn", {(1, 0): code("t")}))
        before = await dump(world.store, "ana")
        erased = await world.store.erase("ana", given.added[1])
        assert erased.rows["memories"] == 1
        assert erased.pending == ()
        for store in (world.store, await world.reopen()):
            assert await store.rows("ana", given.added) == [
                before["memories"][1],
                None,
                before["memories"][3],
            ]
            assert await store.chain("ana", given.added[1]) == []
            assert await store.notes("ana", given.added[1]) == []
            page = await store.page("ana", "memory", after=0, limit=9, closed=True)
            assert [row.seq for row in page] == [1, 3]
            after = await dump(store, "ana")
            assert after["turns"] == before["turns"]
            assert after["entities"] == {"ghent": (1, 3), "e0": (1,), "e2": (3,)}
            for name in ("tokens", "codes"):
                left = {k: v for k, v in before[name].items() if k[:2] != ("memory", 2)}
                assert after[name] == left
                assert len(left) == len(before[name]) - 1

    async def test_an_erased_turn_is_gone_and_nothing_else(self, world: World) -> None:
        done = await world.store.accept(
            "ana", accept(turn("a"), turn("b c", passages=2), turn("d"), item("f"))
        )
        codes = {key: code(f"{key}") for key in ((1, 0), (2, 0), (2, 1), (3, 0))}
        await applied(world, put("turn", codes))
        before = await dump(world.store, "ana")
        erased = await world.store.erase("ana", done.turns[1])
        assert erased.rows["episodes"] == 1
        assert erased.rows["lex"] == erased.rows["vec"] == 2
        assert await world.store.rows("ana", done.turns[1:2]) == [None]
        after = await dump(await world.reopen(), "ana")
        assert after["memories"] == before["memories"]
        assert list(after["turns"].values()) == [
            before["turns"][1],
            before["turns"][3],
        ]
        assert {key[1] for key in after["tokens"] if key[0] == "turn"} == {1, 3}
        assert {key[1] for key in after["codes"]} == {1, 3}
        job = await world.store.job("ana", done.job_id)
        assert job is not None
        assert job.turns == (done.turns[0], done.turns[2])
        (claimed,) = (await claim_one(world.store)).jobs
        assert [row.text for row in claimed.turns] == ["a", "d"]

    async def test_an_id_that_is_nobodys_or_anothers_erases_nothing(
        self, world: World
    ) -> None:
        theirs = await world.store.accept("ben", quiet(turn("t"), item("f")))
        mine = await world.store.accept("ana", quiet(turn("t"), item("f")))
        before = [await dump(world.store, user) for user in ("ana", "ben")]
        for id_ in (*theirs.turns, *theirs.added, mine.job_id, NOBODY, "", "x"):
            erased = await world.store.erase("ana", id_)
            assert (erased.total, erased.pending) == (0, ())
        assert (await world.store.erase("nobody", mine.turns[0])).total == 0
        assert [await dump(world.store, user) for user in ("ana", "ben")] == before
        assert await world.store.delta("nobody") is None

    async def test_erasing_twice_erases_once(self, world: World) -> None:
        mine = await world.store.accept("ana", quiet(turn("t"), item("f")))
        handles = [world.store, await world.reopen()] * 3
        for id_ in (*mine.turns, *mine.added):
            done = await asyncio.gather(*(h.erase("ana", id_) for h in handles))
            assert sorted(d.total > 0 for d in done) == [False] * 5 + [True]
        view = await kept(world.store, "ana")
        assert (view.turns, view.memories, view.tokens) == ({}, {}, {})

    async def test_no_file_holds_the_words_of_an_erased_fact(
        self, world: World
    ) -> None:
        said = await world.store.accept("ana", quiet(turn("kept words")))
        old = (await applied(world, add("older"))).outcomes[0].id
        done = await applied(
            world,
            add(
                f"fact {CANARY}",
                at=2,
                supersedes=old,
                reason=f"because {CANARY}",
                entities=[f"{CANARY}1", "ghent"],
                quote=f"{CANARY}2",
                metadata={f"{CANARY}3": f"{CANARY}4"},
                source_ids=(said.turns[0], f"{CANARY}5"),
                agent_id=f"{CANARY}6",
                prompt_version=f"{CANARY}7",
            ),
            PutProfile(text=f"{CANARY}8", turn_seq=1),
        )
        id_ = done.outcomes[0].id or ""
        await applied(
            world,
            cite(id_, reason=f"again {CANARY}"),
            add("newer", at=4, supersedes=id_, reason=f"no more {CANARY}"),
            add("other", entities=["ghent"]),
            add("third"),
        )
        view = await kept(world.store, "ana")
        closing = close(view.by_text()["third"].id, at=5, reason=f"as FACT  {CANARY}")
        await applied(world, reinstate(id_, reason=f"still {CANARY}"), closing)
        assert files_with(world.where, CANARY)
        erased = await world.store.erase("ana", id_)
        assert erased.pending == ()
        assert files_with(world.where, CANARY) == []
        assert await world.store.profile("ana") is None
        left = await world.store.chain("ana", old or "")
        assert [row.text for row in left] == ["older", "newer"]
        assert (await dump(world.store, "ana"))["entities"] == {"ghent": (4,)}

    async def test_no_file_holds_the_words_of_an_erased_turn(
        self, world: World
    ) -> None:
        words = f"I said {CANARY} and no more"
        done = await world.store.accept(
            "ana",
            accept(
                turn("before"),
                turn(
                    words,
                    name=f"{CANARY}1",
                    message_id=f"{CANARY}2",
                    role=f"{CANARY}3",
                    metadata={f"{CANARY}4": f"{CANARY}5"},
                ),
                agent_id="a1",
                key="k",
                body_hash=b"1",
            ),
        )
        claim = await claim_one(world.store)
        first = add("first", source_ids=[done.turns[1]], quote=words[2:20])
        second = add("second", source_ids=done.turns, quote=f"{CANARY} and")
        end = JobEnd(
            status="done", skipped=(Skipped(reason=f"says: {words[:25]}"),) * 2
        )
        made = await world.store.apply(
            "ana",
            plan(
                first,
                second,
                PutProfile(text=words, turn_seq=2),
                put("turn", {(2, 0): code(CANARY)}),
                claim=claim,
                end=end,
            ),
        )
        ids = [outcome.id or "" for outcome in made.outcomes[:2]]
        await applied(world, close(ids[1], at=2, reason=f"as {words.upper()} says"))
        await world.store.accept("ana", accept(turn("after")))
        claim = await claim_one(world.store)
        reply = StoreReply(job_id=claim.jobs[0].id, reply=CANARY.encode())
        await world.store.apply("ana", plan(reply, claim=claim))
        assert files_with(world.where, CANARY)
        assert held(world, code(CANARY))
        erased = await world.store.erase("ana", done.turns[1])
        assert erased.pending == ()
        assert files_with(world.where, CANARY) == []
        assert not held(world, code(CANARY))
        assert (await kept(world.store, "ana")).by_text().keys() == {"first", "second"}
        job = await world.store.job("ana", done.job_id)
        assert job is not None
        assert [skip.reason for skip in job.skipped] == ["erased"] * 2
        assert await world.store.notes("ana", ids[1]) == [
            Note("CLOSE", ids[1], day(0), None, None)
        ]

    async def test_one_of_many_is_erased_from_every_page(self, world: World) -> None:
        for part in range(6):
            given = [
                item(
                    f"fact {part} {n} {CANARY if n % 7 == 3 else 'word'} " + "x" * n,
                    entities=[f"name {CANARY}{part}{n}" if n % 7 == 3 else f"e{n}"],
                )
                for n in range(40)
            ]
            said = [
                turn(f"turn {part} {n} {CANARY if n % 7 == 5 else 'word'} " + "y" * n)
                for n in range(40)
            ]
            await world.store.accept("ana", quiet(*given, *said))
        view = await kept(world.store, "ana")
        codes = {(seq, 0): code(f"{seq}") for seq in view.memories}
        await applied(world, put("memory", codes))
        before = await dump(world.store, "ana")
        rows: list[MemoryRow | TurnRow] = [
            *view.memories.values(),
            *view.turns.values(),
        ]
        gone = [row for row in rows if CANARY in row.text]
        assert len(gone) == 66
        for row in gone:
            await world.store.erase("ana", row.id)
        assert files_with(world.where, CANARY) == []
        after = await dump(world.store, "ana")
        for kind in ("memories", "turns"):
            assert after[kind] == {
                seq: row for seq, row in before[kind].items() if CANARY not in row.text
            }
        lost = {
            ("memory" if isinstance(row, MemoryRow) else "turn", row.seq)
            for row in gone
        }
        for kind in ("tokens", "codes"):
            assert after[kind] == {
                key: value for key, value in before[kind].items() if key[:2] not in lost
            }

    # ------------------------------------------------------------------ who reads it

    @pytest.mark.parametrize("last", [False, True])
    async def test_a_view_is_told_to_begin_anew(
        self, world: World, *, last: bool
    ) -> None:
        other = await world.reopen()
        said = await world.store.accept(
            "ana", quiet(*(turn(f"t{n}") for n in range(5)), item("f", entities=["e"]))
        )
        await applied(world, put("turn", {(5, 0): code("v"), (2, 0): code("w")}))
        view = await kept(other, "ana")
        await world.store.erase("ana", said.turns[4 if last else 1])
        delta = await view.refresh(other, "ana")
        assert delta is not None
        assert delta.whole
        assert view.dump() == await dump(world.store, "ana")
        assert len(view.turns) == 4
        # From there on it grows as ever, also where the last chunk went.
        await world.store.accept("ana", quiet(turn("later"), item("g", entities=["e"])))
        await applied(world, put("turn", {(6, 0): code("x")}))
        delta = await view.refresh(other, "ana")
        assert delta is not None
        assert not delta.whole
        assert view.dump() == await dump(world.store, "ana")
        assert view.turns[6].text == "later"
        assert view.entities["e"] == (1, 2)

    async def test_chunks_that_are_emptied_lose_nothing_of_others(
        self, world: World
    ) -> None:
        view = await kept(world.store, "ana")
        for round_ in range(3):
            said = await world.store.accept(
                "ana", quiet(*(turn(f"{round_} {n}") for n in range(9)))
            )
            seqs = [9 * round_ + n + 1 for n in range(9)]
            codes = {(seq, 0): code(f"{seq}") for seq in seqs}
            await applied(world, put("turn", codes))
            await view.refresh(world.store, "ana")
            for n, id_ in enumerate(said.turns):
                if n != round_:
                    await world.store.erase("ana", id_)
                await view.refresh(world.store, "ana")
            assert view.dump() == await dump(world.store, "ana")
            assert len(view.turns) == len(view.codes) == round_ + 1
        for row in list(view.turns.values()):
            await world.store.erase("ana", row.id)
        await view.refresh(world.store, "ana")
        assert (view.turns, view.tokens, view.codes) == ({}, {}, {})
        await world.store.accept("ana", quiet(*(turn(f"{n}") for n in range(40))))
        codes = {(seq, 0): code(f"{seq}") for seq in range(28, 68)}
        await applied(world, put("turn", codes))
        await view.refresh(world.store, "ana")
        assert view.dump() == await dump(world.store, "ana")
        assert len(view.turns) == len(view.tokens) == len(view.codes) == 40

    async def test_another_process_sees_it_go(self, world: World) -> None:
        said = await world.store.accept("ana", quiet(turn("a"), turn("b")))
        body = """
            view = await kept(store, "ana")
            say(len(view.turns))
            await hear()
            await view.refresh(store, "ana")
            return [row.text for row in view.turns.values()]
        """
        async with world.process(body) as child:
            assert await child.hear() == 2
            await world.store.erase("ana", said.turns[0])
            await child.tell("go")
            assert await child.hear() == ["b"]

    async def test_the_same_words_may_come_again(self, world: World) -> None:
        given = quiet(turn("t"), item("f"))
        first = await world.store.accept("ana", given)
        for id_ in (*first.turns, *first.added):
            await world.store.erase("ana", id_)
        again = await world.store.accept("ana", given)
        assert len(again.turns) == len(again.added) == 1
        assert set(again.turns + again.added).isdisjoint(first.turns + first.added)

    async def test_a_history_that_is_resent_brings_no_turn_back(
        self, world: World
    ) -> None:
        said = [turn("a"), turn("b", message_id="m"), turn("c")]
        for session, turns in (("s1", [said[0], said[2]]), ("s2", said)):
            given = quiet(*turns, session=session, resend=True)
            done = await world.store.accept("ana", given)
            await world.store.erase("ana", done.turns[0])
            await world.store.erase("ana", done.turns[1])
            again = quiet(*turns, turn("d"), session=session, resend=True)
            assert len((await world.store.accept("ana", again)).turns) == 1
