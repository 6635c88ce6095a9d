"""Carrying out a plan: every operation checks its precondition where it writes."""

import sqlite3
from dataclasses import dataclass, field

import numpy as np

from hmem.protocols import (
    AddMemory,
    Applied,
    CloseMemory,
    Op,
    Outcome,
    PutVectors,
    StoreReply,
    VectorRows,
    WritePlan,
)
from hmem.records import Skipped
from hmem.stores import account as accounts
from hmem.stores import chains, jobs, leases, streams
from hmem.stores.account import IDLE, Account
from hmem.stores.jobs import Results
from hmem.stores.keys import MEMORY, pack, public_id
from hmem.stores.reads import memory_key
from hmem.stores.writes import insert_memory, open_twin


@dataclass(slots=True)
class Work:
    """One plan being carried out for one user."""

    conn: sqlite3.Connection
    account: Account
    plan: WritePlan
    results: list[Results] = field(default_factory=list)

    @property
    def at(self) -> int:
        """When it is done, in micros."""
        return self.plan.at


def apply(
    conn: sqlite3.Connection, user_id: str, plan: WritePlan
) -> tuple[Applied, bool]:
    """Carry out the plan. A failed precondition of the whole writes nothing. Also says
    whether it freed a user who has more jobs queued."""
    account = accounts.find(conn, user_id)
    refused = _refusal(account, user_id, plan)
    if refused is not None:
        return refused, False
    if account is None:
        if not any(
            isinstance(op, AddMemory) and not op.needs_target for op in plan.ops
        ):
            unknown = tuple(Outcome(status="unknown") for _ in plan.ops)
            return Applied(outcomes=unknown), False
        account = accounts.find_or_create(conn, user_id)
    account.generation += 1
    n_jobs = len(plan.claim.jobs) if plan.claim else 0
    work = Work(conn, account, plan, [Results() for _ in range(n_jobs)])
    outcomes = tuple(_run(work, op) for op in plan.ops)
    ends = plan.claim is not None and plan.end is not None
    if plan.claim is not None and plan.end is not None:
        leases.end_claim(conn, account, plan.claim, plan.end, work.results, plan.at)
    account.save(conn)
    return Applied(outcomes=outcomes), ends and account.work != IDLE


def _refusal(account: Account | None, user_id: str, plan: WritePlan) -> Applied | None:
    """Why the plan may not be carried out at all."""
    expected = plan.incarnation if plan.claim is None else plan.claim.incarnation
    found = account.incarnation if account is not None else None
    if plan.incarnation not in (None, found) or expected not in (None, found):
        return Applied(refused="incarnation")
    claim = plan.claim
    if claim is None:
        return None
    if claim.user_id != user_id or not leases.holds(account, claim):
        return Applied(refused="lease")
    return None


def _run(work: Work, op: Op) -> Outcome:
    match op:
        case AddMemory():
            return _add(work, op)
        case CloseMemory():
            return _close(work, op)
        case PutVectors():
            return _put(work, op.rows)
        case StoreReply():
            stored = jobs.store_reply(work.conn, work.account, op.job_id, op.reply)
            return Outcome(status="applied" if stored else "unknown", id=op.job_id)
        case _:
            raise NotImplementedError(type(op).__name__)


def _add(work: Work, op: AddMemory) -> Outcome:
    conn, account, new = work.conn, work.account, op.memory
    target = _target(work, op.supersedes)
    if target is None and op.needs_target:
        return Outcome(status="unknown")
    twin = open_twin(conn, account, new, work.at)
    if twin is not None:
        _blame(work, op).skipped.append(Skipped(reason="duplicate", id=twin))
        return Outcome(status="duplicate", id=twin)
    at_place = chains.place(conn, target, new.valid_from) if target else None
    seq = insert_memory(conn, account, new, work.at)
    name = public_id(account.incarnation, MEMORY, seq, work.at)
    result = _blame(work, op)
    result.added.append(seq)
    if op.vectors is not None:
        keys = np.array(op.vectors.keys, dtype=np.uint32, copy=True)
        keys[:, 0] = seq
        rows = op.vectors._replace(keys=keys, kind="memory")
        streams.add_vectors(conn, account, rows)
    if target is None or at_place is None:
        return Outcome(
            status="applied" if op.supersedes is None else "unknown", id=name
        )
    row = chains.Version(pack(account.uid, seq), new.valid_from, None, None)
    chains.link(conn, account, row, at_place, work.at, op.reason)
    before = at_place.before
    if before is not None and at_place.after is None:
        result.superseded.append(before.id - pack(account.uid, 0))
    if at_place.after is not None:
        return Outcome(status="late", id=name)
    same = before is not None and before.id == target.id and target.valid_to is None
    return Outcome(status="applied" if same else "chained", id=name)


def _target(work: Work, name: str | None) -> chains.Version | None:
    if name is None:
        return None
    key = memory_key(work.conn, work.account, name)
    return chains.version(work.conn, key) if key is not None else None


def _blame(work: Work, op: AddMemory) -> Results:
    """The job that an added fact belongs to: the one whose turn it cites, else the last."""
    if work.plan.claim is None or not work.results:
        return Results()
    cited = set(op.memory.source_ids)
    for job, result in zip(work.plan.claim.jobs, work.results, strict=True):
        if cited.intersection(turn.id for turn in job.turns):
            return result
    return work.results[-1]


def _close(work: Work, op: CloseMemory) -> Outcome:
    key = memory_key(work.conn, work.account, op.id)
    row = chains.version(work.conn, key) if key is not None else None
    if row is None:
        return Outcome(status="unknown")
    if row.valid_to is not None:
        return Outcome(status="not_open", id=op.id)
    # Closed before it began: believed at no moment, but never an inverted interval.
    work.conn.execute(
        "UPDATE memories SET valid_to = ?, closed_at = ? WHERE id = ?",
        (max(op.at, row.valid_from), work.at, row.id),
    )
    streams.touch(work.conn, work.account, row.id - pack(work.account.uid, 0))
    if op.reason is not None:
        chains.note(
            work.conn, work.account, row.id, chains.CLOSED, work.at, reason=op.reason
        )
    if work.results:
        work.results[-1].superseded.append(row.id - pack(work.account.uid, 0))
    return Outcome(status="applied", id=op.id)


def _put(work: Work, rows: VectorRows) -> Outcome:
    """Store codes of rows that are there; the others are dropped."""
    account = work.account
    table = "memories" if rows.kind == "memory" else "episodes"
    kept = []
    for seq in rows.keys[:, 0].tolist():
        found = work.conn.execute(
            f"SELECT 1 FROM {table} WHERE id = ?",  # noqa: S608
            (pack(account.uid, seq),),
        )
        kept.append(found.fetchone() is not None)
    mask = np.array(kept, dtype=np.bool_)
    if not mask.any():
        return Outcome(status="unknown")
    streams.add_vectors(
        work.conn,
        account,
        rows._replace(keys=rows.keys[mask], codes=rows.codes[mask]),
    )
    return Outcome(status="applied")
