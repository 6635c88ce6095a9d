"""The chat client against a real endpoint that misbehaves as told."""

import asyncio
import itertools
import logging
import socket
import sys
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from starlette.responses import RedirectResponse, Response

import hmem.backends as backends
from hmem.backends import make_llm, register_llm
from hmem.chat.remote import RemoteLLM, from_config
from hmem.config import Config
from hmem.errors import ClosedError, ConfigError, LLMError, MissingExtraError
from hmem.protocols import Completion
from hmem.testing.chat_endpoint import Body, ChatEndpoint
from hmem.testing.llms import ScriptedLLM

ASKED = [{"role": "user", "content": "SECRET: I keep bees."}]
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 80}},
}


@pytest.fixture(scope="module")
def server() -> Iterator[ChatEndpoint]:
    with ChatEndpoint("well") as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(server: ChatEndpoint) -> ChatEndpoint:
    server.reset()
    return server


@asynccontextmanager
async def opened(endpoint: ChatEndpoint, **settings: Any) -> AsyncIterator[RemoteLLM]:
    settings = {"max_retries": 0, "base_url": endpoint.url, **settings}
    llm = RemoteLLM("any", **settings)
    try:
        yield llm
    finally:
        await llm.aclose()


async def failing(llm: RemoteLLM, **settings: Any) -> LLMError:
    """The error of a call, which holds nobody's words."""
    with pytest.raises(LLMError) as caught:
        await llm.complete(ASKED, **settings)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    return caught.value


async def until(condition: Any) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


# -------------------------------------------------------------------- what is sent


async def test_a_request_is_as_the_form_says(endpoint: ChatEndpoint) -> None:
    async with opened(endpoint) as llm:
        said = await llm.complete(ASKED)
        await llm.complete(ASKED, schema=SCHEMA, max_tokens=50)
        await llm.complete(ASKED, schema=SCHEMA, rung="json_object")
        await llm.complete(ASKED, schema={**SCHEMA, "title": "facts"}, rung="plain")
        await llm.complete(ASKED, schema={**SCHEMA, "title": "facts"})
    assert said == Completion(content="well", prompt_tokens=100, completion_tokens=20)
    first, strict, loose, plain, named = endpoint.bodies
    assert first == {"model": "any", "messages": ASKED, "temperature": 0}
    form = {"name": "answer", "strict": True, "schema": SCHEMA}
    assert strict == {
        **first,
        "max_tokens": 50,
        "response_format": {"type": "json_schema", "json_schema": form},
    }
    assert loose == {**first, "response_format": {"type": "json_object"}}
    assert plain == first
    assert named["response_format"]["json_schema"]["name"] == "facts"


async def test_halves_of_characters_can_be_sent(endpoint: ChatEndpoint) -> None:
    async with opened(endpoint) as llm:
        await llm.complete([{"role": "user", "content": "a\ud800b 🙂"}])
    assert endpoint.bodies[0]["messages"][0]["content"] == "a?b 🙂"


async def test_no_variable_of_the_sdks_is_sent(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
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
    async with opened(endpoint, api_key="k-1") as llm:
        await llm.complete(ASKED)
        await llm.probe()
    async with opened(endpoint) as llm:
        await llm.complete(ASKED)
    sent = [headers["authorization"] for headers in endpoint.headers]
    assert sent == ["Bearer k-1", "Bearer k-1", "Bearer none"]
    assert not [h for h in endpoint.headers if "theirs" in str(h)]


@pytest.mark.parametrize("tail", ["/v1", "/v1/", " /v1//  "])
async def test_an_address_may_end_in_a_slash(endpoint: ChatEndpoint, tail: str) -> None:
    base = endpoint.url.removesuffix("/v1") + tail.lstrip()
    async with opened(endpoint, base_url=base) as llm:
        await llm.complete(ASKED)
    assert endpoint.paths == ["/v1/chat/completions"]
    assert llm.endpoint == endpoint.url


async def test_an_address_is_used_as_it_is_and_the_error_says_so(
    endpoint: ChatEndpoint,
) -> None:
    async with opened(endpoint, base_url=endpoint.url.removesuffix("/v1")) as llm:
        error = await failing(llm)
    assert endpoint.paths == ["/chat/completions"]
    assert error.why == "setup"
    assert "HMEM_BASE_URL" in str(error)
    assert "/v1" in str(error)


@pytest.mark.parametrize(
    "base_url", ["", "  ", "localhost:1/v1", "ftp://h/v1", "http://", "http://[::1/v1"]
)
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError, match="HMEM_BASE_URL"):
        RemoteLLM("any", base_url=base_url, api_key="k")


def test_an_address_with_a_blank_or_a_port_that_is_none_is_refused() -> None:
    for base_url in ("http://h h/v1", "http://h:port/v1", "http://h:99999/v1"):
        with pytest.raises(ConfigError, match="HMEM_BASE_URL"):
            RemoteLLM("any", base_url=base_url)


@pytest.mark.parametrize("key", ["k\nX-A: b", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match="HMEM_API_KEY"):
        RemoteLLM("any", base_url="http://127.0.0.1:9/v1", api_key=key)


def test_without_key_and_address_the_error_names_both_variables() -> None:
    with pytest.raises(ConfigError, match=r"HMEM_API_KEY.*HMEM_BASE_URL"):
        RemoteLLM("gpt-x")


async def test_a_redirection_is_not_followed(endpoint: ChatEndpoint) -> None:
    with ChatEndpoint("elsewhere") as other:
        endpoint.answer = lambda _: RedirectResponse(f"{other.url}/chat/completions")
        async with opened(endpoint, api_key="k") as llm:
            error = await failing(llm)
        assert other.bodies == []
    assert error.why == "setup"
    assert "moved" in str(error)


# ---------------------------------------------------------------------- its quirks


def picky(endpoint: ChatEndpoint, *names: str) -> None:
    """Refuse these parameters, in the words of the endpoints that do."""
    words = {
        "temperature": "'temperature' does not support 0 with this model.",
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this "
        "model. Use 'max_completion_tokens' instead.",
        "maxLength": "Invalid schema for response_format 'answer': 'maxLength' is not "
        "permitted.",
    }

    def answer(body: Body) -> Any:
        for name in names:
            if name in str(body):
                return endpoint.fault(400, words[name])
        return endpoint.well(body)

    endpoint.answer = answer


async def test_what_the_endpoint_does_not_take_is_left_out_from_then_on(
    endpoint: ChatEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hmem")
    picky(endpoint, "temperature", "max_tokens", "maxLength")
    async with opened(endpoint) as llm:
        for _ in range(2):
            assert (await llm.complete(ASKED, schema=SCHEMA, max_tokens=9)).content
    assert len(endpoint.bodies) == 3 + 2
    last = endpoint.bodies[-1]
    assert "temperature" not in last
    assert last["max_completion_tokens"] == 9
    schema = last["response_format"]["json_schema"]["schema"]
    assert schema == {"type": "object", "properties": {"text": {"type": "string"}}}
    assert len(caplog.records) == 3
    assert "SECRET" not in caplog.text


async def test_what_is_refused_still_ends_the_call(endpoint: ChatEndpoint) -> None:
    endpoint.answer = lambda _: endpoint.fault(
        400, "temperature is not supported; max_completion_tokens; maxLength"
    )
    async with opened(endpoint) as llm:
        error = await failing(llm, schema=SCHEMA, max_tokens=9)
    assert error.why == "input"
    assert len(endpoint.bodies) == 4


async def test_calls_side_by_side_find_the_same_quirk(endpoint: ChatEndpoint) -> None:
    picky(endpoint, "temperature")
    async with opened(endpoint) as llm:
        calls = [llm.complete(ASKED) for _ in range(5)]
        assert len(await asyncio.gather(*calls)) == 5


def test_openai_is_spoken_to_in_its_own_words() -> None:
    for settings in ({}, {"base_url": "https://api.openai.com/v1/"}):
        llm = RemoteLLM("gpt-x", api_key="k", **settings)
        body = llm._dialect.body(
            "gpt-x", ASKED, schema=SCHEMA, rung="json_schema", max_tokens=9
        )
        assert body["max_completion_tokens"] == 9
        assert "maxLength" not in str(body)
        assert llm.endpoint == "https://api.openai.com/v1"


# ------------------------------------------------------------------ what went wrong


STATUSES = (
    (400, "input", "400"),
    (401, "setup", "HMEM_API_KEY"),
    (402, "setup", "quota"),
    (403, "setup", "HMEM_API_KEY"),
    (404, "setup", "HMEM_LLM"),
    (405, "setup", "HMEM_BASE_URL"),
    (408, "down", "408"),
    (409, "busy", "409"),
    (413, "too_long", "413"),
    (418, "input", "418"),
    (422, "input", "422"),
    (429, "busy", "429"),
    (500, "down", "500"),
    (502, "down", "502"),
    (503, "busy", "503"),
    (529, "busy", "529"),
)
REFUSALS = {
    "This model's maximum context length is 4096 tokens. SECRET": "too_long",
    "the request exceeds the available context size": "too_long",
    "max_completion_tokens too large: maximum context length is 9": "too_long",
    "Prompt is too long": "too_long",
    "response_format is not supported": "form",
    "json_schema: SECRET": "form",
    "JSON schema conversion failed": "form",
    "'messages' must contain the word 'json' in some form": "form",
    "Unsupported parameter: 'x'": "form",
    "failed to parse grammar": "form",
    "SECRET": "input",
}


async def test_a_status_says_what_can_be_done(endpoint: ChatEndpoint) -> None:
    async with opened(endpoint) as llm:
        for status, why, names in STATUSES:
            endpoint.bodies.clear()
            endpoint.say(endpoint.fault(status, "SECRET", code="bad_thing"))
            error = await failing(llm, schema=SCHEMA)
            assert (status, error.why) == (status, why)
            assert names in str(error)
            assert "bad_thing" in str(error)
            assert error.retryable is (why not in ("input", "too_long", "form"))
            assert len(endpoint.bodies) == 1


@pytest.mark.parametrize("status", [400, 422])
async def test_a_refusal_is_read_for_its_reason(
    endpoint: ChatEndpoint, status: int
) -> None:
    async with opened(endpoint) as llm:
        for words, why in REFUSALS.items():
            endpoint.bodies.clear()
            endpoint.answer = lambda _, w=words: endpoint.fault(status, w)
            error = await failing(llm, schema=SCHEMA, max_tokens=5)
            assert (words, error.why) == (words, why)
            assert len(endpoint.bodies) == 1
            if why == "form":
                without = await failing(llm, schema=SCHEMA, rung="plain")
                assert without.why == "input", "no form was asked for"


async def test_a_validation_error_of_a_web_framework_is_read(
    endpoint: ChatEndpoint,
) -> None:
    body = '{"detail": [{"loc": ["body", "response_format"], "input": "SECRET"}]}'
    endpoint.answer = lambda _: Response(body, 422, media_type="application/json")
    async with opened(endpoint) as llm:
        assert (await failing(llm, schema=SCHEMA)).why == "form"


async def test_a_quota_that_is_used_up_is_a_matter_of_settings(
    endpoint: ChatEndpoint,
) -> None:
    endpoint.answer = lambda _: endpoint.fault(429, code="insufficient_quota")
    async with opened(endpoint) as llm:
        assert (await failing(llm)).why == "setup"


async def test_a_code_that_is_a_sentence_is_not_passed_on(
    endpoint: ChatEndpoint,
) -> None:
    endpoint.answer = lambda _: endpoint.fault(400, code="SECRET: I keep bees")
    async with opened(endpoint) as llm:
        assert str(await failing(llm)) == "the chat endpoint answered 400"


async def test_nothing_there_is_down(endpoint: ChatEndpoint) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        async with opened(endpoint, base_url=url) as llm:
            error = await failing(llm)
            assert await llm.probe() is False
    assert (error.why, "HMEM_BASE_URL" in str(error)) == ("down", True)


async def test_a_connection_that_breaks_is_down(endpoint: ChatEndpoint) -> None:
    async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(slam, "127.0.0.1", 0) as broken:
        port = broken.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/v1"
        async with opened(endpoint, base_url=url) as llm:
            assert (await failing(llm)).why == "down"


# ------------------------------------------------------------------ retries and waits


async def test_retries_are_the_sdks_own_and_counted(endpoint: ChatEndpoint) -> None:
    endpoint.say(
        endpoint.fault(429, retry_after_ms="1"), endpoint.fault(503, retry_after_ms="1")
    )
    async with opened(endpoint, max_retries=2) as llm:
        assert (await llm.complete(ASKED)).retries == 2
        assert len(endpoint.bodies) == 3
        endpoint.answer = lambda _: endpoint.fault(500, retry_after_ms="1")
        error = await failing(llm)
    assert len(endpoint.bodies) == 6
    assert error.usage.retries == 2


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "30"}, 30.0),
        ({"retry_after": "100000000"}, 3_600.0),
        ({"retry_after_ms": "20500"}, 20.5),
        ({"retry_after": "-5"}, None),
        ({"retry_after": "soon"}, None),
        ({}, None),
    ],
    ids=str,
)
async def test_a_long_wait_is_the_callers_and_told(
    endpoint: ChatEndpoint, headers: dict[str, str], seconds: float | None
) -> None:
    endpoint.answer = lambda _: endpoint.fault(429, **headers)
    retries = 2 if seconds else 0
    began = time.monotonic()
    async with opened(endpoint, max_retries=retries) as llm:
        error = await failing(llm)
    assert (error.why, error.retry_after) == ("busy", seconds)
    assert len(endpoint.bodies) == 1
    assert time.monotonic() - began < 3


async def test_a_wait_may_be_given_as_a_date(endpoint: ChatEndpoint) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    endpoint.answer = lambda _: endpoint.fault(503, retry_after=later)
    async with opened(endpoint, max_retries=2) as llm:
        error = await failing(llm)
    assert error.retry_after == pytest.approx(100, abs=5)


# ----------------------------------------------------------------- deadlines, ending


@pytest.mark.parametrize("retries", [0, 2])
async def test_an_endpoint_that_hangs_times_out(
    endpoint: ChatEndpoint, retries: int
) -> None:
    endpoint.answer = endpoint.hang
    began = time.monotonic()
    async with opened(endpoint, timeout=0.2, max_retries=retries) as llm:
        error = await failing(llm)
        assert time.monotonic() - began < 5.0
        assert (error.why, error.retryable) == ("down", True)
        await until(lambda: endpoint.gone == len(endpoint.bodies) <= 3)
        endpoint.answer = endpoint.well
        assert (await llm.complete(ASKED)).content == "well", "its slot is free again"


async def test_a_body_that_drips_ends_after_three_timeouts(
    endpoint: ChatEndpoint,
) -> None:
    endpoint.answer = endpoint.drip(0.02)
    began = time.monotonic()
    async with opened(endpoint, timeout=0.2, max_retries=2) as llm:
        error = await failing(llm)
        assert 0.5 < time.monotonic() - began < 6
        assert (error.why, len(endpoint.bodies)) == ("down", 1)
        await until(lambda: endpoint.gone == 1)


async def test_cancelling_ends_the_request(endpoint: ChatEndpoint) -> None:
    endpoint.answer = endpoint.hang
    async with opened(endpoint) as llm:
        call = asyncio.create_task(llm.complete(ASKED))
        await until(lambda: endpoint.bodies)
        assert endpoint.gone == 0
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: endpoint.gone == 1)
        endpoint.answer = endpoint.well
        assert (await llm.complete(ASKED)).content == "well"


async def test_no_more_requests_than_allowed_are_under_way(
    endpoint: ChatEndpoint,
) -> None:
    async def slow(body: Body) -> Response:
        await asyncio.sleep(0.02)
        return endpoint.reply("well")

    endpoint.answer = slow
    async with opened(endpoint, parallel=3) as llm:
        await asyncio.gather(*(llm.complete(ASKED) for _ in range(12)))
    assert len(endpoint.bodies) == 12
    assert endpoint.most == 3


async def test_waiting_for_a_slot_is_no_part_of_the_deadline(
    endpoint: ChatEndpoint,
) -> None:
    async def slow(body: Body) -> Response:
        await asyncio.sleep(0.15)
        return endpoint.reply("well")

    endpoint.answer = slow
    async with opened(endpoint, parallel=1, timeout=0.2) as llm:
        calls = [llm.complete(ASKED) for _ in range(5)]  # 0.75 s, over 3 x 0.2
        assert len(await asyncio.gather(*calls)) == 5


async def test_closing_ends_calls_that_run_and_those_that_wait(
    endpoint: ChatEndpoint,
) -> None:
    endpoint.answer = endpoint.hang
    async with opened(endpoint, parallel=1) as llm:
        calls = [asyncio.create_task(llm.complete(ASKED)) for _ in range(3)]
        await until(lambda: endpoint.bodies)
        await llm.aclose()
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(end) for end in ends] == [ClosedError] * 3
        await llm.aclose()
        with pytest.raises(ClosedError):
            await llm.complete(ASKED)
        with pytest.raises(ClosedError):
            await llm.probe()
    assert len(endpoint.bodies) == 1


# ------------------------------------------------------------------------- the probe


@pytest.mark.parametrize(
    ("status", "well"), [(200, True), (400, True), (401, False), (429, False),
                         (500, False), (503, False), (404, False)],
)  # fmt: skip
async def test_a_probe_is_one_small_request(
    endpoint: ChatEndpoint,
    status: int,
    well: bool,  # noqa: FBT001
) -> None:
    if status != 200:
        endpoint.answer = lambda _: endpoint.fault(status, retry_after_ms="1")
    async with opened(endpoint, max_retries=2) as llm:
        assert await llm.probe() is well
    (body,) = endpoint.bodies
    assert body["max_tokens"] == 1


async def test_a_probe_gives_up_also_while_all_slots_are_taken(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.chat.remote._PROBE", 0.2)
    endpoint.answer = endpoint.hang
    async with opened(endpoint, parallel=1) as llm:
        assert await llm.probe() is False
        call = asyncio.create_task(llm.complete(ASKED))
        await until(lambda: len(endpoint.bodies) == 2)
        assert await llm.probe() is False
        assert len(endpoint.bodies) == 2
        call.cancel()


# ------------------------------------------------------------------------- by name


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "LLMS", {})


def make_scripted(config: Config) -> ScriptedLLM:
    return ScriptedLLM(model=f"scripted at {config.base_url}")


@pytest.mark.parametrize("llm", [None, "none", " none "])
def test_no_model_is_none(llm: str | None) -> None:
    assert make_llm(Config(llm=llm, base_url="http://127.0.0.1:9/v1")) is None


async def test_a_name_nobody_registered_is_a_models(endpoint: ChatEndpoint) -> None:
    config = Config(llm=" tiny ", base_url=endpoint.url, api_key="k", llm_parallel=2)
    llm = make_llm(config)
    assert isinstance(llm, RemoteLLM)
    assert (llm.model, llm.endpoint) == ("tiny", endpoint.url)
    await llm.complete(ASKED)
    await llm.aclose()
    assert endpoint.headers[0]["authorization"] == "Bearer k"


@pytest.mark.usefixtures("registry")
def test_a_registered_name_is_its_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hmem.testing.llms.make_scripted", make_scripted, raising=False)
    register_llm("acme", "hmem.testing.llms:make_scripted")
    llm = make_llm(Config(llm="acme", base_url="http://h/v1"))
    assert llm is not None
    assert llm.model == "scripted at http://h/v1"
    with pytest.raises(ConfigError, match="already"):
        register_llm("acme", "hmem.testing.llms:ScriptedLLM")


def test_a_model_whose_extra_is_missing_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("remote", "request", "faults"):
        monkeypatch.delitem(sys.modules, f"hmem.chat.{name}")
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"\[openai\]'"):
        make_llm(Config(llm="any", base_url="http://h/v1"))


def test_a_config_without_a_usable_model_is_refused() -> None:
    for llm in (None, " "):
        with pytest.raises(ConfigError, match="HMEM_LLM"):
            from_config(Config(llm=llm, base_url="http://h/v1"))
    with pytest.raises(ConfigError, match="HMEM_API_KEY"):
        make_llm(Config(llm="gpt-x"))


def test_an_empty_variable_never_leads_to_another_host() -> None:
    config = Config.from_env(
        {"HMEM_LLM": "any", "HMEM_BASE_URL": "", "HMEM_API_KEY": " "}
    )
    with pytest.raises(ConfigError, match="HMEM_BASE_URL"):
        make_llm(config)


def test_each_setting_reaches_the_client() -> None:
    llm = from_config(Config(llm="m", base_url="http://h/v1", llm_timeout=7.0))
    assert llm._client.max_retries == 2
    assert (
        list(itertools.islice(iter(llm._client.timeout.as_dict().values()), 4))
        == [7.0] * 4
    )
