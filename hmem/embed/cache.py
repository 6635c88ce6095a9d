"""Query vectors by text: bounded, and equal queries at one moment cost one call."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hmem.embed.checks import embed
from hmem.errors import ClosedError
from hmem.protocols import Embedder

Vector = NDArray[np.float32]
_Key = tuple[str, str]
_LONG = 512  # characters; a longer query is kept by its digest, not by its text


class QueryCache:
    """The last `size` query vectors of an embedder, least recently used out first.

    Bound to one event loop. It does not own the embedder.
    """

    def __init__(self, embedder: Embedder, size: int) -> None:
        """`size` 0 keeps nothing; equal concurrent queries still share a call."""
        self.embedder: Final = embedder
        self.size: Final = size
        self._kept: OrderedDict[_Key, Vector] = OrderedDict()
        self._running: dict[_Key, _Shared] = {}
        self._closed = False

    async def vector(self, query: str) -> Vector:
        """The query's unit vector, (dim,), read-only. Raises what the embedder raises.

        Cancelling one waiter leaves the others' call alone; cancelling the last one
        cancels the call. A failure is not kept.
        """
        if (kept := self.peek(query)) is not None:
            return kept
        if self._closed:
            raise ClosedError("the query cache is closed")
        key = self._key(query)
        shared = self._running.get(key)
        if shared is None:
            shared = self._running[key] = _Shared(self._fetch(key, query))
        try:
            return await shared.wait()
        finally:
            if shared.over and self._running.get(key) is shared:
                del self._running[key]

    def peek(self, query: str) -> Vector | None:
        """The query's vector if it is kept. Waits for nothing."""
        key = self._key(query)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def clear(self) -> None:
        """Forget all queries."""
        self._kept.clear()

    async def aclose(self) -> None:
        """Forget all queries and cancel the running calls. Idempotent."""
        self._closed = True
        self.clear()
        running = [shared.task for shared in self._running.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def __len__(self) -> int:
        return len(self._kept)

    def _key(self, query: str) -> _Key:
        if len(query) > _LONG:
            raw = query.encode("utf-8", "surrogatepass")
            query = "\0" + hashlib.blake2b(raw, digest_size=16).hexdigest()
        return (self.embedder.model, query)

    async def _fetch(self, key: _Key, query: str) -> Vector:
        rows = await embed(self.embedder, [query], purpose="query")
        vector = np.array(rows[0], dtype=np.float32)
        vector.flags.writeable = False
        if self.size and not self._closed:
            self._kept[key] = vector
            while len(self._kept) > self.size:
                self._kept.popitem(last=False)
        return vector


class _Shared:
    """One running call and how many wait for it."""

    def __init__(self, call: Coroutine[Any, Any, Vector]) -> None:
        self.task = asyncio.ensure_future(call)
        self.task.add_done_callback(_seen)
        self.waiting = 0
        self.over = False

    async def wait(self) -> Vector:
        """The call's result. The last waiter to be cancelled cancels the call."""
        self.waiting += 1
        try:
            await asyncio.wait({self.task})
        finally:
            self.waiting -= 1
            self.over = self.task.done() or self.waiting == 0
            if self.over:
                self.task.cancel()  # does nothing to a task that is done
        if self.task.cancelled():
            raise ClosedError("the query cache was closed")
        return self.task.result()


def _seen(task: "asyncio.Task[Vector]") -> None:
    """A failure that nobody waits for any more is not reported as forgotten."""
    if not task.cancelled():
        task.exception()
