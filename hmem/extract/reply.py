"""A model's reply -> candidates. Pure; believes nothing.

the reply                              what becomes of it
-------------------------------------  ---------------------------------------------
{"facts": [...]} or [...]              its items; [] is the answer "no facts"
the list under another known name,     the same
  or one level deeper
no list, the schema itself             Unreadable
items, but none with a usable text     Unreadable, unless all of them are blank
an item {...}                          a fact; other known names of a field are read
an item "text", a list in the list     a fact with nothing else known; its items
any other item                         dropped and counted
no text, a question, a copy of the     dropped and counted
  prompt's example, a fact too long
the same fact again                    merged into the first, counted
a reference or a date that is wrong    left out and counted, the fact is kept
facts beyond `most_facts`              dropped and counted
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import combinations
from typing import Any

from hmem.chat.peel import Unreadable
from hmem.config import Config
from hmem.extract import fields
from hmem.extract.listing import TEXTS, Broken, flat, listed
from hmem.extract.talk import Talk, labels, most_facts
from hmem.prompts import EXAMPLE_NAMES, one_line
from hmem.records import Category, Skipped
from hmem.text import normalise, words

MAX_FACT_CHARS = 500
"""A longer one is a copy of the talk and no fact: it is dropped, not cut, since half a text
may say something else. The turns it came from stay stored and searchable."""
MAX_QUOTE_CHARS = 300
MAX_REASON_CHARS = 200
MAX_GROUP = 8
"""Facts that belong together; a larger group says only that they came together."""
_MOST_DROPPED = 100
_KEPT = "; the fact is kept"

_SOURCES = ("turns", "turn", "source_turns", "source_turn", "sources", "source")
_REPLACES = ("replaces", "supersedes", "superseded", "updates")
_LINKS = ("links", "linked", "related")
_NOT_ADDED = frozenset(("NONE", "NOOP", "NO_OP", "DELETE", "IGNORE", "SKIP"))
_NOTHING = frozenset(
    (
        *("none", "null", "n/a", "nothing", "empty", "string", "fact", "no fact"),
        *("no facts", "no new facts", "no facts found", "no facts to extract"),
        "no new information",
    )
)
_WORD = re.compile(r"\w+")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A fact as the model proposes it.

    `sources` are positions in `Talk.turns` (empty where the model named none that exist
    and its quote stands in none), `supersedes` one in `Talk.shown`, `links` ones among the
    candidates read, both ways. `entities` are normalised names, `labels` those of
    `Config.categories`. The event is half-open. Nothing of it has been checked against the
    talk yet.
    """

    text: str
    category: Category
    importance: int
    event_start: datetime | None
    event_end: datetime | None
    event_precision: str | None
    entities: tuple[str, ...]
    quote: str | None
    sources: tuple[int, ...]
    links: tuple[int, ...]
    supersedes: int | None
    reason: str | None
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a reply says. `dropped` has one entry per thing that was not taken, and why; it
    quotes nothing. `lost` of them were whole items that said something unusable."""

    candidates: tuple[Candidate, ...]
    dropped: tuple[Skipped, ...]
    lost: int = 0


def read(value: Any, talk: Talk, config: Config) -> Extracted:
    """The candidates in a reply's JSON value, by the table above. Raises Unreadable when
    there is no usable answer in it."""
    reading = _Reading(talk, config)
    for item in flat(listed(value)):
        reading.take(item)
    found = reading.finish()
    if not found.candidates and found.lost:
        raise Unreadable(reading.why_nothing())
    return found


# ------------------------------------------------------------------------- the items


@dataclass(slots=True)
class _Found:
    """A candidate, and what ties it to others: positions in the reply, and a group."""

    candidate: Candidate
    links: tuple[int, ...]
    group: int | None


@dataclass(slots=True)
class _Reading:
    """Takes items one by one."""

    talk: Talk
    config: Config
    found: list[_Found] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    _dropped: list[str] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)  # in the reply -> among found
    _by_text: dict[str, int] = field(default_factory=dict)
    _said: str | None = None
    _seen: int = 0

    def take(self, item: Any) -> None:
        """One item of the reply."""
        position, self._seen = self._seen, self._seen + 1
        given = {"fact": item} if isinstance(item, str) else item
        text = self._text(given)
        if text is None:
            return
        key = normalise(text).rstrip(".!\u3002 ")
        if key in self._by_text:
            self._places[position] = self._by_text[key]
            self._merge(self._by_text[key], self._fact(given, text))
            self._drop("said twice in one reply")
        elif len(self.found) >= most_facts(len(self.talk.turns)):
            self._lose("more facts than are taken of one reply")
        else:
            self._places[position] = self._by_text[key] = len(self.found)
            self.found.append(self._fact(given, text))

    def finish(self) -> Extracted:
        """What was read, tied together."""
        ties = _ties(self.found, self._places)
        dropped = self._dropped[:_MOST_DROPPED]
        if more := len(self._dropped) - len(dropped):
            dropped.append(f"and {more} more")
        return Extracted(
            candidates=tuple(
                replace(one.candidate, links=tuple(sorted(ties[n])))
                for n, one in enumerate(self.found)
            ),
            dropped=tuple(Skipped(reason=reason) for reason in dropped),
            lost=len(self.lost),
        )

    def why_nothing(self) -> str:
        """What to tell the model when nothing it wrote could be used."""
        return f"nothing in the list could be used; the first item: {self.lost[0]}"

    def _drop(self, reason: str) -> None:
        self._dropped.append(reason)

    def _lose(self, reason: str) -> None:
        self.lost.append(reason)
        self._drop(reason)

    # ------------------------------------------------------------------- the text

    def _text(self, item: Any) -> str | None:
        """The fact's text, or None for an item that is not taken."""
        if item in fields.BLANK:
            self._drop("a fact without text")
            return None
        if not isinstance(item, Mapping):
            self._lose(_no_item(item))
            return None
        raw = fields.first(item, TEXTS)
        if isinstance(raw, Mapping):
            raw = fields.first(raw, TEXTS)
        if isinstance(raw, str):
            return self._usable(one_line(raw), item)
        if raw is None and any(item.get(key) == "" for key in TEXTS):
            self._drop("a fact without text")
        else:
            self._lose('an item without a "fact" that is a string')
        return None

    def _usable(self, text: str, item: Mapping[str, Any]) -> str | None:
        """The text, if it can be a fact's."""
        plain = normalise(text).strip(" .!-\"'*\u2022")
        if not any(c.isalnum() for c in plain) or plain in _NOTHING:
            self._drop("a fact without text")
        elif len(text) > (most := min(MAX_FACT_CHARS, self.config.max_item_chars)):
            self._lose(f"a fact longer than {most} characters")
        elif text.endswith(_QUESTION_MARKS):
            self._drop("a question is no fact")
        elif _word(fields.first(item, ("event", "action"))) in _NOT_ADDED:
            self._drop("marked as nothing new")
        elif self._copied(plain):
            self._drop("copied from the example of the prompt")
        else:
            return text
        return None

    def _copied(self, plain: str) -> bool:
        """Whether it has a name of the example's that the talk does not know."""
        named = EXAMPLE_NAMES.intersection(_WORD.findall(plain))
        if named and self._said is None:
            self._said = normalise(" ".join(_all_text(self.talk)))
        return any(name not in (self._said or "") for name in named)

    # ------------------------------------------------------------------- the fact

    def _fact(self, item: Mapping[str, Any], text: str) -> _Found:
        """An item with a usable text as a candidate. Counts what is left out of it."""
        talk = self.talk
        quote = fields.line(item.get("quote"), most=MAX_QUOTE_CHARS).strip(
            "\"'\u201c\u201d "
        )
        event = fields.event(item, talk.zone)
        if event.why:
            self._drop(event.why + _KEPT)
        target = self._numbers(
            item, _REPLACES, len(talk.shown), "memory that was not shown"
        )
        if len(target) > 1:
            self._drop("more than one memory to replace" + _KEPT)
        reason = fields.line(
            fields.first(item, ("reason", "why")), most=MAX_REASON_CHARS
        )
        candidate = Candidate(
            text=text,
            category=fields.category(
                item.get("category"), dated=event.start is not None
            ),
            importance=fields.importance(item.get("importance")),
            event_start=event.start,
            event_end=event.end,
            event_precision=event.precision,
            entities=fields.names(item.get("entities")),
            quote=quote or None,
            sources=self._sources(item, quote),
            links=(),
            supersedes=target[0] if target else None,
            reason=(reason or None) if target else None,
            labels=fields.chosen(item.get("labels"), labels(self.config)),
        )
        links = fields.numbers(fields.first(item, _LINKS), 1_000_000).found
        return _Found(candidate, links, _group(item.get("group")))

    def _sources(self, item: Mapping[str, Any], quote: str) -> tuple[int, ...]:
        """The turns it comes from: those named, else the only one, else those in which its
        quote stands."""
        turns = self.talk.turns
        found = self._numbers(item, _SOURCES, len(turns), "turn that was not shown")
        if found or len(turns) == 1:
            return found or (0,)
        wanted = normalise(quote)
        if len(words(wanted)) < 2:  # a word stands anywhere
            return ()
        return tuple(n for n, t in enumerate(turns) if wanted in normalise(t.text))

    def _numbers(
        self, item: Mapping[str, Any], keys: Sequence[str], size: int, what: str
    ) -> tuple[int, ...]:
        got = fields.numbers(fields.first(item, keys), size)
        if got.refused:
            self._drop(f"a reference to a {what}" + _KEPT)
        return tuple(sorted(got.found))

    def _merge(self, at: int, again: _Found) -> None:
        """Unite a fact with the same fact said again."""
        kept = self.found[at]
        one, two = kept.candidate, again.candidate
        later = one if one.event_start is not None or two.event_start is None else two
        target = one if one.supersedes is not None else two
        kept.candidate = replace(
            one,
            importance=max(one.importance, two.importance),
            event_start=later.event_start,
            event_end=later.event_end,
            event_precision=later.event_precision,
            entities=tuple(dict.fromkeys(one.entities + two.entities)),
            quote=one.quote or two.quote,
            sources=tuple(sorted({*one.sources, *two.sources})),
            supersedes=target.supersedes,
            reason=target.reason,
            labels=tuple(dict.fromkeys(one.labels + two.labels)),
        )
        kept.links += again.links
        kept.group = kept.group or again.group


def _no_item(item: object) -> str:
    kind = (
        "broken JSON" if isinstance(item, Broken) else f"of type {type(item).__name__}"
    )
    return f"an item that is {kind} and no fact"


def _word(value: object) -> str:
    return value.strip().upper() if isinstance(value, str) else ""


def _all_text(talk: Talk) -> Iterator[str]:
    yield talk.profile
    for turn in (*talk.turns, *talk.recent):
        yield f"{turn.name or ''} {turn.text}"
    for one in talk.shown:
        yield one.text


def _group(value: object) -> int | None:
    """A group's number; 0 and what is no number are none."""
    found = fields.numbers(value, 1_000_000).found
    return found[0] or None if len(found) == 1 else None


def _ties(found: Sequence[_Found], places: Mapping[int, int]) -> list[set[int]]:
    """For each fact the facts it is linked to, both ways."""
    ties: list[set[int]] = [set() for _ in found]
    groups: dict[int, list[int]] = {}
    for n, one in enumerate(found):
        for position in one.links:
            if position in places:
                _tie(ties, n, places[position])
        if one.group is not None:
            groups.setdefault(one.group, []).append(n)
    for members in groups.values():
        pairs = combinations(members, 2) if len(members) <= MAX_GROUP else ()
        for n, other in pairs:
            _tie(ties, n, other)
    return ties


def _tie(ties: Sequence[set[int]], one: int, other: int) -> None:
    if one != other:
        ties[one].add(other)
        ties[other].add(one)
