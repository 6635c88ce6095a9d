"""A store made in rounds, and made again from the recording: see bench/replay.py."""

import asyncio
import contextlib
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bench import replay
from bench.talks import Conversation, Turn

LINES = (
    ("Ines", "I started at the pottery studio in Braga on Monday."),
    ("Otto", "How was it? I planted nine tomato seedlings on the balcony."),
    ("Ines", "My teacher Rui showed us how to centre the clay. I broke two bowls."),
    ("Otto", "My sister Greta is moving to Tartu in the autumn."),
    ("Ines", "I sold my first vase to a café near the river."),
    ("Otto", "The tomatoes are ripe. I cooked a soup for Greta before she left."),
    ("Ines", "I will show six plates at the market in May."),
    ("Otto", "Greta found a flat in Tartu with a view of the bridge."),
)


@pytest.fixture(scope="module")
def talk() -> Conversation:
    start = datetime(2025, 3, 3, 18, tzinfo=UTC)
    turns = tuple(
        Turn(
            id=f"D{n}",
            name=name,
            text=text,
            session=n // 2,
            at=start + timedelta(n // 2),
        )
        for n, (name, text) in enumerate(LINES)
    )
    return Conversation(id="ines-and-otto", turns=turns, facts=(), questions=())


@pytest.fixture(scope="module")
def recorded(
    talk: Conversation, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    """What the run found, and where it is. Recording takes seconds."""
    where = tmp_path_factory.mktemp("recorded")
    return asyncio.run(replay.run(talk, where)), where


@pytest.fixture
def found(recorded: tuple[dict[str, Any], Path], tmp_path: Path) -> dict[str, Any]:
    """What the run found; `tmp_path` holds a copy of all that it left."""
    shutil.copytree(recorded[1], tmp_path, dirs_exist_ok=True)
    return recorded[0]


async def test_a_store_replayed_from_the_recording_is_the_same_byte_for_byte(
    found: dict[str, Any], tmp_path: Path
) -> None:
    assert (found["rounds"], found["answers"], found["left"]) == (4, 4, 0)
    assert found["jobs"]["done"] == 4
    assert found["facts"] >= len(LINES)
    assert found["identical"]
    assert found["replays"]["differing"] == []
    assert found["rounds_and_replay"]["differing_rows"] == {}
    # Nothing but what counts transactions may differ, and it is seen where it does.
    assert set(found["rounds_and_replay"]["counted"]) <= {
        f"{table}.{column}"
        for table, columns in replay.COUNTED.items()
        for column in columns
    }
    assert (tmp_path / "second" / "shard-00.db").read_bytes() == (
        tmp_path / "third" / "shard-00.db"
    ).read_bytes()

    # A comparison that sees nothing would say the same.
    file = tmp_path / "third" / "shard-00.db"
    with contextlib.closing(sqlite3.connect(file)) as conn:
        conn.execute("UPDATE memories SET importance = 9 WHERE id % 1000 = 0")
        conn.execute("UPDATE memories SET text = text || '.'")
        conn.commit()
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    again = replay.compared(tmp_path)
    assert not again["identical"]
    assert "shard-00.db" in again["replays"]["differing"]


@pytest.mark.usefixtures("found")
async def test_a_recording_that_lacks_an_answer_makes_no_store_that_seems_whole(
    talk: Conversation, tmp_path: Path
) -> None:
    answers = tmp_path / "rounds" / "answers.txt"
    cassette = replay.Cassette(answers)
    lost = [chat.key for chat in cassette.chats()][-1]
    with replay.fixed():
        short = replay.Cassette(tmp_path / "short.txt")
        short.record(*(chat for chat in cassette.chats() if chat.key != lost))
        vectors = replay.ReplayEmbedder(replay.Cassette(tmp_path / "vectors.txt"))
        again = replay.Extraction(talk, tmp_path / "fourth", vectors)
        await again.add()
        async with again.memory(replay.ReplayLLM(short, strict=True)) as memory:
            with pytest.raises(TimeoutError):
                await replay.ended(memory, seconds=1.0)
            jobs = (await memory.admin.stats())["jobs"]
    assert jobs["queued"] > 0
    assert (jobs["done"] + jobs["queued"], jobs["partial"], jobs["dead"]) == (4, 0, 0)
