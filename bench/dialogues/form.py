"""The talks of this folder as values: what was said when, the facts that a perfect model
would propose, and what is to be open or closed in the end.

    ## moved-plainly | moved | Noor          id, kind, who talks ("-" without a name)
    at 2026-01-05                            one add; with a time: 2026-01-05T18:30
    > Noor: I live in Bristol.               a turn; "assistant" and "tool" are roles,
                                             "user" a user without a name
    * home: Noor lives in Bristol            a fact of this add, under a key
        quote: I live in Bristol | names: Noor, Bristol
    at 2026-03-09
    > Noor: I moved to Ghent last week!
    * ghent: Noor moved from Bristol to Ghent in the week of 2026-03-02
        quote: I moved to Ghent last week | names: Noor, Bristol, Ghent
        when: 2026-03-02/2026-03-08 | said: last week | replaces: home | because: moved
    closed: home by ghent                    every closing there is to be
    may: home by visit                       closings that are no mistake either
    never: Noor lives in Oslo                what nobody may read out of it

Fields of a fact: `quote` (the turns that hold it are its sources), `names`, `when` as a
reply has it, `said` (the words of the turn that `when` was worked out from), `category`
(default: episodic with a date, else semantic), `importance`, `group`, `because`;
`replaces` or `ends` the key of an earlier fact (an ended one needs no successor);
`repeats`: an earlier fact that says the same; `tempts`: earlier facts that a careless model
would have it replace.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
HELD = "held-"
"""Files of talks that no gate was tuned on begin with this."""
ROLES = ("user", "assistant", "tool")
Pair = tuple[str, str | None]
"""A fact that is closed, and the one that took its place, if any."""

_FIELD_NAMES = "quote names when said category importance group because replaces ends repeats tempts"
_FIELDS = frozenset(_FIELD_NAMES.split())


@dataclass(frozen=True, slots=True)
class Said:
    """One turn."""

    role: str
    name: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact that a perfect model proposes, and how it stands to earlier ones."""

    key: str
    text: str
    turns: tuple[int, ...]
    quote: str = ""
    names: tuple[str, ...] = ()
    when: str = ""
    said: str = ""
    category: str = "semantic"
    importance: int = 5
    group: int = 0
    because: str = ""
    replaces: str | None = None
    ends: str | None = None
    repeats: str | None = None
    tempts: tuple[str, ...] = ()

    @property
    def target(self) -> str | None:
        """The earlier fact that is to be closed by this one."""
        return self.replaces or self.ends

    def reply(self, turns: tuple[int, ...], replaces: list[Any]) -> dict[str, Any]:
        """As an extraction reply has it, with the numbers that the prompt gave."""
        return {
            "turns": list(turns),
            "quote": self.quote,
            "fact": self.text,
            "category": self.category,
            "when": self.when,
            "importance": self.importance,
            "entities": list(self.names),
            "group": self.group,
            "replaces": replaces,
            "reason": (self.because or "it does not hold any more") if replaces else "",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """What is added at once."""

    at: datetime
    turns: tuple[Said, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """One user's talk over time. `closed` are the closings there are to be, `may` those
    that are no mistake besides; all other facts stay open."""

    id: str
    kind: str
    me: str | None
    adds: tuple[Add, ...]
    closed: frozenset[Pair] = frozenset()
    may: frozenset[Pair] = frozenset()
    never: tuple[str, ...] = ()
    held: bool = False

    def facts(self) -> dict[str, Fact]:
        """Its facts by key, in order."""
        return {fact.key: fact for add in self.adds for fact in add.facts}

    def allowed(self) -> frozenset[Pair]:
        """The closings that are no mistake: those there are to be, also without a step in
        between, ends without a successor, and those of `may`."""
        found = set(self.closed | self.may)
        while more := {
            (a, d) for a, b in found for c, d in found if b == c and (a, d) not in found
        }:
            found |= more
        ended = {(fact.ends, None) for fact in self.facts().values() if fact.ends}
        return frozenset(found | ended)


def load(folder: Path = FOLDER) -> list[Dialogue]:
    """All dialogues of the folder's files. Raises ValueError naming file and line."""
    found: list[Dialogue] = []
    for file in sorted(folder.glob("*.txt")):
        text = file.read_text(encoding="utf-8")
        found += parse(text, name=file.name, held=file.name.startswith(HELD))
    names = [one.id for one in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"used twice: {', '.join(sorted(twice))}")
    return found


def parse(text: str, *, name: str = "text", held: bool = False) -> list[Dialogue]:
    """The dialogues of one file. Raises ValueError."""
    found: list[Dialogue] = []
    draft: _Draft | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("# "):
            continue
        try:
            if line.startswith("## "):
                found += [] if draft is None else [draft.done()]
                draft = _Draft.begin(line[3:], held)
            elif draft is None:
                raise ValueError("a dialogue begins with ##")
            else:
                draft.take(line)
        except ValueError as e:
            raise ValueError(f"{name}, line {number}: {e}") from e
    return found + ([] if draft is None else [draft.done()])


@dataclass(slots=True)
class _Draft:
    """A dialogue while it is read."""

    id: str
    kind: str
    me: str | None
    held: bool
    adds: list[tuple[datetime, list[Said], list[dict[str, str]]]] = field(
        default_factory=list
    )
    closed: set[Pair] = field(default_factory=set)
    may: set[Pair] = field(default_factory=set)
    never: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, head: str, held: bool) -> "_Draft":  # noqa: FBT001
        parts = [part.strip() for part in head.split("|")]
        if len(parts) != 3 or not all(parts):
            raise ValueError("a heading has an id, a kind and a name")
        return cls(parts[0], parts[1], None if parts[2] == "-" else parts[2], held)

    def take(self, line: str) -> None:
        """One line."""
        word, _, rest = line.partition(" ")
        match word:
            case "at":
                at = datetime.fromisoformat(rest.strip())
                at = at.replace(hour=12) if len(rest.strip()) == 10 else at
                self.adds.append((at.replace(tzinfo=UTC), [], []))
            case ">":
                self._add()[1].append(_said(rest))
            case "*":
                key, text = _halves(rest)
                self._add()[2].append({"key": key, "text": text})
            case "closed:" | "may:":
                pairs = self.closed if word == "closed:" else self.may
                pairs.update(_pairs(rest))
            case "never:":
                self.never.append(rest.strip())
            case "":
                self._fields(line)
            case _:
                raise ValueError(f"unknown line: {word}")

    def done(self) -> Dialogue:
        """The dialogue. Raises ValueError for one that contradicts itself."""
        made = Dialogue(
            id=self.id,
            kind=self.kind,
            me=self.me,
            adds=tuple(
                Add(at=at, turns=tuple(turns), facts=tuple(_facts(facts, turns)))
                for at, turns, facts in self.adds
            ),
            closed=frozenset(self.closed),
            may=frozenset(self.may),
            never=tuple(self.never),
            held=self.held,
        )
        _check(made)
        return made

    def _add(self) -> tuple[datetime, list[Said], list[dict[str, str]]]:
        if not self.adds:
            raise ValueError("an add begins with its date")
        return self.adds[-1]

    def _fields(self, line: str) -> None:
        facts = self._add()[2]
        if not facts:
            raise ValueError("fields without a fact")
        for part in line.split(" | "):
            name, value = _halves(part)
            if name not in _FIELDS or name in facts[-1]:
                raise ValueError(f"no field, or given twice: {name}")
            facts[-1][name] = value


def _halves(text: str) -> tuple[str, str]:
    name, found, value = text.strip().partition(": ")
    if not found or not value.strip():
        raise ValueError("a colon and a text are missing")
    return name.strip(), value.strip()


def _said(text: str) -> Said:
    who, words = _halves(text)
    return Said(who, None, words) if who in ROLES else Said("user", who, words)


def _pairs(text: str) -> Iterator[Pair]:
    for one in text.split(","):
        halves = re.fullmatch(r"\s*([\w-]+) by ([\w-]+)\s*", one)
        if halves is None:
            raise ValueError(f"not 'key by key': {one.strip()}")
        yield halves[1], halves[2]


def _facts(drafts: list[dict[str, str]], turns: list[Said]) -> Iterator[Fact]:
    for draft in drafts:
        quote, when = draft.get("quote", ""), draft.get("when", "")
        holding = tuple(n for n, turn in enumerate(turns) if quote in turn.text)
        if not holding:
            raise ValueError(f"{draft['key']}: no turn has its quote")
        yield Fact(
            key=draft["key"],
            text=draft["text"],
            turns=holding,
            quote=quote,
            names=_listed(draft.get("names", "")),
            when=when,
            said=draft.get("said", ""),
            category=draft.get("category", "episodic" if when else "semantic"),
            importance=int(draft.get("importance", "5")),
            group=int(draft.get("group", "0")),
            because=draft.get("because", ""),
            replaces=draft.get("replaces"),
            ends=draft.get("ends"),
            repeats=draft.get("repeats"),
            tempts=_listed(draft.get("tempts", "")),
        )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _check(one: Dialogue) -> None:
    """Keys are there, each once, and are named only after they were given."""
    known: list[str] = []
    for add in one.adds:
        for fact in add.facts:
            named = [*fact.tempts, *filter(None, (fact.target, fact.repeats))]
            if missing := set(named) - set(known):
                raise ValueError(f"{one.id}: no earlier fact {', '.join(missing)}")
        known += [fact.key for fact in add.facts]
    pairs = {key for pair in one.closed | one.may for key in pair if key}
    if len(set(known)) < len(known) or not pairs <= set(known):
        raise ValueError(f"{one.id}: keys that are unknown or used twice")
    if len({old for old, _ in one.closed}) < len(one.closed):
        raise ValueError(f"{one.id}: a fact closed twice")
