"""Postings and BM25 of passages and windows, against the formulas written out in Python."""

import random
from collections import Counter
from math import log

import numpy as np
import pytest

from hmem.rank.words import own_words, window_words
from hmem.testing.deltas import Deltas, turn
from hmem.text import lexical, query_tokens
from hmem.vectors import index
from hmem.views import View
from hmem.views.lexicon import Lexicon

SESSIONS = ("a", "b", "c")
ONSETS = "bdgmnp"


def talk(seed: int, turns: int, *, adds: int) -> View:
    """A view without vectors of interleaved sessions, extended in several adds."""
    dice = random.Random(seed)
    words = [f"{a}{b}ka" for a in ONSETS for b in "aeiou"]
    view, deltas = View("ana", None, lambda dim: index("float32", dim)), Deltas()
    rows = [
        turn(
            n,
            " ".join(dice.choices(words, [1 / (w + 1) for w in range(30)], k=7)),
            session_id=dice.choice(SESSIONS),
        )
        for n in range(1, turns + 1)
    ]
    step = -(-turns // adds)
    for start in range(0, turns, step):
        part = rows[start : start + step]
        view.apply(deltas.next(whole=not start, turns=part))
    return view


def said(*texts: str) -> View:
    view = View("ana", None, lambda dim: index("float32", dim))
    view.apply(
        Deltas().next(whole=True, turns=[turn(n, t) for n, t in enumerate(texts, 1)])
    )
    return view


def bm25(counts: list[dict[int, float]], terms: list[int]) -> list[float]:
    """Of each passage, as a share of what one of mean length has that holds each term."""
    n = len(counts)
    lengths = [sum(c.values()) for c in counts]
    mean = sum(lengths) / n
    rare = {}
    for term in terms:
        held = sum(term in c for c in counts)
        rare[term] = log(1 + (n - held + 0.5) / (held + 0.5))
    out = []
    for c, length in zip(counts, lengths, strict=True):
        norm = 1.2 * (0.25 + 0.75 * length / mean)
        score = sum(rare[t] * 2.2 * c[t] / (c[t] + norm) for t in terms if t in c)
        out.append(min(1.0, score / sum(rare.values())))
    return out


def windows(view: View, counts: list[dict[int, float]]) -> list[dict[int, float]]:
    """What stands in each turn's window: its session's turns up to two away."""
    out: list[dict[int, float]] = []
    rows = list(view.turns.rows)
    for at, row in enumerate(rows):
        mine = [n for n, other in enumerate(rows) if other.session_id == row.session_id]
        place = mine.index(at)
        held: dict[int, float] = {}
        for far, weight in ((0, 1.0), (1, 0.75), (2, 0.5)):
            for there in {place - far, place + far}:
                if 0 <= there < len(mine):
                    for term, count in counts[mine[there]].items():
                        held[term] = held.get(term, 0.0) + weight * count
        out.append(held)
    return out


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("adds", [1, 5])
def test_words_of_passages_and_windows_are_bm25(seed: int, adds: int) -> None:
    view = talk(seed, 60, adds=adds)
    counts: list[dict[int, float]] = [
        dict(Counter(lexical(row.text).tolist())) for row in view.turns.rows
    ]
    asked = query_tokens("baka buka nika puka zorp")
    found = view.turns.lexicon.postings(asked)
    terms = asked.tolist()
    np.testing.assert_allclose(
        own_words(view.turns.lexicon, found), bm25(counts, terms), atol=1e-6
    )
    np.testing.assert_allclose(
        window_words(view.turns, found), bm25(windows(view, counts), terms), atol=1e-6
    )


def test_postings_are_the_same_however_the_passages_came() -> None:
    dice = np.random.default_rng(3)
    lengths = dice.integers(0, 40, 900).astype(np.uint32)
    tokens = dice.integers(0, 200, int(lengths.sum())).astype(np.uint32)
    terms = np.array([5, 1_000, 7, 199, 0], np.uint32)
    at_once, piecewise = Lexicon(), Lexicon()
    at_once.extend(lengths, tokens)
    ends = np.cumsum(lengths)
    for start in range(0, 900, 90):  # past the size at which the tail is merged
        a = int(ends[start - 1]) if start else 0
        part = slice(start, start + 90)
        piecewise.extend(lengths[part], tokens[a : int(ends[start + 89])])
    for one, other in zip(
        at_once.postings(terms), piecewise.postings(terms), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    docs = np.repeat(np.arange(900), lengths)
    for n, term in enumerate(terms):
        held = np.bincount(docs[tokens == term], minlength=901)
        np.testing.assert_array_equal(at_once.counts(terms)[n], held)
        assert at_once.uses(terms)[n] == held.sum()


def test_a_passage_of_mean_length_with_each_word_once_has_all_of_their_weight() -> None:
    view = said("bora doka", "gina huma", "bora pena")
    found = view.turns.lexicon.postings(query_tokens("bora doka"))
    whole, none, half = own_words(view.turns.lexicon, found).tolist()
    assert whole == pytest.approx(1.0)
    assert none == 0.0
    assert 0.0 < half < 1.0


def test_a_word_that_nobody_used_finds_nothing() -> None:
    view = talk(1, 12, adds=1)
    found = view.turns.lexicon.postings(query_tokens("zorp quux"))
    assert not own_words(view.turns.lexicon, found).any()
    assert not window_words(view.turns, found).any()
