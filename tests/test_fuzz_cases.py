"""More cases of the kinds of `fts_query`, `text_unicode` and `retrieval_semantics`."""
# ruff: noqa: RUF001  the letters of other scripts are meant

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmem import AsyncMemory, BadVectorError, Config, InputError
from hmem.testing.fakes import HashEmbedder

DAY = datetime(2026, 3, 14, 9, tzinfo=UTC)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture
async def mem(config: Config) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(config, embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
async def plain(config: Config) -> AsyncIterator[AsyncMemory]:
    """Without an embedder: words alone can find anything."""
    async with AsyncMemory(config) as opened:
        for n in range(5):
            await opened.add(f"unrelated words number {n}", user_id="u")
        yield opened


async def first(mem: AsyncMemory, query: str, **options: Any) -> str:
    found = await mem.search(query, user_id="u", **options)
    return found.hits[0].text


# --------------------------------------------------- the same text in other code points


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        pytest.param("flew to İSTANBUL", "istanbul", id="dotted capital"),
        pytest.param("flew to ıstanbul", "ISTANBUL", id="dotless i"),
        pytest.param("GROẞE Straße", "große strasse", id="capital sharp s"),
        pytest.param("weighs 5 ㎏, no ① of Ⅳ", "kg 1 IV", id="squared and circled"),
        pytest.param("한글을 배워요", "한글", id="jamo"),
        pytest.param("ｶﾞｲﾄﾞです", "ガイド", id="half width with a voice mark"),
        pytest.param("أحمد في الإسكندرية", "احمد الاسكندرية", id="hamza"),
        pytest.param("ســـلام to you", "سلام", id="stretched"),
        pytest.param("ăn phở ở Đà Nẵng", "pho da nang", id="vietnamese"),
        pytest.param("he ❤ Ghent", "❤\ufe0f", id="without a selector"),
        pytest.param("ok 👍🏽", "👍", id="skin tone"),
        pytest.param("क़लम is a pen", "क़लम", id="nukta"),
        pytest.param("open 12–14 today", "12-14", id="en dash"),
        pytest.param("m̴̢á̶ỵ̈a̲ was here", "maya", id="heaps of marks"),
        pytest.param("𝐌𝐚𝐲𝐚 𝓵𝓲𝓴𝓮𝓼 bees", "maya likes", id="mathematical letters"),
        pytest.param("co\u00adoperate \ufeffnow", "cooperate", id="soft hyphen"),
        pytest.param("ดื่มน้ำทุกวัน", "น้ำ", id="sara am"),
        pytest.param("我，喝。绿茶！", "绿茶", id="full width stops"),
        pytest.param("она живёт здесь", "живет", id="yo"),
        pytest.param("Ἀθῆναι in spring", "αθηναι", id="polytonic"),
        pytest.param("naïve coöperation", "naive cooperation", id="diaeresis"),
        pytest.param("room ４０２Ｂ", "402b", id="full width number"),
        pytest.param("call ٠١٢٣٤", "01234", id="arabic figures"),
        pytest.param("she said “hi” — ok", '"hi"', id="curly quotes"),
        pytest.param("family 👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧", id="family"),
        pytest.param("flag 🇧🇹🇳🇵", "🇳🇵", id="one flag of two"),
        pytest.param("key 1️⃣ here", "1", id="keycap"),
        pytest.param("ﷺ is said", "صلى", id="one letter for a sentence"),
    ],
)
async def test_a_text_is_found_in_other_code_points(
    plain: AsyncMemory, stored: str, query: str
) -> None:
    await plain.add(stored, user_id="u")
    assert await first(plain, query, k=1) == stored


# ------------------------------------------------------------- words and never syntax


async def test_no_sign_takes_from_or_adds_to_what_words_find(
    plain: AsyncMemory,
) -> None:
    await plain.add("the kiln is hot", user_id="u")
    await plain.add("the canoe is old", user_id="u")
    asked: dict[str, Any] = {"user_id": "u", "explain": True}
    want = [h.explain for h in await plain.search("kiln canoe", **asked)]
    for query in ("-kiln canoe", "kiln !canoe", "kiln AND, canoe;", "“kiln” «canoe»"):
        bare = query.replace("AND", "")
        got = [h.explain for h in await plain.search(bare, **asked)]
        assert got == want, query


@pytest.mark.parametrize("query", ["%", "_", "*", "kil%", "ki__", "kil*", "k?ln", ".*"])
async def test_nothing_is_a_wildcard(plain: AsyncMemory, query: str) -> None:
    await plain.add("the kiln is hot", user_id="u")
    found = await plain.search(query, user_id="u", explain=True)
    assert not any(hit.explain.get("words") for hit in found)


@pytest.mark.parametrize(
    "label", ["s%", "s_", "*", "s1' OR '1'='1", "s1\u200b", "S1", "s1 "]
)
async def test_a_label_is_itself_alone(mem: AsyncMemory, label: str) -> None:
    await mem.add("the kiln", user_id="u", session_id="s1", agent_id="s1", wait=True)
    assert len(await mem.search("kiln", user_id="u", session_id="s1")) == 1
    for name in ("session_id", "agent_id"):
        assert len(await mem.search("kiln", user_id="u", **{name: label})) == 0


@pytest.mark.parametrize(
    "entity", ['bees" OR 1=1', "b.es", "b*", "[a-z]+", "%", "(bees"]
)
async def test_a_name_is_itself_alone(mem: AsyncMemory, entity: str) -> None:
    await mem.add("I keep bees", user_id="u", wait=True)
    assert len((await mem.timeline("u", entity="bees")).rows) == 1
    assert (await mem.timeline("u", entity=entity)).rows == ()


async def test_a_pattern_in_a_filter_is_itself_alone(mem: AsyncMemory) -> None:
    await mem.add("a", user_id="u", metadata={"tag": "50% off"}, wait=True)
    await mem.add("b", user_id="u", metadata={"tag": "50 off"}, wait=True)
    for part, many in (("%", 1), ("_", 0), ("50", 2), (".", 0), ("5.*", 0)):
        kept = {"tag": {"contains": part}}
        assert len(await mem.search("x", user_id="u", filters=kept)) == many, part


@pytest.mark.parametrize(
    "query", ["what is it", "the", "\u200b", "\u0301", "...", "\ufe0f"]
)
async def test_a_query_of_nothing_much_is_answered_without_noise(
    plain: AsyncMemory, query: str
) -> None:
    found = await plain.search(query, user_id="u", explain=True, k=3)
    assert all(hit.score < 0.05 for hit in found)


PASTE = " ".join(f"line{n} of log{n * 7}" for n in range(300))


@pytest.mark.parametrize("size", [2_000, 5_000, 7_900, 60_000])
@pytest.mark.parametrize("before", [True, False])
async def test_a_question_is_heard_on_both_sides_of_a_paste(
    plain: AsyncMemory, size: int, *, before: bool
) -> None:
    await plain.add("the heron nests by the kiln", user_id="u")
    paste = (PASTE * 20)[:size]
    asked = "where does the heron nest?"
    query = f"{asked}\n{paste}" if before else f"{paste}\n{asked}"
    assert await first(plain, query) == "the heron nests by the kiln"


@pytest.mark.parametrize("size", [1_500, 9_000])
async def test_a_time_is_heard_on_both_sides_of_a_paste(
    plain: AsyncMemory, size: int
) -> None:
    for days in (3, 40):
        at = DAY - timedelta(days=days)
        await plain.add(f"went out, {days}", user_id="u", observed_at=at)
    paste = ("kiln " * 2_000)[:size]
    for query in (f"what of last week? {paste}", f"{paste} what of last week?"):
        found = await plain.search(query, user_id="u", asked_at=DAY, explain=True)
        timed = [hit.text for hit in found if hit.explain.get("time")]
        assert timed == ["went out, 3"], query[:30]


async def test_a_word_after_pages_of_blanks_is_no_blank_query(
    plain: AsyncMemory,
) -> None:
    await plain.add("the kiln is hot", user_id="u")
    assert await first(plain, " \n" * 20_000 + "kiln") == "the kiln is hot"
    with pytest.raises(InputError, match="blank"):
        await plain.search(" \n" * 20_000, user_id="u")


# ------------------------------------------------------------------- what scores mean


async def fill(mem: AsyncMemory) -> None:
    words = ("kiln", "canoe", "heron", "lamp", "goose", "amber")
    for n in range(12):
        text = f"the {words[n % 6]} and the {words[(n * 5 + 1) % 6]} of day {n}"
        await mem.add(
            text,
            user_id="u",
            session_id=f"s{n % 3}",
            observed_at=DAY + timedelta(days=n),
        )
        await mem.add([f"{text} again"], user_id="u", infer=False)
    await mem.flush(timeout=20)


async def test_fewer_hits_are_the_first_of_more(mem: AsyncMemory) -> None:
    await fill(mem)
    everything = (await mem.search("kiln and goose", user_id="u", k=50)).hits
    for k in range(len(everything) + 1):
        some = await mem.search("kiln and goose", user_id="u", k=np.int64(k))
        assert some.hits == everything[:k]
        assert k == 0 or some.answerability is None or 0 <= some.answerability <= 1


async def test_a_kind_alone_keeps_its_order_and_scores(mem: AsyncMemory) -> None:
    await fill(mem)
    both = (await mem.search("heron", user_id="u", k=50)).hits
    for kind in ("memory", "turn"):
        one = (await mem.search("heron", user_id="u", k=50, kinds=kind)).hits
        assert one == tuple(hit for hit in both if hit.kind == kind)


async def test_a_fact_asked_for_in_its_own_words_scores_near_one(
    mem: AsyncMemory,
) -> None:
    await fill(mem)
    text = "the lamp and the goose of day 3 again"
    (hit,) = await mem.search(text, user_id="u", k=1, kinds="memory")
    assert hit.score > 0.9
    assert (await mem.search(text, user_id="u", min_score=1.0)).hits == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_score", float("nan")),
        ("min_score", -0.1),
        ("min_score", True),
        ("k", np.bool_(True)),
        ("k", 3.0),
        ("explain", 1),
        ("kinds", "memories"),
        ("kinds", []),
        ("category", "fact"),
        ("during", "last week"),
        ("as_of", 1_700_000_000),
        ("filters", {"n": {"like": "x"}}),
        ("filters", ["n"]),
        ("vector", [1.0, 2.0]),
        ("vector", [0.0] * 64),
        ("vector", [float("inf")] * 64),
        ("vector", ["1"] * 64),
        ("vector", np.ones(64, np.complex64)),
    ],
)
async def test_an_option_out_of_its_bounds_is_named(
    mem: AsyncMemory, name: str, value: Any
) -> None:
    await mem.add("the kiln", user_id="u", wait=True)
    wanted = BadVectorError if name == "vector" else InputError
    with pytest.raises(wanted, match=name if name != "filters" else None):
        await mem.search("kiln", user_id="u", **{name: value})


@pytest.mark.parametrize("cap", [0, -1, 1.5, True, "500", [500], np.ones(2)])
async def test_a_blocks_cap_out_of_its_bounds_is_named(
    mem: AsyncMemory, cap: Any
) -> None:
    await mem.add("the kiln", user_id="u", wait=True)
    found = await mem.search("kiln", user_id="u")
    with pytest.raises(InputError, match="max_tokens"):
        found.block(max_tokens=cap)
    assert found.block(max_tokens=np.int64(50)) == found.block(max_tokens=50)


@pytest.mark.parametrize("name", ["topK", "limit", "filter", "user", "threshold"])
async def test_an_unknown_option_is_named(mem: AsyncMemory, name: str) -> None:
    with pytest.raises(TypeError, match=name):
        await mem.search("kiln", user_id="u", **{name: 3})
    with pytest.raises(TypeError, match=name):
        await mem.context("kiln", user_id="u", **{name: 3})


@pytest.mark.parametrize("at", ["0001-01-01", "9999-12-31", "1970-01-01"])
async def test_the_ends_of_the_calendar_are_moments_like_others(
    mem: AsyncMemory, at: str
) -> None:
    await fill(mem)
    for query in (
        "kiln last week",
        "kiln in 99 years",
        "kiln a decade ago",
        "the kiln",
    ):
        for name in ("asked_at", "as_of", "known_at", "during"):
            found = await mem.search(query, user_id="u", **{name: at})
            assert all(0 <= hit.score <= 1 for hit in found)
            block = await mem.context(query, user_id="u", **{name: at})
            assert block.text == block.stable + block.dynamic


async def test_a_hit_of_a_long_turn_is_its_passage_and_leads_to_all_of_it(
    mem: AsyncMemory,
) -> None:
    text = "Rain fell on the roof. " * 150 + "The heron nested. " + "Snow fell. " * 150
    await mem.add(text, user_id="u", wait=True)
    (hit,) = await mem.search("heron", user_id="u")
    assert "heron" in hit.text
    assert len(hit.text) < len(text)
    assert hit.episode is not None
    assert hit.episode.text == text


async def test_the_same_words_said_twice_are_two_hits_in_the_same_order(
    mem: AsyncMemory,
) -> None:
    for n in range(4):
        at = DAY + timedelta(days=n)
        await mem.add("the kiln", user_id="u", session_id=f"s{n}", observed_at=at)
    await mem.flush(timeout=10)
    ids = [[h.id for h in await mem.search("kiln", user_id="u")] for _ in range(3)]
    assert len(set(ids[0])) == 4
    assert ids[0] == ids[1] == ids[2]


async def test_what_a_search_found_is_shown_as_it_was_whatever_comes_after(
    mem: AsyncMemory,
) -> None:
    await fill(mem)
    found = await mem.search("kiln", user_id="u")
    block = found.block(max_tokens=300)
    await mem.add("the kiln was sold", user_id="u", wait=True)
    await mem.delete_user("u")
    assert found.block(max_tokens=300) == block
    assert found.block(max_tokens=60).tokens <= 60


async def test_a_huge_query_costs_little_whatever_is_in_it(mem: AsyncMemory) -> None:
    await fill(mem)
    for query in ("kiln " * 10**6, "(" * 10**6, "水" * 10**6, "31 Feb " * 10**5):
        began = time.thread_time()
        await mem.search(query, user_id="u")
        assert time.thread_time() - began < 0.5
