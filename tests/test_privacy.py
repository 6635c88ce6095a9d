"""Secrets are gone, harmless text is untouched, and no text takes long."""

import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmem.errors import InputError
from hmem.privacy import Policy, redact, redact_metadata
from hmem.privacy.checks import is_card, luhn, mod97, verhoeff
from hmem.privacy.view import view
from tests.fakes_of_secrets import ROLES, card, fakes, harmless
from tests.forms import many

FAKES = fakes()
PII = Policy(secrets="off", pii="redact")


def left(text: str, secrets: tuple[str, ...]) -> list[str]:
    """Secrets of which some part can still be read, whatever stands between."""
    bare = "".join(view(text).plain.split())
    return [s for s in secrets if "".join(s.split()) in bare]


# ----------------------------------------------------------------------- secrets


def test_there_are_sixty_fakes_and_two_hundred_harmless_texts() -> None:
    assert len({fake.name for fake in FAKES}) == len(FAKES) >= 60
    assert len(set(harmless())) >= 200


@pytest.mark.parametrize("fake", [pytest.param(f, id=f.name) for f in FAKES])
def test_a_secret_is_gone(fake) -> None:  # type: ignore[no-untyped-def]
    read = redact(fake.text)
    assert left(fake.text, fake.secrets) == list(fake.secrets)
    assert left(read.text, fake.secrets) == []
    assert sum(read.found.values()) >= 1
    assert all(f"[redacted:{kind}]" in read.text for kind in read.found)


@pytest.mark.parametrize("seed", range(20, 30))
def test_other_secrets_of_the_same_kinds_are_gone_too(seed: int) -> None:
    there = {f.name: left(redact(f.text).text, f.secrets) for f in fakes(seed)}
    assert {name: secrets for name, secrets in there.items() if secrets} == {}


def test_all_secrets_in_one_long_text_are_gone_in_every_role() -> None:
    for role in ROLES:
        text = "\n\n".join(f"{role}: {f.text}\nThat was it." for f in FAKES)
        read = redact(text).text
        assert [f.name for f in FAKES if left(read, f.secrets)] == []
        assert read.count("That was it.") == len(FAKES)


def test_harmless_texts_stay_as_they_are() -> None:
    texts = harmless()
    changed = [text for text in texts if redact(text).text != text]
    assert len(changed) <= len(texts) // 100, changed
    assert changed == []


def test_what_stands_around_a_secret_is_kept() -> None:
    text = "I moved to Lyon. My password is Tr0ub4dor&3, and Rex is fine."
    assert redact(text).text == (
        "I moved to Lyon. My password is [redacted:password], and Rex is fine."
    )


@pytest.mark.parametrize("fake", [pytest.param(f, id=f.name) for f in FAKES])
def test_redacting_twice_changes_nothing_more(fake) -> None:  # type: ignore[no-untyped-def]
    once = redact(fake.text).text
    assert redact(once).text == once
    assert redact(once).found == {}


def test_a_secret_is_found_in_the_middle_of_anything() -> None:
    rng = random.Random(3)
    said = "well then maya went to the market with 3 bags and a plan"
    words = said.split()
    for fake in FAKES:
        before = " ".join(rng.choices(words, k=40))
        text = f"{before}.\n{fake.text}\n{before}"
        assert left(redact(text).text, fake.secrets) == [], fake.name


def test_a_key_and_a_password_of_one_line_are_gone() -> None:
    key = "sk" + "-test-FAKE0123456789abcdef"
    read = redact(f"my key is {key}, password = hunter2-FAKE")
    assert read.text == "my key is [redacted:api_key], password = [redacted:password]"
    assert read.found == {"api_key": 1, "password": 1}


# ------------------------------------------------------------------------ policy


def test_off_keeps_everything_and_refuse_keeps_nothing() -> None:
    text = "my password is Tr0ub4dor&3"
    assert redact(text, Policy(secrets="off")).text == text
    with pytest.raises(InputError) as caught:
        redact(text, Policy(secrets="refuse"))
    assert "Tr0ub4dor" not in str(caught.value)
    assert "password" in str(caught.value)
    assert redact("nothing here", Policy(secrets="refuse")).text == "nothing here"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to maya.lin+x@example.co.uk please", "email"),
        ("Call me: +49 (0)30 901820-12", "phone"),
        ("it is (415) 555-2671", "phone"),
        ("415-555-2671 works too", "phone"),
        ("my number is 030 1234567", "phone"),
        ("DE89 3704 0044 0532 0130 00", "iban"),
        ("pay to GB29NWBK60161331926819 now", "iban"),
        ("SSN 219-09-9999", "national_id"),
        ("DNI 12345678Z", "national_id"),
        ("CPF 529.982.247-25", "national_id"),
        ("passport number is C01X00T47", "national_id"),
        ("AHV 756.9217.0769.85", "national_id"),
        ("NI number QQ 12 34 56 C or AB 12 34 56 C", "national_id"),
    ],
)
def test_personal_data_goes_where_the_policy_says_so(text: str, kind: str) -> None:
    assert redact(text).text == text
    read = redact(text, PII)
    assert set(read.found) == {kind}
    assert f"[redacted:{kind}]" in read.text
    with pytest.raises(InputError, match=kind):
        redact(text, Policy(pii="refuse"))


@pytest.mark.parametrize(
    "text",
    [
        "see you @home at 5",
        "git@github.com:maya/hmem.git",
        "version 1.2.3.4567 came out on 2026-03-15",
        "2026-03-15 10:30:00 +0100",
        "DE00 3704 0044 0532 0130 00 has a wrong check digit",
        "12345678A has a wrong letter",
        "order 123-45-678",
        "10.000.000-20 units",
        "call me at 5",
        "range 100-200-3000",
        "ISBN 978-3-16-148410-0",
        "my number is 42",
        "the number is 2026-03-15",
    ],
)
def test_what_only_resembles_personal_data_stays(text: str) -> None:
    assert redact(text, PII).text == text


def test_harmless_texts_stay_under_the_strictest_policy_too() -> None:
    texts = harmless()
    strict = Policy(secrets="redact", pii="redact")
    changed = [text for text in texts if redact(text, strict).text != text]
    assert len(changed) <= len(texts) // 100, changed


# ---------------------------------------------------------------------- metadata


def test_metadata_is_read_to_its_depth_keys_too() -> None:
    number = card("4539", 16, random.Random(1))
    given = {
        "note": "my password is Tr0ub4dor&3",
        "password": "swordfish",
        "deep": [{"api_key": "a1b2c3d4e5f6"}, 7, None, True, 2.5],
        "pin": 4821,
        "card": int(number),
        "gh" + "p_" + "a1B2" * 9: 1,
        "tokens": 512,
        "order": "550e8400-e29b-41d4-a716-446655440000",
    }
    read = redact_metadata(given)
    text = json.dumps(dict(read.values))
    for secret in (
        "Tr0ub4dor",
        "swordfish",
        "a1b2c3d4e5f6",
        "4821",
        number,
        "a1B2a1B2",
    ):
        assert secret not in text
    assert read.values["tokens"] == 512
    assert read.values["order"] == given["order"]
    assert read.values["deep"][1:] == [7, None, True, 2.5]
    assert sum(read.found.values()) == 6


def test_metadata_without_secrets_is_the_same_object() -> None:
    given = {"a": [1, {"b": "fine"}]}
    assert redact_metadata(given).values is given
    with pytest.raises(InputError, match="password"):
        redact_metadata({"password": "swordfish"}, Policy(secrets="refuse"))


# -------------------------------------------------------------- limits and numbers

N = many(100_000, 200_000)
HOSTILE = {
    "letters": "a" * N,
    "labels": "password" * (N // 8),
    "labels apart": "password is " * (N // 12),
    "assignments": "token=" * (N // 6),
    "separators": "password=" + ";a" * (N // 2),
    "urls": "://a:" * (N // 5),
    "prefixes": "sk-" * (N // 3),
    "prefixes apart": "sk- " * (N // 4),
    "web tokens": "eyJabcdefgh1." * (N // 13),
    "digits": "4" * N,
    "digits apart": "4 " * (N // 2),
    "digits dashed": "1-" * (N // 2),
    "begins": "-----BEGIN PRIVATE KEY-----" * (N // 27),
    "ats": "a@" * (N // 2),
    "dots": "x@" + "a." * (N // 2),
    "zero width": "a\u200b" * (N // 2),
    "quotes": 'key="' * (N // 5),
    "blanks": " " * N,
    "lines": "\n" * N,
    "commands": "curl -u a" * (N // 9),
    "phrases": "passphrase: word word " * (N // 22),
    "between": "password for a b c d e f g h " * (N // 29),
    "behind": "abcd is my password " * (N // 20),
    "ibans": "de89 " * (N // 5),
    "logins": "login: a/" * (N // 9),
    "wide": "\uff14" * N,
    "tabs": "4\t" * (N // 2),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_no_text_takes_more_than_linear_time(name: str) -> None:
    """Four times the text may take at most some ten times as long."""
    strict = Policy(secrets="redact", pii="redact")
    text = HOSTILE[name]
    began = time.thread_time()
    redact(text[: N // 4], strict)
    quarter = time.thread_time() - began
    began = time.thread_time()
    redact(text, strict)
    whole = time.thread_time() - began
    assert whole < max(0.5, 10 * quarter)
    assert whole < 10.0


@settings(max_examples=many(80, 200), deadline=None)
@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    read = redact(text, Policy(secrets="redact", pii="redact"))
    assert bool(read.found) == (read.text != text)
    seen = view(text)
    assert len(seen.plain) == len(seen.low)


def test_check_digits_are_checked() -> None:
    assert luhn("79927398713")
    assert not luhn("79927398710")
    assert mod97("GB82WEST12345698765432")
    assert not mod97("GB82WEST12345698765431")
    assert verhoeff("2363")
    assert not verhoeff("2364")
    assert is_card(card("4539", 16, random.Random(2)))
    assert not is_card("4" * 16)


def test_a_number_that_is_called_something_else_is_no_card() -> None:
    number = card("4539", 16, random.Random(4))
    assert redact(f"order number {number}").text == f"order number {number}"
    assert redact(f"id {number[:15]}{(int(number[15]) + 1) % 10}").found == {}
    assert redact(f"card {number}").found == {"card": 1}


def test_every_character_of_small_form_keeps_the_length() -> None:
    everything = "".join(map(chr, range(0x30000)))
    seen = view(everything)
    assert len(seen.plain) == len(seen.low)
