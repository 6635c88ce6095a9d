"""From blocks to figures: recall of evidence, containment of answers, intervals."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Any

import numpy as np
import snowballstemmer

from bench.talks import Question

_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})
_RESAMPLES = 2_000
_FEW = 3  # conversations below which resampling them says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One block: what a system showed for a question at a budget.

    `covered` are the turns whose own text, or a fact citing them, is in it; `tokens` is
    exact; `claimed` is the system's own count, where it has one.
    """

    text: str
    covered: Collection[str]
    tokens: int
    ms: float
    claimed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One question's measures by budget; None where the question has no such measure."""

    conversation: str
    category: str
    worded: bool
    recall: dict[int, float] | None
    contained: dict[int, bool] | None


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word))


_STEMMER = snowballstemmer.stemmer("english")


def words(text: str) -> list[str]:
    """Stemmed lower-case words."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [_stem(word) for word in _WORD.findall(plain)]


def contains(text: str, answer: str) -> bool:
    """Whether all the answer's words but articles stand in the text."""
    return {w for w in words(answer) if w not in _ARTICLES} <= set(words(text))


def outcome(conversation: str, question: Question, shown: dict[int, Shown]) -> Outcome:
    """A question's measures from its blocks by budget."""
    gold = set(question.gold)
    answer = question.answer
    return Outcome(
        conversation=conversation,
        category=question.category,
        worded=question.worded,
        recall={b: len(gold & set(s.covered)) / len(gold) for b, s in shown.items()}
        if gold
        else None,
        contained={b: contains(s.text, answer) for b, s in shown.items()}
        if answer
        else None,
    )


def summary(
    outcomes: Sequence[Outcome], budgets: Sequence[int], categories: Sequence[str]
) -> dict[str, Any]:
    """The means over all questions and by category, and 95% intervals."""
    scored = [o for o in outcomes if o.recall is not None]
    strict = [o for o in outcomes if o.worded]
    return {
        "n_questions": len(outcomes),
        "n_with_evidence": len(scored),
        "evidence_recall": _means(scored, budgets, _recall),
        "all_evidence": _means(scored, budgets, _whole),
        "containment": _means(strict, budgets, _contained),
        "containment_all_categories": _means(outcomes, budgets, _contained),
        "per_category": {
            name: means([o for o in outcomes if o.category == name], budgets)
            for name in categories
        },
        "ci95": _intervals(scored, strict, budgets),
    }


def percentiles(values: Iterable[float]) -> dict[str, float]:
    """p50 and p95."""
    p50, p95 = np.percentile(list(values), [50, 95])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3)}


Measure = Callable[[Outcome, int], float | None]


def _recall(o: Outcome, budget: int) -> float | None:
    return None if o.recall is None else o.recall[budget]


def _whole(o: Outcome, budget: int) -> float | None:
    return None if o.recall is None else float(o.recall[budget] == 1.0)


def _contained(o: Outcome, budget: int) -> float | None:
    return None if o.contained is None else float(o.contained[budget])


def _values(
    outcomes: Iterable[Outcome], budget: int, measure: Measure
) -> list[tuple[str, float]]:
    found = ((o.conversation, measure(o, budget)) for o in outcomes)
    return [(c, v) for c, v in found if v is not None]


def _means(
    outcomes: Iterable[Outcome], budgets: Sequence[int], measure: Measure
) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for budget in budgets:
        values = [v for _, v in _values(outcomes, budget, measure)]
        means[str(budget)] = round(fmean(values), 4) if values else None
    return means


def means(outcomes: Sequence[Outcome], budgets: Sequence[int]) -> dict[str, Any]:
    """The means over some questions."""
    return {
        "n": len(outcomes),
        "evidence_recall": _means(outcomes, budgets, _recall),
        "all_evidence": _means(outcomes, budgets, _whole),
        "containment": _means(outcomes, budgets, _contained),
    }


def _intervals(
    scored: Sequence[Outcome], strict: Sequence[Outcome], budgets: Sequence[int]
) -> dict[str, Any]:
    """Percentile bootstrap. Questions of one conversation share its fate, so whole
    conversations are drawn, unless there are too few to draw from."""
    n = len(Counter(o.conversation for o in scored))
    clustered = n >= _FEW
    return {
        "method": f"bootstrap over {n} conversations"
        if clustered
        else f"bootstrap over questions: {n} conversations are too few to resample, "
        "so these are too narrow",
        "evidence_recall": {
            str(b): _interval(_values(scored, b, _recall), clustered=clustered)
            for b in budgets
        },
        "containment": {
            str(b): _interval(_values(strict, b, _contained), clustered=clustered)
            for b in budgets
        },
    }


def _interval(
    values: Sequence[tuple[str, float]], *, clustered: bool
) -> list[float] | None:
    if not values:
        return None
    groups: dict[object, list[float]] = defaultdict(list)
    for i, (conversation, value) in enumerate(values):
        groups[conversation if clustered else i].append(value)
    sums = np.array([sum(g) for g in groups.values()])
    sizes = np.array([len(g) for g in groups.values()])
    draws = np.random.default_rng(0).integers(0, len(sums), (_RESAMPLES, len(sums)))
    means = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    return [round(float(v), 4) for v in np.percentile(means, [2.5, 97.5])]
