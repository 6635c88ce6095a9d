"""Turns -> facts, over a real store: extraction, coalescing, outages, crashes, previews."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hmem import AsyncMemory, Config, ConfigError, LLMError, MemoryRecord
from hmem.protocols import Completion, Rung
from hmem.testing.fakes import HashEmbedder
from hmem.testing.yard import eventually

Messages = Sequence[Mapping[str, str]]
Answer = Callable[[str], object]


class Model:
    """Answers the user message of each call by a function; an exception is raised."""

    model = "scripted"

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.systems: list[str] = []
        self.probes = 0

    async def complete(
        self,
        messages: Messages,
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        if schema is None:
            self.probes += 1
        else:
            self.asked.append(messages[-1]["content"])
            self.systems.append(messages[0]["content"])
        made = self.answer(messages[-1]["content"])
        if asyncio.iscoroutine(made):
            made = await made
        if isinstance(made, Exception):
            raise made
        if isinstance(made, Completion):
            return made
        return Completion(content=made, prompt_tokens=100, completion_tokens=10)

    async def aclose(self) -> None:
        pass


def fact(text: str, *turns: int, **more: object) -> dict[str, object]:
    """One fact as a model writes it."""
    return {
        "turns": list(turns),
        "quote": "",
        "fact": text,
        "category": "semantic",
        "when": "",
        "importance": 5,
        "entities": [],
        "group": 0,
        "replaces": [],
        "reason": "",
        **more,
    }


def reply(*facts: dict[str, object]) -> str:
    return json.dumps({"facts": facts})


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=1, embed="none", lease=5)


Open = Callable[..., Any]


@pytest.fixture
async def opened(config: Config) -> AsyncIterator[Open]:
    from dataclasses import replace

    open_: list[AsyncMemory] = []

    async def make(answer: Answer, **changes: Any) -> tuple[AsyncMemory, Model]:
        model = Model(answer)
        mem = AsyncMemory(
            replace(config, **changes), llm=model, embedder=HashEmbedder()
        )
        open_.append(await mem.open())
        return mem, model

    yield make
    for mem in open_:
        await mem.aclose(timeout=0.1)


async def facts(mem: AsyncMemory, user: str = "maya") -> list[MemoryRecord]:
    page = await mem.get_all(user_id=user, kinds="memory")
    return [row for row in page if isinstance(row, MemoryRecord)]


async def test_what_is_said_becomes_a_fact_with_its_sources_and_cost(
    opened: Open,
) -> None:
    mem, model = await opened(
        lambda _: reply(
            fact(
                "Maya moved to Ghent in March 2026",
                0,
                quote="I moved to Ghent",
                when="2026-03",
                importance=8,
                entities=["Maya", "Ghent"],
            )
        ),
        llm_price_in=2.0,
        llm_price_out=10.0,
    )
    receipt = await mem.add(
        [{"role": "user", "name": "Maya", "content": "I moved to Ghent last month."}],
        user_id="maya",
        session_id="s",
        observed_at="2026-04-02",
    )
    result = await receipt.result(timeout=10)
    assert (result.status, len(result.added)) == ("done", 1)
    (one,) = await facts(mem)
    assert one.id == result.added[0]
    assert one.source_ids == result.turns
    assert (one.text, one.importance) == ("Maya moved to Ghent in March 2026", 8)
    assert one.event_precision == "month"
    assert one.event_start is not None
    assert one.event_start.isoformat().startswith("2026-03-01")
    assert one.valid_from.isoformat().startswith("2026-04-02")
    assert one.session_id == "s"
    assert one.prompt_version == "extract-1"
    assert result.usage.llm_calls == 1
    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (100, 10)
    assert result.usage.cost == pytest.approx(300e-6)
    assert "Thu 2026-04-02" in model.asked[0]
    found = await mem.search("where does Maya live?", user_id="maya")
    assert {hit.kind for hit in found} == {"memory", "turn"}
    stats = await mem.admin.stats()
    assert stats["models"]["extract"]["calls"] == 1


async def test_a_fact_closes_what_it_replaces(opened: Open) -> None:
    def answer(text: str) -> str:
        if "MEMORIES" not in text:
            return reply(fact("Maya lives in Bristol", 0, entities=["Maya"]))
        assert "[0] Maya lives in Bristol" in text
        return reply(
            fact(
                "Maya moved from Bristol to Ghent",
                0,
                entities=["Maya"],
                replaces=[0],
                reason="she moved",
            )
        )

    mem, _ = await opened(answer)
    for text, day in (
        ("I live in Bristol.", "2026-01-05"),
        ("I moved from Bristol to Ghent.", "2026-03-01"),
    ):
        receipt = await mem.add(
            {"role": "user", "name": "Maya", "content": text},
            user_id="maya",
            observed_at=day,
        )
        result = await receipt.result(timeout=10)
    assert len(result.superseded) == 1
    (now,) = await facts(mem)
    assert now.text == "Maya moved from Bristol to Ghent"
    old = await mem.get(result.superseded[0], user_id="maya")
    assert isinstance(old, MemoryRecord)
    assert old.superseded_by == now.id
    assert old.valid_to == now.valid_from


async def test_no_facts_is_done_and_an_unreadable_reply_is_not(opened: Open) -> None:
    mem, _ = await opened(
        lambda text: reply() if "hello" in text else "I cannot do that.", max_attempts=2
    )
    well = await (await mem.add("hello", user_id="a")).result(timeout=10)
    assert (well.status, well.added, well.reason) == ("done", (), None)
    bad = await (await mem.add("other", user_id="b")).result(timeout=20)
    assert bad.status == "dead"
    assert bad.reason is not None
    assert "searchable" in bad.reason
    assert bad.usage.llm_calls > 0
    assert len(await mem.search("other", user_id="b")) == 1


async def test_turns_wait_for_more_of_them_and_are_read_in_one_call(
    opened: Open,
) -> None:
    mem, model = await opened(
        lambda _: reply(), extract_after_turns=4, extract_after_idle=60.0
    )
    receipts = [
        await mem.add(f"turn {n}", user_id="maya", session_id="s") for n in range(3)
    ]
    await asyncio.sleep(0.3)
    assert model.asked == []
    found = await mem.search("turn", user_id="maya")
    assert all(hit.pending for hit in found)
    receipts.append(await mem.add("turn 3", user_id="maya", session_id="s"))
    for receipt in receipts:
        assert (await receipt.result(timeout=10)).status == "done"
    assert len(model.asked) == 1
    assert all(f"turn {n}" in model.asked[0] for n in range(4))
    assert [(await r).usage.llm_calls for r in receipts] == [0, 0, 0, 1]


async def test_idle_turns_are_read_without_more_of_them(opened: Open) -> None:
    mem, model = await opened(
        lambda _: reply(), extract_after_turns=50, extract_after_idle=0.2
    )
    result = await (await mem.add("alone", user_id="maya")).result(timeout=10)
    assert result.status == "done"
    assert len(model.asked) == 1


async def test_sessions_are_never_read_in_one_call(opened: Open) -> None:
    mem, model = await opened(
        lambda _: reply(), extract_after_turns=50, extract_after_idle=60.0
    )
    for n in range(4):
        await mem.add(f"turn {n}", user_id="maya", session_id=f"s{n % 2}")
    await asyncio.sleep(0.3)  # they wait for more
    await mem.flush(timeout=10)
    assert len(model.asked) == 2
    assert all(("turn 0" in a) != ("turn 1" in a) for a in model.asked)


async def test_flushing_waiting_and_closing_do_not_wait_for_more_turns(
    opened: Open,
) -> None:
    mem, model = await opened(
        lambda _: reply(), extract_after_turns=50, extract_after_idle=300.0
    )
    await mem.add("one", user_id="a")
    await mem.flush(timeout=10)
    receipt = await mem.add("two", user_id="b", wait=True, timeout=10)
    assert receipt.status == "done"
    await mem.add("three", user_id="c")
    await mem.aclose(timeout=10)
    assert len(model.asked) == 3


async def test_while_the_model_is_down_turns_are_embedded_and_nothing_is_lost(
    opened: Open,
) -> None:
    down = True

    def answer(text: str) -> object:
        return (
            LLMError("it is down") if down else reply(fact(f"Fact of {len(text)}", 0))
        )

    mem, model = await opened(answer)
    receipts = [
        await mem.add(f"I like tea number {n}", user_id=f"u{n}") for n in range(5)
    ]
    await eventually(lambda: model.probes > 0)
    health = await mem.admin.health()
    assert not health["ok"]
    assert any("chat model" in problem for problem in health["problems"])
    found = await mem.search("tea", user_id="u1", explain=True)
    assert found.pending == 1
    assert "not_all_embedded" not in found.degraded
    down = False
    for receipt in receipts:
        result = await receipt.result(timeout=20)
        assert (result.status, len(result.added)) == ("done", 1)


async def test_a_reply_that_is_cut_off_splits_the_turns(opened: Open) -> None:
    def answer(text: str) -> object:
        numbers = [n for n in range(8) if f"word{n} " in text.split("NEW TURNS")[1]]
        if len(numbers) > 2:
            return Completion(content='{"facts": [', finish="length")
        return reply(
            *(fact(f"The number {n} was said", i) for i, n in enumerate(numbers))
        )

    mem, _ = await opened(answer)
    receipt = await mem.add(
        [{"role": "user", "content": f"word{n} is here"} for n in range(8)],
        user_id="maya",
        session_id="s",
    )
    result = await receipt.result(timeout=20)
    assert result.status == "done"
    assert len(result.added) == 8
    assert len(await facts(mem)) == 8


async def test_one_part_that_cannot_be_read_leaves_the_job_partial(
    opened: Open,
) -> None:
    def answer(text: str) -> object:
        new = text.split("NEW TURNS")[1]
        return "nonsense" if "poison" in new else reply(fact("Something is well", 0))

    mem, _ = await opened(answer, extract_input_tokens=500, max_attempts=2)
    filler = "many words stand here to fill the room " * 30
    receipt = await mem.add(
        [
            {"role": "user", "content": f"{word} {filler}"}
            for word in ("good", "poison")
        ],
        user_id="maya",
        session_id="s",
    )
    result = await receipt.result(timeout=20)
    assert result.status == "partial"
    assert result.reason is not None
    assert "parts could not be read" in result.reason
    assert len(await facts(mem)) == 1


async def test_a_reply_that_was_kept_is_not_asked_for_again(
    opened: Open, config: Config
) -> None:
    mem, model = await opened(lambda _: reply(fact("Maya keeps bees", 0)), lease=0.5)
    store = mem._rooms.parts.store
    applied = store.apply
    lost = 0

    async def apply(user_id: str, plan: Any) -> Any:
        nonlocal lost
        if plan.end is not None and lost < 2:  # the process dies before the end
            lost += 1
            raise RuntimeError("gone")
        return await applied(user_id, plan)

    store.apply = apply
    receipt = await mem.add("I keep bees", user_id="maya")
    result = await receipt.result(timeout=20)
    assert (result.status, len(result.added)) == ("done", 1)
    assert lost == 2
    assert len(model.asked) == 1


async def test_a_preview_shows_what_an_add_would_store_and_stores_nothing(
    opened: Open,
) -> None:
    mem, _ = await opened(
        lambda _: reply(fact("Maya keeps bees", 0, quote="I keep bees", importance=7))
    )
    (one,) = await mem.preview("I keep bees", user_id="maya")
    assert (one.text, one.action, one.importance) == ("Maya keeps bees", "add", 7)
    assert one.messages == (0,)
    assert len(await mem.get_all(user_id="maya")) == 0
    await (await mem.add("I keep bees", user_id="maya")).result(timeout=10)
    assert [row.text for row in await facts(mem)] == ["Maya keeps bees"]
    again = await mem.preview("I keep bees", user_id="maya")
    assert [(p.action, p.reason) for p in again] == [("cite", "duplicate")]


async def test_a_preview_needs_a_model(config: Config) -> None:
    async with AsyncMemory(config) as mem:
        with pytest.raises(ConfigError, match="HMEM_LLM"):
            await mem.preview("I keep bees", user_id="maya")


async def test_jobs_for_a_model_are_left_to_a_process_that_has_one(
    config: Config, opened: Open
) -> None:
    from dataclasses import replace

    front = AsyncMemory(
        replace(config, mode="append", worker="off"), embedder=HashEmbedder()
    )
    async with front:
        receipt = await front.add("I keep bees", user_id="maya")
    async with AsyncMemory(config, embedder=HashEmbedder()) as raw:
        await asyncio.sleep(0.3)
        assert (await raw.receipt(receipt.id, user_id="maya")).status != "done"
        found = await raw.search("bees", user_id="maya")
        assert found.pending == 1


async def test_append_without_a_model_says_what_to_set(config: Config) -> None:
    from dataclasses import replace

    with pytest.raises(ConfigError, match="HMEM_LLM"):
        async with AsyncMemory(replace(config, mode="append")):
            pass


async def test_live_turns_are_read_before_imported_ones(opened: Open) -> None:
    gate = asyncio.Event()

    async def answer(text: str) -> str:
        await gate.wait()
        return reply()

    mem, model = await opened(answer, users_in_parallel=1)
    await mem.add("first", user_id="maya", session_id="0")
    await eventually(lambda: len(model.asked) == 1)
    await mem.add("old", user_id="maya", session_id="1", priority="import")
    await mem.add("new", user_id="maya", session_id="2")
    gate.set()
    await mem.flush(timeout=10)
    order = [a.split("NEW TURNS")[1] for a in model.asked]
    assert "new" in order[1]
    assert "old" in order[2]


async def test_a_profile_heads_the_block_and_is_erased_with_its_user(
    opened: Open,
) -> None:
    def answer(text: str) -> str:
        if "NEWEST TURNS" in text:
            return json.dumps({"profile": "Maya keeps bees in Ghent."})
        return reply(fact("Maya keeps bees", 0, entities=["Maya"]))

    mem, model = await opened(answer, profile=True)
    for n in range(3):
        turns = [
            {"role": "user", "content": f"I keep bees, the {n}. time"},
            {"role": "assistant", "content": f"Noted {n}."},
        ]
        receipt = await mem.add(turns, user_id="maya", session_id=f"s{n}")
        await receipt.result(timeout=10)
    await eventually(lambda: len(model.asked) == 4)  # nobody waits for the profile
    await asyncio.sleep(0.1)
    block = await mem.context("what does she keep?", user_id="maya", max_tokens=200)
    assert block.stable.startswith("Profile: Maya keeps bees in Ghent.\n")
    assert block.text == block.stable + block.dynamic
    assert block.tokens <= 200
    assert any("PROFILE" in a for a in model.asked) is False  # written at the end only
    past = await mem.context("what?", user_id="maya", as_of="2020-01-01")
    assert "Profile" not in past.text
    tiny = await mem.context("what?", user_id="maya", max_tokens=12)
    assert "Profile" not in tiny.text
    await mem.delete_user("maya")
    assert (await mem.context("what?", user_id="maya")).text == ""


async def test_what_a_call_says_of_its_messages_goes_to_their_facts(
    opened: Open,
) -> None:
    mem, _ = await opened(lambda _: reply(fact("Maya keeps bees", 0)))
    receipt = await mem.add("I keep bees", user_id="maya", metadata={"project": "kiln"})
    await receipt.result(timeout=10)
    (one,) = await facts(mem)
    assert dict(one.metadata) == {"project": "kiln"}
    found = await mem.search("bees", user_id="maya", filters={"project": "kiln"})
    assert {hit.kind for hit in found} == {"memory", "turn"}
