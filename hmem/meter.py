"""What the chat model cost so far, by purpose."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hmem.records import Usage


@dataclass(slots=True)
class _Tally:
    asked: int = 0
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    rungs: dict[str, int] = field(default_factory=dict)


class Meter:
    """Counts by purpose ("extract", "reconcile", ...) since the process began."""

    def __init__(self) -> None:
        self._tallies: dict[str, _Tally] = {}
        self.decisions: Counter[str] = Counter()

    def note(self, purpose: str, usage: Usage, *, failed: bool = False) -> None:
        """One question that was asked: what it cost, and whether it failed."""
        tally = self._tallies.setdefault(purpose, _Tally())
        tally.asked += 1
        tally.failures += failed
        tally.usage += usage
        if usage.rung is not None:
            tally.rungs[usage.rung] = tally.rungs.get(usage.rung, 0) + 1

    def decided(self, tally: Mapping[str, int]) -> None:
        """What was decided about facts: how often each action, refusals, and facts that
        are not verified."""
        self.decisions.update(tally)

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """By purpose: `asked` and `failures` (questions), `calls` (requests answered),
        `prompt_tokens`, `completion_tokens`, `retries`, `milliseconds`, `rungs` (questions
        by the last form of JSON asked for), `cost` (None without prices)."""
        return {name: _told(self._tallies[name]) for name in sorted(self._tallies)}

    def total(self) -> Usage:
        """All purposes together."""
        whole = sum((t.usage for t in self._tallies.values()), Usage())
        return replace(whole, rung=None)


def _told(tally: _Tally) -> dict[str, Any]:
    return {
        "asked": tally.asked,
        "failures": tally.failures,
        "calls": tally.usage.llm_calls,
        "prompt_tokens": tally.usage.prompt_tokens,
        "completion_tokens": tally.usage.completion_tokens,
        "retries": tally.usage.retries,
        "milliseconds": tally.usage.milliseconds,
        "rungs": dict(sorted(tally.rungs.items())),
        "cost": tally.usage.cost,
    }
