"""A user's profile: one row, replaced as a whole."""

import sqlite3

from hmem.protocols import Profile
from hmem.stores import account as accounts
from hmem.stores.account import Account
from hmem.stores.keys import pack


def put(
    conn: sqlite3.Connection, account: Account, text: str, turn_seq: int, at: int
) -> None:
    """Replace the profile."""
    conn.execute(
        "INSERT OR REPLACE INTO profiles(id, text, turn_seq, at) VALUES(?, ?, ?, ?)",
        (pack(account.uid, 0), text, turn_seq, at),
    )


def read(conn: sqlite3.Connection, user_id: str) -> Profile | None:
    """The profile, or None."""
    account = accounts.find(conn, user_id)
    if account is None:
        return None
    row = conn.execute(
        "SELECT text, turn_seq, at FROM profiles WHERE id = ?", (pack(account.uid, 0),)
    ).fetchone()
    return Profile(text=row[0], turn_seq=row[1], at=row[2]) if row else None
