"""What rows lend each other, and what is held back: on views made by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hmem.rank import Ask, Found, rank
from hmem.scoring import Weights, spread
from hmem.testing.deltas import HOUR, Deltas, fact, turn
from hmem.text import query_tokens
from hmem.vectors import index
from hmem.views import View
from hmem.views.places import Places
from hmem.views.sources import Sources

ALONE = Weights(turn_near=0.0, fact_sources=0.0, role_any=1.0, role_user=1.0)


def view_of(**rows: Any) -> View:
    """By words alone: a turn that waits for its vector would count as a fair match."""
    view = View("ana", None, lambda dim: index("float32", dim))
    view.apply(Deltas().next(whole=True, **rows))
    return view


def found(view: View, query: str, w: Weights = Weights(), **more: Any) -> list[Found]:  # noqa: B008
    ask = Ask(query=query, terms=query_tokens(query), k=99, asked_at=999 * HOUR, **more)
    return rank(view, ask, None, w)


def scores(
    view: View,
    query: str,
    w: Weights = Weights(),  # noqa: B008
    **more: Any,
) -> dict[str, Found]:
    hits = found(view, query, w, **more)
    return {view.record(f.kind, f.at).id: f for f in hits}


# --------------------------------------------------------------- near in a session


def test_what_is_near_a_good_turn_rises_and_the_nearer_the_more() -> None:
    talk = [turn(n, f"filler{n}", session_id="a") for n in range(1, 12)]
    talk[5] = turn(6, "the bees swarmed", session_id="a")
    view = view_of(turns=[*talk, turn(12, "other", session_id="b")])
    near = {i: f.parts.get("near", 0.0) for i, f in scores(view, "bees").items()}
    assert near["t6"] > near["t9"] > near["t11"] > 0
    assert near["t12"] == 0


def test_a_turn_that_stands_alone_scores_as_if_nothing_were_lent() -> None:
    view = view_of(turns=[turn(1, "the bees swarmed")])
    [lent], [alone] = found(view, "bees"), found(view, "bees", ALONE)
    assert lent.score == pytest.approx(alone.score, abs=1e-6)


def brute(values: list[float], sessions: list[str], fade: float) -> list[float]:
    """The same by trying all pairs; places count within a session."""
    place: dict[str, int] = {}
    at = []
    for session in sessions:
        at.append(place.setdefault(session, 0))
        place[session] += 1
    return [
        max(
            v - fade * abs(at[i] - at[j])
            for j, v in enumerate(values)
            if sessions[i] == sessions[j]
        )
        for i in range(len(values))
    ]


@pytest.mark.parametrize("seed", range(8))
def test_the_best_near_is_that_of_all_pairs_of_a_session(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    sessions = [str(s) for s in rng.choice(["a", "b", "c"][: 1 + seed % 3], n)]
    turns = [turn(i + 1, f"w{i}", session_id=s) for i, s in enumerate(sessions)]
    values = rng.random(n)
    got = view_of(turns=turns).turns.places.best_near(values, 0.03)
    assert_allclose(got, brute(list(values), sessions, 0.03), atol=1e-6)


def test_conversations_that_take_turns_stay_apart_however_many_there_are() -> None:
    places = Places()
    places.extend(6)
    for row in range(3):
        places.begin(row)
    for row in range(3):
        places.follow(row + 3, row)
    values = np.array([1.0, 0, 0, 0, 0, 0])
    assert_allclose(places.best_near(values, 1e-3), [1, 0, 0, 0.999, 0, 0], atol=1e-9)


def test_a_session_that_goes_on_later_is_still_one() -> None:
    deltas, view = Deltas(), view_of()
    first = [turn(1, "bees", session_id="a"), turn(2, "x", session_id="b")]
    view.apply(deltas.next(whole=True, turns=[*first, turn(3, "y", session_id="a")]))
    near = view.turns.places.best_near
    assert_allclose(near(np.array([1.0, 0, 0]), 0.1), [1, 0, 0.9])
    view.apply(deltas.next(turns=[turn(4, "z", session_id="b")]))
    assert_allclose(near(np.array([0, 1.0, 0, 0]), 0.1), [0, 1, 0, 0.9])


def test_words_reach_two_turns_either_way_the_nearer_the_more() -> None:
    view = view_of(turns=[turn(n, f"filler{n}") for n in range(1, 10)])
    lone = view_of(
        turns=[turn(n, "bees" if n == 5 else f"filler{n}") for n in range(1, 10)]
    )
    assert not any(f.parts for f in found(view, "bees", ALONE))
    words = [
        scores(lone, "bees", ALONE)[f"t{n}"].parts.get("window_words", 0.0)
        for n in range(1, 10)
    ]
    assert words[4] > words[3] > words[2] > words[1] == words[0] == 0
    assert words == pytest.approx(words[::-1])


def test_what_was_said_after_as_of_lends_nothing() -> None:
    talk = [turn(n, f"filler{n}") for n in range(1, 5)]
    later = [turn(n, "the bees swarm") for n in range(30, 34)]
    view = view_of(
        turns=[*talk, *later], memories=[fact(1, "met ana", source_ids=("t1",))]
    )
    now, then = scores(view, "bees"), scores(view, "bees", as_of=5 * HOUR)
    for row, part in (("t1", "near"), ("m1", "sources")):
        assert then[row].parts.get(part, 0.0) == 0 < now[row].parts[part]


# ------------------------------------------------------------------ cited turns


def test_a_fact_rises_with_the_turns_it_cites() -> None:
    view = view_of(
        turns=[turn(1, "the bees swarmed"), turn(2, "rain", session_id="b")],
        memories=[
            fact(1, "is busy", source_ids=("t1",)),
            fact(2, "is wet", source_ids=("t2",)),
            fact(3, "is old"),
        ],
    )
    got = scores(view, "bees")
    assert got["m1"].parts["sources"] > 0
    assert got["m1"].score > got["m2"].score
    assert got["m3"].score == 0


def test_a_fact_without_a_source_keeps_all_of_its_own_score() -> None:
    view = view_of(
        turns=[turn(1, "bees"), turn(2, "tea", session_id="b")],
        memories=[fact(1, "keeps bees"), fact(2, "likes tea", source_ids=("t2",))],
    )
    lent, alone = scores(view, "bees"), scores(view, "bees", ALONE)
    assert lent["m1"].score == pytest.approx(alone["m1"].score, abs=1e-6)


def test_message_ids_count_in_the_facts_own_session() -> None:
    sources = Sources()
    rows = [turn(n, "x", session_id=s, message_id="1") for n, s in ((1, "a"), (2, "b"))]
    sources.add_turns(0, rows)
    sources.add_facts(
        [
            (0, fact(1, "x", session_id="b", source_ids=("1",))),
            (1, fact(2, "x", session_id=None, source_ids=("1",))),
        ]
    )
    pairs = zip(sources.fact.view.tolist(), sources.turn.view.tolist(), strict=True)
    assert sorted(pairs) == [(0, 1), (1, 0), (1, 1)]


def test_it_does_not_matter_whether_the_fact_or_its_turn_came_first() -> None:
    rows = [turn(1, "x", message_id="m-1"), turn(2, "y", message_id="m-2")]
    facts = [
        (0, fact(1, "x", session_id="s", source_ids=("t1", "m-2"))),
        (1, fact(2, "y", source_ids=("m-1",))),
    ]
    first, last = Sources(), Sources()
    first.add_turns(0, rows)
    first.add_facts(facts)
    last.add_facts(facts)
    last.add_turns(0, rows[:1])
    last.add_turns(1, rows[1:])
    last.add_facts(facts)  # said again: nothing new
    both = [
        sorted(zip(s.fact.view.tolist(), s.turn.view.tolist(), strict=True))
        for s in (first, last)
    ]
    assert both[0] == both[1] == [(0, 0), (0, 1), (1, 0)]


def test_a_source_added_to_a_known_fact_counts_from_then_on() -> None:
    deltas = Deltas()
    view = view_of()
    told = fact(1, "is busy", source_ids=())
    view.apply(deltas.next(whole=True, turns=[turn(1, "bees")], memories=[told]))
    assert scores(view, "bees")["m1"].score == 0
    view.apply(deltas.next(memories=[told._replace(source_ids=("t1",))]))
    assert scores(view, "bees")["m1"].score > 0


def test_facts_lend_to_turns_only_when_asked_to() -> None:
    view = view_of(
        turns=[turn(1, "yes"), turn(2, "no", session_id="b")],
        memories=[fact(1, "keeps bees", source_ids=("t1",))],
    )
    off = scores(view, "bees")
    on = scores(view, "bees", Weights(turn_facts=0.3))
    assert off["t1"].score == 0 < on["t1"].parts["facts"]
    assert on["t2"].score == 0


# ------------------------------------------------------------------------ hops


@pytest.mark.parametrize("linked", [True, False])
def test_hops_follow_names_and_links_only_when_asked_to(*, linked: bool) -> None:
    link = {"links": ("m2",)} if linked else {}
    view = view_of(
        memories=[
            fact(1, "zorp keeps bees", **link),
            fact(2, "zorp was born in Ghent"),
            fact(3, "likes tea"),
        ],
        entities={} if linked else {"zorp": [1, 2]},
    )
    off = scores(view, "bees")
    on = scores(view, "bees", Weights(fact_hops=0.3))
    assert off["m2"].score == 0 < on["m2"].parts["hops"]
    assert on["m3"].score == 0
    assert on["m1"].score == pytest.approx(off["m1"].score, abs=1e-6)


# ------------------------------------------------------------------------ time


def test_what_is_of_the_time_asked_about_rises_and_nothing_is_filtered() -> None:
    view = view_of(
        turns=[turn(n, "bees", session_id=f"s{n}") for n in (100, 200, 250, 600)],
        memories=[
            fact(1, "bees", event_start=190 * HOUR, event_end=230 * HOUR),
            fact(210, "bees", event_start=900 * HOUR),
            fact(3, "bees", event_start=195 * HOUR),  # a moment, just at the start
            fact(2, "bees"),
        ],
    )
    when = ((195 * HOUR, 240 * HOUR, 0.8),)
    time = {
        i: f.parts.get("time", 0.0) for i, f in scores(view, "bees", when=when).items()
    }
    most = pytest.approx(0.8 * Weights().time)
    assert time["t200"] == time["m1"] == time["m210"] == time["m3"] == most
    assert time["t250"] == pytest.approx(0.4 * Weights().time)  # told days after
    assert time["t100"] == time["t600"] == time["m2"] == 0
    assert len(time) == 8
    order = list(scores(view, "bees", kinds=frozenset(("turn",)), when=when))
    assert order == ["t200", "t250", "t100", "t600"]


def test_a_question_without_a_time_scores_as_before() -> None:
    view = view_of(turns=[turn(1, "bees")], memories=[fact(1, "bees")])
    for hit in found(view, "bees"):
        assert "time" not in hit.parts
    during = found(view, "bees", when=((0, 9, 1.0),), during=(0, 9 * HOUR))
    assert not any("time" in hit.parts for hit in during)


def test_a_question_of_a_time_alone_finds_what_is_of_it() -> None:
    view = view_of(turns=[turn(5, "tea", session_id="a"), turn(900, "tea")])
    order = list(scores(view, "?", when=((4 * HOUR, 6 * HOUR, 0.9),)))
    assert order[0] == "t5"


# ----------------------------------------------------------------- whose words


def chat() -> View:
    return view_of(
        turns=[
            turn(1, "my kiln is on Mill Lane", session_id="a"),
            turn(2, "a kiln on Mill Lane, fine", role="assistant", session_id="b"),
            turn(3, "and so forth " * 20, role="assistant", session_id="c"),
        ]
    )


def lost(question: str, view: View | None = None) -> float:
    """How much of the assistant's turn's score is held back."""
    hit = scores(view or chat(), question)["t2"]
    whole = hit.score - hit.parts.get("role", 0.0)
    return -hit.parts.get("role", 0.0) / whole


def test_the_users_own_words_come_before_the_assistants() -> None:
    assert lost("where is the kiln") == pytest.approx(1 - Weights().role_any)
    assert next(iter(scores(chat(), "kiln on Mill Lane"))) == "t1"


def test_what_the_assistant_said_is_not_held_back_where_it_is_asked_for() -> None:
    assert lost("which kiln did you recommend on Mill Lane") == 0
    assert lost("sum up what there is about the kiln") == 0
    assert lost("where did I say the kiln is") == pytest.approx(1 - Weights().role_user)


def test_roles_count_only_where_an_assistant_writes_at_length() -> None:
    alone = view_of(turns=[turn(2, "a kiln", role="assistant")])
    assert lost("kiln", alone) == 0
    for length, who, held in ((20, "Bram", False), (20, None, True), (1, None, False)):
        view = view_of(
            turns=[
                turn(1, "a kiln", session_id="a"),
                turn(
                    *(2, "a kiln " * length),
                    role="assistant",
                    name=who,
                    session_id="b",
                ),
            ]
        )
        assert bool(lost("kiln", view)) is held


# --------------------------------------------------------------- all of it together


@pytest.mark.parametrize(
    "w",
    [
        pytest.param(Weights(), id="default"),
        pytest.param(
            Weights(turn_near=0.9, fact_sources=0.9, turn_facts=0.9, fact_hops=0.9),
            id="much",
        ),
        pytest.param(ALONE, id="none"),
    ],
)
def test_parts_add_up_and_scores_stay_on_the_scale_whatever_is_on(w: Weights) -> None:
    words = ["tea", "bees", "rome", "oslo", "maya", "zorp"]
    rng = np.random.default_rng(5)
    turns = [
        turn(
            n,
            " ".join(rng.choice(words, 3)),
            role="user" if n % 2 else "assistant",
            session_id=str(n % 3),
        )
        for n in range(1, 30)
    ]
    turns.append(turn(30, "and so forth " * 99, role="assistant"))
    facts = [
        fact(n, " ".join(rng.choice(words, 2)), source_ids=(f"t{n}", f"t{n + 3}"))
        for n in range(1, 20)
    ]
    view = view_of(turns=turns, memories=facts, entities={"maya": [1, 2], "zorp": [3]})
    when = ((0, 9 * HOUR, 1.0),)
    for query in ("maya bees tea", "zorp", "what did you say about rome"):
        for hit in found(view, query, w, when=when if "tea" in query else ()):
            assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=1e-5)
            assert 0 <= hit.score <= 1


def test_signals_switch_off_one_by_one() -> None:
    view = view_of(
        turns=[turn(1, "bees", name="Maya"), turn(2, "x", role="assistant")],
        memories=[fact(1, "bees", source_ids=("t1",))],
        entities={"maya": [1]},
    )
    off = {"near": "turn_near", "sources": "fact_sources", "speaker": "turn_speaker"}
    on = {n for f in found(view, "Maya bees") for n in f.parts}
    for part, name in off.items():
        without = found(view, "Maya bees", replace(Weights(), **{name: 0.0}))
        assert part in on
        assert not any(part in f.parts for f in without)


# ------------------------------------------------------------------------- spread


def test_spreading_takes_from_each_group_before_it_takes_much_of_one() -> None:
    values = [0.9, 0.89, 0.88, 0.87, 0.5]
    groups = ["a", "a", "a", "b", "c"]
    assert spread(values, groups, toll=0.0) == [0, 1, 2, 3, 4]
    assert spread(values, groups, toll=0.05) == [0, 3, 1, 2, 4]
    assert spread([], [], toll=0.1) == []


def test_spreading_keeps_the_order_within_a_group() -> None:
    rng = np.random.default_rng(1)
    values = sorted(rng.random(200).tolist(), reverse=True)
    groups = [str(g) for g in rng.integers(0, 9, 200)]
    order = spread(values, groups, toll=0.1)
    assert sorted(order) == list(range(200))
    for group in set(groups):
        mine = [i for i in order if groups[i] == group]
        assert mine == sorted(mine)
