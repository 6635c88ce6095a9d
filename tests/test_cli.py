"""The command line: one line for what went wrong, exit codes, a worker that stops."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hmem import AsyncMemory, Config, Receipt, __version__
from hmem.cli.commands import hmem as command

RUN = [sys.executable, "-c", "from hmem.cli import main; main()"]


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
    for name in ("demo", "models", "worker"):
        assert f"\n  {name} " in result.output


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
    assert (
        done.stderr == "hmem: the command line needs click: pip install 'hmem[cli]'\n"
    )


def test_help_loads_neither_models_nor_clients() -> None:
    code = (
        "import sys\nfrom hmem.cli import main\nsys.argv = ['hmem', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print({'openai', 'pydantic', 'tokenizers', 'asyncio.run'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.endswith("\nset()\n"), done.stdout + done.stderr


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_a_worker_process_works_and_a_signal_ends_it_well(
    tmp_path: Path, signum: signal.Signals
) -> None:
    config = Config(path=tmp_path / "store", shards=2, worker="off", embed="none")
    async with AsyncMemory(config) as mem:
        receipts: list[Receipt] = [
            await mem.add(f"Bee hive {n} swarmed.", user_id=f"u{n}") for n in range(3)
        ]
        worker = subprocess.Popen(
            [*RUN, "worker", "--path", str(config.path)],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "HMEM_EMBED": "none"},
        )
        try:
            for receipt in receipts:
                assert (await receipt.result(timeout=15)).status == "done"
            worker.send_signal(signum)
            out, err = worker.communicate(timeout=15)
        finally:
            worker.kill()
    assert worker.returncode == 0, err
    assert out == ""
    assert err.splitlines() == [
        f"hmem worker: {config.path}",
        "hmem worker: stopped",
    ]
