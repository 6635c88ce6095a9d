"""A view and what to choose -> rows in the order in which they came or happened."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import MemoryRow, Micros, TurnRow
from hmem.rank.ask import Ask
from hmem.rank.masks import fact_mask, past_mask, turn_mask
from hmem.rank.named import naming
from hmem.records import Kind
from hmem.views.facts import Facts
from hmem.views.table import FOREVER
from hmem.views.view import View

KINDS: tuple[Kind, ...] = ("memory", "turn")
"""The order in which rows are listed. In time what was said comes before what was made of
it."""


class Moment(NamedTuple):
    """Where a row stands in time: by when it happened, then turns before facts, then as
    they came."""

    at: Micros
    rank: int
    seq: int


class Step(NamedTuple):
    """A row in time. A fact that is believed no more ended at `until`; `by` is what
    replaced it."""

    moment: Moment
    row: MemoryRow | TurnRow
    until: Micros | None = None
    by: MemoryRow | None = None


def chosen(view: View, ask: Ask, entity: str | None) -> dict[Kind, NDArray[np.bool_]]:
    """Which rows of each kind are asked for."""
    masks: dict[Kind, NDArray[np.bool_]] = {
        "memory": fact_mask(view.facts, ask),
        "turn": turn_mask(view.turns, ask),
    }
    if entity is not None:
        for kind, mask in masks.items():
            if mask.any():
                masks[kind] = naming(view.table(kind), entity, mask)
    return masks


def as_they_came(
    view: View, ask: Ask, entity: str | None, *, after: tuple[Kind, int] | None
) -> Iterator[tuple[Kind, MemoryRow | TurnRow]]:
    """Facts, then turns, as they were stored, past a (kind, seq)."""
    for kind, mask in chosen(view, ask, entity).items():
        first = 0
        if after is not None:
            if KINDS.index(kind) < KINDS.index(after[0]):
                continue
            if kind == after[0]:
                seqs = view.table(kind).seqs.view
                first = int(np.searchsorted(seqs, after[1], side="right"))
        rows = view.table(kind).rows
        for at in (np.flatnonzero(mask[first:]) + first).tolist():
            yield kind, rows[at]


def in_time(
    view: View, ask: Ask, entity: str | None, *, after: Moment | None, limit: int
) -> list[Step]:
    """Up to `limit` rows past a moment, the oldest first."""
    masks = chosen(view, ask, entity)
    facts, turns = np.flatnonzero(masks["memory"]), np.flatnonzero(masks["turn"])
    ranks = np.repeat(np.array([1, 0]), [len(facts), len(turns)])
    where = np.concatenate([facts, turns])
    when = np.concatenate([_began(view.facts)[facts], view.turns.observed.view[turns]])
    seqs = np.concatenate([view.facts.seqs.view[facts], view.turns.seqs.view[turns]])
    order = np.lexsort((seqs, ranks, when))
    if after is not None:
        order = order[_past(when, ranks, seqs, after)[order]]
    past = past_mask(view.facts, ask)
    return [
        _step(
            view, ask, past, Moment(int(when[n]), int(ranks[n]), int(seqs[n])), where[n]
        )
        for n in order[:limit].tolist()
    ]


def _began(facts: Facts) -> NDArray[np.int64]:
    """(rows,) when each fact happened, else since when it was believed."""
    start = facts.times["event_start"].view
    return np.where(start == FOREVER, facts.times["valid_from"].view, start)


def _past(
    when: NDArray[np.int64],
    ranks: NDArray[np.int64],
    seqs: NDArray[np.int64],
    after: Moment,
) -> NDArray[np.bool_]:
    later = (ranks > after.rank) | ((ranks == after.rank) & (seqs > after.seq))
    return np.asarray((when > after.at) | ((when == after.at) & later))


def _step(
    view: View, ask: Ask, past: NDArray[np.bool_], moment: Moment, at: int
) -> Step:
    if not moment.rank:
        return Step(moment, view.turns.rows[at])
    row = view.facts.rows[at]
    stood = view.facts.known(at, ask.known_at)
    ended = stood.valid_to
    if ended is None or (ask.as_of is not None and ended > ask.as_of):
        return Step(moment, row)
    by = view.facts.by_id.get(stood.superseded_by or "")
    if by is None or not past[by]:
        return Step(moment, row, ended)
    return Step(moment, row, ended, view.facts.rows[by])
