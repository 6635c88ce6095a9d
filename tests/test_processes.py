"""Whole processes: not closed, dropped, killed; what they acknowledged is there."""

import asyncio
import gc
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hmem import (
    AsyncMemory,
    Config,
    InputError,
)
from hmem.testing.fakes import HashEmbedder


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=1, embed="none", durability="normal")


# ------------------------------------------------------------------ whole processes

PRELUDE = """
import asyncio, gc, os, signal, sys, warnings
from hmem import AsyncMemory, Config
from hmem.testing.fakes import HangingEmbedder, HashEmbedder
config = Config(path=sys.argv[1], shards=2)
"""


def run(script: str, path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", PRELUDE + script, str(path)],
        capture_output=True,
        text=True,
        timeout=20,
    )


async def texts(config: Config, user: str = "u") -> list[str]:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        return [row.text for row in await mem.get_all(user_id=user, limit=1_000)]


@pytest.mark.parametrize("embedder", ["HashEmbedder", "HangingEmbedder"])
async def test_without_a_close_the_process_ends_and_nothing_is_lost(
    config: Config, embedder: str
) -> None:
    script = f"""
async def main():
    mem = await AsyncMemory(config, embedder={embedder}()).open()
    for n in range(20):
        await mem.add(f"turn {{n}}", user_id="u")
    print("done", flush=True)
    import time; print(time.monotonic(), flush=True)
asyncio.run(main())
"""
    ran = await asyncio.to_thread(run, script, config.folder)
    ended = time.monotonic()
    assert ran.stdout.startswith("done"), ran.stderr
    assert ran.returncode == 0, ran.stderr
    assert ended - float(ran.stdout.split()[1]) < 5
    assert ran.stderr == ""  # no task of ours that the loop had to destroy
    assert await texts(config) == [f"turn {n}" for n in range(20)]


async def test_a_dropped_memory_warns_once_and_frees_what_it_held(
    config: Config,
) -> None:
    script = """
async def main():
    mem = await AsyncMemory(config, embedder=HashEmbedder()).open()
    await mem.add("hi", user_id="u", wait=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        del mem
        gc.collect()
        for _ in range(100):
            await asyncio.sleep(0.02)
            held = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
                    if os.path.exists(f"/proc/self/fd/{n}")]
            if not any(sys.argv[1] in name for name in held):
                break
        gc.collect()
    print([str(w.category.__name__) for w in seen])
    print([name for name in held if sys.argv[1] in name])
    print([t.get_name() for t in asyncio.all_tasks() if t.get_name() == "hmem-worker"])
asyncio.run(main())
"""
    ran = await asyncio.to_thread(run, script, config.folder)
    assert ran.stdout.splitlines() == ["['ResourceWarning']", "[]", "[]"], ran.stderr
    assert await texts(config) == ["hi"]


async def test_a_loop_that_is_thrown_away_does_not_hang_the_process(
    config: Config,
) -> None:
    script = """
loop = asyncio.new_event_loop()
mem = AsyncMemory(config, embedder=HangingEmbedder())
loop.run_until_complete(mem.open())
loop.run_until_complete(mem.add("hi", user_id="u"))
print("done", flush=True)
"""
    started = time.monotonic()
    ran = await asyncio.to_thread(run, script, config.folder)
    assert ran.stdout == "done\n", ran.stderr
    assert ran.returncode == 0
    assert time.monotonic() - started < 15
    assert await texts(config) == ["hi"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
async def test_a_killed_process_loses_nothing_it_acknowledged(
    config: Config, how: signal.Signals
) -> None:
    script = """
async def main():
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        n = 0
        while True:
            await mem.add(f"turn {n}", user_id="u")
            print(n, flush=True)
            n += 1
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PRELUDE + script, str(config.folder)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    told: list[int] = []
    while len(told) < 30:
        told.append(int(await asyncio.wait_for(process.stdout.readline(), 15)))
    process.send_signal(how)
    started = time.monotonic()
    rest, _ = await asyncio.wait_for(process.communicate(), 10)
    assert time.monotonic() - started < 4
    told += [int(line) for line in rest.split(b"\n")[:-1]]
    kept = await texts(config)
    assert kept[: len(told)] == [f"turn {n}" for n in told]
    assert len(kept) - len(told) <= 1
    assert len(kept) == len(set(kept))


@pytest.mark.slow  # tests/test_cases.py has the same, with more around it
async def test_a_job_that_kills_its_worker_is_given_up_and_others_go_on(
    config: Config,
) -> None:
    async with AsyncMemory(
        replace(config, worker="off"), embedder=HashEmbedder()
    ) as off:
        bad = await off.add("poison", user_id="bad")
        good = await off.add("fine", user_id="good")
    script = """
class Deadly(HashEmbedder):
    async def embed(self, texts, *, purpose="passage"):
        if any("poison" in t for t in texts):
            os._exit(9)
        return await super().embed(texts, purpose=purpose)
async def main():
    config = Config(path=sys.argv[1], lease=0.1, max_attempts=2)
    async with AsyncMemory(config, embedder=Deadly()) as mem:
        while await mem.admin.queued():
            await asyncio.sleep(0.02)
asyncio.run(main())
"""
    codes = []
    while not codes or codes[-1] == 9:
        codes.append((await asyncio.to_thread(run, script, config.folder)).returncode)
    assert codes == [9, 9, 0]  # as often as it may be tried, and no more
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        dead = await (await mem.receipt(bad.id, user_id="bad")).result(timeout=10)
        assert dead.status == "dead"
        assert dead.reason
        fine = await (await mem.receipt(good.id, user_id="good")).result(timeout=10)
        assert fine.status == "done"
        assert len(await mem.search("poison", user_id="bad")) == 1


async def test_a_worker_process_gives_its_job_back_on_sigterm(config: Config) -> None:
    async with AsyncMemory(
        replace(config, worker="off"), embedder=HashEmbedder()
    ) as off:
        await off.add("hi", user_id="u")
        script = """
from hmem import register_embedder, run_worker
class Slow(HangingEmbedder):
    async def embed(self, texts, *, purpose="passage"):
        print("working", flush=True)
        return await super().embed(texts, purpose=purpose)
def make(config):
    return Slow()
register_embedder("slow", "__main__:make")
asyncio.run(run_worker(Config(path=sys.argv[1], embed="slow")))
"""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PRELUDE + script, str(config.folder)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 15) == b"working\n"
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, errors = await asyncio.wait_for(process.communicate(), 10)
        assert time.monotonic() - started < 8
        assert process.returncode == 0, errors
        claims = await off._rooms.parts.store.claim(worker="next", lease=9, limit=9)
        assert [job.attempts for c in claims for job in c.jobs] == [1]


async def test_a_search_finds_what_another_process_added(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("first", user_id="u", wait=True)
        assert len(await mem.search("first second", user_id="u")) == 1
        script = """
async def main():
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("second", user_id="u")
asyncio.run(main())
"""
        ran = await asyncio.to_thread(run, script, config.folder)
        assert ran.returncode == 0, ran.stderr
        found = await mem.search("first second", user_id="u")
        assert sorted(hit.text for hit in found) == ["first", "second"]


async def test_the_loop_stays_free(config: Config) -> None:
    """A coarse guard; the figures are measured elsewhere. What the loop's own thread
    works at once, and a wait that no busy machine explains."""
    longest = stopped = 0.0

    async def tick() -> None:
        nonlocal longest, stopped
        while True:
            started, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.01)
            longest = max(longest, time.thread_time() - worked)
            stopped = max(stopped, time.perf_counter() - started)

    ticker = asyncio.create_task(tick())
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add(["word " * 30_000], user_id="u", wait=True, timeout=20)
        for n in range(100):
            await mem.add(f"turn {n}", user_id="u")
            await mem.search("turn", user_id="u")
    ticker.cancel()
    gc.collect()
    assert longest < 0.5
    assert stopped < 5


async def test_bad_input_raises_before_the_state_is_touched(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        with pytest.raises(InputError):
            await mem.add("hi", user_id="")
    with pytest.raises(InputError):
        await mem.aclose(timeout=-1)
