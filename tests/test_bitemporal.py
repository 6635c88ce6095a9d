"""Random histories through the face and through plans, held against plain Python: what is
seen at every moment of both times, how each fact stands, and what its history tells.

HMEM_LONG=1 runs 50,000 steps.
"""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hmem import AsyncMemory, Config
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
        assert len(await mem.get_all(user_id="maya", kind="memory")) == 2


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
