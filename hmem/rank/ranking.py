"""All signals and lifts of both kinds -> one list."""

import numpy as np

from hmem.rank.ask import Ask, Found
from hmem.rank.lifts import Parts, date, doubt, hold_back, lend, total
from hmem.rank.masks import fact_mask, turn_mask
from hmem.rank.signals import fact_parts, turn_parts
from hmem.records import Kind
from hmem.scoring import Floats, Weights, best_first
from hmem.views.facts import Facts
from hmem.views.table import best_passage
from hmem.views.turns import Turns
from hmem.views.view import View


def rank(view: View, ask: Ask, query: Floats | None, weights: Weights) -> list[Found]:
    """The best `ask.k` rows over turns and facts; filters apply before the choice."""
    facts = fact_parts(view.facts, ask, query, weights)
    turns = turn_parts(view.turns, ask, query, weights)
    lend(view, ask, facts, turns, weights)
    date(view, ask, facts, turns, weights)
    hold_back(view.turns, ask, turns, weights)
    doubt(view.facts, facts, weights)
    scored = [
        _Scored("memory", view.facts, facts),
        _Scored("turn", view.turns, turns),
    ]
    allowed = [fact_mask(view.facts, ask), turn_mask(view.turns, ask)]
    rows = [
        np.where(mask, s.rows, -np.inf) for s, mask in zip(scored, allowed, strict=True)
    ]
    many = len(view.facts)
    found = [
        scored[0].found(at) if at < many else scored[1].found(at - many)
        for at in best_first(np.concatenate(rows), ask.k).tolist()
    ]
    if ask.min_score is None:
        return found
    return [f for f in found if f.score >= ask.min_score]


class _Scored:
    """One kind's scores by doc, and by row: a row is as good as its best passage."""

    def __init__(self, kind: Kind, table: Turns | Facts, parts: Parts) -> None:
        self.kind: Kind = kind
        self.table = table
        self.parts = parts
        self.docs = total(parts) if parts else np.zeros(table.docs, np.float32)
        self.rows = best_passage(table, self.docs)

    def found(self, at: int) -> Found:
        """The row at a position."""
        first = int(self.table.first_doc.view[at])
        count = len(self.table.rows[at].ends)
        doc = first
        if count > 1:
            doc += int(np.argmax(self.docs[first : first + count]))
        parts = {n: float(p[doc]) for n, p in self.parts.items() if p[doc]}
        return Found(self.kind, at, doc, float(self.docs[doc]), parts)
