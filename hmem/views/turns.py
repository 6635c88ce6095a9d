"""Raw turns of one user, with each passage's neighbours."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import TurnRow, VectorIndex
from hmem.text import lexical
from hmem.views.grow import Grow
from hmem.views.lexicon import Postings, norms
from hmem.views.places import Places
from hmem.views.table import Labels, Table

_GAP = 3_600 * 1_000_000
"""Turns without a session that lie further apart (micros) are no neighbours."""
_AT_LENGTH = 2.0
"""How many times as long an assistant's turns are as its user's, at least: four times in
BEAM, the same between people."""
_NEXT, _NEXT_BUT_ONE = np.float32(0.75), np.float32(0.5)
"""What a word counts in the window of a passage one and two away. Chosen on the two LoCoMo
dev conversations among eight shapes; all that reach two away are within half a point."""


class Turns(Table[TurnRow]):
    """Turns; `before` and `after` name each doc's neighbours in its session, -1 for none,
    `before_that` and `after_that` the neighbours' own on the far side.

    The *window* of a doc is itself and its neighbours. Its vector is the mean of theirs,
    derived from their scores and `window_norm`, never stored. Its words reach one further.
    """

    def __init__(self, index: VectorIndex | None) -> None:
        super().__init__(index)
        self.observed, self.recorded = Grow(np.int64), Grow(np.int64)
        self.job, self.doc_speaker = Grow(np.int64), Grow(np.int32)
        self.speakers, self.speaker_terms = Labels(), [frozenset[int]()]
        self.before, self.after = Grow(np.int64), Grow(np.int64)
        self.before_that, self.after_that = Grow(np.int64), Grow(np.int64)
        self.places = Places()
        self.users_own = Grow(np.bool_)
        self._said = {True: [0, 0], False: [0, 0]}  # turns and characters, by users_own
        self.window_norm = Grow(np.float32)
        self._last: dict[int, int] = {}
        self._window_norms: NDArray[np.float32] | None = None
        self._seen_norms: tuple[NDArray[np.bool_], NDArray[np.float32]] | None = None

    def append(self, rows: Sequence[TurnRow]) -> None:
        """Add new turns, in sequence order."""
        docs = self.append_rows(rows)
        self._window_norms = self._seen_norms = None
        self.observed.extend([r.observed_at for r in rows])
        self.recorded.extend([r.recorded_at for r in rows])
        self.job.extend([r.job for r in rows])
        self.agent.extend([self.agents.number(r.agent_id) for r in rows])
        self.session.extend([self.sessions.number(r.session_id) for r in rows])
        speakers = [self._speaker(r) for r in rows]
        self.doc_speaker.extend(np.repeat(speakers, [len(r.ends) for r in rows]))
        self.window_norm.extend(np.ones(len(docs), np.float32))
        nobody = np.full(len(docs), -1)
        for neighbours in self._neighbours:
            neighbours.extend(nobody)
        self.places.extend(len(rows))
        self._whose(rows)
        for doc in docs.tolist():
            self._join(doc)

    @property
    def _neighbours(self) -> tuple[Grow, Grow, Grow, Grow]:
        return self.before, self.after, self.before_that, self.after_that

    def _whose(self, rows: Sequence[TurnRow]) -> None:
        """Tell the user's own words from an assistant's or a tool's. A turn with a name is
        a person's, whatever its role."""
        own = [r.role == "user" or r.name is not None for r in rows]
        self.users_own.extend(own)
        for row, mine in zip(rows, own, strict=True):
            said = self._said[mine]
            said[0] += 1
            said[1] += len(row.text)

    @property
    def of_two_kinds(self) -> bool:
        """Whether some turns are the user's own words and others an assistant's, which
        writes at length: of two people who chat, neither comes first, whatever role they
        were given."""
        (own, own_chars), (others, their_chars) = self._said[True], self._said[False]
        return (
            bool(own and others)
            and their_chars * own >= _AT_LENGTH * own_chars * others
        )

    def _speaker(self, row: TurnRow) -> int:
        n = self.speakers.number(row.name)
        if n == len(self.speaker_terms):
            self.speaker_terms.append(frozenset(lexical(row.name or "").tolist()))
        return n

    def _join(self, doc: int) -> None:
        """Make a new doc the neighbour of the last one of its session."""
        at = int(self.doc_row.view[doc])
        last = self._before(doc, at)
        if last < 0:
            self.places.begin(at)
            return
        last_row = int(self.doc_row.view[last])
        if last_row != at:
            self.places.follow(at, last_row)
        self.before.view[doc], self.after.view[last] = last, doc
        over = int(self.before.view[last])
        if over >= 0:
            self.before_that.view[doc], self.after_that.view[over] = over, doc

    def _before(self, doc: int, at: int) -> int:
        """The doc that a new one of row `at` follows, -1 where it follows none."""
        session = int(self.session.view[at])
        last = self._last.get(session, -1)
        self._last[session] = doc
        if last >= 0 and not session:
            gap = self.observed.view[at] - self.observed.view[self.doc_row.view[last]]
            if abs(int(gap)) > _GAP:
                return -1
        return last

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
        self._seen_norms = None
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

    @property
    def window_norms(self) -> NDArray[np.float32]:
        """(docs,) BM25's length norms of the windows of words."""
        if self._window_norms is None:
            lengths = self._around(np.append(self.lexicon.lengths.view, np.float32(0)))
            self._window_norms = norms(lengths, float(lengths.mean()) or 1.0)
        return self._window_norms

    def window_norms_of(self, seen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The same without the words of docs that `seen` leaves out, against the mean of
        all windows."""
        lengths = np.append(self.lexicon.lengths.view, np.float32(0))
        mean = float(self._around(lengths).mean()) or 1.0
        lengths[:-1] *= seen
        return norms(self._around(lengths), mean)

    def _around(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """(docs,) each doc's value and its neighbours', which count less the further away
        they are. The last value, of no doc, is 0."""
        total = values.take(self.before.view)
        total += values.take(self.after.view)
        total *= _NEXT
        far = values.take(self.before_that.view)
        far += values.take(self.after_that.view)
        far *= _NEXT_BUT_ONE
        total += far
        total += values[:-1]
        return total

    def window_counts(self, found: Postings) -> NDArray[np.float32]:
        """(terms, docs) term frequencies of the windows, from the terms' postings: a word
        counts less the further away it stands."""
        width = self.docs + 1
        counts = np.zeros(len(found.held) * width, np.float32)
        row, docs = found.term * width, found.docs
        counts[row + docs] = found.counts
        next_, far = found.counts * _NEXT, found.counts * _NEXT_BUT_ONE
        # A doc is the neighbour of its neighbours. Each has one on a side, so nothing is
        # written twice but what a doc at an end gives to nobody: -1, the end of a row.
        for side in (self.before, self.after):
            counts[row + side.view[docs]] += next_
        for side in (self.before_that, self.after_that):
            counts[row + side.view[docs]] += far
        return counts.reshape(-1, width)[:, :-1]

    def windows(
        self, own: NDArray[np.float32], seen: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float32]:
        """(docs,) cosines of the windows, from `dense()` of the same query. Docs that
        `seen` leaves out are in nobody's window; their own count nothing."""
        if seen is not None:
            own = np.where(np.append(seen, np.False_), own, np.float32(0))
        total = own.take(self.before.view)
        total += own.take(self.after.view)
        total += own[:-1]
        total /= self.window_norm.view if seen is None else self._norms_of(seen)
        return total

    def _norms_of(self, seen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """(docs,) lengths of the windows' sums, of docs that are seen. Those of the last
        question are kept: an agent asks for the same rows again."""
        if self._seen_norms is None or not np.array_equal(self._seen_norms[0], seen):
            self._seen_norms = seen, self._sums_of(seen)
        return self._seen_norms[1]

    def _sums_of(self, seen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The same, by a read-back where a window loses a neighbour and keeps another."""
        out: NDArray[np.float32] = self.window_norm.view.copy()
        sides = self.before.view, self.after.view
        padded = np.append(seen, np.False_)
        kept = np.array([padded[side] for side in sides])
        loses = (np.array([side >= 0 for side in sides]) & ~kept).any(axis=0) & seen
        out[loses & ~kept.any(axis=0)] = 1.0
        pairs = np.flatnonzero(loses & kept.any(axis=0))
        if len(pairs) and self.scan is not None:
            other = np.where(kept[0, pairs], sides[0][pairs], sides[1][pairs])
            total = self.scan.vectors(pairs.astype(np.uint64))
            total += self.scan.vectors(other.astype(np.uint64))
            norm = np.sqrt(np.einsum("ij,ij->i", total, total))
            out[pairs] = np.where(norm > 1e-6, norm, 1.0)
        return out

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        columns = (self.observed, self.recorded, self.job, self.doc_speaker)
        more = (*self._neighbours, self.window_norm, self.places, self.users_own)
        return super().nbytes + sum(c.nbytes for c in (*columns, *more))
