"""Personal data by its own form: e-mail, phone, IBAN, national numbers. Pure; linear.

A national number counts where its form and its check digit say so, or its name stands
before it. Names, birthdays and street addresses are not looked for: they cannot be told
from other words reliably, and they are what a memory is for.
"""

import re
from collections.abc import Callable, Iterator

from hmem.privacy.checks import luhn, mod97, verhoeff, weighted
from hmem.privacy.spans import Span
from hmem.privacy.view import View

# ------------------------------------------------------------------------ e-mail

_LOCAL = re.compile(r"[\w.%+\-]{1,64}\Z")
_DOMAIN = re.compile(
    r"(?:[\w\-]{1,63}\.){1,6}(?:[^\W\d_]{2,24}|xn--[\w\-]{2,59})(?![\w\-@])"
)


def emails(view: View) -> Iterator[Span]:
    """name@host.tld; not git@host:path."""
    plain, at = view.plain, view.plain.find("@")
    while at >= 0:
        domain = _DOMAIN.match(plain, at + 1)
        if domain is not None:
            local = _local(plain, at)
            remote = plain[domain.end() : domain.end() + 1] == ":" and local == "git"
            if local and not remote:
                yield Span(at - len(local), domain.end(), "email")
        at = plain.find("@", at + 1)


def _local(plain: str, at: int) -> str:
    start = at
    while start > max(0, at - 64) and (
        plain[start - 1].isalnum() or plain[start - 1] in "._%+-"
    ):
        start -= 1
    return plain[start:at].lstrip(".-%")


# ------------------------------------------------------------------------ phones

_INTERNATIONAL = re.compile(
    r"(?<![\w+.])(?<!\d )(?:\+|00(?=[1-9]))\d(?:[ \-./()]{0,2}\d){6,14}(?![\w@])"
)
_AMERICAN = re.compile(
    r"(?<![\w.+\-/])(?:\([2-9]\d\d\) ?|[2-9]\d\d([\-. ]))[2-9]\d\d(?(1)\1|[\-. ])\d{4}(?![\w\-]|\.\d)"
)
_CALLED = re.compile(
    r"\b(?:phone|telephone|tel|mobile|cell|cellphone|whatsapp|handy|call (?:me|him|her|us)"
    r"|text (?:me|him|her|us)|number)\b\.?(?: (?:is|at|on|under|no\.?|number|nr\.?|=))*"
    r"[ :#]{1,3}(\+?\(?\d(?:[ \-./()]{0,2}\d){6,14})(?![\w@%]|[.,:]\d)"
)
_FEWEST = 6
_ISO_DAY = re.compile(r"(?:19|20)\d\d[\-./ ]\d{1,2}[\-./ ]\d{1,2}")


def phones(view: View) -> Iterator[Span]:
    """Numbers with a country code, in the American form, or called a phone's."""
    if view.digits < _FEWEST:
        return
    for match in _INTERNATIONAL.finditer(view.plain):
        if match[0][0] == "+" or re.search(r"[ \-./()]", match[0]):
            yield Span(*match.span(), "phone")
    for match in _AMERICAN.finditer(view.plain):
        yield Span(*match.span(), "phone")
    for match in _CALLED.finditer(view.low):
        if _ISO_DAY.match(match[1]) is None:
            yield Span(*match.span(1), "phone")


# -------------------------------------------------------------------------- IBAN

_COUNTRIES = {  # by the length of their accounts
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS",
    23: "AE GI IL",
    24: "AD CZ ES MD PK RO SA SE SK TN",
    25: "PT",
    26: "IS TR",
    27: "FR GR IT MC SM",
    28: "AL AZ CY DO GT HU LB PL",
    29: "BR EG PS QA UA",
    30: "JO KW",
    31: "MT",
}
_IBAN_LENGTHS = {c: n for n, names in _COUNTRIES.items() for c in names.split()}
_IBAN = re.compile(r"(?<![a-z0-9])[a-z]{2}\d\d(?=[ \-]?[a-z0-9])")
_IBAN_CHAR = re.compile(r"[ \-\n]{0,2}([a-z0-9])")


def ibans(view: View) -> Iterator[Span]:
    """Bank accounts: a country, its length, and the two check digits."""
    for match in _IBAN.finditer(view.low) if view.digits >= _FEWEST else ():
        end, code = match.end(), match[0].upper()
        for _ in range(_IBAN_LENGTHS.get(code[:2], 4) - 4):
            char = _IBAN_CHAR.match(view.low, end)
            if char is None:
                break
            end, code = char.end(), code + char[1].upper()
        if len(code) == _IBAN_LENGTHS.get(code[:2], 0) and mod97(code):
            yield Span(match.start(), end, "iban")


# -------------------------------------------------------------- national numbers

Check = Callable[[str], bool]


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())


def _plain(text: str) -> str:
    return "".join(c for c in text if c.isalnum()).upper()


def _dni(text: str) -> bool:
    code = _plain(text).translate(str.maketrans("XYZ", "012", ""))
    body = {"X": "0", "Y": "1", "Z": "2"}.get(_plain(text)[0], _plain(text)[0])
    number = int(body + code[1:8])
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == _plain(text)[-1]


def _nir(text: str) -> bool:
    code = _digits(text)
    return 97 - int(code[:13]) % 97 == int(code[13:])


def _cpf(text: str) -> bool:
    code = _digits(text)
    if len(set(code)) == 1:
        return False
    for length in (9, 10):
        weights = tuple(range(length + 1, 1, -1))
        if weighted(code, weights) * 10 % 11 % 10 != int(code[length]):
            return False
    return True


def _chinese(text: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return "10X98765432"[weighted(text[:17], weights) % 11] == text[-1].upper()


def _ahv(text: str) -> bool:
    code = _digits(text)
    return -weighted(code[:12], (1, 3) * 6) % 10 == int(code[12])


def _fiscal(text: str) -> bool:
    """Codice fiscale: its characters in odd places count by a table of their own."""
    values = [int(c) if c.isdigit() else ord(c) - ord("A") for c in text.upper()]
    total = sum(_FISCAL_ODD[v] if n % 2 == 0 else v for n, v in enumerate(values[:15]))
    return total % 26 == values[15]


_FISCAL_ODD: tuple[int, ...] = (
    *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18),
    *(20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
)


def _swedish(text: str) -> bool:
    code = _digits(text)[-10:]
    return 1 <= int(code[2:4]) <= 12 and luhn(code)


_NATIONAL: tuple[tuple[str, Check], ...] = (
    (
        r"(?<![\w\-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w\-])",
        lambda _: True,
    ),
    (r"\b(?:[xyz][\- ]?\d{7}|\d{8})[\- ]?[a-hj-np-tv-z]\b", _dni),
    (
        r"\b(?!bg|gb|nk|kn|tn|nt|zz)[a-ceghj-prstw-z][a-ceghj-nprstw-z](?: ?\d\d){3} ?[a-d]\b",
        lambda _: True,
    ),
    (r"\b[12] ?\d\d ?(?:0[1-9]|1[0-2]) ?(?:\d\d|2[ab]) ?\d{3} ?\d{3} ?\d\d\b", _nir),
    (r"\b\d{3}\.\d{3}\.\d{3}-\d\d\b", _cpf),
    (r"\b[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d\d{3}[\dx]\b", _chinese),
    (r"\b756\.?\d{4}\.?\d{4}\.?\d\d\b", _ahv),
    (r"\b[2-9]\d{3} \d{4} \d{4}\b", lambda t: verhoeff(_digits(t))),
    (r"\b[a-z]{6}\d\d[a-ehlmprst]\d\d[a-z]\d{3}[a-z]\b", _fiscal),
    (r"\b(?:19|20)?\d{6}[\-+]\d{4}\b", _swedish),
)
_PATTERNS = tuple((re.compile(pattern), check) for pattern, check in _NATIONAL)
_NAMED = re.compile(
    r"\b(?:ssn|social security(?: (?:number|no\.?))?|national (?:id|insurance)"
    r"(?: (?:number|no\.?))?|passport(?: (?:number|no\.?))?|tax (?:id|number)|steuer-?id"
    r"|bsn|pesel|dni|nif|nie|cpf|aadhaar|identity card(?: (?:number|no\.?))?"
    r"|driv(?:er'?s|ing) licen[cs]e(?: (?:number|no\.?))?)(?: is|:|=|#)? {0,2}"
    r"([a-z]{0,3}[ \-]?\d(?:[ \-./]?[a-z0-9]){5,17})\b"
)


def national_ids(view: View) -> Iterator[Span]:
    """Numbers that a state gives to a person."""
    if view.digits < _FEWEST:
        return
    for pattern, check in _PATTERNS:
        for match in pattern.finditer(view.low):
            if check(match[0]):
                yield Span(*match.span(), "national_id")
    for match in _NAMED.finditer(view.low):
        yield Span(*match.span(1), "national_id")
