"""Whether a sentence speaks of what was or of what is to come."""

import re
from typing import NamedTuple

from hmem.timeparse.phrase import Lean


class Leaning(NamedTuple):
    """Which way, and how sure that is: 1.0 plainly, less without a sign or with both."""

    lean: Lean
    sure: float


_FUTURE = re.compile(
    r"""\b(?:will|won't|shall|gonna|upcoming|tomorrow|tonight|next|soon|deadline|coming
    | (?<!was\ )(?<!were\ )(?<!been\ )(?:going|about|planning|hoping|supposed)\ to
    | (?:plan|plans|need|needs|have|has|hope|want|remember|remind\ \w+)\ to
    | remind\ (?:me|us|him|her|them)\b | any\ (?:\w+\ )?plans
    | (?:see|catch|talk\ to|meet)\ (?:you|ya|u|y'all)
    | (?:set|put|schedule|book|add)\ (?:an?|my|the|me)\b
    | (?:do|does)\ (?:i|we|you|he|she|they|it|\w+)\ (?:have|need|start|leave|fly|begin)
    | have\ (?:i|we)\ got | when\ (?:is|are|does|do)\b
    | (?:am|are|is)\s+(?:\w+\s+){0,2}?\w{2,}ing | (?:is|are)\s+_
    | (?:is|are)\s+(?:\w+\s+){0,3}?(?:scheduled|booked|planned|due|on|at|in|by|until)
    | (?:i|we|you|he|she|they|\w+)'(?:m|re)\s+(?:\w+\s+){0,2}?\w{2,}ing
    | (?:who|what|he|she|it|everyone|anyone)'s\s+(?:\w+\s+){0,1}?\w{2,}ing
    | due(?!\ to\b) | (?:what's|what\ is|anything)\ (?:on|planned|scheduled|due|up)
    | (?:starts|begins|ends|opens|closes|leaves|arrives|expires)
    )\b | \b\w+'ll\b""",
    re.IGNORECASE | re.VERBOSE,
)
_PAST = re.compile(
    r"""\b(?:did|didn't|was|were|wasn't|weren't|had|hadn't|been|used\ to|ago|last
    | yesterday|earlier|went|came|said|told|made|took|saw|got|gave|felt|ate|met|bought|had
    | ran|wrote|read|sent|left|lost|found|thought|knew|began|broke|brought|caught|chose
    | drove|drank|fell|flew|forgot|grew|heard|kept|led|paid|put|sold|slept|spent|spoke
    | stood|swam|taught|threw|won|wore|become|became|built|held|sang
    | (?!(?:need|feed|speed|indeed|bed|red|hundred|seed|breed|shed|scheduled|booked
        |planned|supposed)\b)\w{2,}ed
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_STOP = re.compile(r"[.!?;\n](?=\s|$)|\n")
_LED = re.compile(r"(?:on|in|at|by|until)\b", re.IGNORECASE)
_REACH = 300
NO_SIGN = 0.85
"""How sure a sentence leans to the past that says nothing of it."""


def leaning(text: str, start: int, end: int) -> Leaning:
    """The leaning of the sentence around a phrase.

    Of the phrase's own words only the first preposition counts ("is on Friday"). Without
    a sign it is the past: it is memories that are asked for.
    """
    stops = [s.end() for s in _STOP.finditer(text, max(0, start - _REACH), start)]
    first = stops[-1] if stops else max(0, start - _REACH)
    stop = _STOP.search(text, end, end + _REACH)
    led = _LED.match(text, start, end)
    before = text[first : start if led is None else led.end()]
    sentence = (
        f"{before} _ {text[end : end + _REACH if stop is None else stop.start()]}"
    )
    future, past = _FUTURE.search(sentence), _PAST.search(sentence)
    if future and past:
        return Leaning("past", 0.6)
    if future:
        return Leaning("future", 1.0)
    return Leaning("past", 1.0 if past else NO_SIGN)
