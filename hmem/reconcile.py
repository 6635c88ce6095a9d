"""Candidates x what is known -> decisions. Pure.

What a model proposes is carried out only where code agrees (`hmem.truth`):

    a candidate that nobody said          dropped, or said to be the assistant's words
    one that an open fact says already    cited there, if nothing in it differs
    one that is to replace a fact         replaces it, unless a gate refuses; then both stand
    one whose quote, numbers, dates or    kept, and not verified
      names are not in its turns
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from hmem.extract import Candidate, Talk
from hmem.protocols import MemoryRow, TurnRow
from hmem.text import content_hash, proper_nouns
from hmem.times import from_micros
from hmem.truth.guards import differs
from hmem.truth.provenance import Checked, check
from hmem.truth.roles import Said, Voice, rule
from hmem.verdicts import Verb

if TYPE_CHECKING:
    from hmem.timeparse import When

Action = Literal["add", "supersede", "cite", "close", "drop"]
MAX_ENDED = 4
"""Facts that one reply may replace or end: one that ends more has lost the thread, or
follows what somebody wrote into the talk."""
_SAME = 0.95
_NOT_SAID = frozenset(("negation", "opposite", "modality", "question", "direction"))

Vector = NDArray[np.float32]


class Near(NamedTuple):
    """An open fact close to a new one, with its cosine."""

    row: MemoryRow
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A fact that may be replaced, and the turns it rests on that are still there."""

    row: MemoryRow
    turns: tuple[TurnRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a model would do with a candidate. `target` is a public id; `refused` says why
    something else that it proposed is an ADD."""

    verb: Verb = "ADD"
    target: str | None = None
    reason: str | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of one candidate. `target` is the public id of the fact it replaces,
    repeats or ends; `ends` one that a repeated fact takes the place of. `refused` says
    what was proposed and is not carried out: the id, and why."""

    candidate: Candidate
    action: Action
    target: str | None = None
    reason: str | None = None
    quote: str | None = None
    verified: bool = True
    ends: str | None = None
    refused: tuple[str | None, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A candidate as it may stand, given who said it. `dropped` says why it may not."""

    candidate: Candidate
    voice: Voice
    dropped: str | None = None


def admit(talk: Talk, one: Candidate) -> Admitted:
    """What a candidate may be, given who said what it rests on."""
    ruling = rule(
        one.text,
        one.category,
        sources=[
            Said(role=t.role, text=t.text, name=t.name) for t in _turns(talk, one)
        ],
        quote=one.quote,
        talkers={turn.name for turn in talk.turns if turn.name and turn.role == "user"},
    )
    if ruling.text is None:
        return Admitted(candidate=one, voice=ruling.voice, dropped=ruling.why)
    made = replace(one, text=ruling.text, category=ruling.category)
    return Admitted(candidate=made, voice=ruling.voice)


def _turns(talk: Talk, one: Candidate) -> list[TurnRow]:
    """The turns that a candidate names, all where it names none."""
    return [talk.turns[at] for at in one.sources] or list(talk.turns)


def proposed(talk: Talk, one: Candidate) -> Proposal:
    """Append mode: a fact is added, and may name what it supersedes."""
    if one.supersedes is None:
        return Proposal()
    return Proposal(
        verb="UPDATE", target=talk.shown[one.supersedes].id, reason=one.reason
    )


@dataclass(slots=True)
class _Sofar:
    """What was decided of the candidates before."""

    ended: set[str] = field(default_factory=set)
    kept: list[int] = field(default_factory=list)


def decide(
    talk: Talk,
    candidates: Sequence[Candidate],
    proposals: Sequence[Proposal],
    *,
    near: Sequence[Sequence[Near]],
    vectors: Sequence[Vector | None],
    known: Mapping[str, Known],
) -> list[Decision]:
    """One decision per candidate, in order. `near` and `vectors` belong to the candidates;
    `known` holds the targets of the proposals that are there."""
    found: list[Decision] = []
    sofar = _Sofar()
    for n, (one, proposal) in enumerate(zip(candidates, proposals, strict=True)):
        decision = _repeats(one, near[n])
        if decision is not None:
            decision = _and_ends(talk, decision, proposal, known, sofar)
        else:
            decision = _said_before(n, candidates, vectors, sofar)
        if decision is None:
            decision = _judged(talk, one, proposal, known, sofar)
        if decision.action in ("add", "supersede"):
            sofar.kept.append(n)
        if decision.action in ("supersede", "close") and decision.target is not None:
            sofar.ended.add(decision.target)
        if decision.ends is not None:
            sofar.ended.add(decision.ends)
        found.append(decision)
    return found


def _repeats(one: Candidate, near: Sequence[Near]) -> Decision | None:
    """The decision about a candidate that an open fact says already."""
    same = content_hash(one.text)
    for close in near:
        if close.row.hash == same:
            return _cite(one, close.row, "duplicate")
    for close in near:
        if differs(one.text, close.row.text) is None:
            return _cite(one, close.row, f"near duplicate ({close.cosine:.3f})")
    return None


def _said_before(
    n: int,
    candidates: Sequence[Candidate],
    vectors: Sequence[Vector | None],
    sofar: _Sofar,
) -> Decision | None:
    """The decision about one that an earlier candidate of the same reply says."""
    mine = vectors[n]
    if mine is None:
        return None
    for at in sofar.kept:
        other = vectors[at]
        if other is None or float(mine @ other) < _SAME:
            continue
        if differs(candidates[n].text, candidates[at].text) is None:
            why = "says the same as another fact of the reply"
            return Decision(candidate=candidates[n], action="drop", reason=why)
    return None


def _cite(one: Candidate, row: MemoryRow, reason: str) -> Decision:
    return Decision(candidate=one, action="cite", target=row.id, reason=reason)


def _and_ends(
    talk: Talk,
    cited: Decision,
    proposal: Proposal,
    known: Mapping[str, Known],
    sofar: _Sofar,
) -> Decision:
    """A fact that stands already may take the place of another one all the same."""
    old = known.get(proposal.target or "")
    if proposal.verb not in ("UPDATE", "DELETE") or proposal.target == cited.target:
        return cited
    refusal = _refusal(talk, cited.candidate, proposal, old, sofar)
    if refusal is not None:
        return replace(cited, refused=(proposal.target or "", refusal))
    return replace(cited, ends=proposal.target)


def _judged(
    talk: Talk,
    one: Candidate,
    proposal: Proposal,
    known: Mapping[str, Known],
    sofar: _Sofar,
) -> Decision:
    """The decision about a candidate that is new."""
    checked = _checked(talk, one, known.get(proposal.target or ""))
    added = Decision(
        candidate=one,
        action="add",
        reason=None if checked.verified else f"not verified: {', '.join(checked.why)}",
        quote=checked.quote,
        verified=checked.verified,
    )
    if proposal.verb == "ADD" or proposal.target is None:
        why = proposal.refused
        return added if why is None else replace(added, refused=(None, why))
    old = known.get(proposal.target)
    refusal = _refusal(talk, one, proposal, old, sofar)
    if refusal is not None or old is None:
        return replace(added, refused=(proposal.target, refusal or ""))
    match proposal.verb:
        case "NOOP":
            return _cite(one, old.row, proposal.reason or "known already")
        case "DELETE":
            return replace(
                added, action="close", target=old.row.id, reason=proposal.reason
            )
        case _:
            return replace(
                added, action="supersede", target=old.row.id, reason=proposal.reason
            )


def _refusal(
    talk: Talk, one: Candidate, proposal: Proposal, old: Known | None, sofar: _Sofar
) -> str | None:
    """Why a proposal is not carried out; None if it is."""
    if old is None:
        return "there is no such fact"
    if old.row.valid_to is not None or old.row.forgotten_at is not None:
        return "it is not open"
    if proposal.verb == "NOOP":
        return None if _says_all(talk, old.row, one) else "it does not say all of this"
    if proposal.verb == "DELETE" and _older(talk, one, old):
        return "it is newer"
    if old.row.id in sofar.ended:
        return "another fact of the reply ended it"
    if len(sofar.ended) >= MAX_ENDED:
        return f"more than {MAX_ENDED} in one reply"
    return None


def _older(talk: Talk, one: Candidate, old: Known) -> bool:
    """Whether a candidate was said before an old fact began. To take its place it is
    inserted before it; to end it, it comes too early."""
    return max(turn.observed_at for turn in _turns(talk, one)) < old.row.valid_from


def _says_all(talk: Talk, row: MemoryRow, one: Candidate) -> bool:
    """Whether an old fact has every number, date and name of a new one, and the same
    "not"."""
    if differs(one.text, row.text) in _NOT_SAID:
        return False
    since = from_micros(row.valid_from)
    return check(
        one.text, None, one.entities, [row.text], at=[since], zone=talk.zone
    ).verified


def _named(talk: Talk) -> frozenset[str]:
    """Who and what may be named in a fact although its turns do not: the talkers, and whom
    the rest of the talk and the memories shown speak of. "She" has to become a name."""
    texts = [turn.text for turn in (*talk.recent, *talk.turns)]
    texts += [one.text for one in talk.shown]
    names = [turn.name for turn in (*talk.recent, *talk.turns) if turn.name]
    return frozenset((*names, *proper_nouns("\n".join((*texts, talk.profile)))))


def _checked(talk: Talk, one: Candidate, old: Known | None) -> Checked:
    """Whether the turns bear a candidate out. What it replaces may be named in it."""
    turns = _turns(talk, one)
    texts = [turn.text for turn in turns]
    times = [from_micros(turn.observed_at) for turn in turns]
    if old is not None:
        texts.append(old.row.text)
        times.append(from_micros(old.row.valid_from))
    return check(
        one.text,
        one.quote,
        one.entities,
        texts,
        at=times,
        zone=talk.zone,
        names=_named(talk),
        when=_mentions,
    )


def _mentions(text: str, *, at: datetime, zone: ZoneInfo) -> "list[When]":
    """The times that a turn may speak of. Loaded at the first fact: a process that reads
    none saves 40 ms."""
    module = import_module("hmem.timeparse")
    found: list[When] = module.mentions(text, at=at, zone=zone)
    return found
