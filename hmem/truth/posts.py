"""Who holds a post that one holds at a time: the lead of a project, somebody's landlord.
Pure; English."""

import re

from hmem.truth.facets import NEGATED, Facet, head
from hmem.truth.forms import form
from hmem.truth.reading import USER

_ROLE_WORDS = (
    "lead leader head boss manager captain coach teacher director chair chairman president "
    "ceo owner supervisor landlord landlady mayor editor tutor mentor trainer instructor "
    "dentist therapist accountant lawyer secretary treasurer conductor principal headmaster "
    "headmistress chairwoman chairperson"
)
_ROLE_NAMES = "|".join(_ROLE_WORDS.split())
_ROLE_OF = re.compile(
    rf"\b({_ROLE_NAMES}) of ([\w' ]+?)(?= (?:is|are|has|since|now|from)\b|[,.]|$)"
)
_ROLE_POSSESSED = re.compile(
    rf"\b([\w]+)'s? (?:new |current )?(?:(\w+) )?({_ROLE_NAMES})\b"
)
_ROLE_VERB = re.compile(
    r"\b(lead|head|manage|coach|chair|direct|supervise|edit|own)s ([\w' ]+?)(?= (?:now|since|from)\b|[,.]|$)"
)
_ROLE_OF_VERB = {
    "manage": "manager",
    "direct": "director",
    "supervise": "supervisor",
    "edit": "editor",
    "own": "owner",
}
_ONE_ROLE = {
    "boss": "manager",
    "supervisor": "manager",
    "leader": "lead",
    "head": "lead",
}
_REPORTS = re.compile(r"\b(\w+) (?:now )?reports to\b")


def one_post(new: Facet, old: Facet) -> bool:
    """Whether both say who has one and the same role for one thing or person: another one,
    or that the same one has it no longer."""
    of_new, of_old = _roles(new.plain), _roles(old.plain)
    mine = {word for _, of in (*of_new, *of_old) for word in of}
    if not any(
        role == other and (of <= other_of or other_of <= of)
        for role, of in of_new
        for other, other_of in of_old
    ):
        return False
    holders, known = _holders(new, mine), _holders(old, mine)
    if not (holders and known):
        return False
    return holders != known or NEGATED.search(new.plain) is not None


_HOLDS_WORDS = (
    "be become name call take replace succeed change switch appoint elect make follow step "
    "report retire stop quit resign leave hand give lead head manage coach chair direct "
    "supervise edit own"
)
_HOLDS = frozenset(_HOLDS_WORDS.split())
_AT = frozenset(("in", "at", "from", "on", "near", "with", "to", "for"))


def _holders(facet: Facet, mine: set[str]) -> frozenset[str]:
    """Whom a fact names as holding a post; nobody where it says what somebody does."""
    if facet.verb is None or form(facet.verb.value).lemmas.isdisjoint(_HOLDS):
        return frozenset()
    found = {name for name in facet.subject.names if name not in mine}
    for at, item in enumerate(facet.items):
        before = facet.items[at - 1].value if at else ""
        named = item.capital is True and before not in _AT and item.kind == "word"
        if (named or item.value == USER) and head(item.value) not in mine:
            found.add(head(item.value))
    return frozenset(found)


def _roles(plain: str) -> list[tuple[str, frozenset[str]]]:
    found = [(m[1], _of(m[2])) for m in _ROLE_OF.finditer(plain)]
    found += [
        (m[3], _of(f"{m[1]} {m[2] or ''}")) for m in _ROLE_POSSESSED.finditer(plain)
    ]
    found += [
        (_ROLE_OF_VERB.get(m[1], m[1]), _of(m[2])) for m in _ROLE_VERB.finditer(plain)
    ]
    found += [("manager", _of(m[1])) for m in _REPORTS.finditer(plain)]
    return [(_ONE_ROLE.get(role, role), of) for role, of in found if of]


def _of(said: str) -> frozenset[str]:
    kept = {head(word) for word in said.split()} - {
        "the",
        "a",
        "an",
        "her",
        "his",
        "their",
    }
    return frozenset(kept)
