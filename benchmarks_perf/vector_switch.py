"""Where `auto` should switch: all scores by float32, int8 with SIMD, int8 by numpy.

python -m benchmarks_perf.vector_switch [--dim 384 768 1536] [--json]

Medians of `scores()`, what a view asks for, in turn; ratios to float32.
"""

import argparse
import json
import os
from collections.abc import Iterator
from typing import Any

if __name__ == "__main__":  # before numpy is imported
    os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from benchmarks_perf.floors import Json, Lists, percentile, timed
from benchmarks_perf.vector_configs import by_numpy
from benchmarks_perf.vector_data import made_up
from hmem.vectors import INDEXES

SIZES = (200, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000)
KINDS = {
    "float32": INDEXES["float32"].load(),
    "int8": INDEXES["int8"].load(),
    "int8 by numpy": by_numpy,
}


def rows(dim: int) -> Iterator[Json]:
    """One row per size."""
    for n in SIZES:
        data, times = made_up(n, dim, queries=3), Lists()
        built: dict[str, Any] = {name: make(dim) for name, make in KINDS.items()}
        for one in built.values():
            one.add(np.arange(n, dtype=np.uint64), data.rows)
        for _ in range(max(6, min(60, 200_000 // n))):
            for name, one in built.items():
                for query in data.queries:
                    with timed(times[name]):
                        one.scores(query)
        p50 = {name: percentile(times[name], 50) for name in KINDS}
        yield {
            "dim": dim,
            "n": n,
            "numbers": n * dim,
            "float32_us": round(1e6 * p50["float32"], 1),
            "int8": round(p50["int8"] / p50["float32"], 2),
            "int8_by_numpy": round(p50["int8 by numpy"] / p50["float32"], 2),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dim", type=int, nargs="+", default=[384, 768, 1536])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [row for dim in options.dim for row in rows(dim)]
    if options.json:
        print(json.dumps({"rows": found}))
        return
    for row in found:
        print(*(f"{name}={value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
