"""What stands around a phrase and makes it something else: a name, a title, a habit."""

import re
from collections.abc import Callable

from hmem.timeparse.feasts import FEAST
from hmem.timeparse.phrase import Time
from hmem.timeparse.signs import SIGNS
from hmem.timeparse.tokens import Token
from hmem.timeparse.words import COUNTED, FUNCTION, LEXICON, OCCASIONS, listed

_NEXT_WORD = re.compile(r"[ \t]*([^\W\d_]+)")
_NAME = re.compile(r"\b([A-Z][a-z]+) \Z")
_PLACES = frozenset(
    listed(
        """
    street st road rd avenue ave lane drive square court place boulevard way island
    islands bunny park hall house hotel school bridge hill station club cup day times
    live
    """
    )
)
"""What makes "12 March Street" and "Christmas Island" a place or a name."""
_HABIT = re.compile(
    r"""\b(?:every|each|usually|always|often|normally|typically|generally|daily|weekly
    | weekdays?|open|opens|opening|closes?|closed|hours|never|sometimes|schedule|shifts?
    | regularly|mostly|available|works?|runs?|tends?|used\ to|whenever|all\ day)\b""",
    re.IGNORECASE | re.VERBOSE,
)
RATE = re.compile(
    r"\b(?:how (?:many|much|often)|times|once|twice|average|there (?:are|is)"
    r"|(?:are|is) there|hours|days|weeks|months|deliver\w*|refund\w*|ships?|shipping"
    r"|takes?|took)\b[^.?!]*\Z",
    re.IGNORECASE,
)
"""What stands before "in a week" where it tells a rate."""
_STARTS = re.compile(r"""(?:^|[.!?:;\n"'([{*_>-])\s*\Z""")
_QUOTES = ('""', "''", "\u201c\u201d", "\u00ab\u00bb", "**", "__", "``")
_SENTENCE = _SHORT = 200
_FIGURES = re.compile(r",? ?[0-9]{1,2}[/.][0-9]")
_FIRST_END = re.compile(r"[0-9]\. ?(?:to|and|until|till|-) \Z")
_HANGING = re.compile(
    r"\b(?:days?|nights?|weeks?|months?|years?|weekend|evening|morning|hours?)"
    r" (?:before|after|following|until|since) (?:\w+ ){1,5}\Z",
    re.IGNORECASE,
)


def blocked(token: Token, time: Time, before: Token | None, text: str) -> bool:
    """Whether what stands around a phrase makes it something else.

    `token.start` is where the phrase begins, `before` the token before it.
    """
    following = _NEXT_WORD.match(text, token.end)
    word = "" if following is None else following[1]
    if token.code == "WDAY" and _within_name(token, before, word, text):
        return True
    if any(sign.of(token, time, text) and sign.stands(token, text) for sign in SIGNS):
        return True
    if _named(token, word, text):
        return True
    guard = time.guard
    if token.code in ("WDAY", "PLAINM") or guard == "generic":
        guard = "noun"
    if guard in _AROUND:
        return _AROUND[guard](token, text)
    check = _GUARDS.get(guard)
    if check is None or text[token.end - 2 : token.end] == "'s":
        return False
    return check(word) or (guard == "noun" and _proper(token, word, text))


def hanging(token: Token, text: str) -> bool:
    """Whether a phrase only tells of what another hangs on: "the night before my exam on
    3 June"."""
    first = max(0, token.start - 60)
    if _FIGURES.match(text, token.end):  # "Thursday 4/5", "5.5. to 7.5.2023"
        return True
    if _FIRST_END.search(text, first, token.start):
        return True
    return _HANGING.search(text, first, token.start) is not None


def _within_name(token: Token, before: Token | None, word: str, text: str) -> bool:
    """ "The Monday meeting", "on a Tuesday", "Mr Friday", "Wednesday Addams"."""
    if before is not None:
        return before.code in ("the", "a")
    if _is_name(word) and text[token.end : token.end + 1] == " ":
        return text[token.start].isupper() and not _led_by_preposition(token, text)
    named = _NAME.search(text, max(0, token.start - 20), token.start)
    return named is not None and named[1].lower() not in FUNCTION


def _is_name(word: str) -> bool:
    """Whether a word with a capital is no word of the language as such."""
    low = word.lower()
    return word[:1].isupper() and low not in FUNCTION and low not in LEXICON


def _led_by_preposition(token: Token, text: str) -> bool:
    return text[token.start : token.start + 3].lower() in ("on ", "at ", "in ", "las")


def _proper(token: Token, word: str, text: str) -> bool:
    """ "The Easter Parade": a name that begins with a feast."""
    said = text[token.start : token.end]
    led = said.lower().startswith(("the ", "easter", "christ"))
    led = led or (token.code == "PLAINM" and said[:1].isupper())
    led = led or said.endswith(("Spring", "Summer", "Autumn", "Winter"))
    return led and _is_name(word) and text[token.end : token.end + 1] == " "


def _named(token: Token, word: str, text: str) -> bool:
    """Whether a phrase is a place, or a title in quotes or capitals."""
    if word and word[0].isupper() and word.lower() in _PLACES:
        return True
    around = text[token.start - 1 : token.start] + text[token.end : token.end + 1]
    if around in _QUOTES and text[token.start].isupper():
        return True
    return _is_title(token, text)


def _is_title(token: Token, text: str) -> bool:
    """Whether words that are written small stand with a capital inside a sentence:
    "The Day After Tomorrow", "Yesterday by the Beatles"."""
    for found in _CAPITALS.finditer(text, token.start, token.end):
        first = found.start()
        if not _STARTS.search(text, max(0, first - 3), first):
            feasts = FEAST.finditer(text, token.start, token.end)
            heading = len(text) < _SHORT and text.istitle()
            return not heading and not any(f.end() > first for f in feasts)
    return False


_CAPITALS = re.compile(
    r"\b(?:Yesterday|Tomorrow|Today|Tonight|Day|Days|Night|Nights|Morning|Evening"
    r"|Afternoon|Year|Years|Week|Weeks|Minutes?|Hours?|After|Before|Next|Last|Recently)\b"
)


def _habitual(token: Token, text: str) -> bool:
    """Whether a time of day or of the week is as likely a habit: "open Mon-Fri"."""
    first = max(0, token.start - _SENTENCE)
    return _HABIT.search(text, first, token.end + _SENTENCE) is not None


def _not_alone(token: Token, text: str) -> bool:
    if len(text) > _SHORT:
        return True
    rest = text[: token.start] + text[token.end :]
    return any(c.isalnum() for c in rest)


def alone(token: Token, text: str) -> bool:
    """Whether a phrase is all that a text says."""
    return not _not_alone(token, text)


def _occasional(token: Token, text: str) -> bool:
    """ "The 2022 trip", or nothing but "2022"."""
    following = _NEXT_WORD.match(text, token.end)
    word = "" if following is None else following[1]
    return word.lower() not in OCCASIONS and _not_alone(token, text)


_AROUND: dict[str, Callable[[Token, str], bool]] = {
    "loose": _habitual,
    "occasion": _occasional,
}
_GUARDS: dict[str, Callable[[str], bool]] = {
    "noun": lambda word: (
        word.islower() and word not in FUNCTION and word not in LEXICON
    ),
    "count": lambda word: (
        word in COUNTED
        or (word.endswith("s") and word not in FUNCTION and word not in LEXICON)
    ),
    "name": lambda word: word != "I" and word[:1].isupper(),
}
