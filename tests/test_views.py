"""Views and ranking, on deltas made by hand."""

import random
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hmem.protocols import Delta, Space, VectorRows
from hmem.rank import Ask, rank
from hmem.scoring import Weights, best_first
from hmem.testing.deltas import HOUR, Deltas, fact, turn, vector_rows
from hmem.text import query_tokens
from hmem.vectors import index, unit
from hmem.views import View

DIM = 8
SPACE = Space(id=1, model="test", dim=DIM)


def new_view() -> View:
    return View("ana", SPACE, lambda dim: index("float32", dim))


def view_of(**rows: Any) -> View:
    view = new_view()
    view.apply(Deltas().next(whole=True, **rows))
    return view


def axis(n: int) -> np.ndarray:
    return np.eye(DIM, dtype=np.float32)[n]


def ask(query: str = "", **changes: Any) -> Ask:
    defaults: dict[str, Any] = {"k": 10, "asked_at": 1_000 * HOUR}
    return Ask(query=query, terms=query_tokens(query), **(defaults | changes))


def ids(view: View, question: Ask, vector: np.ndarray | None = None) -> list[str]:
    found = rank(view, question, vector, Weights())
    return [view.record(f.kind, f.at).id for f in found]


# ------------------------------------------------------------------ what is found


def test_a_keyword_only_hit_wins_without_any_vector() -> None:
    view = view_of(turns=[turn(1, "we bought bees"), turn(2, "the weather is mild")])
    assert ids(view, ask("bees"))[0] == "t1"


def test_a_meaning_only_hit_wins_without_a_shared_word() -> None:
    rows = vector_rows("turn", [(1, 0), (2, 0)], np.stack([axis(0), axis(1)]))
    view = view_of(turns=[turn(1, "apiary"), turn(2, "sailing")], vectors=[rows])
    assert ids(view, ask("zzz"), axis(1))[0] == "t2"


def test_an_entity_only_hit_ranks_above_an_unrelated_fact() -> None:
    view = view_of(
        memories=[fact(1, "likes tea"), fact(2, "is ill")], entities={"zorp": [2]}
    )
    assert ids(view, ask("zorp"))[0] == "m2"


def test_a_name_that_is_everywhere_says_less_than_a_rare_one() -> None:
    view = view_of(
        memories=[fact(n, f"fact {n}") for n in range(1, 9)],
        entities={"ana": list(range(1, 9)), "zorp": [5]},
    )
    by_id = dict(zip(("m1", "m5"), (0.0, 0.0), strict=True))
    for f in rank(view, ask("ana zorp"), None, Weights()):
        by_id[view.facts.rows[f.at].id] = f.parts.get("named", 0.0)
    assert by_id["m5"] > by_id["m1"] > 0


def test_a_neighbour_of_a_match_beats_a_stranger() -> None:
    talk = [turn(1, "did you see the bees"), turn(2, "yes, lovely"), turn(3, "bye")]
    other = [turn(4, "hello there", session_id="other")]
    view = view_of(turns=talk + other)
    order = ids(view, ask("bees"))
    assert order.index("t2") < order.index("t4")
    assert order.index("t2") < order.index("t3")


def test_turns_of_two_interleaved_sessions_are_no_neighbours() -> None:
    rows = [turn(n, f"word{n}", session_id="ab"[n % 2]) for n in range(1, 5)]
    view = view_of(turns=rows)
    assert view.turns.before.view.tolist() == [-1, -1, 0, 1]
    assert view.turns.after.view.tolist() == [2, 3, -1, -1]


def test_turns_without_a_session_are_neighbours_only_while_close_in_time() -> None:
    close = turn(2, "b", session_id=None, observed_at=HOUR + 1)
    far = turn(3, "c", session_id=None, observed_at=9 * HOUR)
    view = view_of(turns=[turn(1, "a", session_id=None), close, far])
    assert view.turns.before.view.tolist() == [-1, 0, -1]


def test_window_cosines_are_those_of_the_mean_of_the_neighbours_vectors() -> None:
    rng = np.random.default_rng(3)
    vectors = unit(rng.normal(size=(5, DIM)).astype(np.float32))
    view = view_of(
        turns=[turn(n, f"w{n}") for n in range(1, 6)],
        vectors=[vector_rows("turn", [(n, 0) for n in range(1, 6)], vectors)],
    )
    query = unit(rng.normal(size=(1, DIM)).astype(np.float32))[0]
    got = view.turns.windows(view.turns.dense(query))
    for i in range(5):
        mean = vectors[max(0, i - 1) : i + 2].mean(axis=0)
        assert got[i] == pytest.approx(mean @ query / np.linalg.norm(mean), abs=1e-5)


def test_vectors_that_come_in_pieces_give_the_same_windows() -> None:
    rng = np.random.default_rng(4)
    vectors = unit(rng.normal(size=(6, DIM)).astype(np.float32))
    turns = [turn(n, f"w{n}") for n in range(1, 7)]
    keys = [(n, 0) for n in range(1, 7)]
    at_once = view_of(turns=turns, vectors=[vector_rows("turn", keys, vectors)])
    deltas, piecewise = Deltas(), new_view()
    piecewise.apply(deltas.next(whole=True, turns=turns))
    for i in (4, 1, 0, 5, 3, 2):
        rows = vector_rows("turn", [keys[i]], vectors[i : i + 1])
        piecewise.apply(deltas.next(vectors=[rows]))
    for view in (at_once, piecewise):
        assert len(view.turns.index or ()) == 6
    assert_allclose(
        piecewise.turns.window_norm.view, at_once.turns.window_norm.view, atol=1e-5
    )
    query = axis(2)
    assert_allclose(piecewise.turns.dense(query), at_once.turns.dense(query), atol=1e-6)


def test_the_newest_turns_are_found_before_they_have_a_vector() -> None:
    rows = [turn(n, f"old topic {n}") for n in range(1, 60)]
    vectors = np.stack([axis(n % DIM) for n in range(1, 60)])
    keys = [(n, 0) for n in range(1, 60)]
    view = view_of(
        turns=[*rows, turn(60, "utterly different wording")],
        vectors=[vector_rows("turn", keys, vectors)],
    )
    assert "t60" in ids(view, ask("zzz", k=20), axis(0))


def test_a_long_turn_is_found_by_its_best_passage() -> None:
    text = "all about tea. all about bees."
    view = view_of(turns=[turn(1, text, ends=(14, len(text)))])
    [found] = rank(view, ask("bees"), None, Weights())
    start, end = view.turns.span(found.doc)
    assert text[start:end] == " all about bees."


def test_the_parts_of_a_score_add_up_and_stay_on_the_scale() -> None:
    rows = vector_rows("turn", [(1, 0)], axis(0)[None, :])
    view = view_of(
        turns=[turn(1, "maya keeps bees", name="Maya")],
        memories=[fact(1, "Maya keeps bees")],
        vectors=[rows],
        entities={"maya": [1]},
    )
    for found in rank(view, ask("does Maya keep bees?"), axis(0), Weights()):
        assert sum(found.parts.values()) == pytest.approx(found.score, abs=1e-5)
        assert 0 <= found.score <= 1


def test_a_score_means_the_same_whether_or_not_other_rows_match() -> None:
    alone = view_of(turns=[turn(1, "bees")])
    [found] = rank(alone, ask("bees"), None, Weights())
    w = Weights()
    words = w.turn_words + w.turn_window_words
    waits = w.unembedded * (w.turn_dense + w.turn_window_dense)
    assert found.score == pytest.approx(words + waits, abs=1e-5)


def test_equal_scores_are_ordered_by_age() -> None:
    rows = [turn(n, "same", session_id=f"s{n}") for n in range(1, 8)]
    vectors = vector_rows(
        "turn", [(n, 0) for n in range(1, 8)], np.stack([axis(0)] * 7)
    )
    view = view_of(turns=rows, vectors=[vectors])
    assert ids(view, ask("same")) == [f"t{n}" for n in range(1, 8)]


def test_while_the_embedder_is_down_what_was_just_said_is_found_first() -> None:
    rows = [turn(n, f"old topic {n}") for n in range(1, 60)]
    vectors = np.stack([axis(n % DIM) for n in range(1, 60)])
    keys = [(n, 0) for n in range(1, 60)]
    view = view_of(
        turns=[*rows, turn(60, "first thing"), turn(61, "second thing")],
        vectors=[vector_rows("turn", keys, vectors)],
    )
    assert ids(view, ask("zzz", k=2)) == ["t61", "t60"]
    assert ids(view, ask("topic 7", k=1)) == ["t7"]


def test_what_was_just_said_is_found_however_much_is_said_elsewhere() -> None:
    """An agent that is busy must not take from another what waits for its vector."""
    rows = [turn(n, f"old topic {n}", agent_id="a") for n in range(1, 40)]
    vectors = np.stack([axis(n % DIM) for n in range(1, 40)])
    stored = [vector_rows("turn", [(n, 0) for n in range(1, 40)], vectors)]
    new = [turn(40, "first thing", agent_id="a"), turn(41, "second", agent_id="a")]
    others = [turn(n, "snow", agent_id="b", session_id="t") for n in range(42, 142)]
    alone = view_of(turns=[*rows, *new], vectors=stored)
    busy = view_of(turns=[*rows, *new, *others], vectors=stored)
    for question in (ask("zzz", k=2, agent_id="a"), ask("", k=5, agent_id="a")):
        assert ids(busy, question)[:2] == ids(alone, question)[:2] == ["t41", "t40"]
        found = [
            [f.score for f in rank(view, question, axis(0), Weights())]
            for view in (busy, alone)
        ]
        assert found[0] == found[1]


# -------------------------------------------------------------------------- filters


def test_closed_facts_never_crowd_out_open_ones() -> None:
    closed = [fact(n, f"lives in Ghent {n}", valid_to=500 * HOUR) for n in range(1, 61)]
    open_ones = [fact(61, "lives in Lyon"), fact(62, "lives in Nice")]
    view = view_of(memories=closed + open_ones)
    assert set(ids(view, ask("lives in", k=2))) == {"m61", "m62"}


def test_expired_facts_never_crowd_out_live_ones() -> None:
    gone = [fact(n, f"likes tea {n}", expires_at=500 * HOUR) for n in range(1, 62)]
    view = view_of(memories=[*gone, fact(62, "likes rum"), fact(63, "likes gin")])
    assert set(ids(view, ask("likes", k=2))) == {"m62", "m63"}


def history() -> list[Any]:
    """Ghent from hour 1, Lyon from hour 100 (recorded at 300), Nice from hour 200."""
    return [
        fact(
            *(1, "lives in Ghent"),
            valid_to=100 * HOUR,
            closed_recorded_at=300 * HOUR,
            superseded_by="m2",
        ),
        fact(
            *(2, "lives in Lyon"),
            valid_from=100 * HOUR,
            recorded_at=300 * HOUR,
            valid_to=200 * HOUR,
            closed_recorded_at=400 * HOUR,
            superseded_by="m3",
        ),
        fact(3, "lives in Nice", valid_from=200 * HOUR, recorded_at=400 * HOUR),
    ]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param({}, ["m3"], id="now"),
        pytest.param({"as_of": 50 * HOUR}, ["m1"], id="believed then"),
        pytest.param({"as_of": 100 * HOUR}, ["m2"], id="half-open"),
        pytest.param({"as_of": 0}, [], id="before anything"),
        pytest.param({"known_at": 250 * HOUR}, ["m1"], id="known then: still Ghent"),
        pytest.param({"known_at": 350 * HOUR}, ["m2"], id="known then: Lyon"),
        pytest.param(
            {"known_at": 250 * HOUR, "as_of": 150 * HOUR}, ["m1"], id="both axes"
        ),
        pytest.param(
            {"known_at": 450 * HOUR, "as_of": 150 * HOUR}, ["m2"], id="known later"
        ),
    ],
)
def test_each_time_argument_undoes_only_its_own_axis(
    times: dict[str, int], expected: list[str]
) -> None:
    view = view_of(memories=history())
    assert ids(view, ask("lives in", **times)) == expected


@pytest.mark.parametrize("query", ["lives", "ghent zorp"])
def test_no_signal_shows_what_was_said_after_as_of(query: str) -> None:
    rows = vector_rows("turn", [(5, 0)], axis(0)[None, :])
    view = view_of(
        turns=[turn(5, "zorp lives in Ghent")],
        memories=[fact(6, "Zorp lives in Ghent")],
        vectors=[rows],
        entities={"zorp": [6]},
    )
    assert ids(view, ask(query, as_of=4 * HOUR), axis(0)) == []


def test_during_asks_when_it_happened_not_when_it_was_said() -> None:
    dated = fact(1, "visited Rome", event_start=10 * HOUR, event_end=20 * HOUR)
    undated = fact(30, "visited Oslo")
    view = view_of(memories=[dated, undated], turns=[turn(15, "visited Bonn")])
    assert set(ids(view, ask("visited", during=(12 * HOUR, 16 * HOUR)))) == {
        "m1",
        "t15",
    }
    assert ids(view, ask("visited", during=(29 * HOUR, 31 * HOUR))) == ["m30"]


def test_labels_and_category_filter_before_the_choice() -> None:
    view = view_of(
        turns=[turn(1, "tea", agent_id="a"), turn(2, "tea", session_id="x")],
        memories=[fact(1, "tea", category="procedural"), fact(2, "tea", agent_id="a")],
    )
    assert set(ids(view, ask("tea", agent_id="a"))) == {"t1", "m2"}
    assert ids(view, ask("tea", session_id="x")) == ["t2"]
    assert ids(view, ask("tea", category="procedural")) == ["m1"]
    assert set(ids(view, ask("tea", kinds=frozenset(["turn"])))) == {"t1", "t2"}
    assert ids(view, ask("tea", agent_id="nobody")) == []


def test_raising_min_score_only_removes_hits() -> None:
    view = view_of(turns=[turn(n, "tea " * n + "bees") for n in range(1, 9)])
    all_hits = ids(view, ask("tea"))
    for floor in (0.0, 0.1, 0.2, 0.3, 0.9):
        some = ids(view, ask("tea", min_score=floor))
        assert some == all_hits[: len(some)]


# ---------------------------------------------------------------------- increments


def test_a_changed_fact_replaces_its_row_and_keeps_its_postings() -> None:
    deltas, view = Deltas(), new_view()
    view.apply(deltas.next(whole=True, memories=[fact(1, "lives in Ghent")]))
    assert ids(view, ask("Ghent")) == ["m1"]
    closed = fact(1, "lives in Ghent", valid_to=9 * HOUR, superseded_by="m2")
    view.apply(deltas.next(memories=[closed, fact(2, "lives in Lyon")]))
    assert ids(view, ask("lives")) == ["m2"]
    assert view.facts.chain(1) == [0]
    assert view.facts.docs == 2


def test_vectors_of_another_space_are_left_alone() -> None:
    rows = vector_rows("turn", [(1, 0)], axis(0)[None, :], space=2)
    view = view_of(turns=[turn(1, "tea")], vectors=[rows])
    assert len(view.turns.index or ()) == 0


def test_a_vector_for_a_row_that_is_gone_is_ignored() -> None:
    rows = vector_rows("turn", [(1, 0), (7, 0), (1, 3)], np.stack([axis(0)] * 3))
    view = view_of(turns=[turn(1, "tea")], vectors=[rows])
    assert len(view.turns.index or ()) == 1


def test_a_later_vector_for_the_same_passage_wins() -> None:
    rows = vector_rows("turn", [(1, 0), (1, 0)], np.stack([axis(0), axis(1)]))
    view = view_of(turns=[turn(1, "tea")], vectors=[rows])
    assert view.turns.dense(axis(1))[0] == pytest.approx(1.0)


def _random_deltas(rng: random.Random) -> tuple[list[Delta], Delta]:
    """A history in pieces, and the same in one."""
    words = ["tea", "bees", "rome", "oslo", "maya", "zorp"]
    pieces, turns, facts, vectors = [], [], {}, []
    deltas = Deltas()
    for step in range(rng.randint(3, 12)):
        new_turns = [
            turn(
                len(turns) + n + 1,
                " ".join(rng.choices(words, k=rng.randint(1, 6))),
                session_id=rng.choice([None, "a", "b"]),
                name=rng.choice([None, "Maya"]),
            )
            for n in range(rng.randint(0, 3))
        ]
        turns += new_turns
        changed = []
        if facts and rng.random() < 0.4:
            seq = rng.choice(list(facts))
            changed.append(facts[seq]._replace(valid_to=(900 + step) * HOUR))
        if rng.random() < 0.6:
            changed.append(fact(len(facts) + 1, rng.choice(words)))
        facts |= {f.seq: f for f in changed}
        rows: list[VectorRows] = []
        if turns and rng.random() < 0.7:
            some = rng.sample(turns, k=rng.randint(1, len(turns)))
            keys = [(t.seq, 0) for t in some]
            axes = np.stack([axis(rng.randrange(DIM)) for _ in some])
            rows.append(vector_rows("turn", keys, axes))
        vectors += rows
        pieces.append(
            deltas.next(whole=not step, turns=new_turns, memories=changed, vectors=rows)
        )
    rebuilt = Deltas().next(
        whole=True, turns=turns, memories=list(facts.values()), vectors=vectors
    )
    return pieces, rebuilt


@pytest.mark.parametrize("seed", range(25))
def test_a_view_extended_in_pieces_answers_like_one_built_at_once(seed: int) -> None:
    rng = random.Random(seed)
    pieces, whole = _random_deltas(rng)
    extended, rebuilt = new_view(), new_view()
    for piece in pieces:
        extended.apply(piece)
    rebuilt.apply(whole)
    for query, vector in (("tea maya", axis(1)), ("zorp rome", None), ("", axis(5))):
        a, b = (rank(v, ask(query), vector, Weights()) for v in (extended, rebuilt))
        assert [(f.kind, f.at) for f in a] == [(f.kind, f.at) for f in b]
        assert_allclose([f.score for f in a], [f.score for f in b], atol=1e-5)


def test_postings_survive_the_merge_of_a_long_tail() -> None:
    deltas, view = Deltas(), new_view()
    filler = " ".join(f"filler{n}" for n in range(400))
    for n in range(1, 40):
        text = f"{filler} needle{n}"
        view.apply(deltas.next(whole=n == 1, turns=[turn(n, text)]))
    for n in (1, 20, 39):
        assert ids(view, ask(f"needle{n}"))[0] == f"t{n}"


# ------------------------------------------------------------------------ arithmetic


@pytest.mark.parametrize("n", [0, 1, 5, 700, 5_000])
def test_best_first_is_a_stable_sort_cut_short(n: int) -> None:
    rng = np.random.default_rng(n)
    scores = rng.integers(0, 50, n).astype(np.float32)
    scores[rng.random(n) < 0.2] = -np.inf
    expected = [i for i in np.argsort(-scores, kind="stable") if scores[i] >= 0]
    for k in (0, 1, 10, n, n + 5):
        assert best_first(scores, k).tolist() == expected[:k]
