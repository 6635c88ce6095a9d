"""An embedder that answers from a cassette, text by text."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hmem.errors import ConfigError, EmbedderError, InputTypeError
from hmem.protocols import Embedder
from hmem.replay.cassette import Cassette
from hmem.replay.edges import as_embedder_error, in_thread, only_one
from hmem.replay.entries import (
    Count,
    Embedding,
    Entry,
    Purpose,
    count_key,
    embedding_key,
)
from hmem.threads import to_its_end

_SOME_WINDOW = 512  # of an embedder of which nothing is recorded


class ReplayEmbedder:
    """An embedder that answers from a cassette, text by text.

    `strict` and `embedder` as with `ReplayLLM`. Counts of tokens are recorded too, since
    they decide where a text is cut. A miss raises EmbedderError naming the key; it is not
    retryable where nobody can be asked.

    The file is read when `dim`, `window` or `count` are first asked for without an inner
    embedder, or at the first text: `cassette.load()` does so before, in a thread of yours.
    """

    def __init__(
        self,
        cassette: Cassette,
        *,
        embedder: Embedder | None = None,
        strict: bool | None = None,
        model: str | None = None,
    ) -> None:
        """`model`: as with ReplayLLM. Raises ConfigError where there is nobody to ask."""
        if embedder is None and strict is False:
            raise ConfigError("ReplayEmbedder(strict=False) needs an embedder to ask")
        self.cassette = cassette
        self.inner = embedder
        self.strict = embedder is None if strict is None else strict
        self._named = model
        self._counted: dict[str, Count] = {}
        self._sample: Embedding | None = None

    @property
    def model(self) -> str:
        """The space whose vectors these are; see `ReplayLLM.model`."""
        if self._named is None and self.inner is not None:
            self._named = self.inner.model
        if self._named is None:
            models = {e.model for e in self.cassette.embeddings()}
            self._named = only_one(models, f"{self.cassette.path} holds vectors of")
        return self._named

    @property
    def dim(self) -> int | None:
        """The inner embedder's, or that of the recorded vectors."""
        if self.inner is not None:
            return self.inner.dim
        any_one = self._any()
        return None if any_one is None else len(any_one.vector)

    @property
    def window(self) -> int:
        """The inner embedder's, or the recorded one."""
        if self.inner is not None:
            return self.inner.window
        any_one = self._any()
        return _SOME_WINDOW if any_one is None else any_one.window

    async def embed(
        self, texts: Sequence[str], *, purpose: Purpose = "passage"
    ) -> NDArray[np.float32]:
        """(n, dim) the recorded rows, and the inner embedder's for what is new."""
        if isinstance(texts, str):
            raise InputTypeError("texts must be a list of strings, not one string")
        with as_embedder_error():
            await in_thread(self.cassette.load)
            keys = [embedding_key(self.model, purpose, text) for text in texts]
            new = {key: n for n, key in enumerate(keys) if key not in self.cassette}
            if new:
                await self._add(texts, new, purpose)
        rows = [_vector(self.cassette.find(key)) for key in keys]
        return np.stack(rows) if rows else np.empty((0, self.dim or 0), np.float32)

    def count(self, text: str) -> int:
        """The recorded number of tokens, the inner embedder's, or else an upper bound."""
        key = count_key(self.model, text)
        known = self.cassette.find(key) or self._counted.get(key)
        if isinstance(known, Count):
            return known.tokens
        if self.inner is None:
            return len(text.encode("utf-8", "replace")) + 2
        tokens = self.inner.count(text)
        if not self.strict:
            self._counted[key] = Count(key=key, model=self.model, tokens=tokens)
        return tokens

    async def aclose(self) -> None:
        """Write what was counted, put the cassette in order if it was added to, and close
        the inner embedder."""
        with as_embedder_error():
            await in_thread(self._record, ())
            await in_thread(self.cassette.tidy)
        if self.inner is not None:
            await self.inner.aclose()

    async def _add(
        self, texts: Sequence[str], new: Mapping[str, int], purpose: Purpose
    ) -> None:
        """Embed and record the texts that are not there, by key their position."""
        if self.strict or self.inner is None:
            raise EmbedderError(
                f"no vector of {self.model} is recorded for text {next(iter(new))} in "
                f"{self.cassette.path}",
                retryable=False,
            )
        asked = [texts[n] for n in new.values()]
        try:
            rows = np.asarray(
                await self.inner.embed(asked, purpose=purpose), np.float32
            )
        except EmbedderError as e:
            if e.position is None:
                raise
            blame = list(new.values())[e.position]
            raise EmbedderError(str(e), retryable=e.retryable, position=blame) from e
        if rows.ndim != 2 or len(rows) != len(asked):
            raise EmbedderError("the embedder returned another number of vectors")
        window = self.inner.window
        found = [
            Embedding(
                key=key,
                model=self.model,
                purpose=purpose,
                text=text,
                window=window,
                vector=row.copy(),
            )
            for key, text, row in zip(new, asked, rows, strict=True)
        ]
        await to_its_end(lambda: self._record(found))

    def _record(self, found: Sequence[Embedding]) -> None:
        """Append these, and what was counted since the last time."""
        counted, self._counted = list(self._counted.values()), {}
        if found or counted:
            self.cassette.record(*found, *counted)

    def _any(self) -> Embedding | None:
        if self._sample is None:
            found = (e for e in self.cassette.embeddings() if e.model == self.model)
            self._sample = next(found, None)
        return self._sample


def _vector(entry: Entry | None) -> NDArray[np.float32]:
    assert isinstance(entry, Embedding)
    return entry.vector
