"""The journal: why things were done to a fact, and what its row tells no more."""

import sqlite3
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from hmem.stores.account import Account
from hmem.stores.keys import SEQ_MAX, pack

CLOSED: Final = 1
SUPERSEDED: Final = 2
MOVED: Final = 3  # a late arrival moved this row's end back; `old` is where it was
REINSTATED: Final = 4  # `old` is where it had ended, NULL where an older hmem wrote it
CITED: Final = 5

NAMES: Final[Mapping[int, Literal["CLOSE", "SUPERSEDE", "REINSTATE", "CITE"]]] = {
    CLOSED: "CLOSE",
    SUPERSEDED: "SUPERSEDE",
    MOVED: "SUPERSEDE",
    REINSTATED: "REINSTATE",
    CITED: "CITE",
}
_OF: Final = "FROM history WHERE memory = ? AND id BETWEEN ? AND ?"


class Entry(NamedTuple):
    """One row of the journal. `successor` is a sequence: files of version 1 have none."""

    event: int
    at: int
    successor: int | None
    reason: str | None


def note(
    conn: sqlite3.Connection,
    account: Account,
    key: int,
    event: int,
    at: int,
    *,
    old: int | None = None,
    successor: int | None = None,
    reason: str | None = None,
) -> None:
    """Write an entry about the row `key`. `successor` is a key, too."""
    conn.execute(
        "INSERT INTO history VALUES(?, ?, ?, ?, ?, ?, ?)",
        (
            pack(account.uid, account.take("history_seq")),
            key & SEQ_MAX,
            event,
            at,
            old,
            reason,
            None if successor is None else successor & SEQ_MAX,
        ),
    )


def remember(
    conn: sqlite3.Connection, account: Account, key: int, successor: int | None
) -> None:
    """Before a closed row's closing is changed: note it, unless it stands there already.
    `successor` is the key of what the row is followed by."""
    last = conn.execute(
        f"SELECT id, event, successor {_OF} AND event <> ? ORDER BY id DESC LIMIT 1",
        (key & SEQ_MAX, *account.span, CITED),
    ).fetchone()
    seq = None if successor is None else successor & SEQ_MAX
    if last is None or not _fits(last[1], last[2], seq):
        closed = conn.execute("SELECT closed_at FROM memories WHERE id = ?", (key,))
        event = CLOSED if seq is None else SUPERSEDED
        note(conn, account, key, event, closed.fetchone()[0], successor=successor)
    elif last[2] != seq:
        conn.execute("UPDATE history SET successor = ? WHERE id = ?", (seq, last[0]))


def _fits(event: int, noted: int | None, seq: int | None) -> bool:
    """Whether a row's last entry is about how it is closed now."""
    if seq is None:
        return event == CLOSED
    return event in (SUPERSEDED, MOVED) and noted in (None, seq)


def pass_on(
    conn: sqlite3.Connection,
    account: Account,
    key: int,
    old: int,
    new: int | None,
) -> None:
    """What was superseded by `old`, which goes, is superseded by `new`, or by nothing: then
    it was closed. Why is not known any more."""
    event, seq = (CLOSED, None) if new is None else (None, new & SEQ_MAX)
    conn.execute(
        "UPDATE history SET successor = ?, event = coalesce(?, event), reason = NULL"
        " WHERE memory = ? AND successor = ? AND id BETWEEN ? AND ?",
        (seq, event, key & SEQ_MAX, old & SEQ_MAX, *account.span),
    )


def remove(conn: sqlite3.Connection, account: Account, key: int) -> int:
    """Destroy what was noted about a row, and the reasons why it took others' places: how
    many entries went."""
    conn.execute(
        "UPDATE history SET reason = NULL WHERE successor = ? AND id BETWEEN ? AND ?",
        (key & SEQ_MAX, *account.span),
    )
    gone = conn.execute(
        "DELETE FROM history WHERE memory = ? AND id BETWEEN ? AND ?",
        (key & SEQ_MAX, *account.span),
    )
    return gone.rowcount


def entries(conn: sqlite3.Connection, account: Account, key: int) -> list[Entry]:
    """What was noted about a row, in order."""
    found = conn.execute(
        f"SELECT event, at, successor, reason {_OF} ORDER BY id",
        (key & SEQ_MAX, *account.span),
    )
    return [Entry(*row) for row in found]
