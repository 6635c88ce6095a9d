"""A sentence as what it says: its words, names, figures and dates in order, in forms that
are the same where two sentences say the same. Pure.

What is left out says nothing ("the", "really", "is" before "living"); what is kept must
be the same in both for two sentences to be one fact.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hmem.text import normalise
from hmem.truth import words as w
from hmem.truth.figures import Date, figures
from hmem.truth.forms import form
from hmem.truth.tokens import Token, tokens

ItemKind = Literal["word", "number", "ordinal", "unit", "date", "time", "sign"]

USER = "\u2039user\u203a"
USERS = "\u2039user's\u203a"
"""The user, and what is the user's: "I" and "the user" are one."""
NO_LONGER = "nolonger"


class Item(NamedTuple):
    """One thing said. `past`: it is over; `capital`: see `Token`."""

    kind: ItemKind
    value: str
    past: bool = False
    capital: bool | None = None
    date: Date | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """`items` in order, dates left out where there is only one; `dates` with the word they
    hang on ("since 2020")."""

    items: tuple[Item, ...]
    dates: tuple[str, ...]
    asks: bool

    def values(self, *kinds: ItemKind) -> tuple[str, ...]:
        """The values of items of some kinds, in order."""
        return tuple(item.value for item in self.items if item.kind in kinds)


def read(text: str, *, user: Collection[str] = ()) -> Reading:
    """What a sentence says. `user`: names of the user's own."""
    found = items_of(text, user=user)
    dates = [at for at, item in enumerate(found) if item.kind == "date"]
    hung = tuple(_hung(found, at) for at in dates)
    if len(dates) == 1:
        lead = dates[0] - 1
        leads = lead >= 0 and found[lead].value in w.DATE_LEADS
        del found[lead if leads else dates[0] : dates[0] + 1]
    asks = text.rstrip(" \t\n\"'\u201d)").endswith(("?", "\uff1f"))
    return Reading(tuple(found), hung, asks)


def items_of(text: str, *, user: Collection[str] = ()) -> list[Item]:
    """All items of a sentence in order, its dates among them."""
    aliases = frozenset(part for name in user for part in normalise(name).split())
    return _without_helpers(_merged(_items(tokens(text), aliases)))


def _hung(items: Sequence[Item], at: int) -> str:
    """A date and the little word before it: "on" says nothing, "since" does."""
    lead = items[at - 1].value if at else ""
    return f"{w.DATE_LEADS.get(lead, '')} {items[at].value}".strip()


# ------------------------------------------------------------------ tokens to items


def _items(found: Sequence[Token], aliases: frozenset[str]) -> Iterator[Item]:
    at = 0
    for begins, figure in figures(found):
        for place in range(at, begins):
            yield from _of_token(found[place], aliases)
        yield Item(figure.kind, figure.value, date=figure.date)
        at = begins + figure.size
    for place in range(at, len(found)):
        yield from _of_token(found[place], aliases)


_ARTICLE = "\u2039article\u203a"
"""Stands until the helping verbs are found: "has a broken leg" is no "has broken"."""
_SILENT = frozenset(
    ".,;:!?\"'`()[]{}\u2026\u2013\u2014-\u201c\u201d\u2018\u2019*\u2022_"
)


def _of_token(token: Token, aliases: frozenset[str]) -> Iterator[Item]:
    if token.kind == "sign":
        if (
            token.word
            and token.word not in _SILENT
            and token.word not in w.CURRENCY_SIGNS
        ):
            if token.word in "&+":
                yield Item("word", "and" if token.word == "&" else "plus")
            else:
                yield Item("sign", token.word)
        return
    if token.kind != "word":
        yield Item("number", token.word)
        return
    for word in _parts(token.word):
        if word in w.ARTICLES:
            yield Item("word", _ARTICLE)
        elif word not in w.IDLE:
            yield _of_word(word, token, aliases)


def _parts(word: str) -> tuple[str, ...]:
    """ "doesn't" -> does, not; "I'm" -> i, am; "Maya's" as it is."""
    if word == "cannot":
        return ("can", "not")
    if word in w.NOTS:
        return (w.NOTS[word], "not")
    if word.endswith("n't"):
        return (word[:-3], "not")
    head, apostrophe, tail = word.partition("'")
    short = w.CONTRACTED.get(f"'{tail}") if apostrophe else None
    if short is not None and (tail != "s" or head in w.PRONOUNS_BE):
        return (head, short)
    return (word,)


def _of_word(word: str, token: Token, aliases: frozenset[str]) -> Item:
    head = word.removesuffix("'s").removesuffix("'")
    users = head in w.SUBJECT_WORDS or head in aliases
    if word in w.POSSESSIVE_WORDS or (users and head != word):
        return Item("word", USERS)
    if users:
        return Item("word", USER)
    if word in w.HAVE and word != "having":
        return Item("word", "have", past=word == "had")
    if word in w.BE:
        return Item("word", "be", past=word in w.WAS)
    return Item("word", word, past=form(word).past, capital=token.capital)


# --------------------------------------------------------------------- in a row


def _merged(items: Iterator[Item]) -> list[Item]:
    """The user's names as one; "no longer" and "not ... any more" as one word."""
    found: list[Item] = []
    for item in items:
        before = found[-1].value if found else ""
        if item.value == before == USER:
            continue
        if (before == "year" and item.kind == "date") or (
            before == USER and item.value == USERS
        ):
            found.pop()
        if (before, item.value) in _OVER:
            found[-1] = Item("word", NO_LONGER)
        elif item.value == "anymore":
            found.append(Item("word", NO_LONGER))
        else:
            found.append(item)
    return _moved(found)


_OVER = frozenset((("no", "longer"), ("any", "longer"), ("any", "more")))


def _moved(items: list[Item]) -> list[Item]:
    """ "does not eat meat any more" as "does nolonger eat meat"."""
    values = [item.value for item in items]
    if NO_LONGER in values and "not" in values:
        place = values.index("not")
        items[place] = Item("word", NO_LONGER)
        return [
            item
            for at, item in enumerate(items)
            if at == place or item.value != NO_LONGER
        ]
    return items


_NOT = frozenset(("not", NO_LONGER, "never"))


def _without_helpers(items: Sequence[Item]) -> list[Item]:
    """Without the verbs that only help another: "is living", "has moved", "does not"."""
    found: list[Item] = []
    past = False
    for at, item in enumerate(items):
        if item.value == _ARTICLE:
            continue
        after = _verb_after(items, at)
        negated = at + 1 < len(items) and items[at + 1].value in _NOT
        if _helps(item, after, negated=negated):
            past = past or (item.past and item.value != "have")
            continue
        if past and item.kind == "word" and item.value not in w.NEGATIONS:
            item, past = item._replace(past=True), False
        found.append(item)
    if len(found) > 1 and found[-1].value in ("too", "either"):
        found.pop()
    return found


def _verb_after(items: Sequence[Item], at: int) -> str:
    """The next word that is no negation."""
    for item in items[at + 1 : at + 4]:
        if item.value not in _NOT:
            return item.value
    return ""


def _helps(item: Item, after: str, *, negated: bool) -> bool:
    if item.value == "be":
        return after.endswith("ing") and len(after) > 4
    if item.value == "have":
        return after == "be" or form(after).past
    if item.value in w.DO:
        return negated
    return False
