"""The commands on a store: what they print, their exit codes, files that are added."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hmem import Config, Hit, Memory, NearMiss, SearchResult
from hmem.cli import cmd_read, progress
from hmem.cli.commands import hmem as command
from hmem.running.opening import DRAIN
from hmem.testing.chat_endpoint import ChatEndpoint
from hmem.testing.fakes import HangingEmbedder, HashEmbedder
from hmem.testing.llms import ScriptedLLM, facts

HMEM = [sys.executable, "-c", "from hmem.cli import main; main()"]


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Config:
    """No settings but ours; words alone."""
    for name in list(os.environ):
        if name.startswith("HMEM_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HMEM_PATH", str(tmp_path / "m"))
    monkeypatch.setenv("HMEM_EMBED", "none")
    monkeypatch.setenv("HMEM_SHARDS", "2")
    monkeypatch.setenv("HMEM_DURABILITY", "normal")
    return Config.from_env()


def run(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(command, list(args), prog_name="hmem", input=stdin)


def ok(*args: str, stdin: str | bytes | None = None) -> Result:
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result


def told(*args: str, stdin: str | bytes | None = None) -> Any:
    """What a command says as JSON."""
    return json.loads(ok(*args, "--json", stdin=stdin).stdout)


def refused(*args: str, code: int, says: str) -> None:
    result = run(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert says in last


def texts(user: str = "ana") -> list[str]:
    return [row["text"] for row in told("list", "-u", user, "--all")["rows"]]


def write(path: Path, messages: Sequence[object]) -> str:
    path.write_text(json.dumps(messages), encoding="utf-8")
    return str(path)


def say(*said: str) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(said)]


@pytest.fixture
def moved() -> tuple[str, str]:
    """Two facts of Ana's, the second in place of the first; their ids."""
    with Memory() as mem:
        said = {"user_id": "ana", "infer": False}
        first = mem.add("Ana lives in Bristol.", observed_at="2026-01-11", **said)
        old = first.result(timeout=20).added[0]
        new = mem.update(
            old, user_id="ana", text="Ana lives in Ghent.", observed_at="2026-08-02"
        )
        mem.add(
            {"role": "user", "name": "Ana", "content": "Ghent it is!"},
            user_id="ana",
            session_id="s1",
            observed_at="2026-08-02T10:30",
        )
    return old, new.id


# ---------------------------------------------------------------------------- reading


def test_search_prints_the_score_the_day_the_words_and_the_id(
    moved: tuple[str, str],
) -> None:
    result = ok("search", "where does Ana live", "-u", "ana", "-k", "1")
    first, second = result.stdout.splitlines()[:2]
    assert first.endswith("2026-08-02 00:00  Ana lives in Ghent.")
    assert 0 < float(first.split()[0]) <= 1
    assert f"memory {moved[1]}" in second
    assert "degraded: lexical_only" in result.stderr


def test_search_takes_the_times_and_the_filters(moved: tuple[str, str]) -> None:
    def found(*more: str) -> list[str]:
        hits = told("search", "Ana lives in Ghent", "-u", "ana", *more)["hits"]
        return [hit["text"] for hit in hits]

    assert "Ana lives in Bristol." in found("--as-of", "2026-03")
    assert "Ana lives in Ghent." not in found("--as-of", "2026-03-01")
    assert found("--known-at", "2020") == []
    assert found("--during", "2026-08", "--kind", "turn") == ["Ghent it is!"]
    assert found("--during", "2026-01..2026-02") == []
    assert found("--session-id", "s1") == ["Ghent it is!"]
    assert found("--category", "procedural") == []
    assert found("--min-score", "1") == []
    assert found("--agent-id", "nobody") == []


def test_explain_says_what_a_score_is_made_of(moved: tuple[str, str]) -> None:
    (hit,) = told("search", "Ghent", "-u", "ana", "-k", "1", "--explain")["hits"]
    assert sum(hit["explain"].values()) == pytest.approx(hit["score"], abs=1e-5)
    lines = ok("search", "Ghent", "-u", "ana", "-k", "1", "--explain").stdout
    assert " = words 0." in " ".join(lines.split())


def test_nothing_found_is_no_failure(moved: tuple[str, str]) -> None:
    result = ok("search", "Ghent", "-u", "somebody else")
    assert result.stdout == ""
    assert "nothing was found" in result.stderr


def test_a_question_without_an_answer_is_told_with_what_is_lacking(
    moved: tuple[str, str],
) -> None:
    ask = ("search", "Which violin did Melanie buy in Ghent?", "-u", "ana")
    found = told(*ask)
    assert found["answerability"] < 0.5
    nearest = found["near_misses"][0]["lacks"]
    assert "Melanie" in nearest
    result = ok(*ask)
    assert result.stdout
    (line,) = [one for one in result.stderr.splitlines() if "may not be stored" in one]
    assert f"(answerability {found['answerability']:.2f})" in line
    assert line.split("does not say: ")[1].split(", ") == nearest


def test_where_the_nearest_lacks_nothing_nothing_is_said_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nearest, other = (
        Hit(id=i, kind="turn", text="bees", score=0.4, at=datetime.now(UTC))
        for i in ("1", "2")
    )
    misses = (NearMiss(hit=nearest), NearMiss(hit=other, lacks=("violin",)))
    for near_misses in (misses, ()):
        found = SearchResult(
            hits=(nearest,),
            near_misses=near_misses,
            asked_at=nearest.at,
            render=lambda _: pytest.fail("nothing is rendered"),
        )
        cmd_read._doubt(found, 0.31)
        line = "the answer may not be stored (answerability 0.31)\n"
        assert capsys.readouterr() == ("", line)


def test_a_turn_is_not_closed_and_has_no_history_but_can_be_erased() -> None:
    ok("add", "I keep bees", "-u", "ana")
    (turn,) = told("list", "-u", "ana")["rows"]
    for verb in ("delete", "history"):
        refused(verb, turn["id"], "-u", "ana", code=1, says="a turn's")
        refused(verb, turn["id"], "-u", "ana", code=1, says="`hmem erase`")
        refused(verb, turn["id"], "-u", "ben", code=1, says="of this user")
    assert texts() == ["I keep bees"]


def test_no_value_of_the_counts_is_blank() -> None:
    ok("add", "I keep bees", "-u", "ana")
    for line in ok("stats").stdout.splitlines():
        assert line[18:].strip(), line
    assert "models             none" in ok("stats").stdout


def test_context_prints_the_block_and_nothing_else(moved: tuple[str, str]) -> None:
    block = told("context", "where does Ana live", "-u", "ana", "--max-tokens", "60")
    assert block["text"] == block["stable"] + block["dynamic"]
    assert 0 < block["tokens"] <= 60
    printed = ok("context", "where does Ana live", "-u", "ana", "--max-tokens", "60")
    assert printed.stdout.strip() == block["text"].strip()
    assert "Ghent" in printed.stdout
    assert set(block["citations"].values()) <= {row["id"] for row in rows()}


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = told("list", "-u", "ana")["rows"]
    return found


def test_list_pages_and_lists_all(moved: tuple[str, str]) -> None:
    first = told("list", "-u", "ana", "-n", "1")
    assert [row["text"] for row in first["rows"]] == ["Ana lives in Ghent."]
    rest = told("list", "-u", "ana", "--cursor", first["cursor"])
    assert [row["text"] for row in rest["rows"]] == ["Ghent it is!"]
    assert rest["cursor"] is None
    assert texts() == ["Ana lives in Ghent.", "Ghent it is!"]
    assert [r["kind"] for r in told("list", "-u", "ana", "--kind", "turn")["rows"]] == [
        "turn"
    ]
    printed = ok("list", "-u", "ana", "-n", "1")
    assert f"--cursor {first['cursor']}" in printed.stderr
    assert len(ok("list", "-u", "ana", "--all").stdout.splitlines()) == 4


def test_get_and_history_follow_a_fact(moved: tuple[str, str]) -> None:
    old, new = moved
    row = told("get", old, "-u", "ana")
    assert (row["text"], row["superseded_by"]) == ("Ana lives in Bristol.", new)
    assert "believed until 2026-08-02" in ok("get", old, "-u", "ana").stdout
    events = told("history", old, "-u", "ana")
    assert {event["id"] for event in events} == {old, new}
    assert "ADD" in {event["event"] for event in events}
    assert len(ok("history", new, "-u", "ana").stdout.splitlines()) == len(events)


def test_delete_closes_and_says_so(moved: tuple[str, str]) -> None:
    _, new = moved
    assert told("delete", new, "-u", "ana") == {"id": new, "closed": True}
    assert texts() == ["Ghent it is!"]
    refused("delete", new, "-u", "ana", code=1, says="nothing was closed")


def test_erase_destroys_one_row_once_it_is_sure(
    moved: tuple[str, str], tmp_path: Path
) -> None:
    old, new = moved
    refused("erase", old, "-u", "ana", code=2, says="say --yes")
    refused("erase", old, "-u", "ben", "--yes", code=1, says="nothing was erased")
    turn = rows()[1]["id"]
    erased = told("erase", turn, "-u", "ana", "--yes")
    assert (erased["id"], erased["pending"]) == (turn, [])
    assert erased["rows"]["episodes"] == 1
    assert texts() == ["Ana lives in Ghent."]
    assert ok("erase", old, "-u", "ana", "--yes").stdout == f"erased {old}\n"
    refused("erase", old, "-u", "ana", "--yes", code=1, says="nothing was erased")
    assert [event["id"] for event in told("history", new, "-u", "ana")] == [new]
    files = [path for path in (tmp_path / "m").rglob("*") if path.is_file()]
    for word in (b"Bristol", b"Ghent it is!"):
        assert not [path for path in files if word in path.read_bytes()]


def test_erase_asks_on_a_terminal(
    moved: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.cli.cmd_erase._somebody_is_there", lambda: True)
    for answer, code in (("n", 1), ("", 1), ("y", 0)):
        result = run("erase", moved[0], "-u", "ana", stdin=f"{answer}\n")
        assert result.exit_code == code
        assert "Erase this memory for good? [y/N]" in result.stderr
    assert result.stdout == f"erased {moved[0]}\n"


def test_stats_and_jobs_count_over_all_users(moved: tuple[str, str]) -> None:
    stats = told("stats")
    assert (stats["users"], stats["memories"], stats["turns"]) == (1, 2, 1)
    assert stats["jobs"] == told("jobs")
    assert set(stats["jobs"]) == {"queued", "running", "done", "partial", "dead"}
    assert ok("stats").stdout.splitlines()[0].split() == ["users", "1"]
    assert "done     2" in ok("jobs").stdout


def failed_jobs(*said: str) -> list[str]:
    """Jobs of Ana's that ended badly, and one of Ben's; their ids."""
    with Memory(llm=ScriptedLLM(then="no JSON")) as mem:
        receipts = [mem.add(text, user_id="ana", wait=True) for text in said]
        receipts.append(mem.add("I sing", user_id="ben", wait=True))
        assert {receipt.status for receipt in receipts} == {"dead"}
        return [receipt.id for receipt in receipts]


def test_jobs_in_a_state_are_listed_the_oldest_first() -> None:
    ids = failed_jobs("I keep bees", "I keep hens")
    with Memory() as mem:
        mem.add("a done one", user_id="ana", wait=True)
    page = told("jobs", "--status", "dead")
    assert [job["id"] for job in page["jobs"]] == ids
    assert page["cursor"] is None
    first = page["jobs"][0]
    assert list(first) == [
        *("id", "user_id", "status", "attempts", "created_at", "ended_at", "reason")
    ]
    assert (first["user_id"], first["status"]) == ("ana", "dead")
    assert first["created_at"].endswith("+00:00")
    lines = ok("jobs", "--status", "dead", "--status", "partial").stdout.splitlines()
    assert len(lines) == 3
    assert f"  dead     {ids[0]}  ana  {first['attempts']} attempt" in lines[0]
    assert lines[0].endswith(first["reason"])
    assert told("jobs", "--status", "queued") == {"jobs": [], "cursor": None}

    two = ok("jobs", "--status", "dead", "--limit", "2")
    assert [line.split()[3] for line in two.stdout.splitlines()] == ids[:2]
    cursor = two.stderr.split("--cursor ")[1].strip()
    (rest,) = told("jobs", "--status", "dead", "--cursor", cursor)["jobs"]
    assert rest["id"] == ids[2]


def test_a_job_that_failed_is_tried_again() -> None:
    first, second, _ = failed_jobs("I keep bees", "I keep hens")
    assert ok("jobs", first, "-u", "ana", "--retry").stdout == f"{first}  queued\n"
    again = told("jobs", second, "-u", "ana", "--retry")
    assert again == {"id": second, "status": "queued", "result": None}
    assert told("jobs")["queued"] == 2
    refused("jobs", first, "-u", "ana", "--retry", code=1, says="this job is queued")
    refused("jobs", first, "-u", "ben", "--retry", code=1, says="no such receipt")
    with Memory(llm=ScriptedLLM(then=facts("Ana keeps bees"))) as mem:
        for job in (first, second):
            assert mem.receipt(job, user_id="ana").result(timeout=20).status == "done"
    refused("jobs", first, "-u", "ana", "--retry", code=1, says="this job is done")
    assert texts()[0] == "Ana keeps bees"


def test_times_are_shown_in_the_zone_of_the_settings(
    moved: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMEM_TIMEZONE", "Asia/Tokyo")
    assert "2026-08-02 19:30  Ana: Ghent it is!" in ok("list", "-u", "ana").stdout
    assert rows()[1]["observed_at"] == "2026-08-02T10:30:00+00:00"


def test_stored_text_can_do_nothing_to_a_terminal() -> None:
    ok(
        "add",
        "red \x1b[31malert\x1b[0m \x9b2J \u202egnp.exe\r\nsecond line",
        "-u",
        "ana",
    )
    for args in (("list",), ("search", "alert")):
        out = ok(*args, "-u", "ana").stdout
        assert "\\u001b[31malert" in out
        assert not set(out) & set("\x1b\x9b\u202e\r")
        assert "\n" + " " * out.index("user: ") + "second line" in out
    out = ok("list", "-u", "ana", "--json").stdout
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "\x1b[31malert" in json.loads(out)["rows"][0]["text"]


def test_only_adding_makes_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for args in (
        ("search", "x", "-u", "ana"),
        ("context", "x", "-u", "ana"),
        ("list", "-u", "ana"),
        ("get", "x", "-u", "ana"),
        ("history", "x", "-u", "ana"),
        ("delete", "x", "-u", "ana"),
        ("erase", "x", "-u", "ana", "--yes"),
        ("stats",),
        ("jobs",),
        ("jobs", "x", "-u", "ana", "--retry"),
        ("timeline", "-u", "ana"),
        ("count", "-u", "ana"),
        ("worker",),
    ):
        refused(*args, code=1, says=f"there is no store in {tmp_path / 'm'}")
        refused(*args, "--path", "typo", code=1, says="typo: `hmem add` makes one")
    assert ok("doctor", "--offline").exit_code == 0
    assert not Path("typo").exists()
    assert not (tmp_path / "m").exists()


def test_what_only_reads_opens_for_reading_alone(
    moved: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[Config] = []

    class Noted(Memory):
        def __init__(self, config: Config) -> None:
            used.append(config)
            super().__init__(config)

    monkeypatch.setenv("HMEM_LLM", "a-model-that-is-not-called")
    monkeypatch.setattr("hmem.Memory", Noted)
    commands = (
        *(("search", "x", "-u", "ana"), ("context", "x", "-u", "ana"), ("stats",)),
        *(("list", "-u", "ana"), ("get", moved[0], "-u", "ana"), ("jobs",)),
        *(("history", moved[0], "-u", "ana"), ("doctor", "--offline")),
    )
    for args in commands:
        ok(*args)
    seen = [(c.read_only, c.worker, c.llm, c.mode) for c in used]
    assert seen == [(True, "off", None, "raw")] * len(commands)


def test_what_needs_no_model_works_on_a_store_that_has_vectors(
    settings: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(settings, embedder=HashEmbedder()) as mem:
        mem.add("The bees swarmed.", user_id="ana", wait=True)
    for args in (("list", "-u", "ana"), ("stats",), ("jobs",)):
        assert ok(*args).stderr == ""
    assert told("stats")["space"] == {"model": "test-hash-64", "dim": 64}
    told_so = "or open the store with HMEM_ALLOW_DEGRADED=1: then it is searched"
    refused("search", "bees", "-u", "ana", code=1, says=told_so)
    refused("add", "more", "-u", "ana", code=1, says="HMEM_ALLOW_DEGRADED")
    monkeypatch.setenv("HMEM_ALLOW_DEGRADED", "1")
    found = told("search", "bees", "-u", "ana")
    assert len(found["hits"]) == 1
    assert "no_embedder" in found["degraded"]


# ------------------------------------------------------------------------------ misuse


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("search", "x"), 2, "Missing option '-u'"),
        (("search", "x", "-u", " "), 2, "user_id must not be empty"),
        (("search", " ", "-u", "ana"), 2, "the query must not be empty"),
        (
            ("search", "x", "-u", "ana", "--as-of", "last may"),
            2,
            "as_of cannot be read",
        ),
        (("search", "x", "-u", "ana", "--during", "2026-03..2026-01"), 2, "is empty"),
        (("search", "x", "-u", "ana", "-k", "-1"), 2, "-k must be at least 1"),
        (("search", "x", "-u", "ana", "--category", "odd"), 2, "category"),
        (("search", "x", "-u", "ana", "--kind", "odd"), 2, "'odd' is not one of"),
        (("context", "x", "-u", "ana", "--max-tokens", "0"), 2, "--max-tokens must be"),
        (("search", "x", "-u", "ana", "-k", "0"), 2, "-k must be at least 1"),
        (("list", "-u", "ana", "--cursor", "zzz"), 2, "cursor"),
        (("list", "-u", "ana", "-n", "0"), 2, "--limit must be at least 1"),
        (("timeline", "-u", "ana", "--limit", "-3"), 2, "--limit must be at least 1"),
        (("get", "zzz", "-u", "ana"), 1, "no memory or turn of this user"),
        (("history", "zzz", "-u", "ana"), 1, "no memory of this user"),
        (("delete", "zzz", "-u", "ana"), 1, "nothing was closed"),
        (("jobs", "zzz", "-u", "ana"), 1, "no such receipt"),
        (("jobs", "zzz"), 2, "ID and --user-id"),
        (("jobs", "-u", "ana"), 2, "ID and --user-id"),
        (("jobs", "--retry"), 2, "--retry takes a job's ID"),
        (("jobs", "--limit", "3"), 2, "go with --status"),
        (("jobs", "--cursor", "x"), 2, "go with --status"),
        (("jobs", "zzz", "-u", "ana", "--status", "dead"), 2, "go without an ID"),
        (("jobs", "--status", "odd"), 2, "'odd' is not one of"),
        (("jobs", "--status", "dead", "--limit", "0"), 2, "--limit must be"),
        (("jobs", "--status", "dead", "--cursor", "zzz"), 2, "cursor"),
        (("jobs", "zzz", "-u", "ana", "--retry"), 1, "no such receipt"),
        (("add", "-u", "ana"), 2, "either TEXT or --file"),
        (("add", "x", "-u", "ana", "--file", "-"), 2, "either TEXT or --file"),
        (("add", "x", "-u", "ana", "--file", "nowhere"), 2, "does not exist"),
        (("add", "x", "-u", "ana", "--observed-at", "soon"), 2, "observed_at"),
        (("add", "x", "-u", "ana", "--wait", "--timeout", "-1"), 2, "--timeout must"),
        (("add", "x", "-u", "ana", "--timeout", "1"), 2, "goes with --wait"),
        (("add", "-", "-u", "ana"), 2, "stdin is read by --file -"),
        (("add", "", "-u", "ana"), 2, "TEXT holds nothing"),
        (("add", " \n", "-u", "ana"), 2, "TEXT holds nothing"),
        (("add", "x" * 200_001, "-u", "ana"), 2, "Config.max_message_chars"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_a_user_s_mistake_is_one_line(
    moved: tuple[str, str], args: tuple[str, ...], code: int, says: str
) -> None:
    refused(*args, code=code, says=says)


def test_another_user_s_rows_are_unknown(moved: tuple[str, str]) -> None:
    for name in ("get", "history", "delete"):
        refused(name, moved[1], "-u", "ben", code=1, says="of this user")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_one_line(moved: tuple[str, str]) -> None:
    folder = Path(os.environ["HMEM_PATH"])
    folder.chmod(0)
    try:
        refused("list", "-u", "ana", code=1, says="ermission")
    finally:
        folder.chmod(0o700)


def test_what_the_system_refuses_is_one_line(
    moved: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    refused("list", "-u", "ana", code=1, says="Permission denied")


def test_a_shard_that_is_damaged_is_one_line(moved: tuple[str, str]) -> None:
    for shard in Path(os.environ["HMEM_PATH"]).glob("shard-*.db*"):
        shard.write_bytes(b"not a database " * 512)
    refused("list", "-u", "ana", code=1, says="shard-")


# ------------------------------------------------------------------------------ adding


def test_a_text_is_one_message_and_its_job_is_found_again() -> None:
    result = told(
        *("add", "The bees swarmed.", "-u", "ana", "--session-id", "s1"),
        *("--agent-id", "a1", "--observed-at", "2026-05-08"),
    )
    (receipt,) = result["receipts"]
    assert (result["entries"], receipt["status"]) == (1, "done")
    (row,) = rows()
    assert receipt["result"]["turns"] == [row["id"]]
    assert row["observed_at"] == "2026-05-08T00:00:00+00:00"
    assert (row["session_id"], row["agent_id"]) == ("s1", "a1")
    assert told("jobs", receipt["id"], "-u", "ana")["result"]["turns"] == [row["id"]]
    assert ok("jobs", receipt["id"], "-u", "ana").stdout == (
        f"{receipt['id']}  done: 1 turn\n"
    )
    refused("jobs", receipt["id"], "-u", "ben", code=1, says="no such receipt")


def test_the_same_text_said_twice_is_stored_twice() -> None:
    for _ in range(2):
        ok("add", "Good morning.", "-u", "ana")
    assert texts() == ["Good morning."] * 2


def test_finished_facts_are_stored_as_facts(tmp_path: Path) -> None:
    ok("add", "Ana keeps bees.", "-u", "ana", "--no-infer")
    facts = [{"text": "Ana is a potter.", "importance": 8}, "Ana has a kiln."]
    ok("add", "--file", write(tmp_path / "f.json", facts), "-u", "ana", "--no-infer")
    ok("add", "--file", "-", "-u", "ana", "--no-infer", stdin="Ana sings.\n\nShe rows.")
    found = [(row["kind"], row["text"], row["importance"]) for row in rows()]
    assert found == [
        ("memory", "Ana keeps bees.", 5),
        ("memory", "Ana is a potter.", 8),
        ("memory", "Ana has a kiln.", 5),
        ("memory", "Ana sings.", 5),
        ("memory", "She rows.", 5),
    ]


@pytest.mark.parametrize("form", ["json", "jsonl", "text"])
def test_each_form_of_file_is_read_from_a_path_and_from_stdin(
    form: str, tmp_path: Path
) -> None:
    said = [{"role": "user", "content": text} for text in ("One.", "Two.")]
    written = {
        "json": json.dumps(said),
        "jsonl": "".join(json.dumps(one) + "\n" for one in said),
        "text": "One.\n\nTwo.\n",
    }[form]
    (tmp_path / "talk").write_text(written, encoding="utf-8")
    ok("add", "--file", str(tmp_path / "talk"), "-u", "ana")
    ok("add", "--file", "-", "-u", "ben", stdin=written.encode())
    assert texts("ana") == texts("ben") == ["One.", "Two."]


def test_the_forms_of_a_message_are_those_of_the_library(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "name": "Ana", "content": "hi", "timestamp": "2025-02-03"},
    ]
    path = write(tmp_path / "talk.json", messages)
    (receipt,) = told("add", "--file", path, "-u", "ana")["receipts"]
    assert receipt["result"]["skipped"] == [{"reason": "system message", "id": None}]
    (row,) = rows()
    assert (row["name"], row["observed_at"][:10]) == ("Ana", "2025-02-03")
    nothing = ok("add", "--file", "-", "-u", "ana", stdin=json.dumps(messages[:1]))
    assert nothing.stdout == "done: 1 skipped (system message)\n"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b'[{"role": "user", "content": "cut', "not JSON", id="cut off"),
        pytest.param(b'{"role": "user", "content": "a"}\n{"ro', "line 2 of", id="line"),
        pytest.param(b"\xff\xfeh\x00i\x00", "not UTF-8", id="UTF-16"),
        pytest.param(b'[{"role": "user", "content": "a"}, 7]', "messages[1]", id="int"),
        pytest.param(b'[{"role": "wizard", "content": "a"}]', "a role of", id="role"),
        pytest.param(b"  \n", "holds nothing", id="empty"),
        pytest.param(b"[]", "holds nothing", id="empty list"),
        pytest.param(b"", "holds nothing", id="no bytes"),
        pytest.param(b'["", " "]', "holds nothing", id="blank messages"),
        pytest.param(b'{"role": "user", "content": null}', "holds nothing", id="null"),
        pytest.param(
            b'{"role": "user", "content": "a", "timestmap": "2026"}',
            "the unknown key 'timestmap'; did you mean 'timestamp'?",
            id="misspelt key",
        ),
    ],
)
def test_a_file_that_cannot_be_used_stores_nothing(
    data: bytes, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "talk"
    path.write_bytes(data)
    refused("add", "--file", str(path), "-u", "ana", code=2, says=says)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "data", ["", "\n \n", "[]", '[{"role": "user", "content": ""}]']
)
def test_nothing_on_stdin_is_a_misuse(data: str, tmp_path: Path) -> None:
    for more in ((), ("--no-infer",)):
        result = run("add", "--file", "-", "-u", "ana", *more, stdin=data)
        assert result.exit_code == 2, result.output
    result = run("add", "--file", "-", "-u", "ana", stdin=data)
    assert result.stderr == "Error: stdin holds nothing\n"
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("add", "x", "-u", " "), "user_id must not be empty"),
        (("add", "x", "-u", "ana", "--observed-at", "soon"), "observed_at"),
        (("add", "x", "-u", "ana", "--session-id", ""), "session_id"),
        (("add", "", "-u", "ana"), "TEXT holds nothing"),
        (("add", "x" * 200_001, "-u", "ana"), "Config.max_message_chars"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, tuple) else "",
)
def test_a_first_text_that_cannot_be_used_makes_no_folder(
    args: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    refused(*args, code=2, says=says)
    assert not (tmp_path / "m").exists()


def test_what_was_taken_out_is_told_as_redacted_and_not_as_skipped() -> None:
    said = "the token is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    line = ok("add", said, "-u", "ana").stdout
    assert "1 turn, redacted: " in line
    assert "skipped" not in line
    assert "ghp_" not in ok("list", "-u", "ana").stdout


def test_a_mistake_late_in_a_long_file_stores_nothing_of_it(tmp_path: Path) -> None:
    messages: list[Any] = say(*(f"turn {n}" for n in range(450)))
    messages[437]["role"] = "wizard"
    path = write(tmp_path / "talk.json", messages)
    refused("add", "--file", path, "-u", "ana", code=2, says="messages[437]")
    assert not (tmp_path / "m").exists()


# ------------------------------------------------------------------------- long files


def test_a_long_file_goes_in_batches_and_twice_stores_nothing_twice(
    tmp_path: Path,
) -> None:
    said = [f"turn {n // 3}" for n in range(250)]  # every turn is said three times
    path = write(tmp_path / "talk.json", say(*said))
    first = told("add", "--file", path, "-u", "ana")
    assert (first["entries"], len(first["receipts"])) == (250, 3)
    assert texts() == said
    again = told("add", "--file", path, "-u", "ana", "--wait", "--timeout", "20")
    assert [r["id"] for r in again["receipts"]] == [r["id"] for r in first["receipts"]]
    assert texts() == said
    lines = ok("add", "--file", path, "-u", "ana").stdout.splitlines()
    assert [line.split("  ")[1] for line in lines] == [
        "stored before; done: 100 turns"
    ] * 2 + ["stored before; done: 50 turns"]
    other = ok("add", "--file", path, "-u", "ana", "--agent-id", "a2")  # another call
    assert "before" not in other.stdout
    assert texts() == said * 2


def test_with_a_session_it_holds_also_when_receipts_are_gone_and_the_file_grew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMEM_RECEIPT_DAYS", "0")
    said = ["ok"] * 205 + [f"turn {n}" for n in range(30)]
    for length in (205, 205, 220, 235, 235):
        path = write(tmp_path / "talk.json", say(*said[:length]))
        ok("add", "--file", path, "-u", "ana", "--session-id", "s1")
        assert texts() == said[:length]


def test_the_limit_of_a_call_holds_for_each_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMEM_MAX_MESSAGES", "7")
    path = write(tmp_path / "talk.json", say(*(f"turn {n}" for n in range(20))))
    assert len(told("add", "--file", path, "-u", "ana")["receipts"]) == 3
    printed = ok("add", "--file", path, "-u", "ben").stdout
    assert len(printed.splitlines()) == 3
    monkeypatch.setenv("HMEM_MAX_MESSAGES", "3")
    printed = ok("add", "--file", path, "-u", "carl").stdout
    assert printed == "20 entries in 7 jobs: 7 done\n"
    printed = ok("add", "--file", path, "-u", "carl").stdout
    assert printed == "20 entries in 7 jobs: 7 done (7 of them stored before)\n"
    assert len(texts("carl")) == 20


def test_a_run_that_is_broken_off_says_so_and_goes_on_from_there(
    tmp_path: Path, settings: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the queue is full: in the middle, and again while nobody works."""
    monkeypatch.setenv("HMEM_WORKER", "off")
    monkeypatch.setenv("HMEM_QUEUE_LIMIT", "2")
    monkeypatch.setenv("HMEM_ALLOW_DEGRADED", "1")
    with Memory(settings, embedder=HashEmbedder()) as mem:
        mem.add("so that there are vectors", user_id="ana", wait=True)
    path = write(tmp_path / "talk.json", say(*(f"turn {n}" for n in range(450))))
    args = ("add", "--file", path, "-u", "ana")
    refused(
        *args, code=1, says="200 of 450 entries are stored; the same command goes on"
    )
    refused(*args, code=1, says="200 of 450 entries")
    monkeypatch.setenv("HMEM_QUEUE_LIMIT", "100")
    ok(*args)
    assert len(texts()) == 451
    assert told("jobs")["queued"] == 5


def test_progress_is_told_where_it_is_asked_for_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "talk.json", say(*(f"turn {n}" for n in range(250))))
    assert ok("add", "--file", path, "-u", "ana").stderr == ""
    assert ok("add", "--file", path, "-u", "ana", "--no-progress").stderr == ""
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    result = ok("add", "--file", path, "-u", "ana", "--progress", "--wait")
    assert result.stderr.splitlines() == [
        *(f"stored: {n} of 250" for n in (100, 200, 250)),
        *(f"worked on: {n} of 3" for n in (1, 2, 3)),
    ]
    assert ok("add", "one", "-u", "ana", "--progress").stderr == ""


# ----------------------------------------------------------------------------- waiting


EMBEDDING = """
import sys
from hmem.backends import register_embedder
from hmem.cli import main
from hmem.testing import fakes

kind, more = getattr(fakes, sys.argv.pop(1)), {}
def make(config): return kind()
register_embedder("fake", "__main__:make")
main()
"""


def with_embedder(kind: str, *args: str) -> "subprocess.Popen[str]":
    """`hmem` in a process that has an embedder of the tests'."""
    return subprocess.Popen(
        [sys.executable, "-c", EMBEDDING, kind, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HMEM_EMBED": "fake"},
    )


def finish(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    return process.returncode, out, err


def test_wait_returns_when_the_job_has_ended(settings: Config) -> None:
    args = (
        "add",
        "The bees swarmed.",
        "-u",
        "ana",
        "--wait",
        "--timeout",
        "20",
        "--json",
    )
    code, out, err = finish(with_embedder("HashEmbedder", *args))
    assert (code, err) == (0, "")
    (receipt,) = json.loads(out)["receipts"]
    assert receipt["status"] == "done"
    assert receipt["result"]["usage"]["embedded_texts"] == 1


def test_a_wait_that_is_too_long_fails_and_leaves_the_job(settings: Config) -> None:
    args = ("add", "The bees swarmed.", "-u", "ana", "--wait", "--timeout", "0.2")
    began = time.monotonic()
    finish(with_embedder("HashEmbedder", "add", "Hello.", "-u", "ben", "--wait"))
    usual = time.monotonic() - began  # most of it is starting a process
    code, out, err = finish(with_embedder("HangingEmbedder", *args))
    took = time.monotonic() - began - usual
    assert took < usual + 0.8 * DRAIN  # closing would wait for what hangs
    assert code == 1
    assert err.startswith("Error: 1 of 1 jobs have not ended yet; they go on where")
    job, status = out.split()
    assert status in ("queued", "running")
    with Memory(settings, embedder=HashEmbedder()) as mem:
        assert mem.receipt(job, user_id="ana").result(timeout=20).status == "done"


def test_a_chat_model_is_called_where_it_is_waited_for_and_not_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --wait the command ends before a model has answered."""
    with ChatEndpoint() as endpoint:
        monkeypatch.setenv("HMEM_LLM", "any")
        monkeypatch.setenv("HMEM_BASE_URL", endpoint.url)
        monkeypatch.setenv("HMEM_EXTRACT_AFTER_TURNS", "1")
        (receipt,) = told("add", "I moved to Ghent.", "-u", "ana")["receipts"]
        assert receipt == {"id": receipt["id"], "status": "queued", "result": None}
        assert endpoint.bodies == []
        more = told("add", "I like it.", "-u", "ana", "--wait", "--timeout", "20")
        assert more["receipts"][0]["status"] == "done"
        assert endpoint.bodies
        assert told("jobs")["queued"] == 0
        monkeypatch.setenv("HMEM_EXTRACT_AFTER_TURNS", "50")
        monkeypatch.setenv("HMEM_EXTRACT_AFTER_IDLE", "3600")
        more = told("add", "So far.", "-u", "ana", "--wait", "--timeout", "20")
        assert more["receipts"][0]["status"] == "done"


def test_ctrl_c_while_it_waits_ends_at_once_and_leaves_the_job(
    settings: Config,
) -> None:
    process = with_embedder(
        "HangingEmbedder", "add", "The bees swarmed.", "-u", "ana", "--wait"
    )
    deadline = time.monotonic() + 20
    manifest = settings.folder / "hmem.json"
    while time.monotonic() < deadline and not manifest.exists():
        time.sleep(0.02)
    while time.monotonic() < deadline and not told("stats")["turns"]:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert (code, out, err.strip()) == (1, "", "Aborted!")
    with Memory(settings, embedder=HashEmbedder()) as mem:
        assert mem.admin.stats()["turns"] == 1
        assert mem.receipt  # it opens, and what was accepted is there


def test_a_job_that_ends_badly_is_an_exit_code(
    settings: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMEM_MAX_ATTEMPTS", "1")
    script = EMBEDDING.replace("kind()", "Bad()").replace(
        "def make",
        "from hmem.errors import EmbedderError\n"
        "class Bad(fakes.HashEmbedder):\n"
        "    async def embed(self, texts, *, purpose='passage'):\n"
        "        if texts == ['hello']:\n"
        "            return await super().embed(texts)\n"
        "        raise EmbedderError('no', retryable=False)\n"
        "def make",
    )
    done = subprocess.run(
        [
            *(sys.executable, "-c", script, "HashEmbedder", "add", "The bees swarmed."),
            *("-u", "ana", "--wait", "--timeout", "20"),
        ],
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
        env={**os.environ, "HMEM_EMBED": "fake"},
    )
    assert done.returncode == 1, done.stderr
    job, status = done.stdout.split()[:2]
    assert status in ("partial:", "dead:")
    assert done.stderr.strip().endswith("1 of 1 jobs did not end well")
    assert told("jobs", job, "-u", "ana")["result"]["reason"]


def test_what_waits_is_found_and_counted(settings: Config) -> None:
    with Memory(settings, embedder=HashEmbedder()) as mem:
        mem.add("so that there are vectors", user_id="ana", wait=True)
    hanging = HangingEmbedder()
    with Memory(settings, embedder=hanging) as mem:
        mem.add("The bees swarmed.", user_id="ana")
        mem.close(timeout=0)
    args = ("search", "bees", "-u", "ana")
    code, out, err = finish(with_embedder("HashEmbedder", *args))
    assert code == 0
    assert ", pending" in out
    assert "1 turns wait to be worked on" in err
    assert told("jobs")["queued"] == 1


# ------------------------------------------------------------------------- the process


def hmem(*args: str, **env: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [*HMEM, *args],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, **env},
    )


def test_the_c_locale_breaks_no_text() -> None:
    env = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = hmem("add", "Žofie pije čaj 🍵", "-u", "ana", LC_ALL="C", **env)
    assert done.returncode == 0, done.stderr
    assert texts() == ["Žofie pije čaj 🍵"]
    done = hmem("search", "Žofie", "-u", "ana", LC_ALL="C", **env)
    assert "Žofie pije čaj 🍵" in done.stdout.decode()


def test_words_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    refused("add", "caf\udce9", "-u", "ana", code=2, says="TEXT is not UTF-8")
    refused("search", "caf\udce9", "-u", "ana", code=2, says="QUERY is not UTF-8")
    assert not (tmp_path / "m").exists()


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    path = write(tmp_path / "talk.json", say(*(f"turn {n} " * 40 for n in range(900))))
    ok("add", "--file", path, "-u", "ana")
    process = subprocess.Popen(
        [*HMEM, "list", "-u", "ana", "--all"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(20) == 1


def test_help_is_quick() -> None:
    def best(*args: str) -> float:
        times = []
        for _ in range(5):
            begun = time.perf_counter()
            subprocess.run(args, stdout=subprocess.DEVNULL, check=True, timeout=60)
            times.append(time.perf_counter() - begun)
        return min(times)

    assert (
        best(*HMEM, "--help") - best(sys.executable, "-c", "pass") < 0.6
    )  # 0.05 when idle
