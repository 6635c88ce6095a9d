"""Names of indexes: loaded when asked for, chosen by size, changed as a user grows."""

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from hmem.errors import UnknownBackendError
from hmem.protocols import VectorIndex
from hmem.vectors.indexes import ScanIndex
from hmem.vectors.simd import best_dots, plain
from hmem.vectors.slots import Ids

_SIMD_FROM = 600_000  # numbers: vectors times dimensions
_PLAIN_FROM = 5_000_000
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
    numbers = dim * expect
    if numbers <= _SIMD_FROM or (numbers <= _PLAIN_FROM and best_dots() is plain):
        return "float32"
    return "int8"


def index(name: str, dim: int, *, expect: int = 0) -> VectorIndex:
    """A new, empty index; `auto` starts as what fits `expect` vectors, and changes.

    Raises UnknownBackendError; MissingExtraError names the pip line.
    """
    if name == "auto":
        return AutoIndex(dim, expect=expect)
    if name not in INDEXES:
        known = ", ".join(["auto", *sorted(INDEXES)])
        raise UnknownBackendError(f"no vector index {name!r}; there are {known}")
    return INDEXES[name].load()(dim)


class AutoIndex:
    """`auto`: the index that `auto()` names, moved to another as it grows and shrinks.

    Rows keep their order when they move. Sizes around a switch do not go to and fro: an
    index stays while it is what twice its size would have.
    """

    name: ClassVar[str] = "auto"
    recall_floor: ClassVar[float] = 0.993
    score_tolerance: ClassVar[float] = 0.01

    def __init__(self, dim: int, *, expect: int = 0) -> None:
        self.dim = dim
        self._lock = threading.Lock()  # writers; readers go on with what they began on
        self.held = self._made(auto(dim, expect=expect))

    def add(self, ids: Ids, vectors: NDArray[np.float32]) -> None:
        """See `VectorIndex.add`."""
        with self._lock:
            self._fit(np.size(ids))
            self.held.add(ids, vectors)

    def add_codes(self, ids: Ids, codes: NDArray[np.uint8], codec_name: str) -> None:
        """See `TakesCodes.add_codes`."""
        with self._lock:
            self._fit(np.size(ids))
            self.held.add_codes(ids, codes, codec_name)

    def remove(self, ids: Ids) -> int:
        """See `VectorIndex.remove`."""
        with self._lock:
            removed = self.held.remove(ids)
            self._fit(0)
            return removed

    def search(
        self,
        query: NDArray[np.float32],
        k: int,
        *,
        allowed: Ids | NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.float32], Ids]:
        """See `VectorIndex.search`."""
        return self.held.search(query, k, allowed=allowed)

    def scores(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """See `ScoresAll.scores`."""
        return self.held.scores(query)

    def vectors(self, ids: Ids) -> NDArray[np.float32]:
        """See `ScoresAll.vectors`."""
        return self.held.vectors(ids)

    @property
    def ids(self) -> Ids:
        """The ids held, in slot order."""
        return self.held.ids

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.held.nbytes

    def __len__(self) -> int:
        return len(self.held)

    def _made(self, name: str) -> ScanIndex:
        made: Any = INDEXES[name].load()(self.dim)
        return cast(ScanIndex, made)

    def _fit(self, more: int) -> None:
        """Move the rows where another index is meant for them and `more`."""
        held, n = self.held, len(self.held) + more
        chosen = auto(self.dim, expect=n)
        if held.name in (chosen, auto(self.dim, expect=2 * n)):
            return
        new, ids = self._made(chosen), held.ids
        for start in range(0, ids.size, _BATCH):
            some = ids[start : start + _BATCH]
            new.add(some, held.vectors(some))
        self.held = new
