"""Files for `hmem add --file`: what they are taken for, and batches that can be sent twice."""

import json
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.cli.transcript import (
    Batch,
    Form,
    batches,
    decode,
    form_of,
    parse,
    with_ids,
)

HELLO = {"role": "user", "content": "hello"}
SEED = {"session_id": "s1"}


def read(text: str, form: Form | None = None, longest: int = 1_000) -> list[Any]:
    return parse(text, "talk", form=form, longest=longest)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        pytest.param('[{"role": "user"}]', "json", id="list"),
        pytest.param('\n \t[ "hello" ]', "json", id="list after blanks"),
        pytest.param('{"role": "user"}\n', "jsonl", id="object"),
        pytest.param("  {", "jsonl", id="broken object"),
        pytest.param("Met Ana.\n[sic]", "text", id="words"),
        pytest.param('"quoted" words', "text", id="a quote"),
        pytest.param("", "text", id="nothing"),
    ],
)
def test_the_first_character_tells_what_a_file_is(text: str, form: str) -> None:
    assert form_of(text) == form


def test_a_list_a_line_each_and_one_object_over_several_lines_are_the_same() -> None:
    assert read(json.dumps([HELLO])) == [HELLO]
    assert read(json.dumps([HELLO], indent=2)) == [HELLO]
    assert read(json.dumps(HELLO)) == [HELLO]
    assert read(json.dumps(HELLO, indent=2)) == [HELLO]
    line = json.dumps(HELLO)
    assert read(f"{line}\n\n  \n{line}\r\n") == [HELLO, HELLO]


def test_a_line_separator_inside_a_string_ends_no_line() -> None:
    said = {"role": "user", "content": "one\u2028two\x85three"}
    line = json.dumps(said, ensure_ascii=False)
    assert read(f"{line}\n{line}") == [said, said]


def test_paragraphs_are_messages_and_lines_within_stay_together() -> None:
    text = "\n\nOne line\nand its second.\r\n\r\n \t \nTwo.\n\n\n   Three, indented.\n"
    assert read(text) == ["One line\nand its second.", "Two.", "   Three, indented."]
    assert read(" \n\n \t\n") == []


def test_a_paragraph_that_is_too_long_is_cut_at_a_blank() -> None:
    words = " ".join(f"word{n}" for n in range(50))
    cut = read(words, longest=40)
    assert all(len(part) <= 40 for part in cut)
    assert " ".join(part.strip() for part in cut) == words
    assert read("x" * 95, longest=40) == ["x" * 40, "x" * 40, "x" * 15]


def test_a_form_that_is_named_holds() -> None:
    assert read("[12:30] Ana: hello", form="text") == ["[12:30] Ana: hello"]
    assert read('"one"\n"two"', form="jsonl") == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "form", "says"),
    [
        pytest.param("[1, 2", None, r"talk is not JSON \(.* at line 1", id="cut off"),
        pytest.param("[12:30] Ana: hi", None, "--format says", id="a chat log"),
        pytest.param('{"a": 1}\n{"a": \n', None, "line 2 of talk is not", id="a line"),
        pytest.param('{"a": 1}', "json", "must hold a JSON list, not an", id="object"),
        pytest.param("17", "json", "not a single value", id="number"),
        pytest.param("[" * 100_000, None, "cannot be read", id="nested"),
        pytest.param("[" + "9" * 10_000 + "]", None, "cannot be read", id="a number"),
    ],
)
def test_what_is_broken_is_named_and_not_quoted(
    text: str, form: Form | None, says: str
) -> None:
    with pytest.raises(click.ClickException, match=says) as raised:
        read(text, form=form)
    assert raised.value.exit_code == 2
    assert "Ana" not in raised.value.message
    assert ("--format" in raised.value.message) is (form is None)


def test_a_file_that_is_not_utf_8_is_named() -> None:
    assert decode("\ufeffhéllo".encode(), "talk") == "héllo"
    with pytest.raises(click.ClickException, match=r"talk is not UTF-8 \(at byte 1\)"):
        decode(b"h\xe9llo", "talk")


# ---------------------------------------------------------------------------- batches


def cut(entries: list[Any], *, size: int = 3, seed: object = SEED) -> list[Batch]:
    return list(batches(entries, size=size, seed=seed))


entries = st.lists(st.sampled_from(["ok", "yes", HELLO, {"role": "user"}]), max_size=20)


@given(entries, st.integers(1, 7))
def test_batches_hold_every_entry_once_in_order_under_different_keys(
    said: list[Any], size: int
) -> None:
    found = cut(said, size=size)
    assert [entry for batch in found for entry in batch.entries] == said
    assert all(len(batch.entries) <= size for batch in found)
    assert len({batch.key for batch in found}) == len(found)
    assert cut(said, size=size) == found


@given(entries, st.lists(st.just("more"), min_size=1, max_size=5))
def test_a_file_that_grew_gives_the_same_batches_up_to_its_last(
    said: list[Any], more: list[str]
) -> None:
    before, after = cut(said), cut(said + more)
    whole = len(said) // 3
    assert after[:whole] == before[:whole]
    assert not {b.key for b in after[whole:]} & {b.key for b in before}


def test_where_it_goes_is_part_of_the_key() -> None:
    keys = {
        cut(["ok"], seed=seed)[0].key
        for seed in ({"session_id": "s1"}, {"session_id": "s2"}, {"infer": False})
    }
    assert len(keys) == 3


@given(entries)
def test_each_message_without_an_id_gets_one_of_its_own(said: list[Any]) -> None:
    given_ids = [message["id"] for message in with_ids(said)]
    assert len(set(given_ids)) == len(said)
    assert [m["id"] for m in with_ids([*said, "more"])][:-1] == given_ids


def test_an_id_that_is_there_stays_and_a_str_becomes_a_message() -> None:
    mine = {**HELLO, "id": 7}
    first, second, third = with_ids([mine, "hello", {**HELLO, "id": None}])
    assert first == mine
    assert (second["role"], second["content"]) == ("user", "hello")
    assert third["id"].startswith("file:")
    assert mine == {**HELLO, "id": 7}
