"""Versions of one fact: `next` leads from each to the one that replaced it.

The rule that nothing here may break: `valid_from <= valid_to`, and a version ends where
the one after it starts, or earlier.
"""

import sqlite3
from typing import Final, NamedTuple

from hmem.stores import streams
from hmem.stores.account import Account
from hmem.stores.keys import SEQ_MAX, pack

_COLUMNS: Final = "id, valid_from, valid_to, next"
CLOSED: Final = 1
SUPERSEDED: Final = 2
MOVED: Final = 3  # a late arrival moved this row's end back; `old` is where it was


class Version(NamedTuple):
    """One row of a chain. `next` is a key."""

    id: int
    valid_from: int
    valid_to: int | None
    next: int | None


class Place(NamedTuple):
    """Where a new version goes: after `before`, in front of `after`."""

    before: Version | None
    after: Version | None


def version(conn: sqlite3.Connection, key: int) -> Version | None:
    """The row with this key."""
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM memories WHERE id = ?",  # noqa: S608
        (key,),
    ).fetchone()
    return Version(*row) if row else None


def predecessors(conn: sqlite3.Connection, key: int) -> list[Version]:
    """The rows that this one replaced, oldest first."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM memories WHERE next = ? ORDER BY valid_from, id",  # noqa: S608
        (key,),
    )
    return [Version(*row) for row in rows]


def place(conn: sqlite3.Connection, target: Version, valid_from: int) -> Place:
    """Where a fact believed from `valid_from` belongs in the target's chain. Among equal
    times the one stored later comes later."""
    if target.valid_from <= valid_from:
        before, after = target, _next(conn, target)
        while after is not None and after.valid_from <= valid_from:
            before, after = after, _next(conn, after)
        return Place(before, after)
    after = target
    while True:
        earlier = predecessors(conn, after.id)
        if not earlier or earlier[-1].valid_from <= valid_from:
            return Place(earlier[-1] if earlier else None, after)
        after = earlier[-1]


def _next(conn: sqlite3.Connection, row: Version) -> Version | None:
    return version(conn, row.next) if row.next is not None else None


def link(
    conn: sqlite3.Connection,
    account: Account,
    new: Version,
    at_place: Place,
    at: int,
    reason: str | None,
) -> None:
    """Put the stored, open row `new` into its place."""
    before, after = at_place
    if after is not None:
        conn.execute(
            "UPDATE memories SET valid_to = ?, next = ?, closed_at = ? WHERE id = ?",
            (after.valid_from, after.id, at, new.id),
        )
        streams.touch(conn, account, new.id & SEQ_MAX)
    if before is None:
        return
    ends = before.valid_to
    valid_to = new.valid_from if ends is None else min(ends, new.valid_from)
    conn.execute(
        "UPDATE memories SET valid_to = ?, next = ?, closed_at = coalesce(closed_at, ?)"
        " WHERE id = ?",
        (valid_to, new.id, at, before.id),
    )
    streams.touch(conn, account, before.id & SEQ_MAX)
    if ends is not None and ends != valid_to:
        note(conn, account, before.id, MOVED, at, old=ends, reason=reason)
    elif reason is not None:
        note(conn, account, before.id, SUPERSEDED, at, reason=reason)


def note(
    conn: sqlite3.Connection,
    account: Account,
    key: int,
    event: int,
    at: int,
    *,
    old: int | None = None,
    reason: str | None = None,
) -> None:
    """Journal what the rows themselves do not tell."""
    conn.execute(
        "INSERT INTO history VALUES(?, ?, ?, ?, ?, ?)",
        (
            pack(account.uid, account.take("history_seq")),
            key & SEQ_MAX,
            event,
            at,
            old,
            reason,
        ),
    )


def whole_chain(conn: sqlite3.Connection, key: int) -> list[int]:
    """The keys of all versions connected with this one, oldest first."""
    head = version(conn, key)
    seen: set[int] = set()
    while head is not None and head.next is not None and head.id not in seen:
        seen.add(head.id)
        head = version(conn, head.next) or head._replace(next=None)
    if head is None:
        return []
    found, front = {head.id: head}, [head.id]
    while front:
        for row in predecessors(conn, front.pop()):
            if row.id not in found:
                found[row.id] = row
                front.append(row.id)
    return [v.id for v in sorted(found.values(), key=lambda v: (v.valid_from, v.id))]
