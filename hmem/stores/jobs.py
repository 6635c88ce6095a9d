"""Jobs as rows: written, counted, ended, read by a receipt, forgotten."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, Final

from hmem.protocols import Accept, Job
from hmem.records import JobStatus, Skipped, Usage
from hmem.stores import account as accounts
from hmem.stores.account import IDLE, IMPORT, LIVE, Account
from hmem.stores.keys import (
    JOB,
    MEMORY,
    SEQ_MAX,
    TURN,
    decode,
    pack,
    public_id,
    row_id,
)

QUEUED: Final = 0
STATES: Final[tuple[JobStatus, ...]] = ("queued", "running", "done", "partial", "dead")

OPEN: Final = (
    "SELECT id FROM jobs WHERE import = ? AND id BETWEEN ? AND ? AND state < 2"
)


@dataclass(slots=True)
class Results:
    """What a job did beyond the rows it came with."""

    added: list[int] = field(default_factory=list)
    superseded: list[int] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def __bool__(self) -> bool:
        return self.dump() is not None

    def __add__(self, later: "Results") -> "Results":
        """Both together. Only a job that is tried again has usage of before."""
        return Results(
            self.added + later.added,
            self.superseded + later.superseded,
            self.skipped + later.skipped,
            self.usage + later.usage,
        )

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
            blank = asdict(Usage())
            found["u"] = {k: v for k, v in asdict(self.usage).items() if v != blank[k]}
        return json.dumps(found, separators=(",", ":")) if found else None

    @classmethod
    def load(cls, text: str | None) -> "Results":
        """What `dump` wrote."""
        try:
            found = json.loads(text) if text else {}
        except ValueError:  # one damaged row keeps no receipt from being read
            found = {}
        return cls(
            found.get("a", []),
            found.get("s", []),
            [Skipped(reason=reason, id=row) for reason, row in found.get("k", ())],
            Usage(**found.get("u", {})),
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
        f"INSERT INTO jobs VALUES({', '.join('?' * 17)})",
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
            accept.extract or None,
        ),
    )
    if queued:
        line_up(account, accept.recorded_at, is_import=is_import)


def line_up(account: Account, at: int, *, is_import: bool) -> None:
    """The user has one more job queued, since `at`."""
    if account.work == IDLE or (account.work == IMPORT and not is_import):
        account.work = IMPORT if is_import else LIVE
        account.due = at


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
        for (key,) in conn.execute(OPEN, (kind, *account.span))
    )


def settle(conn: sqlite3.Connection, account: Account) -> None:
    """Work out anew what the user has queued, after jobs ended or came back."""
    account.work, account.due = IDLE, None
    for work, is_import in ((LIVE, 0), (IMPORT, 1)):
        row = conn.execute(f"{OPEN} ORDER BY id LIMIT 1", (is_import, *account.span))
        found = row.fetchone()
        if found:
            created = conn.execute("SELECT created FROM jobs WHERE id = ?", found)
            account.work, account.due = work, created.fetchone()[0]
            return


def end(
    conn: sqlite3.Connection,
    key: int,
    status: JobStatus,
    reason: str | None,
    at: int,
    result: str | None = None,
) -> None:
    """Write how a job ended; its reply goes."""
    conn.execute(
        "UPDATE jobs SET state = ?, reason = ?, ended = ?, reply = NULL,"
        " result = coalesce(?, result) WHERE id = ?",
        (STATES.index(status), reason, at, result, key),
    )


def open_results(conn: sqlite3.Connection, key: int) -> Results | None:
    """What a job that has not ended did so far; None for any other."""
    row = conn.execute(
        "SELECT result FROM jobs WHERE id = ? AND state < 2", (key,)
    ).fetchone()
    return None if row is None else Results.load(row[0])


def count_ended(conn: sqlite3.Connection, n: int) -> None:
    """Count so many jobs fewer as waiting in the shard."""
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


def drop_replies(
    conn: sqlite3.Connection, account: Account, drops: Callable[[bytes], bool]
) -> None:
    """Forget of what models replied about jobs that have not ended what is to be dropped:
    they are asked again."""
    kept = conn.execute(
        "SELECT id, reply FROM jobs WHERE id BETWEEN ? AND ? AND reply IS NOT NULL",
        account.span,
    ).fetchall()
    conn.executemany(
        "UPDATE jobs SET reply = NULL WHERE id = ?",
        [(key,) for key, reply in kept if drops(reply)],
    )


def purge(conn: sqlite3.Connection, after: int, before: int, n: int) -> int:
    """Forget jobs that ended before `before` (micros) among the next `n` keys after
    `after`. Returns the last key looked at, 0 at the end."""
    rows = conn.execute(
        "SELECT id, ended FROM jobs WHERE id > ? ORDER BY id LIMIT ?", (after, n)
    ).fetchall()
    old = [(key,) for key, ended in rows if ended is not None and ended < before]
    conn.executemany("DELETE FROM jobs WHERE id = ?", old)
    return rows[-1][0] if len(rows) == n else 0


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
    sql = "SELECT id, recorded_at, uuid FROM episodes WHERE id BETWEEN ? AND ?"
    return tuple(
        row_id(account.incarnation, TURN, *row)
        for row in span_of(conn, account, sql, first, n)
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
            found.append(row_id(account.incarnation, MEMORY, *row))
    return tuple(found)


def queued(conn: sqlite3.Connection, user_id: str | None) -> int:
    """Jobs not ended, of one user or of the shard."""
    if user_id is None:
        return int(conn.execute("SELECT queued FROM queue").fetchone()[0])
    account = accounts.find(conn, user_id)
    return len(pending(conn, account)) if account else 0


def span_of(
    conn: sqlite3.Connection, account: Account, sql: str, first: int | None, n: int
) -> list[tuple[Any, ...]]:
    """The rows of `n` sequences from `first` on, by a select between two keys."""
    if first is None or not n:
        return []
    low = pack(account.uid, first)
    return conn.execute(sql, (low, low + n - 1)).fetchall()
