"""Postings of one user's passages: which passage holds which token how often."""

import numpy as np
from numpy.typing import NDArray

from hmem.views.grow import Grow

Hashes = NDArray[np.uint32]
Docs = NDArray[np.int64]
_TAIL = 4096
"""Tokens kept beside the sorted base before the two are merged: one merge per that many
tokens keeps an append cheap, and a tail of this size costs a query microseconds."""


class Lexicon:
    """An inverted form over token hashes, extended in place."""

    def __init__(self) -> None:
        self.lengths = Grow(np.float32)
        self._base: tuple[Hashes, Docs] = _sorted(_NO_TOKENS, _NO_DOCS)
        self._tail: tuple[Hashes, Docs] = self._base
        self._total = 0.0

    def extend(self, lengths: NDArray[np.uint32], tokens: Hashes) -> None:
        """Append passages; passage i has the next `lengths[i]` of `tokens`."""
        first = len(self.lengths)
        docs = np.repeat(
            np.arange(first, first + len(lengths), dtype=np.int64), lengths
        )
        self.lengths.extend(lengths)
        self._total += float(lengths.sum())
        tail = _joined(self._tail, (tokens, docs))
        if len(tail[0]) > max(_TAIL, len(self._base[0]) // 4):
            self._base, tail = _sorted(*_joined(self._base, tail)), _EMPTY
        self._tail = _sorted(*tail)

    def counts(self, terms: Hashes) -> NDArray[np.float32]:
        """(terms, passages + 1) term frequencies; the last column is zero: it stands for
        the neighbour that a first or last passage does not have."""
        width = len(self.lengths) + 1
        cells: list[NDArray[np.int64]] = []
        for tokens, docs in (self._base, self._tail):
            if len(tokens):
                lo = tokens.searchsorted(terms, "left").tolist()
                hi = tokens.searchsorted(terms, "right").tolist()
                cells += [
                    docs[a:b] + i * width
                    for i, (a, b) in enumerate(zip(lo, hi, strict=True))
                    if a < b
                ]
        if not cells:
            return np.zeros((len(terms), width), np.float32)
        flat = np.bincount(np.concatenate(cells), minlength=len(terms) * width)
        return flat.astype(np.float32).reshape(len(terms), width)

    @property
    def mean_length(self) -> float:
        """Tokens per passage; 1 for an empty lexicon."""
        return self._total / len(self.lengths) if self._total else 1.0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        parts = (*self._base, *self._tail)
        return self.lengths.nbytes + sum(part.nbytes for part in parts)


def _sorted(tokens: Hashes, docs: Docs) -> tuple[Hashes, Docs]:
    order = np.argsort(tokens, kind="stable")
    return tokens[order], docs[order]


def _joined(a: tuple[Hashes, Docs], b: tuple[Hashes, Docs]) -> tuple[Hashes, Docs]:
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


_NO_TOKENS: Hashes = np.empty(0, np.uint32)
_NO_DOCS: Docs = np.empty(0, np.int64)
_EMPTY = (_NO_TOKENS, _NO_DOCS)
