"""`get_all`: memories, then turns, in the order they came; and the cursor between pages."""

import base64
import binascii
from collections.abc import Awaitable, Callable
from hashlib import blake2b

from hmem.asking import KINDS
from hmem.errors import InputError, InputTypeError
from hmem.protocols import MemoryRow, Store, TurnRow
from hmem.records import Episode, Kind, MemoryRecord, Page
from hmem.views import episode_record, memory_record

MAX_LIMIT = 1_000
_SIGN = 8
_MOST_DIGITS = 18
PendingJobs = Callable[[], Awaitable[frozenset[int]]]


def read_kind(value: object) -> Kind | None:
    """One kind, or None for both."""
    for kind in KINDS:
        if isinstance(value, str) and value == kind:
            return kind
    if value is not None:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, or None")
    return None


def write_cursor(user_id: str, asked: Kind | None, kind: Kind, after: int) -> str:
    """Where the next page begins. Good for this user and this `kind=` alone."""
    body = f"{KINDS.index(kind)}{after}".encode()
    return base64.urlsafe_b64encode(_sign(user_id, asked, body) + body).decode()


def read_cursor(cursor: object, user_id: str, asked: Kind | None) -> tuple[Kind, int]:
    """The inverse. Raises InputError for a cursor that was not handed out for this."""
    if not isinstance(cursor, str):
        raise InputTypeError(f"cursor must be a str, not {type(cursor).__name__}")
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError) as e:
        raise _bad_cursor() from e
    sign, body = raw[:_SIGN], raw[_SIGN:]
    if sign != _sign(user_id, asked, body) or len(body) < 2:
        raise _bad_cursor()
    kind, after = body[:1], body[1:]
    if kind not in (b"0", b"1") or not after.isdigit() or len(after) > _MOST_DIGITS:
        raise _bad_cursor()
    return KINDS[int(kind)], int(after)


async def read_page(
    store: Store,
    user_id: str,
    pending: PendingJobs,
    *,
    kind: Kind | None,
    limit: int,
    cursor: object,
) -> Page:
    """One page of open memories and of turns."""
    at, after = (
        (kind or KINDS[0], 0) if cursor is None else read_cursor(cursor, user_id, kind)
    )
    found: list[MemoryRow | TurnRow] = []
    where: str | None = None
    while True:
        # One row more than asked for says whether there is a next page.
        rows = await store.page(user_id, at, after=after, limit=limit - len(found) + 1)
        taken = rows[: limit - len(found)]
        found += taken
        after = taken[-1].seq if taken else after
        if len(taken) < len(rows):
            where = write_cursor(user_id, kind, at, after)
            break
        if kind is not None or at == KINDS[-1]:
            break
        at, after = KINDS[KINDS.index(at) + 1], 0
    return Page(rows=await _records(user_id, found, pending), cursor=where)


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


def _sign(user_id: str, asked: Kind | None, body: bytes) -> bytes:
    scope = f"{asked or '*'}\0{user_id}".encode()
    return blake2b(
        scope + b"\0" + body, digest_size=_SIGN, person=b"hmem.cursor"
    ).digest()


def _bad_cursor() -> InputError:
    return InputError(
        "cursor was not handed out for this user and kind; start without one"
    )
