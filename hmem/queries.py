"""An embedder whose query vectors are remembered."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hmem.embed.cache import QueryCache
from hmem.protocols import Embedder, KnowsWords


class RememberedQueries:
    """An Embedder that asks another one; a query it has seen costs nothing.

    It does not own the other one: closing forgets the queries alone.
    """

    def __init__(self, embedder: Embedder, size: int) -> None:
        self._embedder = embedder
        self._cache = QueryCache(embedder, size)
        self.model = embedder.model
        self.window = embedder.window

    @property
    def dim(self) -> int | None:
        """The other one's; None until its first call."""
        return self._embedder.dim

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        """See `Embedder.embed`. Equal queries at one moment share one call."""
        if purpose == "passage" or len(texts) != 1:
            return await self._embedder.embed(texts, purpose=purpose)
        return (await self._cache.vector(texts[0]))[None, :]

    def forget(self) -> None:
        """Forget all queries: one may hold what an erased user said."""
        self._cache.clear()

    def count(self, text: str) -> int:
        """See `Embedder.count`."""
        return self._embedder.count(text)

    def known(self, text: str) -> float:
        """See `KnowsWords.known`."""
        inner = self._embedder
        return inner.known(text) if isinstance(inner, KnowsWords) else 1.0

    async def aclose(self) -> None:
        """Forget the queries and cancel what runs. Idempotent."""
        await self._cache.aclose()
