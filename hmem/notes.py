"""What is kept with a job while a model reads its turns: the replies so far, and which of
them have been carried out. Makes a reply count once, also over a crash."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

from hmem.protocols import TurnRow
from hmem.records import Skipped, Usage

_VERSION = 1


@dataclass(slots=True)
class Part:
    """One chunk of turns: what was answered about it.

    `split`: it was too much for one reply, so its halves are parts. `done`: what the reply
    says has been carried out, but for `lost` items of it that could not be used. `verdict`
    is the second reply of reconcile mode. `shown` and `beside` are the ids that the numbers
    in the replies stand for.
    """

    split: bool = False
    done: bool = False
    lost: int = 0
    skipped: tuple[Skipped, ...] = ()
    reply: str = ""
    shown: tuple[str, ...] = ()
    verdict: str = ""
    beside: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class Notes:
    """Of one group of jobs. `jobs` are their ids; the first one's row holds this."""

    jobs: tuple[str, ...]
    parts: dict[str, Part] = field(default_factory=dict)

    def dump(self) -> bytes:
        """As bytes to store."""
        parts = {key: _short(part) for key, part in self.parts.items()}
        value = {"v": _VERSION, "jobs": self.jobs, "parts": parts}
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def load(cls, stored: bytes | None) -> "Notes | None":
        """What `dump` gave; None for nothing, and for what cannot be read: then the model
        is asked again."""
        if not stored:
            return None
        try:
            value = json.loads(stored)
            if value["v"] != _VERSION:
                return None
            parts = {key: _part(one) for key, one in value["parts"].items()}
            return cls(tuple(value["jobs"]), parts)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    @property
    def usage(self) -> Usage:
        """What all parts cost."""
        return sum((part.usage for part in self.parts.values()), Usage())


def key_of(turns: Sequence[TurnRow]) -> str:
    """Names a chunk: the same turns (or parts of a turn) have the same key."""
    digest = blake2b(digest_size=12)
    for turn in turns:
        digest.update(f"{turn.seq}:{len(turn.text)}:".encode())
        digest.update(turn.text.encode("utf-8", "replace"))
    return digest.hexdigest()


def _short(part: Part) -> dict[str, Any]:
    """Without what says nothing."""
    value = asdict(part)
    value["usage"] = {k: v for k, v in value["usage"].items() if v}
    return {k: v for k, v in value.items() if v}


def _part(value: dict[str, Any]) -> Part:
    return Part(
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
