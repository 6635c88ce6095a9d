"""READ PATH: embed the question, bring the view up to date, rank, have the best read again
where there is a reranker, hand out hits."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import anyio
import numpy as np

from hmem.breaker import Rest
from hmem.config import Config
from hmem.embed.checks import embed
from hmem.errors import EmbedderError
from hmem.inputs.counts import read_max_tokens
from hmem.protocols import Embedder, KnowsWords, Reranker, Space, Store
from hmem.rank import Ask, Found, rank_and_judge
from hmem.rank.replaced import replaced
from hmem.records import (
    Block,
    Episode,
    Hit,
    MemoryRecord,
    NearMiss,
    SearchResult,
)
from hmem.render import lines_of, pack_under, styled
from hmem.reranking import SecondLook
from hmem.scoring import Floats, Weights
from hmem.times import from_micros
from hmem.vectors import index
from hmem.vectors.units import unit_query
from hmem.views import View, ViewCache

if TYPE_CHECKING:
    from hmem.filters.rows import RowFilter

log = logging.getLogger("hmem.retrieve")

FILTERED = 10
"""What a filter takes for a row, as a multiple of a search: 2 to 4 microseconds."""

_SHORTEST, _LONGEST = 0.5, 10.0
"""Seconds for which an embedder that kept a search waiting is left alone."""
_MOMENT = 0.005
MANY_TERMS = 16
"""So many words of a question take a search's time once more."""
LEAST_KNOWN = 0.5
"""The share of a question that its embedder must know. One that knows less takes all such
questions for the same, and for much like every text it cannot read: with MiniLM, 83 of
548 questions in 20 scripts did not find the row that holds their word among the best
three, with this none (`bench.planted`)."""


class Lacking(NamedTuple):
    """How many of a user's passages have no vector, and no job that will give one."""

    incarnation: int
    passages: int


class _Read(NamedTuple):
    """What one look at a view gave. `passages` says of each hit where its row's passages
    end and which one it shows; `answerability` and `near_misses` are a SearchResult's."""

    hits: tuple[Hit, ...]
    passages: tuple[tuple[tuple[int, ...], int], ...]
    pending: int
    lacking: Lacking
    unknown: tuple[str, ...]
    answerability: float
    near_misses: tuple[NearMiss, ...]


class Retriever:
    """Answers searches of all users from cached views."""

    def __init__(
        self,
        *,
        config: Config,
        store: Store,
        embedder: Embedder | None,
        reranker: Reranker | None = None,
        weights: Weights | None = None,
        on_lacking: Callable[[str, Lacking], None] = lambda _user_id, _lacking: None,
    ) -> None:
        self._on_lacking = on_lacking
        self._store = store
        self._config = config
        self._embedder = embedder
        self._rest = Rest(base=_SHORTEST, cap=_LONGEST)
        self._words: KnowsWords | None = None
        if embedder is not None and isinstance(embedder, KnowsWords):
            self._words = embedder
        self._again = (
            SecondLook(
                reranker=reranker,
                candidates=config.rerank_candidates,
                timeout=config.rerank_timeout,
                zone=config.zone,
            )
            if reranker is not None
            else None
        )
        self.weights = weights or Weights(fusion=config.fusion)
        self.views = ViewCache(
            store,
            lambda dim: index(config.vectors, dim),
            max_bytes=config.view_cache_bytes,
        )

    def use_space(self, space: Space | None) -> None:
        """Search vectors of this space from now on."""
        if space != self.views.space:
            self.views.space = space
            self.views.clear()

    def forget(self, user_id: str) -> None:
        """Drop what is held of a user."""
        self.views.forget(user_id)

    async def search(
        self, user_id: str, ask: Ask, *, embed_timeout: float | None = None
    ) -> SearchResult:
        """Rank the user's rows. Raises BadVectorError; an embedder or a reranker that is
        missing or late only degrades the search, and the result names it."""
        query, degraded = await self._query_vector(ask, embed_timeout)
        weights = self.weights
        again = self._again if weights.rerank else None
        look = _Look(again.first(ask) if again else ask, query, weights)
        weight = (FILTERED if ask.keep else 1) + len(ask.terms) // MANY_TERMS
        read = await self.views.read(user_id, look, weight=weight) if ask.k else None
        hits = read.hits if read else ()
        passages = read.passages if read else ()
        if read and read.lacking.passages:
            if query is not None:
                degraded += ("not_all_embedded",)
            if query is not None or self.views.space is None:
                self._on_lacking(user_id, read.lacking)
        degraded += read.unknown if read else ()

        if again and read:
            looked = await again(ask, hits, passages, share=weights.rerank)
            hits, passages = looked.hits, looked.beside
            degraded += (looked.why,) if looked.why else ()

        head = await self._profile(user_id, ask)

        def render(max_tokens: int | None) -> Block:
            cap = read_max_tokens(max_tokens, self._config)
            zone = self._config.zone
            lines = lines_of(hits, passages, zone)
            ordered, style = styled(
                lines, hits, query=ask.query, terms=ask.terms, weights=weights
            )
            return pack_under(head, ordered, max_tokens=cap, style=style)

        return SearchResult(
            hits=hits,
            pending=read.pending if read else 0,
            degraded=degraded,
            answerability=_answerability(ask, read),
            near_misses=read.near_misses if read else (),
            asked_at=from_micros(ask.asked_at),
            render=render,
        )

    async def _profile(self, user_id: str, ask: Ask) -> str:
        """The user's profile, "" where none is kept. It is of all that is believed today: a
        question that may see less does not get it."""
        if not self._config.profile or not ask.sees_all:
            return ""
        profile = await self._store.profile(user_id)
        return "" if profile is None else profile.text

    async def _query_vector(
        self, ask: Ask, embed_timeout: float | None
    ) -> tuple[Floats | None, tuple[str, ...]]:
        space = self.views.space
        if ask.vector is not None:
            return _given(ask.vector, space), () if space else ("lexical_only",)
        if space is None or self._embedder is None or not ask.k:
            return None, ("lexical_only",) if ask.k else ()
        if self._embedder.model != space.model:
            return None, ("other_embedding_space",)
        if self._words is not None and self._words.known(ask.query) < LEAST_KNOWN:
            return None, ("query_unread",)
        vector, why = await self._embedded(self._embedder, ask.query, embed_timeout)
        if vector is not None and len(vector) != space.dim:
            return None, ("other_embedding_space",)
        return vector, (why,) if why else ()

    async def _embedded(
        self, embedder: Embedder, query: str, timeout: float | None
    ) -> tuple[Floats | None, str]:
        """The query's vector, or why there is none. What kept a search waiting for as long
        as it may is given a moment only, for a while: what is remembered is there at
        once."""
        patience = self._config.query_embed_timeout
        limit, resting = timeout or patience, self._rest.lasts
        try:
            with anyio.fail_after(min(limit, _MOMENT) if resting else limit):
                vectors = await embed(embedder, [query], purpose="query")
        except TimeoutError:
            if not resting and limit >= patience:  # else the caller was in a hurry
                self._rest.failed("embedder_timeout")
            return None, "embedder_timeout"
        except EmbedderError as e:
            log.warning("searching by words alone: %s", e)
            return None, "embedder_failed"
        if not resting:
            self._rest.worked()
        return vectors[0], ""


class _Look:
    """One search on one view; called where nothing else touches the view."""

    __slots__ = ("_ask", "_query", "_weights")

    def __init__(self, ask: Ask, query: Floats | None, weights: Weights) -> None:
        self._ask = ask
        self._query = query
        self._weights = weights

    def __call__(self, view: View) -> _Read:
        found, judged = rank_and_judge(view, self._ask, self._query, self._weights)
        pending = 0
        if view.pending:
            pending = int(np.count_nonzero(view.waiting))
        older = replaced(view, self._ask)
        passages = tuple(view.table(one.kind).passage(one.doc) for one in found)
        hits = {
            (one.kind, one.at): _hit(view, one, passage, older)
            for one, passage in zip(found, passages, strict=True)
        }
        near: list[NearMiss] = []
        for one, lacks in judged.near:
            hit = hits.get((one.kind, one.at))
            if hit is None:
                passage = view.table(one.kind).passage(one.doc)
                hit = _hit(view, one, passage, older)
            near.append(NearMiss(hit=hit, lacks=lacks))
        return _Read(
            hits=tuple(hits.values()),
            passages=passages,
            pending=pending,
            lacking=lacking(view),
            unknown=unknown_keys(view, self._ask.keep),
            answerability=judged.answerability,
            near_misses=tuple(near),
        )


def _answerability(ask: Ask, read: _Read | None) -> float | None:
    """None where nothing was looked for, 0 where nothing is stored."""
    if not ask.k:
        return None
    return 0.0 if read is None else read.answerability


def lacking(view: View) -> Lacking:
    """How much of a view has no vector."""
    docs = len(view.unembedded("turn")) + len(view.unembedded("memory"))
    return Lacking(view.mark.incarnation if view.mark else 0, docs)


def unknown_keys(view: View, keep: "RowFilter | None") -> tuple[str, ...]:
    """What a result says of a filter's keys that none of a user's rows has."""
    if keep is None:
        return ()
    keys = view.facts.lacking(keep) & view.turns.lacking(keep)
    return tuple(f"unknown_filter_key:{key}" for key in sorted(keys))


def _hit(
    view: View,
    found: Found,
    passage: tuple[tuple[int, ...], int],
    older: Callable[[int], tuple[MemoryRecord, ...]],
) -> Hit:
    record, (ends, part) = view.record(found.kind, found.at), passage
    text = record.text
    if len(ends) > 1:
        text = text[ends[part - 1] if part else 0 : ends[part]]
    if isinstance(record, Episode):
        return Hit(
            id=record.id,
            kind="turn",
            text=text,
            score=found.score,
            at=record.observed_at,
            speaker=record.name,
            role=record.role,
            agent_id=record.agent_id,
            session_id=record.session_id,
            pending=record.pending,
            explain=found.parts,
            episode=record,
        )
    return Hit(
        id=record.id,
        kind="memory",
        text=text,
        score=found.score,
        at=record.valid_from,
        agent_id=record.agent_id,
        session_id=record.session_id,
        explain=found.parts,
        source_ids=record.source_ids,
        replaced=older(found.at),
        memory=record,
    )


def _given(vector: Floats, space: Space | None) -> Floats | None:
    if space is None:
        return None
    return unit_query(vector, dim=space.dim)
