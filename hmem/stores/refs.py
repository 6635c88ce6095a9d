"""What a memory's row refers to, packed: its sources, and the rows it is linked to."""

import json
import sqlite3
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hmem.stores.account import Account
from hmem.stores.keys import MEMORY, SEQ_MAX, decode, pack, public_id, row_id
from hmem.stores.streams import pack_seqs, unpack_seqs

MOST_SOURCES: Final = 256
_SOURCE: Final = struct.Struct(">HII")  # milliseconds (48 bits), kind and sequence
_FEW: Final = 500


def pack_sources(ids: Sequence[str], incarnation: int) -> bytes | str | None:
    """10 bytes per id that this user was given; text if any other is among them."""
    if not ids:
        return None
    packed = bytearray()
    for name in ids:
        ref = decode(incarnation, name)
        if ref is None:
            return json.dumps(list(ids), ensure_ascii=False, separators=(",", ":"))
        low = ref.kind << 24 | ref.seq
        packed += _SOURCE.pack(ref.ms >> 32, ref.ms & 0xFFFFFFFF, low)
    return bytes(packed)


def unpack_sources(packed: bytes | str | None, incarnation: int) -> Iterator[str]:
    """What `pack_sources` packed."""
    if isinstance(packed, bytes):
        for high, ms, low in _SOURCE.iter_unpack(packed):
            at = (high << 32 | ms) * 1000
            yield public_id(incarnation, low >> 24, low & SEQ_MAX, at)
    elif packed is not None:
        try:
            yield from map(str, json.loads(packed))
        except (ValueError, TypeError):
            return


def united(
    packed: bytes | str | None, ids: Sequence[str], incarnation: int
) -> bytes | str | None:
    """The sources and, after them, those of `ids` that are new and have a place. None when
    none is."""
    held = list(unpack_sources(packed, incarnation))
    known = set(held)
    new = [name for name in dict.fromkeys(ids) if name not in known]
    new = new[: max(0, MOST_SOURCES - len(held))]
    return pack_sources(held + new, incarnation) if new else None


def pack_links(seqs: set[int]) -> bytes:
    """The sequences of the rows that a row is linked to."""
    return pack_seqs(sorted(seqs))


class Linked:
    """The ids of rows that rows are linked to, for one user and one read."""

    def __init__(
        self, conn: sqlite3.Connection, account: Account, packed: Sequence[bytes | None]
    ) -> None:
        wanted = {seq for links in packed if links for seq in unpack_seqs(links)}
        self._ids: Mapping[int, str] = _names(conn, account, sorted(wanted))

    def ids(self, packed: bytes | None) -> tuple[str, ...]:
        """The ids of those that are still there."""
        if not packed:
            return ()
        names = (self._ids.get(seq) for seq in unpack_seqs(packed))
        return tuple(name for name in names if name is not None)


def _names(
    conn: sqlite3.Connection, account: Account, seqs: Sequence[int]
) -> Mapping[int, str]:
    found: dict[int, str] = {}
    for start in range(0, len(seqs), _FEW):
        keys = [pack(account.uid, seq) for seq in seqs[start : start + _FEW]]
        marks = ", ".join("?" * len(keys))
        sql = f"SELECT id, recorded_at, uuid FROM memories WHERE id IN ({marks})"  # noqa: S608
        rows: list[tuple[int, int, Any]] = conn.execute(sql, keys).fetchall()
        found.update(
            (key & SEQ_MAX, row_id(account.incarnation, MEMORY, key, at, uuid))
            for key, at, uuid in rows
        )
    return found
