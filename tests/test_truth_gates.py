"""A fact takes another's place only where it is seen to be about the same matter."""

import random
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmem.truth.gates import MOST_PER_ADD, NEAR, Side, judge, may_supersede
from hmem.truth.topics import clauses, stances, topics
from tests.changes import additions, changes, unnamed
from tests.forms import forms, many

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
MAY = datetime(2026, 5, 1, tzinfo=UTC)
CHANGES = changes()
# Matters of the table that have to do with each other.
KIN = (
    {"home", "flat", "roommate", "rent"},
    {"job", "title", "hours", "boss", "staff", "study", "degree", "commute"},
    {"partner", "married", "brother"},
    {"phone", "number", "wifi"},
    {"bike", "commute"},
    {"gym", "run", "marathon"},
    {"language", "length", "reminder", "name"},
    {"plan", "hotel", "flight"},
    {"son", "school"},
)


def side(text: str, at: datetime = MAY, **more: Any) -> Side:
    return Side(text=text, at=at, **more)


def verdict(new: str, old: str, **more: Any) -> str | None:
    given: dict[str, Any] = {"shown": True, "is_open": True} | more
    return may_supersede(side(new), side(old, MARCH), **given)


# ----------------------------------------------------------------------- formalities

NEW, OLD = "The user moved from Dublin to Cork", "The user lives in Dublin"


def test_a_change_of_the_users_is_accepted() -> None:
    read = judge(side(NEW), side(OLD, MARCH), shown=True, is_open=True)
    assert (read.allowed, read.refusal, read.matter, read.late) == (
        True,
        None,
        "topic",
        False,
    )


@pytest.mark.parametrize(
    ("new", "old", "more", "refusal"),
    [
        ({}, {}, {"shown": False}, "not shown"),
        ({}, {}, {"is_open": False}, "closed"),
        ({"agent_id": "a"}, {"agent_id": "b"}, {}, "another agent"),
        ({"agent_id": "a"}, {}, {}, "another agent"),
        ({"voice": "tool"}, {}, {}, "not the user's words"),
        ({"voice": "quoted"}, {}, {}, "not the user's words"),
        ({"voice": "tool"}, {"voice": "tool"}, {}, "not the user's words"),
        ({"voice": "assistant"}, {}, {}, "not the user's words"),
        (
            {"voice": "assistant", "category": "procedural"},
            {"voice": "assistant"},
            {},
            "not the user's words",
        ),
        (
            {"voice": "assistant"},
            {"voice": "assistant", "category": "procedural"},
            {},
            "not the user's words",
        ),
        ({"verified": False}, {}, {}, "not borne out"),
        ({}, {}, {"closed": MOST_PER_ADD}, "too many"),
    ],
)
def test_the_formalities(
    new: dict[str, Any], old: dict[str, Any], more: dict[str, Any], refusal: str
) -> None:
    given_: dict[str, Any] = {"shown": True, "is_open": True} | more
    assert may_supersede(side(NEW, **new), side(OLD, MARCH, **old), **given_) == refusal


def test_the_assistants_words_may_replace_the_assistants() -> None:
    new = side("The assistant moved its office to Cork", voice="assistant")
    old = side("The assistant said: The office is in Dublin", MARCH)
    assert may_supersede(new, old, shown=True, is_open=True) != "not the user's words"
    user = side("The office moved from Dublin to Cork")
    read = judge(user, old, shown=True, is_open=True)
    assert read.refusal != "not the user's words"
    tool = side("According to fetch: The office is in Cork")
    assert may_supersede(tool, old, shown=True, is_open=True) == "not the user's words"


def test_at_most_so_many_in_one_add() -> None:
    accepted = 0
    for _ in range(100):
        accepted += verdict(NEW, OLD, closed=accepted) is None
    assert accepted == MOST_PER_ADD


def test_a_late_fact_is_late_and_goes_through_the_same_gate() -> None:
    late = judge(side(OLD, MARCH), side(NEW, MAY), shown=True, is_open=True)
    assert (late.allowed, late.late) == (True, True)
    other = judge(
        side("The user likes tea", MARCH), side(NEW), shown=True, is_open=True
    )
    assert (other.allowed, other.late) == (False, True)
    equal = judge(side(NEW, MAY), side(OLD, MAY), shown=True, is_open=True)
    assert (equal.allowed, equal.late) == (True, False)


def test_the_same_fact_replaces_nothing() -> None:
    assert verdict(OLD, OLD) == "the same"
    assert verdict("I live in Dublin.", OLD) == "the same"
    assert verdict("Maya lives in Dublin", OLD, user=["Maya"]) == "the same"


# --------------------------------------------------------------------------- matters


def test_the_table_is_as_long_as_it_says() -> None:
    assert len({matter for matter, *_ in CHANGES}) == len(CHANGES) > 80
    assert len(additions()) >= 40
    assert len(unnamed()) >= 60


def test_nearly_all_changes_that_name_both_sides_are_accepted() -> None:
    refused = [
        (matter, why)
        for matter, old, new in CHANGES
        if (why := verdict(new, old)) is not None
    ]
    assert len(refused) <= len(CHANGES) // 20, refused


@pytest.mark.parametrize(("old", "new"), additions())
def test_what_comes_to_it_replaces_nothing(old: str, new: str) -> None:
    assert verdict(new, old) is not None
    assert verdict(new, old, cosine=NEAR - 0.01) is not None


@forms("each", short=3, long=7)
def test_no_fact_replaces_one_about_another_matter(each: int) -> None:
    """Pairs of the table as a model proposes them that picks at random."""

    def related(one: str, other: str) -> bool:
        a, b = one.split()[0], other.split()[0]
        return a == b or any({a, b} <= group for group in KIN)

    rng = random.Random(1)
    wrong, tried = [], 0
    for matter, was, now in CHANGES:
        others = [c for c in CHANGES if not related(c[0], matter)]
        for _, old, new in rng.sample(others, each):
            for one in (was, now):
                for other in (old, new):
                    tried += 1
                    if verdict(one, other) is None:
                        wrong.append((one, other))
    assert tried > 285 * each
    assert wrong == []


def test_no_fact_replaces_one_about_somebody_else() -> None:
    for _, old, new in CHANGES:
        others = old.replace("The user's", "Tom's").replace("The user", "Tom")
        if others != old and "Tom" not in new and "captain" not in new:
            assert verdict(new, others) is not None, (new, others)
            assert verdict(new, others, cosine=0.99) is not None, (new, others)


def test_vectors_that_lie_close_speak_for_changes_that_name_one_side() -> None:
    pairs = unnamed()
    by_words = [verdict(n, o, user=[me]) is None for me, o, n in pairs]
    by_both = [verdict(n, o, user=[me], cosine=NEAR) is None for me, o, n in pairs]
    assert sum(by_words) >= 30
    assert sum(by_both) >= 42
    far = [verdict(n, o, user=[me], cosine=0.3) is None for me, o, n in pairs]
    assert far == by_words


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The user likes coffee", "The user likes tea"),
        ("The user speaks Dutch now", "The user speaks French"),
        ("The user's parents moved to Cork", "The user lives in Dublin"),
        ("The user works at Acme now", "The user lives in Dublin"),
        ("The user does not live in Cork", "The user lives in Dublin"),
        ("The user plans to move to Cork", "The user lives in Dublin"),
        ("The user also works at Acme now", "The user works at Bolt"),
        ("The user met Tom again", "The user met Ann"),
    ],
)
def test_no_vector_speaks_for_these(new: str, old: str) -> None:
    assert verdict(new, old, cosine=0.99) is not None


@pytest.mark.parametrize(
    ("new", "old", "refusal"),
    [
        ("The user plans to move to Cork", "The user lives in Dublin", "a plan"),
        ("The user may move to Cork", "The user lives in Dublin", "a plan"),
        ("The user nearly moved to Cork", "The user lives in Dublin", "a plan"),
        ("The user lives in Cork until May", "The user lives in Dublin", "for a while"),
        (
            "The user lived in Cork as a child",
            "The user lives in Dublin",
            "in the past",
        ),
        ("The user also works at Acme", "The user works at Bolt", "in addition"),
        ("Tom lives in Cork", "The user lives in Dublin", "another subject"),
        (
            "The user's sister lives in Cork",
            "The user lives in Rome",
            "another subject",
        ),
        ("The user plays chess", "The user lives in Dublin", "another matter"),
    ],
)
def test_a_refusal_says_why(new: str, old: str, refusal: str) -> None:
    assert verdict(new, old) == refusal


@pytest.mark.parametrize(
    ("new", "old", "matter"),
    [
        ("The user lives in Cork now", "The user lives in Dublin", "topic"),
        ("Kim leads the user's team now", "The lead of the user's team is Ann", "post"),
        ("The rent went up to 920 euros", "The rent is 850 euros", "frame"),
        ("The user sold the Golf", "The user drives a Golf", "ending"),
        (
            "Gudrun wohnt jetzt in Erfurt, nicht in Kassel",
            "Gudrun wohnt in Kassel",
            "words",
        ),
        ("The trip goes to Rome, not Oslo", "The trip goes to Oslo", "ending"),
    ],
)
def test_an_acceptance_says_why(new: str, old: str, matter: str) -> None:
    read = judge(side(new), side(old, MARCH), shown=True, is_open=True)
    assert read.matter == matter


def test_a_value_goes_and_comes_back() -> None:
    told = [
        "The user is vegetarian",
        "The user eats meat again",
        "The user is vegetarian again",
    ]
    assert verdict(told[1], told[0]) is None
    assert verdict(told[2], told[1]) is None


def test_a_correction_closes_what_it_corrects() -> None:
    old = "The user is allergic to walnuts"
    assert verdict("The user is not allergic to walnuts", old) is None
    assert verdict("The user's brother is allergic to walnuts", old) is not None


# ----------------------------------------------------------------- topics and stances


def test_topics_are_what_one_has_one_of() -> None:
    assert topics("The user moved to Cork for the job") == {"home"}
    assert topics("The user works at a bank") == {"work"}
    assert topics("The user had dinner with her husband in Rome") == frozenset()
    assert topics("The user visited Oslo because Tom lives there") == frozenset()


def test_stances_and_clauses() -> None:
    assert stances("The user moved in May") == frozenset()
    assert stances("The user may move") == {"a plan"}
    assert clauses("Kim moved out and the user lives alone")[1:] == [
        "Kim moved out",
        "the user lives alone",
    ]
    assert clauses("A test showed that Tom is well") == ["Tom is well"]


WORDS_SAID = (
    "the user Maya Tom lives works in at Rome Acme not no longer is moved to and sister 's "
    "has dog 5 euros since May because now likes sold died , ."
)
WORDS = st.sampled_from(WORDS_SAID.split())


@settings(max_examples=many(80, 200), deadline=None)
@given(st.lists(WORDS, max_size=10), st.lists(WORDS, max_size=10))
def test_any_two_texts_are_judged(a: list[str], b: list[str]) -> None:
    new, old = " ".join(a), " ".join(b)
    read = judge(side(new), side(old, MARCH), shown=True, is_open=True, cosine=0.9)
    assert (read.refusal is None) == (read.matter is not None)
    back = judge(side(old, MARCH), side(new), shown=True, is_open=True, cosine=0.9)
    assert back.allowed == read.allowed  # a late fact goes by the same rules


def test_a_long_text_takes_no_long_time() -> None:
    long = "The user moved to Cork and sold the Golf because it broke. " * 140
    began = time.thread_time()
    for text in (long, "a b " * 2_000, "the user's " * 700, "not " * 2_000):
        verdict(text, OLD, cosine=0.9)
        verdict(OLD, text, cosine=0.9)
    assert time.thread_time() - began < 10.0
