"""Reciprocal rank fusion, beside the weighted sum."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hmem import AsyncMemory, Config
from hmem.rank import Ask, rank
from hmem.scoring import Weights, reciprocal_rank
from hmem.testing.deltas import HOUR, Deltas, turn
from hmem.text import query_tokens
from hmem.vectors import index
from hmem.views import View

RANKS = Weights(fusion="rrf")


def test_the_best_gets_1_equal_values_alike_and_no_match_nothing() -> None:
    values = np.array([0.5, 0.0, 0.9, 0.5, -0.1], np.float32)
    assert_allclose(
        reciprocal_rank(values, k=10.0), [11 / 12, 0.0, 1.0, 11 / 12, 0.0], rtol=1e-6
    )


@given(st.lists(st.floats(-1, 1, width=32), max_size=40), st.floats(1, 100))
def test_ranks_keep_the_order_of_values(values: list[float], k: float) -> None:
    array = np.array(values, np.float32)
    ranks = reciprocal_rank(array, k=k)
    assert ranks.shape == array.shape
    assert ((ranks >= 0) & (ranks <= 1)).all()
    for i, a in enumerate(array):
        for j, b in enumerate(array):
            if a > b and a > 0:
                assert ranks[i] > ranks[j]
            if a == b:
                assert ranks[i] == ranks[j]


def view() -> View:
    made = View("ana", None, lambda dim: index("float32", dim))
    texts = ["bees and honey", "bees", "the honey of the bees of the valley", "rain"]
    made.apply(
        Deltas().next(whole=True, turns=[turn(n, t) for n, t in enumerate(texts, 1)])
    )
    return made


def test_scores_by_rank_add_up_and_stay_in_0_to_1() -> None:
    ask = Ask(query="bees honey", terms=query_tokens("bees honey"), k=9, asked_at=HOUR)
    found = rank(view(), ask, None, RANKS)
    assert found
    for one in found:
        assert one.score == pytest.approx(sum(one.parts.values()), abs=1e-5)
        assert 0 <= one.score <= 1


def test_by_rank_a_far_better_value_is_only_one_rank_better() -> None:
    ask = Ask(query="bees honey", terms=query_tokens("bees honey"), k=9, asked_at=HOUR)
    by_value = [f.score for f in rank(view(), ask, None, Weights(turn_near=0.0))]
    by_rank = rank(view(), ask, None, Weights(turn_near=0.0, fusion="rrf"))
    assert [f.score for f in by_rank] != pytest.approx(by_value)
    assert {f.at for f in by_rank[:2]} == {0, 2}


async def test_fusion_is_chosen_in_the_config(tmp_path: object) -> None:
    explained = {}
    for fusion in ("sum", "rrf"):
        config = Config(path=f"{tmp_path}/{fusion}", embed="none", fusion=fusion)  # type: ignore[arg-type]
        async with AsyncMemory(config) as mem:
            for text in ("bees and honey", "bees", "rain"):
                await mem.add(text, user_id="ana")
            found = await mem.search("bees honey", user_id="ana", explain=True)
        assert found.hits[0].text == "bees and honey"
        explained[fusion] = found.hits[1].explain["words"]
    assert explained["rrf"] != pytest.approx(explained["sum"])


@pytest.mark.parametrize(
    "asked", [{"agent_id": "a"}, {"as_of": 9 * HOUR}, {"known_at": 9 * HOUR}]
)
def test_what_is_hidden_pushes_nobody_down(asked: dict[str, Any]) -> None:
    """Scores are the same whether a hidden row says much or nothing of the question, but
    for what a word is worth, which is by all rows."""
    query, terms = "bees honey", query_tokens("bees honey")
    ask = Ask(query=query, terms=terms, k=9, asked_at=99 * HOUR, **asked)
    at_one_time = []
    for here, there in (
        ("bees honey bees honey", "rain"),
        ("rain", "bees honey bees honey"),
    ):
        made = View("ana", None, lambda dim: index("float32", dim))
        rows = [
            turn(n, text, agent_id="a", session_id=f"s{n}")
            for n, text in enumerate(
                ["bees and honey in a jar", "bees in a jar", "honey"], 1
            )
        ]
        hidden = [
            turn(
                n,
                text,
                agent_id="b",
                session_id=f"s{n}",
                observed_at=50 * HOUR,
                recorded_at=50 * HOUR,
            )
            for n, text in enumerate([here, there, "snow"], 4)
        ]
        made.apply(Deltas().next(whole=True, turns=[*rows, *hidden]))
        alone = View("ana", None, lambda dim: index("float32", dim))
        alone.apply(Deltas().next(whole=True, turns=rows))
        at_one_time.append([(f.at, f.score) for f in rank(made, ask, None, RANKS)])
        assert [f.at for f in rank(alone, ask, None, RANKS)] == [
            at for at, _ in at_one_time[-1]
        ]
        assert max(f.score for f in rank(made, ask, None, RANKS)) == pytest.approx(
            max(f.score for f in rank(alone, ask, None, RANKS))
        )
    assert at_one_time[0] == at_one_time[1]
