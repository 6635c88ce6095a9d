"""The queue of a shard: queued, leased, given back, ended. Functions of one hop each."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from hashlib import blake2b
from typing import Any, Final

from hmem.protocols import Accept, Claim, ClaimedJob, Job, JobEnd
from hmem.records import JobStatus, Skipped, Usage
from hmem.stores import account as accounts
from hmem.stores.account import IDLE, IMPORT, LIVE, Account, Labels
from hmem.stores.keys import JOB, MEMORY, SEQ_MAX, TURN, decode, pack, public_id
from hmem.stores.rowcodec import (
    SELECT_MEMORIES,
    SELECT_TURNS,
    memory_id,
    read_memories,
    read_turns,
)

QUEUED: Final = 0
RUNNING: Final = 1
STATES: Final[tuple[JobStatus, ...]] = ("queued", "running", "done", "partial", "dead")
MAX_JOBS: Final = 64
MAX_ROWS: Final = 256
LOST: Final = "its worker was lost {} times while working on it"

_OPEN: Final = (
    "SELECT id FROM jobs WHERE import = ? AND id BETWEEN ? AND ? AND state < 2"
)


@dataclass(slots=True)
class Results:
    """What a job did beyond the rows it came with."""

    added: list[int] = field(default_factory=list)
    superseded: list[int] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def dump(self) -> str | None:
        """As text; None where there is nothing to say."""
        found: dict[str, Any] = {}
        if self.added:
            found["a"] = self.added
        if self.superseded:
            found["s"] = self.superseded
        if self.skipped:
            found["k"] = [[s.reason, s.id] for s in self.skipped]
        if self.usage != Usage():
            found["u"] = astuple(self.usage)
        return json.dumps(found, separators=(",", ":")) if found else None

    @classmethod
    def load(cls, text: str | None) -> "Results":
        """What `dump` wrote."""
        found = json.loads(text) if text else {}
        return cls(
            found.get("a", []),
            found.get("s", []),
            [Skipped(reason=reason, id=row) for reason, row in found.get("k", ())],
            Usage(*found["u"]) if "u" in found else Usage(),
        )


def idem_key(account: Account, key: str) -> bytes:
    """What stands for an idempotency key: different for each user."""
    owner = pack(account.uid, 0).to_bytes(8, "big")
    return blake2b(key.encode(), digest_size=16, key=owner).digest()


def insert(
    conn: sqlite3.Connection,
    account: Account,
    seq: int,
    accept: Accept,
    rows: tuple[int | None, int, int | None, int],
    results: Results,
    *,
    session: int | None,
    queued: bool,
) -> None:
    """Write a job. `rows`: first turn, turns, first item, items."""
    is_import = accept.priority == "import"
    conn.execute(
        f"INSERT INTO jobs VALUES({', '.join('?' * 16)})",
        (
            pack(account.uid, seq),
            QUEUED if queued else STATES.index("done"),
            is_import,
            0,
            accept.recorded_at,
            None if queued else accept.recorded_at,
            session,
            *rows,
            idem_key(account, accept.key) if accept.key is not None else None,
            accept.body_hash if accept.key is not None else None,
            None,
            results.dump(),
            None,
        ),
    )
    if queued and (account.work == IDLE or (account.work == IMPORT and not is_import)):
        account.work = IMPORT if is_import else LIVE
        account.due = accept.recorded_at


def reserve(conn: sqlite3.Connection, limit: int) -> bool:
    """Count one more queued job in the shard, unless `limit` are there."""
    changed = conn.execute(
        "UPDATE queue SET queued = queued + 1 WHERE queued < ?", (limit,)
    )
    return changed.rowcount == 1


def pending(conn: sqlite3.Connection, account: Account) -> frozenset[int]:
    """The sequences of the user's jobs that have not ended."""
    if account.work == IDLE:
        return frozenset()
    return frozenset(
        key & SEQ_MAX
        for kind in (0, 1)
        for (key,) in conn.execute(_OPEN, (kind, *account.span))
    )


def settle(conn: sqlite3.Connection, account: Account) -> None:
    """Work out anew what the user has queued, after jobs ended or came back."""
    account.work, account.due = IDLE, None
    for work, is_import in ((LIVE, 0), (IMPORT, 1)):
        row = conn.execute(f"{_OPEN} ORDER BY id LIMIT 1", (is_import, *account.span))
        found = row.fetchone()
        if found:
            created = conn.execute("SELECT created FROM jobs WHERE id = ?", found)
            account.work, account.due = work, created.fetchone()[0]
            return


def _free(account: Account) -> None:
    account.hold_from = account.hold_until = account.holder = None


# ------------------------------------------------------------------------ claiming


@dataclass(frozen=True, slots=True, kw_only=True)
class Claiming:
    """The terms of a claim. Times in micros."""

    now: int
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


def claim(conn: sqlite3.Connection, terms: Claiming) -> Found:
    """Lease the oldest free users' next jobs."""
    _lapse(conn, terms)
    rows = conn.execute(
        "SELECT user_id FROM users WHERE work > 0 AND hold_from IS NULL"
        " ORDER BY work, due LIMIT ?",
        (terms.limit + 1,),
    ).fetchall()
    claims = [_lease(conn, user_id, terms) for (user_id,) in rows[: terms.limit]]
    due = conn.execute("SELECT min(hold_until) FROM users WHERE hold_from IS NOT NULL")
    return Found(claims, len(rows) > terms.limit, due.fetchone()[0])


def _lapse(conn: sqlite3.Connection, terms: Claiming) -> None:
    """Free users whose lease or delay is over. One that starts in the future is over too:
    the clock was set back, and it would end too late."""
    over = conn.execute(
        "SELECT user_id FROM users WHERE hold_from IS NOT NULL"
        " AND (hold_until <= ? OR hold_from > ?)",
        (terms.now, terms.now),
    ).fetchall()
    for (user_id,) in over:
        account = accounts.find(conn, user_id)
        assert account is not None
        running = _running(conn, account)
        dead = [(key, n) for key, n in running if n >= terms.max_attempts]
        for key, attempts in dead:
            _end(conn, key, "dead", LOST.format(attempts), terms.now)
        if dead:
            account.generation += 1
            _count_ended(conn, len(dead))
        _requeue(conn, account)
        _free(account)
        account.token += 1
        settle(conn, account)
        account.save(conn)


def _running(conn: sqlite3.Connection, account: Account) -> list[tuple[int, int]]:
    return [
        row
        for kind in (0, 1)
        for row in conn.execute(
            "SELECT id, attempts FROM jobs WHERE import = ? AND id BETWEEN ? AND ?"
            " AND state < 2 AND state = 1",
            (kind, *account.span),
        )
    ]


def _requeue(conn: sqlite3.Connection, account: Account, back: int = 0) -> None:
    for key, _ in _running(conn, account):
        conn.execute(
            "UPDATE jobs SET state = 0, attempts = attempts - ? WHERE id = ?",
            (back, key),
        )


def _lease(conn: sqlite3.Connection, user_id: str, terms: Claiming) -> Claim:
    account = accounts.find(conn, user_id)
    assert account is not None
    chosen: list[tuple[Any, ...]] = []
    rows = 0
    for job in conn.execute(
        "SELECT id, attempts, session, turns, n_turns, items, n_items, reply FROM jobs"
        " WHERE import = ? AND id BETWEEN ? AND ? AND state < 2 ORDER BY id LIMIT ?",
        (account.work == IMPORT, *account.span, MAX_JOBS),
    ).fetchall():
        rows += job[4] + job[6]
        if chosen and rows > MAX_ROWS:
            break
        chosen.append(job)
    conn.executemany(
        "UPDATE jobs SET state = 1, attempts = attempts + 1 WHERE id = ?",
        [(job[0],) for job in chosen],
    )
    account.token += 1
    account.hold_from, account.hold_until = terms.now, terms.now + terms.lease
    account.holder = terms.worker
    account.save(conn)
    return Claim(
        user_id=user_id,
        incarnation=account.incarnation,
        token=account.token,
        jobs=tuple(_claimed(conn, account, job) for job in chosen),
    )


def _claimed(
    conn: sqlite3.Connection, account: Account, job: tuple[Any, ...]
) -> ClaimedJob:
    key, attempts, session, turn, n_turns, item, n_items, reply = job
    turns = _range(conn, account, SELECT_TURNS, turn, n_turns)
    items = _range(conn, account, SELECT_MEMORIES, item, n_items)
    labels = Labels(conn, account.uid)
    labels.load({session})
    return ClaimedJob(
        id=_job_id(conn, account, key),
        seq=key & SEQ_MAX,
        attempts=attempts + 1,
        session_id=labels.text(session),
        turns=tuple(read_turns(conn, account, turns)) if turns else (),
        items=tuple(read_memories(conn, account, items)) if items else (),
        reply=reply,
    )


def _range(
    conn: sqlite3.Connection, account: Account, sql: str, first: int | None, n: int
) -> list[tuple[Any, ...]]:
    if first is None or not n:
        return []
    low = pack(account.uid, first)
    return conn.execute(sql, (low, low + n - 1)).fetchall()


def _job_id(conn: sqlite3.Connection, account: Account, key: int) -> str:
    row = conn.execute("SELECT created FROM jobs WHERE id = ?", (key,)).fetchone()
    return public_id(account.incarnation, JOB, key & SEQ_MAX, row[0])


def holds(account: Account | None, claim: Claim) -> bool:
    """Whether the claim is still the user's current one."""
    return (
        account is not None
        and account.incarnation == claim.incarnation
        and account.token == claim.token
        and account.hold_from is not None
    )


def renew(conn: sqlite3.Connection, claim: Claim, now: int, lease: int) -> bool:
    """Extend the lease, if it was not lost."""
    account = accounts.find(conn, claim.user_id)
    if account is None or not holds(account, claim):
        return False
    account.hold_from, account.hold_until = now, now + lease
    account.save(conn)
    return True


def release(
    conn: sqlite3.Connection, claim: Claim, now: int, delay: int, back: int
) -> bool:
    """Give the jobs back. `back`: attempts to take back. False if the lease was lost."""
    account = accounts.find(conn, claim.user_id)
    if account is None or not holds(account, claim):
        return False
    _requeue(conn, account, back)
    _free(account)
    if delay > 0:
        account.hold_from, account.hold_until = now, now + delay
    account.token += 1
    settle(conn, account)
    account.save(conn)
    return True


# -------------------------------------------------------------------------- ending


def end_claim(
    conn: sqlite3.Connection,
    account: Account,
    claim: Claim,
    end: JobEnd,
    results: Sequence[Results],
    at: int,
) -> None:
    """End the claim's jobs; the usage is the last one's. Frees the user."""
    ended = 0
    for job, result in zip(claim.jobs, results, strict=True):
        key = pack(account.uid, job.seq)
        row = conn.execute(
            "SELECT result FROM jobs WHERE id = ? AND state < 2", (key,)
        ).fetchone()
        if row is None:
            continue
        before = Results.load(row[0])
        merged = Results(
            before.added + result.added,
            before.superseded + result.superseded,
            before.skipped + result.skipped,
            end.usage if job is claim.jobs[-1] else Usage(),
        )
        _end(conn, key, end.status, end.reason, at, merged.dump())
        ended += 1
    _count_ended(conn, ended)
    _requeue(conn, account)
    _free(account)
    account.token += 1
    settle(conn, account)


def _end(
    conn: sqlite3.Connection,
    key: int,
    status: JobStatus,
    reason: str | None,
    at: int,
    result: str | None = None,
) -> None:
    conn.execute(
        "UPDATE jobs SET state = ?, reason = ?, ended = ?, reply = NULL,"
        " result = coalesce(?, result) WHERE id = ?",
        (STATES.index(status), reason, at, result, key),
    )


def _count_ended(conn: sqlite3.Connection, n: int) -> None:
    conn.execute("UPDATE queue SET queued = max(0, queued - ?)", (n,))


def store_reply(
    conn: sqlite3.Connection, account: Account, job_id: str, reply: bytes
) -> bool:
    """Keep a reply with a job that has not ended."""
    ref = decode(account.incarnation, job_id)
    if ref is None or ref.kind != JOB:
        return False
    changed = conn.execute(
        "UPDATE jobs SET reply = ? WHERE id = ? AND state < 2",
        (reply, pack(account.uid, ref.seq)),
    )
    return changed.rowcount == 1


def purge(conn: sqlite3.Connection, after: int, before: int, n: int) -> int:
    """Forget jobs that ended before `before` (micros) among the next `n` keys after
    `after`. Returns the last key looked at, 0 at the end."""
    rows = conn.execute(
        "SELECT id, ended FROM jobs WHERE id > ? ORDER BY id LIMIT ?", (after, n)
    ).fetchall()
    old = [(key,) for key, ended in rows if ended is not None and ended < before]
    conn.executemany("DELETE FROM jobs WHERE id = ?", old)
    return rows[-1][0] if len(rows) == n else 0


# ------------------------------------------------------------------------- reading


def job(conn: sqlite3.Connection, user_id: str, job_id: str) -> Job | None:
    """A job as a receipt sees it."""
    account = accounts.find(conn, user_id)
    ref = decode(account.incarnation, job_id) if account else None
    if account is None or ref is None or ref.kind != JOB:
        return None
    return read_job(conn, account, pack(account.uid, ref.seq))


def read_job(conn: sqlite3.Connection, account: Account, key: int) -> Job | None:
    """The job with this key, or None."""
    row = conn.execute(
        "SELECT state, attempts, created, ended, turns, n_turns, items, n_items,"
        " reason, result FROM jobs WHERE id = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    state, attempts, created, ended, turn, n_turns, item, n_items, reason, text = row
    results = Results.load(text)
    seqs = [*range(item or 0, (item or 0) + n_items), *results.added]
    return Job(
        id=public_id(account.incarnation, JOB, key & SEQ_MAX, created),
        status=STATES[state],
        attempts=attempts,
        created_at=created,
        ended_at=ended,
        reason=reason,
        turns=_turn_ids(conn, account, turn, n_turns),
        added=_memory_ids(conn, account, seqs),
        superseded=_memory_ids(conn, account, results.superseded),
        skipped=tuple(results.skipped),
        usage=results.usage,
    )


def _turn_ids(
    conn: sqlite3.Connection, account: Account, first: int | None, n: int
) -> tuple[str, ...]:
    sql = "SELECT id, recorded_at FROM episodes WHERE id BETWEEN ? AND ?"
    return tuple(
        public_id(account.incarnation, TURN, key & SEQ_MAX, at)
        for key, at in _range(conn, account, sql, first, n)
    )


def _memory_ids(
    conn: sqlite3.Connection, account: Account, seqs: Sequence[int]
) -> tuple[str, ...]:
    found = []
    for seq in seqs:
        row = conn.execute(
            "SELECT id, recorded_at, uuid FROM memories WHERE id = ?",
            (pack(account.uid, seq),),
        ).fetchone()
        if row:
            found.append(memory_id(account.incarnation, *row))
    return tuple(found)


def queued(conn: sqlite3.Connection, user_id: str | None) -> int:
    """Jobs not ended, of one user or of the shard."""
    if user_id is None:
        return int(conn.execute("SELECT queued FROM queue").fetchone()[0])
    account = accounts.find(conn, user_id)
    return len(pending(conn, account)) if account else 0


__all__ = ["MEMORY", "Claiming", "Found", "Results"]
