"""Moving the WAL's pages into the file: only ever under the shard's lock.

Two connections that checkpoint at one instant can corrupt a file (SQLite 3.7.0 to
3.51.2).
"""

import sqlite3
from pathlib import Path
from typing import Final

from hmem.stores.folder import Folder

FRAME: Final = 4096 + 24


def wal_size(path: Path) -> int:
    """Bytes of the shard's WAL. Never opens it: closing would drop SQLite's locks."""
    try:
        return Path(f"{path}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def truncate(folder: Folder, n: int, conn: sqlite3.Connection) -> tuple[int, int, int]:
    """Empty the WAL: (busy, pages in it, pages moved)."""
    with folder.checkpoint_lock(n):
        return _run_checkpoint(conn, "TRUNCATE")


def checkpoint(
    folder: Folder, n: int, limit: int, conn: sqlite3.Connection
) -> tuple[int, int, int] | None:
    """Move what can be moved; cut the WAL short where it is larger than `limit` bytes.
    None: another process is at it."""
    with folder.try_checkpoint_lock(n) as held:
        if not held:
            return None
        large = wal_size(folder.shard_path(n)) > limit
        return _run_checkpoint(conn, "TRUNCATE" if large else "PASSIVE")


def _run_checkpoint(conn: sqlite3.Connection, mode: str) -> tuple[int, int, int]:
    busy, pages, moved = conn.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    return busy, pages, moved
