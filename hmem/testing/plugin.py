"""A pytest plugin for people who test their own apps: a memory that needs no network.

pytest loads it where hmem is installed (entry point `hmem`); see docs/testing.md. It
imports nothing but pytest: what a fixture gives is imported when a test asks for it.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hmem.config import Config
    from hmem.memory import AsyncMemory
    from hmem.sync import Memory
    from hmem.testing.fakes import FrozenClock, HashEmbedder
    from hmem.testing.llms import ScriptedLLM


def pytest_configure(config: pytest.Config) -> None:
    """Add `hmem_memory`, in the form that fits what is installed."""
    here = config.pluginmanager.hasplugin("asyncio")
    name = "plugin_asyncio" if here else "plugin_plain"
    module = importlib.import_module(f"hmem.testing.{name}")
    config.pluginmanager.register(module, f"hmem.testing.{name}")


@pytest.fixture
def hmem_clock() -> "FrozenClock":
    """The memory's clock: it stands at noon of 2024-05-01, UTC, until it is moved."""
    from hmem.testing.fakes import FrozenClock

    return FrozenClock()


@pytest.fixture
def hmem_embedder() -> "HashEmbedder":
    """The memory's embedder: texts that share words are near each other."""
    from hmem.testing.fakes import HashEmbedder

    return HashEmbedder()


@pytest.fixture
def hmem_llm() -> "ScriptedLLM":
    """The memory's chat model: it finds no facts, but what a test lets it `say`."""
    from hmem.testing.llms import ScriptedLLM, facts

    return ScriptedLLM(then=facts())


@pytest.fixture
def hmem_config(tmp_path: Path) -> "Config":
    """The memory's settings: a folder of the test's own, quick to make. The environment
    is not read."""
    from hmem.config import Config

    return Config(path=tmp_path / "memories", shards=1, durability="normal")


@pytest.fixture
def hmem_unopened(
    hmem_config: "Config", hmem_llm: Any, hmem_embedder: Any, hmem_clock: Any
) -> "AsyncMemory":
    """The AsyncMemory that `hmem_memory` opens and closes, for an app that does so
    itself."""
    from hmem.memory import AsyncMemory

    return AsyncMemory(
        hmem_config, llm=hmem_llm, embedder=hmem_embedder, clock=hmem_clock
    )


@pytest.fixture
def hmem_sync_memory(
    hmem_config: "Config", hmem_llm: Any, hmem_embedder: Any, hmem_clock: Any
) -> "Iterator[Memory]":
    """A Memory in a folder of the test's own: open, offline, closed afterwards."""
    from hmem.sync import Memory

    with Memory(
        hmem_config, llm=hmem_llm, embedder=hmem_embedder, clock=hmem_clock
    ) as memory:
        yield memory
