"""Who works on what: a user's next jobs, leased to one worker at a time."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from hmem.protocols import Claim, ClaimedJob
from hmem.stores import account as accounts
from hmem.stores import holds, jobs
from hmem.stores.account import IDLE, IMPORT, Account, Labels
from hmem.stores.jobs import settle
from hmem.stores.keys import JOB, SEQ_MAX, public_id
from hmem.stores.rowcodec import (
    SELECT_MEMORIES,
    SELECT_TURNS,
    read_memories,
    read_turns,
)

MAX_JOBS: Final = 64
SLACK: Final = 1_000_000  # a clock that steps back by less is no reason to lapse
MAX_ROWS: Final = 256
TRIED: Final = "tried {} times without an end: its worker failed or was lost each time"
_JOB: Final = (
    "id, attempts, session, turns, n_turns, items, n_items, reply, created, extract"
)
_OVER: Final = "hold_from IS NOT NULL AND (hold_until <= ? OR hold_from > ?)"
_OPEN: Final = "import = ? AND id BETWEEN ? AND ? AND state < 2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claiming:
    """The terms of a claim. Times in micros.

    `clock` is read inside the transaction: a moment taken before it, while another
    process leased, would make that lease look as if it began in the future.
    """

    clock: Callable[[], int]
    lease: int
    limit: int
    worker: str
    max_attempts: int


@dataclass(frozen=True, slots=True)
class Found:
    """Claims of one shard; whether users were left over; when a hold ends next."""

    claims: list[Claim]
    more: bool
    next_due: int | None


class Head(NamedTuple):
    """The first user that could be claimed: live before import, then who waits longest.
    `next_due` is when a hold ends next, where nobody can be claimed."""

    first: tuple[int, int] | None
    next_due: int | None


def head(conn: sqlite3.Connection, now: int) -> Head:
    """Look without leasing: takes no write lock."""
    free = conn.execute(
        "SELECT work, due FROM users WHERE work > 0 AND hold_from IS NULL"
        " ORDER BY work, due LIMIT 1"
    ).fetchall()
    over = conn.execute(
        f"SELECT max(work, 1), coalesce(due, 0) FROM users WHERE {_OVER}",  # noqa: S608
        (now, now + SLACK),
    ).fetchall()
    first = min(free + over, default=None)
    return Head(first, None if first else _next_due(conn))


def _next_due(conn: sqlite3.Connection) -> int | None:
    due = conn.execute("SELECT min(hold_until) FROM users WHERE hold_from IS NOT NULL")
    found: int | None = due.fetchone()[0]
    return found


def claim(conn: sqlite3.Connection, terms: Claiming) -> Found:
    """Lease the users' next jobs who wait longest."""
    now = terms.clock()
    _lapse(conn, terms, now)
    rows = conn.execute(
        "SELECT user_id FROM users WHERE work > 0 AND hold_from IS NULL"
        " ORDER BY work, due LIMIT ?",
        (terms.limit + 1,),
    ).fetchall()
    leased = [_lease(conn, user_id, terms, now) for (user_id,) in rows[: terms.limit]]
    claims = [claim for claim in leased if claim is not None]
    return Found(claims, len(rows) > terms.limit, _next_due(conn))


def _lapse(conn: sqlite3.Connection, terms: Claiming, now: int) -> None:
    """Free users whose lease or delay is over. One that starts in the future is over too:
    the clock was set back, and it would end too late."""
    over = conn.execute(
        f"SELECT user_id FROM users WHERE {_OVER}",  # noqa: S608
        (now, now + SLACK),
    ).fetchall()
    for (user_id,) in over:
        account = accounts.find(conn, user_id)
        assert account is not None
        holds.requeue(conn, account)
        holds.free(account)
        _bury(conn, account, terms, now)
        settle(conn, account)
        account.save(conn)


def _lease(
    conn: sqlite3.Connection, user_id: str, terms: Claiming, now: int
) -> Claim | None:
    """Lease a free user's next jobs. None if all of them had been tried too often."""
    account = accounts.find(conn, user_id)
    assert account is not None
    _bury(conn, account, terms, now)
    if account.work == IDLE:
        account.save(conn)
        return None
    chosen = _next_jobs(conn, account, terms.max_attempts)
    conn.executemany(
        "UPDATE jobs SET state = 1, attempts = attempts + 1 WHERE id = ?",
        [(job[0],) for job in chosen],
    )
    account.token += 1
    account.hold_from, account.hold_until = now, now + terms.lease
    account.holder = terms.worker
    account.save(conn)
    return Claim(
        user_id=user_id,
        incarnation=account.incarnation,
        token=account.token,
        jobs=tuple(_claimed(conn, account, job) for job in chosen),
    )


def _bury(
    conn: sqlite3.Connection, account: Account, terms: Claiming, now: int
) -> None:
    """End the queued jobs that were tried too often. They are the oldest ones: nothing
    younger is tried before them."""
    dead = [
        (key, attempts)
        for kind in (0, 1)
        for key, attempts in conn.execute(
            f"SELECT id, attempts FROM jobs WHERE {_OPEN} ORDER BY id LIMIT ?",  # noqa: S608
            (kind, *account.span, MAX_JOBS),
        )
        if attempts >= terms.max_attempts
    ]
    for key, attempts in dead:
        jobs.end(conn, key, "dead", TRIED.format(attempts), now)
    if dead:
        jobs.count_ended(conn, len(dead))
        account.generation += 1
        settle(conn, account)


def _next_jobs(
    conn: sqlite3.Connection, account: Account, max_attempts: int
) -> list[tuple[Any, ...]]:
    """The user's oldest jobs that fit into one claim. One that has failed for half of its
    attempts goes alone: whatever is wrong with it shall not take others along."""
    chosen: list[tuple[Any, ...]] = []
    rows = 0
    sql = f"SELECT {_JOB} FROM jobs WHERE {_OPEN} ORDER BY id LIMIT ?"  # noqa: S608
    bounds = (account.work == IMPORT, *account.span, MAX_JOBS)
    for job in conn.execute(sql, bounds).fetchall():
        rows += job[4] + job[6]
        alone = job[1] >= max_attempts // 2
        if chosen and (alone or rows > MAX_ROWS):
            break
        chosen.append(job)
        if alone:
            break
    return chosen


def _claimed(
    conn: sqlite3.Connection, account: Account, job: tuple[Any, ...]
) -> ClaimedJob:
    key, attempts, session, turn, n_turns, item, n_items, reply, created, extract = job
    turns = jobs.span_of(conn, account, SELECT_TURNS, turn, n_turns)
    items = jobs.span_of(conn, account, SELECT_MEMORIES, item, n_items)
    labels = Labels(conn, account.uid)
    labels.load({session})
    return ClaimedJob(
        id=public_id(account.incarnation, JOB, key & SEQ_MAX, created),
        seq=key & SEQ_MAX,
        attempts=attempts + 1,
        session_id=labels.text(session),
        created_at=created,
        extract=bool(extract),
        turns=tuple(read_turns(conn, account, turns)) if turns else (),
        items=tuple(read_memories(conn, account, items)) if items else (),
        reply=reply,
    )
