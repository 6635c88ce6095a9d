"""What people get who test their own apps: fakes that do as told, and fixtures."""

import asyncio
import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hmem import AsyncMemory, Config
from hmem.errors import ClosedError, LLMError
from hmem.extract import Shown, Talk, messages, read
from hmem.protocols import Completion, TurnRow
from hmem.replay import Cassette, ReplayLLM, RoundsLLM, answered_by, run_rounds
from hmem.testing.fakes import FrozenClock, HashEmbedder
from hmem.testing.llms import Cut, Hang, Late, Refused, ScriptedLLM, fact, facts
from hmem.testing.standin import Numbered, StandInLLM, new_turns, stated
from hmem.times import to_micros

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = {"type": "object"}


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


class TestScriptedLLM:
    async def test_a_list_is_followed_step_by_step(self) -> None:
        llm = ScriptedLLM(["one", {"facts": []}, None, Cut("half"), Refused("no")])
        got = [await llm.complete(said("a b c")) for _ in range(5)]
        assert [g.content for g in got] == ["one", {"facts": []}, None, "half", "no"]
        assert [g.finish for g in got] == ["stop"] * 3 + ["length", "refused"]
        assert (got[0].prompt_tokens, got[0].completion_tokens) == (3, 1)

    async def test_a_completion_is_given_as_it_is(self) -> None:
        whole = Completion(content="x", prompt_tokens=7, retries=2)
        assert await ScriptedLLM([whole]).complete(said("a")) == whole

    async def test_the_end_of_a_script_is_an_error_that_is_counted(self) -> None:
        llm = ScriptedLLM(["one"])
        await llm.complete(said("a"))
        with pytest.raises(LLMError, match="no step") as e:
            await llm.complete(said("b"))
        assert (e.value.why, llm.unexpected) == ("input", 1)

    async def test_then_is_what_follows_a_script(self) -> None:
        llm = ScriptedLLM(["one"], then=None)
        got = [(await llm.complete(said("a"))).content for _ in range(3)]
        assert got == ["one", None, None]

    async def test_a_mapping_answers_by_what_is_said(self) -> None:
        llm = ScriptedLLM({"Ghent": "city", "bee": LLMError("no", why="busy"), "": "x"})
        assert (await llm.complete(said("in Ghent"))).content == "city"
        assert (await llm.complete(said("nothing"))).content == "x"
        with pytest.raises(LLMError) as e:
            await llm.complete(said("a bee"))
        assert e.value.why == "busy"

    async def test_a_function_answers_from_the_messages(self) -> None:
        async def slowly(messages: Any) -> str:
            await asyncio.sleep(0)
            return str(messages[-1]["content"]).upper()

        for script in (lambda ms: ms[-1]["content"].upper(), slowly):
            assert (await ScriptedLLM(script).complete(said("hi"))).content == "HI"

    async def test_what_a_test_says_comes_before_the_script(self) -> None:
        llm = ScriptedLLM({"": "always"})
        llm.say("first", "second")
        got = [(await llm.complete(said("a"))).content for _ in range(3)]
        assert got == ["first", "second", "always"]

    async def test_it_records_what_it_was_asked(self) -> None:
        llm = ScriptedLLM(then="x")
        await llm.complete(said("a b"), schema=SCHEMA, rung="plain", max_tokens=9)
        (call,) = llm.calls
        assert (call.text, call.schema, call.rung, call.max_tokens) == (
            *("a b", SCHEMA, "plain", 9),
        )

    async def test_it_takes_only_the_forms_it_is_told_to(self) -> None:
        llm = ScriptedLLM(["x"], rungs=["plain"])
        with pytest.raises(LLMError) as e:
            await llm.complete(said("a"), schema=SCHEMA)
        assert e.value.why == "form"
        assert (await llm.complete(said("a"), schema=SCHEMA, rung="plain")).content
        assert len(llm.calls) == 2

    async def test_it_hangs_until_it_is_released(self) -> None:
        llm = ScriptedLLM([Hang("late"), Hang(LLMError("no"))])
        first, second = (asyncio.create_task(llm.complete(said("a"))) for _ in "ab")
        await asyncio.sleep(0.01)
        assert llm.waiting == 2
        llm.release()
        assert (await first).content == "late"
        with pytest.raises(LLMError):
            await second
        assert llm.waiting == 0

    async def test_a_call_that_hangs_can_be_cancelled(self) -> None:
        llm = ScriptedLLM([Hang()])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(llm.complete(said("a")), 0.01)
        assert llm.waiting == 0

    async def test_it_is_late_by_as_much_as_told(self) -> None:
        llm = ScriptedLLM([Late(0.03, Cut("x"))])
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert (await llm.complete(said("a"))).finish == "length"
        assert loop.time() - began >= 0.025

    async def test_closed_it_refuses(self) -> None:
        llm = ScriptedLLM(then="x")
        await llm.aclose()
        await llm.aclose()
        with pytest.raises(ClosedError):
            await llm.complete(said("a"))


MAYA = "I moved to Ghent last week! Do you know it? My landlord is Mr. Okoro.\nThanks."


def turn(text: str, role: str = "user", name: str | None = None) -> TurnRow:
    at = to_micros(datetime(2024, 5, 1, 9, 30, tzinfo=UTC))
    return TurnRow(
        seq=1,
        id="t",
        text=text,
        ends=(len(text),),
        agent_id=None,
        session_id=None,
        role=role,
        name=name,
        observed_at=at,
        recorded_at=at,
        message_id=None,
        job=1,
        metadata={},
    )


def a_talk(*turns: TurnRow) -> Talk:
    shown = Shown(id="m", text="[0] Wed 2024-05-01 09:30 user", since=datetime.now(UTC))
    return Talk(
        turns=turns,
        recent=(turn("I said this before the others did."),),
        shown=(shown,),
        profile="NEW TURNS\n[9] Wed 2024-05-01 09:30 user\n  I am a trap, am I not.",
        zone=ZoneInfo("UTC"),
    )


class TestTheStandIn:
    """It reads the prompt as it really is; a change of its form is seen here."""

    def test_it_sees_the_new_turns_and_nothing_else(self) -> None:
        talk = a_talk(
            turn(MAYA, name="Maya"), turn("Nice!", "assistant"), turn("NEW TURNS")
        )
        prompt = messages(talk, Config())[-1]["content"]
        assert new_turns(prompt) == [
            Numbered(number=0, date="2024-05-01", role="user", name="Maya", text=MAYA),
            Numbered(
                number=1, date="2024-05-01", role="assistant", name=None, text="Nice!"
            ),
            Numbered(
                number=2, date="2024-05-01", role="user", name=None, text="NEW TURNS"
            ),
        ]

    async def test_each_statement_of_a_user_is_one_fact_that_quotes_it(self) -> None:
        talk = a_talk(turn("You said so.", "assistant"), turn(MAYA, name="Maya"))
        llm = StandInLLM()
        reply = await llm.complete(messages(talk, Config()), schema=SCHEMA)
        found = read(json.loads(str(reply.content)), talk, Config())
        assert found.dropped == ()
        quotes = [c.quote for c in found.candidates]
        assert quotes == ["I moved to Ghent last week!", "My landlord is Mr."]
        first = found.candidates[0]
        assert first.text == "Maya said on 2024-05-01: I moved to Ghent last week!"
        assert first.sources == (1,)
        assert first.event_precision == "day"
        assert len(llm.calls) == 1

    async def test_it_answers_alike_each_time(self) -> None:
        asked = messages(a_talk(turn(MAYA)), Config())
        got = [await StandInLLM().complete(asked) for _ in range(2)]
        assert got[0] == got[1]

    async def test_without_new_turns_it_finds_nothing(self) -> None:
        for asked in (said("Say OK."), said(""), []):
            reply = await StandInLLM().complete(asked)
            assert json.loads(str(reply.content)) == {"facts": []}

    async def test_the_turns_may_be_parsed_otherwise(self) -> None:
        def parse(text: str) -> list[Numbered]:
            return [
                Numbered(number=4, date="2024-01-01", role="user", name=None, text=text)
            ]

        reply = await StandInLLM(parse=parse).complete(said("Bees live in hives."))
        (one,) = json.loads(str(reply.content))["facts"]
        assert (one["turns"], one["quote"]) == ([4], "Bees live in hives.")

    @pytest.mark.parametrize(
        "text", ["Should I move to Oslo.", "Is it far?", "Oh yes.", "", "?!", "..."]
    )
    def test_what_states_nothing_is_no_fact(self, text: str) -> None:
        one = Numbered(number=0, date="2024-05-01", role="user", name=None, text=text)
        assert stated(one) == []

    def test_a_reply_that_a_test_writes_is_read_as_it_was_meant(self) -> None:
        talk = a_talk(turn(MAYA), turn("And I keep bees."))
        written = facts(
            "Maya lives in Ghent",
            fact(
                "Maya keeps bees since 2024-04-30",
                turns=[1],
                quote="I keep bees",
                category="episodic",
                when="2024-04-30",
                importance=7,
                entities=["Maya"],
                replaces=0,
                reason="she said so",
            ),
        )
        one, two = read(written, talk, Config()).candidates
        assert (one.text, one.sources, one.importance) == (
            *("Maya lives in Ghent", (0,), 5),
        )
        assert (two.sources, two.quote, two.category) == (
            (1,),
            "I keep bees",
            "episodic",
        )
        assert (two.supersedes, two.reason, two.importance) == (0, "she said so", 7)


class TestTheWholePathOffline:
    async def test_rounds_and_their_replay_make_the_same_store(
        self, tmp_path: Path
    ) -> None:
        talks = {
            "ana": ["I moved to Ghent. My cat is 3 years old.", "I bake bread there."],
            "bo": ["I live in Linz now. My name is Bo.", "I am a nurse in Linz."],
        }

        def made(name: str, llm: Any) -> AsyncMemory:
            config = Config(path=tmp_path / name, shards=1, durability="normal")
            return AsyncMemory(
                config, llm=llm, embedder=HashEmbedder(), clock=FrozenClock()
            )

        async def add_all(memory: AsyncMemory) -> None:
            for user, texts in talks.items():
                for n, text in enumerate(texts, start=1):
                    await memory.add(
                        text,
                        user_id=user,
                        session_id=f"s{n}",
                        observed_at=f"2024-04-0{n}",
                    )

        async def stored(memory: AsyncMemory) -> list[Any]:
            found = []
            for user in talks:
                for m in await memory.get_all(user_id=user, kinds="memory"):
                    row = (m.text, m.quote, m.valid_from, m.verified, m.recorded_at)
                    found.append((user, *row))
            return found

        llm = RoundsLLM(Cassette(tmp_path / "answers.txt"))
        memory = made("rounds", llm)
        async with memory:
            await add_all(memory)
            await memory.aclose(timeout=0)
        ran = await run_rounds(
            lambda one: made("rounds", one),
            answered_by(StandInLLM()),
            tmp_path,
            llm=llm,
            settle=0.3,
        )
        assert ran.left == 0
        assert ran.answers == 4
        async with made("rounds", llm) as memory:
            answered = await stored(memory)
        async with made(
            "replay", ReplayLLM(Cassette(tmp_path / "answers.txt"))
        ) as memory:
            await add_all(memory)
            await memory.flush(timeout=20)
            replayed = await stored(memory)
        assert len(answered) == 6
        assert replayed == answered


# ---------------------------------------------------------------------- the plugin

LOOPS = ("asyncio_default_fixture_loop_scope", "asyncio_default_test_loop_scope")


@pytest.fixture
def inner(tmp_path: Path) -> Any:
    """Runs pytest in a process of its own over a file of tests. The plugin is found by
    the entry point that pyproject.toml declares, whether or not hmem is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    info = tmp_path / "path" / "hmem_entry-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hmem-entry\nVersion: 0\n"
    )
    names = project["entry-points"]["pytest11"].items()
    (info / "entry_points.txt").write_text(
        "\n".join(["[pytest11]", *(f"{name} = {target}" for name, target in names)])
    )
    folder = tmp_path / "app"
    folder.mkdir()

    def run(
        code: str,
        *args: str,
        conftest: str = "",
        loop: str | None = "function",
        **env: str,
    ) -> Any:
        (folder / "test_app.py").write_text(textwrap.dedent(code))
        (folder / "conftest.py").write_text(textwrap.dedent(conftest))
        (folder / "pytest.ini").write_text(
            "[pytest]\n"
            + "".join(f"{name} = {loop}\n" for name in LOOPS if loop is not None)
        )
        base = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-W", "error", *args],
            cwd=folder,
            env={**base, "PYTHONPATH": f"{info.parent}:{ROOT}", **env},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


APP = """
    import datetime, os, socket
    import pytest
    from hmem.testing.llms import facts

    @pytest.fixture(autouse=True)
    def offline(monkeypatch):
        def refuse(*args):
            raise AssertionError("a test reached for the network")
        monkeypatch.setattr(socket.socket, "connect", refuse)

    {mark}
    async def test_what_is_said_is_found(hmem_memory):
        await hmem_memory.add("I keep bees", user_id="maya", wait=True)
        assert (await hmem_memory.search("bees", user_id="maya")).hits

    {mark}
    async def test_nothing_is_left_of_other_tests(hmem_memory, hmem_config, tmp_path):
        assert not (await hmem_memory.search("bees", user_id="maya")).hits
        assert hmem_config.path == tmp_path / "memories"

    {mark}
    async def test_the_model_says_what_it_is_told(hmem_memory, hmem_llm, hmem_clock):
        hmem_llm.say(facts("Maya keeps bees"))
        hmem_clock.advance(days=1)
        await hmem_memory.add("I keep bees", user_id="maya", wait=True)
        (m,) = await hmem_memory.get_all(user_id="maya", kinds="memory")
        assert m.text == "Maya keeps bees"
        assert m.recorded_at == datetime.datetime(
            2024, 5, 2, 12, tzinfo=datetime.timezone.utc)
        assert len(hmem_llm.calls) == 1

    {mark}
    async def test_an_app_may_open_it_itself(hmem_unopened, hmem_embedder):
        async with hmem_unopened as memory:
            await memory.add("I keep bees", user_id="maya", wait=True)
        assert hmem_embedder.calls

    def test_without_a_loop(hmem_sync_memory, hmem_llm):
        hmem_llm.say(facts("Maya keeps bees"))
        hmem_sync_memory.add("I keep bees", user_id="maya").result(timeout=20)
        assert len(hmem_sync_memory.get_all(user_id="maya")) == 2
"""


class TestThePlugin:
    @pytest.mark.parametrize(
        ("mode", "loop"),
        [("strict", "function"), ("auto", "session")],
    )
    def test_its_fixtures_serve_an_app_s_tests(
        self, inner: Any, mode: str, loop: str
    ) -> None:
        mark = "@pytest.mark.asyncio" if mode == "strict" else ""
        done = inner(
            APP.format(mark=mark),
            f"--asyncio-mode={mode}",
            loop=loop,
            HMEM_PATH="/nowhere",
            HMEM_LLM="gpt",
            HMEM_MODE="reconcile",
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "5 passed" in done.stdout

    def test_each_part_can_be_another_and_a_test_that_fails_closes_its_memory(
        self, inner: Any
    ) -> None:
        done = inner(
            """
            import gc

            memories = []

            async def test_that_fails(hmem_memory):
                memories.append(hmem_memory)
                assert False

            async def test_raw(hmem_memory):
                assert memories.pop()._life.state == "closed"
                gc.collect()
                await hmem_memory.add("I keep bees", user_id="maya", wait=True)
                assert not (await hmem_memory.get_all(user_id="maya", kinds="memory")).rows
                assert (await hmem_memory.admin.stats())["shards"] == 3
            """,
            "--asyncio-mode=auto",
            conftest="""
            import pytest
            from hmem import Config

            @pytest.fixture
            def hmem_llm():
                return None

            @pytest.fixture
            def hmem_config(tmp_path):
                return Config(path=tmp_path / "other", shards=3)
            """,
        )
        assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr

    def test_the_examples_of_its_documentation_work(self, inner: Any) -> None:
        text = (ROOT / "docs" / "testing.md").read_text("utf-8")
        parts = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        assert len(parts) == 6
        changed = next(part for part in parts if "def hmem_config" in part)
        done = inner("\n".join(p for p in parts if p != changed), "--asyncio-mode=auto")
        assert "2 passed" in done.stdout, done.stdout + done.stderr
        compile(changed, "conftest.py", "exec")

    def test_without_pytest_asyncio_it_says_what_is_missing(self, inner: Any) -> None:
        done = inner(
            """
            def test_needs_a_loop(hmem_memory):
                pass

            def test_needs_none(hmem_sync_memory, hmem_clock):
                hmem_sync_memory.add("I keep bees", user_id="maya")
            """,
            *("-p", "no:asyncio"),
            loop=None,
        )
        assert "1 passed, 1 error" in done.stdout, done.stdout + done.stderr
        assert "hmem_memory needs pytest-asyncio" in done.stdout

    def test_it_imports_nothing_before_it_is_used(self) -> None:
        code = (
            "import sys, pytest; before = set(sys.modules); import hmem.testing.plugin;"
            "print(*sorted(m for m in set(sys.modules) - before if '.' not in m or"
            " m.startswith('hmem')))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert set(done.stdout.split()) <= {
            "hmem",
            "hmem.testing",
            "hmem.testing.plugin",
        }
