"""Who holds a post that one holds at a time: the lead of a project, somebody's landlord.
Pure; English."""

import re

from hmem.truth.facets import head

_ROLE_WORDS = (
    "lead leader head boss manager captain coach teacher director chair chairman president "
    "ceo owner supervisor landlord landlady mayor editor tutor mentor trainer instructor "
    "dentist therapist accountant lawyer secretary"
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


def one_post(new: str, old: str) -> bool:
    """Whether both say who has one and the same role for one thing or person."""
    return any(
        role == other and (of <= other_of or other_of <= of)
        for role, of in _roles(new)
        for other, other_of in _roles(old)
    )


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
