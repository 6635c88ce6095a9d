"""What was stored without an embedder gets its vectors when one is there."""

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hmem import AsyncMemory, Config, EmbedderError
from hmem.protocols import Delta
from hmem.running.opening import DRAIN
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder
from hmem.testing.yard import ScriptedEmbedder, eventually

LONG = " ".join(f"On day {n} the heron stood in the reeds again." for n in range(120))
USERS = ("ada", "bea", "cyd")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of milliseconds."""
    for module in ("hmem.worker", "hmem.backfill"):
        monkeypatch.setattr(f"{module}._BASE", 0.01)
        monkeypatch.setattr(f"{module}._CAP", 0.05)


async def store_without_vectors(
    config: Config, *texts: str, users: Sequence[str] = USERS
) -> None:
    async with AsyncMemory(config) as mem:
        for user in users:
            for text in texts or (f"{user} keeps bees", LONG):
                await mem.add(text, user_id=user)
            await mem.add([f"{user} likes tea", LONG], user_id=user, infer=False)


async def make_space(mem: AsyncMemory) -> None:
    """Somebody else's turn gets its vector: from now on the store has a space."""
    await mem.add("hello there", user_id="newcomer", wait=True)


async def degraded(mem: AsyncMemory, user: str) -> tuple[str, ...]:
    return (await mem.search("bees", user_id=user)).degraded


async def filled(mem: AsyncMemory, user: str) -> None:
    """Until a search of the user is not degraded."""
    end = time.monotonic() + 8
    while found := await degraded(mem, user):
        assert time.monotonic() < end, found
        await asyncio.sleep(0.01)


async def whole(config: Config, user: str) -> Delta:
    store = EmbeddedStore(config)
    await store.open()
    try:
        delta = await store.delta(user)
        assert delta is not None
        return delta
    finally:
        await store.aclose()


def parts(delta: Delta, kind: str) -> set[tuple[int, int]]:
    rows = delta.turns if kind == "turn" else delta.memories
    return {(row.seq, part) for row in rows for part in range(len(row.ends))}


def embedded(delta: Delta, kind: str) -> set[tuple[int, int]]:
    found = [rows.keys.tolist() for rows in delta.vectors if rows.kind == kind]
    return {(seq, part) for keys in found for seq, part in keys}


def lacking(delta: Delta) -> int:
    return sum(
        len(parts(delta, kind) - embedded(delta, kind)) for kind in ("turn", "memory")
    )


class Gate:
    """A script that holds texts with `word` up, counts them, and may raise."""

    def __init__(self, word: str, *, error: EmbedderError | None = None) -> None:
        self.word, self.error = word, error
        self.open = asyncio.Event()
        self.met = 0
        self.let = 0
        """Calls that are let through before the gate holds."""

    async def __call__(self, texts: Sequence[str]) -> None:
        if not any(self.word in text for text in texts):
            return
        self.met += 1
        if self.error is not None:
            raise self.error
        if self.met > self.let:
            await self.open.wait()


async def met(gate: Gate, times: int = 1) -> None:
    end = time.monotonic() + 8
    while gate.met < times:
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines that say of a user that vectors were filled in."""
    lines = [r.getMessage() for r in caplog.records]
    return [line for line in lines if "have one now" in line]


async def test_turns_and_facts_stored_without_an_embedder_get_vectors(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    await store_without_vectors(config)
    caplog.set_level(logging.INFO, "hmem.backfill")
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await make_space(mem)
        for user in USERS:
            assert await degraded(mem, user) == ("not_all_embedded",)
        for user in USERS:
            await filled(mem, user)
        found = await mem.search("heron reeds", user_id="bea", explain=True)
        assert {hit.kind for hit in found} == {"turn", "memory"}
        assert all(hit.explain["dense"] > 0 for hit in found if "heron" in hit.text)
        await eventually(lambda: len(told(caplog)) == len(USERS))
    for user in USERS:
        delta = await whole(config, user)
        assert len(parts(delta, "turn")) > 3
        assert len(parts(delta, "memory")) > 3
        assert lacking(delta) == 0
    assert len(told(caplog)) == len(USERS)
    assert "heron" not in caplog.text
    assert "bees" not in caplog.text


async def test_the_vectors_are_those_that_a_job_would_have_made(
    config: Config, tmp_path: Path
) -> None:
    said = "the kettle sings"
    await store_without_vectors(config, said, users=["ada"])
    late, early = HashEmbedder(), HashEmbedder()
    async with AsyncMemory(config, embedder=late) as mem:
        await degraded(mem, "ada")
        await filled(mem, "ada")
    other = replace(config, path=tmp_path / "other")
    async with AsyncMemory(other, embedder=early) as mem:
        await mem.add(said, user_id="ada", wait=True)
        await mem.add(["ada likes tea", LONG], user_id="ada", infer=False, wait=True)
    wanted = {text for texts in early.calls for text in texts}
    assert len(wanted) > 5
    assert wanted <= {text for texts in late.calls for text in texts}


async def test_a_store_that_never_had_a_vector_is_filled_too(config: Config) -> None:
    await store_without_vectors(config)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        assert await degraded(mem, "ada") == ("lexical_only",)
        await filled(mem, "ada")
        assert "not_all_embedded" in await degraded(mem, "bea")
        await filled(mem, "bea")
    assert lacking(await whole(config, "ada")) == 0


async def test_another_handle_and_another_process_see_what_was_filled_in(
    config: Config,
) -> None:
    await store_without_vectors(config)
    script = """
import asyncio, sys
from hmem import AsyncMemory, Config
from hmem.testing.fakes import HashEmbedder
async def main():
    config = Config(path=sys.argv[1], shards=2, embed="none", durability="normal")
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        while (await mem.search("bees", user_id="ada")).degraded:
            await asyncio.sleep(0.01)
asyncio.run(main())
"""
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await make_space(mem)
        watcher = replace(config, worker="off")
        async with AsyncMemory(watcher, embedder=HashEmbedder()) as other:
            assert await degraded(other, "ada") == ("not_all_embedded",)
            ran = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-c", script, str(config.path)],
                timeout=20,
                check=False,
            )
            assert ran.returncode == 0
            assert await degraded(other, "ada") == ()
            assert await degraded(other, "bea") == ("not_all_embedded",)
            await filled(mem, "bea")
            assert await degraded(other, "bea") == ()


async def test_what_another_process_filled_in_is_not_embedded_again(
    config: Config,
) -> None:
    await store_without_vectors(config, users=["ada"])
    late = HashEmbedder()
    async with AsyncMemory(config, embedder=late) as mem:
        async with AsyncMemory(config, embedder=HashEmbedder()) as first:
            await degraded(first, "ada")
            await filled(first, "ada")
        await filled(mem, "ada")
    assert not any("heron" in text for call in late.calls for text in call)


@pytest.mark.parametrize("how", [{"worker": "off"}, {"read_only": True}])
async def test_without_a_worker_it_is_said_and_left(
    config: Config, how: dict[str, str]
) -> None:
    await store_without_vectors(config)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await make_space(mem)
    embedder = HashEmbedder()
    async with AsyncMemory(replace(config, **how), embedder=embedder) as mem:  # type: ignore[arg-type]
        for _ in range(3):
            assert await degraded(mem, "ada") == ("not_all_embedded",)
            await asyncio.sleep(0.05)
    assert all(texts == ("bees",) for texts in embedder.calls)


async def test_of_a_user_erased_meanwhile_nothing_comes_back(config: Config) -> None:
    await store_without_vectors(config, LONG, users=["ada"])
    gate = Gate("heron")
    async with AsyncMemory(config, embedder=ScriptedEmbedder(gate)) as mem:
        await make_space(mem)
        await degraded(mem, "ada")
        await met(gate)
        await mem.delete_user("ada")
        await mem.add("a new life", user_id="ada")
        gate.open.set()
        await mem.flush()
        await filled(mem, "ada")
        await asyncio.sleep(0.05)
        page = await mem.get_all(user_id="ada")
        assert [row.text for row in page] == ["a new life"]
    delta = await whole(config, "ada")
    assert embedded(delta, "turn") == parts(delta, "turn") == {(1, 0)}
    assert embedded(delta, "memory") == set()


async def test_an_embedder_that_fails_first_is_asked_again(config: Config) -> None:
    await store_without_vectors(config, users=["ada", "bea"])
    gate = Gate("keeps bees", error=EmbedderError("told to fail"))
    embedder = ScriptedEmbedder(gate)
    async with AsyncMemory(config, embedder=embedder) as mem:
        await make_space(mem)
        await degraded(mem, "ada")
        await degraded(mem, "bea")
        await met(gate, 3)
        assert "not_all_embedded" in await degraded(mem, "ada")
        gate.error = None
        gate.open.set()
        await filled(mem, "ada")
        await filled(mem, "bea")
    assert lacking(await whole(config, "ada")) == 0


async def test_an_embedder_that_is_down_is_not_asked_in_a_tight_loop(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.backfill._BASE", 0.2)
    monkeypatch.setattr("hmem.backfill._CAP", 0.2)
    await store_without_vectors(config, users=["ada"])
    down = False

    async def script(texts: Sequence[str]) -> None:
        if down and texts != ["bees"]:
            raise EmbedderError("connection refused")

    embedder = ScriptedEmbedder(script)
    async with AsyncMemory(config, embedder=embedder) as mem:
        await make_space(mem)
        down = True
        end = time.monotonic() + 0.5
        before = len(embedder.calls)
        while time.monotonic() < end:
            assert await degraded(mem, "ada") == ("not_all_embedded",)
            await asyncio.sleep(0.005)
        assert mem._rooms.backfill is not None
        assert 1 <= mem._rooms.backfill._failures["ada"] <= 5
        assert len(embedder.calls) - before <= 1  # the query, which is remembered
        down = False
        await filled(mem, "ada")


async def test_what_was_stored_before_a_close_in_the_middle_stays(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.backfill.SLICE", 2)
    await store_without_vectors(config, users=["ada"])
    gate = Gate("heron")
    gate.let = 2
    mem = await AsyncMemory(config, embedder=ScriptedEmbedder(gate)).open()
    await make_space(mem)
    await degraded(mem, "ada")
    await met(gate, 3)
    began = time.monotonic()
    await mem.aclose()
    assert time.monotonic() - began < DRAIN
    assert not [t for t in asyncio.all_tasks() if t.get_name() == "hmem-backfill"]
    delta = await whole(config, "ada")
    assert len(embedded(delta, "turn")) == 4
    assert lacking(delta) > 4
    async with AsyncMemory(config, embedder=HashEmbedder()) as again:
        assert await degraded(again, "ada") == ("not_all_embedded",)
        await filled(again, "ada")
    assert lacking(await whole(config, "ada")) == 0


async def test_a_text_that_is_refused_is_tried_once_and_the_others_are_embedded(
    config: Config,
) -> None:
    await store_without_vectors(
        config, "one is sound", "poison here", "two is sound", users=["ada"]
    )
    refusal = EmbedderError("it chokes", retryable=False)
    gate = Gate("poison", error=refusal)
    async with AsyncMemory(config, embedder=ScriptedEmbedder(gate)) as mem:
        await make_space(mem)
        await degraded(mem, "ada")
        end = time.monotonic() + 8
        while lacking(await whole(config, "ada")) > 1:
            assert time.monotonic() < end
        await asyncio.sleep(0.1)
        times = gate.met
        for _ in range(20):
            assert await degraded(mem, "ada") == ("not_all_embedded",)
            await asyncio.sleep(0.005)
        assert gate.met == times
        await mem.add("three is sound", user_id="ada", wait=True)
        for _ in range(5):
            await degraded(mem, "ada")
            await asyncio.sleep(0.01)
        assert gate.met == times


async def test_the_refused_text_of_a_partial_job_is_not_tried_for_ever(
    config: Config,
) -> None:
    gate = Gate("poison", error=EmbedderError("it chokes", retryable=False))
    async with AsyncMemory(config, embedder=ScriptedEmbedder(gate)) as mem:
        turns = [{"role": "user", "content": c} for c in ("poison here", "sound")]
        receipt = await mem.add(turns, user_id="ada")
        assert (await receipt).status == "partial"
        times = gate.met
        for _ in range(30):
            assert await degraded(mem, "ada") == ("not_all_embedded",)
            await asyncio.sleep(0.005)
        assert gate.met == times + 1
        await degraded(mem, "ada")
        assert mem._rooms.backfill is not None
        assert not mem._rooms.backfill._due  # what is left is known: no look at it
        assert (await (await mem.add("poison again", user_id="ada"))).status == "dead"
        times = gate.met
        for _ in range(30):
            await degraded(mem, "ada")
            await asyncio.sleep(0.005)
        assert gate.met == times + 1  # the new one alone


async def test_what_waits_for_its_job_is_pending_and_not_lacking(
    config: Config,
) -> None:
    gate = Gate("heron")
    async with AsyncMemory(config, embedder=ScriptedEmbedder(gate)) as mem:
        await mem.add("I keep bees", user_id="ada", wait=True)
        await mem.add(LONG, user_id="ada")
        await mem.add([LONG], user_id="ada", infer=False)
        await met(gate)
        found = await mem.search("bees", user_id="ada")
        assert (found.pending, found.degraded) == (1, ())
        gate.open.set()


async def test_jobs_of_what_is_new_go_first(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.backfill._GIVES_WAY", 30.0)
    await store_without_vectors(config, users=["ada"])
    gate = Gate("brand new")
    embedder = ScriptedEmbedder(gate)
    async with AsyncMemory(config, embedder=embedder) as mem:
        await make_space(mem)
        await mem.add("brand new", user_id="bea")
        await met(gate)
        assert await degraded(mem, "ada") == ("not_all_embedded",)
        await asyncio.sleep(0.2)
        assert not any("heron" in text for call in embedder.calls for text in call)
        gate.open.set()
        await filled(mem, "ada")
