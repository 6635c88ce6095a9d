"""What an endpoint's refusal means. Its words are read here and never passed on: they may
quote what was sent."""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Literal

import openai

from hmem.endpoint import MOVED, code_word
from hmem.errors import LLMError, LLMFault

# What a server says when it will not take this input; other settings may pass.
_REFUSED = frozenset({400, 413, 422})
_SETUP = frozenset({401, 402, 403, 404, 405})
_BUSY = frozenset({409, 425, 429, 503, 529})
_LONGEST_WAIT = 3_600.0
_WORDS = 4_000
"""Characters of a refusal that are looked at."""

_TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|maximum context|too many tokens|n_ctx|"
    r"(?:prompt|input|request) (?:is )?too (?:long|large)|reduce the length"
)
_FORM = re.compile(
    r"response.?format|json.?schema|json.?object|json.?mode|structured.?output|guided|"
    r"grammar|unsupported.?parameter|word 'json'"
)
_TEMPERATURE = re.compile(
    r"temperature\W.{0,80}(?:support|allow|valid|default|must|positive)"
)

_LENGTHS = re.compile(r"max_?length")

Quirk = Literal["temperature", "max_tokens", "maxLength"]


def quirk(e: openai.APIStatusError, sent: Mapping[str, object]) -> Quirk | None:
    """What this server wants left out, or under another name."""
    if e.status_code not in (400, 422):
        return None
    words = _words(e)
    if _TOO_LONG.search(words):
        return None
    if "max_tokens" in sent and "max_completion_tokens" in words:
        return "max_tokens"
    if _LENGTHS.search(words) and "maxLength" in str(sent.get("response_format")):
        return "maxLength"
    named = e.param == "temperature" or _TEMPERATURE.search(words)
    return "temperature" if "temperature" in sent and named else None


def filtered(e: openai.APIStatusError) -> bool:
    """Whether a filter in front of the model declined."""
    return e.status_code in _REFUSED and "content_filter" in (e.code or "")


def fault(e: openai.APIStatusError, *, model: str, formatted: bool) -> LLMError:
    """The endpoint's status as an error that names the setting to look at. `formatted`:
    a form of JSON was asked for."""
    why = _why(e, formatted=formatted)
    return LLMError(
        f"the chat endpoint answered {e.status_code}{code_word(e)}{_hint(e, why, model)}",
        why=why,
        retryable=why not in ("form", "too_long", "input"),
        retry_after=retry_after(e.response.headers) if why == "busy" else None,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, as the server says; None where it says nothing sensible."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return min(seconds, _LONGEST_WAIT) if seconds >= 0.0 else None
    try:
        when = parsedate_to_datetime(headers["retry-after"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, when - time.time()), _LONGEST_WAIT)


def _why(e: openai.APIStatusError, *, formatted: bool) -> LLMFault:
    status, words = e.status_code, _words(e)
    if status == 413 or (status in _REFUSED and _TOO_LONG.search(words)):
        return "too_long"
    if status in _REFUSED and formatted and _FORM.search(words):
        return "form"
    if (
        status in _SETUP
        or status < 400
        or (status == 429 and "quota" in (e.code or ""))
    ):
        return "setup"
    if status in _BUSY:
        return "busy"
    return "down" if status >= 500 or status == 408 else "input"


def _hint(e: openai.APIStatusError, why: LLMFault, model: str) -> str:
    """Where to look, for what a setting can mend."""
    if why != "setup":
        return ""
    if e.status_code in (401, 403):
        return ": check HMEM_API_KEY"
    if e.status_code in (402, 429):
        return ": its quota is used up (HMEM_API_KEY)"
    if e.status_code < 400:
        return MOVED
    return (
        f": check HMEM_BASE_URL (it mostly ends in /v1), and whether it serves "
        f"{model!r} (HMEM_LLM)"
    )


def _words(e: openai.APIStatusError) -> str:
    """What the endpoint said, for looking into alone."""
    return e.response.text[:_WORDS].lower()
