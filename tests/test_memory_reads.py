import asyncio
import math
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmem import (
    AsyncMemory,
    BadTimeError,
    BadVectorError,
    Config,
    InputError,
    InputTypeError,
)
from hmem.paging import _of, _sign
from hmem.testing.fakes import (
    FrozenClock,
    HashEmbedder,
)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture
async def mem(config: Config) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(config, embedder=HashEmbedder()) as opened:
        yield opened


async def fact(mem: AsyncMemory, text: str, **more: object) -> str:
    given = [{"text": text, **more}]
    receipt = await mem.add(given, user_id="u", infer=False, wait=True, timeout=10)
    return (await receipt).added[0]


# ------------------------------------------------------------------------ reading


@pytest.mark.parametrize(
    ("k", "found"), [(0, 0), (1, 1), (3, 3), (10**9, 5), (np.int64(2), 2)]
)
async def test_k_is_a_number_from_zero_to_a_cap(
    mem: AsyncMemory, k: int, found: int
) -> None:
    await mem.add([f"bees {n}" for n in range(5)], user_id="u", wait=True)
    result = await mem.search("bees", user_id="u", k=k)
    assert len(result.hits) == found
    assert result.block(max_tokens=50).tokens <= 50


@pytest.mark.parametrize("k", [-1, None, "5", True, 2.0, [1], np.bool_(True)])
async def test_other_values_of_k_are_refused(mem: AsyncMemory, k: object) -> None:
    with pytest.raises(InputError, match="k must"):
        await mem.search("bees", user_id="u", k=k)  # type: ignore[arg-type]


async def test_max_k_caps(config: Config) -> None:
    async with AsyncMemory(replace(config, max_k=2)) as mem:
        await mem.add([f"bees {n}" for n in range(5)], user_id="u")
        assert len(await mem.search("bees", user_id="u", k=50)) == 2


@pytest.mark.parametrize(
    "query", ["", " ", "\n\t", "\0", "\ud800", None, 7, b"x", ["x"]]
)
async def test_an_empty_query_is_refused_everywhere(
    mem: AsyncMemory, query: Any
) -> None:
    with pytest.raises(InputError, match="query"):
        await mem.search(query, user_id="u")
    with pytest.raises(InputError, match="query"):
        await mem.context(query, user_id="u")


@pytest.mark.parametrize(
    "query",
    [
        *("?!", "...", "*", '"', "NOT", "NEAR(", "a:b", "C++", "don't", "foo AND", "%"),
        *(
            "'; DROP TABLE memories; --",
            "\u202e\u200b?",
            "\U0001f41d",
            "3:30",
            "x" * 100_000,
        ),
    ],
)
async def test_no_query_is_a_syntax_error(mem: AsyncMemory, query: str) -> None:
    await mem.add("I keep bees", user_id="u", wait=True)
    result = await mem.search(query, user_id="u")
    assert all(math.isfinite(hit.score) for hit in result)
    assert (await mem.context(query, user_id="u")).tokens <= 1_500


async def test_a_huge_query_is_cut_before_it_is_embedded(config: Config) -> None:
    embedder = HashEmbedder()
    async with AsyncMemory(config, embedder=embedder) as mem:
        await mem.add("bees", user_id="u", wait=True)
        await mem.search("bees " * 200_000, user_id="u")
    assert max(len(text) for call in embedder.calls for text in call) <= 8_000


@pytest.mark.parametrize(
    ("option", "error"),
    [
        pytest.param({"category": "semantics"}, InputError, id="category"),
        pytest.param({"kinds": "fact"}, InputError, id="kind"),
        pytest.param({"kinds": ["memory", "fact"]}, InputError, id="kinds"),
        pytest.param({"kinds": []}, InputError, id="no-kinds"),
        pytest.param({"kinds": 7}, InputTypeError, id="kinds-type"),
        pytest.param({"min_score": 1.5}, InputError, id="score-over-1"),
        pytest.param({"min_score": float("nan")}, InputError, id="score-nan"),
        pytest.param({"min_score": True}, InputTypeError, id="score-bool"),
        pytest.param({"as_of": "soon"}, BadTimeError, id="as-of"),
        pytest.param({"known_at": 7}, InputTypeError, id="known-at"),
        pytest.param({"asked_at": ""}, BadTimeError, id="asked-at"),
        pytest.param({"during": ("2026", "2025")}, BadTimeError, id="during-inverted"),
        pytest.param({"during": "2026-05-08T10:00"}, BadTimeError, id="during-instant"),
        pytest.param({"vector": "abc"}, BadVectorError, id="vector-str"),
        pytest.param({"vector": []}, BadVectorError, id="vector-empty"),
        pytest.param({"vector": [10**400] * 64}, BadVectorError, id="vector-huge"),
        pytest.param({"vector": [0.0] * 64}, BadVectorError, id="vector-zero"),
        pytest.param({"vector": [float("nan")] * 64}, BadVectorError, id="vector-nan"),
        pytest.param(
            {"vector": [float("inf")] + [0.0] * 63}, BadVectorError, id="vector-inf"
        ),
        pytest.param({"vector": [1.0] * 63}, BadVectorError, id="vector-short"),
        pytest.param({"vector": [[1.0] * 64]}, BadVectorError, id="vector-2d"),
        pytest.param({"agent_id": ""}, InputError, id="agent"),
        pytest.param({"session_id": 1.0}, InputTypeError, id="session"),
        pytest.param({"timeout": "1"}, InputTypeError, id="timeout"),
    ],
)
async def test_bad_read_options_are_refused_everywhere(
    mem: AsyncMemory, option: dict[str, Any], error: type[Exception]
) -> None:
    await mem.add("bees", user_id="u", wait=True)
    with pytest.raises(error):
        await mem.search("bees", user_id="u", **option)
    with pytest.raises(error):
        await mem.context("bees", user_id="u", **option)


async def test_a_callers_vector_stands_for_the_query(mem: AsyncMemory) -> None:
    said = ["I keep bees", "we sail boats"]
    await mem.add(said, user_id="u", observed_at="2026-05-08", wait=True)
    turn = (await mem.search("boats", user_id="u")).hits[0]
    vector = HashEmbedder().vector("(8 May 2026) user: we sail boats")
    for scaled in (
        vector,
        [float(x) * 1e30 for x in vector],
        vector.astype(np.float64),
    ):
        found = await mem.search("zzz", user_id="u", vector=scaled)
        assert found.hits[0].id == turn.id
        assert found.degraded == ()


async def test_a_query_is_embedded_once(config: Config) -> None:
    embedder = HashEmbedder()
    async with AsyncMemory(config, embedder=embedder) as mem:
        await mem.add("I keep bees", user_id="u", wait=True)
        embedder.calls.clear()
        many = [mem.search("bees", user_id="u") for _ in range(5)]
        first, *rest = [r.hits for r in await asyncio.gather(*many)]
        assert all(hits == first for hits in rest)
        await mem.context("bees", user_id="u")
        assert embedder.calls == [("bees",)]


async def test_explain_adds_up_and_is_empty_unless_asked_for(mem: AsyncMemory) -> None:
    await mem.add(["I keep bees", "we sail boats"], user_id="u", wait=True)
    plain = await mem.search("bees", user_id="u")
    told = await mem.search("bees", user_id="u", explain=True)
    assert all(not hit.explain for hit in plain)
    assert [hit.score for hit in plain] == [hit.score for hit in told]
    for hit in told:
        assert math.isclose(sum(hit.explain.values()), hit.score, abs_tol=1e-5)


async def test_raising_min_score_gives_a_subset(mem: AsyncMemory) -> None:
    await mem.add(
        [f"bees and {w}" for w in ("hens", "cats", "dogs")], user_id="u", wait=True
    )
    every = (await mem.search("bees and cats", user_id="u", k=10)).hits
    assert [hit.score for hit in every] == sorted(
        (h.score for h in every), reverse=True
    )
    for least in (0.0, 0.2, 0.4, 1.0):
        some = (await mem.search("bees and cats", user_id="u", min_score=least)).hits
        assert list(some) == [hit for hit in every if hit.score >= least]


async def test_kinds_and_category_filter(mem: AsyncMemory) -> None:
    await mem.add("bees are nice", user_id="u", wait=True)
    await fact(mem, "Ana keeps bees")
    await fact(mem, "Ana fed the bees on Monday", category="episodic")

    async def kinds(**more: Any) -> list[str]:
        return sorted(hit.kind for hit in await mem.search("bees", user_id="u", **more))

    assert await kinds() == ["memory", "memory", "turn"]
    assert await kinds(kinds="turn") == ["turn"]
    assert await kinds(kinds=("memory",)) == ["memory", "memory"]
    found = await mem.search("bees", user_id="u", category="episodic", kinds="memory")
    assert [hit.text for hit in found] == ["Ana fed the bees on Monday"]


async def test_a_date_means_its_end_for_as_of(config: Config) -> None:
    clock = FrozenClock(datetime(2026, 6, 1, tzinfo=UTC))
    async with AsyncMemory(config, clock=clock) as mem:
        await mem.add("bees in spring", user_id="u", observed_at="2026-03-15T18:00Z")
        await mem.add("bees in summer", user_id="u", observed_at="2026-05-20")

        async def seen(**more: Any) -> list[str]:
            return sorted(h.text for h in await mem.search("bees", user_id="u", **more))

        assert await seen(as_of="2026-03-14") == []
        assert await seen(as_of="2026-03-15") == ["bees in spring"]
        assert await seen(as_of=date(2026, 3, 15)) == ["bees in spring"]
        assert await seen(as_of="2026-03-15T17:00Z") == []
        assert await seen(as_of="2026-05") == ["bees in spring", "bees in summer"]
        assert await seen(during="2026-05") == ["bees in summer"]
        assert await seen(during=("2026-01", "2026-03-15")) == ["bees in spring"]
        assert await seen(known_at="2026-05-31") == []
        assert len(await seen(known_at="2026-06-01")) == 2


async def test_a_missing_user_is_an_empty_answer_and_makes_no_file(
    mem: AsyncMemory, tmp_path: Path
) -> None:
    assert len(await mem.search("x", user_id="nobody")) == 0
    assert (await mem.context("x", user_id="nobody")).text == ""
    assert len(await mem.get_all(user_id="nobody")) == 0
    assert await mem.history("x", user_id="nobody") == []
    assert await mem.get("x", user_id="nobody") is None
    assert await mem.delete("x", user_id="nobody") is False
    assert (await mem.delete_user("nobody")).total == 0
    assert list((tmp_path / "m").rglob("*.db")) == []


async def test_a_block_fills_its_cap_and_never_passes_it(mem: AsyncMemory) -> None:
    said = [
        f"note {n}: the bees of hive {n} made honey in field {n * 7}"
        for n in range(300)
    ]
    await mem.add(said, user_id="u", wait=True, timeout=20)
    for cap in (20, 200, 2_000):
        block = await mem.context("bees honey hive", user_id="u", max_tokens=cap)
        assert 0.8 * cap - 20 < block.tokens <= cap
    assert (await mem.context("bees", user_id="u")).tokens <= 1_500
    for bad in (0, -1, True, "5", 2.5):
        with pytest.raises(InputError, match="max_tokens"):
            await mem.context("bees", user_id="u", max_tokens=bad)  # type: ignore[arg-type]


async def test_pages_give_every_row_once_memories_first(mem: AsyncMemory) -> None:
    facts = [await fact(mem, f"fact {n}") for n in range(5)]
    await mem.delete(facts[2], user_id="u")
    await mem.add([f"turn {n}" for n in range(4)], user_id="u", wait=True)
    wanted = ["fact 0", "fact 1", "fact 3", "fact 4", *(f"turn {n}" for n in range(4))]
    for limit in range(1, 10):
        seen: list[str] = []
        cursor = None
        while True:
            page = await mem.get_all(user_id="u", limit=limit, cursor=cursor)
            assert len(page) == limit or page.cursor is None
            seen += [row.text for row in page]
            cursor = page.cursor
            if cursor is None:
                break
        assert seen == wanted
    turns = await mem.get_all(user_id="u", kinds="turn", limit=3)
    rest = await mem.get_all(user_id="u", kinds="turn", cursor=turns.cursor)
    assert [r.text for r in (*turns, *rest)] == wanted[4:]
    assert all(row.id for row in turns)


def forged(body: bytes) -> str:
    """What somebody who read the source can make."""
    return urlsafe_b64encode(_sign(_of("u", None), body) + body).decode()


async def test_a_cursor_is_good_for_its_user_and_kind_alone(mem: AsyncMemory) -> None:
    for user in ("u", "v"):
        await mem.add(["a", "b", "c"], user_id=user, wait=True)
    cursor = (await mem.get_all(user_id="u", limit=1)).cursor
    assert cursor is not None
    flipped = ("B" if cursor[0] == "A" else "A") + cursor[1:]
    bad = [
        flipped,
        cursor[:-4],
        cursor + "AAAA",
        "",
        "!",
        "\u00e9",
        "MA==",
        *(forged(body) for body in (b"9", b"0x", b"21", b"0" + b"9" * 30)),
        "A" * 5_000,
    ]
    for one in bad:
        with pytest.raises(InputError, match="cursor"):
            await mem.get_all(user_id="u", cursor=one)
    with pytest.raises(InputError, match="cursor"):
        await mem.get_all(user_id="v", cursor=cursor)
    with pytest.raises(InputError, match="cursor"):
        await mem.get_all(user_id="u", cursor=cursor, kinds="turn")
    with pytest.raises(InputTypeError):
        await mem.get_all(user_id="u", cursor=7)  # type: ignore[arg-type]
    for limit in (0, -1, True, "1", None):
        with pytest.raises(InputError, match="limit"):
            await mem.get_all(user_id="u", limit=limit)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="kind"):
        await mem.get_all(user_id="u", kinds="fact")  # type: ignore[arg-type]
