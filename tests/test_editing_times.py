"""Changes are dated by when they were observed, and events are half-open."""

from pathlib import Path
from typing import Any

import pytest

from hmem import (
    UNCHANGED,
    AsyncMemory,
    BadTimeError,
    Config,
    MemoryRecord,
    MissingExtraError,
)
from hmem.errors import UnknownBackendError
from hmem.testing.fakes import HashEmbedder


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", durability="normal")


async def test_an_update_and_a_delete_hold_from_when_they_were_observed(
    config: Config,
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add(
            [{"text": "Lives in Bristol"}],
            user_id="u",
            infer=False,
            observed_at="2026-01-11",
            wait=True,
        )
        [old] = await mem.get_all(user_id="u")
        with pytest.raises(BadTimeError):
            await mem.update(
                old.id, user_id="u", text="Lives in Ghent", observed_at="2025-12-31"
            )
        new = await mem.update(
            old.id, user_id="u", text="Lives in Ghent", observed_at="2026-08-02"
        )

        async def lives(as_of: str) -> list[str]:
            found = await mem.search("lives", user_id="u", as_of=as_of)
            return [hit.text for hit in found]

        assert await lives("2026-08-01") == ["Lives in Bristol"]
        assert await lives("2026-08-02") == ["Lives in Ghent"]
        with pytest.raises(BadTimeError):
            await mem.delete(new.id, user_id="u", observed_at="2026-08-01")
        assert await mem.scoped(user_id="u").delete(new.id, observed_at="2026-09-05")
        assert await lives("2026-09-04") == ["Lives in Ghent"]
        assert await lives("2026-09-05") == []


async def test_events_are_shown_and_end_before_their_end(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        trip = {
            "text": "Visited Lisbon",
            "event_start": "2026-03-03",
            "event_end": "2026-03-07",
        }
        await mem.add([trip], user_id="u", infer=False, wait=True)
        block = await mem.context("Lisbon", user_id="u")
        assert "Visited Lisbon (2026-03-03 to 2026-03-07)" in block.text
        for day, found in (("2026-03-07", 1), ("2026-03-08", 0), ("2026-03-02", 0)):
            hits = await mem.search("Lisbon", user_id="u", during=day)
            assert len(hits) == found, day
        with pytest.raises(BadTimeError):
            await mem.add(
                [{"text": "x", "event_start": "2026-05", "event_end": "2026-04"}],
                user_id="u",
                infer=False,
            )


async def made(mem: AsyncMemory, **item: object) -> str:
    receipt = await mem.add([item], user_id="u", infer=False, wait=True)
    return (await receipt).added[0]


def event(row: MemoryRecord) -> tuple[str | None, str | None, str | None]:
    start, end = row.event_start, row.event_end
    return (
        start and start.date().isoformat(),
        end and end.date().isoformat(),
        row.event_precision,
    )


async def test_an_update_keeps_clears_or_sets_when_it_happened(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        old = await made(mem, text="Works as a nurse", event_start="2023-01")
        was = ("2023-01-01", "2023-02-01", "month")

        async def then(text: str, **more: Any) -> MemoryRecord:
            [row] = await mem.get_all(user_id="u")
            return await mem.update(row.id, user_id="u", text=text, **more)

        assert event(await then("Works as a head nurse")) == was
        assert event(await then("Teaches", event_start=UNCHANGED)) == was
        taught = await then("Teaches biology", event_start="2026-09")
        assert event(taught) == ("2026-09-01", "2026-10-01", "month")
        assert "2023" not in (await mem.context("biology", user_id="u")).text
        assert event(await then("Teaches maths", event_end="2026-12"))[:2] == (
            "2026-09-01",
            "2027-01-01",
        )
        assert event(await then("Teaches art", event_end=None))[1] is None
        both = await then("Taught", event_start="2026-09-01", event_end="2026-09-04")
        assert event(both) == ("2026-09-01", "2026-09-05", "day")
        assert event(await then("Teaches", event_start=None)) == (None, None, None)
        first = await mem.get(old, user_id="u")
        assert isinstance(first, MemoryRecord)
        assert event(first) == was


async def test_an_updates_event_that_cannot_be_is_refused(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        one = await made(mem, text="Teaches")
        given: list[dict[str, Any]] = [
            {"event_end": "2026"},
            {"event_start": None, "event_end": "2026"},
            {"event_start": "2026-05", "event_end": "2026-04"},
            {"event_start": "soon"},
        ]
        for more in given:
            with pytest.raises(BadTimeError, match="update"):
                await mem.update(one, user_id="u", text="Teaches art", **more)
        [row] = await mem.get_all(user_id="u")
        assert row.text == "Teaches"


async def test_an_update_that_says_nothing_new_stores_nothing(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        one = await made(
            mem, text="Keeps bees", event_start="2023-01", metadata={"hives": 1}
        )
        again: list[dict[str, Any]] = [
            {},
            {"metadata": {"hives": 1}},
            {"event_start": "2023-01"},
            {"observed_at": "2090"},
        ]
        for more in again:
            same = await mem.update(one, user_id="u", text="Keeps bees", **more)
            assert same == await mem.get(one, user_id="u")
        assert [e.event for e in await mem.history(one, user_id="u")] == ["ADD"]
        new: list[dict[str, Any]] = [
            {"text": "keeps bees"},
            {"text": "keeps bees", "metadata": {"hives": True}},
            {"text": "keeps bees", "event_start": "2023"},
        ]
        ids = {one}
        for more in new:
            [row] = await mem.get_all(user_id="u")
            ids.add((await mem.update(row.id, user_id="u", **more)).id)
        assert len(ids) == 4


async def test_an_index_that_is_not_there_is_told_at_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "none"
    with pytest.raises(UnknownBackendError, match="HMEM_VECTORS"):
        await AsyncMemory(Config(path=path, vectors="no such")).open()

    def missing(name: str, dim: int) -> None:
        raise MissingExtraError(name, "turbovec")

    monkeypatch.setattr("hmem.parts.index", missing)
    with pytest.raises(MissingExtraError, match=r"\[turbovec\]'"):
        await AsyncMemory(Config(path=path, vectors="turbovec:4")).open()
    assert not path.exists()


async def test_a_block_is_dated_by_the_clocks_of_the_configured_zone(
    tmp_path: Path,
) -> None:
    config = Config(path=tmp_path / "m", durability="normal", timezone="Asia/Tokyo")
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        late = "2026-03-01T20:00:00+00:00"  # the 2nd, five in the morning, in Tokyo
        await mem.add("I saw a heron", user_id="u", observed_at=late, wait=True)
        fact = {"text": "Saw a heron", "event_start": "2026-03-02"}
        await mem.add([fact], user_id="u", infer=False, observed_at=late, wait=True)
        block = await mem.context("heron", user_id="u")
    assert block.text == (
        "[2 March 2026]\n1 Saw a heron (2026-03-02)\n2 User: I saw a heron\n"
    )
