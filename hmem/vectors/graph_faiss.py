"""`faiss:HNSW`: a graph names the candidates, for users of very many rows.

FAISS cannot take a node out of the graph. A removed row stays as a dead node that leads on
and is never named; when half the nodes are dead the graph is built anew.
"""

from array import array
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hmem.vectors.coarse import CoarseIndex, Engine, Floats
from hmem.vectors.flat_faiss import common_steps
from hmem.vectors.indexes import Scores
from hmem.vectors.simd import needs

_LINKS = 32  # per node and level, twice as many on the lowest
_BUILD = 80  # candidates looked at when a node is added
_SEARCH = 128  # ... when one is searched, at least
_DEAD = -1


class HnswEngine:
    """A FAISS graph over int8 codes; nodes are numbered as they came, slots move."""

    def __init__(self, faiss: Any, dim: int) -> None:
        self._faiss, self._dim = faiss, dim
        self._steps = common_steps(dim)
        self._graph = faiss.IndexHNSWSQ(
            dim,
            faiss.ScalarQuantizer.QT_8bit_direct_signed,
            _LINKS,
            faiss.METRIC_INNER_PRODUCT,
        )
        self._graph.hnsw.efConstruction = _BUILD
        self._slot = np.empty(0, np.int64)  # of each node, _DEAD for a removed row
        self._node = array("q")  # of each slot

    @property
    def nbytes(self) -> int:
        """Bytes of codes and links with the room they were measured to grow in, and of
        numbers."""
        nodes, links = len(self._slot), 4 * 2 * _LINKS + 16
        return 7 * nodes * (self._dim + links) // 5 + 8 * (nodes + len(self._node))

    @property
    def worn(self) -> bool:
        """Whether more than half the nodes are dead."""
        return len(self._slot) > 2 * len(self._node) + 64

    def add(self, rows: Floats) -> None:
        """Unit rows for the next slots."""
        # In one thread: the graph depends on the order in which nodes meet.
        before = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1)
        try:
            self._graph.add(self._whole(rows))
        finally:
            self._faiss.omp_set_num_threads(before)
        nodes, slots = len(self._slot), len(self._node)
        self._node.extend(range(nodes, nodes + len(rows)))
        new = np.arange(slots, slots + len(rows))
        self._slot = np.concatenate([self._slot, new])

    def swap_remove(self, slot: int) -> None:
        """Forget a slot's row; the last row takes its place."""
        self._slot[self._node[slot]] = _DEAD
        last = self._node.pop()
        if slot < len(self._node):
            self._node[slot] = last
            self._slot[last] = slot

    def search(
        self, query: Floats, k: int, mask: NDArray[np.bool_] | None
    ) -> tuple[Scores, NDArray[np.intp]]:
        """Candidates, best first."""
        faiss, nodes = self._faiss, len(self._slot)
        alive = self._slot >= 0
        if mask is not None:
            # A dead node looks at the last slot, and stays dead.
            alive &= mask[self._slot]
        share = max(1, int(np.count_nonzero(alive))) / nodes
        width = min(nodes, int(max(_SEARCH, 2 * k) / share))
        params = faiss.SearchParametersHNSW(efSearch=width)
        if share < 1.0:
            bits = np.packbits(alive, bitorder="little")
            params = faiss.SearchParametersHNSW(
                efSearch=width, sel=faiss.IDSelectorBitmap(bits)
            )
        scores, found = self._graph.search(self._whole(query[None]), k, params=params)
        real = found[0] >= 0
        return scores[0][real], self._slot[found[0][real]]

    def _whole(self, rows: Floats) -> Floats:
        whole: Floats = np.clip(np.rint(rows * self._steps), -127, 127)
        return whole


class HnswIndex(CoarseIndex):
    """`faiss:HNSW`: a graph in front of int8 codes."""

    name: ClassVar[str] = "faiss:HNSW"
    recall_floor: ClassVar[float] = 0.97
    engine_from: ClassVar[int] = 20_000  # a graph is slow to build

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self._faiss = needs("faiss", self.name, "faiss")

    def make_engine(self) -> Engine | None:
        """An empty graph."""
        return HnswEngine(self._faiss, self.dim)
