"""Messages in the OpenAI chat form -> turns. Pure; nothing is written on an error.

    what comes                          what becomes of it
    ----------------------------------  ------------------------------------------------
    "text"                              one user message
    {...} or an object with model_dump  one message (SDK objects, pydantic models)
    [...] or (...)                      each of them; a str among them is a user message
    role user, assistant                a turn of that role
    role tool, function                 a turn of role "tool", named by its `name` or by the
                                        call it answers; no evidence about the user
    role system, developer              not stored: skipped, "system message"
    any other role, or none             InputError
    content "text"                      the text, verbatim but for NUL and lone surrogates
    content None, "", blank, []         not stored: skipped, "no text"; the `refusal` and an
                                        audio reply's `transcript` stand in for it
    content {part}                      as [part]
    content [parts]                     their texts, joined by newlines
      text, input_text, output_text     its text; a str in the list too
      refusal                           its text
      image..., audio..., video..., file...  "[image]", "[audio]", "[video]", "[file]": the
                                        words are kept, nothing is described, no data stored
      another type                      "[attachment]"
    content of another type             InputTypeError
    tool_calls, function_call           not stored; a message with nothing else is skipped,
                                        "tool call"
    name                                the turn's speaker, whitespace collapsed
    id (str or int)                     the turn's message id
    timestamp                           when it was said: a datetime, date or ISO string
                                        (see `hmem.times`; numbers are refused); else the
                                        call's `observed_at`
    metadata                            kept with the turn, over the call's metadata
    any other key                       ignored: SDKs' messages carry many; but in a mapping
                                        a near miss of a key that is not there ("timestmap",
                                        "date"), or one in place of content, is an InputError

A call of which nothing is left stores nothing at all: its receipt is done, with the
reasons in `skipped`, and its id is "".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hmem.config import Config
from hmem.errors import InputError, InputTypeError, TextTooLongError
from hmem.inputs.keys import meant, unknown_key
from hmem.inputs.metadata import read_metadata
from hmem.records import EMPTY, Skipped
from hmem.text import clean
from hmem.times import moment

MAX_NAME = 256
MAX_MESSAGE_ID_BYTES = 512
_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
_OTHER_ROLES = {
    **dict.fromkeys(("human", "customer", "client"), "user"),
    **dict.fromkeys(("ai", "bot", "agent", "model", "gpt"), "assistant"),
}
"""What others call them."""
_UNSTORED = frozenset(("system", "developer"))
_TEXTS = frozenset(("text", "input_text", "output_text"))
_MARKERS = ("image", "audio", "video", "file")
_MARKED = {"input_" + name: name for name in _MARKERS} | {"document": "file"}
_KEYS = ("role", "content", "name", "id", "timestamp", "metadata")
_SAYING = frozenset(("content", "refusal", "audio", "tool_calls", "function_call"))
"""What a message may say by."""
_OTHERS = dict.fromkeys(("observed_at", "time", "date", "datetime"), "timestamp")
"""Other names of a key. A time under another name would be the time of the call."""
_WORDS = dict.fromkeys(("text", "message", "body", "parts", "msg", "value"), "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn as it came, read and cleaned. `at` is None where none was given."""

    role: str
    text: str
    name: str | None = None
    id: str | None = None
    at: datetime | None = None
    metadata: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMessages:
    """What a call said. `listed`: it came as a list, which a client may send again."""

    messages: tuple[Message, ...]
    skipped: tuple[Skipped, ...]
    listed: bool


def read_messages(given: object, config: Config) -> ReadMessages:
    """Read what `add` was given, by the table above. Errors name the message by number
    and never quote it."""
    listed = isinstance(given, (list, tuple))
    found: Sequence[object] = given if isinstance(given, (list, tuple)) else (given,)
    if len(found) > config.max_messages:
        raise TextTooLongError(f"more than {config.max_messages} messages in one call")
    messages: list[Message] = []
    skipped: list[Skipped] = []
    calls: dict[str, str] = {}
    for n, one in enumerate(found):
        where = f"messages[{n}]" if listed else "the message"
        read = _message(_mapping(one, where), where, config, calls)
        (skipped if isinstance(read, Skipped) else messages).append(read)  # type: ignore[arg-type]
    return ReadMessages(messages=tuple(messages), skipped=tuple(skipped), listed=listed)


def _mapping(one: object, where: str) -> Mapping[str, Any]:
    """A message as a mapping, whichever way it came."""
    if isinstance(one, str):
        return {"role": "user", "content": one}
    held = _dumped(one, where)
    if not isinstance(held, Mapping):
        kind = type(held).__name__
        raise InputTypeError(f"{where} must be a str or a mapping, not {kind}")
    if held is one:
        _check_keys(held, where)
    return held


def _check_keys(given: Mapping[str, Any], where: str) -> None:
    """Raises InputError for a key that was to be another one: what it holds would be lost
    without a word."""
    others = _OTHERS if _SAYING & given.keys() else _OTHERS | _WORDS
    for key in given:
        if key in _KEYS or key in _SAYING:
            continue
        near = meant(key, _KEYS, others)
        if near is not None and near not in given:
            raise unknown_key(where, key, _KEYS, near)


def _dumped(one: object, where: str) -> object:
    """What an SDK's or pydantic's object holds; anything else as it is."""
    dump = getattr(one, "model_dump", None)
    if dump is None or isinstance(one, type):
        return one
    try:
        return dump()
    except Exception as e:  # the caller's code may raise anything
        kind = type(one).__name__
        raise InputTypeError(f"{where}: model_dump() of {kind} failed") from e


def _message(
    given: Mapping[str, Any], where: str, config: Config, calls: dict[str, str]
) -> Message | Skipped:
    role = given.get("role")
    if isinstance(role, str) and role in _UNSTORED:
        return Skipped(reason="system message")
    if not isinstance(role, str) or role not in _ROLES:
        allowed = [*_ROLES, *sorted(_UNSTORED)]
        near = meant(role, allowed, _OTHER_ROLES)
        asked = f"; did you mean {near!r}?" if near else ""
        raise InputError(f"{where} must have a role of {', '.join(allowed)}{asked}")
    called = _note_calls(given, calls)
    text = clean(_text(given, where))
    if len(text) > config.max_message_chars:
        limit = f"Config.max_message_chars ({config.max_message_chars})"
        raise TextTooLongError(f"{where} is longer than {limit}")
    message = Message(
        role=_ROLES[role],
        text=text,
        name=_name(given, where) or calls.get(_call_id(given)),
        id=_id(given.get("id"), where),
        at=_at(given.get("timestamp"), where, config),
        metadata=read_metadata(given.get("metadata"), f"{where}.metadata"),
    )
    if not text.strip():
        return Skipped(reason="tool call" if called else "no text")
    return message


# ------------------------------------------------------------------------ content


def _text(given: Mapping[str, Any], where: str) -> str:
    """A message's words."""
    content = given.get("content")
    if content is None:
        return _stand_in(given)
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = (content,)
    if not isinstance(content, (list, tuple)):
        kind = type(content).__name__
        raise InputTypeError(f"{where}.content must be a str or parts, not {kind}")
    parts = (_part(p, f"{where}.content[{n}]") for n, p in enumerate(content))
    return "\n".join(part for part in parts if part)


def _stand_in(given: Mapping[str, Any]) -> str:
    audio = given.get("audio")
    said = audio.get("transcript") if isinstance(audio, Mapping) else None
    for text in (given.get("refusal"), said):
        if isinstance(text, str) and text.strip():
            return text
    return ""


def _part(part: object, where: str) -> str:
    """One content part: its words, or a marker for what has none."""
    if isinstance(part, str):
        return part
    part = _dumped(part, where)
    if not isinstance(part, Mapping):
        kind = type(part).__name__
        raise InputTypeError(f"{where} must be a str or a mapping, not {kind}")
    kind = part.get("type", "text" if "text" in part else None)
    if not isinstance(kind, str):
        raise InputError(f"{where} has no type")
    if kind in _TEXTS or kind == "refusal":
        text = part.get("refusal" if kind == "refusal" else "text")
        if not isinstance(text, str):
            raise InputTypeError(f"{where} must carry its text as a str")
        return text
    marker = _MARKED.get(kind) or next(
        (m for m in _MARKERS if kind.startswith(m)), None
    )
    return f"[{marker or 'attachment'}]"


# --------------------------------------------------------------------- other keys


def _note_calls(given: Mapping[str, Any], calls: dict[str, str]) -> bool:
    """Remember which call id is which function, so that its answer can be named."""
    any_call = given.get("function_call") is not None
    for call_id, name in _calls(given.get("tool_calls")):
        any_call = True
        calls[call_id] = name
    return any_call


def _calls(tool_calls: object) -> Iterator[tuple[str, str]]:
    for call in tool_calls if isinstance(tool_calls, (list, tuple)) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        call_id = call.get("id") if isinstance(call, Mapping) else None
        short = (
            " ".join(clean(name).split())[:MAX_NAME] if isinstance(name, str) else ""
        )
        yield (call_id if isinstance(call_id, str) else "", short)


def _call_id(given: Mapping[str, Any]) -> str:
    call_id = given.get("tool_call_id")
    return call_id if isinstance(call_id, str) and given.get("role") == "tool" else ""


def _name(given: Mapping[str, Any], where: str) -> str | None:
    name = given.get("name")
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputTypeError(f"{where}.name must be a str, not {type(name).__name__}")
    if len(name) > MAX_NAME:
        raise TextTooLongError(f"{where}.name is longer than {MAX_NAME} characters")
    return " ".join(clean(name).split()) or None


def _id(value: object, where: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputTypeError(f"{where}.id must be a str, not {type(value).__name__}")
    too_long = isinstance(value, int) and value.bit_length() > 8 * MAX_MESSAGE_ID_BYTES
    # A str subclass, such as an Enum's member, stands for its own characters.
    plain = str.__str__(value) if isinstance(value, str) else value
    text = "" if too_long else clean(str(plain))
    if too_long or len(text.encode()) > MAX_MESSAGE_ID_BYTES:
        raise TextTooLongError(
            f"{where}.id is longer than {MAX_MESSAGE_ID_BYTES} bytes"
        )
    return text or None


def _at(value: object, where: str, config: Config) -> datetime | None:
    if value is None:
        return None
    return moment(value, config.zone, end_of_day=False, name=f"{where}.timestamp")
