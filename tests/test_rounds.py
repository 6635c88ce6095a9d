"""Answers from outside: one file of questions a round, one file of answers back."""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hmem.chat.ladder import Ladder, Schema
from hmem.chat.unreadable import Unreadable
from hmem.errors import ExtractionError, InputError, LLMError
from hmem.protocols import Completion
from hmem.replay import (
    Cassette,
    Ran,
    ReplayLLM,
    RoundsLLM,
    Taken,
    answer_round,
    answered_by,
    quiet,
    run_rounds,
)
from hmem.testing.llms import Call, Cut, ScriptedLLM

SCHEMA = Schema(
    name="facts",
    version="1",
    json={"type": "object", "properties": {"facts": {"type": "array"}}},
)
Row = dict[str, Any]


def talk(text: str) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": "You keep a memory."},
        {"role": "user", "content": text},
    ]


def facts(value: Any) -> list[str]:
    if not isinstance(value, Mapping) or not isinstance(value.get("facts"), list):
        raise Unreadable("no list of facts")
    return list(value["facts"])


def rows(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def write(file: Path, lines: Sequence[object]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return file


def echo(messages: Sequence[Mapping[str, str]]) -> str:
    """A model that finds one fact: what it was told last."""
    return json.dumps({"facts": [messages[-1]["content"]]})


async def ask(llm: RoundsLLM, *texts: str) -> None:
    for text in texts:
        with pytest.raises(LLMError) as e:
            await llm.complete(talk(text), schema=SCHEMA.json)
        assert e.value.why == "waiting"


@pytest.fixture
def llm(tmp_path: Path) -> RoundsLLM:
    return RoundsLLM(Cassette(tmp_path / "answers.txt"))


class Talks:
    """What a memory does with its queue, as far as the driver can see it: the talks of
    many users, each worked off in order, all users at once. What waits is set aside until
    it is opened again; a later prompt of a user holds what was found before."""

    def __init__(self, llm: RoundsLLM, queues: dict[str, list[str]], done: Any) -> None:
        self._ladder = Ladder(llm)
        self._queues = queues
        self._done = done
        self._running = 0
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def admin(self) -> "Talks":
        return self

    async def stats(self) -> dict[str, Any]:
        queued = sum(map(len, self._queues.values())) - self._running
        return {"jobs": {"queued": queued, "running": self._running}}

    async def open(self) -> None:
        self._tasks = [asyncio.create_task(self._work(user)) for user in self._queues]

    async def aclose(self, *, timeout: float) -> None:
        assert timeout == 0
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, user: str) -> None:
        while self._queues[user]:
            self._running += 1
            try:
                answer = await self._ladder.ask(
                    talk(f"{user} {self._queues[user][0]} {len(self._done[user])}"),
                    schema=SCHEMA,
                    read=facts,
                    purpose="extract",
                    max_tokens=500,
                )
                self._done[user].append(answer.value)
                self._queues[user].pop(0)
            except ExtractionError as e:
                self._done[user].append(type(e).__name__)
                self._queues[user].pop(0)
            except LLMError as e:
                if e.why != "waiting":
                    raise
                return
            finally:
                self._running -= 1


def queues() -> dict[str, list[str]]:
    return {f"user{n}": [f"talk{m}" for m in range(n + 1)] for n in range(4)}


class TestPending:
    async def test_a_miss_waits_and_is_counted_once(self, llm: RoundsLLM) -> None:
        seen: list[int] = []
        llm.on_pending = seen.append
        await ask(llm, "a", "b", "a")
        assert (llm.pending, seen, llm.calls) == (2, [1, 2], 3)

    async def test_a_probe_is_no_question(self, llm: RoundsLLM) -> None:
        assert await llm.probe() is True
        assert llm.pending == 0

    async def test_a_rung_makes_no_difference(self, llm: RoundsLLM) -> None:
        await ask(llm, "a")
        lower = talk("a")
        lower[0]["content"] += "\n\nAnswer with JSON."
        with pytest.raises(LLMError):
            await llm.complete(lower, schema=SCHEMA.json, rung="plain")
        assert llm.pending == 1

    async def test_what_was_answered_is_not_pending(
        self, llm: RoundsLLM, tmp_path: Path
    ) -> None:
        await ask(llm, "a", "b")
        file = llm.write_round(tmp_path)
        assert file is not None
        line = rows(file)[0]
        llm.take_round(write(tmp_path / "x.jsonl", [line | {"reply": "hi"}]))
        assert llm.pending == 1
        reply = await llm.complete(talk("a"), schema=SCHEMA.json)
        assert reply == Completion(content="hi")


class TestARound:
    async def test_it_holds_what_is_asked_and_room_for_the_reply(
        self, llm: RoundsLLM, tmp_path: Path
    ) -> None:
        await ask(llm, "b\u2028\x85 \U0001f600", "a")
        file = llm.write_round(tmp_path / "made")
        assert file is not None
        assert file.name == "round-0001.jsonl"
        assert file.stat().st_mode & 0o077 == 0
        first, second = rows(file)
        assert first["request"]["messages"] == talk("a")
        assert second["request"]["messages"] == talk("b\u2028\x85 \U0001f600")
        assert set(first) == {"key", "request", "reply"}
        assert set(first["request"]) == {
            *("model", "messages", "schema", "rung", "max_tokens")
        }
        assert "\U0001f600" in file.read_text("utf-8"), "a person can read it"

    async def test_it_does_not_depend_on_the_order_of_asking(
        self, tmp_path: Path
    ) -> None:
        texts = []
        for name, order in (("one", "abc"), ("two", "cab")):
            llm = RoundsLLM(Cassette(tmp_path / name / "answers.txt"))
            await ask(llm, *order)
            file = llm.write_round(tmp_path / name)
            assert file is not None
            texts.append(file.read_bytes())
        assert texts[0] == texts[1]

    async def test_it_is_written_once(self, llm: RoundsLLM, tmp_path: Path) -> None:
        assert llm.write_round(tmp_path) is None
        await ask(llm, "a")
        first = llm.write_round(tmp_path)
        assert llm.write_round(tmp_path) == first
        await ask(llm, "b")
        second = llm.write_round(tmp_path)
        assert second is not None
        assert second.name == "round-0002.jsonl"
        assert len(rows(second)) == 2, "what still waits is asked again"

    async def test_another_process_may_go_on(
        self, llm: RoundsLLM, tmp_path: Path
    ) -> None:
        await ask(llm, "a", "b")
        file = llm.write_round(tmp_path)
        assert file is not None
        keys = [row["key"] for row in rows(file)]
        later = RoundsLLM(Cassette(tmp_path / "answers.txt"))
        answers = [{"key": key, "reply": key[:4]} for key in reversed(keys)]
        assert later.take_round(write(tmp_path / "in.jsonl", answers)).new == 2
        assert (await later.complete(talk("a"), schema=SCHEMA.json)).content == keys[0][
            :4
        ]


class TestAnswers:
    @pytest.fixture
    async def keys(self, llm: RoundsLLM, tmp_path: Path) -> list[str]:
        await ask(llm, "a", "b", "c")
        file = llm.write_round(tmp_path)
        assert file is not None
        return [row["key"] for row in rows(file)]

    async def test_they_may_come_in_part_and_in_any_order(
        self, llm: RoundsLLM, keys: list[str], tmp_path: Path
    ) -> None:
        file = write(
            tmp_path / "in.jsonl",
            [
                {"key": keys[2], "reply": {"facts": []}},
                {"key": keys[0], "reply": "not JSON at all"},
                {"key": keys[1], "reply": "  "},
            ],
        )
        assert llm.take_round(file) == Taken(new=2, blank=1)
        assert llm.pending == 1
        got = await llm.complete(talk("c"), schema=SCHEMA.json)
        assert got.content == {"facts": []}
        got = await llm.complete(talk("a"), schema=SCHEMA.json)
        assert got.content == "not JSON at all"

    async def test_a_round_that_was_filled_in_is_answers(
        self, llm: RoundsLLM, keys: list[str], tmp_path: Path
    ) -> None:
        lines = [row | {"reply": "x"} for row in rows(tmp_path / "round-0001.jsonl")]
        elsewhere = RoundsLLM(Cassette(tmp_path / "elsewhere" / "answers.txt"))
        file = write(tmp_path / "elsewhere.jsonl", lines)
        assert elsewhere.take_round(file).new == len(keys)

    async def test_a_file_taken_twice_changes_nothing(
        self, llm: RoundsLLM, keys: list[str], tmp_path: Path
    ) -> None:
        file = write(
            tmp_path / "in.jsonl",
            [{"key": key, "reply": f"r{n}"} for n, key in enumerate(keys)],
        )
        llm.take_round(file)
        before = llm.cassette.path.read_bytes()
        assert llm.take_round(file) == Taken(same=3)
        assert llm.cassette.path.read_bytes() == before

    async def test_the_first_answer_stands(
        self,
        llm: RoundsLLM,
        keys: list[str],
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        lines = [{"key": keys[0], "reply": text} for text in ("first", "second")]
        with caplog.at_level(logging.WARNING, "hmem.replay"):
            assert llm.take_round(write(tmp_path / "in.jsonl", lines)) == Taken(
                new=1, other=1
            )
        assert "1 answers are not the first ones" in caplog.text
        got = await llm.complete(talk("a"), schema=SCHEMA.json)
        assert got.content == "first"

    async def test_how_it_ended_and_what_it_cost_may_be_said(
        self, llm: RoundsLLM, keys: list[str], tmp_path: Path
    ) -> None:
        lines: list[Row] = [
            {
                "key": keys[0],
                "reply": "x",
                "finish": "length",
                "prompt_tokens": 9,
                "completion_tokens": 2,
            },
            {"key": keys[1], "reply": None, "finish": "refused"},
        ]
        llm.take_round(write(tmp_path / "in.jsonl", lines))
        for text, wanted in (
            (
                "a",
                Completion(
                    content="x", finish="length", prompt_tokens=9, completion_tokens=2
                ),
            ),
            ("b", Completion(content=None, finish="refused")),
        ):
            assert await llm.complete(talk(text), schema=SCHEMA.json) == wanted

    async def test_keys_of_nothing_are_refused_by_name(
        self, llm: RoundsLLM, keys: list[str], tmp_path: Path
    ) -> None:
        lines = [{"key": f"k{n}", "reply": "x"} for n in range(7)]
        lines.append({"key": keys[0], "reply": "x"})
        with pytest.raises(InputError, match="k0, k1, k2, k3, k4 and 2 more"):
            llm.take_round(write(tmp_path / "in.jsonl", lines))
        assert llm.pending == 3, "nothing was taken"

    @pytest.mark.parametrize(
        ("line", "match"),
        [
            pytest.param(["x"], "not a JSON object", id="a list"),
            pytest.param({"reply": "x"}, "has no key", id="no key"),
            pytest.param({"key": 3, "reply": "x"}, "has no key", id="a number"),
            pytest.param(
                {"key": "k", "response": "x", "answr": 1},
                "mean nothing: answr, response; there are",
                id="other fields",
            ),
            pytest.param(
                {"key": "k", "reply": "x", "finish": "tool"}, "finish is one of", id="f"
            ),
            pytest.param(
                {"key": "k", "reply": "x", "prompt_tokens": -1},
                "whole numbers",
                id="tokens",
            ),
            pytest.param({"key": "k", "request": {}}, "a request has", id="request"),
        ],
    )
    def test_a_line_that_is_none_is_named(
        self, llm: RoundsLLM, tmp_path: Path, line: object, match: str
    ) -> None:
        file = write(tmp_path / "in.jsonl", [{"key": "k", "reply": ""}, line])
        with pytest.raises(InputError, match=f"in.jsonl: line 2.*{match}"):
            llm.take_round(file)

    async def test_a_request_that_was_changed_has_not_its_key(
        self, llm: RoundsLLM, keys: list[str], tmp_path: Path
    ) -> None:
        line = rows(tmp_path / "round-0001.jsonl")[0] | {"reply": "x"}
        line["request"]["messages"] = talk("another")
        with pytest.raises(InputError, match="not the key of its request"):
            llm.take_round(write(tmp_path / "in.jsonl", [line]))

    async def test_a_last_line_that_was_cut_off_is_left_out(
        self, llm: RoundsLLM, keys: list[str], tmp_path: Path
    ) -> None:
        lines = [{"key": key, "reply": "x"} for key in keys]
        file = write(tmp_path / "in.jsonl", lines)
        file.write_bytes(file.read_bytes()[:-6])
        assert llm.take_round(file) == Taken(new=2, cut=True)

    async def test_a_line_cut_off_in_the_middle_is_not(
        self, llm: RoundsLLM, keys: list[str], tmp_path: Path
    ) -> None:
        file = tmp_path / "in.jsonl"
        file.write_text(f'{{"key": "{keys[0]}", "rep\n{{"key": "{keys[1]}"}}\n')
        with pytest.raises(InputError, match="line 1 is not JSON"):
            llm.take_round(file)

    def test_a_file_that_is_not_there_is_named(
        self, llm: RoundsLLM, tmp_path: Path
    ) -> None:
        with pytest.raises(InputError, match=r"gone\.jsonl cannot be read"):
            llm.take_round(tmp_path / "gone.jsonl")


class TestTheLoop:
    async def test_many_talks_are_worked_off_in_as_many_rounds_as_the_longest_has(
        self, tmp_path: Path
    ) -> None:
        todo, done = queues(), defaultdict[str, list[Any]](list)
        ran = await run_rounds(
            lambda llm: Talks(llm, todo, done),
            answered_by(ScriptedLLM(echo)),
            tmp_path,
            settle=0.05,
        )
        assert ran == Ran(rounds=4, answers=10, left=0)
        assert done["user3"] == [[f"user3 talk{n} {n}"] for n in range(4)], (
            "each prompt saw what the ones before it had found"
        )

    async def test_replayed_it_is_the_same_without_anybody_to_ask(
        self, tmp_path: Path
    ) -> None:
        found = []
        for _ in range(2):
            todo, done = queues(), defaultdict[str, list[Any]](list)

            async def nobody(file: Path) -> None:
                raise AssertionError

            first = not found
            await run_rounds(
                lambda llm, todo=todo, done=done: Talks(llm, todo, done),  # type: ignore[misc]
                answered_by(ScriptedLLM(echo)) if first else nobody,
                tmp_path,
                settle=0.05,
            )
            found.append(dict(done))
        assert found[0] == found[1]
        replay = ReplayLLM(Cassette(tmp_path / "answers.txt"))
        answer = await Ladder(replay).ask(
            talk("user0 talk0 0"),
            schema=SCHEMA,
            read=facts,
            purpose="extract",
            max_tokens=500,
        )
        assert answer.value == found[0]["user0"][0]

    async def test_a_bad_reply_is_asked_about_again_and_costs_the_others_nothing(
        self, tmp_path: Path
    ) -> None:
        def mostly(messages: Sequence[Mapping[str, str]]) -> str:
            text = messages[-1]["content"]
            bad = text.startswith("user2 talk0") and "could not be used" not in text
            return "I found nothing!" if bad else echo(messages)

        todo, done = queues(), defaultdict[str, list[Any]](list)
        responder = ScriptedLLM(mostly)
        ran = await run_rounds(
            lambda llm: Talks(llm, todo, done),
            answered_by(responder),
            tmp_path,
            settle=0.05,
        )
        assert (ran.left, ran.answers, len(responder.calls)) == (0, 11, 11)
        assert "could not be used" in done["user2"][0][0]

    async def test_a_reply_that_stays_bad_fails_its_job_alone(
        self, tmp_path: Path
    ) -> None:
        todo, done = queues(), defaultdict[str, list[Any]](list)
        script = {"user1 talk0": "no JSON", "user2 talk0": Cut('{"facts": ['), "": "{}"}

        def reply(messages: Sequence[Mapping[str, str]]) -> object:
            text = messages[-1]["content"]
            bad = [r for key, r in script.items() if key and text.startswith(key)]
            return bad[0] if bad else echo(messages)

        ran = await run_rounds(
            lambda llm: Talks(llm, todo, done),
            answered_by(ScriptedLLM(reply)),
            tmp_path,
            settle=0.05,
        )
        assert ran.left == 0
        assert done["user1"][0] == "ExtractionError"
        assert done["user2"][0] == "TruncatedError"
        assert done["user3"][3] == ["user3 talk3 3"]

    async def test_it_may_be_left_and_taken_up_again(self, tmp_path: Path) -> None:
        todo, done = queues(), defaultdict[str, list[Any]](list)
        files: list[Path] = []

        async def later(file: Path) -> None:
            files.append(file)

        def make(llm: RoundsLLM) -> Talks:
            return Talks(llm, todo, done)

        ran = await run_rounds(make, later, tmp_path, settle=0.05)
        assert ran == Ran(rounds=1, answers=0, left=10)
        await answer_round(files[0], ScriptedLLM(echo))
        RoundsLLM(Cassette(tmp_path / "answers.txt")).take_round(
            tmp_path / "round-0001.answers.jsonl"
        )
        ran = await run_rounds(
            make, answered_by(ScriptedLLM(echo)), tmp_path, settle=0.05
        )
        assert (ran.rounds, ran.left) == (3, 0)

    async def test_a_round_that_brings_nothing_ends_it(self, tmp_path: Path) -> None:
        todo, done = queues(), defaultdict[str, list[Any]](list)
        down = ScriptedLLM(then=LLMError("down"))
        ran = await run_rounds(
            lambda llm: Talks(llm, todo, done),
            answered_by(down),
            tmp_path,
            settle=0.05,
        )
        assert ran == Ran(rounds=1, answers=0, left=10)

    async def test_it_ends_after_as_many_rounds_as_are_wanted(
        self, tmp_path: Path
    ) -> None:
        todo, done = queues(), defaultdict[str, list[Any]](list)
        ran = await run_rounds(
            lambda llm: Talks(llm, todo, done),
            answered_by(ScriptedLLM(echo)),
            tmp_path,
            most=2,
            settle=0.05,
        )
        assert ran == Ran(rounds=2, answers=7, left=3)

    async def test_jobs_that_wait_for_something_else_end_it_with_patience(
        self, tmp_path: Path
    ) -> None:
        class Stuck(Talks):
            async def open(self) -> None:
                """Works on nothing."""

        ran = await run_rounds(
            lambda llm: Stuck(llm, queues(), None),
            answered_by(ScriptedLLM(echo)),
            tmp_path,
            settle=0.05,
            patience=0.2,
        )
        assert ran == Ran(rounds=0, answers=0, left=10)

    async def test_a_job_that_runs_long_is_waited_for(self, llm: RoundsLLM) -> None:
        class Slow(Talks):
            looks = 0

            async def stats(self) -> dict[str, Any]:
                self.looks += 1
                return {"jobs": {"queued": 3, "running": int(self.looks < 8)}}

        await ask(llm, "a")
        slow = Slow(llm, {}, None)
        assert await quiet(slow, llm, settle=0.05) == 3
        assert slow.looks >= 8


class TestARespondersFile:
    async def test_a_round_that_broke_off_is_gone_on_with(
        self, llm: RoundsLLM, tmp_path: Path
    ) -> None:
        await ask(llm, "a", "b", "c")
        file = llm.write_round(tmp_path)
        assert file is not None
        first = ScriptedLLM(["one"], then=LLMError("down"))
        to = await answer_round(file, first, parallel=1)
        assert llm.take_round(to).new == 1
        with open(to, "ab") as answers:  # noqa: ASYNC230
            answers.write(b'{"key": "cut')
        second = ScriptedLLM(["two", "three"])
        await answer_round(file, second, parallel=1)
        assert len(second.calls) == 2
        assert llm.take_round(to) == Taken(new=2, same=1)

    async def test_it_is_asked_what_the_memory_asked(
        self, llm: RoundsLLM, tmp_path: Path
    ) -> None:
        with pytest.raises(LLMError):
            await llm.complete(
                talk("a"), schema=SCHEMA.json, rung="plain", max_tokens=7
            )
        file = llm.write_round(tmp_path)
        assert file is not None
        responder = ScriptedLLM(["x"])
        await answer_round(file, responder)
        assert responder.calls == [
            Call(
                messages=tuple(talk("a")),
                schema=SCHEMA.json,
                rung="plain",
                max_tokens=7,
            )
        ]

    async def test_as_many_are_asked_at_once_as_allowed(
        self, llm: RoundsLLM, tmp_path: Path
    ) -> None:
        await ask(llm, *"abcdef")
        file = llm.write_round(tmp_path)
        assert file is not None
        now = most = 0

        async def reply(messages: Sequence[Mapping[str, str]]) -> str:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1
            return "x"

        await answer_round(file, ScriptedLLM(reply), parallel=3)
        assert most == 3
