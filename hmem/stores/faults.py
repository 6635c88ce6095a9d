"""The one seam where sqlite3's errors become hmem's."""

import sqlite3
from typing import Final

from hmem.errors import (
    DamagedStoreError,
    DiskFullError,
    ForeignFolderError,
    NewerFormatError,
    ReadOnlyStoreError,
    StoreBusyError,
    StoreError,
)

UNREADABLE: Final = (DamagedStoreError, ForeignFolderError, NewerFormatError)
"""A shard that stays unreadable: what spans all shards goes on without it."""
_IOERR: Final = 10
# Extended codes of an I/O error that a full disk or a quota causes: write, fsync, the
# folder's fsync, truncate, and growing or mapping the shared-memory file.
_NO_ROOM: Final = frozenset({778, 1034, 1290, 1546, 4618, 4874, 5386})


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the lock."""
    return _code(error) & 0xFF in (5, 6)


def translate(error: sqlite3.Error, where: str) -> StoreError:
    """The hmem error for a sqlite3 error met at `where`, a file name."""
    code = _code(error)
    primary = code & 0xFF
    if primary in (5, 6, 15):
        return StoreBusyError(f"{where} is locked by another process; try again")
    if primary == 13 or code in _NO_ROOM:
        return DiskFullError(f"{where}: no room to write; free space and try again")
    if primary == 8:
        return ReadOnlyStoreError(f"{where} cannot be written")
    if primary in (11, 26) or (code == 0 and "decode" in str(error)):
        return DamagedStoreError(
            f"{where} is damaged; other shards go on. Restore it from a backup"
        )
    if primary == 14:
        return StoreError(f"{where} cannot be opened: check its rights and open files")
    return StoreError(f"{where}: SQLite failed with code {code}")


def _code(error: sqlite3.Error) -> int:
    """The extended result code; 0 for an error that carries none."""
    code = getattr(error, "sqlite_errorcode", None)
    return code if isinstance(code, int) else 0
