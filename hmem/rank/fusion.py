"""Parts of a score by rank instead of by value (reciprocal rank fusion)."""

import numpy as np
from numpy.typing import NDArray

from hmem.rank.lifts import Parts
from hmem.records import Kind
from hmem.scoring import Weights, reciprocal_rank

_SIGNALS: dict[Kind, tuple[str, ...]] = {
    "turn": ("dense", "window_dense", "words", "window_words", "speaker"),
    "memory": ("dense", "words", "named"),
}


def by_rank(
    kind: Kind, parts: Parts, w: Weights, seen: NDArray[np.bool_] | None = None
) -> None:
    """Let each signal of a kind add its weight times a passage's reciprocal rank by it.

    The best passage by every signal gets 1, as with values, so scores keep their scale;
    but a score says how a row compares with others, not how well it fits. The others are
    those that `seen` (docs) lets through (None: all): what is hidden pushes nothing down.
    """
    prefix = "fact" if kind == "memory" else "turn"
    for name in _SIGNALS[kind]:
        if name in parts:
            weight = np.float32(getattr(w, f"{prefix}_{name}"))
            values = parts[name]
            if seen is not None:
                values = np.where(seen, values, np.float32(0))
            parts[name] = weight * reciprocal_rank(values, k=w.rrf_k)
