"""LoCoMo's file as values, with its traps handled in one place and counted in the open."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.talks import Conversation, Fact, Question, Turn, chosen

CATEGORIES = ("multi-hop", "temporal", "open-domain", "single-hop")
"""The categories asked. The fifth, adversarial, has no evidence to find."""

_NAMES = dict(enumerate((*CATEGORIES, "adversarial"), 1))
_DATE = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)")
_BETWEEN_IDS = re.compile(r"[\s,;]+")


def load(path: Path, *, only: Iterable[str] = ()) -> list[Conversation]:
    """The conversations of a LoCoMo file, or those named. Raises ValueError."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    return chosen([_conversation(one) for one in raw], tuple(only))


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
            name=t["speaker"],
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
    category = _NAMES[int(raw["category"])]
    return Question(
        text=str(raw["question"]),
        answer=None if answer is None else str(answer),
        category=category,
        gold=gold,
        worded=category != "temporal",  # dates, which no turn says in those words
        dropped=dropped,
    )
