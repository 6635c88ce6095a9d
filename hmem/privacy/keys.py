"""Secrets known by their own look: keys with a known beginning, JSON Web Tokens, private
keys, webhooks. Pure; linear in the text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hmem.privacy.spans import Span, is_random
from hmem.privacy.view import View


class _Shape(NamedTuple):
    """A key: its first characters, the fewest that follow them, and as many as it has
    when it is whole. `exact`: it never has more."""

    prefix: str
    least: int
    whole: int
    exact: bool = False


_SHAPES = (
    # models
    _Shape("sk-", 12, 48),
    _Shape("sk_", 16, 40),
    _Shape("gsk_", 16, 52),
    _Shape("hf_", 16, 34),
    _Shape("api_org_", 16, 34),
    _Shape("r8_", 16, 37),
    _Shape("xai-", 16, 80),
    _Shape("pplx-", 16, 48),
    _Shape("nvapi-", 16, 64),
    _Shape("tvly-", 16, 32),
    _Shape("pcsk_", 16, 70),
    _Shape("lsv2_pt_", 16, 43),
    _Shape("lsv2_sk_", 16, 43),
    _Shape("jina_", 16, 60),
    _Shape("AIza", 30, 35),
    _Shape("ABSK", 40, 128),
    # code and packages
    *(_Shape(f"gh{c}_", 16, 36) for c in "pousr"),
    _Shape("github_pat_", 16, 82),
    _Shape("glpat-", 16, 20),
    *(_Shape(f"gl{c}-", 16, 20) for c in ("dt", "rt", "ptt", "ft", "soat", "cbt")),
    _Shape("npm_", 20, 36),
    _Shape("pypi-", 20, 150),
    _Shape("rubygems_", 20, 48),
    _Shape("dckr_pat_", 16, 27),
    _Shape("ATATT3", 24, 180),
    _Shape("ATBB", 24, 32),
    _Shape("lin_api_", 16, 40),
    _Shape("figd_", 16, 40),
    _Shape("secret_", 24, 43),
    _Shape("ntn_", 24, 46),
    _Shape("PMAK-", 20, 59),
    _Shape("sntrys_", 20, 100),
    _Shape("sntryu_", 20, 64),
    _Shape("glsa_", 20, 41),
    _Shape("glc_", 20, 60),
    _Shape("phx_", 20, 43),
    _Shape("NRAK-", 20, 27),
    # clouds and hosting
    *(_Shape(f"A{c}", 16, 16, exact=True) for c in ("KIA", "SIA", "BIA", "CCA")),
    _Shape("GOCSPX-", 16, 28),
    _Shape("ya29.", 20, 100),
    _Shape("1//0", 30, 96),
    _Shape("dop_v1_", 20, 64),
    _Shape("doo_v1_", 20, 64),
    _Shape("dor_v1_", 20, 64),
    _Shape("hvs.", 20, 24),
    _Shape("hvb.", 20, 24),
    _Shape("dapi", 32, 32),
    _Shape("dp.pt.", 20, 43),
    _Shape("pscale_tkn_", 16, 43),
    _Shape("pscale_pw_", 16, 43),
    _Shape("sbp_", 20, 40),
    _Shape("HRKU-", 20, 36),
    _Shape("fo1_", 20, 43),
    _Shape("CFPAT-", 20, 43),
    _Shape("AGE-SECRET-KEY-1", 40, 58),
    # payment and mail
    _Shape("rk_live_", 12, 24),
    _Shape("rk_test_", 12, 24),
    _Shape("whsec_", 16, 32),
    _Shape("rzp_live_", 12, 14),
    _Shape("sq0atp-", 16, 22),
    _Shape("sq0csp-", 16, 43),
    _Shape("EAAA", 40, 60),
    *(_Shape(f"shp{c}_", 16, 32) for c in ("at", "ss", "ca", "pa")),
    _Shape("SG.", 30, 66),
    _Shape("key-", 32, 32),
    _Shape("xkeysib-", 20, 81),
    _Shape("SK", 32, 32),
    # chat
    *(_Shape(f"xox{c}-", 12, 50) for c in "abeoprs"),
    _Shape("xapp-", 16, 90),
)
_BODY = re.compile(r"[A-Za-z0-9_\-.=/+]*")
_HEX = re.compile(r"[0-9a-f]+")
_HEX_ONLY = frozenset(("SK", "key-", "dapi"))
"""Beginnings that words have too: what follows must be hexadecimal."""


def known_keys(view: View) -> Iterator[Span]:
    """Keys with a known beginning."""
    for shape in [shape for shape in _SHAPES if shape.prefix in view.plain]:
        at = view.plain.find(shape.prefix)
        while at >= 0:
            found, goes_on = _key(view.plain, at, shape)
            if found is not None:
                yield found
            at = view.plain.find(shape.prefix, goes_on)


def _key(plain: str, at: int, shape: _Shape) -> tuple[Span | None, int]:
    """The key that begins at `at`, if it is one, and where to look on."""
    begins = at + len(shape.prefix)
    match = _BODY.match(plain, begins)
    end = match.end() if match else begins
    if _inside_a_word(plain, at, shape.prefix):
        return None, max(end, begins)
    end = begins + len(plain[begins:end].rstrip(".=/+-" if end < len(plain) else "./"))
    end = _grown(plain, at, end, shape)
    body = "".join(plain[begins:end].split())
    if not _is_key(body, shape):
        return None, max(end, begins)
    return Span(at, end, "api_key"), end


def _inside_a_word(plain: str, at: int, prefix: str) -> bool:
    before = plain[at - 1] if at else " "
    if before.isalnum():
        return True
    return before in "_-" and len(prefix) < 5


def _is_key(body: str, shape: _Shape) -> bool:
    if len(body) < shape.least or (shape.exact and len(body) != shape.whole):
        return False
    if shape.prefix in _HEX_ONLY:
        return len(body) == shape.whole and _HEX.fullmatch(body) is not None
    if shape.exact:
        return body.isupper() and body.isalnum()
    return is_random(body)


# ------------------------------------------------------- keys with breaks in them

_CHUNK = re.compile(r"[ \t]{0,4}\r?\n?[ \t>]{0,4}([A-Za-z0-9_\-=/+]{3,})")
_MOST_CHUNKS = 40


def _grown(plain: str, at: int, end: int, shape: _Shape) -> int:
    """The end of a key that line breaks or blanks cut into pieces: while it is shorter
    than such a key is, pieces that are no words are taken to belong to it."""
    begins, step = at + len(shape.prefix), end - at
    body = end - begins
    for _ in range(_MOST_CHUNKS):
        chunk = _CHUNK.match(plain, end)
        if chunk is None or chunk.start(1) == end or body >= shape.whole:
            break
        piece = chunk[1]
        grouped = len(piece) == step and not (piece.isalpha() and piece.islower())
        capitals = shape.exact and piece.isupper() and body + len(piece) <= shape.whole
        if not (grouped or capitals or is_random(piece, least=4)):
            break
        body += len(piece)
        end = chunk.end(1)
    return end


# ------------------------------------------------------------ JSON Web Tokens

_JWT = re.compile(r"eyJ[\w-]{8,}+(?:\.[\w-]*+){2,4}")
_JWT_PART = re.compile(r"[\w\-.]{4,}")
_SPACES = re.compile(r"\s{1,4}")


def web_tokens(view: View) -> Iterator[Span]:
    """Tokens of the form header.payload.signature, also with line breaks in them."""
    plain, at = view.plain, view.plain.find("eyJ")
    while at >= 0:
        end = at + 3
        if not (at and (plain[at - 1].isalnum() or plain[at - 1] in "_-.")):
            end = _web_token_end(plain, at)
            joined = "".join(plain[at:end].split())
            if _JWT.fullmatch(joined) and joined.count(".") >= 2:
                yield Span(at, end, "jwt")
        at = plain.find("eyJ", end)


def _web_token_end(plain: str, at: int) -> int:
    """Where the token ends that begins at `at`, its broken-off pieces taken in."""
    match = _JWT_PART.match(plain, at)
    end = match.end() if match else at + 3
    for _ in range(_MOST_CHUNKS):
        gap = _SPACES.match(plain, end)
        piece = _JWT_PART.match(plain, gap.end()) if gap else None
        if piece is None or not (
            is_random(piece[0], least=8) or (piece[0][0] == "." and len(piece[0]) > 8)
        ):
            break
        end = piece.end()
    while plain[end - 1] == "." and plain.count(".", at, end) > 2:
        end -= 1
    return end


# ---------------------------------------------------------------- private keys

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BASE64_RUNS = re.compile(r"(?:\s|\\[nr]|[A-Za-z0-9+/=]{20,}+)*+")
_MOST_PEM = 20_000
_LEAST_PEM = 40


def private_keys(view: View) -> Iterator[Span]:
    """PEM blocks of private keys, also cut off before their end. A heading alone is no
    secret."""
    plain, at = view.plain, 0
    while (begin := _BEGIN.search(plain, at)) is not None:
        at = begin.end()
        until = plain.find("-----", at, at + _MOST_PEM)
        end = _END.match(plain, until) if until >= 0 else None
        body_end = until if end is not None else _runs_end(plain, at)
        body = re.sub(r"\s|\\[nr]", "", plain[at:body_end])
        if len(body) >= _LEAST_PEM and not body.startswith("..."):
            at = end.end() if end is not None else body_end
            yield Span(begin.start(), at, "private_key")


def _runs_end(plain: str, at: int) -> int:
    runs = _BASE64_RUNS.match(plain, at, at + _MOST_PEM)
    return runs.end() if runs else at


# -------------------------------------------------------- webhooks and the rest

_PLACES = (  # (what must be in the text, the secret, its kind)
    (
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+\-]{10,}+)",
        "webhook",
    ),
    (
        "/webhooks/",
        r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/(\d{6,25}/[\w\-]{16,}+)",
        "webhook",
    ),
    (
        "webhook.office.com",
        r"webhook\.office\.com/(webhookb2/[\w\-@/]{20,}+)",
        "webhook",
    ),
    ("hooks.zapier.com", r"hooks\.zapier\.com/hooks/catch/([\w/]{8,}+)", "webhook"),
    (":AA", r"(?<![\w:])(\d{8,10}:AA[\w\-]{32,34})(?![\w\-])", "token"),  # Telegram
    ("-us", r"(?<![\w.])([0-9a-f]{32}-us\d{1,2})(?!\w)", "api_key"),  # Mailchimp
    (
        "Q~",
        r"(?<![\w~.\-])([\w.\-]{3}\dQ~[\w~.\-]{31,34})(?![\w~])",
        "api_key",
    ),  # Entra
    ("prv", r"(?<!\w)([xyz]prv[1-9A-HJ-NP-Za-km-z]{90,120})(?!\w)", "private_key"),
)
_PATTERNS = tuple((part, re.compile(regex), kind) for part, regex, kind in _PLACES)
_DISCORD = re.compile(r"[MNO][\w\-]{22,27}\.[\w\-]{6,7}\.[\w\-]{27,45}")


def places(view: View) -> Iterator[Span]:
    """Webhooks and other secrets known by where they stand or how they are built."""
    plain = view.plain
    for part, pattern, kind in _PATTERNS:
        for match in pattern.finditer(plain) if part in plain else ():
            yield Span(match.start(1), match.end(1), kind)
    dot = plain.find(".")
    while dot >= 0:  # a bot's token of Discord's: its first part ends at a dot
        start = dot
        while start > max(0, dot - 29) and _is_token_char(plain[start - 1]):
            start -= 1
        token = _DISCORD.match(plain, start) if 23 <= dot - start <= 28 else None
        if token is not None:
            yield Span(*token.span(), "token")
        dot = plain.find(".", dot + 1)


def _is_token_char(char: str) -> bool:
    return char.isalnum() or char in "_-"
