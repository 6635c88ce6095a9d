"""Arguments of `add` -> a validated Call. Pure. Raises before anything is written."""

from dataclasses import replace
from typing import get_args

from hmem.config import Config
from hmem.errors import InputError, InputTypeError
from hmem.ingest import Call
from hmem.inputs.items import read_items
from hmem.inputs.messages import read_messages
from hmem.inputs.metadata import merged, read_metadata
from hmem.inputs.scope import Scope
from hmem.protocols import Priority
from hmem.records import Skipped
from hmem.times import moment

MAX_KEY_BYTES = 512
PRIORITIES: tuple[Priority, ...] = get_args(Priority)


def read_call(
    said: object,
    *,
    scope: Scope,
    config: Config,
    observed_at: object,
    infer: object,
    metadata: object,
    key: object,
    priority: object = "live",
) -> tuple[Call, tuple[Skipped, ...]]:
    """What `add` was given, and what of it will not be stored, and why."""
    if not isinstance(infer, bool):
        raise InputTypeError(f"infer must be True or False, not {type(infer).__name__}")
    outer = read_metadata(metadata)
    at = observed_at
    call = Call(
        scope=scope,
        observed_at=None
        if at is None
        else moment(at, config.zone, end_of_day=False, name="observed_at"),
        key=read_key(key),
        priority=read_priority(priority),
    )
    if not infer:
        items = read_items(said, config)
        own = (replace(i, metadata=merged(outer, i.metadata)) for i in items.items)
        return replace(call, items=tuple(own)), items.skipped
    read = read_messages(said, config)
    told = (replace(m, metadata=merged(outer, m.metadata)) for m in read.messages)
    resend = read.listed and scope.session_id is not None
    return replace(call, messages=tuple(told), resend=resend), read.skipped


def read_key(value: object) -> str | None:
    """An idempotency key: a str of 1 to 512 bytes of UTF-8, or None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputTypeError(
            f"idempotency_key must be a str, not {type(value).__name__}"
        )
    if not value or len(value.encode("utf-8", "replace")) > MAX_KEY_BYTES:
        raise InputError(f"idempotency_key must have 1 to {MAX_KEY_BYTES} bytes")
    if any("\ud800" <= char <= "\udfff" or char == "\0" for char in value):
        raise InputError("idempotency_key holds a NUL or a lone surrogate")
    return value


def read_priority(value: object) -> Priority:
    """ "live" or "import"."""
    for priority in PRIORITIES:
        if isinstance(value, str) and value == priority:
            return priority
    raise InputError(f"priority must be one of {', '.join(PRIORITIES)}")
