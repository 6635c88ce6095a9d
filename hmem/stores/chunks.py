"""Chunks: several passages' tokens or vector codes in one blob, with a checksum.

    header   <BBHIII: format, flags, count, crc32 of all the rest, first sequence, extra
    columns  sequence differences, passages (and token counts): uint16, uint32 if wide
    body     tokens (uint32) or codes

A chunk takes rows until it has 16, and then as many as its last page still has room for,
64 at most. SQLite keeps a row of up to 4061 bytes whole, in one page; of a longer one 489
bytes stay beside its neighbours and the rest goes to pages of 4092 bytes of its own. So
rows of 4061 or 489 + n * 4092 bytes waste nothing (int8 at d=384: 22 codes in 8,673).
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmem.errors import DamagedStoreError

LEXICAL: Final = 1
VECTOR: Final = 2
MIN_ROWS: Final = 16
MAX_ROWS: Final = 64

_WIDE: Final = 1
_HEADER: Final = struct.Struct("<BBHIII")
_ROW_OVERHEAD: Final = 10  # SQLite's record header and the columns beside the blob
_WHOLE: Final = 4061
_LOCAL: Final = 489
_PAGE: Final = 4092
_SMALL: Final = 2**16


class Row(NamedTuple):
    """One passage to store: its row's sequence, its number, its tokens or code."""

    seq: int
    passage: int
    data: bytes


@dataclass(slots=True)
class Chunk:
    """A chunk being filled. `extra` is a vector chunk's space, `label` its codec."""

    layout: int
    base: int
    wide: bool
    extra: int = 0
    label: bytes = b""
    seqs: list[int] = field(default_factory=list)
    passages: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)

    def takes(self, row: Row) -> bool:
        """Whether the row still belongs into this chunk."""
        count = len(self.seqs)
        step = row.seq - self.base
        if count == 0:
            return True
        if count >= MAX_ROWS or step < 0 or (not self.wide and _is_wide(row, step)):
            return False
        size = self._size()
        column = 3 if self.layout == LEXICAL else 2
        grown = size + column * (4 if self.wide else 2) + len(row.data)
        if count < MIN_ROWS or _pages(grown) == _pages(size):
            return True
        # The step from a page shared to one of its own pays if that can be filled.
        return _pages(size) == 0 and size * MAX_ROWS // count >= _LOCAL + _PAGE

    def add(self, row: Row) -> None:
        """Append the row."""
        self.seqs.append(row.seq - self.base)
        self.passages.append(row.passage)
        if self.layout == LEXICAL:
            self.lengths.append(len(row.data) >> 2)
        self.body += row.data

    def blob(self) -> bytes:
        """The bytes to store."""
        count = len(self.seqs)
        numbers = self.seqs + self.passages + self.lengths
        columns = struct.pack(f"<{len(numbers)}{'I' if self.wide else 'H'}", *numbers)
        label = b"" if self.layout == LEXICAL else bytes([len(self.label)]) + self.label
        rest = struct.pack("<II", self.base, self.extra) + label + columns + self.body
        flags = _WIDE if self.wide else 0
        crc = zlib.crc32(rest, zlib.crc32(bytes((self.layout, flags, count))))
        return struct.pack("<BBHI", self.layout, flags, count, crc) + rest

    def _size(self) -> int:
        column = (3 if self.layout == LEXICAL else 2) * (4 if self.wide else 2)
        extra = len(self.label) + 1 if self.layout == VECTOR else 0
        return _HEADER.size + extra + column * len(self.seqs) + len(self.body)


class Columns(NamedTuple):
    """A chunk read: keys (n, 2) uint32; a lexical one's lengths and tokens, or codes."""

    keys: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    body: bytes
    extra: int
    label: str


def extend(
    tail: bytes | None,
    rows: Sequence[Row],
    layout: int,
    extra: int = 0,
    label: str = "",
) -> Iterator[tuple[bool, int, bytes]]:
    """Chunks that hold `rows`, the first being `tail` continued where it can be.

    Gives (continues the tail, rows added, blob) for each blob to write, in order.
    """
    name = label.encode("ascii")
    chunk = _reopened(tail) if tail is not None else None
    if chunk is not None and (chunk.extra, chunk.label) != (extra, name):
        chunk = None
    continued, added = chunk is not None, 0
    for row in rows:
        if chunk is None or not chunk.takes(row):
            if chunk is not None and added:
                yield continued, added, chunk.blob()
            chunk = Chunk(layout, row.seq, _is_wide(row, 0), extra, name)
            continued, added = False, 0
        chunk.add(row)
        added += 1
    if chunk is not None and added:
        yield continued, added, chunk.blob()


def read(blob: bytes, layout: int) -> Columns:
    """The chunk's columns. Raises DamagedStoreError if it is not what was written."""
    if len(blob) < _HEADER.size:
        raise DamagedStoreError("a chunk is cut short: restore the shard from a backup")
    found, flags, count, crc, base, extra = _HEADER.unpack_from(blob)
    start = zlib.crc32(bytes((found, flags, min(count, 255))))
    if (
        found != layout
        or count > MAX_ROWS
        or crc != zlib.crc32(memoryview(blob)[8:], start)
    ):
        raise DamagedStoreError(
            "a chunk does not fit its checksum: restore the shard from a backup"
        )
    at, label = _HEADER.size, ""
    if layout == VECTOR:
        label = blob[at + 1 : at + 1 + blob[at]].decode("ascii")
        at += 1 + blob[at]
    columns = 3 if layout == LEXICAL else 2
    width = "<u4" if flags & _WIDE else "<u2"
    numbers = np.frombuffer(blob, width, columns * count, at).astype(np.uint32)
    numbers = numbers.reshape(columns, count)
    keys = numbers[:2].T.copy()
    keys[:, 0] += np.uint32(base)
    lengths = numbers[2] if layout == LEXICAL else numbers[:0].ravel()
    return Columns(
        keys, lengths, blob[at + numbers.size * int(width[2]) :], extra, label
    )


def without(blob: bytes, layout: int, seq: int) -> tuple[bytes | None, int]:
    """The chunk without the passages of a row, and how many those were; None when nothing
    is left of it. Raises DamagedStoreError."""
    columns = read(blob, layout)
    kept = columns.keys[:, 0] != seq
    gone = len(kept) - int(kept.sum())
    if not gone:
        return blob, 0
    chunk = _reopened(blob)
    sizes = [n << 2 for n in chunk.lengths]
    if layout == VECTOR:
        sizes = [len(columns.body) // len(kept)] * len(kept)
    ends = list(accumulate(sizes))
    left = [n for n, keep in enumerate(kept.tolist()) if keep]
    chunk.seqs = [chunk.seqs[n] for n in left]
    chunk.passages = [chunk.passages[n] for n in left]
    chunk.lengths = [chunk.lengths[n] for n in left] if chunk.lengths else []
    chunk.body = bytearray(
        b"".join(columns.body[ends[n] - sizes[n] : ends[n]] for n in left)
    )
    return (chunk.blob() if left else None), gone


def _reopened(blob: bytes) -> Chunk:
    """A stored chunk, to be continued."""
    kind = blob[0] if blob else 0
    columns = read(blob, kind if kind in (LEXICAL, VECTOR) else LEXICAL)
    base = _HEADER.unpack_from(blob)[4]
    return Chunk(
        kind,
        base,
        bool(blob[1] & _WIDE),
        columns.extra,
        columns.label.encode("ascii"),
        (columns.keys[:, 0] - np.uint32(base)).tolist(),
        columns.keys[:, 1].tolist(),
        columns.lengths.tolist(),
        bytearray(columns.body),
    )


def _is_wide(row: Row, step: int) -> bool:
    return max(step, row.passage, len(row.data) >> 2) >= _SMALL


def _pages(blob: int) -> int:
    """Pages of its own that a row with a blob of so many bytes takes."""
    row = blob + _ROW_OVERHEAD
    return 0 if row <= _WHOLE else -(-(row - _LOCAL) // _PAGE)
