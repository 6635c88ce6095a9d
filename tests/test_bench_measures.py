"""LoCoMo's traps, read from a hand-made file, and what the bench's measures mean."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.locomo_data import CATEGORIES, load, split_evidence
from bench.measure import Outcome, Shown, contains, outcome, summary
from bench.report import asked
from bench.talks import Conversation, Question

DATA = Path(__file__).parent / "data" / "locomo_shape.json"


@pytest.fixture
def talks() -> list[Conversation]:
    return load(DATA)


# ---------------------------------------------------------------------- the data


def test_sessions_come_in_the_order_of_their_numbers(talks: list[Conversation]) -> None:
    assert list(talks[0].sessions()) == [1, 2, 10]
    assert [t.id for t in talks[0].turns][3:5] == ["D2:1", "D2:2"]
    assert talks[0].ended == datetime(2024, 12, 20, 23, 59, tzinfo=UTC)
    assert talks[1].turns[0].at == datetime(2023, 5, 15, 0, 30, tzinfo=UTC)


def test_captions_are_part_of_what_was_said(talks: list[Conversation]) -> None:
    said = talks[0].turns[1].text
    assert said == "How was the shop? [photo: a photo of a lighthouse under snow]"


def test_evidence_is_split_and_what_names_no_turn_is_dropped() -> None:
    known = {"D8:6", "D9:17", "D1:1"}
    given = ["D8:6; D9:17", "D9:17, D1:1", "D", "D:11:26", "D30:05"]
    assert split_evidence(given, known) == (
        ("D8:6", "D9:17", "D1:1"),
        ("D", "D:11:26", "D30:05"),
    )


def test_numbers_are_answers_and_adversarial_questions_are_not_asked(
    talks: list[Conversation],
) -> None:
    questions = asked(talks[0], CATEGORIES)
    assert len(questions) == 6
    assert questions[2].answer == "14"
    assert questions[5].gold == ("D10:1", "D1:1")
    assert talks[0].questions[6].answer is None


def test_observations_become_facts_whatever_form_their_ids_take(
    talks: list[Conversation],
) -> None:
    facts = [(f.session, f.source_ids) for f in talks[0].facts]
    assert facts == [
        (1, ("D1:1",)),
        (1, ("D1:3", "D2:2")),
        (10, ("D10:2",)),
        (10, ("D10:1",)),
    ]
    assert talks[1].facts == ()


def test_a_session_without_a_date_and_an_unknown_conversation_are_named(
    tmp_path: Path,
) -> None:
    raw = json.loads(DATA.read_text("utf-8"))
    del raw[1]["conversation"]["session_1_date_time"]
    (tmp_path / "undated.json").write_text(json.dumps(raw), "utf-8")
    with pytest.raises(ValueError, match="session_1 has no date"):
        load(tmp_path / "undated.json")
    with pytest.raises(ValueError, match="talk-9"):
        load(DATA, only=["talk-9"])
    assert [c.id for c in load(DATA, only=["talk-2"])] == ["talk-2"]


# ------------------------------------------------------------------- the measures


def shown(text: str = "", covered: Sequence[str] = ()) -> Shown:
    return Shown(text=text, covered=covered, tokens=1, ms=1.0)


def asked_for(
    *,
    gold: Sequence[str] = (),
    answer: str | None = None,
    category: str = "single-hop",
) -> Question:
    return Question(
        text="?",
        answer=answer,
        category=category,
        gold=tuple(gold),
        worded=category != "temporal",
    )


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        ("A green canoe", True),
        ("the GREEN canoes!", True),
        ("14", True),
        ("4", False),
        ("a green kayak", False),
        ("two canoes", False),
    ],
)
def test_an_answer_is_contained_when_all_its_words_stand_there(
    answer: str, *, held: bool
) -> None:
    assert contains("[3 March]\n1 Ines: 14 green canoe, sold.", answer) is held


def test_recall_is_the_share_of_gold_turns_and_all_means_all() -> None:
    half = outcome(
        "a",
        asked_for(gold=["D1:1", "D1:2"]),
        {500: shown(covered=["D1:1", "D9:9"]), 900: shown(covered=["D1:2", "D1:1"])},
    )
    none = outcome("a", asked_for(gold=["D1:1"]), {500: shown(), 900: shown()})
    empty = outcome("a", asked_for(), {500: shown(), 900: shown()})
    found = summary([half, none, empty], [500, 900], CATEGORIES)
    assert (found["n_questions"], found["n_with_evidence"]) == (3, 2)
    assert found["evidence_recall"] == {"500": 0.25, "900": 0.5}
    assert found["all_evidence"] == {"500": 0.0, "900": 0.5}
    assert found["containment"] == {"500": None, "900": None}


def test_containment_leaves_temporal_questions_out_and_says_both() -> None:
    one = outcome("a", asked_for(answer="canoe"), {9: shown("a canoe")})
    dated = outcome(
        "a", asked_for(answer="8 June", category="temporal"), {9: shown("a canoe")}
    )
    found = summary([one, dated], [9], CATEGORIES)
    assert found["containment"] == {"9": 1.0}
    assert found["containment_all_categories"] == {"9": 0.5}
    assert found["per_category"]["temporal"]["containment"] == {"9": 0.0}
    assert found["per_category"]["multi-hop"]["n"] == 0


def clusters(n: int) -> list[Outcome]:
    """Conversations that are all right or all wrong, 30 questions each."""
    return [
        outcome(f"c{i}", asked_for(gold=["x"]), {9: shown(covered="x" * (i % 2))})
        for i in range(n)
        for _ in range(30)
    ]


def test_intervals_draw_whole_conversations_where_there_are_enough() -> None:
    found = summary(clusters(6), [9], CATEGORIES)["ci95"]
    assert found["method"] == "bootstrap over 6 conversations"
    low, high = found["evidence_recall"]["9"]
    assert high - low > 0.6  # 180 independent questions would give 0.15


def test_intervals_of_two_conversations_say_that_they_are_too_narrow() -> None:
    found = summary(clusters(2), [9], CATEGORIES)["ci95"]
    assert "over questions: 2 conversations are too few" in found["method"]
    low, high = found["evidence_recall"]["9"]
    assert 0.2 < high - low < 0.3
