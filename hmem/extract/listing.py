"""Where the items stand in a model's reply. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hmem.chat.peel import Unreadable
from hmem.extract.fields import first, plain_keys

TEXTS = ("fact", "text", "memory", "content", "statement", "sentence")
"""The names under which an item holds its fact."""
_LISTS = ("facts", "memories", "memory", "items", "extracted_facts", "results", "data")
_WRAPPERS = ("result", "response", "output", "answer", "data", "properties", "json")
_DEEPEST = 4


class Broken:
    """Stands for an item that is JSON in a string, and broken."""


def listed(value: Any) -> Sequence[Any]:
    """The list of items in a reply."""
    if isinstance(value, (list, tuple)):
        return value
    if not isinstance(value, Mapping):
        raise Unreadable('the answer must be a JSON object {"facts": [...]}')
    value = plain_keys(value)
    inside = [value[key] for key in _WRAPPERS if isinstance(value.get(key), Mapping)]
    for place in (value, *inside):
        for key in _LISTS:
            found = _items(place.get(key))
            if found is not None:
                return found
    if "properties" in value:
        raise Unreadable(
            "that is the schema; answer with data in the form it describes"
        )
    raise Unreadable('the answer has no list "facts"; where there is no fact it is []')


def _items(value: Any) -> Sequence[Any] | None:
    """What stands where the list should: a list, or one item, or items by their number."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, str):
        return [value] if value.strip() else None
    if not isinstance(value, Mapping) or not value:
        return None
    if all(isinstance(key, str) and key.isdecimal() for key in value):
        return list(value.values())
    return [value] if isinstance(first(value, TEXTS), str) else None


def flat(items: Sequence[Any], depth: int = 0) -> Iterator[Any]:
    """The items, in order: those of lists among them in their place, mappings with plain
    keys, JSON in a string as what it stands for."""
    for item in items:
        inner = _inner(item)
        if isinstance(inner, (list, tuple)) and depth < _DEEPEST:
            yield from flat(inner, depth + 1)
        else:
            yield inner


def _inner(item: Any) -> Any:
    """An item as it is meant."""
    meant = _decoded(item) if isinstance(item, str) else item
    if not isinstance(meant, Mapping):
        return meant
    meant = plain_keys(meant)
    facts = meant.get("facts")
    return facts if isinstance(facts, list) else meant


def _decoded(text: str) -> Any:
    if text.lstrip()[:2] not in ('{"', '["', "[{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return Broken()
