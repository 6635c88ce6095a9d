"""Lines -> a block that never costs more than it may."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hmem.budget import upper_bound
from hmem.records import Block
from hmem.render.lines import Line, one_line
from hmem.text import lexical

_MISSES = 8
"""Lines that do not fit before packing stops: what follows is less relevant anyway, and a
long tail of tiny lines would fill the block with scraps."""
_PENDING_SHARE = 4
"""At most one part in this many goes to pending turns ahead of better ranked lines."""
_FEW_WORDS = 4
"""Words below which a line is never taken for a restatement."""
_MOST_CHARS = 16
"""Characters that a token may stand for in any text worth the counting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How lines are shown: as they are until `whole_tokens` are used, and from then on as
    `brief` makes them (shorter, and able to grow back). With `restatements` also lines
    that say nothing new."""

    whole_tokens: int = 0
    brief: Callable[[Line], Line] | None = None
    restatements: bool = False


PLAIN = Style()


def pack(lines: Sequence[Line], *, max_tokens: int, style: Style = PLAIN) -> Block:
    """The best lines that fit. `lines` are best first.

    Never more than `max_tokens` by `budget.upper_bound`, which is never below cl100k and
    o200k. Pending turns come first, up to a quarter of the room: what was said a moment
    ago is shown even when nothing could be embedded yet. A line all of whose words stand
    in one of the same day is left out where one of the two is a fact. Room that is left
    over goes to the longer forms of the lines shown, the best first.
    """
    room = _Room(max_tokens, style)
    room.fill([x for x in lines if x.pending], limit=max_tokens // _PENDING_SHARE)
    room.fill(lines, limit=max_tokens)
    room.grow()
    return _layout(room.chosen, room.used)


def pack_under(
    head: str, lines: Sequence[Line], *, max_tokens: int, style: Style = PLAIN
) -> Block:
    """Like `pack`, with a line of its own above all others: the user's profile. It is left
    out where it would take more than half of the room."""
    line = f"Profile: {one_line(head)}\n"
    cost = upper_bound(line)
    if not head or cost > max_tokens // 2:
        return pack(lines, max_tokens=max_tokens, style=style)
    block = pack(lines, max_tokens=max_tokens - cost, style=style)
    return replace(
        block,
        text=line + block.text,
        stable=line + block.stable,
        tokens=block.tokens + cost,
    )


class _Room:
    """What was chosen, and the tokens it takes."""

    def __init__(self, max_tokens: int, style: Style) -> None:
        self._max = max_tokens
        self._style = style
        self.chosen: list[Line] = []
        self._cut: list[int] = []
        self._ids: set[str] = set()
        self._days: dict[str, list[Line]] = {}
        self._words: dict[str, frozenset[int]] = {}
        self.used = 0

    def fill(self, lines: Sequence[Line], *, limit: int) -> None:
        """Add lines in order while all that was chosen stays within `limit` tokens."""
        misses = 0
        for line in lines:
            if line.id in self._ids or _is_empty(line) or not self._adds(line):
                continue
            line, cut = self._styled(line)
            day = "" if line.stable else line.day
            cost = self._cost(line)
            if day and day not in self._days:
                cost += _cost(day)
            if self.used + cost > min(limit, self._max):
                misses += 1
                if misses == _MISSES:
                    return
                continue
            if cut:
                self._cut.append(len(self.chosen))
            self.chosen.append(line)
            self._ids.add(line.id)
            self._days.setdefault(day, []).append(line)
            self.used += cost

    def _styled(self, line: Line) -> tuple[Line, bool]:
        """The form that a line is shown in now, and whether it was cut."""
        brief = self._style.brief
        if brief is None or self.used < self._style.whole_tokens:
            return line, False
        short = brief(line)
        return short, short is not line

    def grow(self) -> None:
        """Let lines become longer while there is room: first those that were cut, then
        all; each by one step, the best first, before any takes the next."""
        self._grow_all(self._cut)
        growing = [i for i, line in enumerate(self.chosen) if line.longer]
        while growing:
            growing = self._grow_all(growing)

    def _grow_all(self, lines: Sequence[int]) -> list[int]:
        """Let some lines take a step; those that can take another, none when the room is
        used up."""
        grown: list[int] = []
        misses = 0
        for i in lines:
            if self._grow(i):
                grown.append(i)
                continue
            misses += 1
            if misses == _MISSES:
                return []
        return [i for i in grown if self.chosen[i].longer]

    def _grow(self, i: int) -> bool:
        left = self._max - self.used
        line = self.chosen[i]
        if len(line.longer[0]) - len(line.text) > _MOST_CHARS * left:
            return False  # not worth counting
        longer = line.grown()
        more = self._cost(longer) - self._cost(line)
        if more > left:
            return False
        self.chosen[i] = longer
        self.used += more
        return True

    def _cost(self, line: Line) -> int:
        widest = 999 if len(self.chosen) < 999 else 999_999
        return _cost(_numbered(widest, line))

    def _adds(self, line: Line) -> bool:
        """Whether no line of the same day says all that this one says. The same words said
        twice are two turns, and a fact's dates and history are said nowhere else."""
        if self._style.restatements or line.event or line.before or line.pending:
            return True
        others = self._days.get("" if line.stable else line.day, [])
        if line.kind == "turn":
            others = [other for other in others if other.kind == "memory"]
        if not others:
            return True
        said = self._said(line)
        return len(said) < _FEW_WORDS or not any(said <= self._said(o) for o in others)

    def _said(self, line: Line) -> frozenset[int]:
        words = self._words.get(line.id)
        if words is None:
            text = f"{line.speaker} {line.text}"
            words = self._words[line.id] = frozenset(lexical(text).tolist())
        return words


def _is_empty(line: Line) -> bool:
    """Whether it is a part of a turn that has no letter and no digit: a ruler, a frame."""
    return bool(line.longer) and not any(map(str.isalnum, line.text))


def _layout(chosen: Sequence[Line], tokens: int) -> Block:
    ordered = sorted(chosen, key=_place)
    citations: dict[str, str] = {}
    parts: tuple[list[str], list[str]] = ([], [])
    day = ""
    for number, line in enumerate(ordered, 1):
        out = parts[0 if line.stable else 1]
        if not line.stable and line.day != day:
            day = line.day
            out.append(day)
        out.append(_numbered(number, line))
        citations[str(number)] = line.id
    stable, dynamic = ("".join(f"{x}\n" for x in part) for part in parts)
    text = stable + dynamic
    return Block(
        text=text,
        stable=stable,
        dynamic=dynamic,
        citations=citations,
        tokens=tokens,
    )


def _place(line: Line) -> tuple[bool, int, bool, datetime, str]:
    """Stable lines first, then days newest first, facts before turns, as they came."""
    newest_first = 0 if line.stable else -line.at.date().toordinal()
    return not line.stable, newest_first, line.kind == "turn", line.at, line.id


def _numbered(number: int, line: Line) -> str:
    return f"{number} {line.words()}"


def _cost(line: str) -> int:
    """Tokens of a line and its end, at most. The sum over lines bounds their joint text.

    Counting costs a hundred times what looking it up does, and an agent shows the same
    lines turn after turn. Only hashes are kept: an erased text must not live on here.
    """
    key = hash(line)
    cost = _costs.get(key)
    if cost is None:
        if len(_costs) >= _MOST_COSTS:
            _costs.clear()
        cost = _costs[key] = upper_bound(f"{line}\n")
    return cost


_costs: dict[int, int] = {}
_MOST_COSTS = 200_000
