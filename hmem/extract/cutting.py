"""Turns -> stretches that fit one call. Pure; of a turn only white space is left out."""

from collections.abc import Iterator, Sequence
from zoneinfo import ZoneInfo

from hmem.budget import upper_bound
from hmem.extract.talk import turn_text
from hmem.protocols import TurnRow
from hmem.text import passages

Turns = tuple[TurnRow, ...]

SMALLEST = 600
"""Characters of a turn that are not worth splitting: a model whose reply on so little does
not end will not end on half of it. This bounds what splitting can cost."""
LEAST_LIMIT = 100
"""Tokens; the line above a turn takes some 20 of them."""
_SHARE = 0.9  # of the room, for a part as dense as its turn is on the whole
_WIDEST = 999  # no number of three digits takes more tokens
_ZONE = ZoneInfo("UTC")  # a time takes as many tokens in any other


def cut(turns: Sequence[TurnRow], *, limit: int) -> list[Turns]:
    """The turns, in order, in stretches of at most `limit` tokens as a model is shown them
    (by `budget.upper_bound`; a limit below `LEAST_LIMIT` counts as that).

    A user's turn and what answers it stay together where they fit. A turn that is longer
    comes in parts that fit, each alone; a part keeps the turn's id.
    """
    limit = max(limit, LEAST_LIMIT)
    found: list[Turns] = []
    together: list[TurnRow] = []
    used = 0
    for unit, size in _units(turns, limit):
        if together and used + size > limit:
            found.append(tuple(together))
            together, used = [], 0
        if size > limit:
            found.extend((part,) for part in _parts(unit[0], size, limit))
        else:
            together += unit
            used += size
    return [*found, tuple(together)] if together else found


def halves(turns: Sequence[TurnRow]) -> tuple[Turns, Turns] | None:
    """A stretch in two, for a reply that was cut off or an input that is too long: between
    two turns, before a user's if that is not far from the middle; a single turn in two
    parts. None for a single turn of up to `SMALLEST` characters."""
    if len(turns) > 1:
        at = _middle(turns)
        return tuple(turns[:at]), tuple(turns[at:])
    text = turns[0].text.strip() if turns else ""
    if len(text) <= SMALLEST:
        return None
    end = passages(text, limit=len(text) * 11 // 20)[0]
    first, second = text[:end].strip(), text[end:].strip()
    return (_part(turns[0], first),), (_part(turns[0], second),)


def _units(turns: Sequence[TurnRow], limit: int) -> Iterator[tuple[Turns, int]]:
    """What is to stay together, and its tokens: rounds that fit, else single turns."""
    for one in _rounds(turns):
        sizes = [_size(turn) for turn in one]
        if sum(sizes) <= limit:
            yield one, sum(sizes)
        else:
            yield from (((turn,), size) for turn, size in zip(one, sizes, strict=True))


def _rounds(turns: Sequence[TurnRow]) -> Iterator[Turns]:
    """Each user's turn with what answers it."""
    begun = 0
    for at in range(1, len(turns) + 1):
        if at == len(turns) or turns[at].role == "user":
            yield tuple(turns[begun:at])
            begun = at


def _size(turn: TurnRow) -> int:
    # Each turn begins with "[": such bounds add up.
    return upper_bound(turn_text(turn, _ZONE, number=_WIDEST) + "\n")


def _parts(turn: TurnRow, size: int, limit: int) -> Iterator[TurnRow]:
    """A turn of `size` tokens in parts of at most `limit`."""

    def fits(text: str) -> bool:
        return _size(_part(turn, text)) <= limit

    start, most = 0, int(len(turn.text) * _SHARE * limit / size)
    for end in passages(turn.text, limit=most, fits=fits):
        text = turn.text[start:end].strip()
        start = end
        if text:
            yield _part(turn, text)


def _part(turn: TurnRow, text: str) -> TurnRow:
    return turn._replace(text=text, ends=(len(text),))


def _middle(turns: Sequence[TurnRow]) -> int:
    """Where to part them: the border nearest to the middle of their characters; one before
    a user's turn may be a quarter off."""
    total = sum(len(turn.text) + 1 for turn in turns)
    best, least = 1, float("inf")
    before = 0
    for at in range(1, len(turns)):
        before += len(turns[at - 1].text) + 1
        off = abs(before / total - 0.5) + (0.0 if turns[at].role == "user" else 0.25)
        if off < least:
            best, least = at, off
    return best
