"""A view and a question -> the best rows, each with the parts its score adds up from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import Micros
from hmem.records import Category, Kind
from hmem.scoring import Floats, Weights, best_first, bm25
from hmem.views.facts import CATEGORIES, Facts
from hmem.views.table import FOREVER
from hmem.views.turns import Turns
from hmem.views.view import View

_NEWEST = 20
"""How many of the newest turns without a vector get the benefit of the doubt: what was
said a moment ago must be found before it is embedded, an outage of hours must not drown
the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A search, validated. Times in micros; `during` is half-open."""

    query: str
    terms: NDArray[np.uint32]
    k: int
    asked_at: Micros
    vector: Floats | None = None
    as_of: Micros | None = None
    known_at: Micros | None = None
    during: tuple[Micros, Micros] | None = None
    agent_id: str | None = None
    session_id: str | None = None
    category: Category | None = None
    kinds: frozenset[Kind] = frozenset(("memory", "turn"))
    min_score: float | None = None
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A row found: its position, the doc that matched best, and its score's parts."""

    kind: Kind
    at: int
    doc: int
    score: float
    parts: Mapping[str, float]


def rank(view: View, ask: Ask, query: Floats | None, weights: Weights) -> list[Found]:
    """The best `ask.k` rows over turns and facts; filters apply before the choice."""
    scored = [
        _Scored("memory", view.facts, _fact_parts(view.facts, ask, query, weights)),
        _Scored("turn", view.turns, _turn_parts(view.turns, ask, query, weights)),
    ]
    allowed = [fact_mask(view.facts, ask), turn_mask(view.turns, ask)]
    rows = [
        np.where(mask, s.rows, -np.inf) for s, mask in zip(scored, allowed, strict=True)
    ]
    facts = len(view.facts)
    found = [
        scored[0].found(at) if at < facts else scored[1].found(at - facts)
        for at in best_first(np.concatenate(rows), ask.k).tolist()
    ]
    if ask.min_score is None:
        return found
    return [f for f in found if f.score >= ask.min_score]


class _Scored:
    """One kind's scores by doc, and by row: a row is as good as its best passage."""

    def __init__(
        self, kind: Kind, table: Turns | Facts, parts: dict[str, Floats]
    ) -> None:
        self.kind: Kind = kind
        self.table = table
        self.parts = parts
        docs = np.zeros(table.docs, np.float32)
        for part in parts.values():
            docs += part
        self.docs: Floats = docs
        one_each = table.docs == len(table)
        self.rows = (
            self.docs
            if one_each
            else np.maximum.reduceat(self.docs, table.first_doc.view)
        )

    def found(self, at: int) -> Found:
        """The row at a position."""
        first = int(self.table.first_doc.view[at])
        count = len(self.table.rows[at].ends)
        doc = first
        if count > 1:
            doc += int(np.argmax(self.docs[first : first + count]))
        parts = {n: float(p[doc]) for n, p in self.parts.items() if p[doc]}
        return Found(self.kind, at, doc, float(self.docs[doc]), parts)


def _turn_parts(
    turns: Turns, ask: Ask, query: Floats | None, w: Weights
) -> dict[str, Floats]:
    if not turns.docs:
        return {}
    parts: dict[str, Floats] = {}
    cosines = _cosines(turns, query, w)
    if cosines is not None:
        parts["dense"] = _cosine(w.turn_dense, cosines[0])
        parts["window_dense"] = _cosine(w.turn_window_dense, cosines[1])
    if len(ask.terms):
        lexicon = turns.lexicon
        counts = lexicon.counts(ask.terms)
        words = bm25(counts[:, :-1], lexicon.lengths.view, lexicon.mean_length)
        window = bm25(turns.window_counts(counts), *turns.window_lengths())
        parts["words"] = np.float32(w.turn_words) * words
        parts["window_words"] = np.float32(w.turn_window_words) * window
        spoken = _spoken_of(turns, ask)
        if spoken is not None:
            parts["speaker"] = np.float32(w.turn_speaker) * spoken
    return parts


def _cosine(weight: float, cosines: Floats) -> Floats:
    """What a cosine adds to a score; one that points away counts nothing."""
    return np.maximum(cosines, np.float32(0)) * np.float32(weight)


def _cosines(
    turns: Turns, query: Floats | None, w: Weights
) -> tuple[Floats, Floats] | None:
    """(docs,) cosines of passages and of their windows with the question, None where
    there are none to be had.

    The newest turns that wait for their vector count as a fair match, the newest most:
    also when the question has no vector either, because the embedder is down.
    """
    if turns.index is None:
        return None
    tail = np.arange(max(0, turns.docs - 4 * _NEWEST), turns.docs)
    waiting = turns.without_vector(tail)[-_NEWEST:]
    if query is not None:
        own = turns.dense(query)
        window = turns.windows(own)
    elif len(waiting):
        own, window = np.zeros((2, turns.docs + 1), np.float32)
        window = window[:-1]
    else:
        return None
    fair = np.float32(w.unembedded) * np.linspace(1.0, 1.2, len(waiting))
    own[waiting] = fair
    window[waiting] = np.maximum(window[waiting], fair)
    return own[:-1], window


def _spoken_of(turns: Turns, ask: Ask) -> Floats | None:
    """1 for passages of a speaker whom the question names; None when it names nobody."""
    terms = frozenset(ask.terms.tolist())
    named = [bool(name) and name <= terms for name in turns.speaker_terms]
    if not any(named):
        return None
    spoken: Floats = np.array(named, np.float32)[turns.doc_speaker.view]
    return spoken


def _fact_parts(
    facts: Facts, ask: Ask, query: Floats | None, w: Weights
) -> dict[str, Floats]:
    if not facts.docs:
        return {}
    parts: dict[str, Floats] = {}
    if query is not None:
        parts["dense"] = _cosine(w.fact_dense, facts.dense(query)[:-1])
    if len(ask.terms):
        counts = facts.lexicon.counts(ask.terms)[:, :-1]
        lengths, mean = facts.lexicon.lengths.view, facts.lexicon.mean_length
        parts["words"] = np.float32(w.fact_words) * bm25(counts, lengths, mean)
        named = facts.named(frozenset(ask.terms.tolist()))
        if named is not None:
            parts["named"] = np.float32(w.fact_named) * named[facts.doc_row.view]
    return parts


def turn_mask(turns: Turns, ask: Ask) -> NDArray[np.bool_]:
    """(rows,) which turns the question may see."""
    mask = np.full(len(turns), "turn" in ask.kinds and ask.category is None)
    if ask.as_of is not None:
        mask &= turns.observed.view <= ask.as_of
    if ask.known_at is not None:
        mask &= turns.recorded.view <= ask.known_at
    if ask.during is not None:
        mask &= turns.observed.view >= ask.during[0]
        mask &= turns.observed.view < ask.during[1]
    return _labelled(turns, ask, mask)


def fact_mask(facts: Facts, ask: Ask) -> NDArray[np.bool_]:
    """(rows,) which facts the question may see.

    By default the open ones. `as_of` asks for what was believed at that observed time,
    `known_at` for what the database held at that wall time; each undoes only what came
    after it on its own axis.
    """
    t = {name: column.view for name, column in facts.times.items()}
    mask = np.full(len(facts), "memory" in ask.kinds)
    closed = t["valid_to"]
    forgotten = t["forgotten_at"]
    if ask.known_at is not None:
        mask &= t["recorded_at"] <= ask.known_at
        closed = np.where(t["closed_recorded_at"] <= ask.known_at, closed, FOREVER)
        forgotten = np.where(forgotten <= ask.known_at, forgotten, FOREVER)
    if ask.as_of is not None:
        mask &= (t["valid_from"] <= ask.as_of) & (closed > ask.as_of)
    else:
        mask &= closed == FOREVER
    now = ask.asked_at if ask.as_of is None else ask.as_of
    mask &= (forgotten == FOREVER) & (t["expires_at"] > now)
    if ask.during is not None:
        mask &= _happened(t, ask.during)
    if ask.category is not None:
        mask &= facts.category.view == CATEGORIES.index(ask.category)
    return _labelled(facts, ask, mask)


def _happened(
    t: Mapping[str, NDArray[np.int64]], during: tuple[Micros, Micros]
) -> NDArray[np.bool_]:
    """Which facts' events meet an interval; one without an event happened when said."""
    undated = t["event_start"] == FOREVER
    start = np.where(undated, t["valid_from"], t["event_start"])
    end = np.where(t["event_end"] == FOREVER, start, t["event_end"])
    meets = (end > during[0]) | (
        start >= during[0]
    )  # half-open, a moment has no length
    return np.asarray((start < during[1]) & meets)


def _labelled(
    table: Turns | Facts, ask: Ask, mask: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    if ask.agent_id is not None:
        mask &= table.agent.view == table.agents.numbers.get(ask.agent_id, -1)
    if ask.session_id is not None:
        mask &= table.session.view == table.sessions.numbers.get(ask.session_id, -1)
    return mask
