"""What hangs on rows: lexical and vector chunks, entities, the log of changed rows."""

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from hmem.errors import CapacityError
from hmem.protocols import LexicalRows, Tokens, VectorRows
from hmem.records import Kind
from hmem.stores import chunks
from hmem.stores.account import Account
from hmem.stores.keys import pack

_TURN_BIT: Final = 2**23  # chunk numbers: two streams per user, one per kind
_PART: Final = 128  # entries per entity row, so that a frequent name stays cheap
_LOG_KEPT: Final = 4096


def _stream(account: Account, kind: Kind) -> tuple[int, int]:
    low = pack(account.uid, _TURN_BIT if kind == "turn" else 0)
    return low, low + _TURN_BIT - 1


def _append(
    conn: sqlite3.Connection,
    account: Account,
    table: str,
    kind: Kind,
    rows: Sequence[chunks.Row],
    space: tuple[int, str] | None = None,
) -> None:
    low, high = _stream(account, kind)
    tail = conn.execute(
        f"SELECT id, upto, body FROM {table} WHERE id BETWEEN ? AND ?"  # noqa: S608
        " ORDER BY id DESC LIMIT 1",
        (low, high),
    ).fetchone()
    key, upto, body = tail or (low - 1, 0, None)
    layout = chunks.LEXICAL if space is None else chunks.VECTOR
    extra, label = space or (0, "")
    for continued, added, blob in chunks.extend(body, rows, layout, extra, label):
        upto += added
        if continued:
            conn.execute(
                f"UPDATE {table} SET upto = ?, body = ? WHERE id = ?",  # noqa: S608
                (upto, blob, key),
            )
        else:
            key += 1
            if key > high:
                raise CapacityError("this user's chunks are used up: re-embed the user")
            conn.execute(f"INSERT INTO {table} VALUES(?, ?, ?)", (key, upto, blob))
    counter = f"{table}_{kind}"
    setattr(account, counter, upto)


def _later(
    conn: sqlite3.Connection, account: Account, table: str, kind: Kind, after: int
) -> list[tuple[int, chunks.Columns]]:
    """Chunks with rows past number `after`, in order, each with how many to skip."""
    low, high = _stream(account, kind)
    found: list[tuple[int, chunks.Columns]] = []
    layout = chunks.LEXICAL if table == "lex" else chunks.VECTOR
    for upto, body in conn.execute(
        f"SELECT upto, body FROM {table} WHERE id BETWEEN ? AND ? ORDER BY id DESC",  # noqa: S608
        (low, high),
    ):
        if upto <= after:
            break
        columns = chunks.read(body, layout)
        found.append((max(0, after - (upto - len(columns.keys))), columns))
    return found[::-1]


def add_lexical(
    conn: sqlite3.Connection,
    account: Account,
    kind: Kind,
    rows: Sequence[tuple[int, tuple[Tokens, ...]]],
) -> None:
    """Append the passages of these rows: (sequence, tokens per passage)."""
    passages = [
        chunks.Row(seq, n, np.asarray(tokens, dtype="<u4").tobytes())
        for seq, row in rows
        for n, tokens in enumerate(row)
    ]
    if passages:
        _append(conn, account, "lex", kind, passages)


def lexical_since(
    conn: sqlite3.Connection, account: Account, kind: Kind, after: int
) -> list[LexicalRows]:
    """The passages past the first `after` ones, as at most one block."""
    found = _later(conn, account, "lex", kind, after)
    if not found:
        return []
    keys, lengths, tokens = [], [], []
    for skip, columns in found:
        start = int(columns.lengths[:skip].sum())
        keys.append(columns.keys[skip:])
        lengths.append(columns.lengths[skip:])
        tokens.append(np.frombuffer(columns.body, "<u4")[start:])
    return [
        LexicalRows(
            kind,
            np.concatenate(keys),
            np.concatenate(lengths),
            np.concatenate(tokens).astype(np.uint32, copy=False),
        )
    ]


def add_vectors(conn: sqlite3.Connection, account: Account, rows: VectorRows) -> None:
    """Append codes; rows of one sequence keep their order."""
    codes = np.ascontiguousarray(rows.codes, dtype=np.uint8)
    order = np.argsort(rows.keys[:, 0], kind="stable").tolist()
    keys = rows.keys.tolist()
    passages = [chunks.Row(keys[i][0], keys[i][1], codes[i].tobytes()) for i in order]
    if passages:
        space = (rows.space, rows.codec)
        _append(conn, account, "vec", rows.kind, passages, space)


def vectors_since(
    conn: sqlite3.Connection, account: Account, kind: Kind, after: int
) -> list[VectorRows]:
    """The codes past the first `after` ones: one block per run of one space and codec."""
    runs: list[list[VectorRows]] = []
    for skip, columns in _later(conn, account, "vec", kind, after):
        codes = np.frombuffer(columns.body, np.uint8).reshape(len(columns.keys), -1)
        part = VectorRows(
            kind, columns.extra, columns.label, columns.keys[skip:], codes[skip:]
        )
        if runs and _alike(runs[-1][0], part):
            runs[-1].append(part)
        else:
            runs.append([part])
    return [
        run[0]._replace(
            keys=np.concatenate([part.keys for part in run]),
            codes=np.concatenate([part.codes for part in run]),
        )
        for run in runs
    ]


def _alike(a: VectorRows, b: VectorRows) -> bool:
    return (a.space, a.codec, a.codes.shape[1]) == (b.space, b.codec, b.codes.shape[1])


def remove(
    conn: sqlite3.Connection, account: Account, table: str, kind: Kind, seq: int
) -> int:
    """Destroy a row's passages in `lex` or `vec`: how many there were. The others keep
    their numbers; a view that has read them has to begin anew."""
    low, high = _stream(account, kind)
    layout = chunks.LEXICAL if table == "lex" else chunks.VECTOR
    changed: list[tuple[int, bytes | None]] = []
    removed = 0
    sql = f"SELECT id, body FROM {table} WHERE id BETWEEN ? AND ?"  # noqa: S608
    for key, body in conn.execute(sql, (low, high)):
        left, gone = chunks.without(body, layout, seq)
        if gone:
            changed.append((key, left))
            removed += gone
    for key, left in changed:
        if left is None:
            conn.execute(f"DELETE FROM {table} WHERE id = ?", (key,))  # noqa: S608
        else:
            conn.execute(f"UPDATE {table} SET body = ? WHERE id = ?", (left, key))  # noqa: S608
    last = conn.execute(
        f"SELECT max(upto) FROM {table} WHERE id BETWEEN ? AND ?",  # noqa: S608
        (low, high),
    )
    setattr(account, f"{table}_{kind}", last.fetchone()[0] or 0)
    return removed


def add_entities(
    conn: sqlite3.Connection, account: Account, names: Sequence[str], seq: int
) -> None:
    """Note that the memory `seq` names these. `account.generation` is this change's."""
    for name in dict.fromkeys(names):
        row = conn.execute(
            "SELECT part, seqs FROM entities WHERE uid = ? AND name = ?"
            " ORDER BY part DESC LIMIT 1",
            (account.uid, name),
        ).fetchone()
        part, packed = row or (0, b"")
        known = unpack_seqs(packed)
        if len(known) >= _PART:
            part, packed, known = part + 1, b"", []
        packed += _varint(seq - known[-1] if known else seq)
        conn.execute(
            "INSERT OR REPLACE INTO entities(uid, name, part, generation, seqs)"
            " VALUES(?, ?, ?, ?, ?)",
            (account.uid, name, part, account.generation, packed),
        )
        account.entity_generation = account.generation


def entities_since(
    conn: sqlite3.Connection, account: Account, generation: int
) -> Mapping[str, Sequence[int]]:
    """Names that changed after `generation`, each with all its memories."""
    if account.entity_generation <= generation:
        return {}
    found: dict[str, list[int]] = {}
    changed = conn.execute(
        "SELECT DISTINCT name FROM entities WHERE uid = ? AND generation > ?",
        (account.uid, generation),
    ).fetchall()
    for (name,) in changed:
        parts = conn.execute(
            "SELECT seqs FROM entities WHERE uid = ? AND name = ? ORDER BY part",
            (account.uid, name),
        )
        found[name] = [seq for (packed,) in parts for seq in unpack_seqs(packed)]
    return found


def remove_entities(conn: sqlite3.Connection, account: Account, seq: int) -> int:
    """Forget which names a memory holds: how many there were. A name that no other one
    holds goes."""
    rows = conn.execute(
        "SELECT name, part, seqs FROM entities WHERE uid = ?", (account.uid,)
    ).fetchall()
    removed = 0
    for name, part, packed in rows:
        seqs = unpack_seqs(packed)
        if seq not in seqs:
            continue
        removed += 1
        place = (account.uid, name, part)
        where = "WHERE uid = ? AND name = ? AND part = ?"
        if len(seqs) == 1:
            conn.execute(f"DELETE FROM entities {where}", place)  # noqa: S608
        else:
            left = pack_seqs([other for other in seqs if other != seq])
            conn.execute(f"UPDATE entities SET seqs = ? {where}", (left, *place))  # noqa: S608
    return removed


def begin_anew(conn: sqlite3.Connection, account: Account) -> None:
    """Rows go in `account.generation`: every view has to be read whole after it."""
    account.log_floor = account.generation
    conn.execute("DELETE FROM touched WHERE uid = ?", (account.uid,))


def touch(conn: sqlite3.Connection, account: Account, seq: int) -> None:
    """Log that an existing memory changed in `account.generation`."""
    conn.execute(
        "INSERT OR IGNORE INTO touched VALUES(?, ?, ?)",
        (account.uid, account.generation, seq),
    )
    if account.generation - account.log_floor > 2 * _LOG_KEPT:
        account.log_floor = account.generation - _LOG_KEPT
        conn.execute(
            "DELETE FROM touched WHERE uid = ? AND generation <= ?",
            (account.uid, account.log_floor),
        )


def pack_seqs(seqs: Sequence[int]) -> bytes:
    """Ascending sequences, as small as in an entity row."""
    return b"".join(_varint(b - a) for a, b in pairwise([0, *seqs]))


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def unpack_seqs(packed: bytes) -> list[int]:
    """What `pack_seqs` packed; an entity row's memories, ascending."""
    found, value, shift, last = [], 0, 0, 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            last += value
            found.append(last)
            value = shift = 0
    return found
