"""Whether two sentences that lie close together are one fact. Pure.

Vectors of "the deadline is 15 October" and "... 16 October" have a cosine of 0.99. So what
is not seen to be the same is different: both sentences must say the same things in the
same order, up to words that say nothing, forms of one word, a few synonyms, and the ways
to write a number or a date.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from hmem.text import normalise, proper_nouns
from hmem.truth import words as w
from hmem.truth.forms import form, is_many, one_word
from hmem.truth.reading import NO_LONGER, USER, USERS, Item, ItemKind, Reading, read

REASONS = (
    *("number", "unit", "time", "date", "question", "name", "negation", "quantifier"),
    *("subject", "modality", "opposite", "direction", "tense", "order", "words"),
)
"""What `differs` answers, in the order in which it looks."""


def differs(a: str, b: str, *, user: Collection[str] = ()) -> str | None:
    """Why two texts are not the same fact, as one of REASONS; None if they may be.

    `user`: names that are the user's, so that "Maya lives" and "the user lives" are one.
    Symmetric. A text always is the same as itself.
    """
    if normalise(a) == normalise(b):
        return None
    one, other = read(a, user=user), read(b, user=user)
    if _same(one, other):
        return None
    return _reason(one, other, _names(a, b))


# ---------------------------------------------------------------------- the same


def _same(one: Reading, other: Reading) -> bool:
    if one.dates != other.dates or one.asks != other.asks:
        return False
    if not one.items or not other.items:
        return False  # nothing is known of what they say
    return _matches(one.items, other.items) or any(
        _matches(one.items, turned) for turned in _turned(other.items)
    )


def _matches(one: Sequence[Item], other: Sequence[Item]) -> bool:
    return len(one) == len(other) and all(
        _equal(one, other, at) for at in range(len(one))
    )


def _equal(one: Sequence[Item], other: Sequence[Item], at: int) -> bool:
    """Whether two items in the same place say the same."""
    a, b = one[at], other[at]
    if a.kind != b.kind:
        return False
    if {a.capital, b.capital} == {True, False} and _tells_capitals(one, other):
        return False
    if a.value == b.value:
        return a.past == b.past
    if a.kind != "word":
        return False
    before = one[at - 1].value if at else ""
    if _little_words_alike(one[:at], a.value, b.value):
        return True
    return (
        a.past == b.past
        and one_word(a.value, b.value)
        and _same_count(before, a.value, b.value)
    )


def _tells_capitals(one: Sequence[Item], other: Sequence[Item]) -> bool:
    """Whether both texts use capitals at all, so that a small letter says something."""
    return all(any(i.capital is True for i in items) for items in (one, other))


def _little_words_alike(before: Sequence[Item], a: str, b: str) -> bool:
    """ "works for" and "works at", "prefers tea to" and "prefers tea over"."""
    return any(
        lead in form(item.value).lemmas and alike.get(a, a) == alike.get(b, b)
        for item in before[-_NEAR:]
        for lead, alike in w.AFTER.items()
    )


_NEAR = 3


def _same_count(before: str, a: str, b: str) -> bool:
    """One dog is not dogs; but "I live" and "the user lives" are one: an "s" may come and
    go right behind whoever does it."""
    if is_many(a) == is_many(b) or "have" in (a, b):
        return True
    if a in w.IRREGULAR or b in w.IRREGULAR:
        return True
    if a.endswith(("ing", "ed")) or b.endswith(("ing", "ed")):
        return True
    return before in (
        USER,
        "not",
        "nolonger",
        "i",
        "we",
        "they",
        "he",
        "she",
        "it",
        "you",
    )


def _turned(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The same said the other way round: "x and y" as "y and x" where nothing hangs on the
    order, at the beginning or at the end; "x is y" as "y is x"."""
    ands = [at for at, item in enumerate(items) if item.value in ("and", "or")]
    if len(ands) == 1 and ands[0] in (1, len(items) - 2) and len(items) > 2:
        at = ands[0]
        before, after = items[at - 1], items[at + 1]
        yield (
            *items[: at - 1],
            after._replace(capital=None),
            items[at],
            before._replace(capital=None),
            *items[at + 2 :],
        )
    verbs = [at for at, item in enumerate(items) if item.value == "be"]
    if len(verbs) == 1:
        at = verbs[0]
        turned = (*items[at + 1 :], items[at], *items[:at])
        yield tuple(item._replace(capital=None) for item in turned)


# ------------------------------------------------------------------- the reason


def _reason(one: Reading, other: Reading, names: frozenset[str]) -> str:
    """What sets two texts apart, the plainest difference first."""
    for reason, kinds in _KINDS.items():
        if Counter(one.values(*kinds)) != Counter(other.values(*kinds)):
            return reason
    if one.dates != other.dates:
        return "date"
    if one.asks != other.asks:
        return "question"
    left, right = _left_over(one.items, other.items)
    if not left and not right:
        return _of_order(one, other)
    words = {item.value for item in (*left, *right)}
    lemmas = {lemma for word in words for lemma in form(word).lemmas}
    heads = {word.removesuffix("'s") for word in words}
    for reason, found in (
        ("name", heads & names),
        ("negation", lemmas & w.NEGATIONS or words & {NO_LONGER}),
        ("quantifier", words & w.QUANTIFIERS),
        ("subject", heads & (w.PEOPLE | {USER, USERS})),
        ("modality", lemmas & w.MODALS),
        ("opposite", _opposed(left, right)),
        ("direction", words & w.DIRECTIONS),
    ):
        if found:
            return reason
    return "words"


_KINDS: dict[str, tuple[ItemKind, ...]] = {
    "number": ("number", "ordinal"),
    "unit": ("unit",),
    "time": ("time",),
}


def _of_order(one: Reading, other: Reading) -> str:
    """What sets texts of the same words apart."""
    if Counter(i.past for i in one.items) != Counter(i.past for i in other.items):
        return "tense"
    if Counter(is_many(i.value) for i in one.items) != Counter(
        is_many(i.value) for i in other.items
    ):
        return "number"
    return "order"


def _left_over(
    one: Sequence[Item], other: Sequence[Item]
) -> tuple[list[Item], list[Item]]:
    """The words of each that the other lacks, whatever their order."""
    right = list(other)
    left: list[Item] = []
    for item in one:
        match = next(
            (n for n, own in enumerate(right) if one_word(item.value, own.value)), None
        )
        if match is None:
            left.append(item)
        else:
            del right[match]
    return left, right


def _opposed(left: Sequence[Item], right: Sequence[Item]) -> bool:
    return any(
        frozenset((x, y)) in w.OPPOSITES
        for a in left
        for b in right
        for x in form(a.value).lemmas
        for y in form(b.value).lemmas
    )


def _names(*texts: str) -> frozenset[str]:
    """The single words of the names in some texts."""
    return frozenset(
        part for text in texts for name in proper_nouns(text) for part in name.split()
    )
