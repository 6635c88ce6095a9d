"""How facts are matched, and what is counted of them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bench import truth
from bench.cost import CountingLLM, Tokens, dollars, fixed_prompt, per_turns
from bench.dialogues import Dialogue, parse
from bench.matching import best, calibration, conflict, pairs, same, score, terms
from bench.tokens import count
from bench.truth import Stored
from hmem.prompts import EXTRACT
from hmem.testing.standin import StandInLLM
from tests.bench_talk import TALK, ended, record


@pytest.fixture
def talk() -> Dialogue:
    (one,) = parse(TALK)
    return one


# --------------------------------------------------------------------------- matching


def test_the_matcher_agrees_with_the_pairs_it_was_not_set_on() -> None:
    assert len(pairs()) >= 60
    found = calibration()
    assert found["set_on"] == {"same": "14 of 15", "different": "15 of 15"}
    assert found["checked_on"] == {"same": "14 of 15", "different": "15 of 15"}


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("Bram has two cats", "Bram has three cats", "number"),
        ("Bram lives in Ghent", "Carys lives in Ghent", "subject"),
        ("Bram flew on 2026-05-01", "Bram flew on 2 May 2026", "date"),
        ("Bram flew in May 2026", "Bram flew on 2026-05-02", None),
        ("Bram eats fish", "Bram doesn't eat fish", "negation"),
        ("Bram eats fish", "Carys and Bram eat fish", None),
        ("Bram may come", "Bram comes in March", None),
        ("Bram paid 12,000", "Bram paid 12000 euros", None),
    ],
)
def test_what_keeps_two_texts_from_telling_the_same(
    a: str, b: str, why: str | None
) -> None:
    assert conflict(a, b) == why
    assert not (why and same(a, b))
    assert score(a, b) == score(b, a)


def test_texts_are_taken_apart() -> None:
    found = terms("Noor's sister has not paid 12,000 on 2026-03-02 in Ghent")
    assert found.names == {"noor", "ghent"}
    assert found.numbers == {"12000"}
    assert found.dates == {(2026, 3, 2)}
    assert found.negated
    assert "sister" in found.content
    assert found.subject == "noor"
    assert best(
        "Noor lives in Ghent", ["Noor plays chess", "Noor lives in Ghent now"]
    ) == (1, 1.0)
    assert best("Noor lives in Ghent", []) is None


# ------------------------------------------------------------------------------ truth


def stored(text: str, *said: str, **more: object) -> Stored:
    return Stored(text=text, group="g", said=said, **more)  # type: ignore[arg-type]


def test_recall_precision_junk_and_duplicates_are_counted() -> None:
    facts = [
        stored("Noor moved to Ghent", "Noor: I moved to Ghent"),
        stored("Noor has moved to Ghent", "Noor: I moved to Ghent"),
        stored("Noor plays chess in a club", "Noor: I moved to Ghent"),
        stored("Noor", "Noor: hello"),
        stored(
            "Noor lives in Oslo",
            "Noor: Oslo, live there?",
            never=("Noor lives in Oslo",),
        ),
        stored("Noor moved to Ghent again", "Noor: I moved to Ghent", is_open=False),
    ]
    references = {
        "g": ["Noor moved to Ghent", "Noor keeps bees"],
        "h": ["Noor plays chess"],
    }
    found = truth.scores(facts, references)
    assert found["recall"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["precision"] == 0.5
    assert found["junk"] == {
        "must not be read": 1,
        "not in its sources": 1,
        "says nothing": 1,
    }
    assert found["duplicates"] == 1
    assert found["duplicate_rate"] == 0.2
    assert truth.scores([], {})["precision"] is None


def test_a_date_is_right_when_it_is_the_day_worked_out_by_hand(talk: Dialogue) -> None:
    played = ended(talk)
    assert truth.dates([played])["right"] == 0
    row = played.rows["ghent"]
    row.record = replace(row.record, event_start=datetime(2026, 3, 2, tzinfo=UTC))
    found = truth.dates([played])
    assert (found["with_a_relative_date"], found["right"], found["wrong"]) == (1, 1, [])
    row.record = replace(row.record, event_start=datetime(2026, 3, 1, tzinfo=UTC))
    assert truth.dates([played])["wrong"] == ["talk: ghent (last week)"]
    row.key = None
    assert truth.dates([played])["stored"] == 0


def test_facts_in_other_words_are_matched_to_those_of_their_add(talk: Dialogue) -> None:
    told = record("Noor recently moved to Ghent from Bristol", "x", "2026-03-09")
    assert truth.by_match(told, talk, 1) == "ghent"
    assert truth.by_match(told, talk, 0) is None
    assert (
        truth.by_match(record("Noor plays chess", "x", "2026-01-05"), talk, 0)
        == "chess"
    )


# ------------------------------------------------------------------------------- cost


async def test_calls_and_tokens_are_counted_exactly() -> None:
    llm = CountingLLM(StandInLLM())
    messages = [
        {"role": "system", "content": "You keep a memory."},
        {"role": "user", "content": "NEW TURNS\n"},
    ]
    answer = await llm.complete(messages)
    system, user = (count(m["content"]) for m in messages)
    assert llm.tokens == Tokens(1, system + user, system, count(str(answer.content)))
    assert (llm.model, llm.endpoint) == ("stand-in", "inner:stand-in")


def test_costs_are_per_turns_and_at_stated_prices() -> None:
    tokens = Tokens(calls=5, prompt=10_000, system=8_000, completion=2_000)
    found = per_turns(tokens, 20)
    assert found["per_100_turns"] == {
        "calls": 25.0,
        "prompt_tokens": 50_000,
        "of_them_fixed_prompt": 40_000,
        "completion_tokens": 10_000,
    }
    assert dollars(tokens, (2.5, 10.0)) == pytest.approx(0.045)
    assert found["dollars_per_1000_turns"]["a large hosted model"] == pytest.approx(
        2.25
    )


def test_the_fixed_prompt_is_far_smaller_than_mem0s() -> None:
    found = fixed_prompt(EXTRACT)
    assert found["tokens"] == count(EXTRACT) <= 2_000
    assert found["mem0"]["tokens"] == 8_400
    assert found["share_of_mem0"] < 0.25
