"""Pages: a user's memories, then turns, in the order they came; jobs of all users, the
oldest first. And the cursor between pages.
"""

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Iterable
from hashlib import blake2b
from typing import get_args

from hmem.asking import KINDS, read_kinds
from hmem.errors import InputError, InputTypeError
from hmem.protocols import JobEntry, JobPlace, MemoryRow, Micros, Store, TurnRow
from hmem.records import (
    Episode,
    JobPage,
    JobRecord,
    JobStatus,
    Kind,
    MemoryRecord,
    Page,
)
from hmem.times import from_micros
from hmem.views import episode_record, memory_record

MAX_LIMIT = 1_000
STATUSES: tuple[JobStatus, ...] = get_args(JobStatus)
_SIGN = 8
_MOST_DIGITS = 18
PendingJobs = Callable[[], Awaitable[frozenset[int]]]


def only(kinds: object) -> Kind | None:
    """The one kind that is asked for; None for both. Raises InputError."""
    wanted = read_kinds(kinds)
    return None if len(wanted) > 1 else next(iter(wanted))


def write_cursor(user_id: str, asked: Kind | None, kind: Kind, after: int) -> str:
    """Where the next page begins. Good for this user and these kinds alone."""
    return sign_cursor(_of(user_id, asked), f"{KINDS.index(kind)}{after}".encode())


def read_cursor(cursor: object, user_id: str, asked: Kind | None) -> tuple[Kind, int]:
    """The inverse. Raises InputError for a cursor that was not handed out for this."""
    body = open_cursor(cursor, _of(user_id, asked))
    kind, after = body[:1], body[1:]
    if kind not in (b"0", b"1") or not after.isdigit() or len(after) > _MOST_DIGITS:
        raise bad_cursor()
    return KINDS[int(kind)], int(after)


async def read_page(
    store: Store,
    user_id: str,
    pending: PendingJobs,
    *,
    kind: Kind | None,
    limit: int,
    cursor: object,
    now: Micros,
) -> Page:
    """One page of memories that are open at a moment, and of turns."""
    at, after = (
        (kind or KINDS[0], 0) if cursor is None else read_cursor(cursor, user_id, kind)
    )
    found: list[MemoryRow | TurnRow] = []
    where: str | None = None
    while True:
        # One row more than asked for says whether there is a next page.
        rows = await store.page(user_id, at, after=after, limit=limit - len(found) + 1)
        taken = rows[: limit - len(found)]
        found += [row for row in taken if isinstance(row, TurnRow) or _lives(row, now)]
        after = taken[-1].seq if taken else after
        if len(taken) < len(rows):
            if len(found) < limit:
                continue  # some had expired
            where = write_cursor(user_id, kind, at, after)
            break
        if kind is not None or at == KINDS[-1]:
            break
        at, after = KINDS[KINDS.index(at) + 1], 0
    return Page(rows=await _records(user_id, found, pending), cursor=where)


def _lives(row: MemoryRow, now: Micros) -> bool:
    """Whether a fact that is not closed is still to be shown."""
    expired = row.expires_at is not None and row.expires_at <= now
    return row.forgotten_at is None and not expired


async def _records(
    user_id: str, rows: list[MemoryRow | TurnRow], pending: PendingJobs
) -> tuple[MemoryRecord | Episode, ...]:
    any_turn = any(isinstance(row, TurnRow) for row in rows)
    jobs = await pending() if any_turn else frozenset()
    return tuple(
        memory_record(user_id, row)
        if isinstance(row, MemoryRow)
        else episode_record(user_id, row, pending=row.job in jobs)
        for row in rows
    )


# ------------------------------------------------------------------------- jobs


def read_statuses(value: object) -> tuple[JobStatus, ...]:
    """The states asked for: one, several, or None for all. Raises InputError."""
    given = [value] if isinstance(value, str) else value
    if given is None:
        return STATUSES
    if not isinstance(given, Iterable):
        raise InputTypeError(f"status must be a str, not {type(value).__name__}")
    named = list(given)
    if not named or any(one not in STATUSES for one in named):
        raise InputError(f"status must be of {', '.join(STATUSES)}, or None for all")
    return tuple(status for status in STATUSES if status in named)


async def read_jobs(
    store: Store, statuses: tuple[JobStatus, ...], *, limit: int, cursor: object
) -> JobPage:
    """One page of jobs of all users."""
    scope = b"jobs\0" + ",".join(statuses).encode()
    after = None if cursor is None else _place(open_cursor(cursor, scope))
    # One more than asked for says whether there is a next page.
    found = await store.jobs(statuses=statuses, limit=limit + 1, after=after)
    page, where = found[:limit], None
    if len(found) > limit:
        where = sign_cursor(scope, json.dumps(page[-1].place).encode())
    return JobPage(jobs=tuple(map(_job, page)), cursor=where)


def _place(body: bytes) -> JobPlace:
    try:
        created_at, user_id, seq = json.loads(body)
        user_id.encode()
        sound = {type(created_at), type(seq)} == {int}
        sound = sound and max(abs(created_at), abs(seq)) < 2**63
    except (ValueError, TypeError, AttributeError, RecursionError) as e:
        raise bad_cursor() from e
    if not sound:
        raise bad_cursor()
    return JobPlace(created_at, user_id, seq)


def _job(entry: JobEntry) -> JobRecord:
    ended = entry.ended_at
    return JobRecord(
        id=entry.id,
        user_id=entry.user_id,
        status=entry.status,
        attempts=entry.attempts,
        created_at=from_micros(entry.created_at),
        ended_at=None if ended is None else from_micros(ended),
        reason=entry.reason,
    )


# ---------------------------------------------------------------------- cursors


def _of(user_id: str, asked: Kind | None) -> bytes:
    """What a cursor of `get_all` is good for."""
    return f"{asked or '*'}\0{user_id}".encode()


def sign_cursor(scope: bytes, body: bytes) -> str:
    """Where a next page begins, good for `scope` alone: the verb, the user, what is asked."""
    return base64.urlsafe_b64encode(_sign(scope, body) + body).decode()


def open_cursor(cursor: object, scope: bytes) -> bytes:
    """What `sign_cursor` signed. Raises InputError for another scope's cursor."""
    if not isinstance(cursor, str):
        raise InputTypeError(f"cursor must be a str, not {type(cursor).__name__}")
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError) as e:
        raise bad_cursor() from e
    sign, body = raw[:_SIGN], raw[_SIGN:]
    if sign != _sign(scope, body) or len(body) < 2:
        raise bad_cursor()
    return body


def _sign(scope: bytes, body: bytes) -> bytes:
    return blake2b(
        scope + b"\0" + body, digest_size=_SIGN, person=b"hmem.cursor"
    ).digest()


def bad_cursor() -> InputError:
    """What a cursor raises that was not handed out for this."""
    return InputError("cursor was not handed out for this question; start without one")
