"""Rows of one kind, kept so that the garbage collector passes them by."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast, overload

from hmem.records import EMPTY
from hmem.views.grow import Grow


class Row(Protocol):
    """A named tuple with what a table needs of it."""

    @property
    def seq(self) -> int:
        """Its sequence, higher than that of any earlier row."""
        ...

    @property
    def text(self) -> str:
        """All of its text."""
        ...

    @property
    def ends(self) -> tuple[int, ...]:
        """Where its passages end."""
        ...


R = TypeVar("R", bound=Row)


class Rows(Sequence[R]):
    """Named tuples of one type with a field `metadata`.

    A full collection goes through every object that can hold others and looks at all that
    they hold, and stops everything meanwhile: 50 ms with a few hundred users in memory. It
    leaves out plain tuples of strings and numbers, but no named ones, and no tuple with a
    dict in it. So rows are kept as plain tuples, their metadata apart, and named again when
    they are asked for; and in an array, whose objects it does not look at, not in a list.
    """

    def __init__(self) -> None:
        self._held = Grow(object)
        self._ends = 0
        self._metadata: dict[int, Mapping[str, Any]] = {}
        self._make: Callable[[Iterable[Any]], R] | None = None
        self._at = 0

    def extend(self, rows: Sequence[R]) -> None:
        """Add rows at the end."""
        for at, row in enumerate(rows, len(self._held)):
            self._held.append(())
            self[at] = row

    def ends(self, at: int) -> tuple[int, ...]:
        """Where the passages of the row at a position end."""
        ends: tuple[int, ...] = self._held.view[at][self._ends]
        return ends

    def __setitem__(self, at: int, row: R) -> None:
        kind: Any = type(row)
        if self._make is None:
            self._make, self._at = kind._make, kind._fields.index("metadata")
            self._ends = kind._fields.index("ends")
        values = tuple(cast("tuple[Any, ...]", row))
        self._metadata.pop(at, None)
        if values[self._at]:
            self._metadata[at] = values[self._at]
        self._held.view[at] = (*values[: self._at], None, *values[self._at + 1 :])

    @overload
    def __getitem__(self, at: int) -> R: ...
    @overload
    def __getitem__(self, at: slice) -> list[R]: ...
    def __getitem__(self, at: int | slice) -> R | list[R]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(len(self._held)))]
        values, n = self._held.view[at], self._at
        assert self._make is not None
        metadata = self._metadata.get(at % len(self._held), EMPTY)
        return self._make((*values[:n], metadata, *values[n + 1 :]))

    def __iter__(self) -> Iterator[R]:
        for at in range(len(self._held)):
            yield self[at]

    def __len__(self) -> int:
        return len(self._held)
