"""Postings of one user's passages: which passage holds which token how often."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmem.scoring import K1, B
from hmem.views.grow import Grow

Hashes = NDArray[np.uint32]
Docs = NDArray[np.int64]
Counts = NDArray[np.float32]
_KEPT = 4096
"""Postings of the last question that are kept for those who ask for them again."""
_TAIL = 4096
"""Postings kept beside the sorted base before the two are merged: one merge per that many
keeps an append cheap, and a tail of this size costs a query microseconds."""


class Postings(NamedTuple):
    """Which passages hold which of some terms: one entry per term and passage, term by
    term. Entry i says that the term at `term[i]` stands `counts[i]` times in the passage
    `docs[i]`; `held` (terms,) says in how many passages each term is."""

    term: NDArray[np.int64]
    docs: Docs
    counts: Counts
    held: NDArray[np.int64]


class Lexicon:
    """An inverted form over token hashes, extended in place."""

    def __init__(self) -> None:
        self.lengths = Grow(np.float32)
        self._base = self._tail = _NONE
        self._total = 0.0
        self._norms: Counts | None = None
        self._last: tuple[Hashes, Postings] | None = None

    def extend(self, lengths: NDArray[np.uint32], tokens: Hashes) -> None:
        """Append passages; passage i has the next `lengths[i]` of `tokens`."""
        first = len(self.lengths)
        docs = np.repeat(
            np.arange(first, first + len(lengths), dtype=np.int64), lengths
        )
        self.lengths.extend(lengths)
        self._total += float(lengths.sum())
        self._norms = self._last = None
        tail = _joined(self._tail, _counted(tokens, docs))
        if len(tail.tokens) > max(_TAIL, len(self._base.tokens) // 4):
            self._base, tail = _joined(self._base, tail), _NONE
        self._tail = tail

    def postings(self, terms: Hashes) -> Postings:
        """The entries of some terms; of each term those of earlier passages first. Asked
        again for the same array, as one search does, it gives the same answer."""
        if self._last is not None and self._last[0] is terms:
            return self._last[1]
        found = self._found(terms)
        if len(found.docs) <= _KEPT:
            self._last = terms, found
        return found

    def _found(self, terms: Hashes) -> Postings:
        cuts: list[tuple[_Block, int, int]] = []
        each: list[int] = []
        base, tail = self._base.found(terms), self._tail.found(terms)
        for (a, b), (c, d) in zip(base, tail, strict=True):
            each.append(b - a + d - c)
            if a < b:
                cuts.append((self._base, a, b))
            if c < d:
                cuts.append((self._tail, c, d))
        held = np.array(each, np.int64)
        if not cuts:
            return Postings(_NO_DOCS, _NO_DOCS, _NO_COUNTS, held)
        return Postings(
            np.repeat(np.arange(len(terms)), held),
            np.concatenate([block.docs[a:b] for block, a, b in cuts]),
            np.concatenate([block.counts[a:b] for block, a, b in cuts]),
            held,
        )

    def counts(self, terms: Hashes) -> Counts:
        """(terms, passages + 1) term frequencies; the last column is zero: it stands for
        the neighbour that a first or last passage does not have."""
        found = self.postings(terms)
        out = np.zeros((len(terms), len(self.lengths) + 1), np.float32)
        out[found.term, found.docs] = found.counts
        return out

    def uses(
        self, terms: Hashes, seen: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """(terms,) how often each is used in the passages that `seen` lets through (None:
        in all)."""
        found = self.postings(terms)
        counts = found.counts if seen is None else found.counts * seen[found.docs]
        used = np.bincount(found.term, weights=counts, minlength=len(terms))
        return used.astype(np.float64, copy=False)

    @property
    def terms(self) -> Hashes:
        """The terms that any passage holds, in order."""
        return np.union1d(self._base.tokens, self._tail.tokens)

    @property
    def norms(self) -> Counts:
        """(passages,) what BM25 adds to a term's count: `norms(lengths)`."""
        if self._norms is None:
            self._norms = norms(self.lengths.view, self.mean_length)
        return self._norms

    @property
    def mean_length(self) -> float:
        """Tokens per passage; 1 for an empty lexicon."""
        return self._total / len(self.lengths) if self._total else 1.0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        parts = (*self._base, *self._tail)
        return 2 * self.lengths.nbytes + sum(part.nbytes for part in parts)


def norms(lengths: NDArray[np.float32], mean: float) -> Counts:
    """(n,) BM25's length norms."""
    return np.asarray(K1 * (1.0 - B + B * lengths / np.float32(mean)), np.float32)


class _Block(NamedTuple):
    """Entries by token, then by passage."""

    tokens: Hashes
    docs: Docs
    counts: Counts

    def found(self, terms: Hashes) -> list[tuple[int, int]]:
        """Where each term's entries begin and end."""
        lo = self.tokens.searchsorted(terms, "left").tolist()
        hi = self.tokens.searchsorted(terms, "right").tolist()
        return list(zip(lo, hi, strict=True))


def _counted(tokens: Hashes, docs: Docs) -> _Block:
    """Tokens and the passages they stand in, passage by passage, as entries."""
    order = np.argsort(tokens, kind="stable")
    tokens, docs = tokens[order], docs[order]
    first = np.ones(len(tokens), np.bool_)
    first[1:] = (tokens[1:] != tokens[:-1]) | (docs[1:] != docs[:-1])
    at = np.flatnonzero(first)
    counts = np.empty(len(at), np.float32)
    np.subtract(at[1:], at[:-1], out=counts[:-1], casting="unsafe")
    counts[-1:] = len(tokens) - at[-1:]
    return _Block(tokens[at], docs[at], counts)


def _joined(a: _Block, b: _Block) -> _Block:
    """The entries of two blocks; b's passages are later ones than a's."""
    if not len(a.tokens):
        return b
    tokens = np.concatenate([a.tokens, b.tokens])
    order = np.argsort(tokens, kind="stable")
    docs = np.concatenate([a.docs, b.docs])
    counts = np.concatenate([a.counts, b.counts])
    return _Block(tokens[order], docs[order], counts[order])


_NO_DOCS: Docs = np.empty(0, np.int64)
_NO_COUNTS: Counts = np.empty(0, np.float32)
_NONE = _Block(np.empty(0, np.uint32), _NO_DOCS, _NO_COUNTS)
