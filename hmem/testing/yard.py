"""A store and workers on it, in one process: for tests of what workers do to any store."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hmem.config import Config
from hmem.embedding import Embedding
from hmem.events import Events
from hmem.ingest import Call, Intake
from hmem.inputs.messages import Message
from hmem.inputs.scope import Scope
from hmem.process import Processor
from hmem.protocols import Embedder, Job, Store
from hmem.receipts import FINAL
from hmem.testing.fakes import HashEmbedder
from hmem.times import utc_now
from hmem.worker import Worker


class ScriptedEmbedder(HashEmbedder):
    """Awaits `script(texts)` before it embeds. `running` calls now, `busy` at most."""

    def __init__(self, script: Callable[[Sequence[str]], Awaitable[None]]) -> None:
        super().__init__()
        self._script = script
        self.running = self.busy = 0

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        """Raises what the script raises."""
        self.running += 1
        self.busy = max(self.busy, self.running)
        try:
            await self._script(texts)
            return await super().embed(texts, purpose=purpose)
        finally:
            self.running -= 1


class Yard:
    """Puts jobs into a store and workers beside it. `events` are the workers' by name.

    Workers end when `stack` is closed, by giving back what they have in work.
    """

    def __init__(self, config: Config, store: Store, stack: AsyncExitStack) -> None:
        self.config = config
        self.store = store
        self.events: list[str] = []
        self._stack = stack

    async def add(self, user: str, *texts: str) -> str:
        """Accept one job of these turns. Returns its id."""
        intake = Intake(self.config, embedder=HashEmbedder(), clock=utc_now)
        said = tuple(Message(role="user", text=text) for text in texts)
        call = Call(scope=Scope(user_id=user), messages=said)
        accepted = await self.store.accept(user, intake.build(call, queue=True))
        return accepted.job_id

    def worker(self, embedder: Embedder) -> Worker:
        """A worker that does not run yet."""
        embedding = Embedding(self.config, store=self.store, embedder=embedder)
        processor = Processor(
            self.config, store=self.store, embedding=embedding, clock=utc_now
        )
        events = Events(lambda name, _: self.events.append(name))
        return Worker(self.config, store=self.store, processor=processor, events=events)

    async def start(self, embedder: Embedder) -> Worker:
        """A worker that runs."""
        worker = self.worker(embedder)
        task = asyncio.create_task(worker.run())

        async def end() -> None:
            worker.abandon()
            await asyncio.wait_for(task, 5)

        self._stack.push_async_callback(end)
        return worker

    async def job(self, user: str, job_id: str) -> Job:
        """The job as it is."""
        job = await self.store.job(user, job_id)
        assert job is not None
        return job

    async def ended(self, user: str, job_id: str, seconds: float = 10) -> Job:
        """The job once it ended. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while (job := await self.job(user, job_id)).status not in FINAL:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        return job


async def eventually(true: Callable[[], bool], seconds: float = 5) -> None:
    """Until `true()`. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  # anything may make it true
            await asyncio.sleep(0.005)
