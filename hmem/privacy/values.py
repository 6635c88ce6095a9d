"""Whether a word behind a label is a secret, or talk about one. Pure."""

import re
from typing import Literal

from hmem.privacy.spans import is_mixed, is_random

Joint = Literal["assigned", "said", "next", "url"]
"""How a value is tied to its label: "password = x", "password is x", "password x", or by
its place in a URL."""

# What is said of passwords, keys and codes, and is none.
_TALK_WORDS = (
    "a about above accepted access account active added again all allowed almost "
    "already also always an and any anybody anyone anything as asked at "
    "authentication available bad based basically because been before being below "
    "better between blank bool boolean both box broken but by bytes cached can "
    "cannot case changed char characters checked clear cleared client code common "
    "complex compromised confidential config configured confirmed correct could "
    "cracked created crucial cursed dead default deprecated different difficult "
    "disabled displayed do does done down easier easy either empty enabled encoded "
    "encrypted enough entered even ever everything exactly expired expiring exposed "
    "fairly false field fields file fine first for forgot forgotten form from "
    "generated gone good great guessable guessed half hard harder has hashed hashing "
    "have he her here hers hidden hint his how i id if ignored important in "
    "incorrect infrastructure input insecure inside instead int integer invalid is "
    "issued it its itself kept key known last later leaked length less letters like "
    "limited literally locked logged login long longer lost managed manager "
    "mandatory many masked maybe me mine minimum missing more most must my name "
    "needed never new next no nobody none not nothing now null number object of off "
    "ok okay old on once one only open optional or other our ours out outdated over "
    "own page password passwords pending permanent personal phrase plain plaintext "
    "please policy pretty private prompt protected provided public quite rarely "
    "rather ready really recovered refused rejected requested required requirements "
    "reset reusable reused revealed revoked right rotated rotating safe salted same "
    "saved screen secret secrets secure see sensitive sent server set settings "
    "shared she short shorter should shown similar simple so some something "
    "somewhere soon still stolen store stored str strength string strong stronger "
    "stuck such supposed sure synced temporary text than that the their theirs them "
    "then there these they thing this those to todo token tokens too tough trivial "
    "true type typed typo unchanged unclear undefined under unique unknown unsafe "
    "until up updated upset us use used useless user username using valid value "
    "varchar vault verification verified very via visible void vulnerable was we "
    "weak well what when where whether which who why will with without working would "
    "written wrong yes yet you your yours"
)
_TALK = frozenset(_TALK_WORDS.split())
_ENDINGS = ("ed", "ing", "able", "ible", "ably", "ly", "ness", "tion", "ment", "less")
_REFERENCE = re.compile(
    r"\$\{|\$\(|\$[A-Za-z_]+\Z|<[\w .\-]*>?\Z|\{\{|\{[\w.]+\}\Z|%\(|%s\Z|%[A-Z_]+%\Z"
    r"|[*\u2022.]{3,}|[xX]{3,}(?:[-_]|\Z)|\[redacted|~/|\.{1,2}/|[A-Za-z]:\\"
    r"|(?:os|sys|process|import|self|this|secrets?|var|props|args|options?|settings)\."
    r"|(?:env|config)(?:[.\[_(]|iron\b)|getenv|(?:None|null|undefined)\b",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+(?:\(.{0,80}\)?)?")
_CALL = re.compile(r"[A-Za-z_][\w.]*\(.{0,200}")
_PLACEHOLDER = re.compile(
    r"(?:(?:your|my|the|new|old|user|some|db|admin|root|current|confirm|hashed|enter)"
    r"[_\- ]?)*(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|api[_\- ]?key|value)s?"
    r"(?:[_\- ]?(?:here|hash|field|input|value|string|id|name))?",
    re.IGNORECASE,
)
_YOURS = re.compile(r"(?:your|insert|replace|enter|example|placeholder)[_\- ]", re.I)
_FILE = re.compile(
    r"[\w.\-/~]{1,200}\.(?:py|js|ts|tsx|json|ya?ml|toml|ini|cfg|md|txt|pem|pub|key|env"
    r"|html?|css|sh|rs|go|java|rb|php|csv|log|png|jpe?g|pdf|docx?)",
    re.IGNORECASE,
)
_TECHNICAL = re.compile(
    r"(?:sha|md|utf|base|aes|rsa|oauth|bcrypt|argon|scrypt|pbkdf|hs|rs|es|ed|http|tls|ipv"
    r"|win|python|java|web|auth|x|v|rfc|iso|fips|nist|cve|p)[\-_]?\d[\w.\-]*"
    r"|\d[\d.,:/\-]*%?|\d+fa[\w\-]*|\d+(?:st|nd|rd|th|px|mb|gb|kb|ms|am|pm|min|h|s|x|k|m|fa|bit|byte)s?"
    r"|1password|\d+[\-_]?(?:char|digit|word|letter|day|hour|minute|week|month|bit|step"
    r"|factor|byte|year)\w*(?:[\-_]\w+)*",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")
_ENDS = re.compile(
    r"[\"'`)\]]{0,2}(?:\s*[.!;,)\n]|\s*$| (?:and|but|or|please|for|on|thanks?)\b)"
)
_GOES_ON = re.compile(r"[ \t]+(?!and\b|user|login|email|for\b|on\b|host|port|db)[a-z]")


def is_password(value: str, *, joint: Joint, quoted: bool, after: str) -> bool:
    """Whether what follows a word for "password" is one. `after`: the text behind it."""
    if len(value) < 3 or is_reference(value) or value.lower() in _TALK:
        return False
    if joint == "url":
        return True
    if _LETTERS.fullmatch(value):
        return _is_plain_password(value, joint=joint, quoted=quoted, after=after)
    if joint == "assigned" or quoted:
        return len(value) > 3 and not _counts(value, after)
    if joint == "said" and value.isdecimal():
        return len(value) > 3 and _ends(after)
    if _TECHNICAL.fullmatch(value):
        return False
    return len(value) > 3 if joint == "said" else len(value) > 5 and _classes(value) > 1


def _is_plain_password(value: str, *, joint: Joint, quoted: bool, after: str) -> bool:
    """Whether a word of letters alone is a password: only where a value must stand."""
    if len(value) < 4 or joint == "next":
        return quoted and len(value) > 3 and is_mixed(value)
    if "-" in value:  # correct-horse-battery, not case-sensitive or up-to-date
        return value.count("-") > 1 and not set(value.lower().split("-")) & _TALK
    if "'" in value or value.lower().endswith(_ENDINGS):
        return joint == "assigned" and "'" not in value and quoted
    if quoted:
        return True
    return _GOES_ON.match(after) is None if joint == "assigned" else _ends(after)


def is_key(value: str, *, joint: Joint) -> bool:
    """Whether what follows a word for "key" or "token" is one."""
    if len(value) < _LEAST_KEY[joint] or is_reference(value):
        return False
    if _TECHNICAL.fullmatch(value) or _SLUG.fullmatch(value):
        return False
    if joint in ("assigned", "said") and any(map(str.isdigit, value)):
        return is_mixed(value)
    return is_random(value)


_LEAST_KEY = {"assigned": 6, "said": 6, "next": 16, "url": 16}
_SLUG = re.compile(r"(?:[a-z]{2,}[-_])+v?\d{1,2}(?:[-_][a-z]+)*|[a-z]+[-_]?v\d{1,2}")
"""A name with a small number in it: "token-2", "clientv2"."""


def is_code(value: str, *, joint: Joint, after: str) -> bool:
    """Whether digits behind "PIN" or "door code" are it, not a count or a pin's number."""
    digits = value.replace(" ", "").replace("-", "")
    if not digits.isdecimal() or not 3 <= len(digits) <= 10:
        return False
    if joint == "next":
        return len(digits) > 3
    return _UNITS.match(after) is None


_UNITS = re.compile(
    r"[ \-]?(?:char|digit|letter|word|symbol|attempt|day|hour|minute|second|time|bit|token"
    r"|item|users?\b|year|percent|%|euro|dollar|usd|eur|st\b|nd\b|rd\b|th\b)"
)


def phrase_size(words: str, *, seed: bool) -> int:
    """How many characters of words in a row are a pass phrase, which ends where one of the
    little words comes that no sentence is without; 0 for none. A `seed` has twelve words,
    or three, six ... more, of a list that has some of these too, and may run over lines."""
    ends: list[int] = []
    talk = 0
    for word in _PLAIN_WORD.finditer(words):
        new_line = ends and "\n" in words[ends[-1] : word.start()]
        if word[0] in _LITTLE or (new_line and not seed):
            break
        ends.append(word.end())
        talk += word[0] in _TALK
    if seed:
        return ends[len(ends) // 3 * 3 - 1] if len(ends) >= _SEED_WORDS else 0
    return ends[-1] if len(ends) >= _PHRASE_WORDS and 3 * talk <= len(ends) else 0


_PHRASE_WORDS = 4
_PLAIN_WORD = re.compile(r"[a-z]+")
_SEED_WORDS = 12
_LITTLE_WORDS = "the and for are was not has had its his her our but with from"
_LITTLE = frozenset(_LITTLE_WORDS.split())


def is_reference(value: str) -> bool:
    """Whether it names where the secret is, or holds its place, and is not the secret."""
    return bool(
        _REFERENCE.match(value)
        or _DOTTED.fullmatch(value)
        or _CALL.fullmatch(value)
        or _PLACEHOLDER.fullmatch(value)
        or _YOURS.match(value)
        or _FILE.fullmatch(value)
        or "://" in value
    )


def _ends(after: str) -> bool:
    return _ENDS.match(after) is not None


def _counts(value: str, after: str) -> bool:
    """Whether a number says how many, not which."""
    return value.isdecimal() and _UNITS.match(after) is not None


def _classes(value: str) -> int:
    """How many of small letters, capitals, digits and signs are in it."""
    return sum(
        any(map(test, value))
        for test in (str.islower, str.isupper, str.isdigit, _is_sign)
    )


def _is_sign(char: str) -> bool:
    return not char.isalnum() and char not in "-'"
