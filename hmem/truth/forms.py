"""Forms of English words: which are one word, and which of them say that it is over. Pure.

No stemmer: it would make one word of "car" and "care", and here a word too many in common
loses a fact. Two forms are one word only where an ending explains the difference.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from hmem.truth.words import IRREGULAR, PLURALS, SYNONYMS

_VOWELS = frozenset("aeiou")


class Form(NamedTuple):
    """What a word may be a form of. `past`: it says that something is over."""

    lemmas: frozenset[str]
    past: bool


@lru_cache(maxsize=1 << 14)
def form(word: str) -> Form:
    """The lemmas that a word may belong to, itself and what means the same among them."""
    lemmas = {word, *_stripped(word)}
    past = word.endswith("ed") and len(word) > 3
    if word in IRREGULAR:
        lemmas, past = {word, IRREGULAR[word]}, True
    return Form(frozenset(lemmas | _same(lemmas)), past=past)


def _same(lemmas: Iterable[str]) -> frozenset[str]:
    return frozenset(SYNONYMS[lemma] for lemma in lemmas if lemma in SYNONYMS)


def _stripped(word: str) -> tuple[str, ...]:
    """The word without its ending."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return ()
    if word.endswith("ing") and len(word) > 5:
        return _bases(word[:-3])
    if word.endswith("ied"):
        return (word[:-3] + "y", word[:-1])  # "tried", "died"
    if word.endswith("ed"):
        return _bases(word[:-2])
    return _singular(word)


def _bases(stem: str) -> tuple[str, ...]:
    """What may stand before "-ing" and "-ed": "liv" -> live, "runn" -> run."""
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in _VOWELS:
        return (stem, stem[:-1])
    return (stem, stem + "e")


def _singular(word: str) -> tuple[str, ...]:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return ()
    if word.endswith("ies"):
        return (word[:-3] + "y",)
    if word.endswith("es") and word[:-2].endswith(("s", "x", "z", "ch", "sh", "o")):
        return (word[:-2], word[:-1])
    return (word[:-1],)


@lru_cache(maxsize=1 << 14)
def is_many(word: str) -> bool:
    """Whether it may be a plural, or the form for he, she and it."""
    return word in PLURALS or bool(_singular(word))


def one_word(a: str, b: str) -> bool:
    """Whether two words are forms of one: "lives", "living", "reside". Two forms with the
    same ending are not ("hoping", "hopping"), but for those that mean the same."""
    if a == b:
        return True
    of_a, of_b = form(a).lemmas, form(b).lemmas
    if any(a.endswith(ending) and b.endswith(ending) for ending in ("ing", "ed")):
        return not (_same(of_a).isdisjoint(of_b) and _same(of_b).isdisjoint(of_a))
    return not of_a.isdisjoint(of_b)
