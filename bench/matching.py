"""Whether two short texts tell the same fact, by their words alone.

No model judges: so it is cheap, the same on every machine, and wrong where the same is said
in other words. What it is worth was measured on pairs written by hand (`bench/pairs.txt`);
`calibration()` prints it. A text is taken apart into

    names     capitalised words, without possessive endings       weight 0.5
    numbers   figures and number words that are not dates         weight 1.5
    content   stems of the other words, without function words    weight 1
    dates     compared only with each other
    negation  whether it says "not"

Two texts cannot tell the same when they begin with different people, when both have
numbers, or both have dates, of which none agree, or when one of them negates. Otherwise the
score is the mean of two shares of the weight that they have in common: of the smaller text,
and of both (Dice's).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.measure import words

THRESHOLD = 0.63
"""From here on two texts tell the same: in the middle of the gap that the first half of the
pairs leaves."""
NEARLY_ALL = 0.85
"""From here on one is a repetition of the other."""
PAIRS = Path(__file__).parent / "pairs.txt"

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['\u2019\-][^\W\d_]+)*")
_TOLD = re.compile(r"\bsaid on \d{4}-\d{2}-\d{2}:")  # when it was told, not when it was
_ISO = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES.split(), start=1)}
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NO_NAMES = frozenset((*_MONTHS, *_WEEKDAYS.split()))
_NAMED = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?({'|'.join(_MONTHS)})"
    r"(?: (\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?(?:,? (\d{4}))?\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d{2}\b")
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_SMALL = {word: str(n) for n, word in enumerate(_NUMBER_WORDS.split())}
_NEGATIONS = frozenset(
    ("not", "no", "never", "cannot", "nobody", "nothing", "neither", "nor")
)
_FUNCTION_WORDS = (
    "a an the and or but if of at by for with about to from in on into out up down off over "
    "as is are was were be been being am do does did have has had having will would can "
    "could should may might must i you he she it we they me him her us them my your his its "
    "our their mine this that these those who which what when where why how so than then "
    "there here too also just very really any some more most much now currently again still "
    "already yet ever since until before after during while because due get got getting go "
    "goes went gone make made take took taken say says said tell told feel feels thing "
    "things way lot one's own new recently lately yesterday today tomorrow tonight morning "
    "evening day days week weeks month months year years ago last next past time times "
    "conversation mentioned according s t m re ve d ll"
)
_FUNCTION = frozenset(words(_FUNCTION_WORDS))
_CAPITALISED = (
    "The A An On In At By For With From And But As It He She They We I My Our His Her Their "
    "This That There If When After Before During Since According No Not Book Back Yes So "
    "Now Then Today Yesterday Tomorrow"
)
_STARTERS = frozenset(_CAPITALISED.split())

_DENSE = "\u2e80"  # from here on scripts are mostly written without spaces

Day = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a text is compared by. `subject` is the first name in it."""

    names: frozenset[str]
    numbers: frozenset[str]
    content: frozenset[str]
    dates: frozenset[Day]
    negated: bool
    subject: str | None

    def weight(
        self, names: Iterable[str], numbers: Iterable[str], content: Iterable[str]
    ) -> float:
        """The weight of some of its terms."""
        return 0.5 * len(set(names)) + 1.5 * len(set(numbers)) + len(set(content))

    @property
    def total(self) -> float:
        """The weight of all of them."""
        return self.weight(self.names, self.numbers, self.content)


@lru_cache(maxsize=50_000)
def terms(text: str) -> Terms:
    """A text taken apart."""
    dates, rest = _dates(text)
    names: list[str] = []
    numbers: set[str] = set()
    others: list[str] = []
    negated = False
    for token in _TOKEN.findall(rest):
        low = token.casefold().replace("\u2019", "'")
        if token[0].isdigit() or low in _SMALL:
            numbers.add(_number(_SMALL.get(low, low)))
        elif low in _NEGATIONS or low.endswith("n't"):
            negated = True
        elif low in _NO_NAMES:
            continue
        elif token[0].isupper() and token not in _STARTERS:
            names.append(low.removesuffix("'s").removesuffix("'"))
        else:
            others.append(low)
    return Terms(
        names=frozenset(names),
        numbers=frozenset(numbers),
        content=frozenset(w for x in others for w in _stems(x) if w not in _FUNCTION),
        dates=frozenset(dates),
        negated=negated,
        subject=names[0] if names else None,
    )


def _stems(word: str) -> Iterable[str]:
    """A word's stems; pairs of characters where words are written without spaces."""
    if word[0] >= _DENSE and len(word) > 2:
        return (word[n : n + 2] for n in range(len(word) - 1))
    return words(word)


def conflict(a: str, b: str) -> str | None:
    """Why two texts cannot tell the same, if so."""
    one, two = terms(a), terms(b)
    if _strangers(one, two):
        return "subject"
    if one.numbers and two.numbers and not one.numbers & two.numbers:
        return "number"
    if one.dates and two.dates and not _agree(one.dates, two.dates):
        return "date"
    return "negation" if one.negated != two.negated else None


def _strangers(one: Terms, two: Terms) -> bool:
    """Whether each begins with a name that the other does not know."""
    first, second = one.subject, two.subject
    if first is None or second is None:
        return False
    return first not in two.names and second not in one.names


def score(a: str, b: str) -> float:
    """0..1, 0 for texts that contradict each other or share no content."""
    if conflict(a, b) is not None:
        return 0.0
    one, two = terms(a), terms(b)
    numbers, content = one.numbers & two.numbers, one.content & two.content
    if not numbers and not content and (one.content or two.content):
        return 0.0
    shared = one.weight(one.names & two.names, numbers, content)
    smaller, both = min(one.total, two.total), one.total + two.total
    return (shared / smaller + 2 * shared / both) / 2 if smaller else 0.0


def same(a: str, b: str) -> bool:
    """Whether one tells what the other tells."""
    return score(a, b) >= THRESHOLD


def best(text: str, others: Sequence[str]) -> tuple[int, float] | None:
    """The position and score of the text that is most like it; None where none is."""
    scored = [(score(text, other), -n) for n, other in enumerate(others)]
    top = max(scored, default=(0.0, 0))
    return (-top[1], top[0]) if top[0] >= THRESHOLD else None


# ---------------------------------------------------------------------- calibration


def pairs(path: Path = PAIRS) -> list[tuple[bool, str, str]]:
    """The pairs written by hand: whether they tell the same, and both texts."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line[:2] in ("= ", "! "):
            a, b = line[2:].split(" | ")
            found.append((line[0] == "=", a, b))
    return found


def calibration() -> dict[str, Any]:
    """How often it agrees with the pairs, by half and kind."""
    given = pairs()
    halves: dict[str, dict[str, Any]] = {}
    for half in ("set_on", "checked_on"):
        found: dict[str, Any] = {}
        for kind in (True, False):
            some = [p for p in given if p[0] is kind]
            middle = len(some) // 2
            some = some[:middle] if half == "set_on" else some[middle:]
            right = sum(same(a, b) is kind for _, a, b in some)
            found["same" if kind else "different"] = f"{right} of {len(some)}"
        halves[half] = found
    return {"threshold": THRESHOLD, "pairs": len(given), **halves}


# --------------------------------------------------------------------------- pieces


def _dates(text: str) -> tuple[list[Day], str]:
    """The dates in a text, and the text without them."""
    found: list[Day] = []

    def iso(m: re.Match[str]) -> str:
        found.append((int(m[1]), int(m[2]), int(m[3]) if m[3] else None))
        return " "

    def named(m: re.Match[str]) -> str:
        day, year = m[1] or m[3], m[4]
        if m[2].islower() or (m[2].casefold() == "may" and not (day or year)):
            return m[0]  # a verb
        month = _MONTHS[m[2].casefold()]
        found.append((int(year) if year else None, month, int(day) if day else None))
        return " "

    rest = _NAMED.sub(named, _ISO.sub(iso, _TOLD.sub(" ", text)))
    found += [(int(year), None, None) for year in _YEAR.findall(rest)]
    return found, _YEAR.sub(" ", rest)


def _agree(one: Iterable[Day], two: Iterable[Day]) -> bool:
    """Whether any date of one may be one of the other's."""
    return any(
        all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))
        for a in one
        for b in two
    )


def _number(text: str) -> str:
    """12,000 is 12000; 3.0 stays, it may be a version."""
    return re.sub(r",(?=\d{3}(?:\D|$))", "", text)
