"""`hmem list | timeline | count`, and `--filter` on every reading command."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hmem import Memory
from hmem.cli.commands import hmem as command


@pytest.fixture(autouse=True)
def moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[str, str]:
    """Ana moved; ids of what was believed before and since."""
    for name in list(os.environ):
        if name.startswith("HMEM_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HMEM_PATH", str(tmp_path / "m"))
    monkeypatch.setenv("HMEM_EMBED", "none")
    with Memory() as mem:
        said: dict[str, Any] = {"user_id": "ana", "metadata": {"city": "Bristol"}}
        first = mem.add(
            "Ana lives in Bristol.", infer=False, observed_at="2026-01-11", **said
        )
        old = first.result(timeout=20).added[0]
        new = mem.update(
            old, user_id="ana", text="Ana lives in Ghent.", observed_at="2026-08-02"
        )
        for n in range(3):
            mem.add(
                {"role": "user", "name": "Ana", "content": f"Ghent\x1b[2J, day {n}"},
                user_id="ana",
                session_id="s1",
                observed_at=f"2026-08-0{n + 3}",
            )
    return old, new.id


def run(*args: str) -> Result:
    return CliRunner().invoke(command, args)


def told(*args: str) -> Any:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_timeline_says_what_became_of_each_memory(moved: tuple[str, str]) -> None:
    lines = run("timeline", "-u", "ana").stdout.splitlines()
    assert lines[0] == "2026-01-11 00:00  Ana lives in Bristol."
    assert f"memory {moved[0]}" in lines[1]
    assert lines[1].count("believed until 2026-08-02 00:00") == 1
    assert lines[1].endswith("then: Ana lives in Ghent.")
    assert lines[2] == "2026-08-02 00:00  Ana lives in Ghent."
    assert "then:" not in lines[3]
    assert lines[4] == "2026-08-03 00:00  Ana: Ghent\\u001b[2J, day 0"
    first = told("timeline", "-u", "ana", "-n", "1")
    assert first["rows"][0]["replaced_by"]["id"] == moved[1]
    assert first["rows"][0]["record"]["id"] == moved[0]
    rest = told("timeline", "-u", "ana", "--cursor", first["cursor"])
    assert (len(rest["rows"]), rest["cursor"]) == (4, None)


def test_a_timeline_takes_a_name_and_the_times(moved: tuple[str, str]) -> None:
    def texts(*more: str) -> list[str]:
        return [row["text"] for row in told("timeline", "-u", "ana", *more)["rows"]]

    assert texts("--entity", "BRISTOL") == ["Ana lives in Bristol."]
    assert texts("--entity", "ghent", "--kind", "memory") == ["Ana lives in Ghent."]
    assert texts("--during", "2026-01") == ["Ana lives in Bristol."]
    assert len(texts("--during", "2026-08-03..2026-08-04")) == 2
    assert texts("--as-of", "2026-05") == ["Ana lives in Bristol."]
    assert texts("--known-at", "2020") == []
    assert len(texts("--session-id", "s1")) == 3
    assert len(texts("-n", "1", "--all")) == 5


@pytest.mark.parametrize("verb", ["list", "timeline"])
def test_a_list_that_goes_on_says_how(verb: str) -> None:
    result = run(verb, "-u", "ana", "-n", "2")
    cursor = result.stderr.split("--cursor ")[1].strip()
    more = run(verb, "-u", "ana", "--cursor", cursor)
    assert more.exit_code == 0
    assert "--cursor" not in more.stderr
    wrong = run(verb, "-u", "ana", "--kind", "turn", "--cursor", cursor)
    assert (wrong.exit_code, wrong.stdout) == (2, "")


def test_a_count_is_what_list_lists() -> None:
    for more, many in (
        ((), 4),
        (("--kind", "turn"), 3),
        (("--category", "semantic"), 1),
        (("--category", "procedural"), 0),
        (("--filter", '{"city": "Bristol"}'), 1),
        (("--entity", "ghent", "--during", "2026-08-03.."), None),
        (("--as-of", "2026-05"), 1),
    ):
        result = run("count", "-u", "ana", *more)
        if many is None:
            assert result.exit_code == 2
            continue
        assert (result.exit_code, result.stdout) == (0, f"{many}\n")
        assert told("count", "-u", "ana", *more) == {"count": many}
        assert len(told("list", "-u", "ana", "--all", *more)["rows"]) == many
    assert told("count", "-u", "nobody") == {"count": 0}


READING = {
    "search": ("search", "ghent", "-u", "ana"),
    "context": ("context", "ghent", "-u", "ana"),
    "list": ("list", "-u", "ana"),
    "timeline": ("timeline", "-u", "ana"),
    "count": ("count", "-u", "ana"),
}


@pytest.mark.parametrize("verb", READING)
def test_every_reading_command_takes_a_filter(verb: str) -> None:
    asked = READING[verb]
    kept = {"role": "user", "at": {"gte": "2026-08-04"}}
    result = run(*asked, "--filter", json.dumps(kept))
    assert result.exit_code == 0
    if verb == "count":
        assert result.stdout == "2\n"
    else:
        assert "day 1" in result.stdout
        assert "day 0" not in result.stdout
        assert "lives" not in result.stdout
    bad = [
        *('{"city":', "city=Ghent", '["city"]', "7", '{"sesion_id": "s1"}'),
        *('{"category": "x"}', '{"n": {"gt": 5, "lt": 3}}', "[" * 100_000),
    ]
    for text in bad:
        result = run(*asked, "--filter", text)
        assert (result.exit_code, result.stdout) == (2, ""), text
        assert "filter" in result.stderr
    if verb == "count":
        return
    unknown = run(*asked, "--filter", '{"cty": {"exists": false}}')
    assert unknown.exit_code == 0
    assert "degraded: unknown_filter_key:cty" in unknown.stderr
    assert (
        "unknown_filter_key:cty" in told(*asked, "--filter", '{"cty": 1}')["degraded"]
    )
