"""Hits -> lines, and how a question's lines are shown."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from hmem.records import Hit, MemoryRecord
from hmem.render.lines import Line, event_words, gist, wider
from hmem.render.packing import Style
from hmem.scoring import Weights, spread
from hmem.text.questions import wants_all
from hmem.times import local

Passage = tuple[tuple[int, ...], int]
"""Where the passages of a row end, and which of them a hit shows."""


def lines_of(
    hits: Sequence[Hit], passages: Sequence[Passage], zone: ZoneInfo
) -> list[Line]:
    """What hits say in a block, dated by the reader's clocks, in their order."""
    return [_line(hit, *at, zone) for hit, at in zip(hits, passages, strict=True)]


def styled(
    lines: list[Line],
    hits: Sequence[Hit],
    *,
    query: str,
    terms: NDArray[np.uint32],
    weights: Weights,
) -> tuple[list[Line], Style]:
    """In which order lines are tried and how they are shown. A question that wants a
    little of everything gets the gist of each, from all sessions rather than much of
    one."""
    if not weights.gist_chars:
        return lines, Style(restatements=weights.restatements)
    everything = wants_all(query)
    style = Style(
        whole_tokens=0 if everything else weights.whole_tokens,
        brief=partial(gist, terms=frozenset(terms.tolist()), chars=weights.gist_chars),
        restatements=weights.restatements,
    )
    if not everything:
        return lines, style
    groups = [h.session_id or x.day for h, x in zip(hits, lines, strict=True)]
    order = spread([hit.score for hit in hits], groups, toll=weights.spread_toll)
    return [lines[i] for i in order], style


def _line(hit: Hit, ends: tuple[int, ...], part: int, zone: ZoneInfo) -> Line:
    record = hit.episode or hit.memory
    return Line(
        id=hit.id,
        kind=hit.kind,
        text=hit.text,
        at=local(hit.at, zone),
        speaker=hit.speaker or (hit.role or "").capitalize(),
        pending=hit.pending,
        stable=hit.memory is not None and hit.memory.category == "procedural",
        event=_event(hit.memory, zone),
        before=tuple(_before(m, zone) for m in hit.replaced),
        longer=wider(record.text, ends, part) if record and len(ends) > 1 else (),
    )


def _event(memory: MemoryRecord | None, zone: ZoneInfo) -> str:
    if memory is None or memory.event_start is None:
        return ""
    end = memory.event_end
    return event_words(
        local(memory.event_start, zone),
        None if end is None else local(end, zone),
        memory.event_precision,
    )


def _before(memory: MemoryRecord, zone: ZoneInfo) -> tuple[str, datetime, datetime]:
    """What a fact replaced, and from when until when it was believed."""
    until = memory.valid_to or memory.valid_from
    return memory.text, local(memory.valid_from, zone), local(until, zone)
