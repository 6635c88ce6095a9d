"""The bench of answerability: what it asks, how it fits, what it reports."""

import random
from pathlib import Path

import numpy as np
import pytest

from bench.answerable import Asked, auroc, fit, left_out, report, run, short, whole
from bench.locomo_data import load
from bench.talks import Conversation
from hmem.rank.answer import Signs
from hmem.scoring import answerability
from hmem.testing.fakes import HashEmbedder

DATA = Path(__file__).parent / "data"


@pytest.fixture
def talks() -> list[Conversation]:
    return load(DATA / "locomo_shape.json")


def made(chance: random.Random, conversation: str, kind: str) -> Asked:
    """A question whose `about` tells, whose `known` sometimes does, and whose match is
    noise."""
    own = kind == "own"
    return Asked(
        group="talk",
        conversation=conversation,
        kind=kind,
        signs=Signs(
            match=chance.random(),
            known=chance.gauss(0.8 if own else 0.6, 0.2),
            about=None
            if chance.random() < 0.2
            else chance.gauss(1 if own else -1, 0.7),
        ),
        value=chance.random(),
    )


@pytest.fixture
def cases() -> list[Asked]:
    chance = random.Random(3)
    kinds = ("own", "own", "own", "made up", "of others")
    return [made(chance, name, kind) for name in "abc" for kind in kinds * 30]


def test_auroc_is_the_chance_of_being_above() -> None:
    assert auroc([2.0, 3.0], [1.0, 0.0]) == 1.0
    assert auroc([0.0], [1.0, 2.0]) == 0.0
    assert auroc([1.0, 1.0], [1.0]) == 0.5
    assert auroc([1.0, 3.0], [2.0]) == 0.5


def test_fitting_finds_the_signs_that_tell(cases: list[Asked]) -> None:
    fitted = fit(cases)
    match, known, about, fact = fitted.slopes
    assert about > 1.0
    assert known > 0.5
    assert abs(match) < 0.7
    assert fact == 0.0  # no case had any
    values = [answerability(c.signs, fitted) for c in cases]
    own = [v for v, c in zip(values, cases, strict=True) if c.kind == "own"]
    none = [v for v, c in zip(values, cases, strict=True) if c.kind != "own"]
    assert auroc(own, none) > 0.9
    assert np.mean(own) > 0.6 > 0.4 > np.mean(none)


def test_a_conversation_left_out_has_no_say_in_its_own_figures(
    cases: list[Asked],
) -> None:
    before = left_out(cases)
    lies = [
        Asked(
            group=c.group,
            conversation=c.conversation,
            kind={"own": "made up"}.get(c.kind, "own")
            if c.conversation == "a"
            else c.kind,
            signs=c.signs,
            value=c.value,
        )
        for c in cases
    ]
    after = left_out(lies)
    of_a = [i for i, c in enumerate(cases) if c.conversation == "a"]
    others = [i for i, c in enumerate(cases) if c.conversation != "a"]
    assert [before[i] for i in of_a] == [after[i] for i in of_a]
    assert [before[i] for i in others] != [after[i] for i in others]


def test_a_fit_needs_questions_with_an_answer_and_without(cases: list[Asked]) -> None:
    with pytest.raises(ValueError, match="with an answer and without"):
        fit([c for c in cases if c.kind == "own"])


def test_every_kind_is_reported_beside_the_answers(cases: list[Asked]) -> None:
    found = report(cases)["auroc"]
    assert list(found) == ["talk: made up", "talk: of others"]
    assert found["talk: made up"]["answers"] == 270
    assert found["talk: made up"]["without"] == 90


def test_sessions_alone_are_asked_what_they_hold_and_what_they_do_not(
    talks: list[Conversation],
) -> None:
    for part, question, kind in short(talks):
        here = set(question.gold) <= {turn.id for turn in part.turns}
        assert here == (kind == "own")
        assert len(part.sessions()) == 1


def test_adversarial_questions_are_asked_as_such(talks: list[Conversation]) -> None:
    kinds = {(q.category == "adversarial", kind) for _, q, kind in whole(talks)}
    assert (True, "own") not in kinds
    assert (False, "made up") not in kinds
    assert (True, "made up") in kinds


async def test_a_whole_run_asks_hmem_itself(tmp_path: Path) -> None:
    found = await run(
        DATA / "locomo_shape.json", None, tmp_path, embedder=HashEmbedder(32)
    )
    assert set(found) == {"auroc", "fitted"}
    for row in found["auroc"].values():
        assert 0 <= row["as_it_is"] <= 1
        assert row["answers"]
        assert row["without"]
