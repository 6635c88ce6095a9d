"""What the chat model is asked, and the form of its answers. Pure text and plain values.

`hmem.extract` fills in the turns of an EXTRACT call; the other two are made here.
"""

from collections.abc import Sequence

from hmem.prompts.data import chat, indented, numbered, one_line, section
from hmem.prompts.schemas import (
    MOST_FACTS,
    PROFILE_SCHEMA,
    RECONCILE_SCHEMA,
    SCHEMA,
    extract_schema,
    without_lengths,
)
from hmem.prompts.texts import (
    EXAMPLE_NAMES,
    EXTRACT,
    OWN_LABELS,
    OWN_RULES,
    PROFILE,
    PROFILE_VERSION,
    PROMPT_VERSION,
    RECONCILE,
    RECONCILE_VERSION,
)

__all__ = [
    "EXAMPLE_NAMES",
    "EXTRACT",
    "MOST_FACTS",
    "OWN_LABELS",
    "OWN_RULES",
    "PROFILE",
    "PROFILE_SCHEMA",
    "PROFILE_VERSION",
    "PROMPT_VERSION",
    "RECONCILE",
    "RECONCILE_SCHEMA",
    "RECONCILE_VERSION",
    "SCHEMA",
    "chat",
    "extract_schema",
    "indented",
    "numbered",
    "one_line",
    "profile_messages",
    "reconcile_messages",
    "section",
    "without_lengths",
]


def reconcile_messages(
    candidates: Sequence[str], memories: Sequence[str]
) -> list[dict[str, str]]:
    """RECONCILE about candidates and memories, by their positions. Each text ends in its
    date: "... (said 2026-03-14)", "... (since 2026-03-01)"."""
    return chat(
        RECONCILE,
        section("CANDIDATES", numbered(candidates)),
        section("MEMORIES", numbered(memories)),
    )


def profile_messages(
    old: str, facts: Sequence[str], turns: Sequence[str]
) -> list[dict[str, str]]:
    """PROFILE about the old profile, current facts, and turns as
    `hmem.extract.turn_text` writes them."""
    return chat(
        PROFILE,
        section("OLD PROFILE", [indented(old)] if old.strip() else []),
        section("FACTS", [f"- {one_line(fact)}" for fact in facts]),
        section("NEWEST TURNS", list(turns)),
    )
