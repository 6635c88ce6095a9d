"""Reconcile mode over a real store: what a second opinion does to what is known."""

import json
from typing import Any

import pytest

from hmem import LLMError
from hmem.testing.llms import fact, facts
from tests.judge import (
    BRISTOL,
    JANUARY,
    MARCH,
    MAY,
    MOVES,
    Judge,
    Open,
    config,
    known,
    moved,
    one,
    opened,
    quick,
    says,
    told,
    verdict,
)

__all__ = ["config", "opened", "quick"]


# ------------------------------------------------------------------- the four verbs


@pytest.mark.parametrize("by", ["vectors", "words alone"])
async def test_an_update_supersedes_what_it_names(opened: Open, by: str) -> None:
    llm = Judge(MOVES, [verdict(0, "UPDATE", 0, why="she moved")])
    mem = await opened(llm, lexical=by == "words alone")
    result = await moved(mem)
    assert (result.status, result.skipped) == ("done", ())
    assert await known(mem) == ["Maya lives in Ghent now"]
    (new, old) = await one(mem, result.added[0]), await one(mem, result.superseded[0])
    assert (old.text, old.superseded_by) == ("Maya lives in Bristol", new.id)
    assert old.valid_to == new.valid_from
    assert new.source_ids == result.turns
    history = [("ADD", None), ("SUPERSEDE", "she moved"), ("ADD", None)]
    assert await told(mem, new.id) == await told(mem, old.id) == history
    assert llm.judged == [(["Maya lives in Ghent now"], ["Maya lives in Bristol"])]
    past = await mem.search("lives", user_id="maya", as_of="2026-02-01", kinds="memory")
    assert [hit.text for hit in past] == ["Maya lives in Bristol"]


async def test_a_delete_closes_without_successor_and_adds_nothing(opened: Open) -> None:
    left = facts(fact("Maya lives in Bristol no longer", entities=["Maya", "Bristol"]))
    llm = Judge(
        {"no longer": left, "Bristol.": BRISTOL},
        [verdict(0, "DELETE", 0, why="that has ended")],
    )
    mem = await opened(llm)
    first = await says(mem, "I live in Bristol.", JANUARY)
    result = await says(mem, "I live in Bristol no longer", MARCH)
    assert (result.status, result.added) == ("done", ())
    assert result.superseded == first.added
    assert await known(mem) == []
    old = await one(mem, first.added[0])
    assert old.superseded_by is None
    assert old.valid_to is not None
    assert old.valid_to.isoformat().startswith(MARCH)
    assert await told(mem, old.id) == [("ADD", None), ("CLOSE", "that has ended")]


async def test_a_noop_adds_its_turn_to_what_is_known_and_is_reported(
    opened: Open,
) -> None:
    again = facts(fact("Maya still lives in Bristol", entities=["Maya", "Bristol"]))
    llm = Judge(
        {"still": again, "Bristol.": BRISTOL}, [verdict(0, "NOOP", 0, why="known")]
    )
    mem = await opened(llm)
    first = await says(mem, "I live in Bristol.", JANUARY)
    result = await says(mem, "I still live in Bristol", MARCH)
    assert (result.status, result.added, result.superseded) == ("done", (), ())
    assert [(s.reason, s.id) for s in result.skipped] == [("known", first.added[0])]
    row = await one(mem, first.added[0])
    assert row.source_ids == (*first.turns, *result.turns)
    assert row.valid_to is None
    assert await told(mem, row.id) == [("ADD", None), ("CITE", "known")]


async def test_an_add_stands_beside_what_it_resembles(opened: Open) -> None:
    cello = facts(fact("Maya plays the cello", entities=["Maya"]))
    flute = facts(fact("Maya plays the flute", entities=["Maya"]))
    mem = await opened(
        Judge({"cello": cello, "flute": flute}, [verdict(0, "ADD", why="one more")])
    )
    await says(mem, "I play the cello", JANUARY)
    result = await says(mem, "I play the flute", MARCH)
    assert await known(mem) == ["Maya plays the cello", "Maya plays the flute"]
    assert (len(result.added), result.superseded, result.skipped) == (1, (), ())
    assert await told(mem, result.added[0]) == [("ADD", None)]


async def test_all_candidates_are_judged_in_one_call_with_their_dates_and_cost(
    opened: Open,
) -> None:
    said = facts(
        fact("Maya lives in Ghent now", entities=["Maya", "Ghent"]),
        fact("Maya plays the cello", entities=["Maya"]),
        fact("Maya's bike is green now", entities=["Maya"]),
    )
    held = facts(
        fact("Maya lives in Bristol", entities=["Maya", "Bristol"]),
        fact("Maya plays the flute", entities=["Maya"]),
        fact("Maya's bike is red", entities=["Maya"]),
        fact("Somebody called yesterday from the harbour office"),
    )
    llm = Judge(
        {"Ghent": said, "Bristol": held},
        [verdict(0, "UPDATE", 0), verdict(2, "UPDATE", 2), verdict(1, "ADD")],
    )
    mem = await opened(llm)
    await says(
        mem, "Bristol, the flute, my bike is red. The harbour office called", JANUARY
    )
    result = await says(mem, "Ghent, the cello, my bike is green now", MARCH)
    assert len(llm.judged) == 1
    assert "[0] Maya lives in Ghent now (said 2026-03-01)" in llm.calls[-1].text
    assert "[0] Maya lives in Bristol (since 2026-01-05)" in llm.calls[-1].text
    assert "harbour" not in str(llm.judged)  # nothing like it was said
    assert (len(result.added), len(result.superseded)) == (3, 2)
    assert result.usage.llm_calls == 2
    asked = [sum(len(m["content"].split()) for m in c.messages) for c in llm.calls]
    assert result.usage.prompt_tokens == sum(asked[1:])
    models = (await mem.admin.stats())["models"]
    assert models["reconcile"]["calls"] == 1
    assert models["extract"]["calls"] == 2


# ---------------------------------------------------------------- what fails safe

TWO = facts(
    fact("Maya lives in Ghent now", entities=["Maya", "Ghent"]),
    fact("Maya lives in a house in Ghent", entities=["Maya", "Ghent"]),
)


@pytest.mark.parametrize(
    ("decisions", "superseded"),
    [
        pytest.param([], 0, id="no decision"),
        pytest.param([verdict(0, "UPDATE", 7)], 0, id="unknown memory"),
        pytest.param([verdict(0, "UPDATE")], 0, id="no memory"),
        pytest.param([verdict(0, "UPDATE", 0, 1)], 0, id="two memories"),
        pytest.param([verdict(9, "DELETE", 0)], 0, id="unknown candidate"),
        pytest.param([verdict(0, "ERASE", 0)], 0, id="unknown action"),
        pytest.param(
            [verdict(0, "UPDATE", 0), verdict(0, "DELETE", 0)], 0, id="two minds"
        ),
        pytest.param(
            [verdict(0, "UPDATE", 0), verdict(1, "DELETE", 0)], 0, id="contradiction"
        ),
        pytest.param(
            [verdict(0, "DELETE", 0), verdict(1, "NOOP", 0)], 0, id="ended and held"
        ),
        pytest.param(
            [verdict(0, "UPDATE", 0), verdict(1, "UPDATE", 0)], 1, id="double target"
        ),
    ],
)
async def test_a_decision_that_cannot_stand_is_an_add(
    opened: Open, decisions: list[dict[str, Any]], superseded: int
) -> None:
    llm = Judge({"Bristol.": BRISTOL, "Ghent": TWO}, decisions)
    mem = await opened(llm)
    await says(mem, "I live in Bristol.", JANUARY)
    result = await says(mem, "I live in Ghent now, in a house in Ghent", MARCH)
    assert len(llm.judged) == 1
    assert (result.status, len(result.added)) == ("done", 2)
    assert len(result.superseded) == superseded
    both = ["Maya lives in Ghent now", "Maya lives in a house in Ghent"]
    held = [] if superseded else ["Maya lives in Bristol"]
    assert await known(mem) == [*held, *both]


async def test_a_noop_about_a_fact_that_says_another_number_is_an_add(
    opened: Open,
) -> None:
    old = facts(fact("Maya keeps 3 hives of bees", entities=["Maya"]))
    new = facts(fact("Maya keeps 5 hives of bees", entities=["Maya"]))
    mem = await opened(Judge({"3 hives": old, "5 hives": new}, [verdict(0, "NOOP", 0)]))
    await says(mem, "I keep 3 hives of bees", JANUARY)
    result = await says(mem, "I keep 5 hives of bees", MARCH)
    assert len(result.added) == 1
    assert [s.reason for s in result.skipped] == [
        "kept beside: it does not say all of this"
    ]
    assert len(await known(mem)) == 2


async def test_one_reply_ends_no_more_than_eight_facts(opened: Open) -> None:
    instruments = [
        "cello",
        "flute",
        "harp",
        "viola",
        "tuba",
        "lute",
        "oboe",
        "horn",
        "organ",
        "drums",
    ]
    held = facts(
        *(fact(f"Maya plays the {x} well", entities=["Maya"]) for x in instruments)
    )
    now = facts(
        *(fact(f"Maya plays the {x} no longer", entities=["Maya"]) for x in instruments)
    )

    def all_over(candidates: list[str], memories: list[str]) -> object:
        return [
            verdict(
                n, "UPDATE", memories.index(text.replace("no longer", "well")), why="x"
            )
            for n, text in enumerate(candidates)
        ]

    llm = Judge({"no longer": now, "well": held}, all_over)
    mem = await opened(llm)
    words = ", ".join(instruments)
    await says(mem, f"I play these well: {words}", JANUARY)
    result = await says(mem, f"I play these no longer: {words}", MARCH)
    assert (len(result.added), len(result.superseded)) == (10, 8)
    assert len(await known(mem)) == 12


@pytest.mark.parametrize(
    "verb",
    [
        "UPDATE",
        "DELETE",
    ],
)
async def test_what_is_older_ends_nothing_newer(opened: Open, verb: str) -> None:
    llm = Judge(MOVES, [verdict(0, verb, 0)])
    mem = await opened(llm)
    first = await says(mem, "I live in Ghent now!", MARCH)
    result = await says(mem, "I live in Bristol.", JANUARY)
    assert result.status == "done"
    assert result.superseded == ()
    assert (await one(mem, first.added[0])).valid_to is None
    assert "Maya lives in Ghent now" in await known(mem)
    for row in await mem.history(first.added[0], user_id="maya"):
        held = await one(mem, row.id)
        assert held.valid_to is None or held.valid_from <= held.valid_to


async def test_what_replaces_a_fact_in_words_that_stand_already_closes_it(
    opened: Open,
) -> None:
    llm = Judge(
        MOVES,
        lambda _, memories: [
            verdict(0, "UPDATE", memories.index("Maya lives in Bristol"), why="moved")
        ],
    )
    mem = await opened(llm)
    first = await says(mem, "I live in Bristol.", JANUARY)
    await mem.add("Maya lives in Ghent now", user_id="maya", infer=False)
    result = await says(mem, "I live in Ghent now!", MARCH)
    assert (result.status, len(llm.judged)) == ("done", 1)
    assert await known(mem) == ["Maya lives in Ghent now"]
    assert result.superseded == first.added


async def test_what_was_proposed_and_not_carried_out_is_told_with_its_reason(
    opened: Open,
) -> None:
    llm = Judge({"Bristol.": BRISTOL, "Ghent": TWO}, [])
    llm.decide = [verdict(0, "UPDATE", 0), verdict(1, "UPDATE", 0)]
    mem = await opened(llm)
    await says(mem, "I live in Bristol.", JANUARY)
    result = await says(mem, "I live in Ghent now, in a house in Ghent", MARCH)
    why = [reason for id_ in result.added for _, reason in await told(mem, id_)]
    why += [skipped.reason for skipped in result.skipped]
    assert any("another fact ended it" in reason for reason in why if reason)


# --------------------------------------------------------------- no second call


async def test_where_nothing_is_similar_nobody_is_asked_again(opened: Open) -> None:
    other = facts(fact("A roofer mends skylights on Tuesdays"))
    llm = Judge({"Bristol.": BRISTOL, "roofer": other})
    mem = await opened(llm)
    first = await says(mem, "I live in Bristol.", JANUARY)  # nothing is known at all
    result = await says(mem, "A roofer mends skylights on Tuesdays", MARCH)
    nothing = await says(mem, "thank you", MAY)  # and no candidate
    assert llm.judged == []
    assert [r.usage.llm_calls for r in (first, result, nothing)] == [1, 1, 1]
    assert len(await known(mem)) == 2


async def test_by_words_alone_the_memories_shown_are_judged(opened: Open) -> None:
    other = facts(fact("A roofer mends skylights on Tuesdays"))
    llm = Judge({"Bristol.": BRISTOL, "roofer": other}, [verdict(0, "ADD")])
    mem = await opened(llm, lexical=True)
    await says(mem, "I live in Bristol.", JANUARY)
    assert llm.judged == []
    await says(mem, "A roofer mends skylights on Tuesdays", MARCH)
    assert [memories for _, memories in llm.judged] == [["Maya lives in Bristol"]]


async def test_other_users_facts_are_shown_to_nobody(opened: Open) -> None:
    said = {
        "Ghent": facts(fact("Ben lives in Ghent now", entities=["Ben", "Ghent"])),
        "Bristol.": facts(fact("Ana lives in Bristol", entities=["Ana", "Bristol"])),
    }
    llm = Judge(said, [verdict(0, "DELETE", 0)])
    mem = await opened(llm)
    await says(mem, "I live in Bristol.", JANUARY, user="ana")
    await says(mem, "I live in Ghent now!", MARCH, user="ben")
    assert llm.judged == []
    assert await known(mem, "ana") == ["Ana lives in Bristol"]
    assert "Ana" not in llm.calls[-1].text


# ----------------------------------------------------------------------- preview


async def test_a_preview_shows_each_decision_and_writes_nothing(opened: Open) -> None:
    held = facts(
        fact("Maya lives in Bristol", entities=["Maya", "Bristol"]),
        fact("Maya plays the flute", entities=["Maya"]),
        fact("Maya is fond of tea", entities=["Maya"]),
    )
    now = facts(
        fact("Maya lives in Ghent now", entities=["Maya", "Ghent"]),
        fact("Maya plays the flute no longer", entities=["Maya"]),
        fact("Maya is still fond of tea", entities=["Maya"]),
        fact("Maya keeps a parrot", entities=["Maya"]),
    )

    def decide(candidates: list[str], memories: list[str]) -> object:
        assert candidates[3] == "Maya keeps a parrot"
        return [
            verdict(0, "UPDATE", memories.index("Maya lives in Bristol"), why="moved"),
            verdict(1, "DELETE", memories.index("Maya plays the flute"), why="over"),
            verdict(2, "NOOP", memories.index("Maya is fond of tea"), why="known"),
            verdict(3, "ADD"),
        ]

    llm = Judge({"Bristol": held, "parrot": now}, decide)
    mem = await opened(llm)
    first = await says(mem, "Bristol, the flute and tea for me", JANUARY)
    said = "Ghent now; the flute no longer; still fond of tea; and a parrot"
    turn = {"role": "user", "name": "Maya", "content": said}
    shown = await mem.preview(turn, user_id="maya", observed_at=MARCH)
    assert [(p.action, p.target, p.reason) for p in shown] == [
        ("supersede", first.added[0], "moved"),
        ("close", first.added[1], "over"),
        ("cite", first.added[2], "known"),
        ("add", None, None),
    ]
    assert len(await known(mem)) == 3
    assert await told(mem, first.added[0]) == [("ADD", None)]
    assert (await one(mem, first.added[2])).source_ids == first.turns
    result = await says(mem, said, MARCH)
    assert result.superseded == first.added[:2]
    assert [s.id for s in result.skipped] == [first.added[2]]
    assert await known(mem) == [
        "Maya is fond of tea",
        "Maya lives in Ghent now",
        "Maya keeps a parrot",
    ]


async def test_a_preview_raises_what_the_second_call_raises(opened: Open) -> None:
    mem = await opened(Judge(MOVES, "I would rather not."))
    await says(mem, "I live in Bristol.", JANUARY)
    with pytest.raises(LLMError):
        await mem.preview("I live in Ghent now!", user_id="maya")
    assert await known(mem) == ["Maya lives in Bristol"]


def test_the_second_reply_is_stored_as_it_was_read() -> None:
    """What is kept must be read to the same decisions again."""
    from hmem.chat.peel import value_of
    from hmem.verdicts import read

    value = {"decisions": [verdict(0, "UPDATE", 0, why="moved")]}
    assert read(value_of(json.dumps(value)), 1, 1) == read(value, 1, 1)
