"""What `Accept.resend` promises: a resent history adds only what is new."""
# ruff: noqa: D102 - the tests' names are their sentences

import pytest

from hmem.protocols import NewTurn
from hmem.testing.store.making import accept, turn
from hmem.testing.store.view import kept
from hmem.testing.store.world import World


class ResendTests:
    """Each letter is a turn of one text; the strangers use the same session."""

    @pytest.mark.parametrize(
        ("held", "sent", "added"),
        [
            pytest.param("ab", "abc", "c", id="the whole history and one more"),
            pytest.param("ab", "ab", "", id="the whole history"),
            pytest.param("abcd", "cde", "e", id="a sliding window"),
            pytest.param("abcd", "bcdef", "ef", id="a sliding window and two more"),
            pytest.param("", "abc", "abc", id="a first history"),
            pytest.param("ab", "abca", "ca", id="a turn repeated later"),
            pytest.param("abca", "abcab", "b", id="a history with a repeated turn"),
            pytest.param("aa", "aaa", "a", id="one turn again and again"),
            pytest.param("aba", "ababa", "ba", id="a pattern that goes on"),
            pytest.param("ab", "cab", "cab", id="a new turn before old ones"),
            pytest.param("ab", "cd", "cd", id="another history"),
            pytest.param("abc", "abd", "d", id="a history that was changed at its end"),
        ],
    )
    async def test_a_resent_history_adds_what_is_new(
        self, world: World, held: str, sent: str, added: str
    ) -> None:
        if held:
            await world.store.accept("ana", accept(*map(turn, held)))
        store = await world.reopen()
        done = await store.accept("ana", accept(*map(turn, sent), resend=True))
        view = await kept(store, "ana")
        assert "".join(r.text for r in view.turns.values()) == held + added
        assert list(done.turns) == [r.id for r in view.turns.values()][len(held) :]

    async def test_a_history_resent_turn_by_turn_is_stored_once(
        self, world: World
    ) -> None:
        history = [
            turn(f"line {n % 5}", role=("user", "assistant")[n % 2]) for n in range(12)
        ]
        for n in range(1, 13):
            await world.store.accept("ana", accept(*history[:n], resend=True))
        view = await kept(world.store, "ana")
        assert [r.text for r in view.turns.values()] == [t.text for t in history]

    async def test_a_window_that_slides_is_stored_once(self, world: World) -> None:
        history = [turn(f"line {n}") for n in range(20)]
        for n in range(1, 21):
            await world.store.accept(
                "ana", accept(*history[max(0, n - 6) : n], resend=True)
            )
        view = await kept(world.store, "ana")
        assert [r.text for r in view.turns.values()] == [t.text for t in history]

    async def test_message_ids_decide_where_there_are_some(self, world: World) -> None:
        first = [turn("ok", message_id="x1"), turn("ok", message_id="x2")]
        await world.store.accept("ana", accept(*first, resend=True))
        more = [*first, turn("ok", message_id="x3"), turn("ok", message_id="x4")]
        done = await world.store.accept("ana", accept(*more, resend=True))
        view = await kept(world.store, "ana")
        assert [r.message_id for r in view.turns.values()] == ["x1", "x2", "x3", "x4"]
        assert len(done.turns) == 2

    async def test_a_known_message_id_is_dropped_in_a_window(
        self, world: World
    ) -> None:
        turns = [turn(f"t{n}", message_id=f"x{n}") for n in range(6)]
        await world.store.accept("ana", accept(*turns[:5], resend=True))
        await world.store.accept("ana", accept(*turns[3:], resend=True))
        view = await kept(world.store, "ana")
        assert [r.text for r in view.turns.values()] == [f"t{n}" for n in range(6)]

    @pytest.mark.parametrize(
        ("held", "sent", "added"),
        [
            pytest.param("a1", "a2", "a2", id="the same words under a new id"),
            pytest.param("a1 b2", "a3 b4", "a3 b4", id="a round that is said again"),
            pytest.param("a1 b2 c3", "x9 b2 c3 d4", "x9 d4", id="edited at its start"),
            pytest.param("a1 b2 c3", "a1 x9 c3 d4", "x9 d4", id="edited in its middle"),
            pytest.param("a1 b2 c3", "x c3 d4", "x d4", id="a summary before a window"),
            pytest.param("a1 b", "a1 b c2", "c2", id="a turn without an id at the end"),
            pytest.param("a1 b c2", "a1 b c2 d", "d", id="a turn without an id within"),
        ],
    )
    async def test_message_ids_decide_wherever_they_stand(
        self, world: World, held: str, sent: str, added: str
    ) -> None:
        def said(words: str) -> list[NewTurn]:
            return [turn(w[0], message_id=w[1:] or None) for w in words.split()]

        await world.store.accept("ana", accept(*said(held), resend=True))
        done = await world.store.accept("ana", accept(*said(sent), resend=True))
        view = await kept(world.store, "ana")
        rows = [r.text + (r.message_id or "") for r in view.turns.values()]
        assert rows == f"{held} {added}".split()
        assert len(done.turns) == len(added.split())

    async def test_who_says_it_counts(self, world: World) -> None:
        await world.store.accept("ana", accept(turn("a"), resend=True))
        sent = [turn("a", role="assistant"), turn("a", name="Ann")]
        done = await world.store.accept("ana", accept(*sent, resend=True))
        assert len(done.turns) == 2

    async def test_another_session_holds_nothing_of_it(self, world: World) -> None:
        await world.store.accept("ana", accept(*map(turn, "ab"), session="s1"))
        done = await world.store.accept(
            "ana", accept(*map(turn, "abc"), session="s2", resend=True)
        )
        assert len(done.turns) == 3
        sent = [turn("c", message_id="x1"), turn("d", message_id="x2")]
        for session in ("s3", "s4"):
            done = await world.store.accept(
                "ana", accept(*sent, session=session, resend=True)
            )
            assert len(done.turns) == 2

    async def test_another_users_session_holds_nothing_of_it(
        self, world: World
    ) -> None:
        await world.store.accept("ben", accept(*map(turn, "ab")))
        done = await world.store.accept("ana", accept(*map(turn, "abc"), resend=True))
        assert len(done.turns) == 3

    async def test_without_the_flag_every_turn_is_new(self, world: World) -> None:
        for _ in range(2):
            await world.store.accept("ana", accept(*map(turn, "ab")))
        view = await kept(world.store, "ana")
        assert "".join(r.text for r in view.turns.values()) == "abab"

    async def test_a_history_with_nothing_new_leaves_nothing_to_do(
        self, world: World
    ) -> None:
        await world.store.accept("ana", accept(*map(turn, "ab"), queue=False))
        done = await world.store.accept("ana", accept(*map(turn, "ab"), resend=True))
        assert (done.created, done.turns, done.status) == (True, (), "done")
        assert await world.store.queued("ana") == 0
        job = await world.store.job("ana", done.job_id)
        assert job is not None
        assert (job.status, job.turns) == ("done", ())

    async def test_a_history_resent_by_another_process_is_known(
        self, world: World
    ) -> None:
        await world.store.accept("ana", accept(*map(turn, "ab"), resend=True))
        added = await world.second_process(
            """
            done = await store.accept("ana", accept(*map(turn, "abc"), resend=True))
            return len(done.turns)
            """
        )
        assert added == 1
        done = await world.store.accept("ana", accept(*map(turn, "abcd"), resend=True))
        assert len(done.turns) == 1
