"""What a fact took the place of."""

from collections.abc import Callable

from hmem.rank.ask import Ask
from hmem.rank.masks import past_mask
from hmem.records import MemoryRecord
from hmem.views.records import memory_record
from hmem.views.view import View


def replaced(view: View, ask: Ask) -> Callable[[int], tuple[MemoryRecord, ...]]:
    """Of the fact at a position what it replaced, newest first, as far as the question may
    see it, each with the end and the successor that were known then."""
    facts, known_at = view.facts, ask.known_at
    if not facts.replaced and not facts.past:
        return lambda _: ()
    seen = past_mask(facts, ask)

    def of(at: int) -> tuple[MemoryRecord, ...]:
        chain = [n for n in facts.chain(at, known_at) if seen[n]]
        return tuple(_record(view, n, known_at) for n in chain)

    return of


def _record(view: View, at: int, known_at: int | None) -> MemoryRecord:
    row = view.facts.rows[at]
    if known_at is not None:
        known = view.facts.past.as_known(at, row, known_at)
        if known is not row:
            return memory_record(view.user_id, known)
    stored = view.record("memory", at)
    assert isinstance(stored, MemoryRecord)
    return stored
