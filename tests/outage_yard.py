"""A memory whose models are behind real endpoints, under a clock that the test moves."""

import asyncio
import email.utils
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hmem import AsyncMemory, Config
from hmem.chat.remote import RemoteLLM
from hmem.protocols import Completion, Embedder, Job
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.chat_endpoint import ChatEndpoint
from hmem.testing.door import Door
from hmem.testing.fakes import FrozenClock, HashEmbedder
from hmem.testing.llms import fact, facts
from hmem.testing.loopback import Answer
from hmem.testing.yard import eventually

_QUIET = 0.015


class CountedLLM(RemoteLLM):
    """Says how often it was asked and tried, also where no endpoint could count."""

    asked = probed = busy = 0

    async def complete(self, *args: Any, **kwargs: Any) -> Completion:
        self.asked += 1
        self.busy += 1
        try:
            return await super().complete(*args, **kwargs)
        finally:
            self.busy -= 1

    async def probe(self) -> bool:
        self.probed += 1
        self.busy += 1
        try:
            return await super().probe()
        finally:
            self.busy -= 1


class Place:
    """A memory, its clock and what it told. Time passes when the test says so."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.clock = FrozenClock()
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self._stack = stack
        self.config = Config(
            path=folder,
            shards=2,
            durability="normal",
            mode="append",
            lease=3_600,  # the clock leaps, and leases are renewed in real time
            llm="any",
            llm_timeout=0.5,
            on_event=lambda name, data: self.told.append((name, data)),
        )

    async def memory(
        self, llm: RemoteLLM, *, embedder: Embedder | None = None, **changes: Any
    ) -> AsyncMemory:
        config = replace(self.config, **changes)
        mem = AsyncMemory(
            config,
            store=EmbeddedStore(config, clock=self.clock),
            llm=llm,
            embedder=embedder or HashEmbedder(),
            clock=self.clock,
        )
        await mem.open()
        self._stack.push_async_callback(llm.aclose)
        self._stack.push_async_callback(mem.aclose, timeout=0.0)
        return mem

    async def door(self, endpoint: ChatEndpoint) -> Door:
        return await self._stack.enter_async_context(Door(endpoint.url))

    def count(self, name: str) -> int:
        """How often an event was told."""
        return sum(name == one for one, _ in self.told)

    async def passes(
        self,
        seconds: float,
        *,
        llm: CountedLLM,
        step: float = 20.0,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Let time pass in steps; after each what is due is done."""
        for _ in range(round(seconds / step)):
            if over():
                return
            self.clock.advance(step)
            await asyncio.sleep(_QUIET)
            await eventually(lambda: llm.busy == 0, 10)

    async def waits(self, mem: AsyncMemory, user: str, job_id: str) -> None:
        """The job is queued, and no attempt was counted. Claims are out for moments."""
        async with asyncio.timeout(5):
            while (job := await self.job(mem, user, job_id)).status == "running":  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        assert (job.status, job.attempts) == ("queued", 0)

    async def job(self, mem: AsyncMemory, user: str, job_id: str) -> Job:
        job = await mem._rooms.parts.store.job(user, job_id)
        assert job is not None
        return job


@pytest.fixture(scope="module")
def running() -> Iterator[ChatEndpoint]:
    with ChatEndpoint(facts(fact("Somebody keeps bees in Ghent"))) as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(running: ChatEndpoint) -> ChatEndpoint:
    running.reset()
    return running


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        yield Place(tmp_path / "m", stack)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses in real time of milliseconds; those of the clock are as they are."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr("hmem.stores.wakeups.POLL", 0.002)
    monkeypatch.setattr("hmem.chat.remote._PROBE", 0.1)


def busy(status: int, after: Callable[[], str] | None = None) -> Answer:
    """An answer of a server that has too much to do."""
    return lambda _: ChatEndpoint.fault(
        status, **({} if after is None else {"retry_after": after()})
    )


def http_date() -> str:
    return email.utils.formatdate(time.time() + 30, usegmt=True)


def broken(endpoint: ChatEndpoint, fault: str) -> Answer:
    answers: dict[str, Answer] = {
        "refused": endpoint.well,
        "503": busy(503),
        "429, seconds": busy(429, lambda: "30"),
        "429, date": busy(429, http_date),
        "drips": endpoint.drip(0.02),
        "hangs": endpoint.hang,
    }
    return answers[fault]
