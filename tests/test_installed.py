"""The line that adds an extra is for hmem as it is installed here."""

import importlib.metadata as metadata
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hmem import MissingExtraError, installed
from hmem.installed import EXTRAS, how_to_add

ROOT = Path(__file__).resolve().parents[1]
SDK = "the extra 'openai' (openai>=3.0): pip install "


@pytest.fixture(autouse=True)
def _pip_is_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = str(Path(sys.executable).parent / "pip")
    monkeypatch.setattr(shutil, "which", lambda _: beside)
    monkeypatch.setattr(installed, "find_spec", lambda _: object())


def came_from(monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any] | None) -> None:
    """The distribution's direct_url.json (PEP 610)."""

    class Found:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(metadata, "distribution", lambda _: Found())


def test_from_an_index_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    came_from(monkeypatch, None)
    assert how_to_add("openai") == SDK + "'hmem[openai]'"


def test_from_a_checkout_its_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "my clone"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    origin: dict[str, Any] = {"url": folder.as_uri(), "dir_info": {"editable": True}}
    came_from(monkeypatch, origin)
    assert how_to_add("openai") == f"{SDK}-e '{folder}[openai]'"
    came_from(monkeypatch, origin | {"dir_info": {}})
    assert how_to_add("openai") == f"{SDK}'{folder}[openai]'"
    (folder / "pyproject.toml").unlink()
    assert how_to_add("openai") == SDK + "'openai>=3.0'"


def test_from_a_repository_or_an_archive_its_address_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vcs = {"vcs": "git", "commit_id": "abc123"}
    came_from(monkeypatch, {"url": "https://h/hmem.git", "vcs_info": vcs})
    assert how_to_add("openai").endswith(
        " 'hmem[openai] @ git+https://h/hmem.git@abc123'"
    )
    came_from(monkeypatch, {"url": "https://h/hmem.whl", "archive_info": {}})
    assert how_to_add("openai").endswith(" 'hmem[openai] @ https://h/hmem.whl'")


def test_on_the_path_alone_the_packages_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert how_to_add("openai") == SDK + "'openai>=3.0'"


def test_the_installer_is_this_environment_s(monkeypatch: pytest.MonkeyPatch) -> None:
    came_from(monkeypatch, None)
    monkeypatch.setattr(shutil, "which", lambda _: "/elsewhere/pip")
    assert f"{sys.executable} -m pip install 'hmem[cli]'" in how_to_add("cli")
    monkeypatch.setattr(installed, "find_spec", lambda _: None)
    assert f"uv pip install --python {sys.executable} 'hmem[" in how_to_add("cli")


def test_an_extra_of_somebody_else_s_is_not_taken_for_ours() -> None:
    told = str(MissingExtraError("acme", "fast"))
    assert told.startswith("'acme' needs what the extra 'fast' of the package")
    assert "hmem[" not in told


def test_the_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    assert {
        name: tuple(one for one in packages if not one.startswith("hmem["))
        for name, packages in extras.items()
    } == EXTRAS


def test_the_error_names_the_backend_the_extra_and_the_command() -> None:
    error = MissingExtraError("turbovec:4", "turbovec")
    assert error.extra == "turbovec"
    assert re.fullmatch(
        r"'turbovec:4' needs the extra 'turbovec' \(turbovec>=[\d.]+\): "
        r"pip install .*turbovec\S*'",
        str(error),
    )
