"""Embeddings kept on disk by the hash of what was embedded, one file per model."""

import re
import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import Embedder, Reranker

Purpose = Literal["passage", "query"]


class CachedEmbedder:
    """An embedder that asks `inner` only for texts it has never seen.

    Vectors are kept bit by bit. `hits` and `misses` count texts.
    """

    def __init__(self, inner: Embedder, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._inner = inner
        self.model = inner.model
        self.window = inner.window
        self.dim = inner.dim
        self.hits = self.misses = 0
        name = re.sub(r"[^\w.-]+", "_", inner.model)
        tag = sha256(inner.model.encode()).hexdigest()[:8]  # two names may look alike
        self._file = sqlite3.connect(
            folder / f"{name}-{tag}.sqlite", isolation_level=None, timeout=30
        )
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)"
            " WITHOUT ROWID"
        )
        rows = self._file.execute("SELECT key, vector FROM vectors")
        self._known = {k: np.frombuffer(v, "<f4").astype(np.float32) for k, v in rows}

    async def embed(
        self, texts: Sequence[str], *, purpose: Purpose = "passage"
    ) -> NDArray[np.float32]:
        """(n, dim) unit rows, in order. Raises what the inner embedder raises."""
        keys = [sha256(f"{purpose}\0{text}".encode()).digest() for text in texts]
        new = {k: t for k, t in zip(keys, texts, strict=True) if k not in self._known}
        self.hits += len(texts) - len(new)
        self.misses += len(new)
        if new:
            rows = await self._inner.embed(list(new.values()), purpose=purpose)
            self._keep(list(new), rows)
            self.dim = self._inner.dim
        if not keys:
            return np.empty((0, self.dim or 0), np.float32)
        return np.stack([self._known[k] for k in keys])

    def count(self, text: str) -> int:
        """Tokens of the text, by the inner embedder."""
        return self._inner.count(text)

    def about(self) -> dict[str, Any]:
        """What it is and how often the disk answered."""
        return {
            "model": self.model,
            "dim": self.dim,
            "cache_hits": self.hits,
            "cache_misses": self.misses,
        }

    async def aclose(self) -> None:
        """Close the file and the inner embedder. Idempotent."""
        self._file.close()
        await self._inner.aclose()

    def _keep(self, keys: list[bytes], rows: NDArray[np.float32]) -> None:
        pairs = list(zip(keys, rows, strict=True))
        self._file.execute("BEGIN IMMEDIATE")
        with self._file:  # commits, or rolls back
            self._file.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                [(k, r.astype("<f4").tobytes()) for k, r in pairs],
            )
        self._known.update((k, r.astype(np.float32)) for k, r in pairs)


class RememberedReranks:
    """A reranker that asks `inner` once for the same query and texts."""

    def __init__(self, inner: Reranker) -> None:
        self._inner = inner
        self.model = inner.model
        self._known: dict[tuple[str, ...], NDArray[np.float32]] = {}

    async def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n,) scores, in order. Raises what the inner reranker raises."""
        key = (query, *texts)
        if key not in self._known:
            self._known[key] = await self._inner.rerank(query, texts)
        return self._known[key]

    async def aclose(self) -> None:
        """Close the inner reranker."""
        await self._inner.aclose()
