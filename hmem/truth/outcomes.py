"""Whether a newer fact says itself that an older one does not hold any more, whoever or
whatever it is about grammatically. Pure; English.

    correction   "X, not Y", and the older one says Y of the same
    outcome      the older one seeks or awaits what the newer one says is there
    loss         whom the older one has or keeps ran away, was fetched, found a home
    dismissal    whom the older one works for has fired its subject
    called off   what the older one names, on the same date, is cancelled
    returned     what the older one has, lends or owes was given or paid back
    swapped      what the older one names was replaced, dropped or left for something else
    made up      "made up" after "does not speak to", and "fell out" after "is friends with"

In each, everybody whom the older one is about has to be named in the newer, and the newer
may be about nobody else of theirs.
"""

import re

from hmem.truth import words as w
from hmem.truth.facets import Facet, head
from hmem.truth.forms import form, one_word
from hmem.truth.reading import USER, USERS, Item
from hmem.truth.subjects import one


def corrects(new: Facet, old: Facet) -> bool:
    """ "The aunt is called Bohdana, not Oksana" and "The aunt Oksana keeps goats"."""
    rejected = [item for item in _rejected(new) if _has(old, item)]
    if not rejected or not _is_of_kin(new, old):
        return False
    wrong = {head(item.value) for item in rejected}
    if not _names_all(new, old, but=wrong):
        return False
    who = wrong & old.subject.names
    told = old.nouns if who else _told(old)
    rest = [x for x in told if not any(one_word(x, y) for y in wrong)]
    acts = old.verb is not None and new.says(old.verb.value)
    if who or not rest:
        return acts and all(map(new.says, rest))
    return any(map(new.says, rest))


def is_outcome(new: Facet, old: Facet) -> bool:
    """Whether the newer fact says, in one of the ways above, that the older one is over."""
    if not (_is_of_kin(new, old) and _names_all(new, old)):
        return False
    if _ALMOST.search(new.plain):
        return False
    checks = (_reaches, _is_gone, _dismisses, _calls_off, _returns, _swaps, _turns)
    return any(check(new, old) for check in checks)


_ALMOST = re.compile(
    r"\b(?:nearly|almost|tried to|not yet|hopes? to|did not|was not)\b"
)


# ------------------------------------------------------------------------------ whose


def _is_of_kin(new: Facet, old: Facet) -> bool:
    """Whether the newer fact is about no relative that the older one is not about."""
    kin = {part for one_ in new.subject.kin for part in one_.split()}
    if not new.subject.known:  # anybody it speaks of may be meant
        kin = {head(item.value) for item in new.items}
    about = kin & w.PEOPLE
    return all(map(old.says, about - _HIRED))


_HIRED = frozenset(("doctor", "dentist", "boss", "manager", "landlord", "teacher"))
"""What they decide for somebody, that one has decided."""


def _names_all(
    new: Facet, old: Facet, *, but: set[str] | frozenset[str] = frozenset()
) -> bool:
    """Whether the newer fact names everybody whom the older one is about."""
    about = old.subject
    named = {item.value for item in new.items}
    if about.users and named.isdisjoint((USER, USERS)):
        return False
    kin = {part for one_ in about.kin for part in one_.split()} - {USER, USERS}
    persons = (about.names | kin) - but - {"and"}
    return about.known and all(map(new.says, persons))


def _told(old: Facet) -> tuple[str, ...]:
    """What it says but for whom it is about: its nouns, names and things."""
    return (*old.nouns, *old.names, *old.subject.things)


def _has(old: Facet, item: Item) -> bool:
    if item.kind != "word":
        return any(x.kind == item.kind and x.value == item.value for x in old.items)
    return any(one_word(head(item.value), x) for x in (*_told(old), *old.subject.names))


# ------------------------------------------------------------------------- correction

_SKIPPED = frozenset(("be", "have", "in", "at", "on", "to", "by", "of", "from", "any"))


def _rejected(new: Facet) -> list[Item]:
    """What it says that is not so, where it says what is so as well."""
    items, found = new.items, []
    for at, item in enumerate(items[:-1]):
        if item.value != "not" or item.kind != "word":
            continue
        after = [x for x in items[at + 1 :] if x.value not in _SKIPPED]
        replaced = any(x.value == "but" for x in after[1:6])
        if after and (replaced or _WITHOUT_VERB.search(new.plain)):
            found.append(after[0])
    return found


_WITHOUT_VERB = re.compile(r"(?:,|\band)(?: is| are| was)? not (?!the one\b|one\b)")
""" "and not gout", ", not Oksana": says what is not so beside what is."""


# ------------------------------------------------------------------------- outcomes

_SEEKS = re.compile(
    r"\b(?:look(?:s|ing)? for|search(?:es|ing)? for|wait(?:s|ing)? for|waiting list for"
    r"|train(?:s|ing)? for|appl(?:ies|ied|ying) (?:for|to)|sav(?:es|ing) for|awaits?"
    r"|pending|learn(?:s|ing)? to|wants? (?:to|a)|plan(?:s|ned|ning) to|hop(?:es|ing) (?:to|for)"
    r"|on order|has ordered|missing|lost)\b"
)
_REACHES_WORDS = (
    "find get pass receive approve win buy deliver grant arrive obtain recover complete adopt "
    "turn"
)
_REACHES = frozenset(_REACHES_WORDS.split())
_FAR = 5


def _reaches(new: Facet, old: Facet) -> bool:
    """ "Found a job" after "is looking for a job"; "was approved" after "is pending"."""
    sought = _SEEKS.search(old.plain)
    if sought is None:
        return False
    object_ = Facet(old.plain[sought.end() :], old.user).items
    sought_words = [
        head(x.value)
        for x in object_
        if x.kind == "word" and x.value not in w.DIRECTIONS | w.PEOPLE
    ]
    for at, item in enumerate(new.items):
        if not item.past or form(item.value).lemmas.isdisjoint(_REACHES):
            continue
        after = new.items[at + 1 : at + 1 + _FAR]
        if any(x.value == "not" for x in new.items[:at]):
            continue
        if any(_is_head(new, x, word) for x in after for word in sought_words):
            return _of_one_whole(new.plain, old.plain)
        things, awaited = new.subject.things, old.subject.things
        if things and things <= awaited:
            return True
    return False


_OF = re.compile(r"\b([a-z]+) of (?:the |a |an |her |his |their )?([a-z]+)")


def _of_one_whole(new: str, old: str) -> bool:
    """Not "results of the scan" and "results of the election"."""
    one_, other = dict(_OF.findall(new)), dict(_OF.findall(old))
    return all(one_[noun] == other[noun] for noun in one_.keys() & other.keys())


def _is_head(new: Facet, item: Item, word: str) -> bool:
    """Whether a word is meant itself, not as what another one is of: the house, not the
    house plant."""
    if item.kind != "word" or not one_word(head(item.value), word):
        return False
    at = new.items.index(item)
    after = new.items[at + 1] if at + 1 < len(new.items) else None
    if after is None or after.kind != "word" or item.value.endswith("ing"):
        return True
    return after.value in w.DIRECTIONS | {"and", "or", "of", "as", "but", "be", USERS}


_GONE = re.compile(
    r"\b(?:(?:ran|flew|went|swam|was taken|was given|has run|has flown) away|has gone"
    r"|is gone|was fetched|was collected|was adopted|was rehomed|escaped|disappeared"
    r"|was stolen|found an? (?:new |good )?(?:home|family)|went to a new home)\b"
)
_KEEPS_WORDS = "have keep foster own raise care look be call named possess"
_KEEPS = frozenset(_KEEPS_WORDS.split())


def _is_gone(new: Facet, old: Facet) -> bool:
    """ "The hamster Knopf ran away" after "keeps a hamster, Knopf"."""
    if _GONE.search(new.plain) is None or not _is_state(old, _KEEPS):
        return False
    known = new.subject.names & frozenset(old.names) | new.subject.names - _owners(new)
    things = new.subject.things
    return bool(known and things) and all(map(old.says, (*known, *things)))


def _owners(new: Facet) -> frozenset[str]:
    """Whose things it is about."""
    return frozenset(
        head(item.value)
        for item in new.items
        if item.value.endswith(("'s", "s'")) and item.value != USERS
    )


def _is_state(old: Facet, verbs: frozenset[str]) -> bool:
    """Whether its first verb is one of some."""
    return old.verb is not None and not form(old.verb.value).lemmas.isdisjoint(verbs)


_FIRES = re.compile(
    r"\b(?:fired|sacked|dismissed|laid off|let go|made redundant|expelled|threw out|evicted"
    r"|excluded|suspended)\b"
)
_SERVES_WORDS = "work do be run play manage lead teach attend go train sing cook write"
_SERVES = frozenset(_SERVES_WORDS.split())
_OF_WHOM = frozenset(("for", "at", "with", "of", "by", "in"))


def _dismisses(new: Facet, old: Facet) -> bool:
    """ "Balena fired Chiara" after "does the books for Balena"."""
    if _FIRES.search(new.plain) is None or not _is_state(old, _SERVES):
        return False
    by = new.subject.names - old.subject.names
    if not by or not all(map(old.says, by)):
        return False
    first = next((n for n, x in enumerate(old.items) if head(x.value) in by), 0)
    return any(x.value in _OF_WHOM for x in old.items[max(0, first - 3) : first])


_CANCELS = re.compile(
    r"\b(?:call(?:s|ed) off|(?:is|was|are|were|been) (?:called )?off|cancel\w*|scrapped"
    r"|not tak(?:e|ing) place|does not happen)\b"
)


def _calls_off(new: Facet, old: Facet) -> bool:
    """ "The concert of the 20th is off" after "has tickets for The Lanterns on the 20th"."""
    if _CANCELS.search(new.plain) is None:
        return False
    dates = [{i.value for i in x.items if i.kind == "date"} for x in (new, old)]
    same = bool(dates[0] & dates[1])
    return same and bool(old.names) and all(map(new.says, old.names))


_BACK = re.compile(
    r"\b(?:gave|given|handed|sent|brought|took|taken|got|paid) ((?:[\w'-]+ ){0,8}?)(?:back|away)\b"
    r" ?((?:[\w'-]+ ?){0,6})"
    r"|\b(?:returned|picked up) ((?:[\w'-]+ ?){1,8})"
)
_HOLDS_WORDS = (
    "have own possess lend borrow owe rent be grow keep use hire lease drive ride"
)
_HOLDS = frozenset(_HOLDS_WORDS.split())


def _returns(new: Facet, old: Facet) -> bool:
    """ "Gave the season ticket back" after "has a season ticket"."""
    match = _BACK.search(new.plain)
    if match is None or not _is_state(old, _HOLDS):
        return False
    given = Facet(" ".join(part for part in match.groups() if part), new.user)
    said = [
        head(i.value)
        for i in given.items
        if i.kind == "word"
        and i.value not in w.DIRECTIONS | w.PEOPLE | {USER, USERS, "and"}
        and not i.value.endswith("'s")
    ]
    sums = [i for i in given.items if i.kind == "number"]
    told = [x for x in said if any(one_word(x, y) for y in _told(old))]
    return bool(told or sums) and all(
        (*map(old.says, said), *(_has(old, i) for i in sums))
    )


_SWAPS = re.compile(
    r"\b(?:replaced ([\w' -]+?) (?:with|by) |dropped ([\w' -]+?) (?:for|in favou?r of) "
    r"|(?:swapped|exchanged|traded|traded in) ([\w' -]+?) (?:for|with) "
    r"|(?:moved|migrated|went over|switched|changed|turned) (?:away )?from ([\w' -]+?) to "
    r"|(?:in place|instead) of ([\w' -]+?)(?=[,.]| (?:as|for|now|since)\b|$))"
)


def _swaps(new: Facet, old: Facet) -> bool:
    """ "The doctor replaced ibuprofen with naproxen" after "takes ibuprofen"."""
    match = _SWAPS.search(new.plain)
    if match is None or _is_state(old, _FEELS):
        return False
    gone = next(part for part in match.groups() if part).split()
    telling = [x for x in gone if x not in w.DIRECTIONS | w.ARTICLES | _OWN]
    return bool(telling) and all(
        any(one_word(head(x), y) for y in _told(old)) for x in telling
    )


_OWN = frozenset(("her", "his", "their", "my", "its", "our", "old"))
_FEELS_WORDS = "like love hate enjoy know visit see meet recommend remember admire buy"
_FEELS = frozenset(_FEELS_WORDS.split())

_APART = re.compile(
    r"\b(?:not (?:speak|talk)|no longer (?:speaks?|talks?)|fell out|fallen out|no contact"
    r"|not on speaking terms|estranged|quarrel\w*|avoids)\b"
)
_TOGETHER = re.compile(
    r"\b(?:made up|reconciled|made (?:their )?peace|back in touch|in touch again"
    r"|on (?:good|speaking) terms|friends again|speak(?:s|ing)? again|talk(?:s|ing)? again)\b"
)
_CLOSE = re.compile(
    r"\b(?:business partners?|partners|friends|speaks? (?:to|with)|talks? (?:to|with)"
    r"|in touch|bandmates|flatmates|share (?:a|the))\b"
)
_PARTED = re.compile(
    r"\b(?:fell out|fallen out|not (?:speak|talk)|(?:gone|went|go) (?:their )?separate ways"
    r"|parted(?: ways)?|no longer (?:speak|talk|friends|partners)|split)\b"
)


def _turns(new: Facet, old: Facet) -> bool:
    """ "They made up" after "does not speak to the brother", and the other way round."""
    others = [x for x in old.names if new.says(x)]
    two = len(old.subject.names) + len(others) + old.subject.user > 1
    if not two or not all(map(new.says, old.names)):
        return False
    apart = _APART.search(old.plain) is not None
    if apart:
        return _TOGETHER.search(new.plain) is not None
    return bool(_CLOSE.search(old.plain) and _PARTED.search(new.plain))


def ends_something_else(new: Facet, old: Facet) -> bool:
    """Whether the newer fact names what is over, and the older one does not speak of it:
    "gave up the lease" after "hosts a podcast"."""
    match = _OVER.search(new.plain)
    if match is None:
        return False
    over = Facet(match[1], new.user)
    nouns = [
        head(i.value)
        for i in over.items
        if i.kind == "word" and i.value not in w.DIRECTIONS | {USER, USERS, "and"}
    ]
    return bool(nouns) and not any(
        one_word(x, head(y.value)) or one(x) in old.subject.things
        for x in nouns
        for y in old.items
    )


_OVER = re.compile(
    r"\b(?:no longer \w+|ended|cancelled|canceled|sold|gave up|given up|quit|left|finished"
    r"|stepped down (?:from|as)|closed|stopped \w+ing)"
    r" ((?:the |a |an |her |his |their |my )?(?:[\w'-]+ ?){1,4})"
)
