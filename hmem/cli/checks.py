"""What `hmem doctor` looks at. Each check tells of one thing and never raises."""

import importlib.metadata as metadata
import os
import platform
import re
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from hmem import __version__
from hmem.config import Config
from hmem.installed import how_to_add

State = Literal["ok", "note", "broken"]
# SQLite from 3.7.0 to before this can corrupt a file when two connections checkpoint it at
# one instant.
WAL_RESET_FIXED = (3, 51, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was found of one thing: well, worth a note, or broken."""

    name: str
    state: State
    detail: str


def of_the_machine() -> Iterator[Check]:
    """Python, SQLite, this package and what is installed beside it."""
    where = f"{platform.python_implementation()}, {platform.system()}"
    yield ok("python", f"{platform.python_version()} ({where}; {sys.executable})")
    yield ok("hmem", __version__)
    yield _sqlite()
    yield from _requirements()
    yield from _variables()


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
        yield broken("folder", f"{folder}: {problem}")
    if not problems:
        counts = ", ".join(f"{stats[n]} {n}" for n in ("users", "memories", "turns"))
        yield ok("folder", f"{folder}: {counts}; no damage was found")
    if not os.access(folder, os.W_OK):
        yield note("folder", f"{folder} cannot be written: it is opened to read alone")
    yield from _queue(stats["jobs"])


# ------------------------------------------------------------------------ the machine


def _sqlite() -> Check:
    found, version = sqlite3.sqlite_version_info, sqlite3.sqlite_version
    with sqlite3.connect(":memory:") as conn:
        options = {row[0] for row in conn.execute("PRAGMA compile_options")}
    conn.close()
    if "THREADSAFE=0" in options:
        return broken("sqlite", f"{version} is built without threads")
    if found >= WAL_RESET_FIXED:
        return ok("sqlite", version)
    return note(
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
        yield note("packages", "hmem is not installed, only on the path")
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
        yield broken("packages", f"not installed: {', '.join(missing)}")
    else:
        yield ok("packages", ", ".join(f"{n} {v}" for n, v in core.items()))
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


def _variables() -> Iterator[Check]:
    """Variables of ours that nothing reads: probably misspelt."""
    known = {f"HMEM_{f.name.upper()}" for f in fields(Config)} | {"HMEM_MINILM_DIR"}
    for name in sorted(os.environ):
        if name.startswith("HMEM_") and name not in known:
            near = get_close_matches(name, sorted(known), 1)
            asked = f": did you mean {near[0]}?" if near else ""
            yield note("variable", f"{name} is no setting{asked}")


# ------------------------------------------------------------------------- the folder


def _empty_folder(folder: Path) -> Check:
    """A folder in which `hmem add` would make a store."""
    if folder.is_dir() and any(folder.iterdir()):
        return broken("folder", f"{folder} holds other files: name an empty folder")
    near = next(p for p in (folder, *folder.parents) if p.exists())
    if not near.is_dir() or not os.access(near, os.W_OK | os.X_OK):
        return broken("folder", f"{folder} cannot be made: {near} cannot be written")
    return note("folder", f"{folder}: no store yet; `hmem add` makes one")


def _queue(jobs: dict[str, int]) -> Iterator[Check]:
    waiting = jobs["queued"] + jobs["running"]
    if waiting:
        yield note("jobs", f"{waiting} have not ended: `hmem worker` works on them")
    if jobs["dead"] or jobs["partial"]:
        yield note("jobs", f"{jobs['dead']} dead, {jobs['partial']} partial")


def ok(name: str, detail: str) -> Check:
    """It is well."""
    return Check(name=name, state="ok", detail=detail)


def note(name: str, detail: str) -> Check:
    """It is worth knowing."""
    return Check(name=name, state="note", detail=detail)


def broken(name: str, detail: str) -> Check:
    """It does not work."""
    return Check(name=name, state="broken", detail=detail)
