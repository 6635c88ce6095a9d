"""Candidates x what is known -> decisions. Pure.

What a model proposes is carried out only where code agrees (`hmem.truth`):

    a candidate that nobody said          dropped, or said to be the assistant's words
    one that an open fact says already    cited there, if nothing in it differs
    one that is to replace a fact         replaces it, unless a gate refuses; then both stand
    one whose quote, numbers, dates or    kept, and not verified
      names are not in its turns
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
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
from hmem.truth.gates import Side, judge
from hmem.truth.guards import differs
from hmem.truth.provenance import Checked, check
from hmem.truth.roles import Said, Voice, rule
from hmem.verdicts import Verb

if TYPE_CHECKING:
    from hmem.timeparse import When

Action = Literal["add", "supersede", "cite", "close", "drop"]
SAME = 0.95
"""Cosine from which two facts may be one, unless something in them differs [design,
section 6]."""
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


def decide(
    talk: Talk,
    admitted: Sequence[Admitted],
    proposals: Sequence[Proposal],
    *,
    near: Sequence[Sequence[Near]],
    vectors: Sequence[Vector | None],
    known: Mapping[str, Known],
    ended: int = 0,
) -> list[Decision]:
    """One decision per candidate, in order. `near` and `vectors` belong to the candidates;
    `known` holds the targets of the proposals that are there; `ended` is how many facts
    the same add has replaced before."""
    bench = _Bench(talk, known, vectors, ended)
    return [
        bench.decide(n, one, proposal, near[n])
        for n, (one, proposal) in enumerate(zip(admitted, proposals, strict=True))
    ]


class _Bench:
    """Decides about one reply's candidates, one after the other."""

    def __init__(
        self,
        talk: Talk,
        known: Mapping[str, Known],
        vectors: Sequence[Vector | None],
        ended: int,
    ) -> None:
        self._talk = talk
        self._before = ended
        self._known = known
        self._vectors = vectors
        self._named = _named(talk)
        self._users = _users(talk)
        self._ended: set[str] = set()
        self._kept: dict[int, Candidate] = {}

    def decide(
        self, n: int, one: Admitted, proposal: Proposal, near: Sequence[Near]
    ) -> Decision:
        """The decision about candidate `n`."""
        # What this reply ends, and says again, is a new stretch of belief.
        agent = _turns(self._talk, one.candidate)[0].agent_id
        still = [
            close
            for close in near
            if close.row.id not in self._ended and close.row.agent_id == agent
        ]
        decision = _repeats(one.candidate, still)
        if decision is not None:
            decision = self._and_ends(decision, one, proposal, near)
        else:
            decision = self._said_before(n, one.candidate)
        if decision is None:
            decision = self._judged(one, proposal, near)
        if decision.action in ("add", "supersede"):
            self._kept[n] = one.candidate
        if decision.action in ("supersede", "close") and decision.target is not None:
            self._ended.add(decision.target)
        if decision.ends is not None:
            self._ended.add(decision.ends)
        return decision

    def _said_before(self, n: int, one: Candidate) -> Decision | None:
        """The decision about one that an earlier candidate of the same reply says."""
        mine = self._vectors[n]
        for at, other in self._kept.items() if mine is not None else ():
            vector = self._vectors[at]
            if mine is None or vector is None or float(mine @ vector) < SAME:
                continue
            if differs(one.text, other.text, user=self._users) is None:
                why = "says the same as another fact of the reply"
                return Decision(candidate=one, action="drop", reason=why)
        return None

    def _and_ends(
        self, cited: Decision, one: Admitted, proposal: Proposal, near: Sequence[Near]
    ) -> Decision:
        """A fact that stands already may take the place of another one all the same."""
        target = proposal.target
        if proposal.verb not in ("UPDATE", "DELETE") or target in (None, cited.target):
            return cited
        refusal, _ = self._refusal(one, proposal, near, verified=True)
        if refusal is not None:
            return replace(cited, refused=(target, refusal))
        return replace(cited, ends=target)

    def _judged(
        self, one: Admitted, proposal: Proposal, near: Sequence[Near]
    ) -> Decision:
        """The decision about a candidate that is new."""
        fact, old = one.candidate, self._known.get(proposal.target or "")
        checked = _checked(self._talk, fact, old, self._named)
        unsure = f"not verified: {', '.join(checked.why)}"
        added = Decision(
            candidate=fact,
            action="add",
            reason=None if checked.verified else unsure,
            quote=checked.quote,
            verified=checked.verified,
        )
        if proposal.verb == "ADD" or proposal.target is None:
            why = proposal.refused
            return added if why is None else replace(added, refused=(None, why))
        refusal, ends = self._refusal(one, proposal, near, verified=checked.verified)
        if refusal is not None or old is None:
            return replace(added, refused=(proposal.target, refusal or ""))
        if proposal.verb == "NOOP":
            return _cite(fact, old.row, proposal.reason or "known already")
        return replace(
            added,
            # A fact that says more than that the other one has ended is not dropped.
            action="close" if proposal.verb == "DELETE" and ends else "supersede",
            target=old.row.id,
            reason=proposal.reason,
        )

    def _refusal(
        self,
        one: Admitted,
        proposal: Proposal,
        near: Sequence[Near],
        *,
        verified: bool,
    ) -> tuple[str | None, bool]:
        """Why a proposal is not carried out, None if it is; whether the candidate says
        that the other fact has ended."""
        old = self._known.get(proposal.target or "")
        if old is None:
            return "there is no such fact", False
        if proposal.verb == "NOOP":
            says = _says_all(self._talk, old.row, one.candidate)
            return None if says else "it does not say all of this", False
        if old.row.id in self._ended:
            return "another fact of the reply ended it", False
        turns = _turns(self._talk, one.candidate)
        verdict = judge(
            Side(
                text=one.candidate.text,
                at=from_micros(max(turn.observed_at for turn in turns)),
                category=one.candidate.category,
                agent_id=turns[0].agent_id,
                voice=one.voice,
                verified=verified,
            ),
            Side(
                text=old.row.text,
                at=from_micros(old.row.valid_from),
                category=old.row.category,
                agent_id=old.row.agent_id,
                voice=_voice(old),
                verified=old.row.verified,
            ),
            shown=True,
            is_open=_is_open(old.row, proposal.verb),
            user=self._users,
            cosine=next((x.cosine for x in near if x.row.id == old.row.id), None),
            closed=self._before + len(self._ended),
        )
        if verdict.late and proposal.verb == "DELETE":
            return "it is newer", False  # to take its place one is inserted before it
        ends = verdict.matter == "ending" or (
            differs(one.candidate.text, old.row.text, user=self._users) == "negation"
        )
        return verdict.refusal, ends


def _is_open(row: MemoryRow, verb: Verb) -> bool:
    """Whether a fact can be replaced or ended. It was open when it was shown: if another
    one has taken its place since, the new one follows that."""
    if row.forgotten_at is not None:
        return False
    return row.valid_to is None or (verb == "UPDATE" and row.superseded_by is not None)


def _users(talk: Talk) -> frozenset[str]:
    """Names of the user's own: of the one who talks in that role, where it is one."""
    names = {turn.name for turn in talk.turns if turn.role == "user" and turn.name}
    return frozenset(names if len(names) == 1 else ())


def _voice(old: Known) -> Voice | None:
    """Whose words an old fact rests on, as far as its turns are there."""
    roles = {turn.role for turn in old.turns}
    if "user" in roles:
        return "user"
    return "assistant" if "assistant" in roles else None


def _repeats(one: Candidate, near: Sequence[Near]) -> Decision | None:
    """The decision about a candidate that an open fact says already."""
    same = content_hash(one.text)
    close = [x for x in near if x.cosine >= SAME]
    for twin in close:
        if twin.row.hash == same:
            return _cite(one, twin.row, "duplicate")
    for twin in close:
        if differs(one.text, twin.row.text) is None:
            return _cite(one, twin.row, f"near duplicate ({twin.cosine:.3f})")
    return None


def _cite(one: Candidate, row: MemoryRow, reason: str) -> Decision:
    return Decision(candidate=one, action="cite", target=row.id, reason=reason)


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


def _checked(
    talk: Talk, one: Candidate, old: Known | None, named: Collection[str]
) -> Checked:
    """Whether the turns bear a candidate out. What it replaces may be named in it."""
    turns = _turns(talk, one)
    texts = [turn.text for turn in turns]
    times = [from_micros(turn.observed_at) for turn in turns]
    if old is not None:
        texts.append(old.row.text)
        times.append(from_micros(old.row.valid_from))
    found = check(
        one.text,
        one.quote,
        one.entities,
        texts,
        at=times,
        zone=talk.zone,
        names=named,
        when=_mentions,
    )
    if found.source is not None and found.source >= len(turns):
        return replace(found, quote=None)  # the old fact's words are nobody's
    return found


def _mentions(text: str, *, at: datetime, zone: ZoneInfo) -> "list[When]":
    """The times that a turn may speak of. Loaded at the first fact: a process that reads
    none saves 40 ms."""
    module = import_module("hmem.timeparse")
    found: list[When] = module.mentions(text, at=at, zone=zone)
    return found
