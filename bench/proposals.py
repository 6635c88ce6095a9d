"""Chat models that know the dialogues by heart: one that proposes what is right, and ones
that propose what is wrong. Each is a script for `hmem.testing.llms.ScriptedLLM`.

They answer hmem's own prompts: a fact is given when a turn that holds it is among the NEW
TURNS, and what it replaces by the number under which the prompt shows it. What the prompt
does not show cannot be named, as with any model.
"""

import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.dialogues import Add, Dialogue, Fact, Said
from hmem.prompts import one_line
from hmem.testing.standin import new_turns

ATTACKS = ("random", "subject", "newer", "closed", "flood", "tempting", "worst")
"""What an adversary proposes to replace:

random    any number shown, or one that is not
subject   facts of other people, who talk in between as the same user
newer     facts observed later: the talk arrives backwards
closed    facts that are closed while it thinks, and one and the same fact for all
flood     every number at once, each fact in as many wordings as there are numbers
tempting  what a careless model would take to be replaced (the talks' `tempts`)
worst     whatever is shown and must not be closed, by whichever fact
"""

Messages = Sequence[Mapping[str, str]]
_HEADINGS = ("PROFILE", "EARLIER TURNS", "NEW TURNS", "CANDIDATES", "CALENDAR")
_LINE = re.compile(r"\[(?P<n>\d+)\] (?P<text>.*?)(?: \((?:since|said) [0-9-]+\))?")
_WORDINGS = ("{}, as told", "{}, it was said", "{}, by the way", "{}, so the talk")
"""Which say the same: a flood needs more facts than there are."""


def numbered(prompt: str, heading: str) -> dict[int, str]:
    """The texts of a numbered section, by number."""
    lines = prompt.splitlines()
    if heading not in lines:
        return {}
    found: dict[int, str] = {}
    for line in lines[lines.index(heading) + 1 :]:
        held = _LINE.fullmatch(line)
        if held is None or line.startswith(_HEADINGS):
            break
        found[int(held["n"])] = held["text"]
    return found


def plain(text: str) -> str:
    """A text as the prompt shows it of a memory: on one line, cut."""
    return one_line(text, limit=400)


@dataclass(slots=True)
class Tally:
    """What was proposed: replacements, how many of them wrong; targets not shown."""

    proposed: int = 0
    wrong: int = 0
    not_shown: list[tuple[str, str]] = field(default_factory=list)
    unknown_turns: int = 0


class Perfect:
    """Proposes the facts of the dialogues, and what they replace.

    `tally` counts. Reconcile prompts (CANDIDATES) are answered from the same knowledge.
    """

    def __init__(self, dialogues: Iterable[Dialogue]) -> None:
        self.tally = Tally()
        self._of: dict[tuple[str | None, str], tuple[Dialogue, Add]] = {}
        self._by_text: dict[tuple[str, str], tuple[Dialogue, Fact]] = {}
        for one in dialogues:
            for add in one.adds:
                for turn in add.turns:
                    self._of[_key(turn)] = (one, add)
                for fact in add.facts:
                    said = (plain(fact.text), add.at.date().isoformat())
                    self._by_text[said] = (one, fact)

    def __call__(self, messages: Messages) -> dict[str, Any] | Awaitable[Any]:
        """The reply to a prompt."""
        prompt = messages[-1]["content"]
        if "CANDIDATES" in prompt.splitlines():
            return self.decisions(prompt)
        return self.facts(prompt)

    # ------------------------------------------------------------------ extraction

    def found(self, prompt: str) -> list[tuple[Dialogue, Fact, tuple[int, ...]]]:
        """The facts of a prompt's new turns, each with the numbers of its turns."""
        numbers: dict[tuple[str | None, str], int] = {}
        adds: dict[int, tuple[Dialogue, Add]] = {}
        for turn in new_turns(prompt):
            name = turn.name if turn.role == "user" else turn.role
            key = (name, one_line(turn.text))
            known = self._of.get(key)
            if known is None:
                self.tally.unknown_turns += 1
                continue
            numbers[key] = turn.number
            adds[id(known[1])] = known
        found = []
        for dialogue, add in adds.values():
            for fact in add.facts:
                keys = [_key(add.turns[n]) for n in fact.turns]
                turns = tuple(numbers[key] for key in keys if key in numbers)
                if turns:
                    found.append((dialogue, fact, turns))
        return found

    def facts(self, prompt: str) -> dict[str, Any]:
        """An extraction reply."""
        shown = numbered(prompt, "MEMORIES")
        replies = []
        for dialogue, fact, turns in self.found(prompt):
            number = self._number(dialogue, fact, shown)
            replies.append(fact.reply(turns, [] if number is None else [number]))
        return {"facts": replies}

    def _number(
        self, dialogue: Dialogue, fact: Fact, shown: Mapping[int, str]
    ) -> int | None:
        """The number of what it replaces, None for nothing or what is not shown."""
        if fact.target is None:
            return None
        wanted = plain(dialogue.facts()[fact.target].text)
        number = next((n for n, text in shown.items() if text == wanted), None)
        if number is None:
            self.tally.not_shown.append((dialogue.id, fact.key))
        else:
            self.tally.proposed += 1
        return number

    # ------------------------------------------------------------------- reconcile

    def decisions(self, prompt: str) -> dict[str, Any]:
        """A reconcile reply."""
        shown = numbered(prompt, "MEMORIES")
        return {
            "decisions": [
                _decided(n, *self._decision(known, shown))
                for n, known in self._candidates(prompt).items()
            ]
        }

    def _candidates(self, prompt: str) -> dict[int, tuple[Dialogue, Fact] | None]:
        """The facts that a reconcile prompt asks about, by their numbers."""
        lines = prompt.splitlines()
        found: dict[int, tuple[Dialogue, Fact] | None] = {}
        for n, text in numbered(prompt, "CANDIDATES").items():
            line = next(x for x in lines if x.startswith(f"[{n}] {text}"))
            day = re.search(r"\(said ([0-9-]+)\)$", line)
            found[n] = self._by_text.get((text, day[1] if day else ""))
        return found

    def _decision(
        self, known: tuple[Dialogue, Fact] | None, shown: Mapping[int, str]
    ) -> tuple[str, int | None]:
        if known is None:
            return "ADD", None
        dialogue, fact = known
        number = self._number(dialogue, fact, shown)
        if number is not None:
            return "UPDATE", number
        if fact.repeats is not None:
            same = plain(dialogue.facts()[fact.repeats].text)
            number = next((n for n, text in shown.items() if text == same), None)
        return ("ADD", None) if number is None else ("NOOP", number)


def _decided(candidate: int, action: str, memory: object) -> dict[str, Any]:
    """One decision as a reconcile reply has it."""
    named = [] if memory is None else [memory]
    return {"candidate": candidate, "reason": "", "action": action, "memory": named}


Closing = Callable[[str, random.Random], Awaitable[None]]
"""Closes the open fact with this text while the model thinks."""


class Adversary(Perfect):
    """Finds the same facts, and proposes that they replace what they do not.

    Deterministic by `seed` and prompt, in whichever order the calls come. `close` is what
    the attack "closed" does while it thinks.
    """

    def __init__(
        self,
        dialogues: Iterable[Dialogue],
        *,
        attack: str,
        seed: int = 0,
        close: Closing | None = None,
    ) -> None:
        if attack not in ATTACKS:
            raise ValueError(f"an attack is one of {', '.join(ATTACKS)}")
        dialogues = list(dialogues)
        super().__init__(dialogues)
        self.attack = attack
        self._seed = seed
        self._close = close
        self._keys = {
            (one.id, plain(text)): key
            for one in dialogues
            for key, fact in one.facts().items()
            for text in wordings(fact.text)
        }

    def __call__(self, messages: Messages) -> dict[str, Any] | Awaitable[Any]:
        prompt = messages[-1]["content"]
        if "CANDIDATES" in prompt.splitlines():
            return self._against(prompt)
        if self.attack == "closed" and self._close is not None:
            return self._think(prompt, self._close)
        return self.facts(prompt)

    def facts(self, prompt: str) -> dict[str, Any]:
        """An extraction reply with the same facts, and the attack's targets."""
        dice = self._dice(prompt)
        shown = numbered(prompt, "MEMORIES")
        replies: list[dict[str, Any]] = []
        for dialogue, fact, turns in self.found(prompt):
            targets = self._targets(dialogue, fact, shown, dice)
            self._count(dialogue, fact, shown, targets)
            if self.attack != "flood" or not targets:
                replies.append(fact.reply(turns, targets))
                continue
            replies.append(fact.reply(turns, [*targets, 999]))
            for target, text in zip(targets[1:], wordings(fact.text)[1:], strict=False):
                replies.append({**fact.reply(turns, [target]), "fact": text})
        return {"facts": replies}

    async def _think(self, prompt: str, close: Closing) -> dict[str, Any]:
        """Reply after something that was shown has been closed."""
        reply = self.facts(prompt)
        shown = numbered(prompt, "MEMORIES")
        named = {n for fact in reply["facts"] for n in fact["replaces"] if n in shown}
        for number in sorted(named):
            await close(shown[number], self._dice(prompt))
        return reply

    def _targets(
        self,
        dialogue: Dialogue,
        fact: Fact,
        shown: Mapping[int, str],
        dice: random.Random,
    ) -> list[Any]:
        """What it is said to replace."""
        if not shown:
            return []
        numbers = sorted(shown)
        match self.attack:
            case "random":
                return [dice.choice([*numbers, *numbers, len(shown), len(shown) + 5])]
            case "newer":
                return [dice.choice(numbers)]
            case "flood":
                return dice.sample(numbers, len(numbers))
            case "closed":
                # One and the same for all: the second would close the first.
                return [
                    numbers[
                        self._dice(str(sorted(shown.items()))).randrange(len(numbers))
                    ]
                ]
            case "subject":
                own = {plain(one.text) for one in dialogue.facts().values()}
                some = [n for n in numbers if shown[n] not in own]
            case "tempting":
                known = dialogue.facts()
                texts = {plain(known[key].text) for key in fact.tempts}
                some = [n for n in numbers if shown[n] in texts]
            case _:
                some = [n for n in numbers if not self._right(dialogue, fact, shown[n])]
        return [dice.choice(some)] if some else []

    def _right(self, dialogue: Dialogue, fact: Fact, text: str) -> bool:
        """Whether a memory may be closed by the fact, or, where it is newer, close it."""
        key = self._keys.get((dialogue.id, text))
        pair = (key, fact.key) if self.attack != "newer" else (fact.key, key)
        return key is not None and pair in dialogue.allowed()

    def _count(
        self,
        dialogue: Dialogue,
        fact: Fact,
        shown: Mapping[int, str],
        targets: Sequence[Any],
    ) -> None:
        real = [shown[n] for n in targets if n in shown]
        self.tally.proposed += len(real)
        self.tally.wrong += sum(not self._right(dialogue, fact, x) for x in real)

    def _against(self, prompt: str) -> dict[str, Any]:
        """A reconcile reply: UPDATE or DELETE of the attack's targets."""
        dice = self._dice(prompt)
        shown = numbered(prompt, "MEMORIES")
        decisions: list[dict[str, Any]] = []
        for n, known in self._candidates(prompt).items():
            targets: list[Any] = []
            if known is not None:
                targets = self._targets(*known, shown, dice)
                self._count(*known, shown, targets)
            for target in targets or [None]:
                action = dice.choice(("UPDATE", "DELETE"))
                decisions.append(
                    _decided(n, "ADD" if target is None else action, target)
                )
        return {"decisions": decisions}

    def _dice(self, text: str) -> random.Random:
        return random.Random(f"{self._seed} {self.attack} {text}")


def wordings(text: str) -> list[str]:
    """A fact's text, and others that say the same."""
    return [text, *(one.format(text) for one in _WORDINGS)]


def turns_twice(dialogues: Iterable[Dialogue]) -> list[str]:
    """Turns of different adds that cannot be told apart: there must be none."""
    seen: Counter[tuple[str | None, str]] = Counter()
    for one in dialogues:
        for add in one.adds:
            seen.update({_key(turn) for turn in add.turns})
    return [text for (_, text), times in seen.items() if times > 1]


def _key(turn: Said) -> tuple[str | None, str]:
    """What a prompt shows of a turn: who, and the words. A user without a name is None."""
    name = turn.name if turn.role == "user" else turn.role
    return name, one_line(turn.text)
