"""The parts that a memory or a worker runs on: opened together, closed together."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec

import anyio
import anyio.to_thread

from hmem.asking import load_times
from hmem.backends import make_embedder, make_llm, make_reranker, make_store
from hmem.breaker import Pause
from hmem.budget import warm
from hmem.chat.ladder import Ladder
from hmem.config import Config
from hmem.distil import Distiller
from hmem.embedding import Embedding, other_space
from hmem.errors import (
    ConfigError,
    EmbeddingSpaceError,
    LLMError,
    MissingExtraError,
    UnknownBackendError,
)
from hmem.events import Events
from hmem.ingest import Intake
from hmem.meter import Meter
from hmem.process import Processor
from hmem.profiles import Profiles
from hmem.protocols import LLM, Clock, Embedder, Reranker, Space, Store
from hmem.recall import Recall
from hmem.retrieve import Retriever
from hmem.vectors import codec, index

log = logging.getLogger("hmem.memory")
_LOOK_AGAIN = 0.25
_PROBE = 10.0
_BASE, _CAP = 0.5, 60.0
"""Seconds of the first and of the longest pause while the chat model is down."""


@dataclass(slots=True)
class Parts:
    """A store that is open, the embedder that speaks its language, the chat model, and what
    reads hits again.

    `embedder` is None when there is none, or when the store's vectors are another model's;
    `degraded` then says which. `reranker` is None where nobody asked to read. `extracts`: a
    model reads what is added, here or in another process. What was handed in is not closed
    here.
    """

    store: Store
    embedder: Embedder | None
    space: Space | None
    degraded: tuple[str, ...] = ()
    owned: tuple[Embedder | LLM | Reranker, ...] = ()
    llm: LLM | None = None
    reranker: Reranker | None = None
    extracts: bool = False
    meter: Meter = field(default_factory=Meter)
    _looked: float = field(default=0.0)

    @classmethod
    async def open(
        cls,
        config: Config,
        *,
        store: Store | None = None,
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        reranker: Reranker | None = None,
        reads: bool = False,
    ) -> "Parts":
        """Open the store, load the models (a reranker only for one who `reads`), see that
        they fit. Raises what the store raises, ConfigErrors, and EmbeddingSpaceError unless
        `allow_degraded`."""
        check_names(config)
        check_mode(config, has_llm=llm is not None or config.llm is not None)
        await check_languages(config)
        store = make_store(config) if store is None else store
        await store.open()
        parts = cls(store, embedder, None, llm=llm, reranker=reranker)
        try:
            await parts._load(config)
            if reads and reranker is None:
                await parts._load_reranker(config)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await parts.aclose()
            raise
        return parts

    async def _load(self, config: Config) -> None:
        """Make the models that were not handed in, and fit the embedder."""
        # The token table takes 70 ms to load: not on the loop, at the first block.
        await anyio.to_thread.run_sync(warm)
        if self.embedder is None:
            self.embedder = await anyio.to_thread.run_sync(make_embedder, config)
            self.owned += () if self.embedder is None else (self.embedder,)
        if self.llm is None and config.llm is not None and config.mode != "raw":
            self.llm = await anyio.to_thread.run_sync(make_llm, config)
            self.owned += () if self.llm is None else (self.llm,)
        if config.mode == "auto":
            self.extracts = self.llm is not None
        else:
            self.extracts = config.mode != "raw"
        self.space = await self.store.space()
        try:
            check_space(self.space, self.embedder)
        except EmbeddingSpaceError as e:
            if not config.allow_degraded:
                raise
            log.warning("searching by words alone: %s", e)
            why = "no_embedder" if self.embedder is None else "other_embedding_space"
            self.embedder, self.degraded = None, (why,)

    async def _load_reranker(self, config: Config) -> None:
        """Make the reranker that was not handed in."""
        made = await anyio.to_thread.run_sync(make_reranker, config, self.embedder)
        self.reranker = made
        self.owned += () if made is None else (made,)

    def processor(
        self,
        config: Config,
        *,
        retriever: Retriever,
        clock: Clock,
        events: Events,
        on_space: Callable[[Space], None],
    ) -> Processor:
        """The write path's second half over these parts."""
        embedding = Embedding(
            config, store=self.store, embedder=self.embedder, on_space=on_space
        )
        recall = Recall(retriever)
        if self.llm is None or config.mode == "raw":
            return Processor(
                config,
                store=self.store,
                embedding=embedding,
                clock=clock,
                recall=recall,
            )
        llm = self.llm
        ladder = Ladder(
            llm,
            meter=self.meter,
            price_in=config.llm_price_in,
            price_out=config.llm_price_out,
        )
        distiller = Distiller(
            config,
            store=self.store,
            ladder=ladder,
            recall=recall,
            intake=Intake(config, embedder=self.embedder, clock=clock),
            embedding=embedding,
            clock=clock,
        )
        profiles = (
            Profiles(config, store=self.store, ladder=ladder, retriever=retriever)
            if config.profile
            else None
        )
        pause = Pause(lambda: answers(llm), events, clock, base=_BASE, cap=_CAP)
        return Processor(
            config,
            store=self.store,
            embedding=embedding,
            clock=clock,
            recall=recall,
            distiller=distiller,
            profiles=profiles,
            pause=pause,
        )

    @property
    def works(self) -> bool:
        """Whether this process can do what a queued job asks for."""
        return self.embedder is not None or self.llm is not None

    @property
    def queues(self) -> bool:
        """Whether an accepted turn leaves something to do, here or elsewhere."""
        return self.embedder is not None or self.space is not None or self.extracts

    async def look(self, found: Callable[[Space], None]) -> None:
        """While no space is known: see, now and then, whether another process has made
        one."""
        if self.space is not None or time.monotonic() - self._looked < _LOOK_AGAIN:
            return
        self._looked = time.monotonic()
        space = await self.store.space()
        if space is not None:
            found(space)

    async def aclose(self) -> None:
        """Close the store, and the models made here."""
        try:
            await self.store.aclose()
        finally:
            for model in self.owned:
                await model.aclose()


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


async def check_languages(config: Config) -> None:
    """Load what reads times in other languages than English, so that no question waits for
    it. Raises MissingExtraError without the extra, ConfigError for a language that it does
    not know."""
    if config.languages == ("en",):
        return
    unread = await load_times(config.languages)
    if not unread:
        return
    if find_spec("dateparser") is None:
        raise MissingExtraError("Config.languages (HMEM_LANGUAGES)", "time")
    raise ConfigError(f"Config.languages (HMEM_LANGUAGES) cannot read {unread[0]}")


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


def check_mode(config: Config, *, has_llm: bool) -> None:
    """Raises ConfigError for a mode that nobody would carry out."""
    reads = config.mode in ("append", "reconcile")
    if reads and not has_llm and config.worker == "inline":
        raise ConfigError(
            f"Config.mode (HMEM_MODE) is {config.mode} and no model is configured: set Config.llm "
            'and base_url (HMEM_LLM, HMEM_BASE_URL), or worker="off" where another process '
            "has the model"
        )


async def answers(llm: LLM) -> bool:
    """Whether the chat model answers at all."""
    probe = getattr(llm, "probe", None)
    try:
        with anyio.fail_after(_PROBE):
            if probe is not None:
                return bool(await probe())
            await llm.complete([{"role": "user", "content": "Say OK."}], max_tokens=4)
    except LLMError as e:
        return e.why not in ("down", "busy", "setup")
    except Exception:  # noqa: BLE001  # a part that was brought may raise anything
        return False
    return True
