"""Turns -> facts: what is read of one session's queued turns, and what is decided of it.

    chunks that fit the model -> one call each -> the reply is stored with the job
        -> candidates -> vectors -> decisions -> operations

A chunk whose facts have been stored is not asked about again, whatever stops the process.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import anyio
import anyio.to_thread

from hmem import extract
from hmem.chat.ladder import Answer, Ladder, Schema
from hmem.chat.peel import value_of
from hmem.config import Config
from hmem.deciding import Decider
from hmem.embedding import Embedding, Matrix
from hmem.errors import LLMError, TruncatedError
from hmem.extract import Extracted, Talk
from hmem.ingest import Intake, turn_texts
from hmem.notes import Notes, Part, key_of
from hmem.protocols import (
    Claim,
    ClaimedJob,
    Clock,
    Op,
    Store,
    StoreReply,
    TurnRow,
    WritePlan,
)
from hmem.recall import Recall
from hmem.reconcile import Decision
from hmem.records import Skipped, Usage
from hmem.setbacks import Lost, ModelDown, Retry
from hmem.text import normalise
from hmem.times import to_micros
from hmem.truth.echo import strip_echo

_LONG = 4_000
_FACT_TOKENS = 130
"""Of a reply, for each fact it may have: text, quote, fields."""
NEAR = 0.95
"""Cosine from which two facts may be one [design, section 6]."""
UNANSWERED = frozenset(("down", "busy", "setup", "waiting"))
"""Failures (`LLMError.why`) in which the model did not answer."""
Blames = Callable[[LLMError], Awaitable[bool]]


async def _answered(error: LLMError) -> bool:
    """The turns are to blame for what the model answered, and for nothing else."""
    return error.why not in UNANSWERED


@dataclass(slots=True)
class Distilled:
    """What came of a group of jobs: the operations not carried out yet, and the tally:
    chunks that were `read`, why others `failed`, items of replies that were `lost`."""

    ops: list[Op] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    read: int = 0
    lost: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class _Run:
    """One going over a group of jobs."""

    claim: Claim
    jobs: Sequence[ClaimedJob]
    notes: Notes
    texts: Mapping[int, int]
    last: bool
    blames: Blames
    out: Distilled = field(default_factory=Distilled)


class Distiller:
    """Reads facts out of turns with a chat model."""

    def __init__(
        self,
        config: Config,
        *,
        store: Store,
        ladder: Ladder,
        recall: Recall,
        intake: Intake,
        embedding: Embedding,
        clock: Clock,
    ) -> None:
        self._config = config
        self._store = store
        self._ladder = ladder
        self._recall = recall
        self._embedding = embedding
        self._clock = clock
        self._schema = Schema("facts", extract.version(config), extract.schema(config))
        self._decider = Decider(
            config,
            store=store,
            ladder=ladder,
            recall=recall,
            intake=intake,
            embedding=embedding,
            version=self._schema.version,
            clock=clock,
        )

    async def distil(
        self,
        claim: Claim,
        jobs: Sequence[ClaimedJob],
        *,
        last: bool,
        blames: Blames = _answered,
    ) -> Distilled:
        """Read the turns of some jobs of one session.

        All but the last chunk's operations are carried out on the way. `blames` says of a
        failure whether it is the turns that the model fails on, or it is down. Raises
        ModelDown, Outage, Retry (unless this is the `last` attempt), and Lost.
        """
        notes = Notes.of(jobs)
        turns = [turn for job in jobs for turn in job.turns]
        sizes = {turn.seq: len(turn.text) for turn in turns}
        run = _Run(claim, jobs, notes, sizes, last, blames)
        out = run.out
        kept, new = notes.waiting(turns)
        waiting = [*await self._cut(new), *reversed(kept)]
        out.read = sum(part.done for part in notes.parts.values() if part.whole)
        while waiting:
            chunk = waiting.pop()
            if out.ops:
                await self._write(run, out.ops)
                out.ops.clear()
            part = notes.parts.get(key_of(chunk))
            if part is not None and part.done:
                out.read += 1
                continue
            try:
                await self._chunk(run, chunk)
            except TruncatedError as e:
                pieces = extract.halves(chunk)
                if pieces is None:
                    out.failed.append(str(e))
                    continue
                notes.parts[key_of(chunk)].split = True
                waiting.extend(reversed(pieces))
        out.usage = notes.usage
        out.lost = sum(part.lost for part in notes.parts.values())
        out.skipped = [one for part in notes.parts.values() for one in part.skipped]
        return out

    async def preview(
        self, user_id: str, turns: Sequence[TurnRow]
    ) -> list[tuple[Talk, Decision]]:
        """What would be decided about turns that are not stored. Raises LLMError, Outage
        and Retry."""
        found: list[tuple[Talk, Decision]] = []
        waiting = await self._cut(turns)
        while waiting:
            chunk = waiting.pop()
            talk = await self._talk(user_id, chunk, unsaved=True)
            try:
                answer = await self._ask(talk)
            except LLMError as e:
                pieces = extract.halves(chunk) if _too_much(e) else None
                if pieces is None:
                    raise
                waiting.extend(reversed(pieces))
                continue
            decided = await self._decider.decide(
                user_id,
                talk,
                answer.value.candidates,
                part=Part(),
                keep=_nothing,
                last=True,
                unsaved=True,
            )
            found += [(talk, decision) for decision in decided.decisions]
        return found

    async def _cut(self, turns: Sequence[TurnRow]) -> list[tuple[TurnRow, ...]]:
        """The turns in chunks, the first one last. Counting tokens of a long text takes
        half a second: not on the loop."""

        def cut() -> list[tuple[TurnRow, ...]]:
            return extract.cut(turns, limit=self._config.extract_input_tokens)[::-1]

        if sum(len(turn.text) for turn in turns) <= _LONG:
            return cut()
        return await anyio.to_thread.run_sync(cut)

    # ------------------------------------------------------------------- one chunk

    async def _chunk(self, run: _Run, chunk: tuple[TurnRow, ...]) -> None:
        """Ask about a chunk, or take the reply that is kept; decide. Raises TruncatedError
        for one that must be split."""
        user_id, out = run.claim.user_id, run.out
        part = run.notes.parts.setdefault(key_of(chunk), Part())
        part.turns = tuple(turn.seq for turn in chunk)
        part.whole = all(len(turn.text) == run.texts[turn.seq] for turn in chunk)
        if part.split:
            raise TruncatedError("this part was split before")
        talk = await self._talk(user_id, chunk)
        if part.reply:
            talk = await self._as_shown(user_id, talk, part.shown)
            extracted = extract.read(value_of(part.reply), talk, self._config)
        else:
            try:
                answer = await self._ask(talk)
            except LLMError as e:
                part.usage += _spent(e)
                await self._failed(run, e)
                return
            extracted = answer.value
            part.reply = answer.reply
            part.shown = tuple(one.id for one in talk.shown)
            part.usage += answer.usage
            await self._write(run, [])
        try:
            decided = await self._decider.decide(
                user_id,
                talk,
                extracted.candidates,
                part=part,
                keep=lambda: self._write(run, []),
                ended=sum(one.ended for one in run.notes.parts.values()),
                last=run.last,
            )
        except LLMError as e:
            part.usage += _spent(e)
            await self._failed(run, e)
            return
        out.ops += self._decider.ops(decided)
        part.skipped = (*extracted.dropped, *decided.skipped)
        self._ladder.meter.decided(decided.tally)
        part.done = True
        part.ended = decided.ended
        part.lost = extracted.lost
        out.read += 1

    async def _failed(self, run: _Run, error: LLMError) -> None:
        """What a failure of the model's means for a chunk: it waits, is split, is asked
        about again, or is given up. What it cost is kept where anything was answered."""
        why: Exception
        if not await run.blames(error):
            why = ModelDown(error)
        elif _too_much(error):
            why = TruncatedError(str(error))
        elif error.retryable and not run.last:
            why = Retry(str(error))
        else:
            run.out.failed.append(str(error))
            return
        if _spent(error).llm_calls:
            await self._write(run, [])
        raise why from error

    async def _talk(
        self, user_id: str, chunk: tuple[TurnRow, ...], *, unsaved: bool = False
    ) -> Talk:
        first, vectors = chunk[0], dict[int, Matrix]()
        if unsaved:
            texts = [turn_texts(turn, self._config.zone)[:1] for turn in chunk]
            made = await self._embedding.look([text for (text,) in texts])
            vectors = {
                turn.seq: vector
                for turn, vector in zip(chunk, made, strict=True)
                if vector is not None
            }
        shown = await self._recall.similar(
            user_id, chunk, vectors, now=to_micros(self._clock())
        )
        return Talk(
            turns=_without_echo(chunk, shown),
            recent=await self._recall.before(user_id, first.session_id, first.seq),
            shown=shown,
            profile=await self._profile(user_id),
            zone=self._config.zone,
        )

    async def _profile(self, user_id: str) -> str:
        """The user's profile, for context."""
        if not self._config.profile:
            return ""
        profile = await self._store.profile(user_id)
        return "" if profile is None else profile.text

    async def _as_shown(self, user_id: str, talk: Talk, ids: Sequence[str]) -> Talk:
        """The talk with the memories that the kept reply's numbers stand for."""
        rows = await self._store.rows(user_id, ids) if ids else []
        gone = datetime.min.replace(tzinfo=self._config.zone)
        shown = tuple(
            extract.Shown(id=id_, text="" if row is None else row.text, since=gone)
            for id_, row in zip(ids, rows, strict=True)
        )
        return replace(talk, shown=shown)

    async def _ask(self, talk: Talk) -> Answer[Extracted]:
        return await self._ladder.ask(
            extract.messages(talk, self._config),
            schema=self._schema,
            read=lambda value: extract.read(value, talk, self._config),
            purpose="extract",
            max_tokens=_FACT_TOKENS * extract.most_facts(len(talk.turns)),
        )

    async def _write(self, run: _Run, ops: Sequence[Op]) -> None:
        """Carry out operations and keep the notes, in one transaction."""
        claim = run.claim
        kept = [
            StoreReply(job_id=job.id, reply=run.notes.dump(job)) for job in run.jobs
        ]
        plan = WritePlan(
            at=to_micros(self._clock()),
            ops=(*ops, *kept),
            incarnation=claim.incarnation,
            claim=claim,
        )
        with anyio.CancelScope(shield=True):
            applied = await self._store.apply(claim.user_id, plan)
        if applied.refused is not None:
            raise Lost(applied.refused)


def _without_echo(
    turns: Sequence[TurnRow], shown: Sequence[extract.Shown]
) -> tuple[TurnRow, ...]:
    """The turns without lines of a block that came back in them: what was remembered is no
    evidence of itself."""
    known = {normalise(one.text) for one in shown}
    return tuple(
        turn._replace(
            text=strip_echo(turn.text, known=lambda line: normalise(line) in known).text
        )
        for turn in turns
    )


async def _nothing() -> None:
    """A preview keeps nothing."""


def _too_much(error: LLMError) -> bool:
    """Whether less at a time may be answered."""
    return isinstance(error, TruncatedError) or error.why == "too_long"


def _spent(error: LLMError) -> Usage:
    """What a call cost that failed."""
    return error.usage if isinstance(error.usage, Usage) else Usage()
