"""What a fact may be, given who said its sources. Pure.

    who said it        a fact about the user     another fact              procedural
    -----------------  ------------------------  ------------------------  --------------
    the user           as it is                  as it is                  as it is
    quoted by the user dropped                   as it is                  semantic
    the assistant      dropped, unless it says   "The assistant said: x"   episodic
                       that the assistant did
    a tool             dropped                   "According to x: y"       semantic

Dropped as well: orders in quoted or a tool's words, and orders and procedural facts that
stand in no source; what a question or a what-if only mentions; a fact about one talker
from another's "I". What nobody may order ("ignore your rules") is at most kept as what the
user said.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from hmem.records import Category
from hmem.text import normalise, words
from hmem.truth.mentions import is_hidden, is_quoted, mention
from hmem.truth.orders import order
from hmem.truth.quotes import find_quote
from hmem.truth.subjects import Subject, subject

Voice = Literal["user", "quoted", "assistant", "tool"]
Why = Literal[
    "no source",
    "quoted",
    "question",
    "hypothetical",
    "another talker",
    "the assistant's words",
    "a tool's words",
    "an order",
    "an override",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One source of a fact: the turn's role, its talker's name, and its words."""

    role: str
    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What becomes of a fact. `text` is None where it is not to be kept, and then `why`
    says so; else `why` says what was changed, if anything was."""

    text: str | None
    category: Category
    voice: Voice
    why: Why | None = None


def rule(
    text: str,
    category: Category,
    *,
    sources: Sequence[Said],
    quote: str | None = None,
    talkers: Collection[str] = (),
) -> Ruling:
    """What a proposed fact may be.

    `quote` is looked for in the sources; without one the source that shares most words
    with the fact counts. `talkers`: the names of all who talk in the user's role.
    """
    if not sources:
        return Ruling(text=None, category=category, voice="quoted", why="no source")
    ground = _ground(text, quote, sources)
    case = _Case(text, category, ground, sources, frozenset(talkers))
    return case.ruling()


@dataclass(frozen=True, slots=True)
class _Ground:
    """The stretch of a source on which a fact rests. `firm`: its quote stands there, or
    most of its words do; `lost`: a quote was given and neither it nor a word is there;
    `alone`: nothing else in the source speaks of what the fact does."""

    said: Said
    start: int
    end: int
    firm: bool
    lost: bool = False
    alone: bool = True

    @property
    def words(self) -> str:
        return self.said.text[self.start : self.end]


def _ground(text: str, quote: str | None, sources: Sequence[Said]) -> _Ground:
    found = find_quote(quote, [s.text for s in sources]) if quote else None
    if found is not None:
        return _Ground(sources[found.text], found.start, found.end, firm=True)
    own = set(words(text)) - _NOBODY

    def shared(said: Said) -> tuple[int, bool]:
        return len(own.intersection(words(said.text))), said.role == "user"

    best = max(sources, key=shared)
    count, _ = shared(best)
    start, end = _stretch(own, best.text)
    return _Ground(
        best,
        start,
        end,
        firm=bool(own) and 2 * count >= len(own),
        lost=bool(quote) and not count,
        alone=own.isdisjoint(words(best.text[:start] + best.text[end:])),
    )


_NOBODY = frozenset(words("user users assistant"))
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def _stretch(own: set[str], text: str) -> tuple[int, int]:
    """The sentence that shares most words with a fact."""
    spans = [m.span() for m in _SENTENCE.finditer(text[:_MOST_READ]) if m[0].strip()]
    if not spans:
        return 0, len(text)
    start, end = max(
        spans, key=lambda s: (len(own.intersection(words(text[s[0] : s[1]]))), -s[0])
    )
    return start + len(text[start:end]) - len(text[start:end].lstrip()), end


_MOST_READ = 20_000


class _Case:
    """One fact and what is known of its ground."""

    def __init__(
        self,
        text: str,
        category: Category,
        ground: _Ground,
        sources: Sequence[Said],
        talkers: frozenset[str],
    ) -> None:
        self._text = text
        self._category = category
        self._ground = ground
        self._sources = sources
        self._talkers = talkers
        self._about = subject(text)

    def ruling(self) -> Ruling:
        """Decide, by the table above."""
        voice = self._voice()
        kinds = {order(self._text), order(self._ground.words)}
        override = "override" in kinds
        rules = override or self._category == "procedural" or order(self._text)
        if self._ground.lost or (rules and not self._ground.firm):
            return self._drop(voice, "no source")
        if override:
            return self._override(voice)
        match voice:
            case "user":
                return self._users()
            case "assistant":
                return self._assistants()
            case "quoted" | "tool":
                pass
        if "order" in kinds and not _REPORTS.search(self._text):
            return self._drop(voice, "an order")
        return self._of_others(voice)

    def _voice(self) -> Voice:
        """Whose words the ground is."""
        ground = self._ground
        if ground.said.role == "user":
            hidden = is_hidden(ground.words)
            if hidden or is_quoted(ground.said.text, ground.start, ground.end):
                return "quoted"
            return "user"
        if ground.said.role != "assistant":
            return "tool"
        return "user" if any(map(_affirms, self._sources)) else "assistant"

    # ------------------------------------------------------------------- voices

    def _users(self) -> Ruling:
        ground = self._ground
        if ground.said.role == "user" and ground.alone:
            only = mention(self._text, ground.said.text, ground.start, ground.end)
            if only is not None:
                return self._drop("user", only)
        if self._is_another_talkers():
            return self._drop("user", "another talker")
        return self._keep(self._named(), self._category, "user")

    def _assistants(self) -> Ruling:
        name = self._ground.said.name or ""
        if order(self._text):
            return self._drop("assistant", "an order")
        category: Category = (
            "episodic" if self._category == "procedural" else self._category
        )
        if self._says_so("assistant") or (name and self._says_so(name)):
            return self._keep(self._text, category, "assistant")
        if self._is_about_user():
            return self._drop("assistant", "the assistant's words")
        who = name if name and self._talkers else "The assistant"
        text = f"{who} said: {self._text}"
        return self._keep(text, category, "assistant", "the assistant's words")

    def _of_others(self, voice: Voice) -> Ruling:
        """What others' words say of themselves or of the world, never of the talkers."""
        why: Why = "quoted" if voice == "quoted" else "a tool's words"
        reported = voice == "quoted" and _REPORTS.search(self._text) is not None
        about = self._is_about_user() or "assistant" in self._about.kin
        if not reported and (about or not self._about.known):
            return self._drop(voice, why)
        category: Category = (
            "semantic" if self._category == "procedural" else self._category
        )
        name = self._ground.said.name or "a tool"
        lead = (
            "" if voice == "quoted" or self._says_so(name) else f"According to {name}: "
        )
        changed = lead or category != self._category
        return self._keep(lead + self._text, category, voice, why if changed else None)

    def _override(self, voice: Voice) -> Ruling:
        """What switches rules off is never a rule itself."""
        said = self._ground.said
        if voice != "user" or said.role != "user":
            return self._drop(voice, "an override")
        text = f'{said.name or "The user"} said: "{self._text}"'
        return self._keep(text, "episodic", voice, "an override")

    def _keep(
        self, text: str, category: Category, voice: Voice, why: Why | None = None
    ) -> Ruling:
        return Ruling(text=text, category=category, voice=voice, why=why)

    def _drop(self, voice: Voice, why: Why) -> Ruling:
        return Ruling(text=None, category=self._category, voice=voice, why=why)

    # ------------------------------------------------------------------- looking

    def _is_about_user(self) -> bool:
        """Whether the fact is about the user or somebody who talks in the user's role."""
        about = self._about
        return about.users or _is_one_of(about, self._talkers)

    def _says_so(self, name: str) -> bool:
        """Whether the fact itself says whose words it is."""
        return f" {normalise(name)}" in f" {normalise(self._text)}"

    def _is_another_talkers(self) -> bool:
        """Whether one talker's "I" became a fact about another."""
        said = self._ground.said
        others = {t for t in self._talkers if t != said.name}
        if said.role != "user" or said.name is None or not others:
            return False
        if not _FIRST_PERSON.search(said.text[self._ground.start : self._ground.end]):
            return False
        about = self._about
        if not _is_one_of(about, others) or _is_one_of(about, {said.name}):
            return False
        heard = set(normalise(self._ground.words).replace("'s", "").split())
        return about.names.isdisjoint(heard)

    def _named(self) -> str:
        """The fact with its talker's name, where more than one talks in the user's role."""
        name = self._ground.said.name
        if name is None or len(self._talkers) < 2 or not self._about.users:
            return self._text
        return _USER_WORD.sub(lambda m: f"{name}{m[1] or ''}", self._text)


_REPORTS = re.compile(
    r"\b(?:said|says|told|tells|wrote|writes|texted|advised|recommended|asked|announced"
    r"|thinks|claims|quoted|translate[sd]?|shared|pasted|forwarded)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|my|me|mine|we|our)\b", re.I)
_USER_WORD = re.compile(r"\b(?:the )?users?\b('s)?", re.IGNORECASE)
_YES = re.compile(
    r"\W*(?:yes|yeah|yep|yup|right|correct|exactly|indeed|true|that's (?:right|correct|it)"
    r"|of course|absolutely|you got it|si|oui|ja|genau)\b",
    re.IGNORECASE,
)


def _affirms(said: Said) -> bool:
    """Whether a user's turn says yes to what an assistant said of the user."""
    return said.role == "user" and _YES.match(said.text) is not None


def _is_one_of(about: Subject, names: Collection[str]) -> bool:
    parts = {part for name in names for part in normalise(name).split()}
    return not about.names.isdisjoint(parts)
