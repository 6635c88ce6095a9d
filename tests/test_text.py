# ruff: noqa: RUF001
"""Cleaning, normalising, the tokeniser, hashes, passages and names."""

import os
import subprocess
import sys
import threading
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hmem import text as text_module
from hmem.text import (
    clean,
    content_hash,
    lexical,
    normalise,
    proper_nouns,
    query_tokens,
    turn_digest,
    words,
)

ANY = st.text(st.characters(exclude_categories=[]))  # surrogates too


def found(stored: str, query: str) -> bool:
    """Whether a query shares a token with a stored text: all that lexical search needs."""
    return bool(set(lexical(stored).tolist()) & set(query_tokens(query).tolist()))


# ------------------------------------------------------------------- normalising


@pytest.mark.parametrize(
    ("text", "same"),
    [
        pytest.param("order ＡＢＣ１２３", "order abc123", id="fullwidth"),
        pytest.param("CAFÉ", "cafe", id="accent"),
        pytest.param("cafe\u0301", "café", id="combining accent"),
        pytest.param("STRASSE", "straße", id="sharp s"),
        pytest.param("Øystein Łukasz", "oystein lukasz", id="stroked letters"),
        pytest.param("İstanbul ısı", "istanbul isi", id="dotted and dotless i"),
        pytest.param("ﬁle №5", "file no5", id="ligature"),
        pytest.param("na\u200bme", "name", id="zero width"),
        pytest.param("\u202eabc\u202c", "abc", id="bidi override"),
        pytest.param("\u2067שלום\u2069", "שלום", id="bidi isolate"),
        pytest.param("\ufeffx\u00ad", "x", id="mark and soft hyphen"),
        pytest.param("שָׁלוֹם", "שלום", id="hebrew points"),
        pytest.param("مُحَمَّد", "محمد", id="arabic marks"),
        pytest.param("كـــتاب", "كتاب", id="tatweel"),
        pytest.param("٣٤ ४२", "34 42", id="digits of other scripts"),
        pytest.param("ﾊﾟﾋﾟ", "パピ", id="halfwidth kana"),
        pytest.param("한국", "한국", id="hangul jamo"),
        pytest.param("👍🏽 ❤️", "👍 ❤", id="skin tone and selector"),
        pytest.param(" a\t\r\n b\u3000c ", "a b c", id="white space"),
        pytest.param("it\u2019s", "it's", id="curly apostrophe"),
        pytest.param("a\0b\x07", "ab", id="control characters"),
        pytest.param("\ud800a", "a", id="lone surrogate"),
    ],
)
def test_texts_that_look_alike_are_one(text: str, same: str) -> None:
    assert normalise(text) == normalise(same)
    assert content_hash(text) == content_hash(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("が", "か", id="kana voice mark"),
        pytest.param("कि", "की", id="vowel sign"),
        pytest.param("ไม่", "ไม", id="thai tone"),
        pytest.param("a ≠ b", "a = b", id="not equal"),
        pytest.param("moved to Paris", "moved to Rome", id="name"),
        pytest.param("5 cats", "6 cats", id="number"),
        pytest.param("she likes it", "she likes it not", id="negation"),
        pytest.param("ab c", "a bc", id="space"),
    ],
)
def test_texts_that_differ_in_meaning_stay_apart(one: str, other: str) -> None:
    assert content_hash(one) != content_hash(other)


@settings(max_examples=300, deadline=None)
@given(ANY)
@example("ΐ")
@example("\u1e9b\u0323")
@example("a \x01 b")
@example("\u3164\u1100\u1161")
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert content_hash(once) == content_hash(text)
    assert once == once.strip()


# ----------------------------------------------------------------------- cleaning


@pytest.mark.parametrize(
    ("text", "held"),
    [
        pytest.param("a\0b", "ab", id="nul"),
        pytest.param("a\ud800b\udc00", "ab", id="lone surrogates"),
        pytest.param("\ud83d\udc1d", "🐝", id="a pair is its character"),
        pytest.param("\ud83d\0\udc1d", "🐝", id="a pair around a nul"),
        pytest.param("\ud83d\ud83d\udc1d!", "🐝!", id="one too many"),
        pytest.param("a\r\n\tb  \n", "a\r\n\tb  \n", id="white space stays"),
        pytest.param(
            "\u202eabc\u200b\ufffe", "\u202eabc\u200b\ufffe", id="the rest stays"
        ),
        pytest.param("👩‍👩‍👧 שלום", "👩‍👩‍👧 שלום", id="emoji and hebrew stay"),
    ],
)
def test_cleaning_drops_only_what_a_store_cannot_hold(text: str, held: str) -> None:
    assert clean(text) == held


@settings(max_examples=200, deadline=None)
@given(ANY)
def test_a_cleaned_text_can_be_stored(text: str) -> None:
    held = clean(text)
    assert held.encode().decode() == held
    assert "\0" not in held
    assert clean(held) == held


# -------------------------------------------------------------------- the tokeniser


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "She was running quickly", ["run", "quick"], id="stems, no function words"
        ),
        pytest.param("Caroline's dogs'", ["carolin", "dog"], id="possessive"),
        pytest.param("they\u2019ve won't don't", ["will"], id="contractions"),
        pytest.param("O'Brien", ["o", "brien"], id="a name with an apostrophe"),
        pytest.param(
            "at 3:30 or 3pm", ["3:30", "3", "30", "3pm", "3", "pm"], id="times"
        ),
        pytest.param("v1.2", ["v1", "v", "1", "2"], id="version"),
        pytest.param("2023-05-08", ["2023-05-08", "2023", "5", "8"], id="date"),
        pytest.param("$1,000 007", ["1000", "7"], id="thousands and zeros"),
        pytest.param(
            "C++ C# node.js", ["c++", "c", "c#", "c", "node", "js"], id="languages"
        ),
        pytest.param("bo@b.com", ["bo", "b", "com"], id="address"),
        pytest.param(
            "snake_case well-known", ["snake", "case", "well", "known"], id="joined"
        ),
        pytest.param(
            "重跑gen-itgc后",
            ["重", "重跑", "跑", "gen", "itgc", "后"],
            id="script border",
        ),
        pytest.param("绿茶", ["绿", "绿茶", "茶"], id="han"),
        pytest.param("🐝🐝 👍🏽", ["🐝", "🐝", "👍"], id="emoji"),
        pytest.param("🇫🇷🇩🇪", ["🇫🇷", "🇩🇪"], id="flags"),
        pytest.param("मैं हिन्दी", ["मैं", "हिन्दी"], id="hindi words stay whole"),
        pytest.param(
            "may will us not", ["may", "will", "us", "not"], id="not function words"
        ),
        pytest.param("To be, or not to be!", ["not"], id="one word is left"),
        pytest.param("What is it?", ["what", "is", "it"], id="nothing else is left"),
        pytest.param("", [], id="empty"),
        pytest.param("  \n", [], id="blank"),
        pytest.param('?! "" - ...', [], id="punctuation"),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        pytest.param("order ＡＢＣ１２３", "ABC123", id="fullwidth"),
        pytest.param("重跑gen-itgc后清零", "itgc", id="latin glued to han"),
        pytest.param("我昨天喝绿茶了", "绿茶", id="two characters of a sentence"),
        pytest.param("我住在北京", "京", id="one character of a sentence"),
        pytest.param("東京タワーへ行く", "タワー", id="katakana"),
        pytest.param("서울에 살아요", "서울", id="korean with its particle"),
        pytest.param("ฉันชอบแมว", "แมว", id="thai"),
        pytest.param("ខ្ញុំចូលចិត្តឆ្មា", "ឆ្មា", id="khmer"),
        pytest.param("ຂ້ອຍມັກແມວ", "ແມວ", id="lao"),
        pytest.param("ကျွန်တော် ကြောင်ကို", "ကြောင်", id="burmese"),
        pytest.param("السَّلامُ عليكم", "السلام", id="arabic marks"),
        pytest.param("\u202bשלום עולם\u202c", "שלום", id="hebrew with bidi controls"),
        pytest.param("na\u200bme", "name", id="zero width"),
        pytest.param("Ёлка в лесу", "елка", id="russian"),
        pytest.param("🐝 is my avatar", "🐝🐝", id="emoji"),
        pytest.param("great 👍🏽", "👍", id="skin tone"),
        pytest.param("a 👩‍👩‍👧 photo", "👧", id="part of a family"),
        pytest.param("price 12€", "€", id="currency"),
        pytest.param("meet at 3:30pm", "3:30", id="time"),
        pytest.param("costs $1,000", "1000", id="thousands"),
        pytest.param("I write C++", "c++", id="c++"),
        pytest.param("runs node.js", "node.js", id="node.js"),
        pytest.param("mail bo@b.com", "b.com", id="address"),
        pytest.param("release v1.2", "1.2", id="version"),
        pytest.param("Caroline’s brother", "caroline", id="possessor"),
        pytest.param("foo AND bar", "foo AND", id="AND"),
        pytest.param("so NOT", "NOT", id="NOT"),
        pytest.param("NEAR( the river", "NEAR(", id="NEAR"),
        pytest.param("(python is fun", "(python", id="parenthesis"),
        pytest.param("memory:safe", "memory:safe", id="colon"),
        pytest.param('say "hi', 'say "hi', id="quote"),
        pytest.param(
            "x OR y user_id", '"x" OR user_id : bob', id="quoted with operators"
        ),
        pytest.param("-flag foo* ^bar", "^bar", id="caret"),
        pytest.param("a\0b", "ab", id="nul"),
        pytest.param("x\ud800y", "xy", id="surrogate"),
        pytest.param("The who", "who", id="function words only, on both sides"),
    ],
)
def test_a_query_finds_its_text(stored: str, query: str) -> None:
    assert found(stored, query)


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        pytest.param(
            "I moved to Paris", "Where is he?", id="function words match nothing"
        ),
        pytest.param("the cat", "dog", id="another word"),
        pytest.param("我喝茶", "咖啡", id="other characters"),
        pytest.param("anything at all", "?!", id="punctuation"),
        pytest.param("anything at all", "", id="nothing"),
    ],
)
def test_a_query_does_not_find_what_it_does_not_say(stored: str, query: str) -> None:
    assert not found(stored, query)


def _is_function_word(word: str) -> bool:
    return words(f"{word} zebra") == ["zebra"]


@settings(max_examples=400, deadline=None)
@given(ANY)
@example("a@b.com 1,000 3:30pm 重跑gen-itgc后")
@example("o'o''s 's't")
@example("1" * 500 + "x" * 500)
def test_every_word_of_a_text_finds_it_and_nothing_raises(text: str) -> None:
    stored = set(lexical(text).tolist())
    assert stored == set(query_tokens(text, limit=10**6).tolist())
    assert len(words(text)) == len(lexical(text))
    for word in normalise(text).split(" "):
        if words(word) and not _is_function_word(word):
            assert stored & set(query_tokens(word).tolist()), word
    proper_nouns(text)
    turn_digest("user", text, text)


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.sampled_from("日本茶がは서울에ไทยแมวខ្ក"), min_size=1, max_size=12),
    st.data(),
)
def test_any_piece_of_a_sentence_without_spaces_finds_it(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    piece = text[start : data.draw(st.integers(start + 1, len(text)))]
    if unicodedata.category(piece[0]).startswith("M"):
        return  # a mark without its letter is no word
    assert found(f"x {text} y", piece)


def test_hashes_are_the_same_everywhere() -> None:
    """They are stored: a change needs a new TOKENISER."""
    assert text_module.TOKENISER == "en1"
    assert lexical("Maya paints at intervals, 绿茶 🐝 3pm").tolist() == GOLDEN
    assert lexical("x").dtype == np.uint32
    assert lexical("").shape == (0,)
    assert content_hash("Maya paints").hex() == GOLDEN_CONTENT
    assert turn_digest("user", "Maya", "Hello").hex() == GOLDEN_TURN


GOLDEN = [
    1700119204,
    1467646999,
    432467915,
    251905625,
    2319494582,
    3984890356,
    2928825237,
    3310413512,
    1842515611,
    1575319276,
]
GOLDEN_CONTENT = "c41191eea1cbeaf8"
GOLDEN_TURN = "8414fcdeed4e97d7"


def test_the_order_and_the_repeats_of_words_are_kept() -> None:
    tokens = lexical("red blue red").tolist()
    assert tokens[0] == tokens[2] != tokens[1]
    assert query_tokens("red blue red").tolist() == tokens[:2]


def test_stemming_from_many_threads_gives_the_same_words() -> None:
    texts = [
        f"{stem}{end}"
        for stem in ("paint", "sail", "walk")
        for end in ("ing", "ed", "ers")
    ]
    texts = [f"{t}{'abcdefghij'[i % 10]}ings" for i in range(400) for t in texts]
    expected = [lexical(t).tolist() for t in texts]
    text_module._stem.cache_clear()
    text_module._hash.cache_clear()
    text_module._hashes_of.cache_clear()
    results: list[list[list[int]]] = []

    def work() -> None:
        results.append([lexical(t).tolist() for t in texts])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_the_optional_stemmer_in_c_is_never_used() -> None:
    """Words hash alike on every install, whatever else is installed."""
    assert type(text_module._stemmer).__module__ == "snowballstemmer.english_stemmer"


def test_the_words_do_not_depend_on_the_locale() -> None:
    program = (
        "from datetime import datetime; from hmem.text import *;"
        "print(lexical('“smart quotes” ✓ Straße 绿茶').tolist());"
        "print(turn_key('hi', speaker='Maya', at=datetime(2023, 5, 8)))"
    )
    env = {
        **os.environ,
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", f"exec({program!a})"],
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    tokens, key = done.stdout.splitlines()
    assert tokens == str(lexical("“smart quotes” ✓ Straße 绿茶").tolist())
    assert key == "(8 May 2023) Maya: hi"
