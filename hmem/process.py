"""WRITE PATH, second half: a claim of queued jobs -> the plan that ends them.

    embed what has no vector  ->  raw: the jobs end
                              ->  with a model: the turns of one session, once they are
                                  enough (`extract_after_*`), are read by `hmem.distil`

One plan ends the jobs of one session, or what needs no model; the others are queued again.
What must wait (more turns, the model) is put off, and never counts as an attempt.

How often a model is asked about a chunk of turns (`extract_input_tokens` of them) before
that is given up, in questions of at most 4 requests (`Ladder.ask`) that the client sends
at most three times each (in reconcile mode a second question is asked likewise):

    it answers nothing that can be used                   3
    it fails (5xx, no answer in time), but not on others  2 and then 3
    it fails on all questions, but answers trial ones     25, over half an hour
    it is busy (429, 503), but answers trial ones         75, over six hours
    it answers nothing at all                             no end: it is down

While it is down one trial request is sent now and then, after a minute at most or as the
endpoint asks, whatever waits. Each add of the user's ends a wait of the user's early.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Literal

import anyio

from hmem.breaker import Blame, Pause, backoff, forget_oldest
from hmem.config import Config
from hmem.distil import UNANSWERED, Distilled, Distiller
from hmem.embedding import Embedding, Passage, Work
from hmem.errors import ConfigError, EmbedderError, LLMError
from hmem.extract import Talk
from hmem.ingest import fact_texts, turn_texts
from hmem.profiles import Profiles
from hmem.protocols import (
    Claim,
    ClaimedJob,
    Clock,
    JobEnd,
    Op,
    Store,
    TurnRow,
    WritePlan,
)
from hmem.recall import Recall
from hmem.reconcile import Decision
from hmem.records import Usage
from hmem.setbacks import Lost, ModelDown, Outage, Retry
from hmem.times import to_micros

STILL_TRUE = "the turns and facts are stored and searchable by words"
_RAW = "the turns are stored and searchable as they were said"
_FULL = 64
"""Jobs in one claim at most: a session with so many waits no longer."""
_ELSEWHERE = (0.25, 2.0)
"""Seconds until a job that needs a model is looked at again where there is none: the first
time, and later. Whoever has the model gets it in between."""
_EACH = 0.05
"""Seconds for one such look: many that wait are looked at less often."""
_REMOTE = 600.0
_ANSWER = 2.0
"""Seconds until a job is tried again whose answer is given elsewhere."""
_LEAST = 0.05
_READS = 3
"""Attempts at turns that the model answers nothing usable about."""


class Processor:
    """Plans claims. Writes nothing of its own but the embedding space, vectors that are
    ready before the model is, and what `Distiller` carries out on its way."""

    def __init__(
        self,
        config: Config,
        *,
        store: Store,
        embedding: Embedding,
        clock: Clock,
        recall: Recall | None = None,
        distiller: Distiller | None = None,
        profiles: Profiles | None = None,
        pause: Pause | None = None,
    ) -> None:
        self._config = config
        self._store = store
        self.embedding = embedding
        self._clock = clock
        self._recall = recall
        self._distiller = distiller
        self._profiles = profiles
        self._pause = pause
        self._hurried: Counter[str] = Counter()
        self._blame = Blame(clock)
        self._left: dict[str, int] = {}
        self._slot = 0.0
        self.deferred: dict[str, None] = {}

    @property
    def down(self) -> str:
        """Why the chat model cannot be asked, "" while it can."""
        return (
            self._pause.why if self._pause is not None and self._pause.is_open else ""
        )

    @contextmanager
    def hurrying(self, user_id: str) -> Iterator[None]:
        """While the body runs the user's turns do not wait for more of them."""
        self._hurried[user_id] += 1
        try:
            yield
        finally:
            self._hurried[user_id] -= 1
            self._hurried += Counter()  # drops what is at zero

    async def plan(self, claim: Claim) -> WritePlan:
        """The plan that ends some of the claim's jobs, or puts them off. Raises Outage,
        Retry, Lost, and EmbeddingSpaceError when the store's vectors are another model's."""
        began = time.perf_counter()
        attempts = max(job.attempts for job in claim.jobs)
        if attempts > self._config.max_attempts:
            return self._ended(claim, _crashed(self._config.max_attempts))
        last = attempts >= self._config.max_attempts
        passages = await self._passages(claim)
        work = await self.embedding.embed(passages, last=last)
        reading = [job for job in claim.jobs if job.extract and job.turns]
        if len(reading) < len(claim.jobs):
            rest = [job for job in claim.jobs if job not in reading]
            own = _of(rest, passages)
            usage = Usage(
                embedded_texts=sum(n in work.codes for n in own),
                milliseconds=(time.perf_counter() - began) * 1000,
            )
            end = _end(work, own, usage)
            ids = None if not reading else tuple(job.id for job in rest)
            puts = self.embedding.puts(passages, work)
            return self._ended(claim, replace(end, jobs=ids), puts)
        return await self._read(claim, passages, work, began, last=last)

    async def preview(
        self, user_id: str, turns: Sequence[TurnRow]
    ) -> list[tuple[Talk, Decision]]:
        """What would be decided about turns that are not stored. Raises ConfigError,
        LLMError, EmbedderError."""
        if self._distiller is None:
            raise ConfigError(
                "a preview needs a model: Config.llm and base_url (HMEM_LLM, HMEM_BASE_URL)"
            )
        try:
            return await self._distiller.preview(user_id, turns)
        except (Outage, Retry) as e:
            raise EmbedderError(str(e)) from e

    @property
    def leaves_work(self) -> bool:
        """Whether jobs wait here for a process that has the chat model."""
        return bool(self._left)

    async def afterwards(self, claim: Claim) -> None:
        """What may be done once a claim's jobs have ended: the user's profile anew."""
        if self._profiles is None:
            return
        profile = await self._profiles.update(claim.user_id)
        if profile is not None:
            plan = WritePlan(
                at=to_micros(self._clock()),
                ops=(profile,),
                incarnation=claim.incarnation,
            )
            await self._store.apply(claim.user_id, plan)

    def given_up(self, claim: Claim, reason: str) -> WritePlan:
        """The plan that ends a claim as dead."""
        return self._ended(
            claim, JobEnd(status="dead", reason=f"{STILL_TRUE}; {reason}")
        )

    # -------------------------------------------------------------------- embedding

    async def _passages(self, claim: Claim) -> list[Passage]:
        """What of the claim has no vector yet. Turns that wait for the model have been
        here before."""
        if self.embedding.embedder is None:
            return []
        zone = self._config.zone
        known: frozenset[int] = frozenset()
        if self._recall is not None and any(job.extract for job in claim.jobs):
            seqs = [t.seq for job in claim.jobs if job.extract for t in job.turns]
            known = await self._recall.embedded(claim.user_id, seqs)
        found: list[Passage] = []
        for job in claim.jobs:
            for turn in job.turns:
                if turn.seq not in known:
                    texts = enumerate(turn_texts(turn, zone))
                    found.extend(
                        Passage("turn", turn.seq, n, text) for n, text in texts
                    )
            for row in job.items:
                texts = enumerate(fact_texts(row))
                found.extend(Passage("memory", row.seq, n, text) for n, text in texts)
        return sorted(found, key=lambda p: p.kind)

    # --------------------------------------------------------------------- reading

    async def _read(
        self,
        claim: Claim,
        passages: Sequence[Passage],
        work: Work,
        began: float,
        *,
        last: bool,
    ) -> WritePlan:
        """Read the turns of one session with the model, or put that off."""
        puts = self.embedding.puts(passages, work)
        if self._distiller is None or self._pause is None:
            return self._plan(claim, puts, defer=self._wait_for_others(claim))
        group, wait = self._next_group(claim)
        if wait > 0:
            self.deferred[claim.user_id] = None
            return self._plan(claim, puts, defer=wait)
        await self._keep(claim, puts)  # before anything that may take long
        if not await self._pause.over():
            return self._plan(claim, (), defer=max(self._pause.left, _LEAST))
        first = group[0].id
        try:
            tried = max(job.attempts for job in group)
            made = await self._distiller.distil(
                claim,
                group,
                last=last or tried >= _READS,
                blames=partial(self._blames, first),
            )
        except ModelDown as e:
            return self._plan(claim, (), defer=self._wait_for_model(e, first))
        self._blame.ended(first, answered=made.read > 0)
        if made.read:
            self._pause.answered()
        missing, why = work.missing(_of(group, passages))
        usage = made.usage + Usage(
            embedded_texts=self._texts(group) - missing,
            milliseconds=(time.perf_counter() - began) * 1000 - made.usage.milliseconds,
        )
        return self._ended(claim, self._verdict(made, group, usage, why), made.ops)

    def _texts(self, jobs: Sequence[ClaimedJob]) -> int:
        """How many texts the turns of some jobs are embedded as, now or before."""
        if self.embedding.embedder is None:
            return 0
        zone = self._config.zone
        turns = (turn for job in jobs for turn in job.turns)
        return sum(len(turn_texts(turn, zone)) for turn in turns)

    def _next_group(self, claim: Claim) -> tuple[list[ClaimedJob], float]:
        """The jobs of the session that is to be read next, and the seconds until then."""
        groups: dict[str | None, list[ClaimedJob]] = {}
        for job in claim.jobs:
            groups.setdefault(job.session_id, []).append(job)
        waits = [(self._wait(claim, jobs), n) for n, jobs in enumerate(groups.values())]
        wait, n = min(waits)
        return list(groups.values())[n], wait

    def _wait(self, claim: Claim, jobs: Sequence[ClaimedJob]) -> float:
        """Seconds until these turns are read, 0 when they are enough."""
        config = self._config
        turns = [turn for job in jobs for turn in job.turns]
        now = self._clock().timestamp()
        idle = now - max(job.created_at for job in jobs) / 1e6
        if (
            claim.user_id in self._hurried
            or len(turns) >= config.extract_after_turns
            or len(claim.jobs) >= _FULL
            or any(job.reply for job in jobs)
            or not 0 <= idle < config.extract_after_idle
        ):
            return 0.0
        # Some four characters a token: to count those of a long text takes half a second.
        if sum(len(t.text) for t in turns) >= 4 * config.extract_after_tokens:
            return 0.0
        return max(_LEAST, config.extract_after_idle - idle)

    async def _blames(self, first: str, error: LLMError) -> bool:
        """Whether it is these turns that the model fails on, and not the model that is
        down. `first` names the group."""
        assert self._pause is not None
        if error.why not in UNANSWERED:
            self._pause.answered()  # however badly
            return True
        return self._blame.suspects(first, error.why) and await self._pause.probe()

    def _wait_for_others(self, claim: Claim) -> float:
        """Seconds to put jobs off that another process has the model for."""
        newest = claim.jobs[-1].id
        times = self._left[newest] = self._left.get(newest, 0) + 1
        forget_oldest(self._left)
        now = self._clock().timestamp()
        self._slot = max(self._slot + _EACH, now)
        if self._slot > now + _REMOTE:  # so many, or the clock was set back
            self._slot = now
        wait = backoff(times, base=_ELSEWHERE[0], cap=_ELSEWHERE[1])
        return max(wait, self._slot - now)

    def _wait_for_model(self, down: ModelDown, first: str) -> float:
        """Seconds to put a group off that found the model down, or its answer not there."""
        assert self._pause is not None
        if down.why == "waiting":  # for its own answer, and no other's
            return _ANSWER
        self._pause.trip(str(down), at_least=down.retry_after)
        return max(self._pause.left, self._blame.wait(first))

    def _verdict(
        self,
        made: Distilled,
        group: Sequence[ClaimedJob],
        usage: Usage,
        missing: str,
    ) -> JobEnd:
        """How the group ends; `missing` says which vectors there are not."""
        whys = [missing] if missing else []
        if made.failed:
            parts = made.read + len(made.failed)
            whys.append(
                f"{len(made.failed)} of {parts} parts could not be read by the model: "
                f"{made.failed[-1]}"
            )
        if made.lost:
            whys.append(f"{made.lost} facts of the model's reply could not be used")
        status: Literal["done", "partial", "dead"] = "partial" if whys else "done"
        if made.failed and not made.read:
            status = "dead"
        return JobEnd(
            status=status,
            reason="; ".join((_RAW, *whys)) if whys else None,
            usage=usage,
            jobs=tuple(job.id for job in group),
            skipped=tuple(made.skipped),
        )

    # ------------------------------------------------------------------------ plans

    async def _keep(self, claim: Claim, puts: tuple[Op, ...]) -> None:
        """Store vectors before the model is asked: they may be searched meanwhile."""
        if not puts:
            return
        with anyio.CancelScope(shield=True):
            applied = await self._store.apply(claim.user_id, self._plan(claim, puts))
        if applied.refused is not None:
            raise Lost(applied.refused)

    def _plan(
        self,
        claim: Claim,
        ops: Sequence[Op],
        *,
        end: JobEnd | None = None,
        defer: float | None = None,
    ) -> WritePlan:
        return WritePlan(
            at=to_micros(self._clock()),
            ops=tuple(ops),
            incarnation=claim.incarnation,
            claim=claim,
            end=end,
            defer=defer,
        )

    def _ended(self, claim: Claim, end: JobEnd, ops: Sequence[Op] = ()) -> WritePlan:
        self.deferred.pop(claim.user_id, None)
        return self._plan(claim, ops, end=end)


def _of(jobs: Sequence[ClaimedJob], passages: Sequence[Passage]) -> list[int]:
    """The positions of the passages that are of these jobs."""
    seqs = {("turn", turn.seq) for job in jobs for turn in job.turns}
    seqs |= {("memory", row.seq) for job in jobs for row in job.items}
    return [n for n, one in enumerate(passages) if (one.kind, one.seq) in seqs]


def _end(work: Work, wanted: Sequence[int], usage: Usage) -> JobEnd:
    """How jobs end that were embedded alone."""
    missing, why = work.missing(wanted)
    if not missing:
        return JobEnd(status="done", usage=usage)
    return JobEnd(
        status="partial" if missing < len(wanted) else "dead",
        reason=f"{STILL_TRUE}; {why}",
        usage=usage,
    )


def _crashed(times: int) -> JobEnd:
    reason = f"{STILL_TRUE}; the worker stopped {times} times while it was at it"
    return JobEnd(status="dead", reason=reason)
