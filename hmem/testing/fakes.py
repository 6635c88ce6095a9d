"""Parts that behave as told, for tests. None of them understands a text."""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hmem.errors import ClosedError, EmbedderError, InputTypeError

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Words hashed to signed directions: texts that share words are near each other.

    Deterministic on every machine, and not semantic: for tests alone. `calls` holds the
    texts of every call.
    """

    window = 256

    def __init__(self, dim: int = 64, *, model: str | None = None) -> None:
        self.dim: int | None = dim
        self.model = model or f"test-hash-{dim}"
        self.calls: list[tuple[str, ...]] = []
        self.closed = False
        self._dim = dim

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: Literal["passage", "query"] = "passage",  # noqa: ARG002 - all the same here
    ) -> NDArray[np.float32]:
        """(n, dim) unit rows, in order. Raises ClosedError, InputTypeError."""
        if self.closed:
            raise ClosedError("the embedder is closed")
        if isinstance(texts, str):
            raise InputTypeError("texts must be a list of strings, not one string")
        self.calls.append(tuple(texts))
        await asyncio.sleep(0)  # a real one would wait, too
        rows = [self.vector(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self._dim), dtype=np.float32)

    def vector(self, text: str) -> NDArray[np.float32]:
        """(dim,) the text's unit vector."""
        row = np.zeros(self._dim, dtype=np.float64)
        for word, times in Counter(self._words(text)[: self.window]).items():
            digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=9)
            raw = digest.digest()
            row[int.from_bytes(raw[:8], "little") % self._dim] += times * (
                1.0 if raw[8] % 2 else -1.0
            )
        if not row.any():  # no word, or words that cancel out
            row[0] = 1.0
        unit: NDArray[np.float32] = (row / np.linalg.norm(row)).astype(np.float32)
        return unit

    def count(self, text: str) -> int:
        """Its tokens are words."""
        return len(self._words(text))

    async def aclose(self) -> None:
        """Refuse further calls."""
        self.closed = True

    @staticmethod
    def _words(text: str) -> list[str]:
        return _WORD.findall(text.casefold())


class HangingEmbedder(HashEmbedder):
    """Answers nothing until `release()`; then it is a HashEmbedder."""

    def __init__(self, dim: int = 64, *, model: str | None = None) -> None:
        super().__init__(dim, model=model)
        self._released = asyncio.Event()
        self.waiting = 0

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        """Wait for `release()`. `waiting` counts the calls that hang now."""
        self.waiting += 1
        try:
            await self._released.wait()
        finally:
            self.waiting -= 1
        return await super().embed(texts, purpose=purpose)

    def release(self) -> None:
        """Let all calls through."""
        self._released.set()


class FailingEmbedder(HashEmbedder):
    """Raises EmbedderError for the first `times` calls (None: for all)."""

    def __init__(
        self,
        dim: int = 64,
        *,
        times: int | None = 1,
        retryable: bool = True,
        model: str | None = None,
    ) -> None:
        super().__init__(dim, model=model)
        self.times = times
        self.retryable = retryable
        self.failed = 0

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        """Fail, or embed. `failed` counts the failures."""
        if self.times is None or self.failed < self.times:
            self.failed += 1
            await asyncio.sleep(0)
            raise EmbedderError("told to fail", retryable=self.retryable)
        return await super().embed(texts, purpose=purpose)


class WordReranker:
    """A score is the share of the query's words that stand in the text. Deterministic, and
    not semantic: for tests alone. `calls` holds the query and the texts of every call."""

    def __init__(self, *, model: str = "test-words") -> None:
        self.model = model
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.closed = False

    async def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n,) scores, in order. Raises ClosedError, InputTypeError."""
        if self.closed:
            raise ClosedError("the reranker is closed")
        if isinstance(texts, str):
            raise InputTypeError("texts must be a list of strings, not one string")
        self.calls.append((query, tuple(texts)))
        await asyncio.sleep(0)  # a real one would wait, too
        return np.array([self.score(query, text) for text in texts], dtype=np.float32)

    @staticmethod
    def score(query: str, text: str) -> float:
        """In [0, 1]; 0 for a query without a word."""
        wanted = set(_WORD.findall(query.casefold()))
        held = set(_WORD.findall(text.casefold()))
        return len(wanted & held) / max(1, len(wanted))

    async def aclose(self) -> None:
        """Refuse further calls."""
        self.closed = True


class FrozenClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime | None = None) -> None:
        """`start` must be aware; by default noon of 2024-05-01, UTC."""
        start = start or datetime(2024, 5, 1, 12, tzinfo=UTC)
        if start.tzinfo is None:
            raise ValueError("start must be an aware datetime")
        self.now = start.astimezone(UTC)

    def __call__(self) -> datetime:
        """The moment at which it stands."""
        return self.now

    def advance(
        self, seconds: float = 0.0, *, hours: float = 0.0, days: float = 0.0
    ) -> datetime:
        """Move on, and say where it stands now."""
        self.now += timedelta(seconds=seconds, hours=hours, days=days)
        return self.now
