"""The longest chain of tokens that merging may leave of a piece. See `hmem.budget`.

A chain is a way to cut the piece into tokens such that no two neighbours together are a
token that the table knows: merging would have joined them. Pieces are given as latin-1
text of their UTF-8 bytes; `flag` says whose tokens count.
"""

from collections.abc import Callable
from functools import partial

from hmem.budget.table import O200K, skipped, token_table

_TRIED = 40  # bytes up to which all chains are tried; beyond, a coarser bound is taken
_BOUNDED = 4096  # bytes beyond which a piece counts as its bytes
_LONGEST = 128  # bytes of the longest token there is
_LONGEST_OF_CHARS = 48  # ... that is not ASCII and stands in the table

Steps = Callable[[int], list[int]]


def longest_chain(piece: str, flag: int) -> int:
    """At least as many tokens as merging leaves of `piece`; at most its bytes."""
    if len(piece) > _BOUNDED:
        return len(piece)
    if len(piece) <= _TRIED:
        return _longest(piece, flag, steps=_all_steps(piece, flag), free=_never)
    if piece.isascii():
        return _longest_by_pairs(piece, flag)
    if flag == O200K:
        return _longest(
            piece, flag, steps=_char_steps(piece, flag), free=partial(_begins, piece)
        )
    if skipped(piece):
        return len(piece)
    return _longest(piece, flag, steps=_all_steps(piece, flag), free=_never)


def _longest(
    piece: str, flag: int, *, steps: Steps, free: Callable[[int], bool]
) -> int:
    """The longest chain of `steps`; at a `free` place neighbours need not be unmerged."""
    size = len(piece)
    # chains[end][begin of the last token] = tokens of the longest such chain
    chains: list[dict[int, int]] = [{} for _ in range(size + 1)]
    for end in steps(0):
        chains[end][0] = 1
    for middle in range(1, size):
        # longest first, so that the first that does not merge is the best
        here = sorted(((n, begin) for begin, n in chains[middle].items()), reverse=True)
        chains[middle] = {}
        if not here:
            continue
        if free(middle):
            here = [(here[0][0], -1)]
        for end in steps(middle):
            best = _longest_unmerged(piece, end, flag=flag, chains=here)
            if best:
                chains[end][middle] = best + 1
    return max(chains[size].values(), default=size)


def _longest_unmerged(
    piece: str, end: int, *, flag: int, chains: list[tuple[int, int]]
) -> int:
    """The longest of `chains` whose last token does not merge with one up to `end`."""
    flags = token_table().flags
    for count, begin in chains:
        if begin < 0 or not flags.get(piece[begin:end], 0) & flag:
            return count
    return 0


def _all_steps(piece: str, flag: int) -> Steps:
    """From a place to each end of what may be a token."""
    size = len(piece)
    if flag == O200K:  # the table lacks some tokens of whole characters: all may be one
        starts = [place for place in range(size + 1) if _begins(piece, place)]

        def whole(begin: int) -> list[int]:
            if not _begins(piece, begin):
                return []
            return [place for place in starts if place > begin]

        return _with_known(piece, flag, whole)
    if skipped(piece):  # ... and these of cl100k
        return _with_known(
            piece,
            flag,
            lambda begin: [
                e for e in range(begin + 1, size + 1) if skipped(piece[begin:e])
            ],
        )
    return _with_known(piece, flag, lambda _: [])


def _char_steps(piece: str, flag: int) -> Steps:
    """As `_all_steps`, but tokens of several whole characters are taken as these, one
    by one: with all places between characters free, that is never a shorter chain."""

    def char(begin: int) -> list[int]:
        end = begin + 1
        while not _begins(piece, end):
            end += 1
        return [end] if _begins(piece, begin) else []

    return _with_known(piece, flag, char)


def _with_known(piece: str, flag: int, others: Steps) -> Steps:
    """From a place to `others` and to the ends of single bytes and of known tokens."""
    flags = token_table().flags
    longest = _LONGEST if piece.isascii() else _LONGEST_OF_CHARS

    def steps(begin: int) -> list[int]:
        last = min(len(piece), begin + longest)
        ends = {begin + 1, *others(begin)}
        ends.update(
            end
            for end in range(begin + 2, last + 1)
            if flags.get(piece[begin:end], 0) & flag
        )
        return list(ends)

    return steps


def _longest_by_pairs(piece: str, flag: int) -> int:
    """For long ASCII: any two neighbours reach past what the table knows as a token."""
    flags = token_table().flags
    size = len(piece)
    most = [0] * (size + 1)  # the longest chain that begins at a place or later
    for begin in range(size - 1, -1, -1):
        end = begin + 2
        while end <= size and flags.get(piece[begin:end], 0) & flag:
            end += 1
        here = 2 + most[end] if end <= size else 1
        most[begin] = max(here, most[begin + 1])
    return min(size, most[0])


def _begins(piece: str, place: int) -> bool:
    """Whether a character begins, or the piece ends, at a place."""
    return place == len(piece) or not "\x80" <= piece[place] <= "\xbf"


def _never(_: int) -> bool:
    return False
