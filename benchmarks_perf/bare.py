"""The arithmetic of a search on bare arrays, as tight as plain numpy gets.

What a search does for one user, without everything that makes it a search of a memory:
no store, no view that is kept up to date, no filters, no explanation, no records. Dense
scores of passages and of their neighbour windows, BM25 of both from term counts, weights,
what turns lend those near them and the facts made of them, and the best k of facts and
turns together. All that does not depend on the question is
computed beforehand. It must find the same rows as `hmem.rank` (`same_rows` says so).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import ScoresAll
from hmem.rank import Ask, rank
from hmem.scoring import K1, B, Floats, Weights
from hmem.views import View
from hmem.views.lexicon import Lexicon

Ints = NDArray[np.int64]
_ONE = np.float32(1.0)


class _Words:
    """Postings by term, and the length norms of a kind."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.n = len(lexicon.lengths)
        self.postings = _postings(lexicon)
        lengths = lexicon.lengths.view
        self.norm = _norm(lengths, lexicon.mean_length)

    def counts(self, terms: list[int]) -> Floats:
        """(terms, n + 1) term counts."""
        out = np.zeros((len(terms), self.n + 1), np.float32)
        for i, term in enumerate(terms):
            found = self.postings.get(term)
            if found is not None:
                out[i, found[0]] = found[1]
        return out


def _postings(lexicon: Lexicon) -> dict[int, tuple[Ints, Floats]]:
    terms = lexicon.terms
    all_of, found = lexicon.postings(terms), {}
    ends = np.cumsum(all_of.held).tolist()
    for term, a, b in zip(terms.tolist(), [0, *ends], ends, strict=False):
        found[term] = all_of.docs[a:b], all_of.counts[a:b]
    return found


def _norm(lengths: Any, mean: float) -> Floats:
    return np.asarray(K1 * (1.0 - B + B * lengths / np.float32(mean)), np.float32)


def _bm25(counts: Floats, norm: Floats) -> Floats:
    n = np.count_nonzero(counts, axis=1)
    idf = np.log1p((counts.shape[1] - n + 0.5) / (n + 0.5)).astype(np.float32)
    saturated = counts * np.float32(K1 + 1.0)
    saturated /= counts + norm
    scores: Floats = np.minimum((idf / idf.sum()) @ saturated, _ONE)
    return scores


class Bare:
    """One user's arrays, taken from a view whose rows have one passage each."""

    def __init__(self, view: View, weights: Weights) -> None:
        turns, facts = view.turns, view.facts
        self._w = weights
        self._n_facts, self._n_turns = facts.docs, turns.docs
        self._vectors = np.concatenate([_rows(facts.index), _rows(turns.index)])
        self._before = turns.before.view.copy()
        self._after = turns.after.view.copy()
        self._far = turns.before_that.view.copy(), turns.after_that.view.copy()
        self._slope = turns.places.at.view * weights.fade
        self._cites = view.sources.fact.view.copy(), view.sources.turn.view.copy()
        self._lent = np.zeros(facts.docs, np.float32)
        self._lent[self._cites[0]] = weights.fact_sources
        self._inverse = (_ONE / turns.window_norm.view).astype(np.float32)
        self._fact_words, self._turn_words = (
            _Words(facts.lexicon),
            _Words(turns.lexicon),
        )
        lengths = np.append(turns.lexicon.lengths.view, np.float32(0))
        spans = lengths[:-1] + np.float32(0.75) * (
            lengths[self._before] + lengths[self._after]
        )
        spans += np.float32(0.5) * (lengths[self._far[0]] + lengths[self._far[1]])
        self._span_norm = _norm(spans, float(spans.mean()) or 1.0)

    def search(self, query: Floats, terms: list[int], k: int) -> tuple[Floats, Ints]:
        """Scores and positions (facts first, then turns) of the best k."""
        w, facts = self._w, self._n_facts
        scores = np.empty(facts + self._n_turns, np.float32)
        cosines = self._vectors @ query
        own = np.append(cosines[facts:], np.float32(0))
        window = (own[:-1] + own[self._before] + own[self._after]) * self._inverse
        counts = self._turn_words.counts(terms)
        around = np.float32(0.75) * (counts[:, self._before] + counts[:, self._after])
        around += np.float32(0.5) * (counts[:, self._far[0]] + counts[:, self._far[1]])
        held = counts[:, :-1]
        np.maximum(cosines, 0, out=cosines)
        scores[facts:] = np.float32(w.turn_dense) * cosines[facts:]
        scores[facts:] += np.float32(w.turn_window_dense) * np.maximum(window, 0)
        scores[facts:] += np.float32(w.turn_words) * _bm25(held, self._turn_words.norm)
        scores[facts:] += np.float32(w.turn_window_words) * _bm25(
            held + around, self._span_norm
        )
        scores[:facts] = np.float32(w.fact_dense) * cosines[:facts]
        scores[:facts] += np.float32(w.fact_words) * _bm25(
            self._fact_words.counts(terms)[:, :-1], self._fact_words.norm
        )
        own, slope, (fact, turn) = scores[facts:], self._slope, self._cites
        near = np.maximum.accumulate((own - slope)[::-1])[::-1] + slope
        near = np.maximum(near, np.maximum.accumulate(own + slope) - slope)
        scores[facts:] += np.float32(w.turn_near) * (near - own)
        lent = np.zeros(facts)
        np.maximum.at(lent, fact, near[turn])
        scores[:facts] += self._lent * (lent - scores[:facts])
        best = np.argpartition(scores, len(scores) - k)[-k:]
        best = best[np.argsort(-scores[best], kind="stable")]
        return scores[best], best


def _rows(index: Any) -> Floats:
    assert isinstance(index, ScoresAll)
    return index.vectors(np.arange(len(index), dtype=np.uint64))


def same_rows(bare: Bare, view: View, asks: list[Ask], weights: Weights) -> float:
    """The share of the best k that both find, over questions that name nobody: names
    and roles are what the bare arrays leave out."""
    shared = total = 0
    plain = Weights(
        **{name: getattr(weights, name) for name in weights.__slots__}
        | {"fact_named": 0.0, "turn_speaker": 0.0, "role_any": 1.0}
    )
    for ask in asks:
        assert ask.vector is not None
        _, at = bare.search(ask.vector, ask.terms.tolist(), ask.k)
        found = {
            f.at + (len(view.facts) if f.kind == "turn" else 0)
            for f in rank(view, ask, ask.vector, plain)
        }
        shared += len(found & set(at.tolist()))
        total += len(found)
    return round(shared / total, 4)
