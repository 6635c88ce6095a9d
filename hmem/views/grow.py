"""A numpy array that grows at its end without copying each time."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Grow:
    """A one-dimensional array with amortised appends. `.view` is what it holds."""

    __slots__ = ("_array", "_n", "view")

    def __init__(self, dtype: DTypeLike) -> None:
        self._array: NDArray[Any] = np.empty(16, dtype)
        self._n = 0
        self.view: NDArray[Any] = self._array[:0]

    def extend(self, values: Any) -> None:
        """Append values, in order."""
        new = np.asarray(values, self._array.dtype)
        end = self._n + len(new)
        if end > len(self._array):
            bigger = np.empty(max(end, 2 * len(self._array)), self._array.dtype)
            bigger[: self._n] = self.view
            self._array = bigger
        self._array[self._n : end] = new
        self._n = end
        self.view = self._array[:end]

    def append(self, value: Any) -> None:
        """Append one value; of a tuple into an array of objects the tuple itself."""
        end = self._n + 1
        if end > len(self._array):
            bigger = np.empty(2 * len(self._array), self._array.dtype)
            bigger[: self._n] = self.view
            self._array = bigger
        self._array[self._n] = value
        self._n = end
        self.view = self._array[:end]

    def __len__(self) -> int:
        return self._n

    @property
    def nbytes(self) -> int:
        """Bytes held, the spare room included."""
        return self._array.nbytes
