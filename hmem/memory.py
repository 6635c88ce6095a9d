"""`AsyncMemory`: the face. It wires the rooms and decides nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime

import anyio.to_thread

from hmem.admin import Admin
from hmem.asking import read_ask, read_count, read_flag, read_max_tokens
from hmem.config import Config
from hmem.inputs.deadline import deadline, read_timeout
from hmem.inputs.scope import read_id, scope_of
from hmem.paging import MAX_LIMIT, read_kind, read_page
from hmem.protocols import LLM, Clock, Embedder, MemoryRow, Reranker, Store
from hmem.rank import Ask
from hmem.receipts import Receipt
from hmem.records import (
    Block,
    Category,
    Episode,
    Erased,
    HistoryEvent,
    Kind,
    MemoryRecord,
    Page,
    SearchResult,
)
from hmem.running.opening import Opening
from hmem.saying import read_call
from hmem.scoped import Scoped
from hmem.times import utc_now
from hmem.views import episode_record, memory_record

Time = datetime | date | str
During = str | date | tuple[Time, Time]
_LATE = "the timeout ran out before the answer was there"
_LEAST_HITS, _TOKENS_PER_HIT = 64, 8


class AsyncMemory(Opening):
    """Durable, dated memory per user, for asyncio.

        async with AsyncMemory(Config(path="memories")) as mem:
            receipt = await mem.add("I moved to Ghent", user_id="maya")
            found = await mem.search("where does Maya live?", user_id="maya")

    The constructor does no I/O; `config=None` reads the environment. A store that is
    handed in is opened and closed with the memory; an embedder, llm or reranker stays the
    caller's to close. One object serves any number of tasks of one event loop.

    All verbs raise NotOpenError, ClosedError, ForkedError or WrongLoopError when they are
    called at the wrong moment or place, and InputErrors before anything is written.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        store: Store | None = None,
        llm: LLM | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            Config.from_env() if config is None else config,
            store=store,
            embedder=embedder,
            clock=clock or utc_now,
        )
        self.llm = llm
        self.reranker = reranker

    # ------------------------------------------------------------------- writing

    async def add(
        self,
        messages: object,
        *,
        user_id: object,
        agent_id: object = None,
        session_id: object = None,
        observed_at: Time | None = None,
        infer: bool = True,
        metadata: object = None,
        idempotency_key: str | None = None,
        wait: bool = False,
        timeout: float | None = None,
    ) -> Receipt:
        """Make messages durable and return; what is left to do is queued.

        `messages`: see `hmem.inputs.messages`; with `infer=False` finished facts, see
        `hmem.inputs.items`. `observed_at` is when it was said (default: now), of a message
        with its own `timestamp` that.

        A list with a `session_id` that repeats what the session already holds adds only
        what is new: by message ids, else where it begins with the session's turns or with
        its last ones (give ids where histories are edited). With an `idempotency_key` the
        same call sent again gives the first one's receipt; another call raises
        IdempotencyError.

        When nothing is left to store (system messages, blanks) nothing is written: the
        receipt is done, its result says why in `skipped`, and its id is "". `wait=True`
        returns once the job ended; then a DeadlineError leaves it going on.
        """
        read_flag(wait, "wait")
        await self._enter()
        rooms = self._rooms
        call, skipped = read_call(
            messages,
            scope=scope_of(user_id=user_id, agent_id=agent_id, session_id=session_id),
            config=self.config,
            observed_at=observed_at,
            infer=infer,
            metadata=metadata,
            key=idempotency_key,
        )
        with deadline(timeout, "the timeout ran out; what was accepted goes on"):
            with self._life.call():
                receipt = await rooms.accept(call, skipped)
            if wait:
                await receipt
        return receipt

    async def update(
        self,
        id: str,
        *,
        user_id: object,
        text: str,
        metadata: object = None,
        observed_at: Time | None = None,
        timeout: float | None = None,
    ) -> MemoryRecord:
        """Replace an open memory's text: a new memory supersedes it and keeps its other
        fields (`metadata`, where given, replaces the old). The old one stays as history,
        believed until `observed_at` (default: now; BadTimeError before the old one).

        Raises InputError when the id is not an open memory of the user (a turn never is),
        and EmbedderError, with nothing changed, when its vector cannot be had.
        """
        user = read_id(user_id, "user_id")
        late = "the timeout ran out; the update may still come about"
        with self._life.call(), deadline(timeout, late):
            editor = self._rooms.editor
            return await editor.update(
                user, id, text=text, metadata=metadata, observed_at=observed_at
            )

    async def delete(
        self, id: str, *, user_id: object, observed_at: Time | None = None
    ) -> bool:
        """Close a memory: it is no longer believed from `observed_at` on (default: now;
        BadTimeError before the memory), and stays as history.

        False when there is nothing to close: an unknown id, another user's, a memory that
        is closed already, and a turn (what was said stays said; `delete_user` erases).
        """
        user = read_id(user_id, "user_id")
        with self._life.call():
            editor = self._rooms.editor
            return await editor.delete(user, id, observed_at=observed_at)

    async def delete_user(self, user_id: object) -> Erased:
        """Destroy all that is stored of a user, in every file. Others are untouched."""
        user = read_id(user_id, "user_id")
        with self._life.call():
            return await self._rooms.erase(user)

    async def receipt(self, id: str, *, user_id: object) -> Receipt:
        """The receipt of an earlier `add`, also of another process or before a restart.

        Raises InputError, one and the same for an unknown id, another user's, and one past
        `Config.receipt_days`.
        """
        user = read_id(user_id, "user_id")
        with self._life.call():
            return await self._rooms.find_receipt(id, user)

    async def flush(self, *, timeout: float | None = None) -> None:
        """Wait until all that this process accepted before has ended, well or not.

        With `worker="off"` some other process has to do the work. Raises DeadlineError.
        """
        rooms = self._rooms
        with deadline(timeout, "accepted jobs are still queued; they go on"):
            await rooms.flush()

    # ------------------------------------------------------------------- reading

    async def search(
        self,
        query: str,
        *,
        user_id: object,
        k: int = 10,
        vector: Sequence[float] | None = None,
        agent_id: object = None,
        session_id: object = None,
        category: Category | None = None,
        asked_at: Time | None = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        min_score: float | None = None,
        explain: bool = False,
        timeout: float | None = None,
    ) -> SearchResult:
        """The `k` best memories and turns (capped at `Config.max_k`; 0 finds nothing).

        `vector` is the query's, for callers with their own. `agent_id`, `session_id`,
        `category` and `kinds` ("memory", "turn") filter, `during` by when it happened.
        `asked_at` is the moment of the question (default: now), `as_of` shows what was
        believed at an observed time, `known_at` what the database held at a wall time; a
        date means its end. `min_score` is on the scale of `Hit.score`, 0..1. `explain`
        fills `Hit.explain`. An embedder that is missing or slow only degrades the result,
        which says so; `timeout` raises DeadlineError.
        """
        await self._enter()
        ask = read_ask(
            query,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            k=read_count(k, "k", least=0, most=self.config.max_k),
            config=self.config,
            clock=self._clock,
            vector=vector,
            category=category,
            asked_at=asked_at,
            as_of=as_of,
            known_at=known_at,
            during=during,
            kinds=kinds,
            min_score=min_score,
            explain=explain,
        )
        return await self._search(ask, user_id, timeout)

    async def context(
        self,
        query: str,
        *,
        user_id: object,
        max_tokens: int | None = None,
        vector: Sequence[float] | None = None,
        agent_id: object = None,
        session_id: object = None,
        category: Category | None = None,
        asked_at: Time | None = None,
        as_of: Time | None = None,
        known_at: Time | None = None,
        during: During | None = None,
        kinds: Kind | Iterable[Kind] | None = None,
        min_score: float | None = None,
        timeout: float | None = None,
    ) -> Block:
        """A prompt block of at most `max_tokens` tokens (default
        `Config.context_tokens`): `search` with enough hits to fill it, rendered."""
        cap = read_max_tokens(max_tokens, self.config)
        await self._enter()
        ask = read_ask(
            query,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            k=min(self.config.max_k, max(_LEAST_HITS, cap // _TOKENS_PER_HIT)),
            config=self.config,
            clock=self._clock,
            vector=vector,
            category=category,
            asked_at=asked_at,
            as_of=as_of,
            known_at=known_at,
            during=during,
            kinds=kinds,
            min_score=min_score,
        )
        result = await self._search(ask, user_id, timeout)
        # Counting a line's tokens costs 20-100 us the first time: not on the loop.
        return await anyio.to_thread.run_sync(lambda: result.block(max_tokens=cap))

    async def get(self, id: str, *, user_id: object) -> MemoryRecord | Episode | None:
        """A memory (closed ones too) or a turn by its id; None for an unknown id and for
        another user's."""
        user = read_id(user_id, "user_id")
        with self._life.call():
            rooms = self._rooms
            row = await rooms.editor.row(user, id)
            if row is None:
                return None
            if isinstance(row, MemoryRow):
                return memory_record(user, row)
            pending = row.job in await rooms.pending(user)
            return episode_record(user, row, pending=pending)

    async def get_all(
        self,
        *,
        user_id: object,
        limit: int = 100,
        cursor: str | None = None,
        kind: Kind | None = None,
    ) -> Page:
        """A page of open memories, then turns, in the order they were stored.

        `limit` is at least 1 and capped at 1,000. The page's `cursor` fetches the next
        one, for the same user and `kind`; a cursor that was tampered with, or another
        user's, raises InputError.
        """
        user, one = read_id(user_id, "user_id"), read_kind(kind)
        limit = read_count(limit, "limit", least=1, most=MAX_LIMIT)
        with self._life.call():
            rooms = self._rooms
            return await read_page(
                rooms.parts.store,
                user,
                lambda: rooms.pending(user),
                kind=one,
                limit=limit,
                cursor=cursor,
            )

    async def history(self, id: str, *, user_id: object) -> list[HistoryEvent]:
        """What happened to a memory, to those it replaced and to those that replaced it,
        oldest first. Empty for an unknown id, another user's and a turn's."""
        user = read_id(user_id, "user_id")
        with self._life.call():
            return await self._rooms.editor.history(user, id)

    # -------------------------------------------------------------------- others

    def scoped(
        self, *, user_id: object, agent_id: object = None, session_id: object = None
    ) -> Scoped:
        """The same verbs with the scope bound."""
        return Scoped(
            self, scope_of(user_id=user_id, agent_id=agent_id, session_id=session_id)
        )

    @property
    def admin(self) -> Admin:
        """What spans users: `stats()`, `health()`, `queued()`."""
        rooms = self._rooms
        views = rooms.retriever.views
        return Admin(self._life.call, rooms.parts, rooms.worker, views.stats)

    async def _search(
        self, ask: Ask, user_id: object, timeout: float | None
    ) -> SearchResult:
        user, seconds = read_id(user_id, "user_id"), read_timeout(timeout)
        patience = self.config.query_embed_timeout
        if seconds is not None:
            patience = min(patience, seconds / 2)  # late words are better than none
        with self._life.call(), deadline(seconds, _LATE):
            rooms = self._rooms
            await rooms.parts.look(rooms.adopt)
            result = await rooms.retriever.search(user, ask, embed_timeout=patience)
        degraded = (*rooms.parts.degraded, *result.degraded)
        if not degraded:
            return result
        rooms.events("search_degraded", reasons=degraded)
        return replace(result, degraded=degraded)
