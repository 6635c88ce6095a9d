"""Rows as a store hands them out -> the records a caller sees."""

from datetime import datetime

from hmem.protocols import MemoryRow, Micros, TurnRow
from hmem.records import Episode, MemoryRecord
from hmem.times import from_micros


def _moment(micros: Micros | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def memory_record(user_id: str, row: MemoryRow) -> MemoryRecord:
    """A stored fact as a record."""
    return MemoryRecord(
        id=row.id,
        user_id=user_id,
        text=row.text,
        agent_id=row.agent_id,
        session_id=row.session_id,
        category=row.category,
        importance=row.importance,
        event_start=_moment(row.event_start),
        event_end=_moment(row.event_end),
        event_precision=row.event_precision,
        valid_from=from_micros(row.valid_from),
        valid_to=_moment(row.valid_to),
        recorded_at=from_micros(row.recorded_at),
        closed_recorded_at=_moment(row.closed_recorded_at),
        superseded_by=row.superseded_by,
        source_ids=row.source_ids,
        quote=row.quote,
        verified=row.verified,
        hash=row.hash.hex(),
        expires_at=_moment(row.expires_at),
        forgotten_at=_moment(row.forgotten_at),
        last_accessed=_moment(row.last_accessed),
        metadata=row.metadata,
        prompt_version=row.prompt_version,
        links=row.links,
    )


def episode_record(user_id: str, row: TurnRow, *, pending: bool) -> Episode:
    """A stored turn as a record."""
    return Episode(
        id=row.id,
        user_id=user_id,
        text=row.text,
        role=row.role,
        name=row.name,
        agent_id=row.agent_id,
        session_id=row.session_id,
        message_id=row.message_id,
        observed_at=from_micros(row.observed_at),
        recorded_at=from_micros(row.recorded_at),
        pending=pending,
        metadata=row.metadata,
    )
