"""How likely it is that what was found answers a question, and what came closest.

Similarity alone does not tell: a question about what somebody else did, or about a detail
that was never given, resembles what was said as much as one that has an answer. What tells
is whether the question's words were ever used, and whether what resembles it speaks of
the person it asks about.
"""

import re
from functools import lru_cache
from math import log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmem.rank.ask import Ask, Found
from hmem.rank.signals import Said
from hmem.records import Kind
from hmem.scoring import Floats, best_first
from hmem.text import lexical
from hmem.views import View
from hmem.views.facts import Facts
from hmem.views.turns import Turns

_READ = 8
"""Passages read for whom they speak of."""
BEST = 10
"""Scores whose mean tells how well the best fit."""
_NEAR = 3
"""Rows that came closest, at most."""
_MOST_LACKS = 8
_HIDDEN = np.float32(-np.inf)
_OWN = re.compile(r"\b(?:i|im|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_YOURS = re.compile(r"\b(?:you|u|ya|your|yours|yourself)\b", re.IGNORECASE)
_WORD = re.compile(r"\w[\w'+#.-]*")


class Signs(NamedTuple):
    """What speaks for there being an answer; None where it cannot tell.

    `match`: the mean of the ten best scores. `known`: the share of the question's words,
    by how rare they are, that occur in what it may see. `about`: where it names one
    speaker of several, whether what resembles it speaks of that one (1) or of others (-1).
    `fact`: the best cosine of a fact.
    """

    match: float
    known: float | None = None
    about: float | None = None
    fact: float | None = None


class Heard(NamedTuple):
    """What the passages of one kind say themselves, before anything is lent or held back:
    (docs,) their cosine and how many of the question's words they hold, in 0..1 each; and
    which of them the question may see (None: all)."""

    cosine: Floats
    words: Floats
    seen: NDArray[np.bool_] | None

    @property
    def like(self) -> Floats:
        """(docs,) how much passages resemble the question, in 0..2; -inf for hidden
        ones. A new array."""
        return self.masked(self.cosine + self.words)

    def masked(self, values: Floats) -> Floats:
        """The values with -inf for hidden passages."""
        return values if self.seen is None else np.where(self.seen, values, _HIDDEN)


def heard(table: Turns | Facts, said: Said, seen: NDArray[np.bool_]) -> Heard:
    """From what a table's passages say; `seen` is (rows,)."""
    cosine, words = said.cosine, said.words
    return Heard(
        np.zeros(table.docs, np.float32) if cosine is None else cosine,
        np.zeros(table.docs, np.float32) if words is None else words,
        None if seen.all() else seen[table.doc_row.view],
    )


def read_signs(
    view: View, ask: Ask, facts: Heard, turns: Heard, scores: Floats
) -> Signs:
    """The signs of a question; `scores` are the `BEST` best of all rows."""
    match = _best(scores)
    if match <= 0.0:
        return Signs(0.0)
    return Signs(
        match=match,
        known=_known(view, ask, facts, turns),
        about=_about(view.turns, ask, turns),
        fact=_fact(facts),
    )


def _best(scores: Floats) -> float:
    """The mean of the best few; fewer count as they are."""
    some = [score for score in scores.tolist() if score > 0.0]
    return sum(some) / len(some) if some else 0.0


def _fact(facts: Heard) -> float | None:
    cosines = facts.masked(facts.cosine)
    best = float(cosines.max()) if len(cosines) else 0.0
    return best if best > 0.0 else None


def _known(view: View, ask: Ask, facts: Heard, turns: Heard) -> float | None:
    """The share of the question's words that were used at all, the rare ones more. The
    user's own id is no such word: who is called Maya seldom says "Maya"."""
    uses = view.facts.lexicon.uses(ask.terms, facts.seen)
    uses += view.turns.lexicon.uses(ask.terms, turns.seen)
    docs, own = view.docs, _own_terms(view.user_id)
    total = known = 0.0
    for term, used in zip(ask.terms.tolist(), uses.tolist(), strict=True):
        if term not in own:
            rare = log1p(docs / (1.0 + used))
            total += rare
            known += rare if used else 0.0
    return known / total if total else None


@lru_cache(maxsize=1_024)
def _own_terms(user_id: str) -> frozenset[int]:
    return frozenset(lexical(user_id).tolist())


def _others(ask: Ask, terms: frozenset[int]) -> Floats:
    """(terms,) 1 for the question's terms but for some, which get 0."""
    return np.array([term not in terms for term in ask.terms.tolist()], np.float32)


def _about(turns: Turns, ask: Ask, said: Heard) -> float | None:
    """Whether the passages most like the question speak of the one speaker it names.

    Who says "I" speaks of themselves, who says "you" of another.
    """
    terms = frozenset(ask.terms.tolist())
    names = [n for n, name in enumerate(turns.speaker_terms) if name and name <= terms]
    if len(names) != 1 or len(turns.speaker_terms) < 3:  # the first stands for nobody
        return None
    like = _like(turns, ask, _others(ask, turns.speaker_terms[names[0]]), said)
    total = share = 0.0
    for doc in best_first(like, _READ).tolist():
        if like[doc] <= 0:
            break
        row = turns.rows[turns.doc_row.view[doc]]
        start, end = turns.span(doc)
        selfs, others = _persons(row.text[start:end])
        leaning = (selfs - others) / (selfs + others + 1.0)
        if turns.doc_speaker.view[doc] != names[0]:
            leaning = -leaning
        weight = float(like[doc]) ** 4
        total, share = total + weight, share + weight * leaning
    return share / total if total else None


def _persons(text: str) -> tuple[int, int]:
    """How often a passage says "I", and how often "you"."""
    return len(_OWN.findall(text)), len(_YOURS.findall(text))


def _like(turns: Turns, ask: Ask, others: Floats, said: Heard) -> Floats:
    """(docs,) how much passages resemble a question, names aside: half of it the share of
    its words that they hold, half their cosine; -inf for those that it may not see."""
    found = turns.lexicon.postings(ask.terms)
    rare = np.log1p(turns.docs / (1.0 + found.held)) * others
    share = rare / (rare.sum() or 1.0)
    held = np.bincount(found.docs, share[found.term], minlength=turns.docs)
    return said.masked((held.astype(np.float32) + said.cosine) * np.float32(0.5))


def closest(view: View, facts: Heard, turns: Heard) -> list[tuple[Kind, int]]:
    """The rows whose own words are most like the question, the nearest first."""
    many = len(facts.cosine)
    both = np.concatenate([facts.like, turns.like])
    rows: dict[tuple[Kind, int], None] = {}
    for _ in range(min(4 * _NEAR, len(both))):  # for so few, quicker than to sort
        at = int(both.argmax())
        if len(rows) == _NEAR or both[at] <= 0:
            break
        both[at] = _HIDDEN
        kind: Kind = "memory" if at < many else "turn"
        doc = at if at < many else at - many
        rows[kind, view.table(kind).doc_row.view.item(doc)] = None
    return list(rows)


@lru_cache(maxsize=4_096)
def _terms_of(word: str) -> tuple[int, ...]:
    return tuple(lexical(word).tolist())


def asked_words(ask: Ask) -> list[tuple[str, list[int]]]:
    """The question's words, as it has them, each with where in `ask.terms` those of its
    terms stand that count."""
    at = {term: n for n, term in enumerate(ask.terms.tolist())}
    words = dict.fromkeys(_WORD.findall(ask.query[:1_000]))
    of = [(word, [at[t] for t in _terms_of(word) if t in at]) for word in words]
    return [(word.removesuffix("'s"), terms) for word, terms in of if terms]


def lacking(
    view: View, found: Found, ask: Ask, words: list[tuple[str, list[int]]]
) -> tuple[str, ...]:
    """Those of the question's words that the passage found does not have."""
    postings = view.table(found.kind).lexicon.postings(ask.terms)
    held = frozenset(postings.term[postings.docs == found.doc].tolist())
    lacks = [word for word, terms in words if held.isdisjoint(terms)]
    return tuple(dict.fromkeys(lacks))[:_MOST_LACKS]
