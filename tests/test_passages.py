"""Passages, turn keys and digests, and names."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmem.text import (
    lexical,
    passages,
    proper_nouns,
    query_tokens,
    turn_digest,
    turn_key,
)
from tests.forms import many

ANY = st.text(st.characters(exclude_categories=[]))  # surrogates too


def cut(text: str, limit: int, fits: Callable[[str], bool] | None = None) -> list[str]:
    ends = passages(text, limit=limit, fits=fits)
    return [text[a:b] for a, b in zip((0, *ends), ends, strict=False)]


def test_a_short_text_is_one_passage_and_an_empty_one_none() -> None:
    assert passages("hello", limit=900) == (5,)
    assert passages("", limit=900) == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("One two. Three.\n\nFour five six", ["One two. Three.\n\n", "Four five six"], id="paragraph before sentence"),
        pytest.param("One two. Three\nfour five six", ["One two. Three\n", "four five six"], id="line before sentence"),
        pytest.param("One two three. Four five", ["One two three. ", "Four five"], id="sentence before word"),
        pytest.param("seven eight nine tenth", ["seven eight nine ", "tenth"], id="word"),
        pytest.param("今日は雨です。明日は晴れるでしょう。ねえ君", ["今日は雨です。明日は晴れるでしょう。", "ねえ君"], id="full stop without space"),
        pytest.param("a" * 45, ["a" * 20, "a" * 20, "a" * 5], id="no border at all"),
        pytest.param("Hi.\n\nseven eight nine ten", ["Hi.\n\nseven eight ", "nine ten"], id="no scraps"),
    ],
)  # fmt: skip
def test_a_text_is_cut_at_its_best_border(text: str, parts: list[str]) -> None:
    assert cut(text, 20) == parts


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param("👩‍👩‍👧‍👦", id="family"),
        pytest.param("👍🏽", id="skin tone"),
        pytest.param("🇫🇷", id="flag"),
        pytest.param("e\u0301\u0323", id="combining marks"),
        pytest.param("नि", id="vowel sign"),
        pytest.param("❤️", id="selector"),
        pytest.param("\r\n", id="line end"),
    ],
)
def test_what_is_seen_as_one_character_is_not_cut(cluster: str) -> None:
    for shift in range(8):
        for part in cut("x" * shift + cluster * 12, 17):
            rest = part.lstrip("x")
            assert rest == cluster * (len(rest) // len(cluster))


def test_passages_are_split_until_they_fit() -> None:
    text = "one two three four five six seven eight nine ten " * 40
    parts = cut(text, 400, lambda part: len(part.split()) <= 7)
    assert "".join(parts) == text
    assert all(len(part.split()) <= 7 for part in parts)
    assert all(part.endswith(" ") for part in parts)
    assert len(parts) < 2 * 400 / 7


def test_fitting_costs_few_calls() -> None:
    calls = 0

    def fits(part: str) -> bool:
        nonlocal calls
        calls += 1
        return len(part) <= 90

    parts = cut("word " * 20_000, 900, fits)
    assert calls < 4 * len(parts)


def test_a_character_that_never_fits_still_ends() -> None:
    assert cut("abc", 900, lambda _: False) == ["a", "b", "c"]
    assert cut("abc", 0) == ["a", "b", "c"]


@settings(max_examples=many(120, 300), deadline=None)
@given(ANY, st.integers(1, 40), st.integers(1, 40))
def test_passages_cover_the_text_exactly(text: str, limit: int, fitting: int) -> None:
    parts = cut(
        text, limit, lambda part: len(part.encode("utf-8", "replace")) <= fitting
    )
    assert "".join(parts) == text
    for part in parts:
        assert 1 <= len(part) <= limit
        assert len(part) == 1 or len(part.encode("utf-8", "replace")) <= fitting


def test_a_turn_is_found_by_its_day_and_speaker() -> None:
    at = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert (
        turn_key("I went hiking.", speaker="Caroline", at=at)
        == "(8 May 2023) Caroline: I went hiking."
    )
    key = turn_key("x", speaker="Caroline", at=at)
    tokens = set(lexical(key).tolist())
    assert tokens & set(query_tokens("what did Caroline do?").tolist())
    assert tokens >= set(query_tokens("May 2023").tolist())


def test_a_digest_names_role_speaker_and_text() -> None:
    turns = [
        ("user", None, "hi"),
        ("assistant", None, "hi"),
        ("user", "", "hi"),
        ("user", "hi", ""),
        ("user", "h", "i"),
        ("user", "Maya", "hi"),
        ("user", "Maya", "Hi"),
        ("user", None, "hi "),
    ]
    digests = {turn_digest(*turn) for turn in turns}
    assert len(digests) == len(turns)
    assert {len(digest) for digest in digests} == {8}
    assert turn_digest("user", None, "a\0b") == turn_digest("user", None, "ab")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("I met Caroline in Paris.", ("caroline", "paris"), id="inside a sentence"),
        pytest.param("Great news! It works.", (), id="only because they begin a sentence"),
        pytest.param("Pottery is fun. Do you like Pottery?", ("pottery",), id="elsewhere too"),
        pytest.param("Melanie's dog ran.", ("melanie",), id="possessor"),
        pytest.param("He left New York City now", ("new york city", "new", "york", "city"), id="run"),
        pytest.param("Ana Lima called", ("ana lima", "ana", "lima"), id="run that begins"),
        pytest.param("thanks @maya_b!", ("maya_b",), id="handle"),
        pytest.param("my iPhone and GPT4 and B12", ("iphone", "gpt4", "b12"), id="inner capitals and digits"),
        pytest.param("at 3pm on the 1st I go", (), id="no names"),
        pytest.param("He said: \"Yes\" and \u201cNo\u201d", (), id="begins a quotation"),
        pytest.param("I'm sure I'd go, and I will", (), id="I"),
        pytest.param("See Élodie and Zoë", ("elodie", "zoe"), id="folded"),
        pytest.param("STOP DOING THAT WRONG THING WITH B12", ("b12",), id="shouting"),
        pytest.param("NASA", (), id="one word alone"),
        pytest.param("she joined NASA", ("nasa",), id="capitals"),
        pytest.param("", (), id="empty"),
    ],
)  # fmt: skip
def test_names(text: str, names: tuple[str, ...]) -> None:
    assert proper_nouns(text) == names
