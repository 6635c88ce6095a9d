"""The embedded store among damaged, foreign, newer and unwritable files; and erasing."""

import asyncio
import base64
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hmem.config import Config
from hmem.errors import (
    DamagedStoreError,
    DiskFullError,
    ForeignFolderError,
    NewerFormatError,
    ReadOnlyStoreError,
    StoreBusyError,
    StoreError,
)
from hmem.stores import schema
from hmem.stores.embedded import EmbeddedStore
from hmem.stores.faults import translate
from hmem.stores.folder import bucket
from hmem.testing.store.making import accept, add, code, item, plan, put, quiet, turn
from hmem.testing.store.view import dump, kept

SHARDS = 4
USERS = {
    n: next(f"u{i}" for i in range(99) if bucket(f"u{i}", SHARDS) == n)
    for n in range(4)
}


def config(where: Path, **more: Any) -> Config:
    return Config(path=where, shards=SHARDS, durability="normal", **more)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    found = EmbeddedStore(config(tmp_path))
    await found.open()
    yield found
    await found.aclose()


async def filled(where: Path) -> dict[int, dict[str, Any]]:
    """A closed folder with one user in each shard; what each one's rows are."""
    store = EmbeddedStore(config(where))
    await store.open()
    for n, user in USERS.items():
        await store.accept(user, accept(turn(f"turn {n}"), item(f"fact {n}")))
    found = {n: await dump(store, user) for n, user in USERS.items()}
    await store.aclose()
    return found


def behind(where: Path, n: int, sql: str, *args: object) -> list[Any]:
    """Run a statement behind the store's back."""
    with closing(sqlite3.connect(where / f"shard-{n:02d}.db")) as conn, conn:
        return conn.execute(sql, args).fetchall()


def contents(where: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in where.glob("*.db")}


def make_newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("PRAGMA user_version=99")


def make_foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("CREATE TABLE songs(name TEXT)")


def make_garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all " * 1000)


def make_torn(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        pytest.param(make_newer, NewerFormatError, id="newer"),
        pytest.param(make_foreign, ForeignFolderError, id="foreign"),
        pytest.param(make_garbage, DamagedStoreError, id="garbage"),
        pytest.param(make_torn, DamagedStoreError, id="torn"),
    ],
)
async def test_a_shard_that_cannot_be_read_is_refused_alone(
    tmp_path: Path, spoil: Any, error: type[StoreError]
) -> None:
    before = await filled(tmp_path)
    bad = tmp_path / "shard-02.db"
    spoil(bad)
    content = bad.read_bytes()
    store = EmbeddedStore(config(tmp_path))
    await store.open()
    for _ in range(2):
        with pytest.raises(error):
            await store.delta(USERS[2])
        with pytest.raises(error):
            await store.accept(USERS[2], quiet(turn("new")))
    for n in (0, 1, 3):
        assert await dump(store, USERS[n]) == before[n]
        await store.accept(USERS[n], quiet(turn("goes on")))
    claims = await store.claim(worker="w", lease=60, limit=10)
    assert sorted(c.user_id for c in claims) == sorted(USERS[n] for n in (0, 1, 3))
    assert await store.wait_for_work(0.01) is False, "it is not tried without end"
    health = await store.health()
    assert health["ok"] is False
    assert health["problems"]
    assert all(problem.startswith("shard-02.db") for problem in health["problems"])
    await store.aclose()
    assert bad.read_bytes() == content, "what cannot be read is left as it is"


@pytest.mark.parametrize("table", ["lex", "vec"])
async def test_a_chunk_that_was_changed_is_seen_and_other_users_read_on(
    store: EmbeddedStore, tmp_path: Path, table: str
) -> None:
    other = next(f"v{i}" for i in range(99) if bucket(f"v{i}", SHARDS) == 1)
    for user in (USERS[1], other):
        await store.accept(user, quiet(turn("some words"), item("a fact")))
        await store.apply(user, plan(put("turn", {(1, 0): code(user)})))
    others = await dump(store, other)
    sql = f"SELECT id, body FROM {table} ORDER BY id LIMIT 1"  # noqa: S608
    ((key, body),) = behind(tmp_path, 1, sql)
    broken = body[:-1] + bytes([body[-1] ^ 1])
    sql = f"UPDATE {table} SET body = ? WHERE id = ?"  # noqa: S608
    behind(tmp_path, 1, sql, broken, key)
    with pytest.raises(DamagedStoreError):
        await store.delta(USERS[1])
    assert await dump(store, other) == others
    assert len(await store.page(USERS[1], "turn", after=0, limit=5)) == 1


@pytest.mark.parametrize("text", ["{", "[1]", "", '"x"'])
async def test_a_row_with_damaged_metadata_loads_without_it_and_is_counted(
    store: EmbeddedStore, tmp_path: Path, text: str
) -> None:
    rows = [turn("a", metadata={"k": 1}), turn("b", metadata={"k": 2}), item("c")]
    await store.accept(USERS[0], quiet(*rows))
    behind(tmp_path, 0, "UPDATE episodes SET metadata = ? WHERE text = 'a'", text)
    counted = (await store.health())["damaged_metadata"]
    view = await kept(store, USERS[0])
    assert [(r.text, dict(r.metadata)) for r in view.turns.values()] == [
        ("a", {}),
        ("b", {"k": 2}),
    ]
    assert (await store.health())["damaged_metadata"] == counted + 1


async def test_a_text_that_is_no_text_is_damage_and_is_not_quoted(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    await store.accept(USERS[0], quiet(turn("a"), turn("b")))
    sql = "UPDATE episodes SET text = CAST(x'736563726574ff' AS TEXT) WHERE text = 'a'"
    behind(tmp_path, 0, sql)
    with pytest.raises(DamagedStoreError) as caught:
        await store.delta(USERS[0])
    assert "secret" not in str(caught.value)


# --------------------------------------------------------------------------- versions


async def test_an_older_file_is_brought_up_to_date_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await filled(tmp_path)
    version = len(schema.MIGRATIONS)
    step = ("CREATE TABLE news(a)", "INSERT INTO news VALUES(7)")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    stores = [EmbeddedStore(config(tmp_path)) for _ in range(3)]
    for store in stores:
        await store.open()
    await asyncio.gather(*(store.delta(USERS[0]) for store in stores))
    assert behind(tmp_path, 0, "SELECT a FROM news") == [(7,)]
    assert behind(tmp_path, 0, "PRAGMA user_version") == [(version + 1,)]
    untouched = behind(tmp_path, 1, "PRAGMA user_version")
    assert untouched == [(version,)], "only what is opened"
    for n, user in USERS.items():
        assert await dump(stores[n % 3], user) == before[n]
    for store in stores:
        await store.aclose()


async def test_a_migration_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await filled(tmp_path)
    broken = ("CREATE TABLE news(a)", "INSERT INTO nowhere VALUES(1)")
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
        store = EmbeddedStore(config(tmp_path))
        await store.open()
        with pytest.raises(StoreError):
            await store.delta(USERS[0])
        await store.aclose()
    version = len(schema.MIGRATIONS)
    assert behind(tmp_path, 0, "PRAGMA user_version") == [(version,)]
    tables = behind(tmp_path, 0, "SELECT name FROM sqlite_master")
    assert ("news",) not in tables
    store = EmbeddedStore(config(tmp_path))
    await store.open()
    assert await dump(store, USERS[0]) == before[0]
    await store.aclose()


# -------------------------------------------------------------------------- read-only


async def test_a_read_only_store_reads_and_refuses_every_write(tmp_path: Path) -> None:
    before = await filled(tmp_path)
    files = contents(tmp_path)
    store = EmbeddedStore(config(tmp_path, read_only=True))
    await store.open()
    for n, user in USERS.items():
        assert await dump(store, user) == before[n]
    writes = [
        store.accept(USERS[0], quiet(turn("a"))),
        store.apply(USERS[0], plan(add("a"))),
        store.claim(worker="w", lease=1, limit=1),
        store.erase_user(USERS[0]),
    ]
    for write in writes:
        with pytest.raises(ReadOnlyStoreError):
            await write
    assert (await store.health())["ok"] is True
    assert await store.queued() == SHARDS
    await store.aclose()
    assert contents(tmp_path) == files


UNWRITABLE = """
import asyncio, os, sys
from hmem.config import Config
from hmem.errors import ReadOnlyStoreError
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store.making import quiet, turn
import concurrent.futures.thread, encodings.idna  # before the rights are gone
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
async def main():
    store = EmbeddedStore(Config(path=sys.argv[1], shards=4))
    await store.open()
    for user in sys.argv[2:]:
        delta = await store.delta(user)
        print([t.text for t in delta.turns])
    try:
        await store.accept("u", quiet(turn("a")))
    except ReadOnlyStoreError:
        print("refused")
    await store.aclose()
asyncio.run(main())
"""


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that another user can reach."""
    where = Path(tempfile.mkdtemp())
    where.chmod(0o755)
    yield where
    for path in [where / "m", where]:
        if path.exists():
            path.chmod(0o755)
    shutil.rmtree(where)


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs unix rights")
async def test_files_that_nobody_may_write_can_be_searched(shared_folder: Path) -> None:
    where = shared_folder / "m"
    await filled(where)
    for path in where.iterdir():
        path.chmod(0o444)
    where.chmod(0o555)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", UNWRITABLE, str(where), *USERS.values()],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    expected = [f"['turn {n}']" for n in range(SHARDS)]
    assert (done.stdout.splitlines(), done.stderr) == ([*expected, "refused"], "")


# --------------------------------------------------------------------------- full disk

FULL = """
import asyncio, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from hmem.config import Config
from hmem.errors import DiskFullError
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store.making import accept, quiet, turn
async def main():
    store = EmbeddedStore(Config(path=sys.argv[1], shards=1))
    await store.open()
    await store.accept("ana", quiet(turn("first")))
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
    kept, refused = ["first"], 0
    for n in range(400):
        text = f"{n} " + "word " * 400
        try:
            await store.accept("ana", quiet(turn(text)))
            kept.append(text)
        except DiskFullError as e:
            assert e.retryable
            refused += 1
            if refused > 5:
                break
    many = await asyncio.gather(
        *(store.accept("ana", quiet(turn("word " * 4000))) for n in range(5)),
        return_exceptions=True)
    assert all(isinstance(m, DiskFullError) for m in many), many
    delta = await store.delta("ana")
    assert [t.text for t in delta.turns] == kept
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    await store.accept("ana", quiet(turn("last")))
    delta = await store.delta("ana")
    assert [t.text for t in delta.turns] == [*kept, "last"]
    assert (await store.health())["ok"]
    await store.aclose()
    print(refused > 0, len(kept) > 3)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
async def test_a_full_disk_refuses_loses_nothing_and_heals(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", FULL, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["True", "True"], "")


@pytest.mark.parametrize(
    ("code_", "error"),
    [
        (sqlite3.SQLITE_BUSY, StoreBusyError),
        (sqlite3.SQLITE_LOCKED, StoreBusyError),
        (sqlite3.SQLITE_FULL, DiskFullError),
        (sqlite3.SQLITE_IOERR_WRITE, DiskFullError),
        (sqlite3.SQLITE_IOERR_FSYNC, DiskFullError),
        (sqlite3.SQLITE_IOERR_SHMSIZE, DiskFullError),
        (sqlite3.SQLITE_READONLY, ReadOnlyStoreError),
        (sqlite3.SQLITE_CORRUPT, DamagedStoreError),
        (sqlite3.SQLITE_NOTADB, DamagedStoreError),
        (sqlite3.SQLITE_CANTOPEN, StoreError),
        (sqlite3.SQLITE_IOERR_READ, StoreError),
    ],
)
def test_each_error_of_sqlite_has_its_own(code_: int, error: type[StoreError]) -> None:
    raised = sqlite3.OperationalError("secret text")
    raised.sqlite_errorcode = code_
    found = translate(raised, "shard-01.db")
    assert type(found) is error
    assert "shard-01.db" in str(found)
    assert "secret" not in str(found), "SQLite's text may quote a row"


# ----------------------------------------------------------------------------- erasing

CANARY = "zqcanary77vlad"
FORMS = [
    CANARY.encode(),
    CANARY.encode("utf-16-le"),
    CANARY.encode("utf-16-be"),
    CANARY.encode().hex().encode(),
    *(base64.b64encode(b"x" * n + CANARY.encode())[4:-4] for n in range(3)),
    CANARY[-8:].encode(),
]


def files_with_canary(where: Path) -> list[str]:
    found = []
    for path in where.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        found += [path.name for form in FORMS if form in data]
    return found


async def plant(store: EmbeddedStore, user: str, n: int) -> None:
    """Rows of every sort with the canary in each place that takes text."""
    done = await store.accept(
        user,
        accept(
            turn(f"{CANARY}{n}", name=f"n{CANARY}{n}", message_id=f"m{CANARY}{n}"),
            item(
                f"fact {CANARY} {n} " + f"{CANARY} " * (n % 7) * 30,
                entities=[f"e{CANARY}{n}"],
                quote=f"q{CANARY}",
                metadata={f"k{CANARY}": f"v{CANARY}"},
                source_ids=(f"s{CANARY}",),
                prompt_version=f"p{CANARY}",
            ),
            session=f"s{CANARY}{n % 3}",
            agent_id=f"a{CANARY}",
            key=f"k{CANARY}{n}",
            body_hash=CANARY.encode(),
        ),
    )
    newer = add(f"newer {CANARY} {n}", at=2, supersedes=done.added[0])
    await store.apply(user, plan(newer, put("turn", {(1, 0): code(CANARY)})))


async def test_after_an_erasure_no_file_holds_the_text_in_any_form(
    tmp_path: Path,
) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1, checkpoint_pages=30))
    await store.open()
    for n in range(40):
        await plant(store, f"user {CANARY}", n)
        await store.accept(f"other {n % 3}", quiet(turn(f"stays {n}"), item(f"s {n}")))
    assert files_with_canary(tmp_path)
    others = [await dump(store, f"other {n}") for n in range(3)]
    erased = await store.erase_user(f"user {CANARY}")
    assert erased.pending == ()
    assert erased.rows["memories"] == 80
    assert files_with_canary(tmp_path) == []
    assert [await dump(store, f"other {n}") for n in range(3)] == others
    assert (await store.health())["ok"] is True
    await store.aclose()
    assert files_with_canary(tmp_path) == []


async def test_what_a_reader_keeps_in_the_wal_is_named_and_goes_later(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.stores.embedded.TRUNCATE_WITHIN", 0.1)
    await plant(store, USERS[1], 1)
    path = tmp_path / "shard-01.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM memories").fetchone()
        erased = await store.erase_user(USERS[1])
        other.execute("COMMIT")
    assert [text.split(":")[0] for text in erased.pending] == ["shard-01.db-wal"]
    assert await store.delta(USERS[1]) is None
    await store.accept(USERS[1], quiet(turn("anew")))
    again = await store.erase_user(USERS[1])
    assert again.pending == ()
    assert files_with_canary(tmp_path) == []
