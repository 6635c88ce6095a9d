"""What a question is after, told from its words. Pure; English.

A question in another language is after nothing in particular: it is answered by what
matches it best, as before. A match changes how rows are weighed and shown, never which
rows may be found.
"""

import re
from typing import Literal

Whose = Literal["user", "assistant", "both", "any"]

_LONGEST = 1_000  # characters looked at from either end: what is asked stands there
_DONE = (
    "recommended|suggested|said|told|advised|mentioned|explained|described|gave|given|"
    "listed|proposed|provided|wrote|written|showed|shown|outlined|offered|created|made|"
    "came up|answered|pointed|shared|walked|helped|taught|called|used|chose|picked"
)
_DO = (
    "recommend|suggest|say|tell|advise|mention|explain|describe|give|list|propose|"
    "provide|write|show|outline|offer|create|make|come up|answer|point|share|walk|help|"
    "teach|call|use|choose|pick"
)
_ASSISTANT = re.compile(
    rf"\b(?:did|didn't|had|have|haven't) you(?: \w+)? (?:{_DO}|{_DONE})\b"
    rf"|\byou(?:'d|'ve)?(?: had| have| just| also| previously| earlier| once){{0,2}}"
    rf" (?:{_DONE})\b"
    r"|\byour (?:\w+ )?(?:recommendation|suggestion|advice|answer|explanation|reply"
    r"|response)s?\b"
    r"|\bremind me (?:what|which|who|where|when|how|of|about)\b"
    r"|\bour (?:previous|last|earlier|past|first) (?:\w+ )?"
    r"(?:chat|conversation|discussion|talk|session)s?\b",
    re.IGNORECASE,
)
_USER = re.compile(
    r"\bI(?:'ve| have| had)?(?: \w+ly| also| ever| first)? (?:brought up|bring up|"
    r"mention(?:ed)?|said|say|told|tell|ask(?:ed)?|talk(?:ed)? about|described?|shared?|"
    r"stated?)\b"
    r"|\bdid I(?: \w+)? (?:bring up|mention|say|tell|ask|talk|describe|share|state)\b",
    re.IGNORECASE,
)
_SUMMARY = r"\bsummar(?:y|ies|i[sz]e[ds]?|i[sz]ing)\b|\bsum up\b|\boverview\b|\brecap\b"
_METHOD = (
    r"\bhow (?:did|have|had) I\b"
    r"|\b(?:approach|method|process|procedure|steps|strategy) (?:did|have|had) I\b"
)
_BOTH = re.compile(f"{_SUMMARY}|{_METHOD}", re.IGNORECASE)
_SPREAD = re.compile(
    rf"{_SUMMARY}"
    r"|\b(?:in|what|which) (?:(?:the|chronological|right|correct) ){0,2}order\b(?! to\b)"
    r"|\bthe order (?:in|of|that)\b"
    r"|\bchronolog\w+|\bsequence of\b|\btimeline\b"
    r"|\beverything\b|\ball (?:the|of|my|his|her|their|our)\b"
    r"|\bover time\b|\bthroughout\b|\bacross (?:all|my|our|his|her|their)\b"
    r"|\bhow many (?:different|distinct|times|of|total|kinds|types)\b"
    r"|\bhow many\b.{1,80}\b(?:altogether|overall|so far)\b|\bin total\b"
    r"|\bhow (?:has|have|did)\b.{1,60}\b(?:progress|evolve|develop|change)(?:e?d)?\b",
    re.IGNORECASE,
)


def whose_words(question: str) -> Whose:
    """Whose words a question to an assistant asks for: the asker's own, the assistant's,
    those of both (a summary, and how something was done, which an assistant often laid
    out), or it does not say ("any")."""
    text = _ends(question)
    if _ASSISTANT.search(text):
        return "assistant"
    if _USER.search(text):
        return "user"
    return "both" if _BOTH.search(text) else "any"


def wants_all(question: str) -> bool:
    """Whether a question asks for an order, a summary, a total or everything: things of
    which it wants each a little rather than some in full."""
    return _SPREAD.search(_ends(question)) is not None


def _ends(question: str) -> str:
    text = question.replace("\u2019", "'")
    return text if len(text) <= 2 * _LONGEST else text[:_LONGEST] + text[-_LONGEST:]
