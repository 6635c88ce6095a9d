"""What a passage says itself: meaning and words, its own and its window's, and names."""

import numpy as np
from numpy.typing import NDArray

from hmem.rank.ask import Ask
from hmem.rank.masks import seen_turns
from hmem.rank.words import own_words, window_words
from hmem.scoring import Floats, Weights
from hmem.views.facts import Facts
from hmem.views.turns import Turns

_NEWEST = 20
"""How many of the newest turns without a vector get the benefit of the doubt: what was
said a moment ago must be found before it is embedded, an outage of hours must not drown
the rest."""


def turn_parts(
    turns: Turns, ask: Ask, query: Floats | None, w: Weights
) -> dict[str, Floats]:
    """(docs,) what each signal adds to the score of each passage of a turn."""
    if not turns.docs:
        return {}
    parts: dict[str, Floats] = {}
    seen = seen_docs(turns, ask)
    cosines = _cosines(turns, query, w, seen)
    if cosines is not None:
        parts["dense"] = _cosine(w.turn_dense, cosines[0])
        parts["window_dense"] = _cosine(w.turn_window_dense, cosines[1])
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
    return parts


def seen_docs(turns: Turns, ask: Ask) -> NDArray[np.bool_] | None:
    """(docs,) what may stand in others' windows; None when that is all. What was said
    later, or is not the asker's to see, must not lift its neighbours."""
    seen = seen_turns(turns, ask)
    if seen is None or seen.all():
        return None
    docs: NDArray[np.bool_] = seen[turns.doc_row.view]
    return docs


def _cosine(weight: float, cosines: Floats) -> Floats:
    """What a cosine adds to a score; one that points away counts nothing."""
    return np.maximum(cosines, np.float32(0)) * np.float32(weight)


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


def fact_parts(
    facts: Facts, ask: Ask, query: Floats | None, w: Weights
) -> dict[str, Floats]:
    """(docs,) what each signal adds to the score of each passage of a fact."""
    if not facts.docs:
        return {}
    parts: dict[str, Floats] = {}
    if query is not None:
        parts["dense"] = _cosine(w.fact_dense, facts.dense(query)[:-1])
    if len(ask.terms):
        found = facts.lexicon.postings(ask.terms)
        parts["words"] = np.float32(w.fact_words) * own_words(facts.lexicon, found)
        named = facts.named(frozenset(ask.terms.tolist()))
        if named is not None:
            parts["named"] = np.float32(w.fact_named) * named[facts.doc_row.view]
    return parts
