"""What the store says of itself: counts, bytes, and what is wrong."""

import logging
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from hmem.errors import HmemError
from hmem.protocols import JobEntry, JobPlace
from hmem.records import JobStatus
from hmem.stores import erase, jobs, retries, rowcodec
from hmem.stores.checkpoints import wal_size
from hmem.stores.faults import UNREADABLE
from hmem.stores.handle import Handle

log = logging.getLogger("hmem.store")
# SQLite before this can corrupt a file when two connections checkpoint at one instant;
# here every checkpoint happens under a lock of its shard.
WAL_RESET_FIXED: Final = (3, 51, 3)


async def stats(handle: Handle) -> Mapping[str, Any]:
    """Counts over all users. Reads every shard; `unreadable` names those left out."""
    folder, shards = handle.folder, handle.existing()
    rows: Counter[str] = Counter()
    by_status: Counter[str] = Counter()
    by_table: Counter[str] = Counter()
    unreadable: list[str] = []
    for n in shards:
        try:
            found = await handle.read(n, erase.counts)
        except UNREADABLE:  # `health` says what is wrong with it
            unreadable.append(folder.shard_path(n).name)
            continue
        rows.update(found[0])
        by_status.update(found[1])
        by_table.update(found[2])
    return {
        "users": rows["users"],
        "memories": rows["memories"],
        "turns": rows["episodes"],
        "jobs": {status: by_status[status] for status in jobs.STATES},
        "bytes": sum(_size(folder.shard_path(n)) for n in shards),
        "rows_by_table": dict(rows),
        "bytes_by_table": dict(by_table),
        "shards": folder.shards,
        "files": len(shards),
        "unreadable": unreadable,
        "open_shards": len(handle.pool.open),
        "damaged_metadata": rowcodec.damaged_metadata,
    }


async def queued(handle: Handle) -> int:
    """Jobs of all users that have not ended; shards that cannot be read are left out."""
    count, total = partial(jobs.queued, user_id=None), 0
    for n in handle.existing():
        try:
            total += await handle.read(n, count)
        except UNREADABLE as e:
            log.warning("jobs in shard %s are not counted: %s", n, e)
    return total


async def listed(
    handle: Handle,
    statuses: Sequence[JobStatus],
    limit: int,
    after: JobPlace | None,
) -> list[JobEntry]:
    """Jobs of all users, the oldest first; shards that cannot be read are left out."""
    found: list[JobEntry] = []
    for n in handle.existing():
        try:
            found += await handle.read(
                n, lambda conn: retries.entries(conn, statuses, limit, after)
            )
        except UNREADABLE as e:
            log.warning("jobs in shard %s are not listed: %s", n, e)
    return sorted(found, key=lambda entry: entry.place)[:limit]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size + wal_size(path)
    except FileNotFoundError:
        return 0


async def health(handle: Handle) -> Mapping[str, Any]:
    """Check every shard that has a file. A shard that cannot be read is a problem, not
    an error."""
    folder = handle.folder
    problems: list[str] = []
    wal: dict[str, int] = {}
    for n in handle.existing():
        path = folder.shard_path(n)
        wal[path.name] = wal_size(path)
        try:
            found = await handle.read(n, erase.check)
            problems += [f"{path.name}: {problem}" for problem in found]
        except HmemError as e:
            problems.append(f"{path.name}: {e}")
    return {
        "ok": not problems,
        "problems": problems,
        "sqlite": sqlite3.sqlite_version,
        "sqlite_wal_reset_fixed": sqlite3.sqlite_version_info >= WAL_RESET_FIXED,
        "shards": folder.shards,
        "read_only": folder.read_only,
        "wal_bytes": wal,
        "damaged_metadata": rowcodec.damaged_metadata,
    }
