"""Where each turn stands in its conversation, so that what is near it is found by sums."""

import numpy as np
from numpy.typing import NDArray

from hmem.views.grow import Grow

_APART = float(1 << 20)
"""How far apart two conversations lie: nothing is near across them."""


class Places:
    """A number per row: neighbours in a conversation differ by 1, conversations by far more."""

    def __init__(self) -> None:
        self.at = Grow(np.float64)
        self._begun = 0
        self._order: NDArray[np.int64] | None = None
        self._sorted = True

    def extend(self, rows: int) -> None:
        """Make room for new rows; each must then be placed, in order."""
        self.at.extend(np.zeros(rows))
        self._order = None

    def begin(self, row: int) -> None:
        """A row that nothing of its conversation stands before."""
        self._put(row, self._begun * _APART)
        self._begun += 1

    def follow(self, row: int, last: int) -> None:
        """A row that comes right after another one."""
        self._put(row, float(self.at.view[last]) + 1.0)

    def _put(self, row: int, place: float) -> None:
        self.at.view[row] = place
        if row and place < self.at.view[row - 1]:
            self._sorted = False

    def best_near(
        self, values: NDArray[np.floating], fade: float
    ) -> NDArray[np.float64]:
        """(rows,) the best of each row's conversation, less `fade` (> 0) for every turn
        that it is away; at least the row's own value. `values` lie in 0..1."""
        order = self._by_place()
        slope = self.at.view * fade
        if order is None:
            return _best_near(values, slope)
        out = np.empty(len(slope))
        out[order] = _best_near(values[order], slope[order])
        return out

    def _by_place(self) -> NDArray[np.int64] | None:
        """The rows in the order of their places; None when they are in it."""
        if self._sorted:
            return None
        if self._order is None:
            self._order = np.argsort(self.at.view, kind="stable")
        return self._order

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.at.nbytes + (0 if self._order is None else self._order.nbytes)


def _best_near(
    values: NDArray[np.floating], slope: NDArray[np.float64]
) -> NDArray[np.float64]:
    before = np.maximum.accumulate(values + slope)
    before -= slope
    after = np.maximum.accumulate((values - slope)[::-1])[::-1] + slope
    return np.maximum(before, after, out=after)
