"""Listing, counting and filtering without a model, over real stores: what a filter keeps
is what Python would keep of everything that is listed."""

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from hmem import (
    AsyncMemory,
    Config,
    Episode,
    InputError,
    Memory,
    MemoryRecord,
    Timeline,
)
from hmem.filters.rows import RowFilter
from hmem.protocols import PutProfile, WritePlan
from hmem.testing.fakes import FrozenClock, HashEmbedder
from hmem.views import cache
from tests.forms import many

Record = MemoryRecord | Episode
DAY0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
CITIES = ("Ghent", "Lyon", "Oslo")


def fill(mem: Memory, user: str, *, seed: int) -> None:
    """Turns and facts of all kinds, some of them closed."""
    rng = np.random.default_rng(seed)
    for n in range(24):
        metadata: dict[str, Any] = {"n": int(rng.integers(0, 6))}
        if rng.random() < 0.7:
            metadata["city"] = CITIES[rng.integers(0, 3)]
        if rng.random() < 0.3:
            metadata["tags"] = [str(t) for t in rng.choice(["a", "b", "c"], 2)]
        labels = {
            "session_id": f"s{rng.integers(0, 3)}",
            "agent_id": "a1" if rng.random() < 0.4 else None,
        }
        at = DAY0 + timedelta(days=int(rng.integers(0, 20)), minutes=n)
        if n % 2:
            role = "user" if rng.random() < 0.6 else "assistant"
            name = "Ana" if rng.random() < 0.5 else "Bo"
            text = f"{user} said words {n} about {CITIES[n % 3]}"
            said = {"role": role, "content": text, "metadata": metadata, "name": name}
            mem.add(said, user_id=user, observed_at=at, **labels)
            continue
        item = {
            "text": f"{user} fact {n} about {CITIES[n % 3]}",
            "category": ("semantic", "episodic", "procedural")[rng.integers(0, 3)],
            "importance": int(rng.integers(1, 11)),
            "metadata": metadata,
        }
        if rng.random() < 0.5:
            item["event_start"] = (at - timedelta(days=3)).date()
        receipt = mem.add([item], user_id=user, infer=False, observed_at=at, **labels)
        (id_,) = receipt.result(timeout=10).added
        if rng.random() < 0.3:
            mem.delete(id_, user_id=user, observed_at=at + timedelta(days=2))
        elif rng.random() < 0.3:
            text = f"{user} new fact {n} about {CITIES[n % 3]}"
            mem.update(id_, user_id=user, text=text, observed_at=at + timedelta(days=1))


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("listing")
    # The store's own clock is the machine's: to it, these jobs ended long ago.
    config = Config(
        path=folder, shards=1, embed="none", durability="normal", receipt_days=36_500
    )
    clock = FrozenClock(DAY0 + timedelta(days=40))
    with Memory(config, embedder=HashEmbedder(), clock=clock) as opened:
        for n, user in enumerate(("ana", "bo")):
            fill(opened, user, seed=n)
        opened.flush(timeout=20)
        yield opened


def everything(mem: Memory, user: str, **asked: Any) -> list[Record]:
    rows: list[Record] = []
    cursor = None
    while True:
        page = mem.get_all(user_id=user, limit=7, cursor=cursor, **asked)
        rows += page
        cursor = page.cursor
        if cursor is None:
            return rows


def stretch(mem: Memory, user: str, **asked: Any) -> list[Any]:
    rows: list[Any] = []
    cursor = None
    while True:
        page = mem.timeline(user, limit=7, cursor=cursor, **asked)
        rows += page
        cursor = page.cursor
        if cursor is None:
            return rows


def label(row: Record, key: str) -> Any:
    """What a filter sees under a name, read off the record."""
    is_fact = isinstance(row, MemoryRecord)
    if key == "at":
        return row.valid_from if is_fact else row.observed_at  # type: ignore[union-attr]
    if key == "speaker":
        return None if is_fact else row.name  # type: ignore[union-attr]
    if key in ("role", "observed_at", "message_id"):
        return None if is_fact else getattr(row, key)
    if key in ("category", "importance", "verified", "valid_from", "event_start"):
        return getattr(row, key) if is_fact else None
    if key in ("kind", "agent_id", "session_id", "recorded_at", "id"):
        return getattr(row, key)
    return row.metadata.get(key)


def holds(value: Any, op: str, wanted: Any) -> bool:
    """One operator, in plain Python. Dates in it are days."""
    if op == "exists":
        return (value is not None) is wanted
    if isinstance(value, datetime):
        begin = datetime.fromisoformat(wanted).replace(tzinfo=UTC)
        end = begin + timedelta(days=1)
        inside = begin <= value < end
        return {
            "eq": inside,
            "ne": not inside,
            "gt": value >= end,
            "gte": value >= begin,
            "lt": value < begin,
            "lte": value < end,
        }[op]
    listed = wanted if op in ("in", "nin") else [wanted]
    elements = value if isinstance(value, list) else [value]
    equal = any(type(e) is type(w) and e == w for e in elements for w in listed)
    if op in ("eq", "in"):
        return equal
    if op in ("ne", "nin"):
        return not equal
    if op == "contains":
        if isinstance(value, str):
            return isinstance(wanted, str) and wanted in value
        return isinstance(value, list) and equal
    if type(value) is not type(wanted):
        return False
    return {
        "gt": value > wanted,
        "gte": value >= wanted,
        "lt": value < wanted,
        "lte": value <= wanted,
    }[op]


def fits(row: Record, filters: Mapping[str, Any]) -> bool:
    for key, inner in filters.items():
        if key == "AND":
            good = all(fits(row, part) for part in inner)
        elif key == "OR":
            good = any(fits(row, part) for part in inner)
        elif key == "NOT":
            good = not fits(row, inner)
        else:
            value = label(row, key)
            good = all(holds(value, op, wanted) for op, wanted in inner.items())
        if not good:
            return False
    return True


def one(key: str, values: list[Any], *ops: str) -> st.SearchStrategy[Any]:
    single = st.sampled_from(values)
    several = st.lists(single, min_size=1, max_size=3)
    choices = [st.tuples(st.just(op), single) for op in ops]
    choices += [st.tuples(st.sampled_from(["in", "nin"]), several)] * bool(
        key not in ("at", "event_start")
    )
    if key not in ("kind", "category"):
        choices.append(st.tuples(st.just("exists"), st.booleans()))
    return st.one_of(choices).map(lambda pair: {key: dict([pair])})


DAYS = [f"2026-03-{day:02}" for day in (1, 5, 9, 14, 20)]
FIELDS = st.one_of(
    one("city", [*CITIES, "Rome", None], "eq", "ne"),
    one("city", ["h", "Lyon"], "contains"),
    one("n", [0, 2, 5], "eq", "ne", "gt", "gte", "lt", "lte"),
    one("tags", ["a", "b"], "eq", "ne", "contains"),
    one("nobody", [1, "x"], "eq", "ne"),
    one("kind", ["memory", "turn"], "eq", "ne"),
    one("category", ["semantic", "procedural"], "eq", "ne"),
    one("importance", [1, 5, 9], "eq", "gt", "lte"),
    one("verified", [True], "eq", "ne"),
    one("role", ["user", "assistant", "tool"], "eq", "ne"),
    one("speaker", ["Ana", "Bo"], "eq", "ne"),
    one("session_id", ["s0", "s1", "s9"], "eq", "ne"),
    one("agent_id", ["a1", None], "eq", "ne"),
    one("at", DAYS, "eq", "ne", "gt", "gte", "lt", "lte"),
    one("event_start", DAYS, "gte", "lt"),
)
FILTERS = st.recursive(
    FIELDS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"AND": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"OR": parts}),
        inner.map(lambda part: {"NOT": part}),
        st.tuples(inner, inner).map(lambda two: {**two[0], **two[1]}),
    ),
    max_leaves=6,
)
TIMES = st.fixed_dictionaries(
    {},
    optional={
        "as_of": st.sampled_from(DAYS),
        "known_at": st.sampled_from(["2026-04-09", "2026-04-11"]),
        "during": st.sampled_from(["2026-03", ("2026-03-04", "2026-03-11")]),
        "session_id": st.sampled_from(["s0", "s1"]),
        "agent_id": st.just("a1"),
        "kinds": st.sampled_from(["memory", "turn", ("turn", "memory")]),
        "category": st.sampled_from(["semantic", "episodic"]),
        "entity": st.sampled_from(["ghent", "LYON", "nobody"]),
    },
)
RANDOM = settings(
    max_examples=many(50, 150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@RANDOM
@given(filters=FILTERS, user=st.sampled_from(["ana", "bo"]), asked=TIMES)
def test_a_filter_keeps_what_python_keeps_of_what_is_listed(
    mem: Memory, filters: dict[str, Any], user: str, asked: dict[str, Any]
) -> None:
    try:
        kept = everything(mem, user, filters=filters, **asked)
    except InputError:  # of no kind
        reject()
    wanted = [row for row in everything(mem, user, **asked) if fits(row, filters)]
    assert kept == wanted
    assert mem.count(user, filters=filters, **asked) == len(wanted)
    assert {row.user_id for row in kept} <= {user}
    times = [e.record for e in stretch(mem, user, filters=filters, **asked)]
    assert times == [
        e.record for e in stretch(mem, user, **asked) if fits(e.record, filters)
    ]
    assert {row.id for row in kept} <= {row.id for row in times}


@RANDOM
@given(filters=FILTERS, user=st.sampled_from(["ana", "bo"]))
def test_a_filter_applies_before_the_best_are_chosen(
    mem: Memory, filters: dict[str, Any], user: str
) -> None:
    try:
        found = mem.search("words about Ghent", user_id=user, k=3, filters=filters)
    except InputError:
        reject()
    wanted = {r.id for r in everything(mem, user) if fits(r, filters)}
    assert len(found) == min(3, len(wanted))
    every = mem.search("words about Ghent", user_id=user, k=500, filters=filters)
    assert {hit.id for hit in every} == wanted
    assert [hit.id for hit in found] == [hit.id for hit in every][: len(found)]
    assert all(fits(old, filters) for hit in every for old in hit.replaced)


@RANDOM
@given(asked=TIMES, user=st.sampled_from(["ana", "bo"]))
def test_what_is_counted_listed_and_found_is_the_same(
    mem: Memory, asked: dict[str, Any], user: str
) -> None:
    listed = everything(mem, user, **asked)
    assert mem.count(user, **asked) == len(listed)
    if "entity" not in asked:
        found = mem.search("words", user_id=user, k=500, **asked)
        assert {hit.id for hit in found} == {row.id for row in listed}


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    config = Config(path=tmp_path / "m", shards=1, embed="none", durability="normal")
    async with AsyncMemory(config, embedder=HashEmbedder()) as opened:
        yield opened


async def put(mem: AsyncMemory, text: str, **more: Any) -> str:
    receipt = await mem.add(
        [{"text": text, **more}], user_id="u", infer=False, wait=True, timeout=10
    )
    return (await receipt).added[0]


async def test_a_warm_filter_follows_what_is_added_and_changed(
    own: AsyncMemory,
) -> None:
    red = {"colour": "red"}
    cites = {"source_ids": {"contains": "t2"}}
    first = await put(own, "a red kiln", metadata=red, source_ids=["t1"])

    async def seen(filters: dict[str, Any]) -> tuple[list[str], int]:
        found = await own.search("kiln", user_id="u", filters=filters)
        return sorted(h.text for h in found), await own.count("u", filters=filters)

    assert await seen(red) == (["a red kiln"], 1)
    assert await seen(cites) == ([], 0)
    await own.add("the kiln", user_id="u", metadata=red)
    await put(own, "a blue kiln", metadata={"colour": "blue"})
    await own.add(
        [{"text": "a red kiln", "source_ids": ["t2"]}], user_id="u", infer=False
    )
    assert await seen(red) == (["a red kiln", "the kiln"], 2)
    assert await seen(cites) == (["a red kiln"], 1)
    await own.update(first, user_id="u", text="a red kiln, sold")
    assert await seen(red) == (["a red kiln, sold", "the kiln"], 2)
    await own.delete_user("u")
    await own.add("another kiln", user_id="u", metadata=red)
    assert await seen(red) == (["another kiln"], 1)


async def test_many_filters_leave_few_behind(own: AsyncMemory) -> None:
    for n in range(30):
        await own.add(f"kiln {n}", user_id="u", metadata={"n": n})
    await own.flush(timeout=20)  # a space that is adopted begins a view anew
    for n in (*range(30), *range(30)):
        found = await own.search("kiln", user_id="u", filters={"n": n})
        assert [hit.text for hit in found] == [f"kiln {n}"]
    view = await own._rooms.retriever.views.read("u", lambda view: view)
    assert view is not None
    assert len(view.turns.sieve._kept) == 8


async def test_keys_that_no_row_has_are_told_by_every_verb(tmp_path: Path) -> None:
    told: list[tuple[str, Any]] = []
    config = Config(
        path=tmp_path,
        embed="none",
        on_event=lambda name, data: told.append((name, data)),
    )
    async with AsyncMemory(config) as mem:
        await mem.add("kilns", user_id="u", metadata={"city": "Ghent"})
        await mem.add("kilns", user_id="v", metadata={"cty": "Ghent"})
        asked: dict[str, Any] = {"filters": {"cty": {"ne": "x"}, "city": "Ghent"}}
        unknown = ("unknown_filter_key:cty",)
        found = await mem.search("kilns", user_id="u", **asked)
        assert len(found) == 1
        assert found.degraded[-1:] == unknown
        block = await mem.context("kilns", user_id="u", **asked)
        assert block.degraded == found.degraded
        assert block == found.block()
        assert (await mem.get_all(user_id="u", **asked)).degraded == unknown
        assert (await mem.timeline("u", **asked)).degraded == unknown
        told.clear()
        assert await mem.count("u", **asked) == 1
        assert told == [("listing_degraded", {"reasons": ("unknown_filter_key",)})]
        told.clear()
        await mem.search("kilns", user_id="u", **asked)
        assert "cty" not in repr(told)  # a key may be a user's word
        asked = {"filters": {"city": "Ghent", "speaker": None}}
        assert (await mem.get_all(user_id="u", **asked)).degraded == ()


BAD: list[dict[str, Any]] = [
    {"filters": {"sesion_id": "s"}},
    {"filters": {"city": {"gt": 5, "lt": 3}}},
    {"filters": {"category": "semantics"}},
    {"filters": "city"},
    {"filters": {"city": {"like": "x"}}},
]
VERBS: dict[str, Callable[..., Any]] = {
    "search": lambda mem, **asked: mem.search("x", user_id="u", **asked),
    "context": lambda mem, **asked: mem.context("x", user_id="u", **asked),
    "get_all": lambda mem, **asked: mem.get_all(user_id="u", **asked),
    "timeline": lambda mem, **asked: mem.timeline("u", **asked),
    "count": lambda mem, **asked: mem.count("u", **asked),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("asked", BAD, ids=json.dumps)
async def test_a_bad_filter_is_refused_before_anything_is_read(
    own: AsyncMemory, verb: str, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read(*_: Any, **__: Any) -> None:
        raise AssertionError("something was read")

    monkeypatch.setattr(own._rooms.parts.store, "delta", read)
    monkeypatch.setattr(own._rooms.parts.store, "page", read)
    with pytest.raises(InputError, match="filters"):
        await VERBS[verb](own, **asked)


async def test_a_filter_on_a_large_view_leaves_the_loop(
    own: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await own.add([f"kiln {n}" for n in range(30)], user_id="u", infer=False)
    threads: list[int] = []
    fits = RowFilter.fits

    def noted(self: RowFilter, rows: Any) -> Any:
        threads.append(threading.get_ident())
        return fits(self, rows)

    monkeypatch.setattr(RowFilter, "fits", noted)
    await own.search("kiln", user_id="u", filters={"city": "Ghent"})
    assert set(threads) == {threading.get_ident()}
    monkeypatch.setattr(cache, "_INLINE_DOCS", 100)  # for a plain search of 100 rows
    for verb in VERBS.values():
        threads.clear()
        await verb(own, filters={"city": f"not {verb}"})
        assert threads
        assert threading.get_ident() not in threads


async def test_a_turn_that_a_filter_hides_lends_nothing_to_those_near_it(
    own: AsyncMemory,
) -> None:
    said = [
        {"role": "user", "content": "The kiln broke", "metadata": {"open": False}},
        {"role": "user", "content": "Sunday then", "metadata": {"open": True}},
    ]
    await own.add(said, user_id="u", session_id="s", wait=True)
    asked: dict[str, Any] = {"user_id": "u", "explain": True, "k": 5}
    (hit,) = await own.search("kiln broke", filters={"open": True}, **asked)
    both = await own.search("kiln broke", **asked)
    near = {h.text: h.explain["near"] for h in both}
    assert hit.text == "Sunday then"
    assert near["Sunday then"] > near["The kiln broke"] * 0.9 > 0
    assert hit.explain.get("near", 0.0) == 0.0  # neither near nor in its window


async def test_a_replaced_fact_that_a_filter_hides_stays_hidden(
    own: AsyncMemory,
) -> None:
    old = await put(own, "Maya lives in Lyon", metadata={"open": False})
    await own.update(
        old, user_id="u", text="Maya lives in Ghent", metadata={"open": True}
    )
    asked: dict[str, Any] = {"user_id": "u", "kinds": "memory"}
    (plain,) = await own.search("Maya", **asked)
    assert [m.text for m in plain.replaced] == ["Maya lives in Lyon"]
    found = await own.search("Maya", filters={"open": True}, **asked)
    assert found.hits[0].replaced == ()
    assert "Lyon" not in found.block().text
    entries = (await own.timeline("u", filters={"open": True})).rows
    assert [(e.text, e.replaced_by) for e in entries] == [("Maya lives in Ghent", None)]
    (entry,) = (await own.timeline("u", filters={"open": False})).rows
    assert (entry.text, entry.replaced_by) == ("Maya lives in Lyon", None)
    assert entry.until is not None


async def test_a_profile_is_of_all_and_heads_no_filtered_block(tmp_path: Path) -> None:
    config = Config(path=tmp_path, shards=1, embed="none", profile=True)
    async with AsyncMemory(config) as mem:
        await mem.add(
            "I keep bees",
            user_id="u",
            agent_id="a",
            session_id="s",
            metadata={"open": True},
        )
        profile = PutProfile(text="Maya sings.", turn_seq=1)
        plan = WritePlan(at=1, ops=(profile,))
        await mem._rooms.parts.store.apply("u", plan)
        assert "Maya sings." in (await mem.context("bees", user_id="u")).text
        narrowed: list[dict[str, Any]] = [
            {"filters": {"open": True}},
            {"agent_id": "a"},
            {"session_id": "s"},
            {"kinds": "turn"},
            {"during": ("2000", "2100")},
            {"as_of": "2100-01-01"},
            {"known_at": "2100-01-01"},
        ]
        for options in narrowed:
            kept = await mem.context("bees", user_id="u", **options)
            assert "bees" in kept.text
            assert "sings" not in kept.text


async def test_a_cursor_is_good_for_its_own_question_alone(own: AsyncMemory) -> None:
    for n in range(4):
        await own.add(f"kiln {n}", user_id="u", metadata={"n": 1})
        await own.add(f"kiln {n}", user_id="v", metadata={"n": 1})
    asked: dict[str, Any] = {"filters": {"n": 1}, "limit": 2}
    listed = (await own.get_all(user_id="u", **asked)).cursor
    line = (await own.timeline("u", **asked)).cursor
    plain = (await own.get_all(user_id="u", limit=2)).cursor
    assert len({listed, line, plain}) == 3
    good = await own.timeline("u", filters={"n": 1}, limit=9, cursor=line)
    assert [e.text for e in good] == ["kiln 2", "kiln 3"]
    wrong: list[Any] = [
        own.get_all(user_id="v", cursor=listed, **asked),
        own.get_all(user_id="u", cursor=line, **asked),
        own.get_all(user_id="u", cursor=plain, **asked),
        own.get_all(user_id="u", cursor=listed, limit=2),
        own.get_all(user_id="u", cursor=listed, filters={"n": 2}),
        own.get_all(user_id="u", cursor=listed, category="episodic", **asked),
        own.timeline("u", cursor=line, limit=2),
        own.timeline("v", cursor=line, **asked),
        own.timeline("u", cursor=line, as_of="2030", **asked),
        own.timeline("u", cursor="AAAA", **asked),
        own.timeline("u", cursor="\u00e9", **asked),
        own.timeline("u", cursor=7, **asked),
    ]
    for call in wrong:
        with pytest.raises(InputError, match="cursor"):
            await call


async def test_pages_hold_still_while_rows_are_added(own: AsyncMemory) -> None:
    for n in range(6):
        await own.add(f"kiln {n}", user_id="u", observed_at=f"2026-03-0{n + 1}")
    first = await own.timeline("u", limit=3)
    await own.add("earlier", user_id="u", observed_at="2026-01-01")
    await own.add("later", user_id="u", observed_at="2026-04-01")
    rest = await own.timeline("u", limit=9, cursor=first.cursor)
    assert [e.text for e in (*first, *rest)] == [f"kiln {n}" for n in range(6)] + [
        "later"
    ]
    assert rest.cursor is None


async def test_nobody_has_nothing_and_no_file_is_made(own: AsyncMemory) -> None:
    assert await own.timeline("nobody", filters={"city": 1}) == Timeline(rows=())
    assert await own.count("nobody") == 0
    assert await own.count("nobody", filters={"city": 1}) == 0
    assert (await own.get_all(user_id="nobody", filters={"city": 1})).rows == ()
    assert not list(own.config.folder.glob("*.db"))
