"""Carrying out a plan: every operation checks its precondition where it writes."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hmem.protocols import (
    AddMemory,
    Applied,
    CiteMemory,
    CloseMemory,
    Op,
    Outcome,
    PutProfile,
    PutVectors,
    ReinstateMemory,
    StoreReply,
    VectorRows,
    WritePlan,
)
from hmem.records import Skipped
from hmem.stores import account as accounts
from hmem.stores import chains, holds, jobs, journal, profiles, refs, streams
from hmem.stores.account import Account
from hmem.stores.jobs import Results
from hmem.stores.keys import MEMORY, SEQ_MAX, dedup_key, pack, public_id
from hmem.stores.reads import memory_key
from hmem.stores.writes import add_sources, insert_memory, open_twin


@dataclass(slots=True)
class Work:
    """One plan being carried out for one user. `results`: one per job of its claim;
    `closed`: the keys of what it closed without successor."""

    conn: sqlite3.Connection
    account: Account
    plan: WritePlan
    results: list[Results] = field(default_factory=list)
    closed: set[int] = field(default_factory=set)

    @property
    def at(self) -> int:
        """When it is done, in micros."""
        return self.plan.at


def apply(
    conn: sqlite3.Connection, user_id: str, plan: WritePlan, clock: Callable[[], int]
) -> tuple[Applied, bool]:
    """Carry out the plan. A failed precondition of the whole writes nothing. Also says
    whether it gave up a claim and left jobs queued. `clock`: what holds are measured by."""
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
    _link(work, outcomes)
    left = holds.finish(conn, account, plan, work.results, clock)
    account.save(conn)
    return Applied(outcomes=outcomes), left


def _refusal(account: Account | None, user_id: str, plan: WritePlan) -> Applied | None:
    """Why the plan may not be carried out at all."""
    expected = plan.incarnation if plan.claim is None else plan.claim.incarnation
    found = account.incarnation if account is not None else None
    if plan.incarnation not in (None, found) or expected not in (None, found):
        return Applied(refused="incarnation")
    claim = plan.claim
    if claim is None:
        return None
    if claim.user_id != user_id or not holds.holds(account, claim):
        return Applied(refused="lease")
    return None


def _run(work: Work, op: Op) -> Outcome:
    match op:
        case AddMemory():
            return _add(work, op)
        case CiteMemory():
            return _cite(work, op)
        case CloseMemory():
            return _close(work, op)
        case ReinstateMemory():
            return _reinstate(work, op)
        case PutProfile():
            profiles.put(work.conn, work.account, op.text, op.turn_seq, work.at)
            return Outcome(status="applied")
        case PutVectors():
            return _put(work, op.rows)
        case StoreReply():
            stored = jobs.store_reply(work.conn, work.account, op.job_id, op.reply)
            return Outcome(status="applied" if stored else "unknown", id=op.job_id)


def _add(work: Work, op: AddMemory) -> Outcome:
    conn, account, new = work.conn, work.account, op.memory
    target = _target(work, op.supersedes)
    if target is None and op.needs_target:
        return Outcome(status="unknown")
    agent = account.label(conn, new.agent_id)
    twin = open_twin(conn, account, dedup_key(account.uid, new.hash), agent, work.at)
    if twin is not None:
        add_sources(conn, account, twin.key, new.source_ids)
        _blame(work, op).skipped.append(Skipped(reason="duplicate", id=twin.id))
        return Outcome(status="duplicate", id=twin.id)
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
    _supersede(work, seq, op, at_place)
    before = at_place.before
    if at_place.after is not None:
        return Outcome(status="late", id=name)
    if before is not None:
        result.superseded.append(before.id & SEQ_MAX)
    same = before is not None and before.id == target.id and target.valid_to is None
    return Outcome(status="applied" if same else "chained", id=name)


def _supersede(work: Work, seq: int, op: AddMemory, at_place: chains.Place) -> None:
    """Put the new row into its place. How the one before it had been closed is noted
    first, unless this very plan closed it."""
    conn, account, before = work.conn, work.account, at_place.before
    was_closed = before is not None and before.valid_to is not None
    if before is not None and was_closed and before.id not in work.closed:
        journal.remember(conn, account, before.id, before.next)
    key = pack(account.uid, seq)
    row = chains.Version(key, op.memory.valid_from, None, None)
    chains.link(conn, account, row, at_place, work.at, op.reason)


def _target(work: Work, name: str | None) -> chains.Version | None:
    key = _key(work, name)
    return chains.version(work.conn, key) if key is not None else None


def _blame(work: Work, op: AddMemory) -> Results:
    """The job that an added fact belongs to: the one whose turn it cites, else the last."""
    if work.plan.claim is None or not work.results:
        return Results()
    cited = set(op.memory.source_ids)
    for job, result in zip(work.plan.claim.jobs, work.results, strict=True):
        if cited.intersection(turn.id for turn in job.turns):
            return result
    return work.results[holds.last_to_end(work.plan.claim, work.plan.end)]


def _link(work: Work, outcomes: Sequence[Outcome]) -> None:
    """Link the rows that were added to those that the plan's operations name."""
    ops = work.plan.ops
    if not any(isinstance(op, AddMemory) and op.links for op in ops):
        return
    keys = {
        n: key
        for n, (op, outcome) in enumerate(zip(ops, outcomes, strict=True))
        if isinstance(op, AddMemory) and (key := _key(work, outcome.id)) is not None
    }
    for n, own in keys.items():
        op = ops[n]
        if not isinstance(op, AddMemory) or outcomes[n].status == "duplicate":
            continue
        others = {keys[other] & SEQ_MAX for other in op.links if other in keys}
        if others := others - {own & SEQ_MAX}:
            work.conn.execute(
                "UPDATE memories SET links = ? WHERE id = ?",
                (refs.pack_links(others), own),
            )


def _key(work: Work, name: str | None) -> int | None:
    return None if name is None else memory_key(work.conn, work.account, name)


def _cite(work: Work, op: CiteMemory) -> Outcome:
    key = _key(work, op.id)
    is_open = work.conn.execute(
        "SELECT 1 FROM memories WHERE id = ? AND valid_to IS NULL"
        " AND forgotten_at IS NULL AND (expires_at IS NULL OR expires_at > ?)",
        (key, work.at),
    ).fetchone()
    if (key is None or is_open is None) and op.otherwise is not None:
        return _add(work, op.otherwise)
    if key is None:
        return Outcome(status="unknown")
    if is_open is None:
        return Outcome(status="not_open", id=op.id)
    add_sources(work.conn, work.account, key, op.source_ids)
    if op.reason is not None:
        journal.note(
            work.conn, work.account, key, journal.CITED, work.at, reason=op.reason
        )
    return Outcome(status="applied", id=op.id)


def _reinstate(work: Work, op: ReinstateMemory) -> Outcome:
    conn, account = work.conn, work.account
    row = _target(work, op.id)
    if row is None:
        return Outcome(status="unknown")
    if row.valid_to is None:
        return Outcome(status="duplicate", id=op.id)
    found = conn.execute("SELECT dedup, agent FROM memories WHERE id = ?", (row.id,))
    dedup, agent = found.fetchone()
    twin = open_twin(conn, account, dedup, agent, work.at)
    if twin is not None:
        return Outcome(status="duplicate", id=twin.id)
    chains.part(conn, account, row, work.at, op.reason)
    return Outcome(status="applied", id=op.id)


def _close(work: Work, op: CloseMemory) -> Outcome:
    row = _target(work, op.id)
    if row is None:
        return Outcome(status="unknown")
    if row.valid_to is not None:
        return Outcome(status="not_open", id=op.id)
    # Closed before it began: believed at no moment, but never an inverted interval.
    work.conn.execute(
        "UPDATE memories SET valid_to = ?, closed_at = ? WHERE id = ?",
        (max(op.at, row.valid_from), work.at, row.id),
    )
    streams.touch(work.conn, work.account, row.id & SEQ_MAX)
    if op.reason is not None:
        journal.note(
            work.conn, work.account, row.id, journal.CLOSED, work.at, reason=op.reason
        )
    work.closed.add(row.id)
    if work.plan.claim is not None and work.results:
        last = holds.last_to_end(work.plan.claim, work.plan.end)
        work.results[last].superseded.append(row.id & SEQ_MAX)
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
