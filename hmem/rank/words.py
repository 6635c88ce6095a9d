"""How much of a question's words passages hold, and their windows: BM25 on a fixed scale.

1 means "all of the question's weight is there", for any question: BM25 over what a passage
of mean length would get that holds each of its words once.
"""

import numpy as np
from numpy.typing import NDArray

from hmem.scoring import K1, Floats, idf
from hmem.views.lexicon import Lexicon, Postings
from hmem.views.turns import Turns

_ONE = np.float32(1.0)


def own_words(lexicon: Lexicon, found: Postings) -> Floats:
    """(passages,) in [0, 1], from the postings of a question's terms (one at least)."""
    n, counts = len(lexicon.lengths), found.counts
    scores = counts + lexicon.norms[found.docs]
    np.divide(counts, scores, out=scores)
    scores *= _worth(found.held, n)[found.term]
    # Only what holds a term is touched: the rest of a large user costs nothing.
    whole = np.bincount(found.docs, weights=scores, minlength=n)
    return np.minimum(whole, 1.0).astype(np.float32)


def window_words(
    turns: Turns, found: Postings, seen: NDArray[np.bool_] | None = None
) -> Floats:
    """(passages,) in [0, 1]: the same of windows, as if each were a passage. Passages that
    `seen` leaves out are in nobody's window; what a word is worth is by all windows."""
    counts, norms = turns.window_counts(found), turns.window_norms
    held = np.array([np.count_nonzero(term) for term in counts > 0])
    if seen is not None:
        counts = turns.window_counts(_among(found, seen))
        norms = turns.window_norms_of(seen)
    norm = counts + norms
    np.divide(counts, norm, out=norm)
    scores: Floats = _worth(held, turns.docs) @ norm
    return np.minimum(scores, _ONE, out=scores)


def _among(found: Postings, seen: NDArray[np.bool_]) -> Postings:
    """The entries of some passages."""
    here = seen[found.docs]
    return found._replace(
        term=found.term[here], docs=found.docs[here], counts=found.counts[here]
    )


def _worth(held: NDArray[np.int64], n: int) -> Floats:
    """(terms,) each one's share of a question's weight, by how many of n passages hold
    it."""
    rare = idf(held, n)
    rare *= (K1 + 1.0) / rare.sum()
    return rare.astype(np.float32)
