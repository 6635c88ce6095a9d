"""Raw turns of one user, with each passage's neighbours."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import TurnRow, VectorIndex
from hmem.text import lexical
from hmem.views.grow import Grow
from hmem.views.table import Labels, Table

_GAP = 3_600 * 1_000_000
"""Turns without a session that lie further apart (micros) are no neighbours."""


class Turns(Table[TurnRow]):
    """Turns; `before` and `after` name each doc's neighbours in its session, -1 for none.

    The *window* of a doc is itself and its neighbours. Its vector is the mean of theirs,
    derived from their scores and `window_norm`, never stored.
    """

    def __init__(self, index: VectorIndex | None) -> None:
        super().__init__(index)
        self.observed, self.recorded = Grow(np.int64), Grow(np.int64)
        self.job, self.doc_speaker = Grow(np.int64), Grow(np.int32)
        self.speakers, self.speaker_terms = Labels(), [frozenset[int]()]
        self.before, self.after = Grow(np.int64), Grow(np.int64)
        self.window_norm = Grow(np.float32)
        self._last: dict[int, int] = {}
        self._window_lengths: tuple[NDArray[np.float32], float] | None = None

    def append(self, rows: Sequence[TurnRow]) -> None:
        """Add new turns, in sequence order."""
        docs = self.append_rows(rows)
        self._window_lengths = None
        self.observed.extend([r.observed_at for r in rows])
        self.recorded.extend([r.recorded_at for r in rows])
        self.job.extend([r.job for r in rows])
        self.agent.extend([self.agents.number(r.agent_id) for r in rows])
        self.session.extend([self.sessions.number(r.session_id) for r in rows])
        speakers = [self._speaker(r) for r in rows]
        self.doc_speaker.extend(np.repeat(speakers, [len(r.ends) for r in rows]))
        self.window_norm.extend(np.ones(len(docs)))
        self.before.extend(np.full(len(docs), -1))
        self.after.extend(np.full(len(docs), -1))
        for doc in docs.tolist():
            self._join(doc)

    def _speaker(self, row: TurnRow) -> int:
        n = self.speakers.number(row.name)
        if n == len(self.speaker_terms):
            self.speaker_terms.append(frozenset(lexical(row.name or "").tolist()))
        return n

    def _join(self, doc: int) -> None:
        """Make a new doc the neighbour of the last one of its session."""
        at = int(self.doc_row.view[doc])
        session = int(self.session.view[at])
        last = self._last.get(session, -1)
        self._last[session] = doc
        if last < 0:
            return
        if not session:
            gap = self.observed.view[at] - self.observed.view[self.doc_row.view[last]]
            if abs(int(gap)) > _GAP:
                return
        self.before.view[doc], self.after.view[last] = last, doc

    def put_vectors(
        self, docs: NDArray[np.int64], vectors: NDArray[np.float32]
    ) -> NDArray[np.int64]:
        """Set vectors of docs, and renew the windows that they are part of."""
        held = super().put_vectors(docs, vectors)
        if len(held):
            self._renew_windows(held, vectors[docs >= 0])
        return held

    def _renew_windows(
        self, docs: NDArray[np.int64], vectors: NDArray[np.float32]
    ) -> None:
        around = np.concatenate([docs, self.before.view[docs], self.after.view[docs]])
        centres = np.unique(around[around >= 0])
        needed = np.concatenate(
            [centres, self.before.view[centres], self.after.view[centres]]
        )
        needed = np.unique(needed[needed >= 0])
        rows = self._vectors(needed, docs, vectors)
        total = np.zeros((len(centres), vectors.shape[1]), np.float32)
        for neighbour in (centres, self.before.view[centres], self.after.view[centres]):
            here = neighbour >= 0
            total[here] += rows[np.searchsorted(needed, neighbour[here])]
        norm = np.sqrt(np.einsum("ij,ij->i", total, total))
        self.window_norm.view[centres] = np.where(norm > 1e-6, norm, 1.0)

    def _vectors(
        self,
        needed: NDArray[np.int64],
        docs: NDArray[np.int64],
        vectors: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Vectors of docs as the index holds them: the new ones, and neighbours' by a
        read-back of what was put before."""
        out = np.zeros((len(needed), vectors.shape[1]), np.float32)
        if self.scan is not None:
            out[:] = self.scan.vectors(needed.astype(np.uint64))
        out[np.searchsorted(needed, docs)] = vectors
        return out

    def window_lengths(self) -> tuple[NDArray[np.float32], float]:
        """(docs,) tokens of each window, and their mean."""
        if self._window_lengths is None or len(self._window_lengths[0]) != self.docs:
            padded = np.append(self.lexicon.lengths.view, np.float32(0))
            lengths = self._around(padded)
            self._window_lengths = lengths, float(lengths.mean()) or 1.0
        return self._window_lengths

    def window_counts(self, counts: NDArray[np.float32]) -> NDArray[np.float32]:
        """(terms, docs) term frequencies of the windows, from `lexicon.counts()`."""
        return self._around(counts)

    def _around(self, own: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sums over windows of (..., docs + 1) values, the last of them zero."""
        total = own.take(self.before.view, axis=-1)
        total += own.take(self.after.view, axis=-1)
        total += own[..., :-1]
        return total

    def windows(self, own: NDArray[np.float32]) -> NDArray[np.float32]:
        """(docs,) cosines of the windows, from `dense()` of the same query."""
        total = self._around(own)
        total /= self.window_norm.view
        return total

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        columns = (self.observed, self.recorded, self.job, self.doc_speaker)
        more = (self.before, self.after, self.window_norm)
        return super().nbytes + sum(c.nbytes for c in (*columns, *more))
