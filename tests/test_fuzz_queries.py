"""Queries that nobody should ask: the short form of `bench.queries`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from bench import queries
from bench.holding import holding
from bench.planted import SCRIPTS, planted
from bench.queries import WordEmbedder, faults, is_blank, run
from bench.queries_kinds import Kinds
from hmem import AsyncMemory, Config, InputError
from hmem.embed.minilm import MiniLM
from hmem.testing.fakes import HashEmbedder
from hmem.text import query_tokens

SEED = 20_261


@pytest.mark.timeout(180)
async def test_no_query_breaks_and_every_script_is_found() -> None:
    found = await run(2_000, seed=SEED, turns=60, rounds=1, long=0.03)
    assert found["examples"] == []
    assert found["planted"]["lost"] == []
    assert set(found["planted"]["asked"]) == set(SCRIPTS)
    assert found["queries"] == 2_000
    assert found["refused_as_blank"] > 50
    assert found["hits"] > 3_000
    assert set(found["degraded"]) == {"unknown_filter_key:none"}
    assert max(found["held_ms"].values()) < 4 * queries.HELD_MS, found["held_ms"]


async def test_what_is_wrong_with_an_answer_is_seen(tmp_path: Path) -> None:
    config = Config(path=tmp_path, embed="none", durability="normal")
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        for n in range(3):
            await mem.add(f"the kiln and the canoe {n}", user_id="u", wait=True)
        found = await mem.search("kiln", user_id="u", explain=True)
    assert [*faults(found, explain=True, options={})] == []
    assert len([*faults(found, explain=True, options={"k": 2})]) == 1
    assert len([*faults(found, explain=True, options={"min_score": 0.99})]) == 1
    assert len([*faults(found, explain=False, options={})]) == 1


@pytest.mark.parametrize(
    ("query", "blank"),
    [("", True), (" \n\u3000", True), ("\0\ud800", True), ("?", False), ("\0x", False)],
)
async def test_blank_is_what_leaves_nothing_to_look_for(
    tmp_path: Path, query: str, *, blank: bool
) -> None:
    assert is_blank(query) == blank
    async with AsyncMemory(Config(path=tmp_path, embed="none")) as mem:
        if blank:
            with pytest.raises(InputError, match="blank"):
                await mem.search(query, user_id="u")
        else:
            assert len(await mem.search(query, user_id="u")) == 0


async def test_a_step_that_holds_the_loop_is_seen() -> None:
    with holding() as held:
        await asyncio.sleep(0)
        assert held.computed_ms < 5
        held.start()
        asyncio.get_running_loop().call_soon(lambda: sum(range(3_000_000)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert held.computed_ms > 5
    assert held.clock_ms >= held.computed_ms * 0.9


@pytest.mark.parametrize("kind", sorted(Kinds(queries.random.Random(0)).long))
def test_the_words_of_a_huge_query_are_those_of_its_front(kind: str) -> None:
    text = Kinds(queries.random.Random(SEED)).long[kind]()[:8_000]
    some, all_of_it = query_tokens(text, limit=128), query_tokens(text)
    assert len(some) <= 128
    assert len(set(all_of_it.tolist())) == len(all_of_it)
    assert all_of_it.tolist()[:128] == some.tolist()


# ------------------------------------------------- words that an embedder does not know


class Monoglot(HashEmbedder):
    """To it all that is not ASCII is one and the same word."""

    def __init__(self) -> None:
        super().__init__(model="test-monoglot")
        self.asked: list[str] = []

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        if purpose == "query":
            self.asked += texts
        return await super().embed(texts, purpose=purpose)

    def known(self, text: str) -> float:
        told = text.split()
        return sum(map(str.isascii, told)) / len(told)

    @staticmethod
    def _words(text: str) -> list[str]:
        return [word if word.isascii() else "?" for word in text.split()]


async def test_words_find_what_the_embedder_cannot_read(tmp_path: Path) -> None:
    config = Config(path=tmp_path, embed="none", durability="normal")
    embedder = Monoglot()
    async with AsyncMemory(config, embedder=embedder) as mem:
        for n in range(12):
            await mem.add(f"\U0001f422 \u9f9f {chr(0x1F400 + n)}", user_id="u")
        await mem.add(["my sign is \U0001f41d these days"], user_id="u", infer=False)
        await mem.flush(timeout=10)
        found = await mem.search("\U0001f41d", user_id="u")
        assert "sign" in found.hits[0].text
        assert found.degraded == ("query_unread",)
        assert embedder.asked == []
        found = await mem.search("is my sign \U0001f41d", user_id="u")
        assert found.degraded == ()
        assert embedder.asked == ["is my sign \U0001f41d"]
        vector = embedder.vector("my sign is")
        given = await mem.search("\U0001f41d", user_id="u", vector=vector)
        assert given.degraded == ()


@pytest.mark.model
async def test_the_local_model_tells_what_it_cannot_read(tmp_path: Path) -> None:
    embedder = MiniLM.load()
    share = embedder.known
    assert share("where is the caf\u00e9?") == share("what?!") == 1.0
    assert share("\U0001f41d") == share("\u1781\u17d2\u1789\u17bb\u17c6") == 0.0
    assert 0.5 < share("who is \U0001f41d?") < 1.0
    rows = [one for one in planted() if one.script in ("emoji", "thai", "chinese")]
    config = Config(path=tmp_path, durability="normal", query_embed_timeout=60)
    async with AsyncMemory(config, embedder=embedder) as mem:
        await mem.add([row.text for row in rows], user_id="u", infer=False, wait=True)
        for row in rows:
            found = await mem.search(row.word, user_id="u", k=3)
            assert any(row.word in hit.text for hit in found), row.word
    await embedder.aclose()


@pytest.mark.parametrize("terms", [4, 250])
async def test_a_search_for_many_words_leaves_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terms: int
) -> None:
    gone: list[Any] = []
    config = Config(path=tmp_path, embed="none", durability="normal")
    async with AsyncMemory(config, embedder=WordEmbedder()) as mem:
        said = [f"word{n} and word{n // 2} of the kiln" for n in range(600)]
        await mem.add(said, user_id="u", wait=True)
        await mem.search("kiln", user_id="u")
        views = mem._rooms.retriever.views
        plain = views.read

        async def read(user: str, use: Any, *, weight: int = 1) -> Any:
            gone.append(weight)
            return await plain(user, use, weight=weight)

        monkeypatch.setattr(views, "read", read)
        query = " ".join(f"word{n}" for n in range(terms))
        assert len(await mem.search(query, user_id="u")) == 10
    assert (gone[0] * 600 > 8_000) == (terms == 250)
