"""The parts that a memory or a worker runs on: opened together, closed together."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from hmem.backends import make_embedder, make_store
from hmem.budget import warm
from hmem.config import Config
from hmem.errors import EmbeddingSpaceError, UnknownBackendError
from hmem.process import other_space
from hmem.protocols import Embedder, Space, Store
from hmem.vectors import codec, index

log = logging.getLogger("hmem.memory")
_LOOK_AGAIN = 0.25


@dataclass(slots=True)
class Parts:
    """A store that is open, and the embedder that speaks its language.

    `embedder` is None when there is none, or when the store's vectors are another model's;
    `degraded` then says which. An embedder that was handed in is not closed here.
    """

    store: Store
    embedder: Embedder | None
    space: Space | None
    degraded: tuple[str, ...] = ()
    owned: Embedder | None = None
    _looked: float = field(default=0.0)

    @classmethod
    async def open(
        cls, config: Config, *, store: Store | None, embedder: Embedder | None
    ) -> "Parts":
        """Open the store, load the embedder, see that they fit. Raises what the store
        raises, ConfigErrors, and EmbeddingSpaceError unless `allow_degraded`."""
        check_names(config)
        store = make_store(config) if store is None else store
        await store.open()
        owned: Embedder | None = None
        try:
            # The token table takes 70 ms to load: not on the loop, at the first block.
            await anyio.to_thread.run_sync(warm)
            if embedder is None:
                owned = await anyio.to_thread.run_sync(make_embedder, config)
            space = await store.space()
            return cls._fitted(config, store, embedder or owned, space, owned)
        except BaseException:
            with anyio.CancelScope(shield=True):
                if owned is not None:
                    await owned.aclose()
                await store.aclose()
            raise

    @classmethod
    def _fitted(
        cls,
        config: Config,
        store: Store,
        embedder: Embedder | None,
        space: Space | None,
        owned: Embedder | None,
    ) -> "Parts":
        try:
            check_space(space, embedder)
        except EmbeddingSpaceError as e:
            if not config.allow_degraded:
                raise
            log.warning("searching by words alone: %s", e)
            why = "no_embedder" if embedder is None else "other_embedding_space"
            return cls(store, None, space, (why,), owned)
        return cls(store, embedder, space, (), owned)

    @property
    def works(self) -> bool:
        """Whether this process can do what a queued job asks for."""
        return self.embedder is not None

    @property
    def queues(self) -> bool:
        """Whether an accepted turn leaves something to do, here or elsewhere."""
        return self.embedder is not None or self.space is not None

    async def look(self, found: Callable[[Space], None]) -> None:
        """While no space is known: see, now and then, whether another process has made
        one."""
        now = time.monotonic()
        if self.space is None and now - self._looked >= _LOOK_AGAIN:
            self._looked = now
            space = await self.store.space()
            if space is not None:
                found(space)

    async def aclose(self) -> None:
        """Close the store, and the embedder made here."""
        try:
            await self.store.aclose()
        finally:
            if self.owned is not None:
                await self.owned.aclose()


def check_names(config: Config) -> None:
    """Raises UnknownBackendError for a codec or an index that is not there, and
    MissingExtraError for one that is not installed: at open, not at the first search."""
    try:
        codec(config.stored)
    except UnknownBackendError as e:
        raise UnknownBackendError(f"Config.stored (HMEM_STORED): {e}") from e
    try:
        index(config.vectors, 8)
    except UnknownBackendError as e:
        raise UnknownBackendError(f"Config.vectors (HMEM_VECTORS): {e}") from e


def check_space(space: Space | None, embedder: Embedder | None) -> None:
    """Raises EmbeddingSpaceError when the embedder cannot serve the store's vectors."""
    if space is None:
        return
    if embedder is None:
        raise EmbeddingSpaceError(
            f"the store holds vectors of {space.model!r} and no embedder is here. Install "
            "or configure that model (`hmem models install minilm`; Config.embed, "
            "HMEM_EMBED), or open the store with allow_degraded=True: then it is searched "
            "by words alone, and what is added waits for a process that has the model"
        )
    if embedder.model != space.model or embedder.dim not in (None, space.dim):
        raise other_space(space, embedder.model, embedder.dim)
