"""A user's profile: a running summary, rewritten now and then from what is believed.

It is a digest for the head of a prompt, never a source: no fact rests on it, and it is made
anew from the facts whenever it changes.
"""

import logging
import re
from typing import Any

from hmem import prompts
from hmem.budget import upper_bound
from hmem.chat.ladder import Ladder, Schema
from hmem.chat.peel import Unreadable
from hmem.config import Config
from hmem.errors import LLMError
from hmem.extract import turn_text
from hmem.protocols import MemoryRow, Profile, PutProfile, Store, TurnRow
from hmem.retrieve import Retriever
from hmem.text import clean
from hmem.views import View

log = logging.getLogger("hmem.profiles")
MAX_TOKENS = 300
"""Of a profile, by the bound that blocks are measured with."""
FIRST, EVERY = 6, 16
"""Turns until a user has a profile, and until it is written anew."""
_FACTS, _TURNS = 60, 12
_TURN_CHARS = 1_000
_SCHEMA = Schema("profile", prompts.PROFILE_VERSION, prompts.PROFILE_SCHEMA)
_SENTENCE = re.compile("(?<=[.!?\u3002\uff01\uff1f])\\s+")


class Profiles:
    """Keeps profiles up to date, with a chat model."""

    def __init__(
        self, config: Config, *, store: Store, ladder: Ladder, retriever: Retriever
    ) -> None:
        self._config = config
        self._store = store
        self._ladder = ladder
        self._views = retriever.views

    async def current(self, user_id: str) -> Profile | None:
        """The profile as it is stored."""
        return await self._store.profile(user_id)

    async def update(self, user_id: str) -> PutProfile | None:
        """The profile anew, if enough was said since it was written. A model that fails
        leaves the old one: the next turns try again."""
        old = await self.current(user_id)
        material = await self._views.read(user_id, lambda view: _material(view, old))
        if material is None:
            return None
        facts, turns = material
        zone = self._config.zone
        try:
            answer = await self._ladder.ask(
                prompts.profile_messages(
                    "" if old is None else old.text,
                    [row.text for row in facts],
                    [turn_text(_begun(turn), zone) for turn in turns],
                ),
                schema=_SCHEMA,
                read=read,
                purpose="profile",
                max_tokens=4 * MAX_TOKENS,
            )
        except LLMError as e:
            log.info("a profile is left as it was: %s", e)
            return None
        return PutProfile(text=answer.value, turn_seq=turns[-1].seq)


def read(value: Any) -> str:
    """A profile from a reply, cut after the last sentence that fits MAX_TOKENS. Raises
    Unreadable."""
    text = value.get("profile") if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise Unreadable('an object with a string "profile" was asked for')
    return shortened(" ".join(clean(text).split()))


def shortened(text: str) -> str:
    """The sentences from the beginning that fit MAX_TOKENS."""
    if upper_bound(text) <= MAX_TOKENS:
        return text
    kept = ""
    for sentence in _SENTENCE.split(text):
        longer = f"{kept} {sentence}".strip()
        if upper_bound(longer) > MAX_TOKENS:
            break
        kept = longer
    return kept


def _begun(turn: TurnRow) -> TurnRow:
    """A turn's beginning: enough to see what is spoken of."""
    return turn._replace(text=turn.text[:_TURN_CHARS])


def _material(
    view: View, old: Profile | None
) -> tuple[list[MemoryRow], list[TurnRow]] | None:
    """What a new profile is made of; None while too little is new. The facts that matter
    most, then the newest; unverified ones say nothing."""
    rows = view.turns.rows
    seen = 0 if old is None else old.turn_seq
    new = sum(row.seq > seen for row in rows[-max(FIRST, EVERY) :])
    if new < (FIRST if old is None else EVERY):
        return None
    believed = [
        row
        for row in view.facts.rows
        if row.valid_to is None and row.forgotten_at is None and row.verified
    ]
    believed.sort(key=lambda row: (-row.importance, -row.valid_from, row.seq))
    return believed[:_FACTS], list(rows[-_TURNS:])
