"""`timeline`: what happened, the oldest first, and what became of it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hmem import (
    AsyncMemory,
    BadTimeError,
    Config,
    InputError,
    InputTypeError,
    MemoryRecord,
    ScopeError,
    TimelineEntry,
)
from hmem.protocols import AddMemory, NewMemory, WritePlan
from hmem.testing.fakes import FrozenClock, HashEmbedder
from hmem.text import content_hash, lexical
from hmem.times import to_micros

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def micros(day: str) -> int:
    return to_micros(datetime.fromisoformat(day).replace(tzinfo=UTC))


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(NOW)


@pytest.fixture
async def mem(tmp_path: Path, clock: FrozenClock) -> AsyncIterator[AsyncMemory]:
    config = Config(
        path=tmp_path / "m",
        shards=1,
        embed="none",
        durability="normal",
        receipt_days=36_500,  # the store's own clock is the machine's
    )
    async with AsyncMemory(config, embedder=HashEmbedder(), clock=clock) as opened:
        yield opened


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


def shown(entry: TimelineEntry) -> tuple[str, str, str, str | None, str | None]:
    until, by = entry.until, entry.replaced_by
    return (
        entry.at.isoformat()[:10],
        entry.kind,
        entry.text,
        until and until.isoformat()[:10],
        by and by.text,
    )


async def line(mem: AsyncMemory, user: str = "u", **asked: Any) -> list[Any]:
    return [shown(entry) for entry in await mem.timeline(user, **asked)]


async def test_things_stand_where_they_happened_and_say_what_became_of_them(
    mem: AsyncMemory,
) -> None:
    lyon = await put(mem, "Ana lives in Lyon", "2026-01-05")
    await put(mem, "Ana was born in Oslo", "2026-02-01", event_start="1990-04")
    await mem.add("I moved", user_id="u", observed_at="2026-03-01", wait=True)
    ghent = await mem.update(
        lyon, user_id="u", text="Ana lives in Ghent", observed_at="2026-03-01"
    )
    club = await put(mem, "Ana rows in a club", "2026-03-02")
    await mem.delete(club, user_id="u", observed_at="2026-04-01")
    entries = (await mem.timeline("u")).rows
    assert [shown(entry) for entry in entries] == [
        ("1990-04-01", "memory", "Ana was born in Oslo", None, None),
        (
            *("2026-01-05", "memory", "Ana lives in Lyon", "2026-03-01"),
            "Ana lives in Ghent",
        ),
        ("2026-03-01", "turn", "I moved", None, None),
        ("2026-03-01", "memory", "Ana lives in Ghent", None, None),
        ("2026-03-02", "memory", "Ana rows in a club", "2026-04-01", None),
    ]
    for entry in entries:
        assert await mem.get(entry.id, user_id="u") == entry.record
    assert entries[1].replaced_by == await mem.get(ghent.id, user_id="u")


async def test_at_one_moment_words_come_before_what_was_made_of_them(
    mem: AsyncMemory,
) -> None:
    for n in range(3):
        await put(mem, f"fact {n}", "2026-01-05")
        await mem.add(f"turn {n}", user_id="u", observed_at="2026-01-05")
    texts = [f"{what} {n}" for what in ("turn", "fact") for n in range(3)]
    seen, cursor = [], None
    while not seen or cursor is not None:
        page = await mem.timeline("u", limit=1, cursor=cursor)
        seen += [entry.text for entry in page]
        cursor = page.cursor
    assert seen == texts


async def test_what_came_later_is_undone_by_as_of(mem: AsyncMemory) -> None:
    first = await put(mem, "Ana lives in Lyon", "2026-01-05")
    await mem.update(
        first, user_id="u", text="Ana lives in Ghent", observed_at="2026-03-01"
    )
    assert await line(mem, as_of="2025-12") == []
    assert await line(mem, as_of="2026-02") == [
        ("2026-01-05", "memory", "Ana lives in Lyon", None, None)
    ]
    (old, new) = await line(mem, as_of="2026-03-01")
    assert old[3:] == ("2026-03-01", "Ana lives in Ghent")
    assert new[2:] == ("Ana lives in Ghent", None, None)


async def test_what_was_recorded_later_is_undone_by_known_at(
    mem: AsyncMemory, clock: FrozenClock
) -> None:
    first = await put(mem, "Ana lives in Lyon", "2026-01-05")
    clock.advance(days=10)
    await mem.update(
        first, user_id="u", text="Ana lives in Ghent", observed_at="2026-03-01"
    )
    clock.advance(days=10)
    await mem.delete(first, user_id="u")
    assert await line(mem, known_at="2026-05-31") == []
    assert await line(mem, known_at="2026-06-05") == [
        ("2026-01-05", "memory", "Ana lives in Lyon", None, None)
    ]
    both = await line(mem, known_at="2026-06-11")
    assert [entry[4] for entry in both] == ["Ana lives in Ghent", None]
    # What was known then, of what was believed in February, of what happened in January.
    asked = {"known_at": "2026-06-11", "as_of": "2026-02", "during": "2026-01"}
    assert await line(mem, **asked) == [
        ("2026-01-05", "memory", "Ana lives in Lyon", None, None)
    ]
    assert await mem.count("u", **asked) == 1
    assert len(await mem.get_all(user_id="u", **asked)) == 1
    found = await mem.search("Ana", user_id="u", **asked)
    assert [hit.text for hit in found] == ["Ana lives in Lyon"]
    assert "Ghent" not in (await mem.context("Ana", user_id="u", **asked)).text


async def test_an_entity_is_found_by_its_name_and_by_what_is_stored_under_it(
    mem: AsyncMemory,
) -> None:
    store = mem._rooms.parts.store
    told = "She keeps bees"
    new = NewMemory(
        text=told,
        hash=content_hash(told),
        tokens=(lexical(told),),
        ends=(len(told),),
        valid_from=micros("2026-01-01"),
        entities=("zoe novak",),
    )
    await store.apply(
        "u", WritePlan(at=micros("2026-06-01"), ops=(AddMemory(memory=new),))
    )
    await put(mem, "Zo\u00eb Novak sings", "2026-01-02")
    said = [
        "I met zoe novak\u2019s sister",
        "Zoe met Novak",
        "Zoe Novakova called",
        "ZOE  NOVAK!",
    ]
    for n, text in enumerate(said):
        await mem.add(text, user_id="u", observed_at=f"2026-02-0{n + 1}")
    for name in ("zoe novak", "Zo\u00eb Novak", " @ZOE NOVAK "):
        entries = [entry[2] for entry in await line(mem, entity=name)]
        assert entries == [told, "Zo\u00eb Novak sings", said[0], said[3]]
        assert await mem.count("u", entity=name) == 4
        assert await mem.count("u", entity=name, kinds="turn") == 2
    assert await line(mem, entity="Nobody") == []
    assert await line(mem, entity="!?") == []
    listed = await mem.get_all(user_id="u", entity="zoe novak")
    assert {row.text for row in listed} == {
        told,
        "Zo\u00eb Novak sings",
        said[0],
        said[3],
    }


@pytest.mark.parametrize(
    ("text", "name", "many"),
    [
        ("\u6211\u559c\u6b22\u674e\u96f7\u7684\u8336", "\u674e\u96f7", 2),
        ("\uc11c\uc6b8\uc5d0\uc11c \uc0b4\uc544\uc694", "\uc11c\uc6b8", 2),
        ("the C++ guild met", "C++", 2),
        ("room B12 is cold", "b12", 2),
        ("room B123 is cold", "b12", 0),
        ("O'Brien wrote", "o\u2019brien", 2),
        ("the annex", "ann", 0),
        ("two anns met", "ann", 0),
        ("Ann-Marie came", "ann", 2),
    ],
)
async def test_a_name_is_whole_words_in_any_script(
    mem: AsyncMemory, text: str, name: str, many: int
) -> None:
    await mem.add(text, user_id="u")
    await put(mem, f"{text} so.", "2026-01-01")
    assert await mem.count("u", entity=name) == many


async def test_long_turns_are_searched_for_names_to_their_end(mem: AsyncMemory) -> None:
    text = "\n\n".join(
        f"Chapter {n} of the log, as kept each day." * 9 for n in range(9)
    )
    await mem.add(f"{text} Told by Zoe Novak.", user_id="u")
    await mem.add(text, user_id="u")
    assert await mem.count("u", entity="Zoe Novak") == 1


async def test_what_has_expired_or_is_forgotten_is_nowhere(
    mem: AsyncMemory, clock: FrozenClock
) -> None:
    store = mem._rooms.parts.store
    for text, day in (("soon gone", "2026-06-05"), ("long here", "2027-01-01")):
        new = NewMemory(
            text=text,
            hash=content_hash(text),
            tokens=(lexical(text),),
            ends=(len(text),),
            valid_from=micros("2026-05-01"),
            expires_at=micros(day),
        )
        plan = WritePlan(at=to_micros(clock()), ops=(AddMemory(memory=new),))
        await store.apply("u", plan)

    async def seen(**asked: Any) -> set[int]:
        found = await mem.search("soon long gone here", user_id="u", **asked)
        return {
            len(found),
            len(await mem.get_all(user_id="u", **asked)),
            len(await mem.timeline("u", **asked)),
            await mem.count("u", **asked),
        }

    assert await seen() == {2}
    clock.advance(days=9)
    assert await seen() == {1}
    assert [row.text for row in await mem.get_all(user_id="u", limit=1)] == [
        "long here"
    ]
    # It had not expired when it was asked about, on either clock.
    assert await seen(as_of="2026-06-02") == {2}
    assert await seen(known_at="2026-06-02") == {2}


async def test_labels_bind_a_scope(mem: AsyncMemory) -> None:
    for user, session in (("u", "s1"), ("u", "s2"), ("v", "s1")):
        await mem.add(f"{user} {session}", user_id=user, session_id=session)
    one = mem.scoped(user_id="u", session_id="s1")
    assert [entry.text for entry in await one.timeline()] == ["u s1"]
    assert await one.count() == 1
    assert [row.text for row in await one.get_all()] == ["u s1"]
    assert await mem.scoped(user_id="u").count() == 2
    assert await mem.count("u", agent_id="nobody") == 0
    assert await mem.count("u", session_id="s2") == 1


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"entity": ""}, InputError),
        ({"entity": " @ "}, InputError),
        ({"entity": "x" * 257}, InputError),
        ({"entity": 7}, InputTypeError),
        ({"kinds": "fact"}, InputError),
        ({"kinds": []}, InputError),
        ({"category": "semantics"}, InputError),
        ({"during": "2026-13"}, BadTimeError),
        ({"as_of": 1767225600}, InputTypeError),
        ({"known_at": "then"}, BadTimeError),
        ({"session_id": ""}, ScopeError),
    ],
)
async def test_bad_arguments_are_refused(
    mem: AsyncMemory, asked: dict[str, Any], error: type[Exception]
) -> None:
    for call in (
        mem.timeline("u", **asked),
        mem.count("u", **asked),
        mem.get_all(user_id="u", **asked),
    ):
        with pytest.raises(error):
            await call
    for limit in (0, -1, "5", None, True):
        with pytest.raises(InputError, match="limit"):
            await mem.timeline("u", limit=limit)  # type: ignore[arg-type]
    with pytest.raises(ScopeError):
        await mem.timeline("")


async def test_records_are_the_ones_that_search_hands_out(mem: AsyncMemory) -> None:
    await put(mem, "Ana lives in Lyon", "2026-01-05")
    await mem.add("Ana moved", user_id="u", wait=True)
    found = {h.id: h.memory or h.episode for h in await mem.search("Ana", user_id="u")}
    assert {e.id: e.record for e in await mem.timeline("u")} == found
    (fact, _) = await mem.get_all(user_id="u", during="2026")
    assert isinstance(fact, MemoryRecord)
    assert found[fact.id] == fact
