"""Two sentences are one fact only where they are seen to say the same."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmem.text import normalise
from hmem.truth.figures import figures
from hmem.truth.guards import REASONS, differs
from hmem.truth.tokens import tokens
from tests.forms import many
from tests.near_pairs import different, same

SAME = same()
DIFFERENT = different()
PLAIN = ("number", "unit", "time", "date", "question", "modality", "name")
"""What sets them apart is named for what it is; the rest has several names."""


def test_the_table_is_as_long_as_it_says() -> None:
    pairs = {frozenset(pair) for pair in SAME}
    pairs |= {frozenset((one, other)) for _, one, other in DIFFERENT}
    assert len(pairs) == len(SAME) + len(DIFFERENT) >= 200
    assert {why for why, *_ in DIFFERENT} >= {
        "number",
        "date",
        "name",
        "negation",
        "unit",
    }


@pytest.mark.parametrize(
    ("why", "one", "other"),
    [pytest.param(*pair, id=f"{n} {pair[0]}") for n, pair in enumerate(DIFFERENT)],
)
def test_two_facts_are_never_one(why: str, one: str, other: str) -> None:
    found = differs(one, other)
    assert found in REASONS
    assert differs(other, one) == found
    if found != why and why in ("number", "unit", "time", "date"):
        assert found in ("order", "number"), (why, found)


def test_nine_in_ten_facts_said_twice_are_seen_to_be_one() -> None:
    missed = [pair for pair in SAME if differs(*pair) is not None]
    assert len(missed) <= len(SAME) // 10, missed
    assert [pair for pair in SAME if differs(*pair) != differs(*reversed(pair))] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Project deadline is October 15th", "Project deadline is October 16th"),
        ("I work at Acme", "I just joined Bolt"),
        ("v1.2 is in use", "v1.3 is in use"),
        (
            "We chose SQLite over Postgres for simplicity",
            "We chose fastembed over OpenAI for privacy",
        ),
        ("I am allergic to walnuts", "I am NOT allergic to walnuts"),
        ("My brother is allergic to walnuts", "I am allergic to walnuts"),
    ],
)
def test_updates_that_cosine_took_for_repeats_are_two(one: str, other: str) -> None:
    assert differs(one, other)


def test_the_users_own_name_is_the_user() -> None:
    assert differs("Maya lives in Rome", "The user lives in Rome")
    assert (
        differs("Maya lives in Rome", "The user lives in Rome", user=["Maya"]) is None
    )
    assert differs("Maya Lin's cat is ill", "My cat is ill", user=["Maya Lin"]) is None
    assert differs("Anna lives in Rome", "I live in Rome", user=["Maya"])


@pytest.mark.parametrize("pair", SAME[:40])
def test_a_fact_is_the_same_as_itself_but_not_with_a_not(pair: tuple[str, str]) -> None:
    assert differs(pair[0], pair[0]) is None
    assert differs(pair[0], f"{pair[0]} not") is not None
    assert differs(pair[0], f"It is untrue that {pair[0]}") is not None


def test_any_changed_number_or_exchanged_name_is_another_fact() -> None:
    rng = random.Random(5)
    facts = [one for one, _ in SAME] + [one for _, one, _ in DIFFERENT]
    changed = 0
    for fact in facts:
        for n, char in enumerate(fact):
            if char.isdigit():
                other = fact[:n] + rng.choice([d for d in "123456789" if d != char])
                other += fact[n + 1 :]
                assert differs(fact, other), (fact, other)
                changed += 1
        for name, another in (("Maya", "Ines"), ("Tom", "Jim"), ("Rome", "Bari")):
            other = fact.replace(name, another)
            assert other == fact or differs(fact, other), (fact, other)
    assert changed > 150


SAID = (
    "maya tom I the user not no longer never any more is was has have did does do will "
    "lives living moved and or to from in on at 5 five 2021 5% $5 km March Friday 's my , . "
    "? & +"
)
WORDS = st.sampled_from(SAID.split())


@settings(max_examples=many(120, 400), deadline=None)
@given(st.lists(WORDS, max_size=9), st.lists(WORDS, max_size=9))
def test_it_is_symmetric_and_reads_any_words(a: list[str], b: list[str]) -> None:
    one, other = " ".join(a), " ".join(b)
    assert differs(one, other) == differs(other, one)
    assert differs(one, one) is None
    if normalise(one) != normalise(other):
        figures_of = [
            sorted(
                (f.kind, f.value) for _, f in figures(tokens(x)) if f.kind == "number"
            )
            for x in (one, other)
        ]
        if figures_of[0] != figures_of[1]:
            assert differs(one, other) is not None


@settings(max_examples=many(100, 300), deadline=None)
@given(st.text(st.characters(exclude_categories=[]), max_size=60))
def test_any_text_is_read(text: str) -> None:
    assert differs(text, text) is None
    assert differs(text, f"{text} 7 seven") is not None


def test_other_languages_are_the_same_only_word_for_word() -> None:
    assert differs("Maya wohnt in Köln", "maya wohnt in Koln.") is None
    assert differs("Maya wohnt in Köln", "Maya wohnt nicht in Köln")
    assert differs("我喜欢苹果", "我不喜欢苹果")
    assert differs("Майя живёт в Риме", "Майя жила в Риме")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("on March 5th, 2024", [("date", "2024-3-5")]),
        ("on 5 March 2024", [("date", "2024-3-5")]),
        ("the third of May", [("date", "?-5-3")]),
        ("since 2019", [("date", "2019")]),
        ("it has 2019 seats", [("number", "2019")]),
        ("$1,200.50", [("number", "1200.5"), ("unit", "usd")]),
        ("1.5 million euros", [("number", "1500000"), ("unit", "eur")]),
        ("two hundred and fifty thousand", [("number", "250000")]),
        ("a dozen", [("number", "12")]),
        ("10k steps", [("number", "10000")]),
        ("5 p.m. or 17:00", [("time", "17:00"), ("time", "17:00")]),
        ("-5 \u00b0C", [("number", "-5"), ("unit", "celsius")]),
        ("5-7 days", [("number", "5"), ("number", "7"), ("unit", "day")]),
        ("on Mondays", [("date", "weekday 0s")]),
        ("may I march", []),
        ("twice", [("number", "2"), ("unit", "times")]),
        ("one and two", [("number", "1"), ("number", "2")]),
        ("3/4/2024", [("date", "3/4/2024")]),
        ("25/12/2024", [("date", "2024-12-25")]),
    ],
)
def test_figures_in_words_and_digits(text: str, found: list[tuple[str, str]]) -> None:
    assert [(f.kind, f.value) for _, f in figures(tokens(text))] == found
