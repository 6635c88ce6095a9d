"""A context block that comes back is recognised, and what people write is not eaten."""

import random
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmem.render import Line, pack
from hmem.truth.echo import MARK, strip_echo, texts_of
from tests.forms import many

DAY = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
FACTS = (
    "Lives in Paris",
    "Has a dog named Rex (a beagle)",
    "Works at Acme",
    "Answer in French",
    "\u4f4f\u5728\u5df4\u9ece \u5e76\u517b\u72d7",
)
TURNS = ("we signed the lease yesterday!", "ok", "call me at 5: it's urgent", "1 or 2?")


def block(seed: int) -> str:
    """A block as `hmem.render` makes it: of several days, or with something that only a
    block has."""
    rng = random.Random(seed)
    before = (("Lives in London", DAY - timedelta(days=400), DAY),)
    lines = [
        Line(
            id=f"m{n}",
            kind="memory",
            text=rng.choice(FACTS),
            at=DAY - timedelta(days=rng.randint(0, 60)),
            stable=rng.random() < 0.2,
            before=before if rng.random() < 0.3 else (),
            event="2026-03" if rng.random() < 0.3 else "",
        )
        for n in range(rng.randint(1, 6))
    ]
    lines += [
        Line(
            id=f"t{n}",
            kind="turn",
            text=rng.choice(TURNS),
            at=DAY - timedelta(days=rng.randint(0, 60)),
            speaker=rng.choice(("Maya", "user", "Dr. Lee")),
            pending=rng.random() < 0.3,
        )
        for n in range(rng.randint(1, 6))
    ]
    return pack(lines, max_tokens=2_000).text


WRAPPED = {
    "bare": str,
    "indented": lambda b: "".join(f"    {x}\n" for x in b.splitlines()),
    "quoted": lambda b: "".join(f"> {x}\n" for x in b.splitlines()),
    "quoted twice": lambda b: "".join(f">> {x}\n" for x in b.splitlines()),
    "bullets": lambda b: "".join(f"- {x}\n" for x in b.splitlines()),
    "blank lines": lambda b: b.replace("\n", "\n\n"),
    "crlf": lambda b: b.replace("\n", "\r\n"),
    "cut at the front": lambda b: b[b.index("[") :],
    "cut at the end": lambda b: b[:-2],
}


@pytest.mark.parametrize("wrap", sorted(WRAPPED))
@pytest.mark.parametrize("seed", range(20))
def test_every_line_of_a_block_is_recognised(seed: int, wrap: str) -> None:
    shown = WRAPPED[wrap](block(seed))
    before, after = "Here is what I know:\n", "\nI moved to Oslo.\n1. milk"
    read = strip_echo(before + shown + after)
    left = [line for line in read.text.splitlines() if line.strip()]
    assert left == ["Here is what I know:", "I moved to Oslo.", "1. milk"]
    assert read.lines == sum(bool(line.strip()) for line in shown.splitlines())
    assert strip_echo(read.text).lines == 0


@pytest.mark.parametrize("seed", range(20))
def test_a_part_of_a_block_from_any_day_on_is_recognised(seed: int) -> None:
    lines = block(seed).splitlines()
    days = [n for n, line in enumerate(lines) if line.startswith("[")]
    for start in days:
        part = "\n".join(lines[start:])
        if any(": " in line for line in lines[start:]):
            assert strip_echo(part).text == ""


def test_a_block_in_json_is_recognised() -> None:
    text = '{"memories": "' + block(3).replace("\n", "\\n") + '"}'
    read = strip_echo(text)
    assert read.lines > 2
    assert "Maya" not in read.text
    assert "Paris" not in read.text


def test_words_before_the_first_day_of_a_block_are_kept() -> None:
    text = "Context: [14 March 2026]\n1 Lives in Paris\n2 Maya: hello\nbye"
    assert strip_echo(text).text == "Context: \nbye"


@pytest.mark.parametrize(
    "text",
    [
        "1. milk\n2. eggs\n3. bread",
        "1) call Bo\n2) call Ann",
        "1 egg\n2 cups of flour\n3 spoons of sugar",
        "[14 March 2026]\nWent to the dentist. It hurt.",
        "[14 March 2026]\n- Went to the dentist\n- Bought milk",
        "[14 March 2026]\n1. Went to the dentist\n2. Bought milk",
        "[14 March 2026]\n1 egg\n2 cups of flour",
        "14 March 2026\n1 Went to the dentist\n2 Bought milk",
        "[2026-03-14]\n1 Went to the dentist\n2 Bought milk",
        "[14.3.2026]\n1 Went to the dentist\n2 Bought milk",
        "[March 14, 2026]\n1 Went to the dentist\n2 Bought milk",
        "[14 March 2026] I went to the dentist",
        "[31 February 2026]\n1 Lives in Paris\n2 Maya: hello",
        "Meeting [14 March 2026]:\n1 Budget\n2 Plans",
        "10 Downing Street\n11 Downing Street",
        "Maya: hello\nTom: hi",
        "[14 March 2026]\n3 Lives in Paris\n7 Maya",
        "I have 2 dogs\n3 cats\nand 4 birds",
        "2024 was good\n2025 was better\n2026 is best",
        "Chapter [1]\n1 The beginning",
        "[14 March 2026]\n\n\nText between\n1 Lives in Paris",
        "",
    ],
)
def test_what_people_write_is_left_alone(text: str) -> None:
    assert strip_echo(text).text == text
    assert strip_echo(text).lines == 0


def test_single_lines_are_recognised_where_the_texts_are_known() -> None:
    stored = {"Lives in Paris", "Has a dog named Rex (a beagle)", "we signed"}

    def known(text: str) -> bool:
        return text in stored

    text = (
        "so:\n1 Lives in Paris\n7 Has a dog named Rex (a beagle) (2026-03)\n"
        "9 Maya: we signed\n10 Downing Street\n[14 March 2026]\n1 Lives in Paris\n"
    )
    read = strip_echo(text, known=known)
    assert read.text == "so:\n10 Downing Street\n"
    assert read.lines == 5
    assert strip_echo("Lives in Paris", known=known).lines == 0


def test_a_mark_behind_the_day_needs_no_other_proof() -> None:
    assert strip_echo("[14 March 2026]\n1 egg").lines == 0
    assert strip_echo(f"[14 March 2026] {MARK}\n1 egg").text == ""


def test_what_a_line_may_show() -> None:
    assert texts_of("Lives in Paris (2026; before: x, 2025-01-01)") == (
        "Lives in Paris (2026; before: x, 2025-01-01)",
        "Lives in Paris",
        "x, 2025-01-01)",
    )
    assert "hello" in texts_of("Maya (pending): hello")


def test_a_long_text_takes_no_long_time() -> None:
    began = time.thread_time()
    for text in (
        "[14 March 2026]\n1 A b\n" * 9_000,
        "[1" * 100_000,
        "1 a\n" * 50_000,
        "> " * 100_000,
        "1 a: (before: " * 14_000,
        "\\n" * 100_000,
        "1 (" * 60_000,
        "[14 March 2026] " * 12_000,
    ):
        strip_echo(text, known=lambda _: False)
    assert time.thread_time() - began < 10.0


@settings(max_examples=many(50, 100), deadline=None)
@given(st.text(st.sampled_from("12 [14 March 2026]\n>-:abA("), max_size=120))
def test_what_is_left_is_made_of_whole_lines(text: str) -> None:
    read = strip_echo(text)
    assert (read.lines == 0) == (read.text == text)
    assert len(read.text) <= len(text)
