"""Texts of any size are read in bounded time."""

import time
from collections.abc import Callable

import pytest

from hmem.text import lexical, passages, proper_nouns, query_tokens


def seconds(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started


def test_a_query_of_20_000_words_is_capped() -> None:
    query = "".join(f"word{number} " for number in range(20_000))
    assert len(query_tokens(query)) == 256
    assert len(query_tokens(query, limit=5)) == 5
    assert seconds(lambda: query_tokens(query)) < 0.2
    assert set(lexical("word3 is here").tolist()) & set(query_tokens(query).tolist())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("line of a manual\n" * 300_000, id="a manual"),
        pytest.param("x" * 5_000_000, id="one word"),
        pytest.param("'" * 2_000_000, id="apostrophes"),
        pytest.param("1," * 250_000, id="numbers"),
        pytest.param("\n" * 5_000_000, id="newlines"),
        pytest.param("A \n" * 150_000, id="short lines"),
        pytest.param("\u0301" * 1_000_000, id="marks"),
        pytest.param("\u200d" * 1_000_000, id="joiners"),
        pytest.param("绿" * 300_000, id="one sentence of han"),
    ],
)
def test_a_huge_text_takes_bounded_time(text: str) -> None:
    assert seconds(lambda: lexical(text)) < 15
    assert seconds(lambda: passages(text, limit=900)) < 5
    assert seconds(lambda: proper_nouns(text[:500_000])) < 5


def test_a_round_of_a_hundred_words_is_tokenised_in_microseconds() -> None:
    text = " ".join(
        f"my sister {w} paints old boats" for w in ("Ana", "Eve", "Mia") * 6
    )
    lexical(text)
    assert min(seconds(lambda: lexical(text)) for _ in range(20)) < 1e-3
