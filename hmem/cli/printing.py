"""What commands print: JSON whose keys are the fields of `hmem`'s records, or lines in
which stored text can do nothing to a terminal."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import click

from hmem.records import (
    AddResult,
    Episode,
    HistoryEvent,
    Hit,
    JobRecord,
    MemoryRecord,
    TimelineEntry,
)

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from hmem import SyncReceipt

_UNSAID = frozenset(("render",))
"""Fields that are no values."""
# Escape sequences, and marks that reorder what is shown: all but tab and newline.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_REDACTED = "redacted: "
"""How a reason begins that tells of no loss but of what was taken out."""
_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029]")


def values(value: Any) -> Any:
    """A record as JSON values: its fields by name, times in ISO 8601."""
    if is_dataclass(value) and not isinstance(value, type):
        names = (f.name for f in fields(value) if f.name not in _UNSAID)
        return {name: values(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): values(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [values(inner) for inner in value]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return value


def print_json(value: object) -> None:
    """One JSON value on stdout."""
    text = json.dumps(values(value), ensure_ascii=False, indent=2)
    click.echo(_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def progress_line(line: str) -> None:
    """Progress goes to stderr, so that stdout stays what was asked for."""
    click.echo(line, err=True)


def visible(text: str) -> str:
    """The text with its control characters spelled out."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_row(row: Hit | MemoryRecord | Episode, zone: "ZoneInfo") -> None:
    """What is stored or was found: when, who, the words; then its id and what is to be
    known of it."""
    at = _when(row, zone)
    score = f"{row.score:.2f}  " if isinstance(row, Hit) else ""
    lead = f"{score}{at}  "
    _print_said(lead, row, _notes(row, zone))
    if isinstance(row, Hit) and row.explain:
        parts = (f"{name} {part:.3f}" for name, part in row.explain.items())
        click.echo(" " * len(lead) + "= " + " + ".join(parts))


def print_entry(entry: TimelineEntry, zone: "ZoneInfo") -> None:
    """Something in time: when, the words, and what became of it."""
    lead = f"{_stamp(entry.at, zone)}  "
    notes = list(_notes(entry.record, zone, ended=False))
    if entry.until is not None:
        notes.append(f"believed until {_stamp(entry.until, zone)}")
    if entry.replaced_by is not None:
        notes.append(f"then: {entry.replaced_by.text}")
    _print_said(lead, entry.record, notes)


def print_notes(degraded: Iterable[str]) -> None:
    """What a result says of itself goes to stderr."""
    for note in degraded:
        click.echo(visible(f"degraded: {note}"), err=True)


def print_event(event: HistoryEvent, zone: "ZoneInfo") -> None:
    """One line of a history."""
    by = f" by {event.by}" if event.by else ""
    why = f" ({event.reason})" if event.reason else ""
    text = " ".join(event.text.split())
    click.echo(visible(f"{_stamp(event.at, zone)}  {event.event}{by}{why}  {text}"))


def print_job(job: JobRecord, zone: "ZoneInfo") -> None:
    """One line of a list of jobs."""
    tried = "1 attempt" if job.attempts == 1 else f"{job.attempts} attempts"
    why = f": {job.reason}" if job.reason else ""
    line = f"{_stamp(job.created_at, zone)}  {job.status:<7}  {job.id}"
    click.echo(visible(f"{line}  {job.user_id}  {tried}{why}"))


def _print_said(
    lead: str, row: Hit | MemoryRecord | Episode, notes: Iterable[str]
) -> None:
    said = visible(_said(row)).splitlines() or [""]
    click.echo(lead + said[0])
    for line in (*said[1:], visible(", ".join(notes))):
        click.echo(" " * len(lead) + line)


def receipt_values(receipt: "SyncReceipt") -> dict[str, Any]:
    """A receipt as JSON values; `result` is null while the job has not ended."""
    return {"id": receipt.id, "status": receipt.status, "result": receipt.seen}


def receipt_line(receipt: "SyncReceipt") -> str:
    """A receipt and its end in one line."""
    end = _ended(receipt.seen) if receipt.seen else receipt.status
    before = "stored before; " if receipt.repeated else ""
    return visible(f"{receipt.id}  {before}{end}" if receipt.id else end)


def _ended(result: AddResult) -> str:
    counts = {
        "turn" if len(result.turns) == 1 else "turns": len(result.turns),
        "added": len(result.added),
        "superseded": len(result.superseded),
    }
    said = [f"{n} {name}" for name, n in counts.items() if n]
    reasons = [skip.reason for skip in result.skipped]
    said += [
        r if r.startswith(_REDACTED) else f"{reasons.count(r)} skipped ({r})"
        for r in dict.fromkeys(reasons)
    ]
    why = f"; {result.reason}" if result.reason else ""
    return f"{result.status}: {', '.join(said) or 'nothing stored'}{why}"


def _said(row: Hit | MemoryRecord | Episode) -> str:
    """The words, with their speaker."""
    if isinstance(row, MemoryRecord) or (isinstance(row, Hit) and row.kind == "memory"):
        return row.text
    name = row.speaker if isinstance(row, Hit) else row.name
    return f"{name or row.role}: {row.text}"


def _notes(
    row: Hit | MemoryRecord | Episode, zone: "ZoneInfo", *, ended: bool = True
) -> Iterator[str]:
    yield f"{row.kind} {row.id}"
    if row.session_id:
        yield f"session {row.session_id}"
    if row.agent_id:
        yield f"agent {row.agent_id}"
    if not isinstance(row, MemoryRecord) and row.pending:
        yield "pending"
    fact = row.memory if isinstance(row, Hit) else row
    if ended and isinstance(fact, MemoryRecord) and fact.valid_to is not None:
        yield f"believed until {_stamp(fact.valid_to, zone)}"
    if isinstance(row, Hit):
        yield from (f"before: {old.text}" for old in row.replaced)


def _when(row: Hit | MemoryRecord | Episode, zone: "ZoneInfo") -> str:
    if isinstance(row, Hit):
        return _stamp(row.at, zone)
    at = row.valid_from if isinstance(row, MemoryRecord) else row.observed_at
    return _stamp(at, zone)


def _stamp(at: datetime, zone: "ZoneInfo") -> str:
    """A moment as the clocks of a zone show it, to the minute."""
    from hmem.times import local

    return local(at, zone).isoformat(sep=" ", timespec="minutes")[:16]
