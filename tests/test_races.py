"""Two things at once, and one after another that was cut off."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from hmem import (
    AsyncMemory,
    ClosedError,
    Config,
    EmbedderError,
    ForeignFolderError,
    InputError,
)
from hmem.ingest import Call, Intake
from hmem.protocols import Accept, TurnRow
from hmem.testing.fakes import HashEmbedder
from hmem.views.turns import Turns

CANARY = "zebrafinch"
Purpose = Literal["passage", "query"]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=1, embed="none", durability="normal")


def files_with(folder: Path, word: str) -> list[str]:
    return [p.name for p in folder.iterdir() if word.encode() in p.read_bytes()]


class GatedEmbedder(HashEmbedder):
    """Waits at the gate once one is set."""

    gate: asyncio.Event | None = None

    async def embed(
        self, texts: Sequence[str], *, purpose: Purpose = "passage"
    ) -> NDArray[np.float32]:
        if self.gate is not None:
            await self.gate.wait()
        return await super().embed(texts, purpose=purpose)


async def test_an_update_does_not_bring_back_an_erased_user(config: Config) -> None:
    embedder = GatedEmbedder()
    async with AsyncMemory(config, embedder=embedder) as mem:
        receipt = await mem.add("a", user_id="u", infer=False, wait=True)
        fact = (await receipt).added[0]
        embedder.gate = asyncio.Event()
        update = asyncio.create_task(mem.update(fact, user_id="u", text=CANARY))
        await asyncio.sleep(0.05)
        await mem.delete_user("u")
        embedder.gate.set()
        with pytest.raises(InputError, match="erased"):
            await update
        assert not (await mem.get_all(user_id="u")).rows
    assert files_with(config.folder, CANARY) == []


@pytest.mark.parametrize("cut", ["returned", "cancelled"])
async def test_erasing_again_ends_what_the_first_call_left(
    config: Config, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.stores.embedded.TRUNCATE_WITHIN", 0.5)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add(CANARY, user_id="u", wait=True)
        reader = sqlite3.connect(config.folder / "shard-00.db")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM users").fetchone()
        first = asyncio.create_task(mem.delete_user("u"))
        if cut == "cancelled":
            await asyncio.sleep(0.2)
            first.cancel()
        await asyncio.wait([first])
        assert (await mem.delete_user("u")).pending  # the reader is still there
        reader.close()
        again = await mem.delete_user("u")
        assert (again.total, again.pending) == (0, ())
        assert files_with(config.folder, CANARY) == []


async def test_a_search_cancelled_while_its_view_loads_leaves_no_half_view(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, loading = asyncio.get_running_loop(), asyncio.Event()
    append = Turns.append

    def slowly(self: Turns, rows: Sequence[TurnRow]) -> None:
        loop.call_soon_threadsafe(loading.set)
        time.sleep(0.1)
        append(self, rows)

    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add([f"line {n}" for n in range(1_000)], user_id="u")
        await mem.flush()
        monkeypatch.setattr(Turns, "append", slowly)
        search = asyncio.create_task(mem.search("line", user_id="u"))
        await loading.wait()
        search.cancel()
        found = await mem.search("999", user_id="u", k=1_000)
        assert (len(found.hits), found.hits[0].text) == (1_000, "line 999")
        with pytest.raises(asyncio.CancelledError):
            await search


async def test_searches_cut_off_leave_no_entries_and_no_uncounted_bytes(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, loading = asyncio.get_running_loop(), asyncio.Event()
    append = Turns.append

    def slowly(self: Turns, rows: Sequence[TurnRow]) -> None:
        loop.call_soon_threadsafe(loading.set)
        time.sleep(0.05)
        append(self, rows)

    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add([f"line {n}" for n in range(1_000)], user_id="u")
        await mem.flush()
        cache = mem._rooms.retriever.views
        for waits in range(1, 40):
            search = asyncio.create_task(mem.search("line", user_id=f"nobody{waits}"))
            for _ in range(waits):
                await asyncio.sleep(0)
            search.cancel()
            await asyncio.wait([search])
        assert cache.stats()["views"] == 0
        monkeypatch.setattr(Turns, "append", slowly)
        search = asyncio.create_task(mem.search("line", user_id="u"))
        await loading.wait()
        search.cancel()
        await asyncio.wait([search])
        assert cache.stats()["bytes"] == sum(
            e.view.nbytes for e in cache._entries.values()
        )


async def test_what_views_hold_of_what_was_found_counts_towards_their_bound(
    config: Config,
) -> None:
    config = replace(config, view_cache_bytes=600_000)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        for user in range(12):
            said = [f"line {n} of {user}" for n in range(60)]
            await mem.add(said, user_id=f"u{user}")
        await mem.flush()
        cache = mem._rooms.retriever.views
        for turn in range(36):
            await mem.search("line", user_id=f"u{turn % 12}", k=60)
            held = sum(e.view.nbytes for e in cache._entries.values())
            assert held <= config.view_cache_bytes * 17 / 16
        assert 1 < cache.stats()["views"] < 12


async def test_a_view_that_broke_while_it_grew_is_loaded_anew(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("one", user_id="u", wait=True)
        await mem.search("one", user_id="u")
        await mem.add("two", user_id="u", wait=True)
        with monkeypatch.context() as patch:
            patch.setattr(Turns, "append_lexical", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await mem.search("one", user_id="u")
        found = await mem.search("two", user_id="u")
        assert {hit.text for hit in found.hits} == {"one", "two"}


@pytest.mark.parametrize("how", ["removed", "replaced"])
async def test_nothing_is_acknowledged_into_a_folder_that_is_gone(
    config: Config, how: str
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("one", user_id="u", wait=True)
        config.folder.rename(config.folder.with_name("old"))
        if how == "replaced":
            async with AsyncMemory(config, embedder=HashEmbedder()) as other:
                await other.add("new", user_id="u", wait=True)
        with pytest.raises(ForeignFolderError, match="open it anew"):
            await mem.add("two", user_id="u")


async def test_closing_while_it_opens_closes(config: Config) -> None:
    mem = AsyncMemory(config, embedder=HashEmbedder())
    opening = asyncio.create_task(mem.open())
    await asyncio.sleep(0.001)
    await mem.aclose()
    await asyncio.wait([opening])
    with pytest.raises(ClosedError):
        await mem.add("a", user_id="u")


class SpoiltEmbedder(HashEmbedder):
    """Answers with whatever it is told to once it is spoilt."""

    spoilt: Any = None

    async def embed(
        self, texts: Sequence[str], *, purpose: Purpose = "passage"
    ) -> NDArray[np.float32]:
        if isinstance(self.spoilt, Exception):
            raise self.spoilt
        if self.spoilt is not None:
            return self.spoilt  # type: ignore[no-any-return]
        return await super().embed(texts, purpose=purpose)


@pytest.mark.parametrize(
    "spoilt",
    [
        RuntimeError("secret"),
        np.full((1, 64), np.nan, np.float32),
        np.zeros((1, 64), np.float32),
        np.ones((1, 7), np.float32),
        np.ones(64, np.float32),
        np.empty((0, 64), np.float32),
        [["a"] * 64],
        7,
    ],
    ids=repr,
)
async def test_a_spoilt_embedder_degrades_a_search_and_refuses_an_update(
    config: Config, spoilt: object
) -> None:
    embedder = SpoiltEmbedder()
    async with AsyncMemory(config, embedder=embedder) as mem:
        receipt = await mem.add("a cat", user_id="u", infer=False, wait=True)
        embedder.spoilt = spoilt
        found = await mem.search("cat", user_id="u")
        assert [hit.text for hit in found.hits] == ["a cat"]
        assert found.degraded
        with pytest.raises(EmbedderError):
            await mem.update((await receipt).added[0], user_id="u", text="b")
        embedder.spoilt = None
        again = await mem.search("cat", user_id="u")
        assert not again.degraded


async def test_a_text_of_new_words_is_tokenised_off_the_loop(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    build = Intake.build

    def noted(self: Intake, call: Call, *, queue: bool) -> Accept:
        threads.append(threading.get_ident())
        return build(self, call, queue=queue)

    monkeypatch.setattr(Intake, "build", noted)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("word " * 2_000, user_id="u")
        await mem.add("word", user_id="u")
    assert threads[0] != threading.get_ident() == threads[1]
