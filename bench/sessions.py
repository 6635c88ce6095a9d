"""A conversation told to an open memory round by round, as an assistant would tell it."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.talks import Conversation, Turn
from bench.truth import Stored
from hmem import AsyncMemory
from hmem.records import AddResult, MemoryRecord

ROUND = 2
"""Turns that are added at once: what one said and what the other answered."""


@dataclass(slots=True)
class Told:
    """What came of telling a conversation."""

    conversation: Conversation
    stored: list[Stored] = field(default_factory=list)
    superseded: int = 0
    unverified: int = 0
    statuses: dict[str, int] = field(default_factory=dict)

    def references(self) -> dict[Hashable, list[str]]:
        """The data set's own facts, by session."""
        found: dict[Hashable, list[str]] = {}
        for fact in self.conversation.facts:
            found.setdefault((self.conversation.id, fact.session), []).append(fact.text)
        return found


async def tell(memory: AsyncMemory, conversation: Conversation) -> Told:
    """Add a conversation's rounds at the pace at which the memory reads them: as soon as
    `extract_after_turns` of a session wait, they are read before more is added, and so is
    what is left at its end."""
    told = Told(conversation)
    ids: dict[str, Turn] = {}
    results: list[AddResult] = []
    for number, turns in conversation.sessions().items():
        session = f"session_{number}"
        results += await _session(memory, conversation.id, session, turns, ids)
    for result in results:
        told.statuses[result.status] = told.statuses.get(result.status, 0) + 1
        for id_ in result.added:
            record = await memory.get(id_, user_id=conversation.id)
            if isinstance(record, MemoryRecord):
                told.stored.append(_stored(record, conversation, ids))
                told.superseded += record.superseded_by is not None
                told.unverified += not record.verified
    return told


async def _session(
    memory: AsyncMemory,
    user: str,
    session: str,
    turns: Sequence[Turn],
    ids: dict[str, Turn],
) -> list[AddResult]:
    """Add one session; note which public id is which turn."""
    receipts, waiting = [], 0
    parts = [turns[n : n + ROUND] for n in range(0, len(turns), ROUND)]
    for n, part in enumerate(parts):
        waiting += len(part)
        receipt = await memory.add(
            [_message(turn) for turn in part],
            user_id=user,
            session_id=session,
            observed_at=part[0].at,
            wait=n == len(parts) - 1,
        )
        receipts.append((receipt, part))
        if waiting >= memory.config.extract_after_turns:
            await receipt
            waiting = 0
    results = []
    for receipt, part in receipts:
        result = await receipt
        results.append(result)
        if len(result.turns) != len(part):
            raise RuntimeError(f"{user}, {session}: a turn was not stored")
        ids.update(zip(result.turns, part, strict=True))
    return results


def _stored(
    record: MemoryRecord, conversation: Conversation, ids: Mapping[str, Turn]
) -> Stored:
    cited = [ids[id_] for id_ in record.source_ids if id_ in ids]
    turns = conversation.turns
    places = {turn.id: n for n, turn in enumerate(turns)}
    near = {m for t in cited for m in (places[t.id] - 1, places[t.id]) if m >= 0}
    session = cited[0].session if cited else None
    return Stored(
        text=record.text,
        group=(conversation.id, session),
        said=tuple(
            f"{t.speaker}: {t.text}" for t in map(turns.__getitem__, sorted(near))
        ),
        user=conversation.id,
        is_open=record.valid_to is None,
    )


def _message(turn: Turn) -> dict[str, Any]:
    said = {
        "role": turn.role,
        "content": turn.text,
        "id": turn.id,
        "timestamp": turn.at,
    }
    return said if turn.name is None else {**said, "name": turn.name}
