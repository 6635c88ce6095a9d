"""One user among many in one shard, and the rooms of an open memory one by one."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks_perf.inside import connection, file_of, hop
from benchmarks_perf.people import DIM, Writer, crowd, person, plant, vectors
from hmem import AsyncMemory, Config
from hmem.asking import read_ask
from hmem.config import WorkerMode
from hmem.rank import Ask
from hmem.records import SearchResult
from hmem.retrieve import Retriever
from hmem.stores.connection import ShardConnection
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder
from hmem.times import utc_now
from hmem.views import View

ME = "orla"
K = 10
FACTS, TURNS = 200, 400
OTHERS = (20, 40)
"""Facts and turns of each of the others: filling 4,000 of them must stay quick."""
_UNSET: dict[str, Any] = dict.fromkeys(
    (
        *("agent_id", "session_id", "category", "asked_at", "as_of", "known_at"),
        *("during", "kinds", "min_score", "filters"),
    )
)


@dataclass(frozen=True, slots=True)
class House:
    """An open memory whose one shard holds the measured user among `others`. `retriever`
    works on the same store, so that a search can be taken apart."""

    mem: AsyncMemory
    store: EmbeddedStore
    retriever: Retriever
    reader: ShardConnection
    others: int
    filled_s: float

    async def view(self) -> View:
        """The measured user's view, up to date."""
        view = await self.retriever.views.read(ME, lambda view: view)
        assert view is not None
        return view

    async def search(self, ask: Ask) -> SearchResult:
        """Through the public face, with the question's vector."""
        vector: Any = ask.vector
        return await self.mem.search(ask.query, user_id=ME, vector=vector, k=ask.k)

    async def hop(self) -> None:
        """One hop to the thread that serves this store's reads, doing nothing there."""
        await hop(self.reader)

    @property
    def path(self) -> Path:
        """The shard's file."""
        return file_of(self.mem.config.folder)


async def fill(folder: Path, others: int) -> float:
    """Make the store; returns how long it took. Half of the others come before the
    measured user. Filled at durability="normal", which is no part of what is measured."""
    began = time.perf_counter()
    store = EmbeddedStore(Config(path=folder, shards=1, durability="normal"))
    await store.open()
    space = await store.adopt_space(HashEmbedder(DIM).model, DIM)
    facts, turns = OTHERS
    await crowd(store, range(others // 2), facts=facts, turns=turns, space=space)
    await plant(store, ME, person(1, facts=FACTS, turns=TURNS), space=space)
    await crowd(
        store, range(others // 2, others), facts=facts, turns=turns, space=space
    )
    await store.aclose()
    return round(time.perf_counter() - began, 1)


async def open_house(folder: Path, others: int, *, worker: WorkerMode = "off") -> House:
    """Fill a store, and open a memory on it."""
    filled = await fill(folder, others)
    config = Config(path=folder, worker=worker)
    store, embedder = EmbeddedStore(config), HashEmbedder(DIM)
    mem = await AsyncMemory(config, store=store, embedder=embedder).open()
    retriever = Retriever(config=config, store=store, embedder=embedder)
    retriever.use_space(await store.space())
    reader = await connection(store, write=False)
    return House(mem, store, retriever, reader, others, filled)


def questions(n: int) -> list[Ask]:
    """Validated questions with their vectors."""
    writer, asked = Writer(5), vectors(6, n)
    asks = [read(writer.question(), asked[i]) for i in range(n)]
    return [replace(ask, vector=asked[i]) for i, ask in enumerate(asks)]


def read(query: str, vector: Any) -> Ask:
    """What a search makes of its arguments."""
    given = _UNSET | {"vector": vector, "user_id": ME}
    return read_ask(query, k=K, config=_CONFIG, clock=utc_now, **given)


_CONFIG = Config()
