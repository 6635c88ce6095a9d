"""A worker as a process of its own: `hmem worker`, `run_worker`."""

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Protocol

import anyio

from hmem.config import Config
from hmem.events import Events
from hmem.inputs.settings import read_settings
from hmem.parts import Parts
from hmem.protocols import Clock
from hmem.retrieve import Retriever
from hmem.times import utc_now
from hmem.worker import Worker

log = logging.getLogger("hmem.worker")


class Stop(Protocol):
    """An event to wait for: anyio's or asyncio's."""

    async def wait(self) -> object:
        """Until it is set."""
        ...


async def run_worker(
    config: Config, *, stop: Stop | None = None, clock: Clock = utc_now
) -> None:
    """Work on a data folder until `stop`, or without one until SIGTERM or SIGINT.

    Then what is in work is given back at once, to be claimed by others. Raises what
    opening raises; EmbeddingSpaceError when the folder's model is not here.
    """
    config = read_settings(config)
    parts = await Parts.open(config)
    try:
        if not parts.works:
            log.warning("there is no model here: jobs are left to other workers")
        events = Events(config.on_event)
        retriever = Retriever(config=config, store=parts.store, embedder=parts.embedder)
        retriever.use_space(parts.space)
        processor = parts.processor(
            config,
            retriever=retriever,
            clock=clock,
            events=events,
            on_space=retriever.use_space,
        )
        worker = Worker(config, store=parts.store, processor=processor, events=events)
        with _signals() if stop is None else nullcontext(stop) as end:
            async with anyio.create_task_group() as group:
                if parts.works:
                    group.start_soon(worker.run)
                await end.wait()
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await parts.aclose()


@contextmanager
def _signals() -> Iterator[Stop]:
    """An event that SIGTERM and SIGINT set."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    try:
        yield stop
    finally:
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(signum)
