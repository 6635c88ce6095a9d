"""Reconcile mode's second reply: what is read of it, and what fails safe."""

import json
import random
from typing import Any

import pytest

from hmem.chat.peel import Unreadable
from hmem.verdicts import ADD, Verb, Verdict, read


def said(
    candidate: object, action: object = "ADD", memory: object = (), reason: str = ""
) -> dict[str, Any]:
    """One decision as a model writes it."""
    return {
        "candidate": candidate,
        "reason": reason,
        "action": action,
        "memory": list(memory) if isinstance(memory, tuple) else memory,
    }


def decided(*items: object, candidates: int = 3, memories: int = 3) -> list[object]:
    """(verb, memory) per candidate."""
    found = read({"decisions": list(items)}, candidates, memories)
    return [(one.verb, one.memory) for one in found]


NEW = ("ADD", None)


def test_each_action_is_read_with_its_memory_and_its_reason() -> None:
    found = read(
        {
            "decisions": [
                said(0, "ADD"),
                said(1, "UPDATE", (2,), "another city"),
                said(2, "DELETE", (0,), "ended"),
                said(3, "NOOP", (1,), "known already"),
            ]
        },
        4,
        3,
    )
    assert found == (
        ADD,
        Verdict(verb="UPDATE", memory=2, reason="another city"),
        Verdict(verb="DELETE", memory=0, reason="ended"),
        Verdict(verb="NOOP", memory=1, reason="known already"),
    )


def test_decisions_stand_by_candidate_whatever_their_order() -> None:
    assert decided(said(2, "UPDATE", (0,)), said(0), said(1, "NOOP", (1,))) == [
        NEW,
        ("NOOP", 1),
        ("UPDATE", 0),
    ]


def test_a_candidate_without_a_decision_is_added() -> None:
    assert decided(said(1, "UPDATE", (0,))) == [NEW, ("UPDATE", 0), NEW]
    assert decided() == [NEW, NEW, NEW]


@pytest.mark.parametrize("verb", ["UPDATE", "DELETE", "NOOP"])
@pytest.mark.parametrize(
    "memory",
    [
        (),
        None,
        "",
        (3,),
        (-1,),
        (99,),
        (0, 1),
        (0, 7),
        "zero",
        "#0",
        "01",
        (True,),
        (0.0,),
        {"id": 0},
        "0197b2ee-1c3d-7000-8000-000000000001",
    ],
    ids=repr,
)
def test_a_verb_without_one_memory_that_was_shown_is_an_add(
    verb: str, memory: object
) -> None:
    (found,) = read({"decisions": [said(0, verb, memory)]}, 1, 3)
    assert (found.verb, found.memory) == NEW
    assert found.refused == f"{verb} of no memory that was shown"


@pytest.mark.parametrize("memory", [(1,), "1", 1, ("1",), (1, 1)], ids=repr)
def test_a_memory_may_be_a_list_a_number_or_its_digits(memory: object) -> None:
    assert decided(said(0, "DELETE", memory), candidates=1) == [("DELETE", 1)]


def test_an_add_that_names_a_memory_ends_nothing() -> None:
    assert decided(said(0, "ADD", (1,)), candidates=1) == [NEW]


@pytest.mark.parametrize(
    "candidate", [3, -1, None, "x", (), (0, 1), True, 1.0, {"n": 0}], ids=repr
)
def test_a_decision_about_no_candidate_is_ignored(candidate: object) -> None:
    assert decided(said(candidate, "DELETE", (0,)), said(0, "NOOP", (1,))) == [
        ("NOOP", 1),
        NEW,
        NEW,
    ]


@pytest.mark.parametrize(
    ("word", "verb"),
    [
        (" update ", "UPDATE"),
        ("Supersede", "UPDATE"),
        ("REPLACE", "UPDATE"),
        ("remove", "DELETE"),
        ("close", "DELETE"),
        ("none", "NOOP"),
        ("duplicate", "NOOP"),
        ("MERGE", "ADD"),
        ("drop table", "ADD"),
        (None, "ADD"),
        (7, "ADD"),
        (["UPDATE"], "ADD"),
    ],
)
def test_other_words_for_an_action_are_known_and_the_rest_is_an_add(
    word: object, verb: Verb
) -> None:
    (found,) = read({"decisions": [said(0, word, (1,))]}, 1, 2)
    assert (found.verb, found.memory) == (verb, None if verb == "ADD" else 1)


# ----------------------------------------------------------------- what contradicts


def test_two_decisions_about_one_candidate_stand_if_they_agree_and_else_it_is_added() -> (
    None
):
    agree = [said(0, "UPDATE", (1,), "a"), said(0, "UPDATE", (1,), "b")]
    found = read({"decisions": agree}, 1, 2)
    assert found == (Verdict(verb="UPDATE", memory=1, reason="a"),)
    for other in (said(0, "UPDATE", (0,)), said(0, "DELETE", (1,)), said(0)):
        (one,) = read({"decisions": [said(0, "UPDATE", (1,)), other]}, 1, 2)
        assert one == Verdict(refused="two decisions about it")
        (one,) = read({"decisions": [other, said(0, "UPDATE", (1,))]}, 1, 2)
        assert one == Verdict(refused="two decisions about it")


def test_a_third_decision_does_not_undo_that_two_contradict() -> None:
    items = [said(0, "UPDATE", (1,)), said(0), said(0, "UPDATE", (1,))]
    assert decided(*items, candidates=1) == [NEW]
    assert decided(*items, *items, candidates=1) == [NEW]


@pytest.mark.parametrize("verb", ["UPDATE", "DELETE"])
def test_of_two_that_end_one_memory_the_first_does(verb: str) -> None:
    found = read({"decisions": [said(n, verb, (0,), f"r{n}") for n in range(3)]}, 3, 1)
    assert [(one.verb, one.memory) for one in found] == [(verb, 0), NEW, NEW]
    assert [one.refused for one in found[1:]] == ["another fact ended it"] * 2


@pytest.mark.parametrize(
    "verbs",
    [("UPDATE", "DELETE"), ("UPDATE", "NOOP"), ("NOOP", "DELETE")],
    ids="-".join,
)
def test_two_that_contradict_each_other_about_one_memory_end_nothing(
    verbs: tuple[str, str],
) -> None:
    for pair in (verbs, verbs[::-1]):
        items = [said(n, verb, (0,)) for n, verb in enumerate(pair)]
        found = read({"decisions": [*items, said(2, "UPDATE", (1,))]}, 3, 2)
        assert [(one.verb, one.memory) for one in found] == [NEW, NEW, ("UPDATE", 1)]
        assert found[0].refused == "contradictory decisions about one memory"


def test_several_may_say_that_one_memory_says_it_already() -> None:
    items = [said(n, "NOOP", (0,)) for n in range(3)]
    assert decided(*items) == [("NOOP", 0)] * 3


# ----------------------------------------------------------------------- the form


@pytest.mark.parametrize(
    "value",
    [
        [said(0, "DELETE", (1,))],
        {"Decisions": [said(0, "DELETE", (1,))]},
        {"operations": [{"Fact": "0", "event": "delete", "target": "1"}]},
        {"note": "well", "actions": [{"id": 0, "verdict": "END", "memory_id": [1]}]},
        {"decisions": ["noise", None, 7, [], said(0, "DELETE", (1,))]},
    ],
)
def test_other_names_and_noise_in_the_list_are_read_over(value: object) -> None:
    assert [(v.verb, v.memory) for v in read(value, 1, 2)] == [("DELETE", 1)]


@pytest.mark.parametrize(
    "value", [None, "", 7, True, {}, {"decisions": None}, {"decisions": {"0": "ADD"}}]
)
def test_no_list_of_decisions_is_unreadable(value: object) -> None:
    with pytest.raises(Unreadable, match="decisions"):
        read(value, 2, 2)


def test_a_reason_is_one_short_line() -> None:
    items = [said(0, "UPDATE", (0,), "a\nb\u200b " + "c" * 500)]
    (one,) = read({"decisions": items}, 1, 1)
    assert one.reason is not None
    assert one.reason.startswith("a b c")
    assert len(one.reason) <= 200
    (one,) = read({"decisions": [{**items[0], "reason": ["x"]}]}, 1, 1)
    assert one == Verdict(verb="UPDATE", memory=0)


def test_whatever_is_answered_no_memory_is_ended_twice_or_against_another_word() -> (
    None
):
    rng = random.Random(20260508)
    verbs = ("ADD", "UPDATE", "DELETE", "NOOP", "MOVE", None, 3)
    memories: tuple[object, ...] = ((), (0,), (1,), (2,), (9,), "1", (0, 1), None, "x")
    places = (0, 1, 2, 3, "1", -1, None, 8)
    seen = set()
    for _ in range(3_000):
        items = [
            said(rng.choice(places), rng.choice(verbs), rng.choice(memories))
            for _ in range(rng.randrange(7))
        ]
        found = read(json.loads(json.dumps({"decisions": items})), 4, 3)
        assert len(found) == 4
        for memory in range(3):
            own = [one.verb for one in found if one.memory == memory]
            assert len(set(own)) <= 1
            assert own.count("UPDATE") + own.count("DELETE") <= 1
        assert all((one.memory is None) == (one.verb == "ADD") for one in found)
        seen.update(one.verb for one in found)
    assert seen == {"ADD", "UPDATE", "DELETE", "NOOP"}
