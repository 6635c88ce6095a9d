"""Numbers of payment cards, however they are grouped. Pure; linear in the text."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hmem.privacy.checks import is_card
from hmem.privacy.spans import Span
from hmem.privacy.view import View

_RUN = re.compile(r"[0-9][0-9 \t\-./\n]{12,}")
_FEWEST = 14
_GROUP = re.compile(r"[0-9]+")
_GROUPINGS = frozenset(
    ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 2))
)
_MOST = _MOST_GROUPS = 19
_TABLE = 9
"""Groups in a row from which they are a table's numbers, unless most are cards."""
# "order 4026..." is the shop's number, not the bank's.
_OTHER = re.compile(
    r"(?:order|invoice|ticket|tracking|parcel|shipment|reference|ref|case|serial|imei|isbn"
    r"|ean|sku|build|job|run|tweet|id)"
    r"(?: (?:no\.?|number|nr\.?|id|code|is))?[ :#.=]{0,3}$"
)


def card_numbers(view: View) -> Iterator[Span]:
    """Numbers with a brand's beginning and length and the right check digit."""
    if view.digits < _FEWEST:
        return
    for run in _RUN.finditer(view.plain):
        for groups in _series(view.plain, run):
            found = list(_cards(view, groups))
            covered = sum(count for _, count in found)
            if len(groups) < _TABLE or 2 * covered >= len(groups):
                yield from (span for span, _ in found)


Group = tuple[int, int]


def _series(plain: str, run: re.Match[str]) -> Iterator[list[Group]]:
    """The digit groups of a run, in series of those that stand close together."""
    series: list[Group] = []
    for group in _GROUP.finditer(plain, *run.span()):
        if series and not _CLOSE.fullmatch(plain, series[-1][1], group.start()):
            yield series
            series = []
        series.append(group.span())
    yield series


_CLOSE = re.compile(r"[ \t\-./]{0,2}\n?")


def _cards(view: View, groups: Sequence[Group]) -> Iterator[tuple[Span, int]]:
    """Cards among the groups of a series, and how many groups each takes."""
    at = 0
    while at < len(groups):
        count = _count(view, groups, at)
        if count:
            start, end = groups[at][0], groups[at + count - 1][1]
            yield Span(start, end, "card"), count
        at += count or 1


def _count(view: View, groups: Sequence[Group], at: int) -> int:
    """How many groups from `at` on make a card; 0 for none."""
    size = groups[at][1] - groups[at][0]
    if size != 4 and size < _FEWEST and at:  # odd groups must be all that there is
        return 0
    digits = ""
    for count, (start, end) in enumerate(groups[at : at + _MOST_GROUPS], 1):
        digits += view.plain[start:end]
        if len(digits) > _MOST:
            return 0
        if len(digits) < _FEWEST:
            continue
        whole = at == 0 and count == len(groups)
        mine = groups[at : at + count]
        if is_card(digits) and _is_grouped(view, mine, whole=whole):
            return count
    return 0


def _is_grouped(view: View, groups: Sequence[Group], *, whole: bool) -> bool:
    """Whether people write a card so. Odd groups must be all that there is."""
    if len(groups) == 1:
        return _stands_alone(view, *groups[0])
    gaps = {view.plain[a[1] : b[0]] for a, b in pairwise(groups)}
    if any(set(gap) & set("./\n") for gap in gaps):
        return whole and len(gaps) == 1 and "/" not in "".join(gaps)
    sizes = tuple(end - start for start, end in groups)
    if sizes in _GROUPINGS:
        return True
    return whole and (len(groups) == 2 or len(set(sizes[:-1])) == 1)


def _stands_alone(view: View, start: int, end: int) -> bool:
    """Whether unbroken digits are not part of an identifier, a decimal or another number."""
    before = view.plain[max(0, start - 2) : start]
    after = view.plain[end : end + 2]
    if (
        before[-1:].isalpha()
        or before[-1:] in ("_", "-", "/", "#")
        or after[:1].isalpha()
    ):
        return False
    if (before[-1:] == "." and before[:1].isdigit()) or after[:1] == "_":
        return False
    return _OTHER.search(view.low, max(0, start - 40), start) is None
