"""Jobs as an operator sees them: listed over all users, and tried again."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from hmem.protocols import JobEntry, JobPlace
from hmem.records import JobStatus
from hmem.stores import account as accounts
from hmem.stores import holds, jobs
from hmem.stores.keys import JOB, SEQ_BITS, SEQ_MAX, decode, pack, public_id
from hmem.stores.writes import Room, reserve

FAILED: Final[tuple[JobStatus, ...]] = ("partial", "dead")
_ORDER: Final = f"j.created, u.user_id, j.id & {SEQ_MAX}"
_LIST: Final = (
    "SELECT u.incarnation, u.user_id, j.id, j.state, j.attempts, j.created, j.ended,"  # noqa: S608
    f" j.reason FROM jobs AS j JOIN users AS u ON u.uid = j.id >> {SEQ_BITS}"
    " WHERE j.state IN ({states})"
)


def entries(
    conn: sqlite3.Connection,
    statuses: Sequence[JobStatus],
    limit: int,
    after: JobPlace | None,
) -> list[JobEntry]:
    """Up to `limit` of the shard's jobs in these states past `after`, in order."""
    states = [n for n, status in enumerate(jobs.STATES) if status in statuses]
    sql, args = _LIST.format(states=", ".join(map(str, states))), list[Any]()
    if after is not None:
        sql += f" AND ({_ORDER}) > (?, ?, ?)"
        args += after
    rows = conn.execute(f"{sql} ORDER BY {_ORDER} LIMIT ?", [*args, limit])
    return [_entry(*row) for row in rows]


def _entry(
    incarnation: int,
    user_id: str,
    key: int,
    state: int,
    attempts: int,
    created: int,
    ended: int | None,
    reason: str | None,
) -> JobEntry:
    return JobEntry(
        id=public_id(incarnation, JOB, key & SEQ_MAX, created),
        user_id=user_id,
        seq=key & SEQ_MAX,
        status=jobs.STATES[state],
        attempts=attempts,
        created_at=created,
        ended_at=ended,
        reason=reason,
    )


def retry(
    conn: sqlite3.Connection, user_id: str, job_id: str, now: int, room: Room
) -> bool:
    """Queue a job again that ended badly. False for any other. Raises QueueFullError."""
    account = accounts.find(conn, user_id)
    ref = decode(account.incarnation, job_id) if account else None
    if account is None or ref is None or ref.kind != JOB:
        return False
    key = pack(account.uid, ref.seq)
    row = conn.execute("SELECT state, import FROM jobs WHERE id = ?", (key,)).fetchone()
    if row is None or jobs.STATES[row[0]] not in FAILED:
        return False
    reserve(conn, room)
    conn.execute(
        "UPDATE jobs SET state = ?, attempts = 0, ended = NULL, reason = NULL,"
        " reply = NULL WHERE id = ?",
        (jobs.QUEUED, key),
    )
    # It waits from now on: others who wait are not overtaken by what is long past.
    jobs.line_up(account, now, is_import=bool(row[1]))
    account.generation += 1
    holds.end_deferral(account)
    account.save(conn)
    return True
