"""What a passage says itself: meaning and words, its own and its window's, and names."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmem.rank.ask import Ask
from hmem.rank.lifts import Parts
from hmem.rank.masks import seen_turns
from hmem.rank.words import own_words, window_words
from hmem.scoring import Floats, Weights
from hmem.views.facts import Facts
from hmem.views.turns import Turns

_ZERO = np.float32(0)
_NEWEST = 20
"""How many of the newest turns without a vector get the benefit of the doubt: what was
said a moment ago must be found before it is embedded, an outage of hours must not drown
the rest."""


class Said(NamedTuple):
    """`parts`: (docs,) what each signal adds to the score of each passage. `cosine` and
    `words`: (docs,) what a passage's own meaning and words are worth before they are
    weighed, in 0..1; None where that signal has no say."""

    parts: Parts
    cosine: Floats | None = None
    words: Floats | None = None


def turn_signals(turns: Turns, ask: Ask, query: Floats | None, w: Weights) -> Said:
    """What passages of turns say of a question."""
    parts: Parts = {}
    if not turns.docs:
        return Said(parts)
    cosine = words = None
    seen = seen_docs(turns, ask)
    cosines = _cosines(turns, query, w, seen)
    if cosines is not None:
        cosine = _towards(cosines[0])
        parts["dense"] = cosine * np.float32(w.turn_dense)
        parts["window_dense"] = _towards(cosines[1]) * np.float32(w.turn_window_dense)
    if len(ask.terms):
        found = turns.lexicon.postings(ask.terms)
        words, window = (
            own_words(turns.lexicon, found),
            window_words(turns, found, seen),
        )
        parts["words"] = np.float32(w.turn_words) * words
        parts["window_words"] = np.float32(w.turn_window_words) * window
        spoken = _spoken_of(turns, ask)
        if spoken is not None:
            parts["speaker"] = np.float32(w.turn_speaker) * spoken
    return Said(
        parts, cosine if w.turn_dense else None, words if w.turn_words else None
    )


def seen_docs(turns: Turns, ask: Ask) -> NDArray[np.bool_] | None:
    """(docs,) what may stand in others' windows; None when that is all. What was said
    later, or is not the asker's to see, must not lift its neighbours."""
    seen = seen_turns(turns, ask)
    if seen is None or seen.all():
        return None
    docs: NDArray[np.bool_] = seen[turns.doc_row.view]
    return docs


def _towards(cosines: Floats) -> Floats:
    """Cosines of which one that points away counts nothing."""
    return np.maximum(cosines, _ZERO)


def _cosines(
    turns: Turns, query: Floats | None, w: Weights, seen: NDArray[np.bool_] | None
) -> tuple[Floats, Floats] | None:
    """(docs,) cosines of passages and of their windows with the question, None where
    there are none to be had.

    The newest turns that wait for their vector count as a fair match, the newest most:
    also when the question has no vector either, because the embedder is down.
    """
    if turns.index is None:
        return None
    waiting = turns.newest_without_vector(_NEWEST, seen)
    if query is not None:
        own = turns.dense(query)
        window = turns.windows(own, seen)
    elif len(waiting):
        own, window = np.zeros((2, turns.docs + 1), np.float32)
        window = window[:-1]
    else:
        return None
    if len(waiting):
        newer = np.arange(len(waiting)) / max(1, len(waiting) - 1)
        fair = np.float32(w.unembedded) * (1.0 + 0.2 * newer)
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


def fact_signals(facts: Facts, ask: Ask, query: Floats | None, w: Weights) -> Said:
    """What passages of facts say of a question."""
    parts: Parts = {}
    if not facts.docs:
        return Said(parts)
    cosine = words = None
    if query is not None:
        cosine = _towards(facts.dense(query)[:-1])
        parts["dense"] = cosine * np.float32(w.fact_dense)
    if len(ask.terms):
        words = own_words(facts.lexicon, facts.lexicon.postings(ask.terms))
        parts["words"] = np.float32(w.fact_words) * words
        named = facts.named(frozenset(ask.terms.tolist()))
        if named is not None:
            parts["named"] = np.float32(w.fact_named) * named[facts.doc_row.view]
    return Said(
        parts, cosine if w.fact_dense else None, words if w.fact_words else None
    )
