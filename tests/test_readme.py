"""The README is part of the program: its example runs, its table is Config's."""

import ast
import inspect
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from hmem import AsyncMemory, SearchResult
from hmem.asking import MAX_QUERY_CHARS
from hmem.config import Config
from hmem.inputs.metadata import MAX_BYTES
from hmem.inputs.scope import MAX_ID_BYTES
from hmem.stores.keys import SEQ_MAX
from hmem.vectors import CODECS, INDEXES

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.S | re.M)


@pytest.mark.parametrize(
    "code", [code for code in blocks("python") if "fastapi" not in code]
)
def test_an_example_runs(
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    said = re.findall(r"print\(.*\)\s+# (\[.*\])$", code, flags=re.M)
    for value in said:
        assert repr(ast.literal_eval(value)) in printed.splitlines()


def test_the_example_says_what_it_prints_and_the_block_holds_both_turns(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[0], "README.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "['I live in Bristol.']"
    assert re.search(r"Tom( \(pending\))?: I moved to Ghent\.", printed)
    assert "2026" in printed


def test_the_example_is_short() -> None:
    assert len(blocks("python")[0].strip().splitlines()) < 21


def test_the_two_commands_are_one_line_each() -> None:
    first, second = blocks("sh")
    assert first.count("\n") == second.count("\n") == 1
    assert first.strip().endswith("hmem demo --install")
    assert second.strip().endswith("pytest -q -n 3")
    for line in (first, second):
        assert line.startswith("python3 -m venv .venv && ")


def test_the_commands_name_extras_and_groups_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(project["project"]["optional-dependencies"])
    text = "".join(blocks("sh") + blocks("console"))
    named = {
        name
        for found in re.findall(r"\.\[([\w,]+)\]|--extra (\w+)", text)
        for name in "".join(found).split(",")
    }
    assert named
    assert named <= extras
    groups = set(re.findall(r"--group (\w+)", text))
    assert groups
    assert groups <= set(project["dependency-groups"])


def test_the_settings_table_is_config() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (?:`(\w+)`)? ?\| `([^`]*)` \| (.+) \|$", README, flags=re.M
    )
    documented = {name: (variable, default) for name, variable, default, _ in rows}
    actual = {
        f.name: (
            "" if f.name == "on_event" else f"HMEM_{f.name.upper()}",
            f'"{f.default}"' if isinstance(f.default, str) else repr(f.default),
        )
        for f in fields(Config)
    }
    assert documented == actual
    assert list(documented) == list(actual), "in the order of the fields"


def test_the_codecs_and_indexes_named_are_all_that_there_are() -> None:
    rows = dict(re.findall(r"^\| `(stored|vectors)` .*\| (.+) \|$", README, flags=re.M))
    assert set(re.findall(r'`"([^"]+)"`', rows["stored"])) == set(CODECS)
    assert set(re.findall(r'`"([^"]+)"`', rows["vectors"])) == {"auto", *INDEXES}


def test_the_documented_limits_are_the_real_ones() -> None:
    limits = re.search(r"^\*\*Limits\*\*:.*?\n\n", README, flags=re.S | re.M)
    assert limits is not None
    flat = " ".join(limits[0].split())
    config = Config()
    assert f"a message up to {config.max_message_chars:,} characters" in flat
    assert f"an `add()` up to {config.max_messages:,} messages" in flat
    assert f"a fact up to {config.max_item_chars:,} characters" in flat
    assert f"ids up to {MAX_ID_BYTES} bytes" in flat
    assert f"metadata up to {MAX_BYTES:,} bytes" in flat
    assert f"the first {MAX_QUERY_CHARS:,} characters count" in flat
    assert f"{SEQ_MAX:,} turns" in flat


def test_there_are_nine_promises_and_each_says_whether_it_holds() -> None:
    section = README.split("## What is promised")[1].split("\n## ")[0]
    assert len(re.findall(r"^\| [✓◐] \| \*\*", section, flags=re.M)) == 9


def table(text: str, head: str) -> dict[str, dict[str, str]]:
    """A table whose first cell of the head is `head`: row, column, cell."""
    lines = text.split(f"\n| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()
    columns = [cell.strip() for cell in lines[0].strip("| ").split("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    return {name: dict(zip(columns, cells, strict=True)) for name, *cells in rows}


def test_what_is_measured_is_what_docs_retrieval_says() -> None:
    measured = README.split("\n## Measured\n")[1].split("\n## ")[0]
    there = (ROOT / "docs" / "retrieval.md").read_text(encoding="utf-8")
    known = table(there, "tokens")
    shown = table(measured, "tokens")
    assert len(shown) == 4
    for name, cells in shown.items():
        assert cells == {column: known[name][column] for column in cells}, name
    for condition in ("LoCoMo conversations 26 and 30 (231 questions", "72 questions"):
        assert condition in " ".join(there.split())
        assert condition in " ".join(measured.split())


def test_the_arguments_for_asking_are_those_of_the_verbs() -> None:
    section = README.split("\n## Asking\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", section, flags=re.M)
    known = {*inspect.signature(AsyncMemory.search).parameters, "max_tokens"}
    settings = {f.name for f in fields(Config)}
    assert len(rows) > 8
    for first, text in rows:
        if first.startswith("`found."):
            names = re.findall(r"`found\.(\w+)`", first + text)
            assert names
            assert set(names) <= {f.name for f in fields(SearchResult)}
            continue
        codes = re.findall(r"`([^`]+)`", first)
        named = {name for code in codes for name in re.findall(r"\b(\w+)=", code)}
        allowed = settings if first.startswith("`Config(") else known
        assert named, first
        assert named <= allowed, first
        assert set(re.findall(r"`(\w+)=`", text)) <= known


def test_every_local_link_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
