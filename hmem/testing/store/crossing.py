"""What holds while another process writes, or dies."""
# ruff: noqa: D102 - the tests' names are their sentences

from hmem.testing.store.making import quiet, turn
from hmem.testing.store.view import Kept, dump, kept
from hmem.testing.store.world import World


def check_whole(view: Kept) -> None:
    """Every row has its tokens, every link its row: the deltas showed no half write."""
    assert {seq for kind, seq, _ in view.tokens if kind == "turn"} == set(view.turns)
    assert {seq for kind, seq, _ in view.tokens if kind == "memory"} == set(
        view.memories
    )
    assert {seq for seqs in view.entities.values() for seq in seqs} == set(
        view.memories
    )
    assert len(view.turns) == len(view.memories)
    for seq, row in view.memories.items():
        assert row.superseded_by is None or row.valid_to is not None
        assert view.turns[seq].text == row.text


class CrossingTests:
    """One user, two processes."""

    async def test_a_view_sees_no_half_of_another_processes_writes(
        self, world: World
    ) -> None:
        body = """
            await hear()
            for n in range(60):
                await store.accept("ana", quiet(
                    turn(f"fact {n}"), item(f"fact {n}", at=n, entities=[f"e{n % 4}"])))
            return 60
        """
        view = Kept()
        async with world.process(body) as child:
            await child.tell("go")
            while len(view.turns) < 60:
                await view.refresh(world.store, "ana")
                check_whole(view)
            assert await child.hear() == 60
        assert view.dump() == await dump(world.store, "ana")

    async def test_two_processes_that_write_lose_nothing_of_either(
        self, world: World
    ) -> None:
        body = """
            await hear()
            for n in range(30):
                await store.accept("ana", quiet(
                    turn(f"theirs {n}"), item(f"theirs {n}", entities=["e"])))
            return (await kept(store, "ana")).by_text()["theirs 29"].seq
        """
        async with world.process(body) as child:
            await child.tell("go")
            for n in range(30):
                await world.store.accept("ana", quiet(turn(f"ours {n}")))
            await child.hear()
        view = await kept(world.store, "ana")
        texts = [r.text for r in view.turns.values()]
        assert list(view.turns) == list(range(1, 61))
        for who in ("ours", "theirs"):
            assert [t for t in texts if t.startswith(who)] == [
                f"{who} {n}" for n in range(30)
            ]
        assert view.entities == {"e": tuple(range(1, 31))}

    async def test_a_killed_process_leaves_all_that_it_acknowledged(
        self, world: World
    ) -> None:
        body = """
            for n in range(10_000):
                await store.accept("ana", quiet(
                    turn(f"fact {n}"), item(f"fact {n}", at=n, entities=[f"e{n % 4}"])))
                say(n)
        """
        async with world.process(body) as child:
            for n in range(25):
                assert await child.hear() == n
            child.kill()
        view = await kept(world.store, "ana")
        check_whole(view)
        texts = [r.text for r in view.turns.values()]
        assert texts == [f"fact {n}" for n in range(len(texts))]
        assert len(texts) >= 25
        await world.store.accept("ana", quiet(turn("after")))
        await view.refresh(world.store, "ana")
        assert view.dump() == await dump(await world.reopen(), "ana")
        assert (await world.store.health())["ok"] is True
