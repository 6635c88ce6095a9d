"""LoCoMo's file as values, with its traps handled in one place and counted in the open."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""The categories asked. 5 (adversarial) has no evidence to find."""

_DATE = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)")
_BETWEEN_IDS = re.compile(r"[\s,;]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing said. `text` holds the caption of a shared photo."""

    id: str
    speaker: str
    text: str
    session: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """An observation of the data set, and the turns it was made from."""

    text: str
    source_ids: tuple[str, ...]
    session: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`gold` are the turns that hold the answer; `answer` is None where none is given."""

    text: str
    answer: str | None
    category: int
    gold: tuple[str, ...]
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns and facts in the order of their sessions, and the questions asked about them."""

    id: str
    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]

    @property
    def ended(self) -> datetime:
        """When the last session began."""
        return max(turn.at for turn in self.turns)

    def sessions(self) -> dict[int, list[Turn]]:
        """The turns by session, in order."""
        found: dict[int, list[Turn]] = {}
        for turn in self.turns:
            found.setdefault(turn.session, []).append(turn)
        return found


def load(path: Path, *, only: Iterable[str] = ()) -> list[Conversation]:
    """The conversations of a LoCoMo file, or those named. Raises ValueError."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    found = [_conversation(one) for one in raw]
    wanted = list(only)
    unknown = set(wanted) - {c.id for c in found}
    if unknown:
        raise ValueError(f"no conversation {', '.join(sorted(unknown))} in {path}")
    return [c for c in found if not wanted or c.id in wanted]


def split_evidence(
    evidence: Iterable[Any], known: set[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Evidence strings -> the turn ids they name, each once, and the pieces that name none.

    Some strings hold several ids; some ids do not exist.
    """
    pieces = [p for e in evidence for p in _BETWEEN_IDS.split(str(e)) if p]
    unique = list(dict.fromkeys(pieces))
    return (
        tuple(p for p in unique if p in known),
        tuple(p for p in unique if p not in known),
    )


def _conversation(raw: Mapping[str, Any]) -> Conversation:
    talk = raw["conversation"]
    # By number: as strings session_10 would come before session_2.
    numbers = sorted(
        int(m[1]) for key in talk if (m := _SESSION.fullmatch(key)) and talk[key]
    )
    dates = {n: _date(talk, n) for n in numbers}
    turns = tuple(
        Turn(
            id=t["dia_id"],
            speaker=t["speaker"],
            text=_said(t),
            session=n,
            at=dates[n],
        )
        for n in numbers
        for t in talk[f"session_{n}"]
    )
    known = {t.id for t in turns}
    return Conversation(
        id=str(raw["sample_id"]),
        turns=turns,
        facts=tuple(_facts(raw.get("observation") or {}, dates, known)),
        questions=tuple(_question(q, known) for q in raw["qa"]),
    )


def _date(talk: Mapping[str, Any], number: int) -> datetime:
    """LoCoMo names no zone; UTC stands in."""
    text = talk.get(f"session_{number}_date_time")
    if not text:
        raise ValueError(f"session_{number} has no date")
    return datetime.strptime(text, _DATE).replace(tzinfo=UTC)


def _said(turn: Mapping[str, Any]) -> str:
    caption = turn.get("blip_caption")
    text = str(turn["text"]).strip()
    return f"{text} [photo: {caption}]".strip() if caption else text


def _facts(
    observed: Mapping[str, Any], dates: Mapping[int, datetime], known: set[str]
) -> Iterable[Fact]:
    by_session = {
        int(m[1]): speakers
        for key, speakers in observed.items()
        if (m := re.match(r"session_(\d+)", key))
    }
    for number in sorted(by_session.keys() & dates.keys()):
        for facts in by_session[number].values():
            for text, source in facts:
                # One id, a list of ids, or several in one string.
                given = source if isinstance(source, list) else [source]
                yield Fact(
                    text=str(text).strip(),
                    source_ids=split_evidence(given, known)[0],
                    session=number,
                    at=dates[number],
                )


def _question(raw: Mapping[str, Any], known: set[str]) -> Question:
    gold, dropped = split_evidence(raw.get("evidence") or (), known)
    answer = raw.get("answer")
    return Question(
        text=str(raw["question"]),
        answer=None if answer is None else str(answer),
        category=int(raw["category"]),
        gold=gold,
        dropped=dropped,
    )
