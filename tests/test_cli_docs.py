"""docs/cli.md says what the command line does."""

import json
import os
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import hmem
from hmem import Memory
from hmem.cli.commands import COMMANDS
from hmem.cli.commands import hmem as command
from hmem.cli.transcript import BATCH

DOCS = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
TEXT = DOCS.read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, as cells."""
    part = TEXT.split(f"# {heading}\n", 1)[1].split("\n#", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def words(cell: str) -> list[str]:
    return re.findall(r"`([\w -]+)`", cell)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What each command says as JSON, on a small store."""
    for name in list(os.environ):
        if name.startswith("HMEM_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HMEM_PATH", str(tmp_path / "m"))
    monkeypatch.setenv("HMEM_EMBED", "none")
    with Memory() as mem:
        receipt = mem.add("Ana keeps bees.", user_id="ana", infer=False)
        fact = receipt.result(timeout=20).added[0]
    calls = {
        "search": ("search", "bees", "-u", "ana"),
        "context": ("context", "bees", "-u", "ana"),
        "list": ("list", "-u", "ana"),
        "timeline": ("timeline", "-u", "ana"),
        "count": ("count", "-u", "ana"),
        "get": ("get", fact, "-u", "ana"),
        "history": ("history", fact, "-u", "ana"),
        "stats": ("stats",),
        "jobs": ("jobs",),
        "jobs --status": ("jobs", "--status", "done"),
        "job": ("jobs", receipt.id, "-u", "ana"),
        "doctor": ("doctor", "--offline"),
        "models list": ("models", "list"),
        "add": ("add", "Ana sings.", "-u", "ana"),
        "delete": ("delete", fact, "-u", "ana"),
        "erase": ("erase", fact, "-u", "ana", "--yes"),
    }
    found = {}
    for name, args in calls.items():
        result = CliRunner().invoke(command, [*args, "--json"])
        assert result.exit_code == 0, result.output
        found[name] = json.loads(result.stdout)
    return found


def test_the_commands_of_the_table_are_those_there_are() -> None:
    named = [
        words(row[0])[0].removeprefix("hmem ") for row in table("The command line")
    ]
    assert named == list(COMMANDS)


def test_the_keys_of_the_table_are_those_that_are_printed(
    told: dict[str, Any],
) -> None:
    rows = {words(row[0])[0]: row for row in table("JSON")}
    assert set(rows) == set(told) - {"job"}
    for name, (_, record, cell) in rows.items():
        value = told[name]
        assert isinstance(value, list) is record.startswith("list"), name
        printed = list(value[0] if isinstance(value, list) else value)
        kinds = [kind for kind in words(record) if hasattr(hmem, kind)]
        if name == "get":
            own = {f.name for kind in kinds for f in fields(getattr(hmem, kind))}
            assert set(printed) <= own
        elif kinds:
            (kind,) = kinds
            values = [f.name for f in fields(getattr(hmem, kind)) if f.name != "render"]
            assert printed == values == words(cell)
        elif name == "stats":
            assert printed[:5] == words(cell)
        else:
            assert printed == words(cell)[: len(printed)], name
    assert list(told["job"]) == words(rows["jobs"][2])[-3:]
    assert list(told["doctor"]["checks"][0]) == ["name", "state", "detail"]
    assert list(told["add"]["receipts"][0]) == ["id", "status", "result"]


def test_every_command_that_says_it_takes_json_takes_it() -> None:
    for name in COMMANDS:
        found = command.get_command(click.Context(command), name)
        assert found is not None
        subs = found.commands if isinstance(found, click.Group) else {name: found}
        for sub, one in subs.items():
            takes = any("--json" in p.opts for p in one.params)
            assert takes is (sub not in ("worker", "install")), f"{name} {sub}"


def test_numbers_in_the_text_are_those_of_the_program() -> None:
    assert f"in calls of up to {BATCH}" in TEXT
    days = hmem.Config().receipt_days
    assert f"(`HMEM_RECEIPT_DAYS`, {days:g} days)" in TEXT


def test_the_examples_name_options_that_exist() -> None:
    for line in re.findall(r"^\$ hmem (.+)$", TEXT, flags=re.M):
        name, *more = line.split()
        found = command.get_command(click.Context(command), name)
        assert found is not None
        known = {opt for p in found.params for opt in p.opts}
        assert {word for word in more if word.startswith("-")} <= known, line
