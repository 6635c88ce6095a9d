"""The embedded store at its ends: counters, open files, sizes, what is kept how long."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmem.config import Config
from hmem.errors import CapacityError, QueueFullError
from hmem.protocols import Accept, TurnRow
from hmem.stores import keys, streams
from hmem.stores.checkpoints import FRAME, wal_size
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store.making import (
    DONE,
    accept,
    add,
    close,
    day,
    item,
    plan,
    quiet,
    turn,
)
from hmem.testing.store.view import dump, kept
from hmem.times import to_micros

SHARD = "shard-00.db"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    found = EmbeddedStore(Config(path=tmp_path, shards=1))
    await found.open()
    yield found
    await found.aclose()


def behind(where: Path, sql: str, *args: object) -> list[Any]:
    """Run a statement behind the store's back."""
    with closing(sqlite3.connect(where / SHARD)) as conn, conn:
        return conn.execute(sql, args).fetchall()


# --------------------------------------------------------------------- keys and ids


def test_ids_sort_by_time_then_sequence_and_look_like_uuid7() -> None:
    ids = [
        keys.public_id(7, keys.TURN, seq, ms * 1000 + 999)
        for ms in (0, 1, 1_700_000_000_000, 2**48 - 1)
        for seq in (1, 2, 4095, 4096, keys.SEQ_MAX)
    ]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert {(i[14], i[19] in "89ab", len(i)) for i in ids} == {("7", True, 36)}


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
    st.sampled_from([keys.MEMORY, keys.TURN, keys.JOB]),
    st.integers(1, keys.SEQ_MAX),
    st.integers(0, 2**48 - 1),
)
def test_an_id_is_read_by_its_own_user_alone(
    mine: int, other: int, kind: int, seq: int, ms: int
) -> None:
    text = keys.public_id(mine, kind, seq, ms * 1000)
    assert keys.decode(mine, text) == (ms, kind, seq)
    if other != mine:
        assert keys.decode(other, text) is None
    assert keys.decode(mine, text.upper()) in (None, (ms, kind, seq))
    changed = text[:-1] + ("0" if text[-1] != "0" else "1")
    assert keys.decode(mine, changed) is None


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_no_text_that_was_not_given_out_is_an_id(text: str) -> None:
    assert keys.decode(3, text) is None


async def test_an_id_of_a_sequence_not_used_yet_is_unknown(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    await store.accept("ana", quiet(turn("a"), at=1))
    ((incarnation,),) = behind(tmp_path, "SELECT incarnation FROM users")
    forged = [keys.public_id(incarnation, k, s, day(1)) for k in (0, 1) for s in (1, 2)]
    rows = await store.rows("ana", forged)
    assert [isinstance(r, TurnRow) for r in rows] == [False, False, True, False]
    other_time = keys.public_id(incarnation, keys.TURN, 1, day(2))
    assert await store.rows("ana", [other_time]) == [None]


# --------------------------------------------------------------- counters at their end


@pytest.mark.parametrize("counter", ["turn_seq", "memory_seq", "job_seq"])
async def test_a_sequence_at_its_end_refuses_before_anything_is_written(
    store: EmbeddedStore, tmp_path: Path, counter: str
) -> None:
    await store.accept("ben", quiet(turn("ben's"), item("ben's")))
    await store.accept("ana", quiet(turn("first"), item("first")))
    sql = f"UPDATE users SET {counter} = ? WHERE user_id = 'ana'"  # noqa: S608
    behind(tmp_path, sql, keys.SEQ_MAX - 1)
    bens = await dump(store, "ben")
    done = await store.accept("ana", quiet(turn("last"), item("last")))
    before = await dump(store, "ana")
    with pytest.raises(CapacityError):
        await store.accept("ana", quiet(turn("over"), item("over")))
    assert await dump(store, "ana") == before
    rows = await store.rows("ana", [*done.turns, *done.added])
    assert [row and row.text for row in rows] == ["last", "last"]
    job = await store.job("ana", done.job_id)
    assert job is not None
    assert job.turns == done.turns
    assert await dump(store, "ben") == bens
    await store.accept("ben", quiet(turn("goes on")))


async def test_a_plan_past_the_end_is_refused_whole(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    await store.accept("ana", quiet(item("first")))
    behind(tmp_path, "UPDATE users SET memory_seq = ?", keys.SEQ_MAX - 1)
    before = await dump(store, "ana")
    with pytest.raises(CapacityError):
        await store.apply("ana", plan(add("fits"), add("does not")))
    assert await dump(store, "ana") == before


async def test_a_user_number_is_never_given_twice(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    seen: list[int] = []
    for _ in range(4):
        await store.accept("ana", quiet(turn("a"), item("b")))
        ((uid,),) = behind(tmp_path, "SELECT uid FROM users")
        seen.append(uid)
        await store.erase_user("ana")
        assert behind(tmp_path, "SELECT count(*) FROM episodes") == [(0,)]
    assert len(set(seen)) == 4
    assert seen == sorted(seen)


async def test_user_numbers_at_their_end_refuse_new_users_alone(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    await store.accept("ana", quiet(turn("a")))
    behind(tmp_path, "UPDATE sqlite_sequence SET seq = ?", keys.UID_MAX - 1)
    await store.accept("last", quiet(turn("fits"), item("fits")))
    view = await kept(store, "last")
    assert [r.text for r in view.turns.values()] == ["fits"]
    assert list(view.tokens) == [("memory", 1, 0), ("turn", 1, 0)]
    with pytest.raises(CapacityError):
        await store.accept("over", quiet(turn("b")))
    assert await store.delta("over") is None
    await store.accept("ana", quiet(turn("c")))


async def test_chunk_numbers_at_their_end_are_refused(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    await store.accept("ana", quiet(*(turn(f"t{n}") for n in range(64))))
    behind(tmp_path, "UPDATE lex SET id = id + ?", streams._TURN_BIT - 1)
    before = await dump(store, "ana")
    with pytest.raises(CapacityError):
        await store.accept("ana", quiet(turn("one chunk more")))
    assert await dump(store, "ana") == before


# ------------------------------------------------------------------------ open files

MANY = """
import asyncio, os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from hmem.config import Config
from hmem.stores.embedded import EmbeddedStore
from hmem.stores.folder import bucket
from hmem.testing.store.making import accept, quiet, turn
async def main():
    store = EmbeddedStore(Config(path=sys.argv[1], shards=256, durability="normal"))
    await store.open()
    users = {bucket(f"u{n}", 256): f"u{n}" for n in range(4000)}
    assert len(users) == 256
    most = 0
    async def use(user):
        nonlocal most
        await store.accept(user, quiet(turn(user)))
        delta = await store.delta(user)
        assert [t.text for t in delta.turns] == [user]
        most = max(most, len(os.listdir("/proc/self/fd")))
    await asyncio.gather(*(use(u) for u in users.values()))
    stats = await store.stats()
    await store.aclose()
    print(stats["users"], stats["open_shards"] < 60, most < 256)
asyncio.run(main())
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
async def test_more_shards_than_files_may_be_open(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", MANY, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["256", "True", "True"], "")


async def test_few_open_shards_serve_many_at_once(tmp_path: Path) -> None:
    config = Config(path=tmp_path, shards=8, open_shards=2, durability="normal")
    store = EmbeddedStore(config)
    await store.open()
    for _ in range(2):
        await asyncio.gather(
            *(store.accept(f"u{n}", accept(turn("a"))) for n in range(40))
        )
    assert len(store._handle.pool.open) <= 2
    deltas = await asyncio.gather(*(store.delta(f"u{n}") for n in range(40)))
    assert [len(d.turns) for d in deltas if d] == [2] * 40
    claims = await store.claim(worker="w", lease=60, limit=100)
    assert sorted(c.user_id for c in claims) == sorted(f"u{n}" for n in range(40))
    await store.aclose()


# ----------------------------------------------------------------------------- sizes


async def test_the_wal_stays_small_while_much_is_written(tmp_path: Path) -> None:
    config = Config(path=tmp_path, shards=1, checkpoint_pages=40, durability="normal")
    store = EmbeddedStore(config)
    await store.open()
    most = 0
    for n in range(150):
        await store.accept(f"u{n % 7}", quiet(turn("word " * 200, name=f"{n}")))
        await store.delta(f"u{n % 7}")
        most = max(most, wal_size(tmp_path / SHARD))
    stats = await store.stats()
    await store.aclose()
    assert most <= 5 * 40 * FRAME
    assert stats["bytes"] > 2 * most, "pages reach the file"


async def test_a_wal_that_a_reader_kept_is_cut_short_afterwards(tmp_path: Path) -> None:
    config = Config(path=tmp_path, shards=1, checkpoint_pages=20, durability="normal")
    store = EmbeddedStore(config)
    await store.open()
    await store.accept("ana", quiet(turn("a")))
    with closing(sqlite3.connect(tmp_path / SHARD, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM users").fetchone()
        for n in range(60):
            await store.accept("ana", quiet(turn("word " * 200, name=f"{n}")))
        grown = wal_size(tmp_path / SHARD)
        other.execute("COMMIT")
    for n in range(60):
        await store.accept("ana", quiet(turn("b", name=f"{n}")))
    cut = wal_size(tmp_path / SHARD)
    await store.aclose()
    assert grown > 5 * 20 * FRAME
    assert cut < grown / 2


async def test_the_queues_limit_counts_all_shards(tmp_path: Path) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=4, queue_limit=12))
    await store.open()
    done = [await refused(store, f"u{n}") for n in range(20)]
    assert done == [False] * 12 + [True] * 8
    assert await store.queued() == 12
    (claim, *_) = await store.claim(worker="w", lease=60, limit=1)
    await store.apply(claim.user_id, plan(claim=claim, end=DONE))
    assert not await refused(store, "u99")
    await store.aclose()


async def refused(store: EmbeddedStore, user: str) -> bool:
    try:
        await store.accept(user, accept(turn("a")))
    except QueueFullError:
        return True
    return False


async def test_receipts_are_forgotten_after_their_time_and_open_jobs_never(
    tmp_path: Path,
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store = EmbeddedStore(
        Config(path=tmp_path, shards=1, receipt_days=7, durability="normal"),
        clock=lambda: now,
    )
    await store.open()
    old = [await store.accept("ana", quiet(turn(f"{n}"), at=0)) for n in range(100)]
    waits = await store.accept("ana", accept(turn("waits"), at=0))
    for n in range(200):
        fresh = quiet_at(now - timedelta(days=1), f"{n}")
        await store.accept("ana", fresh)
    await store.aclose()
    ((left, oldest),) = behind(
        tmp_path, "SELECT count(*), min(id) & 0xffffff FROM jobs WHERE state >= 2"
    )
    assert (left, oldest) == (200, 102)
    await store.open()
    assert await store.job("ana", old[0].job_id) is None
    job = await store.job("ana", waits.job_id)
    assert job is not None
    assert job.status == "queued"
    await store.aclose()


def quiet_at(moment: datetime, text: str) -> Accept:
    """A quiet accept recorded at the moment."""
    return replace(quiet(turn(text)), recorded_at=to_micros(moment))


async def test_a_view_older_than_the_log_of_changes_starts_anew(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_LOG_KEPT", 4)
    done = await store.accept("ana", quiet(*(item(f"f{n}") for n in range(30))))
    old = await kept(store, "ana")
    for n in range(20):
        await store.apply("ana", plan(close(done.added[n], at=1)))
    young = await kept(store, "ana")
    await store.apply("ana", plan(close(done.added[20], at=1)))
    for view, whole in ((old, True), (young, False)):
        delta = await view.refresh(store, "ana")
        assert delta is not None
        assert delta.whole is whole
        assert view.dump() == await dump(store, "ana")
    ((logged,),) = behind(tmp_path, "SELECT count(*) FROM touched")
    assert logged <= 9


async def test_a_session_longer_than_its_kept_tail_is_still_recognised(
    store: EmbeddedStore,
) -> None:
    history = [turn(f"line {n}") for n in range(150)]
    for start in range(0, 150, 10):
        sent = accept(*history[: start + 10], resend=True)
        assert len((await store.accept("ana", sent)).turns) == 10
    for sent in (history, history[:120], history[-3:], history[100:]):
        done = await store.accept("ana", accept(*sent, resend=True))
        assert (done.turns, len(done.skipped)) == ((), len(sent))
    changed = [turn("another start"), *history[1:]]
    done = await store.accept("ana", accept(*changed, resend=True))
    assert len(done.turns) == 150
