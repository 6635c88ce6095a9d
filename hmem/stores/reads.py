"""Reading one user's rows at one moment. Functions of one hop each."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from hmem.protocols import Delta, Mark, MemoryRow, Note, TurnRow
from hmem.records import Kind
from hmem.stores import account as accounts
from hmem.stores import chains, formers, jobs, journal, streams
from hmem.stores.account import Account
from hmem.stores.keys import JOB, MEMORY, TURN, decode, pack, row_id
from hmem.stores.rowcodec import (
    SELECT_MEMORIES,
    SELECT_TURNS,
    read_memories,
    read_turns,
)

_KINDS: Final[tuple[Kind, Kind]] = ("memory", "turn")
_TABLES: Final[Mapping[int, str]] = {MEMORY: "memories", TURN: "episodes"}
_FEW: Final = 64


def mark(account: Account) -> Mark:
    """How far a view has read that has read everything."""
    return Mark(
        account.incarnation,
        account.generation,
        account.memory_seq,
        account.turn_seq,
        (account.lex_memory, account.lex_turn),
        (account.vec_memory, account.vec_turn),
    )


def delta(conn: sqlite3.Connection, user_id: str, since: Mark | None) -> Delta | None:
    """What changed since the mark, or everything; None for an unknown user."""
    account = accounts.find(conn, user_id)
    if account is None:
        return None
    now, waiting = mark(account), jobs.pending(conn, account)
    if now == since:
        return Delta(mark=now, whole=False, pending=waiting)
    whole = since is None or not _follows(now, since, account.log_floor)
    start = Mark(0, 0, 0, 0, (0, 0), (0, 0)) if whole or since is None else since
    memories = _memories_since(conn, account, start, whole=whole)
    return Delta(
        mark=now,
        whole=whole,
        memories=memories,
        former=formers.of_rows(conn, account, memories),
        turns=_turns_since(conn, account, start.turn_seq),
        lexical=[
            block
            for kind, after, upto in zip(
                _KINDS, start.lexical, now.lexical, strict=True
            )
            if upto > after
            for block in streams.lexical_since(conn, account, kind, after)
        ],
        vectors=[
            block
            for kind, after, upto in zip(
                _KINDS, start.vectors, now.vectors, strict=True
            )
            if upto > after
            for block in streams.vectors_since(conn, account, kind, after)
        ],
        entities=streams.entities_since(conn, account, start.generation),
        pending=waiting,
    )


def _follows(now: Mark, since: Mark, log_floor: int) -> bool:
    """Whether the rows can have grown from `since`: else the view must start anew."""
    return (
        since.incarnation == now.incarnation
        and log_floor <= since.generation <= now.generation
        and since.memory_seq <= now.memory_seq
        and since.turn_seq <= now.turn_seq
        and all(a <= b for a, b in zip(since.lexical, now.lexical, strict=True))
        and all(a <= b for a, b in zip(since.vectors, now.vectors, strict=True))
    )


def _memories_since(
    conn: sqlite3.Connection, account: Account, since: Mark, *, whole: bool
) -> list[MemoryRow]:
    rows: list[tuple[Any, ...]] = []
    if not whole:
        changed = conn.execute(
            "SELECT DISTINCT seq FROM touched"
            " WHERE uid = ? AND generation > ? AND seq <= ? ORDER BY seq",
            (account.uid, since.generation, since.memory_seq),
        ).fetchall()
        for (seq,) in changed:
            key = pack(account.uid, seq)
            rows += conn.execute(SELECT_MEMORIES, (key, key))
    if account.memory_seq > since.memory_seq:
        low, high = pack(account.uid, since.memory_seq) + 1, account.span[1]
        rows += conn.execute(f"{SELECT_MEMORIES} ORDER BY m.id", (low, high))
    return read_memories(conn, account, rows) if rows else []


def _turns_since(
    conn: sqlite3.Connection, account: Account, after: int
) -> list[TurnRow]:
    if account.turn_seq <= after:
        return []
    low, high = pack(account.uid, after) + 1, account.span[1]
    rows = conn.execute(f"{SELECT_TURNS} ORDER BY id", (low, high)).fetchall()
    return read_turns(conn, account, rows)


def rows(
    conn: sqlite3.Connection, user_id: str, ids: Sequence[str]
) -> list[MemoryRow | TurnRow | None]:
    """The rows with these public ids, in order; None where the user has none."""
    account = accounts.find(conn, user_id)
    if account is None:
        return [None] * len(ids)
    found: dict[str, MemoryRow | TurnRow] = {}
    memories: list[tuple[Any, ...]] = []
    turns: list[tuple[Any, ...]] = []
    for name in dict.fromkeys(ids):
        kind, key = _locate(conn, account, name)
        if kind == MEMORY:
            memories += conn.execute(SELECT_MEMORIES, (key, key))
        elif kind == TURN:
            turns += conn.execute(SELECT_TURNS, (key, key))
    found.update((row.id, row) for row in read_memories(conn, account, memories))
    found.update((row.id, row) for row in read_turns(conn, account, turns))
    return [found.get(name) for name in ids]


def _locate(conn: sqlite3.Connection, account: Account, name: str) -> tuple[int, int]:
    """The kind and key that an id speaks of; (JOB, 0) where it speaks of no row."""
    ref = decode(account.incarnation, name)
    if ref is not None and ref.kind in (MEMORY, TURN):
        return ref.kind, pack(account.uid, ref.seq)
    try:
        given = UUID(name).bytes
    except ValueError:
        return JOB, 0
    for kind, table in _TABLES.items():
        for (key,) in conn.execute(f"SELECT id FROM {table} WHERE uuid = ?", (given,)):  # noqa: S608
            if account.span[0] <= key <= account.span[1]:
                return kind, key
    return JOB, 0


def row_key(
    conn: sqlite3.Connection, account: Account, name: str
) -> tuple[int, int] | None:
    """The kind and key of the user's memory or turn with this public id."""
    kind, key = _locate(conn, account, name)
    if kind not in _TABLES:
        return None
    row = conn.execute(
        f"SELECT recorded_at, uuid FROM {_TABLES[kind]} WHERE id = ?",  # noqa: S608
        (key,),
    ).fetchone()
    named = row is not None and row_id(account.incarnation, kind, key, *row) == name
    return (kind, key) if named else None


def memory_key(conn: sqlite3.Connection, account: Account, name: str) -> int | None:
    """The key of the user's memory with this public id."""
    found = row_key(conn, account, name)
    return found[1] if found is not None and found[0] == MEMORY else None


def page(
    conn: sqlite3.Connection,
    user_id: str,
    kind: Kind,
    after: int,
    limit: int,
    *,
    closed: bool,
) -> list[MemoryRow] | list[TurnRow]:
    """Rows past sequence `after`, in order."""
    account = accounts.find(conn, user_id)
    if account is None or after >= account.span[1] - account.span[0] or limit <= 0:
        return []
    bounds = (account.span[0] + max(after, 0) + 1, account.span[1], limit)
    if kind == "turn":
        sql = f"{SELECT_TURNS} ORDER BY id LIMIT ?"
        return read_turns(conn, account, conn.execute(sql, bounds).fetchall())
    only_open = "" if closed else " AND m.valid_to IS NULL"
    sql = f"{SELECT_MEMORIES}{only_open} ORDER BY m.id LIMIT ?"
    return read_memories(conn, account, conn.execute(sql, bounds).fetchall())


def chain(conn: sqlite3.Connection, user_id: str, name: str) -> list[MemoryRow]:
    """All versions of the fact, oldest first."""
    account = accounts.find(conn, user_id)
    return [] if account is None else _versions(conn, account, name)


def _versions(conn: sqlite3.Connection, account: Account, name: str) -> list[MemoryRow]:
    key = memory_key(conn, account, name)
    found: list[tuple[Any, ...]] = []
    for version in chains.whole_chain(conn, key) if key is not None else ():
        found += conn.execute(SELECT_MEMORIES, (version, version))
    return read_memories(conn, account, found)


def notes(conn: sqlite3.Connection, user_id: str, name: str) -> list[Note]:
    """What the journal says of all versions of the fact."""
    account = accounts.find(conn, user_id)
    if account is None:
        return []
    rows = _versions(conn, account, name)
    ids = {row.seq: row.id for row in rows}
    return [note for row in rows for note in _notes_of(conn, account, row, ids)]


def _notes_of(
    conn: sqlite3.Connection, account: Account, row: MemoryRow, ids: Mapping[int, str]
) -> Iterator[Note]:
    entries = journal.entries(conn, account, pack(account.uid, row.seq))
    for at, entry in enumerate(entries, 1):
        event = journal.NAMES[entry.event]
        by = None if entry.successor is None else ids.get(entry.successor)
        if event == "SUPERSEDE" and entry.successor is None and at == len(entries):
            by = row.superseded_by  # a file of version 1 does not say, the row does
        yield Note(event, row.id, entry.at, by, entry.reason)
