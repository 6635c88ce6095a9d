"""Finished facts, for `add(..., infer=False)`: texts or items -> facts. Pure.

    "text"                     a fact with nothing else known
    {"text": ..., ...}         with any of the keys below; another is refused
    [...] or (...)             each of them
    event_start, event_end     when it happened: datetimes, dates or ISO strings; a date, a
                               month or a year as `event_start` alone is its whole span
    empty or blank text        not stored: skipped, "no text"

Keys: `text`, `source_ids` (ids of what it rests on), `event_start`, `event_end`, `category`
("semantic", "episodic" or "procedural"), `importance` (1..10, default 5), `metadata`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from hmem.config import Config
from hmem.errors import InputError, InputTypeError, TextTooLongError
from hmem.inputs.events import read_event
from hmem.inputs.keys import meant, unknown_key
from hmem.inputs.metadata import read_metadata
from hmem.inputs.scope import read_id
from hmem.records import EMPTY, Category, Skipped
from hmem.text import clean

CATEGORIES = get_args(Category)
MAX_SOURCES = 256
_KEYS = (
    *("text", "source_ids", "event_start", "event_end"),
    *("category", "importance", "metadata"),
)
_OTHERS = {
    **dict.fromkeys(("memory", "fact", "data"), "text"),
    **dict.fromkeys(("start", "date"), "event_start"),
    **dict.fromkeys(("sources", "source_id"), "source_ids"),
    "end": "event_end",
    "type": "category",
}
"""What others call them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One fact as it came, read and cleaned."""

    text: str
    source_ids: tuple[str, ...] = ()
    event_start: datetime | None = None
    event_end: datetime | None = None
    event_precision: str | None = None
    category: Category = "semantic"
    importance: int = 5
    metadata: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadItems:
    """What a call said."""

    items: tuple[Item, ...]
    skipped: tuple[Skipped, ...]


def read_items(given: object, config: Config) -> ReadItems:
    """Read what `add(infer=False)` was given. Errors name the item by number and never
    quote it."""
    listed = isinstance(given, (list, tuple))
    found: Sequence[object] = given if isinstance(given, (list, tuple)) else (given,)
    if len(found) > config.max_messages:
        raise TextTooLongError(f"more than {config.max_messages} items in one call")
    items: list[Item] = []
    skipped: list[Skipped] = []
    for n, one in enumerate(found):
        item = _item(one, f"items[{n}]" if listed else "the item", config)
        if item.text.strip():
            items.append(item)
        else:
            skipped.append(Skipped(reason="no text"))
    return ReadItems(items=tuple(items), skipped=tuple(skipped))


def read_fact_text(value: object, where: str, config: Config) -> str:
    """A fact's text, cleaned. Raises InputTypeError and TextTooLongError."""
    if not isinstance(value, str):
        kind = type(value).__name__
        raise InputTypeError(f"{where} must have a text that is a str, not {kind}")
    text = clean(value)
    if len(text) > config.max_item_chars:
        limit = f"Config.max_item_chars ({config.max_item_chars})"
        raise TextTooLongError(f"{where} is longer than {limit}")
    return text


def _item(one: object, where: str, config: Config) -> Item:
    given = {"text": one} if isinstance(one, str) else one
    if not isinstance(given, Mapping):
        kind = type(one).__name__
        raise InputTypeError(f"{where} must be a str or a mapping, not {kind}")
    for key in given:
        if key not in _KEYS:
            near = meant(key, _KEYS, _OTHERS)
            hint = "; messages need infer=True" if "content" in given else ""
            raise unknown_key(where, key, _KEYS, near, hint)
    event = read_event(given, where, config)
    return Item(
        text=read_fact_text(given.get("text"), where, config),
        source_ids=_sources(given.get("source_ids"), where),
        event_start=event.start,
        event_end=event.end,
        event_precision=event.precision,
        category=read_category(given.get("category", "semantic"), f"{where}.category"),
        importance=_importance(given.get("importance", 5), where),
        metadata=read_metadata(given.get("metadata"), f"{where}.metadata"),
    )


def read_category(value: object, where: str) -> Category:
    """One of semantic, episodic, procedural."""
    for category in CATEGORIES:
        if isinstance(value, str) and value == category:
            return category  # type: ignore[no-any-return]
    raise InputError(f"{where} must be one of {', '.join(CATEGORIES)}")


def _importance(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        kind = type(value).__name__
        raise InputTypeError(f"{where}.importance must be an int, not {kind}")
    if not 1 <= value <= 10:
        raise InputError(f"{where}.importance must lie in 1..10")
    return int(value)


def _sources(value: object, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        kind = type(value).__name__
        raise InputTypeError(f"{where}.source_ids must be a list of ids, not {kind}")
    if len(value) > MAX_SOURCES:
        raise TextTooLongError(f"{where} has more than {MAX_SOURCES} source_ids")
    return tuple(
        read_id(one, f"{where}.source_ids[{n}]") for n, one in enumerate(value)
    )
