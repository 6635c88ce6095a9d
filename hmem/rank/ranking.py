"""All signals and lifts of both kinds -> one list."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hmem.rank.answer import (
    BEST,
    Signs,
    asked_words,
    closest,
    heard,
    lacking,
    read_signs,
)
from hmem.rank.ask import Ask, Found
from hmem.rank.fusion import by_rank
from hmem.rank.lifts import Parts, date, doubt, hold_back, lend, total
from hmem.rank.masks import fact_mask, turn_mask
from hmem.rank.signals import fact_signals, seen_docs, turn_signals
from hmem.records import EMPTY, Kind
from hmem.scoring import HALF, Floats, Weights, answerability, best_first
from hmem.views.facts import Facts
from hmem.views.table import best_passage
from hmem.views.turns import Turns
from hmem.views.view import View

_HIDDEN = np.float32(-np.inf)


class Near(NamedTuple):
    """A row that came close, and the question's words that its passage lacks."""

    found: Found
    lacks: tuple[str, ...]


class Judged(NamedTuple):
    """How likely an answer was found, in 0..1; below a half with what came closest."""

    answerability: float
    near: tuple[Near, ...]
    signs: Signs


def rank(view: View, ask: Ask, query: Floats | None, weights: Weights) -> list[Found]:
    """The best `ask.k` rows over turns and facts; filters apply before the choice."""
    return _Ranking(view, ask, query, weights).found(explain=True)


def rank_and_judge(
    view: View, ask: Ask, query: Floats | None, weights: Weights
) -> tuple[list[Found], Judged]:
    """The same, and how likely it is that an answer is among all that may be seen,
    whatever `ask.k` and `ask.min_score` are."""
    ranking = by_value = _Ranking(view, ask, query, weights)
    if weights.fusion != "sum":  # ranks do not tell how well the best fits
        by_value = _Ranking(view, ask, query, replace(weights, fusion="sum"))
    signs = by_value.signs()
    value = answerability(signs) if signs.match else 0.0
    near = ranking.near(explain=ask.explain) if 0.0 < value < HALF else ()
    return ranking.found(explain=ask.explain), Judged(value, near, signs)


class _Ranking:
    """One question's scores of all rows of a view."""

    def __init__(self, view: View, ask: Ask, query: Floats | None, w: Weights) -> None:
        self._view, self._ask, self._w = view, ask, w
        of_facts = fact_signals(view.facts, ask, query, w)
        of_turns = turn_signals(view.turns, ask, query, w)
        facts, turns = of_facts.parts, of_turns.parts
        self._seen = fact_mask(view.facts, ask), turn_mask(view.turns, ask)
        self._heard = (
            heard(view.facts, of_facts, self._seen[0]),
            heard(view.turns, of_turns, self._seen[1]),
        )
        if w.fusion == "rrf":
            by_rank("memory", facts, w, self._heard[0].seen)
            by_rank("turn", turns, w, seen_docs(view.turns, ask))
        lend(view, ask, facts, turns, w)
        date(view, ask, facts, turns, w)
        hold_back(view.turns, ask, turns, w)
        doubt(view.facts, facts, w)
        self._scored = (
            _Scored("memory", view.facts, facts),
            _Scored("turn", view.turns, turns),
        )
        self._rows = np.concatenate(
            [
                s.rows if of.seen is None else np.where(mask, s.rows, _HIDDEN)
                for s, of, mask in zip(
                    self._scored, self._heard, self._seen, strict=True
                )
            ]
        )
        self._best = best_first(self._rows, max(ask.k, BEST))

    def found(self, *, explain: bool) -> list[Found]:
        """The best rows, with their parts if they are to `explain` themselves."""
        facts, turns = self._scored
        many, least = len(self._view.facts), self._ask.min_score
        found = [
            facts.found(at, explain=explain)
            if at < many
            else turns.found(at - many, explain=explain)
            for at in self._best[: self._ask.k].tolist()
        ]
        return found if least is None else [f for f in found if f.score >= least]

    def signs(self) -> Signs:
        """What speaks for an answer among the rows."""
        scores = self._rows[self._best[:BEST]]
        return read_signs(self._view, self._ask, *self._heard, scores)

    def near(self, *, explain: bool) -> tuple[Near, ...]:
        """What came closest."""
        facts, turns = self._scored
        rows = closest(self._view, *self._heard)
        found = [
            (facts if kind == "memory" else turns).found(at, explain=explain)
            for kind, at in rows
        ]
        words = asked_words(self._ask)
        return tuple(Near(f, lacking(self._view, f, self._ask, words)) for f in found)


class _Scored:
    """One kind's scores by doc, and by row: a row is as good as its best passage."""

    def __init__(self, kind: Kind, table: Turns | Facts, parts: Parts) -> None:
        self.kind: Kind = kind
        self.table = table
        self.parts = parts
        self.docs = total(parts) if parts else np.zeros(table.docs, np.float32)
        self.rows = best_passage(table, self.docs)

    def found(self, at: int, *, explain: bool) -> Found:
        """The row at a position."""
        doc = at
        if self.docs is not self.rows:
            docs = self.table.docs_at(at)
            doc = docs.start
            if len(docs) > 1:
                doc += int(np.argmax(self.docs[doc : docs.stop]))
        parts: Mapping[str, float] = EMPTY
        if explain:
            parts = {n: value for n, p in self.parts.items() if (value := p.item(doc))}
        return Found(self.kind, at, doc, self.docs.item(doc), parts)
