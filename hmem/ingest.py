"""WRITE PATH, first half: what a call said -> what the store makes durable.

Pure but for the thread in which long texts are cut and tokenised. The other half, from a
claim of queued jobs to the plan that ends them, is `hmem.process`.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import anyio.to_thread

from hmem.config import Config
from hmem.inputs.items import Item
from hmem.inputs.messages import Message
from hmem.inputs.scope import Scope
from hmem.privacy import Policy, redact, redact_metadata
from hmem.protocols import (
    Accept,
    Clock,
    Embedder,
    MemoryRow,
    NewMemory,
    NewTurn,
    Priority,
    TurnRow,
)
from hmem.records import Skipped
from hmem.text import (
    content_hash,
    lexical,
    passages,
    proper_nouns,
    turn_digest,
    turn_key,
)
from hmem.times import from_micros, local, to_micros

LONG = 4_000
"""Characters in one call above which cutting and tokenising leave the event loop: a
thousand take 4 ms when no word of theirs was seen before, a hop to a thread 0.15."""

Said = TypeVar("Said", Message, Item)
UNSAVED = 2**40
"""Sequences of turns in no store: above those of any stored one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One `add()`, read and validated."""

    scope: Scope
    messages: tuple[Message, ...] = ()
    items: tuple[Item, ...] = ()
    observed_at: datetime | None = None
    key: str | None = None
    resend: bool = False
    priority: Priority = "live"

    @property
    def size(self) -> int:
        """Characters to work on."""
        turns = sum(len(message.text) for message in self.messages)
        return turns + sum(len(item.text) for item in self.items)


class Intake:
    """Turns calls into `Accept`s."""

    def __init__(
        self, config: Config, *, embedder: Embedder | None, clock: Clock
    ) -> None:
        self._config = config
        self._embedder = embedder
        self._clock = clock
        self._policy = Policy(secrets=config.secrets, pii=config.pii)

    async def accept(
        self,
        call: Call,
        *,
        queue: bool,
        extract: bool = False,
        skipped: tuple[Skipped, ...] = (),
    ) -> Accept:
        """What the store makes durable. `queue=False`: there will be nothing left to do;
        `extract`: a model is to read the turns; `skipped`: what is not stored, and why."""

        def build() -> Accept:
            made = self.build(call, queue=queue)
            return replace(
                made,
                extract=extract and bool(made.turns),
                skipped=skipped + made.skipped,
            )

        if call.size <= LONG:
            return build()
        return await anyio.to_thread.run_sync(build)

    def build(self, call: Call, *, queue: bool) -> Accept:
        """The work itself; synchronous. What privacy forbids is taken out here, before
        anything is made of it, and told in `skipped`. Raises InputError where the policy
        refuses."""
        now = self._clock()
        observed = call.observed_at or now
        found: Counter[str] = Counter()
        messages = [
            self._named(self._allowed(message, found), found)
            for message in call.messages
        ]
        items = [self._allowed(item, found) for item in call.items]
        return Accept(
            turns=tuple(self._turn(m, observed) for m in messages),
            items=tuple(self._fact(i, observed, call.scope) for i in items),
            skipped=tuple(
                Skipped(reason=f"redacted: {kind}" + (f" ({n}x)" if n > 1 else ""))
                for kind, n in sorted(found.items())
            ),
            agent_id=call.scope.agent_id,
            session_id=call.scope.session_id,
            recorded_at=to_micros(now),
            key=call.key,
            body_hash=b"" if call.key is None else body_hash(call),
            queue=queue,
            resend=call.resend,
            priority=call.priority,
        )

    def unsaved(self, call: Call) -> list[TurnRow]:
        """A call's turns as rows that are in no store. Their sequences begin at UNSAVED."""
        accept = self.build(call, queue=False)
        return [
            TurnRow(
                seq=UNSAVED + n,
                id=f"message {n}",
                text=turn.text,
                ends=turn.ends,
                agent_id=accept.agent_id,
                session_id=accept.session_id,
                role=turn.role,
                name=turn.name,
                observed_at=turn.observed_at,
                recorded_at=accept.recorded_at,
                message_id=turn.message_id,
                job=0,
                metadata=turn.metadata,
            )
            for n, turn in enumerate(accept.turns)
        ]

    def _turn(self, message: Message, observed: datetime) -> NewTurn:
        at = message.at or observed
        day = local(at, self._config.zone)
        speaker = message.name or message.role

        def key(passage: str) -> str:
            return turn_key(passage, speaker=speaker, at=day)

        ends = self._cut(message.text, key)
        return NewTurn(
            role=message.role,
            text=message.text,
            observed_at=to_micros(at),
            digest=turn_digest(message.role, message.name, message.text, message.at),
            tokens=tuple(lexical(key(p)) for p in parts(message.text, ends)),
            ends=ends,
            name=message.name,
            message_id=message.id,
            metadata=message.metadata,
        )

    def _allowed(self, said: Said, found: Counter[str]) -> Said:
        """A message or an item without what privacy forbids; counted in `found`."""
        if self._policy.is_off:
            return said
        text = redact(said.text, self._policy)
        metadata = redact_metadata(said.metadata, self._policy)
        found.update(text.found)
        found.update(metadata.found)
        if text.found or metadata.found:
            said = replace(said, text=text.text, metadata=metadata.values)
        return said

    def _named(self, said: Message, found: Counter[str]) -> Message:
        """A message whose talker's name holds nothing that privacy forbids."""
        if self._policy.is_off or not said.name:
            return said
        name = redact(said.name, self._policy)
        found.update(name.found)
        return replace(said, name=name.text) if name.found else said

    def redacted(self, text: str) -> str:
        """A text without what privacy forbids. Raises InputError where the policy refuses
        it."""
        return redact(text, self._policy).text

    def fact(self, item: Item, valid_from: datetime, scope: Scope) -> NewMemory:
        """A fact to store, believed from `valid_from` on, without what privacy forbids.
        Raises InputError where the policy refuses."""
        return self._fact(self._allowed(item, Counter()), valid_from, scope)

    def _fact(self, item: Item, valid_from: datetime, scope: Scope) -> NewMemory:
        ends = self._cut(item.text, str)
        return NewMemory(
            text=item.text,
            hash=content_hash(item.text),
            tokens=tuple(lexical(p) for p in parts(item.text, ends)),
            ends=ends,
            valid_from=to_micros(valid_from),
            category=item.category,
            importance=item.importance,
            event_start=None
            if item.event_start is None
            else to_micros(item.event_start),
            event_end=None if item.event_end is None else to_micros(item.event_end),
            event_precision=item.event_precision,
            agent_id=scope.agent_id,
            session_id=scope.session_id,
            source_ids=item.source_ids,
            entities=tuple(proper_nouns(item.text)),
            metadata=item.metadata,
        )

    def _cut(self, text: str, key: Callable[[str], str]) -> tuple[int, ...]:
        """Ends of passages that fit the embedder's window as they will be embedded."""
        embedder = self._embedder
        if embedder is None:
            return passages(text, limit=self._config.passage_chars)

        def fits(passage: str) -> bool:
            whole = key(passage)
            # No tokenizer makes more tokens than bytes; two are for its frame.
            return len(whole.encode()) + 2 <= embedder.window or (
                embedder.count(whole) <= embedder.window
            )

        return passages(text, limit=self._config.passage_chars, fits=fits)


def parts(text: str, ends: Sequence[int]) -> list[str]:
    """The passages that `ends` cut a text into."""
    starts = (0, *ends[:-1])
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def turn_texts(row: TurnRow, zone: ZoneInfo) -> list[str]:
    """What is embedded of a stored turn, one text per passage."""
    at, speaker = local(from_micros(row.observed_at), zone), row.name or row.role
    return [turn_key(p, speaker=speaker, at=at) for p in parts(row.text, row.ends)]


def fact_texts(row: MemoryRow | NewMemory) -> list[str]:
    """What is embedded of a fact, one text per passage."""
    return parts(row.text, row.ends)


def body_hash(call: Call) -> bytes:
    """16 bytes of what the caller said: the same call sent again has the same, also when
    its times default to now."""
    said: dict[str, Any] = {
        "messages": [_said(message) for message in call.messages],
        "items": [_said(item) for item in call.items],
        "agent": call.scope.agent_id,
        "session": call.scope.session_id,
        "at": call.observed_at,
    }
    text = json.dumps(said, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=16).digest()


def _said(value: Message | Item) -> dict[str, Any]:
    """A record as plain JSON values; what is not set is left out."""
    values = {f.name: getattr(value, f.name) for f in fields(value)}
    return {k: dict(v) if k == "metadata" else v for k, v in values.items() if v}
