"""What spans a user's tables or all users: erasing, counting, checking."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from hmem.stores import account as accounts
from hmem.stores import jobs
from hmem.stores.keys import span

_BY_KEY: Final = (
    *("memories", "episodes", "lex", "vec", "sessions", "history", "jobs"),
    *("profiles", "parted"),
)
_BY_UID: Final = ("labels", "entities", "touched", "message_ids")
TABLES: Final = ("users", *_BY_KEY, *_BY_UID)


def erase(conn: sqlite3.Connection, user_id: str) -> Mapping[str, int]:
    """Delete every row of the user: how many, by table. The uid is never given again."""
    account = accounts.find(conn, user_id)
    if account is None:
        return {}
    waiting = len(jobs.pending(conn, account))
    removed = {}
    for table in _BY_KEY:
        sql = f"DELETE FROM {table} WHERE id BETWEEN ? AND ?"  # noqa: S608
        removed[table] = conn.execute(sql, span(account.uid)).rowcount
    for table in _BY_UID:
        sql = f"DELETE FROM {table} WHERE uid = ?"  # noqa: S608
        removed[table] = conn.execute(sql, (account.uid,)).rowcount
    sql = "DELETE FROM users WHERE uid = ?"
    removed["users"] = conn.execute(sql, (account.uid,)).rowcount
    conn.execute("UPDATE queue SET queued = max(0, queued - ?)", (waiting,))
    return {table: n for table, n in removed.items() if n}


def counts(conn: sqlite3.Connection) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Rows by table, jobs by status, bytes by table (empty where SQLite cannot say)."""
    rows: Counter[str] = Counter()
    for table in TABLES:
        sql = f"SELECT count(*) FROM {table}"  # noqa: S608
        rows[table] = conn.execute(sql).fetchone()[0]
    states = conn.execute("SELECT state, count(*) FROM jobs GROUP BY state")
    by_status = Counter({jobs.STATES[state]: n for state, n in states})
    try:
        sizes = conn.execute(
            "SELECT tbl_name, sum(d.pgsize) FROM dbstat AS d JOIN sqlite_master AS m"
            " ON m.name = d.name WHERE d.aggregate = 1 GROUP BY tbl_name"
        )
        by_table: Counter[str] = Counter(dict(sizes.fetchall()))
    except sqlite3.OperationalError:  # built without SQLITE_ENABLE_DBSTAT_VTAB
        by_table = Counter()
    return rows, by_status, by_table


def check(conn: sqlite3.Connection) -> list[str]:
    """What SQLite finds wrong with the file; [] when nothing."""
    found: list[Any] = conn.execute("PRAGMA quick_check(20)").fetchall()
    return [text for (text,) in found if text != "ok"]
