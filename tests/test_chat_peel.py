"""From a reply to its value: what is lost on the way is no answer."""

import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from hmem.chat.peel import LONGEST, CutOff, Unreadable, value_of
from tests.forms import many

A = {"text": "Noor keeps bees", "importance": 6}
B = {"text": "Noor lives in Ghent", "importance": 4}
ONE = {"facts": [A]}
TWO = {"facts": [A, B]}
KEYS = {"facts", "text", "importance"}


def said(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# --------------------------------------------------------------------- decorations

ROUND = {
    "nothing": said(TWO),
    "a fence": f"```json\n{said(TWO)}\n```",
    "a fence without a name": f"```\n{said(TWO)}\n```",
    "a fence that is not closed": f"```json\n{said(TWO)}",
    "prose": f"Here are the facts:\n\n{said(TWO)}\n\nTell me if you need more!",
    "prose with a mark": f"As said [1] and [see there]: {said(TWO)} [2]",
    "a date in brackets": f"[2024-05-02 09:00] {said(TWO)}",
    "a mark of order": f"\ufeff{said(TWO)}\u200b",
    "thought": f"<think>Bees {{maybe}} ...</think>\n{said(TWO)}",
    "thought with a draft": f"<think>{said(ONE)}?</think>{said(TWO)}",
    "thought under another name": f"<thinking>hm</thinking>{said(TWO)}",
    "reasoning": f"<reasoning effort='low'>hm</reasoning>\n{said(TWO)}",
    "thought in capitals": f"[THINK]{said(ONE)}[/THINK]{said(TWO)}",
    "thought in diamonds": f"◁think▷{said(ONE)}◁/think▷{said(TWO)}",
    "thought that began in the prompt": f"so {said(ONE)}, or {{x}}?</think>{said(TWO)}",
    "thought about thought": f"<think>no <think> here</think>{said(TWO)}",
    "thought in thought": f"<think>a<think>b</think>c</think>{said(TWO)}",
    "thought after": f"{said(TWO)}\n<think>was that all",
    "thought, then a fence": f"<think>a</think>```json\n{said(TWO)}\n```",
    "channels": "<|channel|>analysis<|message|>" + said(ONE) + "<|end|><|start|>"
    f"assistant<|channel|>final<|message|>{said(TWO)}",
    "quotes round it": json.dumps(said(TWO)),
    "the schema before": said({"type": "object", "properties": {"facts": {}}})
    + said(TWO),
    "itself again": f"{said(TWO)}\n{said(TWO)}",
    "raw line ends": said(TWO).replace("keeps bees", "keeps\nbees"),
}


@pytest.mark.parametrize("name", sorted(ROUND))
def test_what_stands_round_the_json_is_peeled_off(name: str) -> None:
    expected = json.loads(said(TWO))
    if name == "raw line ends":
        expected["facts"][0]["text"] = "Noor keeps\nbees"
    assert value_of(ROUND[name]) == expected
    assert value_of(ROUND[name], keys=KEYS) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Noor writes <think> and </think> by hand",
        "```json is a fence```",
        'Noor said "{x}" [y]',
        "<think>",
        "</think>",
    ],
)
def test_what_looks_like_a_decoration_inside_a_string_stays(text: str) -> None:
    value = {"facts": [{"text": text}, {"text": "after"}]}
    for reply in (said(value), f"```json\n{said(value)}\n```", f"Sure: {said(value)}"):
        assert value_of(reply) == value


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        " \n",
        "null",
        "\ufeff",
        "```json\n```",
        "<think>hm</think>",
        "<think>only {a} thought",
        f"<think>{said(ONE)}",
        [{"type": "thinking", "text": "hm"}],
        [{"type": "text", "text": ""}],
    ],
)
def test_a_reply_that_says_nothing_is_empty(content: object) -> None:
    with pytest.raises(Unreadable, match=r"^empty$"):
        value_of(content)


def test_a_list_of_nothing_is_an_answer() -> None:
    assert value_of('```json\n{"facts": []}\n```') == {"facts": []}
    assert value_of("[]") == []


# ----------------------------------------------------------------- values and parts


@pytest.mark.parametrize("content", [TWO, [A, B], {"facts": (A, B)}])
def test_a_value_that_was_read_already_passes(content: object) -> None:
    assert value_of(content) == json.loads(json.dumps(content))


def test_the_text_of_parts_is_joined_without_their_reasoning() -> None:
    parts = [
        {"type": "reasoning", "text": said(ONE)},
        {"type": "text", "text": said(TWO)[:20]},
        {"type": "output_text", "text": said(TWO)[20:]},
    ]
    assert value_of(parts) == TWO
    facts = [{"type": "semantic", "text": "Noor keeps bees"}]
    assert value_of(facts) == facts, "facts with a type are no parts"


@pytest.mark.parametrize(
    "content",
    [
        7.5,
        True,
        b'{"facts": []}',
        {1: "a"},
        '{"a\nb": 1}',
        {"a": {1, 2}},
        {"a": object()},
        "7",
        '"x"',
    ],
)
def test_what_is_no_json_value_is_unreadable(content: object) -> None:
    with pytest.raises(Unreadable):
        value_of(content)


def test_a_value_that_holds_itself_is_unreadable() -> None:
    loop: dict[str, Any] = {}
    loop["a"] = loop
    with pytest.raises(Unreadable, match="deep"):
        value_of(loop)


def test_numbers_that_are_none_become_none() -> None:
    huge = "9" * 5_000
    text = f'{{"a": [NaN, Infinity, -Infinity, 1e999, {huge}, -{huge}, 7, 1.5]}}'
    assert value_of(text) == {"a": [None] * 6 + [7, 1.5]}
    assert value_of({"a": [float("nan"), 10**400, 7]}) == {"a": [None, None, 7]}


def test_halves_of_characters_are_joined_or_replaced() -> None:
    value = value_of('{"a": "x\\ud83d\\ude42y", "b": "\\ud800z", "\\udc00": 1}')
    assert value == {"a": "x🙂y", "b": "\ufffdz", "\ufffd": 1}
    assert value_of('{"a": "\ud83d\ude42 \ud800"}') == {"a": "🙂 \ufffd"}
    assert value_of({"a": "\ud800"}) == {"a": "\ufffd"}
    json.dumps(value, ensure_ascii=False).encode()


# ------------------------------------------------------------------- several values


def test_objects_with_the_same_list_are_joined() -> None:
    assert value_of(f"{said(ONE)}\n{said({'facts': [B]})}") == TWO
    assert value_of(f"a: {said(ONE)} b: {said(TWO)}") == TWO, "an item once"
    noted = {"facts": [B], "note": "x"}
    assert value_of(said(ONE) + said(noted)) == {**TWO, "note": "x"}


def test_objects_one_after_the_other_are_a_list() -> None:
    lines = "\n".join(said({**one, "entities": ["Noor"]}) for one in (A, B))
    assert value_of(lines) == [{**A, "entities": ["Noor"]}, {**B, "entities": ["Noor"]}]
    assert value_of("[1, 2] " + said([A]) + said([B])) == [A, B]


@pytest.mark.parametrize(
    "text",
    [
        said(ONE) + said(B),  # a list, and one fact beside it
        said(ONE) + said([B]),
        said(A) + said({"place": "Ghent"}),
    ],
)
def test_values_that_do_not_go_together_are_unreadable(text: str) -> None:
    with pytest.raises(Unreadable, match="not alike"):
        value_of(text)


def test_a_list_said_twice_under_one_key_is_joined() -> None:
    assert value_of(f'{{"facts": [{said(A)}], "facts": [{said(B)}]}}') == TWO
    assert value_of('{"a": 1, "a": 1}') == {"a": 1}


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": 1, "a": true}'])
def test_a_key_with_two_values_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable, match="twice"):
        value_of(text)


# ------------------------------------------------------------------------- cut off


@pytest.mark.parametrize(
    "before", ["", "```json\n", "Sure:\n", "<think>a</think>", said(ONE) + "\n"]
)
def test_a_reply_cut_anywhere_inside_its_json_is_cut_off(before: str) -> None:
    whole = json.dumps(TWO, ensure_ascii=False, indent=1)
    for at in range(1, len(whole)):
        with pytest.raises(CutOff):
            value_of(before + whole[:at])
    assert value_of(before + whole) == TWO


def test_lines_in_a_fence_that_is_not_closed_are_cut_off() -> None:
    with pytest.raises(CutOff):
        value_of(f"```json\n{said(A)}\n{said(B)}\n")


def test_a_reply_whose_front_is_missing_is_unreadable() -> None:
    whole = said({"facts": [A, B, {"text": "c", "entities": []}]})
    for at in range(1, len(whole)):
        with pytest.raises(Unreadable):
            value_of(whole[at:])


@pytest.mark.parametrize(
    "text", ['ance": 3, "entities": [], "quote": "c', 'a", "b", []']
)
def test_a_piece_from_the_middle_is_not_taken_for_an_empty_list(text: str) -> None:
    with pytest.raises(Unreadable, match="pieces"):
        value_of(text)


# --------------------------------------------------------------------------- slips

SLIPS = {
    "quotes of Python's": str({"facts": [{"text": "Noor's bees", "x": None}]}),
    "words of Python's": '{"facts": [{"text": "Noor\'s bees", "x": None}]}',
    "commas at the end": '{"facts": [{"text": "Noor\'s bees", "x": null,},],}',
    "a comma missing": '{"facts": [{"text": "Noor\'s bees"\n "x": null}]}',
    "names without quotes": '{facts: [{text: "Noor\'s bees", x: null}]}',
}


@pytest.mark.parametrize("name", sorted(SLIPS))
def test_a_slip_is_mended(name: str) -> None:
    expected = {"facts": [{"text": "Noor's bees", "x": None}]}
    assert value_of(SLIPS[name], keys={"facts", "text", "x"}) == expected
    assert value_of(f"Sure: ```{SLIPS[name]}``` there") == expected


def test_quotes_inside_a_string_are_kept() -> None:
    text = '{"facts": [{"text": "Noor said "hi" to me", "importance": 5}]}'
    assert value_of(text) == {
        "facts": [{"text": 'Noor said "hi" to me', "importance": 5}]
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"facts": [{"text": "Noor keeps bees, "importance": 5}]}',
        '{"facts": [{"text": "said "hi", then left", "importance": 5}]}',
        '{"facts": [{"text": Noor keeps bees, "importance": 5}]}',
        '{"facts": ["Noor""["Ghent", "Maya"]}',
        '{"facts": ["Noor"["Noor", "Ghent"]}',
        '{"facts": [{"text": "a"}, "importance": 5]}',
        '{"facts": [{"text": "a", // the first\n "importance": 5}]}',
        '{"facts": [{"text": "a"}]} and {more}',
        '{"facts": [{"text": "a"}}]',
        '{"facts": nul}',
        '{"facts": [{"text": "5" nail"}]}',
    ],
)
def test_a_slip_that_can_be_read_in_two_ways_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        value_of(text)


def test_mending_brings_no_key_that_was_not_asked_for() -> None:
    text = '{"facts": [{"text": "a", "then": "left",}]}'
    assert value_of(text) == {"facts": [{"text": "a", "then": "left"}]}
    with pytest.raises(Unreadable):
        value_of(text, keys=KEYS)
    assert value_of(text.replace(",}", "}"), keys=KEYS), "what is valid is not judged"


# ------------------------------------------------------------------------- hostile

N = LONGEST // many(8, 4)
HOSTILE: dict[str, Callable[[], str]] = {
    "brackets": lambda: "[" * N,
    "braces": lambda: "{" * N,
    "deep, and closed": lambda: "[" * 40_000 + "]" * 40_000,
    "rather deep": lambda: "[" * 40 + "]" * 40,
    "keys": lambda: '{"a":' * (N // 5),
    "quotes": lambda: '{"a": "' + '"' * N,
    "quotes and blanks": lambda: '{"a":"' + ('"' + " " * 100) * (N // 101),
    "quotes and lines": lambda: '{"a":"' + '"\n' * (N // 2),
    "backslashes": lambda: '{"a":"' + "\\" * N,
    "thoughts": lambda: "<think>" * (N // 7),
    "ends of thoughts": lambda: "{</think>" * (N // 9),
    "less than": lambda: "<" * N,
    "ends": lambda: "] " * (N // 2),
    "ten megabytes": lambda: '{"facts": ["' + "x" * 10_000_000 + '"]}',
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_reply_is_unreadable_and_soon(name: str) -> None:
    text = HOSTILE[name]()
    began = time.process_time()
    with pytest.raises(Unreadable) as caught:
        value_of(text)
    assert time.process_time() - began < 10.0, "no more than linear in its length"
    assert len(str(caught.value)) < 60


def test_many_values_are_joined_soon() -> None:
    count = N // 20
    text = "".join(f'{{"a": [{i}]}}' for i in range(count))
    assert value_of(text) == {"a": list(range(count))}


# --------------------------------------------------------------------- 1,000 of them

TALE: dict[str, Any] = {
    "facts": [
        {
            "text": "Noor keeps bees in Ghent, with her sister's help",
            "importance": 6,
            "when": None,
            "entities": ["Noor", "Ghent"],
            "quote": "I keep bees: two hives",
            "turns": [0, 1],
        },
        {
            "text": 'On 2024-05-02 Noor sold 3.5 kg of "spring" honey {wild}',
            "importance": 4,
            "when": "2024-05-02",
            "entities": ["Noor"],
            "quote": "sold, not kept",
            "turns": [2],
        },
        {
            "text": "Noor likes café crème [iced] and tea",
            "importance": 3,
            "when": None,
            "entities": [],
            "quote": "café crème",
            "turns": [3],
        },
    ]
}
NAMES = ("facts", "text", "importance", "when", "entities", "quote", "turns")
STRUCTURE = re.compile(r"[\"']\s*[:,]\s*[\"'\[{]|[\"']\s*[\]}]\s*,?\s*[\"'\[{]")
PIECES = (
    *"{}[]\",:'\\ \nx<>`1-",
    *("<think>", "</think>", "```", "null", "NaN", "None", "\ud800", "\0", "//c\n"),
    *('{"text":"x"}', '"', '""', ',"text":"x"', "]}", '"}'),
)
AROUND = (
    ("```json\n", "\n```"),
    ("```json\n", ""),
    ("Sure! ", "\nHope this helps [1]."),
    ('<think>a {b} "c"</think>', ""),
    ("", "<think>x"),
    ("", "</think>"),
    ("<think>", ""),
)


Mutation = Callable[[random.Random, str, int, int], str]


def _mark(rng: random.Random, text: str, at: int, to: int) -> str:
    at = rng.choice([i for i, c in enumerate(text) if c in '{}[]",:'] or [0])
    return text[:at] + rng.choice(["", '"', "'", ",", "}", "]"]) + text[at + 1 :]


def _around(rng: random.Random, text: str, at: int, to: int) -> str:
    before, after = rng.choice(AROUND)
    return before + text + after


def _value(rng: random.Random, text: str, at: int, to: int) -> str:
    old = rng.choice(('"importance": 6', "[0, 1]", '"when": null'))
    return text.replace(old, rng.choice(('"importance": "six"', '"#1"', "{}", "-1")))


MUTATIONS: tuple[Mutation, ...] = (
    lambda rng, text, at, to: text[:at],
    lambda rng, text, at, to: text[at:],
    lambda rng, text, at, to: text[:at] + text[at + 1 :],
    lambda rng, text, at, to: text[:at] + rng.choice(PIECES) + text[at:],
    lambda rng, text, at, to: text[:at] + text[to:],
    lambda rng, text, at, to: text[:to] + text[at:to] + text[to:],
    lambda rng, text, at, to: text.replace('"', "'"),
    lambda rng, text, at, to: text.replace('\\"', '"'),
    *(_mark, _around, _value),
)


def mutated(rng: random.Random, text: str) -> str:
    """The reply with one thing wrong."""
    at = rng.randrange(len(text) + 1)
    to = min(len(text), at + rng.randrange(60))
    return rng.choice(MUTATIONS)(rng, text, at, to)


def reading(text: str) -> Any:
    """The text as JSON is read everywhere, lists under one key joined; None if it is none."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            had = made.setdefault(key, value)
            if isinstance(had, list) and isinstance(value, list):
                made[key] = had + [item for item in value if item not in had]
            elif had != value:
                raise ValueError("twice")
        return made

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=lambda _: None)
    except ValueError:
        return None


def keys_in(value: Any) -> Counter[str]:
    """How often each known key occurs."""
    if isinstance(value, list):
        return sum((keys_in(item) for item in value), Counter())
    if not isinstance(value, dict):
        return Counter()
    own = Counter(key for key in value if key in NAMES)
    return sum((keys_in(item) for item in value.values()), own)


def strings_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [s for item in value.values() for s in strings_in(item)]
    if isinstance(value, list):
        return [s for item in value for s in strings_in(item)]
    return [value] if isinstance(value, str) else []


def fate(text: str, keys: set[str] | None) -> str:
    """What became of a mutated reply. Fails where something was lost."""
    try:
        value = value_of(text, keys=keys)
    except Unreadable:
        return "unreadable"
    if value == TALE:
        return "whole"
    plain = reading(text)
    if plain is not None:
        assert json.dumps(value) == json.dumps(plain).replace("\\ud800", "\\ufffd")
        return "another"
    told = Counter({n: len(re.findall(rf"\b{n}[\"']?\s*:", text)) for n in NAMES})
    assert keys_in(value) == +told, text
    assert not [s for s in strings_in(value) if STRUCTURE.search(s)], text
    assert not told["facts"] or isinstance(value, dict)
    return "mended"


def test_a_mutated_reply_is_whole_or_unreadable() -> None:
    """HMEM_LONG=1 runs 10,000."""
    fates: Counter[str] = Counter()
    for seed in range(10_000 if os.environ.get("HMEM_LONG") else 1_000):
        rng = random.Random(seed)
        text = json.dumps(
            TALE, ensure_ascii=rng.random() < 0.3, indent=rng.choice([None, 1])
        )
        for _ in range(rng.choice([1, 1, 1, 2])):
            text = mutated(rng, text)
        fates[fate(text, set(NAMES) if seed % 2 else None)] += 1
    print(fates)  # noqa: T201 - what the long form is run for
    assert fates["whole"] + fates["mended"] > fates.total() / 10
    assert set(fates) == {"whole", "another", "mended", "unreadable"}


def test_a_reply_cut_at_each_byte_is_whole_or_unreadable() -> None:
    for indent in (None, 1):
        raw = json.dumps(TALE, ensure_ascii=False, indent=indent).encode()
        for at in range(len(raw)):
            with pytest.raises(Unreadable):
                value_of(raw[:at].decode("utf-8", "surrogateescape"))
        assert value_of(raw.decode()) == TALE
