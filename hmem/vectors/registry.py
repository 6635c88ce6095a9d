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

_SIMD_FROM = 600_000  # numbers: vectors times dimensions, of 384 or more
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

    The one place of that rule. It goes by the time of `scores()`, which is what a view
    asks for; median us of float32, and int8's as a multiple of it with the `simd` extra
    and by numpy (`python -m benchmarks_perf.vector_switch`, AVX-512, 1 MB of L2):

        n             200  500  1,000  2,000  3,000  5,000  10,000  20,000
        d=384  us      14   15     39     53    106    209   1,081   2,622
               simd  1.72 1.43   1.14    .98    .70    .51     .19     .17
               numpy  4.1  3.6    3.6    3.0    2.3    1.8     .82     .71
        d=768  us      12   31     50    136    346    981   2,413   4,877
               simd  1.38  .94    .79    .46    .26    .17     .19     .19
               numpy  3.9  3.1    3.2    2.3    1.4    .81     .74     .78
        d=1536 us      21   48    157    735  1,168  2,139   3,842   8,440
               simd   .99  .74    .36    .14    .16    .20     .19     .21
               numpy  3.5  3.2    1.8    .75    .72    .65     .71     .80

    Once float32 rows no longer fit the second-level cache, a quarter of the bytes wins;
    numpy, which widens them first, wins once they come from memory. In fewer dimensions
    what int8 costs for a vector, however short, counts more (d=128: 1.7 at 5,000, .55 at
    20,000), so that the switch is proportionally later. turbovec and the
    graph find the ten best sooner, but not every score, and need an extra: by name only.
    """
    numbers = dim * expect * min(1.0, dim / 384)
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
