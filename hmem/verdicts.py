"""Reconcile mode's second reply: what a model says about candidates and memories. Pure;
believes nothing.

    a decision for an unknown candidate        ignored
    no decision, an unknown action, ADD        ADD
    UPDATE, DELETE, NOOP without one memory    ADD: nothing is ended that was not named
      that exists
    two decisions about one candidate          the first, where they agree; else ADD
    UPDATE and DELETE of one memory, or one    ADD for each: they contradict each other
      of them beside NOOP
    several UPDATEs or DELETEs of one memory   the first; ADD for the others
    no list of decisions                       Unreadable
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from hmem.chat.peel import Unreadable
from hmem.extract.fields import first, line, numbers, plain_keys

Verb = Literal["ADD", "UPDATE", "DELETE", "NOOP"]
_VERBS: Mapping[str, Verb] = {
    **{verb: verb for verb in get_args(Verb)},
    **dict.fromkeys(("REPLACE", "SUPERSEDE", "CHANGE"), "UPDATE"),
    **dict.fromkeys(("REMOVE", "CLOSE", "END"), "DELETE"),
    **dict.fromkeys(("NONE", "SKIP", "IGNORE", "DUPLICATE", "KEEP"), "NOOP"),
}
_LISTS = ("decisions", "actions", "operations", "memory", "results", "events")
_CANDIDATE = ("candidate", "candidate_id", "fact", "index", "id")
_ACTION = ("action", "event", "operation", "decision", "verdict")
_MEMORY = ("memory", "memory_id", "target", "memories")
_REASON_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is proposed for one candidate. `memory` is a position among those shown;
    `refused` says why something else that was proposed is an ADD."""

    verb: Verb = "ADD"
    memory: int | None = None
    reason: str | None = None
    refused: str | None = None


ADD = Verdict()


def read(value: Any, candidates: int, memories: int) -> tuple[Verdict, ...]:
    """One verdict per candidate, in order. Raises Unreadable."""
    found: dict[int, Verdict] = {}
    for item in _listed(value):
        if not isinstance(item, Mapping):
            continue
        fields = plain_keys(item)
        places = numbers(first(fields, _CANDIDATE), candidates).found
        if len(places) != 1:
            continue
        said = _verdict(fields, memories)
        before = found.setdefault(places[0], said)
        if (before.verb, before.memory) != (said.verb, said.memory):
            found[places[0]] = Verdict(refused="two decisions about it")
    return _without_conflicts([found.get(n, ADD) for n in range(candidates)])


def _listed(value: Any) -> Sequence[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        fields = plain_keys(value)
        for key in _LISTS:
            if isinstance(fields.get(key), list):
                decisions: list[Any] = fields[key]
                return decisions
    raise Unreadable('an object with a list "decisions" was asked for')


def _verdict(fields: Mapping[str, Any], memories: int) -> Verdict:
    said = first(fields, _ACTION)
    verb = _VERBS.get(said.strip().upper()) if isinstance(said, str) else None
    reason = line(fields.get("reason"), most=_REASON_CHARS) or None
    if verb is None or verb == "ADD":
        return Verdict(reason=reason)
    named = numbers(first(fields, _MEMORY), memories)
    if len(named.found) != 1 or named.refused:
        return Verdict(refused=f"{verb} of no memory that was shown")
    return Verdict(verb=verb, memory=named.found[0], reason=reason)


def _without_conflicts(verdicts: list[Verdict]) -> tuple[Verdict, ...]:
    """At most one candidate ends a memory, and none that another says still holds."""
    said: dict[int, set[Verb]] = {}
    for one in verdicts:
        if one.memory is not None:
            said.setdefault(one.memory, set()).add(one.verb)
    ended: Counter[int] = Counter()
    found: list[Verdict] = []
    for one in verdicts:
        if one.memory is None:
            found.append(one)
            continue
        if len(said[one.memory]) > 1:
            found.append(Verdict(refused="contradictory decisions about one memory"))
            continue
        ended[one.memory] += one.verb in ("UPDATE", "DELETE")
        again = one.verb in ("UPDATE", "DELETE") and ended[one.memory] > 1
        found.append(Verdict(refused="another fact ended it") if again else one)
    return tuple(found)
