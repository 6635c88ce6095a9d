"""What turns and facts have in common: rows, their passages, postings and vectors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import LexicalRows, ScoresAll, VectorIndex
from hmem.views.grow import Grow
from hmem.views.lexicon import Lexicon
from hmem.views.rows import R, Rows
from hmem.views.sieve import Sieve

if TYPE_CHECKING:
    from hmem.filters.rows import RowFilter


FOREVER = np.iinfo(np.int64).max
"""Stands for "no end" in a time column."""
_NO_DOCS: NDArray[np.int64] = np.empty(0, np.int64)


class Labels:
    """Strings as small ints; None is 0."""

    def __init__(self) -> None:
        self.numbers: dict[str | None, int] = {None: 0}
        self.names: list[str | None] = [None]

    def number(self, name: str | None) -> int:
        """The number of a name, given now if it has none."""
        n = self.numbers.setdefault(name, len(self.names))
        if n == len(self.names):
            self.names.append(name)
        return n


class Table(Generic[R]):
    """Rows of one kind in sequence order. A *doc* is one passage of one row."""

    def __init__(self, index: VectorIndex | None) -> None:
        self.rows = Rows[R]()
        self.seqs = Grow(np.int64)
        self.first_doc = Grow(np.int32)
        self.doc_row = Grow(np.int32)
        self.agents, self.sessions = Labels(), Labels()
        self.agent, self.session = Grow(np.int32), Grow(np.int32)
        self.lexicon = Lexicon()
        self.sieve = Sieve()
        self.index = index
        self.text_bytes = 0
        self.docs = self.embedded = 0  # passages held, and how many have a vector
        self.scan = index if isinstance(index, ScoresAll) else None
        self._in_order = True

    def __len__(self) -> int:
        return len(self.rows)

    def append_rows(self, rows: Sequence[R]) -> NDArray[np.int32]:
        """Add rows with higher sequences than any held; returns their docs."""
        start = self.docs
        passages = np.fromiter((len(r.ends) for r in rows), np.int32, len(rows))
        firsts = start + np.cumsum(passages, dtype=np.int32) - passages
        base = len(self.rows)
        self.rows.extend(rows)
        self.seqs.extend([r.seq for r in rows])
        self.first_doc.extend(firsts)
        self.doc_row.extend(np.repeat(np.arange(base, base + len(rows)), passages))
        self.docs = len(self.doc_row)
        self.text_bytes += sum(len(r.text) for r in rows)
        return np.arange(start, self.docs, dtype=np.int32)

    def row_of(self, seq: int) -> int | None:
        """The position of a row, None when it is not held."""
        at = int(np.searchsorted(self.seqs.view, seq))
        return at if at < len(self.rows) and self.seqs.view[at] == seq else None

    def docs_of(self, keys: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Docs of (seq, passage) keys; -1 for one that is not held."""
        if not self.rows:
            return np.full(len(keys), -1)
        seqs = keys[:, 0].astype(np.int64)
        at = np.minimum(np.searchsorted(self.seqs.view, seqs), len(self.rows) - 1)
        docs = self.first_doc.view[at].astype(np.int64) + keys[:, 1]
        held = (docs < self.docs) & (self.seqs.view[at] == seqs)
        held &= self.doc_row.view[np.minimum(docs, self.docs - 1)] == at
        return np.where(held, docs, -1)

    def fits(self, keep: "RowFilter") -> NDArray[np.bool_]:
        """(rows,) which rows fit a filter. Not to be written to."""
        return self.sieve.mask(keep, self.rows)

    def lacking(self, keep: "RowFilter") -> frozenset[str]:
        """The filter's keys that are no label and that no row has."""
        return self.sieve.lacking(keep, self.rows)

    def append_lexical(self, rows: LexicalRows) -> None:
        """Add the postings of the passages that follow those held."""
        self.lexicon.extend(rows.lengths, rows.tokens)

    def put_vectors(
        self, docs: NDArray[np.int64], vectors: NDArray[np.float32]
    ) -> NDArray[np.int64]:
        """Set vectors of docs; returns the docs that were held."""
        if self.index is None:
            return docs[:0]
        held = docs >= 0
        put = docs[held]
        ahead = np.arange(self.embedded, self.embedded + len(put))
        self._in_order = self._in_order and np.array_equal(put, ahead)
        self.index.add(put.astype(np.uint64), vectors[held])
        self.embedded = len(self.index)
        return put

    def dense(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """(docs + 1) cosines, zero without a vector; the last one is the missing
        neighbour."""
        out = np.zeros(self.docs + 1, np.float32)
        if self.index is None or not self.embedded:
            return out
        if self.scan is None:
            scores, ids = self.index.search(query, self.embedded)
            out[ids.astype(np.int64)] = scores
        elif self._in_order:
            out[: self.embedded] = self.scan.scores(query)
        else:
            out[self.index.ids.astype(np.int64)] = self.scan.scores(query)
        return out

    def without_vector(self, docs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some docs that have no vector yet."""
        if self.index is None:
            return docs
        if self._in_order:
            return docs[docs >= self.embedded]
        return docs[~np.isin(docs, self.index.ids)]

    def newest_without_vector(
        self, most: int, seen: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """The last docs that have no vector, of the last few that `seen` (docs) lets
        through (None: all)."""
        if self.embedded == self.docs:
            return _NO_DOCS
        if seen is None:
            tail = np.arange(max(0, self.docs - 4 * most), self.docs)
        else:
            tail = np.flatnonzero(seen)[-4 * most :]
        return self.without_vector(tail)[-most:]

    @property
    def unembedded(self) -> NDArray[np.int64]:
        """All docs that have no vector."""
        if self.embedded == self.docs:
            return _NO_DOCS
        if self.index is None or self._in_order:
            return np.arange(self.embedded, self.docs, dtype=np.int64)
        lacks = np.ones(self.docs, np.bool_)
        lacks[self.index.ids.astype(np.int64)] = False
        return np.flatnonzero(lacks)

    def passage(self, doc: int) -> tuple[tuple[int, ...], int]:
        """Where the passages of a doc's row end, and which of them it is."""
        at = self.doc_row.view.item(doc)
        return self.rows.ends(at), doc - self.first_doc.view.item(at)

    def docs_at(self, at: int) -> range:
        """The docs of the row at a position."""
        first = self.first_doc.view.item(at)
        return range(first, first + len(self.rows.ends(at)))

    def span(self, doc: int) -> tuple[int, int]:
        """Where in its row's text a doc stands."""
        ends, part = self.passage(doc)
        return (ends[part - 1] if part else 0), ends[part]

    @property
    def nbytes(self) -> int:
        """Bytes held, texts at one byte a character and 600 a row for its objects."""
        columns = (
            *(self.seqs, self.first_doc, self.doc_row, self.agent, self.session),
            *(self.lexicon, self.sieve),
        )
        held = sum(c.nbytes for c in columns) + self.text_bytes + 600 * len(self.rows)
        return held + (self.index.nbytes if self.index is not None else 0)


def best_passage(table: "Table[Any]", docs: NDArray[np.float32]) -> NDArray[np.float32]:
    """(rows,) the highest of each row's values, from one per passage."""
    if table.docs == len(table):
        return docs
    return np.maximum.reduceat(docs, table.first_doc.view)


def of_docs(table: "Table[Any]", rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """(docs,) each passage's row's value; the same array where each row has one."""
    if table.docs == len(table):
        return rows
    spread: NDArray[np.float32] = rows[table.doc_row.view]
    return spread
