"""The embedded store from the inside: its thread, its hops, its commits, its life."""

import asyncio
import gc
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext
from inspect import getsource
from pathlib import Path
from threading import Thread
from typing import Any

import aiosqlite
import pytest

from hmem.config import Config
from hmem.errors import ForkedError, StoreBusyError, WrongLoopError
from hmem.stores.connection import STOP, ShardConnection
from hmem.stores.embedded import EmbeddedStore
from hmem.stores.folder import bucket
from hmem.testing.store.making import DONE, accept, add, item, plan, quiet, turn
from hmem.testing.store.view import kept

SHARD = "shard-00.db"


@pytest.fixture(params=[True, False], ids=["two connections", "one connection"])
async def store(tmp_path: Path, request: Any) -> AsyncIterator[EmbeddedStore]:
    found = EmbeddedStore(
        Config(path=tmp_path / "m", shards=1, busy_timeout=0.3),
        separate_reader=request.param,
    )
    await found.open()
    yield found
    await found.aclose()


def run_python(script: str, *args: str, timeout: float = 20) -> str:
    """What a script printed in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", script, *args],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()


# --------------------------------------------------------------------- the connection


def in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)


def test_aiosqlite_is_still_built_as_the_connection_needs_it() -> None:
    plain = aiosqlite.Connection(in_memory, 64)
    assert isinstance(plain._thread, Thread)
    assert plain._thread.ident is None, (
        "the thread must not start before it is replaced"
    )
    assert callable(plain._tx.put_nowait)
    assert plain._connection is None
    assert plain._running is True
    loop = getsource(aiosqlite.core._connection_worker_thread)
    assert "future, function = tx.get()" in loop, "what lies in the queue has changed"
    assert "_STOP_RUNNING_SENTINEL" in loop
    opening = getsource(aiosqlite.Connection._connect)
    assert "put_nowait((future, self._connector))" in opening


async def test_a_function_runs_whole_on_the_connections_daemon_thread() -> None:
    connection = ShardConnection(in_memory, nullcontext)
    await connection
    name, daemon, answer = await connection.run(
        lambda conn: (
            threading.current_thread().name,
            threading.current_thread().daemon,
            conn.execute("SELECT 6 * 7").fetchone()[0],
        )
    )
    assert (name, daemon, answer, connection.hops) == ("hmem-shard", True, 42, 1)
    await connection.close()
    await connection.close()
    connection._thread.join(2)
    assert not connection._thread.is_alive()


async def test_the_lock_is_held_while_a_connection_closes() -> None:
    held: list[str] = []

    class Guard:
        def __enter__(self) -> None:
            held.append("in")

        def __exit__(self, *_: object) -> None:
            with pytest.raises(sqlite3.ProgrammingError):
                raw[0].execute("SELECT 1")
            held.append("out")

    raw = []
    connection = ShardConnection(lambda: raw.append(in_memory()) or raw[0], Guard)
    await connection
    await connection.close()
    assert held == ["in", "out"]


async def test_a_lock_that_cannot_be_had_keeps_no_thread_alive() -> None:
    def broken() -> Any:
        raise OSError("no folder")

    connection = ShardConnection(in_memory, broken)
    await connection
    await connection.close()
    connection._thread.join(2)
    assert not connection._thread.is_alive()


def test_a_thread_whose_loop_is_closed_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    complaints: list[object] = []
    monkeypatch.setattr(threading, "excepthook", complaints.append)
    started, go = threading.Event(), threading.Event()

    async def leave() -> ShardConnection:
        connection = ShardConnection(in_memory, nullcontext)
        await connection
        connection.run(lambda _: (started.set(), go.wait(5)))
        return connection

    connection = asyncio.run(leave())
    assert started.wait(5)
    go.set()
    time.sleep(0.05)
    thread = connection._thread
    assert thread.is_alive()
    del connection
    gc.collect()
    thread.join(2)
    assert (thread.is_alive(), complaints) == (False, [])
    assert STOP is not None


# ------------------------------------------------------------------------------- hops


async def test_every_operation_is_one_hop(store: EmbeddedStore) -> None:
    done = await store.accept("ana", accept(turn("a"), item("b")))
    await store.delta("ana")
    view = await kept(store, "ana")
    (claim,) = await store.claim(worker="w", lease=60, limit=1)
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: store.accept("ana", quiet(turn("c"))),
        lambda: store.delta("ana", view.mark),
        lambda: store.rows("ana", [*done.turns, *done.added]),
        lambda: store.page("ana", "turn", after=0, limit=10),
        lambda: store.chain("ana", done.added[0]),
        lambda: store.notes("ana", done.added[0]),
        lambda: store.profile("ana"),
        lambda: store.hurry("ana"),
        lambda: store.job("ana", done.job_id),
        lambda: store.jobs(statuses=("dead",), limit=9),
        lambda: store.retry("ana", done.job_id),
        lambda: store.queued("ana"),
        lambda: store.renew(claim, 60),
        lambda: store.apply("ana", plan(add("d"), claim=claim, end=DONE)),
    ]
    for at, call in enumerate(calls):
        before = store.hops
        await call()
        assert store.hops - before == 1, f"call {at}"


async def test_a_user_never_seen_costs_neither_a_hop_nor_a_file(tmp_path: Path) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=4))
    await store.open()
    assert await store.delta("nobody") is None
    assert await store.page("nobody", "memory", after=0, limit=5) == []
    assert await store.rows("nobody", ["x"]) == [None]
    assert await store.queued("nobody") == 0
    assert await store.notes("nobody", "x") == []
    assert await store.profile("nobody") is None
    assert await store.hurry("nobody") is False
    assert await store.retry("nobody", "x") is False
    assert await store.jobs(statuses=("dead",), limit=9) == []
    assert (await store.erase("nobody", "x")).total == 0
    assert (await store.erase_user("nobody")).total == 0
    assert store.hops == 0
    assert [name for name in os.listdir(tmp_path) if ".db" in name] == []
    await store.aclose()


# ---------------------------------------------------------------------- group commits


async def test_a_hundred_accepts_at_once_share_their_commits(
    store: EmbeddedStore,
) -> None:
    await store.accept("first", quiet(turn("opens the file")))
    before = store.commits
    done = await asyncio.gather(
        *(store.accept(f"u{n}", accept(turn(f"t{n}"))) for n in range(100))
    )
    assert store.commits - before <= 2
    assert len({d.job_id for d in done}) == 100
    assert await store.queued() == 100


async def test_adders_in_a_loop_share_at_least_fifty_to_a_commit(
    store: EmbeddedStore,
) -> None:
    async def adder(n: int) -> None:
        for at in range(4):
            await store.accept(f"u{n}", quiet(turn(f"{at}")))

    before = store.commits
    await asyncio.gather(*(adder(n) for n in range(100)))
    assert 400 / (store.commits - before) >= 50


async def test_a_function_that_fails_takes_no_other_with_it(
    store: EmbeddedStore,
) -> None:
    def fails_late(conn: sqlite3.Connection) -> None:
        conn.execute("DELETE FROM users")
        conn.execute("INSERT INTO nothing VALUES(1)")

    await store.accept("ana", quiet(turn("before")))
    results = await asyncio.gather(
        store.accept("ana", quiet(turn("one"))),
        store._handle.write(0, fails_late),
        store.accept("ana", quiet(turn("two"))),
        return_exceptions=True,
    )
    assert [isinstance(r, BaseException) for r in results] == [False, True, False]
    texts = [r.text for r in (await kept(store, "ana")).turns.values()]
    assert texts == ["before", "one", "two"]


async def test_a_cancelled_wait_keeps_the_write_and_the_key_finds_it(
    store: EmbeddedStore,
) -> None:
    await store.accept("ana", quiet(turn("before")))
    given = accept(turn("a"), key="k", body_hash=b"1")
    waits = asyncio.create_task(store.accept("ana", given))
    await asyncio.sleep(0)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    again = await store.accept("ana", given)
    assert not again.created
    assert len((await kept(store, "ana")).turns) == 2


async def test_a_cancelled_wait_still_calls_a_worker(store: EmbeddedStore) -> None:
    await store.accept("ana", quiet(turn("before")))
    while await store.wait_for_work(0.0):
        await store.claim(worker="w", lease=60, limit=1)
    waits = asyncio.create_task(store.accept("ana", accept(turn("a"))))
    await asyncio.sleep(0)
    waits.cancel()
    assert await store.wait_for_work(3) is True
    assert len(await store.claim(worker="w", lease=60, limit=1)) == 1


async def test_a_cancelled_claim_is_given_back(store: EmbeddedStore) -> None:
    done = await store.accept("ana", accept(turn("a")))
    waits = asyncio.create_task(store.claim(worker="w", lease=60, limit=1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    for _ in range(100):
        if claims := await store.claim(worker="v", lease=60, limit=1):
            break
        await asyncio.sleep(0.01)
    else:
        pytest.fail("the lease of the cancelled claim was kept")
    assert (claims[0].jobs[0].id, claims[0].jobs[0].attempts) == (done.job_id, 1)


# ---------------------------------------------------------------------- others' locks


async def test_reads_go_on_and_writes_wait_while_another_holds_the_lock(
    tmp_path: Path,
) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1, busy_timeout=0.2))
    await store.open()
    await store.accept("ana", quiet(turn("a")))
    with sqlite3.connect(tmp_path / SHARD, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        fresh = EmbeddedStore(Config(path=tmp_path, shards=1, busy_timeout=5))
        await fresh.open()
        began = time.monotonic()
        assert len((await kept(store, "ana")).turns) == 1
        assert len((await kept(fresh, "ana")).turns) == 1, "nor does opening write"
        assert time.monotonic() - began < 4
        with pytest.raises(StoreBusyError) as caught:
            await store.accept("ana", quiet(turn("b")))
        assert caught.value.retryable
        waits = asyncio.create_task(fresh.accept("ana", quiet(turn("c"))))
        await asyncio.sleep(0.1)
        assert not waits.done()
        other.execute("COMMIT")
        await waits
    other.close()
    texts = [r.text for r in (await kept(store, "ana")).turns.values()]
    assert texts == ["a", "c"]
    await store.aclose()
    await fresh.aclose()


async def test_a_shard_that_is_locked_does_not_stop_the_others(tmp_path: Path) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=4, busy_timeout=5))
    await store.open()
    users = {bucket(f"u{n}", 4): f"u{n}" for n in range(40)}
    for user in users.values():
        await store.accept(user, quiet(turn("a")))
    held = [
        sqlite3.connect(store._handle.folder.shard_path(n), isolation_level=None)
        for n in (0, 1, 2)
    ]
    for other in held:
        other.execute("BEGIN IMMEDIATE")
    waits = [
        asyncio.create_task(store.accept(users[n], quiet(turn("b")))) for n in range(3)
    ]
    began = time.monotonic()
    for _ in range(5):
        await store.accept(users[3], quiet(turn("c")))
        await store.delta(users[0])
    assert time.monotonic() - began < 2
    for other in held:
        other.execute("COMMIT")
        other.close()
    await asyncio.gather(*waits)
    await store.aclose()


# ------------------------------------------------------------------------------- life

FORGOTTEN = """
import asyncio, sys
from hmem.config import Config
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store.making import accept, turn
store = EmbeddedStore(Config(path=sys.argv[1], shards=2))
async def main():
    await store.open()
    for n in range(20):
        await store.accept(f"u{n}", accept(turn("a")))
    await store.delta("u1")
asyncio.run(main())
print("done")
"""


async def test_an_interpreter_ends_though_nobody_closed(tmp_path: Path) -> None:
    began = time.monotonic()
    assert await asyncio.to_thread(run_python, FORGOTTEN, str(tmp_path)) == "done"
    assert time.monotonic() - began < 10
    store = EmbeddedStore(Config(path=tmp_path, shards=2))
    await store.open()
    assert await store.queued() == 20
    await store.aclose()


def test_a_store_that_is_dropped_frees_its_threads(tmp_path: Path) -> None:
    async def use() -> None:
        store = EmbeddedStore(Config(path=tmp_path, shards=1))
        await store.open()
        await store.accept("ana", quiet(turn("a")))
        await store.delta("ana")

    asyncio.run(use())
    gc.collect()
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        if not any(t.name == "hmem-shard" for t in threading.enumerate()):
            return
        time.sleep(0.01)
    pytest.fail("threads of a dropped store live on")


FORKED = """
import asyncio, os, sys
from hmem.config import Config
from hmem.errors import ForkedError
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store.making import quiet, turn
async def main():
    store = EmbeddedStore(Config(path=sys.argv[1], shards=1))
    await store.open()
    await store.accept("ana", quiet(turn("a")))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            await store.delta("ana")
        except ForkedError:
            await store.aclose()
            code = 7
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    await store.accept("ana", quiet(turn("b")))
    await store.aclose()
asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
async def test_a_forked_child_is_refused_and_the_parent_goes_on(tmp_path: Path) -> None:
    assert issubclass(ForkedError, RuntimeError)
    assert await asyncio.to_thread(run_python, FORKED, str(tmp_path)) == "7"
    with sqlite3.connect(tmp_path / SHARD) as conn:
        assert conn.execute("SELECT count(*) FROM episodes").fetchone() == (2,)
        assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    conn.close()


def test_another_event_loop_is_refused(tmp_path: Path) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1))
    first = asyncio.Runner()
    first.run(store.open())
    with asyncio.Runner() as second, pytest.raises(WrongLoopError):
        second.run(store.delta("ana"))
    with asyncio.Runner() as second, pytest.raises(WrongLoopError):
        second.run(store.aclose())
    first.run(store.accept("ana", quiet(turn("a"))))
    first.run(store.aclose())
    first.close()


async def test_a_closed_store_can_be_opened_again(store: EmbeddedStore) -> None:
    await store.accept("ana", quiet(turn("a")))
    await store.aclose()
    await store.open()
    assert len((await kept(store, "ana")).turns) == 1


async def test_waiting_for_work_ends_when_the_store_closes(tmp_path: Path) -> None:
    store = EmbeddedStore(Config(path=tmp_path, shards=1))
    await store.open()
    waits = asyncio.create_task(store.wait_for_work(60))
    await asyncio.sleep(0.02)
    await store.aclose()
    assert await asyncio.wait_for(waits, 2) is False
