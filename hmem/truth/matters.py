"""Whether two facts about one subject are about one matter, so that the newer may take the
place of the older: "moved to Lyon" and "lives in Ghent", not "moved to Lyon" and "works at
Acme". Pure; English, with a plain comparison of words for other languages.

    topic    both are about something of which one has one: a home, an employer, a partner
    post     both say who is the lead, the teacher, the landlord of one thing or person
    frame    the newer says all that the older says but for its names, numbers and dates
             ("the rent is 850" - "the rent went up to 920"); not where one can have or do
             several ("speaks Spanish" - "speaks Italian"), unless it says "instead"
    ending   the newer says that what the older speaks of is over ("sold the van", "the trip
             to Crete is cancelled", "switched from tea")
    correction  the newer says "X, not Y", and the older one says Y
    words    in other languages: most of the older one's words come again
    near     their vectors lie close together, the newer tells of a change, and nothing
             speaks against it
"""

import re
from typing import Literal

from hmem.truth import words as w
from hmem.truth.endings import (
    EXCEPT,
    ends,
    ends_a_being,
    ends_of_another,
    is_feeling,
    titled,
)
from hmem.truth.facets import NEGATED, REPLACING, Facet, mostly_said
from hmem.truth.forms import form, one_word
from hmem.truth.outcomes import corrects, ends_something_else, is_outcome
from hmem.truth.posts import one_post
from hmem.truth.subjects import Subject, one
from hmem.truth.topics import stances

Matter = Literal["topic", "post", "frame", "correction", "ending", "words", "near"]

# Verbs and nouns of which one can have several.
_MANY_WORDS = (
    "speak visit like love enjoy know read watch play own have buy meet see travel learn "
    "collect eat cook make write attend teach adopt try recommend suggest mention tell say "
    "hate dislike give find catch win drive brother sister friend child son "
    "daughter dog cat pet horse hobby trip book movie song colleague cousin aunt uncle niece "
    "nephew student client meeting call date lesson class course interview appointment concert game ticket plant recipe allergy medication"
)
_MANY = frozenset(_MANY_WORDS.split())


def one_matter(new: Facet, old: Facet) -> Matter | None:
    """In which way two facts are about one matter of one subject; None: in none."""
    if new.is_foreign or old.is_foreign:
        return "words" if mostly_said(new, old) else None
    if _are_of_two_sides(new, old):
        return None
    if one_post(new, old):
        return "post"
    found = _of_one(new, old) if new.subject.shares(old.subject) else None
    if found is not None:
        return found
    if corrects(new, old):
        return "correction"
    if is_outcome(new, old):
        return "ending"
    return None if new.subject.shares(old.subject) else _of_another(new, old)


def _of_one(new: Facet, old: Facet) -> Matter | None:
    """The same for two facts about one person or thing."""
    if ends_a_being(new):
        return "ending"
    if new.topics & old.topics and _of_one_thing(new.subject, old.subject):
        return "topic" if _is_positive(new) or _shares(new, old) else None
    if new.topics and old.topics:
        return None
    if ends(new, old):
        return "ending"
    return "frame" if _covers(new, old) else None


_CHANGE = re.compile(
    r"\b(?:now|again|no longer|any ?more|any longer|these days|back(?! from)|since|new|instead|off"
    r"|(?:has|have) been|becomes?|permanent|from now on)\b"
)


def may_be_one(new: Facet, old: Facet) -> bool:
    """Of facts whose vectors lie close together: whether the newer tells of a change, and
    nothing says that they are about two matters."""
    if _are_of_two_sides(new, old) or _keeps(new, old):
        return False
    told = frozenset((*old.frame, *old.names, *old.subject.things)) - titled(old)
    if not any(map(new.says, told)):
        return False
    one_, two = new.subject, old.subject
    kin = one_.kin or two.kin
    if not one_.shares(two) and (kin or not (one_.users and two.users)):
        return False
    if one_.things and two.things and one_.things != two.things:
        return False
    if new.topics and old.topics and not new.topics & old.topics:
        return False
    happened = _happened(new)
    if not (happened or _CHANGE.search(new.plain)) or _are_two_events(new, old):
        return False
    if not _is_positive(new) and not _shares(new, old):
        return False
    return not _are_two_of_many(new, old)


_SIDE = re.compile(
    r"\b(left|right|upper|lower|front|back|older|younger|elder|first|second|third|upstairs"
    r"|downstairs|maternal|paternal) ([a-z]+)"
)


def _are_of_two_sides(new: Facet, old: Facet) -> bool:
    """Whether they are about two of a kind: the left knee and the right."""
    one_, other = (dict(map(_noun_first, _SIDE.findall(x.plain))) for x in (new, old))
    differ = any(one_[noun] != other[noun] for noun in one_.keys() & other.keys())
    return differ and not REPLACING.search(new.plain)


def _noun_first(found: tuple[str, str]) -> tuple[str, str]:
    return found[1], found[0]


def _keeps(new: Facet, old: Facet) -> bool:
    """Whether the newer one says that something else is over, or not this."""
    return ends_something_else(new, old) or EXCEPT.search(new.plain) is not None


def _happened(new: Facet) -> bool:
    """ "Was doubled", "went": not "was on the ground floor"."""
    if new.verb is None or new.verb not in new.items:
        return False
    after = new.items[new.items.index(new.verb) + 1 :][:1]
    verb = after[0] if new.verb.value == "be" and after else new.verb
    return new.verb.past and not form(verb.value).lemmas.isdisjoint(_TURNS)


_TURNS_WORDS = (
    "change move switch turn drop rise raise fall double halve triple increase decrease lower "
    "reduce upgrade downgrade promote demote transfer rebook emigrate relocate become receive "
    "steal join take grow postpone extend approve finish end leave break replace pay give "
    "shift convert rename return stop quit sell cancel expire recover heal close cut shrink "
    "swap trade resign retire fire hire divorce marry start begin"
)
_TURNS = frozenset(_TURNS_WORDS.split())
"""What changes how things stand, unlike "spilled"."""


def _are_two_of_many(new: Facet, old: Facet) -> bool:
    """Whether one can have or do both, or they say the same of two things."""
    verbs = [form(x.verb.value).lemmas if x.verb else frozenset() for x in (new, old)]
    if all(map(_EVERYTHING.search, (new.plain, old.plain))) and _are_ways(*verbs):
        return False
    if any(map(_can_be_many, old.frame)) or not (verbs[0] | verbs[1]).isdisjoint(_MANY):
        return True
    same = verbs[0] & verbs[1] - {"be", "have"}
    if same and not all(map(new.says, old.nouns)) and not REPLACING.search(new.plain):
        return True
    things = new.subject.things
    return bool(things and things == old.subject.things and not new.kinds & old.kinds)


_EVERYTHING = re.compile(r"\beverything\b")
"""Of which there is one at a time: writes everything by hand, dictates everything."""

_WAYS = tuple(
    frozenset(ways.split())
    for ways in ("write type dictate", "drive cycle walk ride commute", "cook order")
)


def _are_ways(one_: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two verbs are ways to do one thing."""
    return any(one_ & ways and other & ways for ways in _WAYS)


_TOPIC_WORDS = "home address job relationship employer age diet partner work place"
_TOPIC_THINGS = frozenset(_TOPIC_WORDS.split())


def _of_one_thing(one_: Subject, other: Subject) -> bool:
    """Whether both are about a person, or both about the same thing of one's."""
    things, others = one_.things, other.things
    if things and others and (things <= others or others <= things):
        return True
    return things ^ others <= _TOPIC_THINGS


def _of_another(new: Facet, old: Facet) -> Matter | None:
    """Where one fact is about what or whom the other only speaks of."""
    if ends_of_another(new, old):
        return "ending"
    if is_feeling(old) or not (_is_thing_of(new, old) or _is_thing_of(old, new)):
        return None
    if ends(new, old):
        return "ending"
    return "frame" if _covers(new, old) else None


def _is_thing_of(thing: Facet, owner: Facet) -> bool:
    """ "The exam is on Friday" and "The user has an exam on Monday"."""
    about, other = thing.subject, owner.subject
    if about.users or about.kin or not about.things or not other.user or other.things:
        return False
    had = [one(word) for word in owner.nouns]
    return about.things <= set(had) and all(map(owner.says, about.names))


def _is_positive(new: Facet) -> bool:
    """Whether a fact says what is so now, before it says what is not."""
    return NEGATED.search(_CLAUSE.split(new.plain, maxsplit=1)[0]) is None


_CLAUSE = re.compile(r",? (?:and|but)\b|[;,]")


def _shares(new: Facet, old: Facet) -> bool:
    """Whether the newer fact speaks of something the older one tells."""
    return any(map(new.says, old.names or old.nouns))


# ---------------------------------------------------------------------------- frames


def _covers(new: Facet, old: Facet) -> bool:
    """Whether the newer fact has all telling words of the older but for its names, and
    says how it is."""
    return not _was_so(new, old) and _says_all(new, old)


def _says_all(new: Facet, old: Facet) -> bool:
    things, others = old.subject.things, new.subject.things
    if things and others:
        said = things == others or (others <= things and all(map(new.says, things)))
        return said and (bool(new.kinds & old.kinds) or _is_opposite(new, old))
    if _are_two_events(new, old) or _is_event(old, new):
        return False
    if things:
        return all(map(new.says, things)) and _measures_the_same(new, old)
    if not all(map(old.says, others)):
        return False
    if not old.frame:
        return _same_verb(new, old)
    if not old.nouns:
        return _same_verbs(new, old)
    if not all(map(new.says, old.nouns)):
        return False
    return _is_opposite(new, old) or _covers_frame(new, old)


def _was_so(new: Facet, old: Facet) -> bool:
    """Whether the newer one says how something once was: "was late on Monday"."""
    if new.verb is None or old.verb is None or new.verb not in new.items:
        return False
    after = new.items[new.items.index(new.verb) + 1 :][:1]
    once = new.verb.value == "be" and new.verb.past and not any(x.past for x in after)
    return once and not old.verb.past and _CHANGE.search(new.plain) is None


def _covers_frame(new: Facet, old: Facet) -> bool:
    """The same where all nouns of the older one are in the newer."""
    if not all(map(new.says, old.frame)):
        return _measures_the_same(new, old)
    if not all(map(_can_be_many, old.frame)):
        return _says_how_it_is(new, old)
    replaced = _names_shared(new, old) and REPLACING.search(new.plain)
    return bool(replaced) or _measures_the_same(new, old)


def _says_how_it_is(new: Facet, old: Facet) -> bool:
    """Whether the newer fact says of the older one's nouns what is comparable: in the same
    verb, as a number, date or place, or as a change."""
    if _is_once(new, old):
        return bool("number" in new.kinds & old.kinds)
    if {"number", "date", "place"} & new.kinds & old.kinds:
        return True
    if REPLACING.search(new.plain) or _CHANGE.search(new.plain):
        return True
    if new.verb is None or old.verb is None:
        return True
    verbs = form(new.verb.value).lemmas, form(old.verb.value).lemmas
    if "have" in verbs[0] & verbs[1] and new.verb.past != old.verb.past:
        return False
    return not verbs[0].isdisjoint(verbs[1] | _CHANGES - {"have", "be"})


def _is_once(new: Facet, old: Facet) -> bool:
    """Whether the newer one tells what happened, and the older one what is so or done
    again and again."""
    if new.verb is None or old.verb is None or _CHANGE.search(new.plain):
        return False
    if "a plan" in stances(old.text):
        return False
    turns = form(new.verb.value).lemmas & (_CHANGES | _TURNS | {"be"})
    return new.verb.past and not old.verb.past and not turns


def _can_be_many(word: str) -> bool:
    return not form(word).lemmas.isdisjoint(_MANY)


def _same_verbs(new: Facet, old: Facet) -> bool:
    """Of facts with verbs alone: "weighs 77 kilos", not "speaks Dutch"."""
    if not all(map(new.says, old.frame)):
        return False
    if any(map(_can_be_many, old.frame)):
        return _names_shared(new, old) and bool(REPLACING.search(new.plain))
    measured = {"number", "date", "place"} & new.kinds & old.kinds
    return bool(measured) and _same_words(new.frame, old.frame)


def _same_words(one_: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return len(one_) == len(other) and all(map(one_word, one_, other))


def _names_shared(new: Facet, old: Facet) -> bool:
    return not old.names or any(map(new.says, old.names))


def _measures_the_same(new: Facet, old: Facet) -> bool:
    """Whether both give a number or a date of the same thing, in other verbs."""
    measured = {"number"} if _is_once(new, old) else {"number", "date"}
    return all(map(new.says, old.names)) and bool(measured & new.kinds & old.kinds)


def _is_opposite(new: Facet, old: Facet) -> bool:
    """ "lost the passport", "found the passport"; "is down", "is up again"."""
    return any(frozenset((a, b)) in w.OPPOSITES for a in new.lemmas for b in old.lemmas)


_CHANGES_WORDS = (
    "be have move switch start become get change go rise fall lower raise increase decrease "
    "turn grow drop reach set plan agree decide choose"
)
_CHANGES = frozenset(_CHANGES_WORDS.split())


def _are_two_events(new: Facet, old: Facet) -> bool:
    """Whether both say that something happened, which each time stays true."""
    if REPLACING.search(new.plain):
        return False
    return all(
        v is not None and v.past and form(v.value).lemmas.isdisjoint(_CHANGES)
        for v in (new.verb, old.verb)
    ) and not _is_opposite(new, old)


def _is_event(old: Facet, new: Facet) -> bool:
    """Whether the older one says that something ended, which a habit does not undo."""
    return (
        old.verb is not None
        and old.verb.past
        and not form(old.verb.value).lemmas.isdisjoint(_ENDED)
        and not (REPLACING.search(new.plain) or _is_opposite(new, old))
    )


_ENDED = frozenset(("sell", "lose", "break", "give", "cancel", "finish", "end"))


def _same_verb(new: Facet, old: Facet) -> bool:
    """Of facts with little words alone: "gets up at six", "gets up at seven"."""
    heads = [[i.value for i in x.items if i.kind == "word"][1:3] for x in (new, old)]
    return (
        len(heads[0]) == len(heads[1]) == 2
        and all(map(one_word, *heads))
        and (heads[0][1] in w.DIRECTIONS or not _can_be_many(heads[0][0]))
        and bool({"number", "date"} & new.kinds & old.kinds)
    )
