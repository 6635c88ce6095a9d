"""Recorded replies that stand in for a model, so that `hmem demo` runs offline."""

import asyncio
import json
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import as_file, files
from typing import Any, TypeVar

from hmem import Config, ConfigError, LLMError
from hmem.config import Mode
from hmem.protocols import Completion, Rung
from hmem.replay import Cassette, ReplayLLM

Report = TypeVar("Report")
PLAYED: Mapping[str, Any] = {
    "instructions": "",
    "categories": (),
    "extract_after_turns": 1,
    "extract_input_tokens": 2_000,
    "profile": False,
    "secrets": "redact",
    "pii": "off",
}
"""What a recorded request depends on."""


class Played(ReplayLLM):
    """Nobody answers what the recording does not hold: the job is to end, not to wait."""

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """See `LLM.complete`."""
        try:
            return await super().complete(
                messages, schema=schema, rung=rung, max_tokens=max_tokens
            )
        except LLMError as e:
            raise LLMError(str(e), why="input", retryable=False) from e


def play(
    run: Callable[..., Coroutine[Any, Any, Report]],
    config: Config,
    recording: str,
    *,
    mode: Mode,
    live: bool,
    embed: str = "none",
) -> Report:
    """What `run(config, llm=, live=)` reports, in a folder that is removed afterwards and
    with the settings that the recording was made with. `live`: the configured model is
    asked instead; raises ConfigError without one."""
    with tempfile.TemporaryDirectory(prefix="hmem-") as folder:
        here = replace(config, path=folder, mode=mode, worker="inline", read_only=False)
        if live:
            needs_model(config)
            return asyncio.run(run(here, live=True))
        here = replace(here, embed=embed, llm=None, timezone="UTC", **PLAYED)
        with recorded(recording) as llm:
            return asyncio.run(run(here, llm=llm))


@contextmanager
def recorded(name: str) -> Iterator[Played]:
    """The model that a recording of the package stands in for."""
    with as_file(files("hmem") / "data" / name) as path:
        yield Played(Cassette(path))


def load_data(name: str) -> dict[str, Any]:
    """A JSON file of the package."""
    text = (files("hmem") / "data" / name).read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def needs_model(config: Config) -> None:
    """Raises ConfigError for `--live` without a configured model."""
    if config.llm is None:
        raise ConfigError(
            "--live asks your model: set HMEM_LLM and HMEM_BASE_URL or HMEM_API_KEY"
        )


def model_line(told: Mapping[str, Any], llm: object, name: str, *, live: bool) -> str:
    """Which model a report is about: the one asked, or the recording that was played."""
    if live:
        return f"{llm}, asked now"
    return f"{told['model']}: replies played back from {name}, no model ran"
