"""Hits -> a dated block under a hard token cap. Identical input gives identical bytes.

    [14 March 2026]
    1 Lives in Paris (before: Lives in London, 2025-01-02 to 2026-03-14)
    2 Maya: we signed the lease yesterday!

Days newest first; in a day facts before turns, turns as they were said. A line begins with
its citation number (one token), its date stands once a day and a text is always one line,
so that no memory can pass for a heading or for somebody else's words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hmem.budget import upper_bound
from hmem.records import Block, Kind
from hmem.text import MONTHS

_MISSES = 8
"""Lines that do not fit before packing stops: what follows is less relevant anyway, and a
long tail of tiny lines would fill the block with scraps."""
_PENDING_SHARE = 4
"""At most one part in this many goes to pending turns ahead of better ranked lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing to show. `at` is in the reader's zone. `before` is what a fact replaced:
    (text, valid_from, valid_to), newest first; `event` when it happened."""

    id: str
    kind: Kind
    text: str
    at: datetime
    speaker: str = ""
    pending: bool = False
    stable: bool = False
    event: str = ""
    before: tuple[tuple[str, datetime, datetime | None], ...] = ()

    @property
    def day(self) -> str:
        """The heading it stands under."""
        return f"[{self.at.day} {MONTHS[self.at.month - 1]} {self.at.year}]"

    def words(self) -> str:
        """The line without its number."""
        text = one_line(self.text)
        if self.kind == "turn":
            mark = " (pending)" if self.pending else ""
            return f"{one_line(self.speaker)}{mark}: {text}"
        notes = [self.event] if self.event else []
        if self.before:
            notes.append("before: " + "; ".join(_was(*b) for b in self.before))
        return f"{text} ({'; '.join(notes)})" if notes else text


def one_line(text: str) -> str:
    """Text with every run of white space and control characters as one blank."""
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return " ".join("".join(c if c.isprintable() else " " for c in line).split())


def event_words(
    start: datetime | None, end: datetime | None, precision: str | None
) -> str:
    """When something happened, as exactly as it is known: "2026-03-03 to 2026-03-07".

    `end` is exclusive, as memories keep it. "" without a start.
    """
    if start is None:
        return ""
    form = _FORMS.get(precision or "", "%Y-%m-%d %H:%M")
    first = start.strftime(form)
    last = first if end is None else (end - _INSTANT).strftime(form)
    return first if first == last else f"{first} to {last}"


_FORMS = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
_INSTANT = timedelta(microseconds=1)


def _was(text: str, since: datetime, until: datetime | None) -> str:
    end = f" to {until:%Y-%m-%d}" if until else ""
    return f"{one_line(text)}, {since:%Y-%m-%d}{end}"


def pack(lines: Sequence[Line], *, max_tokens: int) -> Block:
    """The best lines that fit. `lines` are best first.

    Never more than `max_tokens` by `budget.upper_bound`, which is never below cl100k and
    o200k. Pending turns come first, up to a quarter of the room: what was said a moment
    ago is shown even when nothing could be embedded yet.
    """
    room = _Room(max_tokens)
    room.fill([x for x in lines if x.pending], limit=max_tokens // _PENDING_SHARE)
    room.fill(lines, limit=max_tokens)
    return _layout(room.chosen, room.used)


def pack_under(head: str, lines: Sequence[Line], *, max_tokens: int) -> Block:
    """Like `pack`, with a line of its own above all others: the user's profile. It is left
    out where it would take more than half of the room."""
    line = f"Profile: {one_line(head)}\n"
    cost = upper_bound(line)
    if not head or cost > max_tokens // 2:
        return pack(lines, max_tokens=max_tokens)
    block = pack(lines, max_tokens=max_tokens - cost)
    return replace(
        block,
        text=line + block.text,
        stable=line + block.stable,
        tokens=block.tokens + cost,
    )


class _Room:
    """What was chosen, and the tokens it takes."""

    def __init__(self, max_tokens: int) -> None:
        self._max = max_tokens
        self.chosen: list[Line] = []
        self._ids: set[str] = set()
        self._days: set[str] = set()
        self.used = 0

    def fill(self, lines: Sequence[Line], *, limit: int) -> None:
        """Add lines in order while all that was chosen stays within `limit` tokens."""
        misses = 0
        for line in lines:
            if line.id in self._ids:
                continue
            day = "" if line.stable else line.day
            widest = 999 if len(self.chosen) < 999 else 999_999
            cost = _cost(_numbered(widest, line))
            if day and day not in self._days:
                cost += _cost(day)
            if self.used + cost > min(limit, self._max):
                misses += 1
                if misses == _MISSES:
                    return
                continue
            self.chosen.append(line)
            self._ids.add(line.id)
            self._days.add(day)
            self.used += cost


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
