import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hmem import (
    AsyncMemory,
    ClosedError,
    Config,
    DeadlineError,
    IdempotencyError,
    InputError,
    InputTypeError,
    Receipt,
)
from hmem.testing.fakes import FailingEmbedder, HangingEmbedder, HashEmbedder


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


async def memory(
    stack: AsyncExitStack,
    path: Path,
    embedder: HashEmbedder | None = None,
    **more: object,
) -> AsyncMemory:
    config = Config(path=path / "m", shards=1, embed="none", **more)  # type: ignore[arg-type]
    mem = AsyncMemory(config, embedder=embedder)
    stack.push_async_callback(mem.aclose, timeout=0)
    return await mem.open()


async def test_a_receipt_tells_how_its_job_ended(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    mem = await memory(stack, tmp_path, HashEmbedder())
    receipt = await mem.add(["I keep bees", "and hens"], user_id="u")
    assert isinstance(receipt, Receipt)
    assert isinstance(receipt.id, str)
    assert receipt.id
    result = await receipt
    assert (result.status, receipt.status, receipt.done) == ("done", "done", True)
    assert len(result.turns) == 2
    assert result.usage.embedded_texts == 2
    assert await receipt == result
    assert await receipt.result(timeout=0.1) == result


async def test_without_an_embedder_the_receipt_is_done_at_once(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    mem = await memory(stack, tmp_path)
    receipt = await mem.add("I keep bees", user_id="u")
    assert receipt.status == "done"
    result = await receipt
    assert len(result.turns) == 1
    assert await mem.admin.queued() == 0


@pytest.mark.parametrize("said", [[], "", [{"role": "system", "content": "be kind"}]])
async def test_a_call_with_nothing_in_it_leaves_no_trace(
    stack: AsyncExitStack, tmp_path: Path, said: object
) -> None:
    mem = await memory(stack, tmp_path, HashEmbedder())
    receipt = await mem.add(said, user_id="u", wait=True)
    result = await receipt
    assert (receipt.id, receipt.status, result.turns) == ("", "done", ())
    assert len(result.skipped) == len(said) if isinstance(said, list) else 1
    stats = await mem.admin.stats()
    assert (stats["users"], stats["turns"]) == (0, 0)
    with pytest.raises(InputError):
        await mem.receipt("", user_id="u")


async def test_skipped_messages_are_told_with_the_receipt(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    mem = await memory(stack, tmp_path, HashEmbedder())
    said = [{"role": "system", "content": "be kind"}, "I keep bees", " "]
    result = await (await mem.add(said, user_id="u"))
    assert [s.reason for s in result.skipped] == ["system message", "no text"]


async def test_a_cancelled_wait_keeps_the_job(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    embedder = HangingEmbedder()
    mem = await memory(stack, tmp_path, embedder)
    receipt = await mem.add("I keep bees", user_id="u")
    waits = [asyncio.create_task(receipt.result()) for _ in range(3)]
    await asyncio.sleep(0.05)
    waits[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits[0]
    embedder.release()
    for wait in waits[1:]:
        assert (await wait).status == "done"


async def test_a_timeout_is_a_deadline_error_and_the_job_goes_on(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    embedder = HangingEmbedder()
    mem = await memory(stack, tmp_path, embedder)
    receipt = await mem.add("I keep bees", user_id="u")
    with pytest.raises(DeadlineError) as e:
        await receipt.result(timeout=0.05)
    assert e.value.retryable
    with pytest.raises(DeadlineError):
        await mem.add("I keep hens", user_id="u", wait=True, timeout=0.05)
    with pytest.raises(DeadlineError):
        await mem.flush(timeout=0.05)
    embedder.release()
    await mem.flush(timeout=5)
    assert (await receipt).status == "done"
    assert len(await mem.get_all(user_id="u")) == 2


@pytest.mark.parametrize("timeout", [-1, True, "1", float("nan"), [1]])
async def test_a_timeout_that_is_none_is_refused(
    stack: AsyncExitStack, tmp_path: Path, timeout: object
) -> None:
    mem = await memory(stack, tmp_path)
    with pytest.raises(InputError, match="timeout"):
        await mem.flush(timeout=timeout)  # type: ignore[arg-type]


async def test_no_wait_is_left_behind(stack: AsyncExitStack, tmp_path: Path) -> None:
    embedder = HangingEmbedder()
    mem = await memory(stack, tmp_path, embedder)
    receipt = await mem.add("I keep bees", user_id="u")
    for _ in range(5):
        with pytest.raises(DeadlineError):
            await receipt.result(timeout=0.01)
    embedder.release()
    await receipt
    bell = mem._rooms.bell
    assert (bell._waiting, bell.expected) == ({}, {})


async def test_a_job_ended_elsewhere_is_seen(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    web = await memory(stack, tmp_path, HashEmbedder(), worker="off")
    receipt = await web.add("I keep bees", user_id="u")
    assert receipt.status == "queued"
    wait = asyncio.create_task(receipt.result(timeout=10))
    await memory(stack, tmp_path, HashEmbedder())  # it works on what it finds
    assert (await wait).status == "done"
    await web.flush(timeout=5)


async def test_a_receipt_is_good_after_a_restart_and_in_another_place(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    async with AsyncMemory(
        Config(path=tmp_path / "m", shards=1, worker="off"), embedder=HashEmbedder()
    ) as first:
        receipt = await first.add("I keep bees", user_id="u")
    again = await memory(stack, tmp_path, HashEmbedder(), worker="off")
    found = await again.receipt(receipt.id, user_id="u")
    assert (found.id, found.status) == (receipt.id, "queued")
    await memory(stack, tmp_path, HashEmbedder())
    result = await found.result(timeout=10)
    assert result.status == "done"
    assert len(result.turns) == 1


async def test_unknown_receipts_raise_one_and_the_same_error(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    mem = await memory(stack, tmp_path)
    with pytest.raises(InputError, match="no such receipt"):
        await mem.receipt("nonsense", user_id="u")
    with pytest.raises(InputTypeError):
        await mem.receipt(7, user_id="u")  # type: ignore[arg-type]


async def test_a_receipt_of_an_erased_user_is_unknown(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    embedder = HangingEmbedder()
    mem = await memory(stack, tmp_path, embedder)
    receipt = await mem.add("I keep bees", user_id="u")
    wait = asyncio.create_task(receipt.result(timeout=10))
    await asyncio.sleep(0.02)
    await mem.delete_user("u")
    with pytest.raises(InputError, match="no such receipt"):
        await wait
    await mem.flush(timeout=5)
    embedder.release()


async def test_closing_ends_all_waits(stack: AsyncExitStack, tmp_path: Path) -> None:
    mem = await memory(stack, tmp_path, HangingEmbedder())
    receipt = await mem.add("I keep bees", user_id="u")
    waits = [asyncio.create_task(receipt.result()), asyncio.create_task(mem.flush())]
    await asyncio.sleep(0.02)
    closing = asyncio.create_task(mem.aclose(timeout=1))
    for wait in waits:
        with pytest.raises(ClosedError):
            await asyncio.wait_for(wait, 1)
    assert not closing.done()
    await closing


async def test_one_key_is_one_job(stack: AsyncExitStack, tmp_path: Path) -> None:
    mem = await memory(stack, tmp_path, HashEmbedder())
    first = await mem.add("I keep bees", user_id="u", idempotency_key="k1", wait=True)
    again = await mem.add("I keep bees", user_id="u", idempotency_key="k1")
    assert again.id == first.id
    assert await again == await first
    assert len(await mem.get_all(user_id="u")) == 1
    with pytest.raises(IdempotencyError):
        await mem.add("I keep hens", user_id="u", idempotency_key="k1")
    other = await mem.add("I keep hens", user_id="v", idempotency_key="k1")
    assert other.id != first.id
    assert len(await mem.get_all(user_id="u")) == 1


async def test_a_key_holds_over_a_restart_and_at_the_same_time(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    mem = await memory(stack, tmp_path, HashEmbedder())
    many = await asyncio.gather(
        *(mem.add("I keep bees", user_id="u", idempotency_key="k") for _ in range(20))
    )
    assert len({receipt.id for receipt in many}) == 1
    await mem.aclose()
    again = await memory(stack, tmp_path, HashEmbedder())
    late = await again.add("I keep bees", user_id="u", idempotency_key="k")
    assert late.id == many[0].id
    assert (await late).status == "done"


@pytest.mark.parametrize("key", ["", "k" * 513, "\ud800", "a\0b", 7, b"k"])
async def test_a_key_that_cannot_be_kept_is_refused(
    stack: AsyncExitStack, tmp_path: Path, key: object
) -> None:
    mem = await memory(stack, tmp_path)
    with pytest.raises(InputError, match="idempotency_key"):
        await mem.add("x", user_id="u", idempotency_key=key)  # type: ignore[arg-type]


async def test_a_dead_job_says_what_is_still_true(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    class Picky(FailingEmbedder):
        """Refuses all but the probe's word."""

        async def embed(self, texts, *, purpose="passage"):  # type: ignore[no-untyped-def]
            self.times = 0 if texts == ["hello"] else None
            return await super().embed(texts, purpose=purpose)

    mem = await memory(stack, tmp_path, Picky(times=None, retryable=False))
    result = await (await mem.add("I keep bees", user_id="u")).result(timeout=10)
    assert result.status == "dead"
    assert result.reason is not None
    assert "stored and searchable by words" in result.reason
    assert "told to fail" in result.reason
    found = await mem.search("bees", user_id="u")
    assert [hit.text for hit in found] == ["I keep bees"]
