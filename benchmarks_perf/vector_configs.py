"""What can be measured: a stored codec, and the index that is built from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import VectorIndex
from hmem.vectors import INDEXES
from hmem.vectors.coarse import CoarseIndex
from hmem.vectors.indexes import Int8Index
from hmem.vectors.simd import plain
from hmem.vectors.units import unit_query

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A backend over a codec. `bits` is what a scan reads for one dimension."""

    backend: str
    codec: str
    make: Callable[[int], VectorIndex]
    bits: int
    largest: int = 10**9

    def named(self, names: set[str]) -> bool:
        """Whether it is asked for: by backend, with or without its sign; where rows are
        searched as float32, by codec."""
        mine = {self.backend, self.backend.split(" ")[0]}
        return bool((mine | {self.codec} if self.bits == 32 else mine) & names)


class Alone:
    """An engine without its re-score: what the coarse codes find by themselves."""

    def __init__(self, held: CoarseIndex) -> None:
        self.held = held
        self.dim = held.dim
        self.add, self.remove = held.add, held.remove
        self.add_codes = held.add_codes

    def search(self, query: Floats, k: int) -> tuple[Floats, NDArray[np.uint64]]:
        """The engine's own best."""
        engine: Any = self.held._engine
        scores, at = engine.search(unit_query(query, dim=self.dim), k, None)
        return scores, self.held._slots.read(lambda now: now.ids[at])

    @property
    def nbytes(self) -> int:
        """The engine and the ids."""
        engine: Any = self.held._engine
        return int(engine.nbytes) + 8 * len(self.held)

    def __len__(self) -> int:
        return len(self.held)


def configurations() -> list[Configuration]:
    """All of them. A `+` engine works from the first row on, whatever `engine_from` says,
    and re-scores by int8; `alone` is the engine without that."""
    found = [
        Configuration("float32", "float32", INDEXES["float32"].load(), 32),
        Configuration("float32", "int8", INDEXES["float32"].load(), 32),
        Configuration("int8", "int8", INDEXES["int8"].load(), 8),
        Configuration("int8 by numpy", "int8", by_numpy, 8),
        *(
            Configuration(
                "float32", f"turboquant:{bits}", INDEXES["float32"].load(), 32
            )
            for bits in ("4", "3.5", "2")
        ),
        Configuration("faiss:int8", "int8", INDEXES["faiss:int8"].load(), 8),
    ]
    for name, bits, largest in (
        ("turbovec:4", 4, 10**9),
        ("turbovec:2", 2, 10**9),
        ("faiss:HNSW", 8, 20_000),
    ):
        made: Any = INDEXES[name].load()
        early: Any = type("Early", (made,), {"engine_from": 1})
        found.append(Configuration(f"{name} +", "int8", early, bits, largest))
        if bits < 8:
            found.append(
                Configuration(f"{name} alone", "int8", _alone(early), bits, largest)
            )
    return found


def by_numpy(dim: int) -> Int8Index:
    """The int8 index where the `simd` extra is not installed."""
    made = Int8Index(dim)
    made._dots = plain
    return made


def _alone(early: Callable[[int], CoarseIndex]) -> Callable[[int], Any]:
    return lambda dim: Alone(early(dim))
