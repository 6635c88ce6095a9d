"""Hits -> a dated block under a hard token cap. Identical input gives identical bytes.

    [14 March 2026]
    1 Lives in Paris (before: Lives in London, 2025-01-02 to 2026-03-14)
    2 Maya: we signed the lease yesterday!

Days newest first; in a day facts before turns, turns as they were said. A line begins with
its citation number (one token), its date stands once a day and a text is always one line,
so that no memory can pass for a heading or for somebody else's words.
"""

from hmem.render.hits import lines_of, styled
from hmem.render.lines import Line, event_words, gist, one_line, wider
from hmem.render.packing import Style, pack, pack_under

__all__ = [
    "Line",
    "Style",
    "event_words",
    "gist",
    "lines_of",
    "one_line",
    "pack",
    "pack_under",
    "styled",
    "wider",
]
