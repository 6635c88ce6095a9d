"""Pure arithmetic: BM25 on a fixed scale, and every weight with the run that chose it."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from math import exp, log1p
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each signal counts in a score; a signal at 0 is off (`role_*` at 1).

    First what a row says itself; a kind's five or three weights sum to 1. Then what other
    rows lend it: a share s takes s of the score from there and 1 - s from the row itself,
    so that scores stay in [0, 1] whatever is on. Last what is left of the score of a turn
    that is not the user's own words, where a user has both.

    Chosen on dev data alone (`bench.ablate` shows what each is worth there): turns and
    facts on LoCoMo conversations 26 and 30, roles on BEAM chats 1 to 4. The weights of a
    listwise fit to one conversation do within half a point on the other what these round
    ones do; between neighbouring settings nothing differs by more than a point.
    """

    turn_dense: float = 0.20
    turn_window_dense: float = 0.30
    turn_words: float = 0.05
    turn_window_words: float = 0.30
    turn_speaker: float = 0.15
    fact_dense: float = 0.65
    fact_words: float = 0.30
    fact_named: float = 0.05

    fusion: Literal["sum", "rrf"] = "sum"
    """Whether these signals count by their values or by the ranks they give."""
    rrf_k: float = 60.0
    """What is added to a rank: the usual 60 (Cormack et al. 2009). On dev 10 is better at
    500 tokens of talk and worse beyond; the sum is better than both."""

    turn_near: float = 0.20
    """Share of the best turn near it in its session (with `fade`)."""
    turn_facts: float = 0.0
    """Share of the best fact that cites it. Off: it pays only where facts are not shown."""
    fact_sources: float = 0.40
    """Share of the best turn near those that the fact cites."""
    fact_hops: float = 0.0
    """Share of what a fact has a name in common with or is linked to among the best. Off:
    worth nothing on dev, where names are those of the two speakers."""
    fade: float = 0.02
    """What is lost per turn that another one is away. More than 0."""

    time: float = 0.10
    """Share of being of the time that the question speaks of, where it speaks of one. Dev
    has 18 such questions, whose evidence is found with and without; a question about
    "last week" shares no word with its answer."""

    role_any: float = 0.7
    """Where the question does not say whose words it is about."""
    role_user: float = 0.3
    """Where it asks what the user said. What the assistant said is never held back where
    the question asks for it, or for a summary of what was said."""

    rerank: float = 0.20
    """Share of a reranker's score, where there is one; of hits that it did not read 0. The
    largest that lost nothing on dev with the local one and 30 candidates (`bench.ablate
    --rerank local`): +.007 to +.011 recall at 500 tokens on LoCoMo, 0 beyond and on BEAM. A
    reranking model proper may deserve more."""

    unverified: float = 0.8
    """What is left of the score of a fact that its turns do not bear out. Not chosen by a
    run: on dev all facts are verified."""

    unembedded: float = 0.45
    """The cosine that a turn without a vector counts as, while it is among the newest."""

    gist_chars: int = 140
    """What a long line is cut to, about its part that matters; 0 is off."""
    whole_tokens: int = 500
    """What of a block is used before long lines are cut; none of it where a question wants
    a little of everything. Dev at 1,000 and 2,000 tokens: +.01 and +.01 recall on LoCoMo,
    +.06 and +.08 on BEAM, at the same containment of answers; cutting earlier lost some."""
    spread_toll: float = 0.02
    """What more of one session costs a hit there."""
    restatements: bool = False
    """Whether a line that says nothing beside another of its day is shown."""


K1, B = 1.2, 0.75
"""BM25's usual constants (Robertson and Zaragoza 2009, section 3.4)."""


def idf(held: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """(terms,) inverse document frequencies, ln(1 + (N - n + 0.5) / (n + 0.5)), of terms
    that n = `held` of N = `total` passages hold. The form that is never negative
    (Lucene's)."""
    return np.asarray(np.log1p((total - held + 0.5) / (held + 0.5)))


def reciprocal_rank(values: Floats, *, k: float) -> Floats:
    """(n,) in [0, 1]: (k + 1) / (k + rank), ranks from 1 by falling value, equal ones
    alike; 0 for a value that is not positive (Cormack et al. 2009, scaled to 1)."""
    falling = np.sort(-values)
    ranks = np.searchsorted(falling, -values, side="left") + 1
    return np.where(values > 0, (k + 1.0) / (k + ranks), 0.0).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """The coefficients of `answerability`: a slope per sign, and the middle at which the
    sign says nothing.

    A logistic regression fitted by `bench.answerable` on questions about LoCoMo
    conversations 26 and 30 and BEAM chats 1 to 4, whole, session by session and a few
    turns at a time; those that have an answer weigh as much as those that have none (the
    data sets' own, questions about other people, questions about another session).
    """

    bias: float = -0.26
    middles: tuple[float, ...] = (0.39, 0.68, 0.13, 0.62)
    slopes: tuple[float, ...] = (4.8, 2.4, 3.7, 4.9)


ANSWERING = Answering()
HALF = 0.5
"""Answerability below which a search names what came closest."""


def answerability(signs: Sequence[float | None], by: Answering = ANSWERING) -> float:
    """In 0..1: how likely a question with these signs (see `hmem.rank.answer.Signs`) has
    its answer among what was found. A sign that is None says nothing."""
    at = by.bias
    for sign, middle, slope in zip(signs, by.middles, by.slopes, strict=True):
        if sign is not None:
            at += slope * (sign - middle)
    return 1.0 / (1.0 + exp(-at))


_GROUP = 64


def _reached(scores: Floats, k: int) -> np.float32:
    """What at least k of the scores reach, and of many not many more: the k-th highest of
    the best of each group of 64, which takes a tenth of the time of the k-th highest."""
    groups = len(scores) // _GROUP
    if groups > k:
        whole = scores[: groups * _GROUP].reshape(_GROUP, groups)
        scores = whole.max(axis=0)
    scores = scores.copy()
    scores.partition(len(scores) - k)
    value: np.float32 = scores[-k]
    return value


def best_first(scores: Floats, k: int) -> NDArray[np.int64]:
    """Positions of the k highest finite scores, best first, ties in order of position."""
    n = len(scores)
    if 0 < k < n and n > 512:
        # keep all that tie with the last, so that ties resolve by position
        some = (scores >= _reached(scores, k)).nonzero()[0]
        order = some[(-scores[some]).argsort(kind="stable")]
    else:
        order = (-scores).argsort(kind="stable")
    order = order[:k]
    finite: NDArray[np.int64] = order[np.isfinite(scores[order])]
    return finite


def spread(values: Sequence[float], groups: Sequence[str], *, toll: float) -> list[int]:
    """Positions in an order that takes from all groups: always the best of what is left,
    after each value has lost `toll` x ln(1 + how many of its group were taken).

    `values` come best first, and a group's own order stays as it is.
    """
    left: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        left.setdefault(group, []).append(i)
    heap = [(-values[mine[0]], mine[0], 0) for mine in left.values()]
    heapify(heap)
    order: list[int] = []
    while heap:
        _, i, taken = heap[0]
        order.append(i)
        mine, taken = left[groups[i]], taken + 1
        if taken < len(mine):
            after = mine[taken]
            heapreplace(heap, (toll * log1p(taken) - values[after], after, taken))
        else:
            heappop(heap)
    return order
