"""Two pictures of `benchmarks_perf.vectors`: recall against bytes, latency against n."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks_perf.floors import Json

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
_LINES = ["float32", "int8", "int8 by numpy", "faiss:int8", "turbovec:4 +"]
_LINES += ["turbovec:2 +", "faiss:HNSW +"]

_LABELS = {  # where a name stands beside its lowest point, when not to the right
    "float32": (-8, -3, "right"),
    "int8": (-8, 0, "right"),
    "faiss:int8": (-8, -10, "right"),
    "turbovec:2 +": (0, -16, "center"),
    "turbovec:4 +": (0, 12, "center"),
    "faiss:HNSW +": (0, -16, "center"),
}


def draw(rows: Sequence[Json], folder: Path) -> list[Path]:
    """Write `vectors-recall.png` and `vectors-latency.png`; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    done = [folder / "vectors-recall.png", folder / "vectors-latency.png"]
    _recall(rows, done[0])
    _latency(rows, done[1])
    return done


def _recall(rows: Sequence[Json], target: Path) -> None:
    """Codecs by stored bytes and indexes by bytes in memory, at the smallest dimension. A
    stick joins the sizes of one configuration."""
    dim = min(r["dim"] for r in rows)
    rows = [r for r in rows if r["dim"] == dim and r["backend"] != "int8 by numpy"]
    figure, axes = plt.subplots(1, 2, figsize=(11.5, 5), sharey=True)
    codecs = [r for r in rows if r["backend"] == "float32"]
    indexes = [r for r in rows if r["codec"] == "int8" and r["backend"] != "float32"]
    _sticks(axes[0], codecs, "codec", "stored_bytes_per_vector")
    _sticks(axes[1], indexes, "backend", "memory_bytes_per_vector")
    axes[0].set(title=f"stored codes, d={dim}", ylabel="recall@10")
    axes[1].set(title=f"indexes in memory, d={dim}; + has an int8 copy")
    for axis in axes:
        low, high = axis.get_xlim()
        axis.set(xscale="log", xlabel="bytes per vector")
        axis.set_xlim(max(low, 1) * 0.8, high * 1.25)
        ticks = [x for x in (50, 100, 200, 400, 800, 1600, 3200) if x <= high]
        axis.set_xticks(ticks, [f"{x:,}" for x in ticks])
        axis.minorticks_off()
        axis.set_ylim(top=1.025)
        axis.grid(alpha=0.25)
    axes[0].legend(loc="lower right", title="vectors")
    _save(figure, target)


def _sticks(axis: Axes, rows: list[Json], name: str, x: str) -> None:
    sizes = sorted({r["n"] for r in rows})
    for size, colour in zip(sizes, _COLOURS, strict=False):
        here = [r for r in rows if r["n"] == size]
        across, up = [r[x] for r in here], [r["recall_at_10"] for r in here]
        axis.scatter(across, up, s=36, color=colour, label=f"{size:,}", zorder=3)
    spots = []
    for one in {r[name] for r in rows}:
        same = [r for r in rows if r[name] == one]
        up = [r["recall_at_10"] for r in same]
        at = min(r[x] for r in same)
        axis.plot([at, at], [min(up), max(up)], color="#bbbbbb", zorder=1)
        spots.append((at, min(up), one))
    for at, lowest, one in spots:
        right, above, side = _LABELS.get(one, (8, -3, "left"))
        axis.annotate(
            one,
            (at, lowest),
            textcoords="offset points",
            xytext=(right, above),
            ha=side,
            fontsize=8,
        )


def _latency(rows: Sequence[Json], target: Path) -> None:
    """One panel per dimension, one line per backend."""
    dims = sorted({r["dim"] for r in rows})
    figure, axes = plt.subplots(
        1, len(dims), figsize=(4.4 * len(dims) + 1.6, 4.4), sharey=True, squeeze=False
    )
    for axis, dim in zip(axes[0], dims, strict=True):
        for name, colour in zip(_LINES, _COLOURS, strict=True):
            codec = "float32" if name == "float32" else "int8"
            line = sorted(
                (r["n"], r["search_us_p50"])
                for r in rows
                if (r["dim"], r["backend"], r["codec"]) == (dim, name, codec)
            )
            if line:
                axis.plot(
                    *zip(*line, strict=True), "o-", color=colour, ms=4, label=name
                )
        axis.set(xscale="log", yscale="log", xlabel="vectors", title=f"d={dim}")
        axis.grid(alpha=0.25, which="major")
    axes[0][0].set_ylabel("search, microseconds (median)")
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    _save(figure, target)


def _save(figure: Figure, target: Path) -> None:
    figure.tight_layout()
    figure.savefig(target, dpi=110)
    plt.close(figure)
