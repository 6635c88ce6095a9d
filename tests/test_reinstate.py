"""Undoing: a closed memory is opened again, and the history says so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hmem import AsyncMemory, Config, InputError, InputTypeError, TextTooLongError
from hmem.testing.fakes import HashEmbedder


@pytest.fixture
async def mem(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    config = Config(path=tmp_path / "m", shards=1, embed="none")
    async with AsyncMemory(config, embedder=HashEmbedder()) as memory:
        yield memory


async def one(mem: AsyncMemory, text: str) -> str:
    receipt = await mem.add(text, user_id="maya", infer=False, observed_at="2026-01-01")
    return (await receipt.result(timeout=10)).added[0]


async def test_a_deleted_memory_is_found_again_once_it_is_reinstated(
    mem: AsyncMemory,
) -> None:
    made = await one(mem, "Lives in Ghent")
    assert await mem.delete(made, user_id="maya")
    back = await mem.reinstate(made, user_id="maya", reason="deleted by mistake")
    assert back.valid_to is None
    found = await mem.search("Ghent", user_id="maya", kinds="memory")
    assert [hit.id for hit in found] == [made]
    events = await mem.history(made, user_id="maya")
    assert [e.event for e in events] == ["ADD", "CLOSE", "REINSTATE"]
    assert events[-1].reason == "deleted by mistake"


async def test_a_wrong_superseding_is_undone_and_both_stand(mem: AsyncMemory) -> None:
    made = await one(mem, "Lives in Ghent")
    new = await mem.update(made, user_id="maya", text="Lives in Bruges")
    found = await mem.search("Bruges", user_id="maya", kinds="memory")
    assert [len(hit.replaced) for hit in found] == [1]
    back = await mem.scoped(user_id="maya").reinstate(made)
    assert (back.valid_to, back.superseded_by) == (None, None)
    both = await mem.get_all(user_id="maya")
    assert {row.id for row in both} == {made, new.id}
    found = await mem.search("Bruges", user_id="maya", kinds="memory")
    assert all(hit.replaced == () for hit in found)  # also in a view that was warm
    told = [e.event for e in await mem.history(new.id, user_id="maya")]
    assert told.count("REINSTATE") == 1


async def test_what_cannot_be_reinstated_says_why(mem: AsyncMemory) -> None:
    made = await one(mem, "Lives in Ghent")
    with pytest.raises(InputError, match="no closed memory"):
        await mem.reinstate(made, user_id="maya")
    with pytest.raises(InputError, match="no closed memory"):
        await mem.reinstate(made, user_id="bo")
    await mem.delete(made, user_id="maya")
    with pytest.raises(InputTypeError):
        await mem.reinstate(made, user_id="maya", reason=3)  # type: ignore[arg-type]
    with pytest.raises(TextTooLongError):
        await mem.reinstate(made, user_id="maya", reason="x" * 501)
    other = await one(mem, "lives in ghent")
    with pytest.raises(InputError, match=other):
        await mem.reinstate(made, user_id="maya")
