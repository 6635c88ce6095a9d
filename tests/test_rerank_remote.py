"""The remote reranker against a real endpoint that misbehaves as told."""

import asyncio
import json
import socket
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from starlette.responses import (
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)

from hmem.errors import ClosedError, ConfigError, ModelError
from hmem.rerank.remote import RemoteReranker
from hmem.testing.rerank_endpoint import Body, RerankEndpoint

TEXTS = ["the cat sleeps", "the dog barks at the cat", "rain"]
QUERY = "dog and cat"
GOOD = [1 / 3, 2 / 3, 0.0]


@pytest.fixture(scope="module")
def server() -> Iterator[RerankEndpoint]:
    with RerankEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(server: RerankEndpoint) -> RerankEndpoint:
    server.reset()
    return server


@asynccontextmanager
async def opened(
    endpoint: RerankEndpoint, **settings: Any
) -> AsyncIterator[RemoteReranker]:
    settings = {"max_retries": 0, "base_url": endpoint.url, **settings}
    reranker = RemoteReranker("any", **settings)
    try:
        yield reranker
    finally:
        await reranker.aclose()


def error(status: int, **headers: str) -> JSONResponse:
    """A provider's error, which quotes what was sent, as some do."""
    body = {"error": {"message": "cannot take: SECRET", "code": "bad"}}
    return JSONResponse(body, status_code=status, headers=headers)


def told(error: BaseException) -> str:
    """All that a log would show of it, without our own lines of code."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(line for line in lines if not line.startswith("    "))


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come about")


# ------------------------------------------------------------------- what is sent


async def test_the_common_form_is_sent_and_nothing_else(
    endpoint: RerankEndpoint,
) -> None:
    async with opened(endpoint) as reranker:
        scores = await reranker.rerank(QUERY, TEXTS)
    assert scores.tolist() == pytest.approx(GOOD)
    assert endpoint.bodies == [{"model": "any", "query": QUERY, "documents": TEXTS}]
    assert endpoint.paths == ["/v1/rerank"]


async def test_no_variable_of_the_sdks_is_sent(
    endpoint: RerankEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_ORG_ID", "theirs")
    async with opened(endpoint, api_key="k-1") as reranker:
        await reranker.rerank(QUERY, TEXTS)
    async with opened(endpoint) as reranker:
        await reranker.rerank(QUERY, TEXTS)
    sent = [headers["authorization"] for headers in endpoint.headers]
    assert sent == ["Bearer k-1", "Bearer none"]
    assert not [h for h in endpoint.headers if "theirs" in str(h)]


async def test_many_texts_are_sent_in_batches(endpoint: RerankEndpoint) -> None:
    texts = [f"cat {i}" if i % 3 else "dog" for i in range(25)]
    async with opened(endpoint, batch=10) as reranker:
        scores = await reranker.rerank("dog", texts)
    assert [len(body["documents"]) for body in endpoint.bodies] == [10, 10, 5]
    assert scores.tolist() == [float(text == "dog") for text in texts]


async def test_the_front_of_long_texts_is_sent(endpoint: RerankEndpoint) -> None:
    async with opened(endpoint, query_chars=5, text_chars=7) as reranker:
        await reranker.rerank("0123456789", ["abcdefghij", "x"])
    (body,) = endpoint.bodies
    assert (body["query"], body["documents"]) == ("01234", ["abcdefg", "x"])


async def test_what_is_blank_is_not_sent_and_scores_nothing(
    endpoint: RerankEndpoint,
) -> None:
    async with opened(endpoint) as reranker:
        scores = await reranker.rerank("dog", ["", "dog", " \n"])
        assert scores.tolist() == [0.0, 1.0, 0.0]
        assert (await reranker.rerank("dog", ["", " "])).tolist() == [0.0, 0.0]
        assert (await reranker.rerank("  ", ["dog"])).tolist() == [0.0]
        assert (await reranker.rerank("dog", [])).shape == (0,)
    assert [body["documents"] for body in endpoint.bodies] == [["dog"]]


# ------------------------------------------------------------------ good replies


@pytest.mark.parametrize("under", ["results", "data"])
@pytest.mark.parametrize("named", ["relevance_score", "score"])
async def test_replies_of_all_providers_are_read(
    endpoint: RerankEndpoint, under: str, named: str
) -> None:
    endpoint.answer = lambda _: endpoint.reply(
        [(2, 0), (0, 0.25), (1, 1)], under=under, named=named
    )
    async with opened(endpoint) as reranker:
        assert (await reranker.rerank(QUERY, TEXTS)).tolist() == [0.25, 1.0, 0.0]


async def test_logits_are_mapped_by_the_logistic(endpoint: RerankEndpoint) -> None:
    logits = [-11.0, 7.5, 0.5]
    endpoint.answer = lambda _: endpoint.reply(enumerate(logits))
    async with opened(endpoint) as reranker:
        scores = await reranker.rerank(QUERY, TEXTS)
    assert np.allclose(scores, [1 / (1 + np.exp(-x)) for x in logits], atol=1e-6)


async def test_once_logits_always_logits(endpoint: RerankEndpoint) -> None:
    async with opened(endpoint) as reranker:
        endpoint.answer = lambda _: endpoint.reply([(0, 0.5), (1, 0.25), (2, 1)])
        assert (await reranker.rerank(QUERY, TEXTS)).tolist() == [0.5, 0.25, 1.0]
        endpoint.answer = lambda _: endpoint.reply([(0, 3), (1, 2), (2, -1)])
        await reranker.rerank(QUERY, TEXTS)
        endpoint.answer = lambda _: endpoint.reply([(0, 0.5), (1, 0.25), (2, 0)])
        scores = await reranker.rerank(QUERY, TEXTS)
    assert scores.tolist() == pytest.approx([0.62246, 0.56218, 0.5], abs=1e-5)


async def test_logits_in_one_batch_are_logits_in_all(endpoint: RerankEndpoint) -> None:
    answers = iter([[(0, 0.9), (1, 0.1)], [(0, 4.0)]])
    endpoint.answer = lambda _: endpoint.reply(next(answers))
    async with opened(endpoint, batch=2) as reranker:
        scores = await reranker.rerank(QUERY, TEXTS)
    assert scores.tolist() == pytest.approx([0.71095, 0.52498, 0.98201], abs=1e-5)


async def test_a_rounding_error_makes_no_logits(endpoint: RerankEndpoint) -> None:
    endpoint.answer = lambda _: endpoint.reply([(0, 1.0004), (1, -0.0004), (2, 0.5)])
    async with opened(endpoint) as reranker:
        assert (await reranker.rerank(QUERY, TEXTS)).tolist() == [1.0, 0.0, 0.5]


async def test_huge_scores_overflow_nothing(endpoint: RerankEndpoint) -> None:
    endpoint.answer = lambda _: endpoint.reply([(0, 1e308), (1, -1e308), (2, 10**30)])
    async with opened(endpoint) as reranker:
        scores = await reranker.rerank(QUERY, TEXTS)
    assert scores.tolist() == pytest.approx([1.0, 0.0, 1.0])


# ------------------------------------------------------------------ broken replies


def raw(text: str) -> PlainTextResponse:
    return PlainTextResponse(text, media_type="application/json")


def items(*pairs: tuple[Any, Any]) -> JSONResponse:
    return RerankEndpoint.reply(pairs)


ODD = {
    "another list": JSONResponse({"scores": [0.1, 0.2, 0.3]}),
    "no object": JSONResponse([{"index": 0, "relevance_score": 1}]),
    "a number": JSONResponse(7),
    "null": JSONResponse(None),
    "results of null": JSONResponse({"results": None}),
    "results in an object": JSONResponse({"results": {"0": 0.5}}),
    "results in words": JSONResponse({"results": "none"}),
    "items that are none": JSONResponse({"results": [0.1, 0.2, 0.3]}),
    "too few": items((0, 0.1), (1, 0.2)),
    "too many": items((0, 0.1), (1, 0.2), (2, 0.3), (3, 0.4)),
    "an index twice": items((0, 0.1), (1, 0.2), (1, 0.3)),
    "an index of no text": items((0, 0.1), (1, 0.2), (3, 0.3)),
    "a negative index": items((0, 0.1), (1, 0.2), (-1, 0.3)),
    "an index in words": items(("0", 0.1), ("1", 0.2), ("2", 0.3)),
    "an index that is true": items((0, 0.1), (True, 0.2), (2, 0.3)),
    "an index of null": items((None, 0.1), (None, 0.2), (None, 0.3)),
    "an index that is a list": items(([0], 0.1), ([1], 0.2), ([2], 0.3)),
    "no index": JSONResponse({"results": [{"relevance_score": 0.1}] * 3}),
    "no score": JSONResponse({"results": [{"index": i} for i in range(3)]}),
    "a score in words": items((0, "0.1"), (1, 0.2), (2, 0.3)),
    "a score of null": items((0, None), (1, 0.2), (2, 0.3)),
    "a score that is true": items((0, True), (1, 0.2), (2, 0.3)),
    "a score that is NaN": raw(
        '{"results": [{"index": 0, "relevance_score": NaN}, '
        '{"index": 1, "relevance_score": 0.1}, {"index": 2, "relevance_score": 0.1}]}'
    ),
    "a score that is infinite": raw(
        '{"results": [{"index": 0, "relevance_score": -Infinity}, '
        '{"index": 1, "relevance_score": 0.1}, {"index": 2, "relevance_score": 1e999}]}'
    ),
    "a huge integer": raw(
        '{"results": [{"index": 0, "relevance_score": 1' + "0" * 400 + "}]}"
    ),
    "a page": PlainTextResponse("<html>sign in</html>", media_type="text/html"),
    "nothing": PlainTextResponse(""),
    "half a reply": raw('{"results": ['),
    "too deep": raw('{"results": ' + "[" * 100_000),
    "no UTF-8": Response(b'{"results": "\xff\xfe"}', media_type="application/json"),
}


@pytest.mark.parametrize("name", sorted(ODD))
async def test_an_odd_reply_is_an_error_that_may_be_tried_again(
    endpoint: RerankEndpoint, name: str
) -> None:
    endpoint.answer = lambda _: ODD[name]
    async with opened(endpoint) as reranker:
        with pytest.raises(ModelError, match="reply") as caught:
            await reranker.rerank(QUERY, TEXTS)
        assert caught.value.retryable
        assert "dog" not in told(caught.value)
        endpoint.answer = endpoint.well
        assert (await reranker.rerank(QUERY, TEXTS)).tolist() == pytest.approx(GOOD)


# ----------------------------------------------------------------- failing endpoints


@pytest.mark.parametrize(
    ("status", "retryable", "names"),
    [
        (400, False, "400"),
        (401, False, "HMEM_RERANK_API_KEY"),
        (403, False, "HMEM_RERANK_API_KEY"),
        (404, False, r"HMEM_RERANK_BASE_URL.*HMEM_RERANK"),
        (413, False, "413"),
        (422, False, "422"),
        (429, True, "429"),
        (500, True, "500"),
        (501, False, "without reranking"),
        (503, True, "503"),
    ],
)
async def test_a_status_says_whether_to_try_again(
    endpoint: RerankEndpoint,
    status: int,
    retryable: bool,  # noqa: FBT001
    names: str,
) -> None:
    endpoint.answer = lambda _: error(status)
    async with opened(endpoint) as reranker:
        with pytest.raises(ModelError, match=names) as caught:
            await reranker.rerank(QUERY, TEXTS)
    assert caught.value.retryable is retryable
    assert "SECRET" not in told(caught.value)
    assert len(endpoint.bodies) == 1


async def test_retries_are_the_sdks_own(endpoint: RerankEndpoint) -> None:
    answers = iter([error(429, **{"retry-after-ms": "1"}), error(503)])
    endpoint.answer = lambda body: next(answers, None) or endpoint.well(body)
    async with opened(endpoint, max_retries=2) as reranker:
        assert (await reranker.rerank(QUERY, TEXTS)).tolist() == pytest.approx(GOOD)
    assert len(endpoint.bodies) == 3


async def test_a_wait_longer_than_the_timeout_is_not_waited_out(
    endpoint: RerankEndpoint,
) -> None:
    endpoint.answer = lambda _: error(429, **{"retry-after": "50"})
    async with opened(endpoint, max_retries=2, timeout=20.0) as reranker:
        began = time.monotonic()
        with pytest.raises(ModelError, match="429"):
            await reranker.rerank(QUERY, TEXTS)
    assert time.monotonic() - began < 15.0
    assert len(endpoint.bodies) == 1


async def test_an_endpoint_that_hangs_times_out(endpoint: RerankEndpoint) -> None:
    endpoint.answer = endpoint.hang
    async with opened(endpoint, timeout=0.1) as reranker:
        with pytest.raises(ModelError, match="timed out") as caught:
            await reranker.rerank(QUERY, TEXTS)
    assert caught.value.retryable


async def test_an_endpoint_that_drips_is_given_up(endpoint: RerankEndpoint) -> None:
    endpoint.answer = endpoint.drip(0.02)
    async with opened(endpoint, timeout=0.2) as reranker:
        with pytest.raises(ModelError, match=r"no answer in 0\.6 s") as caught:
            await reranker.rerank(QUERY, TEXTS)
    assert caught.value.retryable


async def test_an_endpoint_that_is_not_there_may_come_back(
    endpoint: RerankEndpoint,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        async with opened(endpoint, base_url=url) as reranker:
            with pytest.raises(ModelError, match="HMEM_RERANK_BASE_URL") as caught:
                await reranker.rerank(QUERY, TEXTS)
    assert caught.value.retryable


async def test_a_redirection_is_not_followed(endpoint: RerankEndpoint) -> None:
    with RerankEndpoint() as other:
        endpoint.answer = lambda _: RedirectResponse(f"{other.url}/rerank")
        async with opened(endpoint, api_key="k") as reranker:
            with pytest.raises(ModelError, match=r"307.*moved") as caught:
                await reranker.rerank(QUERY, TEXTS)
        assert other.headers == []
    assert not caught.value.retryable


async def test_a_cancelled_call_ends_its_request(endpoint: RerankEndpoint) -> None:
    endpoint.answer = endpoint.hang
    async with opened(endpoint) as reranker:
        call = asyncio.ensure_future(reranker.rerank(QUERY, TEXTS))
        await until(lambda: bool(endpoint.bodies))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: endpoint.gone == 1)
        endpoint.answer = endpoint.well
        assert (await reranker.rerank(QUERY, TEXTS)).tolist() == pytest.approx(GOOD)


async def test_after_closing_nothing_is_sent(endpoint: RerankEndpoint) -> None:
    async with opened(endpoint) as reranker:
        await reranker.rerank(QUERY, TEXTS)
        await reranker.aclose()
        with pytest.raises(ClosedError):
            await reranker.rerank(QUERY, TEXTS)
    assert len(endpoint.bodies) == 1


# ----------------------------------------------------------------------- settings


@pytest.mark.parametrize("base_url", ["", "localhost:1/v1", "ftp://h/v1", "http://h h"])
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError, match=r"HMEM_RERANK_BASE_URL, HMEM_BASE_URL"):
        RemoteReranker("any", base_url=base_url)


def test_without_an_address_the_error_names_both_variables() -> None:
    with pytest.raises(ConfigError, match=r"HMEM_RERANK_BASE_URL, HMEM_BASE_URL"):
        RemoteReranker("any", base_url=None, api_key="k")


async def test_an_escape_of_a_lone_surrogate_reaches_the_server(
    endpoint: RerankEndpoint,
) -> None:
    seen: list[str] = []

    def well(body: Body) -> Response:
        seen.append(json.dumps(body))
        return endpoint.well(body)

    endpoint.answer = well
    async with opened(endpoint) as reranker:
        scores = await reranker.rerank("left \ud83d right", ["left \ud83d", "b"])
    assert len(seen) == 1
    assert scores[0] > scores[1]
