"""What a turn only mentions: words of others, questions, what-ifs. Pure; linear.

quoted        lines after ">", code fences, speech in quotation marks, what follows
              "translate:" or "Tom said:", pasted e-mails, JSON, tags, lines that pose
              as a system's or another talker's
question      a sentence that asks, unless it tells on the way ("did I tell you that")
hypothetical  a sentence with "if I", "suppose", "imagine", "what if"
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Mention = Literal["quoted", "question", "hypothetical"]


class Region(NamedTuple):
    """Characters [start, end) that are somebody else's words."""

    start: int
    end: int


_I = r"(?:i|i'm|i'll|i've|my|me|we|we're|our|you|your|ich|je|yo|io|ik|jag|mein|mi|mon)"
_MARKS = (("\u201c", "\u201d"), ('"', '"'), ("\u00ab", "\u00bb"), ("\u2018", "\u2019"))
_SPEECH = re.compile(
    "|".join(f"{a}([^{a}{b}\n]{{12,4000}}){b}" for a, b in _MARKS)
    + r"|(?<![\w])'([^'\n]{12,4000}(?:'[a-z]{1,2}\b[^'\n]{0,400}){0,9})'(?!\w)"
)
_PERSONAL = re.compile(rf"(?<![\w']){_I}(?![\w])", re.IGNORECASE)
_OWN_SPEECH = re.compile(
    r"\b(?:i|we) (?:just |also |always )?(?:said|say|told|tell|replied|answered|wrote|texted"
    r"|admitted|announced|explained|mean)\b[^.!?\n]{0,40}$",
    re.IGNORECASE,
)
_LINES = re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE)
_COMMENTS = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCES = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_TASK = re.compile(
    r"\b(?:translate|summari[sz]e|proof-?read|rewrite|rephrase|paraphrase|correct|edit|fix"
    r"|analy[sz]e|review|explain|shorten|improve|classify|extract)\b[^\n.:?!]{0,60}:",
    re.IGNORECASE,
)
_PASTED = re.compile(
    r"\b(?:here(?:'s| is| are)|below is|this is|pasted?|copied|forwarded|attached|lyrics"
    r"|quote|article|e-?mail|letter|text|poem|story|transcript|document|page|says|wrote|said"
    r"|reads|role-?play)\b[^\n.?!]{0,80}:[ \t]*\n",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?!i\b|we\b)[\w']+ (?:said|says|wrote|writes|texted|replied|answered|told me|asked"
    r"|goes)[ \t]?:[^\n]*",
    re.IGNORECASE,
)
_POSED = re.compile(
    r"^[ \t*#<\[|({-]*(?:system|assistant|developer|admin|root|chatgpt|system prompt"
    r"|new (?:rule|instruction)s?|important (?:system )?(?:notice|message))"
    r"\b[\w ]{0,20}[\]>|)}*# ]*:(?:[^\n]*+\n?)(?:[^\n]++\n?)*+"
    r"|^[ \t]*(?:\#+|[\[<({|]+)[ \t]*(?:system|assistant|developer|tool|function|admin|root"
    r"|instructions?|human|memory|memories|ai|model|inst|override)\b(?:[^\n]*+\n?)"
    r"(?:[^\n]++\n?)*+",
    re.IGNORECASE | re.MULTILINE,
)
_HEADERS = re.compile(
    r"^(?:from|to|subject|date|sent|cc):[^\n]*\n(?:(?:from|to|subject|date|sent|cc):)",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(r"<\|?([a-z][\w:.\-]{1,40})(?:\|?>| [^<>\n]{0,200}>)", re.IGNORECASE)
_MOST_TAGS = 200
_MARKUP_WORDS = "br em strong code span div li ul ol td tr th img hr sub sup"
_MARKUP = frozenset(_MARKUP_WORDS.split())
_JSON = re.compile(r"[\[{]\s*[\"{\[]")


def quoted(text: str) -> list[Region]:
    """The stretches of a turn that are not its talker's own words, in order."""
    found = [
        Region(*match.span())
        for pattern in (_LINES, _FENCES, _COMMENTS, _SAYS, _POSED)
        for match in pattern.finditer(text)
    ]
    found += (*_speech(text), *_tagged(text))
    for pattern in (_TASK, _PASTED, _HEADERS):
        lead = pattern.search(text)
        if lead is not None and text[lead.end() :].strip():
            start = lead.start() if pattern is _HEADERS else lead.end()
            found.append(Region(start, len(text)))
    json = _JSON.search(text)
    if json is not None:
        end = max(text.rfind("}"), text.rfind("]")) + 1
        if end > json.start():
            found.append(Region(json.start(), end))
    return sorted(found)


def _speech(text: str) -> Iterator[Region]:
    """Speech in quotation marks; a title has no "I" in it and is none."""
    for match in _SPEECH.finditer(text):
        said = match[match.lastindex or 0]
        if said.count(" ") < 2 or not _PERSONAL.search(said):
            continue
        before = text[max(0, match.start() - 80) : match.start()]
        if not _OWN_SPEECH.search(before):
            yield Region(*match.span())


def _tagged(text: str) -> Iterator[Region]:
    """What stands between a tag and its end; a tag of one word of markup says nothing."""
    low = text.lower()
    at = 0
    for _ in range(_MOST_TAGS):
        tag = _TAG.search(low, at)
        if tag is None:
            return
        at = tag.end()
        end = low.find(f"</{tag[1]}>", at)
        if tag[0].startswith("<|"):
            end = low.find("<|im_end|>", at)
            end = len(text) if end < 0 else end
        if end >= 0 and tag[1] not in _MARKUP:
            yield Region(tag.start(), end)
            at = end


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether characters [start, end) of a turn are all somebody else's words."""
    at = start
    for region in quoted(text):
        if region.start <= at < region.end:
            at = region.end
    return at >= end


# Characters that are seen by no reader and by every model: tags, zero width, overrides.
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_UNSEEN = re.compile("[\u00ad\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff]")
_MOST_UNSEEN = 2


def is_hidden(words: str) -> bool:
    """Whether words were written so that their reader should not see them."""
    return bool(_TAGS.search(words)) or len(_UNSEEN.findall(words)) > _MOST_UNSEEN


# ------------------------------------------------------------ questions, what-ifs

_SENTENCE = re.compile(
    r"[^.!?\u2026\n\u3002\uff1f\uff01]+[.!?\u2026\u3002\uff1f\uff01]*"
)
_ASKS = re.compile(
    r"\s*(?:(?:and|but|so|ok|okay|hey|hi|well|also|now|by the way|btw)[, ]+)?"
    r"(?:should|shall|could|would|can|do|does|did|is|are|was|were|am|will|have|has|may|might"
    r"|what|which|who|whose|where|when|why|how)\b",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\b(?:did i (?:tell|mention|say)|have i (?:told|mentioned)|do you (?:know|remember) (?:that )?"
    r"(?:i|my|we|our)|can you believe|you know (?:what|that)|remember (?:that|when|how) (?:i|my|we)"
    r"|guess what|since i|because i|now that i|given that i|as i|but i|and i)\b",
    re.IGNORECASE,
)
_WHAT_IF = re.compile(
    r"\b(?:what if|suppose|supposing|imagine|let's say|let us say|assume|assuming"
    r"|hypothetically|pretend|were i to|say i)\b",
    re.IGNORECASE,
)
_IF = re.compile(r"\b(?:if|in case) (?:i|we|my|our)\b", re.IGNORECASE)
_UNREAL = re.compile(
    r"\b(?:would|could|should|might|'d)\b|[?\uff1f]\s*$", re.IGNORECASE
)
_HEDGED = re.compile(
    r"\b(?:if|would|could|might|may|consider\w*|think\w* (?:of|about)|wonder\w*|ask\w*"
    r"|wants?|plans?|thinking|interested|curious|hypothetical\w*|imagin\w*|suppos\w*|whether"
    r"|unsure|question|looking|needs?)\b",
    re.IGNORECASE,
)


def mention(fact: str, source: str, start: int, end: int) -> Mention | None:
    """How characters [start, end) of a turn, on which a fact rests, are only a mention;
    None where they tell it. A fact that says so itself ("considers moving") is told."""
    if is_quoted(source, start, end):
        return "quoted"
    sentence = _sentence(source, start)
    if _HEDGED.search(fact):
        return None
    unreal = _IF.search(sentence) and _UNREAL.search(sentence)
    if unreal or _WHAT_IF.search(sentence):
        return "hypothetical"
    asks = sentence.rstrip().endswith(("?", "\uff1f")) and _ASKS.match(sentence)
    return "question" if asks and not _TELLS.search(sentence) else None


def _sentence(text: str, at: int) -> str:
    """The sentence that a character stands in, read from at most 2,000 before it."""
    begin = max(0, at - 2_000)
    for match in _SENTENCE.finditer(text, begin):
        if match.end() > at:
            return match[0]
    return ""
