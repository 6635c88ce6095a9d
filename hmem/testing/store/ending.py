"""What erasing, spaces, figures, opening and closing promise."""
# ruff: noqa: D102 - the tests' names are their sentences

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hmem.errors import ClosedError, LifecycleError, NotOpenError
from hmem.protocols import Claim, PutProfile, Space, Store
from hmem.records import Skipped
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
from hmem.testing.store.strangers import STRANGERS
from hmem.testing.store.view import dump, kept
from hmem.testing.store.world import MODEL, World

CANARY = "quokkazephyr"


def files_with(where: Path, text: str) -> list[str]:
    """Files under the folder that hold the text in some plain form."""
    forms = [text.encode(), text.encode("utf-16-le"), text.encode().hex().encode()]
    return [
        path.name
        for path in where.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]


async def fill(store: Store, user_id: str) -> str:
    """Rows of every sort, one job ended and one in flight; a fact's id."""
    done = await store.accept(
        user_id,
        accept(
            turn(f"turn {CANARY}", name=f"{CANARY}1", message_id=f"{CANARY}2"),
            item(
                f"fact {CANARY}",
                entities=[f"{CANARY}3"],
                quote=f"{CANARY}4",
                metadata={f"{CANARY}5": f"{CANARY}6"},
            ),
            session=f"{CANARY}7",
            key=f"{CANARY}8",
            body_hash=b"1",
            skipped=(Skipped(reason=f"{CANARY}9"),),
        ),
    )
    await store.apply(
        user_id,
        plan(
            add(f"newer {CANARY}", at=2, supersedes=done.added[0], reason=CANARY),
            add(f"linked {CANARY}", links=[0]),
            cite(done.added[0], CANARY),
            reinstate(done.added[0], reason=f"again {CANARY}"),
            cite(done.added[0], f"{CANARY}10", reason=f"said {CANARY}"),
            PutProfile(text=f"likes {CANARY}", turn_seq=1),
            put("turn", {(1, 0): code(CANARY)}),
        ),
    )
    await store.accept(user_id, quiet(turn(f"more {CANARY}")))
    return done.added[0]


class EraseTests:
    """Everything of one, nothing of another."""

    async def test_an_erased_user_leaves_nothing_to_read(self, world: World) -> None:
        id_ = await fill(world.store, "ana")
        await fill(world.store, "ben")
        bens = await dump(world.store, "ben")
        (job,) = [c.jobs[0].id for c in await self._claims(world, "ana")]
        erased = await world.store.erase_user("ana")
        assert erased.total >= 4
        assert all(n >= 0 for n in erased.rows.values())
        for store in (world.store, await world.reopen()):
            assert await store.delta("ana") is None
            assert await store.rows("ana", [id_]) == [None]
            assert await store.chain("ana", id_) == []
            assert await store.notes("ana", id_) == []
            assert await store.profile("ana") is None
            assert await store.job("ana", job) is None
            assert (await store.queued("ana"), await store.queued()) == (0, 1)
            assert (
                await store.page("ana", "memory", after=0, limit=9, closed=True) == []
            )
            assert await store.page("ana", "turn", after=0, limit=9) == []
            assert await dump(store, "ben") == bens

    @staticmethod
    async def _claims(world: World, user_id: str) -> list[Claim]:
        claims = await world.store.claim(worker="w", lease=60, limit=9)
        return [c for c in claims if c.user_id == user_id]

    async def test_erasing_nobody_removes_nothing(self, world: World) -> None:
        erased = await world.store.erase_user("nobody")
        assert (erased.total, erased.pending) == (0, ())
        assert await world.store.delta("nobody") is None

    async def test_no_file_holds_an_erased_text(self, world: World) -> None:
        await fill(world.store, "ana")
        erased = await world.store.erase_user("ana")
        assert erased.pending == ()
        assert files_with(world.where, CANARY) == []

    async def test_a_text_another_process_may_hold_is_gone_or_named(
        self, world: World
    ) -> None:
        await fill(world.store, "ana")
        body = """
            say(len((await kept(store, "ana")).turns))
            await hear()
            say((await store.delta("ana")) is None)
            return 0
        """
        async with world.process(body) as child:
            assert await child.hear() == 2
            erased = await world.store.erase_user("ana")
            assert erased.pending or files_with(world.where, CANARY) == []
            await child.tell("go")
            assert await child.hear() is True
            await child.hear()

    async def test_a_job_in_flight_is_refused_after_the_erasure(
        self, world: World
    ) -> None:
        await fill(world.store, "ana")
        (claim,) = await self._claims(world, "ana")
        await world.store.erase_user("ana")
        late = plan(
            add("late"), put("turn", {(1, 0): code("x")}), claim=claim, end=DONE
        )
        no = await world.store.apply("ana", late)
        assert no.refused in {"lease", "incarnation"}
        assert not await world.store.renew(claim, 60)
        await world.store.release(claim)
        assert await world.store.delta("ana") is None
        await world.store.accept("ana", accept(turn("anew")))
        no = await world.store.apply("ana", late)
        assert no.refused in {"lease", "incarnation"}
        view = await kept(world.store, "ana")
        assert [r.text for r in view.turns.values()] == ["anew"]
        assert (view.memories, view.codes) == ({}, {})
        (new,) = await self._claims(world, "ana")
        assert not await world.store.renew(claim, 60)
        await world.store.release(claim)
        assert await world.store.renew(new, 60)
        done = await world.store.apply("ana", plan(claim=new, end=DONE))
        assert done.refused is None

    async def test_a_plan_of_an_erased_incarnation_is_refused(
        self, world: World
    ) -> None:
        await fill(world.store, "ana")
        old = (await kept(world.store, "ana")).mark
        assert old is not None
        await world.store.erase_user("ana")
        await world.store.accept("ana", quiet(turn("anew")))
        plans = plan(put("turn", {(1, 0): code("x")}), incarnation=old.incarnation)
        assert (await world.store.apply("ana", plans)).refused == "incarnation"
        assert (await kept(world.store, "ana")).codes == {}

    async def test_a_user_who_comes_back_is_another(self, world: World) -> None:
        marks = []
        for n in range(4):
            await world.store.accept(
                "ana", quiet(*(turn(f"{n}") for _ in range(n + 1)))
            )
            view = await kept(world.store, "ana")
            marks.append(view.mark)
            await world.store.erase_user("ana")
            assert await world.store.delta("ana", view.mark) is None
        await world.store.accept("ana", quiet(turn("anew")))
        for store in (world.store, await world.reopen()):
            for mark in marks:
                delta = await store.delta("ana", mark)
                assert delta is not None
                assert delta.whole
                assert [r.text for r in delta.turns] == ["anew"]
                assert mark is not None
                assert delta.mark.incarnation != mark.incarnation
        assert len({m.incarnation for m in marks if m}) == 4

    async def test_another_handles_view_forgets_an_erased_user(
        self, world: World
    ) -> None:
        other = await world.reopen()
        await fill(world.store, "ana")
        view = await kept(other, "ana")
        await world.store.erase_user("ana")
        await world.store.accept("ana", quiet(item("anew")))
        await view.refresh(other, "ana")
        assert view.dump() == await dump(world.store, "ana")
        assert len(view.memories) == 1

    async def test_an_erased_users_key_and_facts_may_come_again(
        self, world: World
    ) -> None:
        given = quiet(turn("a"), item("b"), key="k9", body_hash=b"1")
        first = await world.store.accept("ana", given)
        await world.store.erase_user("ana")
        again = await world.store.accept("ana", given)
        assert again.created
        assert again.job_id != first.job_id
        assert len(again.added) == len(again.turns) == 1

    async def test_an_erasure_among_accepts_keeps_one_side_or_the_other(
        self, world: World
    ) -> None:
        other = await world.reopen()
        await world.store.accept("ana", quiet(turn("before")))
        await asyncio.gather(
            *(other.accept("ana", quiet(turn(f"t{n}"))) for n in range(10)),
            world.store.erase_user("ana"),
            *(world.store.accept("ana", quiet(item(f"i{n}"))) for n in range(10)),
        )
        view = await kept(world.store, "ana")
        texts = [r.text for r in view.turns.values()]
        assert "before" not in texts
        assert {k[1] for k in view.tokens if k[0] == "turn"} == set(view.turns)
        assert {k[1] for k in view.tokens if k[0] == "memory"} == set(view.memories)


class SpaceTests:
    """One target, adopted once."""

    async def test_the_first_model_is_the_target_for_all(self, world: World) -> None:
        other = await world.reopen()
        assert world.space == Space(id=world.space.id, model=MODEL, dim=2)
        for store in (world.store, other):
            assert await store.adopt_space("another", 7) == world.space
            assert await store.space() == world.space
        found = await world.second_process(
            """
            adopted = await store.adopt_space("third", 9)
            found = await store.space()
            return [adopted.model, adopted.dim, found.id]
            """
        )
        assert found == [MODEL, 2, world.space.id]

    async def test_a_new_store_has_none_and_one_of_many_wins(
        self, world: World, tmp_path: Path
    ) -> None:
        stores = [world.suite.make_store(tmp_path / "empty") for _ in range(3)]
        for store in stores:
            await store.open()
        try:
            assert await stores[0].space() is None
            found = await asyncio.gather(
                *(s.adopt_space(f"model {n}", n + 1) for n, s in enumerate(stores))
            )
            assert len(set(found)) == 1
            assert [await s.space() for s in stores] == found
        finally:
            for store in stores:
                await store.aclose()


class HouseTests:
    """Figures, opening and closing."""

    async def test_stats_count_over_all_users(self, world: World) -> None:
        before = await world.store.stats()
        for user in ("ana", "ben"):
            await world.store.accept(user, accept(turn("a"), turn("b"), item("c")))
        done = await world.store.accept("ana", quiet(item("d")))
        await world.store.apply("ana", plan(close(done.added[0], at=2)))
        after = await (await world.reopen()).stats()
        grown = {k: after[k] - before[k] for k in ("users", "memories", "turns")}
        assert grown == {"users": 2, "memories": 3, "turns": 4}
        assert before["users"] == len(STRANGERS)
        for user in ("ana", "ben"):
            await world.store.erase_user(user)
        end = await world.store.stats()
        assert {k: end[k] for k in grown} == {k: before[k] for k in grown}
        assert end["jobs"] == before["jobs"]
        assert after["jobs"]["queued"] - before["jobs"].get("queued", 0) == 2
        assert after["jobs"]["done"] - before["jobs"]["done"] == 1
        assert after["bytes"] > 0

    async def test_health_finds_nothing_wrong(self, world: World) -> None:
        await fill(world.store, "ana")
        health = await world.store.health()
        assert health["ok"] is True
        assert list(health["problems"]) == []

    @pytest.mark.parametrize("state", ["not open", "closed"])
    async def test_a_store_that_is_not_open_says_so(
        self, world: World, state: str
    ) -> None:
        if state == "closed":
            store = await world.reopen()
            await store.aclose()
        else:
            store = world.suite.make_store(world.where)
        await store.aclose()
        expected = ClosedError if state == "closed" else LifecycleError
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: store.accept("ana", quiet(turn("a"))),
            lambda: store.delta("ana"),
            lambda: store.rows("ana", ["x"]),
            lambda: store.page("ana", "turn", after=0, limit=1),
            lambda: store.chain("ana", "x"),
            lambda: store.notes("ana", "x"),
            lambda: store.profile("ana"),
            lambda: store.hurry("ana"),
            lambda: store.claim(worker="w", lease=1, limit=1),
            lambda: store.apply("ana", plan(add("a"))),
            lambda: store.job("ana", "x"),
            lambda: store.jobs(statuses=("dead",), limit=1),
            lambda: store.retry("ana", "x"),
            lambda: store.queued("ana"),
            lambda: store.erase("ana", "x"),
            lambda: store.erase_user("ana"),
            lambda: store.space(),
            lambda: store.adopt_space("m", 2),
            lambda: store.stats(),
            lambda: store.health(),
        ]
        for call in calls:
            with pytest.raises(expected):
                await call()

    async def test_a_store_that_was_never_opened_names_its_fault(
        self, world: World
    ) -> None:
        with pytest.raises(NotOpenError):
            await world.suite.make_store(world.where).delta("ana")

    async def test_opening_and_closing_twice_is_once(self, world: World) -> None:
        store = world.suite.make_store(world.where)
        await store.open()
        await store.open()
        await store.accept("ana", quiet(turn("a")))
        await store.aclose()
        await store.aclose()
        assert len((await kept(world.store, "ana")).turns) == 1

    async def test_closing_while_calls_run_ends_each_of_them(
        self, world: World
    ) -> None:
        store = await world.reopen()
        calls: list[asyncio.Future[object]] = [
            asyncio.ensure_future(store.accept("ana", quiet(turn(f"t{n}"))))
            for n in range(20)
        ]
        calls += [asyncio.ensure_future(store.delta("ana")) for _ in range(20)]
        await asyncio.sleep(0)
        await store.aclose()
        done = await asyncio.wait_for(
            asyncio.gather(*calls, return_exceptions=True), 10
        )
        assert all(
            not isinstance(d, BaseException) or isinstance(d, ClosedError) for d in done
        )
        acknowledged = sum(not isinstance(d, BaseException) for d in done[:20])
        assert len((await kept(world.store, "ana")).turns) >= acknowledged

    async def test_what_was_written_is_there_after_a_restart(
        self, world: World
    ) -> None:
        await fill(world.store, "ana")
        before = await dump(world.store, "ana")
        await world.store.aclose()
        again = await world.reopen()
        assert await dump(again, "ana") == before
        assert await again.space() == world.space
        assert (before["turns"][1].observed_at, len(before["memories"])) == (day(0), 3)
