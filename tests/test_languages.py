"""In which languages questions speak of times, and when what reads them is loaded."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hmem import AsyncMemory, Config, ConfigError, MissingExtraError, asking, parts
from hmem.text.timewords import WORDS, may_speak_of_time
from hmem.timeparse.feasts import FEAST_STARTS
from hmem.timeparse.words import LEXICON


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=1, embed="none")


def test_languages_come_from_the_environment() -> None:
    config = Config.from_env({"HMEM_LANGUAGES": "en, nl"})
    assert config.languages == ("en", "nl")
    assert Config.from_env({}).languages == ("en",)


@pytest.mark.parametrize(
    "languages",
    [(), "en", ["en"], ("EN",), ("english",), ("en", "en"), (7,), ("e\u00f1",)],
)
def test_what_is_no_language_is_refused(languages: Any) -> None:
    with pytest.raises(ConfigError, match="HMEM_LANGUAGES"):
        Config(languages=languages)


async def test_a_language_that_cannot_be_read_is_told_at_open(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"HMEM_LANGUAGES.* xx"):
        await AsyncMemory(replace(config, languages=("en", "xx"))).open()
    monkeypatch.setattr(parts, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"\[time\]'"):
        await AsyncMemory(replace(config, languages=("en", "xx"))).open()
    async with AsyncMemory(config):
        pass


async def test_without_english_english_is_not_read(config: Config) -> None:
    async with AsyncMemory(replace(config, languages=("de",))) as mem:
        await mem.add("fillers", user_id="u", observed_at="2026-02-18")
        asked: dict[str, Any] = {"asked_at": "2026-02-19", "explain": True}
        for query, timed in (("gestern", True), ("yesterday", False)):
            (hit,) = await mem.search(query, user_id="u", **asked)
            assert ("time" in hit.explain) is timed


async def test_the_grammar_is_loaded_off_the_loop_once(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_LOADED", set())
    loads: list[object] = []
    load = asking._load

    def noted(languages: Any) -> Any:
        loads.append(languages)
        return load(languages)

    monkeypatch.setattr(asking, "_load", noted)
    async with AsyncMemory(config) as mem:
        assert loads == []
        await mem.add("fillers", user_id="u")
        await mem.count("u")
        await mem.search("who keeps bees?", user_id="u")
        assert loads == []
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(mem.search("last week", user_id="u"))
        await mem.context("last week", user_id="u")
    assert loads == [("en",)]


def test_every_time_has_a_word_that_tells_that_there_may_be_one() -> None:
    bearing = {word for word, (code, _) in LEXICON.items() if code.isupper()}
    assert bearing | set(FEAST_STARTS) == WORDS
    for text in ("May 5th", "at 3pm", "LAST WEEK", "xmas", "mother's day", "12/5/2024"):
        assert may_speak_of_time(text)
    for text in ("", "who keeps bees?", "what did I say?", "\u660e\u5929", "weekly"):
        assert not may_speak_of_time(text)


CODE = """
import asyncio, sys
from hmem import AsyncMemory, Config

def loaded():
    rooms = ("hmem.timeparse", "hmem.filters", "dateparser")
    return [room for room in rooms if room in sys.modules]

async def go():
    async with AsyncMemory(Config(path=sys.argv[1], embed="none", shards=1)) as mem:
        await mem.add("kilns", user_id="u", wait=True)
        await mem.get_all(user_id="u")
        await mem.timeline("u")
        await mem.search("who has kilns?", user_id="u")
        print(loaded())
        await mem.count("u", filters={"city": "Ghent"})
        print(loaded())
        await mem.search("last week", user_id="u")
        print(loaded())
asyncio.run(go())
"""


def test_rooms_are_loaded_when_they_are_needed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "m")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "[]",
        "['hmem.filters']",
        "['hmem.timeparse', 'hmem.filters']",
    ]
