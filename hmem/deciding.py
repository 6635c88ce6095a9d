"""Candidates -> operations: vectors, what is known nearby, in reconcile mode the model's
second opinion, decisions, and what carries them out."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import anyio.to_thread

from hmem import prompts
from hmem.chat.ladder import Ladder, Schema
from hmem.chat.peel import value_of
from hmem.config import Config
from hmem.decided import Decided, metadata_of, said_at, sources_of
from hmem.embedding import Embedding, Fact
from hmem.errors import InputError
from hmem.extract import Candidate, Talk
from hmem.ingest import Intake, fact_texts
from hmem.inputs.items import Item
from hmem.inputs.scope import Scope
from hmem.notes import Part
from hmem.protocols import (
    AddMemory,
    CiteMemory,
    Clock,
    CloseMemory,
    MemoryRow,
    NewMemory,
    Op,
    Store,
    TurnRow,
)
from hmem.recall import Recall
from hmem.reconcile import (
    Admitted,
    Decision,
    Known,
    Near,
    Proposal,
    admit,
    decide,
    proposed,
)
from hmem.times import from_micros, local, to_micros
from hmem.verdicts import Verdict, read

ALIKE = 0.4
"""Cosine from which a fact speaks of something like it; in reconcile mode it is then
shown to the model beside the candidate, and where there is none no second call is made."""
_BESIDE, _MOST_SHOWN = 5, 40
_DECISION_TOKENS = 60
_VERDICTS = Schema("decisions", prompts.RECONCILE_VERSION, prompts.RECONCILE_SCHEMA)

_FEW = 4
T = TypeVar("T")
Keep = Callable[[], Awaitable[None]]


class Decider:
    """Decides about candidates, in append mode alone, in reconcile mode with the model."""

    def __init__(
        self,
        config: Config,
        *,
        store: Store,
        ladder: Ladder,
        recall: Recall,
        intake: Intake,
        embedding: Embedding,
        version: str,
        clock: Clock,
    ) -> None:
        self._config = config
        self._store = store
        self._ladder = ladder
        self._recall = recall
        self._intake = intake
        self._embedding = embedding
        self._version = version
        self._clock = clock

    async def decide(
        self,
        user_id: str,
        talk: Talk,
        candidates: Sequence[Candidate],
        *,
        part: Part,
        keep: Keep,
        last: bool,
        ended: int = 0,
        unsaved: bool = False,
    ) -> Decided:
        """Decide. In reconcile mode the second reply is noted in `part`, and kept before it
        is used. `ended`: facts that the same add has replaced before; `unsaved`: nothing
        will be stored. Raises LLMError, Outage, Retry."""

        def prepare() -> list[Admitted]:
            return [self._admitted(talk, one) for one in candidates]

        admitted = await _aside(prepare, len(candidates))
        kept = [one for one in admitted if one.dropped is None]
        decided = await self._judge(
            user_id,
            talk,
            kept,
            part=part,
            keep=keep,
            last=last,
            ended=ended,
            unsaved=unsaved,
        )
        rest = iter(decided)
        pairs = [
            next(rest)
            if one.dropped is None
            else (
                Decision(candidate=one.candidate, action="drop", reason=one.dropped),
                Fact(),
            )
            for one in admitted
        ]
        return Decided(
            talk=talk,
            decisions=tuple(decision for decision, _ in pairs),
            facts=tuple(fact for _, fact in pairs),
        )

    async def _judge(
        self,
        user_id: str,
        talk: Talk,
        admitted: Sequence[Admitted],
        *,
        part: Part,
        keep: Keep,
        last: bool,
        ended: int,
        unsaved: bool,
    ) -> list[tuple[Decision, Fact]]:
        """Decisions about the candidates that may stand, and their vectors."""
        candidates = [one.candidate for one in admitted]
        memories = await _aside(
            lambda: [self._memory(talk, one) for one in candidates], len(candidates)
        )
        facts = await self._vectors(memories, last=last, unsaved=unsaved)
        near = await self._recall.near(
            user_id,
            [fact.vector for fact in facts],
            least=ALIKE,
            now=max(
                to_micros(self._clock()), *(turn.observed_at for turn in talk.turns)
            ),
        )
        if self._config.mode == "reconcile":
            proposals = await self._asked(user_id, talk, candidates, near, part, keep)
        else:
            proposals = [proposed(talk, one) for one in candidates]
        known = await self._known(user_id, proposals)
        decisions = await _aside(
            lambda: decide(
                talk,
                admitted,
                proposals,
                near=near,
                vectors=[fact.vector for fact in facts],
                known=known,
                ended=ended,
            ),
            len(candidates),
        )
        return list(zip(decisions, facts, strict=True))

    def _admitted(self, talk: Talk, one: Candidate) -> Admitted:
        """A candidate as it may stand, without what privacy forbids."""
        found = admit(talk, one)
        try:
            made = replace(
                found.candidate,
                entities=tuple(
                    name
                    for name in found.candidate.entities
                    if self._intake.redacted(name) == name
                ),
                reason=self._intake.redacted(found.candidate.reason or "") or None,
            )
            self._intake.redacted(found.candidate.text)
        except InputError:
            return replace(found, dropped="privacy forbids it")
        return replace(found, candidate=made)

    async def _vectors(
        self, memories: Sequence[NewMemory], *, last: bool, unsaved: bool
    ) -> list[Fact]:
        texts = [fact_texts(memory) for memory in memories]
        if not unsaved:
            return await self._embedding.facts(texts, last=last)
        found = await self._embedding.look([own[0] for own in texts])
        return [Fact(vector=vector) for vector in found]

    async def _known(
        self, user_id: str, proposals: Sequence[Proposal]
    ) -> dict[str, Known]:
        """The facts that are to be replaced or ended, as they are now, and who said them."""
        ids = list(dict.fromkeys(p.target for p in proposals if p.target is not None))
        found = await self._store.rows(user_id, ids) if ids else []
        rows = [row for row in found if isinstance(row, MemoryRow)]
        sources = list(dict.fromkeys(s for row in rows for s in row.source_ids))
        turns = await self._store.rows(user_id, sources) if sources else []
        said = {turn.id: turn for turn in turns if isinstance(turn, TurnRow)}
        return {
            row.id: Known(
                row=row, turns=tuple(said[s] for s in row.source_ids if s in said)
            )
            for row in rows
        }

    # ------------------------------------------------------------- the second opinion

    async def _asked(
        self,
        user_id: str,
        talk: Talk,
        candidates: Sequence[Candidate],
        near: Sequence[Sequence[Near]],
        part: Part,
        keep: Keep,
    ) -> list[Proposal]:
        """What the model says about each candidate and what is known nearby."""
        rows = await self._beside(user_id, talk, near, part)
        if not rows or not candidates:
            return [Proposal() for _ in candidates]
        if part.verdict:
            verdicts = read(value_of(part.verdict), len(candidates), len(rows))
        else:
            zone = self._config.zone
            answer = await self._ladder.ask(
                prompts.reconcile_messages(
                    [
                        f"{one.text} (said {local(said_at(talk, one), zone).date()})"
                        for one in candidates
                    ],
                    [
                        f"{row.text} (since {local(from_micros(row.valid_from), zone).date()})"
                        for row in rows
                    ],
                ),
                schema=_VERDICTS,
                read=lambda value: read(value, len(candidates), len(rows)),
                purpose="reconcile",
                max_tokens=_DECISION_TOKENS * (len(candidates) + 2),
            )
            verdicts = answer.value
            part.verdict, part.beside = answer.reply, tuple(row.id for row in rows)
            part.usage += answer.usage
            await keep()
        return [_proposal(one, rows) for one in verdicts]

    async def _beside(
        self,
        user_id: str,
        talk: Talk,
        near: Sequence[Sequence[Near]],
        part: Part,
    ) -> list[MemoryRow]:
        """The facts that a second opinion is asked about; those of a kept reply where
        there is one."""
        if part.verdict:
            ids: Sequence[str] = part.beside
        elif self._embedding.embedder is not None:
            close = [one.row.id for found in near for one in found[:_BESIDE]]
            ids = list(dict.fromkeys(close))[:_MOST_SHOWN]
        else:
            ids = [one.id for one in talk.shown]
        found = await self._store.rows(user_id, ids) if ids else []
        rows = [row for row in found if isinstance(row, MemoryRow)]
        if part.verdict:
            return rows if len(rows) == len(ids) else []
        return sorted(rows, key=lambda row: row.seq)

    # ------------------------------------------------------------------- operations

    def ops(self, decided: Decided) -> list[Op]:
        """What carries the decisions out; candidates that are linked are linked rows."""
        talk, found = decided.talk, list[Op]()
        places: dict[int, int] = {}
        for n, (one, fact) in enumerate(
            zip(decided.decisions, decided.facts, strict=True)
        ):
            op = self._op(talk, one, fact)
            if op is not None:
                places[n] = len(found)
                found.append(op)
            if one.ends is not None:
                why = f"{one.target} took its place"
                at = to_micros(said_at(talk, one.candidate))
                found.append(CloseMemory(id=one.ends, at=at, reason=why))
        for n, place in places.items():
            op = found[place]
            if isinstance(op, AddMemory):
                linked = decided.decisions[n].candidate.links
                links = tuple(places[at] for at in linked if at in places)
                found[place] = replace(op, links=links)
        return found

    def _op(self, talk: Talk, one: Decision, fact: Fact) -> Op | None:
        match one.action:
            case "drop":
                return None
            case "cite":
                assert one.target is not None
                return CiteMemory(
                    id=one.target,
                    source_ids=sources_of(talk, one.candidate),
                    reason=one.reason,
                    otherwise=AddMemory(
                        memory=self._memory(talk, one.candidate), vectors=fact.rows
                    ),
                )
            case "close":
                assert one.target is not None
                at = to_micros(said_at(talk, one.candidate))
                return CloseMemory(id=one.target, at=at, reason=one.reason)
            case "add" | "supersede":
                memory = replace(
                    self._memory(talk, one.candidate),
                    quote=one.quote,
                    verified=one.verified,
                )
                return AddMemory(
                    memory=memory,
                    supersedes=one.target,
                    reason=one.reason,
                    vectors=fact.rows,
                )

    def _memory(self, talk: Talk, one: Candidate) -> NewMemory:
        """A candidate as a fact to store."""
        turn = talk.turns[one.sources[0] if one.sources else -1]
        item = Item(
            text=one.text,
            source_ids=sources_of(talk, one),
            event_start=one.event_start,
            event_end=one.event_end,
            event_precision=one.event_precision,
            category=one.category,
            importance=one.importance,
            metadata=metadata_of(talk, one),
        )
        scope = Scope(user_id="", agent_id=turn.agent_id, session_id=turn.session_id)
        made = self._intake.fact(item, said_at(talk, one), scope)
        return replace(
            made,
            entities=tuple(dict.fromkeys((*one.entities, *made.entities))),
            prompt_version=self._version,
        )


async def _aside(work: Callable[[], T], many: int) -> T:
    """Do work about so many candidates: about more than a few not on the loop."""
    return work() if many <= _FEW else await anyio.to_thread.run_sync(work)


def _proposal(one: Verdict, rows: Sequence[MemoryRow]) -> Proposal:
    target = None if one.memory is None else rows[one.memory].id
    return Proposal(
        verb=one.verb, target=target, reason=one.reason, refused=one.refused
    )
