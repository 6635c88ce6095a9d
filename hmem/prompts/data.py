"""The data of a call, so that no text in it can pass for structure. Pure.

Headings and numbers begin a line. What people wrote is on one line behind a number or a
dash, or on lines of its own that are indented.
"""

import re
from collections.abc import Iterable, Sequence

from hmem.text import clean

# Characters that no reader of a screen sees but that a model reads: controls, zero width,
# direction overrides, tags and their like. Joiners stay, scripts and emoji need them.
_HIDDEN = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)


def one_line(text: str, *, limit: int | None = None) -> str:
    """A text as one line without hidden characters, cut to `limit` characters."""
    line = " ".join(_HIDDEN.sub("", clean(text)).split())
    if limit is not None and len(line) > limit:
        return line[: limit - 1].rstrip() + "\u2026"
    return line


def indented(text: str) -> str:
    """A text as lines of which each begins with two blanks; blank lines are left out.

    Every kind of line break counts, so that no line of it begins at the margin.
    """
    lines = (
        " ".join(line.split()) for line in _HIDDEN.sub("", clean(text)).splitlines()
    )
    return "\n".join(f"  {line}" for line in lines if line)


def numbered(lines: Iterable[str], *, limit: int | None = None) -> list[str]:
    """Texts as numbered lines, from [0] on."""
    return [f"[{n}] {one_line(x, limit=limit)}" for n, x in enumerate(lines)]


def section(heading: str, lines: Sequence[str]) -> str:
    """Lines under their heading; "" where there are none."""
    return "\n".join((heading, *lines)) + "\n" if lines else ""


def chat(system: str, *sections: str) -> list[dict[str, str]]:
    """A system prompt and its data as messages."""
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": "".join(sections)},
    ]
