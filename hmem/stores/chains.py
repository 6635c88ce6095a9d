"""Versions of one fact: `next` leads from each to the one that replaced it.

The rule that nothing here may break: `valid_from <= valid_to`, and a version ends where
the one after it starts, or earlier.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from hmem.stores import journal, streams
from hmem.stores.account import Account
from hmem.stores.keys import SEQ_MAX

_COLUMNS: Final = "id, valid_from, valid_to, next"


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
        if reason is not None:
            event, next_ = journal.SUPERSEDED, after.id
            journal.note(
                conn, account, new.id, event, at, successor=next_, reason=reason
            )
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
    moved = ends is not None and ends != valid_to
    if ends is not None or reason is not None:
        journal.note(
            conn,
            account,
            before.id,
            journal.MOVED if moved else journal.SUPERSEDED,
            at,
            old=ends if moved else None,
            successor=new.id,
            reason=reason,
        )


def part(
    conn: sqlite3.Connection,
    account: Account,
    row: Version,
    at: int,
    reason: str | None,
) -> None:
    """Open a closed row again. What it was followed by stays, and they stay one history."""
    journal.remember(conn, account, row.id, row.next)
    conn.execute(
        "UPDATE memories SET valid_to = NULL, closed_at = NULL, next = NULL"
        " WHERE id = ?",
        (row.id,),
    )
    streams.touch(conn, account, row.id & SEQ_MAX)
    if row.next is not None:
        _part_all(conn, row.id, [row.next])
    event, ended = journal.REINSTATED, row.valid_to
    journal.note(conn, account, row.id, event, at, old=ended, reason=reason)


def unlink(conn: sqlite3.Connection, account: Account, row: Version) -> None:
    """Take a row out of its history. What it replaced ends where it ended and is followed
    by what followed it, if anything did. All of them stay one history."""
    before = predecessors(conn, row.id)
    after = _next(conn, row)
    next_ = None if after is None else after.id
    for earlier in before:
        conn.execute("UPDATE memories SET next = ? WHERE id = ?", (next_, earlier.id))
        journal.pass_on(conn, account, earlier.id, row.id, next_)
    pairs = conn.execute("SELECT other FROM parted WHERE id = ?", (row.id,)).fetchall()
    others = [there for (key,) in pairs if (there := version(conn, key)) is not None]
    for (key,) in pairs:
        both = [(row.id, key), (key, row.id)]
        conn.executemany("DELETE FROM parted WHERE id = ? AND other = ?", both)
    # What is followed by `after` is of one history with it already.
    left = [*before, *others] if after is None else [after, *others]
    if left:
        _part_all(conn, left[0].id, [other.id for other in left[1:]])


def _part_all(conn: sqlite3.Connection, key: int, others: Sequence[int]) -> None:
    """Note that these belong to the history of the first one."""
    for other in others:
        if other != key:
            both = [(key, other), (other, key)]
            conn.executemany("INSERT OR IGNORE INTO parted VALUES(?, ?)", both)


def whole_chain(conn: sqlite3.Connection, key: int) -> list[int]:
    """The keys of all versions connected with this one, oldest first."""
    start = version(conn, key)
    found = {} if start is None else {key: start}
    front = list(found.values())
    while front:
        for row in _beside(conn, front.pop()):
            if row.id not in found:
                found[row.id] = row
                front.append(row)
    return [v.id for v in sorted(found.values(), key=lambda v: (v.valid_from, v.id))]


def _beside(conn: sqlite3.Connection, row: Version) -> Iterator[Version]:
    """Those before and after a row, also where a reinstatement parted them."""
    yield from predecessors(conn, row.id)
    parted = conn.execute("SELECT other FROM parted WHERE id = ?", (row.id,))
    for key in [row.next, *(other for (other,) in parted.fetchall())]:
        there = version(conn, key) if key is not None else None
        if there is not None:
            yield there
