"""Vectors for what was stored when no embedder was there.

A turn that is accepted without an embedder leaves no job behind. A search that meets such
passages notes their user; one task embeds one user at a time, in slices that are committed
each, and lets the jobs of what is new go first. Nobody waits for it.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import anyio
import anyio.lowlevel

from hmem.breaker import backoff
from hmem.config import Config
from hmem.embedding import Embedding, Passage
from hmem.errors import EmbeddingSpaceError, LifecycleError, StoreError
from hmem.ingest import fact_texts, turn_texts
from hmem.protocols import Clock, MemoryRow, Space, Store, TurnRow, WritePlan
from hmem.records import Kind
from hmem.retrieve import Lacking, Retriever
from hmem.setbacks import Outage, Retry
from hmem.times import to_micros
from hmem.views import View

log = logging.getLogger("hmem.backfill")
SLICE = 128
"""Passages per call of the embedder and per commit: what closing in the middle may lose."""
_NOTED = 1_000
"""Users that wait at most; a later search notes the others again."""
_REMEMBERED = 20_000
"""Refused passages, and users who have some, that are remembered."""
_BASE, _CAP = 0.5, 60.0
_GIVES_WAY = 1.0
"""Seconds that a slice waits for jobs in work: under steady load it goes on all the same."""

_Key = tuple[int, Kind, int, int]
"""A passage: incarnation (never given twice), kind, sequence, part."""


class Busy(Protocol):
    """What is asked of the worker beside which this runs."""

    @property
    def busy(self) -> bool:
        """Whether it has jobs in work."""
        ...

    @property
    def stuck(self) -> bool:
        """Whether it gets nowhere for now: the embedder or the store is down."""
        ...


class _Slice(NamedTuple):
    """The next passages of a user that have no vector."""

    incarnation: int
    passages: list[Passage]
    lacking: int


class Backfill:
    """Embeds noted users' passages that have no vector, until `stop`."""

    def __init__(
        self,
        config: Config,
        *,
        store: Store,
        retriever: Retriever,
        embedding: Embedding,
        worker: Busy,
        clock: Clock,
        on_space: Callable[[Space], None],
    ) -> None:
        self._config = config
        self._store = store
        self._retriever = retriever
        self._embedding = embedding
        self._worker = worker
        self._clock = clock
        self._on_space = on_space
        self._due: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._refused: dict[_Key, None] = {}
        self._settled: dict[str, Lacking] = {}
        self._noted = anyio.Event()
        self._scope = anyio.CancelScope()
        self._over = False

    def note(self, user_id: str, lacking: Lacking) -> None:
        """This user lacks vectors. Costs nothing when that is known, and nothing is done
        about passages that were refused before."""
        if self._over or user_id in self._due or len(self._due) >= _NOTED:
            return
        if self._settled.get(user_id) != lacking:
            self._due[user_id] = anyio.current_time()
            self._noted.set()

    def stop(self) -> None:
        """End `run`; a slice that is being embedded is lost, one being stored is not."""
        self._over = True
        self._scope.cancel()

    async def run(self) -> None:
        """Work until `stop`, or until the store turns out to be another model's."""
        with self._scope:
            while not self._over:
                user_id = await self._next()
                if user_id is not None:
                    await self._try(user_id)

    async def _next(self) -> str | None:
        """A user whose time has come, None after waiting for one."""
        now = anyio.current_time()
        for user_id, due in self._due.items():
            if due <= now:
                return user_id
        self._noted = anyio.Event()
        with anyio.move_on_after(min(self._due.values(), default=now + 60.0) - now):
            await self._noted.wait()
        return None

    async def _try(self, user_id: str) -> None:
        """One user; what fails is tried later, each time later than before."""
        try:
            filled = await self._fill(user_id)
        except (LifecycleError, EmbeddingSpaceError) as e:
            self._over = True  # the worker tells what is to be done
            log.info("vectors are no longer filled in: %s", e)
        except (Outage, Retry, StoreError) as e:
            log.info("vectors are filled in later: %s", e)
            self._later(user_id)
        except Exception as e:  # noqa: BLE001  # a part that was brought, or a bug of ours
            log.error("filling in vectors failed with %s", type(e).__name__)
            self._later(user_id)
        else:
            self._due.pop(user_id, None)
            self._failures.pop(user_id, None)
            if filled:
                log.info("%s passages of a user had no vector and have one now", filled)

    def _later(self, user_id: str) -> None:
        failures = self._failures[user_id] = self._failures.get(user_id, 0) + 1
        pause = backoff(failures, base=_BASE, cap=_CAP)
        del self._due[user_id]  # behind those who wait
        self._due[user_id] = anyio.current_time() + pause

    # ------------------------------------------------------------------ one user

    async def _fill(self, user_id: str) -> int:
        """Give all passages a vector that can have one; returns how many got one."""
        tried: set[_Key] = set()
        filled = 0
        while True:
            await self._give_way()
            found = await self._look(user_id, tried)
            if found is None:
                return filled
            if not found.passages:
                self._settle(user_id, found)
                return filled
            done = await self._embed(user_id, found)
            if done is None:
                log.debug("a user was erased while vectors were filled in")
                return filled
            filled += done
            tried.update(_keys(found.incarnation, found.passages))

    async def _give_way(self) -> None:
        """Until no jobs are in work, for a moment; as long as the worker is stuck."""
        await anyio.lowlevel.checkpoint()
        with anyio.move_on_after(_GIVES_WAY):
            while self._worker.busy:  # noqa: ASYNC110  # many causes, a second at most
                await anyio.sleep(0.01)
        while self._worker.stuck:  # noqa: ASYNC110
            await anyio.sleep(0.1)

    async def _look(self, user_id: str, tried: set[_Key]) -> _Slice | None:
        """The next slice as of now; None when nothing of the user is stored."""
        if self._retriever.views.space is None:
            space = await self._store.space()
            if space is not None:  # another process was first
                self._on_space(space)
        return await self._retriever.views.read(user_id, _Look(self, tried))

    async def _embed(self, user_id: str, found: _Slice) -> int | None:
        """Embed and store a slice: how many vectors. None: the user was erased."""
        last = self._failures.get(user_id, 0) + 1 >= self._config.max_attempts
        work = await self._embedding.embed(found.passages, last=last)
        if work.codes:
            plan = WritePlan(
                at=to_micros(self._clock()),
                ops=self._embedding.puts(found.passages, work),
                incarnation=found.incarnation,
            )
            with anyio.CancelScope(shield=True):
                applied = await self._store.apply(user_id, plan)
            if applied.refused is not None:
                return None
        self._refuse(
            found.incarnation,
            [p for n, p in enumerate(found.passages) if n not in work.codes],
        )
        return len(work.codes)

    def _refuse(self, incarnation: int, passages: list[Passage]) -> None:
        self._refused.update(dict.fromkeys(_keys(incarnation, passages)))
        _forget_oldest(self._refused)

    def _settle(self, user_id: str, found: _Slice) -> None:
        """What is left has been refused: the same number again is no news."""
        self._settled.pop(user_id, None)
        if found.lacking:
            self._settled[user_id] = Lacking(found.incarnation, found.lacking)
            _forget_oldest(self._settled)

    def slice_of(self, view: View, tried: set[_Key]) -> _Slice:
        """The view's next passages that lack a vector and were not refused."""
        incarnation = view.mark.incarnation if view.mark else 0
        passages: list[Passage] = []
        lacking = 0
        kinds: tuple[Kind, ...] = ("turn", "memory")
        for kind in kinds:
            docs = view.unembedded(kind)
            lacking += len(docs)
            for passage in self._passages(view, kind, docs.tolist()):
                key = (incarnation, kind, passage.seq, passage.part)
                if len(passages) == SLICE:
                    break
                if key not in tried and key not in self._refused:
                    passages.append(passage)
        return _Slice(incarnation, passages, lacking)

    def _passages(self, view: View, kind: Kind, docs: list[int]) -> Iterable[Passage]:
        """Passages of docs as jobs would embed them; lazily, each row cut once."""
        table = view.table(kind)
        at, texts = -1, [""]
        for doc in docs:
            row: TurnRow | MemoryRow = table.rows[int(table.doc_row.view[doc])]
            if int(table.doc_row.view[doc]) != at:
                at = int(table.doc_row.view[doc])
                texts = (
                    turn_texts(row, self._config.zone)
                    if isinstance(row, TurnRow)
                    else fact_texts(row)
                )
            part = doc - int(table.first_doc.view[at])
            yield Passage(kind, row.seq, part, texts[part])


def _keys(incarnation: int, passages: Iterable[Passage]) -> list[_Key]:
    return [(incarnation, p.kind, p.seq, p.part) for p in passages]


def _forget_oldest(remembered: dict[Any, Any]) -> None:
    while len(remembered) > _REMEMBERED:
        del remembered[next(iter(remembered))]


class _Look:
    """Takes a slice from a view; called where nothing else touches the view."""

    def __init__(self, backfill: Backfill, tried: set[_Key]) -> None:
        self._backfill = backfill
        self._tried = tried

    def __call__(self, view: View) -> _Slice:
        return self._backfill.slice_of(view, self._tried)
