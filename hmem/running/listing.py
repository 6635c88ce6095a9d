"""The face's verbs that list and count: no question, no model."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

from hmem.asking import KINDS, read_count, read_entity, read_listing
from hmem.inputs.scope import read_id
from hmem.paging import (
    MAX_LIMIT,
    bad_cursor,
    only,
    open_cursor,
    read_page,
    sign_cursor,
)
from hmem.protocols import MemoryRow, TurnRow
from hmem.rank import Ask, Moment, Step, as_they_came, chosen, in_time
from hmem.records import (
    Category,
    Episode,
    Kind,
    MemoryRecord,
    Page,
    Timeline,
    TimelineEntry,
)
from hmem.retrieve import FILTERED, unknown_keys
from hmem.running.opening import Opening
from hmem.times import During, Time, from_micros, to_micros
from hmem.views import View, episode_record, memory_record


class _Listed(NamedTuple):
    """What one look at a view gave: rows, where to go on, and unknown keys."""

    rows: tuple[Any, ...]
    last: tuple[Any, ...] | None
    unknown: tuple[str, ...]


class Listing(Opening):
    """What can be listed and counted of an open memory. Nothing here writes."""

    async def get_all(
        self,
        *,
        user_id: object,
        limit: int = 100,
        cursor: str | None = None,
        category: Category | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        entity: str | None = None,
        filters: Mapping[str, Any] | None = None,
        agent_id: object = None,
        session_id: object = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
    ) -> Page:
        """A page of open memories, then turns, in the order they were stored.

        `entity` is a name: rows that name it. `kinds`, `category`, `filters`, the labels and
        the three times choose as in `search`. `limit` is at least 1 and capped at 1,000. The
        page's `cursor` fetches the next one, for the same arguments; a cursor that was
        tampered with, or another user's, raises InputError.
        """
        user = read_id(user_id, "user_id")
        limit = read_count(limit, "limit", least=1, most=MAX_LIMIT)
        asked = {
            "category": category,
            "filters": filters,
            "agent_id": agent_id,
            "session_id": session_id,
            "as_of": as_of,
            "known_at": known_at,
            "during": during,
        }
        name = read_entity(entity)
        if name is None and all(value is None for value in asked.values()):
            return await self._stored(user, only(kinds), limit, cursor)
        ask = self._listing(user, kinds=kinds, **asked)
        scope = _scope("list", user, ask, name)
        after = None if cursor is None else _row_place(open_cursor(cursor, scope))
        found = await self._listed(user, ask, name, partial(_page, after, limit))
        return Page(
            rows=found.rows, cursor=_next(scope, found.last), degraded=found.unknown
        )

    async def timeline(
        self,
        user_id: object,
        *,
        entity: str | None = None,
        category: Category | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        filters: Mapping[str, Any] | None = None,
        agent_id: object = None,
        session_id: object = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Timeline:
        """Memories and turns by when they happened, the oldest first: a memory by its
        event, else since when it was believed; a turn by when it was said.

        Memories that are believed no more are there, too, each with its end and what
        replaced it. `entity` is a name: rows that name it. `filters`, the labels and the
        three times choose as in `search`, but that `as_of` shows all that had been
        believed by then. `limit` and `cursor` are those of `get_all`.
        """
        user = read_id(user_id, "user_id")
        limit = read_count(limit, "limit", least=1, most=MAX_LIMIT)
        name = read_entity(entity)
        ask = self._listing(
            user,
            category=category,
            kinds=kinds,
            closed=True,
            filters=filters,
            agent_id=agent_id,
            session_id=session_id,
            as_of=as_of,
            known_at=known_at,
            during=during,
        )
        scope = _scope("timeline", user, ask, name)
        after = None if cursor is None else _moment(open_cursor(cursor, scope))
        found = await self._listed(user, ask, name, partial(_timeline, after, limit))
        return Timeline(
            rows=found.rows, cursor=_next(scope, found.last), degraded=found.unknown
        )

    async def count(
        self,
        user_id: object,
        *,
        category: Category | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        entity: str | None = None,
        filters: Mapping[str, Any] | None = None,
        agent_id: object = None,
        session_id: object = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
    ) -> int:
        """How many rows `get_all` has with these arguments, over all its pages.

        Unknown keys of the filters are told by the event `listing_degraded` alone.
        """
        user, name = read_id(user_id, "user_id"), read_entity(entity)
        ask = self._listing(
            user,
            category=category,
            kinds=kinds,
            filters=filters,
            agent_id=agent_id,
            session_id=session_id,
            as_of=as_of,
            known_at=known_at,
            during=during,
        )
        found = await self._listed(user, ask, name, _count)
        return int(sum(found.rows))

    def _listing(self, user: str, **asked: Any) -> Ask:
        self._life.check()
        return read_listing(
            user_id=user, config=self.config, clock=self._clock, **asked
        )

    async def _stored(
        self, user: str, kind: Kind | None, limit: int, cursor: str | None
    ) -> Page:
        """A page of all there is, without a view."""
        with self._life.call():
            rooms = self._rooms
            return await read_page(
                rooms.parts.store,
                user,
                lambda: rooms.pending(user),
                kind=kind,
                limit=limit,
                cursor=cursor,
                now=to_micros(self._clock()),
            )

    async def _listed(
        self, user: str, ask: Ask, entity: str | None, look: "_Look"
    ) -> _Listed:
        """What a look at the user's view gives."""
        narrow = ask.keep is not None or entity is not None
        with self._life.call():
            rooms = self._rooms
            found = await rooms.retriever.views.read(
                user,
                lambda view: look(view, ask, entity),
                weight=FILTERED if narrow else 2,
            )
            if found is not None and found.unknown:
                rooms.events("listing_degraded", reasons=("unknown_filter_key",))
        return found or _Listed((), None, ())


_Look = Callable[[View, Ask, str | None], _Listed]


def _page(
    after: tuple[Kind, int] | None,
    limit: int,
    view: View,
    ask: Ask,
    entity: str | None,
) -> _Listed:
    # One row more than asked for says whether there is a next page.
    found = list(islice(as_they_came(view, ask, entity, after=after), limit + 1))
    page, last = found[:limit], None
    if len(found) > limit:
        kind, row = page[-1]
        last = (kind, row.seq)
    rows = tuple(_record(view, row) for _, row in page)
    return _Listed(rows, last, unknown_keys(view, ask.keep))


def _timeline(
    after: Moment | None, limit: int, view: View, ask: Ask, entity: str | None
) -> _Listed:
    found = in_time(view, ask, entity, after=after, limit=limit + 1)
    last = found[limit - 1].moment if len(found) > limit else None
    rows = tuple(_entry(view, step) for step in found[:limit])
    return _Listed(rows, last, unknown_keys(view, ask.keep))


def _count(view: View, ask: Ask, entity: str | None) -> _Listed:
    masks = chosen(view, ask, entity)
    rows = tuple(int(mask.sum()) for mask in masks.values())
    return _Listed(rows, None, unknown_keys(view, ask.keep))


def _record(view: View, row: MemoryRow | TurnRow) -> MemoryRecord | Episode:
    # Not `view.record`: what a list passes by is not to stay in memory.
    if isinstance(row, MemoryRow):
        return memory_record(view.user_id, row)
    return episode_record(view.user_id, row, pending=row.job in view.pending)


def _entry(view: View, step: Step) -> TimelineEntry:
    return TimelineEntry(
        id=step.row.id,
        kind="memory" if isinstance(step.row, MemoryRow) else "turn",
        text=step.row.text,
        at=from_micros(step.moment.at),
        until=None if step.until is None else from_micros(step.until),
        replaced_by=None if step.by is None else memory_record(view.user_id, step.by),
        record=_record(view, step.row),
    )


# ---------------------------------------------------------------------- cursors


def _scope(verb: str, user: str, ask: Ask, entity: str | None) -> bytes:
    """What a cursor is good for: all that was asked but how many rows a page has."""
    asked = (
        *(sorted(ask.kinds), ask.category, entity, ask.agent_id, ask.session_id),
        *(ask.as_of, ask.known_at, ask.during, ask.keep),
    )
    digest = blake2b(repr(asked).encode(), digest_size=16).digest()
    return verb.encode() + b"\0" + user.encode() + b"\0" + digest


def _next(scope: bytes, last: tuple[Any, ...] | None) -> str | None:
    return None if last is None else sign_cursor(scope, json.dumps(last).encode())


def _row_place(body: bytes) -> tuple[Kind, int]:
    kind, seq = _values(body, 2)
    for known in KINDS:
        if kind == known and isinstance(seq, int):
            return known, seq
    raise bad_cursor()


def _moment(body: bytes) -> Moment:
    values = _values(body, 3)
    if not all(isinstance(value, int) for value in values):
        raise bad_cursor()
    return Moment(*values)


def _values(body: bytes, many: int) -> list[Any]:
    try:
        values = json.loads(body)
    except ValueError as e:
        raise bad_cursor() from e
    if not isinstance(values, list) or len(values) != many:
        raise bad_cursor()
    return values
