"""Bytes on disk for a memory and for a turn, by table and index.

python -m benchmarks_perf.bytes [--json] [--quick]

50 users with 200 facts and 400 turns each in one shard, added as an agent would add them
(a round or two at a time), with int8 codes of 384 dimensions. Where this SQLite has no
`dbstat`, a table's share is found by copying it alone into a file of its own.
"""

import asyncio
import sqlite3
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks_perf import floors
from benchmarks_perf.floors import Json
from benchmarks_perf.inside import file_of
from benchmarks_perf.people import DIM, crowd
from hmem import Config
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder

FACTS, TURNS = 200, 400
TARGET = 600
_SEQ = (1 << 24) - 1
_TURN_BIT = 1 << 23
# Which part of a chunk table belongs to turns: chunk numbers with this bit.
_STREAM = f"(id & {_SEQ}) >= {_TURN_BIT}"
_OBJECTS = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
_OWN_OBJECTS = """SELECT name, tbl_name FROM sqlite_master
    WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"""
_OWNER = {
    "memories": "memory",
    "memories_open": "memory",
    "memories_next": "memory",
    "memories_uuid": "memory",
    "entities": "memory",
    "history": "memory",
    "touched": "memory",
    "episodes": "turn",
    "episodes_uuid": "turn",
    "message_ids": "turn",
    "sessions": "turn",
}


async def fill(folder: Path, users: int) -> Path:
    """Add everything; then close, which folds the WAL in. The shard's file."""
    store = EmbeddedStore(Config(path=folder, shards=1, durability="normal"))
    await store.open()
    space = await store.adopt_space(HashEmbedder(DIM).model, DIM)
    await crowd(
        store, range(users), facts=FACTS, turns=TURNS, space=space, turns_per_add=4
    )
    await store.aclose()
    return file_of(folder)


def by_dbstat(db: sqlite3.Connection) -> dict[str, int] | None:
    """Bytes of pages by object; None where SQLite was built without dbstat."""
    try:
        rows = db.execute(
            "SELECT name, sum(pgsize) FROM dbstat GROUP BY name"
        ).fetchall()
    except sqlite3.OperationalError:
        return None
    return {str(name): int(size) for name, size in rows}


def by_copying(db: sqlite3.Connection, folder: Path) -> dict[str, int]:
    """The same, found by copying each table into a file, without and with an index."""
    sql = {str(name): str(text) for name, text in db.execute(_OBJECTS)}
    found: dict[str, int] = {}
    for name, table in db.execute(_OWN_OBJECTS).fetchall():
        alone = _copied(db, folder / "copy.db", table, [sql[table]])
        if name == table:
            found[name] = alone
        else:
            both = [sql[table], sql[name]]
            found[name] = _copied(db, folder / "copy.db", table, both) - alone
    return found


def _copied(db: sqlite3.Connection, path: Path, table: str, schema: list[str]) -> int:
    """Bytes of the table, and its index, in a file of their own."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        copy.execute("PRAGMA synchronous=OFF")
        for statement in schema:
            copy.execute(statement)
        rows = db.execute(f"SELECT * FROM {table}")  # noqa: S608
        marks = ",".join("?" * len(rows.description))
        copy.execute("BEGIN")
        copy.executemany(f"INSERT INTO {table} VALUES({marks})", rows)
        copy.execute("COMMIT")
    return path.stat().st_size - 4096  # the page of the schema


def streams(db: sqlite3.Connection, table: str) -> Iterator[tuple[str, int, int]]:
    """(kind, rows of the table, bytes of their bodies) of a chunk table."""
    for turn, rows, size in db.execute(
        f"SELECT {_STREAM}, count(*), sum(length(body)) FROM {table} GROUP BY 1"  # noqa: S608
    ):
        yield ("turn" if turn else "memory"), int(rows), int(size)


def split(db: sqlite3.Connection, sizes: dict[str, int]) -> dict[str, dict[str, float]]:
    """Bytes by kind of row and object. Chunk tables are shared out by their bodies."""
    shares: dict[str, dict[str, float]] = {"memory": {}, "turn": {}, "other": {}}
    for name, size in sizes.items():
        if name in ("lex", "vec"):
            parts = list(streams(db, name))
            total = sum(part[2] for part in parts) or 1
            for kind, _, length in parts:
                shares[kind][name] = size * length / total
        else:
            shares[_OWNER.get(name, "other")][name] = float(size)
    return shares


def per_row(shares: dict[str, float], rows: int) -> Json:
    """Bytes a row, what weighs nothing left out, and their sum."""
    found = {
        name: round(size / rows, 1)
        for name, size in sorted(shares.items(), key=lambda item: -item[1])
        if size / rows >= 0.05
    }
    return found | {"total": round(sum(shares.values()) / rows, 1)}


def at_4_bits(memory: Json, db: sqlite3.Connection, rows: int) -> Json:
    """The total with codes of 4 bits (d/2 bytes and a float32 scale), from what was
    measured: a chunk's bytes beside its codes stay as they are."""
    codes = DIM + 4
    body = {kind: size for kind, _, size in streams(db, "vec")}["memory"] / rows
    beside = body - codes
    stored = float(memory["vec"])
    waste = stored / body
    smaller = (DIM / 2 + 4 + beside) * waste
    return {
        "code_bytes": [codes, DIM // 2 + 4],
        "vec": round(smaller, 1),
        "total": round(float(memory["total"]) - stored + smaller, 1),
        "target": TARGET,
    }


async def run(folder: Path, options: Namespace) -> Json:
    """Everything."""
    users = 6 if options.quick else 50
    path = await fill(folder / "store", users)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        sizes = by_dbstat(db)
        how = "dbstat" if sizes else "each table copied alone"
        sizes = sizes or by_copying(db, folder)
        memories, mean_fact = _rows(db, "memories")
        turns, mean_turn = _rows(db, "episodes")
        shares = split(db, sizes)
        memory = per_row(shares["memory"], memories)
        return {
            "users": users,
            "memories": memories,
            "turns": turns,
            "mean_characters": {"memory": mean_fact, "turn": mean_turn},
            "how": how,
            "file_bytes": path.stat().st_size,
            "accounted_bytes": sum(sizes.values()),
            "bytes_per_memory": memory,
            "bytes_per_memory_at_4_bits": at_4_bits(memory, db, memories),
            "bytes_per_turn": per_row(shares["turn"], turns),
            "bytes_per_user_of_the_rest": per_row(shares["other"], users),
        }


def _rows(db: sqlite3.Connection, table: str) -> tuple[int, float]:
    sql = f"SELECT count(*), avg(length(text)) FROM {table}"  # noqa: S608
    rows, mean = db.execute(sql).fetchone()
    return int(rows), round(mean, 1)


def main() -> None:
    """Run and print."""
    options = floors.parser(__doc__).parse_args()
    with floors.workplace(options.folder) as folder:
        floors.report(asyncio.run(run(folder, options)), options)


if __name__ == "__main__":
    main()
