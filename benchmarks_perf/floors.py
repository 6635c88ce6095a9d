"""What the machine gives: timers, percentiles, and the floors that figures stand beside.

A figure alone says little on a shared machine, so every program here takes its floor in
the same run, in turn with what it measures, and prints the ratio.
"""

import argparse
import asyncio
import contextlib
import ctypes
import gc
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Json = dict[str, Any]
PAGE = os.urandom(4096)


# ------------------------------------------------------------------ time and numbers


def percentile(seconds: Sequence[float], q: float) -> float:
    """The q-th percentile (0..100), by the nearest rank."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, round(q / 100 * (len(ordered) - 1)))]


def us(seconds: Sequence[float]) -> Json:
    """p50, p99 and max in microseconds, and of how many."""
    return _spread(seconds, 1e6)


def ms(seconds: Sequence[float]) -> Json:
    """p50, p99 and max in milliseconds, and of how many."""
    return _spread(seconds, 1e3)


def _spread(seconds: Sequence[float], scale: float) -> Json:
    if not seconds:
        return {"p50": None, "p99": None, "max": None, "n": 0}
    found = {f"p{q}": percentile(seconds, q) * scale for q in (50, 99)}
    found["max"] = max(seconds) * scale
    return {name: round(value, 3) for name, value in found.items()} | {
        "n": len(seconds)
    }


def ratio(a: Sequence[float], b: Sequence[float]) -> float:
    """The median of `a` as a multiple of the median of `b`."""
    return round(percentile(a, 50) / percentile(b, 50), 2)


def medians(runs: Sequence[Json]) -> Json:
    """The median of each figure over several runs."""
    return {
        name: round(percentile([run[name] for run in runs], 50), 1) for name in runs[0]
    }


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    """Append how long the body took."""
    began = time.perf_counter()
    yield
    into.append(time.perf_counter() - began)


@contextmanager
def worked(into: list[float]) -> Iterator[None]:
    """Append what the body took of the processor, in all threads of this process: on a
    machine that others use, this tells more than how long it took."""
    began = time.process_time()
    yield
    into.append(time.process_time() - began)


async def clock(into: list[float], call: Awaitable[T]) -> T:
    """Await the call; append how long that took."""
    began = time.perf_counter()
    result = await call
    into.append(time.perf_counter() - began)
    return result


class Lists(dict[str, list[float]]):
    """Seconds by what was timed."""

    def __missing__(self, name: str) -> list[float]:
        self[name] = []
        return self[name]


@contextmanager
def quiet_gc() -> Iterator[None]:
    """What was made before is out of the collector's sight. It goes on running."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


# ------------------------------------------------------------------------------ disk


class Disk:
    """Files of a folder to time the disk with."""

    def __init__(self, folder: Path) -> None:
        self._log = os.open(folder / "floor.log", os.O_RDWR | os.O_CREAT, 0o600)
        self._page = os.open(folder / "floor.page", os.O_RDWR | os.O_CREAT, 0o600)
        os.write(self._page, os.urandom(100_000))
        self._end = 0

    def fdatasync(self) -> float:
        """Seconds to append 4 KB and have them on the disk."""
        began = time.perf_counter()
        os.pwrite(self._log, PAGE, self._end)
        os.fdatasync(self._log)
        took = time.perf_counter() - began
        self._end += len(PAGE)
        return took

    def pread(self) -> float:
        """Seconds to read 100 KB from the page cache."""
        began = time.perf_counter()
        os.pread(self._page, 100_000, 0)
        return time.perf_counter() - began

    def pread_cold(self) -> float:
        """Seconds to read 100 KB that the page cache does not hold."""
        os.fsync(self._page)
        os.posix_fadvise(self._page, 0, 0, os.POSIX_FADV_DONTNEED)
        return self.pread()

    def close(self) -> None:
        """Close the files."""
        os.close(self._log)
        os.close(self._page)


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    """The floors of the disk that `folder` is on."""
    where = folder / "floors"
    where.mkdir(exist_ok=True)
    made = Disk(where)
    try:
        yield made
    finally:
        made.close()


# -------------------------------------------------------------------------- the loop


class Ticker:
    """How late a loop wakes a sleeper that wants to wake every 5 ms."""

    def __init__(self, every: float = 0.005) -> None:
        self.every = every
        self.late: list[float] = []

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + self.every
            await asyncio.sleep(self.every)
            self.late.append(max(0.0, loop.time() - due))


@asynccontextmanager
async def ticking() -> AsyncIterator[Ticker]:
    """A ticker beside the body."""
    ticker = Ticker()
    task = asyncio.create_task(ticker.run())
    await asyncio.sleep(0)
    try:
        yield ticker
    finally:
        await asyncio.sleep(ticker.every)  # what held the loop to the end counts too
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def idle_lag(seconds: float) -> list[float]:
    """The lateness of a loop that has nothing to do."""
    async with ticking() as ticker:
        await asyncio.sleep(seconds)
    return ticker.late


# ----------------------------------------------------------------------- the command


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options that every program has."""
    made = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    made.add_argument("--json", action="store_true", help="one line of JSON")
    made.add_argument("--quick", action="store_true", help="a few seconds, rough")
    made.add_argument(
        "--folder", type=Path, help="where to put the data (a temp folder)"
    )
    return made


@contextmanager
def workplace(folder: Path | None) -> Iterator[Path]:
    """A new folder below `folder`, or below the system's, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="hmem-perf-", dir=folder) as name:
        yield Path(name)


def report(result: Json, options: argparse.Namespace) -> None:
    """Print the result, and what it was taken on."""
    whole = {"program": Path(sys.argv[0]).stem, "machine": machine()} | result
    print(json.dumps(whole, indent=None if options.json else 2))


def machine() -> Json:
    """What the figures were taken on."""
    return {
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def die_with_parent() -> None:
    """Have a child killed when its parent ends, however it ends. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 9)
