"""Recall, bytes and time of every way to store and search vectors.

python -m benchmarks_perf.vectors [--n 200 2000 20000 100000] [--dim 384 768 1536]
    [--data FILE] [--backends NAME ...] [--json] [--plot DIR] [--quick] [--users 10000]

One row is one configuration: a stored codec and the index built from it; bytes include the
copy that a re-score needs. All configurations of a size are built first, then searched in
turn, five questions each, so that what else the machine does falls on all alike. The floor
of a row is the time to read the bytes that a scan must read, from memory that was read in
the same turn (OpenBLAS' dot of that many bytes with themselves): a graph reads fewer.

FILE is what `benchmarks_perf.vector_data` describes. Without `--n` its groups are the
indexes; with `--n` its rows are mixed to crowds of that size. One thread throughout.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # before numpy is imported
    for _library in ("OPENBLAS", "OMP", "RAYON"):
        os.environ[f"{_library}_NUM_THREADS"] = "1"

import numpy as np

from benchmarks_perf.floors import Json, Lists, machine, percentile, quiet_gc
from benchmarks_perf.vector_configs import Configuration, configurations
from benchmarks_perf.vector_data import Group, crowd, from_file, made_up
from benchmarks_perf.vector_users import cached_users, fleet
from hmem.testing.vector_machine import recall_of
from hmem.vectors import codec

K = 10
_IN_A_ROW = 5
_BATCH = 16_384  # rows encoded at a time: a million at once would take many gigabytes


class Built:
    """A configuration over one group, and what building it took."""

    def __init__(self, one: Configuration, group: Group) -> None:
        self.configuration = one
        self.dim = group.rows.shape[1]
        self.ids = np.arange(len(group.rows), dtype=np.uint64)
        began = time.perf_counter()
        encode, blocks = codec(one.codec).encode, range(0, len(group.rows), _BATCH)
        self.codes = np.concatenate(
            [encode(group.rows[i : i + _BATCH]) for i in blocks]
        )
        self.encode_s = time.perf_counter() - began
        began = time.perf_counter()
        self.index = self.load()
        self.load_s = time.perf_counter() - began
        self.nbytes = int(self.index.nbytes)  # before single rows make room for more

    def load(self) -> Any:
        """A new index from the stored codes."""
        index: Any = self.configuration.make(self.dim)
        index.add_codes(self.ids, self.codes, self.configuration.codec)
        return index

    def first(self, query: np.ndarray[Any, Any]) -> None:
        """From the stored codes to the first answer."""
        self.load().search(query, K)

    def found(self, queries: np.ndarray[Any, Any]) -> list[set[int]]:
        """The ten best of each query."""
        return [set(self.index.search(q, K)[1].tolist()) for q in queries]

    @property
    def floor_bytes(self) -> int:
        """What one scan reads."""
        numbers: int = self.ids.size * self.dim
        return numbers * self.configuration.bits // 8


def measure(group: Group, chosen: list[Configuration], rounds: int) -> Iterator[Json]:
    """A row for each configuration."""
    n, dim = group.rows.shape
    built = [Built(one, group) for one in chosen if n <= one.largest]
    exact, times = group.exact(K), Lists()
    sizes = {b.floor_bytes: -(-b.floor_bytes // 4) for b in built}
    ones = np.ones(max(sizes.values()), np.float32)
    with quiet_gc():
        for turn in range(-1, rounds):
            if turn == 0:
                times.clear()
            for i, one in enumerate(built):
                _turn(times, f"search {i}", one.index.search, group, turn)
            for size, numbers in sizes.items():
                for _ in range(_IN_A_ROW):
                    _timed(
                        times,
                        f"floor {size}",
                        partial(np.dot, ones[:numbers], ones[:numbers]),
                    )
        for i, one in enumerate(built):
            _cold(times, f"cold {i}", one, group, max(2, min(rounds, 100_000 // n)))
            _adds(times, f"add {i}", one, group, min(rounds, 20))
    baseline = percentile(times["search 0"], 50)
    for i, one in enumerate(built):
        search = percentile(times[f"search {i}"], 50)
        cold = percentile(times[f"cold {i}"], 50)
        yield {
            "backend": one.configuration.backend,
            "codec": one.configuration.codec,
            "n": n,
            "dim": dim,
            "recall_at_10": round(recall_of(one.found(group.queries), exact), 4),
            "stored_bytes_per_vector": round(one.codes.nbytes / n, 1),
            "memory_bytes_per_vector": round(one.nbytes / n, 1),
            "search_us_p50": round(1e6 * search, 1),
            "search_us_min": round(1e6 * min(times[f"search {i}"]), 1),
            "ratio_to_float32": round(search / baseline, 2),
            "ratio_of_minima": round(
                min(times[f"search {i}"]) / min(times["search 0"]), 2
            ),
            "ratio_to_floor": round(
                search / percentile(times[f"floor {one.floor_bytes}"], 50), 2
            ),
            "cold_us": round(1e6 * cold, 1),
            "cold_over_warm_us": round(1e6 * (cold - search), 1),
            "add_us": round(1e6 * percentile(times[f"add {i}"], 50), 1),
            "load_us_per_vector": round(1e6 * one.load_s / n, 2),
            "encode_us_per_vector": round(1e6 * one.encode_s / n, 2),
        }


def _turn(
    times: Lists, name: str, search: Callable[..., Any], group: Group, turn: int
) -> None:
    for i in range(_IN_A_ROW):
        query = group.queries[(turn * _IN_A_ROW + i) % len(group.queries)]
        _timed(times, name, partial(search, query, K))


def _cold(times: Lists, name: str, one: Built, group: Group, rounds: int) -> None:
    """From stored codes to the first answer."""
    for i in range(rounds):
        query = group.queries[i % len(group.queries)]
        _timed(times, name, partial(one.first, query))


def _adds(times: Lists, name: str, one: Built, group: Group, rounds: int) -> None:
    """One new vector to the index, as it comes from the embedder; taken out again."""
    new = np.array([len(group.rows)], np.uint64)
    for i in range(rounds):
        row = group.queries[[i % len(group.queries)]]
        _timed(times, name, partial(one.index.add, new, row))
        one.index.remove(new)


def _timed(times: Lists, name: str, call: Callable[[], Any]) -> None:
    began = time.perf_counter()
    call()
    times[name].append(time.perf_counter() - began)


def groups_of(options: argparse.Namespace) -> Iterator[list[Group]]:
    """What to measure: each list is one row of groups, averaged."""
    if options.data is None:
        sizes = (200, 2_000) if options.quick else (200, 2_000, 20_000, 100_000)
        for dim in options.dim or (384, 768, 1536):
            for n in options.n or sizes:
                yield [made_up(n, dim)]
        return
    groups = from_file(options.data)
    if not options.n:
        yield groups
    for n in options.n or ():
        yield [crowd(groups, n)]


def averaged(tables: list[list[Json]], weights: list[int]) -> list[Json]:
    """One table of several users': the mean, by their number of queries."""
    if len(tables) == 1:
        return tables[0]
    rows = []
    for same in zip(*tables, strict=True):
        mean = {
            name: round(float(np.average([r[name] for r in same], weights=weights)), 4)
            for name, value in same[0].items()
            if not isinstance(value, str)
        }
        whole = {name: round(mean[name]) for name in ("n", "dim")}
        rows.append(same[0] | mean | whole)
    return rows


def run(options: argparse.Namespace) -> Json:
    """Everything asked for."""
    chosen = configurations()
    if options.backends:
        wanted = set(options.backends)
        chosen = [c for c in chosen if c.named(wanted) or c is chosen[0]]
    rows: list[Json] = []
    for groups in groups_of(options):
        n = max(len(g.rows) for g in groups)
        rounds = 4 if options.quick else max(8, min(200, 2_000_000 // n))
        tables = [list(measure(g, chosen, rounds)) for g in groups]
        rows += averaged(tables, [len(g.queries) for g in groups])
        print(_line(rows[-1]), file=sys.stderr)
    result: Json = {"machine": machine(), "rows": rows}
    if options.users:
        result["fleet"] = fleet(rows)
        result["cached_users"] = cached_users(options.users)
    return result


def _line(row: Json) -> str:
    return f"{row['n']} x {row['dim']} done"


_COLUMNS = {
    "backend": "backend",
    "codec": "codec",
    "n": "n",
    "dim": "d",
    "recall_at_10": "R@10",
    "stored_bytes_per_vector": "stored",
    "memory_bytes_per_vector": "memory",
    "search_us_p50": "us",
    "ratio_to_float32": "/f32",
    "ratio_to_floor": "/floor",
    "cold_over_warm_us": "cold +us",
    "add_us": "add us",
}


def _table(rows: list[Json]) -> str:
    lines = [list(_COLUMNS.values()), *([str(r[x]) for x in _COLUMNS] for r in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+")
    parser.add_argument("--dim", type=int, nargs="+")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--backends", nargs="+")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--users", type=int, default=0, help="cached users, and the fleet"
    )
    options = parser.parse_args()
    result = run(options)
    if options.plot:
        from benchmarks_perf.vector_plots import draw  # noqa: PLC0415  an extra

        draw(result["rows"], options.plot)
    if options.json:
        print(json.dumps(result))
        return
    print(_table(result.pop("rows")))
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
