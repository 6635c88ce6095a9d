"""The face's reading verbs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio.to_thread

from hmem.asking import (
    load_times,
    read_ask,
    speaks_of_time,
    times_loaded,
)
from hmem.inputs.counts import read_count, read_max_tokens
from hmem.inputs.deadline import deadline, read_timeout
from hmem.inputs.scope import read_id
from hmem.protocols import MemoryRow
from hmem.rank import Ask
from hmem.records import (
    Block,
    Category,
    Episode,
    HistoryEvent,
    Kind,
    MemoryRecord,
    SearchResult,
)
from hmem.running.listing import Listing
from hmem.times import During, Time
from hmem.views import episode_record, memory_record

_LATE = "the timeout ran out before the answer was there"
_LEAST_HITS, _TOKENS_PER_HIT = 64, 8


class Reading(Listing):
    """What can be asked of an open memory. Nothing here writes."""

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
        filters: Mapping[str, Any] | None = None,
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
        `category` and `kinds` ("memory", "turn") filter, `during` by when it happened,
        `filters` by labels and metadata: see `hmem.filters` and `hmem.filters.rows`.
        `asked_at` is the moment of the question (default: now), `as_of` shows what was
        believed at an observed time, `known_at` what the database held at a wall time; a
        date means its end. "Last week" in the question is against `asked_at`, else `as_of`. `min_score` is on the scale of `Hit.score`, 0..1. `explain`
        fills `Hit.explain`. An embedder that is missing or slow only degrades the result,
        which says so; `timeout` raises DeadlineError.
        """
        await self._enter()
        await self._grammar(query)
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
            filters=filters,
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
        filters: Mapping[str, Any] | None = None,
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
        await self._grammar(query)
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
            filters=filters,
            asked_at=asked_at,
            as_of=as_of,
            known_at=known_at,
            during=during,
            kinds=kinds,
            min_score=min_score,
        )
        result = await self._search(ask, user_id, timeout)
        # Counting a line's tokens costs 20-100 us the first time: not on the loop.
        block = await anyio.to_thread.run_sync(lambda: result.block(max_tokens=cap))
        return replace(
            block,
            degraded=result.degraded,
            answerability=result.answerability,
        )

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

    async def history(self, id: str, *, user_id: object) -> list[HistoryEvent]:
        """What happened to a memory, to those it replaced and to those that replaced it,
        oldest first. Empty for an unknown id, another user's and a turn's."""
        user = read_id(user_id, "user_id")
        with self._life.call():
            return await self._rooms.editor.history(user, id)

    async def _grammar(self, query: str) -> None:
        """What reads the times of a question is there. The first one waits for it."""
        languages = self.config.languages
        if not times_loaded(languages) and speaks_of_time(query, languages):
            async with self._loading:
                await load_times(languages)

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
        reasons = tuple(dict.fromkeys(why.partition(":")[0] for why in degraded))
        rooms.events("search_degraded", reasons=reasons)
        return replace(result, degraded=degraded)
