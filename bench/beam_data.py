"""BEAM's folders as values, with their traps handled in one place.

A folder per chat, `chat.json` (or the shortened form that the authors' own code prefers)
and its probing questions. The date of a message is the last one named before it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.talks import Conversation, Question, Turn, chosen

CATEGORIES = (
    *("information_extraction", "multi_session_reasoning", "knowledge_update"),
    *("temporal_reasoning", "contradiction_resolution", "instruction_following"),
    *("preference_following", "event_ordering", "summarization"),
)
"""The abilities asked. Abstention has no evidence to find."""
COVERAGE = ("event_ordering", "summarization")
"""Abilities whose evidence lies all over a chat."""

_WORDED = ("information_extraction", "knowledge_update", "multi_session_reasoning")
_ANSWERS = (
    *("answer", "ideal_answer", "ideal_response", "ideal_summary"),
    "expected_compliance",
)
_CHATS = ("chat_trunecated.json", "chat.json")  # the authors' spelling
_QUESTIONS = ("probing_questions/probing_questions.json", "probing_questions.json")
_MARK = re.compile(r"\s*->->\s*[\d,\s]*\Z")
_DATE = "%B-%d-%Y"
_UNDATED = datetime(2024, 1, 1, tzinfo=UTC)


def load(folder: Path, *, only: Iterable[str] = ()) -> list[Conversation]:
    """The chats of a folder of chats, or the one chat of a chat's own folder; all, or
    those named. Raises ValueError."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder")
    chats = [folder] if _chat_of(folder) else _by_number(folder)
    if not chats:
        raise ValueError(f"no chat in {folder}")
    return chosen([_conversation(chat) for chat in chats], tuple(only))


def ids_in(source: Any) -> Iterator[str]:
    """Every id of a `source_chat_ids`, whatever it is nested in, each as often as named."""
    if isinstance(source, Mapping):
        source = source.values()
    elif isinstance(source, str | int):
        source = re.findall(r"\d+", str(source))
        yield from source
        return
    for one in source or ():
        yield from ids_in(one)


def _by_number(folder: Path) -> list[Path]:
    found = [f for f in folder.iterdir() if f.is_dir() and _chat_of(f)]
    return sorted(found, key=lambda f: (not f.name.isdecimal(), len(f.name), f.name))


def _chat_of(folder: Path) -> Path | None:
    return next((folder / name for name in _CHATS if (folder / name).is_file()), None)


def _conversation(folder: Path) -> Conversation:
    chat = _chat_of(folder)
    questions = next((folder / n for n in _QUESTIONS if (folder / n).is_file()), None)
    if chat is None or questions is None:
        raise ValueError(f"{folder} lacks its chat or its probing questions")
    batches = json.loads(chat.read_text(encoding="utf-8"))
    turns = tuple(_turns(batches))
    if not turns:
        raise ValueError(f"{chat} holds no message")
    known = {t.id for t in turns}
    asked = json.loads(questions.read_text(encoding="utf-8"))
    return Conversation(
        id=folder.name,
        turns=turns,
        facts=(),
        questions=tuple(
            _question(ability, one, known)
            for ability in asked
            for one in asked[ability]
        ),
    )


def _turns(batches: Iterable[Mapping[str, Any]]) -> Iterator[Turn]:
    messages = [
        (number, message)
        for number, batch in enumerate(batches, 1)
        for group in batch["turns"]
        for message in group
    ]
    dates = [_date(m) for _, m in messages]
    at = next((d for d in dates if d), _UNDATED)
    for (number, message), date in zip(messages, dates, strict=True):
        at = date or at
        text = _MARK.sub("", str(message["content"])).strip()
        if text:
            yield Turn(
                id=str(message["id"]),
                text=text,
                session=number,
                at=at,
                role=message["role"],
            )


def _date(message: Mapping[str, Any]) -> datetime | None:
    """BEAM names no zone; UTC stands in."""
    text = message.get("time_anchor")
    return datetime.strptime(text, _DATE).replace(tzinfo=UTC) if text else None


def _question(ability: str, raw: Mapping[str, Any], known: set[str]) -> Question:
    named = list(dict.fromkeys(ids_in(raw.get("source_chat_ids"))))
    answer = next((raw[key] for key in _ANSWERS if raw.get(key)), None)
    return Question(
        text=str(raw["question"]),
        answer=None if answer is None else str(answer),
        category=ability,
        gold=tuple(i for i in named if i in known),
        worded=ability in _WORDED,
        dropped=tuple(i for i in named if i not in known),
    )
