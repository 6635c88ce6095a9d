"""Numbered slots in growing arrays: what the plain indexes have in common.

One writer and any number of readers may work at once. Readers take no lock: they compute
on a snapshot and then look whether a row under it was edited meanwhile. Appending edits
nothing, because it writes behind every snapshot's end.
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hmem.errors import InputError

Ids = NDArray[np.uint64]
Columns = tuple[NDArray[Any], ...]
_R = TypeVar("_R")
_FEW = 32  # up to here one scan per id is cheaper than sorting the ids held


class Snapshot(NamedTuple):
    """The first `n` slots of `ids` and of each column. Readers never write to it."""

    edits: int
    n: int
    ids: Ids
    columns: Columns


class Dropped(NamedTuple):
    """What a removal did. `gone` slots, highest first; then `holes` took the rows of
    `movers`, as if of `gone` one after the other was filled with the last row."""

    gone: list[int]
    holes: list[int]
    movers: list[int]


def room_for(like: NDArray[Any], n: int) -> NDArray[Any]:
    """An array for n rows of the kind of `like`'s."""
    return np.empty((n, *like.shape[1:]), like.dtype)


class Slots:
    """Ids and their columns. Arrays grow by half, so n appends copy O(n) rows in all."""

    def __init__(
        self,
        columns: Columns,
        *,
        room: Callable[[NDArray[Any], int], NDArray[Any]] = room_for,
    ) -> None:
        """`columns` are empty arrays (0, ...) that show each column's type and width;
        `room` makes every array that rows are kept in."""
        self._lock = threading.Lock()
        self._edits = 0
        self._top = -1  # the largest id ever put: an id above it is new
        self._room = room
        empty = tuple(room(c, 0) for c in columns)
        self._now = Snapshot(0, 0, np.empty(0, np.uint64), empty)

    def __len__(self) -> int:
        return self._now.n

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, the room to grow included."""
        now = self._now
        return now.ids.nbytes + sum(c.nbytes for c in now.columns)

    def read(self, compute: Callable[[Snapshot], _R]) -> _R:
        """`compute` on one moment's rows; it may run twice, so it must change nothing."""
        now = self._now
        if now.edits == self._edits:
            result = compute(now)
            if now.edits == self._edits:
                return result
        with self._lock:
            return compute(self._now)

    def find(self, now: Snapshot, ids: Ids) -> NDArray[np.intp]:
        """The slot of each id, -1 for those not held."""
        held = now.ids[: now.n]
        slots = np.full(ids.size, -1, np.intp)
        if not ids.size or not held.size or int(ids.min()) > self._top:
            return slots
        if ids.size <= _FEW:
            for i, one in enumerate(ids):
                at = np.flatnonzero(held == one)
                if at.size:
                    slots[i] = at[0]
            return slots
        order = np.argsort(held)
        at = order[np.minimum(np.searchsorted(held, ids, sorter=order), now.n - 1)]
        return np.where(held[at] == ids, at, -1)

    def put(self, ids: Ids, rows: Columns) -> None:
        """Write one row per id; an id that is held is replaced, of a repeated id the last
        row counts. `rows` belong to the slots from here on."""
        if len(ids) > 1:
            ids, rows = last_of_each(ids, rows)
        with self._lock:
            slots = self.find(self._now, ids)
            new = slots < 0
            if new.all():  # the usual case: no row is copied twice
                self._append(ids, rows)
                return
            self._replace(slots[~new], tuple(r[~new] for r in rows))
            self._append(ids[new], tuple(r[new] for r in rows))

    def drop(self, ids: Ids) -> Dropped:
        """Forget ids; return what went from where."""
        with self._lock:
            now = self._now
            slots = np.unique(self.find(now, ids))
            done = _dropped(slots[slots >= 0], now.n)
            if not done.gone:
                return done
            n = now.n - len(done.gone)
            self._edits += 1
            for array in (now.ids, *now.columns):
                array[done.holes] = array[done.movers]
            self._now = now._replace(edits=self._edits, n=n)
            if n < len(now.ids) // 4:
                self._resize(n)
            return done

    def _replace(self, slots: NDArray[np.intp], rows: Columns) -> None:
        if not slots.size:
            return
        self._edits += 1
        for column, new in zip(self._now.columns, rows, strict=True):
            column[slots] = new
        self._now = self._now._replace(edits=self._edits)

    def _append(self, ids: Ids, rows: Columns) -> None:
        if not ids.size:
            return
        self._top = max(self._top, int(ids.max()))
        n = self._now.n + ids.size
        if self._room is room_for and not len(self._now.ids):
            # most users are loaded once: take the arrays as they are
            self._now = self._now._replace(n=n, ids=ids.copy(), columns=rows)
            return
        if n > len(self._now.ids):
            self._resize(max(n, self._now.n * 3 // 2))
        now = self._now  # only now: growing has replaced the arrays
        now.ids[now.n : n] = ids
        for column, new in zip(now.columns, rows, strict=True):
            column[now.n : n] = new
        self._now = now._replace(n=n)

    def _resize(self, room: int) -> None:
        now = self._now
        ids = _moved(now.ids, room_for(now.ids, room), now.n)
        columns = (_moved(c, self._room(c, room), now.n) for c in now.columns)
        self._now = now._replace(ids=ids, columns=tuple(columns))


def as_ids(ids: Any) -> Ids:
    """`ids` as (n,) uint64. Raises InputError."""
    array = np.asarray(ids)
    if array.ndim == 1 and not array.size:
        return np.empty(0, np.uint64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError("ids must be whole numbers in one row")
    if array.dtype.kind == "i" and int(array.min()) < 0:
        raise InputError("ids must not be negative")
    return array.astype(np.uint64, copy=False)


def _moved(array: NDArray[Any], into: NDArray[Any], n: int) -> NDArray[Any]:
    into[:n] = array[:n]
    return into


def _dropped(slots: NDArray[np.intp], n: int) -> Dropped:
    gone: list[int] = slots[::-1].tolist()
    left = n - len(gone)
    tail = list(range(left, n))  # what still stands behind the new end
    holes, movers = [], []
    for slot in gone:
        last = tail.pop()
        if slot >= left + len(tail):
            continue  # it was the last row itself
        if slot >= left:
            tail[slot - left] = last
        else:
            holes.append(slot)
            movers.append(last)
    return Dropped(gone, holes, movers)


def last_of_each(ids: Ids, rows: Columns) -> tuple[Ids, Columns]:
    """Of a repeated id its last row alone, in the order given."""
    if (ids[1:] > ids[:-1]).all():
        return ids, rows  # the usual case, and cheap to see
    _, back = np.unique(ids[::-1], return_index=True)
    if back.size == ids.size:
        return ids, rows
    keep = np.sort(ids.size - 1 - back)
    return ids[keep], tuple(r[keep] for r in rows)
