"""Known faults of memory layers, each by its kind, seen through the face."""

import asyncio
import json
import logging
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from hmem import (
    AsyncMemory,
    ClosedError,
    Config,
    DamagedStoreError,
    EmbedderError,
    HmemError,
    QueueFullError,
    TextTooLongError,
)
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import (
    FailingEmbedder,
    FrozenClock,
    HangingEmbedder,
    HashEmbedder,
)
from hmem.testing.yard import eventually
from tests.forms import forms

LONG = bool(os.environ.get("HMEM_LONG"))
MANY = 10_000 if LONG else 1_000


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=2, embed="none", durability="normal")


@pytest.fixture
async def mem(config: Config) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(config, embedder=HashEmbedder()) as opened:
        yield opened


HEAD = """
import asyncio, json, os, sys
from dataclasses import replace
from hmem import AsyncMemory, Config, HmemError
from hmem.testing.fakes import HashEmbedder, FailingEmbedder, HangingEmbedder
config = Config(path=sys.argv[1], shards=2, embed="none", durability="normal")
def memory(embedder=None, **more):
    return AsyncMemory(replace(config, **more), embedder=embedder or HashEmbedder())
"""


def start(code: str, folder: Path | str, **env: str) -> "subprocess.Popen[str]":
    """A process that runs `code` with `memory()` at hand."""
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, **env},
    )


async def finish(process: "subprocess.Popen[str]", limit: float = 40.0) -> Any:
    """What it printed, as JSON; it must have ended well and without a word of complaint."""
    try:
        out, err = await asyncio.to_thread(process.communicate, None, limit)
    finally:
        if process.poll() is None:
            process.kill()
    assert (process.returncode, err) == (0, ""), err
    return json.loads(out)


async def line(process: "subprocess.Popen[str]") -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


async def texts(mem: AsyncMemory, user: str = "u") -> list[str]:
    return [row.text for row in await mem.get_all(user_id=user, limit=1000)]


def behind(config: Config, sql: str, *args: object) -> int:
    """A statement in every shard behind the store's back; how many rows it changed."""
    changed = 0
    for path in config.folder.glob("*.db"):
        with closing(sqlite3.connect(path)) as conn, conn:
            changed += max(0, conn.execute(sql, args).rowcount)
    return changed


# -------------------------------------------------------------------------- texts

FOUND = [
    ("fullwidth", "order \uff21\uff22\uff23\uff11\uff12\uff13 shipped", "ABC123"),
    ("fullwidth-query", "order ABC123 shipped", "\uff21\uff22\uff23\uff11\uff12\uff13"),
    ("ligature", "the \ufb01nal o\ufb03ce", "final office"),
    ("halfwidth-kana", "\uff76\uff92\uff97 is here", "\u30ab\u30e1\u30e9"),
    ("nfd-nfc", "un cafe\u0301 noir", "caf\u00e9"),
    ("no-accent", "se\u00f1or Nu\u00f1ez", "senor nunez"),
    ("sharp-s", "die STRASSE", "stra\u00dfe"),
    ("cjk", "\u6211\u559c\u6b22\u5403\u82f9\u679c", "\u82f9\u679c"),
    ("cjk-glued-ascii", "\u91cd\u8dd1gen-itgc\u540e\u6e05\u96f6", "itgc"),
    ("hangul", "\uc11c\uc6b8\uc5d0\uc11c \uc0b4\uc544\uc694", "\uc11c\uc6b8"),
    (
        "thai",
        "\u0e09\u0e31\u0e19\u0e0a\u0e2d\u0e1a\u0e41\u0e21\u0e27",
        "\u0e41\u0e21\u0e27",
    ),
    (
        "khmer",
        "\u1781\u17d2\u1789\u17bb\u17c6\u179f\u17d2\u179a\u17a1\u17b6\u1789\u17cb\u1786\u17d2\u1798\u17b6",
        "\u1786\u17d2\u1798\u17b6",
    ),
    ("arabic-marks", "\u0643\u064e\u062a\u064e\u0628\u064e", "\u0643\u062a\u0628"),
    (
        "hebrew-bidi",
        "\u202b\u05e9\u05dc\u05d5\u05dd\u202c \u05e2\u05d5\u05dc\u05dd",
        "\u05e9\u05dc\u05d5\u05dd",
    ),
    ("zero-width", "my na\u200bme is Ma\u200dya", "name maya"),
    ("bidi-override", "\u202eabc\u202c then", "abc"),
    ("nul", "keeps be\0es", "bees"),
]


@pytest.mark.parametrize(
    ("stored", "query"), [pytest.param(*c[1:], id=f"txt-{c[0]}") for c in FOUND]
)
async def test_words_are_found_whatever_their_code_points(
    config: Config, stored: str, query: str
) -> None:
    """Without an embedder, so that only the words can find it."""
    async with AsyncMemory(config) as mem:
        for n in range(5):
            await mem.add(f"unrelated words number {n}", user_id="u")
        await mem.add(stored, user_id="u")
        await mem.add([stored], user_id="u", infer=False)
        found = await mem.search(query, user_id="u", explain=True)
        told = stored.replace("\0", "")
        assert [hit.text for hit in found.hits[:2]] == [told, told]
        assert all(hit.explain["words"] > 0 for hit in found.hits[:2])


@pytest.mark.parametrize(
    "query", ["\U0001f41d\U0001f41d", "\U0001f41d", "\u2764\ufe0f", "?!\u2026"]
)
async def test_txt_emoji_only_is_answered_by_meaning_alone(
    mem: AsyncMemory, query: str
) -> None:
    await mem.add("\U0001f41d is my avatar", user_id="u", wait=True)
    await mem.add("\U0001f41d\U0001f41d", user_id="u", wait=True)
    found = await mem.search(query, user_id="u", explain=True)
    assert found.degraded == ()
    assert all(0 <= hit.score <= 1 for hit in found)
    vector = HashEmbedder().vector("avatar")
    best = await mem.search(query, user_id="u", vector=vector, k=1)
    assert [hit.text for hit in best] == ["\U0001f41d is my avatar"]


async def test_txt_very_long_is_found_by_a_passage_in_its_middle(
    config: Config,
) -> None:
    page = "line {} of a manual about valves and pipes\n"
    text = "".join(page.format(n) for n in range(1700))
    text = text.replace("line 850 of", "the heron nests in line 850 of")
    assert len(text) > 74_000
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("I like herbs", user_id="u")
        began = time.monotonic()
        await mem.add(text, user_id="u", wait=True, timeout=20)
        found = await mem.search("where does the heron nest?", user_id="u", k=1)
        assert time.monotonic() - began < 15
        assert "heron" in found.hits[0].text
        assert len(found.hits[0].text) <= config.passage_chars
        assert (await texts(mem))[-1] == text


@pytest.mark.parametrize(
    ("said", "infer"),
    [
        pytest.param("line of a manual\n" * 300_000, True, id="message"),
        pytest.param(["ok", "\u6c34" * 300_000], True, id="second-of-two"),
        pytest.param(["x " * 5_000], False, id="fact"),
        pytest.param(["hi"] * 1_001, True, id="too-many"),
    ],
)
async def test_txt_very_long_is_refused_before_anything_is_written(
    config: Config, said: Any, *, infer: bool
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        with pytest.raises(TextTooLongError, match=r"longer than|more than"):
            await mem.add(said, user_id="u", infer=infer)
        assert not list(config.folder.glob("*.db"))


async def test_txt_locale_encoding_does_not_matter(tmp_path: Path) -> None:
    code = """
async def main():
    text = chr(8220) + "smart quotes" + chr(8221) + " " + chr(10003) + chr(0x6c34)
    async with memory() as mem:
        await mem.add(text, user_id="\\u00fc", wait=True, timeout=10)
        (hit,) = await mem.search(text, user_id="\\u00fc")
    print(json.dumps([hit.text, hit.text == text]))
asyncio.run(main())
"""
    folder = tmp_path / "donn\u00e9es-\u6c34"
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    told, equal = await finish(start(code, folder, **plain))
    assert equal
    async with AsyncMemory(Config(path=folder, embed="none", allow_degraded=True)) as m:
        assert await texts(m, "\u00fc") == [told]


# ------------------------------------------------------------------------ queries

SYNTAX = [
    *("foo AND", "NOT", "NEAR(", "(python", "memory:safe", 'say "hi', "AND", "OR"),
    *('"x" OR user_id : bob', '"bees" OR user_id:"bob"', 'bees") OR 1=1 --', "*"),
    *("bees*", "^bees", "{text} : bees", "-bees", "bees NEAR/2 bob", "text:zqbob"),
    *("'; DROP TABLE memories; --", "%", "_", "bees\\", "a\0b", "$.user_id", "?1"),
]


async def test_fts_queries_are_words_and_never_syntax(mem: AsyncMemory) -> None:
    """None fails, none is degraded, none finds another user or more than its words."""
    for user in ("u", "bob"):
        for n in range(6):
            text = f"{user} keeps bees and python {n} zq{user}"
            await mem.add([text], user_id=user, infer=False)
    await mem.flush(timeout=10)
    for query in SYNTAX:
        found = await mem.search(query, user_id="u", explain=True)
        assert found.degraded == ()
        assert not any("zqbob" in hit.text for hit in found)
        bare = "".join(c if c.isalnum() else " " for c in query.replace("\0", ""))
        if bare.strip():
            vector = HashEmbedder().vector(query)
            one = await mem.search(query, user_id="u", vector=vector, explain=True)
            two = await mem.search(bare, user_id="u", vector=vector, explain=True)
            assert [(h.id, h.explain) for h in one] == [(h.id, h.explain) for h in two]
    assert len(await texts(mem)) == len(await texts(mem, "bob")) == 6


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(" ".join(f"word{n}" for n in range(20_000)), id="words"),
        pytest.param("\u6c34\u7fc1" * 20_000, id="cjk"),
        pytest.param("(" * 50_000 + "bees", id="brackets"),
        pytest.param("a" * 1_000_000, id="one-word"),
        pytest.param("e\u0301" * 100_000, id="marks"),
    ],
)
async def test_fts_huge_is_answered_in_time(mem: AsyncMemory, query: str) -> None:
    for n in range(20):
        await mem.add(f"word{n} is about bees", user_id="u")
    began = time.process_time()
    found = await mem.search(query, user_id="u", k=20, timeout=10)
    block = await mem.context(query, user_id="u", max_tokens=200, timeout=10)
    assert time.process_time() - began < 2.0
    assert len(found) <= 20
    assert block.tokens <= 200


# ----------------------------------------------------------------------- messages

IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/p.png"}}
CALL = {"id": "t1", "type": "function", "function": {"name": "weather"}}
SHAPES = [
    (
        "msg-text-only-list-vision",
        [{"role": "user", "content": [{"type": "text", "text": "I love pizza"}]}],
        [("user", None, "I love pizza")],
    ),
    (
        "msg-dict-content",
        [{"role": "user", "content": IMAGE}],
        [("user", None, "[image]")],
    ),
    (
        "msg-content-none-toolcalls",
        [
            {"role": "user", "content": "Weather in Ghent?"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "t1", "content": '{"temp": 3}'},
        ],
        [("user", None, "Weather in Ghent?"), ("tool", "weather", '{"temp": 3}')],
    ),
    (
        "msg-system-role",
        [{"role": "system", "content": "You are a pirate"}, "hi"],
        [("user", None, "hi")],
    ),
    (
        "msg-names",
        [
            {"role": "user", "name": "ana", "content": "hello"},
            {"role": "user", "name": "bo", "content": "I have a twin"},
        ],
        [("user", "ana", "hello"), ("user", "bo", "I have a twin")],
    ),
]


@pytest.mark.parametrize(
    ("given", "kept"), [pytest.param(*c[1:], id=c[0]) for c in SHAPES]
)
async def test_messages_are_kept_as_said_and_by_whom(
    mem: AsyncMemory, given: Any, kept: list[tuple[Any, ...]]
) -> None:
    await mem.add(given, user_id="u", wait=True, timeout=10)
    rows: list[Any] = list(await mem.get_all(user_id="u"))
    assert [(row.role, row.name, row.text) for row in rows] == kept
    hits = (await mem.search("Ghent pirate twin", user_id="u")).hits
    assert {(hit.role, hit.speaker, hit.text) for hit in hits} == set(kept)
    assert len(await mem.get_all(user_id="u", kinds="memory")) == 0


# --------------------------------------------------------------------- life cycle


async def test_loop_hang_exit_ends_at_once_with_all_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    code = """
async def main():
    mem = await memory(HangingEmbedder()).open()
    for n in range(20):
        await mem.add(f"said {n}", user_id=f"u{n % 3}")
    globals()["kept"] = mem
    print("[]", flush=True)
    raise KeyboardInterrupt
try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
"""
    process = start(code, tmp_path / "m")
    assert await line(process) == "[]"
    began = time.monotonic()
    await asyncio.to_thread(process.communicate, None, 20)
    assert time.monotonic() - began < 8.0  # 2 s on an idle machine
    assert process.returncode == 0
    shut = Config(path=tmp_path / "m", embed="none", worker="off")
    async with AsyncMemory(shut) as mem:
        kept = [t for n in range(3) for t in await texts(mem, f"u{n}")]
    assert sorted(kept) == sorted(f"said {n}" for n in range(20))


async def test_loop_gc_without_close_warns_once_and_ends(tmp_path: Path) -> None:
    code = """
import gc, warnings
async def main():
    mem = await memory().open()
    await mem.add("said", user_id="u")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        del mem
        gc.collect()
        await asyncio.sleep(0.5)
        gc.collect()
    fds = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
           if os.path.lexists(f"/proc/self/fd/{n}")]
    left = [fd for fd in fds if ".db" in fd]
    print(json.dumps([[w.category.__name__ for w in seen], left]))
asyncio.run(main())
"""
    assert await finish(start(code, tmp_path / "m")) == [["ResourceWarning"], []]


async def test_loop_cancel_but_commits_is_one_job_when_it_is_sent_again(
    config: Config,
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("first", user_id="u")
        for n in range(40):

            async def send(n: int = n) -> Any:
                return await mem.add(f"said {n}", user_id="u", idempotency_key=f"k{n}")

            task = asyncio.create_task(send())
            for _ in range(n % 8):
                await asyncio.sleep(0)
            await asyncio.sleep(0.0004 * (n % 5))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await send()
        assert await texts(mem) == ["first", *(f"said {n}" for n in range(40))]


async def test_loop_blocking_work_leaves_the_loop(mem: AsyncMemory) -> None:
    """While a long text is cut and hashed the loop turns for others: counted, not timed."""
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    turner = asyncio.create_task(turn())
    await mem.add("short", user_id="u")
    turns = 0
    await mem.add("short", user_id="u")
    alone = turns
    turns = 0
    text = "The heron nests near valve 7 and pipes of copper. " * 3_900
    await mem.add(text, user_id="u")
    turner.cancel()
    assert turns > alone + 20


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_NOFILE")
async def test_loop_fd_per_shard_more_shards_than_files(tmp_path: Path) -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (170, 170))
async def main():
    async with memory(shards=256) as mem:
        users = [f"u{n}" for n in range(45)]
        await asyncio.gather(*(mem.add(f"I am {u}", user_id=u) for u in users))
        await mem.flush(timeout=30)
        found = await asyncio.gather(*(mem.search("who am I", user_id=u) for u in users))
        assert [f.hits[0].text for f in found] == [f"I am {u}" for u in users]
        stats = await mem.admin.stats()
    print(json.dumps([stats["users"], stats["files"] > 35]))
asyncio.run(main())
"""
    assert await finish(start(code, tmp_path / "m")) == [45, True]


async def test_loop_task_exceptions_are_told_once_in_bounded_memory(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = FailingEmbedder(times=None)
    limit = MANY // 2
    caplog.set_level(logging.INFO)
    async with AsyncMemory(
        replace(config, queue_limit=limit, shards=1), embedder=embedder
    ) as mem:
        async with asyncio.timeout(40):
            made = await asyncio.gather(
                *(mem.add(f"said {n}", user_id=f"u{n % 40}") for n in range(MANY)),
                return_exceptions=True,
            )
        refused = [m for m in made if isinstance(m, BaseException)]
        assert len(refused) == MANY - limit
        assert all(type(m) is QueueFullError and m.retryable for m in refused)
        assert await mem.admin.queued() == limit
        assert embedder.failed <= 2 * config.users_in_parallel + 4
        assert len(mem._rooms.bell.expected) == limit
        worker = mem._rooms.worker
        assert worker is not None
        await eventually(lambda: worker.breaker.is_open, 20)
        await mem.aclose(timeout=0)
    warnings = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert [r.name for r in warnings] == ["hmem.worker"], [r.msg for r in warnings]
    assert not [r for r in caplog.records if "never retrieved" in r.getMessage()]


async def test_q_enqueue_after_stop_is_refused_or_kept(config: Config) -> None:
    mem = await AsyncMemory(config, embedder=HashEmbedder()).open()
    kept: list[str] = []

    async def produce(n: int) -> None:
        for m in range(1_000):
            text = f"said {n}/{m}"
            try:
                await mem.add(text, user_id=f"u{n % 5}")
            except ClosedError:
                return
            kept.append(text)

    tasks = [asyncio.create_task(produce(n)) for n in range(50)]
    await asyncio.sleep(0.1)
    await mem.aclose()
    await asyncio.gather(*tasks)
    async with AsyncMemory(config, embedder=HashEmbedder()) as again:
        found = [t for n in range(5) for t in await texts(again, f"u{n}")]
    assert sorted(found) == sorted(kept)
    assert kept


# ------------------------------------------------------------------------ storage


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
async def test_env_disk_full_raises_loses_nothing_and_heals(tmp_path: Path) -> None:
    code = """
import logging, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
seen = []
class Count(logging.Handler):
    def emit(self, record):
        seen.append(record.getMessage())
logging.getLogger().addHandler(Count(logging.WARNING))
NONE = resource.RLIM_INFINITY
async def main():
    kept, errors = [], set()
    async with memory(shards=1) as mem:
        await mem.add("first", user_id="u", wait=True)
        for room in (0, 3_000, 9_000, 70_000, 150_000):
            size = max(os.stat(os.path.join(sys.argv[1], name)).st_size
                       for name in os.listdir(sys.argv[1]))
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, NONE))
            failed = 0
            for n in range(300):
                text = f"said {room} {n} " + "x" * 2_000
                try:
                    await mem.add(text, user_id="u")
                except HmemError as e:
                    errors.add((type(e).__name__, e.code, e.retryable))
                    failed += 1
                    if failed == 5:
                        break
                else:
                    kept.append(text)
            found = await mem.search("first", user_id="u", k=1000)
            assert "first" in [hit.text for hit in found]
            assert failed, room
            resource.setrlimit(resource.RLIMIT_FSIZE, (NONE, NONE))
            await mem.add(f"back {room}", user_id="u")
            kept.append(f"back {room}")
        await mem.flush(timeout=30)
        health = await mem.admin.health()
    async with memory() as mem:
        rows = (await mem.get_all(user_id="u", limit=1000)).rows
    print(json.dumps([sorted(errors), [r.text for r in rows] == ["first", *kept],
                      health["problems"], len(seen) < 40]))
asyncio.run(main())
"""
    errors, all_there, problems, quiet = await finish(start(code, tmp_path / "m"))
    assert errors == [["DiskFullError", "disk_full", True]]
    assert (all_there, problems, quiet) == (True, [], True)


def spoil(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "garbage":
        path.write_bytes(b"no database \0\xff" * 2_000)
    elif how == "torn":
        path.write_bytes(data[:4096] + bytes(len(data) - 4096))
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2 + 100])


@pytest.mark.parametrize("how", ["garbage", "torn", "cut"])
async def test_env_one_bad_line_in_a_shard_stops_only_its_users(
    config: Config, how: str
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        for n in range(30):
            await mem.add(f"said by {n}", user_id=f"u{n}")
        await mem.flush(timeout=10)
    spoil(sorted(config.folder.glob("*.db"))[0], how)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        bad, good = [], []
        for n in range(30):
            try:
                result = await mem.search("said", user_id=f"u{n}")
                assert [hit.text for hit in result] == [f"said by {n}"]
                good.append(n)
            except DamagedStoreError:
                bad.append(n)
        assert good
        assert bad
        for n in bad[:3]:
            with pytest.raises(DamagedStoreError):
                await mem.get_all(user_id=f"u{n}")
        # The others write, and their jobs are worked on in spite of it.
        for n in good:
            receipt = await mem.add(f"more from {n}", user_id=f"u{n}")
            assert (await receipt.result(timeout=10)).status == "done"
        for n in bad[:3]:
            with pytest.raises(DamagedStoreError):
                await mem.add("more", user_id=f"u{n}")
        health, stats = await mem.admin.health(), await mem.admin.stats()
        assert not health["ok"]
        assert any("shard-00" in problem for problem in health["problems"])
        assert await mem.admin.queued() == 0
        # A torn file may still have a readable part that can be counted.
        assert stats["users"] >= len(good)
        assert stats["unreadable"] == ["shard-00.db"] or stats["users"] == 30


@pytest.mark.parametrize("text", ["", '{"format": 1, "sha', "\0\0\0", "[]", "{}"])
async def test_env_one_bad_line_in_the_manifest_is_named(
    config: Config, text: str
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("said", user_id="u", wait=True)
    (manifest,) = config.folder.glob("*.json")
    whole = manifest.read_bytes()
    manifest.write_text(text)
    with pytest.raises(DamagedStoreError, match=manifest.name):
        await AsyncMemory(config, embedder=HashEmbedder()).open()
    assert manifest.read_text() == text
    manifest.write_bytes(whole)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        assert await texts(mem) == ["said"]


@pytest.mark.parametrize("value", ["{no json", "[1]", "", '{"a": NaN', "\ufffd"])
async def test_env_one_bad_line_of_metadata_is_set_aside(
    config: Config, value: str
) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        for n in range(3):
            await mem.add(f"bees {n}", user_id="u", metadata={"n": n}, wait=True)
        await mem.add(["hens"], user_id="u", infer=False, metadata={"n": 9}, wait=True)
    assert behind(config, "UPDATE episodes SET metadata = ? WHERE id % 4 = 2", value)
    behind(config, "UPDATE memories SET metadata = ?", value)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        assert len(await mem.search("bees hens", user_id="u")) == 4
        rows = list(await mem.get_all(user_id="u"))
        assert [dict(r.metadata) for r in rows] == [{}, {"n": 0}, {}, {"n": 2}]
        assert (await mem.admin.stats())["damaged_metadata"] >= 1


async def test_env_wal_growth_is_bounded_under_a_long_lived_reader(
    config: Config,
) -> None:
    """Another process that keeps the store open, and reads, holds nothing back."""
    code = """
async def main():
    async with memory(worker="off") as mem:
        while True:
            await mem.search("said", user_id="u")
            print("read", flush=True)
            await asyncio.sleep(0.01)
asyncio.run(main())
"""
    small = replace(config, shards=1, checkpoint_pages=100, worker="off")
    async with AsyncMemory(small, embedder=HashEmbedder()) as mem:
        await mem.add("said", user_id="u")
        reader = start(code, config.folder)
        try:
            assert await line(reader) == "read"
            largest = 0
            for n in range(300):
                await mem.add("x" * 4_000 + str(n), user_id=f"u{n}")
                sizes = [p.stat().st_size for p in config.folder.glob("*-wal")]
                largest = max(largest, *sizes)
        finally:
            reader.kill()
            await asyncio.to_thread(reader.communicate)
        data = sum(p.stat().st_size for p in config.folder.glob("*.db"))
    assert data > 1_500_000
    assert largest < 6 * 100 * 4_120


async def test_env_swap_remove_ids_each_text_finds_itself_first(
    config: Config,
) -> None:
    words = ["bee", "cow", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite"]
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        receipt = await mem.add(
            [f"a {w} is called {w}o" for w in words],
            user_id="u",
            infer=False,
            wait=True,
            timeout=10,
        )
        ids = (await receipt).added
        for gone in (3, 0, 9):
            await mem.delete(ids[gone], user_id="u")
        await mem.update(ids[5], user_id="u", text="a gnu is called gnuo too")
        for other in (mem, AsyncMemory(config, embedder=HashEmbedder())):
            await other.open()
            for row in await other.get_all(user_id="u"):
                vector = HashEmbedder().vector(row.text)
                best = await other.search("?", user_id="u", vector=vector, k=1)
                assert best.hits[0].id == row.id
                assert best.hits[0].text == row.text
            await other.aclose()


@pytest.mark.parametrize(
    "jump", [pytest.param(-1, id="back-1-h"), pytest.param(24 * 365, id="on-1-year")]
)
async def test_env_clock_jump_keeps_order_leases_and_scores(
    config: Config, jump: int
) -> None:
    clock = FrozenClock()
    async with AsyncMemory(config, embedder=HashEmbedder(), clock=clock) as mem:
        await mem.add("bees before", user_id="u", wait=True, timeout=10)
        before = await mem.add(["I have 2 bees"], user_id="u", infer=False, wait=True)
        clock.advance(hours=jump)
        done = await mem.add("bees after", user_id="u", wait=True, timeout=10)
        assert done.status == "done"
        (old,) = (await before).added
        new = await mem.update(old, user_id="u", text="I have 3 bees")
        closed: Any = await mem.get(old, user_id="u")
        assert closed.valid_to == new.valid_from >= closed.valid_from
        told = [(e.event, e.id) for e in await mem.history(old, user_id="u")]
        assert told == [("ADD", old), ("SUPERSEDE", old), ("ADD", new.id)]
        found = await mem.search("bees", user_id="u", explain=True)
        assert {h.text for h in found} == {"bees before", "bees after", "I have 3 bees"}
        assert all(np.isfinite(h.score) and 0 <= h.score <= 1 for h in found)
        assert await texts(mem) == ["I have 3 bees", "bees before", "bees after"]


# ---------------------------------------------------------------------- processes


async def test_mp_busy_timeout_two_processes_write_one_shard(tmp_path: Path) -> None:
    code = """
async def main():
    me = sys.stdin.readline().strip()
    async with memory(worker="off", shards=1) as mem:
        async def writer(n):
            for m in range(25):
                await mem.add(f"{me} {n} {m}", user_id=f"u{n % 3}")
        await asyncio.gather(*(writer(n) for n in range(8)))
    print("[]")
asyncio.run(main())
"""
    both = [start(code, tmp_path / "m") for _ in range(2)]
    for name, process in zip("ab", both, strict=True):
        assert process.stdin is not None
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
    await asyncio.gather(*(finish(process) for process in both))
    shut = Config(path=tmp_path / "m", embed="none", worker="off")
    async with AsyncMemory(shut) as mem:
        found = [t for n in range(3) for t in await texts(mem, f"u{n}")]
        assert len(found) == len(set(found)) == 400
        assert (await mem.admin.health())["ok"]


async def test_mp_read_takes_write_reads_pass_a_held_write_lock(
    config: Config,
) -> None:
    one = replace(config, shards=1, worker="off", busy_timeout=0.5)
    async with AsyncMemory(one, embedder=HashEmbedder()) as mem:
        await mem.add("I keep bees", user_id="u")
        (path,) = config.folder.glob("*.db")
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            holder.execute("UPDATE users SET token = token + 1")
            for other in (mem, AsyncMemory(one, embedder=HashEmbedder())):
                began = time.monotonic()
                await other.open()
                assert len(await other.search("bees", user_id="u")) == 1
                assert (await other.context("bees", user_id="u")).text
                assert await texts(other) == ["I keep bees"]
                assert time.monotonic() - began < 8.0  # a read that waits raises
                if other is not mem:
                    await other.aclose(timeout=0)
            with pytest.raises(HmemError) as busy:
                await mem.add("no room", user_id="u")
            assert (busy.value.code, busy.value.retryable) == ("busy", True)
            holder.execute("ROLLBACK")
        await mem.add("room again", user_id="u")
        assert await texts(mem) == ["I keep bees", "room again"]


async def test_mp_exclusive_open_is_never_asked_for(config: Config) -> None:
    """Twice in one process, in a second process, and after a kill."""
    code = """
async def main():
    async with memory() as mem:
        await mem.add("from the child", user_id="u", wait=True, timeout=10)
        print("there", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
    async with (
        AsyncMemory(config, embedder=HashEmbedder()) as one,
        AsyncMemory(config, embedder=HashEmbedder()) as two,
    ):
        await one.add("from one", user_id="u")
        child = start(code, config.folder)
        try:
            assert await line(child) == "there"
            await two.add("from two", user_id="u")
            want = ["from one", "from the child", "from two"]
            assert await texts(one) == await texts(two) == want
        finally:
            child.kill()
            await asyncio.to_thread(child.communicate)
        await one.add("after the kill", user_id="u", wait=True, timeout=10)
        assert len(await two.search("from", user_id="u")) == 4
    async with AsyncMemory(config, embedder=HashEmbedder()) as again:
        assert len(await texts(again)) == 4
        assert (await again.admin.health())["ok"]


@forms("workers,count", short=(2, 80), long=(4, 200))
async def test_mp_two_workers_one_job_each_is_worked_on_once(
    config: Config, workers: int, count: int
) -> None:
    code = """
async def main():
    embedder = HashEmbedder()
    async with memory(embedder, lease=30.0) as mem:
        while await mem.admin.queued():
            await asyncio.sleep(0.05)
    seen = [t for call in embedder.calls for t in call if "job" in t]
    print(json.dumps([t[t.index("job"):] for t in seen]))
asyncio.run(main())
"""
    async with AsyncMemory(
        replace(config, worker="off"), embedder=HashEmbedder()
    ) as mem:
        receipts = await asyncio.gather(
            *(mem.add(f"job{n}", user_id=f"u{n % 23}") for n in range(count))
        )
        started = [start(code, config.folder) for _ in range(workers)]
        seen = await asyncio.gather(*(finish(worker) for worker in started))
        jobs = sorted(one for part in seen for one in part)
        assert jobs == sorted(f"job{n}" for n in range(count))
        results = [await receipt.result(timeout=5) for receipt in receipts]
        assert {result.status for result in results} == {"done"}


class Counting(EmbeddedStore):
    """Counts what it hands out to views."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.rows_out = 0

    async def delta(self, user_id: str, since: Any = None) -> Any:
        found = await super().delta(user_id, since)
        if found is not None:
            blocks = [*found.lexical, *found.vectors]
            self.rows_out += len(found.memories) + len(found.turns)
            self.rows_out += sum(len(block.keys) for block in blocks)
        return found


async def test_mp_cache_staleness_costs_what_changed(config: Config) -> None:
    code = """
async def main():
    async with memory() as mem:
        for text in sys.stdin:
            await mem.add(text.strip(), user_id="u", wait=True, timeout=10)
            print("added", flush=True)
asyncio.run(main())
"""
    store = Counting(config)
    async with AsyncMemory(config, store=store, embedder=HashEmbedder()) as mem:
        await mem.add([f"old news {n}" for n in range(200)], user_id="u", wait=True)
        await mem.search("news", user_id="u")
        other = start(code, config.folder)
        assert other.stdin is not None
        try:
            for n in range(5):
                other.stdin.write(f"heron {n}\n")
                other.stdin.flush()
                assert await line(other) == "added"
                store.rows_out = 0
                found = await mem.search(f"heron {n}", user_id="u", k=1)
                assert [hit.text for hit in found] == [f"heron {n}"]
                assert 1 <= store.rows_out <= 6
                store.rows_out = 0
                await mem.search("heron", user_id="u")
                assert store.rows_out == 0
        finally:
            other.stdin.close()
            await asyncio.to_thread(other.wait, 20)
            assert other.stdout is not None
            assert other.stderr is not None
            other.stdout.close()
            other.stderr.close()


# ------------------------------------------------------- queue, embedding, ranking


class Picky(HashEmbedder):
    """Misbehaves for texts that hold `word`."""

    def __init__(self, word: str, how: str) -> None:
        super().__init__()
        self.word, self.how = word, how
        self.never = asyncio.Event()

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        rows = await super().embed(texts, purpose=purpose)
        if purpose == "query" or not any(self.word in text for text in texts):
            return rows
        if self.how == "hangs":
            await self.never.wait()
        if self.how == "refuses":
            raise EmbedderError("too long", retryable=False)
        return rows[:-1] if self.how == "short" else np.vstack([rows, rows[:1]])


async def test_q_head_of_line_one_users_job_stops_nobody_else(config: Config) -> None:
    async with AsyncMemory(config, embedder=Picky("stuck", "hangs")) as mem:
        await mem.add("stuck here", user_id="a")
        receipt = await mem.add("I keep bees", user_id="b")
        assert (await receipt.result(timeout=10)).status == "done"
        assert (await mem.search("stuck", user_id="a")).pending == 1
        await mem.aclose(timeout=0)


@pytest.mark.parametrize("how", ["short", "long", "refuses"])
async def test_emb_short_response_never_pairs_a_vector_with_another_text(
    config: Config, how: str
) -> None:
    one = replace(config, max_attempts=1)
    said = ["alpha bees", "beta odd hens", "gamma cows"]
    async with AsyncMemory(one, embedder=Picky("odd", how)) as mem:
        receipt = await mem.add(said, user_id="u")
        result = await receipt.result(timeout=20)
        assert result.status == "partial"
        assert result.reason
        assert "odd" not in result.reason
        for text in said:
            vector = HashEmbedder().vector(text)
            found = await mem.search(text, user_id="u", vector=vector, k=1)
            assert [hit.text for hit in found] == [text]


async def test_emb_fail_forever_null_is_made_good(config: Config) -> None:
    embedder = FailingEmbedder(times=2)
    async with AsyncMemory(config, embedder=embedder) as mem:
        receipt = await mem.add("I keep bees", user_id="u")
        assert len(await mem.search("bees", user_id="u")) == 1
        assert (await receipt.result(timeout=20)).status == "done"
        vector = embedder.vector("I keep bees")
        found = await mem.search("?", user_id="u", vector=vector, explain=True)
        assert found.hits[0].explain["dense"] > 0


async def test_emb_token_overflow_shortens_no_text(config: Config) -> None:
    class Strict(HashEmbedder):
        window = 64

        async def embed(self, texts: Sequence[str], **more: Any) -> Any:
            assert all(self.count(text) <= self.window for text in texts)
            return await super().embed(texts, **more)

    async with AsyncMemory(config, embedder=Strict()) as mem:
        text = "word " * 30_000 + "heron"
        said = [text, "x" * 5_000, "short"]
        receipt = await mem.add(said, user_id="u")
        assert (await receipt.result(timeout=30)).status == "done"
        assert await texts(mem) == said
        best = await mem.search("heron", user_id="u", k=1)
        assert best.hits[0].text.endswith("heron")


async def test_emb_same_dim_other_model_is_reported(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder(32, model="A-32")) as mem:
        await mem.add("I keep bees", user_id="u", wait=True, timeout=10)
    for other in (HashEmbedder(32, model="B-32"), HashEmbedder(64, model="A-32")):
        with pytest.raises(HmemError, match="A-32") as refused:
            await AsyncMemory(config, embedder=other).open()
        assert refused.value.code == "embedding_space"
    bent = replace(config, allow_degraded=True)
    async with AsyncMemory(bent, embedder=HashEmbedder(32, model="B-32")) as mem:
        found = await mem.search("bees", user_id="u")
        assert [hit.text for hit in found] == ["I keep bees"]
        assert found.degraded


async def test_ret_search_mutates_nothing(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        for n in range(8):
            await mem.add(f"bees {n % 3}", user_id="u", observed_at="2024-05-01")
        await mem.add(["hens 1", "hens 2"], user_id="u", infer=False)
        await mem.flush(timeout=10)
        shut = {p.name: p.read_bytes() for p in config.folder.glob("*.db*")}
        ask = {"as_of": "2024-05-02", "asked_at": "2024-06-01", "explain": True}
        seen = [
            (await mem.search("bees hens", user_id="u", **ask)).hits for _ in range(3)
        ]
        assert seen[0] == seen[1] == seen[2]
        names = [n for n in shut if not n.endswith("-shm")]
        assert {n: shut[n] for n in names} == {
            n: (config.folder / n).read_bytes() for n in names
        }


async def test_ret_fewer_than_threshold_rows_without_a_vector_can_pass(
    config: Config,
) -> None:
    async with AsyncMemory(config) as mem:
        await mem.add(["The heron nests at valve 7"], user_id="u", infer=False)
        await mem.add(["Bees sleep"], user_id="u", infer=False)
        found = await mem.search("heron nests valve 7", user_id="u", min_score=0.25)
        assert [hit.text for hit in found] == ["The heron nests at valve 7"]


async def test_ret_threshold_is_not_inverted(mem: AsyncMemory) -> None:
    said = ["I keep bees in Ghent", "My car is red", "Bees like clover"]
    await mem.add(said, user_id="u", infer=False, wait=True, timeout=10)
    for text in said:
        found = await mem.search(text, user_id="u")
        scores = [hit.score for hit in found]
        assert found.hits[0].text == text
        assert scores == sorted(scores, reverse=True)
        assert 0.8 < scores[0] <= 1.0
        kept = await mem.search(text, user_id="u", min_score=scores[0])
        assert [hit.text for hit in kept] == [text]


async def test_ret_nan_order_is_finite_and_the_same_each_time(config: Config) -> None:
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        made = await mem.add(
            [f"bees {n}" for n in range(6)], user_id="u", infer=False, wait=True
        )
        ids = (await made).added
    late = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp() * 1e6)
    behind(config, "UPDATE memories SET importance = NULL, last_accessed = ?", late)
    orders = []
    for _ in range(2):
        async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
            found = await mem.search("bees", user_id="u")
            assert all(np.isfinite(hit.score) for hit in found)
            orders.append([hit.id for hit in found])
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == sorted(ids)


async def test_q_poison_a_job_that_kills_its_worker_ends_as_dead(
    config: Config,
) -> None:
    code = """
class Killer(HashEmbedder):
    async def embed(self, texts, **more):
        if any("poison" in t for t in texts):
            os._exit(7)
        return await super().embed(texts, **more)
async def main():
    async with memory(Killer(), lease=0.3, max_attempts=2) as mem:
        while await mem.admin.queued():
            await asyncio.sleep(0.02)
    print("[]")
asyncio.run(main())
"""
    async with AsyncMemory(
        replace(config, worker="off"), embedder=HashEmbedder()
    ) as mem:
        receipt = await mem.add("poison", user_id="u")
        others = [await mem.add(f"bees {n}", user_id=f"v{n}") for n in range(5)]
        codes = []
        for _ in range(3):
            process = start(code, config.folder)
            await asyncio.to_thread(process.communicate, None, 30)
            codes.append(process.returncode)
        assert codes == [7, 7, 0]
        result = await receipt.result(timeout=5)
        assert result.status == "dead"
        assert result.reason
        for other in others:
            assert (await other.result(timeout=5)).status == "done"
        assert await texts(mem) == ["poison"]


async def test_embedders_that_hang_leave_reads_their_own_deadline(
    config: Config,
) -> None:
    quick = replace(config, query_embed_timeout=0.1)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        await mem.add("I keep bees", user_id="u", wait=True, timeout=10)
    async with AsyncMemory(quick, embedder=HangingEmbedder()) as mem:
        await mem.add("and hens", user_id="u")
        took = []
        for _ in range(3):  # a busy machine makes one of them late
            began = time.monotonic()
            found = await mem.search("bees hens", user_id="u")
            took.append(time.monotonic() - began)
        assert min(took) < 1.0
        assert found.degraded == ("embedder_timeout",)
        assert {hit.text: hit.pending for hit in found} == {
            "I keep bees": False,
            "and hens": True,
        }
        await mem.aclose(timeout=0)


# -------------------------------------------------------------------- wrong types

OPTIONS = {
    "add": "user_id agent_id session_id observed_at infer metadata idempotency_key",
    "search": "user_id k vector agent_id session_id category asked_at as_of known_at"
    " during kinds filters min_score timeout",
    "context": "user_id max_tokens category during kinds filters min_score timeout",
    "get": "user_id",
    "get_all": "user_id limit cursor category kinds entity filters as_of known_at during",
    "timeline": "limit cursor category kinds entity filters agent_id as_of known_at during",
    "count": "category kinds entity filters session_id as_of known_at during",
    "update": "user_id text metadata",
    "history": "user_id",
    "receipt": "user_id",
    "delete": "user_id",
}
FIRST = {
    "add": "bees",
    "search": "bees",
    "context": "bees",
    "get_all": None,
    "timeline": "u",
    "count": "u",
}


class Agrees:
    """Equal to everything, and without a text."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def hostile() -> list[Any]:
    nested: list[Any] = []
    for _ in range(2_000):
        nested = [nested]
    return [
        *(True, -1, 10**40, 1.5, float("nan"), b"x", "\ud800", "\0", "x' OR 1=1 --"),
        *([[]], {1: 2}, nested, object, Agrees(), [Agrees()], iter([1])),
        *(
            np.array([1, 2]),
            np.array("a"),
            np.zeros((2, 2)),
            datetime.max.replace(tzinfo=UTC),
        ),
    ]


@pytest.mark.parametrize("verb", OPTIONS)
async def test_ids_types_of_any_kind_raise_errors_of_ours_alone(
    mem: AsyncMemory, verb: str
) -> None:
    await mem.add(["I keep bees"], user_id="u", infer=False, wait=True, timeout=10)
    (row,) = await mem.get_all(user_id="u")
    good = {"user_id": "u"} | ({"text": "I keep hens"} if verb == "update" else {})
    refused = 0
    for option in ["", *OPTIONS[verb].split()]:
        for value in hostile():
            first = value if not option else FIRST.get(verb, row.id)
            given = good | ({option: value} if option else {})
            try:
                call = getattr(mem, verb)
                if verb in ("timeline", "count"):
                    del given["user_id"]
                await (call(**given) if verb == "get_all" else call(first, **given))
            except HmemError:
                refused += 1
    assert refused > 10
    assert (await mem.admin.stats())["users"] <= 4  # "u", and three odd but legal names
