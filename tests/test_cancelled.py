"""Every call cancelled at every wait: nothing is half done, nothing stays locked."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from hmem import (
    AsyncMemory,
    ClosedError,
    Config,
    NotOpenError,
)
from hmem.testing.fakes import HashEmbedder

T = TypeVar("T")


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


# -------------------------------------------------------------- cancelled anywhere


class CancelledAt:
    """Runs a coroutine and cancels its task at the n-th time it waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], n: int) -> None:
        self._coroutine = coroutine
        self._n = n
        self.waits = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self._coroutine.__await__()
        try:
            waited_for = next(inner)
            while True:
                self.waits += 1
                if self.waits == self._n:
                    task = asyncio.current_task()
                    assert task is not None
                    task.cancel()
                try:
                    sent = yield waited_for
                except BaseException as e:  # noqa: BLE001
                    waited_for = inner.throw(e)
                else:
                    waited_for = inner.send(sent)
        except StopIteration as end:
            return end.value


async def _run(driver: CancelledAt) -> object:
    return await driver


async def cancelled_everywhere(
    start: Callable[[int], Coroutine[Any, Any, object]],
    check: Callable[[int], Awaitable[None]],
) -> int:
    """Cancel `start(n)` at its n-th wait, for n = 1, 2, ... until it gets through."""
    for n in range(1, 200):
        driver = CancelledAt(start(n), n)
        task = asyncio.create_task(_run(driver))
        try:
            await asyncio.wait_for(asyncio.shield(task), 5)
        except asyncio.CancelledError:
            assert task.cancelled()
        await check(n)
        if driver.waits < n:
            return n - 1
    raise AssertionError("it never got through")


async def free_within_a_second(config: Config) -> None:
    """Another store can write: no lock was left behind."""
    quiet = replace(config, worker="off")
    async with (
        asyncio.timeout(1.5),
        AsyncMemory(quiet, embedder=HashEmbedder()) as other,
    ):
        await other.add("probe", user_id="probe")


async def test_an_add_cancelled_at_any_wait_is_one_job_when_repeated(
    config: Config,
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:

        async def check(n: int) -> None:
            again = await mem.add(f"turn {n}", user_id="u", idempotency_key=f"k{n}")
            assert (await again.result(timeout=5)).status == "done"
            await free_within_a_second(config)

        waits = await cancelled_everywhere(
            lambda n: mem.add(
                f"turn {n}", user_id="u", idempotency_key=f"k{n}", wait=True
            ),
            check,
        )
        assert waits >= 2
        said = [row.text for row in await mem.get_all(user_id="u")]
        assert sorted(said) == sorted({f"turn {n}" for n in range(1, waits + 2)})


@pytest.mark.parametrize("verb", ["search", "context", "get_all", "flush", "stats"])
async def test_a_read_cancelled_at_any_wait_harms_nothing(
    config: Config, verb: str
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("hi there", user_id="u")
        run: Any = verbs(mem)[verb]

        async def check(n: int) -> None:
            assert len(await mem.search("hi there", user_id="u")) == 1

        await cancelled_everywhere(lambda n: run(), check)
        await free_within_a_second(config)


@pytest.mark.parametrize("verb", ["update", "delete", "delete_user"])
async def test_a_change_cancelled_at_any_wait_is_whole_or_not_at_all(
    config: Config, verb: str
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        ids: dict[int, str] = {}
        for n in range(1, 40):
            receipt = await mem.add([f"fact {n}"], user_id=f"u{n}", infer=False)
            ids[n] = (await receipt.result(timeout=5)).added[0]

        def start(n: int) -> Coroutine[Any, Any, object]:
            if verb == "update":
                return mem.update(ids[n], user_id=f"u{n}", text=f"new fact {n}")
            if verb == "delete":
                return mem.delete(ids[n], user_id=f"u{n}")
            return mem.delete_user(f"u{n}")

        wanted = {"update": "new fact", "delete": None, "delete_user": None}[verb]

        async def check(n: int) -> None:
            said = [row.text for row in await mem.get_all(user_id=f"u{n}")]
            assert said in ([f"fact {n}"], [f"{wanted} {n}"] if wanted else [])

        assert await cancelled_everywhere(start, check) >= 1
        await free_within_a_second(config)


async def test_opening_cancelled_at_any_wait_can_be_repeated(config: Config) -> None:
    mems: list[AsyncMemory] = []

    def start(n: int) -> Coroutine[Any, Any, object]:
        mems.append(AsyncMemory(config, embedder=HashEmbedder()))
        return mems[-1].open()

    async def check(n: int) -> None:
        await mems[-1].open()
        await mems[-1].add("hi", user_id="u")
        await mems[-1].aclose()

    await cancelled_everywhere(start, check)


async def test_closing_cancelled_at_any_wait_still_closes(config: Config) -> None:
    mem = AsyncMemory(config)

    async def start() -> None:
        nonlocal mem
        mem = await AsyncMemory(config, embedder=HashEmbedder()).open()
        await mem.add("hi", user_id="u")
        closing["from"] = True
        await mem.aclose()

    closing: dict[str, bool] = {}

    async def check(n: int) -> None:
        await mem.aclose()
        with pytest.raises((ClosedError, NotOpenError)):
            await mem.search("hi", user_id="u")
        assert not [t for t in asyncio.all_tasks() if t.get_name() == "hmem-worker"]

    await cancelled_everywhere(lambda n: start(), check)
    assert closing
