"""Accepting: one add's rows, lexical rows and job, written in one go."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from hmem.errors import IdempotencyError, QueueFullError
from hmem.protocols import Accept, Accepted, NewMemory, NewTurn
from hmem.records import Skipped
from hmem.stores import account as accounts
from hmem.stores import holds, jobs, refs, sessions, streams
from hmem.stores.account import Account
from hmem.stores.keys import (
    JOB,
    MEMORY,
    SEQ_MAX,
    TURN,
    dedup_key,
    public_id,
    row_id,
)
from hmem.stores.rowcodec import (
    INSERT_MEMORY,
    INSERT_TURN,
    memory_values,
    turn_values,
)

HELD = Skipped(reason="already in session")


class Room(NamedTuple):
    """How many jobs may wait in all, and how many wait in the other shards."""

    limit: int
    elsewhere: int = 0


def accept(conn: sqlite3.Connection, user_id: str, add: Accept, room: Room) -> Accepted:
    """Store one add. Raises IdempotencyError, QueueFullError, CapacityError."""
    account = accounts.find_or_create(conn, user_id)
    if add.key is not None:
        earlier = _earlier(conn, account, add)
        if earlier is not None:
            return earlier
    account.room(turns=len(add.turns), memories=len(add.items))
    account.generation += 1
    job = account.take("job_seq")
    label = account.label(conn, add.session_id)
    turns, n_held = _new_turns(conn, account, label, add)
    first_turn = _insert_turns(conn, account, turns, add, label, job)
    items, results = _insert_items(conn, account, add)
    results.skipped[:0] = [*add.skipped, *[HELD] * n_held]
    is_queued = add.queue and bool(turns or items)
    if is_queued:
        reserve(conn, room)
    rows = (first_turn, len(turns), items[0] if items else None, len(items))
    jobs.insert(conn, account, job, add, rows, results, session=label, queued=is_queued)
    if is_queued:
        holds.end_deferral(account)
    account.save(conn)
    return _accepted(account, job, add, rows, results, queued=is_queued)


def reserve(conn: sqlite3.Connection, room: Room) -> None:
    """Count one more queued job. Raises QueueFullError where there is no room for it."""
    if not jobs.reserve(conn, room.limit - room.elsewhere):
        raise QueueFullError(
            f"{room.limit} jobs wait already: let a worker catch up, or raise"
            " Config.queue_limit (HMEM_QUEUE_LIMIT)"
        )


def _accepted(
    account: Account,
    job: int,
    add: Accept,
    rows: tuple[int | None, int, int | None, int],
    results: jobs.Results,
    *,
    queued: bool,
) -> Accepted:
    first_turn, n_turns, first_item, n_items = rows
    owner, at = account.incarnation, add.recorded_at
    turns = range(first_turn or 0, (first_turn or 0) + n_turns)
    items = range(first_item or 0, (first_item or 0) + n_items)
    return Accepted(
        job_id=public_id(owner, JOB, job, at),
        created=True,
        status="queued" if queued else "done",
        turns=tuple([public_id(owner, TURN, seq, at) for seq in turns]),
        added=tuple([public_id(owner, MEMORY, seq, at) for seq in items]),
        skipped=tuple(results.skipped),
    )


def _earlier(
    conn: sqlite3.Connection, account: Account, add: Accept
) -> Accepted | None:
    """What the same key was answered before. Raises IdempotencyError for another body."""
    assert add.key is not None
    row = conn.execute(
        "SELECT id, body_hash FROM jobs WHERE idem = ?",
        (jobs.idem_key(account, add.key),),
    ).fetchone()
    if row is None:
        return None
    if bytes(row[1]) != add.body_hash:
        raise IdempotencyError(
            "this idempotency key was used for another body: take a new key"
        )
    job = jobs.read_job(conn, account, row[0])
    assert job is not None
    return Accepted(
        job_id=job.id,
        created=False,
        status=job.status,
        turns=job.turns,
        added=job.added,
        skipped=job.skipped,
    )


def _new_turns(
    conn: sqlite3.Connection, account: Account, label: int | None, add: Accept
) -> tuple[tuple[NewTurn, ...], int]:
    """The turns that the session does not hold yet, and how many it holds. Notes them."""
    if not add.turns:
        return (), 0
    session = sessions.load(conn, account, label)
    new = add.turns
    if add.resend:
        new = sessions.new_turns(conn, account, session, add.turns)
    if new:
        sessions.save(conn, session.extended([sessions.digest_of(t) for t in new]))
    for turn in new:
        if turn.message_id is not None:
            conn.execute(
                "INSERT OR IGNORE INTO message_ids VALUES(?, ?)",
                (account.uid, sessions.message_key(session, turn.message_id)),
            )
    return new, len(add.turns) - len(new)


def _insert_turns(
    conn: sqlite3.Connection,
    account: Account,
    turns: tuple[NewTurn, ...],
    add: Accept,
    label: int | None,
    job: int,
) -> int | None:
    if not turns:
        return None
    shared = (account.label(conn, add.agent_id), label, add.recorded_at, job)
    first = account.take("turn_seq", len(turns))
    for seq, turn in enumerate(turns, first):
        conn.execute(INSERT_TURN, turn_values(conn, account, seq, turn, shared))
    lexical = [(seq, turn.tokens) for seq, turn in enumerate(turns, first)]
    streams.add_lexical(conn, account, "turn", lexical)
    return first


def _insert_items(
    conn: sqlite3.Connection, account: Account, add: Accept
) -> tuple[list[int], jobs.Results]:
    """Store the items that no open row repeats: their sequences, and what was skipped."""
    seqs: list[int] = []
    results = jobs.Results()
    for item in add.items:
        dedup = dedup_key(account.uid, item.hash)
        agent = item.agent_id if item.agent_id is not None else add.agent_id
        label = account.label(conn, agent)
        twin = open_twin(conn, account, dedup, label, add.recorded_at)
        if twin is not None:
            add_sources(conn, account, twin.key, item.source_ids)
            results.skipped.append(Skipped(reason="duplicate", id=twin.id))
            continue
        scoped = replace(
            item,
            agent_id=agent,
            session_id=item.session_id
            if item.session_id is not None
            else add.session_id,
        )
        seqs.append(insert_memory(conn, account, scoped, add.recorded_at))
    return seqs, results


class Twin(NamedTuple):
    """An open row that says the same: its key and its public id."""

    key: int
    id: str


def open_twin(
    conn: sqlite3.Connection, account: Account, dedup: int, agent: int | None, now: int
) -> Twin | None:
    """The user's open row with the same hash and the same agent's: who asks for one
    agent's facts would not find another's. A row that has expired or was forgotten is not
    open: nobody would find it."""
    row = conn.execute(
        "SELECT id, recorded_at, uuid FROM memories WHERE dedup = ? AND agent IS ?"
        " AND valid_to IS NULL AND id BETWEEN ? AND ? AND forgotten_at IS NULL"
        " AND (expires_at IS NULL OR expires_at > ?)",
        (dedup, agent, *account.span, now),
    ).fetchone()
    return Twin(row[0], row_id(account.incarnation, MEMORY, *row)) if row else None


def add_sources(
    conn: sqlite3.Connection, account: Account, key: int, ids: Sequence[str]
) -> None:
    """Add to a memory's sources those that it lacks. `account.generation` is the change's."""
    if not ids:
        return
    held = conn.execute("SELECT sources FROM memories WHERE id = ?", (key,)).fetchone()
    packed = refs.united(held[0], ids, account.incarnation)
    if packed is not None:
        conn.execute("UPDATE memories SET sources = ? WHERE id = ?", (packed, key))
        streams.touch(conn, account, key & SEQ_MAX)


def insert_memory(
    conn: sqlite3.Connection, account: Account, new: NewMemory, recorded_at: int
) -> int:
    """Store an open memory, its lexical rows and its entities. Returns its sequence."""
    seq = account.take("memory_seq")
    conn.execute(INSERT_MEMORY, memory_values(conn, account, seq, new, recorded_at))
    streams.add_lexical(conn, account, "memory", [(seq, new.tokens)])
    streams.add_entities(conn, account, new.entities, seq)
    return seq
