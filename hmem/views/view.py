"""A view: everything of one user that a search needs, kept up to date by deltas."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import Delta, Mark, Space, VectorIndex, VectorRows
from hmem.records import Episode, Kind, MemoryRecord
from hmem.vectors import codec
from hmem.views.batches import lexical_batches, vector_batches
from hmem.views.facts import Facts
from hmem.views.records import episode_record, memory_record
from hmem.views.sources import Sources
from hmem.views.turns import Turns

MakeIndex = Callable[[int], VectorIndex]
_FEW_JOBS = 8
_RECORDS = 512
"""Records kept: making one takes 3 to 8 microseconds, but each is one more object that the
garbage collector goes through."""


class View:
    """One user's turns and facts. Not thread-safe: one writer, and no reader meanwhile."""

    def __init__(
        self, user_id: str, space: Space | None, make_index: MakeIndex
    ) -> None:
        self.user_id = user_id
        self.space = space
        self._make_index = make_index
        self.mark: Mark | None = None
        self._clear()

    def _clear(self) -> None:
        dim = self.space.dim if self.space else None
        self.turns = Turns(self._make_index(dim) if dim else None)
        self.facts = Facts(self._make_index(dim) if dim else None)
        self.sources = Sources()
        self.pending: frozenset[int] = frozenset()
        self._waiting: NDArray[np.bool_] | None = None
        self._records: dict[tuple[Kind, int], MemoryRecord | Episode] = {}

    def apply(self, delta: Delta) -> None:
        """Take over what changed."""
        if delta.whole:
            self._clear()
        self.mark = delta.mark
        self.pending, self._waiting = delta.pending, None
        if delta.turns:
            self.sources.add_turns(len(self.turns), delta.turns)
            self.turns.append(delta.turns)
        if delta.memories:
            self.facts.put(delta.memories, delta.former)
            self.sources.add_facts(self.facts.placed(delta.memories))
            self._records = {k: v for k, v in self._records.items() if k[0] == "turn"}
        for lexical in lexical_batches(delta.lexical):
            self.table(lexical.kind).append_lexical(lexical)
        for vectors in vector_batches(delta.vectors):
            self._put_vectors(vectors)
        self.facts.put_entities(delta.entities)

    def _put_vectors(self, rows: VectorRows) -> None:
        if self.space is None or rows.space != self.space.id:
            return
        table = self.table(rows.kind)
        vectors = codec(rows.codec).decode(rows.codes, self.space.dim)
        docs = table.docs_of(rows.keys)
        last = _last_of_each(docs)
        table.put_vectors(docs[last], vectors[last])

    def table(self, kind: Kind) -> "Turns | Facts":
        """The rows of a kind."""
        return self.turns if kind == "turn" else self.facts

    def unembedded(self, kind: Kind) -> NDArray[np.int64]:
        """Docs that have no vector and that no job will give one. A fact does not say
        which job it came with: while jobs wait, no fact counts."""
        docs = self.table(kind).unembedded
        if not len(docs) or not self.pending:
            return docs
        if kind == "memory":
            return docs[:0]
        free = ~self.waiting[self.turns.doc_row.view[docs]]
        return np.asarray(docs[free])

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """(turns,) whether a turn's job has not ended. Not to be written to."""
        if self._waiting is None:
            jobs = self.turns.job.view
            if len(self.pending) > _FEW_JOBS:
                self._waiting = np.isin(jobs, list(self.pending))
            else:
                self._waiting = np.zeros(len(jobs), np.bool_)
                for job in self.pending:
                    self._waiting |= jobs == job
        return self._waiting

    def record(self, kind: Kind, at: int) -> MemoryRecord | Episode:
        """The row at a position as a record; the last few are kept."""
        known = self._records.get((kind, at))
        if kind == "turn":
            pending = (
                bool(self.pending) and self.turns.job.view.item(at) in self.pending
            )
            if isinstance(known, Episode) and known.pending == pending:
                return known
            made: MemoryRecord | Episode = episode_record(
                self.user_id, self.turns.rows[at], pending=pending
            )
        else:
            if known is not None:
                return known
            made = memory_record(self.user_id, self.facts.rows[at])
        if len(self._records) >= _RECORDS:
            del self._records[next(iter(self._records))]
        self._records[kind, at] = made
        return made

    @property
    def docs(self) -> int:
        """Passages held."""
        return self.turns.docs + self.facts.docs

    @property
    def things(self) -> int:
        """Passages, vectors and records held: costs nothing, and grows as `nbytes` does."""
        vectors = self.turns.embedded + self.facts.embedded
        return self.docs + vectors + len(self._records)

    @property
    def nbytes(self) -> int:
        """Bytes held, texts and records included (an estimate for Python's objects)."""
        held = self.turns.nbytes + self.facts.nbytes + self.sources.nbytes
        return held + 900 * len(self._records) + 2_000


def _last_of_each(docs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of the last occurrence of each held doc, in order."""
    _, first_reversed = np.unique(docs[::-1], return_index=True)
    last = np.sort(len(docs) - 1 - first_reversed)
    return np.asarray(last[docs[last] >= 0])
