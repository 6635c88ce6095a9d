"""A fact as its words tell what it is about. Pure; English.

Its *frame* is what a newer fact about the same matter says as well: "the rent is 850 euros"
has the thing "rent", "lives in Ghent" the verb "live", "plays the cello" both.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from hmem.text import normalise, words
from hmem.truth import words as w
from hmem.truth.forms import form, one_word
from hmem.truth.reading import USER, USERS, Item, items_of
from hmem.truth.subjects import VERBS, Subject, one, subject, verb
from hmem.truth.topics import main_clause, topics

# Words that say nothing of what a fact is about.
_IDLE_WORDS = (
    "be have do get make take go come want need plan start begin keep become seem use put set "
    "turn call named new old small big large little good nice own again now today always "
    "still since because that this there here all some any only more most many much lot thing "
    "person people someone somebody something time name way year month week day hour minute "
    "current currently former usually often sometimes every each around about away as if "
    "while when where who which what how than then so very too also just even yet already "
    "together both either other another same different well full whole first last next "
    "like love enjoy hate dislike prefer favor switch change move stop quit cancel end sell "
    "give leave lose drop instead rather without long longer would will could should can may "
    "might must shall not no never nolonger anymore assistant his her their its our your my "
    "it he she they we you them him us up down off out reach contact early late regularly "
    "daily of as by with than place morning evening night noon afternoon red blue green white black yellow brown grey gray"
)
_IDLE = frozenset(_IDLE_WORDS.split()) | w.DIRECTIONS | frozenset(w.UNITS.values())
_NOUN_WORDS = (
    "meeting wedding building painting recording booking drawing clothing savings "
    "earnings"
)
_NOUNS = frozenset(_NOUN_WORDS.split())
"""Nouns that look like a form of a verb."""
_PLAIN = w.DIRECTIONS | w.SUBJECT_WORDS | frozenset(("be", "have", "not", "and", "or"))
_ENGLISH_WORDS = "the is are was were has have had and of to with for at from user does not lives works"
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_FOREIGN_WORDS = (
    "es el la los las ya una con del se su que ist und der das dem den ein eine mit von zu nicht "
    "im wohnt le les et est du une avec dans pas il elle sont chez di che non della sono een het "
    "niet zijn heeft och ar inte jag nao em uma nie jest"
)
_FOREIGN = frozenset(_FOREIGN_WORDS.split())
_FOREIGN_IDLE_WORDS = (
    "a i un en y die des per ha in van met med ett e com da do os w na z einen einem einer tiene "
    "hat habe ont avoir mag lubi gosta aime mange come isst mora vive habite woont bor trinkt bebe "
    "boit"
)
_FOREIGN_IDLE = _FOREIGN | frozenset(_FOREIGN_IDLE_WORDS.split())
_DAY = frozenset(("morning", "afternoon", "evening", "night", "summer", "winter"))
_PLACES = frozenset(("in", "at", "on", "near", "to", "from", "into"))


@dataclass(frozen=True)
class Facet:
    """A fact as its words tell what it is about. `user`: names that are the user's."""

    text: str
    user: tuple[str, ...] = ()

    @cached_property
    def subject(self) -> Subject:
        """Who or what it is about."""
        return subject(self.text, user=self.user)

    @cached_property
    def topics(self) -> frozenset[str]:
        """What it speaks of, of which one has one."""
        return topics(self.text)

    @cached_property
    def is_foreign(self) -> bool:
        """Whether it is in another language than English: it has little words of one, or
        most of it is in another script."""
        found = self.plain.replace("'", " ").split()
        if not _ENGLISH.isdisjoint(found):
            return False
        latin = sum(map(str.isascii, self.plain))
        return not _FOREIGN.isdisjoint(found) or 2 * latin < len(self.plain)

    @cached_property
    def plain(self) -> str:
        """The text, normalised."""
        return normalise(self.text)

    @cached_property
    def items(self) -> list[Item]:
        """All that it says, in order."""
        return items_of(self.text, user=self.user)

    @cached_property
    def _main(self) -> list[Item]:
        return items_of(main_clause(self.text), user=self.user)

    @cached_property
    def frame(self) -> tuple[str, ...]:
        """The telling words of its main clause but for names and what it is about."""
        about = self.subject.things
        return tuple(
            x for x, is_name in self._telling if not is_name and one(x) not in about
        )

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """The words of its frame that are no verbs."""
        return tuple(
            x for x in self.frame if x in _NOUNS or form(x).lemmas.isdisjoint(VERBS)
        )

    @cached_property
    def verb(self) -> Item | None:
        """Its first verb."""
        return verb(self.text, user=self.user)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names in its main clause but for its subject's."""
        return tuple(x for x, is_name in self._telling if is_name)

    @cached_property
    def _telling(self) -> list[tuple[str, bool]]:
        kin = {part for one in self.subject.kin for part in one.split()}
        mine = self.subject.names | kin | {USER, USERS, "and", "or"}
        found = [
            (head(item.value), item.capital is True)
            for item in self._main
            if item.kind == "word" and not {item.value, head(item.value)} & mine
        ]
        return [(x, n) for x, n in found if form(x).lemmas.isdisjoint(_IDLE)]

    @cached_property
    def kinds(self) -> frozenset[str]:
        """What is said of its subject: a date, a number, a place, or something else."""
        found = {
            {"time": "date", "ordinal": "number"}.get(item.kind, item.kind)
            for item in self._main
            if item.kind in ("date", "time", "number", "ordinal")
        }
        for at, item in enumerate(self._main[:-1]):
            after = self._main[at + 1]
            if item.value in _PLACES and after.kind == "word":
                found.add("date" if after.value in _DAY else "place")
        said = []
        if self.verb is not None and self.verb in self._main:
            said = self._main[self._main.index(self.verb) + 1 :]
        telling = [i for i in said if i.kind == "word" and i.value not in _PLAIN]
        if telling and "place" not in found:
            found.add("word")
        return frozenset(found)

    @cached_property
    def lemmas(self) -> frozenset[str]:
        """All words of its main clause, in all forms."""
        return frozenset(
            lemma
            for item in self._main
            if item.kind == "word"
            for lemma in form(item.value).lemmas
        )

    def says(self, word: str) -> bool:
        """Whether it has a word, in some form."""
        return any(
            item.kind == "word" and one_word(head(item.value), word)
            for item in self.items
        )


def head(value: str) -> str:
    """A word without a possessor's ending."""
    return value.removesuffix("'s").removesuffix("'")


def mostly_said(new: Facet, old: Facet) -> bool:
    """For languages whose words are not known: half of the older one's telling words, but
    for its first, stand in the newer."""
    own, heard = _telling(old.text), _telling(new.text)
    shared = len(own & heard)
    return bool(shared) and 2 * shared >= len(own)


def _telling(text: str) -> frozenset[str]:
    """Words without little ones and the first; of dense scripts pairs without kana."""
    found = [word for word in words(text) if word not in _FOREIGN_IDLE]
    dense = [x for x in found if len(x) == 2 and not x.isascii()]
    if 2 * len(dense) > len(found):
        return frozenset(x for x in dense[1:] if _KANA.search(x) is None)
    return frozenset(found[1:])


_KANA = re.compile("[\u3041-\u309f]")
REPLACING = re.compile(
    r"\b(?:instead|no longer|not|never|switch\w*|replac\w+|swapp?\w*|chang\w+|upgrad\w+"
    r"|rather than|any ?more|any longer|gave up|given up|traded|renamed|correct\w*)\b"
)
"""Says that something takes another's place."""
NEGATED = re.compile(r"\b(?:not|never|n't|no longer|isn't|doesn't|no)\b")
