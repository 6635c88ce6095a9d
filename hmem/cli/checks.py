"""What `hmem doctor` looks at. Each check tells of one thing and never raises."""

import asyncio
import importlib.metadata as metadata
import os
import platform
import re
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hmem import __version__
from hmem.config import Config
from hmem.errors import HmemError
from hmem.installed import how_to_add
from hmem.protocols import Space

State = Literal["ok", "note", "broken"]
PATIENCE = 60.0
"""Seconds for one model, however often it is asked."""
# SQLite from 3.7.0 to before this can corrupt a file when two connections checkpoint it at
# one instant.
WAL_RESET_FIXED = (3, 51, 3)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "maxLength": 20}},
    "required": ["colour"],
    "additionalProperties": False,
}
_ASKED = [
    {"role": "system", "content": 'Answer with JSON of the form {"colour": "..."}.'},
    {"role": "user", "content": "Which colour has the sky?"},
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was found of one thing: well, worth a note, or broken."""

    name: str
    state: State
    detail: str


def of_the_machine() -> Iterator[Check]:
    """Python, SQLite, this package and what is installed beside it."""
    where = f"{platform.python_implementation()}, {platform.system()}"
    yield _ok("python", f"{platform.python_version()} ({where}; {sys.executable})")
    yield _ok("hmem", __version__)
    yield _sqlite()
    yield from _requirements()


def of_the_folder(config: Config) -> Iterator[Check]:
    """The data folder: whether there is a store, and what it says of itself."""
    from hmem.cli.opening import is_store, opened, without_models

    folder = config.folder.absolute()
    if not is_store(config):
        yield _empty_folder(folder)
        return
    with opened(replace(without_models(config), read_only=True)) as mem:
        health, stats = mem.admin.health(), mem.admin.stats()
    problems = [p for p in health["problems"] if p not in ("no_embedder",)]
    for problem in problems:
        yield _broken("folder", f"{folder}: {problem}")
    if not problems:
        counts = ", ".join(f"{stats[n]} {n}" for n in ("users", "memories", "turns"))
        yield _ok("folder", f"{folder}: {counts}; no damage was found")
    if not os.access(folder, os.W_OK):
        yield _note("folder", f"{folder} cannot be written: it is opened to read alone")
    yield from _queue(stats["jobs"])


async def of_the_models(config: Config) -> AsyncIterator[Check]:
    """The embedder and the chat model, each asked once."""
    yield await _guarded("embedder", _embedder(config))
    yield await _guarded("chat model", _chat_model(config))


# ------------------------------------------------------------------------ the machine


def _sqlite() -> Check:
    found, version = sqlite3.sqlite_version_info, sqlite3.sqlite_version
    with sqlite3.connect(":memory:") as conn:
        options = {row[0] for row in conn.execute("PRAGMA compile_options")}
    conn.close()
    if "THREADSAFE=0" in options:
        return _broken("sqlite", f"{version} is built without threads")
    if found >= WAL_RESET_FIXED:
        return _ok("sqlite", version)
    return _note(
        "sqlite",
        f"{version} can damage a file that two connections checkpoint at one instant"
        " (3.7.0 to 3.51.2). hmem never does: it locks each checkpoint. Let no other"
        " program write to the files",
    )


def _requirements() -> Iterator[Check]:
    """The core's packages, and the extras: installed, or the line that installs them."""
    try:
        lines = metadata.requires("hmem") or []
    except metadata.PackageNotFoundError:
        yield _note("packages", "hmem is not installed, only on the path")
        return
    wanted: dict[str, list[str]] = {}
    for line in lines:
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)", line)
        package = re.match(r"[\w.-]+", line)
        if package and package[0] != "hmem":
            wanted.setdefault(extra[1] if extra else "", []).append(package[0])
    core = {name: _version(name) for name in wanted.pop("", [])}
    missing = [name for name, version in core.items() if version is None]
    if missing:
        yield _broken("packages", f"not installed: {', '.join(missing)}")
    else:
        yield _ok("packages", ", ".join(f"{n} {v}" for n, v in core.items()))
    for label, names in wanted.items():
        lacking = [name for name in names if _version(name) is None]
        line = f"not installed: {how_to_add(label, tuple(names))}"
        found = ", ".join(f"{name} {_version(name)}" for name in names)
        yield Check(
            name=f"extra {label}",
            state="note" if lacking else "ok",
            detail=line if lacking else found,
        )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


# ------------------------------------------------------------------------- the folder


def _empty_folder(folder: Path) -> Check:
    """A folder in which `hmem add` would make a store."""
    if folder.is_dir() and any(folder.iterdir()):
        return _broken("folder", f"{folder} holds other files: name an empty folder")
    near = next(p for p in (folder, *folder.parents) if p.exists())
    if not near.is_dir() or not os.access(near, os.W_OK | os.X_OK):
        return _broken("folder", f"{folder} cannot be made: {near} cannot be written")
    return _note("folder", f"{folder}: no store yet; `hmem add` makes one")


def _queue(jobs: dict[str, int]) -> Iterator[Check]:
    waiting = jobs["queued"] + jobs["running"]
    if waiting:
        yield _note("jobs", f"{waiting} have not ended: `hmem worker` works on them")
    if jobs["dead"] or jobs["partial"]:
        yield _note("jobs", f"{jobs['dead']} dead, {jobs['partial']} partial")


# ------------------------------------------------------------------------- the models


async def _guarded(name: str, check: Any) -> Check:
    """What a check found; an error of a model or of the settings is what it found."""
    try:
        async with asyncio.timeout(PATIENCE):
            found: Check = await check
    except HmemError as e:
        return _broken(name, " ".join(str(e).split()))
    except TimeoutError:
        return _broken(name, f"no answer within {PATIENCE:.0f} s")
    return found


async def _embedder(config: Config) -> Check:
    from hmem.backends import make_embedder

    embedder = await asyncio.to_thread(make_embedder, config)
    if embedder is None:
        return _no_embedder(config)
    try:
        begun = time.perf_counter()
        vectors = await embedder.embed(["hello"], purpose="query")
        took = (time.perf_counter() - begun) * 1000
    finally:
        await embedder.aclose()
    detail = (
        f"{embedder.model}, {vectors.shape[1]} dimensions, {took:.0f} ms a question"
    )
    return _fits(config, embedder.model, int(vectors.shape[1]), detail)


def _no_embedder(config: Config) -> Check:
    """Whether that matters, and what can be done."""
    from hmem.embed.weights import HOW_TO_GET_IT

    space = _space(config)
    if space is not None and not config.allow_degraded:
        return _broken(
            "embedder",
            f"none, but the store holds vectors of {space.model}: {HOW_TO_GET_IT};"
            " name that model in HMEM_EMBED; or HMEM_ALLOW_DEGRADED=1",
        )
    how = "" if config.embed == "none" else f": {HOW_TO_GET_IT}"
    return _note("embedder", f"none, so searches go by words alone{how}")


def _fits(config: Config, model: str, dim: int, detail: str) -> Check:
    """Whether it is the model of the store's vectors."""
    space = _space(config)
    if space is not None and (space.model, space.dim) != (model, dim):
        return _broken(
            "embedder",
            f"{detail}; but the store holds vectors of {space.model} ({space.dim})",
        )
    return _ok("embedder", detail)


def _space(config: Config) -> Space | None:
    """The model of the store's vectors."""
    from hmem.stores.manifest import read_manifest

    manifest = read_manifest(config.folder)
    return None if manifest is None else manifest.space


async def _chat_model(config: Config) -> Check:
    """Whether the model answers, and the strictest form of JSON that it gives."""
    from hmem.backends import make_llm
    from hmem.chat.ladder import Ladder, Schema
    from hmem.errors import ExtractionError

    llm = await asyncio.to_thread(make_llm, config)
    if llm is None:
        return _note(
            "chat model", "none (HMEM_LLM): what is said is kept word for word"
        )
    schema = Schema("doctor", "1", _SCHEMA)
    begun = time.perf_counter()
    try:
        answer = await Ladder(llm).ask(
            _ASKED, schema=schema, read=_colour, purpose="doctor", max_tokens=200
        )
    except ExtractionError as e:
        return _broken("chat model", f"{llm.model} answers, without usable JSON: {e}")
    finally:
        await llm.aclose()
    took = (time.perf_counter() - begun) * 1000
    return _ok("chat model", f"{llm.model}: JSON as {answer.usage.rung}, {took:.0f} ms")


def _colour(value: Any) -> str:
    """What was asked for. Raises Unreadable for anything else."""
    from hmem.chat.peel import Unreadable

    if isinstance(value, dict) and isinstance(value.get("colour"), str):
        return str(value["colour"])
    raise Unreadable("an object with a colour was asked for")


def _ok(name: str, detail: str) -> Check:
    return Check(name=name, state="ok", detail=detail)


def _note(name: str, detail: str) -> Check:
    return Check(name=name, state="note", detail=detail)


def _broken(name: str, detail: str) -> Check:
    return Check(name=name, state="broken", detail=detail)
