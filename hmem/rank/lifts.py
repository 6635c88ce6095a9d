"""What other rows lend a row's score, and what a score loses. All of it is kept as parts,
so that a score still adds up."""

import numpy as np
from numpy.typing import NDArray

from hmem.rank.ask import Ask
from hmem.rank.masks import seen_turns
from hmem.scoring import Floats, Weights
from hmem.text.questions import whose_words
from hmem.views import View
from hmem.views.facts import Facts
from hmem.views.table import FOREVER, best_passage, of_docs
from hmem.views.turns import Turns

Parts = dict[str, Floats]
_AFTER = 7 * 24 * 3_600 * 1_000_000
_MOST = np.float32(1.0)
_BEST = 5
"""Facts from which names and links are followed."""


def lend(view: View, ask: Ask, facts: Parts, turns: Parts, w: Weights) -> None:
    """Add to the parts of facts and turns (docs) what their rows get from others."""
    own = _rows(view.facts, facts) if w.turn_facts else None
    if turns and (w.turn_near or w.fact_sources):
        seen = seen_turns(view.turns, ask)
        rows = _rows(view.turns, turns)
        near = view.turns.places.best_near(
            rows if seen is None else np.where(seen, rows, np.float32(0)), w.fade
        )
        if w.turn_near:
            _share(view.turns, turns, "near", near, w.turn_near)
        if w.fact_sources and facts:
            best, cites = view.sources.of_facts(len(view.facts), near, seen)
            _share(view.facts, facts, "sources", best, w.fact_sources * cites)
    if own is not None and facts and turns:
        best, cited = view.sources.of_turns(len(view.turns), own)
        _share(view.turns, turns, "facts", best, w.turn_facts * cited)
    if w.fact_hops and facts:
        _hop(view.facts, facts, w.fact_hops)


def date(view: View, ask: Ask, facts: Parts, turns: Parts, w: Weights) -> None:
    """Let some of each score come from being of the time that the question speaks of: it
    never filters, since things are often said after they happened."""
    if not ask.when or not w.time or ask.during is not None:
        return
    if view.turns.docs:
        said = _said_in(view.turns.observed.view, ask)
        _share(view.turns, turns, "time", said, w.time)
    if view.facts.docs:
        held = np.maximum(
            _said_in(view.facts.times["valid_from"].view, ask),
            _happened_in(view.facts, ask),
        )
        _share(view.facts, facts, "time", held, w.time)


def hold_back(turns: Turns, ask: Ask, parts: Parts, w: Weights) -> None:
    """Take from the score of turns that are not the user's own words, where there are
    both, unless the question asks for them."""
    if not parts or not turns.of_two_kinds:
        return
    left = {"user": w.role_user, "any": w.role_any}
    lost = left.get(whose_words(ask.query), 1.0) - 1.0
    if lost:
        others = np.where(turns.users_own.view, np.float32(0), np.float32(lost))
        parts["role"] = total(parts) * others[turns.doc_row.view]


def doubt(facts: Facts, parts: Parts, w: Weights) -> None:
    """Take from the score of facts whose words are not borne out by their turns."""
    doubted = ~facts.verified.view
    if not parts or w.unverified == 1.0 or not doubted.any():
        return
    lost = np.where(doubted, np.float32(w.unverified - 1.0), np.float32(0))
    parts["unverified"] = total(parts) * lost[facts.doc_row.view]


def total(parts: Parts) -> Floats:
    """The sum of some parts; at most 1, which the roundings of a sum may pass."""
    values = iter(parts.values())
    out = next(values).copy()
    for part in values:
        out += part
    return np.minimum(out, _MOST, out=out)


def _rows(table: Turns | Facts, parts: Parts) -> Floats:
    """(rows,) what some parts add up to, each row's best passage."""
    if not parts:
        return np.zeros(len(table), np.float32)
    return best_passage(table, total(parts))


def _share(
    table: Turns | Facts,
    parts: Parts,
    name: str,
    lent: NDArray[np.floating],
    share: float | NDArray[np.floating],
) -> None:
    """Let `share` (one, or one per row) of a score come from what is lent to the row."""
    if isinstance(share, float):
        kept: np.float32 | Floats = np.float32(1.0 - share)
    else:
        kept = of_docs(table, (1.0 - share).astype(np.float32))
    for part in parts.values():
        part *= kept
    parts[name] = of_docs(table, (share * lent).astype(np.float32))


def _said_in(said: NDArray[np.int64], ask: Ask) -> Floats:
    """(rows,) how surely a moment lies in a time of the question; half for the week after
    its end, when people still tell of it."""
    out = np.zeros(len(said), np.float32)
    for start, end, sure in ask.when:
        inside = (said >= start) & (said < end)
        after = (said >= end) & (said < end + _AFTER)
        np.maximum(out, np.float32(sure) * (inside + np.float32(0.5) * after), out=out)
    return out


def _happened_in(facts: Facts, ask: Ask) -> Floats:
    """(rows,) how surely a fact's event meets a time of the question."""
    start, end = facts.times["event_start"].view, facts.times["event_end"].view
    dated = start != FOREVER
    last = np.where(end == FOREVER, start, end)
    out = np.zeros(len(start), np.float32)
    for since, until, sure in ask.when:
        meets = dated & (start < until) & ((last > since) | (start >= since))
        np.maximum(out, np.float32(sure) * meets, out=out)
    return out


def _hop(facts: Facts, parts: Parts, share: float) -> None:
    """Lend what is like the best facts by a name or a link some of their score: through a
    name the less, the more facts have it."""
    rows = _rows(facts, parts)
    lent = np.zeros(len(facts), np.float32)
    for at in np.argsort(-rows, kind="stable")[:_BEST].tolist():
        for others, weight in facts.akin(at):
            lent[others] = np.maximum(lent[others], rows[at] * np.float32(weight))
    _share(facts, parts, "hops", lent, np.where(lent > rows, share, 0.0))
