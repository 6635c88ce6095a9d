"""The folder's manifest: what is fixed for all of its shards."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hmem.errors import DamagedStoreError, NewerFormatError, StoreError
from hmem.protocols import Space
from hmem.records import EMPTY
from hmem.stores.oserrors import sync_folder, write_private

FORMAT = 1
NAME = "hmem.json"
_OURS = frozenset({"format", "shards", "spaces", "target"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`target` is the id of the space that new vectors are written in. `other` keeps keys
    that a later hmem may have added without a new format."""

    shards: int
    spaces: tuple[Space, ...] = ()
    target: int | None = None
    other: Mapping[str, Any] = field(default=EMPTY)

    @property
    def space(self) -> Space | None:
        """The target space."""
        return next((s for s in self.spaces if s.id == self.target), None)

    def adopting(self, model: str, dim: int) -> "Manifest":
        """With this as the target, if there is none; else the same manifest."""
        if self.space is not None:
            return self
        known = next((s for s in self.spaces if (s.model, s.dim) == (model, dim)), None)
        new = known or Space(
            id=1 + max((s.id for s in self.spaces), default=0), model=model, dim=dim
        )
        spaces = self.spaces if known else (*self.spaces, new)
        return replace(self, spaces=spaces, target=new.id)


def read_manifest(folder: Path) -> Manifest | None:
    """The folder's manifest, None if it has none. Raises DamagedStoreError naming the
    file, NewerFormatError, StoreError when it cannot be read at all."""
    path = folder / NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as e:
        raise StoreError(f"{path} cannot be read: {e.strerror}") from e
    try:
        raw = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as e:
        raise _damaged(path, "it is not whole JSON") from e
    return _checked(path, raw)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it so that every reader sees the old or the new one, also after a crash.

    The caller holds the folder lock; that is why one temporary name is enough.
    """
    body = {
        **manifest.other,
        "format": FORMAT,
        "shards": manifest.shards,
        "spaces": [
            {"id": s.id, "model": s.model, "dim": s.dim} for s in manifest.spaces
        ],
        "target": manifest.target,
    }
    new = folder / f".{NAME}.new"
    write_private(new, (json.dumps(body, indent=2) + "\n").encode("utf-8"))
    os.replace(new, folder / NAME)
    sync_folder(folder)


def _checked(path: Path, raw: Any) -> Manifest:
    if not isinstance(raw, dict) or not _whole(raw.get("format"), low=1):
        raise _damaged(path, "it names no format")
    if raw["format"] > FORMAT:
        raise NewerFormatError(
            f"{path} has format {raw['format']}, this hmem reads up to {FORMAT}:"
            " upgrade hmem"
        )
    if not _whole(raw.get("shards"), low=1, high=4096):
        raise _damaged(path, "its number of shards is not one")
    spaces = _spaces(path, raw.get("spaces"))
    target = raw.get("target")
    if target is not None and target not in {s.id for s in spaces}:
        raise _damaged(path, "its target is none of its spaces")
    other = {k: v for k, v in raw.items() if k not in _OURS}
    return Manifest(shards=raw["shards"], spaces=spaces, target=target, other=other)


def _spaces(path: Path, raw: Any) -> tuple[Space, ...]:
    if not isinstance(raw, list) or not all(_is_space(s) for s in raw):
        raise _damaged(path, "its spaces cannot be read")
    if len({s["id"] for s in raw}) != len(raw):
        raise _damaged(path, "two of its spaces share an id")
    return tuple(Space(id=s["id"], model=s["model"], dim=s["dim"]) for s in raw)


def _is_space(raw: Any) -> bool:
    return (
        isinstance(raw, dict)
        and _whole(raw.get("id"), low=1)
        and _whole(raw.get("dim"), low=1)
        and isinstance(raw.get("model"), str)
    )


def _whole(value: Any, *, low: int, high: int = 2**31) -> bool:
    return (
        isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    )


def _damaged(path: Path, why: str) -> DamagedStoreError:
    return DamagedStoreError(f"{path} is damaged ({why}); restore it from a backup")
