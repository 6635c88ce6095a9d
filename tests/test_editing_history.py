"""What the history of a fact tells: every event, by whom, and why."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from hmem import AsyncMemory, Config
from hmem.editing import events_of
from hmem.protocols import Op
from hmem.records import HistoryEvent
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder
from hmem.testing.store.making import add, cite, close, day, plan, reinstate
from hmem.times import from_micros

Told = list[tuple[str, str, str | None, str | None]]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    found = EmbeddedStore(Config(path=tmp_path / "m", shards=1, durability="normal"))
    await found.open()
    yield found
    await found.aclose()


async def do(store: EmbeddedStore, op: Op, at: int) -> str:
    """Carry out one operation; the id of what it wrote."""
    (outcome,) = (await store.apply("u", plan(op, at=at))).outcomes
    assert outcome.status in {"applied", "chained", "late", "duplicate"}
    return outcome.id or ""


async def events(store: EmbeddedStore, id_: str) -> list[HistoryEvent]:
    notes = await store.notes("u", id_)
    return events_of(await store.chain("u", id_), notes)


def told(found: list[HistoryEvent]) -> Told:
    return [(e.event, e.text, e.by, e.reason) for e in found]


async def test_an_update_and_a_delete_say_why(tmp_path: Path) -> None:
    config = Config(path=tmp_path / "m", durability="normal")
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add(["Lives in Bristol"], user_id="u", infer=False, wait=True)
        [old] = await mem.get_all(user_id="u")
        new = await mem.update(old.id, user_id="u", text="Lives in Ghent")
        await mem.delete(new.id, user_id="u")
        found = await mem.history(old.id, user_id="u")
        assert told(found) == [
            ("ADD", "Lives in Bristol", None, None),
            ("SUPERSEDE", "Lives in Bristol", new.id, "updated"),
            ("ADD", "Lives in Ghent", None, None),
            ("CLOSE", "Lives in Ghent", None, "deleted"),
        ]
        assert await mem.history(new.id, user_id="u") == found


@pytest.mark.parametrize("reason", [None, "moved"])
async def test_a_whole_story_is_told_by_every_id(
    store: EmbeddedStore, reason: str | None
) -> None:
    a = await do(store, add("a", at=1), at=10)
    b = await do(store, add("b", at=2, supersedes=a, reason=reason), at=11)
    await do(store, reinstate(a, reason="a mistake"), at=12)
    await do(store, cite(a, "s", reason="said again"), at=13)
    c = await do(store, add("c", at=4, supersedes=a, reason=reason), at=14)
    await do(store, close(b, at=5, reason=reason), at=15)
    await do(store, reinstate(b), at=16)
    await do(store, close(b, at=7), at=17)
    found = await events(store, a)
    assert told(found) == [
        ("ADD", "a", None, None),
        ("SUPERSEDE", "a", b, reason),
        ("ADD", "b", None, None),
        ("REINSTATE", "a", None, "a mistake"),
        ("CITE", "a", None, "said again"),
        ("SUPERSEDE", "a", c, reason),
        ("ADD", "c", None, None),
        ("CLOSE", "b", None, reason),
        ("REINSTATE", "b", None, None),
        ("CLOSE", "b", None, None),
    ]
    days = [10, 11, 11, 12, 13, 14, 14, 15, 16, 17]
    assert [e.at for e in found] == [from_micros(day(n)) for n in days]
    assert await events(store, b) == await events(store, c) == found


async def test_a_late_arrival_takes_a_place_that_another_had(
    store: EmbeddedStore,
) -> None:
    a = await do(store, add("a", at=1), at=10)
    c = await do(store, add("c", at=9, supersedes=a), at=11)
    b = await do(store, add("b", at=5, supersedes=c, reason="late"), at=12)
    assert told(await events(store, b)) == [
        ("ADD", "a", None, None),
        ("SUPERSEDE", "a", c, None),
        ("ADD", "c", None, None),
        ("SUPERSEDE", "a", b, "late"),
        ("ADD", "b", None, None),
        ("SUPERSEDE", "b", c, "late"),
    ]


async def test_a_fact_closed_and_replaced_in_one_plan_was_replaced(
    store: EmbeddedStore,
) -> None:
    old = await do(store, add("a", at=1), at=10)
    again = add("a", at=3, supersedes=old, reason="updated")
    done = await store.apply("u", plan(close(old, at=3), again, at=11))
    new = done.outcomes[1].id
    assert told(await events(store, old)) == [
        ("ADD", "a", None, None),
        ("SUPERSEDE", "a", new, "updated"),
        ("ADD", "a", None, None),
    ]


async def test_a_clock_that_was_set_back_turns_no_story_round(
    store: EmbeddedStore,
) -> None:
    a = await do(store, add("a", at=1), at=30)
    b = await do(store, add("b", at=2, supersedes=a, reason="r"), at=20)
    await do(store, reinstate(a), at=10)
    await do(store, close(a, at=5), at=5)
    assert told(await events(store, b)) == [
        ("ADD", "a", None, None),
        ("SUPERSEDE", "a", b, "r"),
        ("REINSTATE", "a", None, None),
        ("CLOSE", "a", None, None),
        ("ADD", "b", None, None),
    ]


@pytest.mark.parametrize("reason", [None, "moved"])
async def test_a_successor_that_is_gone_leaves_one_end(
    store: EmbeddedStore, tmp_path: Path, reason: str | None
) -> None:
    a = await do(store, add("a", at=1), at=10)
    b = await do(store, add("b", at=2, supersedes=a, reason=reason), at=11)
    with closing(sqlite3.connect(tmp_path / "m" / "shard-00.db")) as db:
        db.execute("DELETE FROM memories WHERE text = 'b'")
        db.commit()
    event = "CLOSE" if reason is None else "SUPERSEDE"
    assert told(await events(store, a)) == [
        ("ADD", "a", None, None),
        (event, "a", None, reason),
    ]
    assert await events(store, b) == []
    await do(store, reinstate(a), at=12)
    assert [e.event for e in await events(store, a)] == [
        *("ADD", "SUPERSEDE", "REINSTATE")
    ]


async def test_forgetting_stands_where_it_happened(store: EmbeddedStore) -> None:
    a = await do(store, add("a", at=1), at=10)
    await do(store, close(a, at=5), at=20)
    (row,) = await store.chain("u", a)
    (found,) = [row._replace(forgotten_at=day(15))]
    assert [e.event for e in events_of([found])] == ["ADD", "FORGET", "CLOSE"]


async def test_notes_older_than_the_chain_cost_only_reasons(
    store: EmbeddedStore,
) -> None:
    a = await do(store, add("a", at=1), at=10)
    b = await do(store, add("b", at=2, supersedes=a, reason="r"), at=11)
    before = await store.notes("u", a)
    await do(store, reinstate(a), at=12)
    await do(store, add("c", at=3, supersedes=a, reason="s"), at=13)
    chain = await store.chain("u", a)
    found = told(events_of(chain, before))
    assert ("SUPERSEDE", "a", b, "r") in found
    assert [e[0] for e in found].count("SUPERSEDE") == 2
    lone = events_of(chain[:1], before)
    assert [e.event for e in lone] == ["ADD", "SUPERSEDE", "SUPERSEDE"]
