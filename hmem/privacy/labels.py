"""Secrets known by what they are called: "password = ...", "my PIN is ...". Pure.

    label      what is taken behind it
    ---------  --------------------------------------------------------------------------
    password   any one word where it is assigned ("password: dragon"), else what looks like
               a password or stands where the sentence ends ("my password is dragon")
    pass       what looks like a password, where it is assigned
    key        what looks like a key: letters and digits mixed ("the api key is 9f8e7d6c")
    code       3 to 10 digits ("PIN is 4821"), or what looks like a key
    phrase     the words of a pass phrase
    seed       the twelve or more words of a wallet's recovery phrase
    pair       the second half of user:password

Names of settings, types, references ("env.KEY"), placeholders ("<password>") and talk
about passwords ("password reset is broken") are left alone. Linear in the text.
"""

import re
from collections.abc import Iterator

from hmem.privacy.spans import Span
from hmem.privacy.values import Joint, is_code, is_key, is_password, phrase_size
from hmem.privacy.view import View

_LABELS = {
    "phrase": r"pass[ -]?phrase",
    "seed": r"(?:seed|recovery|backup|wallet) (?:phrase|words)|mnemonic|seed",
    "password": (
        r"pass ?words?|passwd|pwd|pass ?code|passwort|kennwort|contrase(?:ñ|n)a"
        r"|mot de passe|senha|wachtwoord|lösenord|hasło|пароль|密码|密碼|パスワード|비밀번호"
    ),
    "key": (
        r"(?:api|access|secret|encryption|signing|account|master|licen[cs]e|product"
        r"|activation|deploy|service|bot|admin|auth|private|wi-?fi|wlan|wpa2?)[ _-]?keys?"
        r"(?:[ _-]id)?|tokens?|secrets?"
    ),
    "code": (
        r"pin(?: ?code| number)?|cvv2?|cvc2?|otp"
        r"|(?:security|verification|one-?time|2fa|mfa|access|door|alarm|gate|lock|safe"
        r"|unlock|entry|recovery|backup|sms) code"
    ),
    "pair": r"credentials?|creds?|logins?|user ?/ ?pass(?:word)?",
    "pass": r"pass|pw",
}
_STEMS = {
    "phrase": ("phrase",),
    "seed": ("seed", "phrase", "words", "mnemonic"),
    "password": (
        *("pass", "pwd", "kennwort", "contrase", "senha", "wachtwoord", "lösenord"),
        *("hasło", "пароль", "密", "パスワード", "비밀번호"),
    ),
    "key": ("key", "token", "secret"),
    "code": ("pin", "cvv", "cvc", "otp", "code"),
    "pair": ("cred", "login", "user"),
    "pass": ("pass", "pw"),
}
_LABEL = {name: re.compile(words) for name, words in _LABELS.items()}
_GLUED = frozenset(("password", "passwd", "passphrase", "apikey", "pwd"))
"""Labels that count within another word too: "dbpassword"."""

_ASSIGNED = re.compile(
    r"(?:[_\-](?:prod|dev|test|staging|live|\w?\d{0,3}))?[\"'`\])\\*]{0,3}[ \t]{0,3}"
    r"(?:=>|:=|={1,2}|:|->|→|\|)\*{0,2}[ \t]{0,3}\n?[ \t]{0,8}"
)
_SAID = re.compile(
    r"(?: (?:for|to|of|on|at|in|there|here|now|again|i|we|you|he|she|they)"
    r"(?: [\w'@\-]{1,30}){0,8}?)?"
    r"(?: is|'s| was| are| es| ist| est| é| ?=>?|:| -)"
    r"(?: (?:now|still|currently|just|always|simply|been|set to|changed to))?:?\s{1,3}"
)
_CHANGED = re.compile(
    r"(?: (?:has|have|had|was|is|been|got|gets|will|be)){0,3}"
    r" (?:changed|set|reset|updated) to:?\s{1,3}"
)
_TO = re.compile(r" (?:to|as):? ")
_NEXT = re.compile(r"[\"'`*]{0,2}\s{1,2}")
_JOINTS: tuple[tuple[Joint, re.Pattern[str]], ...] = (
    ("assigned", _ASSIGNED),
    ("said", _CHANGED),
    ("said", _SAID),
    ("next", _TO),
    ("next", _NEXT),
)


def labelled(view: View) -> Iterator[Span]:
    """Values that stand behind, or before, a word that says what they are."""
    for label, pattern in _LABEL.items():
        if any(stem in view.low for stem in _STEMS[label]):
            yield from _all(view, label, pattern)


def _all(view: View, label: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    at = 0
    while (match := pattern.search(view.low, at)) is not None:
        at = match.end()
        if not _is_label(view, label, match):
            continue
        found = (
            _marked_up(view, label, match)
            or _behind(view, label, match)
            or _before(view, label, match)
        )
        if found is not None:
            yield found
            at = max(at, found.end)


def _is_label(view: View, label: str, match: re.Match[str]) -> bool:
    """Whether the label stands on its own, not in the middle of another word."""
    start, end, plain = match.start(), match.end(), view.plain
    before = plain[start - 1] if start else " "
    after = plain[end] if end < len(plain) else " "
    if after.isascii() and after.isalpha() and after.islower():
        return False
    if not (before.isascii() and before.isalnum()) or match[0] in _GLUED:
        return True
    small = plain[start].islower() or label in ("code", "pass", "seed")
    return not small or not before.isalpha()


_MARKUP = re.compile(r">[ \t]*(?!\[redacted:)([^<>\s]{3,200})\s*</")


def _marked_up(view: View, label: str, match: re.Match[str]) -> Span | None:
    """The value of <password>...</password>."""
    found = _MARKUP.match(view.plain, match.end())
    if found is None or label not in ("password", "key", "phrase", "code"):
        return None
    return Span(found.start(1), found.end(1), _KINDS[label])


def _behind(view: View, label: str, match: re.Match[str]) -> Span | None:
    flag = view.plain[max(0, match.start() - 2) : match.start()] == "--"
    for joint, pattern in _JOINTS:
        gap = pattern.match(view.low, match.end())
        if gap is None:
            continue
        form: Joint = "assigned" if flag and joint == "next" else joint
        if joint == "next" and match[0].startswith("cv"):
            form = "said"
        found = _value(view, gap.end(), label, form)
        if found is not None:
            return found
    return None


# ------------------------------------------------------------------------ values

_QUOTED = re.compile(r"\\?[\"'`](?=\S)([^\"'`\n]{1,200})[\"'`]")
_LONGEST_READ = 300
_WORD = re.compile(rf"[^\s\"`]{{1,{_LONGEST_READ}}}+")
_REST = re.compile(r"[^\s\"`;,&]*")
# Where another setting begins, or the sentence goes on.
_CUT = re.compile(r"[;,&](?=[\s;,&]|$|[\w.\- ]{1,40}[=:])")
_REDACTED = "[redacted:"
_OPENING = "(*_'[{"
_CLOSING = ".,;:!?)]}>'*_\\|"
_DIGITS = re.compile(r"[\"'`]?(\d(?:[ \-]?\d){2,9})(?![\w.,]?\w)")
_WORDS = re.compile(
    r"(?:\d{1,2}[.)] ?)?[a-z]{3,12}(?:[ ,\n]{1,3}(?:\d{1,2}[.)] ?)?[a-z]{3,12}){3,23}"
)
_PAIR = re.compile(r"([\w.@+\-]{1,64}) ?[:/] ?([^\s/]\S{3,127})")
_KINDS = {
    "password": "password",
    "pass": "password",
    "pair": "password",
    "phrase": "password",
    "seed": "seed_phrase",
    "key": "token",
    "code": "pin",
}


def _value(view: View, at: int, label: str, joint: Joint) -> Span | None:
    """The secret that begins at `at`, if one does."""
    match label:
        case "code":
            return _code(view, at, joint) or _word(view, at, "key", joint)
        case "phrase":
            return _phrase(view, at, label, joint) or _word(view, at, "password", joint)
        case "seed":
            return _phrase(view, at, label, joint)
        case "pair":
            return _pair(view, at, joint) or _word(view, at, "key", joint)
        case "pass":
            return None if joint != "assigned" else _word(view, at, "password", "next")
        case _:
            return _word(view, at, label, joint)


def _word(view: View, at: int, label: str, joint: Joint) -> Span | None:
    quoted = _QUOTED.match(view.plain, at)
    found = quoted or _WORD.match(view.plain, at)
    if found is None or found[0].startswith(_REDACTED):
        return None
    place = found.start(1 if quoted else 0)
    value = found[1] if quoted else _CUT.split(found[0], maxsplit=1)[0]
    if not quoted:
        bare = value.lstrip(_OPENING)
        place += len(value) - len(bare)
        value = bare.rstrip(_CLOSING)
    value = value.rstrip("\\")
    end = place + len(value)
    after = view.low[end : end + 48]
    if label == "key":
        credible = is_key(value, joint=joint)
    else:
        credible = is_password(value, joint=joint, quoted=bool(quoted), after=after)
    if not credible:
        return None
    if len(value) == _LONGEST_READ and (rest := _REST.match(view.plain, end)):
        end = rest.end()
    return Span(place, end, _KINDS[label])


def _code(view: View, at: int, joint: Joint) -> Span | None:
    found = _DIGITS.match(view.plain, at)
    if found is None:
        return None
    after = view.low[found.end(1) : found.end(1) + 24]
    if not is_code(found[1], joint=joint, after=after):
        return None
    return Span(found.start(1), found.end(1), "pin")


def _phrase(view: View, at: int, label: str, joint: Joint) -> Span | None:
    found = None if joint == "next" else _WORDS.match(view.low, at)
    size = phrase_size(found[0], seed=label == "seed") if found else 0
    return Span(at, at + size, _KINDS[label]) if size else None


def _pair(view: View, at: int, joint: Joint) -> Span | None:
    found = None if joint == "next" else _PAIR.match(view.plain, at)
    if found is None:
        return None
    value = found[2].rstrip(_CLOSING)
    if not is_password(value, joint="next", quoted=False, after=""):
        return None
    return Span(found.start(2), found.start(2) + len(value), "password")


# ------------------------------------------------------------ "x is my password"

_LEAD = re.compile(
    r"[\"'`]?,? (?:is|was|as|=) (?:my|our|the|his|her|their|its|your|a) (?:[\w\-]{1,20} ){0,2}$"
)
_LAST_WORD = re.compile(r"\S{4,64}\Z")
_TOOL = re.compile(
    r" (?:manager|vault|tool|generator|app|policy|reset|field|hint|weapon)"
)


def _before(view: View, label: str, match: re.Match[str]) -> Span | None:
    """The value of "hunter2 is my password"."""
    begin = max(0, match.start() - 80)
    lead = _LEAD.search(view.low, begin, match.start())
    if lead is None or label == "pair" or _TOOL.match(view.low, match.end()):
        return None
    found = _LAST_WORD.search(view.plain[max(0, lead.start() - 65) : lead.start()])
    value = found[0].strip("\"'`(),") if found else ""
    end = lead.start()
    while value and not view.plain.startswith(value, end - len(value)):
        end -= 1
    if label == "code":
        credible = is_code(value, joint="said", after="")
    elif label == "key":
        credible = is_key(value, joint="said")
    else:
        credible = is_password(value, joint="next", quoted=False, after="")
    return Span(end - len(value), end, _KINDS[label]) if credible else None
