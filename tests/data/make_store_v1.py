"""Writes a shard as format 1 was: python tests/data/make_store_v1.py

Run it with an hmem of format 1; a later one refuses. The dump
is what SQLite says of the file, with nothing left out.
"""

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from hmem.config import Config
from hmem.protocols import JobEnd, StoreReply
from hmem.records import Usage
from hmem.stores.embedded import EmbeddedStore
from hmem.stores.schema import MIGRATIONS
from hmem.testing.store.making import (
    accept,
    add,
    close,
    code,
    item,
    plan,
    put,
    quiet,
    turn,
)

HERE = Path(__file__).parent
THEN = datetime(2025, 1, 1, tzinfo=UTC)  # leases given out then are over


async def fill(folder: Path) -> None:
    """Two users: chains with and without reasons, a late arrival, jobs in every state."""
    store = EmbeddedStore(Config(path=folder, shards=1), clock=lambda: THEN)
    await store.open()
    await store.adopt_space("model", 2)
    done = await store.accept(
        "ana",
        quiet(
            turn("I moved to Gh\u00e9nt", at=1, message_id="m1", metadata={"n": 1}),
            turn("Noted", at=1, role="assistant", name="Bot", passages=2),
            item("Lives in London", at=1, entities=["london"], importance=8),
            item(
                "Met L\u00e9a",
                at=2,
                category="episodic",
                event_start=1_700_000_000_000_000,
                event_precision="day",
                expires_at=2_000_000_000_000_000,
                metadata={"k": [1.5]},
                verified=False,
                quote="met",
            ),
            key="k1",
            body_hash=b"1",
        ),
    )
    said, london = done.turns[0], done.added[0]
    found = await store.apply(
        "ana",
        plan(
            add(
                "Lives in Ghent",
                at=9,
                supersedes=london,
                source_ids=[said],
                vector=code("g"),
            ),
            add("Has a dog", at=3, source_ids=["mail-7"]),
            put("turn", {(1, 0): code("t")}),
            at=10,
        ),
    )
    ghent, dog = (o.id or "" for o in found.outcomes[:2])
    why = add("Lives in Rome", at=12, supersedes=ghent)
    await store.apply(
        "ana",
        plan(type(why)(memory=why.memory, supersedes=ghent, reason="moved"), at=12),
    )
    late = add("Lives in Paris", at=5, supersedes=london)
    await store.apply(
        "ana",
        plan(type(late)(memory=late.memory, supersedes=london, reason="late"), at=13),
    )
    await store.apply("ana", plan(close(dog, at=14, reason="it died"), at=14))
    await store.accept("ben", accept(turn("dead"), key="k1", body_hash=b"2"))
    (claim,) = await store.claim(worker="w", lease=60, limit=1)
    end = JobEnd(status="dead", reason="no", usage=Usage(llm_calls=2))
    await store.apply("ben", plan(claim=claim, end=end))
    for text in ("first", "second", "third"):
        await store.accept("ana", accept(turn(text), item(f"{text} fact"), at=20))
    (claim,) = await store.claim(worker="w", lease=60, limit=1)
    reply = StoreReply(job_id=claim.jobs[0].id, reply=b"reply")
    await store.apply("ana", plan(reply, claim=claim))
    await store.release(claim, delay=0.0)
    await store.accept("ben", accept(turn("old"), priority="import", at=21))
    await store.claim(worker="lost", lease=60, limit=1)
    await store.accept("cyd", quiet(item("gone")))
    await store.erase_user("cyd")
    await store.aclose()


def main() -> None:
    """Fill a store and dump its shard."""
    if len(MIGRATIONS) != 1:
        raise SystemExit("this hmem writes another format")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(fill(Path(folder)))
        with closing(sqlite3.connect(Path(folder) / "shard-00.db")) as db:
            text = "\n".join(db.iterdump()) + "\n"
    (HERE / "store_v1.sql").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
