"""`mem.admin.jobs` and `mem.admin.retry` over a real store, models that fail and mend."""

from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hmem import (
    AsyncMemory,
    Config,
    InputError,
    InputTypeError,
    JobPage,
    JobRecord,
    LLMError,
    QueueFullError,
    ReadOnlyStoreError,
)
from hmem.paging import STATUSES, _sign
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import ScriptedLLM, facts


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture
async def off(config: Config) -> AsyncIterator[AsyncMemory]:
    """A memory whose jobs nobody works on."""
    settings = replace(config, worker="off")
    async with AsyncMemory(settings, embedder=HashEmbedder()) as opened:
        yield opened


def texts(page: Any) -> list[str]:
    return [row.text for row in page]


async def test_jobs_of_all_users_are_listed_in_pages(off: AsyncMemory) -> None:
    given = [(await off.add(f"{n}", user_id=f"u{n % 3}")).id for n in range(7)]
    whole = await off.admin.jobs()
    assert isinstance(whole, JobPage)
    assert (len(whole), whole.cursor) == (7, None)
    assert [job.id for job in whole] == given
    first = whole.jobs[0]
    assert isinstance(first, JobRecord)
    assert (first.user_id, first.status, first.attempts) == ("u0", "queued", 0)
    assert (first.ended_at, first.reason) == (None, None)
    assert first.created_at.tzinfo is not None
    for limit in (1, 3, 7):
        seen: list[str] = []
        cursor = None
        while True:
            page = await off.admin.jobs(limit=limit, cursor=cursor)
            seen += [job.id for job in page]
            cursor = page.cursor
            if cursor is None:
                break
        assert seen == given
    for status in ("queued", ["queued", "dead"], ("queued",), {"queued"}):
        assert len(await off.admin.jobs(status=status)) == 7  # type: ignore[arg-type]
    assert len(await off.admin.jobs(status="dead")) == 0


def forged(body: bytes) -> str:
    """What somebody who read the source can make."""
    scope = b"jobs\0" + ",".join(STATUSES).encode()
    return urlsafe_b64encode(_sign(scope, body) + body).decode()


async def test_a_cursor_is_good_for_its_states_alone(off: AsyncMemory) -> None:
    for n in range(3):
        await off.add(f"{n}", user_id="u")
    cursor = (await off.admin.jobs(limit=1)).cursor
    rows = (await off.get_all(user_id="u", limit=1)).cursor
    assert cursor is not None
    assert rows is not None
    bad = [cursor[:-4], cursor + "AAAA", "", "!", rows]
    bad += [
        forged(body)
        for body in (
            b"{}",
            b"[1, 2]",
            b'["1", "u", 1]',
            b'[1, "u", true]',
            b"[1, null, 1]",
            b'[1, "\\ud800", 1]',
            b'[99999999999999999999, "u", 1]',
            b'[1, "u", 99999999999999999999]',
            b"[" * 100_000,
            b"\xff\xff",
        )
    ]
    for one in bad:
        with pytest.raises(InputError, match="cursor"):
            await off.admin.jobs(cursor=one)
    with pytest.raises(InputError, match="cursor"):
        await off.admin.jobs(status="queued", cursor=cursor)
    assert len(await off.admin.jobs(status=STATUSES, cursor=cursor)) == 2


@pytest.mark.parametrize("status", ["failed", "", [], ["dead", "x"], [["dead"]]])
async def test_a_state_that_is_none_is_refused(off: AsyncMemory, status: Any) -> None:
    with pytest.raises(InputError, match="queued, running, done, partial, dead"):
        await off.admin.jobs(status=status)


async def test_what_is_asked_for_must_be_of_its_type(off: AsyncMemory) -> None:
    for given in ({"status": 7}, {"cursor": 7}, {"limit": "1"}, {"limit": True}):
        with pytest.raises(InputTypeError):
            await off.admin.jobs(**given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="limit"):
        await off.admin.jobs(limit=0)
    with pytest.raises(InputTypeError, match="id"):
        await off.admin.retry(7, user_id="u")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="user_id"):
        await off.admin.retry("x", user_id="")


async def test_turns_the_model_failed_on_are_read_once_it_is_mended(
    config: Config,
) -> None:
    events: list[tuple[str, Any]] = []
    settings = replace(config, on_event=lambda name, data: events.append((name, data)))
    llm = ScriptedLLM(then="no JSON at all")
    async with AsyncMemory(settings, llm=llm, embedder=HashEmbedder()) as mem:
        receipt = await mem.add("I keep bees", user_id="u", wait=True)
        assert receipt.status == "dead"
        (dead,) = await mem.admin.jobs(status="dead")
        assert (dead.id, dead.user_id) == (receipt.id, "u")
        assert dead.reason == (await receipt).reason
        assert dead.ended_at is not None
        assert (await mem.get_all(user_id="u", kinds="memory")).rows == ()

        llm.then = facts("Uma keeps bees")
        assert await mem.admin.retry(dead.id, user_id="u") is True
        assert ("job_retried", {"job_id": dead.id, "user_id": "u"}) in events
        await mem.flush(timeout=20)
        result = await mem.receipt(dead.id, user_id="u")
        assert (result.status, await mem.admin.retry(dead.id, user_id="u")) == (
            "done",
            False,
        )
        ended = await result
        assert (ended.reason, ended.turns) == (None, (await receipt).turns)
        assert texts(await mem.get_all(user_id="u", kinds="memory")) == [
            "Uma keeps bees"
        ]
        assert ended.usage.llm_calls > (await receipt).usage.llm_calls
        assert len(await mem.admin.jobs(status=("dead", "partial"))) == 0


async def test_facts_of_the_first_attempt_are_not_doubled(config: Config) -> None:
    llm = ScriptedLLM([{"facts": [*facts("Uma keeps bees")["facts"], {"fact": 7}]}])
    llm.say(facts("Uma keeps bees", "Uma keeps hens"))
    async with AsyncMemory(config, llm=llm, embedder=HashEmbedder()) as mem:
        receipt = await mem.add("I keep bees and hens", user_id="u", wait=True)
        first = await receipt
        assert (first.status, len(first.added)) == ("partial", 1)
        assert await mem.admin.retry(receipt.id, user_id="u")
        await mem.flush(timeout=20)
        again = await (await mem.receipt(receipt.id, user_id="u"))
        assert again.status == "done"
        assert texts(await mem.get_all(user_id="u", kinds="memory")) == [
            "Uma keeps bees",
            "Uma keeps hens",
        ]
        assert texts(await mem.get_all(user_id="u", kinds="turn")) == [
            "I keep bees and hens"
        ]
        assert again.added[0] == first.added[0]
        assert len(again.added) == 2


async def test_a_job_nobody_works_on_here_is_only_queued(config: Config) -> None:
    async with AsyncMemory(
        config, llm=ScriptedLLM(then=LLMError("no", why="input", retryable=False))
    ) as mem:
        receipt = await mem.add("I keep bees", user_id="u", wait=True)
        assert receipt.status == "dead"
    settings = replace(config, worker="off", queue_limit=1)
    async with AsyncMemory(settings, embedder=HashEmbedder()) as mem:
        other = await mem.add("later", user_id="u")
        with pytest.raises(QueueFullError):
            await mem.admin.retry(receipt.id, user_id="u")
        assert other.status == "queued"
    async with AsyncMemory(replace(settings, queue_limit=9)) as mem:
        assert await mem.admin.retry(receipt.id, user_id="u")
        assert (await mem.receipt(receipt.id, user_id="u")).status == "queued"
        assert await mem.admin.queued() == 2
    async with AsyncMemory(replace(config, read_only=True)) as mem:
        assert len(await mem.admin.jobs(status="queued")) == 2
        with pytest.raises(ReadOnlyStoreError):
            await mem.admin.retry(receipt.id, user_id="u")
