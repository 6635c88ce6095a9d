"""What is said again, in the same words or nearly, adds its turn to what is known."""

import numpy as np
import pytest

from hmem.protocols import AddMemory, NewMemory, VectorRows, WritePlan
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import fact, facts
from hmem.text import content_hash, lexical
from hmem.times import to_micros, utc_now
from hmem.vectors import codec
from tests.judge import (
    BRISTOL,
    JANUARY,
    MARCH,
    MAY,
    Judge,
    Open,
    config,
    known,
    one,
    opened,
    quick,
    says,
    told,
    verdict,
)

__all__ = ["config", "opened", "quick"]


# ------------------------------------------------------------------ near duplicates

BEES = facts(fact("Maya keeps bees and goats", entities=["Maya"]))
GOATS = facts(fact("Maya keeps goats and bees", entities=["Maya"]))


@pytest.mark.parametrize("mode", ["append", "reconcile"])
async def test_a_near_duplicate_adds_its_turn_and_is_reported(
    opened: Open, mode: str
) -> None:
    llm = Judge({"bees and goats": BEES, "goats and bees": GOATS}, [verdict(0, "ADD")])
    mem = await opened(llm, mode=mode)
    first = await says(mem, "I keep bees and goats", JANUARY)
    result = await says(mem, "I keep goats and bees", MARCH)
    assert (result.status, result.added) == ("done", ())
    (skipped,) = result.skipped
    assert skipped.id == first.added[0]
    assert skipped.reason.startswith("near duplicate (")
    row = await one(mem, first.added[0])
    assert row.source_ids == (*first.turns, *result.turns)
    assert await known(mem) == ["Maya keeps bees and goats"]
    events = await told(mem, row.id)
    assert [event for event, _ in events] == ["ADD", "CITE"]


@pytest.mark.parametrize("mode", ["append", "reconcile"])
async def test_the_same_words_again_are_a_duplicate(opened: Open, mode: str) -> None:
    llm = Judge({"Bristol": BRISTOL}, [verdict(0, "ADD")])
    mem = await opened(llm, mode=mode)
    first = await says(mem, "I live in Bristol.", JANUARY)
    result = await says(mem, "As I said, I live in Bristol", MARCH)
    assert [(s.reason, s.id) for s in result.skipped] == [("duplicate", first.added[0])]
    row = await one(mem, first.added[0])
    assert row.source_ids == (*first.turns, *result.turns)


async def test_by_words_alone_the_same_words_again_are_a_duplicate(
    opened: Open,
) -> None:
    mem = await opened(Judge({"Bristol": BRISTOL}, [verdict(0, "ADD")]), lexical=True)
    first = await says(mem, "I live in Bristol.", JANUARY)
    result = await says(mem, "As I said, I live in Bristol", MARCH)
    assert (result.status, result.added) == ("done", ())
    assert [(s.reason, s.id) for s in result.skipped] == [("duplicate", first.added[0])]
    row = await one(mem, first.added[0])
    assert row.source_ids == (*first.turns, *result.turns)


@pytest.mark.parametrize("mode", ["append", "reconcile"])
async def test_near_in_words_and_other_in_what_they_say_both_stand(
    opened: Open, mode: str
) -> None:
    said = {
        "Maya gave": facts(
            fact("Maya gave Odile the keys", entities=["Maya", "Odile"])
        ),
        "Odile gave": facts(
            fact("Odile gave Maya the keys", entities=["Maya", "Odile"])
        ),
    }
    mem = await opened(Judge(said, [verdict(0, "ADD")]), mode=mode)
    await says(mem, "Maya gave Odile the keys", JANUARY)
    result = await says(mem, "Odile gave Maya the keys", MARCH)
    assert (len(result.added), result.skipped) == (1, ())
    assert len(await known(mem)) == 2


@pytest.mark.parametrize("mode", ["append", "reconcile"])
async def test_of_near_duplicates_in_one_reply_the_first_is_stored(
    opened: Open, mode: str
) -> None:
    both = facts(
        fact("Maya keeps bees and goats", entities=["Maya"]),
        fact("Maya keeps goats and bees", turns=[1], entities=["Maya"]),
        fact("Maya keeps bees and goats.", turns=[1], entities=["Maya"]),
    )
    mem = await opened(Judge({"bees": both}), mode=mode)
    receipt = await mem.add(
        [
            {"role": "user", "name": "Maya", "content": text}
            for text in ("I keep bees and goats", "Yes, goats and bees")
        ],
        user_id="maya",
        session_id="s",
    )
    result = await receipt.result(timeout=20)
    assert (result.status, len(result.added)) == ("done", 1)
    assert await known(mem) == ["Maya keeps bees and goats"]
    assert sorted(s.reason for s in result.skipped) == [
        "said twice in one reply",
        "says the same as another fact of the reply",
    ]


async def test_a_closed_fact_that_is_said_again_is_a_new_one(opened: Open) -> None:
    bath = facts(fact("Maya lives in Bath now", entities=["Maya"]))
    ghent = facts(fact("Maya lives in Ghent now", entities=["Maya"]))

    def decide(candidates: list[str], memories: list[str]) -> object:
        return [verdict(0, "UPDATE", 0, why=f"{memories[0]} no longer")]

    mem = await opened(Judge({"Bath": bath, "Ghent": ghent}, decide))
    results = [
        await says(mem, text, day)
        for text, day in (
            ("I live in Ghent now", JANUARY),
            ("I live in Bath now", MARCH),
            ("I live in Ghent now", MAY),
        )
    ]
    assert [len(r.superseded) for r in results] == [0, 1, 1]
    assert await known(mem) == ["Maya lives in Ghent now"]
    events = await mem.history(results[2].added[0], user_id="maya")
    assert [e.event for e in events if e.event == "ADD"] == ["ADD"] * 3


@pytest.mark.parametrize("mode", ["append", "reconcile"])
async def test_a_fact_that_had_expired_and_is_said_again_is_a_new_one(
    opened: Open, mode: str
) -> None:
    llm = Judge({"flute": facts(fact("Maya plays the flute", entities=["Maya"]))}, [])
    mem = await opened(llm, mode=mode)
    first = await says(mem, "I play the flute", JANUARY)
    old = await one(mem, first.added[0])
    assert await mem.delete(old.id, user_id="maya", observed_at=JANUARY)
    text = "Maya plays the flute"
    memory = NewMemory(
        text=text,
        hash=content_hash(text),
        tokens=(lexical(text),),
        ends=(len(text),),
        valid_from=to_micros(old.valid_from),
        expires_at=to_micros(old.valid_from) + 1,
    )
    codes = codec("int8").encode(HashEmbedder(256).vector(text)[None])
    keys = np.zeros((1, 2), np.uint32)
    rows = VectorRows(kind="memory", space=1, codec="int8", keys=keys, codes=codes)
    op = AddMemory(memory=memory, vectors=rows)
    await mem._rooms.parts.store.apply(
        "maya", WritePlan(at=to_micros(utc_now()), ops=(op,))
    )
    result = await says(mem, "I play the flute again", MARCH)
    assert (result.status, len(result.added)) == ("done", 1)
    found = await mem.search("flute", user_id="maya", kinds="memory")
    assert [hit.id for hit in found] == list(result.added)
