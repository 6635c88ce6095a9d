"""How facts stood before: what the journal tells of ends that were moved or undone.

A row holds how it is closed now and when it was closed first. What was otherwise before
stands in its journal: each entry with an `old` says where the row had ended until then,
each entry what followed the row from then on. Read backwards from the row they give all of
its states. A reinstatement without an `old` was written by an older hmem: where its row had
ended is not known, and it is read as if it had never been closed until then.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from hmem.protocols import Former, MemoryRow
from hmem.stores.account import Account
from hmem.stores.journal import CITED, REINSTATED
from hmem.stores.keys import MEMORY, pack, row_id

_FEW: Final = 64
_ENTRY: Final = "SELECT memory, event, at, old, successor FROM history"
# One entry is how the row is closed now, which the row tells itself, unless it moved what
# no entry tells of. The plus keeps SQLite from the index, which is over all users.
_ALL: Final = f"""{_ENTRY} WHERE id BETWEEN :low AND :high AND event <> {CITED}
    AND +memory IN (SELECT memory FROM history
        WHERE id BETWEEN :low AND :high AND event <> {CITED}
        GROUP BY memory HAVING count(*) > 1 OR count(old))
    ORDER BY id"""  # noqa: S608
_ONE: Final = f"""{_ENTRY} WHERE memory = ? AND id BETWEEN ? AND ?
    AND event <> {CITED} ORDER BY id"""

Name = Callable[[int | None], str | None]


class _Entry(NamedTuple):
    """An entry of a row's journal."""

    memory: int
    event: int
    at: int
    old: int | None
    successor: int | None


def of_rows(
    conn: sqlite3.Connection, account: Account, rows: Sequence[MemoryRow]
) -> Mapping[int, tuple[Former, ...]]:
    """The former states of those of these rows that have any, by sequence."""
    if not account.history_seq or not rows:
        return {}
    noted: dict[int, list[_Entry]] = {}
    for entry in _entries(conn, account, rows):
        noted.setdefault(entry.memory, []).append(entry)
    if not noted:
        return {}
    name = _Names(conn, account)
    found = {r.seq: _states(r, noted[r.seq], name) for r in rows if r.seq in noted}
    return {seq: states for seq, states in found.items() if states}


def _entries(
    conn: sqlite3.Connection, account: Account, rows: Sequence[MemoryRow]
) -> Iterator[_Entry]:
    low, high = account.span
    if len(rows) > _FEW:
        yield from map(_Entry._make, conn.execute(_ALL, {"low": low, "high": high}))
        return
    for row in rows:
        yield from map(_Entry._make, conn.execute(_ONE, (row.seq, low, high)))


def _states(
    row: MemoryRow, entries: Sequence[_Entry], name: Name
) -> tuple[Former, ...]:
    """A row's former states, from its entries in order: those of each time that it was
    closed, up to its opening."""
    found: list[Former] = []
    since = 0
    for n, entry in enumerate(entries):
        if entry.event != REINSTATED:
            continue
        closing, since = entries[since:n], n + 1
        if entry.old is not None and closing:
            by = name(closing[-1].successor)
            found += _closed(closing, closing[0].at, entry.old, name)
            found.append(Former(entry.at, entry.old, by))
    if row.valid_to is not None and row.closed_recorded_at is not None:
        last = entries[since:]
        states = _closed(last, row.closed_recorded_at, row.valid_to, name)
        found += states if len(states) > 1 else []  # the row tells when it was closed
    return tuple(found)


def _closed(
    entries: Sequence[_Entry], closed_at: int, end: int, name: Name
) -> list[Former]:
    """The states that led to one in which a row is closed at `end`; the first is that it
    was open."""
    found: list[Former] = []
    for n in range(len(entries) - 1, -1, -1):
        entry = entries[n]
        if n == 0 and entry.old is None:
            break  # that is the closing
        end = end if entry.old is None else entry.old
        by = name(entries[n - 1].successor) if n else None
        found.append(Former(entry.at, end, by))
    found.append(Former(closed_at, None))
    return found[::-1]


class _Names:
    """Public ids of memories by sequence, each read once; None for one that is gone."""

    def __init__(self, conn: sqlite3.Connection, account: Account) -> None:
        self._conn = conn
        self._account = account
        self._known: dict[int, str | None] = {}

    def __call__(self, seq: int | None) -> str | None:
        if seq is None:
            return None
        if seq not in self._known:
            key = pack(self._account.uid, seq)
            row = self._conn.execute(
                "SELECT recorded_at, uuid FROM memories WHERE id = ?", (key,)
            ).fetchone()
            owner = self._account.incarnation
            self._known[seq] = None if row is None else row_id(owner, MEMORY, key, *row)
        return self._known[seq]
