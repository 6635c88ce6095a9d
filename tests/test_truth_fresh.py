"""The gates on pairs that they were not tuned on, and on those that once deceived them."""

from datetime import UTC, datetime

import pytest

from hmem.truth.facets import Facet
from hmem.truth.gates import Side, judge
from hmem.truth.matters import one_matter
from hmem.truth.subjects import subject
from tests.fresh import Pair, fresh_changes, fresh_others, traps

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


def accepted(pairs: list[Pair], *, vectors: bool) -> list[Pair]:
    return [
        pair
        for pair in pairs
        if judge(
            Side(text=pair[1], at=MAY),
            Side(text=pair[0], at=MARCH),
            shown=True,
            is_open=True,
            cosine=pair[2] if vectors else None,
        ).allowed
    ]


def test_nine_of_ten_fresh_changes_are_accepted_with_and_without_vectors() -> None:
    pairs = fresh_changes()
    assert len(pairs) == 30
    assert len(accepted(pairs, vectors=True)) >= 28
    assert len(accepted(pairs, vectors=False)) >= 27


def test_of_fresh_pairs_about_something_else_at_most_one_is_taken_for_a_change() -> (
    None
):
    pairs = fresh_others()
    assert len(pairs) == 40
    assert len(accepted(pairs, vectors=True)) <= 1
    assert len(accepted(pairs, vectors=False)) <= 1


@pytest.mark.parametrize("vectors", [True, False])
def test_no_trap_is_taken_for_a_change(*, vectors: bool) -> None:
    pairs = traps()
    assert len(pairs) >= 70
    assert accepted(pairs, vectors=vectors) == []


def test_no_change_of_one_person_is_taken_for_one_of_another() -> None:
    pairs = fresh_changes()
    crossed: list[Pair] = [
        (old, new, 0.9)
        for n, (old, *_) in enumerate(pairs)
        for m, (_, new, _) in enumerate(pairs)
        if n != m and not {"user", "user's"} & {*old.split(), *new.split()}
    ]
    assert len(crossed) > 200
    assert accepted(crossed, vectors=True) == []


@pytest.mark.parametrize(
    ("matter", "old", "new"),
    [
        (
            "correction",
            "Ina's uncle Per breeds geese",
            "Ina's uncle Tor breeds geese, not Per",
        ),
        (
            "correction",
            "Ina's rash is thought to be measles",
            "Ina's rash is an allergy and not measles",
        ),
        ("ending", "Ina cooks for the hotel Seeblick", "Seeblick dismissed Ina"),
        (
            "ending",
            "Ina has tickets for Figaro on 2026-05-20",
            "The evening of 2026-05-20 at Figaro, for which Ina had tickets, is cancelled",
        ),
        (
            "ending",
            "Ina keeps a ferret, Zack",
            "Ina's ferret Zack ran away on 2026-04-11",
        ),
        ("ending", "Ina does not speak to Per any more", "Ina and Per made up"),
        ("ending", "Ina is friends with Per", "Ina fell out with Per"),
        ("ending", "Ina is looking for a job", "Ina found a job at the mill"),
        ("ending", "Ina has a locker at the pool", "Ina gave the locker back"),
        ("ending", "Ina takes aspirin", "Ina's doctor replaced aspirin with another"),
        (
            "topic",
            "Ina and Per are engaged",
            "Per broke off the engagement to Ina",
        ),
        ("post", "Ina is the treasurer of the club", "The club's treasurer is Per now"),
        (None, "Ina's dentist is Per", "Ina's dentist is on holiday"),
        (None, "Ina's left knee hurts", "Ina's right knee is fine now"),
        (None, "Ina's mother is in hospital", "The dog of Ina's mother died"),
    ],
)
def test_what_a_sentence_says_to_be_over(
    matter: str | None, old: str, new: str
) -> None:
    assert one_matter(Facet(new), Facet(old)) == matter


def test_the_car_of_the_users_wife_is_none_of_the_users() -> None:
    his, hers = (
        subject("The user's car is red"),
        subject("The user's wife's car is red"),
    )
    assert his.user
    assert not hers.user
    assert not hers.shares(his)
