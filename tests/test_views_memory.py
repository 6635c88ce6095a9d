"""What views keep in memory, and in which form."""

import gc
from typing import Any

from hmem.testing.deltas import Deltas, fact, turn
from hmem.vectors import index
from hmem.views import View


def view_of(**rows: Any) -> View:
    view = View("ana", None, lambda dim: index("float32", dim))
    view.apply(Deltas().next(whole=True, **rows))
    return view


def test_rows_that_are_held_are_not_gone_through_by_the_garbage_collector() -> None:
    def tracked() -> int:
        gc.collect()
        gc.collect()  # a tuple is left out once it was seen to hold none but such
        return len(gc.get_objects())

    few, many = (_talk_and_facts(rows) for rows in (10, 1_000))
    del few, many  # what is made once is made
    before = tracked()
    few = _talk_and_facts(10)
    with_few = tracked()
    many = _talk_and_facts(1_000)
    with_many = tracked()
    assert len(many.turns) + len(many.facts) == 2_000
    assert with_few - before < 300
    assert with_many - with_few < 300
    assert len(few.turns) == 10


def _talk_and_facts(rows: int) -> View:
    numbers = range(1, rows + 1)
    return view_of(
        turns=[turn(n, f"said {n}", message_id=f"i{n}") for n in numbers],
        memories=[fact(n, f"fact {n}", source_ids=(f"t{n}",)) for n in numbers],
        entities={f"name {n}": [n] for n in numbers},
    )


def test_rows_come_back_as_they_went_in() -> None:
    given = [turn(1, "a", metadata={"k": [1]}), turn(2, "b"), turn(3, "c", name="Bo")]
    rows = view_of(turns=given).turns.rows
    assert list(rows) == given
    assert rows[-1] == given[-1]
    assert rows[0].metadata == {"k": [1]}
    assert rows[1:] == given[1:]
    rows[0] = given[0]._replace(metadata={})
    assert rows[0].metadata == {}


def test_no_more_than_a_few_records_are_kept() -> None:
    view = _talk_and_facts(700)
    once = [view.record("turn", n) for n in range(700)]
    again = [view.record("turn", n) for n in range(700)]
    assert once == again
    assert view.record("turn", 699) is again[-1]
    assert len(view._records) < 600
