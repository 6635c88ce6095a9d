"""A search whose best hits are read again: what changes, what stays, what is said."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmem import AsyncMemory, Config, DeadlineError, Memory, ModelError, SearchResult
from hmem.reranking import PART
from hmem.scoring import Weights
from hmem.testing.fakes import FrozenClock, HashEmbedder, WordReranker
from hmem.testing.rerank_endpoint import RerankEndpoint

SAID = [
    "The kettle on the stove is loud today",
    "We painted the shed by the river green",
    "My sister plants tulips behind the shed",
    "The river froze last winter",
    "I lost a glove near the stove",
    "Green tulips do not exist, says my sister",
]
QUERY = "what is behind the shed by the river?"
S = Weights().rerank


class Told(WordReranker):
    """A reranker that does as it is told."""

    def __init__(self, act: Callable[[str, Sequence[str]], Any]) -> None:
        super().__init__()
        self.act = act

    async def rerank(self, query: str, texts: Sequence[str]) -> Any:
        self.calls.append((query, tuple(texts)))
        found = self.act(query, texts)
        return await found if isinstance(found, Awaitable) else found


def backwards(query: str, texts: Sequence[str]) -> Any:
    """The last is the best."""
    return np.linspace(0.0, 1.0, len(texts), dtype=np.float32)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """With patience: a busy machine must not decide what is tested."""
    return Config(
        path=tmp_path / "m",
        shards=1,
        embed="none",
        durability="normal",
        query_embed_timeout=30.0,
        rerank_timeout=30.0,
    )


@asynccontextmanager
async def filled(config: Config, reranker: Any = None) -> AsyncIterator[AsyncMemory]:
    """A memory in which SAID was said by Maya, with one fact."""
    async with AsyncMemory(
        config, embedder=HashEmbedder(), reranker=reranker, clock=FrozenClock()
    ) as mem:
        if not (await mem.get_all(user_id="u", limit=1)).rows:
            messages = [{"role": "user", "content": t, "name": "Maya"} for t in SAID]
            await mem.add(messages, user_id="u", observed_at="2024-03-08", wait=True)
            fact = {"text": "Maya's sister grows tulips"}
            await mem.add([fact], user_id="u", infer=False, wait=True)
        yield mem


async def plain(config: Config, **options: Any) -> SearchResult:
    """What is found without a reranker."""
    async with filled(config) as mem:
        return await mem.search(QUERY, user_id="u", **options)


def ids(found: SearchResult) -> list[str]:
    return [hit.id for hit in found.hits]


# ------------------------------------------------------------------ what changes


async def test_a_score_is_shared_between_the_first_and_the_second_look(
    config: Config,
) -> None:
    before = {h.id: h for h in (await plain(config)).hits}
    reranker = WordReranker()
    async with filled(config, reranker) as mem:
        found = await mem.search(QUERY, user_id="u")
    assert not found.degraded
    assert len(reranker.calls) == 1
    texts = dict(zip(before, reranker.calls[0][1], strict=True))
    assert set(ids(found)) == set(before)
    for hit in found.hits:
        wanted = (1 - S) * before[hit.id].score
        wanted += S * WordReranker.score(QUERY, texts[hit.id])
        assert hit.score == pytest.approx(wanted, abs=1e-6)
        assert replace(hit, score=before[hit.id].score) == before[hit.id]
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


async def test_the_reranker_decides_where_it_has_all_the_say(config: Config) -> None:
    first = ids(await plain(config))
    async with filled(config, Told(backwards)) as mem:
        mem._rooms.retriever.weights = replace(Weights(), rerank=1.0)
        found = await mem.search(QUERY, user_id="u")
    assert ids(found) == first[::-1]
    assert found.hits[0].score == pytest.approx(1.0)
    assert found.hits[-1].score == 0.0


async def test_explain_adds_up_and_names_the_share(config: Config) -> None:
    before = {h.id: h for h in (await plain(config, explain=True)).hits}
    async with filled(config, WordReranker()) as mem:
        found = await mem.search(QUERY, user_id="u", explain=True)
        silent = await mem.search(QUERY, user_id="u")
    assert any(PART in hit.explain for hit in found.hits)
    for hit in found.hits:
        assert sum(hit.explain.values()) == pytest.approx(hit.score, abs=1e-6)
        assert 0.0 <= hit.score <= 1.0
        own = {name: part for name, part in hit.explain.items() if name != PART}
        was = {name: (1 - S) * p for name, p in before[hit.id].explain.items()}
        assert own == pytest.approx(was)
    assert not any(hit.explain for hit in silent.hits)


async def test_texts_are_as_a_reader_sees_them(config: Config) -> None:
    reranker = WordReranker()
    async with filled(replace(config, timezone="Asia/Tokyo"), reranker) as mem:
        await mem.add("Odd: no name", user_id="u", observed_at="2024-03-08T20:00:00Z")
        await mem.search(QUERY, user_id="u", k=20)
    ((query, texts),) = reranker.calls
    assert query == QUERY
    assert "Maya's sister grows tulips" in texts
    assert f"(8 March 2024) Maya: {SAID[0]}" in texts
    assert "(9 March 2024) User: Odd: no name" in texts
    assert len(texts) == len(SAID) + 2


async def test_hits_from_below_k_can_come_up(config: Config) -> None:
    first = ids(await plain(config))
    reranker = Told(backwards)
    async with filled(config, reranker) as mem:
        mem._rooms.retriever.weights = replace(Weights(), rerank=0.9)
        found = await mem.search(QUERY, user_id="u", k=2)
    assert ids(found) == first[:-3:-1]
    assert len(reranker.calls[0][1]) == len(first)


async def test_what_was_not_read_stays_in_its_order_below(config: Config) -> None:
    before = (await plain(config, explain=True)).hits
    reranker = Told(lambda _query, texts: np.full(len(texts), 0.5, np.float32))
    async with filled(replace(config, rerank_candidates=3), reranker) as mem:
        found = await mem.search(QUERY, user_id="u", explain=True)
    assert len(reranker.calls[0][1]) == 3
    assert ids(found) == [hit.id for hit in before]
    for hit, was in zip(found.hits[3:], before[3:], strict=True):
        assert PART not in hit.explain
        assert hit.score == pytest.approx((1 - S) * was.score)


async def test_min_score_is_of_the_final_score(config: Config) -> None:
    told = Told(lambda query, texts: [WordReranker.score(query, t) for t in texts])
    async with filled(config, told) as mem:
        every = await mem.search(QUERY, user_id="u")
        limit = every.hits[2].score
        some = await mem.search(QUERY, user_id="u", min_score=limit)
        none = await mem.search(QUERY, user_id="u", min_score=1.0)
        told.act = lambda _query, texts: np.ones(len(texts), np.float32)
        lifted = await mem.search(QUERY, user_id="u")
        least = lifted.hits[-1].score
        kept = await mem.search(QUERY, user_id="u", min_score=least)
    assert ids(some) == ids(every)[:3]
    assert not none.hits
    assert not none.degraded
    first = {hit.id: hit.score for hit in (await plain(config)).hits}
    assert least > first[lifted.hits[-1].id]
    assert ids(kept) == ids(lifted)


async def test_the_block_keeps_the_new_order(config: Config) -> None:
    texts = {h.id: h.text for h in (await plain(config)).hits}
    last = list(texts.values())[-1]
    async with filled(config, Told(backwards)) as mem:
        mem._rooms.retriever.weights = replace(Weights(), rerank=1.0)
        block = await mem.context(QUERY, user_id="u", max_tokens=30)
        found = await mem.search(QUERY, user_id="u", k=1)
    assert last in block.text
    assert last in found.block(max_tokens=30).text
    assert block.tokens <= 30


async def test_a_share_of_nothing_asks_nobody(config: Config) -> None:
    reranker = WordReranker()
    wanted = await plain(config, explain=True)
    async with filled(config, reranker) as mem:
        mem._rooms.retriever.weights = replace(Weights(), rerank=0.0)
        found = await mem.search(QUERY, user_id="u", explain=True)
    assert found.hits == wanted.hits
    assert not reranker.calls


# --------------------------------------------------------------------- what stays


async def test_nothing_is_asked_where_there_is_nothing_to_read(config: Config) -> None:
    reranker = WordReranker()
    async with filled(config, reranker) as mem:
        nothing = await mem.search(QUERY, user_id="u", k=0)
        nobody = await mem.search(QUERY, user_id="nobody")
        other = await mem.search(QUERY, user_id="u", session_id="none such")
    assert [len(r.hits) for r in (nothing, nobody, other)] == [0, 0, 0]
    assert not reranker.calls
    assert not any("rerank" in why for r in (nothing, nobody) for why in r.degraded)


async def test_filters_kinds_times_and_pending_turns_work_as_ever(
    config: Config,
) -> None:
    options: list[dict[str, Any]] = [
        {"kinds": "memory"},
        {"kinds": "turn", "k": 3},
        {"as_of": "2024-03-08"},
        {"as_of": "2020-01-01"},
        {"known_at": "2020-01-01"},
        {"during": ("2024-03-01", "2024-04-01")},
        {"agent_id": "none"},
        {"filters": {"colour": "none"}},
    ]
    bare = [await plain(config, **one) for one in options]
    flat = Told(lambda _query, texts: np.zeros(len(texts), np.float32))
    async with filled(config, flat) as mem:
        for one, wanted in zip(options, bare, strict=True):
            found = await mem.search(QUERY, user_id="u", **one)
            assert ids(found) == ids(wanted)
            assert found.degraded == wanted.degraded
    quick = replace(config, worker="off", path=config.folder / "pending")
    async with AsyncMemory(quick, embedder=HashEmbedder(), reranker=flat) as mem:
        await mem.add("a shed by the river", user_id="u")
        found = await mem.search(QUERY, user_id="u")
        assert found.hits[0].pending
        assert found.pending == 1


# ---------------------------------------------------------------- late and failing


async def slow(_query: str, _texts: Sequence[str]) -> Any:
    await asyncio.sleep(30)


def failing(error: BaseException) -> Callable[[str, Sequence[str]], Any]:
    def act(_query: str, _texts: Sequence[str]) -> Any:
        raise error

    return act


BROKEN: dict[str, Callable[[str, Sequence[str]], Any]] = {
    "a ModelError": failing(ModelError("down")),
    "any other error": failing(RuntimeError(QUERY)),
    "a timeout of its own": failing(TimeoutError()),
    "a call of its own that was cancelled": failing(asyncio.CancelledError()),
    "one score too few": lambda q, t: np.zeros(len(t) - 1, np.float32),
    "one score too many": lambda q, t: np.zeros(len(t) + 1, np.float32),
    "a column": lambda q, t: np.zeros((len(t), 1), np.float32),
    "a number": lambda q, t: np.float32(0.5),
    "nothing": lambda q, t: None,
    "NaN": lambda q, t: np.full(len(t), np.nan, np.float32),
    "infinity": lambda q, t: np.full(len(t), np.inf, np.float32),
    "more than 1": lambda q, t: np.full(len(t), 1.1, np.float32),
    "less than 0": lambda q, t: np.full(len(t), -0.1, np.float32),
    "a score beyond float32": lambda q, t: np.full(len(t), 1e300),
    "words": lambda q, t: ["0.5"] * len(t),
    "objects": lambda q, t: [object()] * len(t),
    "rows of several lengths": lambda q, t: [[0.5], [0.5, 0.5]] * len(t),
    "complex numbers": lambda q, t: np.zeros(len(t), np.complex64),
    "as many as it left of its texts": lambda q, t: (t.pop(), np.ones(len(t)))[1],
}


@pytest.mark.parametrize("name", sorted(BROKEN))
async def test_a_reranker_that_fails_leaves_the_first_order_and_is_named(
    config: Config, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = await plain(config, explain=True, k=4, min_score=0.1)
    events: list[tuple[str, Any]] = []
    config = replace(config, on_event=lambda *one: events.append(one))
    with caplog.at_level(logging.INFO):
        async with filled(config, Told(BROKEN[name])) as mem:
            found = await mem.search(
                QUERY, user_id="u", explain=True, k=4, min_score=0.1
            )
    assert found.hits == wanted.hits
    assert found.degraded == ("reranker_failed",)
    assert ("search_degraded", {"reasons": ("reranker_failed",)}) in events
    assert "hits keep their first order" in caplog.text
    assert "shed" not in caplog.text


@pytest.mark.parametrize(
    "scores", [[1, 0] * 9, [True, False] * 9, [0.5] * 18, (0.25,) * 18]
)
async def test_a_list_of_numbers_will_do(config: Config, scores: Sequence[Any]) -> None:
    told = Told(lambda _query, texts: scores[: len(texts)])
    async with filled(config, told) as mem:
        found = await mem.search(QUERY, user_id="u", explain=True)
    if isinstance(scores[0], bool):
        assert found.degraded == ("reranker_failed",)
    else:
        assert not found.degraded
        assert any(PART in hit.explain for hit in found.hits)


async def test_a_reranker_that_is_late_leaves_the_first_order_and_is_named(
    config: Config,
) -> None:
    wanted = await plain(config, explain=True)
    async with filled(replace(config, rerank_timeout=0.05), Told(slow)) as mem:
        found = await mem.search(QUERY, user_id="u", explain=True)
        block = await mem.context(QUERY, user_id="u")
    assert found.hits == wanted.hits
    assert found.degraded == ("reranker_timeout",)
    assert block.degraded == ("reranker_timeout",)


async def test_a_reranker_that_failed_is_left_alone_for_a_while(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.breaker.backoff", lambda *_args, **_more: 60.0)
    works: list[str] = []

    def sometimes(query: str, texts: Sequence[str]) -> Any:
        if works:
            return backwards(query, texts)
        raise OSError("down")

    told = Told(sometimes)
    async with filled(config, told) as mem:
        look = mem._rooms.retriever._again
        assert look is not None

        async def asked() -> tuple[int, tuple[str, ...]]:
            found = await mem.search(QUERY, user_id="u")
            return len(told.calls), found.degraded

        assert await asked() == (1, ("reranker_failed",))
        assert await asked() == (1, ("reranker_failed",))
        look.rest.until = 0.0
        assert await asked() == (2, ("reranker_failed",))
        assert await asked() == (2, ("reranker_failed",))
        works.append("again")
        look.rest.until = 0.0
        assert await asked() == (3, ())
        assert await asked() == (4, ())


async def test_a_callers_timeout_is_kept_and_the_first_order_given(
    config: Config,
) -> None:
    wanted = await plain(config)
    async with filled(replace(config, rerank_timeout=60.0), Told(slow)) as mem:
        found = await mem.search(QUERY, user_id="u", timeout=3.0)
        assert ids(found) == ids(wanted)
        assert found.degraded == ("reranker_timeout",)
        with pytest.raises(DeadlineError):
            await mem.search(QUERY, user_id="u", timeout=0.0)


async def test_a_cancelled_search_cancels_the_reranker_and_harms_nobody(
    config: Config,
) -> None:
    ended = asyncio.Event()
    reached = asyncio.Event()

    async def wait(_query: str, _texts: Sequence[str]) -> Any:
        reached.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    told = Told(wait)
    async with filled(replace(config, rerank_timeout=30.0), told) as mem:
        call = asyncio.ensure_future(mem.search(QUERY, user_id="u"))
        await reached.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert ended.is_set()
        told.act = backwards
        found = await mem.search(QUERY, user_id="u")
        assert found.hits
        assert not found.degraded


async def test_searches_at_one_time_do_not_mix(config: Config) -> None:
    queries = [QUERY, "who lost a glove?", "the loud kettle"]
    async with filled(config, WordReranker()) as mem:
        alone = [await mem.search(q, user_id="u") for q in queries]
        found = await asyncio.gather(*(mem.search(q, user_id="u") for q in queries * 4))
    assert [ids(one) for one in found] == [ids(one) for one in alone] * 4


async def test_a_reranker_that_was_brought_is_not_closed(config: Config) -> None:
    reranker = WordReranker()
    async with filled(config, reranker):
        pass
    assert not reranker.closed


def test_the_sync_face_reranks(config: Config) -> None:
    reranker = Told(backwards)
    with Memory(config, embedder=HashEmbedder(), reranker=reranker) as mem:
        messages = [{"role": "user", "content": text} for text in SAID]
        mem.add(messages, user_id="u").result(timeout=20)
        found = mem.search(QUERY, user_id="u", explain=True)
        block = mem.context(QUERY, user_id="u")
    assert any(PART in hit.explain for hit in found.hits)
    assert len(reranker.calls) == 2
    assert block.text
    assert not found.degraded


# -------------------------------------------------------------- over an endpoint


async def test_a_search_goes_to_the_endpoint_and_outlives_it(config: Config) -> None:
    wanted = await plain(config)
    with RerankEndpoint() as endpoint:
        config = replace(config, rerank="any", rerank_base_url=endpoint.url)
        async with filled(config) as mem:
            found = await mem.search(QUERY, user_id="u", explain=True)
            assert not found.degraded
            assert any(PART in hit.explain for hit in found.hits)
            (body,) = endpoint.bodies
            assert body["query"] == QUERY
            assert len(body["documents"]) == len(SAID) + 1

            endpoint.answer = endpoint.hang
            quick = await mem.search(QUERY, user_id="u", timeout=3.0)
            endpoint.answer = lambda _: endpoint.reply([(0, 1)])
            broken = await mem.search(QUERY, user_id="u")
        assert ids(broken) == ids(quick) == ids(wanted)
        assert broken.degraded == ("reranker_failed",)
        assert quick.degraded == ("reranker_timeout",)
