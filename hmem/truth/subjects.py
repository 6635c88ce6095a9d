"""Who or what a fact is about. Pure; English, and careful where it is not sure.

"The user lives in Rome", "I live", "Lives in Rome"    the user
"Maya lives in Rome"                                   maya
"The user's sister Anna lives in Rome"                 the user's sister, anna
"The user's car is a Golf"                             the user; the thing is a car
"The project deadline is 15 October"                   nobody; the project deadline
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hmem.truth import words as w
from hmem.truth.forms import form, is_many
from hmem.truth.reading import NO_LONGER, USER, USERS, Item, items_of

_VERB_WORDS = (
    "live move work study eat drink like love hate prefer want need use own drive ride play "
    "speak learn read write watch listen cook run walk swim travel visit fly go come stay plan "
    "buy sell get take make give start stop quit join leave meet marry divorce date adopt "
    "teach train enjoy dislike avoid believe think feel know say tell ask recommend suggest "
    "advise mention explain promise answer reply warn name call turn become keep lose find win "
    "pay earn save spend cost weigh measure wear sleep wake suffer recover graduate retire "
    "switch change replace rename reschedule postpone cancel confirm book finish complete "
    "begin end open close build create paint draw sing dance volunteer support follow attend "
    "celebrate host organize manage lead found run grow raise care smoke code program deploy "
    "upgrade install hope consider intend decide choose agree refuse return relocate reside "
    "share rent lend borrow hold practice practise publish receive send order add remove "
    "collect hike climb camp bake fish hunt garden knit sew box surf ski skate jog lift exercise "
    "break fall hurt injure heal give belong contain include run happen take last expire arrive "
    "depart increase decrease rise drop cancel approve reject accept deny commute babysit "
    "subscribe unsubscribe track prepare apply interview hire fire promote demote resign break "
    "split quit cut put set hit shut identify describe consist look seem appear remain help try allow let require focus"
)
VERBS = frozenset(_VERB_WORDS.split())
_AUXILIARIES = frozenset(
    ("be", "have", "do", "not", "never", "no", NO_LONGER, *w.MODALS, "used")
)
_PRONOUNS = frozenset(("he", "she", "they", "we", "it", "you"))
_MOST = 8  # items in which a subject ends


@dataclass(frozen=True, slots=True)
class Subject:
    """`names` are words of names, `kin` persons told by what they are to somebody, `things`
    words of what is no person. `user`: it is the user, or a thing of the user's; `users`:
    it is anybody or anything of the user's."""

    user: bool = False
    users: bool = False
    names: frozenset[str] = frozenset()
    kin: frozenset[str] = frozenset()
    things: frozenset[str] = frozenset()

    @property
    def known(self) -> bool:
        """Whether anybody or anything was made out."""
        return self.user or bool(self.names or self.kin or self.things)

    def shares(self, other: "Subject") -> bool:
        """Whether both are about one person or thing. Where that is unsure, they are not."""
        if not (self.known and other.known) or self._conflicts(other):
            return False
        if self.names & other._words or other.names & self._words:
            return True
        if self.kin or other.kin:
            return bool(self.kin & other.kin)
        if self.user or other.user:
            return self.user and other.user
        if self.names or other.names:
            return False
        return bool(self.things & other.things)

    @property
    def _words(self) -> frozenset[str]:
        return self.names | self.things

    def _conflicts(self, other: "Subject") -> bool:
        """Whether they name two persons, or two things."""
        if self.kin and other.kin and self.kin.isdisjoint(other.kin):
            return True
        if self.names and other.names and self.names.isdisjoint(other.names):
            return not (self.names & other.things or other.names & self.things)
        one, two = sorted((self.things, other.things), key=len)
        return bool(one) and not one <= two | self.names | other.names


def subject(text: str, *, user: Collection[str] = ()) -> Subject:
    """Who or what a fact is about. `user`: names that are the user's."""
    items = items_of(text, user=user)
    end = _verb(items, noun_first=_ARTICLE.match(text) is not None)
    if end is None:
        return Subject()
    if end == 0:
        return Subject(
            user=True, users=True
        )  # "Lives in Rome": what is left out is the user
    return _read(items[:end])


def verb(text: str, *, user: Collection[str] = ()) -> Item | None:
    """The first verb of a sentence."""
    items = items_of(text, user=user)
    at = _verb(items, noun_first=_ARTICLE.match(text) is not None)
    return None if at is None else items[at]


_ARTICLE = re.compile(
    r"\W*(?:the|a|an|my|our|his|her|their|this|that)\b", re.IGNORECASE
)


def _verb(items: Sequence[Item], *, noun_first: bool) -> int | None:
    """Where the first verb stands; None where there is none, or too far on."""
    for at, item in enumerate(items[:_MOST]):
        if at == 0 and noun_first:
            continue
        if item.kind != "word" or item.value in (USER, USERS):
            continue
        if item.value in _AUXILIARIES or _is_verb(item, items[at - 1] if at else None):
            return at
    return None


def _is_verb(item: Item, before: Item | None) -> bool:
    if item.capital or (before is None and item.value.endswith("ing")):
        return False
    if before is not None and before.value == USER and item.value.endswith("ing"):
        return True
    lemmas = form(item.value).lemmas
    if before is not None and _is_owner(before):
        return False  # "the user's work", "her walks"
    named = before is not None and (before.value == USER or before.capital is not False)
    if named and is_many(item.value) and one(item.value) not in w.PEOPLE:
        return True  # "Anselm reports": what a name does, known as a verb or not
    noun = item.value in VERBS and not item.past
    if noun and before is not None and _is_single_noun(before):
        return False  # "the phone plan": what one thing does ends in "s"
    return not lemmas.isdisjoint(VERBS) or (item.past and item.value not in VERBS)


def _is_single_noun(item: Item) -> bool:
    return item.capital is False and item.value != "and" and not is_many(item.value)


def _is_owner(item: Item) -> bool:
    return (
        item.value == USERS or item.value.endswith(("'s", "s'")) or item.value in _OWN
    )


_OWN = frozenset(("his", "her", "their", "our", "your", "its"))


def _read(items: Sequence[Item]) -> Subject:
    """The subject that some items make up."""
    names: set[str] = set()
    kin: set[str] = set()
    things: set[str] = set()
    owner = ""
    owners: set[str] = set()
    users = any(item.value in (USER, USERS) for item in items)
    for item in items:
        value = item.value
        if item.kind != "word" or value in (USER, "and") or value in _LITTLE:
            continue
        bare = value.removesuffix("'s").removesuffix("'")
        if _is_owner(item):
            owner = f"{owner} {one(bare)}".strip()
            owners.add(bare)
            if one(bare) in w.PEOPLE - _HOLDERS:
                kin.add(owner)  # "the user's wife's car" is none of the user's
            names.update({bare} - {USERS, *_OWN} - w.PEOPLE)
        elif one(value) in w.PEOPLE:
            kin.add(f"{owner} {one(value)}".strip())
            names -= owners
        elif item.capital is not False:
            names.add(value)
        else:
            things.add(one(value))
    return Subject(
        user=users and not (kin and owner),
        users=users,
        names=frozenset(names),
        kin=frozenset(kin),
        things=frozenset(things),
    )


_HOLDERS = frozenset(("he", "she", "him", "her", "his", "they", "them", "their", "we"))
_HOLDERS |= frozenset(("us", "our", "you", "your", "user", "assistant"))
_LITTLE_WORDS = "of that this also who which new old current former next own only other"
_LITTLE = w.DIRECTIONS | frozenset(_LITTLE_WORDS.split())


def one(word: str) -> str:
    """A word without a plural's ending, in one spelling."""
    shorter = word.removesuffix("s")
    single = shorter if len(shorter) > 2 and not shorter.endswith("s") else word
    return w.SYNONYMS.get(single, single)
