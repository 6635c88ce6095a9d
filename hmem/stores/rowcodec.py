"""Values to columns and back: what a memory and a turn look like in a shard."""

import json
import sqlite3
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hmem.protocols import MemoryRow, NewMemory, NewTurn, TurnRow
from hmem.records import EMPTY, Category
from hmem.stores.account import Account, Labels
from hmem.stores.keys import (
    MEMORY,
    SEQ_MAX,
    TURN,
    dedup_digest,
    dedup_key,
    pack,
    row_id,
)
from hmem.stores.refs import Linked, pack_sources, unpack_sources

_CATEGORIES: Final[tuple[Category, ...]] = ("semantic", "episodic", "procedural")

INSERT_TURN: Final = f"INSERT INTO episodes VALUES({', '.join('?' * 13)})"
INSERT_MEMORY: Final = f"INSERT INTO memories VALUES({', '.join('?' * 26)})"
SELECT_TURNS: Final = "SELECT * FROM episodes WHERE id BETWEEN ? AND ?"
SELECT_MEMORIES: Final = """SELECT m.*, s.recorded_at, s.uuid FROM memories AS m
    LEFT JOIN memories AS s ON s.id = m.next WHERE m.id BETWEEN ? AND ?"""

# Rows whose metadata could not be read, by what they were in; a shard adds them up.
damaged_metadata = 0


def turn_values(
    conn: sqlite3.Connection,
    account: Account,
    seq: int,
    turn: NewTurn,
    shared: tuple[int | None, int | None, int, int],
) -> tuple[Any, ...]:
    """The columns of a turn. `shared`: agent, session, recorded_at, job sequence."""
    agent, session, recorded_at, job = shared
    return (
        pack(account.uid, seq),
        turn.text,
        _pack_ends(turn.ends, turn.text),
        agent,
        session,
        account.label(conn, turn.role),
        account.label(conn, turn.name),
        turn.observed_at,
        recorded_at,
        turn.message_id,
        job,
        _pack_metadata(turn.metadata),
        None,
    )


def memory_values(
    conn: sqlite3.Connection,
    account: Account,
    seq: int,
    new: NewMemory,
    recorded_at: int,
) -> tuple[Any, ...]:
    """The columns of an open memory."""
    return (
        pack(account.uid, seq),
        new.text,
        _pack_ends(new.ends, new.text),
        account.label(conn, new.agent_id),
        account.label(conn, new.session_id),
        _CATEGORIES.index(new.category) or None,
        None if new.importance == 5 else new.importance,
        new.event_start,
        new.event_end,
        account.label(conn, new.event_precision),
        new.valid_from,
        None,
        recorded_at,
        None,
        None,
        pack_sources(new.source_ids, account.incarnation),
        new.quote,
        None if new.verified else 1,
        dedup_key(account.uid, new.hash),
        new.expires_at,
        None,
        None,
        _pack_metadata(new.metadata),
        account.label(conn, new.prompt_version),
        None,
        None,
    )


def read_turns(
    conn: sqlite3.Connection, account: Account, rows: Sequence[tuple[Any, ...]]
) -> list[TurnRow]:
    """Turns from rows of `SELECT * FROM episodes`."""
    labels = Labels(conn, account.uid)
    labels.load({n for row in rows for n in row[3:7]})
    text, incarnation = labels.text, account.incarnation
    return [
        TurnRow(
            r[0] & SEQ_MAX,
            row_id(incarnation, TURN, r[0], r[8], r[12]),
            r[1],
            _unpack_ends(r[2], r[1]),
            text(r[3]),
            text(r[4]),
            text(r[5]) or "",
            text(r[6]),
            r[7],
            r[8],
            r[9],
            r[10],
            _unpack_metadata(r[11]),
        )
        for r in rows
    ]


def read_memories(
    conn: sqlite3.Connection, account: Account, rows: Sequence[tuple[Any, ...]]
) -> list[MemoryRow]:
    """Memories from rows of `SELECT_MEMORIES`."""
    labels = Labels(conn, account.uid)
    labels.load({n for r in rows for n in (r[3], r[4], r[9], r[23])})
    linked = Linked(conn, account, [r[25] for r in rows])
    return [_read_memory(r, account, labels, linked) for r in rows]


def _read_memory(
    r: tuple[Any, ...], account: Account, labels: Labels, linked: Linked
) -> MemoryRow:
    seq, incarnation, text = r[0] & SEQ_MAX, account.incarnation, labels.text
    return MemoryRow(
        seq,
        row_id(incarnation, MEMORY, r[0], r[12], r[24]),
        r[1],
        _unpack_ends(r[2], r[1]),
        text(r[3]),
        text(r[4]),
        _CATEGORIES[r[5] or 0],
        5 if r[6] is None else r[6],
        r[7],
        r[8],
        text(r[9]),
        r[10],
        r[11],
        r[12],
        r[13],
        # An erased successor leaves a key and no row.
        row_id(incarnation, MEMORY, r[14], r[26], r[27]) if r[26] is not None else None,
        tuple(unpack_sources(r[15], incarnation)),
        r[16],
        r[17] is None,
        dedup_digest(account.uid, r[18]),
        r[19],
        r[20],
        r[21],
        _unpack_metadata(r[22]),
        text(r[23]),
        linked.ids(r[25]),
    )


def _pack_ends(ends: tuple[int, ...], text: str) -> bytes | None:
    """NULL for the usual case: one passage, the whole text."""
    if len(ends) == 1 and ends[0] == len(text):
        return None
    return struct.pack(f"<{len(ends)}I", *ends)


def _unpack_ends(packed: bytes | None, text: str) -> tuple[int, ...]:
    if packed is None:
        return (len(text),)
    return struct.unpack(f"<{len(packed) // 4}I", packed)


def _pack_metadata(metadata: Mapping[str, Any]) -> str | None:
    if not metadata:
        return None
    return json.dumps(dict(metadata), ensure_ascii=False, separators=(",", ":"))


def _unpack_metadata(packed: object) -> Mapping[str, Any]:
    """One damaged row must not keep the others from loading: it is counted instead."""
    global damaged_metadata
    if packed is None:
        return EMPTY
    try:
        value = json.loads(packed) if isinstance(packed, (str, bytes)) else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        damaged_metadata += 1
        return EMPTY
    return value
