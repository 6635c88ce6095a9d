"""Changing single facts by id: close, replace, tell the history. Each names its user;
another user's id is an unknown id."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import anyio
import numpy as np

from hmem.config import Config
from hmem.embed.checks import embed
from hmem.errors import (
    BadTimeError,
    EmbedderError,
    InputError,
    InputTypeError,
    TextTooLongError,
)
from hmem.ingest import Intake, fact_texts
from hmem.inputs.events import UNCHANGED, Event, revised_event
from hmem.inputs.items import Item, read_fact_text
from hmem.inputs.metadata import read_metadata
from hmem.inputs.scope import Scope
from hmem.parts import Parts
from hmem.protocols import (
    AddMemory,
    Clock,
    CloseMemory,
    MemoryRow,
    NewMemory,
    Note,
    Op,
    Outcome,
    ReinstateMemory,
    Space,
    TurnRow,
    VectorRows,
    WritePlan,
)
from hmem.records import HistoryEvent, MemoryRecord
from hmem.text import clean
from hmem.times import from_micros, moment, to_micros
from hmem.vectors import codec
from hmem.views import memory_record


class Editor:
    """Edits facts of all users."""

    def __init__(
        self,
        config: Config,
        *,
        parts: Parts,
        intake: Intake,
        clock: Clock,
        on_space: Callable[[Space], None] = lambda _: None,
    ) -> None:
        self._config = config
        self._parts = parts
        self._store = parts.store
        self._intake = intake
        self._clock = clock
        self._on_space = on_space

    async def row(self, user_id: str, row_id: object) -> MemoryRow | TurnRow | None:
        """One row by public id."""
        rows = await self._store.rows(user_id, [read_row_id(row_id)])
        return rows[0]

    async def delete(
        self, user_id: str, row_id: object, *, observed_at: object = None
    ) -> bool:
        """Close an open fact. False for a closed one, a turn and an unknown id."""
        row = await self.row(user_id, row_id)
        if not isinstance(row, MemoryRow) or row.valid_to is not None:
            return False
        now = to_micros(self._clock())
        at = self._observed(observed_at, row, now)
        close = CloseMemory(id=row.id, at=at, reason="deleted")
        applied = await self._store.apply(user_id, WritePlan(at=now, ops=(close,)))
        return applied.outcomes[0].status == "applied"

    def _observed(self, given: object, row: MemoryRow, now: int) -> int:
        """When a change was observed. Raises BadTimeError for one before the fact."""
        if given is None:
            return max(now, row.valid_from)
        zone = self._config.zone
        at = to_micros(moment(given, zone, end_of_day=False, name="observed_at"))
        if at < row.valid_from:
            raise BadTimeError(
                "observed_at lies before the memory that it changes was believed"
            )
        return at

    async def update(
        self,
        user_id: str,
        row_id: object,
        *,
        text: object,
        metadata: object,
        observed_at: object = None,
        event_start: object = UNCHANGED,
        event_end: object = UNCHANGED,
    ) -> MemoryRecord:
        """Supersede an open fact by a new one that keeps its other fields. One that says
        nothing new is left as it is.

        Raises InputError when the id is not an open fact of the user. The new fact's
        vector is part of the same write: raises EmbedderError when it cannot be had.
        """
        words = read_fact_text(text, "the update", self._config)
        if not words.strip():
            raise InputError("an update needs a text; use delete() to close a memory")
        extra = None if metadata is None else read_metadata(metadata)
        row = await self.row(user_id, row_id)
        now = to_micros(self._clock())
        if not isinstance(row, MemoryRow) or not _is_open(row, now):
            raise _not_among(row, "open")
        since = self._observed(observed_at, row, now)
        event = revised_event(row, event_start, event_end, self._config)
        memory = self._revised(row, words, extra, event, valid_from=since)
        if _says_the_same(memory, row):
            return memory_record(user_id, row)
        ops: list[Op] = []
        if memory.hash == row.hash:
            # The same words with other metadata: closed first, it is no duplicate.
            ops.append(CloseMemory(id=row.id, at=memory.valid_from))
        vectors = await self._vectors(memory)
        ops.append(
            AddMemory(
                memory=memory,
                supersedes=row.id,
                needs_target=True,
                reason="updated",
                vectors=vectors,
            )
        )
        applied = await self._store.apply(user_id, WritePlan(at=now, ops=tuple(ops)))
        outcome = applied.outcomes[-1]
        if outcome.status == "duplicate":
            await self._merge(user_id, row, outcome, now)
        found = None if outcome.id is None else await self.row(user_id, outcome.id)
        if not isinstance(found, MemoryRow):
            raise InputError("the memory was erased while it was updated")
        return memory_record(user_id, found)

    async def reinstate(
        self, user_id: str, row_id: object, *, reason: object = None
    ) -> MemoryRecord:
        """Open a closed fact again. Raises InputError for what is none, and for one whose
        words another open fact says."""
        why = read_reason(reason)
        row = await self.row(user_id, row_id)
        if not isinstance(row, MemoryRow) or row.valid_to is None:
            raise _not_among(row, "closed")
        op = ReinstateMemory(id=row.id, reason=why or "reinstated")
        plan = WritePlan(at=to_micros(self._clock()), ops=(op,))
        (outcome,) = (await self._store.apply(user_id, plan)).outcomes
        if outcome.status == "duplicate" and outcome.id != row.id:
            raise InputError(f"an open memory says the same: {outcome.id}")
        found = await self.row(user_id, row.id)
        if not isinstance(found, MemoryRow):
            raise InputError("the memory was erased while it was reinstated")
        return memory_record(user_id, found)

    async def history(self, user_id: str, row_id: object) -> list[HistoryEvent]:
        """What happened to a fact and to those it replaced or was replaced by, and why."""
        name = read_row_id(row_id)
        # The notes first: of what happens meanwhile at most the reason is missing.
        notes = await self._store.notes(user_id, name)
        return events_of(await self._store.chain(user_id, name), notes)

    async def _merge(
        self, user_id: str, row: MemoryRow, same: Outcome, now: int
    ) -> None:
        """The new text is another open fact already: the old one closes."""
        at = max(now, row.valid_from)
        close = CloseMemory(id=row.id, at=at, reason=f"says the same as {same.id}")
        await self._store.apply(user_id, WritePlan(at=now, ops=(close,)))

    def _revised(
        self,
        row: MemoryRow,
        text: str,
        metadata: Mapping[str, Any] | None,
        event: Event,
        *,
        valid_from: int,
    ) -> NewMemory:
        item = Item(
            text=text,
            source_ids=row.source_ids,
            event_start=event.start,
            event_end=event.end,
            event_precision=event.precision,
            category=row.category,
            importance=row.importance,
            metadata=row.metadata if metadata is None else metadata,
        )
        scope = Scope(user_id="", agent_id=row.agent_id, session_id=row.session_id)
        fact = self._intake.fact(item, from_micros(valid_from), scope)
        return replace(fact, expires_at=row.expires_at)

    async def _vectors(self, memory: NewMemory) -> VectorRows | None:
        embedder = self._parts.embedder
        if embedder is None:
            return None
        texts = fact_texts(memory)
        try:
            with anyio.fail_after(self._config.embed_timeout):
                vectors = await embed(embedder, texts)
        except TimeoutError as e:
            raise EmbedderError(
                "the embedder took too long; nothing was changed"
            ) from e
        space = await self._store.adopt_space(embedder.model, vectors.shape[1])
        self._on_space(space)
        if (space.model, space.dim) != (embedder.model, vectors.shape[1]):
            return None  # another process was first; a worker says what to do
        encoder = codec(self._config.stored)
        return VectorRows(
            kind="memory",
            space=space.id,
            codec=encoder.name,
            keys=np.array([(0, n) for n in range(len(texts))], np.uint32),
            codes=encoder.encode(vectors),
        )


def _not_among(row: MemoryRow | TurnRow | None, state: str) -> InputError:
    if isinstance(row, TurnRow):
        return InputError(
            "that id is a turn's, and what was said stays said; erase() destroys it"
        )
    return InputError(f"no {state} memory of this user has that id")


def _says_the_same(new: NewMemory, row: MemoryRow) -> bool:
    """Whether an update would change nothing that a caller can give."""
    return (
        new.text == row.text
        and _as_json(new.metadata) == _as_json(row.metadata)
        and (new.event_start, new.event_end, new.event_precision)
        == (row.event_start, row.event_end, row.event_precision)
    )


def _as_json(metadata: Mapping[str, Any]) -> str:
    # As JSON: in Python 1, 1.0 and True are equal.
    return json.dumps(dict(metadata), sort_keys=True)


def _is_open(row: MemoryRow, now: int) -> bool:
    """Whether a fact is believed at `now` (micros), as the store sees it."""
    expired = row.expires_at is not None and row.expires_at <= now
    return row.valid_to is None and row.forgotten_at is None and not expired


MAX_REASON_CHARS = 500


def read_reason(value: object) -> str | None:
    """Why something is done, for the journal: a str of up to 500 characters, or None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputTypeError(f"reason must be a str, not {type(value).__name__}")
    if len(value) > MAX_REASON_CHARS:
        raise TextTooLongError(f"reason is longer than {MAX_REASON_CHARS} characters")
    return clean(value).strip() or None


def read_row_id(value: object) -> str:
    """A public id; one that cannot be an id is an unknown one."""
    if not isinstance(value, str):
        raise InputTypeError(f"id must be a str, not {type(value).__name__}")
    return value.encode("utf-8", "replace").decode().replace("\0", "?")[:128]


class _Told(NamedTuple):
    """One event of a row. `at` in micros."""

    event: Literal["ADD", "SUPERSEDE", "CLOSE", "REINSTATE", "CITE", "FORGET"]
    at: int
    by: str | None = None
    reason: str | None = None


def events_of(
    chain: Sequence[MemoryRow], notes: Sequence[Note] = ()
) -> list[HistoryEvent]:
    """The events that a chain's rows and the journal's notes tell, in the order they were
    recorded.

    A clock that was set back does not turn that order round: nothing is told before the
    row that it happens to, nor before what was stored earlier.
    """
    stored = _never_back(chain)
    noted: dict[str, list[Note]] = {}
    for note in notes:
        noted.setdefault(note.id, []).append(note)
    found: list[tuple[int, int, HistoryEvent]] = []
    for n, row in enumerate(chain):
        key = 0
        for told in _events(row, noted.get(row.id, [])):
            at = max(told.at, stored[row.id], stored.get(told.by or "", told.at))
            # Forgetting is no part of the order of opening and closing.
            key = max(key, at) if told.event != "FORGET" else at
            made = HistoryEvent(
                event=told.event,
                id=row.id,
                at=from_micros(told.at),
                text=row.text,
                by=told.by,
                reason=told.reason,
            )
            found.append((key, 2 * n + (told.event != "ADD"), made))
    return [event for _, _, event in sorted(found, key=lambda entry: entry[:2])]


def _events(row: MemoryRow, notes: Sequence[Note]) -> Iterator[_Told]:
    """A row's events, each after those that it follows from."""
    yield _Told("ADD", row.recorded_at)
    for note in notes:
        yield _Told(note.event, note.at, note.by, note.reason)
    closed = row.closed_recorded_at
    if closed is not None and not _is_noted(row, notes):
        event: Literal["SUPERSEDE", "CLOSE"]
        event = "CLOSE" if row.superseded_by is None else "SUPERSEDE"
        yield _Told(event, closed, row.superseded_by)
    if row.forgotten_at is not None:
        yield _Told("FORGET", row.forgotten_at)


def _is_noted(row: MemoryRow, notes: Sequence[Note]) -> bool:
    """Whether the journal tells how the row is closed now: since it was last opened."""
    for note in reversed(notes):
        if note.event == "REINSTATE":
            return False
        if note.event != "CITE" and row.superseded_by in (None, note.by):
            return True
    return False


def _never_back(chain: Sequence[MemoryRow]) -> dict[str, int]:
    """When each row was stored, by a clock that only goes forward."""
    stored: dict[str, int] = {}
    latest = 0
    for n, row in enumerate(sorted(chain, key=lambda row: row.seq)):
        latest = max(latest, row.recorded_at) if n else row.recorded_at
        stored[row.id] = latest
    return stored
