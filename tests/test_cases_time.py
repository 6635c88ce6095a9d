"""Known faults of memory layers in time, belief and what a search means, each by its kind,
seen through the face. More of them are in test_cases.py."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from numpy.typing import NDArray

from hmem import (
    AsyncMemory,
    BadTimeError,
    Config,
    HmemError,
    InputError,
    MemoryRecord,
)
from hmem.asking import read_when
from hmem.protocols import AddMemory, NewMemory, Op, PutProfile, WritePlan
from hmem.scoring import Weights
from hmem.testing.fakes import FrozenClock, HashEmbedder
from hmem.testing.llms import ScriptedLLM, fact, facts
from hmem.text import content_hash, lexical
from hmem.times import from_micros, to_micros

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
Open = Callable[..., Any]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(
        path=tmp_path / "m",
        shards=2,
        embed="none",
        durability="normal",
        receipt_days=36_500,  # the store's own clock is the machine's
    )


@pytest.fixture
async def opened(config: Config) -> AsyncIterator[Open]:
    open_: list[AsyncMemory] = []

    async def make(
        *, llm: Any = None, embedder: Any = None, clock: Any = None, **changes: Any
    ) -> AsyncMemory:
        mem = AsyncMemory(
            replace(config, **changes),
            llm=llm,
            embedder=embedder or HashEmbedder(256),
            clock=clock or FrozenClock(NOW),
        )
        open_.append(await mem.open())
        return mem

    yield make
    for mem in open_:
        await mem.aclose(timeout=0.1)


@pytest.fixture
async def mem(opened: Open) -> AsyncMemory:
    made: AsyncMemory = await opened()
    return made


async def put(
    mem: AsyncMemory, text: str, at: str, *, user: str = "u", **more: Any
) -> str:
    receipt = await mem.add(
        [{"text": text, **more}],
        user_id=user,
        infer=False,
        observed_at=at,
        wait=True,
        timeout=10,
    )
    return (await receipt).added[0]


async def says(mem: AsyncMemory, text: str, at: str) -> Any:
    said = {"role": "user", "name": "Maya", "content": text}
    receipt = await mem.add(said, user_id="u", observed_at=at)
    return await receipt.result(timeout=10)


def new(text: str, since: str, **more: Any) -> NewMemory:
    return NewMemory(
        text=text,
        hash=content_hash(text),
        tokens=(lexical(text),),
        ends=(len(text),),
        valid_from=micros(since),
        **more,
    )


def micros(day: str) -> int:
    return to_micros(datetime.fromisoformat(day).replace(tzinfo=UTC))


async def apply(mem: AsyncMemory, *ops: Op, user: str = "u") -> list[Any]:
    plan = WritePlan(at=to_micros(NOW), ops=ops)
    return list((await mem._rooms.parts.store.apply(user, plan)).outcomes)


async def every(mem: AsyncMemory, user: str = "u") -> list[MemoryRecord]:
    """All versions of all facts."""
    rows = [entry.record for entry in await mem.timeline(user, limit=1000)]
    return [row for row in rows if isinstance(row, MemoryRecord)]


async def current(mem: AsyncMemory, user: str = "u", **asked: Any) -> list[str]:
    page = await mem.get_all(user_id=user, kinds="memory", **asked)
    return [row.text for row in page]


async def found(mem: AsyncMemory, query: str, **asked: Any) -> list[str]:
    hits = await mem.search(query, user_id="u", **{"k": 50, **asked})
    return [hit.text for hit in hits]


# --------------------------------------------------------------- times in a question


def spans(
    query: str, at: str, zone: str = "UTC", languages: Sequence[str] = ("en",)
) -> list[str]:
    """What a question's times are for the read path, as first..last local day, or minute."""
    where = ZoneInfo(zone)
    moment = datetime.fromisoformat(at).replace(tzinfo=where)
    shown = []
    for start, end, _ in read_when(query, to_micros(moment), where, languages):
        first = from_micros(start).astimezone(where)
        last = (from_micros(end) - timedelta(microseconds=1)).astimezone(where)
        if (first.hour, first.minute, last.hour, last.minute) == (0, 0, 23, 59):
            days = [first.date().isoformat(), last.date().isoformat()]
            shown.append("..".join(dict.fromkeys(days)))
        else:
            shown.append(f"{first:%Y-%m-%d %H:%M}..{last:%Y-%m-%d %H:%M}")
    return shown


TIMES = [
    ("time-detected-not-used", "last month", "2026-11-29", "2026-10-01..2026-10-31"),
    (
        *("time-unparseable-matches-all", "Last 7 days", "2026-11-29"),
        "2026-11-22..2026-11-29",
    ),
    (
        *("time-window-too-narrow", "what did I ship last year", "2026-05-29"),
        "2025-01-01..2025-12-31",
    ),
    (
        *("time-last-quarter-january", "last quarter", "2018-01-10"),
        "2017-10-01..2017-12-31",
    ),
    ("time-last-weekday", "last friday", "2015-06-15", "2015-06-12"),
    ("time-last-weekday", "next friday", "2015-06-15", "2015-06-19"),
    ("time-last-weekday", "last monday", "2015-06-15", "2015-06-08"),
    (
        *("time-weekday-month-shift", "Sun 9am", "2025-01-01"),
        "2024-12-29 09:00..2024-12-29 09:59",
    ),
    ("time-first-of-last-month", "the 1st of last month", "2025-04-05", "2025-03-01"),
    (
        "time-first-of-last-month",
        "3rd Friday of next month",
        "2025-04-05",
        "2025-05-16",
    ),
    ("time-leap-day", "a year ago", "2024-02-29", "2023-02-01..2023-02-28"),
    (
        "time-leap-day",
        "what is planned in 4 years",
        "2024-02-29",
        "2028-01-01..2028-12-31",
    ),
    ("time-iso-week", "2026-W53", "2027-01-03", "2026-12-28..2027-01-03"),
    ("time-iso-week", "this week", "2027-01-03", "2026-12-28..2027-01-03"),
]


@pytest.mark.parametrize(
    ("query", "at", "wanted"),
    [pytest.param(*case, id=f"{name}-{case[0]}") for name, *case in TIMES],
)
def test_a_question_is_about_the_stretch_it_names(
    query: str, at: str, wanted: str
) -> None:
    assert spans(query, at) == [wanted]


NO_TIMES = {
    "time-unparseable-matches-all": ["the week before the wedding"],
    "time-may-modal": [
        *("May I ask who my dentist is?", "we march on", "wait a second"),
        *("I sat in the sun", "the fall was steep", "you may second that"),
    ],
    "time-leap-day": ["on 2023-02-29", "on 29 February 2023"],
    "time-other-languages": [
        "\u660e\u5929\u8981\u53bb\u770b\u7259\u533b",
        "ma\u00f1ana",
    ],
}


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(query, id=f"{name}-{n}")
        for name, queries in NO_TIMES.items()
        for n, query in enumerate(queries)
    ],
)
def test_a_question_without_a_time_has_none(query: str) -> None:
    assert spans(query, "2026-11-29") == []


def test_time_dst_local_days_are_as_long_as_their_clocks_say() -> None:
    (day,) = read_when(
        "yesterday", micros("2026-03-30T12:00"), ZoneInfo("Europe/Brussels")
    )
    assert from_micros(day[1]) - from_micros(day[0]) == timedelta(hours=23)
    (day,) = read_when(
        "yesterday", micros("2026-10-26T12:00"), ZoneInfo("Europe/Brussels")
    )
    assert from_micros(day[1]) - from_micros(day[0]) == timedelta(hours=25)
    night = spans("last night at 02:30", "2026-03-29T12:00", "Europe/Brussels")
    assert night == ["2026-03-29 03:30..2026-03-29 03:30"]  # there is no 02:30


@pytest.mark.parametrize(
    ("language", "query", "wanted"),
    [
        ("zh", "\u660e\u5929\u8981\u53bb\u770b\u7259\u533b", "2026-02-20"),
        ("de", "was habe ich gestern gesagt?", "2026-02-18"),
        ("nl", "wat deed ik gisteren?", "2026-02-18"),
        ("es", "la reuni\u00f3n de ma\u00f1ana", "2026-02-20"),
    ],
)
async def test_time_other_languages_are_read_where_config_names_them(
    opened: Open, language: str, query: str, wanted: str
) -> None:
    mem = await opened(languages=("en", language))
    await mem.add("fillers", user_id="u", observed_at=wanted)
    await mem.add("more fillers", user_id="u", observed_at="2025-06-01")
    asked: dict[str, Any] = {"user_id": "u", "asked_at": "2026-02-19", "explain": True}
    best = (await mem.search(query, **asked)).hits[0]
    assert best.text == "fillers"
    assert best.explain["time"] > 0
    english = await opened()
    for hit in await english.search(query, **asked):
        assert "time" not in hit.explain


async def test_time_query_reference_is_asked_at_else_as_of_else_now(
    mem: AsyncMemory,
) -> None:
    for day in ("2023-04-12", "2023-05-24", "2026-11-18"):
        await mem.add(f"on {day} fillers", user_id="u", observed_at=day)

    async def timed(**asked: Any) -> list[str]:
        query = "what did I do last week"
        hits = await mem.search(query, user_id="u", explain=True, **asked)
        return [hit.text for hit in hits if hit.explain.get("time", 0) > 0]

    assert await timed() == ["on 2026-11-18 fillers"]
    assert await timed(as_of="2023-06-01") == ["on 2023-05-24 fillers"]
    assert await timed(asked_at="2023-04-20") == ["on 2023-04-12 fillers"]
    asked = {"asked_at": "2023-04-20", "as_of": "2023-06-01"}
    assert await timed(**asked) == ["on 2023-04-12 fillers"]


async def test_time_unparseable_matches_all_is_no_filter_and_no_boost(
    mem: AsyncMemory,
) -> None:
    for day in ("2026-10-02", "2026-11-27"):
        await mem.add(f"on {day} fillers", user_id="u", observed_at=day)
    for query, boosted in (("Last 7 days", 1), ("the week before the wedding", 0)):
        hits = (await mem.search(query, user_id="u", explain=True)).hits
        assert len(hits) == 2
        assert sum(hit.explain.get("time", 0) > 0 for hit in hits) == boosted
        assert sum(hit.explain.get("time", 0) > 0 for hit in hits[:1]) == boosted


GIVEN: list[tuple[Any, str]] = [
    (datetime(2026, 1, 1), "2026-01-01T05:00"),  # noqa: DTZ001 - naive is the case
    (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00"),
    ("2026-01-01", "2026-01-01T05:00"),
    ("2026-01-01T00:00:00+05:30", "2025-12-31T18:30"),
]


@pytest.mark.parametrize(("given", "wanted"), GIVEN, ids=lambda value: str(value))
async def test_time_naive_aware_all_become_utc_by_one_rule(
    opened: Open, given: Any, wanted: str
) -> None:
    mem = await opened(timezone="America/New_York")
    await mem.add("said", user_id="u", observed_at=given)
    (row,) = await mem.timeline("u")
    assert row.at == datetime.fromisoformat(wanted).replace(tzinfo=UTC)
    assert await mem.count("u", during=("2025-12", "2026-01")) == 1


@pytest.mark.parametrize("given", ["garbage", 1767225600, "2023-02-29", True])
async def test_time_naive_aware_garbage_is_refused_before_any_write(
    mem: AsyncMemory, given: Any
) -> None:
    with pytest.raises(InputError):
        await mem.add("said", user_id="u", observed_at=given)
    for verb in ("as_of", "known_at", "during"):
        with pytest.raises(InputError):
            await mem.timeline("u", **{verb: given})
    assert not list(mem.config.folder.glob("*.db"))


async def test_time_iso_sort_is_by_moment_and_not_by_spelling(mem: AsyncMemory) -> None:
    given = [
        ("half a second later", "2026-01-01T00:00:00.500Z"),
        ("midnight", "2026-01-01T00:00:00Z"),
        ("an hour before, in Brussels' digits", "2026-01-01T00:00:00+01:00"),
    ]
    for text, at in given:
        await mem.add(text, user_id="u", observed_at=at)
    texts = [text for text, _ in given]
    assert [e.text for e in await mem.timeline("u")] == texts[::-1]
    after = await mem.timeline("u", filters={"at": {"gt": "2026-01-01T00:00:00Z"}})
    assert [e.text for e in after] == texts[:1]
    assert await mem.count("u", as_of="2026-01-01T00:00:00+00:00") == 2
    assert await mem.count("u", during="2026") == 2


async def test_time_future_is_kept_and_found_before_and_after(opened: Open) -> None:
    clock = FrozenClock(NOW)
    mem = await opened(clock=clock)
    await put(mem, "Maya's exam", "2026-11-29", event_start="2027-01-15")
    for _ in range(2):
        hits = (await mem.search("when is my exam", user_id="u")).hits
        assert [hit.text for hit in hits] == ["Maya's exam"]
        assert 0 < hits[0].score <= 1
        assert hits[0].memory is not None
        assert hits[0].memory.event_start == datetime(2027, 1, 15, tzinfo=UTC)
        assert await mem.count("u", during="2027-01") == 1
        assert [e.at.year for e in await mem.timeline("u")] == [2027]
        clock.advance(days=100)


async def test_time_missing_date_field_reaches_the_model_and_comes_back(
    opened: Open,
) -> None:
    llm = ScriptedLLM(
        {"": facts(fact("Maya saw her doctor", when="2024-03-01", entities=["Maya"]))}
    )
    mem = await opened(llm=llm)
    said = {
        "role": "user",
        "name": "Maya",
        "content": "I had a doctor appointment yesterday",
        "timestamp": "2024-03-02T09:00:00Z",
    }
    receipt = await mem.add(said, user_id="u", observed_at="2026-01-01")
    await receipt.result(timeout=10)
    assert "2024-03-02" in llm.calls[0].text
    assert "2026-01-01" not in llm.calls[0].text
    (row,) = await every(mem)
    assert row.event_start == datetime(2024, 3, 1, tzinfo=UTC)
    assert row.valid_from == datetime(2024, 3, 2, 9, tzinfo=UTC)


# ------------------------------------------------------------------- two times at once


async def test_bit_inverted_no_fact_ends_before_it_began(mem: AsyncMemory) -> None:
    ghent = await put(mem, "lives in Ghent", "2026-03-01")
    with pytest.raises(BadTimeError):
        await mem.update(ghent, user_id="u", text="in Lyon", observed_at="2026-01-01")
    with pytest.raises(BadTimeError):
        await mem.delete(ghent, user_id="u", observed_at="2026-01-01")
    late = AddMemory(memory=new("lives in Lyon", "2026-01-01"), supersedes=ghent)
    (outcome,) = await apply(mem, late)
    assert outcome.status == "late"
    for row in await every(mem):
        assert row.valid_to is None or row.valid_from < row.valid_to
    assert await current(mem) == ["lives in Ghent"]
    assert await current(mem, as_of="2026-02") == ["lives in Lyon"]


async def test_bit_equal_stamps_are_ordered_by_when_they_came(mem: AsyncMemory) -> None:
    first = await put(mem, "in Ghent", "2026-03-01")
    second = await mem.update(
        first, user_id="u", text="in Lyon", observed_at="2026-03-01"
    )
    last = await mem.update(
        second.id, user_id="u", text="in Oslo", observed_at="2026-03-01"
    )
    assert await current(mem) == ["in Oslo"]
    assert [e.event for e in await mem.history(last.id, user_id="u")].count("ADD") == 3
    assert [row.text for row in await every(mem)] == ["in Ghent", "in Lyon", "in Oslo"]
    assert await current(mem, as_of="2026-03-01") == ["in Oslo"]
    assert await current(mem, as_of="2026-02-28") == []


async def test_bit_lookahead_belief_and_event_are_two_axes(mem: AsyncMemory) -> None:
    await put(mem, "married", "2026-06-01", event_start="2020-05-05")
    for asked, many in (
        ({"as_of": "2026-01-01"}, 0),
        ({"as_of": "2026-06-02"}, 1),
        ({"during": "2020"}, 1),
        ({"during": "2026"}, 0),
        ({"during": "2020", "as_of": "2026-01-01"}, 0),
        ({"during": "2020", "as_of": "2026-07", "known_at": "2026-11-30"}, 1),
        ({"during": "2020", "as_of": "2026-07", "known_at": "2026-11-28"}, 0),
    ):
        assert len(await found(mem, "married", **asked)) == many
        assert len(await current(mem, **asked)) == many
        assert len(await mem.timeline("u", **asked)) == many
        assert await mem.count("u", **asked) == many


SIGNALS = [f.name for f in fields(Weights) if f.name.startswith(("turn_", "fact_"))]


@pytest.mark.parametrize("only", ["all", *SIGNALS, "time"])
async def test_bit_as_of_all_parts_each_signal_alone_shows_nothing_later(
    opened: Open, only: str
) -> None:
    mem = await opened(profile=True)
    since = {"source_ids": ("m1",), "entities": ("maya",)}
    (old,) = await apply(
        mem, AddMemory(memory=new("Maya lives in Ghent", "2026-01-01", **since))
    )
    later = new("Maya lives in Lyon", "2026-05-01", **since)
    await apply(
        mem,
        AddMemory(memory=later, supersedes=old.id, links=(1,)),
        AddMemory(memory=new("Maya likes Lyon", "2026-05-02", **since)),
        PutProfile(text="Maya lives in Lyon.", turn_seq=1),
    )
    said = [
        ("I live in Ghent", "2026-01-01"),
        ("I moved to Lyon last week", "2026-05-01"),
    ]
    for n, (text, at) in enumerate(said):
        message = {"role": "user", "name": "Maya", "content": text, "id": f"m{n}"}
        await mem.add(message, user_id="u", session_id="s", observed_at=at)
    await mem.flush(timeout=10)
    if only != "all":
        off = dict.fromkeys(SIGNALS, 0.0) | {"time": 0.0}
        mem._rooms.retriever.weights = replace(Weights(), **(off | {only: 0.5}))
    asked: dict[str, Any] = {"as_of": "2026-02-01", "asked_at": "2026-02-01"}
    query = "where does Maya live, in Lyon or Ghent, last month?"
    for kinds in (None, "turn", "memory"):
        hits = await mem.search(query, user_id="u", k=50, kinds=kinds, **asked)
        seen = [hit.text for hit in hits] + [o.text for h in hits for o in h.replaced]
        assert seen
        assert not [text for text in seen if "Lyon" in text]
    del asked["asked_at"]
    assert "Maya lives in Lyon." in (await mem.context(query, user_id="u")).stable
    assert "Lyon" not in (await mem.context(query, user_id="u", **asked)).text
    assert not [e for e in await mem.timeline("u", **asked) if "Lyon" in e.text]
    assert not [e for e in await mem.timeline("u", **asked) if e.replaced_by]
    assert await mem.count("u", entity="lyon", **asked) == 0
    assert await mem.count("u", entity="lyon") == 3


async def test_bit_superseded_returned_only_as_what_was_before(
    mem: AsyncMemory,
) -> None:
    first = await put(mem, "lives in Ghent", "2026-01-01")
    await mem.update(first, user_id="u", text="lives in Lyon", observed_at="2026-03-01")
    hits = (await mem.search("where do I live", user_id="u")).hits
    assert [hit.text for hit in hits] == ["lives in Lyon"]
    assert [old.text for old in hits[0].replaced] == ["lives in Ghent"]
    assert await current(mem) == ["lives in Lyon"]
    assert await mem.count("u") == 1


async def test_bit_invalid_crowd_out_closed_versions_take_no_place(
    mem: AsyncMemory,
) -> None:
    for subject in ("kiln", "loom"):
        id_ = await put(mem, f"the {subject} is set to 0", "2026-01-01")
        for n in range(1, 31):
            text = f"the {subject} is set to {n}"
            row = await mem.update(id_, user_id="u", text=text)
            id_ = row.id
    two = await found(mem, "the kiln and the loom are set to", k=2)
    assert sorted(two) == ["the kiln is set to 30", "the loom is set to 30"]
    assert len(await current(mem)) == 2


async def test_bit_flip_flop_what_is_said_again_is_a_new_row(mem: AsyncMemory) -> None:
    row_id = await put(mem, "is vegetarian", "2026-01-01")
    for text, at in (
        ("eats meat again", "2026-02-01"),
        ("is vegetarian", "2026-03-01"),
    ):
        row = await mem.update(row_id, user_id="u", text=text, observed_at=at)
        row_id = row.id
    assert await current(mem) == ["is vegetarian"]
    assert [(row.text, row.valid_to is None) for row in await every(mem)] == [
        ("is vegetarian", False),
        ("eats meat again", False),
        ("is vegetarian", True),
    ]
    assert await current(mem, as_of="2026-02-15") == ["eats meat again"]


KILLED = """
import asyncio, sys
from hmem import Config, Memory
with Memory(Config(path=sys.argv[1], shards=1, embed="none")) as mem:
    page = mem.get_all(user_id="u")
    row = page.rows[0].id if page.rows else mem.add(
        ["set to 0"], user_id="u", infer=False).result(timeout=10).added[0]
    print("ready", flush=True)
    for n in range(100_000):
        row = mem.update(row, user_id="u", text=f"set to {n} by {sys.argv[2]}").id
"""


def kill_one_that_updates(folder: Path, turn: int) -> None:
    command = [sys.executable, "-c", KILLED, str(folder), str(turn)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        time.sleep(0.05 + 0.04 * turn)
        process.kill()
        assert process.wait(10) == -signal.SIGKILL


async def test_bit_nonatomic_supersede_a_kill_leaves_one_current_row(
    config: Config,
) -> None:
    """More rounds, and at chosen moments: benchmarks_perf/kills.py."""
    for turn in range(3):
        await asyncio.to_thread(kill_one_that_updates, config.folder, turn)
        async with AsyncMemory(replace(config, shards=1, worker="off")) as mem:
            assert len(await current(mem)) == 1
            rows = await every(mem)
            ids = {row.id for row in rows}
            for row in rows:
                assert (row.superseded_by is None) is (row.valid_to is None)
                assert row.superseded_by is None or row.superseded_by in ids
    assert len(rows) > 4


async def test_bit_cross_user_supersede_is_refused(mem: AsyncMemory) -> None:
    theirs = await put(mem, "lives in Ghent", "2026-01-01", user="bo")
    lone = AddMemory(memory=new("lives in Lyon", "2026-03-01"), supersedes=theirs)
    strict = replace(lone, memory=new("lives in Oslo", "2026-03-01"), needs_target=True)
    assert [outcome.status for outcome in await apply(mem, lone, strict)] == [
        "unknown",
        "unknown",
    ]
    with pytest.raises(InputError):
        await mem.update(theirs, user_id="u", text="lives in Rome")
    assert not await mem.delete(theirs, user_id="u")
    assert await current(mem, "bo") == ["lives in Ghent"]
    assert await current(mem) == ["lives in Lyon"]
    assert await mem.count("bo", entity="ghent") == 1
    assert await mem.count("u", entity="ghent") == 0


async def test_bit_correction_strengthens_nothing(opened: Open) -> None:
    wrong = facts(fact("Maya is allergic to walnuts", importance=6, entities=["Maya"]))
    right = facts(
        fact(
            "Maya is not allergic to walnuts",
            entities=["Maya"],
            replaces=0,
            reason="she said so",
        )
    )
    mem = await opened(
        llm=ScriptedLLM({"NOT allergic": right, "": wrong}), extract_after_turns=1
    )
    first = await says(mem, "I am allergic to walnuts", "2026-01-05")
    (before,) = await every(mem)
    result = await says(mem, "No, I am NOT allergic to walnuts", "2026-01-06")
    assert result.superseded == first.added
    after = await mem.get(first.added[0], user_id="u")
    assert isinstance(after, MemoryRecord)
    assert after.valid_to is not None
    assert (after.importance, after.source_ids, after.last_accessed) == (
        before.importance,
        before.source_ids,
        before.last_accessed,
    )
    assert await current(mem) == ["Maya is not allergic to walnuts"]


class Alike(HashEmbedder):
    """All texts are one to it."""

    def vector(self, text: str) -> NDArray[np.float32]:
        return super().vector("one")


PAIRS = [
    ("Project deadline is October 15th", "Project deadline is October 16th"),
    ("Maya works at Acme", "Maya just joined Bolt"),
    ("v1.2 is in use", "v1.3 is in use"),
    (
        "We chose SQLite over Postgres for simplicity",
        "We chose fastembed over OpenAI for privacy",
    ),
]


@pytest.mark.parametrize(("one", "two"), PAIRS, ids=[f"{n}" for n in range(4)])
async def test_bit_update_as_duplicate_both_are_stored(
    opened: Open, one: str, two: str
) -> None:
    llm = ScriptedLLM({two: facts(two), "": facts(one)})
    mem = await opened(llm=llm, embedder=Alike())
    await says(mem, one, "2026-01-05")
    result = await says(mem, two, "2026-01-06")
    assert len(result.added) == 1
    assert sorted(await current(mem)) == sorted([one, two])


async def test_bit_update_drops_fields_no_more(mem: AsyncMemory) -> None:
    id_ = await put(
        mem,
        "the exam is hard",
        "2026-01-05",
        source_ids=["m1", "m2"],
        category="episodic",
        importance=9,
        event_start="2026-02",
        metadata={"k": "v", "n": [1, {"a": None}]},
    )
    old = await mem.get(id_, user_id="u")
    row = await mem.update(id_, user_id="u", text="the exam is easy")
    kept = (
        "source_ids",
        "category",
        "importance",
        "metadata",
        "agent_id",
        "session_id",
    )
    kept += ("event_start", "event_end", "event_precision")
    for name in kept:
        assert getattr(row, name) == getattr(old, name), name
    assert await mem.count("u", filters={"k": "v", "importance": 9}) == 1


async def test_bit_expiry_crowd_expired_rows_take_no_place(mem: AsyncMemory) -> None:
    rows = [
        AddMemory(memory=new(f"the gate code was {n}", "2026-01-01", expires_at=stop))
        for n, stop in enumerate(
            [micros("2026-05-01")] * 61 + [micros("2027-01-01"), None]
        )
    ]
    await apply(mem, *rows)
    live = ["the gate code was 61", "the gate code was 62"]
    assert sorted(await found(mem, "the gate code was", k=2)) == live
    assert await current(mem, limit=1) == live[:1]
    assert await current(mem) == live
    assert await mem.count("u") == 2
    page = await mem.get_all(user_id="u", limit=2)
    assert page.cursor is None
    assert await mem.count("u", as_of="2026-04") == 63


# -------------------------------------------------------------- what a search means


@pytest.mark.parametrize(
    ("k", "many"),
    [(0, 0), (1, 1), (10**9, 3), *((k, None) for k in (-1, None, "5", True))],
)
async def test_ret_k_edge_is_a_number_or_refused(
    mem: AsyncMemory, k: Any, many: int | None
) -> None:
    await mem.add(["bees 1", "bees 2", "bees 3"], user_id="u", infer=False)
    if many is None:
        with pytest.raises(ValueError, match="k must"):
            await mem.search("bees", user_id="u", k=k)
    else:
        assert len(await mem.search("bees", user_id="u", k=k)) == many


async def test_ret_unknown_param_is_named(mem: AsyncMemory) -> None:
    asked: dict[str, Any] = {"query": "x", "user_id": "u"}
    with pytest.raises(TypeError, match="topK"):
        await mem.search(**asked, topK=3)
    for key, meant in (
        ("categry", "category"),
        ("user", "user_id"),
        ("agent", "agent_id"),
        ("sesion_id", "session_id"),
    ):
        for verb in (mem.search, mem.context):
            with pytest.raises(InputError, match=f"'{key}'.*{meant}"):
                await verb(**asked, filters={key: "semantic"})
    await mem.add("kilns", user_id="u", metadata={"city": "Ghent"})
    result = await mem.search(**asked, filters={"cty": {"ne": "Ghent"}})
    assert "unknown_filter_key:cty" in result.degraded


async def test_ret_assistant_first_the_users_words_lead_and_the_role_shows(
    mem: AsyncMemory,
) -> None:
    said = [
        {"role": "assistant", "content": "Fresh lime or grapefruit juice may help"},
        {"role": "user", "content": "I put fresh lime juice in it"},
    ]
    await mem.add(said, user_id="u", wait=True)
    hits = (await mem.search("fresh lime juice", user_id="u")).hits
    assert [hit.role for hit in hits] == ["user", "assistant"]
    mine = await mem.search("lime juice", user_id="u", filters={"role": "user"})
    assert [hit.role for hit in mine] == ["user"]


async def test_ret_empty_store_is_empty_and_makes_no_file(mem: AsyncMemory) -> None:
    nobody = {"user_id": "nobody"}
    asked: dict[str, Any] = {"as_of": "2026", "known_at": "2026", "during": "2026"}
    for more in ({}, asked, asked | {"filters": {"city": "Ghent"}}):
        assert (await mem.search("x", **nobody, **more)).hits == ()
        assert (await mem.context("x", **nobody, **more)).text == ""
        assert (await mem.get_all(**nobody, **more)).rows == ()
        assert (await mem.timeline("nobody", **more)).rows == ()
        assert await mem.count("nobody", **more) == 0
    assert await mem.get("x", **nobody) is None
    assert await mem.history("x", **nobody) == []
    assert not list(mem.config.folder.glob("*.db"))


async def test_no_reading_verb_raises_anything_but_ours_for_odd_filters(
    mem: AsyncMemory,
) -> None:
    await mem.add("kilns", user_id="u", metadata={"city": "Ghent", "n": 1})
    odd: list[Any] = [
        *(True, 7, "x", [], [{"a": 1}], {1: 2}, {"": 1}, {"AND": {}}, {"OR": []}),
        *({"a": np.array([1, 2])}, {"a": float("nan")}, {"a": {"in": "xy"}}),
        *({"a": object()}, {"a": {}}, {"$and": []}, {"a": {"$gt": 1}}, {"a.": 1}),
        *({"a": b"x"}, {"a": 10**400}, {"\ud800": 1}, {"a": "\ud800"}, {".": None}),
        *({"metadata": 1}, {"metadata.": 1}, {"a": {"exists": "yes"}}, {"at": "x"}),
        json.loads('{"NOT":' * 40 + "{}" + "}" * 40),
        {"a": datetime.max, "at": datetime.min},  # noqa: DTZ901 - naive on purpose
    ]
    refused = 0
    for filters in odd:
        for verb in (mem.timeline, mem.count):
            with contextlib.suppress(HmemError):
                await verb("u", filters=filters)
                refused -= 1
            refused += 1
    assert refused > len(odd)
