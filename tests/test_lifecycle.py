"""Opening, closing, cancelling, forking: what a memory does at the edges of its life."""

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path

import pytest

from hmem import (
    AsyncMemory,
    ClosedError,
    Config,
    ConfigError,
    ForkedError,
    HmemError,
    NotOpenError,
    WrongLoopError,
)
from hmem.running.opening import DRAIN
from hmem.testing.fakes import HangingEmbedder, HashEmbedder
from hmem.testing.yard import eventually


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=1, embed="none", durability="normal")


def verbs(mem: AsyncMemory) -> dict[str, Callable[[], Awaitable[object]]]:
    u = {"user_id": "u"}
    return {
        "add": lambda: mem.add("hi", **u),
        "search": lambda: mem.search("hi", **u),
        "context": lambda: mem.context("hi", **u),
        "get": lambda: mem.get("x", **u),
        "get_all": lambda: mem.get_all(**u),
        "update": lambda: mem.update("x", text="y", **u),
        "delete": lambda: mem.delete("x", **u),
        "history": lambda: mem.history("x", **u),
        "receipt": lambda: mem.receipt("x", **u),
        "flush": lambda: mem.flush(),
        "delete_user": lambda: mem.delete_user("u"),
        "stats": lambda: mem.admin.stats(),
        "health": lambda: mem.admin.health(),
    }


# ---------------------------------------------------------------- opening, closing


async def test_the_constructor_does_no_io(config: Config) -> None:
    mem = AsyncMemory(config)
    for verb in verbs(mem).values():
        with pytest.raises(NotOpenError, match="async with"):
            await verb()
    assert not config.folder.exists()
    await mem.aclose()
    assert not config.folder.exists()
    with pytest.raises(ClosedError):
        await mem.open()


def test_without_a_config_the_environment_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HMEM_PATH", "/somewhere")
    assert AsyncMemory().config.path == "/somewhere"
    monkeypatch.setenv("HMEM_SHARDS", "many")
    with pytest.raises(ConfigError, match="HMEM_SHARDS"):
        AsyncMemory()


async def test_opening_is_idempotent_and_safe_at_once(config: Config) -> None:
    mem = AsyncMemory(config, embedder=HashEmbedder())
    opened = await asyncio.gather(*(mem.open() for _ in range(5)))
    assert all(one is mem for one in opened)
    assert await mem.open() is mem
    workers = [t for t in asyncio.all_tasks() if t.get_name() == "hmem-worker"]
    assert len(workers) == 1
    await mem.aclose()


async def test_closing_is_idempotent_and_later_calls_raise(config: Config) -> None:
    mem = await AsyncMemory(config, embedder=HashEmbedder()).open()
    await mem.add("hi", user_id="u")
    await asyncio.gather(mem.aclose(), mem.aclose())
    await mem.aclose()
    for verb in verbs(mem).values():
        with pytest.raises(ClosedError):
            await verb()
    scoped = mem.scoped(user_id="u")
    with pytest.raises(ClosedError):
        await scoped.search("hi")


async def test_a_failed_open_leaves_nothing_and_can_be_repeated(
    config: Config, tmp_path: Path
) -> None:
    config.folder.mkdir()
    note = config.folder / "notes.txt"
    note.write_text("mine")
    mem = AsyncMemory(config, embedder=HashEmbedder())
    with pytest.raises(HmemError):
        await mem.open()
    with pytest.raises(NotOpenError):
        await mem.search("x", user_id="u")
    note.unlink()
    async with mem:
        await mem.add("hi", user_id="u")


async def test_closing_works_off_what_was_accepted(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        receipts = [await mem.add(f"hi {n}", user_id=f"u{n % 5}") for n in range(60)]
    async with AsyncMemory(
        replace(config, worker="off"), embedder=HashEmbedder()
    ) as mem:
        for n, receipt in enumerate(receipts):
            found = await mem.receipt(receipt.id, user_id=f"u{n % 5}")
            assert found.status == "done"


async def test_closing_does_not_wait_for_what_gets_nowhere(config: Config) -> None:
    mem = await AsyncMemory(config, embedder=HangingEmbedder()).open()
    await mem.add("hi", user_id="u")
    started = time.monotonic()
    await mem.aclose(timeout=0.3)
    assert 0.25 < time.monotonic() - started < 10
    mem = await AsyncMemory(
        replace(config, embed_timeout=0.05), embedder=HangingEmbedder()
    ).open()
    started = time.monotonic()
    await mem.aclose(timeout=30)
    assert time.monotonic() - started < 10
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        row = (await mem.get_all(user_id="u")).rows[0]
        assert row.text == "hi"
        await mem.flush(timeout=5)


async def test_an_exception_in_the_body_closes_at_once_and_passes(
    config: Config,
) -> None:
    async def fail() -> None:
        async with AsyncMemory(config, embedder=HangingEmbedder()) as mem:
            await mem.add("hi", user_id="u")
            raise LookupError("mine")

    started = time.monotonic()
    with pytest.raises(LookupError, match="mine"):
        await fail()
    assert time.monotonic() - started < DRAIN  # which a closing without one may take


async def test_calls_that_run_while_it_closes_finish_or_raise_closed(
    config: Config,
) -> None:
    mem = await AsyncMemory(config, embedder=HashEmbedder()).open()
    accepted: list[str] = []
    refused = 0

    async def produce(n: int) -> None:
        nonlocal refused
        for turn in range(1_000):
            try:
                await mem.add(f"p{n} t{turn}", user_id=f"u{n % 3}")
                await mem.search("hi", user_id=f"u{n % 3}", k=1)
            except ClosedError:
                refused += 1
                return
            accepted.append(f"p{n} t{turn}")

    tasks = [asyncio.create_task(produce(n)) for n in range(20)]
    async with asyncio.timeout(20):
        while not accepted:  # noqa: ASYNC110  # a busy machine takes its time
            await asyncio.sleep(0.01)
    await mem.aclose()
    await asyncio.wait_for(asyncio.gather(*tasks), 20)
    assert refused == 20
    assert accepted
    async with AsyncMemory(config, embedder=HashEmbedder()) as again:
        kept = {
            row.text
            for user in ("u0", "u1", "u2")
            for row in await again.get_all(user_id=user, limit=1_000)
        }
    assert kept >= set(accepted)


async def test_cancelling_the_close_does_not_stop_it(config: Config) -> None:
    mem = await AsyncMemory(config, embedder=HangingEmbedder()).open()
    await mem.add("hi", user_id="u")
    closing = asyncio.create_task(mem.aclose(timeout=0.2))
    await asyncio.sleep(0.02)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await mem.aclose()
    assert not [t for t in asyncio.all_tasks() if t.get_name() == "hmem-worker"]


async def test_an_embedder_that_was_handed_in_stays_open(config: Config) -> None:
    embedder = HashEmbedder()
    async with AsyncMemory(config, embedder=embedder):
        pass
    assert not embedder.closed


async def test_nothing_is_left_running(config: Config) -> None:
    before = set(asyncio.all_tasks())
    threads = ours()
    for _ in range(5):
        async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
            await mem.add("hi", user_id="u")
            await mem.search("hi", user_id="u")
    assert set(asyncio.all_tasks()) == before
    await eventually(lambda: ours() <= threads)  # a thread ends after its last answer


def ours() -> set[threading.Thread]:
    """The threads but those of the loop's pool and of anyio's: as many as were busy."""
    pools = ("asyncio_", "AnyIO worker thread")
    return {t for t in threading.enumerate() if not t.name.startswith(pools)}


# ----------------------------------------------------------------- loops and forks


def test_a_second_loop_is_refused_by_name(config: Config) -> None:
    mem = AsyncMemory(config, embedder=HashEmbedder())
    first = asyncio.new_event_loop()
    try:
        first.run_until_complete(mem.open())
        for verb in verbs(mem).values():
            with pytest.raises(WrongLoopError, match="one AsyncMemory per loop"):
                asyncio.run(_awaited(verb))
        with pytest.raises(WrongLoopError):
            asyncio.run(mem.aclose())
        first.run_until_complete(mem.add("hi", user_id="u"))
        first.run_until_complete(mem.aclose())
    finally:
        first.close()


async def _awaited(verb: Callable[[], Awaitable[object]]) -> object:
    return await verb()


def test_two_loops_in_two_threads_have_a_memory_each(config: Config) -> None:
    found: list[int] = []

    async def work(n: int) -> None:
        async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
            for turn in range(10):
                await mem.add(f"hi {turn}", user_id=f"u{n}", wait=True)
            found.append(len(await mem.get_all(user_id=f"u{n}")))

    threads = [threading.Thread(target=asyncio.run, args=(work(n),)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [10, 10, 10]


def test_without_asyncio_opening_says_so(config: Config) -> None:
    opening = AsyncMemory(config).open()
    with pytest.raises(WrongLoopError, match="trio"):
        opening.send(None)  # what another library's loop would do


async def test_a_forked_child_is_told_to_open_its_own(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("hi", user_id="u", wait=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of threads
            child = os.fork()
        if child == 0:
            os._exit(_in_the_child(mem))
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        await mem.add("still here", user_id="u", wait=True)
        assert len(await mem.get_all(user_id="u")) == 2


def _in_the_child(mem: AsyncMemory) -> int:
    for verb in verbs(mem).values():
        try:
            coroutine = verb()
            assert isinstance(coroutine, Coroutine)
            coroutine.send(None)
        except ForkedError:
            continue
        except BaseException:  # noqa: BLE001
            return 2
        return 3
    return 0
