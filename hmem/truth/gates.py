"""Whether a fact may take the place of another, which a model proposes and code decides.
Pure. In doubt both stay: a fact too many is seen, a fact closed wrongly is lost.

    refused as            when
    --------------------  ------------------------------------------------------------------
    not shown             the model was not shown the older fact
    closed                it is closed already
    another agent         they belong to two agents
    not the user's words  it rests on a tool's or quoted words, or on the assistant's while
                          the older one rests on the user's; or either is procedural
    not borne out         its sources do not say what it says (see `provenance`)
    the same              the same text, or the same fact in other words
    a plan, for a while,  it does not say what is so now: "plans to move", "until Easter",
    in the past, in       "lived there as a child", "also works at"
    addition
    another subject       they are about two people or things
    another matter        they are about one person and two matters
    too many              the add has closed MOST_PER_ADD others

A fact observed before the one that it is to replace is `late`: it closes nothing, and the
store inserts it before the other.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from hmem.records import Category
from hmem.text import content_hash
from hmem.truth.facets import Facet
from hmem.truth.guards import differs
from hmem.truth.matters import Matter, may_be_one, one_matter
from hmem.truth.roles import Voice
from hmem.truth.topics import Stance, clauses, stances

MOST_PER_ADD = 8
"""Facts that the facts of one add may close. People tell of one or two changes at a time;
a talk that closes more is likelier to be an attack, and each closing can be undone."""
NEAR = 0.6
"""Cosine from which vectors speak for one matter. Of 15,652 pairs about two matters of one
user 0.1% lie above it with the model all-MiniLM-L6-v2, of 89 changes 93%."""

Refusal = Literal[
    "not shown",
    "closed",
    "another agent",
    "not the user's words",
    "not borne out",
    "the same",
    "a plan",
    "for a while",
    "in the past",
    "in addition",
    "another subject",
    "another matter",
    "too many",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A fact before the gate. `at`: when it was observed; `voice`: whose words it rests on
    (None: judged by its text); `verified`: whether its sources bear it out."""

    text: str
    at: datetime
    category: Category = "semantic"
    agent_id: str | None = None
    voice: Voice | None = None
    verified: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate says, for the journal: `refusal` is None where the newer fact may take
    the older one's place, and then `matter` says why they belong together."""

    refusal: Refusal | None
    matter: Matter | None = None
    late: bool = False

    @property
    def allowed(self) -> bool:
        """Whether the newer fact may take the older one's place."""
        return self.refusal is None


def may_supersede(
    new: Side,
    old: Side,
    *,
    shown: bool,
    is_open: bool,
    user: Collection[str] = (),
    cosine: float | None = None,
    closed: int = 0,
) -> str | None:
    """Why a fact may not take the place of another; None: it may. See `judge`."""
    return judge(
        new,
        old,
        shown=shown,
        is_open=is_open,
        user=user,
        cosine=cosine,
        closed=closed,
    ).refusal


def judge(
    new: Side,
    old: Side,
    *,
    shown: bool,
    is_open: bool,
    user: Collection[str] = (),
    cosine: float | None = None,
    closed: int = 0,
) -> Verdict:
    """Whether a fact may take the place of another, by the table above.

    `user`: names of the user's own; `cosine`: of the vectors of both, where there are any;
    `closed`: how many facts this add has closed before.
    """
    refusal = _formal(new, old, shown=shown, is_open=is_open, closed=closed)
    late = new.at < old.at
    if refusal is not None:
        return Verdict(refusal=refusal, late=late)
    names = tuple(user)
    if content_hash(new.text) == content_hash(old.text):
        return Verdict(refusal="the same", late=late)
    if differs(new.text, old.text, user=names) is None:
        return Verdict(refusal="the same", late=late)
    newer, older = (old.text, new.text) if late else (new.text, old.text)
    return _of_one_matter(newer, older, names, cosine, late=late)


def _formal(
    new: Side, old: Side, *, shown: bool, is_open: bool, closed: int
) -> Refusal | None:
    """What needs no reading."""
    voice, other = _voice(new), _voice(old)
    procedural = "procedural" in (new.category, old.category)
    foreign = voice in ("tool", "quoted") or (voice == "assistant" and other == "user")
    checks: tuple[tuple[bool, Refusal], ...] = (
        (not shown, "not shown"),
        (not is_open, "closed"),
        (new.agent_id != old.agent_id, "another agent"),
        (foreign or (procedural and voice != "user"), "not the user's words"),
        (not new.verified, "not borne out"),
        (closed >= MOST_PER_ADD, "too many"),
    )
    return next((refusal for failed, refusal in checks if failed), None)


def _voice(side: Side) -> Voice:
    """Whose words a fact rests on; `roles` writes it into facts that are not the user's."""
    if side.voice is not None:
        return side.voice
    if side.text.startswith("The assistant said: "):
        return "assistant"
    return "tool" if side.text.startswith("According to ") else "user"


def _of_one_matter(
    newer: str, older: str, user: tuple[str, ...], cosine: float | None, *, late: bool
) -> Verdict:
    """Whether the newer fact says what is so now of the older one's matter."""
    before = Facet(older, user)
    refusals: list[Refusal] = []
    for clause in clauses(newer):
        facet = Facet(clause, user)
        stance = _stance(facet, older)
        if stance is not None:
            refusals.append(stance)
            continue
        matter: Matter | None = one_matter(facet, before)
        if matter is None and cosine is not None and cosine >= NEAR:
            matter = "near" if may_be_one(facet, before) else None
        if matter is not None:
            return Verdict(refusal=None, matter=matter, late=late)
        shares = facet.subject.shares(before.subject)
        refusals.append("another matter" if shares else "another subject")
    return Verdict(refusal=refusals[0], late=late)


def _stance(new: Facet, older: str) -> Stance | None:
    """Why a fact does not say what is so now, unless the older one says no more."""
    own, others = stances(new.text), stances(older)
    if new.subject.things:  # a thing's "until May" is no visit
        others |= {"for a while"}
    for stance in ("in addition", "in the past", "a plan", "for a while"):
        unmatched = stance not in others or stance in ("in addition", "in the past")
        if stance in own and unmatched:
            return stance
    return None
