"""The measuring of vectors: its arithmetic, its keys and its pictures, on tiny data."""

from pathlib import Path

import numpy as np
import pytest

from hmem.testing.extras import or_skip
from hmem.vectors import INDEXES, index

KEYS = {
    *("backend", "codec", "n", "dim", "recall_at_10", "stored_bytes_per_vector"),
    *("memory_bytes_per_vector", "search_us_p50", "ratio_to_float32"),
    *("ratio_to_floor", "cold_us", "add_us"),
}


@pytest.fixture(autouse=True)
def everything_installed() -> None:
    for name in INDEXES:
        or_skip(lambda n=name: index(n, 8))


def test_every_configuration_gives_a_row_with_the_agreed_keys() -> None:
    from benchmarks_perf.vector_configs import configurations
    from benchmarks_perf.vector_data import made_up
    from benchmarks_perf.vectors import measure

    rows = list(measure(made_up(120, 16, queries=12), configurations(), 2))
    assert [r["backend"] for r in rows] == [c.backend for c in configurations()]
    assert all(set(r) >= KEYS for r in rows)
    assert {(r["n"], r["dim"]) for r in rows} == {(120, 16)}
    by = {(r["backend"], r["codec"]): r for r in rows}
    assert by["float32", "float32"]["recall_at_10"] == 1.0
    assert by["float32", "float32"]["ratio_to_float32"] == 1.0
    assert by["float32", "int8"]["stored_bytes_per_vector"] == 20
    assert by["int8", "int8"]["memory_bytes_per_vector"] == 16 + 4 + 8
    assert by["turbovec:4 +", "int8"]["memory_bytes_per_vector"] > 16 + 4 + 8 + 8
    both = by["turbovec:2 +", "int8"], by["turbovec:2 alone", "int8"]
    assert both[0]["recall_at_10"] > both[1]["recall_at_10"]


def test_exact_sets_are_those_of_a_full_sort() -> None:
    from benchmarks_perf.vector_data import Group, made_up

    data = made_up(9000, 8, queries=5)
    best = np.argsort(-(data.queries @ data.rows.T), axis=1)[:, :10]
    assert data.exact(10) == [set(b.tolist()) for b in best]
    assert Group(data.rows[:4], data.queries).exact(10) == [{0, 1, 2, 3}] * 5


def test_groups_are_averaged_by_their_questions() -> None:
    from benchmarks_perf.vectors import averaged

    tables = [
        [{"backend": "x", "n": n, "dim": 4, "recall_at_10": recall}]
        for n, recall in ((100, 1.0), (200, 0.5))
    ]
    (row,) = averaged(tables, [3, 1])
    assert row == {"backend": "x", "n": 125, "dim": 4, "recall_at_10": 0.875}


def test_a_file_is_read_in_either_form(tmp_path: Path) -> None:
    from benchmarks_perf.vector_data import crowd, from_file

    rows = np.random.default_rng(0).standard_normal((40, 6))
    np.save(tmp_path / "a.npy", rows)
    (one,) = from_file(tmp_path / "a.npy")
    assert (len(one.rows), len(one.queries)) == (36, 4)
    np.savez(
        tmp_path / "b.npz",
        rows=rows,
        queries=rows[:10],
        row_group=np.arange(40) % 2,
        query_group=np.arange(10) % 2,
    )
    groups = from_file(tmp_path / "b.npz")
    assert [(len(g.rows), len(g.queries)) for g in groups] == [(20, 5), (20, 5)]
    mixed = crowd(groups, 5000)
    assert np.abs(np.linalg.norm(mixed.rows, axis=1) - 1).max() < 1e-5
    assert len(mixed.queries) == 10
    np.save(tmp_path / "c.npy", rows[0])
    with pytest.raises(ValueError, match="rows"):
        from_file(tmp_path / "c.npy")


def test_many_users_cost_what_the_indexes_declare_and_the_bound_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import asyncio

    from benchmarks_perf import vector_users

    monkeypatch.setattr(vector_users, "BOUND", 2_000_000)
    found = asyncio.run(vector_users._bounded(12))
    assert found["most_bytes_declared"] <= 2_000_000
    assert 0 < found["views_held"] < 12
    each = vector_users._indexes("int8", 20)["declared_bytes_each"]
    assert each == 200 * (384 + 4 + 8)


def test_the_fleet_is_reckoned_from_encoded_bytes() -> None:
    from benchmarks_perf.vector_users import fleet

    by = {row["codec"]: row for row in fleet([])}
    assert by["float32"]["gigabytes"] == 614.4
    assert by["int8"]["gigabytes"] == 154.4
    assert by["turboquant:2"]["with_copy_gigabytes"] == 193.6


def test_the_pictures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")  # of the bench extra, not of the test group
    from benchmarks_perf.vector_plots import draw

    rows = [
        {
            "backend": backend,
            "codec": codec,
            "n": n,
            "dim": 8,
            "recall_at_10": 0.9,
            "stored_bytes_per_vector": 12,
            "memory_bytes_per_vector": 20,
            "search_us_p50": n / 10,
        }
        for n in (100, 1000)
        for backend, codec in (("float32", "float32"), ("int8", "int8"))
    ]
    for path in draw(rows, tmp_path / "pictures"):
        assert path.read_bytes().startswith(b"\x89PNG")
