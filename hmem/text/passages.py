"""Where a long text is cut. Pure; imported through `hmem.text`."""

import re
import unicodedata
from collections.abc import Callable

# From the border that is best to cut at to the one that is worst.
_BORDERS = (
    re.compile(r"\n[ \t\r]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(
        r"[.!?\u2026][\"')\]\u2019\u201d]*\s+|[\u3002\uff01\uff1f\uff61][\u300d\u300f\u2019\u201d]*\s*"
    ),
    re.compile(r"\s+"),
)
_JOINER = "\u200d"
_LONGEST_CLUSTER = 32


def passages(
    text: str, *, limit: int, fits: Callable[[str], bool] | None = None
) -> tuple[int, ...]:
    """Ends of the passages that cover `text` exactly; () for "".

    Each passage is at most `limit` characters (at least 1) and `fits`, but for single
    characters, which always count as fitting. Cut at a paragraph, line, sentence or word,
    in this order of preference, and not inside a cluster of joined characters where that
    can be helped. Linear in the text.
    """
    limit = max(1, limit)
    ends: list[int] = []
    start, cap = 0, limit
    while start < len(text):
        end = _cut(text, start=start, size=cap)
        fitted = True
        while fits is not None and end - start > 1 and not fits(text[start:end]):
            fitted = False
            end = _cut(text, start=start, size=max(1, (end - start) * 3 // 4))
        # What fitted here says what will fit next: no need to fall from `limit` again.
        cap = min(limit, 2 * (cap if fitted else end - start))
        ends.append(end)
        start = end
    return tuple(ends)


def _cut(text: str, *, start: int, size: int) -> int:
    """Where the passage that begins at `start` ends, at most `size` on."""
    stop = start + size
    if stop >= len(text):
        return len(text)
    # A border in the first quarter would leave a scrap; a worse border is better then.
    for border in _BORDERS:
        matches = border.finditer(text, start + size // 4, stop)
        end = max((m.end() for m in matches if not _joined(text, m.end())), default=0)
        if end > start:
            return end
    return _between_clusters(text, start=start, stop=stop)


def _between_clusters(text: str, *, start: int, stop: int) -> int:
    """`stop`, moved back out of a cluster of joined characters where one ends there."""
    for end in range(stop, max(start, stop - _LONGEST_CLUSTER), -1):
        if not _joined(text, end):
            return end
    return stop


def _joined(text: str, at: int) -> bool:
    """Whether the characters on both sides of `at` are seen as one."""
    before, after = text[at - 1], text[at]
    if before == _JOINER or after == _JOINER or (before == "\r" and after == "\n"):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True  # a skin tone, or the letters of a region's flag
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, at) % 2 == 1
    return unicodedata.category(after) in ("Mn", "Mc", "Me")


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    """How many flag letters end at `at`, looking back a bounded way."""
    count = 0
    while (
        count < _LONGEST_CLUSTER
        and count < at
        and _is_flag_letter(text[at - count - 1])
    ):
        count += 1
    return count
