"""The demo remembers, finds what it should, says what ran, and can fail."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hmem import ConfigError
from hmem.cli import demo, loop, reconciled, show_loop, show_reconciled
from hmem.cli.show import as_json, as_text
from hmem.config import Config

RUN = [sys.executable, "-c", "from hmem.cli import main; main()", "demo"]


def no_weights(tmp_path: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HMEM_")}
    return {**kept, "HMEM_MINILM_DIR": str(tmp_path / "no-weights")}


@pytest.fixture
def lexical() -> Config:
    return Config(embed="none")


def test_the_script_is_dated_and_each_expected_turn_is_in_it_once() -> None:
    script = demo.load_script()
    days = [session["observed_at"] for session in script["sessions"]]
    texts = [text for session in script["sessions"] for _, text in session["turns"]]
    assert len(days) == 5
    assert days == sorted(days)
    assert days[-1] < script["asked_at"]
    assert 40 <= len(texts) <= 60
    for question in script["questions"]:
        assert sum(question["expect"] in text for text in texts) == 1


def test_it_finds_everything_by_words_alone(lexical: Config) -> None:
    report = demo.demonstrate(lexical)
    assert report.ok, [answer for answer in report.answers if answer.wrong]
    assert len(report.answers) == 4
    assert {result.status for result in report.receipts.values()} == {"done"}
    assert sum(len(result.turns) for result in report.receipts.values()) == 56
    assert 0 < report.block.tokens <= report.max_tokens
    assert "lexical only" in report.ran["embedder"]


def test_it_leaves_no_folder_behind_unless_told_to(
    lexical: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    demo.demonstrate(lexical)
    assert list(tmp_path.iterdir()) == []
    demo.demonstrate(lexical, path=tmp_path / "kept")
    assert (tmp_path / "kept").is_dir()


def test_a_second_run_in_one_folder_adds_nothing_and_finds_the_same(
    lexical: Config, tmp_path: Path
) -> None:
    first = demo.demonstrate(lexical, path=tmp_path / "store")
    again = demo.demonstrate(lexical, path=tmp_path / "store")
    assert again.ok
    assert sum(len(result.turns) for result in again.receipts.values()) == 0
    assert [[hit.id for hit in answer.hits] for answer in again.answers] == [
        [hit.id for hit in answer.hits] for answer in first.answers
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({"expect": "I live on the moon"}, "no turn with", id="not found"),
        pytest.param(
            {"expect": "I live in Ghent", "as_of": "2026-04-01"},
            "no turn",
            id="too early",
        ),
    ],
)
def test_it_fails_when_an_expected_turn_is_not_found(
    lexical: Config,
    change: dict[str, Any],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = demo.load_script()
    script["questions"][0] |= change
    monkeypatch.setattr(demo, "load_script", lambda: script)
    report = demo.demonstrate(lexical)
    assert not report.ok
    assert says in report.answers[0].wrong
    assert "WRONG" in "\n".join(as_text(report))
    assert as_json(report)["ok"] is False


def test_under_the_c_locale_it_prints_utf8_in_80_columns(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        RUN,
        capture_output=True,
        env=no_weights(tmp_path) | plain,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode("utf-8")
    assert "café" in text or "Gefeliciteerd" in text or text.isascii()
    assert max(map(len, text.splitlines())) <= 80
    assert "hmem models install minilm" in text
    assert "no language model" in text


def test_json_is_the_whole_of_stdout(tmp_path: Path) -> None:
    done = subprocess.run(
        [*RUN, "--json"],
        capture_output=True,
        env=no_weights(tmp_path),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert value["ok"] is True
    assert [answer["found"] for answer in value["answers"]] == [True] * 4
    assert value["block"]["tokens"] > 0


@pytest.mark.model
def test_with_the_weights_it_also_finds_by_meaning() -> None:
    report = demo.demonstrate(Config(embed="minilm"))
    assert report.ok, [answer for answer in report.answers if answer.wrong]
    assert len(report.answers) == 5
    assert "384 dimensions" in report.ran["embedder"]


def test_the_loop_is_played_from_the_recording_and_facts_replace_facts() -> None:
    report = loop.play(Config(embed="none"), live=False)
    assert report.ok, [one.wrong for one in report.found]
    assert [one.result.status for one in report.learned] == ["done"] * 5
    assert sum(len(one.replaced) for one in report.learned) == 3
    assert sum(len(one.facts) for one in report.learned) == 24
    assert all(why for one in report.learned for _, _, why in one.replaced)
    assert report.usage.llm_calls == 5
    assert 0 < report.block.tokens <= report.max_tokens
    assert loop.RECORDING in report.ran["model"]
    text = "\n".join(show_loop.as_text(report))
    assert "- Tamsin stopped eating meat in February 2026" in text
    assert json.dumps(show_loop.as_json(report))
    assert max(map(len, text.splitlines())) <= 80


def test_the_recording_does_not_depend_on_the_settings_of_the_day() -> None:
    changed = Config(
        embed="none",
        instructions="be brief",
        categories=("work",),
        extract_after_turns=9,
        timezone="Asia/Tokyo",
        profile=True,
    )
    assert loop.play(changed, live=False).ok


def test_live_without_a_model_says_what_to_set() -> None:
    with pytest.raises(ConfigError, match="HMEM_LLM"):
        loop.play(Config(embed="none"), live=True)


@pytest.mark.model
def test_the_recording_is_played_with_the_local_model_s_vectors_too() -> None:
    for name in ("auto", "minilm"):
        report = loop.play(Config(embed=name), live=False)
        assert report.ok, [one.wrong for one in report.found]
        assert "384 dimensions" in report.ran["embedder"]
    by_words = loop.play(Config(embed="none"), live=False)
    assert [one.facts for one in report.learned] == [
        one.facts for one in by_words.learned
    ]
    assert report.block.text != by_words.block.text
    assert "sardine" in report.block.text


def test_the_recording_asks_no_embedder_of_an_endpoint() -> None:
    config = Config(embed="bge-m3", base_url="http://127.0.0.1:9/v1")
    report = loop.play(config, live=False)
    assert report.ok
    assert report.ran["embedder"].startswith("lexical only")


# --------------------------------------------------------------------- demo --reconcile


def test_each_turn_of_the_talk_is_decided_about_as_it_was_recorded() -> None:
    report = reconciled.play(Config(embed="none"), live=False)
    assert report.ok, [turn.wrong for turn in report.turns]
    verbs = [[one.verb for one in turn.decisions] for turn in report.turns]
    assert verbs == [
        ["ADD", "ADD"],
        ["ADD"],
        ["ADD"],
        ["UPDATE"],
        ["UPDATE"],
        ["NOOP"],
        ["DELETE"],
        [],
    ]
    moved, stopped = report.turns[3].decisions[0], report.turns[4].decisions[0]
    assert (moved.old, moved.reason) == (
        "Priska lives in Porto, in a flat above a bakery",
        "lives in Turku now",
    )
    assert "stopped eating meat" in stopped.text
    assert [turn.left for turn in report.turns] == [()] * 8
    calls = [turn.result.usage.llm_calls for turn in report.turns]
    assert calls == [1, 2, 2, 2, 2, 2, 2, 1]
    assert len(report.known) == 3
    assert reconciled.RECORDING in report.ran["model"]


def test_the_talk_is_told_in_80_columns_and_as_json() -> None:
    report = reconciled.play(Config(embed="none"), live=False)
    lines = list(show_reconciled.as_text(report))
    assert max(map(len, "\n".join(lines).splitlines())) <= 80
    text = " ".join("\n".join(lines).split())
    assert "UPDATE Priska moved from Porto to Turku on 2026-03-31" in text
    assert "was: Priska lives in Porto" in text
    assert "DELETE Priska works at home as a translator [that job is over]" in text
    assert "nothing to keep (1 call)" in text
    value = json.loads(json.dumps(show_reconciled.as_json(report)))
    assert (value["ok"], value["calls"]) == (True, 14)
    assert value["turns"][5]["decisions"][0]["action"] == "NOOP"


def test_the_recorded_talk_does_not_depend_on_the_settings_of_the_day() -> None:
    changed = Config(
        embed="none",
        instructions="be brief",
        categories=("work",),
        extract_after_turns=9,
        timezone="Asia/Tokyo",
        profile=True,
    )
    assert reconciled.play(changed, live=False).ok


def test_a_talk_that_is_decided_about_otherwise_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    talk = reconciled.load_talk()
    talk["turns"][3]["facts"][0]["decision"][0] = "ADD"
    talk["questions"][0]["expect"] = "on the moon"
    monkeypatch.setattr(reconciled, "load_talk", lambda: talk)
    report = reconciled.play(Config(embed="none"), live=False)
    assert not report.ok
    assert [bool(turn.wrong) for turn in report.turns].index(True) == 3
    assert "on the moon" in report.found[0].wrong
    text = "\n".join(show_reconciled.as_text(report))
    assert text.count("WRONG: ") == 2
    assert show_reconciled.as_json(report)["ok"] is False


def test_the_talk_live_without_a_model_says_what_to_set() -> None:
    with pytest.raises(ConfigError, match="HMEM_LLM"):
        reconciled.play(Config(embed="none"), live=True)


def test_the_command_tells_the_talk_alone(tmp_path: Path) -> None:
    def run(*args: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [*RUN, "--reconcile", *args],
            capture_output=True,
            env=no_weights(tmp_path),
            timeout=60,
            check=False,
        )

    told = run("--json")
    assert told.returncode == 0, told.stderr
    value = json.loads(told.stdout)
    assert value["ok"] is True
    assert set(value) >= {"turns", "known", "answers"}
    refused = run("--path", str(tmp_path / "store"))
    assert refused.returncode == 2
    assert b"--path" in refused.stderr
    assert not (tmp_path / "store").exists()
