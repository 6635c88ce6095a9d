"""Made-up embeddings, recall against exact search, and an index beside brute force."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from numpy.typing import NDArray

from hmem.protocols import VectorIndex

Floats = NDArray[np.float32]


def directions(n: int, dim: int, *, seed: int = 0) -> Floats:
    """Unit rows with topics and a common direction, as real embeddings have them.

    Of one dimension all come from one distribution; the first rows of a seed stay first.
    """
    return _directions(n, dim, seed).copy()


@lru_cache(maxsize=8)
def _directions(n: int, dim: int, seed: int) -> Floats:
    shape, rng = np.random.default_rng(dim), np.random.default_rng(seed)
    topics, common = shape.standard_normal((16, dim)), shape.standard_normal(dim)
    mixed = rng.standard_normal((n, dim + 16))  # one draw: prefixes stay prefixes
    rows = mixed[:, :dim] + 0.3 * mixed[:, dim:] @ topics + 0.7 * common
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = rows.astype(np.float32)
    return unit


def recall_at_10(found: list[set[int]], rows: Floats, queries: Floats) -> float:
    """The mean share of each query's exact ten best rows that is in `found`."""
    exact = np.argsort(
        -(queries.astype(np.float64) @ rows.T.astype(np.float64)), axis=1
    )
    return recall_of(found, [set(best[:10].tolist()) for best in exact])


def recall_of(found: list[set[int]], exact: list[set[int]]) -> float:
    """The mean share of each exact set that is in the one found."""
    hits = sum(len(f & e) for f, e in zip(found, exact, strict=True))
    return hits / sum(map(len, exact))


_NUMBERS = st.integers(0, 40).map(lambda i: i if i < 38 else 2**64 - 41 + i)
_BATCH = st.lists(st.tuples(_NUMBERS, st.integers(0, 60)), max_size=45)


class IndexMachine(RuleBasedStateMachine):
    """An index beside a dict of exact rows."""

    dim = 9
    pool = directions(61, 9, seed=4)

    def __init__(self, index: VectorIndex, tolerance: float) -> None:
        super().__init__()
        self.index = index
        self.tolerance = tolerance
        self.rows: dict[int, int] = {}

    @rule(batch=_BATCH)
    def add(self, batch: list[tuple[int, int]]) -> None:
        """Ids repeat within and between batches."""
        ids = np.array([i for i, _ in batch], np.uint64)
        self.index.add(ids, self.pool[[row for _, row in batch]])
        self.rows.update(batch)

    @rule(numbers=st.lists(_NUMBERS, max_size=45))
    def remove(self, numbers: list[int]) -> None:
        """Known ids, unknown ones and repeats."""
        removed = self.index.remove(np.array(numbers, np.uint64))
        assert removed == len(
            {n for n in numbers if self.rows.pop(n, None) is not None}
        )

    @rule(row=st.integers(0, 60), k=st.integers(0, 50))
    def search(self, row: int, k: int) -> None:
        """Without a filter."""
        self.compare(row, k, self.index.search(self.pool[row], k), set(self.rows))

    @rule(
        row=st.integers(0, 60),
        k=st.integers(0, 50),
        numbers=st.lists(_NUMBERS, max_size=30),
        mask=st.booleans(),
    )
    def search_some(self, row: int, k: int, numbers: list[int], *, mask: bool) -> None:
        """With a filter, as ids or as a mask."""
        ids = np.array(numbers, np.uint64)
        allowed = np.isin(self.index.ids, ids) if mask else ids
        found = self.index.search(self.pool[row], k, allowed=allowed)
        self.compare(row, k, found, set(self.rows) & set(numbers))

    @invariant()
    def holds_the_same_ids(self) -> None:
        """After every step."""
        assert len(self.index) == len(self.rows)
        assert set(self.index.ids.tolist()) == set(self.rows)

    def compare(
        self,
        row: int,
        k: int,
        found: tuple[NDArray[np.float32], NDArray[np.uint64]],
        live: set[int],
    ) -> None:
        """True scores, each id once, ties by id, and nothing much better left out."""
        scores, ids = found[0].tolist(), found[1].tolist()
        exact = {i: float(self.pool[self.rows[i]] @ self.pool[row]) for i in live}
        assert len(ids) == len(set(ids)) == min(k, len(live))
        assert set(ids) <= live
        pairs = list(zip(scores, ids, strict=True))
        assert pairs == sorted(pairs, key=lambda p: (-p[0], p[1]))
        assert all(abs(s - exact[i]) <= self.tolerance for s, i in pairs)
        left = [exact[i] for i in live - set(ids)]
        if left and scores:
            assert max(left) <= scores[-1] + 2 * self.tolerance


def check_against_brute_force(
    make_index: Callable[[int], VectorIndex], tolerance: float, *, histories: int = 40
) -> None:
    """Run `IndexMachine` over histories of adds, replacements, removals and searches."""

    class Machine(IndexMachine):
        def __init__(self) -> None:
            super().__init__(make_index(IndexMachine.dim), tolerance)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=histories,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
        ),
    )
