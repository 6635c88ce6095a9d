"""Who a call is about. Ids are compared byte for byte: no case folding, no Unicode
normalisation, so two ids that merely look alike are two users.

A user, agent or session id is a str. An int or a `uuid.UUID` is taken as its text, so 7
and "7" are one user. Nothing else is: True, 7.0 and b"7" are refused.
"""

import re
from dataclasses import dataclass
from uuid import UUID

from hmem.errors import InputTypeError, ScopeError

MAX_ID_BYTES = 512
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # Unicode's category Cc


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A user, and the labels to store with or to filter on."""

    user_id: str
    agent_id: str | None = None
    session_id: str | None = None


def scope_of(
    *, user_id: object, agent_id: object = None, session_id: object = None
) -> Scope:
    """The scope, or ScopeError / InputTypeError naming the id that cannot be used."""
    return Scope(
        user_id=read_id(user_id, "user_id"),
        agent_id=None if agent_id is None else read_id(agent_id, "agent_id"),
        session_id=None if session_id is None else read_id(session_id, "session_id"),
    )


def read_id(value: object, name: str) -> str:
    """One id as text. Raises InputTypeError, and ScopeError for an empty or blank id,
    control characters, lone surrogates and more than 512 bytes of UTF-8."""
    text = _text(value, name)
    if not text.strip():
        raise ScopeError(f"{name} must not be empty or blank")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as e:
        raise ScopeError(f"{name} holds a lone surrogate") from e
    if size > MAX_ID_BYTES:
        raise ScopeError(f"{name} is longer than {MAX_ID_BYTES} bytes of UTF-8")
    if _CONTROL.search(text):
        raise ScopeError(f"{name} holds a control character")
    return text


def _text(value: object, name: str) -> str:
    if isinstance(value, str):
        return str.__str__(value)  # a str subclass becomes a plain str
    if isinstance(value, bool) or not isinstance(value, (int, UUID)):
        kind = type(value).__name__
        raise InputTypeError(f"{name} must be a str (or an int or UUID), not {kind}")
    try:
        return str(int(value)) if isinstance(value, int) else str(value)
    except ValueError as e:  # more digits than Python prints
        raise ScopeError(f"{name} is longer than {MAX_ID_BYTES} bytes of UTF-8") from e
