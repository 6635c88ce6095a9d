"""Whether a newer fact says that what an older one speaks of is over. Pure; English."""

import re
from itertools import pairwise

from hmem.truth import words as w
from hmem.truth.facets import NEGATED, Facet, head
from hmem.truth.forms import form, one_word
from hmem.truth.reading import USER, USERS, Item

_END_WORDS = (
    "stop quit cancel sell end finish drop leave lose die cease divorce separate abandon retire "
    "replace switch swap trade upgrade expire resign instead dead without anymore nolonger "
    "submit complete close terminate"
)
_MEND_WORDS = "heal recover resolve solve fix repair mend cure"
_MENDS = frozenset(_MEND_WORDS.split())
"""What ends a state of a thing, not its use."""
_ENDS = frozenset(_END_WORDS.split())
_ENDING_PAIRS = frozenset(
    (
        *(
            ("give", "up"),
            ("pass", "away"),
            ("no", "more"),
            ("give", "to"),
            ("call", "off"),
        ),
        *(
            ("break", "up"),
            ("split", "up"),
            ("be", "over"),
            ("hand", "in"),
            ("turn", "in"),
            ("step", "down"),
            ("vote", "off"),
            ("throw", "out"),
        ),
    )
)
_FROM_WORDS = "change convert migrate transfer switch swap"
_FROM = frozenset(_FROM_WORDS.split())
"""Of which "from x" says that x is over."""
_NEAR = 4
"""Items between a word that something is over, and what that is."""
_VERB_NEAR = 2
_FEELING_WORDS = (
    "like love hate enjoy prefer know visit see meet recommend remember dislike admire "
    "miss travel"
)
_FEELINGS = frozenset(_FEELING_WORDS.split())
"""What stays true of a thing that is gone."""
_DEAD = re.compile(r"\b(?:died|dead|passed away|deceased|was put down|put to sleep)\b")


def ends(new: Facet, old: Facet) -> bool:
    """Whether the newer fact says, close to each other, that something is over and what of
    the older one that is."""
    if EXCEPT.search(new.plain):
        return False
    verbs = [word for word in old.frame if word not in old.nouns]
    told = () if is_feeling(old) else _told(new, old)
    for at, item in enumerate(new.items):
        after = new.items[at + 1 : at + 1 + _NEAR]
        if _is_end(item, after[0] if after else None, old):
            near = after[:_VERB_NEAR]
            if any(one_word(head(i.value), v) for i in near for v in verbs):
                return _is_same_object(new.items[at + 1 : at + 2 + _NEAR], old)
            around = [*_of_its_clause(new.items[max(0, at - _NEAR) : at]), *after]
        elif _is_from(item, after):
            around = after
        else:
            around = [i for i in after[:2] if i.capital] if item.value == "not" else []
        if any(_is_one_noun(head(i.value), t) for i in around for t in told):
            return True
    return False


_TITLES = frozenset(("mr", "mrs", "ms", "dr", "prof", "professor", "doctor"))
EXCEPT = re.compile(r"\bbut not\b|\bexcept\b|\ball but\b")


def _is_same_object(after: list[Item], old: Facet) -> bool:
    """Whether what one does no longer is said of what the older fact says one does it to:
    not "no longer wears heels" after "wears a brace"."""
    rest = [x for x in after if x.kind == "word"][1:]
    objects = [
        head(x.value)
        for x in rest
        if x.value not in w.DIRECTIONS | w.PEOPLE | _LITTLE and not x.past
    ]
    if not (old.nouns or old.names):
        return True
    return not objects or any(map(old.says, objects))


_LITTLE = frozenset(("and", "or", "but", "not", "because", "as", "that", USER, USERS))
_JOINTS = frozenset(("that", "and", "but", "which", "who"))


def _of_its_clause(before: list[Item]) -> list[Item]:
    """What stands before a word and in its clause."""
    joint = max((n for n, x in enumerate(before) if x.value in _JOINTS), default=-1)
    return before[joint + 1 :]


def _is_one_noun(a: str, b: str) -> bool:
    """Whether two words are one; the training is not the train."""
    if _base(a) == _base(b):
        return True
    return one_word(a, b) and a.endswith("ing") == b.endswith("ing")


def _base(word: str) -> str:
    """Formal, formally, formality: a word without what makes another kind of it."""
    for ending in ("ly", "ity", "ness"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word.removesuffix(ending)
    return word


def is_feeling(old: Facet) -> bool:
    """Whether it stays true of a thing that is gone: "likes the Skoda"."""
    return old.verb is not None and not form(old.verb.value).lemmas.isdisjoint(
        _FEELINGS
    )


def titled(facet: Facet) -> frozenset[str]:
    """The words of persons with a title, and the titles: Mr. Bell."""
    found = {b.value for a, b in pairwise(facet.items) if a.value in _TITLES}
    return _TITLES | found


def _told(new: Facet, old: Facet) -> tuple[str, ...]:
    """What of the older fact may be over."""
    persons = titled(old)  # they are not sold
    told = tuple(x for x in (*old.nouns, *old.names) if x not in persons)
    if old.subject.kin and old.verb is not None and old.verb.value in ("be", "named"):
        told = tuple(
            x for x in old.nouns if x not in persons
        )  # what somebody is called cannot be sold
    if new.subject.things and not old.subject.things:
        return (*told, *(t for t in new.subject.things if old.says(t)))
    if old.subject.things == new.subject.things:
        return (*told, *old.subject.things)
    return told


def _is_end(item: Item, after: Item | None, old: Facet) -> bool:
    lemmas = form(item.value).lemmas
    if not lemmas.isdisjoint(_MENDS):
        return item.past and old.verb is not None and old.verb.value in ("be", "have")
    if item.value == "done":
        return after is not None and after.value == "with"
    if not lemmas.isdisjoint(_ENDS):
        beaten = after is not None and after.value in ("to", "at", "against")
        return not (beaten and "lose" in lemmas)
    return after is not None and any((x, after.value) in _ENDING_PAIRS for x in lemmas)


def _is_from(item: Item, after: list[Item]) -> bool:
    return not form(item.value).lemmas.isdisjoint(_FROM) and any(
        i.value == "from" for i in after[:2]
    )


def _is_end_of_kin(new: Facet, old: Facet) -> bool:
    """ "The user and Lou are no longer friends" and "the user's best friend is Lou"."""
    kin = {part for one_ in old.subject.kin for part in one_.split()} - {USERS}
    return (
        bool(kin and old.names)
        and old.subject.users
        and new.subject.user
        and all(map(new.says, old.names))
        and any(map(new.says, kin))
        and NEGATED.search(new.plain) is not None
    )


def _is_end_of_named(new: Facet, old: Facet) -> bool:
    """ "Otis's dog Biscuit died" and "Otis has a dog named Biscuit": one is about whom the
    other one names."""
    owners = {part for one in new.subject.kin for part in one.split()}
    ours = old.subject.names | ({USERS} if old.subject.user else set())
    if not owners & ours:
        return False
    if "baby" in new.topics & old.topics:
        return True
    known = new.subject.names and all(map(old.says, new.subject.names))
    return bool(known and _DEAD.search(new.plain))


def ends_a_being(new: Facet) -> bool:
    """Whether it says that the person or animal it is about has died."""
    about = new.subject
    being = bool(about.kin or about.names) and not about.user and len(about.kin) < 2
    return being and _DEAD.search(new.plain) is not None


def ends_of_another(new: Facet, old: Facet) -> bool:
    """Whether it ends what is said of somebody else who has to do with its subject."""
    return _is_end_of_named(new, old) or _is_end_of_kin(new, old)
