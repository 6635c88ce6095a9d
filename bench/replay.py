"""Extraction through round files, then from the recording alone: is it the same store?

    python -m bench.replay --data locomo.json --conversation conv-30

A conversation is added session by session. Then it is extracted twice:

    rounds   its requests are written to files, a stand-in (no model: it copies) answers
             them, and every answer goes into a recording
    replay   into a new folder from that recording, with no endpoint; done twice

Ids, clocks and what a call took are fixed. The stores are compared file by file, byte for
byte, and row by row. Rounds take more transactions than a replay, for a job is set aside
until its answer is there; so the counters of them, and what is labelled with them, are set
apart (`counted`) and compared by their order instead. Left out is `.hmem.hints` alone: random
numbers by which processes wake each other. Prints one JSON object; the exit code is 1 unless
all is the same.
"""

import argparse
import asyncio
import contextlib
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from bench.locomo_data import load
from bench.talks import Conversation, Turn
from hmem import AsyncMemory, Config
from hmem.errors import HmemError
from hmem.protocols import LLM, Embedder
from hmem.replay import (
    Cassette,
    ReplayEmbedder,
    ReplayLLM,
    RoundsLLM,
    answered_by,
    run_rounds,
)
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import FrozenClock, HashEmbedder
from hmem.testing.standin import StandInLLM

_SETTLE = 0.25
_LOOK = 0.05
_PATIENCE = 600.0
_ASIDE = 10.0
"""Seconds by which the store's clock moves at each opening: what was set aside is due."""
_DAY = timedelta(days=1)
_HINTS = ".hmem.hints"
COUNTED = {
    "users": {"generation", "token", "entity_generation", "log_floor"},
    "entities": {"generation"},
    "touched": {"generation"},
}
"""Counts of transactions and claims, and what is labelled with one."""

Rows = dict[str, list[tuple[Any, ...]]]


class Extraction:
    """One conversation in one folder; `times` counts the openings."""

    def __init__(self, talk: Conversation, folder: Path, embedder: Embedder) -> None:
        self.talk = talk
        self.config = Config(
            path=folder,
            shards=1,
            durability="normal",
            mode="append",
            lease=86_400,
            users_in_parallel=1,
        )
        self.times = 0
        self._embedder = embedder
        self._clock = FrozenClock(talk.turns[0].at)

    def memory(self, llm: LLM | None) -> AsyncMemory:
        """The memory, not open; without an LLM it only takes turns in."""
        self.times += 1
        config = self.config
        if llm is None:
            config = Config(**{**asdict(config), "worker": "off"})
        holds = FrozenClock(self._clock.now)
        holds.advance(_ASIDE * self.times)
        return AsyncMemory(
            config,
            store=EmbeddedStore(config, clock=holds),
            llm=llm,
            embedder=self._embedder,
            clock=self._clock,
        )

    async def add(self) -> None:
        """Take all sessions in, each at its time; nothing is extracted yet."""
        async with self.memory(None) as memory:
            for number, turns in self.talk.sessions().items():
                self._clock.now = turns[0].at
                await memory.add(
                    [_message(turn) for turn in turns],
                    user_id=self.talk.id,
                    session_id=f"session_{number}",
                    observed_at=turns[0].at,
                )
        self._clock.now = self.talk.ended + _DAY

    async def replay(self, cassette: Cassette) -> dict[str, Any]:
        """Extract from a recording; what that was."""
        llm = ReplayLLM(cassette, strict=True)
        async with self.memory(llm) as memory:
            await ended(memory, seconds=_PATIENCE)
            return await memory.admin.stats()


async def ended(memory: AsyncMemory, *, seconds: float) -> None:
    """Until nothing is queued. Raises TimeoutError after so many seconds: an answer that
    is not recorded never comes."""
    async with asyncio.timeout(seconds):
        while await memory.admin.queued():  # noqa: ASYNC110
            await asyncio.sleep(_LOOK)


def _message(turn: Turn) -> Mapping[str, Any]:
    return {
        "role": turn.role,
        "content": turn.text,
        "id": turn.id,
        "name": turn.name,
        "timestamp": turn.at,
    }


@contextlib.contextmanager
def fixed() -> Iterator[None]:
    """Users are numbered instead of drawn, and nothing takes any time."""
    numbers = iter(range(1, 2**31))
    still = SimpleNamespace(perf_counter=lambda: 0.0)
    drawn = SimpleNamespace(randbits=lambda _: next(numbers))
    with (
        mock.patch("hmem.stores.account.secrets", drawn),
        mock.patch("hmem.process.time", still),
        mock.patch("hmem.chat.ladder.time", still),
    ):
        yield


async def run(
    talk: Conversation, folder: Path, *, embedder: Embedder | None = None
) -> dict[str, Any]:
    """Extract, replay twice, compare. `folder` holds the stores and the round files."""
    inner = embedder or HashEmbedder()
    rounds, answers = folder / "rounds", folder / "rounds" / "answers.txt"
    vectors = folder / "vectors.txt"
    began = time.monotonic()
    recorder = ReplayEmbedder(Cassette(vectors), embedder=inner)
    with fixed():
        first = Extraction(talk, folder / "first", recorder)
        await first.add()
        llm = RoundsLLM(Cassette(answers), model="stand-in")
        ran = await run_rounds(
            first.memory,
            answered_by(StandInLLM()),
            rounds,
            llm=llm,
            settle=_SETTLE,
        )
    await recorder.aclose()
    found: dict[str, Any] = {
        "conversation": talk.id,
        "sessions": len(talk.sessions()),
        "turns": len(talk.turns),
        "rounds": ran.rounds,
        "answers": ran.answers,
        "asked": llm.calls,
        "left": ran.left,
        "rounds_s": round(time.monotonic() - began, 1),
    }
    stats: dict[str, Any] = {}
    for name in ("second", "third"):
        began = time.monotonic()
        with fixed():
            again = Extraction(talk, folder / name, ReplayEmbedder(Cassette(vectors)))
            await again.add()
            stats = await again.replay(Cassette(answers))
        found["replay_s"] = round(time.monotonic() - began, 1)
    extracted = stats["models"]["extract"]
    found |= {
        "facts": stats["memories"],
        "jobs": dict(stats["jobs"]),
        "calls": extracted["calls"],
        "prompt_tokens": extracted["prompt_tokens"],
        "completion_tokens": extracted["completion_tokens"],
    }
    return found | compared(folder)


def compared(folder: Path) -> dict[str, Any]:
    """What is the same in the stores of `run`."""
    files = [_files(folder / name) for name in ("first", "second", "third")]
    tables = [_tables(folder / name) for name in ("first", "second", "third")]
    replays = {n for n in files[1] | files[2] if files[1].get(n) != files[2].get(n)}
    rows = {
        name: sum(
            a != b for a, b in zip(tables[0][name], tables[1][name], strict=False)
        )
        + abs(len(tables[0][name]) - len(tables[1][name]))
        for name in sorted(tables[0])
    }
    counted = _differing(folder / "first", folder / "second")
    return {
        "identical": not replays and not any(rows.values()) and tables[1] == tables[2],
        "replays": {
            "files": len(files[1]),
            "bytes": sum(size for size, _ in files[1].values()),
            "differing": sorted(replays),
            "sha256": sha256(repr(sorted(files[1].items())).encode()).hexdigest(),
        },
        "rounds_and_replay": {
            "tables": len(rows),
            "rows": sum(len(one) for one in tables[0].values()),
            "differing_rows": {name: n for name, n in rows.items() if n},
            "counted": counted,
        },
    }


def _files(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file of a store that is closed: its size and its digest."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_size,
            sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != _HINTS
    }


def _tables(folder: Path) -> Rows:
    """All rows of all tables, with counted columns by their order."""
    found: Rows = {}
    for path in sorted(folder.glob("*.db")):
        for name, columns, rows in _read(path):
            apart = [n for n, c in enumerate(columns) if c in COUNTED.get(name, ())]
            found[f"{path.name}:{name}"] = _ranked(rows, apart)
    return found


def _ranked(
    rows: Sequence[tuple[Any, ...]], apart: Sequence[int]
) -> list[tuple[Any, ...]]:
    """The rows with the values of some columns replaced by their ranks."""
    if not apart:
        return list(rows)
    ranks = {
        at: {value: n for n, value in enumerate(sorted({row[at] for row in rows}))}
        for at in apart
    }
    return [
        tuple(
            ranks[at][value] if at in ranks else value for at, value in enumerate(row)
        )
        for row in rows
    ]


def _differing(one: Path, other: Path) -> dict[str, int]:
    """In how many rows a counted column differs as it stands."""
    found: dict[str, int] = {}
    for path in sorted(one.glob("*.db")):
        pairs = zip(_read(path), _read(other / path.name), strict=True)
        for (name, columns, mine), (_, _, theirs) in pairs:
            for at, column in enumerate(columns):
                n = sum(a[at] != b[at] for a, b in zip(mine, theirs, strict=False))
                if n:
                    found[f"{name}.{column}"] = n
    return found


def _read(path: Path) -> list[tuple[str, list[str], list[tuple[Any, ...]]]]:
    """The tables of a file: name, columns, rows in the order of all their columns."""
    with contextlib.closing(
        sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    ) as file:
        names = [
            name
            for (name,) in file.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            )
        ]
        found = []
        for name in names:
            rows = file.execute(f"SELECT * FROM {name}")  # noqa: S608  from the schema
            columns = [column for column, *_ in rows.description]
            found.append((name, columns, rows.fetchall()))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.replay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="a file in LoCoMo's form")
    add("--conversation", required=True, metavar="ID")
    add("--embed", choices=("hash", "minilm"), default="hash")
    add("--keep", type=Path, metavar="DIR", help="a new folder for stores and rounds")
    given = parser.parse_args(argv)
    if given.keep is not None and given.keep.exists():
        parser.error(f"{given.keep} exists")
    try:
        (talk,) = load(given.data, only=[given.conversation])
        with tempfile.TemporaryDirectory() as made:
            embedder = _embedder(given.embed)
            found = asyncio.run(run(talk, given.keep or Path(made), embedder=embedder))
    except (HmemError, ValueError, OSError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=2))
    return 0 if found["identical"] and not found["left"] else 1


def _embedder(name: str) -> Embedder:
    if name == "hash":
        return HashEmbedder()
    from hmem.embed.minilm import MiniLM  # noqa: PLC0415  an extra

    return MiniLM.load()


if __name__ == "__main__":
    sys.exit(main())
