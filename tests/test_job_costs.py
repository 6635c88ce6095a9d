"""What one job may cost at most: every failure of a model's ends, with a reason, after so
many requests (see `hmem.process`). Real endpoints; the clock is the test's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from hmem import AsyncMemory, EmbedderError
from hmem.testing.chat_endpoint import Body, ChatEndpoint
from hmem.testing.loopback import Answer
from hmem.testing.yard import ScriptedEmbedder, eventually
from tests.outage_yard import CountedLLM, Place, busy, endpoint, place, quick, running

__all__ = ["endpoint", "place", "quick", "running"]


def except_trials(endpoint: ChatEndpoint, answer: Answer, word: str = "") -> Answer:
    """Answers small trial questions well, and others that hold the word by `answer`."""

    def choose(body: Body) -> Any:
        text = body["messages"][-1]["content"]
        fails = text != "ping" and word in text
        return answer(body) if fails else endpoint.well(body)

    return choose


def sent(endpoint: ChatEndpoint) -> tuple[int, int]:
    """Requests with questions, and trials."""
    trials = sum(b["messages"][-1]["content"] == "ping" for b in endpoint.bodies)
    return len(endpoint.bodies) - trials, trials


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause between the attempts at a job."""
    monkeypatch.setattr("hmem.worker._BASE", 0.001)


@pytest.mark.usefixtures("hasty")
async def test_replies_that_are_garbage_cost_twelve_requests_at_most(
    endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = lambda _: endpoint.reply("I am a teapot.")
    llm = CountedLLM("any", base_url=endpoint.url)
    mem = await place.memory(llm)
    receipt = await mem.add("I keep bees", user_id="u")
    await place.passes(600, llm=llm, over=lambda: place.count("job_dead") > 0)
    result = await receipt.result(timeout=10)
    assert result.status == "dead"
    assert "cannot be read" in (result.reason or "")
    assert sent(endpoint)[0] <= 12
    assert result.usage.llm_calls == sent(endpoint)[0]
    assert result.usage.prompt_tokens == 100 * sent(endpoint)[0]


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(("status", "hours", "most"), [(500, 1, 75), (503, 8, 225)])
async def test_a_model_that_fails_on_some_turns_forever_costs_so_many_requests(
    status: int, hours: int, most: int, endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = except_trials(endpoint, busy(status))
    llm = CountedLLM("any", base_url=endpoint.url)
    mem = await place.memory(llm)
    receipt = await mem.add("I keep bees", user_id="u")

    def over() -> bool:
        return place.count("job_dead") > 0

    await place.passes(60, llm=llm, step=5, over=over)
    await place.passes(3600 * hours, llm=llm, step=60 * hours, over=over)
    result = await receipt.result(timeout=10)
    assert result.status == "dead"
    assert str(status) in (result.reason or "")
    questions, trials = sent(endpoint)
    assert questions <= most
    assert trials <= most / 3
    assert place.count("outage_started") == 1
    assert len(await mem.search("who keeps bees?", user_id="u")) == 1


@pytest.mark.usefixtures("hasty")
async def test_turns_that_the_model_fails_on_end_soon_where_it_answers_others(
    endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = except_trials(endpoint, busy(500), "poison")
    llm = CountedLLM("any", base_url=endpoint.url)
    mem = await place.memory(llm)
    bad = await mem.add("poison", user_id="bad")
    good = [await mem.add("I keep bees", user_id=f"u{n}") for n in range(5)]
    await place.passes(30, llm=llm, step=1, over=lambda: place.count("job_dead") > 0)
    assert (await bad.result(timeout=5)).status == "dead"
    for receipt in good:
        assert (await receipt.result(timeout=5)).status == "done"
    questions, trials = sent(endpoint)
    # One or two until another user is answered, and three attempts; each is sent thrice.
    assert questions <= 5 + 3 * (2 + 3)
    assert trials <= 2 + 3


async def test_a_rate_limit_on_questions_alone_dead_letters_nothing(
    endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = except_trials(endpoint, busy(429))
    llm = CountedLLM("any", base_url=endpoint.url)
    mem = await place.memory(llm)
    receipts = {
        f"u{n}": await mem.add("I keep bees", user_id=f"u{n}") for n in range(6)
    }
    await place.passes(10 * 60, llm=llm)
    for user, receipt in receipts.items():
        await place.waits(mem, user, receipt.id)
    assert sent(endpoint)[0] <= len(receipts) * 3 * 25
    endpoint.answer = endpoint.well
    await place.passes(
        3_600, llm=llm, over=lambda: place.count("job_done") == len(receipts)
    )
    for receipt in receipts.values():
        assert (await receipt.result(timeout=5)).status == "done"
    assert place.count("outage_started") == place.count("outage_ended") == 1


async def test_replies_that_are_always_cut_off_end(
    endpoint: ChatEndpoint, place: Place
) -> None:
    endpoint.answer = lambda _: endpoint.reply('{"facts": [', finish="length")
    llm = CountedLLM("any", base_url=endpoint.url)
    mem = await place.memory(llm)
    receipt = await mem.add(["I keep bees " * 200, "and goats"], user_id="u")
    result = await receipt.result(timeout=20)
    assert result.status == "dead"


# ------------------------------------------------------------------ what is told of it


async def test_turns_that_were_embedded_while_they_waited_are_counted(
    endpoint: ChatEndpoint, place: Place
) -> None:
    llm = CountedLLM("any", base_url=endpoint.url)
    mem = await place.memory(llm, extract_after_turns=3)
    for n in range(2):
        await mem.add(f"I keep bees {n}", user_id="u", session_id="s")
    await eventually(lambda: place.count("jobs_deferred") > 0)
    receipt = await mem.add("I keep bees 3", user_id="u", session_id="s")
    result = await receipt.result(timeout=10)
    assert (result.status, result.usage.llm_calls) == ("done", 1)
    assert result.usage.embedded_texts >= 3


async def test_a_turn_that_cannot_be_embedded_marks_no_other_session(
    endpoint: ChatEndpoint, place: Place
) -> None:
    async def refuse(texts: Sequence[str]) -> None:
        if any("poison" in text for text in texts):
            raise EmbedderError("it chokes", retryable=False)

    llm = CountedLLM("any", base_url=endpoint.url)
    embedder = ScriptedEmbedder(refuse)
    async with AsyncMemory(
        replace(place.config, worker="off", llm=None),
        embedder=embedder,
        clock=place.clock,
    ) as front:
        fine = await front.add("I keep bees", user_id="u", session_id="fine")
        bad = await front.add("poison", user_id="u", session_id="bad")
    mem = await place.memory(llm, embedder=ScriptedEmbedder(refuse))
    results = [
        await (await mem.receipt(one.id, user_id="u")).result(timeout=10)
        for one in (fine, bad)
    ]
    assert [result.status for result in results] == ["done", "partial"]
    assert "embedding failed for 1 of 1: it chokes" in (results[1].reason or "")
