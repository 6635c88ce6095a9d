"""Which rows of a table fit a filter, remembered while the same filter is asked for."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hmem.views.grow import Grow

if TYPE_CHECKING:
    from hmem.filters.rows import RowFilter

_FILTERS = 8
"""How many filters are remembered for a table. An agent asks with the same few."""


class Sieve:
    """Masks of the last few filters, brought up to date by what was added and changed:
    a filter takes microseconds a row, and a search right after an add must stay cheap."""

    def __init__(self) -> None:
        self._kept: OrderedDict[RowFilter, _Kept] = OrderedDict()

    def mask(self, keep: "RowFilter", rows: Sequence[Any]) -> NDArray[np.bool_]:
        """(rows,) which rows fit. Not to be written to."""
        mask: NDArray[np.bool_] = self._up_to_date(keep, rows).mask.view
        return mask

    def lacking(self, keep: "RowFilter", rows: Sequence[Any]) -> frozenset[str]:
        """The filter's keys that are no label and that none of the rows has."""
        return self._up_to_date(keep, rows).lacking

    def changed(self, at: int) -> None:
        """The row at a position is another one now, with the same metadata."""
        for kept in self._kept.values():
            kept.stale.add(at)

    def _up_to_date(self, keep: "RowFilter", rows: Sequence[Any]) -> "_Kept":
        kept = self._kept.get(keep)
        if kept is None:
            kept = self._kept[keep] = _Kept(keep)
            if len(self._kept) > _FILTERS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(keep)
        kept.follow(keep, rows)
        return kept

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(kept.mask.nbytes + 2_000 for kept in self._kept.values())


class _Kept:
    """One filter's answers for the rows seen so far."""

    __slots__ = ("lacking", "mask", "stale")

    def __init__(self, keep: "RowFilter") -> None:
        self.mask = Grow(np.bool_)
        self.lacking = frozenset(keep.lacking(()))
        self.stale: set[int] = set()

    def follow(self, keep: "RowFilter", rows: Sequence[Any]) -> None:
        """Take over what was added and what changed."""
        if self.stale:
            again = sorted(at for at in self.stale if at < len(self.mask))
            self.mask.view[again] = keep.fits([rows[at] for at in again])
            self.stale.clear()
        new = rows[len(self.mask) :]
        if new:
            self.mask.extend(keep.fits(new))
            self.lacking = self._still_lacking(keep, new)

    def _still_lacking(self, keep: "RowFilter", new: Iterable[Any]) -> frozenset[str]:
        return self.lacking and self.lacking.intersection(keep.lacking(new))
