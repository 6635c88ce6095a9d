"""`mem.erase`: one memory or one turn goes, from searches, blocks, models and files."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hmem import (
    AsyncMemory,
    Config,
    Episode,
    InputError,
    InputTypeError,
    MemoryRecord,
    ReadOnlyStoreError,
)
from hmem.protocols import PutProfile, WritePlan
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import Hang, ScriptedLLM, facts
from hmem.testing.store.ending import files_with
from hmem.testing.yard import eventually

CANARY = "quokkazephyr"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture
async def mem(config: Config) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(config, embedder=HashEmbedder()) as opened:
        yield opened


async def fact(mem: AsyncMemory, text: str, **more: Any) -> str:
    receipt = await mem.add(
        [{"text": text, **more}], user_id="u", infer=False, wait=True
    )
    return (await receipt).added[0]


async def found(mem: AsyncMemory, query: str) -> list[str]:
    return [hit.text for hit in await mem.search(query, user_id="u")]


async def test_what_is_erased_is_found_by_nobody(
    mem: AsyncMemory, config: Config
) -> None:
    receipt = await mem.add(
        ["I keep bees", f"The hives are {CANARY} hives", "They swarm in May"],
        user_id="u",
        session_id="s",
        wait=True,
    )
    turn = (await receipt).turns[1]
    one = await fact(mem, f"Uma's hives are {CANARY} hives")
    async with AsyncMemory(replace(config, worker="off"), embedder=HashEmbedder()) as b:
        for which in (mem, b):
            assert len([t for t in await found(which, CANARY) if CANARY in t]) == 2
        for id_ in (turn, one):
            erased = await mem.erase(id_, user_id="u")
            assert erased.total >= 3
            assert erased.pending == ()
        for which in (b, mem):
            assert CANARY not in str(await found(which, f"{CANARY} hives"))
            block = await which.context(f"{CANARY} hives", user_id="u")
            assert CANARY not in block.text
            assert await which.get(turn, user_id="u") is None
            assert await which.history(one, user_id="u") == []
            page = await which.get_all(user_id="u")
            assert [row.text for row in page] == ["I keep bees", "They swarm in May"]
    assert files_with(Path(config.path), CANARY) == []
    await mem.add("Honey in June", user_id="u", session_id="s", wait=True)
    assert set(await found(mem, "bees honey")) == {
        "I keep bees",
        "They swarm in May",
        "Honey in June",
    }


async def test_a_user_of_whom_nothing_is_left_is_searched_in_vain(
    mem: AsyncMemory,
) -> None:
    receipt = await mem.add("I keep bees", user_id="u", session_id="s", wait=True)
    assert await found(mem, "bees") == ["I keep bees"]
    one = await fact(mem, "Uma keeps bees")
    for id_ in ((await receipt).turns[0], one):
        await mem.erase(id_, user_id="u")
    for kinds in (None, "turn", "memory"):
        result = await mem.search("bees", user_id="u", kinds=kinds)
        assert (len(result), result.pending, result.degraded) == (0, 0, ())
    assert (await mem.context("bees", user_id="u")).text == ""
    assert (await mem.get_all(user_id="u")).rows == ()
    await mem.add("I keep hens", user_id="u", session_id="s", wait=True)
    assert await found(mem, "hens") == ["I keep hens"]


async def test_a_memory_that_rested_on_an_erased_turn_stands_unverified(
    mem: AsyncMemory,
) -> None:
    receipt = await mem.add("I keep bees", user_id="u", wait=True)
    (turn,) = (await receipt).turns
    one = await fact(mem, "Uma keeps bees", source_ids=[turn])
    await mem.erase(turn, user_id="u")
    row = await mem.get(one, user_id="u")
    assert isinstance(row, MemoryRecord)
    assert (row.source_ids, row.quote, row.verified) == ((), None, False)
    assert await found(mem, "bees") == ["Uma keeps bees"]


async def test_one_version_goes_and_the_history_goes_on(mem: AsyncMemory) -> None:
    old = await fact(mem, "Lives in Ghent", event_start="2020-01-01")
    middle = await mem.update(old, user_id="u", text="Lives in Lyon")
    new = await mem.update(middle.id, user_id="u", text="Lives in Oslo")
    await mem.scoped(user_id="u").erase(middle.id)
    told = await mem.history(new.id, user_id="u")
    assert [(e.event, e.text, e.by) for e in told] == [
        ("ADD", "Lives in Ghent", None),
        ("SUPERSEDE", "Lives in Ghent", new.id),
        ("ADD", "Lives in Oslo", None),
    ]
    (hit,) = await mem.search("where", user_id="u", kinds="memory", k=1)
    assert [row.text for row in hit.replaced] == ["Lives in Ghent"]
    await mem.erase(new.id, user_id="u")
    told = await mem.history(old, user_id="u")
    assert [(e.event, e.by) for e in told] == [("ADD", None), ("CLOSE", None)]
    assert len(await mem.search("where", user_id="u", kinds="memory")) == 0
    again = await mem.reinstate(old, user_id="u")
    assert again.text == "Lives in Ghent"


async def test_a_profile_goes_with_the_row(config: Config) -> None:
    settings = replace(config, profile=True)
    async with AsyncMemory(settings, embedder=HashEmbedder()) as mem:
        receipt = await mem.add("I keep bees", user_id="u", wait=True)
        profile = PutProfile(text=f"Keeps {CANARY} bees", turn_seq=1)
        store = mem._rooms.parts.store
        await store.apply("u", WritePlan(at=0, ops=(profile,)))
        assert CANARY in (await mem.context("bees", user_id="u")).text
        await mem.erase((await receipt).turns[0], user_id="u")
        assert CANARY not in (await mem.context("bees", user_id="u")).text
    assert files_with(Path(config.path), CANARY) == []


async def test_what_a_model_is_reading_is_read_again_without_the_turn(
    config: Config,
) -> None:
    prompts: list[str] = []

    def answer(messages: Sequence[Mapping[str, str]]) -> object:
        prompts.append(messages[-1]["content"])
        if CANARY in prompts[-1]:
            return Hang(facts(f"Uma's bees are {CANARY}"))
        return facts("Uma keeps hens")

    llm = ScriptedLLM(answer)
    async with AsyncMemory(config, llm=llm, embedder=HashEmbedder()) as mem:
        receipt = await mem.add(
            [f"My bees are {CANARY}", "I keep hens"], user_id="u", session_id="s"
        )
        await eventually(lambda: bool(llm.waiting))
        page = await mem.get_all(user_id="u", kinds="turn")
        assert isinstance(page.rows[0], Episode)
        await mem.erase(page.rows[0].id, user_id="u")
        llm.release()
        result = await receipt.result(timeout=20)
        assert result.status == "done"
        texts = [row.text for row in await mem.get_all(user_id="u")]
        assert texts == ["Uma keeps hens", "I keep hens"]
        assert result.turns == (page.rows[1].id,)
        assert [CANARY in prompt for prompt in prompts] == [True, False]
    assert files_with(Path(config.path), CANARY) == []


async def test_an_unknown_id_erases_nothing_and_tells_nobody(config: Config) -> None:
    events: list[tuple[str, Mapping[str, Any]]] = []
    settings = replace(config, on_event=lambda name, data: events.append((name, data)))
    async with AsyncMemory(settings, embedder=HashEmbedder()) as mem:
        receipt = await mem.add("I keep bees", user_id="u", wait=True)
        (turn,) = (await receipt).turns
        for id_, user in ((turn, "v"), ("x", "u"), ("", "u"), (receipt.id, "u")):
            assert (await mem.erase(id_, user_id=user)).total == 0
        for bad in (7, None, b"x"):
            with pytest.raises(InputTypeError, match="id must be a str"):
                await mem.erase(bad, user_id="u")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="user_id"):
            await mem.erase(turn, user_id=" ")
        assert await found(mem, "bees") == ["I keep bees"]
        assert "row_erased" not in [name for name, _ in events]
        erased = await mem.erase(turn, user_id="u")
        assert events[-1] == ("row_erased", {"user_id": "u", "rows": erased.total})
    reading = replace(config, read_only=True, allow_degraded=True)
    async with AsyncMemory(reading) as mem:
        with pytest.raises(ReadOnlyStoreError):
            await mem.erase(turn, user_id="u")
