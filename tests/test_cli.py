"""The command line: one line for what went wrong, exit codes, a worker that stops."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from hmem import AsyncMemory, Config, __version__
from hmem.cli.commands import COMMANDS
from hmem.cli.commands import hmem as command
from hmem.testing.fakes import HashEmbedder


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("HMEM_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HMEM_MINILM_DIR", str(tmp_path / "no-weights"))


def run(*args: str) -> Result:
    return CliRunner().invoke(command, list(args), prog_name="hmem")


def assert_one_line(result: Result, *, code: int, says: str) -> None:
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert says in lines[0]


def test_help_names_the_commands() -> None:
    result = run("--help")
    assert result.exit_code == 0
    names = re.findall(r"^  (\w+) ", result.output.split("Commands:")[1], flags=re.M)
    assert names == [
        *("demo", "add", "search", "context", "list", "timeline", "count", "get"),
        *("history", "delete", "erase", "stats", "jobs", "doctor", "worker"),
        "models",
    ]


def test_the_table_s_help_is_each_command_s_own() -> None:
    for name, (_, line) in COMMANDS.items():
        found = command.get_command(click.Context(command), name)
        assert found is not None
        assert (found.name, found.get_short_help_str(200)) == (name, line)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself(name: str) -> None:
    for flag in ("--help", "-h"):
        result = run(name, flag)
        assert result.exit_code == 0
        assert result.output.startswith(f"Usage: hmem {name} ")


def test_the_version_is_printed() -> None:
    assert run("--version").output == f"hmem, version {__version__}\n"


def test_a_misuse_exits_with_2_and_no_traceback() -> None:
    result = run("remember")
    assert result.exit_code == 2
    assert "No such command 'remember'" in result.stderr


def test_a_setting_that_cannot_be_used_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HMEM_SHARDS", "many")
    assert_one_line(run("demo"), code=1, says="HMEM_SHARDS")
    assert_one_line(run("worker"), code=1, says="HMEM_SHARDS")


def test_a_folder_of_something_else_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"\xff\xd8")
    for name in ("demo", "worker"):
        result = run(name, "--path", str(tmp_path / "photos"))
        assert result.exit_code == 1, result.output
        assert result.stderr.startswith("Error: ") or "\nError: " in result.stderr
        assert "Traceback" not in result.output
    assert [p.name for p in (tmp_path / "photos").iterdir()] == ["cat.jpg"]


def test_a_file_for_a_folder_is_a_misuse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = run("demo", "--path", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "is a file" in result.stderr


def test_models_list_says_that_the_weights_are_missing(tmp_path: Path) -> None:
    result = run("models", "list")
    assert result.exit_code == 0
    assert "not installed" in result.stdout
    assert "hmem models install minilm" in result.stdout
    (row,) = json.loads(run("models", "list", "--json").stdout)
    assert row["name"] == "minilm"
    assert row["installed"] is False


def test_models_list_says_where_the_weights_are(tmp_path: Path) -> None:
    folder = tmp_path / "no-weights"
    folder.mkdir()
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        (folder / name).write_bytes(b"{}")
    (row,) = json.loads(run("models", "list", "--json").stdout)
    assert (row["installed"], row["folder"]) == (True, str(folder))


def test_an_unknown_model_is_a_misuse() -> None:
    result = run("models", "install", "gpt")
    assert result.exit_code == 2
    assert "minilm" in result.stderr


def test_without_click_the_command_names_the_pip_line() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.modules['click'] = None\nfrom hmem.cli import main; main()",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(
        "hmem: the command line needs the extra 'cli' (click>=8.1.0): "
    )
    assert "pip install" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_loads_neither_models_nor_clients() -> None:
    code = (
        "import sys\nfrom hmem.cli import main\nsys.argv = ['hmem', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print({'openai', 'pydantic', 'tokenizers', 'numpy', 'asyncio', 'hmem.config'}"
        " & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.endswith("\nset()\n"), done.stdout + done.stderr


EMBEDDING_WORKER = """
import sys
from hmem.backends import register_embedder
from hmem.cli import main
from hmem.testing import fakes

kind = getattr(fakes, sys.argv.pop())
def make(config): return kind()
register_embedder("fake", "__main__:make")
main()
"""


async def start_worker(path: Path, embedder: str) -> asyncio.subprocess.Process:
    """`hmem worker` in a process that has an embedder of the tests'."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", EMBEDDING_WORKER, "worker", "--path", str(path)),
        embedder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "HMEM_EMBED": "fake", "HMEM_LEASE": "300"},
    )


@asynccontextmanager
async def worker(
    path: Path, embedder: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await start_worker(path, embedder)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def assert_ends_well(
    process: asyncio.subprocess.Process, signum: signal.Signals, path: Path
) -> None:
    process.send_signal(signum)
    out, err = await asyncio.wait_for(process.communicate(), 10)
    assert process.returncode == 0, err.decode()
    assert out == b""
    assert err.decode().splitlines() == [f"hmem worker: {path}", "hmem worker: stopped"]


def test_a_worker_that_cannot_open_leaves_the_signals_as_they_were(
    tmp_path: Path,
) -> None:
    (tmp_path / "letter.txt").write_text("not ours", encoding="utf-8")
    before = [signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)]
    found = run("worker", "--path", str(tmp_path))
    assert found.exit_code == 1, found.output
    assert [signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)] == before


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_a_worker_process_works_and_a_signal_ends_it_well(
    tmp_path: Path, signum: signal.Signals
) -> None:
    config = Config(path=tmp_path / "store", shards=2, worker="off")
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        receipts = [
            await mem.add(f"Bee hive {n} swarmed.", user_id=f"u{n}") for n in range(3)
        ]
        assert [receipt.status for receipt in receipts] == ["queued"] * 3
        async with worker(config.folder, "HashEmbedder") as process:
            for receipt in receipts:
                assert (await receipt.result(timeout=20)).status == "done"
            await assert_ends_well(process, signum, config.folder)


async def test_a_worker_that_is_stopped_gives_back_what_it_holds(
    tmp_path: Path,
) -> None:
    config = Config(path=tmp_path / "store", shards=1, worker="off")
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        receipt = await mem.add("The queen is two years old.", user_id="ana")
        async with worker(config.folder, "HangingEmbedder") as stuck:
            await until(mem, receipt.id, "running")
            await assert_ends_well(stuck, signal.SIGTERM, config.folder)
        assert (await mem.receipt(receipt.id, user_id="ana")).status == "queued"
        # Its lease of 300 s would keep the next worker from the job for longer than this.
        async with worker(config.folder, "HashEmbedder") as process:
            assert (await receipt.result(timeout=20)).status == "done"
            await assert_ends_well(process, signal.SIGTERM, config.folder)


async def until(mem: AsyncMemory, job_id: str, status: str) -> None:
    async with asyncio.timeout(20):
        while (  # noqa: ASYNC110 - another process changes it
            await mem.receipt(job_id, user_id="ana")
        ).status != status:
            await asyncio.sleep(0.02)
