import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import hmem
from hmem import (
    AsyncMemory,
    BadTimeError,
    Block,
    Config,
    EmbedderError,
    Episode,
    InputError,
    InputTypeError,
    MemoryRecord,
    QueueFullError,
    TextTooLongError,
    render,
)
from hmem.render import Line
from hmem.testing.fakes import (
    FailingEmbedder,
    FrozenClock,
    HangingEmbedder,
    HashEmbedder,
)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture
async def mem(config: Config) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(config, embedder=HashEmbedder()) as opened:
        yield opened


async def fact(mem: AsyncMemory, text: str, **more: object) -> str:
    given = [{"text": text, **more}]
    receipt = await mem.add(given, user_id="u", infer=False, wait=True, timeout=10)
    return (await receipt).added[0]


async def test_a_timeout_past_every_float_is_none(mem: AsyncMemory) -> None:
    await mem.add("a", user_id="u", timeout=10**400)
    assert (await mem.search("a", user_id="u", timeout=10**400)).hits


async def test_wait_is_true_or_false(mem: AsyncMemory) -> None:
    with pytest.raises(InputTypeError, match="wait"):
        await mem.add("a", user_id="u", wait="no")  # type: ignore[arg-type]
    assert not (await mem.get_all(user_id="u")).rows


async def test_a_block_is_rendered_off_the_loop(
    mem: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def pack(head: str, lines: Sequence[Line], **options: Any) -> Block:
        threads.append(threading.get_ident())
        return render.pack_under(head, lines, **options)

    monkeypatch.setattr("hmem.retrieve.pack_under", pack)
    await mem.add("a word", user_id="u")
    assert "a word" in (await mem.context("word", user_id="u")).text
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


# --------------------------------------------------------------- the public names


def test_the_public_names_are_sorted_and_there() -> None:
    assert hmem.__all__ == sorted(hmem.__all__)
    assert len(set(hmem.__all__)) == len(hmem.__all__)
    for name in hmem.__all__:
        assert getattr(hmem, name) is not None
    with pytest.raises(AttributeError):
        _ = hmem.nonsense


def test_importing_the_package_and_the_face_loads_no_extra() -> None:
    script = (
        "import sys, hmem\n"
        "assert 'numpy' not in sys.modules\n"
        "hmem.AsyncMemory, hmem.Config, hmem.HmemError, hmem.Scoped, hmem.run_worker\n"
        "extras = ('openai', 'pydantic', 'click', 'tokenizers', 'httpx', 'tiktoken')\n"
        "print([m for m in extras if m in sys.modules])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30
    )
    assert ran.stdout.strip() == "[]", ran.stderr


# ------------------------------------------------------------------------- adding


async def test_what_was_added_is_found_at_once_and_marked_pending(
    config: Config,
) -> None:
    embedder = HangingEmbedder()
    config = replace(config, query_embed_timeout=0.02)
    async with AsyncMemory(config, embedder=embedder) as mem:
        for n in range(20):
            await mem.add(f"I keep {n} bees number x{n}x", user_id="u")
            found = await mem.search(f"x{n}x", user_id="u", k=3)
            assert found.hits[0].text == f"I keep {n} bees number x{n}x"
            assert found.hits[0].pending
        assert found.pending == 20
        row = (await mem.get_all(user_id="u", limit=1)).rows[0]
        assert isinstance(row, Episode)
        assert row.pending
        assert (await mem.get(row.id, user_id="u")) == row
        embedder.release()
        await mem.flush(timeout=10)
        found = await mem.search("bees", user_id="u")
        assert found.pending == 0
        assert found.degraded == ()
        assert not any(hit.pending for hit in found)
        again = await mem.get(row.id, user_id="u")
        assert isinstance(again, Episode)
        assert not again.pending


async def test_a_turn_keeps_all_that_was_said_about_it(mem: AsyncMemory) -> None:
    said = {
        "role": "user",
        "name": "Ana",
        "content": "I keep bees",
        "id": "m1",
        "timestamp": "2026-05-08T10:00Z",
        "metadata": {"mood": "fine"},
    }
    result = await (
        await mem.add(
            [said, {"role": "assistant", "content": "Noted."}],
            user_id="u",
            agent_id="a",
            session_id="s",
            observed_at="2026-05-09",
            metadata={"mood": "any", "app": 1},
            wait=True,
        )
    )
    turns = [await mem.get(one, user_id="u") for one in result.turns]
    first, second = turns
    assert isinstance(first, Episode)
    assert isinstance(second, Episode)
    assert (first.role, first.name, first.text) == ("user", "Ana", "I keep bees")
    assert (first.agent_id, first.session_id, first.message_id) == ("a", "s", "m1")
    assert first.observed_at == datetime(2026, 5, 8, 10, tzinfo=UTC)
    assert first.metadata == {"mood": "fine", "app": 1}
    assert second.observed_at == datetime(2026, 5, 9, tzinfo=UTC)
    assert second.metadata == {"mood": "any", "app": 1}


async def test_a_history_that_is_sent_again_adds_only_what_is_new(
    mem: AsyncMemory,
) -> None:
    history: list[object] = []
    for n in range(4):
        history += [f"round {n}", {"role": "assistant", "content": "ok"}]
        result = await (await mem.add(history, user_id="u", session_id="s", wait=True))
        assert len(result.turns) == 2
        assert len(result.skipped) == 2 * n
    assert len(await mem.get_all(user_id="u")) == 8
    await mem.add(history, user_id="u", session_id="other", wait=True)
    await mem.add("round 0", user_id="u", session_id="s", wait=True)  # said again
    assert len(await mem.get_all(user_id="u")) == 17


async def test_items_become_memories_with_their_fields(mem: AsyncMemory) -> None:
    found = await fact(
        mem,
        "Ana moved to Ghent",
        category="episodic",
        importance=9,
        source_ids=["t1", "t2"],
        event_start="2023-05",
        metadata={"by": "x"},
    )
    row = await mem.get(found, user_id="u")
    assert isinstance(row, MemoryRecord)
    assert (row.category, row.importance, row.source_ids) == (
        "episodic",
        9,
        ("t1", "t2"),
    )
    assert row.event_start == datetime(2023, 5, 1, tzinfo=UTC)
    assert row.event_end == datetime(2023, 6, 1, tzinfo=UTC)
    assert (row.event_precision, row.metadata) == ("month", {"by": "x"})


async def test_a_fact_that_is_there_is_not_stored_again(mem: AsyncMemory) -> None:
    first = await fact(mem, "Ana keeps bees")
    receipt = await mem.add(["ANA  keeps bees"], user_id="u", infer=False, wait=True)
    result = await receipt
    assert result.added == ()
    assert [(s.reason, s.id) for s in result.skipped] == [("duplicate", first)]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        pytest.param({"observed_at": "soon"}, BadTimeError, id="time"),
        pytest.param({"observed_at": 1778243400}, InputTypeError, id="epoch"),
        pytest.param({"infer": "no"}, InputTypeError, id="infer"),
        pytest.param({"infer": 0}, InputTypeError, id="infer-int"),
        pytest.param({"metadata": 7}, InputTypeError, id="metadata"),
        pytest.param({"timeout": -1}, InputError, id="timeout"),
        pytest.param({"messages": "x" * 200_001}, TextTooLongError, id="long"),
        pytest.param({"messages": 7}, InputTypeError, id="messages"),
    ],
)
async def test_a_bad_add_raises_before_anything_is_written(
    mem: AsyncMemory, more: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await mem.add(more.pop("messages", "fine"), user_id="u", **more)
    assert (await mem.admin.stats())["users"] == 0


async def test_an_unknown_argument_is_an_error(mem: AsyncMemory) -> None:
    with pytest.raises(TypeError, match="topK"):
        await mem.search("x", user_id="u", topK=3)  # type: ignore[call-arg]


async def test_a_long_text_is_cut_into_passages_that_are_all_embedded(
    config: Config,
) -> None:
    embedder = HashEmbedder()
    async with AsyncMemory(config, embedder=embedder) as mem:
        text = " ".join(f"word{n}" for n in range(6_000))  # over the thread's threshold
        result = await (await mem.add(text, user_id="u", wait=True))
        passages = [t for call in embedder.calls for t in call]
        assert result.usage.embedded_texts == len(passages) > 50
        assert all(embedder.count(t) <= embedder.window for t in passages)
        assert all(len(t) < 950 for t in passages)
        assert " ".join(p.split(": ", 1)[1].strip() for p in passages) == text
        hit = (await mem.search("word5999", user_id="u", k=1)).hits[0]
        assert "word5999" in hit.text
        assert len(hit.text) < 950


# ------------------------------------------------------------------------ editing


async def test_an_update_supersedes_and_keeps_the_other_fields(
    mem: AsyncMemory,
) -> None:
    old = await fact(
        mem,
        "Ana lives in London",
        category="episodic",
        importance=8,
        source_ids=["t1"],
        event_start="2020",
        metadata={"a": 1},
    )
    new = await mem.update(old, user_id="u", text="Ana lives in Ghent")
    assert (new.text, new.importance, new.category) == (
        "Ana lives in Ghent",
        8,
        "episodic",
    )
    assert (new.source_ids, new.metadata) == (("t1",), {"a": 1})
    assert new.event_start == datetime(2020, 1, 1, tzinfo=UTC)
    before = await mem.get(old, user_id="u")
    assert isinstance(before, MemoryRecord)
    assert (before.superseded_by, before.valid_to) == (new.id, new.valid_from)
    found = await mem.search("where does Ana live?", user_id="u")
    assert [hit.text for hit in found] == ["Ana lives in Ghent"]
    assert [m.text for m in found.hits[0].replaced] == ["Ana lives in London"]
    events = [(e.event, e.text, e.by) for e in await mem.history(new.id, user_id="u")]
    assert events == [
        ("ADD", "Ana lives in London", None),
        ("SUPERSEDE", "Ana lives in London", new.id),
        ("ADD", "Ana lives in Ghent", None),
    ]
    assert await mem.history(old, user_id="u") == await mem.history(new.id, user_id="u")


async def test_an_updated_memory_has_a_vector(mem: AsyncMemory) -> None:
    old = await fact(mem, "zebra")
    new = await mem.update(old, user_id="u", text="walrus")
    vector = HashEmbedder().vector("walrus")
    found = await mem.search("qqq", user_id="u", vector=vector, explain=True)
    assert found.hits[0].id == new.id
    assert found.hits[0].explain.get("dense", 0) > 0


async def test_a_fact_updated_before_it_was_worked_on_has_a_vector(
    config: Config,
) -> None:
    async with AsyncMemory(
        replace(config, worker="off"), embedder=HashEmbedder()
    ) as mem:
        result = await mem.add(["zebra"], user_id="u", infer=False)
        old = (await mem.get_all(user_id="u")).rows[0]
        assert result.status == "queued"
        new = await mem.update(old.id, user_id="u", text="walrus", timeout=5)
        vector = HashEmbedder().vector("walrus")
        found = await mem.search("qqq", user_id="u", vector=vector, explain=True)
        assert found.hits[0].id == new.id
        assert found.hits[0].explain.get("dense", 0) > 0


async def test_a_full_queue_refuses_and_writes_nothing(config: Config) -> None:
    full = replace(config, queue_limit=3, worker="off")
    async with AsyncMemory(full, embedder=HashEmbedder()) as mem:
        for n in range(3):
            await mem.add(f"turn {n}", user_id="u")
        with pytest.raises(QueueFullError) as e:
            await mem.add("turn 3", user_id="u")
        assert e.value.retryable
        assert len(await mem.get_all(user_id="u")) == 3
        assert await mem.admin.queued() == 3


async def test_metadata_alone_can_be_updated(mem: AsyncMemory) -> None:
    old = await fact(mem, "Ana keeps bees", metadata={"a": 1})
    new = await mem.update(old, user_id="u", text="Ana keeps bees", metadata={"b": 2})
    assert (new.text, new.metadata) == ("Ana keeps bees", {"b": 2})
    assert [row.id for row in await mem.get_all(user_id="u")] == [new.id]
    assert len(await mem.history(new.id, user_id="u")) == 3


async def test_an_update_to_a_fact_that_is_there_closes_the_old_one(
    mem: AsyncMemory,
) -> None:
    one, other = await fact(mem, "Ana keeps bees"), await fact(mem, "Ana keeps hens")
    assert (await mem.update(one, user_id="u", text="Ana keeps hens")).id == other
    assert [row.id for row in await mem.get_all(user_id="u")] == [other]


async def test_updates_that_cannot_be_are_refused(mem: AsyncMemory) -> None:
    one = await fact(mem, "Ana keeps bees")
    result = await (await mem.add("hi there", user_id="u", wait=True))
    with pytest.raises(InputError, match="a turn's"):
        await mem.update(result.turns[0], user_id="u", text="x")
    with pytest.raises(InputError, match="text"):
        await mem.update(one, user_id="u", text="  ")
    with pytest.raises(InputError, match="user_id"):
        await mem.update(one, user_id="u", text="x", metadata={"user_id": "v"})
    with pytest.raises(InputTypeError):
        await mem.update(7, user_id="u", text="x")  # type: ignore[arg-type]
    assert await mem.delete(one, user_id="u")
    with pytest.raises(InputError, match="no open memory"):
        await mem.update(one, user_id="u", text="x")


async def test_an_update_without_a_vector_changes_nothing(config: Config) -> None:
    embedder = FailingEmbedder(times=0)
    async with AsyncMemory(config, embedder=embedder) as mem:
        one = await fact(mem, "Ana keeps bees")
        embedder.times = None
        with pytest.raises(EmbedderError):
            await mem.update(one, user_id="u", text="Ana keeps hens")
        assert [row.text for row in await mem.get_all(user_id="u")] == [
            "Ana keeps bees"
        ]


async def test_deleting_closes_once_and_turns_stay(mem: AsyncMemory) -> None:
    one = await fact(mem, "Ana keeps bees")
    assert await mem.delete(one, user_id="u") is True
    assert await mem.delete(one, user_id="u") is False
    closed = await mem.get(one, user_id="u")
    assert isinstance(closed, MemoryRecord)
    assert closed.valid_to is not None
    assert [e.event for e in await mem.history(one, user_id="u")] == ["ADD", "CLOSE"]
    assert len(await mem.search("bees", user_id="u")) == 0
    turn = (await (await mem.add("bees", user_id="u", wait=True))).turns[0]
    assert await mem.delete(turn, user_id="u") is False
    assert await mem.history(turn, user_id="u") == []
    assert len(await mem.search("bees", user_id="u")) == 1


async def test_a_fact_from_the_future_can_be_updated_and_closed(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder(), clock=FrozenClock()) as mem:
        await mem.add(["Ana moves"], user_id="u", infer=False, observed_at="2090")
        await mem.flush(timeout=10)
        row = (await mem.get_all(user_id="u")).rows[0]
        new = await mem.update(row.id, user_id="u", text="Ana stays")
        assert new.valid_from == datetime(2090, 1, 1, tzinfo=UTC)
        assert await mem.delete(new.id, user_id="u")
        last = await mem.get(new.id, user_id="u")
        assert isinstance(last, MemoryRecord)
        assert last.valid_to == last.valid_from


async def test_erasing_a_user_leaves_the_others(mem: AsyncMemory) -> None:
    await fact(mem, "Ana keeps bees")
    await mem.add("I keep bees", user_id="v", wait=True)
    await mem.search("bees", user_id="u")
    assert (await mem.delete_user("u")).total > 0
    assert len(await mem.search("bees", user_id="u")) == 0
    assert len(await mem.get_all(user_id="u")) == 0
    assert len(await mem.search("bees", user_id="v")) == 1
    await fact(mem, "Ana keeps hens")
    assert [row.text for row in await mem.get_all(user_id="u")] == ["Ana keeps hens"]
