"""What somebody who comes from another library hands in where a Config belongs."""

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from hmem import AsyncMemory, Config, InputTypeError, Memory, run_worker


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param("memories", r"not str: .*Config\(path=\.\.\.\)", id="str"),
        pytest.param(Path("memories"), r"Config\(path=\.\.\.\)", id="path"),
        pytest.param({"path": "m"}, r"not dict: .*Config\(path=\.\.\.", id="dict"),
        pytest.param(7, "must be a Config, not int", id="int"),
        pytest.param(Config, "must be a Config, not type", id="the class"),
    ],
)
async def test_what_is_no_config_is_refused_with_what_to_write(
    given: Any, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (AsyncMemory, Memory):
            with pytest.raises(InputTypeError, match=says):
                kind(given)
        with pytest.raises(InputTypeError, match=says):
            await run_worker(given)
    assert os.listdir(tmp_path) == []


def test_without_settings_the_environment_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HMEM_PATH", "elsewhere")
    assert AsyncMemory().config.path == "elsewhere"
    assert AsyncMemory(None).config == Config.from_env()
    assert AsyncMemory(Config(path="here")).config.path == "here"
