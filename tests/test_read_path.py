"""The read path through its public face: times, roles, totals and long turns."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hmem import AsyncMemory, Config

ASKED = datetime(2025, 6, 18, 12, tzinfo=UTC)  # a Wednesday
LONG = "\n\n".join(
    f"Chapter {n}. The {what} stands in row {n} of the yard and is looked after by hand "
    f"each morning, as the log of the yard has it since the spring of the flood."
    for n, what in enumerate(
        ["anvil", "bellows", "crucible", "dovecote", "easel", "forge", "gate", "hearth"]
    )
)


@pytest.fixture
async def mem(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    config = Config(path=tmp_path / "m", embed="none", durability="normal")
    async with AsyncMemory(config) as memory:
        yield memory


async def say(
    mem: AsyncMemory, *texts: str, days: float = 30, role: str = "user", **more: Any
) -> None:
    at = ASKED - timedelta(days=days)
    said = [{"role": role, "content": t, "timestamp": at} for t in texts]
    await (await mem.add(said, user_id="u", **more))


async def test_last_week_is_found_by_its_time_alone(mem: AsyncMemory) -> None:
    for n, days in enumerate((60, 30, 8, 1)):
        await say(mem, f"filler {n}", days=days, session_id=f"s{n}")
    found = await mem.search(
        "anything last week?", user_id="u", asked_at=ASKED, explain=True
    )
    assert found.hits[0].text == "filler 2"
    assert found.hits[0].explain["time"] > 0
    assert len(found) == 4  # a time in a question filters nothing
    for hit in found:
        assert sum(hit.explain.values()) == pytest.approx(hit.score, abs=1e-5)


async def test_a_question_for_all_gets_a_little_of_each(mem: AsyncMemory) -> None:
    for n in range(40):
        text = f"Project note {n} on the kiln. " + "It went on and on all day. " * 12
        await say(mem, text, days=60 - n, session_id=f"s{n % 5}")
    one = await mem.context("what of the kiln project?", user_id="u", max_tokens=700)
    every = await mem.context("summarize the kiln project", user_id="u", max_tokens=700)
    assert len(every.citations) > 1.5 * len(one.citations)
    assert every.tokens <= 700
    assert "on and on all day. \u2026" in every.text


async def test_a_question_for_all_takes_from_all_sessions(mem: AsyncMemory) -> None:
    for n in range(30):
        await say(mem, f"kiln log {n}: kiln, kiln again", session_id="busy", days=40)
    await say(mem, "a word on the kiln in spring, and on much else", session_id="quiet")
    cap = {"user_id": "u", "max_tokens": 160}
    assert "in spring" not in (await mem.context("where is the kiln?", **cap)).text
    assert "in spring" in (await mem.context("summarize the kiln", **cap)).text


async def test_what_fits_is_shown_whole_however_it_is_asked_for(
    mem: AsyncMemory,
) -> None:
    await say(mem, LONG, session_id="a")
    await say(mem, "A short note on the forge.", session_id="b")
    for question in ("where is the forge?", "give me an overview of the yard"):
        block = await mem.context(question, user_id="u", max_tokens=2_000)
        assert " ".join(LONG.split()) in block.text
        assert "A short note on the forge." in block.text
        assert "\u2026" not in block.text


async def test_of_a_long_turn_the_passage_that_answers_is_shown(
    mem: AsyncMemory,
) -> None:
    await say(mem, LONG, session_id="a")
    for n in range(30):
        await say(mem, f"note {n} of many more, on the yard", session_id=f"b{n}")
    block = await mem.context("who tends the dovecote?", user_id="u", max_tokens=400)
    assert "The dovecote stands in row 3" in block.text
    assert "The hearth stands" not in block.text


async def test_the_users_own_words_come_first_and_the_assistants_when_asked_for(
    mem: AsyncMemory,
) -> None:
    await say(mem, "I use celadon on porcelain.", session_id="a")
    await say(
        *(mem, "I use tenmoku on porcelain.", "And so it goes on. " * 20),
        role="assistant",
        session_id="b",
        days=20,
    )

    async def first(question: str) -> str:
        found = await mem.search(question, user_id="u", explain=True)
        for hit in found:
            assert sum(hit.explain.values()) == pytest.approx(hit.score, abs=1e-5)
        return found.hits[0].text

    assert "celadon" in await first("what is used on porcelain?")
    asked = await mem.search(
        "what did you say you use on porcelain?", user_id="u", explain=True
    )
    assert all("role" not in hit.explain for hit in asked)


async def test_blocks_are_the_same_bytes_each_time_and_in_any_company(
    mem: AsyncMemory, tmp_path: Path
) -> None:
    async def blocks(memory: AsyncMemory) -> list[str]:
        for n in range(20):
            await say(memory, LONG[n * 40 :], session_id=f"s{n % 3}", days=30 - n)
        return [
            (await memory.context(q, user_id="u", max_tokens=cap, asked_at=ASKED)).text
            for q in ("the forge last month", "summarize the yard", "in what order?")
            for cap in (120, 900)
        ]

    await mem.add("a stranger's forge and yard " * 50, user_id="stranger")
    here = await blocks(mem)
    config = Config(path=tmp_path / "other", embed="none", durability="normal")
    async with AsyncMemory(config) as alone:
        assert await blocks(alone) == here
