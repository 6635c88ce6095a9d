"""A client for one OpenAI-compatible endpoint, which is told nothing but what we say.

Imports openai: only the rooms that ask an endpoint import this, and they are loaded late.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import openai

from hmem.errors import ConfigError

OPENAI: Final = "https://api.openai.com/v1"
MOVED: Final = ": it has moved, and is not followed (HMEM_BASE_URL)"
"""What is said of an endpoint that answers with a redirection."""
_CONNECT: Final = 10.0
_BUSY: Final = frozenset({408, 409, 425, 429})
_SLUG: Final = re.compile(r"[a-z][a-z0-9_]{0,40}")
_HEADERS: Final = re.compile(
    r"host|accept.*|connection|content-(?:type|length)|user-agent|authorization|"
    r"idempotency-key|x-stainless-.*",
    re.IGNORECASE,
)


def passes(status: int) -> bool:
    """Whether the same request may fare better later: the server is busy or broken, and
    not one that lacks what is asked of it (501)."""
    return status in _BUSY or (status >= 500 and status != 501)


def checked_address(
    base_url: str | None,
    api_key: str | None,
    *,
    whose: str,
    setting: str = "Config.base_url (HMEM_BASE_URL)",
) -> str:
    """The address to send to; no base_url: OpenAI's own, which needs a key. Raises
    ConfigError. `whose` names the model, `setting` what its address is set by."""
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise ConfigError(f"the key of {whose} (HMEM_API_KEY) cannot stand in a header")
    if base_url is None:
        if not api_key:
            raise ConfigError(
                f"{whose} needs HMEM_API_KEY, or HMEM_BASE_URL for an endpoint of your "
                "own"
            )
        return OPENAI
    address = base_url.strip().rstrip("/")
    try:
        url = urlsplit(address)
        sound = url.scheme in ("http", "https") and url.hostname and url.port != 0
        sound = sound and address.isprintable() and " " not in address
    except ValueError as e:
        raise ConfigError(f"{setting} is no address") from e
    if not sound:
        raise ConfigError(f"{setting} must begin with http:// or https://")
    return address


def make_client(
    address: str,
    key: str | None,
    *,
    timeout: float,
    max_retries: int,
    on_response: Sequence[Callable[[Any], Awaitable[None]]] = (),
) -> openai.AsyncOpenAI:
    """A client that sends to the address alone: redirections are not followed, and no
    variable of the SDK's is read for the address or the key, nor sent as a header.
    `timeout` is per attempt, in seconds."""
    sent = key or "none"

    async def ours(request: Any) -> None:
        for name in [name for name in request.headers if not _HEADERS.fullmatch(name)]:
            del request.headers[name]
        request.headers["authorization"] = f"Bearer {sent}"

    limits = openai.Timeout(timeout, connect=min(timeout, _CONNECT))
    return openai.AsyncOpenAI(
        base_url=address,
        api_key=sent,
        timeout=limits,
        max_retries=max_retries,
        http_client=openai.DefaultAsyncHttpxClient(
            timeout=limits,
            follow_redirects=False,
            event_hooks={"request": [ours], "response": list(on_response)},
        ),
    )


def code_word(e: openai.APIStatusError) -> str:
    """The endpoint's code, after a comma, if it is one word: anything else may quote what
    was sent."""
    code = e.code
    return f", {code}" if isinstance(code, str) and _SLUG.fullmatch(code) else ""
