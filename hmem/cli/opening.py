"""A Memory over the folder that a command is about."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmem.cli.failing import Failed

if TYPE_CHECKING:
    from hmem import Config, Memory

_MANIFEST = "hmem.json"


def settings(path: Path | None, **changes: Any) -> "Config":
    """The environment's settings, with the folder named on the command line."""
    from hmem import Config

    if path is not None:
        changes["path"] = path
    return replace(Config.from_env(), **changes)


def is_store(config: "Config") -> bool:
    """Whether the folder holds a store."""
    return (config.folder / _MANIFEST).is_file()


def needs_store(config: "Config") -> None:
    """Raises Failed where there is no store: only adding makes one."""
    if not is_store(config):
        raise Failed(
            f"there is no store in {config.folder.absolute()}: `hmem add` makes one,"
            " --path or HMEM_PATH names another folder"
        )


def without_models(config: "Config") -> "Config":
    """Nothing is loaded, called or worked on: for what only reads and writes rows."""
    return replace(
        config,
        worker="off",
        llm=None,
        mode="raw",
        embed="none",
        rerank="none",
        allow_degraded=True,
    )


@contextmanager
def looking(path: Path | None, *, by_meaning: bool = False) -> Iterator["Memory"]:
    """A store that is there, opened to read alone. `by_meaning` loads the embedder."""
    config = settings(path, read_only=True, worker="off", llm=None, mode="raw")
    with opened(config if by_meaning else without_models(config)) as mem:
        yield mem


@contextmanager
def editing(path: Path | None) -> Iterator["Memory"]:
    """A store that is there, opened to change what needs no model."""
    with opened(without_models(settings(path))) as mem:
        yield mem


@contextmanager
def opened(config: "Config") -> Iterator["Memory"]:
    """A store that is there. Raises Failed where there is none: looking must not make
    one."""
    from hmem import Memory

    needs_store(config)
    log = logging.getLogger("hmem.memory")
    before = log.level
    if config.embed == "none":  # "searching by words alone" is no news to `hmem list`
        log.setLevel(logging.ERROR)
    try:
        with Memory(config) as mem:
            yield mem
    finally:
        log.setLevel(before)
