"""Opening and closing: what AsyncMemory does before and after its verbs."""

import asyncio
import warnings
from types import TracebackType
from typing import Self

import anyio

from hmem.config import Config
from hmem.errors import ClosedError
from hmem.inputs.deadline import read_timeout
from hmem.protocols import LLM, Clock, Embedder, Reranker, Store
from hmem.running.lifecycle import Life, running_loop
from hmem.running.rooms import Rooms
from hmem.running.turnstile import Turnstile

DRAIN = 5.0
"""Seconds that closing works on what was accepted here."""


class Opening:
    """Life cycle of a memory: new, open, closing, closed; never opened again."""

    def __init__(
        self,
        config: Config,
        *,
        store: Store | None,
        embedder: Embedder | None,
        llm: LLM | None,
        reranker: Reranker | None,
        clock: Clock,
    ) -> None:
        self.config = config
        self._store = store
        self._embedder = embedder
        self._llm = llm
        self._reranker = reranker
        self._clock = clock
        self._life = Life()
        self._turnstile = Turnstile()
        self._lock = anyio.Lock()
        self._loading = anyio.Lock()
        self._opened: Rooms | None = None
        self._closing: asyncio.Task[None] | None = None

    async def open(self) -> Self:
        """Open or create the store, load the models, start the worker. Idempotent.

        Raises what stands in the way: ConfigErrors (EmbeddingSpaceError when the store's
        vectors are another model's), StoreErrors, WrongLoopError without asyncio.
        """
        running_loop()
        async with self._lock:
            if self._life.state == "new":
                self._life.begin()
                self._opened = await Rooms.open(
                    self.config,
                    store=self._store,
                    embedder=self._embedder,
                    llm=self._llm,
                    reranker=self._reranker,
                    life=self._life,
                    clock=self._clock,
                )
                self._life.state = "open"
        self._life.check()
        return self

    async def _enter(self) -> None:
        """The first step of a verb that computes before it waits."""
        self._life.check()
        await self._turnstile.enter()

    async def aclose(self, *, timeout: float = DRAIN) -> None:
        """Work off what was accepted here for up to `timeout` seconds, then close.

        What is not worked off is on disk and goes on at the next open. Idempotent. Running
        calls finish or raise ClosedError; later ones raise it. Cancelling the wait does
        not stop the closing.
        """
        limit = read_timeout(timeout)
        if self._life.state == "new":
            async with self._lock:  # an opening under way comes to its end first
                if self._life.state == "new":
                    self._life.state = "closed"
        if self._opened is None or not self._life.is_ours:
            return
        self._life.check_loop()
        if self._closing is None:
            self._life.state = "closing"
            self._closing = asyncio.create_task(_close(self._life, self._opened, limit))
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose(timeout=DRAIN if kind is None else 0.0)

    def __del__(self) -> None:
        life: Life | None = getattr(self, "_life", None)
        if life is None or life.state != "open" or not life.is_ours:
            return
        warnings.warn(
            "an AsyncMemory was not closed", ResourceWarning, stacklevel=2, source=self
        )
        if (
            life.loop is not None
            and life.loop.is_running()
            and self._opened is not None
        ):
            life.state = "closing"
            life.loop.call_soon_threadsafe(_abandon, life, self._opened)

    @property
    def _rooms(self) -> Rooms:
        self._life.check()
        if self._opened is None:
            raise ClosedError("this AsyncMemory was closed; open a new one")
        return self._opened


async def _close(life: Life, rooms: Rooms, timeout: float | None) -> None:
    try:
        await rooms.aclose(timeout)
    finally:
        life.state = "closed"


_abandoned: set[asyncio.Task[None]] = set()


def _abandon(life: Life, rooms: Rooms) -> None:
    """Close what a dropped AsyncMemory left behind. Runs on its loop."""
    task = asyncio.get_running_loop().create_task(_close(life, rooms, 0.0))
    _abandoned.add(task)
    task.add_done_callback(_abandoned.discard)
