"""What holds for the package as a whole."""

import importlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hmem

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    path
    for folder in ("hmem", "bench", "benchmarks_perf", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
LONG = {ROOT / "hmem" / "protocols.py"}  # contracts alone: nothing in it runs
EXTRAS = (
    "click",
    "dateparser",
    "faiss",
    "httpx2",
    "matplotlib",
    "numkong",
    "openai",
    "psycopg",
    "pydantic",
    "pytest",
    "starlette",
    "threadpoolctl",
    "tiktoken",
    "tokenizers",
    "turbovec",
)


def python(code: str) -> str:
    """What a new interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_hmem_loads_no_extra() -> None:
    loaded = python(
        "import json, sys, hmem; [getattr(hmem, name) for name in hmem.__all__];"
        "print(json.dumps(sorted(sys.modules)))"
    )
    top = {name.partition(".")[0] for name in json.loads(loaded)}
    assert "hmem" in top
    assert sorted(top & set(EXTRAS)) == []


def test_hmem_can_be_imported_where_no_extra_is_installed() -> None:
    python(f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
import hmem
assert all(hasattr(hmem, name) for name in hmem.__all__)
""")


def test_importing_hmem_starts_nothing() -> None:
    assert python("import threading, hmem; print(threading.active_count())") == "1\n"


def test_the_public_names_are_sorted_and_all_there() -> None:
    assert list(hmem.__all__) == sorted(hmem.__all__)
    assert len(set(hmem.__all__)) == len(hmem.__all__)
    assert all(hasattr(hmem, name) for name in hmem.__all__)


def test_every_public_name_has_a_docstring() -> None:
    bare = [
        name
        for name in hmem.__all__
        if (callable(getattr(hmem, name)) and not getattr(hmem, name).__doc__)
    ]
    assert bare == []


def test_the_version_is_the_distribution_s() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{hmem.__version__}"\n' in text


def test_the_wheel_holds_the_package_its_types_its_data_and_its_licence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = importlib.import_module("hatchling.build")
    monkeypatch.chdir(ROOT)
    name = build.build_wheel(str(tmp_path))
    names = zipfile.ZipFile(tmp_path / name).namelist()
    assert {"hmem/__init__.py", "hmem/py.typed", "hmem/data/demo.json"} <= set(names)
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert [n for n in names if not n.startswith(("hmem/", "hmem-"))] == []


def test_every_room_imports_only_from_lower_floors() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_is_longer_than_400_lines() -> None:
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in SOURCES
        if not path.is_relative_to(ROOT / "tests")
        and path not in LONG
        and (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert long == {}


@pytest.mark.parametrize(
    ("word", "where"),
    [
        pytest.param(r"\b(TODO|FIXME|XXX)\b", "hmem", id="unfinished work"),
        pytest.param(r"/(work|root|opt|tmp)/\w", "", id="a path of one machine"),
        pytest.param(r"\b(utcnow|utcfromtimestamp)\b", "", id="a naive time"),
    ],
)
def test_no_source_holds(word: str, where: str) -> None:
    others = [
        ROOT / name for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml")
    ]
    gate = list((ROOT / ".ci").iterdir())
    files = [
        path
        for path in (*SOURCES, *others, *gate)
        if path.is_relative_to(ROOT / where) and path != Path(__file__)
    ]
    assert files
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files
        if (match := re.search(word, path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_there_is_no_drawer_for_odds_and_ends() -> None:
    assert [p.name for p in SOURCES if p.stem in {"utils", "helpers", "misc"}] == []
