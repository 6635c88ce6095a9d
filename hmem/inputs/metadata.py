"""What callers may attach to turns and facts, and what they may not touch."""

import json
import math
from collections.abc import Mapping
from typing import Any

from hmem.errors import InputError, InputTypeError
from hmem.records import EMPTY

MAX_BYTES = 16_384
MAX_DEPTH = 32
RESERVED = frozenset(
    (
        *("id", "user_id", "agent_id", "session_id", "kind", "hash", "source_ids"),
        *("superseded_by", "recorded_at", "closed_recorded_at", "valid_from"),
        *("valid_to", "expires_at", "forgotten_at", "last_accessed", "incarnation"),
    )
)
"""Keys that hmem answers for. Metadata that names one is refused, not ignored."""


def read_metadata(value: object, name: str = "metadata") -> Mapping[str, Any]:
    """A private copy of a JSON object, at most 16,384 bytes as JSON.

    Raises InputTypeError for what JSON cannot hold (also NaN, Inf and keys that are not
    str), InputError for a reserved key and for too much.
    """
    if value is None:
        return EMPTY
    if not isinstance(value, Mapping):
        raise InputTypeError(f"{name} must be a mapping, not {type(value).__name__}")
    if not value:
        return EMPTY
    _check(value, name, [MAX_BYTES], depth=0)
    reserved = sorted(RESERVED.intersection(value))
    if reserved:
        raise InputError(f"{name} must not set {', '.join(reserved)}: hmem sets it")
    dumped = json.dumps(_plain(value))
    if len(dumped) > MAX_BYTES:
        raise InputError(f"{name} is larger than {MAX_BYTES} bytes of JSON")
    copy: dict[str, Any] = json.loads(dumped)
    return copy


def merged(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> Mapping[str, Any]:
    """Both, the inner one's values first."""
    return {**outer, **inner} if outer and inner else inner or outer


def _check(value: object, name: str, left: list[int], *, depth: int) -> None:
    """`left[0]` bytes may still come: counted on the way, at their least, because a value
    that holds itself many times over is small in memory and endless as JSON."""
    if depth > MAX_DEPTH:
        raise InputError(f"{name} is nested deeper than {MAX_DEPTH}")
    _spend(left, 1 + (len(value) if isinstance(value, str) else 0), name)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InputTypeError(f"{name} has a key that is not a str")
            _spend(left, len(key), name)
            _check_text(key, name)
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for inner in value:
            _check(inner, name, left, depth=depth + 1)
    else:
        _check_scalar(value, name)


def _spend(left: list[int], size: int, name: str) -> None:
    left[0] -= size
    if left[0] < 0:
        raise InputError(f"{name} is larger than {MAX_BYTES} bytes of JSON")


def _check_scalar(value: object, name: str) -> None:
    if isinstance(value, str):
        _check_text(value, name)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InputTypeError(f"{name} holds a NaN or an infinity")
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InputError(f"{name} holds an integer over 64 bits")
    elif value is not None:
        raise InputTypeError(f"{name} holds a {type(value).__name__}; JSON values only")


def _check_text(text: str, name: str) -> None:
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise InputError(f"{name} holds a lone surrogate")


def _plain(value: Any) -> Any:
    """Mappings of any kind as dicts, which is what `json` writes."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value
