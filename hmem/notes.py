"""What is kept with a job while a model reads its turns: the replies so far, and which of
them have been carried out. Makes a reply count once, also over a crash."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from typing import Any

from hmem.protocols import ClaimedJob, TurnRow
from hmem.records import Skipped, Usage

_VERSION = 2


@dataclass(slots=True)
class Part:
    """One chunk of turns: what was answered about it. `turns` are their sequences, `whole`
    says that none of them is a piece of a turn.

    `split`: it was too much for one reply, so its halves are parts. `done`: what the reply
    says has been carried out (`ended` facts were replaced by it), but for `lost` items of it that could not be used. `verdict`
    is the second reply of reconcile mode. `shown` and `beside` are the ids that the numbers
    in the replies stand for.
    """

    turns: tuple[int, ...] = ()
    whole: bool = True
    split: bool = False
    done: bool = False
    ended: int = 0
    lost: int = 0
    skipped: tuple[Skipped, ...] = ()
    reply: str = ""
    shown: tuple[str, ...] = ()
    verdict: str = ""
    beside: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class Notes:
    """Of jobs that are read together. Each job keeps the parts that its own turns are in,
    so that it does not matter which jobs are read together next time."""

    parts: dict[str, Part] = field(default_factory=dict)

    @classmethod
    def of(cls, jobs: Sequence[ClaimedJob]) -> "Notes":
        """What some jobs keep. What cannot be read is left out: then the model is asked
        again."""
        notes = cls()
        for job in jobs:
            notes.parts.update(_load(job.reply))
        return notes

    def dump(self, job: ClaimedJob) -> bytes:
        """What a job is to keep, as bytes."""
        own = {turn.seq for turn in job.turns}
        parts = {
            key: _short(part)
            for key, part in self.parts.items()
            if not own.isdisjoint(part.turns)
        }
        value = {"v": _VERSION, "parts": parts}
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

    def waiting(
        self, turns: Sequence[TurnRow]
    ) -> tuple[list[tuple[TurnRow, ...]], list[TurnRow]]:
        """Chunks whose reply is there and has not been carried out, as they were asked
        about; and the turns of which nothing is known."""
        rows = {turn.seq: turn for turn in turns}
        chunks = []
        for part in self.parts.values():
            if not part.whole or not all(seq in rows for seq in part.turns):
                continue
            if part.done or part.reply:
                known = tuple(rows.pop(seq) for seq in part.turns)
                chunks += [] if part.done else [known]
        done = {s for p in self.parts.values() if p.done and p.whole for s in p.turns}
        return chunks, [turn for seq, turn in rows.items() if seq not in done]

    @property
    def usage(self) -> Usage:
        """What all parts cost."""
        return sum((part.usage for part in self.parts.values()), Usage())


def _load(stored: bytes | None) -> dict[str, Part]:
    if not stored:
        return {}
    try:
        value = json.loads(stored)
        if value["v"] != _VERSION:
            return {}
        return {key: _part(one) for key, one in value["parts"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def key_of(turns: Sequence[TurnRow]) -> str:
    """Names a chunk: the same turns (or parts of a turn) have the same key."""
    digest = blake2b(digest_size=12)
    for turn in turns:
        digest.update(f"{turn.seq}:{len(turn.text)}:".encode())
        digest.update(turn.text.encode("utf-8", "replace"))
    return digest.hexdigest()


def _short(part: Part) -> dict[str, Any]:
    """Without what says nothing."""
    if part.done:  # what was carried out need not be read again
        part = replace(part, reply="", shown=(), verdict="", beside=())
    value = asdict(part)
    value["usage"] = {k: v for k, v in value["usage"].items() if v}
    return {k: v for k, v in value.items() if v}


def _part(value: dict[str, Any]) -> Part:
    return Part(
        turns=tuple(int(seq) for seq in value.get("turns", ())),
        whole=bool(value.get("whole")),
        ended=int(value.get("ended", 0)),
        split=bool(value.get("split")),
        done=bool(value.get("done")),
        lost=int(value.get("lost", 0)),
        skipped=tuple(Skipped(**one) for one in value.get("skipped", ())),
        reply=str(value.get("reply", "")),
        shown=tuple(str(one) for one in value.get("shown", ())),
        verdict=str(value.get("verdict", "")),
        beside=tuple(str(one) for one in value.get("beside", ())),
        usage=Usage(**value.get("usage", {})),
    )
