"""What is peculiar to the indexes with an extra: engines, kernels, lazy loading, `auto`."""

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hmem.errors import DamagedStoreError, InputError, MissingExtraError
from hmem.protocols import TakesCodes
from hmem.testing.extras import or_skip
from hmem.testing.vector_suites import (
    MakeIndex,
    VectorIndexSuite,
    directions,
    recall_at_10,
)
from hmem.vectors import CODECS, INDEXES, auto, codec, index, registry, unit
from hmem.vectors.coarse import CoarseIndex
from hmem.vectors.flat_faiss import FaissInt8Index
from hmem.vectors.graph_faiss import HnswEngine, HnswIndex
from hmem.vectors.indexes import Float32Index, Int8Index
from hmem.vectors.registry import AutoIndex
from hmem.vectors.simd import Dots, asked, best_dots, check, needs, numkong_dots, plain
from hmem.vectors.turbo import Turbo2Index, Turbo4Index

COARSE = {"turbovec:4": Turbo4Index, "turbovec:2": Turbo2Index, "faiss:HNSW": HnswIndex}


def early(name: str) -> type[CoarseIndex]:
    """The index with its engine from the first row on."""
    made = type("Early", (COARSE[name],), {"engine_from": 1})
    or_skip(lambda: made(1))
    return made


def filled(make: Callable[[int], Any], n: int, dim: int, **seed: int) -> Any:
    made = make(dim)
    made.add(np.arange(n, dtype=np.uint64), directions(n, dim, **seed))
    return made


class TestEveryEngineFromTheFirstRow(VectorIndexSuite):
    edits, histories = 60, 10  # engines are slow to build

    @pytest.fixture(params=sorted(COARSE))
    def make_index(self, request: pytest.FixtureRequest) -> MakeIndex:
        return early(request.param)


@pytest.mark.parametrize("name", sorted(COARSE))
@pytest.mark.parametrize("dim", [13, 384])
def test_an_engine_s_slots_stay_those_of_the_codes(name: str, dim: int) -> None:
    """After any history an engine names a row's own slot for that row."""
    rng, rows = np.random.default_rng(5), directions(900, dim)
    made, held = early(name)(dim), {}
    for step in range(40):
        ids = rng.integers(0, 300, rng.integers(1, 60)).astype(np.uint64)
        if step % 3 == 2:
            assert made.remove(ids) == sum(
                held.pop(i, None) is not None for i in set(ids.tolist())
            )
            continue
        which = rng.integers(0, 900, ids.size)
        made.add(ids, rows[which])
        held.update(zip(ids.tolist(), which.tolist(), strict=True))
    slots, engine = made.ids.tolist(), made._engine
    assert sorted(slots) == sorted(held)
    assert engine is not None
    for number, row in held.items():
        _, named = engine.search(rows[row], 3, None)
        assert any(held[slots[slot]] == row for slot in named.tolist()), number


@pytest.mark.parametrize("name", sorted(COARSE))
def test_an_engine_changes_no_score_and_hardly_a_rank(name: str) -> None:
    made, exact = filled(early(name), 3000, 64), filled(Int8Index, 3000, 64)
    same = 0
    for query in directions(40, 64, seed=3):
        true = dict(zip(*map(list, exact.search(query, 100)[::-1]), strict=True))
        scores, ids = made.search(query, 10)
        same += sum(i in list(true)[:10] for i in ids)
        assert all(true.get(i, s) == s for i, s in zip(ids, scores, strict=True))
    # 2 bits are for many dimensions; these are few.
    assert same >= (0.9 if name == "turbovec:2" else 0.97) * 400


@pytest.mark.parametrize("name", sorted(COARSE))
def test_the_engine_comes_with_size_and_goes_with_it(name: str) -> None:
    made = type("Small", (COARSE[name],), {"engine_from": 100})
    grows = or_skip(lambda: made(24))
    rows = directions(200, 24)
    for i in range(200):
        grows.add(np.array([i], np.uint64), rows[[i]])
        assert (grows._engine is not None) == (i >= 99)
        assert grows.search(rows[i], 1)[1].tolist() == [i]
    small = len(filled(made, 99, 24).ids)
    bytes_with = grows.nbytes
    grows.remove(np.arange(10, 170, dtype=np.uint64))
    assert grows._engine is None
    assert grows.nbytes < bytes_with
    assert small == 99
    assert grows.search(rows[190], 1)[1].tolist() == [190]


@pytest.mark.parametrize("name", sorted(COARSE))
def test_ties_beyond_the_candidates_are_ordered_by_id(name: str) -> None:
    rows = directions(4000, 32)
    rows[rng_ids(4000, 900)] = rows[0]
    made = early(name)(32)
    made.add(np.arange(4000, 0, -1).astype(np.uint64), rows)
    scores, ids = made.search(rows[0], 6)
    twins = np.flatnonzero((rows == rows[0]).all(axis=1))
    assert ids.tolist() == sorted((4000 - twins).tolist())[:6]
    assert len(set(scores.tolist())) == 1


def rng_ids(n: int, k: int) -> Any:
    return np.random.default_rng(2).choice(n, k, replace=False)


@pytest.mark.parametrize("name", sorted(COARSE))
@pytest.mark.parametrize("share", [0.002, 0.05, 0.4, 0.95])
def test_a_filter_of_any_width_finds_what_the_plain_scan_finds(
    name: str, share: float
) -> None:
    made, exact = filled(early(name), 3000, 48), filled(Int8Index, 3000, 48)
    mask = np.random.default_rng(1).random(3000) < share
    wanted = np.arange(3000)[mask].astype(np.uint64)
    for query in directions(10, 48, seed=8):
        true = exact.search(query, 8, allowed=wanted)
        for allowed in (np.isin(made.ids, wanted), wanted):
            scores, ids = made.search(query, 8, allowed=allowed)
            assert set(ids.tolist()) <= set(wanted.tolist())
            assert ids.size == min(8, wanted.size)
            assert len(set(ids.tolist()) & set(true[1].tolist())) >= ids.size - 1
            assert scores[0] == true[0][0]


def test_the_graph_is_built_anew_when_half_its_nodes_are_dead() -> None:
    made = filled(early("faiss:HNSW"), 300, 16)
    first = made._engine
    assert isinstance(first, HnswEngine)
    rows = directions(400, 16, seed=2)
    for i in range(400):  # a replaced row leaves a dead node
        made.add(np.array([i % 300], np.uint64), rows[[i]])
    assert made._engine is not first
    assert len(made._engine._slot) < 2 * 300 + 65
    assert len(made) == 300


def test_two_graphs_of_one_history_are_the_same() -> None:
    rows = directions(1500, 24)
    faiss, found = or_skip(lambda: needs("faiss", "faiss:HNSW", "faiss")), []
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(4)
    for _ in range(2):
        made = early("faiss:HNSW")(24)
        made.add(np.arange(1500, dtype=np.uint64), rows)
        found.append(faiss.vector_to_array(made._engine._graph.hnsw.neighbors))
    assert faiss.omp_get_max_threads() == 4  # left as it was found
    faiss.omp_set_num_threads(before)
    assert np.array_equal(*found)


def test_faiss_alone_with_a_plain_unit_query_is_the_trap_that_is_hidden() -> None:
    rows, queries = directions(1000, 384), directions(50, 384, seed=1)
    made = or_skip(lambda: filled(FaissInt8Index, 1000, 384))
    flat: Any = made._slots.read(lambda now: now.columns[0]).faiss
    flat.ntotal = 1000
    bare = [set(flat.search(q[None], 10)[1][0].tolist()) for q in queries]
    ours = [set(made.search(q, 10)[1].tolist()) for q in queries]
    assert recall_at_10(bare, rows, queries) < 0.5
    assert recall_at_10(ours, rows, queries) >= made.recall_floor


def test_a_row_that_the_common_scale_cannot_hold_is_found_all_the_same() -> None:
    rows = directions(2000, 384)
    rows[:40] = 0.0
    rows[np.arange(40), np.arange(40)] = 1.0  # one large component
    rows[:40, 100] = 0.3
    made = or_skip(lambda: FaissInt8Index(384))
    made.add(np.arange(2000, dtype=np.uint64), rows)
    for i in range(0, 40, 7):
        scores, ids = made.search(rows[i], 3, allowed=made.ids != 5)
        assert ids[0] == i
        assert abs(float(scores[0]) - 1.0) < 0.01
    true = unit(rows)[made.ids] @ unit(rows)[3]
    assert np.abs(made.scores(rows[3]) - true).max() < 0.01


def test_a_row_of_its_own_scale_is_found_above_many_that_faiss_prefers() -> None:
    common = directions(1, 384, seed=9)[0]
    rows = unit(directions(900, 384) + 2 * common)
    large = common.copy()
    large[7] += 1.0
    rows = np.concatenate([rows, unit(large[None])])
    made = or_skip(lambda: FaissInt8Index(384))
    made.add(np.arange(901, dtype=np.uint64), rows)
    now = made._slots.read(lambda now: now)
    whole = asked(unit(large[None])[0])
    assert 900 not in made._ask(now, whole, 40, None)[1]
    scores, ids = made.search(large, 2)
    assert ids[0] == 900
    assert abs(float(scores[0]) - 1.0) < 0.01
    assert 900 not in made.search(large, 5, allowed=made.ids != 900)[1]


def test_what_faiss_reads_follows_growth_removal_and_replacement() -> None:
    made, rows = or_skip(lambda: FaissInt8Index(20)), directions(700, 20)
    for start in range(0, 700, 37):
        some = np.arange(start, min(start + 37, 700), dtype=np.uint64)
        made.add(some, rows[some])
    made.remove(np.arange(50, 650, dtype=np.uint64))
    made.add(np.array([3], np.uint64), rows[[77]])
    assert made.search(rows[77], 1)[1].tolist() == [3]
    for i in (0, 49, 650, 699):
        assert made.search(rows[i], 1)[1].tolist() == [i]


def test_searches_of_one_faiss_index_beside_appends_see_whole_rows() -> None:
    made, rows = or_skip(lambda: FaissInt8Index(16)), directions(4000, 16)
    made.add(np.arange(100, dtype=np.uint64), rows[:100])
    wrong: list[Any] = []

    def search() -> None:
        for _ in range(300):
            scores, ids = made.search(rows[7], 5)
            if ids[0] != 7 or not (np.abs(scores - rows[ids] @ rows[7]) < 0.02).all():
                wrong.append((scores, ids))

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(100, 4000, 13):
        some = np.arange(i, min(i + 13, 4000), dtype=np.uint64)
        made.add(some, rows[some])
    for thread in threads:
        thread.join()
    assert wrong == []


# ------------------------------------------------------------------ kernels


@pytest.mark.parametrize("dim", [1, 2, 5, 63, 64, 65, 384, 1041, 3072])
def test_the_simd_kernel_and_plain_numpy_give_the_same_bits(dim: int) -> None:
    dots, rng = or_skip(numkong_dots), np.random.default_rng(dim)
    rows = rng.integers(-127, 128, (600, dim)).astype(np.int8)
    rows[:3] = [[127], [-127], [0]]
    for queries in (rows[:1], rows[1:3], rows[5:6]):
        assert np.array_equal(dots(rows, queries), plain(rows, queries))
    assert dots(rows[:0], rows[:2]).shape == plain(rows[:0], rows[:2]).shape == (2, 0)


def test_plain_products_are_exact_where_floats_are_not() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(90, 128, (300, 20_001)).astype(np.int8)
    exact = rows[:1].astype(np.int64) @ rows.T.astype(np.int64)
    assert exact.max() > 2**24
    assert np.array_equal(plain(rows, rows[:1]), exact.astype(np.float32))


def test_an_int8_index_finds_the_same_by_either_kernel() -> None:
    dots = or_skip(numkong_dots)
    one, other = filled(Int8Index, 1200, 96), filled(Int8Index, 1200, 96)
    one._dots, other._dots = dots, plain
    for query in directions(30, 96, seed=6):
        assert (one.scores(query) == other.scores(query)).all()
        for a, b in zip(one.search(query, 9), other.search(query, 9), strict=True):
            assert a.tolist() == b.tolist()


def test_a_kernel_that_is_wrong_is_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    numkong = or_skip(lambda: numkong_dots() and __import__("numkong"))
    right: Any = numkong.cdist

    def saturating(*args: Any, **options: Any) -> Any:
        return np.minimum(np.asarray(right(*args, **options)), 30_000)

    monkeypatch.setattr(numkong, "cdist", saturating)
    with pytest.raises(ArithmeticError):
        numkong_dots()
    best_dots.cache_clear()
    try:
        assert best_dots() is plain
    finally:
        monkeypatch.undo()
        best_dots.cache_clear()
    assert "scanned by numpy" in caplog.text


def test_the_check_of_a_kernel_passes_plain_numpy() -> None:
    check(plain)


@pytest.mark.parametrize("kernel", ["plain", "simd"])
def test_the_length_of_a_batch_does_not_change_a_product(kernel: str) -> None:
    dots: Dots = plain if kernel == "plain" else or_skip(numkong_dots)
    rows = np.random.default_rng(0).integers(-127, 128, (515, 130)).astype(np.int8)
    whole = dots(rows, rows[:2])
    for start in (0, 1, 255, 256, 514):
        assert np.array_equal(dots(rows[start:], rows[:2]), whole[:, start:])


# ------------------------------------------------------------ names and loading


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("turbovec:4", "turbovec", "turbovec"),
        ("turbovec:2", "turbovec", "turbovec"),
        ("faiss:int8", "faiss", "faiss"),
        ("faiss:HNSW", "faiss", "faiss"),
    ],
)
def test_without_its_extra_an_index_names_the_pip_line(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{name}.*pip install .*\[{extra}\]"):
        index(name, 8)


def test_a_missing_extra_is_a_skip_on_a_laptop_and_a_failure_in_ci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "turbovec", None)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception):
        or_skip(lambda: index("turbovec:4", 8))
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="CI needs"):
        or_skip(lambda: index("turbovec:4", 8))


def test_without_the_simd_extra_int8_is_scanned_by_numpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numkong", None)
    best_dots.cache_clear()
    try:
        assert best_dots() is plain
        assert index("int8", 4).search(np.ones(4, np.float32), 1)[1].size == 0
    finally:
        best_dots.cache_clear()


def test_a_bug_in_an_extra_is_not_called_a_missing_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "turbovec.py").write_text("import something_it_forgot\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "turbovec", raising=False)
    with pytest.raises(ModuleNotFoundError, match="something_it_forgot") as caught:
        index("turbovec:4", 8)
    assert not isinstance(caught.value, MissingExtraError)


def test_the_vector_room_loads_no_extra_until_one_is_asked_for() -> None:
    code = (
        "import sys, hmem.vectors as v; v.index('float32', 4);"
        "print(sorted({'faiss', 'turbovec', 'numkong', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", sorted(INDEXES))
def test_an_index_declares_its_name_and_its_floor(name: str) -> None:
    made: Any = or_skip(lambda: index(name, 8))
    assert made.name == name
    assert 0.9 <= made.recall_floor <= 1.0
    assert made.score_tolerance <= 0.01


# ----------------------------------------------------------------- stored codes


@pytest.mark.parametrize("name", sorted(INDEXES))
@pytest.mark.parametrize("stored", sorted(CODECS))
def test_stored_codes_give_what_their_decoded_rows_give(name: str, stored: str) -> None:
    codes, ids = codec(stored).encode(directions(120, 40)), np.arange(120) * 3
    quick, slow = (or_skip(lambda: index(name, 40)) for _ in range(2))
    assert isinstance(quick, TakesCodes)
    quick.add_codes(ids.astype(np.uint64), codes, stored)
    slow.add(ids.astype(np.uint64), codec(stored).decode(codes, 40))
    for query in directions(8, 40, seed=4):
        (scores, found), (true, expected) = (
            quick.search(query, 9),
            slow.search(query, 9),
        )
        assert np.abs(scores - true).max() < 1e-5
        assert found.tolist() == expected.tolist()


def test_an_int8_index_keeps_stored_codes_and_not_the_caller_s_memory() -> None:
    codes = codec("int8").encode(directions(50, 24))
    kept, made = codes.copy(), Int8Index(24)
    made.add_codes(np.arange(50, dtype=np.uint64), codes, "int8")
    codes[:] = 0
    again = made.vectors(made.ids)
    assert (codec("int8").encode(again) == kept).all()


@pytest.mark.parametrize("name", sorted(INDEXES))
def test_damaged_codes_are_refused_and_nothing_is_added(name: str) -> None:
    made: Any = or_skip(lambda: index(name, 8))
    codes = codec("int8").encode(directions(3, 8))
    with pytest.raises(InputError, match="2 ids for 3"):
        made.add_codes(np.arange(2, dtype=np.uint64), codes, "int8")
    codes[1] = 0xFF
    with pytest.raises(DamagedStoreError):
        made.add_codes(np.arange(3, dtype=np.uint64), codes, "int8")
    assert len(made) == 0


# ------------------------------------------------------------------------- auto


@pytest.fixture
def switch_at_20(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        registry, "auto", lambda dim, *, expect: "int8" if expect > 20 else "float32"
    )


@pytest.mark.usefixtures("switch_at_20")
class TestAutoAcrossItsSwitch(VectorIndexSuite):
    @pytest.fixture
    def make_index(self) -> MakeIndex:
        return lambda dim: index("auto", dim)


@pytest.mark.usefixtures("switch_at_20")
def test_an_index_that_grows_becomes_the_one_that_auto_means() -> None:
    codes = codec("int8").encode(directions(60, 12))
    made = AutoIndex(12)
    for i in range(60):
        made.add_codes(np.array([99 - i], np.uint64), codes[[i]], "int8")
        assert made.held.name == ("float32" if i < 20 else "int8")
    assert made.ids.tolist() == list(range(99, 39, -1))
    assert (codec("int8").encode(made.vectors(made.ids)) == codes).all()
    for left in range(59, -1, -1):
        made.remove(made.ids[-1:])
        # Not back at once: only where twice the size would not be int8 either.
        assert made.held.name == ("int8" if left > 10 else "float32")
    assert AutoIndex(12, expect=21).held.name == "int8"


@pytest.mark.usefixtures("switch_at_20")
def test_a_size_around_the_switch_does_not_go_to_and_fro() -> None:
    made, rows, seen = AutoIndex(8), directions(40, 8), []
    for i in range(40):
        made.add(np.array([i], np.uint64), rows[[i]])
        made.remove(
            np.array([i - 20], np.int64) if i >= 20 else rows[:0, 0].astype(int)
        )
        seen.append(id(made.held))
    assert len(set(seen)) == 2


def test_an_index_that_was_asked_for_by_name_stays_what_it_is() -> None:
    assert [type(index(n, 8)) for n in ("int8", "float32")] == [Int8Index, Float32Index]


@pytest.mark.parametrize("dim", [1, 384, 768, 1536, 4096])
@pytest.mark.parametrize("kernel", ["plain", "another"])
def test_auto_names_what_needs_no_extra_and_switches_once(
    dim: int, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dots = plain if kernel == "plain" else lambda *_: plain(*_)
    monkeypatch.setattr(registry, "best_dots", lambda: dots)
    sizes = [0, 1, 10, 200, 1000, 2000, 5000, 20_000, 100_000, 10**6, 10**12]
    names = [auto(dim, expect=n) for n in sizes]
    assert all(INDEXES[name].extra is None for name in names)
    assert names == sorted(names, key=["float32", "int8"].index)
    assert names[-1] == "int8"
    assert names[0] == "float32"
