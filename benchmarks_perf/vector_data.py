"""Vectors to measure on: made up, from a file, or a data set's turns and questions.

python -m benchmarks_perf.vector_data LOCOMO.json OUT.npz     (needs the local model)

A file is `.npy`, rows (m, d), of which every tenth is held out as a query; or `.npz` with
`rows`, `queries` and, for several users, `row_group` and `query_group`: each group is then
an index of its own, and recall is the mean over all queries.
"""

import argparse
import asyncio
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.locomo_data import CATEGORIES, load
from hmem.embed.minilm import MiniLM

Floats = NDArray[np.float32]
_BLOCK = 8192
_TOPICS = 16


@dataclass(frozen=True, slots=True)
class Group:
    """One user's rows, and the questions asked of them: unit rows."""

    rows: Floats
    queries: Floats

    def exact(self, k: int) -> list[set[int]]:
        """Each query's k best rows."""
        best: list[list[tuple[float, int]]] = [[] for _ in self.queries]
        for start in range(0, len(self.rows), _BLOCK):
            scores = self.queries @ self.rows[start : start + _BLOCK].T
            for i, row in enumerate(scores):
                top = np.argpartition(-row, min(k, row.size - 1))[:k]
                best[i] += [(float(row[at]), start + int(at)) for at in top]
                best[i] = sorted(best[i], reverse=True)[:k]
        return [{at for _, at in one} for one in best]


def made_up(n: int, dim: int, *, queries: int = 100) -> Group:
    """Directions with sixteen topics and a common part, about as spread as real ones."""
    return Group(_directions(n, dim, seed=0), _directions(queries, dim, seed=1))


def crowd(groups: list[Group], n: int) -> Group:
    """n rows with the mean and covariance of real ones, and the real questions. Each is a
    random mix of four real rows; where there are few to mix, rows lie closer than real."""
    real = np.concatenate([group.rows for group in groups])
    mean, rng = real.mean(axis=0), np.random.default_rng(n)
    real = real - mean
    out = np.empty((n, real.shape[1]), np.float32)
    for start in range(0, n, _BLOCK):
        some = out[start : start + _BLOCK]
        weights = rng.standard_normal((4, len(some), 1), dtype=np.float32)
        weights /= np.sqrt((weights**2).sum(axis=0))
        some[:] = mean
        for weight in weights:
            some += weight * real[rng.integers(0, len(real), len(some))]
        some /= np.linalg.norm(some, axis=1, keepdims=True)
    queries = np.concatenate([group.queries for group in groups])
    return Group(out, queries[rng.permutation(len(queries))[:200]])


def _directions(n: int, dim: int, *, seed: int) -> Floats:
    shape, rng = np.random.default_rng(dim), np.random.default_rng(seed)
    topics = shape.standard_normal((_TOPICS, dim), dtype=np.float32)
    common = shape.standard_normal(dim, dtype=np.float32)
    out = np.empty((n, dim), np.float32)
    for start in range(0, n, _BLOCK):
        some = out[start : start + _BLOCK]
        some[:] = rng.standard_normal(some.shape, dtype=np.float32)
        mix = rng.standard_normal((len(some), _TOPICS), dtype=np.float32)
        some += np.float32(0.3) * mix @ topics + np.float32(0.7) * common
        some /= np.linalg.norm(some, axis=1, keepdims=True)
    return out


def from_file(path: Path) -> list[Group]:
    """The groups of a file. Raises ValueError for one without rows."""
    held = np.load(path)
    if path.suffix == ".npy":
        asked = np.arange(len(held)) % 10 == 9
        return [Group(_unit(held[~asked]), _unit(held[asked]))]
    rows, queries = _unit(held["rows"]), _unit(held["queries"])
    if "row_group" not in held:
        return [Group(rows, queries)]
    numbers = np.unique(held["row_group"])
    return [
        Group(rows[held["row_group"] == g], queries[held["query_group"] == g])
        for g in numbers
    ]


def _unit(rows: NDArray[np.floating]) -> Floats:
    if rows.ndim != 2 or not len(rows):
        raise ValueError("a file of vectors must hold rows (m, d)")
    wide = rows.astype(np.float32)
    unit: Floats = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    return unit


async def embed_locomo(source: Path, target: Path, *, threads: int) -> str:
    """Embed turns and questions, one group per conversation."""
    embedder = MiniLM.load(threads=threads)
    rows, queries, row_group, query_group = [], [], [], []
    for number, talk in enumerate(load(source)):
        said = [f"{turn.speaker}: {turn.text}" for turn in talk.turns]
        asked = [q.text for q in talk.questions if q.category in CATEGORIES]
        rows.append(await embedder.embed(said))
        queries.append(await embedder.embed(asked, purpose="query"))
        row_group += [number] * len(said)
        query_group += [number] * len(asked)
    np.savez(
        target,
        rows=np.concatenate(rows),
        queries=np.concatenate(queries),
        row_group=np.array(row_group),
        query_group=np.array(query_group),
    )
    return f"{len(row_group)} rows, {len(query_group)} queries: {target}"


def main() -> None:
    """Embed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    done = embed_locomo(options.source, options.target, threads=options.threads)
    print(asyncio.run(done))


if __name__ == "__main__":
    main()
