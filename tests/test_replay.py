"""Recordings: what is written, what is read back, and what is never mistaken."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmem.errors import (
    ConfigError,
    DamagedStoreError,
    EmbedderError,
    InputTypeError,
    LLMError,
    NewerFormatError,
    StoreError,
)
from hmem.protocols import Completion, Rung
from hmem.replay import Cassette, ReplayEmbedder, ReplayLLM
from hmem.replay.entries import Chat, Refusal, chat_request
from hmem.testing.fakes import FailingEmbedder, HashEmbedder
from hmem.testing.llms import ScriptedLLM
from tests.forms import many

SCHEMA = {"type": "object", "properties": {"facts": {"type": "array"}}}
SYSTEM = {"role": "system", "content": "You keep a memory.\n" + "Rule. " * 100}


def asked(text: str, *, system: Mapping[str, str] = SYSTEM) -> list[dict[str, str]]:
    return [dict(system), {"role": "user", "content": text}]


def chat(text: str, reply: Completion | Refusal, **fields: Any) -> Chat:
    request = chat_request("small", asked(text), schema=SCHEMA, **fields)
    return Chat(key=request.key, request=request, reply=reply)


def said(content: object, **fields: Any) -> Completion:
    return Completion(content=content, **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.txt"


class TestTheFile:
    def test_it_can_be_read_by_a_person(self, path: Path) -> None:
        Cassette(path).record(chat("I moved to Ghent.\nReally.", said('{"facts": []}')))
        text = path.read_text("utf-8")
        assert text.startswith("hmem cassette 1\n")
        assert "\n- user\n| I moved to Ghent.\n| Really.\n" in text
        assert '\n- reply finish=stop prompt=0 completion=0\n| {"facts": []}\n' in text

    def test_a_prompt_that_entries_share_is_written_once(self, path: Path) -> None:
        Cassette(path).record(*[chat(f"turn {n}", said("x")) for n in range(5)])
        assert path.read_text("utf-8").count("You keep a memory.") == 1
        assert len(Cassette(path)) == 5

    def test_it_is_for_its_owner_alone(self, path: Path) -> None:
        cassette = Cassette(path)
        cassette.record(chat("a", said("b")))
        assert path.stat().st_mode & 0o077 == 0
        path.chmod(0o644)
        cassette.record(chat("c", said("d")))
        cassette.tidy()
        assert path.stat().st_mode & 0o777 == 0o644

    def test_making_one_touches_nothing(self, path: Path) -> None:
        assert len(Cassette(path)) == 0
        assert not path.exists()

    def test_its_order_depends_on_nothing_but_its_entries(self, tmp_path: Path) -> None:
        entries = [chat(f"turn {n}", said(f"reply {n}")) for n in range(9)]
        one, other = Cassette(tmp_path / "one"), Cassette(tmp_path / "other")
        one.record(*entries)
        for entry in (*entries[4:], *entries[:6]):
            other.record(entry)
        assert one.path.read_bytes() != other.path.read_bytes()
        one.tidy()
        other.tidy()
        assert one.path.read_bytes() == other.path.read_bytes()
        turns = [c.request.messages[1]["content"] for c in Cassette(one.path).chats()]
        assert turns == sorted(turns)

    def test_what_was_tidied_can_be_added_to(self, path: Path) -> None:
        cassette = Cassette(path)
        for n in range(4):
            cassette.record(chat(f"turn {n}", said("x")))
            cassette.tidy()
        assert len(Cassette(path)) == 4
        assert path.read_text("utf-8").count("You keep a memory.") == 1

    def test_entries_can_be_dropped_and_recorded_anew(self, path: Path) -> None:
        cassette, old = Cassette(path), chat("a", said("old"))
        cassette.record(old, chat("b", said("x")))
        assert cassette.drop(old.key, "unknown") == 1
        assert old.key not in Cassette(path)
        cassette.record(chat("a", said("new")))
        assert Cassette(path).find(old.key) == chat("a", said("new"))

    def test_a_file_that_came_with_other_line_ends_is_the_same(
        self, path: Path
    ) -> None:
        Cassette(path).record(chat("a\nb", said("c\r\nd")))
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert Cassette(path).chats() == [chat("a\nb", said("c\r\nd"))]


WORDS = st.text(
    st.characters(exclude_categories=[]) | st.sampled_from("\n\r\\|=- \u2028\ud800")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
).filter(lambda value: value is not None)


class TestRoundTrips:
    @settings(
        max_examples=many(30, 80),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(
        turns=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=3),
        content=st.none() | WORDS | st.lists(VALUES, max_size=2),
        finish=st.sampled_from(["stop", "length", "refused"]),
        counts=st.tuples(*[st.integers(0, 10**6)] * 3),
    )
    def test_any_text_comes_back_as_it_was(
        self,
        tmp_path: Path,
        turns: list[tuple[str, str]],
        content: object,
        finish: Any,
        counts: tuple[int, int, int],
    ) -> None:
        path = tmp_path / "any"
        path.unlink(missing_ok=True)
        request = chat_request(
            "a model", [{"role": role, "content": text} for role, text in turns]
        )
        reply = Completion(
            content=content,
            finish=finish,
            prompt_tokens=counts[0],
            completion_tokens=counts[1],
            retries=counts[2],
        )
        Cassette(path).record(Chat(key=request.key, request=request, reply=reply))
        (back,) = Cassette(path).chats()
        assert back.request == request
        assert repr(back.reply) == repr(reply)  # NaN is not equal to itself

    @pytest.mark.parametrize(
        "text",
        [
            "= end",
            "= chat 00",
            "- reply finish=stop prompt=1 completion=1",
            "| a\n\\ b",
            "",
            "\n\n",
            "trailing blanks  ",
            "\x00\x1b[31m",
            "\ud83d\ude00 as two halves",
        ],
    )
    def test_no_text_can_pass_for_the_form(self, path: Path, text: str) -> None:
        system = {"role": "system", "content": text * 500}
        request = chat_request("m", asked(text, system=system))
        entry = Chat(key=request.key, request=request, reply=said(text))
        Cassette(path).record(entry)
        assert Cassette(path).chats() == [entry]
        Cassette(path).record(chat("after", said("x")))
        assert len(Cassette(path)) == 2

    def test_a_message_may_carry_more_than_role_and_content(self, path: Path) -> None:
        messages = [
            {"role": "user", "name": "bo", "content": "hi"},
            {"role": "reply", "content": "no role"},
            {"role": "two words", "content": "at all"},
        ]
        request = chat_request("a  model\t", messages)
        Cassette(path).record(Chat(key=request.key, request=request, reply=said("x")))
        assert Cassette(path).chats()[0].request == request

    @pytest.mark.parametrize(
        "model", ["m", "org/model:7b", ' "quoted"', "", "two  blanks", "ünicode"]
    )
    def test_any_name_of_a_model_comes_back(self, path: Path, model: str) -> None:
        request = chat_request(model, asked("a"))
        Cassette(path).record(Chat(key=request.key, request=request, reply=said("x")))
        assert Cassette(path).chats()[0].request.model == model


class TestKeys:
    def test_a_key_is_for_ever(self) -> None:
        request = chat_request(
            "small",
            [{"role": "user", "content": "h\u00e9"}],
            schema={"b": 1, "a": [True, None]},
            rung="plain",
            max_tokens=7,
        )
        assert request.key == "2fb0cb5e3244fcaf3c6e4c9a186aff19"

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param({"model": "other"}, id="model"),
            pytest.param({"rung": "plain"}, id="rung"),
            pytest.param({"max_tokens": 8}, id="max_tokens"),
            pytest.param({"schema": {"type": "array"}}, id="schema"),
            pytest.param({"messages": asked("b")}, id="messages"),
        ],
    )
    def test_every_part_of_a_request_is_in_its_key(self, other: dict[str, Any]) -> None:
        fields: dict[str, Any] = {
            "model": "small",
            "messages": asked("a"),
            "schema": SCHEMA,
            "max_tokens": 7,
        }
        one = chat_request(**fields)
        assert chat_request(**(fields | other)).key != one.key

    def test_the_order_of_a_schema_is_not(self) -> None:
        one = chat_request("m", asked("a"), schema={"a": 1, "b": (2, 3)})
        assert (
            one.key == chat_request("m", asked("a"), schema={"b": [2, 3], "a": 1}).key
        )

    @pytest.mark.parametrize(
        "bad",
        [
            "a text",
            [{"role": "user"}],
            [{"role": "user", "content": 3}],
            ["text"],
        ],
    )
    def test_what_is_no_chat_is_refused(self, bad: Any) -> None:
        with pytest.raises(InputTypeError):
            chat_request("m", bad)


class TestDamage:
    def test_a_file_that_is_cut_anywhere_gives_whole_entries_or_none(
        self, tmp_path: Path
    ) -> None:
        entries = [chat(f"turn {n} \x07", said(f"reply {n}\n")) for n in range(3)]
        whole = tmp_path / "whole"
        Cassette(whole).record(*entries)
        data, path, seen = whole.read_bytes(), tmp_path / "cut", set()
        ends = [n for n, byte in enumerate(data) if byte == ord("\n")]
        near = {end + by for end in ends for by in (-1, 0, 1, 2)}
        for size in sorted(
            n for n in near | {*range(0, len(data), 7)} if n < len(data)
        ):
            path.write_bytes(data[:size])
            found = Cassette(path).chats()
            assert found == entries[: len(found)]
            seen.add(len(found))
        assert seen == {0, 1, 2}

    def test_a_cut_end_is_said_and_the_next_recording_removes_it(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        Cassette(path).record(chat("a", said("b")))
        good = path.read_bytes()
        Cassette(path).record(chat("c", said("secret")))
        path.write_bytes(path.read_bytes()[:-4])
        cassette = Cassette(path)
        with caplog.at_level(logging.WARNING, "hmem.replay"):
            assert len(cassette) == 1
        assert "entries cut off, which are not used: 1" in caplog.text
        assert path.read_bytes() != good, "reading changes nothing"
        cassette.record(chat("e", said("f")))
        assert path.read_bytes().startswith(good)
        assert b"secret" not in path.read_bytes()
        assert len(Cassette(path)) == 2

    def test_a_cut_entry_with_others_after_it_is_left_out_alone(
        self, path: Path, tmp_path: Path
    ) -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        Cassette(one).record(chat("a", said("x")), chat("b", said("y")))
        Cassette(two).record(chat("c", said("z")))
        tail = two.read_bytes().partition(b"\n")[2]
        path.write_bytes(one.read_bytes()[:-30] + tail)
        assert Cassette(path).chats() == [chat("a", said("x")), chat("c", said("z"))]

    def test_a_changed_reply_is_refused_until_it_is_signed(self, path: Path) -> None:
        Cassette(path).record(chat("a", said("Ghent")))
        changed = path.read_text("utf-8").replace("| Ghent", "| Bruges")
        path.write_text(changed, "utf-8")
        with pytest.raises(DamagedStoreError, match="write `= end` alone"):
            Cassette(path).load()
        head, _, _ = changed.rpartition("= end")
        path.write_text(f"{head}= end\n", "utf-8")
        assert Cassette(path).chats() == [chat("a", said("Bruges"))]

    def test_a_changed_request_is_refused_although_it_is_signed(
        self, path: Path
    ) -> None:
        Cassette(path).record(chat("in Ghent", said("x")))
        changed = path.read_text("utf-8").replace("| in Ghent", "| in Bruges")
        head, _, _ = changed.rpartition("= end")
        path.write_text(f"{head}= end\n", "utf-8")
        with pytest.raises(DamagedStoreError, match="what was asked was changed") as e:
            Cassette(path).load()
        assert "Bruges" not in str(e.value)

    @pytest.mark.parametrize(
        ("text", "error"),
        [
            pytest.param("PNG\n", DamagedStoreError, id="another file"),
            pytest.param("hmem cassette 2\n", NewerFormatError, id="a later version"),
            pytest.param(
                "hmem cassette 1\n<<<<<<< ours\n", DamagedStoreError, id="a conflict"
            ),
            pytest.param(
                "hmem cassette 1\n= song 00\n= end\n", DamagedStoreError, id="a kind"
            ),
            pytest.param(
                "hmem cassette 1\n= chat 00\nmodel m\n= end\n",
                DamagedStoreError,
                id="no blocks",
            ),
            pytest.param(
                "hmem cassette 1\n= end\n", DamagedStoreError, id="an end alone"
            ),
            pytest.param(
                "hmem cassette 1\n= text 00\n- text\nbare\n= end\n",
                DamagedStoreError,
                id="a bare line",
            ),
        ],
    )
    def test_what_is_no_cassette_is_refused_by_name(
        self, path: Path, text: str, error: type[Exception]
    ) -> None:
        path.write_text(text, "utf-8")
        with pytest.raises(error, match=r"answers\.txt"):
            Cassette(path).load()
        with pytest.raises(error):
            Cassette(path).record(chat("a", said("b")))
        assert path.read_text("utf-8") == text

    def test_bytes_that_are_no_text_are_refused(self, path: Path) -> None:
        Cassette(path).record(chat("abc", said("x")))
        path.write_bytes(path.read_bytes().replace(b"abc", b"a\xffc"))
        with pytest.raises(DamagedStoreError, match="not UTF-8"):
            Cassette(path).load()

    def test_a_recorder_that_is_killed_leaves_whole_entries(self, path: Path) -> None:
        code = textwrap.dedent(
            """
            import sys
            from hmem.protocols import Completion
            from hmem.replay import Cassette
            from hmem.replay.entries import Chat, chat_request
            cassette = Cassette(sys.argv[1])
            for n in range(100_000):
                words = [{"role": "user", "content": f"{n} " * 2000}]
                r = chat_request("m", words)
                reply = Completion(content=f"{n} " * 2000)
                cassette.record(Chat(key=r.key, request=r, reply=reply))
                print(n, flush=True)
            """
        )
        recorder = subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert recorder.stdout is not None
        last = [recorder.stdout.readline() for _ in range(20)][-1]
        os.kill(recorder.pid, signal.SIGKILL)
        recorder.wait(20)
        recorder.stdout.close()
        found = Cassette(path).chats()
        numbers = {int(c.request.messages[0]["content"].split()[0]) for c in found}
        assert numbers >= set(range(int(last) + 1))
        for c in found:
            assert isinstance(c.reply, Completion)
            assert c.reply.content == c.request.messages[0]["content"]


class TestManyRecorders:
    async def test_tasks_that_record_at_once_lose_nothing(self, path: Path) -> None:
        cassette = Cassette(path)
        llm = ReplayLLM(cassette, llm=ScriptedLLM(lambda ms: ms[-1]["content"] * 2))
        await asyncio.gather(*[llm.complete(asked(f"t{n % 15}")) for n in range(60)])
        again = ReplayLLM(Cassette(path))
        for n in range(15):
            assert (await again.complete(asked(f"t{n}"))).content == f"t{n}" * 2
        assert len(Cassette(path)) == 15

    def test_processes_that_record_at_once_lose_nothing(self, path: Path) -> None:
        code = textwrap.dedent(
            """
            import sys
            from hmem.protocols import Completion
            from hmem.replay import Cassette
            from hmem.replay.entries import Chat, chat_request
            cassette, me = Cassette(sys.argv[1]), sys.argv[2]
            for n in range(30):
                for who in (me, "both"):
                    words = [{"role": "system", "content": "S" * 900},
                             {"role": "user", "content": f"{who} {n}"}]
                    r = chat_request("m", words)
                    reply = Completion(content=f"by {me}")
                    stands, = cassette.record(Chat(key=r.key, request=r, reply=reply))
                    if who == "both":
                        print(n, stands.reply.content, flush=True)
                if n == 20:
                    cassette.tidy()
            """
        )
        recorders = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(path), name],
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("a", "b")
        ]
        outs = [recorder.communicate(timeout=40)[0] for recorder in recorders]
        assert [recorder.returncode for recorder in recorders] == [0, 0]
        assert outs[0] == outs[1], "one answer stands for each request, for both"
        assert len(Cassette(path)) == 90
        assert list(path.parent.iterdir()) == [path]

    def test_one_recorder_sees_what_another_appended(self, path: Path) -> None:
        one, other = Cassette(path), Cassette(path)
        one.record(chat("a", said("first")))
        (stands,) = other.record(chat("a", said("second")))
        assert stands == chat("a", said("first"))
        other.record(chat("b", said("x")))
        one.record(chat("c", said("y")))
        assert len(one) == 3


class TestReplayLLM:
    async def test_what_was_recorded_is_given_back_as_it_was(self, path: Path) -> None:
        replies = {
            "a": said("text", prompt_tokens=9, completion_tokens=3, retries=2),
            "b": said({"facts": [1, None]}, prompt_tokens=1),
            "c": said("cut", finish="length"),
            "d": said(None, finish="refused"),
        }
        inner = ScriptedLLM(lambda ms: replies[ms[-1]["content"]])
        llm = ReplayLLM(Cassette(path), llm=inner)
        for key, reply in replies.items():
            assert await llm.complete(asked(key), schema=SCHEMA) == reply
        await llm.aclose()
        assert inner.closed
        again = ReplayLLM(Cassette(path))
        assert again.model == inner.model
        for key, reply in replies.items():
            assert await again.complete(asked(key), schema=SCHEMA) == reply
        assert len(inner.calls) == len(replies)

    async def test_equal_requests_at_one_moment_are_asked_once(
        self, path: Path
    ) -> None:
        inner = ScriptedLLM(["one", "two"])
        llm = ReplayLLM(Cassette(path), llm=inner)
        found = await asyncio.gather(*[llm.complete(asked("a")) for _ in range(5)])
        assert {reply.content for reply in found} == {"one"}

    async def test_refusals_of_a_request_are_replayed(self, path: Path) -> None:
        def only_plain(messages: Sequence[Mapping[str, str]]) -> object:
            return LLMError("no such form", why="form", retryable=False)

        llm = ReplayLLM(Cassette(path), llm=ScriptedLLM(only_plain))
        for one in (llm, ReplayLLM(Cassette(path))):
            with pytest.raises(LLMError, match="no such form") as e:
                await one.complete(asked("a"), schema=SCHEMA)
            assert (e.value.why, e.value.retryable) == ("form", False)

    @pytest.mark.parametrize("why", ["down", "busy", "setup", "waiting", "reply"])
    async def test_a_failure_is_not_recorded(self, path: Path, why: Any) -> None:
        inner = ScriptedLLM([LLMError("not now", why=why), "then"])
        llm = ReplayLLM(Cassette(path), llm=inner)
        with pytest.raises(LLMError, match="not now"):
            await llm.complete(asked("a"))
        assert len(llm.cassette) == 0
        assert (await llm.complete(asked("a"))).content == "then"

    @pytest.mark.parametrize("empty", [None, "", "  \n"])
    async def test_an_answer_that_says_nothing_is_asked_for_again(
        self, path: Path, empty: str | None
    ) -> None:
        inner = ScriptedLLM([said(empty), said("now"), said("never")])
        llm = ReplayLLM(Cassette(path), llm=inner)
        got = [(await llm.complete(asked("a"))).content for _ in range(3)]
        assert got == [empty, "now", "now"]
        assert (await ReplayLLM(Cassette(path)).complete(asked("a"))).content == "now"

    async def test_strictly_nobody_is_asked(self, path: Path) -> None:
        inner = ScriptedLLM(["x"])
        llm = ReplayLLM(Cassette(path), llm=inner, strict=True)
        with pytest.raises(LLMError) as e:
            await llm.complete(asked("a"))
        assert (e.value.why, inner.calls) == ("waiting", [])

    @pytest.mark.parametrize(
        ("other", "named"),
        [
            pytest.param({"max_tokens": 9}, "max_tokens (recorded 8, asked 9)", id="n"),
            pytest.param({"schema": {"type": "array"}}, "schema", id="schema"),
            pytest.param(
                {"messages": asked("one\ntwo\nDRIE")},
                "message 2 (user) from line 3 on",
                id="line",
            ),
            pytest.param(
                {"messages": asked("one\ntwo\nthree")[1:]},
                "the number of messages (recorded 2, asked 1)",
                id="count",
            ),
        ],
    )
    async def test_a_miss_names_the_key_and_what_differs(
        self, path: Path, other: dict[str, Any], named: str
    ) -> None:
        fields: dict[str, Any] = {
            "messages": asked("one\ntwo\nthree"),
            "schema": SCHEMA,
            "max_tokens": 8,
        }
        llm = ReplayLLM(Cassette(path), llm=ScriptedLLM(lambda _: "x"))
        await llm.complete(**fields)
        await llm.complete(asked("quite another"), schema={"a": 1}, max_tokens=1)
        near = chat_request(llm.model, **fields).key
        wanted = chat_request(llm.model, **(fields | other)).key
        with pytest.raises(LLMError) as e:
            await ReplayLLM(Cassette(path)).complete(**(fields | other))
        assert e.value.why == "waiting"
        assert all(part in str(e.value) for part in (wanted, near, named))
        assert "DRIE" not in str(e.value)
        assert len(str(e.value)) < 400

    async def test_what_was_said_is_logged_at_debug_alone(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        llm = ReplayLLM(Cassette(path), llm=ScriptedLLM(lambda _: "x"))
        await llm.complete(asked("lives in Ghent"))
        with caplog.at_level(logging.DEBUG, "hmem.replay"), pytest.raises(LLMError):
            await ReplayLLM(Cassette(path)).complete(asked("lives in Bruges"))
        said_at = {r.levelno for r in caplog.records if "Bruges" in r.getMessage()}
        assert said_at == {logging.DEBUG}

    async def test_a_miss_of_an_empty_cassette_says_so(self, path: Path) -> None:
        with pytest.raises(LLMError, match="holds no answer of a chat model"):
            await ReplayLLM(Cassette(path), model="m").complete(asked("a"))
        assert os.listdir(path.parent) == []

    async def test_the_model_must_be_said_where_several_answered(
        self, path: Path
    ) -> None:
        for model in ("one", "two"):
            llm = ReplayLLM(Cassette(path), llm=ScriptedLLM({"": model}, model=model))
            await llm.complete(asked("a"))
        with pytest.raises(LLMError, match="one, two: say which with model=") as e:
            await ReplayLLM(Cassette(path)).complete(asked("a"))
        assert e.value.why == "setup"
        with pytest.raises(ConfigError):
            _ = ReplayLLM(Cassette(path)).model
        two = ReplayLLM(Cassette(path), model="two")
        assert (await two.complete(asked("a"))).content == "two"

    async def test_another_rung_than_the_recorded_one(self, path: Path) -> None:
        described = {"role": "system", "content": SYSTEM["content"] + "\nJSON please"}
        llm = ReplayLLM(Cassette(path), llm=ScriptedLLM(lambda _: "x"))
        rung: Rung
        for rung in ("json_object", "plain"):
            words = asked(rung, system=described)
            await llm.complete(words, schema=SCHEMA, rung=rung)
        again = ReplayLLM(Cassette(path))
        with pytest.raises(LLMError) as e:  # asked more strictly: it never answered so
            await again.complete(asked("json_object"), schema=SCHEMA)
        assert e.value.why == "form"
        laxer = await again.complete(
            asked("json_object", system=described), schema=SCHEMA, rung="plain"
        )
        assert laxer.content == "x"
        with pytest.raises(LLMError) as e:
            await again.complete(asked("other"), schema=SCHEMA)
        assert e.value.why == "waiting"

    async def test_a_recorder_asks_on_each_rung(self, path: Path) -> None:
        inner = ScriptedLLM(["strict", "plain"])
        llm = ReplayLLM(Cassette(path), llm=inner)
        await llm.complete(asked("a"), schema=SCHEMA)
        second = await llm.complete(asked("a"), schema=SCHEMA, rung="plain")
        assert second.content == "plain"

    async def test_an_answer_is_recorded_although_nobody_waits_for_it(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cassette = Cassette(path)
        llm = ReplayLLM(cassette, llm=ScriptedLLM(["x"]))
        record, task = cassette.record, None

        def slowly(*entries: Any, **options: Any) -> Any:
            loop.call_soon_threadsafe(task.cancel)  # type: ignore[attr-defined]
            return record(*entries, **options)

        monkeypatch.setattr(cassette, "record", slowly)
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(llm.complete(asked("a")))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(Cassette(path)) == 1

    async def test_an_answer_that_cannot_be_written_is_not_asked_for_again(
        self, path: Path
    ) -> None:
        inner = ScriptedLLM(["x", "y"])
        llm = ReplayLLM(Cassette(path).load(), llm=inner)
        os.mkdir(path)
        with pytest.raises(LLMError) as e:
            await llm.complete(asked("a"))
        assert e.value.why == "setup"
        os.rmdir(path)
        await llm.complete(asked("b"))
        assert (await llm.complete(asked("a"))).content == "x"
        assert len(Cassette(path)) == len(inner.calls) == 2

    async def test_a_value_that_a_file_cannot_hold_is_no_reply(
        self, path: Path
    ) -> None:
        llm = ReplayLLM(Cassette(path), llm=ScriptedLLM(lambda _: said({1: object()})))
        with pytest.raises(LLMError) as e:
            await llm.complete(asked("a"))
        assert e.value.why == "reply"

    async def test_whether_the_model_is_there_is_asked_of_it_alone(
        self, path: Path
    ) -> None:
        class Down(ScriptedLLM):
            async def probe(self) -> bool:
                return False

        assert await ReplayLLM(Cassette(path), llm=Down()).probe() is False
        for llm in (
            ReplayLLM(Cassette(path)),
            ReplayLLM(Cassette(path), llm=Down(), strict=True),
            ReplayLLM(Cassette(path), llm=ScriptedLLM()),
        ):
            assert await llm.probe() is True
        assert os.listdir(path.parent) == []

    def test_nobody_to_ask_is_a_mistake(self, path: Path) -> None:
        with pytest.raises(ConfigError, match="needs an llm"):
            ReplayLLM(Cassette(path), strict=False)
        with pytest.raises(ConfigError, match="needs an embedder"):
            ReplayEmbedder(Cassette(path), strict=False)

    async def test_a_damaged_file_is_a_matter_of_setup(self) -> None:
        path = Path(__file__)
        with pytest.raises(LLMError, match="not a cassette") as e:
            await ReplayLLM(Cassette(path)).complete(asked("a"))
        assert e.value.why == "setup"
        with pytest.raises(EmbedderError, match="not a cassette"):
            await ReplayEmbedder(Cassette(path), model="m").embed(["a"])


class TestReplayEmbedder:
    async def test_vectors_come_back_bit_for_bit(self, path: Path) -> None:
        inner = HashEmbedder(48)
        texts = ["Maya moved to Ghent", "", "two\nlines", "Maya moved to Ghent"]
        recorder = ReplayEmbedder(Cassette(path), embedder=inner)
        rows = await recorder.embed(texts)
        await recorder.aclose()
        assert inner.closed
        again = ReplayEmbedder(Cassette(path))
        assert (again.model, again.dim, again.window) == (inner.model, 48, 256)
        back = await again.embed(texts)
        assert back.dtype == np.float32
        assert back.tobytes() == rows.tobytes()
        assert rows.tobytes() == (await HashEmbedder(48).embed(texts)).tobytes()

    async def test_only_what_is_new_is_asked(self, path: Path) -> None:
        inner = HashEmbedder(8)
        recorder = ReplayEmbedder(Cassette(path), embedder=inner)
        await recorder.embed(["a", "b"])
        await recorder.embed(["c", "b", "c", "a"])
        await recorder.embed(["a"], purpose="query")
        assert inner.calls == [("a", "b"), ("c",), ("a",)]

    async def test_batches_may_be_cut_otherwise(self, path: Path) -> None:
        recorder = ReplayEmbedder(Cassette(path), embedder=HashEmbedder(8))
        rows = await recorder.embed(["a", "b", "c"])
        again = ReplayEmbedder(Cassette(path))
        parts = [await again.embed(["a"]), await again.embed(["b", "c"])]
        assert np.vstack(parts).tobytes() == rows.tobytes()
        assert (await again.embed([])).shape == (0, 8)

    async def test_tokens_are_counted_as_they_were(self, path: Path) -> None:
        inner = HashEmbedder(8)
        recorder = ReplayEmbedder(Cassette(path), embedder=inner)
        assert recorder.count("one two three") == 3
        await recorder.embed(["a"])
        recorder.count("one two")
        await recorder.aclose()
        again = ReplayEmbedder(Cassette(path))
        assert [again.count(t) for t in ("one two three", "one two")] == [3, 2]
        assert again.count("never counted") >= inner.count("never counted")

    async def test_a_miss_names_the_key(self, path: Path) -> None:
        recorder = ReplayEmbedder(Cassette(path), embedder=HashEmbedder(8))
        await recorder.embed(["a"])
        with pytest.raises(EmbedderError, match=r"recorded for text [0-9a-f]{32}") as e:
            await ReplayEmbedder(Cassette(path)).embed(["a", "Ghent"])
        assert not e.value.retryable
        assert "Ghent" not in str(e.value)

    async def test_a_failure_is_not_recorded(self, path: Path) -> None:
        inner = FailingEmbedder(8, times=1)
        recorder = ReplayEmbedder(Cassette(path), embedder=inner)
        with pytest.raises(EmbedderError):
            await recorder.embed(["a"])
        assert (await recorder.embed(["a"])).shape == (1, 8)

    async def test_the_text_to_blame_is_named_by_its_place(self, path: Path) -> None:
        class Picky(HashEmbedder):
            async def embed(self, texts: Sequence[str], **options: Any) -> Any:
                if "bad" in texts:
                    raise EmbedderError("no", position=list(texts).index("bad"))
                return await super().embed(texts, **options)

        recorder = ReplayEmbedder(Cassette(path), embedder=Picky(8))
        await recorder.embed(["a", "b"])
        with pytest.raises(EmbedderError) as e:
            await recorder.embed(["a", "b", "c", "bad"])
        assert e.value.position == 3

    async def test_chats_and_vectors_share_a_file(self, path: Path) -> None:
        cassette = Cassette(path)
        embedder = ReplayEmbedder(cassette, embedder=HashEmbedder(8))
        llm = ReplayLLM(cassette, llm=ScriptedLLM(["x"]))
        await asyncio.gather(embedder.embed(["a"]), llm.complete(asked("a")))
        await llm.aclose()
        both = Cassette(path)
        assert (await ReplayLLM(both).complete(asked("a"))).content == "x"
        assert (await ReplayEmbedder(both).embed(["a"])).shape == (1, 8)
        assert (len(both.chats()), len(both.embeddings())) == (1, 1)


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    cassette = Cassette(tmp_path / "file" / "answers.txt")
    with pytest.raises(StoreError):
        cassette.record(chat("a", said("b")))
