"""A stretch of talk -> the messages that ask a model for its facts. Pure.

    CALENDAR (times are of Europe/Brussels)
      Mon 2023-05-01, Tue 02, Wed 03, Thu 04, Fri 05, Sat 06, Sun 07
    MEMORIES
    [0] Maya lives in London (since 2023-01-15)
    NEW TURNS
    [0] Mon 2023-05-08 13:56 Maya (user)
      the words, each line of them indented

What people wrote never begins a line, but after a number (see `hmem.prompts`).
"""

from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, timedelta
from hashlib import blake2b
from typing import Any
from zoneinfo import ZoneInfo

from hmem import prompts
from hmem.config import Config
from hmem.prompts import indented, one_line, section
from hmem.protocols import TurnRow
from hmem.times import from_micros, local

_MEMORY_CHARS = 400  # a memory or an earlier turn is context: its beginning will do
_RECENT_CHARS = 600
_PROFILE_CHARS = 2_000
_NAME_CHARS = 64
_MOST_WEEKS = 8
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory shown to the model as its position in `Talk.shown`."""

    id: str
    text: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What one call is about: the turns to read facts from, and for context alone the
    `recent` ones before them, similar memories and the profile."""

    turns: tuple[TurnRow, ...]
    recent: tuple[TurnRow, ...] = ()
    shown: tuple[Shown, ...] = ()
    profile: str = ""
    zone: ZoneInfo


def messages(talk: Talk, config: Config) -> list[dict[str, str]]:
    """The system prompt and the talk. What never changes stands first, so that an
    endpoint's prompt cache holds."""
    zone = talk.zone
    profile = one_line(talk.profile, limit=_PROFILE_CHARS)
    return prompts.chat(
        system_prompt(config),
        section(f"CALENDAR (times are of {zone.key})", _calendar(talk)),
        section("PROFILE", [f"  {profile}"] if profile else []),
        section(
            "MEMORIES", [_memory(n, one, zone) for n, one in enumerate(talk.shown)]
        ),
        section("EARLIER TURNS", [_earlier(turn, zone) for turn in talk.recent]),
        section(
            "NEW TURNS",
            [turn_text(turn, zone, number=n) for n, turn in enumerate(talk.turns)],
        ),
    )


def system_prompt(config: Config) -> str:
    """The prompt, with the application's rules and labels, where it has any, behind it."""
    prompt = prompts.EXTRACT
    if rules := indented(config.instructions):
        prompt += f"{prompts.OWN_RULES}{rules}\n"
    if config.categories:
        names = "\n".join(f"- {name}" for name in labels(config))
        prompt += f"{prompts.OWN_LABELS}{names}\n"
    return prompt


def labels(config: Config) -> tuple[str, ...]:
    """`Config.categories` as they are shown and read back, each once."""
    return tuple(dict.fromkeys(filter(None, map(one_line, config.categories))))


def schema(config: Config) -> dict[str, Any]:
    """The JSON Schema of the answer to `messages`."""
    return prompts.extract_schema(labels(config))


def version(config: Config) -> str:
    """Names the prompt that a fact came from: `PROMPT_VERSION`, and "+" with a digest of
    the application's own rules and labels where it has any."""
    own = system_prompt(config)[len(prompts.EXTRACT) :]
    if not own:
        return prompts.PROMPT_VERSION
    digest = blake2b(own.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{prompts.PROMPT_VERSION}+{digest}"


def most_facts(turns: int) -> int:
    """How many facts of one reply about so many turns are taken."""
    return min(4 * turns + 16, prompts.MOST_FACTS)


def turn_text(turn: TurnRow, zone: ZoneInfo, *, number: int | None = None) -> str:
    """A turn as a line that says when and who, its words indented below."""
    head = f"{_when(turn, zone)} {_speaker(turn)}"
    mark = "-" if number is None else f"[{number}]"
    return f"{mark} {head}\n{indented(turn.text)}"


def _earlier(turn: TurnRow, zone: ZoneInfo) -> str:
    text = one_line(turn.text, limit=_RECENT_CHARS)
    return f"- {_when(turn, zone)} {_speaker(turn)}\n  {text}"


def _memory(number: int, one: Shown, zone: ZoneInfo) -> str:
    text = one_line(one.text, limit=_MEMORY_CHARS)
    return f"[{number}] {text} (since {local(one.since, zone).date()})"


def _when(turn: TurnRow, zone: ZoneInfo) -> str:
    at = local(from_micros(turn.observed_at), zone)
    return f"{_DAYS[at.weekday()]} {at.date()} {at.hour:02}:{at.minute:02}"


def _speaker(turn: TurnRow) -> str:
    """Name and role. A name is somebody's text too: what could close it is left out."""
    kept = "".join(c if c.isalnum() or c in "-'._@" else " " for c in turn.name or "")
    name = " ".join(kept.split())[:_NAME_CHARS].rstrip()
    return f"{name} ({turn.role})" if name else turn.role


# ---------------------------------------------------------------------- calendar


def _calendar(talk: Talk) -> list[str]:
    """The week of each new turn, the one before it and the one after: models know what
    "last Friday" means, and miscount the days back to it."""
    days = {local(from_micros(t.observed_at), talk.zone).date() for t in talk.turns}
    mondays: set[date] = set()
    for day in sorted(days):
        if not 1 < day.year < MAXYEAR:
            continue
        monday = day - timedelta(days=day.weekday())
        mondays |= {monday - _WEEK, monday, monday + _WEEK}
    # The turns may span years (an import): then the first weeks have to do.
    return [f"  {_week(monday)}" for monday in sorted(mondays)[:_MOST_WEEKS]]


def _week(monday: date) -> str:
    """Its seven days; the first day and the first of a month with their whole date."""
    days = (monday + timedelta(days=n) for n in range(7))
    return ", ".join(
        f"{name} {day if day == monday or day.day == 1 else f'{day.day:02}'}"
        for name, day in zip(_DAYS, days, strict=True)
    )
