"""A shard of format 1, as it was written then, becomes one of format 2 and keeps all."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hmem.config import Config
from hmem.editing import events_of
from hmem.errors import DamagedStoreError
from hmem.protocols import JobEnd, Note, Profile, PutProfile
from hmem.stores import formers, schema
from hmem.stores.embedded import EmbeddedStore
from hmem.stores.journal import REINSTATED
from hmem.testing.store.making import (
    DONE,
    accept,
    add,
    cite,
    close,
    day,
    plan,
    quiet,
    reinstate,
    turn,
)
from hmem.testing.store.view import dump, kept

DUMP = Path(__file__).parent / "data" / "store_v1.sql"
Tables = dict[str, list[tuple[Any, ...]]]


def build(path: Path) -> None:
    """The file, from its dump."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(DUMP.read_text(encoding="utf-8"))
        db.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
        db.execute("PRAGMA user_version=1")
        db.execute("PRAGMA journal_mode=WAL")


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A data folder whose one shard has format 1."""
    store = EmbeddedStore(Config(path=tmp_path / "m", shards=1))
    await store.open()
    await store.aclose()
    build(tmp_path / "m" / "shard-00.db")
    return tmp_path / "m"


def opened(folder: Path, **fields: Any) -> EmbeddedStore:
    return EmbeddedStore(Config(path=folder, shards=1, **fields))


def columns(path: Path) -> dict[str, list[str]]:
    """The columns of each table."""
    with closing(sqlite3.connect(path)) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {
            name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
            for (name,) in names.fetchall()
        }


def contents(path: Path, of: dict[str, list[str]]) -> Tables:
    """Every row of these columns."""
    with closing(sqlite3.connect(path)) as db:
        return {
            name: sorted(
                db.execute(f"SELECT {', '.join(named)} FROM {name}").fetchall(),  # noqa: S608
                key=repr,
            )
            for name, named in of.items()
        }


async def test_every_row_of_a_file_of_format_1_is_kept(folder: Path) -> None:
    path = folder / "shard-00.db"
    old = columns(path)
    before = contents(path, old)
    assert all(before[name] for name in old), "each table has rows to lose"
    stores = [opened(folder) for _ in range(3)]
    for store in stores:
        await store.open()
    views = await asyncio.gather(*(store.delta("ana") for store in stores))
    assert all(view is not None and len(view.memories) == 9 for view in views)
    for store in stores:
        assert (await store.health())["ok"]
        await store.aclose()
    assert contents(path, old) == before
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_file_brought_up_to_date_is_built_like_a_new_one(
    folder: Path, tmp_path: Path
) -> None:
    found = []
    for where in (folder, tmp_path / "new"):
        store = opened(where)
        await store.open()
        await store.accept("dan", quiet(turn("a")))
        await store.aclose()
        path = where / "shard-00.db"
        with closing(sqlite3.connect(path)) as db:
            sql = "SELECT sql FROM sqlite_master WHERE type = 'index' ORDER BY name"
            found.append((columns(path), db.execute(sql).fetchall()))
    assert found[0] == found[1]


async def test_what_was_written_then_is_read_as_it_was_meant(folder: Path) -> None:
    store = opened(folder)
    await store.open()
    view = await kept(store, "ana")
    rows = view.by_text()
    assert [row.text for row in view.turns.values()][:2] == [
        "I moved to Gh\u00e9nt",
        "Noted",
    ]
    assert rows["Met L\u00e9a"].metadata == {"k": [1.5]}
    assert rows["Lives in Ghent"].source_ids == (view.turns[1].id,)
    assert rows["Has a dog"].source_ids == ("mail-7",)
    assert {row.links for row in rows.values()} == {()}
    assert len(view.codes) == 2
    assert await store.profile("ana") is None
    cities = ["Lives in London", "Lives in Paris", "Lives in Ghent", "Lives in Rome"]
    ids = [rows[text].id for text in cities]
    chain = await store.chain("ana", ids[1])
    assert [row.id for row in chain] == ids
    notes = await store.notes("ana", ids[3])
    assert notes == [
        Note("SUPERSEDE", ids[0], day(13), ids[1], "late"),
        Note("SUPERSEDE", ids[2], day(12), ids[3], "moved"),
    ]
    told = [(e.event, e.text, e.by, e.reason) for e in events_of(chain, notes)]
    assert told == [
        ("ADD", cities[0], None, None),
        ("ADD", cities[2], None, None),
        ("SUPERSEDE", cities[2], ids[3], "moved"),
        ("ADD", cities[3], None, None),
        ("SUPERSEDE", cities[0], ids[1], "late"),
        ("ADD", cities[1], None, None),
        ("SUPERSEDE", cities[1], ids[2], None),
    ]
    dead = await store.job("ben", (await _job_ids(store, "ben"))[0])
    assert dead is not None
    assert (dead.status, dead.reason, dead.usage.llm_calls) == ("dead", "no", 2)
    await store.aclose()


@pytest.mark.parametrize("few", [0, 64])
async def test_a_late_arrival_of_then_is_undone_now(
    folder: Path, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formers, "_FEW", few)
    store = opened(folder)
    await store.open()
    view = await kept(store, "ana")
    rows = view.by_text()
    london, paris = rows["Lives in London"], rows["Lives in Paris"]
    assert set(view.former) == {london.seq}
    stood = [view.known(london.id, day(n))[0] for n in (12, 13)]
    assert stood == [rows["Lives in Ghent"].valid_from, paris.valid_from]
    await store.aclose()


async def test_a_reinstatement_of_then_is_read_as_if_it_had_never_been_closed(
    folder: Path,
) -> None:
    store = opened(folder)
    await store.open()
    rome = (await kept(store, "ana")).by_text()["Lives in Rome"]
    ops = [close(rome.id, at=29), reinstate(rome.id)] * 2
    for n, op in enumerate(ops):
        await store.apply("ana", plan(op, at=30 + n))
    known = (await kept(store, "ana")).known
    ends = [known(rome.id, day(30 + n))[0] for n in range(4)]
    assert ends == [day(29), None, day(29), None]
    await store.aclose()
    with closing(sqlite3.connect(folder / "shard-00.db")) as db:
        # what an hmem wrote that did not note where a fact had ended
        sql = "UPDATE history SET old = NULL WHERE event = ? AND at = ?"
        assert db.execute(sql, (REINSTATED, day(31))).rowcount == 1
        db.commit()
    store = opened(folder)
    await store.open()
    known = (await kept(store, "ana")).known
    ends = [known(rome.id, day(30 + n))[0] for n in range(4)]
    assert ends == [None, None, day(29), None]
    await store.aclose()


async def _job_ids(store: EmbeddedStore, user_id: str) -> list[str]:
    """Ids of a user's jobs: an idempotency key finds the first."""
    again = await store.accept(user_id, accept(turn("dead"), key="k1", body_hash=b"2"))
    assert not again.created
    return [again.job_id]


async def test_what_was_queued_then_is_worked_on_now(folder: Path) -> None:
    store = opened(folder, max_attempts=9)
    await store.open()
    assert await store.queued() == 4
    claims = {c.user_id: c for c in await store.claim(worker="w", lease=60, limit=9)}
    jobs = claims["ana"].jobs
    assert [(j.attempts, j.reply, j.extract) for j in jobs] == [
        (3, b"reply", False),
        (3, None, False),
        (3, None, False),
    ]
    assert [j.created_at for j in jobs] == [day(20)] * 3
    assert [r.text for j in jobs for r in j.items] == [
        *("first fact", "second fact", "third fact")
    ]
    end = JobEnd(status="done", jobs=(jobs[0].id,))
    await store.apply("ana", plan(claim=claims["ana"], end=end, defer=60))
    assert await store.claim(worker="w", lease=60, limit=9) == []
    assert await store.hurry("ana")
    (again,) = await store.claim(worker="w", lease=60, limit=9)
    assert [(j.id, j.attempts) for j in again.jobs] == [(j.id, 3) for j in jobs[1:]]
    await store.apply("ana", plan(claim=again, end=DONE))
    await store.apply("ben", plan(claim=claims["ben"], end=DONE))
    assert await store.queued() == 0
    await store.aclose()


async def test_everything_new_works_on_what_is_old(folder: Path) -> None:
    store = opened(folder)
    await store.open()
    rows = (await kept(store, "ana")).by_text()
    ghent, rome, dog = (
        rows[t] for t in ("Lives in Ghent", "Lives in Rome", "Has a dog")
    )
    done = await store.apply(
        "ana",
        plan(
            reinstate(ghent.id, reason="not so"),
            reinstate(dog.id),
            cite(rome.id, "mail-8"),
            add("Has a dog", at=30, source_ids=["mail-9"]),
            add("Belongs", links=[3]),
            PutProfile(text="p", turn_seq=1),
            at=30,
        ),
    )
    states = [o.status for o in done.outcomes]
    assert states == [*["applied"] * 3, "duplicate", "applied", "applied"]
    assert await store.notes("ana", ghent.id) == [
        Note(
            "SUPERSEDE",
            rows["Lives in London"].id,
            day(13),
            rows["Lives in Paris"].id,
            "late",
        ),
        Note("SUPERSEDE", ghent.id, day(12), rome.id, "moved"),
        Note("REINSTATE", ghent.id, day(30), None, "not so"),
    ]
    assert len(await store.chain("ana", rome.id)) == 4
    view = await kept(store, "ana")
    assert view.by_text()["Has a dog"].source_ids == ("mail-7", "mail-9")
    assert view.by_text()["Belongs"].links == (dog.id,)
    assert await store.profile("ana") == Profile(text="p", turn_seq=1, at=day(30))
    assert view.dump() == await dump(store, "ana")
    for user in ("ana", "ben"):
        await store.erase_user(user)
    await store.aclose()
    path = folder / "shard-00.db"
    left = {name for name, rows in contents(path, columns(path)).items() if rows}
    assert left == {"queue", "sqlite_sequence"}


async def test_a_reader_alone_asks_for_a_writer_once(folder: Path) -> None:
    store = opened(folder, read_only=True)
    await store.open()
    with pytest.raises(DamagedStoreError, match="writing once"):
        await store.delta("ana")
    await store.aclose()


KILLS = """
import hashlib, json, os, shutil, signal, sqlite3, sys
from contextlib import nullcontext
from pathlib import Path
from hmem.stores import schema

source, pragmas = Path(sys.argv[1]), schema.Pragmas(
    durability="FULL", busy=1.0, journal_limit=1 << 20)
real = schema._open

def connect(path):
    return schema.connect(path, pragmas, nullcontext, write=True, read_only=False)

def dying(n):
    def opening(path, busy, **kind):
        seen = []
        def count(sql):
            seen.append(sql)
            if len(seen) == n:
                os.kill(os.getpid(), signal.SIGKILL)
        connection = real(path, busy, **kind)
        connection.set_trace_callback(count)
        return connection
    return opening

told, n = [], 0
while True:
    n += 1
    path = source.with_name(f"killed-{n}.db")
    shutil.copy(source, path)
    child = os.fork()
    if not child:
        schema._open = dying(n)
        connect(path).close()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    raw = sqlite3.connect(path)
    version = raw.execute("PRAGMA user_version").fetchone()[0]
    links = [r[1] for r in raw.execute("PRAGMA table_info(memories)")].count("links")
    raw.close()
    after = connect(path)
    final = after.execute("PRAGMA user_version").fetchone()[0]
    after.close()
    told.append([version, links, final, str(path)])
    if os.WIFEXITED(status):
        break
print(json.dumps(told))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_process_killed_anywhere_in_the_migration_loses_nothing(
    tmp_path: Path,
) -> None:
    source = tmp_path / "v1.db"
    build(source)
    old = columns(source)
    before = contents(source, old)
    done = subprocess.run(
        [sys.executable, "-c", KILLS, str(source)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    versions = [version for version, *_ in told]
    assert versions == sorted(versions)
    assert versions.count(1) > len(schema.MIGRATIONS[1]), "killed within, too"
    assert versions[-1] == 2
    for version, links, final, path in told:
        assert links == version - 1, "all of a step or nothing"
        assert final == 2
        assert contents(Path(path), old) == before
