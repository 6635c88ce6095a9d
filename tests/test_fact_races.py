"""Many at once at one fact: it is stored once, its versions stay one chain, and whatever
was accepted is there or is reported."""

import asyncio
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hmem import AsyncMemory, Config, HistoryEvent, InputError, MemoryRecord
from hmem.protocols import MemoryRow, Outcome
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder
from hmem.testing.store.making import add, plan
from tests.forms import forms

ADDER = """
import asyncio, json, sys
from hmem import AsyncMemory, Config
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import ScriptedLLM, fact, facts
path, name, mode, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
FACT = "Maya lives in Ghent"
def answer(messages):
    if messages[-1]["content"].startswith("CANDIDATES"):
        return {"decisions": [{"candidate": 0, "reason": "known", "action": "NOOP", "memory": [0]}]}
    return facts(fact(FACT, quote="I live in Ghent", entities=["Maya", "Ghent"]))
async def main():
    config = Config(path=path, shards=1, embed="none", mode=mode, durability="normal")
    llm = None if mode == "raw" else ScriptedLLM(answer)
    async with AsyncMemory(config, llm=llm, embedder=HashEmbedder()) as mem:
        print("ready", flush=True)
        sys.stdin.readline()
        async def one(n):
            if llm is None:
                receipt = await mem.add(FACT, user_id="maya", infer=False)
            else:
                turn = {"role": "user", "name": "Maya", "content": f"I live in Ghent, {name} {n}"}
                receipt = await mem.add(turn, user_id="maya", session_id=f"{name} {n}")
            result = await receipt.result(timeout=40)
            return [result.status, result.added, result.turns, [[s.reason, s.id] for s in result.skipped]]
        print(json.dumps(await asyncio.gather(*map(one, range(count)))))
asyncio.run(main())
"""

CHAINER = """
import asyncio, json, random, sys
from hmem.config import Config
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.store.making import add, plan
path, name, root, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
async def main():
    dice = random.Random(name)
    store = EmbeddedStore(Config(path=path, shards=1, durability="normal"))
    await store.open()
    print("ready", flush=True)
    sys.stdin.readline()
    async def one(n):
        op = add(f"{name} {n}", at=dice.randrange(1, 9), supersedes=root, reason=f"by {name} {n}")
        (outcome,) = (await store.apply("maya", plan(op, at=20))).outcomes
        return [f"{name} {n}", outcome.status, outcome.id]
    print(json.dumps(await asyncio.gather(*map(one, range(count)))))
    await store.aclose()
asyncio.run(main())
"""


async def race(program: str, *argv: Sequence[object]) -> list[Any]:
    """What processes of one program print, started at one moment."""
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, *map(str, args)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        for args in argv
    ]
    for process in processes:
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.readline(), 30)
    ends = await asyncio.gather(*(p.communicate(b"go\n") for p in processes))
    assert [(p.returncode, e[1]) for p, e in zip(processes, ends, strict=True)] == [
        (0, b"")
    ] * len(processes)
    return [one for end in ends for one in json.loads(end[0])]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=1, embed="none", durability="normal")


def sound(rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    """The open rows of a chain that is one line. Each version ends where the next begins,
    or earlier; none before it began; each but the last names the one after it."""
    for row, after in itertools.pairwise(rows):
        assert (row.valid_from, row.seq) < (after.valid_from, after.seq)
        assert row.superseded_by == after.id
        assert row.valid_to is not None
        assert row.valid_from <= row.valid_to <= after.valid_from
        assert row.closed_recorded_at is not None
    return [row for row in rows if row.valid_to is None]


# -------------------------------------------------------------------- one fact, often


@forms("times", short=0.4, long=1.0)
@pytest.mark.parametrize(
    ("mode", "most"), [("raw", 50), ("append", 50), ("reconcile", 15)]
)
async def test_a_fact_that_many_add_at_once_in_two_processes_is_stored_once(
    config: Config, mode: str, most: int, times: float
) -> None:
    each = int(most * times)
    done = await race(
        ADDER, *((config.folder, name, mode, each) for name in ("one", "two"))
    )
    assert [status for status, *_ in done] == ["done"] * (2 * each)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        rows = list(await mem.get_all(user_id="maya", kinds="memory"))
        (row,) = rows
        assert isinstance(row, MemoryRecord)
        events = await mem.history(row.id, user_id="maya")
    assert [added for _, added, *_ in done if added] == [[row.id]]
    others = [skipped for _, added, _, skipped in done if not added]
    assert [[id_ for _, id_ in skipped] for skipped in others] == [[row.id]] * len(
        others
    )
    assert [e.event for e in events if e.event != "CITE"] == ["ADD"]
    turns = [turn for _, _, own, _ in done for turn in own]
    assert sorted(row.source_ids) == sorted(turns)


async def test_of_facts_that_name_one_person_at_once_none_is_left_out(
    config: Config,
) -> None:
    stores = [EmbeddedStore(config) for _ in range(2)]
    for store in stores:
        await store.open()

    async def name(n: int) -> None:
        op = add(f"fact {n}", entities=["ghent", f"only {n}"])
        await stores[n % 2].apply("maya", plan(op))

    await asyncio.gather(*map(name, range(50)))
    delta = await stores[0].delta("maya")
    assert delta is not None
    assert sorted(delta.entities["ghent"]) == list(range(1, 51))
    assert len(delta.entities) == 51
    for store in stores:
        await store.aclose()


# ---------------------------------------------------------------- one row, many times


async def test_those_who_supersede_one_row_at_once_stand_in_one_chain(
    config: Config,
) -> None:
    store = EmbeddedStore(config)
    await store.open()
    (first,) = (await store.apply("maya", plan(add("root")))).outcomes
    assert first.id is not None
    done = await race(
        CHAINER, *((config.folder, name, first.id, 20) for name in ("one", "two"))
    )

    async def mine(n: int) -> list[Any]:
        op = add(f"mine {n}", at=n, supersedes=first.id, reason=f"by mine {n}")
        (found,) = (await store.apply("maya", plan(op, at=20))).outcomes
        return [f"mine {n}", found.status, found.id]

    done += await asyncio.gather(*map(mine, range(10)))
    rows = await store.chain("maya", first.id)
    assert Counter(row.text for row in rows) == Counter(["root", *(d[0] for d in done)])
    assert {row.id for row in rows} == {first.id, *(d[2] for d in done)}
    (head,) = sound(rows)
    assert head.id == rows[-1].id
    statuses = Counter(status for _, status, _ in done)
    assert statuses["applied"] == 1
    assert set(statuses) == {"applied", "chained", "late"}
    for row in rows[:: len(rows) // 5]:
        assert await store.chain("maya", row.id) == rows
    page = await store.page("maya", "memory", after=0, limit=100)
    assert [row.id for row in page] == [head.id]
    notes = await store.notes("maya", first.id)
    await store.aclose()
    for row in rows[:-1]:
        own = [note for note in notes if note.id == row.id]
        assert own[-1].event == "SUPERSEDE"
        assert own[-1].by == row.superseded_by
        assert own[-1].reason is not None


async def test_a_target_that_many_replace_between_its_versions_stays_in_order(
    config: Config,
) -> None:
    """All of them older than the head: the head stays what it is."""
    one, two = EmbeddedStore(config), EmbeddedStore(config)
    await one.open()
    await two.open()
    (root,) = (await one.apply("maya", plan(add("root")))).outcomes
    await one.apply("maya", plan(add("head", at=30, supersedes=root.id)))

    async def late(n: int) -> Outcome:
        store = (one, two)[n % 2]
        op = add(f"late {n}", at=n % 7, supersedes=root.id)
        return (await store.apply("maya", plan(op, at=40))).outcomes[0]

    outcomes = await asyncio.gather(*map(late, range(30)))
    assert {o.status for o in outcomes} == {"late"}
    rows = await two.chain("maya", str(root.id))
    assert len(rows) == 32
    (head,) = sound(rows)
    assert (head.text, rows[0].text) == ("head", "root")
    for store in (one, two):
        await store.aclose()


# --------------------------------------------------------------------- two verbs at once

ROUNDS = 15
_LATER = 1_000
Pair = tuple[AsyncMemory, AsyncMemory]


@pytest.fixture
async def two(config: Config) -> AsyncIterator[Pair]:
    """Two memories of one folder, each with connections of its own."""
    async with (
        AsyncMemory(config, embedder=HashEmbedder()) as one,
        AsyncMemory(config, embedder=HashEmbedder()) as other,
    ):
        yield one, other


def rounds(seen: set[Any], wanted: set[Any]) -> Iterator[int]:
    """Numbers of rounds, until all that is `wanted` was `seen`: who comes first is up to
    the machine, and on a busy one it is the same one for long."""
    for n in range(40 * ROUNDS):
        if n >= ROUNDS and seen >= wanted:
            break
        yield n
    assert seen >= wanted, "never met"


async def stored(mem: AsyncMemory, text: str) -> str:
    receipt = await mem.add(text, user_id="maya", infer=False, observed_at="2026-01-05")
    return (await receipt).added[0]


async def superseding(mem: AsyncMemory, target: str, text: str) -> Outcome:
    """What a worker's plan does, also to a target that was closed meanwhile."""
    op = add(text, at=_LATER, supersedes=target, reason="by a worker")
    applied = await mem._rooms.parts.store.apply("maya", plan(op, at=_LATER))
    return applied.outcomes[0]


async def both(
    dice: random.Random, first: Awaitable[Any], second: Awaitable[Any]
) -> list[Any]:
    """Two at once, one of them a little later; an InputError is an answer, too."""

    async def after(seconds: float, call: Awaitable[Any]) -> Any:
        await asyncio.sleep(seconds)
        try:
            return await call
        except InputError as e:
            return e

    lag = dice.choice((0.0, 0.0, 0.001, 0.003))
    lags = (lag, 0.0) if dice.random() < 0.5 else (0.0, lag)
    return await asyncio.gather(after(lags[0], first), after(lags[1], second))


async def chain(mem: AsyncMemory, id_: str) -> list[MemoryRow]:
    return await mem._rooms.parts.store.chain("maya", id_)


def complete(rows: Sequence[MemoryRow], events: Sequence[HistoryEvent]) -> None:
    """Each version is added once, first of all; and what is closed says how, last."""
    for row in rows:
        own = [event for event in events if event.id == row.id]
        assert [e.event for e in own].count("ADD") == 1
        assert own[0].event == "ADD"
        if row.valid_to is None:
            assert own[-1].event in ("ADD", "REINSTATE")
        elif row.superseded_by is None:
            assert own[-1].event == "CLOSE"
        else:
            assert (own[-1].event, own[-1].by) == ("SUPERSEDE", row.superseded_by)


async def test_deleting_and_superseding_at_once(two: Pair) -> None:
    dice, seen = random.Random(5), set[bool]()
    for n in rounds(seen, {True, False}):
        one, other = two
        old = await stored(one, f"old {n}")
        deleted, outcome = await both(
            dice,
            one.delete(old, user_id="maya"),
            superseding(other, old, f"new {n}"),
        )
        rows = await chain(one, old)
        (head,) = sound(rows)
        assert [row.text for row in rows] == [f"old {n}", f"new {n}"]
        assert head.id == outcome.id
        assert outcome.status == ("chained" if deleted else "applied")
        events = await one.history(old, user_id="maya")
        complete(rows, events)
        assert any(e.event == "CLOSE" for e in events) == deleted
        seen.add(deleted)


async def test_reinstating_and_superseding_at_once(two: Pair) -> None:
    dice, seen = random.Random(6), set[bool]()
    for n in rounds(seen, {True, False}):
        one, other = two
        old = await stored(one, f"old {n}")
        assert await one.delete(old, user_id="maya", observed_at="2026-02-01")
        back, outcome = await both(
            dice,
            one.reinstate(old, user_id="maya", reason="a mistake"),
            superseding(other, old, f"new {n}"),
        )
        assert isinstance(back, MemoryRecord)
        rows = await chain(other, old)
        assert {row.text for row in rows} == {f"old {n}", f"new {n}"}
        is_open = {row.text for row in rows if row.valid_to is None}
        # Superseded first, the old one was opened again beside its successor.
        last = outcome.status == "applied"
        assert is_open == {f"new {n}"} | (set() if last else {f"old {n}"})
        assert outcome.status in ("applied", "chained")
        complete(rows, await other.history(old, user_id="maya"))
        seen.add(last)


async def test_updating_and_superseding_at_once(two: Pair) -> None:
    dice, seen = random.Random(7), set[int]()
    for n in rounds(seen, {3}):
        one, other = two
        old = await stored(one, f"old {n}")
        updated, outcome = await both(
            dice,
            one.update(old, user_id="maya", text=f"edit {n}"),
            superseding(other, old, f"new {n}"),
        )
        rows = await chain(one, old)
        texts = {f"old {n}", f"new {n}"}
        if isinstance(updated, InputError):  # it was no open memory any more
            assert outcome.status == "applied"
        else:
            texts.add(f"edit {n}")
        assert {row.text for row in rows} == texts
        (head,) = sound(rows)
        assert head.id == rows[-1].id
        complete(rows, await one.history(old, user_id="maya"))
        seen.add(len(rows))


async def test_many_updates_of_one_memory_lose_none_that_was_answered(
    two: Pair,
) -> None:
    old = await stored(two[0], "the first")

    async def update(n: int) -> MemoryRecord | InputError:
        try:
            return await two[n % 2].update(old, user_id="maya", text=f"edit {n}")
        except InputError as e:
            return e

    done = await asyncio.gather(*map(update, range(30)))
    answered = [one for one in done if isinstance(one, MemoryRecord)]
    assert answered
    rows = await chain(two[0], old)
    assert {row.id for row in rows} == {old, *(one.id for one in answered)}
    (head,) = sound(rows)
    assert head.id == rows[-1].id
    complete(rows, await two[1].history(old, user_id="maya"))
