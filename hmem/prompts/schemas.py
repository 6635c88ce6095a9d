"""The form of the answers, in the part of JSON Schema that strict endpoints take: flat, all
fields required, bounded, no unions."""

from collections.abc import Mapping, Sequence
from typing import Any


def _text(most: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


def _list_of(item: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": dict(item), "maxItems": most}


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    """All fields required and no other: what strict endpoints insist on."""
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }


_INTEGER = {"type": "integer"}
_CATEGORY = {"type": "string", "enum": ["semantic", "episodic", "procedural"]}
_ACTION = {"type": "string", "enum": ["ADD", "UPDATE", "DELETE", "NOOP"]}

_FACT: Mapping[str, Any] = {
    # Where it stands and what was said come first: a model writes from left to right, and
    # a fact that follows its evidence strays less than evidence that follows its fact.
    "turns": _list_of(_INTEGER, 8),
    "quote": _text(300),
    # Longer than a fact may be when it is read: what a grammar has cut off in the middle
    # is then seen to be too long, instead of being stored as half a sentence.
    "fact": _text(600),
    "category": _CATEGORY,
    # One string. Of two fields small models fill the second with the first, or the first
    # with the day it was said and the second with the day it happened; nearly all events
    # have one date. Partial dates tell how exactly it is known, without a field for that.
    "when": _text(50),
    "importance": _INTEGER,
    "entities": _list_of(_text(80), 12),
    # A number for what belongs together, and not positions in the list being written,
    # which would have to be counted and to point ahead.
    "group": _INTEGER,
    # A list with at most one number: unlike null or -1 for "none" it needs no union type
    # and cannot be taken for an id.
    "replaces": _list_of(_INTEGER, 1),
    "reason": _text(200),
}
MOST_FACTS = 80


def extract_schema(labels: Sequence[str] = ()) -> dict[str, Any]:
    """The JSON Schema of an EXTRACT answer; with labels, each fact names those it has."""
    fields = dict(_FACT)
    if labels:
        one = {"type": "string", "enum": list(labels)}
        fields["labels"] = _list_of(one, len(labels))
    return _object({"facts": _list_of(_object(fields), MOST_FACTS)})


SCHEMA: Mapping[str, Any] = extract_schema()
RECONCILE_SCHEMA: Mapping[str, Any] = _object(
    {
        "decisions": _list_of(
            _object(
                {
                    "candidate": _INTEGER,
                    "reason": _text(200),
                    "action": _ACTION,
                    "memory": _list_of(_INTEGER, 1),
                }
            ),
            MOST_FACTS,
        )
    }
)
PROFILE_SCHEMA: Mapping[str, Any] = _object({"profile": _text(2_000)})


def without_lengths(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without `maxLength`: OpenAI's strict mode answers 400 to it, while llama.cpp
    needs it, since a small model may never close a string."""
    return {
        key: without_lengths(value) if isinstance(value, Mapping) else value
        for key, value in schema.items()
        if key != "maxLength"
    }
