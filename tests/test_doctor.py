"""`hmem doctor`: each thing that can be wrong is told, and the rest is looked at all the same."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hmem import Config, Memory
from hmem.cli import checks_models
from hmem.cli.commands import hmem as command
from hmem.testing.chat_endpoint import ChatEndpoint
from hmem.testing.endpoint import EmbeddingsEndpoint
from hmem.testing.fakes import HashEmbedder
from hmem.testing.rerank_endpoint import RerankEndpoint

SKY = '{"colour": "blue"}'


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in list(os.environ):
        if name.startswith("HMEM_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HMEM_PATH", str(tmp_path / "m"))
    monkeypatch.setenv("HMEM_EMBED", "none")
    monkeypatch.setenv("HMEM_SHARDS", "2")
    return tmp_path / "m"


def doctor(*args: str, code: int = 0) -> dict[str, list[tuple[str, str]]]:
    """What it says as JSON: states and details by name."""
    result = run(*args, "--json")
    assert result.exit_code == code, result.output
    told = json.loads(result.stdout)
    assert set(told) == {"ok", "checks"}
    assert told["ok"] is (code == 0)
    found: dict[str, list[tuple[str, str]]] = {}
    for check in told["checks"]:
        assert set(check) == {"name", "state", "detail"}
        found.setdefault(check["name"], []).append((check["state"], check["detail"]))
    return found


def run(*args: str) -> Result:
    return CliRunner().invoke(command, ["doctor", *args], prog_name="hmem")


def filled(**more: Any) -> None:
    with Memory(Config.from_env(), **more) as mem:
        mem.add("The bees swarmed.", user_id="ana", wait=True)


def test_on_a_machine_with_nothing_all_is_well(folder: Path) -> None:
    found = doctor()
    assert found["python"][0][0] == found["hmem"][0][0] == "ok"
    state, detail = found["folder"][0]
    assert (state, "no store yet" in detail) == ("note", True)
    assert found["chat model"][0][1].startswith("none (HMEM_LLM)")
    assert "by words alone" in found["embedder"][0][1]
    assert not folder.exists()


def test_the_lines_are_one_a_check_and_the_exit_code_says_if_one_is_broken(
    folder: Path,
) -> None:
    lines = run().stdout.splitlines()
    assert len(lines) == sum(map(len, doctor().values()))
    assert {line.split()[0] for line in lines} <= {"ok", "note"}
    folder.mkdir()
    (folder / "cat.jpg").write_bytes(b"\xff")
    result = run()
    assert result.exit_code == 1
    assert "\nbroken folder" in result.stdout
    assert result.stderr == "Error: something is broken: folder\n"


@pytest.mark.parametrize(
    ("version", "state"),
    [((3, 40, 1), "note"), ((3, 51, 2), "note"), ((3, 51, 3), "ok"), ((4, 0, 0), "ok")],
)
def test_the_sqlite_that_can_damage_a_file_is_named(
    version: tuple[int, int, int], state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    monkeypatch.setattr(sqlite3, "sqlite_version", ".".join(map(str, version)))
    ((found, detail),) = doctor()["sqlite"]
    assert found == state
    assert detail.startswith(".".join(map(str, version)))
    assert ("locks each checkpoint" in detail) is (state == "note")


def test_packages_and_extras_are_those_of_the_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "site" / "hmem-0.1.0.dist-info"
    info.mkdir(parents=True)
    needs = [
        "click>=8.1",
        'anyio; extra == "odd"',
        "nobody-has-this; extra == 'rare'",
        "anyio; extra == 'rare'",
        'hmem[odd]; extra == "both"',
    ]
    lines = ["Metadata-Version: 2.4", "Name: hmem", "Version: 0.1.0"]
    lines += [f"Requires-Dist: {need}" for need in needs]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    found = doctor()
    assert found["packages"][0][0] == "ok"
    assert found["packages"][0][1].startswith("click ")
    assert found["extra odd"][0][0] == "ok"
    ((state, detail),) = found["extra rare"]
    assert state == "note"
    assert detail.startswith("not installed: the extra 'rare' (nobody-has-this, anyio)")
    assert detail.endswith("pip install 'hmem[rare]'")
    assert "extra both" not in found
    (info / "METADATA").write_text(
        "\n".join([*lines, "Requires-Dist: nobody-has-this"])
    )
    assert doctor(code=1)["packages"] == [("broken", "not installed: nobody-has-this")]


def test_a_variable_that_nothing_reads_is_named_with_what_was_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "variable" not in doctor()
    monkeypatch.setenv("HMEM_TIMEZOEN", "Europe/Brussels")
    monkeypatch.setenv("HMEM_QQQQ", "1")
    assert doctor()["variable"] == [
        ("note", "HMEM_QQQQ is no setting"),
        ("note", "HMEM_TIMEZOEN is no setting: did you mean HMEM_TIMEZONE?"),
    ]


def test_a_setting_that_cannot_be_used_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HMEM_SHARDS", "many")
    found = doctor(code=1)
    assert "HMEM_SHARDS" in found["settings"][0][1]
    assert found["python"]


# ------------------------------------------------------------------------- the folder


def test_a_store_is_counted_and_nothing_is_written(folder: Path) -> None:
    filled()
    before = sorted((p.name, p.stat().st_mtime_ns) for p in folder.glob("*.db"))
    ((state, detail),) = doctor()["folder"]
    assert (state, "1 users, 0 memories, 1 turns" in detail) == ("ok", True)
    assert sorted((p.name, p.stat().st_mtime_ns) for p in folder.glob("*.db")) == before


def test_jobs_that_wait_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMEM_ALLOW_DEGRADED", "1")
    filled(embedder=HashEmbedder())
    with Memory(Config(path=folder, worker="off"), embedder=HashEmbedder()) as mem:
        mem.add("The queen is two.", user_id="ana")
    assert doctor()["jobs"] == [
        ("note", "1 have not ended: `hmem worker` works on them")
    ]


def test_damage_is_broken_and_the_models_are_looked_at_all_the_same(
    folder: Path,
) -> None:
    filled()
    for shard in folder.glob("shard-*.db*"):
        shard.write_bytes(b"not a database " * 512)
    found = doctor(code=1)
    assert any(
        state == "broken" and "shard-" in text for state, text in found["folder"]
    )
    assert found["chat model"]
    (folder / "hmem.json").write_text("{")
    found = doctor(code=1)
    assert found["folder"][0][0] == "broken"
    assert found["chat model"]


def test_a_folder_that_cannot_be_made_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("HMEM_PATH", str(tmp_path / "file" / "m"))
    ((state, detail),) = doctor(code=1)["folder"]
    assert (state, "cannot be made" in detail) == ("broken", True)


# ------------------------------------------------------------------------- the models


def test_missing_weights_come_with_the_line_that_gets_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HMEM_MINILM_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("HMEM_EMBED", "auto")
    ((state, detail),) = doctor()["embedder"]
    assert (state, "hmem models install minilm" in detail) == ("note", True)
    monkeypatch.setenv("HMEM_EMBED", "minilm")
    assert doctor(code=1)["embedder"][0][0] == "broken"


def test_a_store_with_vectors_and_no_embedder_is_broken_unless_that_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filled(embedder=HashEmbedder())
    ((state, detail),) = doctor(code=1)["embedder"]
    assert (state, "holds vectors of test-hash-64" in detail) == ("broken", True)
    monkeypatch.setenv("HMEM_ALLOW_DEGRADED", "1")
    assert doctor()["embedder"][0][0] == "note"


def test_an_embedder_answers_and_must_be_the_store_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with EmbeddingsEndpoint() as endpoint:
        monkeypatch.setenv("HMEM_EMBED", "any")
        monkeypatch.setenv("HMEM_EMBED_BASE_URL", endpoint.url)
        ((state, detail),) = doctor()["embedder"]
        assert (state, detail.startswith("any, 64 dimensions")) == ("ok", True)
        filled(embedder=HashEmbedder(32, model="another"))
        ((state, detail),) = doctor(code=1)["embedder"]
        assert state == "broken"
        assert detail.endswith("the store holds vectors of another (32)")


def test_a_reranker_is_asked_where_one_is_wanted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "reranker" not in doctor()
    monkeypatch.setenv("HMEM_RERANK", "any")
    with RerankEndpoint() as endpoint:
        monkeypatch.setenv("HMEM_RERANK_BASE_URL", endpoint.url)
        ((state, detail),) = doctor()["reranker"]
        assert state == "ok"
        assert detail.endswith(" ms for two texts")
    assert doctor(code=1)["reranker"][0][0] == "broken"
    assert "reranker" not in doctor("--offline")
    monkeypatch.setenv("HMEM_RERANK", "local")
    monkeypatch.setenv("HMEM_MINILM_DIR", str(tmp_path / "no-weights"))
    ((state, detail),) = doctor(code=1)["reranker"]
    assert (state, "hmem models install minilm" in detail) == ("broken", True)


def test_a_name_that_there_is_not_breaks_no_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Memory(Config.from_env()) as mem:
        mem.add("I keep bees", user_id="ana")
    monkeypatch.setenv("HMEM_RERANK", "locl")
    found = doctor(code=1)
    assert found["folder"][0][0] == "ok"
    ((state, detail),) = found["reranker"]
    assert (state, "did you mean 'local'?" in detail) == ("broken", True)


def test_an_endpoint_that_is_not_there_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with EmbeddingsEndpoint() as endpoint:
        gone = endpoint.url
    monkeypatch.setenv("HMEM_EMBED", "any")
    monkeypatch.setenv("HMEM_EMBED_BASE_URL", gone)
    monkeypatch.setenv("HMEM_LLM", "any")
    monkeypatch.setenv("HMEM_BASE_URL", gone)
    monkeypatch.setenv("HMEM_API_KEY", "sk-secret")
    result = run()
    assert result.exit_code == 1
    assert "something is broken: embedder, chat model" in result.stderr
    assert "sk-secret" not in result.output


def test_a_model_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks_models, "PATIENCE", 0.3)
    with ChatEndpoint() as endpoint:
        endpoint.answer = endpoint.hang
        monkeypatch.setenv("HMEM_LLM", "any")
        monkeypatch.setenv("HMEM_BASE_URL", endpoint.url)
        assert doctor(code=1)["chat model"] == [("broken", "no answer within 0 s")]


def no_schemas(body: Any) -> Any:
    if (body.get("response_format") or {}).get("type") == "json_schema":
        return ChatEndpoint.fault(400, "response_format json_schema is not supported")
    return ChatEndpoint.reply(SKY)


@pytest.mark.parametrize(
    ("answer", "state", "says"),
    [
        pytest.param(
            lambda _: ChatEndpoint.reply(SKY), "ok", "JSON as json_schema", id="strict"
        ),
        pytest.param(no_schemas, "ok", "JSON as json_object", id="no schemas"),
        pytest.param(
            lambda _: ChatEndpoint.reply("It is blue."),
            "broken",
            "without usable JSON",
            id="prose",
        ),
        pytest.param(
            lambda _: ChatEndpoint.fault(401, "bad key"),
            "broken",
            "HMEM_API_KEY",
            id="key",
        ),
        pytest.param(
            lambda _: ChatEndpoint.fault(404, "no such model"),
            "broken",
            "any",
            id="model",
        ),
    ],
)
def test_the_chat_model_is_asked_once_and_its_json_is_named(
    answer: Any, state: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatEndpoint() as endpoint:
        endpoint.answer = answer
        monkeypatch.setenv("HMEM_LLM", "any")
        monkeypatch.setenv("HMEM_BASE_URL", endpoint.url)
        monkeypatch.setenv("HMEM_API_KEY", "sk-secret")
        ((found, detail),) = doctor(code=0 if state == "ok" else 1)["chat model"]
        assert found == state
        assert says in detail
        assert "sk-secret" not in detail
        asked = len(endpoint.bodies)
        assert doctor("--offline").keys().isdisjoint({"chat model", "embedder"})
        assert len(endpoint.bodies) == asked <= 4
