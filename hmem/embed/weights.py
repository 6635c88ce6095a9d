"""The local model's files: where they lie, whether they are genuine, what they hold.

Needs no extra, so that the command line can speak of a model that cannot run yet.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmem.errors import MissingModelError

MINILM = "all-MiniLM-L6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
SETTINGS = "config.json"
NEEDED = (WEIGHTS, TOKENIZER, SETTINGS)
HOW_TO_GET_IT = "run `hmem models install minilm`, or name a folder that has them in HMEM_MINILM_DIR"

_HEADER_LIMIT = 1 << 24


def default_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where `hmem models install minilm` puts the weights: the user's data folder.

    XDG_DATA_HOME when it is an absolute path, else ~/.local/share. A machine without a
    home falls back to the current folder's .hmem.
    """
    source = os.environ if environ is None else environ
    base = Path(source.get("XDG_DATA_HOME", ""))
    if not base.is_absolute():
        home = Path(source.get("HOME", "") or Path("~").expanduser())
        base = home / ".local" / "share" if home.is_absolute() else Path.cwd() / ".hmem"
    return base / "hmem" / "models" / "minilm"


def find_weights(environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder with the weights, or None.

    HMEM_MINILM_DIR decides alone when it is set: a folder named there that lacks a file
    is not passed over in silence for another one; it gives None.
    """
    folder = wanted_folder(environ)
    return None if missing_files(folder) else folder


def wanted_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where the weights are looked for: HMEM_MINILM_DIR, else `default_folder`."""
    source = os.environ if environ is None else environ
    named = source.get("HMEM_MINILM_DIR", "").strip()
    return Path(named).expanduser() if named else default_folder(source)


def missing_files(folder: Path) -> list[str]:
    """The needed files that `folder` lacks."""
    return [name for name in NEEDED if not (folder / name).is_file()]


def sha256_of(path: Path) -> str:
    """The file's digest, in hexadecimal. Releases the GIL while it reads."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """The float32 tensors of a safetensors file, as views of its memory map.

    Pages are read when touched and shared between processes. Raises MissingModelError for
    a file that is not one.
    """
    try:
        raw = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as e:
        raise MissingModelError(f"cannot read {path.name}: {HOW_TO_GET_IT}") from e
    size = int.from_bytes(raw[:8].tobytes(), "little")
    if not 2 <= size <= min(_HEADER_LIMIT, len(raw) - 8):
        raise _broken(path)
    try:
        header = json.loads(raw[8 : 8 + size].tobytes())
        body = raw[8 + size :]
        return {
            name: _tensor(body, entry)
            for name, entry in header.items()
            if name != "__metadata__" and entry["dtype"] == "F32"
        }
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise _broken(path) from e


def _tensor(body: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[np.float32]:
    """One tensor; ValueError when its range and shape do not agree."""
    start, end = entry["data_offsets"]
    if not 0 <= start <= end <= len(body):
        raise ValueError("tensor outside the file")
    return body[start:end].view(np.dtype("<f4")).reshape(entry["shape"])


def _broken(path: Path) -> MissingModelError:
    return MissingModelError(
        f"{path.name} is not a whole safetensors file: {HOW_TO_GET_IT}"
    )
