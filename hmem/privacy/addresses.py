"""Secrets in URLs, connection strings, HTTP headers and command lines. Pure; linear."""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator

from hmem.privacy.spans import Span
from hmem.privacy.values import is_key, is_password
from hmem.privacy.view import View

_USER_INFO = re.compile(r"://([^\s/:@\"'<>]{0,80}):([^\s/\"'<>]{1,256}+)")
_TOKEN_ALONE = re.compile(r"://([A-Za-z0-9_\-]{20,256})@")
_PARAMETER = re.compile(
    r"[?&](?:key|sig|code|auth|hash|x-(?:amz|goog)-(?:signature|security-token))="
    r"([\w%+/\-.~]{16,1024}+)"
)
_BEARER = re.compile(r"bearer[ \t:]{1,3}\"?([a-z0-9._~+/\-]{8,2000}+=*)")
_BASIC = re.compile(r"basic[ \t]{1,3}([a-z0-9+/]{8,512}+={0,2})")
_COMMAND = re.compile(
    r"\b(?:curl\b[^\n|]{0,160}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,64}:"
    r"|sshpass -p ?|mysql(?:dump)?\b[^\n|]{0,80}?\s-p)(?!\[redacted:)([^\s\"']{4,128})"
)
_COOKIE = re.compile(r"cookie:[ \t]*([^\n]{1,2000})")
_CRUMB = re.compile(r"=([\w%+/\-.~]{16,1000})")


def in_addresses(view: View) -> Iterator[Span]:
    """Passwords in URLs and connection strings, keys among a URL's parameters."""
    plain = view.plain
    if "://" not in plain:
        return
    for match in _USER_INFO.finditer(plain):
        value, at, _ = match[2].rpartition("@")
        if at and is_password(value, joint="url", quoted=True, after=""):
            yield Span(match.start(2), match.start(2) + len(value), "password")
    for match in _TOKEN_ALONE.finditer(plain):
        if is_key(match[1], joint="url"):
            yield Span(match.start(1), match.end(1), "token")
    for match in _PARAMETER.finditer(view.low):
        if is_key(plain[match.start(1) : match.end(1)], joint="url"):
            yield Span(match.start(1), match.end(1), "token")


def in_headers(view: View) -> Iterator[Span]:
    """Bearer and basic authorisation, cookies, passwords on a command line."""
    low = view.low
    if "bearer" in low or "cookie:" in low:
        yield from _tokens(view)
    for match in _BASIC.finditer(low) if "basic" in low else ():
        if _is_user_and_password(view.plain[match.start(1) : match.end(1)]):
            yield Span(match.start(1), match.end(1), "password")
    for match in _COMMAND.finditer(low) if " -" in low else ():
        yield Span(match.start(1), match.end(1), "password")


def _tokens(view: View) -> Iterator[Span]:
    found = [match.span(1) for match in _BEARER.finditer(view.low)]
    for match in _COOKIE.finditer(view.low):
        crumbs = _CRUMB.finditer(view.low, *match.span(1))
        found += [crumb.span(1) for crumb in crumbs]
    for start, end in found:
        value = view.plain[start:end].rstrip(".")
        if is_key(value, joint="assigned"):
            yield Span(start, start + len(value), "token")


def _is_user_and_password(value: str) -> bool:
    """Whether it is the base64 of user:password."""
    try:
        said = b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (Base64Error, UnicodeDecodeError):
        return False
    return ":" in said and said.isprintable()
