"""Lines of a context block (see `hmem.render`) that come back in a message. Pure; linear.

What an agent pastes into a talk is no evidence of anything: facts read of it would confirm
themselves. A block is known by its build, not by its words:

    [14 March 2026]                                    a day, in brackets, as we write it
    1 Lives in Paris (before: Lives in London, ...)    numbers that go up by one, with
    2 Maya: we signed the lease yesterday!             neither dot nor bracket
    [2 February 2026]                                  older days below newer ones, the
    3 Maya: long ago                                   numbers going on

also indented, behind ">" or a list's dash, with blank lines between, with "\\n" for its line
breaks as in JSON, behind other words in its first line, cut off at either end, or without
its days where `known` says that a line's text is a stored one. People's dated notes and
lists are not built so; a lone day over plain numbered lines counts only if they read like
facts.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from hmem.text import MONTHS

MARK = "\u2043"
"""A sign that may stand behind a day ("[14 March 2026] \u2043"). Where it does, no other
proof is asked for: nobody writes it by hand."""

Known = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripped:
    """A text without the lines of a block that were in it, and how many those were."""

    text: str
    lines: int = 0


class _Line(NamedTuple):
    """What a line may be in a block: a day, or a number and its words. The block's part
    of it begins at `cut`."""

    at: int
    day: date | None = None
    number: int = 0
    words: str = ""
    marked: bool = False
    cut: int = 0


_DAY = re.compile(
    rf"\[([1-9]|[12]\d|3[01]) ({'|'.join(MONTHS)}) (\d{{4}})\](?: ?({MARK}))?\s*\Z",
    re.ASCII,
)
_BREAK = re.compile(r"\\n|\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_NUMBERED = re.compile(r"([1-9]\d{0,5}) (\S.*)", re.ASCII)
_MARGIN = re.compile(r"[\s>|*\u2022\-]*")
_SPEAKER = re.compile(r"[^:\n]{1,80}?(?: \(pending\))?: \S")
_BEFORE = re.compile(
    r"\((?:[^()]*; )?before: .+, \d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?"
)
_NOTE = re.compile(r"\s\([^()]*(?:\([^()]*\)[^()]*)*\)$")
_FEWEST = 2


def strip_echo(text: str, *, known: Known | None = None) -> Stripped:
    """The text without lines that came from a block.

    `known` says whether a text is that of one of the user's own memories or turns (as it
    is stored, or a beginning of it); with it single lines are recognised too.
    """
    if "[" not in text and known is None:
        return Stripped(text=text)
    lines = _split(text)
    found = _echoed([_read(at, line) for at, (line, _) in enumerate(lines)], known)
    if not found:
        return Stripped(text=text)
    kept = [
        line[: found[at]] + (end if found.get(at) != 0 else "")
        if at in found
        else line + end
        for at, (line, end) in enumerate(lines)
    ]
    return Stripped(text="".join(kept), lines=len(found))


def _split(text: str) -> list[tuple[str, str]]:
    """The lines of a text, each with what ends it."""
    found: list[tuple[str, str]] = []
    at = 0
    for end in _BREAK.finditer(text):
        found.append((text[at : end.start()], end[0]))
        at = end.end()
    found.append((text[at:], ""))
    return found


def texts_of(words: str) -> tuple[str, ...]:
    """What a numbered line may show: its words, without a note at their end, and without
    the speaker before them."""
    found = [words, _NOTE.sub("", words)]
    _, colon, said = words.partition(": ")
    if colon:
        found.append(said)
    return tuple(dict.fromkeys(found))


def _read(at: int, line: str) -> _Line:
    margin = _MARGIN.match(line)
    begins = margin.end() if margin else 0
    if numbered := _NUMBERED.fullmatch(line[begins:].strip()):
        return _Line(at, number=int(numbered[1]), words=numbered[2])
    if day := _DAY.search(line):
        try:
            when = date(int(day[3]), MONTHS.index(day[2]) + 1, int(day[1]))
        except ValueError:
            return _Line(at)
        cut = 0 if day.start() == begins else day.start()
        return _Line(at, when, marked=day[4] is not None, cut=cut)
    return _Line(at, words=line.strip())


# ------------------------------------------------------------------------- blocks


def _echoed(lines: Sequence[_Line], known: Known | None) -> dict[int, int]:
    """The lines that belong to a block, and where it begins in each."""
    found: dict[int, int] = {}
    for run in _runs(lines):
        if any(line.day for line in run) and _is_block(run):
            found.update((line.at, line.cut) for line in run)
        elif known is not None:
            found.update(_known_lines(run, known))
    return found


def _runs(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Lines in a row of which each may follow the one before in a block, blank lines
    between them or none."""
    runs: list[list[_Line]] = []
    near = False
    for line in lines:
        if line.day is None and not line.number:
            near = near and not line.words
            continue
        run = runs[-1] if near else []
        if near and _follows(run, line):
            run.append(line)
        elif line.number and run and run[-1].day:  # the day heads the new numbers
            runs.append([run.pop(), line])
        else:
            runs.append([line])
        near = True
    return runs


def _follows(run: Sequence[_Line], line: _Line) -> bool:
    """Whether a line may come next in a block of which `run` is what there is so far."""
    if line.day is not None:
        day = next((x.day for x in reversed(run) if x.day), None)
        return not line.cut and (day is None or line.day < day)
    number = next((x.number for x in reversed(run) if x.number), 0)
    return number in (0, line.number - 1)


def _is_block(run: Sequence[_Line]) -> bool:
    """Whether a run with a day in it is a block: it has lines, and beyond a day over a
    list something that people do not write."""
    shown = [line for line in run if line.number]
    days = [line for line in run if line.day]
    if not shown:
        return False
    if any(line.marked for line in days) or any(map(_is_typical, shown)):
        return True
    under_both = len(days) > 1 and any(line.number for line in run[1:])
    reads = all(_reads_like_a_fact(line.words) for line in shown)
    return reads and (under_both or len(shown) >= _FEWEST or run[0].number > 0)


def _is_typical(line: _Line) -> bool:
    """A line as only a block has it: what a fact replaced, or who said a turn."""
    return bool(_BEFORE.search(line.words) or _SPEAKER.match(line.words))


def _reads_like_a_fact(words: str) -> bool:
    """A sentence: it begins with a capital, or in a script that has none, and has more
    than a word."""
    return not words[0].islower() and not words[0].isdigit() and " " in words


def _known_lines(run: Sequence[_Line], known: Known) -> dict[int, int]:
    """Numbered lines of which the text is stored, and the days above them."""
    found = {
        line.at: 0
        for line in run
        if line.number and any(map(known, texts_of(line.words)))
    }
    for day, line in pairwise(run):
        if day.day and line.at in found:
            found[day.at] = day.cut
    return found
