"""Names of indexes: loaded when asked for, chosen by size, changed as a user grows."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hmem.errors import UnknownBackendError
from hmem.protocols import ScoresAll, VectorIndex

_BATCH = 4096  # rows moved at a time from one index to another


@dataclass(frozen=True, slots=True)
class Backend:
    """Where an index is made, `module:attribute`, and the extra that it imports."""

    target: str
    extra: str | None = None

    def load(self) -> Callable[[int], VectorIndex]:
        """What makes an empty index of a dimension. The extra is looked for then."""
        module, _, attribute = self.target.partition(":")
        made: Callable[[int], VectorIndex] = getattr(
            importlib.import_module(module), attribute
        )
        return made


INDEXES: dict[str, Backend] = {
    "faiss:HNSW": Backend("hmem.vectors.graph_faiss:HnswIndex", "faiss"),
    "faiss:int8": Backend("hmem.vectors.flat_faiss:FaissInt8Index", "faiss"),
    "float32": Backend("hmem.vectors.indexes:Float32Index"),
    "int8": Backend("hmem.vectors.indexes:Int8Index"),
    "turbovec:2": Backend("hmem.vectors.turbo:Turbo2Index", "turbovec"),
    "turbovec:4": Backend("hmem.vectors.turbo:Turbo4Index", "turbovec"),
}


def auto(dim: int, *, expect: int) -> str:
    """The index that `auto` stands for, by dimension and number of vectors.

    The one place of that rule.
    """
    return "float32" if expect * dim <= _FLOAT32_NUMBERS else "int8"


_FLOAT32_NUMBERS = 1_000_000


def index(name: str, dim: int, *, expect: int = 0) -> VectorIndex:
    """A new, empty index; `auto` picks one for `expect` vectors.

    Raises UnknownBackendError; MissingExtraError names the pip line.
    """
    chosen = auto(dim, expect=expect) if name == "auto" else name
    if chosen not in INDEXES:
        known = ", ".join(["auto", *sorted(INDEXES)])
        raise UnknownBackendError(f"no vector index {name!r}; there are {known}")
    return INDEXES[chosen].load()(dim)


def grown(held: VectorIndex, name: str) -> VectorIndex:
    """`held`, or its rows in another index where `auto` means another at this size.

    For an owner whose index grows and shrinks: ask after each change. A size just around
    the switch does not go to and fro: `auto` must mean the same for twice the size.
    """
    if name != "auto" or not isinstance(held, ScoresAll):
        return held
    n = len(held)
    chosen = auto(held.dim, expect=n)
    if chosen == getattr(held, "name", chosen) or chosen != auto(
        held.dim, expect=2 * n
    ):
        return held
    new, ids = index(chosen, held.dim), held.ids
    for start in range(0, n, _BATCH):
        some = ids[start : start + _BATCH]
        new.add(some, np.asarray(held.vectors(some)))
    return new
