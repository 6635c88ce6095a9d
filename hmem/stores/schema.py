"""The tables of a shard, its pragmas, and how an older file becomes a newer one."""

import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from hmem.errors import DamagedStoreError, ForeignFolderError, NewerFormatError

log = logging.getLogger("hmem.store")

APPLICATION_ID: Final = 0x686D656D  # "hmem"
# A writer waits for the lock between its hops, not inside one: see Shard.
WRITER_BUSY_MS: Final = 25
Guard = Callable[[], AbstractContextManager[Any]]

# A column is NULL where the value is its default: a NULL takes no byte of the row's body.
_V1: Final = (
    """CREATE TABLE users(
        uid INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL UNIQUE,
        incarnation INTEGER NOT NULL, generation INTEGER NOT NULL DEFAULT 0,
        memory_seq INTEGER NOT NULL DEFAULT 0, turn_seq INTEGER NOT NULL DEFAULT 0,
        job_seq INTEGER NOT NULL DEFAULT 0, label_seq INTEGER NOT NULL DEFAULT 16,
        history_seq INTEGER NOT NULL DEFAULT 0,
        lex_memory INTEGER NOT NULL DEFAULT 0, lex_turn INTEGER NOT NULL DEFAULT 0,
        vec_memory INTEGER NOT NULL DEFAULT 0, vec_turn INTEGER NOT NULL DEFAULT 0,
        entity_generation INTEGER NOT NULL DEFAULT 0,
        log_floor INTEGER NOT NULL DEFAULT 0,
        work INTEGER NOT NULL DEFAULT 0, due INTEGER,
        hold_from INTEGER, hold_until INTEGER,
        token INTEGER NOT NULL DEFAULT 0, holder TEXT)""",
    """CREATE INDEX users_ready ON users(work, due)
        WHERE work > 0 AND hold_from IS NULL""",
    """CREATE INDEX users_held ON users(hold_until, hold_from)
        WHERE hold_from IS NOT NULL""",
    """CREATE TABLE labels(uid INTEGER, text TEXT, n INTEGER NOT NULL,
        PRIMARY KEY(uid, text)) WITHOUT ROWID""",
    """CREATE TABLE sessions(id INTEGER PRIMARY KEY, turns INTEGER NOT NULL,
        base BLOB NOT NULL, tail BLOB NOT NULL)""",
    """CREATE TABLE message_ids(uid INTEGER, digest INTEGER,
        PRIMARY KEY(uid, digest)) WITHOUT ROWID""",
    """CREATE TABLE memories(id INTEGER PRIMARY KEY, text TEXT NOT NULL, ends BLOB,
        agent INTEGER, session INTEGER, category INTEGER, importance INTEGER,
        event_start INTEGER, event_end INTEGER, event_precision INTEGER,
        valid_from INTEGER NOT NULL, valid_to INTEGER, recorded_at INTEGER NOT NULL,
        closed_at INTEGER, next INTEGER, sources, quote TEXT, unverified INTEGER,
        dedup INTEGER NOT NULL, expires_at INTEGER, forgotten_at INTEGER,
        last_accessed INTEGER, metadata TEXT, prompt INTEGER, uuid BLOB)""",
    "CREATE INDEX memories_open ON memories(dedup) WHERE valid_to IS NULL",
    "CREATE INDEX memories_next ON memories(next) WHERE next IS NOT NULL",
    "CREATE INDEX memories_uuid ON memories(uuid) WHERE uuid IS NOT NULL",
    """CREATE TABLE episodes(id INTEGER PRIMARY KEY, text TEXT NOT NULL, ends BLOB,
        agent INTEGER, session INTEGER, role INTEGER NOT NULL, name INTEGER,
        observed_at INTEGER NOT NULL, recorded_at INTEGER NOT NULL, message_id TEXT,
        job INTEGER NOT NULL, metadata TEXT, uuid BLOB)""",
    "CREATE INDEX episodes_uuid ON episodes(uuid) WHERE uuid IS NOT NULL",
    """CREATE TABLE lex(id INTEGER PRIMARY KEY, upto INTEGER NOT NULL,
        body BLOB NOT NULL)""",
    """CREATE TABLE vec(id INTEGER PRIMARY KEY, upto INTEGER NOT NULL,
        body BLOB NOT NULL)""",
    """CREATE TABLE entities(uid INTEGER, name TEXT, part INTEGER,
        generation INTEGER NOT NULL, seqs BLOB NOT NULL,
        PRIMARY KEY(uid, name, part)) WITHOUT ROWID""",
    """CREATE TABLE history(id INTEGER PRIMARY KEY, memory INTEGER NOT NULL,
        event INTEGER NOT NULL, at INTEGER NOT NULL, old INTEGER, reason TEXT)""",
    """CREATE TABLE jobs(id INTEGER PRIMARY KEY, state INTEGER NOT NULL,
        import INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
        created INTEGER NOT NULL, ended INTEGER, session INTEGER,
        turns INTEGER, n_turns INTEGER, items INTEGER, n_items INTEGER,
        idem BLOB, body_hash BLOB, reason TEXT, result TEXT, reply BLOB)""",
    "CREATE INDEX jobs_open ON jobs(import, id) WHERE state < 2",
    "CREATE UNIQUE INDEX jobs_idem ON jobs(idem) WHERE idem IS NOT NULL",
    """CREATE TABLE touched(uid INTEGER, generation INTEGER, seq INTEGER,
        PRIMARY KEY(uid, generation, seq)) WITHOUT ROWID""",
    """CREATE TABLE queue(one INTEGER PRIMARY KEY CHECK(one = 1),
        queued INTEGER NOT NULL)""",
    "INSERT INTO queue VALUES(1, 0)",
)
# `deferral`: see Account. `successor` is the sequence of the row that took over; `parted`
# has each pair of rows that a reinstatement parted, both ways.
_V2: Final = (
    "ALTER TABLE memories ADD COLUMN links BLOB",
    "ALTER TABLE jobs ADD COLUMN extract INTEGER",
    "ALTER TABLE users ADD COLUMN deferral INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE history ADD COLUMN successor INTEGER",
    "CREATE INDEX history_memory ON history(memory)",
    """CREATE TABLE profiles(id INTEGER PRIMARY KEY, text TEXT NOT NULL,
        turn_seq INTEGER NOT NULL, at INTEGER NOT NULL)""",
    """CREATE TABLE parted(id INTEGER, other INTEGER,
        PRIMARY KEY(id, other)) WITHOUT ROWID""",
)
MIGRATIONS: tuple[Sequence[str], ...] = (_V1, _V2)
"""Statement n turns a file of `user_version` n into one of n + 1. Append only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pragmas:
    """How a connection is set up. `busy` in seconds, `journal_limit` in bytes."""

    durability: str
    busy: float
    journal_limit: int


def connect(
    path: Path, pragmas: Pragmas, guard: Guard, *, write: bool, read_only: bool
) -> sqlite3.Connection:
    """An open connection to a shard of this version, in autocommit mode.

    `write=False` gives a query-only connection, `read_only` is the whole store's state.
    `guard` is held while the file is created or migrated, never otherwise: opening takes
    no write lock. Raises ForeignFolderError, NewerFormatError, DamagedStoreError and
    sqlite3.Error. Runs on the connection's own thread.
    """
    connection = _open(path, pragmas.busy, immutable=False, read_only=read_only)
    try:
        _set_up(connection)
        if check_file(connection, path.name) < len(MIGRATIONS):
            if read_only:
                raise DamagedStoreError(
                    f"{path.name} was written by an older hmem, or never finished: "
                    "open the store for writing once"
                )
            with guard():
                connection.execute("PRAGMA journal_mode=WAL")
                migrate(connection, path.name)
        if write:
            _set_up_writer(connection, pragmas, guard)
        else:
            connection.execute("PRAGMA query_only=ON")
    except BaseException:
        with guard():
            connection.close()
        raise
    return connection


def _open(
    path: Path, busy: float, *, immutable: bool, read_only: bool
) -> sqlite3.Connection:
    mode = ("?mode=ro" if read_only else "?mode=rw") + (
        "&immutable=1" if immutable else ""
    )
    connection = sqlite3.connect(
        # Bytes: a name that this locale cannot spell has no other form.
        f"file:{quote(os.fsencode(path))}{mode}",
        uri=True,
        timeout=busy,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    if not read_only or immutable:
        return connection
    try:
        # WAL needs its -shm file: in a folder that cannot be written and without one,
        # the file can only be read as it stands.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as e:
        connection.close()
        if (e.sqlite_errorcode & 0xFF) not in (8, 14):
            raise
        if path.with_name(f"{path.name}-wal").exists():
            log.warning(
                "%s is read without its -wal, which needs a folder that can be written:"
                " its newest rows are not seen",
                path,
            )
        return _open(path, busy, immutable=True, read_only=True)
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    for pragma in (
        "trusted_schema=OFF",
        "cache_size=-256",
        "mmap_size=0",
        "wal_autocheckpoint=0",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _set_up_writer(
    connection: sqlite3.Connection, pragmas: Pragmas, guard: Guard
) -> None:
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        with guard():
            connection.execute("PRAGMA journal_mode=WAL")
    for pragma in (
        f"journal_size_limit={pragmas.journal_limit}",
        "secure_delete=ON",
        f"synchronous={pragmas.durability}",
        f"busy_timeout={WRITER_BUSY_MS}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def check_file(connection: sqlite3.Connection, name: str) -> int:
    """The file's version. Raises ForeignFolderError, NewerFormatError."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application or version or tables:
            raise ForeignFolderError(f"{name} is a database of another program")
        return 0
    if version > len(MIGRATIONS):
        raise NewerFormatError(
            f"{name} has format {version}, this hmem reads up to {len(MIGRATIONS)}: "
            "upgrade hmem"
        )
    return version


def migrate(connection: sqlite3.Connection, name: str) -> None:
    """Bring the file to this version: one transaction per step, safe to interrupt."""
    while True:
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = check_file(connection, name)  # another process may have done it
            if version == len(MIGRATIONS):
                connection.execute("COMMIT")
                return
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
