"""The models down for ten minutes: nothing is lost, it is told once, nobody waits for ever.
Real endpoints; the clock is the test's."""

import asyncio
import logging
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from hmem import AsyncMemory, DeadlineError, Receipt
from hmem.embed.remote import RemoteEmbedder
from hmem.testing.chat_endpoint import Body, ChatEndpoint
from hmem.testing.endpoint import EmbeddingsEndpoint
from hmem.testing.yard import eventually
from tests.forms import forms
from tests.outage_yard import (
    CountedLLM,
    Place,
    broken,
    busy,
    endpoint,
    place,
    quick,
    running,
)

__all__ = ["endpoint", "place", "quick", "running"]

FAULTS = ["refused", "503", "429, seconds", "429, date", "drips", "hangs"]


class Outage:
    """Minutes of one, with users who add meanwhile. `receipts` are theirs."""

    def __init__(self, place: Place, mem: AsyncMemory, llm: CountedLLM) -> None:
        self.place, self.mem, self.llm = place, mem, llm
        self.receipts: dict[str, Receipt] = {}
        self.took: list[float] = []

    async def add(self, user: str) -> None:
        began = time.perf_counter()
        self.receipts[user] = await self.mem.add(f"I keep bees, {user}", user_id=user)
        self.took.append(time.perf_counter() - began)

    async def lasts(self, minutes: int) -> None:
        for minute in range(minutes):
            await self.add(f"a{minute}")
            await self.add(f"b{minute}")
            if not minute:
                await eventually(lambda: self.place.count("outage_started") == 1)
            await self.place.passes(60, llm=self.llm)
            found = await self.mem.search("who keeps bees?", user_id=f"b{minute}")
            assert (len(found), found.pending, found.degraded) == (1, 1, ())
        for user, receipt in self.receipts.items():
            await self.place.waits(self.mem, user, receipt.id)

    async def ends(self) -> None:
        done = self.place.count("job_done") + len(self.receipts)
        await self.place.passes(
            3_600, llm=self.llm, over=lambda: self.place.count("job_done") == done
        )
        for user, receipt in self.receipts.items():
            result = await receipt.result(timeout=10)
            assert (result.status, len(result.added)) == ("done", 1)
            job = await self.place.job(self.mem, user, receipt.id)
            assert job.attempts == 1


@forms("minutes", short=4, long=10)
@pytest.mark.parametrize("fault", FAULTS)
async def test_minutes_without_the_model_lose_nothing_and_are_told_once(
    fault: str,
    minutes: int,
    endpoint: ChatEndpoint,
    place: Place,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door = await place.door(endpoint)
    llm = CountedLLM("any", base_url=door.url, timeout=0.4)
    mem = await place.memory(llm)
    await mem.add("I keep bees", user_id="first", wait=True, timeout=10)
    endpoint.bodies.clear()
    asked = llm.asked
    if fault == "refused":
        await door.shut()
    endpoint.answer = broken(endpoint, fault)

    outage = Outage(place, mem, llm)
    await outage.lasts(minutes)
    # What waited for the model would wait each time; a busy machine delays some.
    assert statistics.median(outage.took) < 0.4
    assert max(outage.took) < 10.0
    assert not (await mem.admin.health())["ok"]
    assert place.count("outage_ended") == 0
    assert llm.asked - asked <= place.config.users_in_parallel
    assert llm.probed <= 14 + minutes
    assert len(endpoint.bodies) <= 3 * (llm.asked - asked) + llm.probed

    monkeypatch.setattr("hmem.chat.remote._PROBE", 10.0)
    endpoint.answer = endpoint.well
    if fault == "refused":
        await door.open()
    await outage.ends()
    assert (await mem.admin.health())["ok"]
    assert place.count("outage_started") == place.count("outage_ended") == 1
    assert place.count("job_dead") == place.count("job_partial") == 0
    lines = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert [r.getMessage()[:22] for r in lines] == [
        "the chat model is down",
        "the chat model is back",
    ]


@pytest.mark.parametrize("words", ["I am a teapot.", None])
async def test_an_outage_ends_with_an_answer_that_cannot_be_used(
    words: str | None, endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = busy(503)
    llm = CountedLLM("any", base_url=endpoint.url)
    mem = await place.memory(llm)
    receipt = await mem.add("I keep bees", user_id="u")
    await eventually(lambda: place.count("outage_started") == 1)
    finish = "stop" if words else "length"
    endpoint.answer = lambda _: endpoint.reply(words, finish=finish)
    await place.passes(600, llm=llm, over=lambda: place.count("job_dead") == 1)
    assert (await receipt.result(timeout=10)).status == "dead"
    assert place.count("outage_started") == place.count("outage_ended") == 1
    assert (await mem.admin.health())["ok"]


async def test_an_endpoint_that_asks_to_be_left_alone_is(
    endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = busy(429, lambda: "120")
    llm = CountedLLM("any", base_url=endpoint.url)
    mem = await place.memory(llm)
    await mem.add("I keep bees", user_id="u")
    await eventually(lambda: place.count("outage_started") == 1)
    await place.passes(118, llm=llm, step=2)
    assert (len(endpoint.bodies), llm.probed) == (1, 0)
    place.clock.advance(22)
    await eventually(lambda: llm.probed == 1)
    await place.passes(300, llm=llm, step=5)
    assert llm.probed <= 1 + 300 / 60  # not more often than every minute afterwards


# ----------------------------------------------------------- the embedder, and both


@pytest.fixture(scope="module")
def serving() -> Iterator[EmbeddingsEndpoint]:
    with EmbeddingsEndpoint() as vectors:
        yield vectors


@pytest.fixture
def vectors(serving: EmbeddingsEndpoint) -> EmbeddingsEndpoint:
    serving.reset()
    return serving


@pytest.fixture
async def embedder(vectors: EmbeddingsEndpoint) -> AsyncIterator[RemoteEmbedder]:
    made = RemoteEmbedder("any", base_url=vectors.url, timeout=1.0)
    yield made
    await made.aclose()


@pytest.mark.parametrize("both", [0, 1], ids=["embedder", "both"])
async def test_without_the_embedder_jobs_wait_and_then_end(
    both: int,
    endpoint: ChatEndpoint,
    vectors: EmbeddingsEndpoint,
    embedder: RemoteEmbedder,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hmem.worker._BASE", 0.01)
    monkeypatch.setattr("hmem.worker._CAP", 0.05)
    llm = CountedLLM("any", base_url=endpoint.url, timeout=1.0)
    mem = await place.memory(llm, embedder=embedder)
    await mem.add("I keep bees", user_id="u0", wait=True)
    endpoint.bodies.clear()
    vectors.answer = lambda _: PlainTextResponse("down", 503)
    if both:
        endpoint.answer = busy(503)
    receipts = {}
    for n in range(1, 7):
        user = f"u{n}"
        receipts[user] = await mem.add(f"I keep bees, {user}", user_id=user)
    await eventually(lambda: place.count("outage_started") == 1)
    await asyncio.sleep(0.3)
    found = await mem.search("who keeps bees?", user_id="u3")
    assert (len(found), found.pending) == (1, 1)
    assert found.degraded
    assert endpoint.bodies == []  # what has no vectors is not read yet
    for user, receipt in receipts.items():
        await place.waits(mem, user, receipt.id)
    vectors.answer = vectors.well
    if both:
        await eventually(lambda: place.count("outage_started") == 2)
        await place.passes(120, llm=llm)
        endpoint.answer = endpoint.well
    done = 1 + len(receipts)
    await place.passes(3_600, llm=llm, over=lambda: place.count("job_done") == done)
    for user, receipt in receipts.items():
        assert (await receipt.result(timeout=10)).status == "done"
        assert (await place.job(mem, user, receipt.id)).attempts == 1
    assert place.count("outage_started") == place.count("outage_ended") == 1 + both


async def test_an_embedder_that_goes_down_after_the_reply_costs_no_second_question(
    endpoint: ChatEndpoint,
    vectors: EmbeddingsEndpoint,
    embedder: RemoteEmbedder,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hmem.worker._BASE", 0.01)

    def answer(body: Body) -> Any:
        vectors.answer = lambda _: PlainTextResponse("down", 503)
        return endpoint.well(body)

    endpoint.answer = answer
    llm = CountedLLM("any", base_url=endpoint.url)
    mem = await place.memory(llm, embedder=embedder)
    receipt = await mem.add("I keep bees", user_id="u")
    await eventually(lambda: place.count("outage_started") == 1)
    await place.waits(mem, "u", receipt.id)
    vectors.answer = vectors.well
    result = await receipt.result(timeout=10)
    assert (result.status, len(result.added)) == ("done", 1)
    assert result.usage.llm_calls == len(endpoint.bodies) == 1


# -------------------------------------------------------------------- nobody waits long


@pytest.mark.parametrize("fault", ["503", "hangs", "drips"])
async def test_flush_wait_and_close_end_in_their_time_while_the_model_is_down(
    fault: str, endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = broken(endpoint, fault)
    llm = CountedLLM("any", base_url=endpoint.url, timeout=60.0)
    mem = await place.memory(llm)
    receipt = await mem.add("I keep bees", user_id="u")
    began = time.perf_counter()
    with pytest.raises(DeadlineError):
        await receipt.result(timeout=0.2)
    with pytest.raises(DeadlineError):
        await mem.flush(timeout=0.2)
    with pytest.raises(DeadlineError):
        await mem.add("and goats", user_id="u", wait=True, timeout=0.2)
    if fault != "503":
        assert llm.busy == 1
    await mem.aclose(timeout=0.5)
    assert time.perf_counter() - began < 5
    assert llm.busy == 0
    endpoint.answer = endpoint.well
    other = CountedLLM("any", base_url=endpoint.url)
    again = await place.memory(other)
    late = await again.receipt(receipt.id, user_id="u")
    await place.passes(3_600, llm=other, over=lambda: place.count("job_done") == 2)
    assert (await late.result(timeout=10)).status == "done"
    assert (await place.job(again, "u", receipt.id)).attempts == 1


async def test_a_cancelled_wait_keeps_the_job_and_a_closed_memory_ends_its_request(
    endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = endpoint.hang
    llm = CountedLLM("any", base_url=endpoint.url, timeout=60.0)
    mem = await place.memory(llm)
    receipt = await mem.add("I keep bees", user_id="u")
    waiting = asyncio.ensure_future(receipt)
    await eventually(lambda: len(endpoint.bodies) == 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.sleep(0.05)
    assert (llm.busy, endpoint.gone) == (1, 0)  # it goes on all the same
    await mem.aclose(timeout=0)
    await eventually(lambda: endpoint.gone == 1)
    endpoint.answer = endpoint.well
    again = await place.memory(CountedLLM("any", base_url=endpoint.url))
    result = await (await again.receipt(receipt.id, user_id="u")).result(timeout=10)
    assert (result.status, len(result.added)) == ("done", 1)


async def test_turns_of_a_user_who_waits_behind_hanging_calls_get_their_vectors(
    endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = endpoint.hang
    llm = CountedLLM("any", base_url=endpoint.url, timeout=60.0)
    mem = await place.memory(llm, users_in_parallel=2)
    for n in range(2):
        await mem.add("I keep bees", user_id=f"u{n}")
    await eventually(lambda: llm.busy == 2)
    await mem.add("I keep goats", user_id="last")
    found = await mem.search("who keeps goats?", user_id="last")
    assert (len(found), found.pending) == (1, 1)
    async with asyncio.timeout(5):
        while found.degraded:
            await asyncio.sleep(0.05)
            found = await mem.search("who keeps goats?", user_id="last")
    assert found.pending == 1
