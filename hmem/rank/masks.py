"""Which rows a question may see. Filters apply before anything is chosen."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import Micros
from hmem.rank.ask import Ask
from hmem.views.facts import CATEGORIES, Facts
from hmem.views.table import FOREVER
from hmem.views.turns import Turns


def seen_turns(turns: Turns, ask: Ask) -> NDArray[np.bool_] | None:
    """(rows,) the turns that may lend others something: all that the question's times and
    labels let through, whatever kind of row it wants; None when that is all of them."""
    if (
        ask.as_of is None
        and ask.known_at is None
        and ask.agent_id is None
        and ask.session_id is None
        and ask.keep is None
    ):
        return None
    return _said(turns, ask, np.ones(len(turns), np.bool_))


def turn_mask(turns: Turns, ask: Ask) -> NDArray[np.bool_]:
    """(rows,) which turns the question may see."""
    mask = np.full(len(turns), "turn" in ask.kinds and ask.category is None)
    if ask.during is not None:
        mask &= turns.observed.view >= ask.during[0]
        mask &= turns.observed.view < ask.during[1]
    return _said(turns, ask, mask)


def _said(turns: Turns, ask: Ask, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if ask.as_of is not None:
        mask &= turns.observed.view <= ask.as_of
    if ask.known_at is not None:
        mask &= turns.recorded.view <= ask.known_at
    return _labelled(turns, ask, mask)


def fact_mask(facts: Facts, ask: Ask) -> NDArray[np.bool_]:
    """(rows,) which facts the question may see.

    By default the open ones; with `closed` those, too, that had been believed before.
    `as_of` asks for what was believed at that observed time, `known_at` for what the
    database held at that wall time, ends that were moved or undone since included; each
    undoes only what came after it on its own axis.
    """
    t = {name: column.view for name, column in facts.times.items()}
    mask = np.full(len(facts), "memory" in ask.kinds)
    closed = facts.ends(ask.known_at)
    forgotten = t["forgotten_at"]
    if ask.known_at is not None:
        mask &= t["recorded_at"] <= ask.known_at
        forgotten = np.where(forgotten <= ask.known_at, forgotten, FOREVER)
    if ask.as_of is not None:
        mask &= t["valid_from"] <= ask.as_of
    if not ask.closed:
        mask &= closed > (FOREVER - 1 if ask.as_of is None else ask.as_of)
    mask &= (forgotten == FOREVER) & (t["expires_at"] > _now(ask))
    if ask.during is not None:
        mask &= _happened(t, ask.during)
    if ask.category is not None:
        mask &= facts.category.view == CATEGORIES.index(ask.category)
    return _labelled(facts, ask, mask)


def past_mask(facts: Facts, ask: Ask) -> NDArray[np.bool_]:
    """(rows,) which facts may be shown beside those that replaced them: whenever they
    were believed, of whatever category."""
    wide = replace(
        ask, closed=True, during=None, category=None, kinds=frozenset(("memory",))
    )
    return fact_mask(facts, wide)


def _now(ask: Ask) -> Micros:
    """The moment at which what expires must not have expired."""
    if ask.as_of is not None:
        return ask.as_of
    return ask.asked_at if ask.known_at is None else min(ask.asked_at, ask.known_at)


def _happened(
    t: Mapping[str, NDArray[np.int64]], during: tuple[Micros, Micros]
) -> NDArray[np.bool_]:
    """Which facts' events meet an interval; one without an event happened when said."""
    undated = t["event_start"] == FOREVER
    start = np.where(undated, t["valid_from"], t["event_start"])
    end = np.where(t["event_end"] == FOREVER, start, t["event_end"])
    meets = (end > during[0]) | (
        start >= during[0]
    )  # half-open, a moment has no length
    return np.asarray((start < during[1]) & meets)


def _labelled(
    table: Turns | Facts, ask: Ask, mask: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    if ask.agent_id is not None:
        mask &= table.agent.view == table.agents.numbers.get(ask.agent_id, -1)
    if ask.session_id is not None:
        mask &= table.session.view == table.sessions.numbers.get(ask.session_id, -1)
    if ask.keep is not None:
        mask &= table.fits(ask.keep)
    return mask
