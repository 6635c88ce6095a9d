"""What somebody who comes from another library hands in where a Config belongs."""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmem import (
    AsyncMemory,
    Config,
    ConfigError,
    InputTypeError,
    Memory,
    run_worker,
)


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


WRONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("read_only", "allow_degraded", "profile"), ("no", 0, None, [1])),
    **dict.fromkeys(("max_k", "rerank_candidates", "shards"), (2.5, "2", True, None)),
    **dict.fromkeys(("embed", "stored", "vectors", "rerank"), (None, 1, b"x", ["x"])),
    **dict.fromkeys(("base_url", "api_key", "llm", "rerank_base_url"), (1, b"x", True)),
    **dict.fromkeys(("timezone", "fusion", "mode"), (None, 1, ["UTC"], {}, np.ones(2))),
    "embed_dim": (1.5, "8", True, 0, -1),
    "path": (None, 1, b"x", ["x"], True),
    "on_event": (1, "print", [print]),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_setting_of_another_type_is_named(name: str) -> None:
    for value in WRONG[name]:
        with pytest.raises(ConfigError, match=f"Config.{name}"):
            Config(**{name: value})
