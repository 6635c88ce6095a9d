"""A small talk for the tests of the bench, and how it may stand in a store."""

from datetime import UTC, datetime

from bench.dialogues import Dialogue
from bench.supersession import (
    Played,
    Row,
)
from hmem.records import MemoryRecord

TALK = """
## talk | moved | Noor
at 2026-01-05
> Noor: I live in Bristol and I play chess.
* home: Noor lives in Bristol
    quote: I live in Bristol | names: Noor, Bristol
* chess: Noor plays chess
    quote: I play chess | names: Noor
at 2026-03-09
> Noor: I moved to Ghent last week!
> assistant: How nice.
* ghent: Noor moved from Bristol to Ghent in the week of 2026-03-02
    quote: I moved to Ghent last week | names: Noor, Bristol, Ghent
    when: 2026-03-02/2026-03-08 | said: last week | replaces: home | tempts: chess
closed: home by ghent
never: Noor lives in Oslo
"""


def record(
    text: str, name: str, at: str, until: str | None = None, by: str | None = None
) -> MemoryRecord:
    def moment(day: str) -> datetime:
        return datetime.fromisoformat(day).replace(tzinfo=UTC)

    return MemoryRecord(
        id=name,
        user_id="u",
        text=text,
        valid_from=moment(at),
        valid_to=None if until is None else moment(until),
        recorded_at=moment(at),
        superseded_by=by,
    )


def ended(talk: Dialogue, **closed: tuple[str, str | None]) -> Played:
    """The talk as it would stand in a store, with these facts closed: when, and by which."""
    rows: dict[str, Row] = {}
    for n, add in enumerate(talk.adds):
        for fact in add.facts:
            until, by = closed.get(fact.key, (None, None))
            made = record(fact.text, fact.key, add.at.date().isoformat(), until, by)
            rows[fact.key] = Row(made, talk, n, fact.key)
    return Played("u", (talk,), rows)
