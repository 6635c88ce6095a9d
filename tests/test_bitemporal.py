"""Random histories through the face and through plans, held against plain Python: what is
seen at every moment of both times, how each fact stands, and what its history tells.

HMEM_LONG=1 runs 50,000 steps.
"""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hmem import AsyncMemory, Config, MemoryRecord
from hmem.protocols import AddMemory, WritePlan
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import FrozenClock
from hmem.times import to_micros, utc_now
from tests.bitemporal_machine import live, new_memory

MET = (
    *("duplicate", "merged", "applied", "chained", "late", "reinstated", "erase"),
    *("moved", "moved within all three times"),
)


async def test_random_histories_are_what_plain_python_says_they_are() -> None:
    seen = await live(seed=20260508, steps=900)
    assert [what for what in MET if seen[what] < 3] == []
    assert seen["hits"] > seen["questions"]


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.skipif(not os.environ.get("HMEM_LONG"), reason="HMEM_LONG=1 runs it")
@pytest.mark.parametrize("seed", range(25))
async def test_fifty_thousand_steps_are_what_plain_python_says_they_are(
    seed: int,
) -> None:
    seen = await live(seed, steps=2_000)
    assert seen["questions"] > 2_000


async def test_closed_and_expired_facts_take_no_place_from_open_ones(
    tmp_path: Path,
) -> None:
    config = Config(path=tmp_path / "m", shards=1, embed="none", worker="off")
    async with AsyncMemory(config) as mem:
        store, now = mem._rooms.parts.store, to_micros(utc_now())
        target: str | None = None
        for n in range(60):
            memory = new_memory(f"where Maya lives: house {n}", now - 1_000 + n)
            op = AddMemory(memory=memory, supersedes=target)
            plan = WritePlan(at=now, ops=(op,))
            target = (await store.apply("maya", plan)).outcomes[0].id
        gone = [
            new_memory(f"where Maya lives, for an hour: {n}", now - 10, now - 5)
            for n in range(61)
        ]
        other = new_memory("Odile lives elsewhere", now - 2_000)
        ops = [AddMemory(memory=memory) for memory in (*gone, other)]
        await store.apply("maya", WritePlan(at=now, ops=tuple(ops)))
        found = await mem.search(
            "where Maya lives", user_id="maya", kinds="memory", k=2
        )
        assert [hit.text for hit in found] == [
            "where Maya lives: house 59",
            "Odile lives elsewhere",
        ]
        assert len(await mem.get_all(user_id="maya", kinds="memory")) == 2


# ------------------------------------------------------- what was known, and later moved

Late = tuple[AsyncMemory, datetime]


@pytest.fixture
async def late(tmp_path: Path) -> AsyncIterator[Late]:
    """A fact of January, what superseded it in May; then, recorded last, one of March
    between them. And when the first two alone were known."""
    clock = FrozenClock(datetime(2026, 6, 1, tzinfo=UTC))
    config = Config(path=tmp_path / "m", shards=1, embed="none", worker="off")
    store = EmbeddedStore(config, clock=clock)
    async with AsyncMemory(config, store=store, clock=clock) as mem:
        target: str | None = None
        for text, month in (("lives in A", 1), ("lives in C", 5), ("lives in B", 3)):
            since = to_micros(datetime(2026, month, 1, tzinfo=UTC))
            op = AddMemory(memory=new_memory(text, since), supersedes=target)
            plan = WritePlan(at=to_micros(clock.advance(hours=1)), ops=(op,))
            (outcome,) = (await store.apply("maya", plan)).outcomes
            target = target or outcome.id
        yield mem, datetime(2026, 6, 1, 2, 30, tzinfo=UTC)


async def seen(mem: AsyncMemory, as_of: str, known_at: datetime | None) -> list[str]:
    found = await mem.search(
        "lives", user_id="maya", kinds="memory", as_of=as_of, known_at=known_at
    )
    return [hit.text for hit in found]


async def test_a_late_arrival_is_seen_between_its_neighbours(late: Late) -> None:
    mem, before = late
    days = ("2026-02-01", "2026-04-01", "2026-06-01")
    assert [await seen(mem, day, None) for day in days] == [
        [f"lives in {x}"] for x in "ABC"
    ]
    assert await seen(mem, days[0], before) == ["lives in A"]
    assert await seen(mem, days[2], before) == ["lives in C"]


async def test_before_a_late_arrival_was_recorded_its_place_was_its_forerunners(
    late: Late,
) -> None:
    mem, before = late
    assert await seen(mem, "2026-04-01", before) == ["lives in A"]


async def test_what_a_fact_replaced_is_what_was_known_of_it(late: Late) -> None:
    mem, before = late
    found = await mem.search("lives", user_id="maya", known_at=before)
    (hit,) = found.hits
    assert [old.text for old in hit.replaced] == ["lives in A"]
    assert "lives in B" not in found.block().text


async def test_what_was_replaced_is_dated_as_it_was_known(late: Late) -> None:
    mem, before = late
    (then,) = (await mem.search("lives", user_id="maya", known_at=before)).hits
    (now,) = (await mem.search("lives", user_id="maya")).hits
    ends = [(old.text, old.valid_to and old.valid_to.month) for old in then.replaced]
    assert ends == [("lives in A", 5)]
    ends = [(old.text, old.valid_to and old.valid_to.month) for old in now.replaced]
    assert ends == [("lives in B", 5), ("lives in A", 3)]
    assert then.replaced[0].superseded_by == then.id
    assert then.replaced[0].closed_recorded_at == datetime(2026, 6, 1, 2, tzinfo=UTC)
    block = await mem.context("lives", user_id="maya", known_at=before)
    assert "before: lives in A, 2026-01-01 to 2026-05-01" in block.text


async def test_the_timeline_tells_ends_as_they_were_known(late: Late) -> None:
    mem, before = late
    told = [
        [
            (row.text, row.until and row.until.month, row.replaced_by)
            for row in await mem.timeline(user_id="maya", known_at=known_at)
        ]
        for known_at in (before, None)
    ]
    texts = [[(text, until) for text, until, _ in rows] for rows in told]
    assert texts == [
        [("lives in A", 5), ("lives in C", None)],
        [("lives in A", 3), ("lives in B", 5), ("lives in C", None)],
    ]
    by = [[other and other.text for _, _, other in rows] for rows in told]
    assert by == [["lives in C", None], ["lives in B", "lives in C", None]]


async def test_what_was_reinstated_had_been_closed_until_then(late: Late) -> None:
    mem, _ = late
    clock = mem._clock
    assert isinstance(clock, FrozenClock)
    (row,) = (await mem.get_all(user_id="maya", kinds="memory")).rows
    moments = []
    for change in (mem.delete, mem.reinstate, mem.delete, mem.reinstate):
        clock.advance(hours=1)
        await change(row.id, user_id="maya")
        moments.append(clock.now)
    for _ in range(2):
        counts = [await mem.count(user_id="maya", known_at=at) for at in moments]
        assert counts == [0, 1, 0, 1]
        mem._rooms.retriever.forget("maya")  # read whole once more
    as_of = [
        await mem.count(user_id="maya", known_at=at, as_of="2030") for at in moments
    ]
    assert as_of == [0, 1, 0, 1]


async def test_what_was_erased_was_never_known(late: Late) -> None:
    mem, before = late
    (old,) = (await mem.search("lives", user_id="maya", as_of="2026-02-01")).hits
    await mem.erase(old.id, user_id="maya")
    for known_at in (before, None):
        for as_of in ("2026-02-01", "2026-04-01", None):
            found = await mem.search(
                "lives", user_id="maya", as_of=as_of, known_at=known_at
            )
            assert all("in A" not in hit.text for hit in found)
            assert all(not m.text.endswith("A") for h in found for m in h.replaced)
    rows = await mem.timeline(user_id="maya", known_at=before)
    assert [row.text for row in rows] == ["lives in C"]


async def test_what_came_later_leads_to_nothing_that_was_known_before_it(
    late: Late,
) -> None:
    mem, _ = late
    clock, store = mem._clock, mem._rooms.parts.store
    assert isinstance(clock, FrozenClock)
    ids: list[str | None] = []
    known = clock.now
    for text, year, follows in (
        ("works at P", 2021, None),
        ("works at Q", 2022, 0),
        ("works at S", 2024, 1),
        ("works at R", 2023, 2),  # late: between Q and S
    ):
        target = None if follows is None else ids[follows]
        since = to_micros(datetime(year, 1, 1, tzinfo=UTC))
        op = AddMemory(memory=new_memory(text, since), supersedes=target)
        plan = WritePlan(at=to_micros(clock.advance(hours=1)), ops=(op,))
        ids.append((await store.apply("odile", plan)).outcomes[0].id)
        known = clock.now if text == "works at S" else known
    assert ids[1] is not None
    await mem.erase(ids[1], user_id="odile")  # R stands in its place, for P
    (hit,) = (await mem.search("works", user_id="odile")).hits
    assert [old.text for old in hit.replaced] == ["works at R", "works at P"]

    async def then() -> list[tuple[str, tuple[MemoryRecord, ...]]]:
        found = await mem.search("works", user_id="odile", known_at=known)
        return [(hit.text, hit.replaced) for hit in found]

    assert await then() == [("works at S", ())]
    clock.advance(hours=1)
    await mem.reinstate(ids[0] or "", user_id="odile")
    assert await then() == [("works at S", ())]


async def test_only_facts_whose_ends_moved_are_remembered_as_they_were(
    late: Late,
) -> None:
    mem, _ = late

    async def held() -> int:
        views = mem._rooms.retriever.views
        found = await views.read("maya", lambda view: view.facts.past.nbytes)
        assert found is not None
        return found

    one_late = await held()
    (row,) = (await mem.get_all(user_id="maya", kinds="memory")).rows
    await mem.update(row.id, user_id="maya", text="lives in D")
    assert await held() == one_late > 0
    (first,) = (await mem.search("lives", user_id="maya", as_of="2026-02-01")).hits
    await mem.erase(first.id, user_id="maya")
    assert await held() == 0
