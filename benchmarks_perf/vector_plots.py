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


def draw(rows: Sequence[Json], folder: Path) -> list[Path]:
    """Write `vectors-recall.png` and `vectors-latency.png`; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    done = [folder / "vectors-recall.png", folder / "vectors-latency.png"]
    _recall(rows, done[0])
    _latency(rows, done[1])
    return done


def _recall(rows: Sequence[Json], target: Path) -> None:
    """One panel per size of the smallest dimension; stored bytes and index bytes."""
    dim = min(r["dim"] for r in rows)
    sizes = sorted({r["n"] for r in rows if r["dim"] == dim})
    shown = sizes if len(sizes) < 3 else [sizes[1], sizes[-1]]
    figure, axes = plt.subplots(
        1, len(shown), figsize=(6.2 * len(shown), 4.8), sharey=True, squeeze=False
    )
    for axis, n in zip(axes[0], shown, strict=True):
        here = [r for r in rows if r["dim"] == dim and r["n"] == n]
        codecs = [r for r in here if r["backend"] == "float32"]
        others = [r for r in here if r["codec"] == "int8" and r["backend"] != "float32"]
        others = [r for r in others if r["backend"] != "int8 by numpy"]
        _points(axis, codecs, "codec", "stored_bytes_per_vector", 0)
        _points(axis, others, "backend", "memory_bytes_per_vector", 1)
        axis.set(xscale="log", xlabel="bytes per vector", title=f"n={n:,}, d={dim}")
        axis.set_xticks(
            [100, 200, 400, 800, 1600], ["100", "200", "400", "800", "1,600"]
        )
        axis.minorticks_off()
        axis.set_xlim(75, 2_600)
        axis.grid(alpha=0.25)
    axes[0][0].set_ylabel("recall@10")
    axes[0][0].legend(
        ["stored, searched as float32", "in memory (with the int8 copy, unless alone)"],
        loc="lower right",
        fontsize=8,
    )
    _save(figure, target)


def _points(axis: Axes, rows: list[Json], name: str, x: str, series: int) -> None:
    spots = sorted((r[x], r["recall_at_10"], r[name]) for r in rows)
    axis.scatter(
        [s[0] for s in spots],
        [s[1] for s in spots],
        s=42,
        marker="os"[series],
        color=_COLOURS[series],
        zorder=3,
    )
    for at, (across, up, label) in enumerate(spots):
        above = (at + series) % 2 == 0
        axis.annotate(
            label.removesuffix(" +"),
            (across, up),
            textcoords="offset points",
            xytext=(0, 8 if above else -15),
            ha="center",
            fontsize=8,
            color=_COLOURS[series],
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
