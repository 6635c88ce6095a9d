"""A second look: the best hits are read together with the question by a reranker.

A hit's score is then (1 - s) of what it was and s of the reranker's, `s` being
`Weights.rerank`; of hits that were not read the reranker's counts as 0, so that they stay
in their order below. Without the reranker's answer everything stays as it was.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo

import anyio

from hmem.breaker import Rest
from hmem.errors import ModelError
from hmem.protocols import Reranker
from hmem.rank import Ask
from hmem.records import Hit
from hmem.rerank.checks import rerank
from hmem.scoring import Floats
from hmem.text import turn_key
from hmem.times import local

log = logging.getLogger("hmem.retrieve")

PART = "rerank"
"""What the reranker's share of a score is called in `Hit.explain`."""
_SHORTEST, _LONGEST = 1.0, 60.0
"""Seconds for which a reranker that failed is left alone."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Looked(Generic[T]):
    """The hits that are left, the best first, what goes with each, and why they were not
    read again ("" where they were)."""

    hits: tuple[Hit, ...]
    beside: tuple[T, ...]
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondLook:
    """Asks a reranker about the best `candidates` hits, for at most `timeout` seconds.
    Times in the texts it is shown are in `zone`."""

    reranker: Reranker
    candidates: int
    timeout: float
    zone: ZoneInfo
    rest: Rest = field(default_factory=partial(Rest, base=_SHORTEST, cap=_LONGEST))

    def first(self, ask: Ask) -> Ask:
        """What to find for an Ask, so that there is something to choose from. `min_score`
        is of the final score."""
        return replace(ask, k=max(ask.k, self.candidates), min_score=None)

    async def __call__(
        self, ask: Ask, hits: Sequence[Hit], beside: Sequence[T], *, share: float
    ) -> Looked[T]:
        """The best `ask.k` of the hits that were found for `first(ask)`, those of at least
        `ask.min_score`. Never raises for what the reranker does."""
        found, why = list(zip(hits, beside, strict=True)), ""
        if found:
            read = [hit_text(hit, self.zone) for hit in hits[: self.candidates]]
            scores, why = await self._scores(ask.query, read)
            if scores is not None:
                again = rescored(hits, scores, share=share, explain=ask.explain)
                found = sorted(
                    zip(again, beside, strict=True), key=lambda f: -f[0].score
                )
        if ask.min_score is not None:
            found = [f for f in found if f[0].score >= ask.min_score]
        found = found[: ask.k]
        return Looked(tuple(h for h, _ in found), tuple(b for _, b in found), why)

    async def _scores(self, query: str, texts: list[str]) -> tuple[Floats | None, str]:
        """(n,) the reranker's scores, or why there are none. Half of what is left of a
        caller's own deadline is the most that it gets: the first order is an answer."""
        if self.rest.lasts:
            return None, self.rest.why
        left = (anyio.current_effective_deadline() - anyio.current_time()) / 2
        try:
            with anyio.fail_after(min(self.timeout, left)):
                scores = await rerank(self.reranker, query, texts)
        except TimeoutError:
            if left < self.timeout:  # it may be the caller who was in a hurry
                return None, "reranker_timeout"
            return None, self.rest.failed("reranker_timeout")
        except ModelError as e:
            log.warning("hits keep their first order: %s", e)
            return None, self.rest.failed("reranker_failed")
        self.rest.worked()
        return scores, ""


def hit_text(hit: Hit, zone: ZoneInfo) -> str:
    """A hit as a reader sees it: "(8 May 2023) Maya: ...", or the fact."""
    if hit.kind == "memory":
        return hit.text
    speaker = hit.speaker or (hit.role or "").capitalize()
    return turn_key(hit.text, speaker=speaker, at=local(hit.at, zone))


def rescored(
    hits: Sequence[Hit], scores: Floats, *, share: float, explain: bool
) -> list[Hit]:
    """The hits in their order, with new scores; the first of them were read."""
    kept = 1.0 - share
    given = [share * score for score in scores.tolist()]
    given += [0.0] * (len(hits) - len(given))
    again: list[Hit] = []
    for hit, more in zip(hits, given, strict=True):
        parts = hit.explain
        if explain:
            parts = {name: kept * part for name, part in parts.items()}
            parts |= {PART: more} if more else {}
        score = min(1.0, kept * hit.score + more)
        again.append(replace(hit, score=score, explain=parts))
    return again
