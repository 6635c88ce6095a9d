"""What the write path reads of a user before it decides: what came before, what is known
already, and what says the same."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hmem.extract import Shown
from hmem.protocols import MemoryRow, TurnRow
from hmem.rank import Ask, rank
from hmem.reconcile import Near
from hmem.retrieve import Retriever
from hmem.scoring import Weights
from hmem.text import query_tokens
from hmem.times import from_micros
from hmem.views import View
from hmem.views.table import FOREVER

SIMILAR = 12
"""Memories shown to the model; each costs some 25 tokens."""
FEW = 24
"""Open facts of a user up to which all are shown: then nothing depends on what resembles
what, and what has changed is not missed because it was said in other words."""
RECENT = 6
"""Turns before the new ones that are shown for context."""
_PER_TURN = 4
_MOST_QUERIES = 24
_QUERY_CHARS = 1_000

_OWN_TEXT = Weights(fact_sources=0.0)
"""What a fact says itself is what may be replaced, not the turns around its own."""

Matrix = NDArray[np.float32]


class Recall:
    """Reads users' views for the write path."""

    def __init__(self, retriever: Retriever) -> None:
        self._views = retriever.views

    async def embedded(self, user_id: str, seqs: Sequence[int]) -> frozenset[int]:
        """Those of some turns whose passages all have a vector."""

        def look(view: View) -> frozenset[int]:
            lacking = view.turns.without_vector(_docs(view, seqs))
            rows = view.turns.doc_row.view[lacking]
            without = set(view.turns.seqs.view[rows].tolist())
            return frozenset(s for s in seqs if s not in without)

        found = await self._views.read(user_id, look) if seqs else None
        return found or frozenset()

    async def before(
        self, user_id: str, session_id: str | None, seq: int
    ) -> tuple[TurnRow, ...]:
        """The last turns of the session before a turn, oldest first."""

        def look(view: View) -> tuple[TurnRow, ...]:
            turns = view.turns
            mine = turns.session.view == turns.sessions.numbers.get(session_id, -1)
            earlier = np.flatnonzero(mine & (turns.seqs.view < seq))[-RECENT:]
            return tuple(turns.rows[at] for at in earlier.tolist())

        found = None
        if session_id is not None:  # turns without a session need not belong together
            found = await self._views.read(user_id, look)
        return found or ()

    async def similar(
        self,
        user_id: str,
        turns: Sequence[TurnRow],
        vectors: Mapping[int, Matrix],
        *,
        now: int,
    ) -> tuple[Shown, ...]:
        """The open facts that resemble what was said most, all of them while they are few;
        in the order they were stored, so that the same ones make the same prompt.
        `vectors` are those of turns (by sequence) that are not stored; the others' are
        read back."""
        few = await self._views.read(user_id, _few)
        if few is not None:
            return few
        best: dict[int, tuple[int, float]] = {}
        # One look per turn: all of them at once would hold the loop.
        for turn in sorted(turns, key=lambda turn: -len(turn.text))[:_MOST_QUERIES]:
            found = await self._views.read(
                user_id, partial(_like, turn, vectors.get(turn.seq), now)
            )
            for place, (at, score) in enumerate(found or ()):
                # The best match of each turn before the second best of any: a short
                # turn may change what a long one does not speak of.
                best[at] = min(best.get(at, (99, 0.0)), (place, -score))
        top = sorted(best, key=lambda at: (best[at], at))[:SIMILAR]

        def shown(view: View) -> tuple[Shown, ...]:
            rows = view.facts.rows
            return tuple(_shown(rows[at]) for at in sorted(top) if at < len(rows))

        return await self._views.read(user_id, shown) or ()

    async def near(
        self,
        user_id: str,
        vectors: Sequence[Matrix | None],
        *,
        least: float,
        now: int,
    ) -> list[list[Near]]:
        """For each vector the facts that are open at `now` (micros) with a cosine of at
        least `least`, best first."""

        def look(view: View) -> list[list[Near]]:
            return [[] if v is None else _near(view, v, least, now) for v in vectors]

        found = None
        if any(v is not None for v in vectors):
            found = await self._views.read(user_id, look)
        return found or [[] for _ in vectors]


def _few(view: View) -> tuple[Shown, ...] | None:
    """The open facts if they can all be shown."""
    times = view.facts.times
    held = times["valid_to"].view == FOREVER
    held &= times["forgotten_at"].view == FOREVER
    if held.sum() > FEW:
        return None
    return tuple(_shown(view.facts.rows[at]) for at in np.flatnonzero(held).tolist())


def _like(
    turn: TurnRow, vector: Matrix | None, now: int, view: View
) -> list[tuple[int, float]]:
    """The facts that resemble a turn most, with their scores."""
    mine = _vector(view, turn) if vector is None else vector
    return [(one.at, one.score) for one in rank(view, _ask(turn, now), mine, _OWN_TEXT)]


def _docs(view: View, seqs: Sequence[int]) -> NDArray[np.int64]:
    """All docs of some turns."""
    held = [at for seq in seqs if (at := view.turns.row_of(seq)) is not None]
    return np.array(
        [
            int(view.turns.first_doc.view[at]) + part
            for at in held
            for part in range(len(view.turns.rows[at].ends))
        ],
        np.int64,
    )


def _ask(turn: TurnRow, now: int) -> Ask:
    text = turn.text[:_QUERY_CHARS]
    return Ask(
        query=text,
        terms=query_tokens(text),
        k=_PER_TURN,
        asked_at=now,
        agent_id=turn.agent_id,
        kinds=frozenset(("memory",)),
    )


def _vector(view: View, turn: TurnRow) -> Matrix | None:
    """The turn's own vector, as the view holds it."""
    scan = view.turns.scan
    docs = _docs(view, [turn.seq])[:1]
    if scan is None or not len(docs) or len(view.turns.without_vector(docs)):
        return None
    vector: Matrix = scan.vectors(docs.astype(np.uint64))[0]
    return vector


def _near(view: View, vector: Matrix, least: float, now: int) -> list[Near]:
    facts = view.facts
    cosines = facts.dense(vector)[:-1]
    close = np.flatnonzero(cosines >= least)
    found: dict[int, float] = {}
    for doc in close[np.argsort(-cosines[close], kind="stable")].tolist():
        at = int(facts.doc_row.view[doc])
        row = facts.rows[at]
        expired = row.expires_at is not None and row.expires_at <= now
        if row.valid_to is None and row.forgotten_at is None and not expired:
            found.setdefault(at, float(cosines[doc]))
    return [Near(facts.rows[at], cosine) for at, cosine in found.items()]


def _shown(row: MemoryRow) -> Shown:
    return Shown(id=row.id, text=row.text, since=from_micros(row.valid_from))
