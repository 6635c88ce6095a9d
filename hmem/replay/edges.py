"""Where the synchronous file meets the asynchronous contracts."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import anyio.to_thread

from hmem.errors import ConfigError, EmbedderError, LLMError, StoreError

T = TypeVar("T")


async def in_thread(call: Callable[..., T], *args: Any) -> T:
    """What a call gives that may wait for a file."""
    return await anyio.to_thread.run_sync(call, *args)


@contextlib.contextmanager
def as_llm_error() -> Iterator[None]:
    """What is wrong with the file, as the LLM contract puts it."""
    try:
        yield
    except (StoreError, ConfigError) as e:
        raise LLMError(str(e), why="setup") from e


@contextlib.contextmanager
def as_embedder_error() -> Iterator[None]:
    """What is wrong with the file, as the Embedder contract puts it."""
    try:
        yield
    except (StoreError, ConfigError) as e:
        raise EmbedderError(str(e), retryable=False) from e


def only_one(models: set[str], where: str) -> str:
    """The one there is. Raises ConfigError, which says what to do."""
    if len(models) != 1:
        names = ", ".join(sorted(models)) or "no model"
        raise ConfigError(f"{where} {names}: say which with model=")
    return models.pop()
