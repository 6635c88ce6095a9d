"""Candidates x what is known -> decisions. Pure.

What the model proposes is carried out only where code agrees: see `hmem.truth`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hmem.extract import Candidate, Talk
from hmem.protocols import MemoryRow
from hmem.text import content_hash

Action = Literal["add", "supersede", "cite", "close", "drop"]


class Near(NamedTuple):
    """An open fact close to a new one, with its cosine."""

    row: MemoryRow
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of one candidate. `target` is the public id of the fact it replaces,
    repeats or ends."""

    candidate: Candidate
    action: Action
    target: str | None = None
    reason: str | None = None
    quote: str | None = None
    verified: bool = True


def decide(
    candidates: Sequence[Candidate], talk: Talk, near: Sequence[Sequence[Near]]
) -> list[Decision]:
    """Append mode: facts are added, and may name what they supersede."""
    found: list[Decision] = []
    for candidate, close in zip(candidates, near, strict=True):
        target = candidate.supersedes
        same = content_hash(candidate.text)
        twin = next((one.row.id for one in close if one.row.hash == same), None)
        if twin is not None:
            found.append(
                Decision(
                    candidate=candidate, action="cite", target=twin, reason="duplicate"
                )
            )
            continue
        found.append(
            Decision(
                candidate=candidate,
                action="add" if target is None else "supersede",
                target=None if target is None else talk.shown[target].id,
                reason=candidate.reason,
                quote=candidate.quote,
            )
        )
    return found
