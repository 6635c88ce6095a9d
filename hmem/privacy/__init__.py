"""Secrets and personal data, found and taken out before anything is stored. Pure.

    secrets   API keys, tokens, JSON Web Tokens, private keys, passwords, PINs, recovery
              phrases, webhooks, payment cards             redacted unless the policy says so
    pii       e-mail, phone, IBAN, national numbers          kept unless the policy says so

What is found is replaced by what it was, "[redacted:password]": readable, always the same,
and itself never found again. Invisible characters, wide digits and, for keys and cards,
blanks and line breaks do not hide a secret. No text, however hostile, takes more than time
linear in its length.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hmem.config import Guard
from hmem.errors import InputError
from hmem.privacy.addresses import in_addresses, in_headers
from hmem.privacy.cards import card_numbers
from hmem.privacy.keys import known_keys, places, private_keys, web_tokens
from hmem.privacy.labels import labelled
from hmem.privacy.pii import emails, ibans, national_ids, phones
from hmem.privacy.spans import Span, merged
from hmem.privacy.view import View, view
from hmem.records import EMPTY

__all__ = ["Policy", "Redacted", "RedactedMetadata", "redact", "redact_metadata"]

Finder = Callable[[View], Iterator[Span]]

_SECRETS: tuple[Finder, ...] = (
    *(private_keys, web_tokens, known_keys, places),
    *(in_addresses, in_headers, labelled, card_numbers),
)
_PII: tuple[Finder, ...] = (emails, phones, ibans, national_ids)
_DEEPEST = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is done about secrets, and about personal data: nothing ("off"), they are taken
    out ("redact"), or the whole call is refused ("refuse")."""

    secrets: Guard = "redact"
    pii: Guard = "off"

    @property
    def is_off(self) -> bool:
        """Whether every text passes unread."""
        return self.secrets == self.pii == "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A text without what was found in it, and how often, by kind."""

    text: str
    found: Mapping[str, int] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedMetadata:
    """Metadata without what was found in it, and how often, by kind."""

    values: Mapping[str, Any]
    found: Mapping[str, int] = EMPTY


DEFAULT = Policy()


def redact(text: str, policy: Policy = DEFAULT) -> Redacted:
    """The text as it may be stored. Idempotent.

    Raises InputError, which names the kinds and never the text, where the policy refuses.
    """
    if policy.is_off or not text:
        return Redacted(text=text)
    seen = view(text)
    spans = _spans(seen, _SECRETS, policy.secrets, "secrets")
    spans += _spans(seen, _PII, policy.pii, "pii")
    if not spans:
        return Redacted(text=text)
    parts: list[str] = []
    at = 0
    found = Counter[str]()
    for span in merged(spans):
        start, end = seen.original(span.start, span.end)
        parts += (text[at:start], mark(span.kind))
        at = end
        found[span.kind] += 1
    parts.append(text[at:])
    return Redacted(text="".join(parts), found=dict(found))


def mark(kind: str) -> str:
    """What stands for a secret that was taken out."""
    return f"[redacted:{kind}]"


def _spans(
    seen: View, finders: tuple[Finder, ...], guard: Guard, setting: str
) -> list[Span]:
    if guard == "off":
        return []
    spans = [span for finder in finders for span in finder(seen)]
    if spans and guard == "refuse":
        kinds = ", ".join(sorted({span.kind for span in spans}))
        raise InputError(
            f"refused, since it holds {kinds}: take that out, or set Config.{setting} "
            "to 'redact'"
        )
    return spans


# ---------------------------------------------------------------------- metadata


def redact_metadata(
    metadata: Mapping[str, Any], policy: Policy = DEFAULT
) -> RedactedMetadata:
    """Metadata as it may be stored: every string in it is read, keys too, and what stands
    under a key such as "password" is taken for one. Raises as `redact` does."""
    if policy.is_off or not metadata:
        return RedactedMetadata(values=metadata)
    found = Counter[str]()
    values = _value(metadata, "", policy, found, 0)
    if not found:
        return RedactedMetadata(values=metadata)
    return RedactedMetadata(values=values, found=dict(found))


def _value(
    value: Any, key: str, policy: Policy, found: Counter[str], depth: int
) -> Any:
    if depth > _DEEPEST:
        raise InputError(f"metadata is nested deeper than {_DEEPEST}")
    if isinstance(value, Mapping):
        return {
            _text(k, "", policy, found) if isinstance(k, str) else k: _value(
                inner, k if isinstance(k, str) else "", policy, found, depth + 1
            )
            for k, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_value(inner, key, policy, found, depth + 1) for inner in value]
    if isinstance(value, str):
        return _text(value, key, policy, found)
    if isinstance(value, int) and not isinstance(value, bool):
        read = _text(str(value), key, policy, found)
        return value if read == str(value) else read
    return value


def _text(text: str, key: str, policy: Policy, found: Counter[str]) -> str:
    """A string as it may be stored, on its own and as the value of its key."""
    read = redact(text, policy)
    if key and read.text == text:
        lead = f"{key}: "
        named = redact(lead + text, policy)
        if named.text.startswith(lead):
            read = Redacted(text=named.text[len(lead) :], found=named.found)
    found.update(read.found)
    return read.text
