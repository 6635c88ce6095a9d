import asyncio
import inspect
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hmem import (
    AsyncMemory,
    Config,
    ConfigError,
    DeadlineError,
    EmbeddingSpaceError,
    InputError,
    Memory,
    ReadOnlyStoreError,
    Scoped,
    SyncScoped,
)
from hmem.testing.fakes import (
    FailingEmbedder,
    HashEmbedder,
)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture
async def mem(config: Config) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(config, embedder=HashEmbedder()) as opened:
        yield opened


# --------------------------------------------------------------- degraded service


async def test_without_an_embedder_reads_say_so(config: Config) -> None:
    async with AsyncMemory(config) as mem:
        await mem.add("I keep bees", user_id="u")
        found = await mem.search("bees", user_id="u")
        assert [hit.text for hit in found] == ["I keep bees"]
        assert found.degraded == ("lexical_only",)


class Sleepy(HashEmbedder):
    """Answers after so many seconds."""

    seconds = 0.0

    async def embed(self, texts: Any, **more: Any) -> Any:
        await asyncio.sleep(self.seconds)
        return await super().embed(texts, **more)


async def test_an_embedder_that_kept_a_search_waiting_gets_but_a_moment_for_a_while(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.breaker.backoff", lambda *_args, **_more: 3_600.0)
    embedder = Sleepy()
    config = replace(config, query_embed_timeout=0.2)
    async with AsyncMemory(config, embedder=embedder) as mem:

        async def degraded(query: str) -> tuple[str, ...]:
            return (await mem.search(query, user_id="u")).degraded

        await mem.add("I keep bees", user_id="u", wait=True)
        while await degraded("known"):
            mem._rooms.retriever._rest.until = 0.0  # a busy machine
        embedder.seconds = 3_600.0
        assert await degraded("waited for") == ("embedder_timeout",)
        embedder.seconds = 0.1  # in time, but for the pause
        assert await degraded("not waited for") == ("embedder_timeout",)
        assert await degraded("known") == ()
        embedder.seconds = 0.0
        mem._rooms.retriever._rest.until = 0.0
        while await degraded("again"):
            mem._rooms.retriever._rest.until = 0.0
        assert not mem._rooms.retriever._rest.lasts


async def test_an_embedder_that_fails_or_hangs_degrades_the_search(
    config: Config,
) -> None:
    embedder = FailingEmbedder(times=0)
    async with AsyncMemory(config, embedder=embedder) as mem:
        await mem.add("I keep bees", user_id="u", wait=True)
        embedder.times = None
        found = await mem.search("bees please", user_id="u")
        assert [hit.text for hit in found] == ["I keep bees"]
        assert found.degraded == ("embedder_failed",)


async def test_an_embedder_whose_own_call_is_cancelled_has_failed(
    config: Config,
) -> None:
    """Nobody cancelled the search: a connection or a task of the embedder's ended."""

    class Cancelled(HashEmbedder):
        broken = True

        async def embed(self, texts: Any, *, purpose: Any = "passage") -> Any:
            if self.broken:
                self.broken = False
                call = asyncio.ensure_future(asyncio.sleep(60))
                asyncio.get_running_loop().call_soon(call.cancel)
                await call
            return await super().embed(texts, purpose=purpose)

    embedder = Cancelled()
    async with AsyncMemory(config, embedder=embedder) as mem:
        receipt = await mem.add("I keep bees", user_id="u")
        assert (await receipt.result(timeout=20)).status == "done"  # tried again
        embedder.broken = True
        found = await mem.search("bees please", user_id="u")
        assert [hit.text for hit in found] == ["I keep bees"]
        assert found.degraded == ("embedder_failed",)
        assert (await mem.search("bees please", user_id="u")).degraded == ()


async def test_a_degraded_search_is_told(config: Config) -> None:
    told: list[tuple[str, ...]] = []

    def listen(name: str, data: Any) -> None:
        if name == "search_degraded":
            told.append(data["reasons"])

    embedder = FailingEmbedder(times=0)
    config = replace(config, on_event=listen)
    async with AsyncMemory(config, embedder=embedder) as mem:
        await mem.add("I keep bees", user_id="u", wait=True)
        await mem.search("bees", user_id="u")
        embedder.times = None
        await mem.search("more bees", user_id="u")
    assert told == [("embedder_failed",)]


async def test_a_read_past_its_deadline_raises(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("I keep bees", user_id="u", wait=True)
        with pytest.raises(DeadlineError):
            await mem.search("bees", user_id="u", timeout=0)
        assert len(await mem.search("bees", user_id="u", timeout=10)) == 1


async def test_another_model_is_refused_by_name_and_nothing_is_lost(
    config: Config,
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder(64)) as mem:
        await mem.add("I keep bees", user_id="u", wait=True)
    other = AsyncMemory(config, embedder=HashEmbedder(32))
    with pytest.raises(EmbeddingSpaceError, match="Use the model of the store") as e:
        await other.open()
    assert "test-hash-64" in str(e.value)
    with pytest.raises(EmbeddingSpaceError, match="test-hash-64"):
        await AsyncMemory(config).open()
    with pytest.raises(EmbeddingSpaceError):
        await AsyncMemory(
            config, embedder=HashEmbedder(32, model="test-hash-64")
        ).open()

    relaxed = replace(config, allow_degraded=True)
    for embedder, why in (
        (HashEmbedder(32), "other_embedding_space"),
        (None, "no_embedder"),
    ):
        async with AsyncMemory(relaxed, embedder=embedder) as mem:
            found = await mem.search("bees", user_id="u")
            assert "I keep bees" in [hit.text for hit in found]
            assert found.degraded[0] == why
            receipt = await mem.add(f"more bees {why}", user_id="u")
            assert receipt.status == "queued"
            assert why in (await mem.admin.health())["problems"]
    async with AsyncMemory(config, embedder=HashEmbedder(64)) as mem:
        result = await (await mem.receipt(receipt.id, user_id="u")).result(timeout=10)
        assert (result.status, result.usage.embedded_texts) == ("done", 2)


async def test_a_space_made_by_another_process_is_noticed(config: Config) -> None:
    web = replace(config, worker="off")
    async with (
        AsyncMemory(web, embedder=HashEmbedder()) as reader,
        AsyncMemory(config, embedder=HashEmbedder()) as worker,
    ):
        receipt = await reader.add("I keep bees", user_id="u")
        assert (await reader.search("bees", user_id="u")).degraded == ("lexical_only",)
        await receipt.result(timeout=10)
        await worker.flush(timeout=5)
        for _ in range(100):
            found = await reader.search("bees", user_id="u")
            if not found.degraded:
                break
            await asyncio.sleep(0.02)
        assert found.degraded == ()


async def test_a_read_only_store_reads_and_refuses_writes(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("I keep bees", user_id="u", wait=True)
    async with AsyncMemory(
        replace(config, read_only=True), embedder=HashEmbedder()
    ) as mem:
        assert len(await mem.search("bees", user_id="u")) == 1
        with pytest.raises(ReadOnlyStoreError):
            await mem.add("x", user_id="u")


async def test_a_mode_that_is_not_there_yet_is_an_error(config: Config) -> None:
    with pytest.raises(ConfigError, match="HMEM_MODE"):
        await AsyncMemory(replace(config, mode="append")).open()


# -------------------------------------------------------------- scope, events, logs


@pytest.mark.parametrize("face", [AsyncMemory, Memory, Scoped, SyncScoped])
def test_an_argument_that_there_is_not_is_told_with_the_public_name(
    config: Config, face: type
) -> None:
    mem = (Memory if "Sync" in face.__name__ else AsyncMemory)(config)
    one: Any = mem.scoped(user_id="u") if "Scoped" in face.__name__ else face(config)
    verbs = [name for name, _ in inspect.getmembers(face, inspect.isfunction)]
    for verb in (v for v in verbs if not v.startswith("_")):
        if verb == "scoped":
            continue
        with pytest.raises(TypeError) as told:
            getattr(one, verb)(run_id="r")
        assert str(told.value).startswith(f"{face.__name__}.{verb}() got"), verb


async def test_the_scoped_verbs_are_the_same_verbs(mem: AsyncMemory) -> None:
    ana = mem.scoped(user_id="u", agent_id="a", session_id="s")
    await ana.add("I keep bees", wait=True)
    await mem.add("we keep bees", user_id="u", agent_id="b", wait=True)
    assert [hit.text for hit in await ana.search("bees")] == ["I keep bees"]
    assert "we keep bees" not in (await ana.context("bees")).text
    row = (await ana.get_all()).rows[0]
    assert (row.agent_id, row.session_id) == ("a", "s")
    assert await ana.get(row.id) == row
    receipt = await ana.add(["Ana keeps bees"], infer=False, wait=True)
    one = (await receipt).added[0]
    new = await ana.update(one, text="Ana keeps hens")
    assert len(await ana.history(new.id)) == 3
    assert await ana.delete(new.id)
    assert (await ana.receipt(receipt.id)).status == "done"
    await ana.flush(timeout=5)
    assert (await ana.delete_user()).total > 0
    with pytest.raises(InputError):
        mem.scoped(user_id="")


BOUND = {"user_id", "agent_id", "session_id"}


def test_the_scoped_signatures_cannot_drift() -> None:
    life = {"open", "aclose", "scoped", "admin"}
    verbs = {n for n in dir(AsyncMemory) if not n.startswith("_")} - life
    assert verbs == {n for n in dir(Scoped) if not n.startswith("_")}
    for name in verbs:
        mine, full = (
            inspect.signature(getattr(c, name)) for c in (Scoped, AsyncMemory)
        )
        wanted = [p for p in full.parameters.values() if p.name not in BOUND]
        assert [str(p) for p in mine.parameters.values()] == [str(p) for p in wanted]
        assert mine.return_annotation == full.return_annotation


async def test_every_verb_names_its_user_by_keyword() -> None:
    for name in ("add", "search", "context", "get", "update", "delete", "history"):
        parameters = inspect.signature(getattr(AsyncMemory, name)).parameters
        assert parameters["user_id"].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters["user_id"].default is inspect.Parameter.empty


async def test_events_are_told_and_a_broken_listener_breaks_nothing(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def listen(name: str, data: Any) -> None:
        seen.append(name)
        raise RuntimeError("listener")

    async with AsyncMemory(
        replace(config, on_event=listen), embedder=HashEmbedder()
    ) as mem:
        await mem.add("I keep bees", user_id="u", wait=True)
        await mem.delete_user("u")
    assert seen == ["accepted", "job_done", "user_erased"]
    told = [r for r in caplog.records if "on_event" in r.getMessage()]
    assert len(told) == 1


async def test_no_log_and_no_event_holds_what_the_user_said(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    canary = "canary7f3a"
    events: list[str] = []
    embedder = FailingEmbedder(times=1, retryable=False)
    config = replace(config, on_event=lambda n, d: events.append(f"{n} {dict(d)}"))
    async with AsyncMemory(config, embedder=embedder) as mem:
        await mem.add(canary, user_id="u", session_id="s", wait=True, timeout=10)
        await mem.search(canary, user_id="u")
        await mem.add([canary], user_id="u", infer=False, wait=True, timeout=10)
    assert events
    assert not any(canary in line for line in (*events, caplog.text))


async def test_stats_and_health_are_there_from_the_first_day(mem: AsyncMemory) -> None:
    await mem.add("I keep bees", user_id="u", wait=True)
    stats = await mem.admin.stats()
    assert (stats["users"], stats["turns"], stats["jobs"]["done"]) == (1, 1, 1)
    assert stats["embedder"] == "test-hash-64"
    assert stats["space"] == {"model": "test-hash-64", "dim": 64}
    assert stats["worker"] == "running"
    health = await mem.admin.health()
    assert (health["ok"], health["problems"]) == (True, [])
