"""Views of many users, bounded in bytes, least recently used first out."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import anyio

from hmem.protocols import Delta, Mark, Space, Store
from hmem.threads import to_its_end
from hmem.views.view import MakeIndex, View

A = TypeVar("A")
T = TypeVar("T")
_INLINE_DOCS = 8_000
"""Passages up to which a search runs on the loop: about 2 ms of arithmetic at 384
dimensions; a hop to a thread costs 0.15 ms and the work above ~5 ms must leave."""
_HEAVY = 200
"""Changed passages from which taking them over leaves the loop: 200 take about 3 ms."""
_RECOUNTED = 16
"""A view's bytes are counted anew when it has grown by so large a part: counting takes as
long as taking over what one turn brought."""


class _Entry:
    __slots__ = ("counted", "lock", "nbytes", "view")

    def __init__(self, view: View) -> None:
        self.view = view
        self.lock = anyio.Lock(fast_acquire=True)
        self.nbytes = 0
        self.counted = 0  # `view.things`, when `nbytes` was found


class ViewCache:
    """Hands out a user's view as of now: one store call, extended by what changed."""

    def __init__(self, store: Store, make_index: MakeIndex, *, max_bytes: int) -> None:
        self._store = store
        self._make_index = make_index
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0
        self.space: Space | None = None
        self.hits = self.misses = 0

    async def read(
        self, user_id: str, use: Callable[[View], T], *, weight: int = 1
    ) -> T | None:
        """`use(view)` on an up-to-date view; None when nothing of the user is stored.
        `weight` is what `use` takes for a passage, as a multiple of a search.

        Nothing else touches the view while `use` runs. Large views are used, and large
        changes taken over, off the event loop. Of many that come to a view that is not
        there yet, one loads it.
        """
        while True:
            entry = self._entry(user_id)
            if entry.view.mark is None:
                async with entry.lock:
                    if entry.view.mark is None:
                        if not await self._load(entry, user_id):
                            return None
                        return await self._use(user_id, entry, use, weight)
            since = entry.view.mark
            delta = await self._store.delta(user_id, since)
            if delta is None:
                self.forget(user_id)
                return None
            async with entry.lock:
                if entry.view.mark == since:
                    await self._take_over(entry, user_id, delta)
                elif not _covers(entry.view.mark, delta.mark):
                    continue  # somebody took over an older change meanwhile: ask again
                return await self._use(user_id, entry, use, weight)

    async def _load(self, entry: _Entry, user_id: str) -> bool:
        """Fill an empty view. False: nothing of the user is stored. An entry that stays
        empty, also because its load failed or was cancelled, does not stay."""
        try:
            whole = await self._store.delta(user_id, None)
            if whole is not None:
                await self._take_over(entry, user_id, whole)
            return whole is not None
        finally:
            if entry.view.mark is None and self._entries.get(user_id) is entry:
                self.forget(user_id)

    async def _take_over(self, entry: _Entry, user_id: str, delta: Delta) -> None:
        view = entry.view
        if delta.mark == view.mark and delta.pending == view.pending:
            return
        try:
            await _run(view.apply, delta, heavy=_size(delta) > _HEAVY)
        except Exception:
            # Half of it may have been taken over: whoever comes next loads it anew.
            entry.view = View(user_id, view.space, self._make_index)
            raise
        finally:
            self._account(user_id, entry)

    def forget(self, user_id: str) -> None:
        """Drop a user's view."""
        entry = self._entries.pop(user_id, None)
        if entry is not None:
            self._bytes -= entry.nbytes

    def clear(self) -> None:
        """Drop all views."""
        self._entries.clear()
        self._bytes = 0

    def stats(self) -> dict[str, int]:
        """Views held, their bytes, and how often a view was there."""
        return {
            "views": len(self._entries),
            "bytes": self._bytes,
            "hits": self.hits,
            "misses": self.misses,
        }

    def _entry(self, user_id: str) -> _Entry:
        entry = self._entries.get(user_id)
        if entry is None:
            self.misses += 1
            entry = _Entry(View(user_id, self.space, self._make_index))
            self._entries[user_id] = entry
        else:
            self.hits += 1
            self._entries.move_to_end(user_id)
        return entry

    async def _use(
        self, user_id: str, entry: _Entry, use: Callable[[View], T], weight: int
    ) -> T:
        view = entry.view
        try:
            return await _run(use, view, heavy=weight * view.docs > _INLINE_DOCS)
        finally:
            self._account(user_id, entry)  # a view keeps records of what was found

    def _account(self, user_id: str, entry: _Entry) -> None:
        if self._entries.get(user_id) is not entry:
            return  # dropped while it was in use
        held = entry.view.things
        if 0 <= held - entry.counted < entry.counted / _RECOUNTED:
            return
        size, entry.counted = entry.view.nbytes, held
        self._bytes += size - entry.nbytes
        entry.nbytes = size
        while self._bytes > self._max_bytes and self._entries:
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= oldest.nbytes


async def _run(function: Callable[[A], T], argument: A, *, heavy: bool) -> T:
    """A thread that was begun is waited for, also by a cancelled caller: the view is
    nobody else's before it is done."""
    if heavy:
        return await to_its_end(lambda: function(argument))
    return function(argument)


def _size(delta: Delta) -> int:
    lexical = sum(len(rows.lengths) for rows in delta.lexical)
    return lexical + sum(len(rows.keys) for rows in delta.vectors)


def _covers(held: Mark | None, wanted: Mark) -> bool:
    return (
        held is not None
        and held.incarnation == wanted.incarnation
        and held.generation >= wanted.generation
    )
