"""The ladder: every fault of a reply, in every form of JSON, ends in the facts or in a typed
error. Over a scripted model, and over a real endpoint."""

import asyncio
import itertools
import json
import logging
import socket
import threading
import traceback
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, get_args

import pytest
from starlette.responses import PlainTextResponse, Response

from hmem.chat.ladder import Answer, Ladder, Schema
from hmem.chat.peel import Unreadable, value_of
from hmem.chat.remote import RemoteLLM
from hmem.errors import (
    ClosedError,
    ExtractionError,
    LLMError,
    RefusedError,
    TruncatedError,
)
from hmem.meter import Meter
from hmem.protocols import LLM, Completion, Rung
from hmem.records import Usage
from hmem.testing.chat_endpoint import Body, ChatEndpoint
from hmem.testing.llms import Cut, Late, Refused, ScriptedLLM

RUNGS: tuple[Rung, ...] = get_args(Rung)
FACTS = ["Noor keeps bees", "SECRET: Noor lives in Ghent"]
GOOD = json.dumps({"facts": [{"text": text} for text in FACTS]})
ASKED = [
    {"role": "system", "content": "Read the facts."},
    {"role": "user", "content": "SECRET: I keep bees."},
]
SCHEMA = Schema(
    "facts",
    "1",
    {
        "type": "object",
        "properties": {
            "facts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"text": {"type": "string", "maxLength": 80}},
                },
            }
        },
    },
)


def read(value: Any) -> list[str]:
    """The texts of the facts; all of them, or Unreadable."""
    items = value.get("facts") if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise Unreadable("has no list of facts")
    texts = [item.get("text") if isinstance(item, dict) else item for item in items]
    if not all(isinstance(text, str) and text for text in texts):
        raise Unreadable("a fact without text")
    return texts


async def ask(ladder: Ladder, **settings: Any) -> Answer[list[str]]:
    given = {"schema": SCHEMA, "read": read, "purpose": "extract", "max_tokens": 500}
    return await ladder.ask(ASKED, **{**given, **settings})


# ------------------------------------------------------------------- the two models


@pytest.fixture(scope="module")
def server() -> Iterator[ChatEndpoint]:
    with ChatEndpoint(GOOD) as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(server: ChatEndpoint) -> ChatEndpoint:
    server.reset()
    return server


_NAMES = itertools.count()


@asynccontextmanager
async def remote(endpoint: ChatEndpoint, **settings: Any) -> AsyncIterator[RemoteLLM]:
    """A model whose name is new, so that nothing is known of it."""
    settings = {"base_url": endpoint.url, "max_retries": 0, **settings}
    llm = RemoteLLM(settings.pop("model", f"model-{next(_NAMES)}"), **settings)
    try:
        yield llm
    finally:
        await llm.aclose()


def rung_of(body: Body) -> Rung:
    form: Rung = body.get("response_format", {}).get("type", "plain")
    return form


def from_rung(endpoint: ChatEndpoint, top: Rung) -> None:
    """Let the endpoint refuse the stricter forms, as servers do that have none."""

    def answer(body: Body) -> Any:
        if RUNGS.index(rung_of(body)) < RUNGS.index(top):
            return endpoint.fault(400, "SECRET: response_format is not supported")
        return endpoint.well(body)

    endpoint.answer = answer


# ------------------------------------------------------------------ faults of replies

FACT = '{"text": "Noor keeps bees"}'
EMPTY = (ExtractionError, "empty")
UNREADABLE = (ExtractionError, "cannot be read")
TRUNCATED = (TruncatedError, "middle")
REPLIES: dict[str, tuple[Any, Any]] = {
    "right": (GOOD, FACTS),
    "no facts": ('{"facts": []}', []),
    "none": (None, EMPTY),
    "empty": ("", EMPTY),
    "blank": (" \n\t", EMPTY),
    "null": ("null", EMPTY),
    "fenced": (f"```json\n{GOOD}\n```", FACTS),
    "fenced and none": ('```json\n{"facts": []}\n```', []),
    "thought closed": (f"<think>SECRET {{}}</think>{GOOD}", FACTS),
    "thought not closed": (f"<think>SECRET {GOOD}", EMPTY),
    "thought alone": ("<think>SECRET</think>", EMPTY),
    "prose": (f"Sure, here they are:\n{GOOD}\nAnything else?", FACTS),
    "prose alone": ("SECRET: I found two facts.", UNREADABLE),
    "two objects": (
        '{"facts": ["Noor keeps bees"]}\n{"facts": ["SECRET: Noor lives in Ghent"]}',
        FACTS,
    ),
    "two that differ": ('{"facts": ["SECRET"]}{"text": "SECRET"}', UNREADABLE),
    "a bare list": (json.dumps([{"text": text} for text in FACTS]), FACTS),
    "a list of texts": (json.dumps(FACTS), FACTS),
    "text for the list": ('{"facts": "SECRET"}', UNREADABLE),
    "numbers for texts": ('{"facts": [{"text": 7}]}', UNREADABLE),
    "one fact of a wrong type": (f'{{"facts": [{FACT}, 7]}}', UNREADABLE),
    "a number": ("7", UNREADABLE),
    "a key twice": (
        '{"facts": ["Noor keeps bees"], "facts": ["SECRET: Noor lives in Ghent"]}',
        FACTS,
    ),
    "a key with two values": (
        '{"facts": [{"text": "SECRET", "text": "b"}]}',
        UNREADABLE,
    ),
    "the schema": (json.dumps(SCHEMA.json), UNREADABLE),
    "the schema, then facts": (json.dumps(SCHEMA.json) + GOOD, FACTS),
    "not a number": ('{"facts": [{"text": "a", "n": NaN}]}', ["a"]),
    "a huge number": ('{"facts": [{"text": "a", "n": %s}]}' % ("9" * 5_000), ["a"]),
    "deep": ('{"facts": ' + "[" * 60 + "]" * 60 + "}", UNREADABLE),
    "very deep": ('{"facts": ' + "[" * 50_000, TRUNCATED),
    "half a character": ('{"facts": ["a\\ud800b"]}', ["a\ufffdb"]),
    "cut in a string": (GOOD[:-12], TRUNCATED),
    "cut between facts": (f'{{"facts": [{FACT},', TRUNCATED),
    "cut before the last bracket": (GOOD[:-1], TRUNCATED),
    "cut in a fence": (f"```json\n{GOOD[:-1]}\n```", TRUNCATED),
    "Python's": (str(json.loads(GOOD)), FACTS),
    "a comma too many": (GOOD.replace("}]", "},]"), FACTS),
    "a quote lost": (GOOD.replace('bees"', "bees"), UNREADABLE),
    "encoded twice": (json.dumps(GOOD), FACTS),
    "a mark of order": (f"\ufeff{GOOD}", FACTS),
    "parsed": (json.loads(GOOD), FACTS),
    "parsed, and none": ({"facts": []}, []),
    "a parsed list": ([{"text": text} for text in FACTS], FACTS),
    "parts": ([{"type": "text", "text": GOOD}], FACTS),
    "parts of thought": (
        [{"type": "thinking", "thinking": "SECRET"}, {"type": "text", "text": GOOD}],
        FACTS,
    ),
    "thought in parts alone": ([{"type": "reasoning", "text": GOOD}], EMPTY),
    "ten megabytes": ('{"facts": ["' + "x" * 10_000_000 + '"]}', UNREADABLE),
}


async def check(
    ladder: Ladder, expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The facts, all of them, or the error expected; nobody's words in it."""
    if isinstance(expected, tuple):
        kind, words = expected
        with pytest.raises(kind, match=words) as caught:
            await ask(ladder)
        assert type(caught.value) is kind
        assert isinstance(caught.value.usage, Usage)
        assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    else:
        answer = await ask(ladder)
        assert answer.value == expected
        assert read(value_of(answer.reply)) == expected, "what is kept reads the same"
        answer.reply.encode()
        assert "think" not in answer.reply
    assert not [
        record
        for record in caplog.records
        if record.levelno > logging.DEBUG and "SECRET" in record.getMessage()
    ]


@pytest.mark.parametrize("rung", RUNGS)
async def test_each_fault_in_each_form_with_a_scripted_model(
    rung: Rung, caplog: pytest.LogCaptureFixture
) -> None:
    for name, (content, expected) in REPLIES.items():
        with about(name):
            llm = ScriptedLLM(then=content, rungs=RUNGS[RUNGS.index(rung) :])
            await check(Ladder(llm), expected, caplog)
            assert 0 < len(llm.calls) <= 4


async def over_http(
    endpoint: ChatEndpoint,
    rung: Rung,
    cases: Mapping[str, tuple[Any, Any]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Check each case with the endpoint giving that reply for ever."""
    caplog.set_level(logging.INFO)
    from_rung(endpoint, rung)
    async with remote(endpoint) as llm:
        for name, (reply, expected) in cases.items():
            with about(name):
                llm.model = f"model-{next(_NAMES)}"
                endpoint.bodies.clear()
                endpoint.say(*[reply] * 4)
                await check(Ladder(llm), expected, caplog)
                assert 0 < len(endpoint.bodies) <= 4
                endpoint.unsay()


@contextmanager
def about(name: str) -> Iterator[None]:
    """Name the case in what fails."""
    try:
        yield
    except BaseException as e:
        e.add_note(f"with the reply {name!r}")
        raise


@pytest.mark.parametrize(
    "rung",
    [
        RUNGS[0],  # the others differ in what is asked; a scripted model has them above
        *(pytest.param(rung, marks=pytest.mark.slow) for rung in RUNGS[1:]),
    ],
)
async def test_each_fault_in_each_form_over_http(
    endpoint: ChatEndpoint, rung: Rung, caplog: pytest.LogCaptureFixture
) -> None:
    await over_http(endpoint, rung, REPLIES, caplog)


@pytest.mark.parametrize("rung", RUNGS)
async def test_a_model_that_is_wrong_once_is_asked_again(
    endpoint: ChatEndpoint, rung: Rung
) -> None:
    from_rung(endpoint, rung)
    async with remote(endpoint) as llm:
        for name, (reply, expected) in REPLIES.items():
            if isinstance(expected, list):
                continue
            with about(name):
                llm.model = f"model-{next(_NAMES)}"
                endpoint.say(reply)
                assert (await ask(Ladder(llm))).value == FACTS


# --------------------------------------------------------------- faults of endpoints


def ended(finish: str, content: Any = GOOD, **message: Any) -> Response:
    return ChatEndpoint.reply(content, finish=finish, **message)


def bare(text: str | bytes, media: str = "application/json") -> Response:
    return Response(text, media_type=media)


ENDINGS: dict[str, tuple[Response, Any]] = {
    "length": (ended("length"), (TruncatedError, "token limit")),
    "length in thought": (
        ended("length", "<think>SECRET"),
        (TruncatedError, "token limit"),
    ),
    "length and nothing": (ended("length", None), (TruncatedError, "token limit")),
    "a filter": (ended("content_filter", "SECRET"), (RefusedError, "declined")),
    "a refusal": (ended("stop", None, refusal="SECRET"), (RefusedError, "declined")),
    "a refusal beside it": (
        ended("stop", refusal="SECRET"),
        (RefusedError, "declined"),
    ),
    "a refusal in parts": (
        ended("stop", [{"type": "refusal", "refusal": "SECRET"}]),
        (RefusedError, "declined"),
    ),
    "a filter before": (
        ChatEndpoint.fault(400, "SECRET", code="content_filter"),
        (RefusedError, "declined"),
    ),
    "reasoning alone": (ended("stop", "", reasoning_content=GOOD), EMPTY),
    "reasoning beside it": (ended("stop", reasoning_content="SECRET"), FACTS),
    "a call of a tool": (ended("tool_calls", None, tool_calls=[{"id": "1"}]), EMPTY),
    "no finish": (ChatEndpoint.reply(GOOD, finish=None), FACTS),
    "no choices": (bare('{"choices": []}'), EMPTY),
    "no message": (bare('{"choices": [{}]}'), EMPTY),
    "message null": (bare('{"choices": [{"message": null}]}'), EMPTY),
    "choices null": (bare('{"choices": null}'), (LLMError, "no chat completion")),
    "a choice of text": (bare('{"choices": ["a"]}'), (LLMError, "no chat completion")),
    "a list": (bare(f"[{GOOD}]"), (LLMError, "no chat completion")),
    "an error with 200": (
        bare('{"error": {"message": "SECRET", "code": 502}}'),
        (LLMError, "no chat completion"),
    ),
    "garbage": (bare(b"\xff\xfe\x00SECRET"), (LLMError, "no chat completion")),
    "half a body": (bare('{"choices": [{"mess'), (LLMError, "no chat completion")),
    "a deep body": (bare("[" * 100_000), (LLMError, "no chat completion")),
    "a page": (bare("<html>SECRET", "text/html"), (LLMError, "no chat completion")),
    "nothing": (bare(""), (LLMError, "no chat completion")),
    "another content type": (
        PlainTextResponse(bytes(ended("stop").body), media_type="text/plain"),
        FACTS,
    ),
    "usage of nonsense": (
        bare(
            '{"choices": [{"message": {"content": "[\\"a\\"]"}}], "usage": '
            '{"prompt_tokens": -5, "completion_tokens": "many"}}'
        ),
        ["a"],
    ),
    "400": (ChatEndpoint.fault(400, "SECRET"), (LLMError, "400")),
    "401": (ChatEndpoint.fault(401, "SECRET"), (LLMError, "HMEM_API_KEY")),
    "404": (ChatEndpoint.fault(404, "SECRET"), (LLMError, "HMEM_BASE_URL")),
    "408": (ChatEndpoint.fault(408, "SECRET"), (LLMError, "408")),
    "413": (ChatEndpoint.fault(413, "SECRET"), (LLMError, "413")),
    "429": (ChatEndpoint.fault(429, "SECRET", retry_after="7"), (LLMError, "429")),
    "500": (ChatEndpoint.fault(500, "SECRET"), (LLMError, "500")),
    "503": (ChatEndpoint.fault(503, "SECRET"), (LLMError, "503")),
    "400 about the form": (
        ChatEndpoint.fault(400, "response_format: SECRET"),
        (LLMError, "400"),
    ),
}


@pytest.mark.parametrize("rung", RUNGS)
async def test_each_ending_in_each_form_over_http(
    endpoint: ChatEndpoint, rung: Rung, caplog: pytest.LogCaptureFixture
) -> None:
    await over_http(endpoint, rung, ENDINGS, caplog)


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("name", ["hang", "drip", "not there"])
async def test_an_endpoint_that_gives_no_answer_in_each_form(
    endpoint: ChatEndpoint, name: str, rung: Rung, caplog: pytest.LogCaptureFixture
) -> None:
    from_rung(endpoint, rung)
    endpoint.say(endpoint.hang if name == "hang" else endpoint.drip(0.02))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        there = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        url = there if name == "not there" else endpoint.url
        async with remote(endpoint, timeout=0.1, base_url=url) as llm:
            with pytest.raises(LLMError) as caught:
                await ask(Ladder(llm))
    assert (caught.value.why, caught.value.retryable) == ("down", True)


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param(Cut(GOOD), TruncatedError, id="cut"),
        pytest.param(Refused("SECRET"), RefusedError, id="refused"),
        pytest.param(RuntimeError("SECRET"), LLMError, id="a bug of the client's"),
        pytest.param(LLMError("gone", why="down"), LLMError, id="down"),
        pytest.param(LLMError("not yet", why="waiting"), LLMError, id="waiting"),
        pytest.param(LLMError("no", why="too_long"), LLMError, id="too long"),
        pytest.param(ClosedError("closed"), LLMError, id="closed"),
    ],
)
async def test_what_a_model_raises_ends_the_question(
    step: Any, expected: type[Exception], rung: Rung
) -> None:
    llm = ScriptedLLM(then=step, rungs=RUNGS[RUNGS.index(rung) :])
    with pytest.raises(expected) as caught:
        await ask(Ladder(llm))
    assert len(llm.calls) == RUNGS.index(rung) + 1, "at once"
    assert "SECRET" not in str(caught.value)


async def test_a_model_that_returns_no_completion_is_an_error() -> None:
    class Odd(ScriptedLLM):
        async def complete(self, *_: Any, **__: Any) -> Completion:
            return None  # type: ignore[return-value]

    with pytest.raises(LLMError) as caught:
        await ask(Ladder(Odd()))
    assert caught.value.why == "reply"


# -------------------------------------------------------------------- what is asked


async def test_the_schema_and_the_word_json_are_in_the_prompt_where_no_form_holds_them(
    endpoint: ChatEndpoint,
) -> None:
    endpoint.say("no", "no", "no", GOOD)
    async with remote(endpoint) as llm:
        answer = await ask(Ladder(llm))
    forms = [body.get("response_format") for body in endpoint.bodies]
    assert forms[0]["json_schema"]["schema"] == SCHEMA.json
    assert forms[0]["json_schema"]["strict"] is True
    assert forms[1:] == [{"type": "json_object"}, None, None]
    systems = [body["messages"][0]["content"] for body in endpoint.bodies]
    assert systems[0] == "Read the facts."
    form = json.dumps(SCHEMA.json, separators=(",", ":"))
    assert all("JSON" in text and form in text for text in systems[1:])
    users = [body["messages"][-1]["content"] for body in endpoint.bodies]
    assert users[:3] == ["SECRET: I keep bees."] * 3
    assert "holds no JSON object" in users[3], "it is told what was wrong"
    assert [len(body["messages"]) for body in endpoint.bodies] == [2] * 4
    assert [body["max_tokens"] for body in endpoint.bodies] == [500] * 4
    assert answer.usage.rung == "plain"
    assert ASKED[0]["content"] == "Read the facts.", (
        "the caller's messages are the caller's"
    )


async def test_a_chat_without_system_message_gets_one_for_the_form() -> None:
    llm = ScriptedLLM([GOOD], rungs=["plain"])
    await Ladder(llm).ask(
        ASKED[1:], schema=SCHEMA, read=read, purpose="extract", max_tokens=9
    )
    roles = [[m["role"] for m in call.messages] for call in llm.calls]
    assert roles == [["user"], ["system", "user"], ["system", "user"]]


async def test_the_reason_quoted_is_short() -> None:
    def wordy(_: Any) -> str:
        raise Unreadable("x" * 10_000)

    llm = ScriptedLLM(then=GOOD)
    with pytest.raises(ExtractionError) as caught:
        await ask(Ladder(llm), read=wordy)
    assert len(str(caught.value)) < 300
    assert len(llm.calls[-1].messages[-1]["content"]) < 400


async def test_the_reply_to_keep_is_the_text_or_json_of_what_was_parsed() -> None:
    spaced = '{ "facts":\n ["a"] }'
    replies = [spaced, {"facts": ["é"]}, f"<think>x</think>{spaced}"]
    ladder = Ladder(ScriptedLLM(replies))
    kept = [(await ask(ladder)).reply for _ in replies]
    assert kept == [spaced, '{"facts":["é"]}', '{"facts":["a"]}']


async def test_a_parsed_value_that_is_too_long_to_keep_is_unreadable() -> None:
    llm = ScriptedLLM(then={"facts": ["x" * 3_000_000]})
    with pytest.raises(ExtractionError, match="too long"):
        await ask(Ladder(llm))


async def test_a_long_reply_is_read_in_a_thread() -> None:
    where: list[str] = []

    def noting(value: Any) -> list[str]:
        where.append(threading.current_thread().name)
        return read(value)

    ladder = Ladder(ScriptedLLM([GOOD, json.dumps(["x" * 100_000])]))
    await ask(ladder, read=noting)
    await ask(ladder, read=noting)
    assert where[0] == threading.main_thread().name != where[1]


# --------------------------------------------------------------- what is remembered


async def test_the_form_that_worked_is_shared_by_all_ladders_of_a_model(
    endpoint: ChatEndpoint,
) -> None:
    from_rung(endpoint, "json_object")
    async with remote(endpoint, model="shared") as llm:
        await ask(Ladder(llm))
        await ask(Ladder(llm))
    async with remote(endpoint, model="shared") as llm:
        await ask(Ladder(llm))
    forms = [rung_of(body) for body in endpoint.bodies]
    assert forms == ["json_schema", *["json_object"] * 3]


async def test_another_model_begins_with_the_strictest_form(
    endpoint: ChatEndpoint,
) -> None:
    from_rung(endpoint, "plain")
    for name in ("one", "two"):
        async with remote(endpoint, model=name) as llm:
            await ask(Ladder(llm))
    assert [rung_of(body) for body in endpoint.bodies] == [*RUNGS, *RUNGS]


async def test_another_endpoint_begins_with_the_strictest_form(
    endpoint: ChatEndpoint,
) -> None:
    from_rung(endpoint, "plain")
    async with remote(endpoint, model="moved") as llm:
        await ask(Ladder(llm))
    with ChatEndpoint(GOOD) as other:
        async with remote(other, model="moved") as llm:
            assert (await ask(Ladder(llm))).usage.rung == "json_schema"


async def test_a_form_whose_reply_cannot_be_read_is_not_tried_again() -> None:
    llm = ScriptedLLM(["prose", GOOD, GOOD])
    ladder = Ladder(llm)
    assert (await ask(ladder)).usage.rung == "json_object"
    assert ladder.rung == "json_object"
    assert (await ask(ladder)).usage == Usage(
        llm_calls=1,
        prompt_tokens=llm_tokens(llm),
        completion_tokens=len(GOOD.split()),
        rung="json_object",
        milliseconds=pytest.approx(0, abs=5e3),
    )


def llm_tokens(llm: ScriptedLLM) -> int:
    return sum(len(m["content"].split()) for m in llm.calls[-1].messages)


async def test_a_cut_reply_says_nothing_against_the_form() -> None:
    ladder = Ladder(ScriptedLLM([GOOD[:-3], GOOD]))
    assert (await ask(ladder)).usage.rung == "json_object"
    assert ladder.rung == "json_schema"


async def test_a_question_that_failed_teaches_nothing_but_what_was_refused() -> None:
    ladder = Ladder(ScriptedLLM(then="prose"))
    with pytest.raises(ExtractionError):
        await ask(ladder)
    assert ladder.rung == "json_schema"
    ladder = Ladder(ScriptedLLM(then="prose", rungs=["plain"]))
    with pytest.raises(ExtractionError):
        await ask(ladder)
    assert ladder.rung == "plain"


async def test_a_model_without_an_endpoint_is_remembered_by_its_ladder_alone() -> None:
    first, second = Ladder(ScriptedLLM(["prose", GOOD])), Ladder(ScriptedLLM([GOOD]))
    await ask(first)
    assert (await ask(second)).usage.rung == "json_schema"


# -------------------------------------------------------------- how much it may cost


async def test_a_question_takes_at_most_four_requests(endpoint: ChatEndpoint) -> None:
    endpoint.content, was = "prose", endpoint.content
    try:
        async with remote(endpoint) as llm:
            with pytest.raises(ExtractionError):
                await ask(Ladder(llm))
            assert len(endpoint.bodies) == 4
            from_rung(endpoint, "plain")
            with pytest.raises(ExtractionError):
                await ask(Ladder(llm))
            assert len(endpoint.bodies) == 8
    finally:
        endpoint.content = was


async def test_a_down_endpoint_is_asked_once_and_retried_by_the_sdk_alone(
    endpoint: ChatEndpoint,
) -> None:
    endpoint.answer = lambda _: endpoint.fault(503, retry_after_ms="1")
    async with remote(endpoint, max_retries=2) as llm:
        with pytest.raises(LLMError) as caught:
            await ask(Ladder(llm))
    assert len(endpoint.bodies) == 3
    assert caught.value.usage.retries == 2
    assert caught.value.usage.llm_calls == 0


async def test_an_empty_reply_is_met_with_one_further_try() -> None:
    llm = ScriptedLLM(then="")
    with pytest.raises(ExtractionError, match="empty"):
        await ask(Ladder(llm))
    assert len(llm.calls) == 2
    llm = ScriptedLLM(then="", rungs=["plain"])
    with pytest.raises(ExtractionError, match="empty"):
        await ask(Ladder(llm))
    assert [call.rung for call in llm.calls] == [*RUNGS, "plain"]


async def test_usage_sums_all_requests_and_is_put_on_the_error(
    endpoint: ChatEndpoint,
) -> None:
    meter = Meter()
    from_rung(endpoint, "json_object")
    endpoint.say("prose", endpoint.fault(429, retry_after_ms="1"), GOOD, "prose")
    async with remote(endpoint, max_retries=2) as llm:
        ladder = Ladder(llm, meter=meter, price_in=2.0, price_out=10.0)
        answer = await ask(ladder)
        endpoint.say(*["prose"] * 2)
        with pytest.raises(ExtractionError) as caught:
            await ask(ladder, purpose="profile")
    spent = answer.usage
    assert (spent.llm_calls, spent.retries, spent.rung) == (3, 1, "plain")
    assert (spent.prompt_tokens, spent.completion_tokens) == (200, 40)
    assert spent.cost == pytest.approx((200 * 2 + 40 * 10) / 1e6)
    assert spent.milliseconds > 0
    assert caught.value.usage.prompt_tokens == 200
    told = meter.snapshot()
    assert told["extract"] == {
        "asked": 1,
        "failures": 0,
        "calls": 3,
        "prompt_tokens": 200,
        "completion_tokens": 40,
        "retries": 1,
        "milliseconds": spent.milliseconds,
        "rungs": {"plain": 1},
        "cost": spent.cost,
    }
    assert (told["profile"]["failures"], told["profile"]["calls"]) == (1, 2)
    assert meter.total().prompt_tokens == 400


async def test_without_prices_there_is_no_cost() -> None:
    meter = Meter()
    assert (await ask(Ladder(ScriptedLLM([GOOD]), meter=meter))).usage.cost is None
    assert meter.snapshot()["extract"]["cost"] is None


async def test_waiting_for_a_recorded_answer_is_no_failure() -> None:
    meter = Meter()
    with pytest.raises(LLMError):
        await ask(Ladder(ScriptedLLM([LLMError("later", why="waiting")]), meter=meter))
    assert meter.snapshot()["extract"]["failures"] == 0


async def test_a_question_that_is_cancelled_keeps_what_it_cost() -> None:
    meter = Meter()
    llm: LLM = ScriptedLLM(["prose", Late(30, GOOD)])
    asking = asyncio.create_task(ask(Ladder(llm, meter=meter)))
    await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    told = meter.snapshot()["extract"]
    assert (told["calls"], told["failures"]) == (1, 0)
