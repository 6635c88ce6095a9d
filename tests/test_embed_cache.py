"""Query vectors are kept, bounded, and shared among those who ask at once."""

import asyncio
import gc
import time

import numpy as np
import pytest

from hmem.embed.cache import QueryCache
from hmem.errors import ClosedError, EmbedderError
from hmem.testing.fakes import FailingEmbedder, HangingEmbedder, HashEmbedder


async def test_a_query_is_embedded_once() -> None:
    embedder = HashEmbedder()
    cache = QueryCache(embedder, 8)
    first = await cache.vector("where is the key")
    again = await cache.vector("where is the key")
    assert embedder.calls == [("where is the key",)]
    assert again is first
    assert first.shape == (64,)
    assert np.array_equal(first, embedder.vector("where is the key"))


async def test_a_kept_vector_cannot_be_changed() -> None:
    vector = await QueryCache(HashEmbedder(), 8).vector("a")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 2.0


async def test_the_least_recently_used_goes_first() -> None:
    embedder = HashEmbedder()
    cache = QueryCache(embedder, 2)
    for query in ("a", "b", "a", "c"):
        await cache.vector(query)
    assert len(cache) == 2
    assert cache.peek("b") is None
    assert cache.peek("a") is not None
    assert len(embedder.calls) == 3


async def test_size_zero_keeps_nothing() -> None:
    embedder = HashEmbedder()
    cache = QueryCache(embedder, 0)
    await cache.vector("a")
    await cache.vector("a")
    assert (len(cache), len(embedder.calls)) == (0, 2)


async def test_another_model_does_not_see_the_first_ones_vectors() -> None:
    embedder = HashEmbedder()
    cache = QueryCache(embedder, 8)
    await cache.vector("a")
    embedder.model = "another"
    assert cache.peek("a") is None


async def test_long_queries_are_kept_apart_and_not_by_their_text() -> None:
    embedder = HashEmbedder()
    cache = QueryCache(embedder, 8)
    long = "word " * 50_000
    await cache.vector(long + "one")
    await cache.vector(long + "two")
    await cache.vector(long + "\ud800")
    await cache.vector(long + "one")
    assert len(embedder.calls) == 3
    assert max(len(key[1]) for key in cache._kept) < 100


async def test_equal_queries_at_one_moment_share_a_call() -> None:
    embedder = HangingEmbedder()
    cache = QueryCache(embedder, 8)
    waiters = [asyncio.ensure_future(cache.vector("a")) for _ in range(50)]
    other = asyncio.ensure_future(cache.vector("b"))
    await asyncio.sleep(0.01)
    assert embedder.waiting == 2
    embedder.release()
    vectors = await asyncio.gather(*waiters, other)
    assert len(embedder.calls) == 2
    assert all(vector is vectors[0] for vector in vectors[:-1])


async def test_cancelling_one_waiter_leaves_the_others() -> None:
    embedder = HangingEmbedder()
    cache = QueryCache(embedder, 8)
    first, second, third = (asyncio.ensure_future(cache.vector("a")) for _ in range(3))
    await asyncio.sleep(0.01)
    first.cancel()
    third.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert embedder.waiting == 1
    embedder.release()
    assert np.array_equal(await second, embedder.vector("a"))


async def test_cancelling_the_last_waiter_cancels_the_call() -> None:
    embedder = HangingEmbedder()
    cache = QueryCache(embedder, 8)
    waiters = [asyncio.ensure_future(cache.vector("a")) for _ in range(3)]
    await asyncio.sleep(0.01)
    for waiter in waiters:
        waiter.cancel()
    await asyncio.gather(*waiters, return_exceptions=True)
    await asyncio.sleep(0.01)
    assert embedder.waiting == 0
    assert not cache._running
    late = asyncio.ensure_future(cache.vector("a"))
    await asyncio.sleep(0.01)
    embedder.release()
    assert np.array_equal(await late, embedder.vector("a"))


async def test_who_comes_while_the_call_is_being_cancelled_gets_a_new_one() -> None:
    embedder = HangingEmbedder()
    cache = QueryCache(embedder, 8)
    first = asyncio.ensure_future(cache.vector("a"))
    await asyncio.sleep(0.01)
    first.cancel()
    second = asyncio.ensure_future(cache.vector("a"))
    await asyncio.sleep(0.01)
    embedder.release()
    assert np.array_equal(await second, embedder.vector("a"))


async def test_a_failure_reaches_all_waiters_and_is_not_kept() -> None:
    embedder = FailingEmbedder(times=1)
    cache = QueryCache(embedder, 8)
    results = await asyncio.gather(
        *(cache.vector("a") for _ in range(3)), return_exceptions=True
    )
    assert [type(result) for result in results] == [EmbedderError] * 3
    assert embedder.failed == 1
    assert np.array_equal(await cache.vector("a"), embedder.vector("a"))


async def test_a_failure_that_nobody_waits_for_is_not_reported_as_forgotten() -> None:
    reports: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, c: reports.append(c))

    class Stubborn(HashEmbedder):
        async def embed(self, *args: object, **kwargs: object) -> np.ndarray:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                raise EmbedderError("cancelled, and failed at that") from None
            raise AssertionError

    cache = QueryCache(Stubborn(), 8)
    waiter = asyncio.ensure_future(cache.vector("a"))
    await asyncio.sleep(0.01)
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    await asyncio.sleep(0.01)
    del cache, waiter
    gc.collect()
    assert reports == []


async def test_closing_fails_the_waiters_and_refuses_the_next() -> None:
    embedder = HangingEmbedder()
    cache = QueryCache(embedder, 8)
    waiters = [asyncio.ensure_future(cache.vector(text)) for text in "aab"]
    await asyncio.sleep(0.01)
    await cache.aclose()
    results = await asyncio.gather(*waiters, return_exceptions=True)
    assert [type(result) for result in results] == [ClosedError] * 3
    await cache.aclose()
    with pytest.raises(ClosedError):
        await cache.vector("a")
    assert not embedder.closed, "it belongs to whoever made it"


async def test_a_hit_costs_microseconds() -> None:
    cache = QueryCache(HashEmbedder(), 1_024)
    for i in range(1_024):
        await cache.vector(f"query {i}")
    best = float("inf")
    for _ in range(20):
        began = time.perf_counter()
        for i in range(100):
            await cache.vector(f"query {i}")
        best = min(best, time.perf_counter() - began)
    assert best / 100 < 50e-6
