"""Many users at once: what each costs in the cache, and what a fleet costs on disk."""

import asyncio
import functools
import gc
import os
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks_perf.floors import Json
from benchmarks_perf.vector_data import made_up
from hmem.protocols import Delta, LexicalRows, Mark, MemoryRow, Space, VectorRows
from hmem.records import EMPTY
from hmem.vectors import CODECS, INDEXES, codec, index
from hmem.views import ViewCache

MEMORIES, DIM = 200, 384
FLEET, FLEET_DIM = 200_000_000, 768
BOUND = 256 * 2**20


def fleet(rows: list[Json]) -> list[Json]:
    """Bytes of 200 million vectors of 768 dimensions, as long as encoded rows are; recall
    by n as measured at that dimension, alone and with the int8 copy of a re-score."""
    sample = made_up(1_000, FLEET_DIM).rows
    each = {name: codec(name).encode(sample).nbytes / 1_000 for name in sorted(CODECS)}
    found = []
    for name, size in each.items():
        one: Json = {
            "codec": name,
            "bytes_per_vector": size,
            "gigabytes": round(FLEET * size / 1e9, 1),
            "recall_at_10": _recall(rows, name),
        }
        if name not in ("float32", "int8"):
            one["with_copy_gigabytes"] = round(FLEET * (size + each["int8"]) / 1e9, 1)
            one["with_copy_recall_at_10"] = _recall(rows, "int8")
        found.append(one)
    return found


def _recall(rows: list[Json], name: str) -> dict[str, float]:
    wanted = (FLEET_DIM, "float32", name)
    here = [r for r in rows if (r["dim"], r["backend"], r["codec"]) == wanted]
    return {str(r["n"]): r["recall_at_10"] for r in here}


def cached_users(users: int) -> list[Json]:
    """Indexes of that many users with 200 vectors each, alive at once, and then a cache
    of views that must stay below its bound. Each in a process of its own, so that what
    one gave back is not taken for free by the next."""
    found = []
    for name in (*INDEXES, "view"):
        with get_context("spawn").Pool(1) as pool:
            if name == "view":
                found.append(pool.apply(_cached_views, (users,)))
            else:
                found.append(pool.apply(_indexes, (name, users)))
    return found


def _indexes(name: str, users: int) -> Json:
    _user(name, 0)  # what a process pays once
    before, held = _resident(), [_user(name, i) for i in range(users)]
    after = _resident()
    declared = sum(one.nbytes for one in held)
    return {
        "index": name,
        "users": users,
        "bytes_each": round((after - before) / users),
        "declared_bytes_each": round(declared / users),
    }


def _cached_views(users: int) -> Json:
    return asyncio.run(_bounded(users))


def _user(name: str, number: int) -> Any:
    made: Any = index(name, DIM)
    codes = _codes(number)
    made.add_codes(np.arange(MEMORIES, dtype=np.uint64), codes, "int8")
    return made


@functools.cache
def _pool() -> np.ndarray[Any, Any]:
    return codec("int8").encode(made_up(4_096, DIM).rows)


def _codes(number: int) -> np.ndarray[Any, Any]:
    start = number % (len(_pool()) - MEMORIES)
    return _pool()[start : start + MEMORIES].copy()


class _Users:
    """A store of users that were all written long ago."""

    async def delta(self, user_id: str, since: Mark | None) -> Delta:
        mark = Mark(1, 1, MEMORIES, 0, (1, 0), (1, 0))
        if since is not None:
            return Delta(mark=mark, whole=False)
        number, seqs = int(user_id), np.arange(1, MEMORIES + 1, dtype=np.uint32)
        keys = np.stack([seqs, np.zeros_like(seqs)], axis=1)
        tokens = np.random.default_rng(number).integers(0, 5_000, 12 * MEMORIES)
        return Delta(
            mark=mark,
            whole=True,
            memories=list(_memories(number)),
            lexical=[
                LexicalRows(
                    "memory",
                    keys,
                    np.full(MEMORIES, 12, np.uint32),
                    tokens.astype(np.uint32),
                )
            ],
            vectors=[VectorRows("memory", 1, "int8", keys, _codes(number))],
        )


def _memories(number: int) -> Iterator[MemoryRow]:
    for seq in range(1, MEMORIES + 1):
        text = f"User {number} said on day {seq} that number {number * seq} was theirs."
        at = 1_700_000_000_000_000 + seq
        yield MemoryRow(
            seq=seq,
            id=f"{number:016x}{seq:016x}",
            text=text,
            ends=(len(text),),
            agent_id=None,
            session_id=None,
            category="semantic",
            importance=5,
            event_start=None,
            event_end=None,
            event_precision=None,
            valid_from=at,
            valid_to=None,
            recorded_at=at,
            closed_recorded_at=None,
            superseded_by=None,
            source_ids=(),
            quote=None,
            verified=True,
            hash=seq.to_bytes(8, "big"),
            expires_at=None,
            forgotten_at=None,
            last_accessed=None,
            metadata=EMPTY,
            prompt_version=None,
        )


async def _bounded(users: int) -> Json:
    before = _resident()
    cache = ViewCache(_Users(), lambda dim: index("auto", dim), max_bytes=BOUND)  # type: ignore[arg-type]
    cache.space = Space(id=1, model="made up", dim=DIM)
    most = 0
    for number in range(users):
        await cache.read(str(number), lambda view: len(view.facts))
        most = max(most, cache.stats()["bytes"])
    stats = cache.stats()
    return {
        "index": "auto, in a view with texts and words",
        "users": users,
        "bound_bytes": BOUND,
        "most_bytes_declared": most,
        "views_held": stats["views"],
        "declared_bytes_each": round(stats["bytes"] / max(1, stats["views"])),
        "bytes_each": round((_resident() - before) / max(1, stats["views"])),
        "resident_over_bound": round((_resident() - before) / BOUND, 2),
    }


def _resident() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
