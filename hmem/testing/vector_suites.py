"""What every `VectorIndex` must do; for a codec see `codec_suite`.

    class TestMyIndex(VectorIndexSuite):
        recall_floor = 0.95

        @pytest.fixture
        def make_index(self):
            return MyIndex            # called with a dimension

A lossy backend lowers `recall_floor` and `score_tolerance`, nothing else.
Needs pytest and hypothesis.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hmem.errors import BadVectorError
from hmem.protocols import ScoresAll, VectorIndex
from hmem.testing.codec_suite import BAD_ROWS
from hmem.testing.vector_machine import (
    check_against_brute_force,
    directions,
    recall_at_10,
)

MakeIndex = Callable[[int], VectorIndex]


class VectorIndexSuite:
    """Subclass it and provide a `make_index` fixture: dimension -> empty index."""

    recall_floor: float = 1.0
    score_tolerance: float = 1e-5
    edits: int = 400  # of the writer beside the readers
    histories: int = 40  # of the machine

    @pytest.fixture
    def make_index(self) -> MakeIndex:
        """Makes the index under test."""
        pytest.fail("an index suite needs a `make_index` fixture")

    def floor(self, index: VectorIndex) -> float:
        """The recall that this index declares."""
        return float(getattr(index, "recall_floor", self.recall_floor))

    def tolerance(self, index: VectorIndex) -> float:
        """How far this index declares that a score may lie from the cosine."""
        return float(getattr(index, "score_tolerance", self.score_tolerance))

    def filled(self, make: MakeIndex, n: int = 30, dim: int = 16) -> VectorIndex:
        """An index of `directions(n, dim)` under the ids 1..n."""
        index = make(dim)
        index.add(np.arange(1, n + 1, dtype=np.uint64), directions(n, dim))
        return index

    def test_an_empty_index_finds_nothing(self, make_index: MakeIndex) -> None:
        """No rows, no exception."""
        index = make_index(8)
        scores, ids = index.search(directions(1, 8)[0], 5)
        assert (len(index), scores.size, ids.size) == (0, 0, 0)
        assert scores.dtype == np.float32
        assert ids.dtype == np.uint64
        assert index.ids.size == 0

    @pytest.mark.parametrize("dim", [1, 5, 8, 384])
    def test_one_vector_is_found(self, make_index: MakeIndex, dim: int) -> None:
        """In any dimension, for k far above the number held."""
        index = make_index(dim)
        row = directions(1, dim)
        index.add(np.array([2**64 - 1], np.uint64), row)
        scores, ids = index.search(row[0] * 3, 1000)
        assert ids.tolist() == [2**64 - 1]
        assert abs(float(scores[0]) - 1.0) <= self.tolerance(index)

    def test_scores_are_cosines_best_first(self, make_index: MakeIndex) -> None:
        """The lengths of rows and query do not matter."""
        rows, query = directions(50, 16), directions(1, 16, seed=3)[0]
        index = make_index(16)
        lengths = np.linspace(0.1, 50, 50, dtype=np.float32)[:, None]
        index.add(np.arange(50, dtype=np.uint64), rows * lengths)
        scores, ids = index.search(query * 7, 50)
        assert (np.diff(scores) <= 0).all()
        assert np.abs(scores - rows[ids] @ query).max() <= self.tolerance(index)

    @pytest.mark.parametrize("n", [7, 30, 203, 1601])
    def test_equal_vectors_are_ordered_by_id(
        self, make_index: MakeIndex, n: int
    ) -> None:
        """Wherever they lie: a scan rounds equal rows differently by their place."""
        index = make_index(77)
        ids = np.random.default_rng(n).permutation(np.arange(1, n + 1, dtype=np.uint64))
        index.add(ids, np.repeat(directions(1, 77), n, axis=0))
        scores, found = index.search(directions(1, 77, seed=5)[0], 6)
        assert found.tolist() == [1, 2, 3, 4, 5, 6]
        assert len(set(scores.tolist())) == 1

    @pytest.mark.parametrize("k", [0, 1, 29, 30, 31, 10**9])
    def test_k_bounds_the_result(self, make_index: MakeIndex, k: int) -> None:
        """k above the number held is no error, k = 0 finds nothing."""
        scores, ids = self.filled(make_index).search(directions(1, 16)[0], k)
        assert scores.size == ids.size == min(k, 30)
        assert len(set(ids.tolist())) == ids.size

    def test_an_id_added_again_is_replaced(self, make_index: MakeIndex) -> None:
        """And of an id that comes twice in one call the last row counts."""
        index, rows = self.filled(make_index), directions(30, 16)
        index.add(np.array([4, 77, 4], np.uint64), -rows[[9, 8, 3]])
        assert len(index) == 31
        scores, ids = index.search(-rows[3], 1)
        assert ids.tolist() == [4]
        assert float(scores[0]) >= 1.0 - self.tolerance(index)

    def test_removed_ids_are_gone_and_the_others_stay(
        self, make_index: MakeIndex
    ) -> None:
        """Unknown and repeated ids are ignored; the count says what went."""
        index, rows = self.filled(make_index), directions(30, 16)
        gone = np.array([30, 1, 1, 17, 99], np.uint64)
        assert index.remove(gone) == 3
        assert index.remove(gone) == 0
        assert sorted(index.ids.tolist()) == sorted(set(range(1, 31)) - {1, 17, 30})
        for number in (2, 16, 29):
            assert index.search(rows[number - 1], 1)[1].tolist() == [number]
        assert 17 not in index.search(rows[16], 30)[1].tolist()

    def test_all_can_be_removed_and_added_anew(self, make_index: MakeIndex) -> None:
        """An emptied index is as good as new."""
        index = self.filled(make_index)
        assert index.remove(index.ids) == 30
        assert len(index) == 0
        assert index.search(directions(1, 16)[0], 3)[1].size == 0
        index.add(np.array([5], np.uint64), directions(1, 16))
        assert index.search(directions(1, 16)[0], 3)[1].tolist() == [5]

    def test_allowed_ids_and_a_mask_filter_before_the_best_are_taken(
        self, make_index: MakeIndex
    ) -> None:
        """Both forms give what a search over only those rows gives."""
        index, query = self.filled(make_index, n=900), directions(1, 16, seed=9)[0]
        mask = index.ids % 7 == 3
        by_mask = index.search(query, 12, allowed=mask)
        by_ids = index.search(query, 12, allowed=index.ids[mask][::-1])
        assert by_mask[1].size == 12
        assert by_mask[1].tolist() == by_ids[1].tolist()
        every = index.search(query, 900)[1]
        assert by_mask[1].tolist() == every[every % 7 == 3][:12].tolist()

    def test_unknown_repeated_and_no_allowed_ids_give_fewer_rows(
        self, make_index: MakeIndex
    ) -> None:
        """Never an exception."""
        index, query = self.filled(make_index), directions(1, 16)[0]
        some = np.array([7, 7, 999, 3, 2**63], np.uint64)
        assert sorted(index.search(query, 10, allowed=some)[1].tolist()) == [3, 7]
        for none in (np.empty(0, np.uint64), np.zeros(30, np.bool_), some[2:3]):
            assert index.search(query, 10, allowed=none)[1].size == 0

    @pytest.mark.parametrize("row", BAD_ROWS.values(), ids=BAD_ROWS.keys())
    def test_a_bad_vector_is_refused_and_nothing_is_added(
        self, make_index: MakeIndex, row: list[float]
    ) -> None:
        """As a row and as a query."""
        index = make_index(4)
        with pytest.raises(BadVectorError):
            index.add(np.array([1, 2], np.uint64), np.array([[1, 0, 0, 0], row]))
        assert len(index) == 0
        with pytest.raises(BadVectorError):
            index.search(np.array(row, np.float32), 3)

    def test_another_dimension_is_refused(self, make_index: MakeIndex) -> None:
        """As a row and as a query."""
        index = make_index(4)
        with pytest.raises(BadVectorError):
            index.add(np.array([1], np.uint64), np.ones((1, 5), np.float32))
        with pytest.raises(BadVectorError):
            index.search(np.ones(5, np.float32), 3)
        assert len(index) == 0

    def test_the_caller_keeps_its_arrays(self, make_index: MakeIndex) -> None:
        """What was added does not change when the caller reuses its buffers."""
        index, rows = make_index(16), directions(5, 16)
        ids, buffer = np.arange(1, 6, dtype=np.uint64), rows.copy()
        index.add(ids, buffer)
        index.ids[:] = 9
        ids[:], buffer[:] = 7, 1.0
        assert index.search(rows[2], 1)[1].tolist() == [3]

    def test_bytes_follow_what_is_held(self, make_index: MakeIndex) -> None:
        """Growing is not paid for twice over, and removing gives memory back."""
        index = self.filled(make_index, n=2000)
        full = index.nbytes
        assert full > 0
        index.remove(np.arange(101, 2001, dtype=np.uint64))
        assert index.nbytes < full / 2

    def test_one_by_one_gives_what_one_batch_gives(self, make_index: MakeIndex) -> None:
        """The same ids; scores within rounding."""
        rows, query = directions(130, 16), directions(1, 16, seed=2)[0]
        index = make_index(16)
        for i, row in enumerate(rows):
            index.add(np.array([i + 1], np.uint64), row[None])
        scores, ids = index.search(query, 10)
        batch = self.filled(make_index, n=130).search(query, 10)
        assert ids.tolist() == batch[1].tolist()
        assert np.abs(scores - batch[0]).max() < 1e-6

    def test_all_scores_come_in_the_order_of_ids(self, make_index: MakeIndex) -> None:
        """Where the index can score everything at all."""
        index, rows = self.filled(make_index), directions(30, 16)
        index.remove(np.array([2, 11], np.uint64))
        if isinstance(index, ScoresAll):
            true = rows[index.ids - 1] @ rows[0]
            assert np.abs(index.scores(rows[0]) - true).max() <= self.tolerance(index)

    def test_vectors_are_handed_out_as_held(self, make_index: MakeIndex) -> None:
        """In the order asked; zeros for an unknown id. Few and many ids."""
        index, rows = self.filled(make_index, n=90), directions(90, 16)
        if isinstance(index, ScoresAll):
            index.remove(np.array([2], np.uint64))
            for wanted in ([90, 2, 5, 5, 999], list(range(90, 0, -1))):
                true = np.array(
                    [rows[w - 1] if w <= 90 else 0 * rows[0] for w in wanted]
                )
                true[wanted.index(2)] = 0.0
                held = index.vectors(np.array(wanted, np.uint64))
                assert held.dtype == np.float32
                assert np.abs(held - true).max() <= self.tolerance(index)

    def test_recall_is_at_least_what_is_declared(self, make_index: MakeIndex) -> None:
        """Recall@10, d=384, over and under the sizes at which methods change."""
        for n in (200, 1500):
            index = self.filled(make_index, n=n, dim=384)
            queries = directions(100, 384, seed=1)
            found = [set((index.search(q, 10)[1] - 1).tolist()) for q in queries]
            recall = recall_at_10(found, directions(n, 384), queries)
            assert recall >= self.floor(index)

    def test_readers_never_see_half_an_edit(self, make_index: MakeIndex) -> None:
        """One writer replaces, adds and removes; readers always find what stays."""
        index, rows = make_index(16), directions(400, 16)
        index.add(np.arange(100, dtype=np.uint64), rows[:100])
        flags = {"stop": False}
        wrong: list[Any] = []

        def read() -> None:
            while not flags["stop"]:
                scores, ids = index.search(rows[50], 200)
                held = dict(zip(ids.tolist(), scores.tolist(), strict=True))
                changing = {round(float(rows[50] @ v), 2) for v in (rows[3], rows[203])}
                if len(held) != ids.size or abs(held[50] - 1.0) > 0.02:
                    wrong.append(held)
                if min(abs(held[3] - c) for c in changing) > 0.03:
                    wrong.append(held[3])

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for step in range(self.edits):
            more = np.arange(100 + step % 200, 300, dtype=np.uint64)
            index.add(more, rows[more])
            index.add(np.array([3], np.uint64), rows[[203 if step % 2 else 3]])
            index.remove(np.concatenate([np.array([7], np.uint64), more]))
            index.add(np.array([7], np.uint64), rows[[7]])
        flags["stop"] = True
        for reader in readers:
            reader.join()
        assert wrong == []

    def test_any_history_gives_what_brute_force_gives(
        self, make_index: MakeIndex
    ) -> None:
        """A Hypothesis machine of adds, replacements, removals and filtered searches."""
        tolerance = self.tolerance(make_index(1))
        check_against_brute_force(make_index, tolerance, histories=self.histories)
