"""Whether a search tells that it found no answer, and what it then says came closest."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmem import AsyncMemory, Config
from hmem.protocols import Space
from hmem.rank import Ask, Judged, rank_and_judge
from hmem.scoring import ANSWERING, HALF, Weights, answerability
from hmem.testing.deltas import HOUR, Deltas, fact, turn, vector_rows
from hmem.text import query_tokens
from hmem.vectors import index
from hmem.views import View

TALK = (
    ("Ana", "I adopted a cat from the shelter in Ghent last spring"),
    ("Ben", "That is lovely, what did you call your cat?"),
    ("Ana", "I named the cat Miso, and my sister made me a basket"),
    ("Ben", "I started to learn the cello with my neighbour"),
    ("Ana", "How is your cello practice, do you like your teacher?"),
    ("Ben", "I love it, my teacher lets me play folk songs"),
)


def view_of(**rows: Any) -> View:
    view = View("ana", None, lambda dim: index("float32", dim))
    view.apply(Deltas().next(whole=True, **rows))
    return view


def talk() -> View:
    return view_of(
        turns=[
            turn(n, text, name=name, session_id="s")
            for n, (name, text) in enumerate(TALK, 1)
        ]
    )


def judged(view: View, query: str, w: Weights = Weights(), **more: Any) -> Judged:  # noqa: B008
    given: dict[str, Any] = {"k": 5, "asked_at": 999 * HOUR}
    ask = Ask(query=query, terms=query_tokens(query), **(given | more))
    return rank_and_judge(view, ask, None, w)[1]


# ------------------------------------------------------------------------- the signs


def test_what_somebody_else_did_is_no_answer() -> None:
    view = talk()
    hers, his = "What did Ana call the cat?", "What did Ben call the cat?"
    assert (judged(view, hers).signs.about or 0) > 0
    assert (judged(view, his).signs.about or 0) < 0
    assert judged(view, hers).answerability > judged(view, his).answerability + 0.1


def test_whoever_says_you_speaks_of_the_other() -> None:
    view = view_of(
        turns=[
            turn(1, "did you bring your kayak to the lake?", name="Ana"),
            turn(2, "yes", name="Ben"),
        ]
    )
    assert (judged(view, "did Ben bring a kayak to the lake").signs.about or 0) > 0
    assert (judged(view, "did Ana bring a kayak to the lake").signs.about or 0) < 0


@pytest.mark.parametrize(
    "query", ["Who likes folk songs?", "Did Ana and Ben meet?", "Where is Zoe?"]
)
def test_who_is_meant_says_nothing_where_not_one_speaker_is_named(query: str) -> None:
    assert judged(talk(), query).signs.about is None


def test_one_speaker_alone_says_nothing_of_who_is_meant() -> None:
    alone = view_of(turns=[turn(1, "I keep bees", name="Ana")])
    assert judged(alone, "does Ana keep bees").signs.about is None


def test_words_that_nobody_used_tell_against_an_answer() -> None:
    view = talk()
    used = judged(view, "cat from the shelter")
    unused = judged(view, "cat from the shelter with vaccination paperwork")
    assert used.signs.known == 1.0
    assert 0 < (unused.signs.known or 0) < 0.6
    assert unused.answerability < used.answerability


def test_words_used_only_where_the_question_may_not_look_are_not_known() -> None:
    view = view_of(
        turns=[
            turn(1, "the harbour is quiet", agent_id="a"),
            turn(2, "the vaccination is due", agent_id="b"),
            turn(3, "the harbour is loud", agent_id="a"),
        ]
    )
    assert judged(view, "vaccination harbour").signs.known == 1.0
    assert (judged(view, "vaccination harbour", agent_id="a").signs.known or 0) < 1.0


def test_the_users_own_id_need_not_have_been_said() -> None:
    view = view_of(turns=[turn(1, "I keep bees in Ghent")])  # of the user "ana"
    assert judged(view, "does Ana keep bees").signs.known == 1.0
    assert (judged(view, "does Zoe keep bees").signs.known or 0) < 1.0
    assert judged(view, "Ana?").signs.known is None


def test_words_in_facts_count_as_used() -> None:
    view = view_of(memories=[fact(1, "Maya keeps bees in Ghent")])
    assert judged(view, "bees in Ghent").signs.known == 1.0


def test_the_best_fact_counts_by_its_meaning() -> None:
    axis = np.eye(8, dtype=np.float32)
    view = View("ana", Space(id=1, model="m", dim=8), lambda dim: index("float32", dim))
    rows = vector_rows("memory", [(1, 0)], axis[:1])
    delta = Deltas().next(whole=True, memories=[fact(1, "apiary")], vectors=[rows])
    view.apply(delta)
    ask = Ask(query="bees", terms=query_tokens("bees"), k=3, asked_at=999 * HOUR)
    near = rank_and_judge(view, ask, axis[0], Weights())[1]
    far = rank_and_judge(view, ask, axis[1], Weights())[1]
    assert near.signs.fact == pytest.approx(1.0, abs=1e-3)
    assert far.signs.fact is None
    assert near.answerability > far.answerability


# --------------------------------------------------------------------------- its value


def test_nothing_found_is_no_answer_at_all() -> None:
    view = talk()
    assert judged(view, "zzz") == Judged(0.0, (), judged(view, "zzz").signs)
    assert judged(view, "cat", session_id="other").answerability == 0.0


@pytest.mark.parametrize("change", [{"k": 1}, {"k": 50}, {"min_score": 0.99}])
def test_how_many_hits_are_wanted_does_not_change_it(change: dict[str, Any]) -> None:
    view, query = talk(), "what did Ben call the cat"
    assert judged(view, query, **change) == judged(view, query)


def test_it_is_the_same_with_ranks_instead_of_values() -> None:
    view, query = talk(), "folk songs with the teacher"
    by_rank, by_value = judged(view, query, Weights(fusion="rrf")), judged(view, query)
    assert by_rank.answerability == by_value.answerability
    assert [n.found.at for n in by_rank.near] == [n.found.at for n in by_value.near]


def test_it_rises_with_every_sign_and_stays_between_0_and_1() -> None:
    none = (0.0, 0.0, -1.0, 0.0)
    for at in range(4):
        raised = list(none)
        raised[at] = 1.0
        assert answerability(raised) > answerability(none)
    assert 0.0 < answerability(none) < 0.05
    assert 0.95 < answerability((1.0, 1.0, 1.0, 1.0)) < 1.0


def test_a_sign_that_cannot_tell_changes_nothing() -> None:
    assert answerability((0.5, None, None, None)) == pytest.approx(
        answerability((0.5, *ANSWERING.middles[1:]))
    )


# ------------------------------------------------------------------------- near misses


def test_near_misses_name_what_they_lack() -> None:
    view = talk()
    found = judged(view, "What vaccination did Ben buy for the cat?")
    assert found.answerability < HALF
    assert 1 <= len(found.near) <= 3
    first = found.near[0]
    assert "cat" in view.turns.rows[first.found.at].text
    assert "vaccination" in first.lacks
    assert "cat" not in first.lacks


def test_a_likely_answer_has_no_near_misses() -> None:
    view = view_of(
        turns=[turn(n, f"the cat named Miso sleeps {n}") for n in range(1, 12)]
    )
    sure = judged(view, "the cat named Miso sleeps")
    assert sure.answerability >= HALF
    assert sure.near == ()


def test_the_wrong_speaker_is_what_a_near_miss_lacks() -> None:
    found = judged(talk(), "Who made Ben a cat basket in winter?")
    lacks = {word for near in found.near for word in near.lacks}
    assert "Ben" in lacks


def test_near_misses_are_rows_that_the_question_may_see_each_once() -> None:
    view = talk()
    found = judged(view, "blue cello cat harbour", during=(4 * HOUR, 6 * HOUR))
    rows = [(near.found.kind, near.found.at) for near in found.near]
    assert rows
    assert len(set(rows)) == len(rows)
    assert {at for _, at in rows} <= {3, 4}


# ---------------------------------------------------------------------------- the face


async def test_a_search_tells_what_came_closest_and_hides_other_users(
    tmp_path: Path,
) -> None:
    async with AsyncMemory(Config(path=tmp_path / "m", embed="none")) as mem:
        for name, text in TALK:
            said = {"role": "user", "name": name, "content": text}
            await mem.add([said], user_id="ana", session_id="s")
        await mem.add("the vaccination paperwork is blue", user_id="other")
        query = "which vaccination paperwork came with the cat"
        found = await mem.search(query, user_id="ana", k=1)
        assert len(found) == 1
        assert found.answerability is not None
        assert found.answerability < HALF
        assert found.near_misses
        assert {"vaccination", "paperwork"} <= set(found.near_misses[0].lacks)
        assert all(near.hit.id for near in found.near_misses)
        alone = await mem.search(query, user_id="other")
        assert (alone.answerability or 0) > found.answerability
        block = await mem.context(query, user_id="ana")
        assert block.answerability == found.answerability
        strict = await mem.search(query, user_id="ana", min_score=0.99)
        assert not strict.hits
        assert strict.answerability == found.answerability
        assert strict.near_misses[0].hit.id == found.near_misses[0].hit.id


async def test_nothing_stored_is_0_and_nothing_asked_for_is_none(
    tmp_path: Path,
) -> None:
    async with AsyncMemory(Config(path=tmp_path / "m", embed="none")) as mem:
        assert (await mem.search("cat", user_id="ana")).answerability == 0.0
        none = await mem.search("cat", user_id="ana", k=0)
        assert none.answerability is None
        assert none.degraded == ()
