"""The remote embedder against a real endpoint that misbehaves as told."""

import asyncio
import base64
import json
import socket
import traceback
from collections.abc import AsyncIterator, Iterator
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

from hmem.embed.remote import RemoteEmbedder
from hmem.errors import ConfigError, EmbedderError
from hmem.testing.endpoint import Body, EmbeddingsEndpoint


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingsEndpoint]:
    with EmbeddingsEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(server: EmbeddingsEndpoint) -> EmbeddingsEndpoint:
    server.reset()
    return server


@asynccontextmanager
async def opened(
    endpoint: EmbeddingsEndpoint, model: str = "any", **settings: Any
) -> AsyncIterator[RemoteEmbedder]:
    settings = {"max_retries": 0, "base_url": endpoint.url, **settings}
    embedder = RemoteEmbedder(model, **settings)
    try:
        yield embedder
    finally:
        await embedder.aclose()


def error(status: int, code: str = "bad", **headers: str) -> JSONResponse:
    """A provider's error, which quotes what was sent, as some do."""
    body = {"error": {"message": "cannot take: SECRET", "code": code}}
    return JSONResponse(body, status_code=status, headers=headers)


def told(error: BaseException) -> str:
    """All that a log would show of it, without our own lines of code."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(line for line in lines if not line.startswith("    "))


def vectors(*rows: Any, index: bool = True) -> JSONResponse:
    data = [
        {"embedding": row, **({"index": i} if index else {})}
        for i, row in enumerate(rows)
    ]
    return JSONResponse({"data": data})


def sizes(endpoint: EmbeddingsEndpoint) -> list[int]:
    return [len(body["input"]) for body in endpoint.bodies]


def same(rows: np.ndarray, endpoint: EmbeddingsEndpoint, texts: list[str]) -> bool:
    expected = np.stack([endpoint.vectors.vector(text) for text in texts])
    return bool(np.abs(rows - expected).max() < 1e-6)


# ------------------------------------------------------------------- what is sent


async def test_requests_are_bounded_in_texts(endpoint: EmbeddingsEndpoint) -> None:
    texts = [f"fact {i}" for i in range(25)]
    async with opened(endpoint, batch=10) as embedder:
        assert same(await embedder.embed(texts), endpoint, texts)
    assert sizes(endpoint) == [10, 10, 5]


async def test_requests_are_bounded_in_estimated_tokens(
    endpoint: EmbeddingsEndpoint,
) -> None:
    texts = [f"{i} " + "abc " * 70 for i in range(10)]
    async with opened(endpoint, batch_tokens=300) as embedder:
        assert same(await embedder.embed(texts), endpoint, texts)
    assert sizes(endpoint) == [3, 3, 3, 1]


async def test_floats_are_asked_for_where_base64_may_be_unknown(
    endpoint: EmbeddingsEndpoint,
) -> None:
    async with opened(endpoint) as embedder:
        await embedder.embed(["a"])
    (body,) = endpoint.bodies
    assert body == {"model": "any", "input": ["a"], "encoding_format": "float"}


async def test_a_dimension_is_asked_for_where_the_model_can_shorten(
    endpoint: EmbeddingsEndpoint,
) -> None:
    async with opened(endpoint, "openai/text-embedding-3-small", dim=64) as embedder:
        await embedder.embed(["a"])
        assert embedder.window == 8191
    async with opened(endpoint, "other", dim=64) as embedder:
        await embedder.embed(["a"])
        assert embedder.window == 512
    assert [body.get("dimensions") for body in endpoint.bodies] == [64, None]


async def test_the_key_is_sent_and_a_local_server_needs_none(
    endpoint: EmbeddingsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not ours to send")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    async with opened(endpoint, api_key="k-1") as embedder:
        await embedder.embed(["a"])
    async with opened(endpoint) as embedder:
        await embedder.embed(["a"])
    sent = [headers["authorization"] for headers in endpoint.headers]
    assert sent == ["Bearer k-1", "Bearer none"]


async def test_no_variable_of_the_sdks_is_sent(
    endpoint: EmbeddingsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "OPENAI_API_KEY": "sk-theirs",
        "OPENAI_ADMIN_KEY": "sk-theirs",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_ORG_ID": "theirs",
        "OPENAI_PROJECT_ID": "theirs",
        "OPENAI_CUSTOM_HEADERS": "X-Trace: theirs\nAuthorization: Bearer theirs",
    }.items():
        monkeypatch.setenv(name, value)
    async with opened(endpoint, api_key="k-1") as embedder:
        await embedder.embed(["a"])
    async with opened(endpoint) as embedder:
        await embedder.embed(["a"])
    sent = [headers["authorization"] for headers in endpoint.headers]
    assert sent == ["Bearer k-1", "Bearer none"]
    assert not [h for h in endpoint.headers if "theirs" in str(h)]


@pytest.mark.parametrize("tail", ["/v1", "/v1/", " /v1//  "])
async def test_an_address_may_end_in_a_slash(
    endpoint: EmbeddingsEndpoint, tail: str
) -> None:
    base = endpoint.url.removesuffix("/v1") + tail.lstrip()
    async with opened(endpoint, base_url=base) as embedder:
        await embedder.embed(["a"])
    assert endpoint.paths == ["/v1/embeddings"]


@pytest.mark.parametrize(
    "base_url",
    ["", "  ", "localhost:1/v1", "ftp://h/v1", "http://[::1/v1", "http://h h"],
)
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError, match=r"HMEM_EMBED_BASE_URL, HMEM_BASE_URL"):
        RemoteEmbedder("any", base_url=base_url, api_key="k")


@pytest.mark.parametrize("key", ["k\nX-A: b", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match="HMEM_API_KEY"):
        RemoteEmbedder("any", base_url="http://127.0.0.1:9/v1", api_key=key)


async def test_a_redirection_is_not_followed(endpoint: EmbeddingsEndpoint) -> None:
    with EmbeddingsEndpoint() as other:
        endpoint.answer = lambda _: RedirectResponse(f"{other.url}/embeddings")
        async with opened(endpoint, api_key="k") as embedder:
            with pytest.raises(EmbedderError, match=r"307.*moved") as caught:
                await embedder.embed(["a"])
        assert other.headers == []
    assert not caught.value.retryable


def test_without_key_and_url_the_error_names_both_variables() -> None:
    with pytest.raises(ConfigError, match=r"HMEM_API_KEY.*HMEM_BASE_URL"):
        RemoteEmbedder("text-embedding-3-small")


# ----------------------------------------------------------- limits of the provider


async def test_a_refused_batch_is_halved_until_it_passes(
    endpoint: EmbeddingsEndpoint,
) -> None:
    def strict(body: Body) -> Response:
        tokens = sum(len(text) for text in body["input"]) // 4
        if len(body["input"]) > 10 or tokens > 2_000:
            return error(400)
        return endpoint.well(body)

    endpoint.answer = strict
    texts = [f"fact {i} " + "abcd " * (i % 9) * 40 for i in range(300)]
    async with opened(endpoint) as embedder:
        assert same(await embedder.embed(texts), endpoint, texts)
    asked = [text for body in endpoint.bodies for text in body["input"]]
    assert set(asked) == set(texts)
    assert len(endpoint.bodies) < 2 * 300 / 5


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_one_text_over_the_limit_is_shortened_and_fails_nobody(
    endpoint: EmbeddingsEndpoint, status: int
) -> None:
    def strict(body: Body) -> Response:
        over = any(len(text.encode()) > 512 for text in body["input"])
        return error(status) if over else endpoint.well(body)

    endpoint.answer = strict
    long = "word " * 60_000
    async with opened(endpoint) as embedder:
        rows = await embedder.embed(["first", "second", long, "fourth", "fifth"])
    assert same(rows[[0, 1, 3, 4]], endpoint, ["first", "second", "fourth", "fifth"])
    assert same(rows[2:3], endpoint, [long[:512]])
    most = max(len(text) for body in endpoint.bodies for text in body["input"])
    assert most <= 512 * 4, "nobody is sent 300 KB to embed 512 tokens"


async def test_shortening_does_not_break_a_character(
    endpoint: EmbeddingsEndpoint,
) -> None:
    endpoint.answer = lambda body: (
        error(400)
        if any(len(text.encode()) > 512 for text in body["input"])
        else endpoint.well(body)
    )
    async with opened(endpoint) as embedder:
        await embedder.embed(["漢" * 2_000])
    assert endpoint.bodies[-1]["input"] == ["漢" * (512 // 3)]


async def test_a_text_refused_even_alone_is_named_by_its_position(
    endpoint: EmbeddingsEndpoint,
) -> None:
    endpoint.answer = lambda body: (
        error(400, "content_filter")
        if any("SECRET" in text for text in body["input"])
        else endpoint.well(body)
    )
    texts = ["a"] * 5 + ["SECRET plan"] + ["b"] * 3
    async with opened(endpoint) as embedder:
        with pytest.raises(
            EmbedderError, match=r"text 5.*400, content_filter"
        ) as caught:
            await embedder.embed(texts)
    assert (caught.value.position, caught.value.retryable) == (5, False)
    assert "SECRET" not in told(caught.value)


async def test_an_endpoint_that_refuses_everything_is_not_asked_per_text(
    endpoint: EmbeddingsEndpoint,
) -> None:
    endpoint.answer = lambda _: error(400)
    async with opened(endpoint) as embedder:
        with pytest.raises(EmbedderError):
            await embedder.embed([f"fact {i}" for i in range(256)])
    assert len(endpoint.bodies) < 15


async def test_a_blank_text_is_refused_before_anything_is_sent(
    endpoint: EmbeddingsEndpoint,
) -> None:
    async with opened(endpoint) as embedder:
        with pytest.raises(EmbedderError) as caught:
            await embedder.embed(["a", " \n\t"])
    assert (caught.value.position, caught.value.retryable) == (1, False)
    assert endpoint.bodies == []


# ------------------------------------------------------------------ odd replies


async def test_the_order_is_taken_from_index(endpoint: EmbeddingsEndpoint) -> None:
    def shuffled(body: Body) -> Response:
        reply = json.loads(bytes(endpoint.well(body).body))
        reply["data"] = reply["data"][::-1]
        return JSONResponse(reply)

    endpoint.answer = shuffled
    async with opened(endpoint) as embedder:
        assert same(await embedder.embed(["a", "b", "c"]), endpoint, ["a", "b", "c"])


async def test_without_any_index_the_reply_is_in_order(
    endpoint: EmbeddingsEndpoint,
) -> None:
    endpoint.answer = lambda _: vectors([1, 0], [0, 3], index=False)
    async with opened(endpoint) as embedder:
        assert (await embedder.embed(["a", "b"])).tolist() == [[1, 0], [0, 1]]
        assert embedder.dim == 2


async def test_base64_is_read_also_where_floats_were_asked_for(
    endpoint: EmbeddingsEndpoint,
) -> None:
    endpoint.answer = lambda _: vectors("AACAPwAAAAA=")
    async with opened(endpoint) as embedder:
        assert (await embedder.embed(["a"])).tolist() == [[1, 0]]


GOOD = [1.0, 0.0]
ODD: dict[str, Response] = {
    "too few vectors": vectors(GOOD),
    "too many vectors": vectors(GOOD, GOOD, GOOD),
    "none at all": JSONResponse({"data": []}),
    "null": JSONResponse({"data": None}),
    "no data": JSONResponse({"embeddings": [GOOD, GOOD]}),
    "a list": JSONResponse([GOOD, GOOD]),
    "items that are no objects": JSONResponse({"data": [GOOD, GOOD]}),
    "one vector per token": vectors([GOOD, GOOD], [GOOD]),
    "numbers in words": vectors(["1", "0"], GOOD),
    "null in a vector": vectors([None, 1.0], GOOD),
    "truth values": vectors([True, False], GOOD),
    "no vector": vectors(None, GOOD),
    "an empty vector": vectors([], []),
    "base64 that is none": vectors("AACAPw*", GOOD),
    "base64 of half a number": vectors(base64.b64encode(b"abc").decode(), GOOD),
    "two dimensions": vectors(GOOD, [1.0, 0.0, 0.0]),
    "an index twice": JSONResponse({"data": [{"embedding": GOOD, "index": 0}] * 2}),
    "an index out of range": JSONResponse(
        {"data": [{"embedding": GOOD, "index": i} for i in (1, 2)]}
    ),
    "an index in words": JSONResponse(
        {"data": [{"embedding": GOOD, "index": i} for i in ("0", "1")]}
    ),
    "an index on one only": JSONResponse(
        {"data": [{"embedding": GOOD, "index": 0}, {"embedding": GOOD}]}
    ),
    "a page": PlainTextResponse("<html>sign in</html>", media_type="text/html"),
    "nothing": PlainTextResponse(""),
    "half a reply": PlainTextResponse('{"data": [', media_type="application/json"),
    "too deep": PlainTextResponse('{"data": ' + "[" * 100_000),
    "a huge integer": PlainTextResponse(
        '{"data": [{"embedding": [1' + "0" * 400 + ", 1]}, {}]}"
    ),
}


@pytest.mark.parametrize("name", sorted(ODD))
async def test_an_odd_reply_is_an_error_that_may_be_tried_again(
    endpoint: EmbeddingsEndpoint, name: str
) -> None:
    endpoint.answer = lambda _: ODD[name]
    async with opened(endpoint) as embedder:
        with pytest.raises(EmbedderError, match="reply") as caught:
            await embedder.embed(["a", "b"])
        assert caught.value.retryable
        endpoint.answer = endpoint.well
        assert same(await embedder.embed(["a", "b"]), endpoint, ["a", "b"])


@pytest.mark.parametrize(
    "row", ["[NaN, 1.0]", "[Infinity, 1.0]", "[-Infinity, 0]", "[0, 0.0]", "[1e999, 1]"]
)
async def test_a_vector_without_direction_is_refused_with_its_position(
    endpoint: EmbeddingsEndpoint, row: str
) -> None:
    def third(body: Body) -> Response:
        rows = [row if text == "c" else "[1, 2]" for text in body["input"]]
        items = ", ".join(f'{{"embedding": {r}}}' for r in rows)
        return PlainTextResponse(f'{{"data": [{items}]}}')

    endpoint.answer = third
    async with opened(endpoint, batch=2) as embedder:
        with pytest.raises(EmbedderError) as caught:
            await embedder.embed(["a", "b", "c", "d"])
        assert (caught.value.position, caught.value.retryable) == (2, False)


async def test_large_and_small_numbers_are_scaled(endpoint: EmbeddingsEndpoint) -> None:
    endpoint.answer = lambda _: vectors([3e38, 4e38], [3e-30, 4e-30])
    async with opened(endpoint) as embedder:
        rows = await embedder.embed(["a", "b"])
    assert np.allclose(rows, [[0.6, 0.8], [0.6, 0.8]])


async def test_another_dimension_than_configured_is_refused(
    endpoint: EmbeddingsEndpoint,
) -> None:
    async with opened(endpoint, dim=128) as embedder:
        with pytest.raises(EmbedderError, match=r"64 .*128.*HMEM_EMBED_DIM") as caught:
            await embedder.embed(["a"])
        assert not caught.value.retryable


async def test_a_dimension_that_changes_later_is_refused(
    endpoint: EmbeddingsEndpoint,
) -> None:
    async with opened(endpoint) as embedder:
        await embedder.embed(["a"])
        endpoint.answer = lambda _: vectors(GOOD)
        with pytest.raises(EmbedderError, match="64"):
            await embedder.embed(["a"])


# ----------------------------------------------------------------- failing endpoints


@pytest.mark.parametrize(
    ("status", "retryable", "names"),
    [
        (401, False, "HMEM_API_KEY"),
        (403, False, "HMEM_API_KEY"),
        (404, False, "HMEM_EMBED"),
        (405, False, "405"),
        (409, True, "409"),
        (429, True, "429"),
        (500, True, "500"),
        (501, False, "without embeddings"),
        (503, True, "503"),
    ],
)
async def test_a_status_says_whether_to_try_again(
    endpoint: EmbeddingsEndpoint,
    status: int,
    retryable: bool,  # noqa: FBT001
    names: str,
) -> None:
    endpoint.answer = lambda _: error(status)
    async with opened(endpoint) as embedder:
        with pytest.raises(EmbedderError, match=names) as caught:
            await embedder.embed(["a"])
    assert caught.value.retryable is retryable
    assert "SECRET" not in told(caught.value)
    assert len(endpoint.bodies) == 1


async def test_retries_are_the_sdks_own(endpoint: EmbeddingsEndpoint) -> None:
    answers = iter([error(429, **{"retry-after-ms": "1"}), error(503)])
    endpoint.answer = lambda body: next(answers, None) or endpoint.well(body)
    async with opened(endpoint, max_retries=2) as embedder:
        assert same(await embedder.embed(["a"]), endpoint, ["a"])
    assert len(endpoint.bodies) == 3


async def test_an_endpoint_that_hangs_times_out(endpoint: EmbeddingsEndpoint) -> None:
    async def hang(_: Body) -> Response:
        await asyncio.sleep(30)
        return PlainTextResponse("")

    endpoint.answer = hang
    async with opened(endpoint, timeout=0.1) as embedder:
        with pytest.raises(EmbedderError, match="timed out") as caught:
            await embedder.embed(["a"])
    assert caught.value.retryable


async def test_an_endpoint_that_is_not_there_may_come_back(
    endpoint: EmbeddingsEndpoint,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        async with opened(endpoint, base_url=url) as embedder:
            with pytest.raises(EmbedderError, match="HMEM_BASE_URL") as caught:
                await embedder.embed(["a"])
    assert caught.value.retryable


async def test_the_count_is_an_upper_bound(endpoint: EmbeddingsEndpoint) -> None:
    async with opened(endpoint) as embedder:
        assert embedder.count("naïve 漢字 🙂") == len("naïve 漢字 🙂".encode())
