"""hmem itself, driven through its public face, as one more system to measure."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bench.measure import Shown
from bench.talks import Conversation, Fact, Question, Turn
from bench.tokens import count
from hmem import AsyncMemory
from hmem.asking import read_ask
from hmem.rank import Judged, rank_and_judge
from hmem.records import AddResult
from hmem.scoring import Weights

_OPTIONS: tuple[str, ...] = (
    *("vector", "category", "filters", "asked_at", "as_of", "known_at", "during"),
    *("kinds", "min_score"),
)
_SQUASHED = re.compile(r"[\W_]+")
_GAP = " \u2026 "  # between passages of one turn


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What a public id stands for: its text and the turns that it shows."""

    text: str
    covers: tuple[str, ...]
    kind: str = "turn"

    def stands_in(self, line: str | None) -> bool:
        """Whether a line shows it, whole or a part of it: what it shows was said."""
        if line is None:
            return False
        text = line.partition(": ")[2] if self.kind == "turn" else line
        whole = squash(self.text)
        if self.kind == "memory" and whole in squash(line):
            return True  # and its dates, and what it replaced
        shown = [squash(part) for part in text.split(_GAP)]
        return (any(shown) or not whole) and all(part in whole for part in shown)


@dataclass
class HmemSystem:
    """One store for all conversations, one user per conversation.

    `uncited` counts lines that a block cites but whose text is not in it, `degraded` what
    searches lacked: both must stay empty for the figures to mean anything.
    """

    memory: AsyncMemory
    facts: bool
    name: str = "hmem"
    uncited: int = 0
    degraded: set[str] = field(default_factory=set)
    _rows: dict[str, _Row] = field(default_factory=dict)

    async def ingest(self, conversation: Conversation) -> None:
        """Add a conversation session by session, each at its time, and wait for it.

        Raises RuntimeError when hmem did not finish it.
        """
        facts: dict[int, list[Fact]] = {}
        for fact in conversation.facts if self.facts else ():
            facts.setdefault(fact.session, []).append(fact)
        for number, turns in conversation.sessions().items():
            await self._add_turns(conversation.id, number, turns)
            if number in facts:
                await self._add_facts(conversation.id, number, facts[number])
        probe = conversation.questions[0].text if conversation.questions else "anything"
        found = await self.memory.search(probe, user_id=conversation.id)
        self.degraded.update(found.degraded)

    async def show(
        self, conversation: Conversation, question: Question, budget: int
    ) -> Shown:
        """The block hmem gives for a question asked after the last session."""
        asked_at = conversation.ended + timedelta(days=1)
        began = time.perf_counter()
        block = await self.memory.context(
            question.text,
            user_id=conversation.id,
            max_tokens=budget,
            asked_at=asked_at,
        )
        ms = (time.perf_counter() - began) * 1e3
        rows = {n: self._rows[public] for n, public in block.citations.items()}
        lines = dict(line.split(" ", 1) for line in block.text.splitlines())
        self.uncited += sum(not row.stands_in(lines.get(n)) for n, row in rows.items())
        return Shown(
            text=block.text,
            covered={turn for row in rows.values() for turn in row.covers},
            tokens=count(block.text),
            ms=ms,
            claimed=block.tokens,
        )

    async def judge(self, conversation: Conversation, question: Question) -> Judged:
        """How likely hmem finds an answer, and the signs that it goes by."""
        retriever = self.memory._rooms.retriever
        asked_at = conversation.ended + timedelta(days=1)
        ask = read_ask(
            question.text,
            user_id=conversation.id,
            agent_id=None,
            session_id=None,
            k=1,
            config=self.memory.config,
            clock=lambda: asked_at,
            **dict.fromkeys(_OPTIONS),
        )
        query, _ = await retriever._query_vector(ask, None)
        found = await retriever.views.read(
            conversation.id,
            lambda view: rank_and_judge(view, ask, query, retriever.weights),
        )
        if found is None:
            raise RuntimeError(f"nothing of {conversation.id} is stored")
        return found[1]

    def weigh(self, weights: Weights) -> None:
        """Answer with these weights from now on."""
        self.memory._rooms.retriever.weights = weights

    def about(self) -> dict[str, Any]:
        """The settings that decide what is found."""
        kept: tuple[str, ...] = ("stored", "vectors", "mode", "passage_chars", "shards")
        kept += ("durability", "fusion")
        if self.memory.config.rerank != "none":
            kept += ("rerank", "rerank_candidates")
        return {name: getattr(self.memory.config, name) for name in kept}

    def problems(self) -> dict[str, Any]:
        """What must be zero for the figures to mean anything."""
        return {
            "cited_without_text": self.uncited,
            "degraded": sorted(self.degraded),
        }

    async def _add_turns(self, user: str, number: int, turns: Sequence[Turn]) -> None:
        receipt = await self.memory.add(
            [_message(turn) for turn in turns],
            user_id=user,
            session_id=f"session_{number}",
            observed_at=turns[0].at,
        )
        result = _finished(await receipt)
        if len(result.turns) != len(turns):
            raise RuntimeError(
                f"{user}, session {number}: {len(result.turns)} of {len(turns)} turns"
            )
        for public, turn in zip(result.turns, turns, strict=True):
            # As it is stored: what looks like a secret is not.
            stored = await self.memory.get(public, user_id=user)
            if stored is None:
                raise RuntimeError(f"{user}: turn {public} was added and is not there")
            self._rows[public] = _Row(text=stored.text, covers=(turn.id,))

    async def _add_facts(self, user: str, number: int, facts: Sequence[Fact]) -> None:
        receipt = await self.memory.add(
            [{"text": f.text, "source_ids": list(f.source_ids)} for f in facts],
            user_id=user,
            session_id=f"session_{number}",
            observed_at=facts[0].at,
            infer=False,
        )
        result = _finished(await receipt)
        for public in result.added:
            # A repeated fact is stored once, so order alone does not say which is which.
            memory = await self.memory.get(public, user_id=user)
            if memory is None or memory.kind != "memory":
                raise RuntimeError(f"{user}: fact {public} was added and is not there")
            self._rows[public] = _Row(
                text=memory.text, covers=memory.source_ids, kind="memory"
            )


def squash(text: str) -> str:
    """Letters and digits alone: layout must not hide that a text stands in a block."""
    return _SQUASHED.sub("", text).casefold()


def _message(turn: Turn) -> Mapping[str, Any]:
    said = {
        "role": turn.role,
        "content": turn.text,
        "id": turn.id,
        "timestamp": turn.at,
    }
    return said if turn.name is None else {**said, "name": turn.name}


def _finished(result: AddResult) -> AddResult:
    if result.status != "done":
        raise RuntimeError(f"hmem ended a job as {result.status}: {result.reason}")
    return result
