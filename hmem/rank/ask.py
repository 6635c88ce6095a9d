"""What is asked of a view, and what is found in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import Micros
from hmem.records import Category, Kind
from hmem.scoring import Floats

if TYPE_CHECKING:
    from hmem.filters.rows import RowFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A search, validated. Times in micros; `during` is half-open. `when` are the times
    that the question itself speaks of: (start, end, how sure). `keep` filters rows;
    `closed` asks for facts that are believed no more, too."""

    query: str
    terms: NDArray[np.uint32]
    k: int
    asked_at: Micros
    vector: Floats | None = None
    as_of: Micros | None = None
    known_at: Micros | None = None
    during: tuple[Micros, Micros] | None = None
    when: tuple[tuple[Micros, Micros, float], ...] = ()
    agent_id: str | None = None
    session_id: str | None = None
    category: Category | None = None
    keep: "RowFilter | None" = None
    closed: bool = False
    kinds: frozenset[Kind] = frozenset(("memory", "turn"))
    min_score: float | None = None
    explain: bool = False

    @property
    def sees_all(self) -> bool:
        """Whether it may see all that is believed of the user today."""
        narrowed = (self.agent_id, self.session_id, self.category, self.keep)
        times = (self.as_of, self.known_at, self.during)
        return len(self.kinds) == 2 and all(one is None for one in narrowed + times)


class Found(NamedTuple):
    """A row found: its position, the doc that matched best, and its score's parts."""

    kind: Kind
    at: int
    doc: int
    score: float
    parts: Mapping[str, float]
