"""Three users, everything public, and nobody ever sees a row, id, score or count of another.

Every step runs in a store that the users share and in one that the user has alone; what
comes back must be the same. HMEM_LONG=1 runs the long form.
"""

import asyncio
import re
import sqlite3
import tempfile
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
)
from contextlib import closing
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from hmem import AsyncMemory, CapacityError, Config, HmemError, MemoryRecord, Receipt
from hmem.stores.keys import SEQ_MAX, UID_MAX
from hmem.testing.fakes import FrozenClock, HashEmbedder
from tests.forms import LONG

EXAMPLES, STEPS = (150, 60) if LONG else (8, 25)
USERS = ("ana", "bo", "\u00e7y'; --")
WORDS = {user: f"zq{n}canary" for n, user in enumerate(USERS)}
PHRASES = ("Lives in Ghent", "Keeps bees with Maya", "Apple is a cat", "said yes")
UUID_SHAPE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UNKNOWN = ("01890000-0000-7000-8000-000000000000", "nonsense", "../x", "' OR 1=1 --")
GLANCE = "Ghent Maya apple bees"
EMBEDDER = HashEmbedder(16)


def leaves(answer: Any) -> Iterator[str]:
    """Every string of an answer, wherever it is."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, Mapping):
        for key, value in answer.items():
            yield from leaves(key)
            yield from leaves(value)
    elif is_dataclass(answer):
        for f in fields(answer):
            yield from leaves(getattr(answer, f.name))
    elif isinstance(answer, (list, tuple, set, frozenset)):
        for part in answer:
            yield from leaves(part)


class Names:
    """The ids that a store gave to one user, numbered in the order of the writes."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def learn(self, answer: Any) -> None:
        for leaf in leaves(answer):
            for one in UUID_SHAPE.findall(leaf):
                self.of.setdefault(one, f"<{len(self.of)}>")

    def __getitem__(self, n: int) -> str:
        return list(self.of)[n % len(self.of)]

    def plain(self, answer: Any) -> Any:
        """An answer as plain values with numbers for ids; an id it never heard of fails."""
        if isinstance(answer, str):
            return UUID_SHAPE.sub(lambda found: self.of[found[0]], answer)
        if isinstance(answer, Mapping):
            return {self.plain(k): self.plain(v) for k, v in answer.items()}
        if isinstance(answer, HmemError):
            return type(answer).__name__, self.plain(str(answer)), answer.code
        if isinstance(answer, Receipt):
            return self.plain((answer.id, answer.user_id, answer.status))
        if is_dataclass(answer):
            names = [f.name for f in fields(answer)]
            drop = ("render", "milliseconds", "hash")
            return type(answer).__name__, {
                name: self.plain(getattr(answer, name))
                for name in names
                if name not in drop
            }
        if isinstance(answer, (list, tuple)):
            return [self.plain(part) for part in answer]
        assert answer is None or isinstance(answer, (bool, int, float, datetime, Enum))
        return answer


class Place:
    """One folder: a handle that writes, a warm one beside it, and the ids it gave."""

    def __init__(self, folder: Path, clock: FrozenClock) -> None:
        self.config = Config(
            path=folder, shards=1, embed="none", durability="normal", worker="off"
        )
        self.clock = clock
        self.names = {user: Names() for user in USERS}
        self.mem: AsyncMemory
        self.warm: AsyncMemory

    def memory(self, **changed: Any) -> AsyncMemory:
        config = replace(self.config, **changed)
        return AsyncMemory(config, embedder=EMBEDDER, clock=self.clock)

    async def open(self) -> None:
        async with self.memory(
            worker="inline"
        ) as first:  # the space is there from here
            await first.add("hello", user_id="first", wait=True, timeout=10)
            await first.delete_user("first")
        self.mem, self.warm = await self.memory().open(), await self.memory().open()

    async def close(self) -> None:
        await self.mem.aclose(timeout=0)
        await self.warm.aclose(timeout=0)

    async def job(self, user: str, receipt: Receipt) -> tuple[str, ...]:
        """The ids of the rows that the receipt's call made, without waiting for work."""
        job = await self.mem._rooms.parts.store.job(user, receipt.id)
        assert job is not None
        return (*job.turns, *job.added)

    async def work(self) -> None:
        async with self.memory(worker="inline"):
            await self.mem.flush(timeout=20)
        assert await self.mem.admin.queued() == 0


async def outcome(call: Awaitable[Any]) -> Any:
    """What a call returns, or the error it raises."""
    try:
        return await call
    except HmemError as e:
        return e


Verb = Callable[[AsyncMemory], Awaitable[Any]]

users = st.sampled_from(USERS)
picks = st.integers(0, 60)
labels = st.sampled_from([None, None, "s1", "s2"])
keys = st.sampled_from([None, None, None, "k1", "k2"])
said = st.lists(
    st.tuples(st.sampled_from(PHRASES), st.booleans()), min_size=1, max_size=3
)
queries = st.sampled_from(
    [*PHRASES, *WORDS.values(), '"x" OR user_id : bo', "\U0001f41d", "maya"]
)
FILTERS: tuple[Any, ...] = (
    *(None, None, None, {"role": "user"}, {"kind": "memory"}, {"nobody": 1}),
    *({"at": {"gte": "2024-05-01"}}, {"NOT": {"session_id": "s1"}}),
)
TIMES = (None, None, "2024-04-30", "2024-05-01", "2024-05-02", "2030-01-01")
times = st.sampled_from(TIMES)
options = st.fixed_dictionaries(
    {
        "k": st.sampled_from([0, 1, 3, 50]),
        "agent_id": st.sampled_from([None, None, "a1"]),
        "session_id": labels,
        "category": st.sampled_from([None, None, "semantic", "procedural"]),
        "asked_at": times,
        "as_of": times,
        "known_at": times,
        "during": st.sampled_from([None, None, None, "2024", ("2024-05-01", "2025")]),
        "kinds": st.sampled_from([None, "turn", "memory", ("turn", "memory")]),
        "min_score": st.sampled_from([None, None, 0.0, 0.2]),
        "vector": st.sampled_from([None, None, "Ghent", "zq1canary"]),
        "filters": st.sampled_from(FILTERS),
    }
)
chosen = st.fixed_dictionaries(
    {
        "agent_id": st.sampled_from([None, None, "a1"]),
        "session_id": labels,
        "as_of": times,
        "known_at": times,
        "during": st.sampled_from([None, None, "2024", ("2024-05-01", "2025")]),
        "kinds": st.sampled_from([None, "turn", "memory"]),
        "entity": st.sampled_from([None, None, "maya", "ghent"]),
        "filters": st.sampled_from(FILTERS),
    }
)


class Tenants(RuleBasedStateMachine):
    """Each step in the shared store and in the user's own; the answers must agree."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.clock = FrozenClock()
        base = Path(self.folder.name)
        self.shared = Place(base / "shared", self.clock)
        self.alone = {
            user: Place(base / f"own{n}", self.clock) for n, user in enumerate(USERS)
        }
        self.past: set[str] = set()
        self.said: dict[tuple[str, str | None], list[dict[str, Any]]] = {}

    @initialize()
    def open_all(self) -> None:
        for place in self.places:
            self.run(place.open())

    @property
    def places(self) -> list[Place]:
        return [self.shared, *self.alone.values()]

    def run(self, call: Awaitable[Any]) -> Any:
        assert isinstance(call, Coroutine)
        return self.runner.run(call)

    # ------------------------------------------------------------------ comparing

    def write(self, user: str, verb: Callable[..., Awaitable[Any]]) -> Any:
        """In both stores; `verb` gets the memory and that store's ids of the user."""
        made = []
        for place in (self.shared, self.alone[user]):
            names = place.names[user]
            answer = self.run(outcome(verb(place.mem, names)))
            shown = answer
            if isinstance(answer, Receipt):
                shown = (answer.id, self.run(self.job(place, user, answer)))
            names.learn(shown)
            made.append((answer, names.plain((answer, shown))))
            self.look_through(user, shown)
        assert made[0][1] == made[1][1]
        for one in USERS:
            self.glance(one)
        return made[0][0]

    def glance(self, user: str) -> None:
        """All that a user has, pending marks, names and scores included."""

        async def look(mem: AsyncMemory, names: Names) -> Any:
            page = await mem.get_all(user_id=user, limit=1000)
            found = await mem.search(GLANCE, user_id=user, k=50, explain=True)
            return page, found

        self.read(user, look)

    async def job(self, place: Place, user: str, receipt: Receipt) -> Any:
        """What the receipt knows without waiting for the work."""
        if not receipt.id:
            return await receipt
        job = await place.mem._rooms.parts.store.job(user, receipt.id)
        assert job is not None
        return job.turns, job.added, job.superseded, job.skipped

    def read(self, user: str, verb: Callable[..., Awaitable[Any]]) -> Any:
        """By both handles of the shared store and by one of the user's own."""
        shared, alone = self.shared, self.alone[user]
        seen = []
        for place, mem in (
            (shared, shared.mem),
            (shared, shared.warm),
            (alone, alone.mem),
        ):
            names = place.names[user]
            answer = self.run(outcome(verb(mem, names)))
            self.look_through(user, answer)
            seen.append((answer, names.plain(answer)))
        assert seen[0][1] == seen[2][1], "another user's data changed the answer"
        assert seen[1][1] == seen[2][1], "a warm view answers otherwise"
        return seen[0][0]

    def look_through(self, user: str, answer: Any) -> None:
        """Nothing of the others', and nothing of erased times."""
        whole = "\0".join(leaves(answer))
        for other in USERS:
            if other != user:
                assert WORDS[other] not in whole
                assert not self.shared.names[other].of.keys() & set(
                    UUID_SHAPE.findall(whole)
                )
        assert not self.past & set(UUID_SHAPE.findall(whole))

    # -------------------------------------------------------------------- writing

    def texts(self, user: str, parts: list[tuple[str, bool]]) -> list[str]:
        return [f"{t} {WORDS[user]}" if own else t for t, own in parts]

    @rule(user=users, parts=said, session=labels, key=keys, listed=st.booleans())
    def add_turns(self, user, parts, session, key, listed) -> None:  # type: ignore[no-untyped-def]
        given: Any = [
            {
                "role": "user",
                "content": t,
                "id": f"m{len(t)}" if len(parts) == 3 else None,
                "metadata": {"w": WORDS[user]},
            }
            for t in self.texts(user, parts)
        ]
        if listed and session:  # a client that sends the whole history again
            self.said.setdefault((user, session), []).extend(given)
            given = list(self.said[user, session])
        elif not listed:
            given = given[0]["content"]
        self.write(
            user,
            lambda mem, names: mem.add(
                given,
                user_id=user,
                session_id=session,
                agent_id="a1" if len(parts) == 2 else None,
                idempotency_key=key,
            ),
        )

    @rule(user=users, parts=said, key=keys, at=times, rule_like=st.booleans())
    def add_items(self, user, parts, key, at, rule_like) -> None:  # type: ignore[no-untyped-def]
        category = "procedural" if rule_like else "semantic"
        given = [
            {"text": t, "category": category, "event_start": at}
            for t in self.texts(user, parts)
        ]
        self.write(
            user,
            lambda mem, names: mem.scoped(user_id=user).add(
                given, infer=False, idempotency_key=key, observed_at=at
            ),
        )

    @rule(user=users, pick=picks, parts=said)
    def update(self, user, pick, parts) -> None:  # type: ignore[no-untyped-def]
        if self.shared.names[user].of:
            text = self.texts(user, parts)[0]
            self.write(
                user,
                lambda mem, names: mem.update(names[pick], user_id=user, text=text),
            )

    @rule(user=users, pick=picks)
    def delete(self, user: str, pick: int) -> None:
        if self.shared.names[user].of:
            self.write(user, lambda mem, names: mem.delete(names[pick], user_id=user))

    @rule(user=users, dice=st.integers(0, 3))
    def erase(self, user: str, dice: int) -> None:
        if dice:
            return
        erased = self.write(user, lambda mem, names: self.rows_of(mem, user))
        assert bool(erased) == bool(self.shared.names[user].of)
        for place in (self.shared, self.alone[user]):
            self.past |= place.names[user].of.keys()
            place.names[user] = Names()
        for name in [name for name in self.said if name[0] == user]:
            del self.said[name]

    @staticmethod
    async def rows_of(mem: AsyncMemory, user: str) -> Any:
        return dict((await mem.delete_user(user)).rows)

    @rule()
    def work(self) -> None:
        for place in self.places:
            self.run(place.work())

    @rule(hours=st.sampled_from([-1, 1, 20, 24 * 365]))
    def time_passes(self, hours: int) -> None:
        self.clock.advance(hours=hours)

    # -------------------------------------------------------------------- reading

    @rule(user=users, query=queries, given=options, bound=st.booleans())
    def search(self, user, query, given, bound) -> None:  # type: ignore[no-untyped-def]
        given = {name: value for name, value in given.items() if value is not None}
        if "vector" in given:
            given["vector"] = EMBEDDER.vector(given["vector"])
        labels = {n: given.pop(n, None) for n in ("agent_id", "session_id")}

        def face(mem: AsyncMemory) -> tuple[Any, dict[str, Any]]:
            scope = {"user_id": user, **labels}
            return (mem.scoped(**scope), {}) if bound else (mem, scope)

        async def find(mem: AsyncMemory, names: Names) -> Any:
            at, scope = face(mem)
            result = await at.search(query, explain=True, timeout=30, **scope, **given)
            return result, result.block(max_tokens=200)

        async def show(mem: AsyncMemory, names: Names) -> Any:
            at, scope = face(mem)
            rest = {name: value for name, value in given.items() if name != "k"}
            return await at.context(query, max_tokens=60, **scope, **rest)

        self.read(user, find)
        self.read(user, show)

    @rule(
        user=users,
        limit=st.sampled_from([1, 2, 100]),
        kinds=st.sampled_from([None, "turn", "memory"]),
    )
    def list_all(self, user: str, limit: int, kinds: Any) -> None:
        async def pages(mem: AsyncMemory, names: Names) -> Any:
            found, cursor = [], None
            while True:
                page = await mem.get_all(
                    user_id=user, limit=limit, kinds=kinds, cursor=cursor
                )
                found.append(list(page))
                cursor = page.cursor
                if cursor is None:
                    return found

        self.read(user, pages)

    @rule(user=users, limit=st.sampled_from([1, 3, 100]), given=chosen)
    def list_some(self, user: str, limit: int, given: Any) -> None:
        given = {name: value for name, value in given.items() if value is not None}

        async def count(mem: AsyncMemory, names: Names) -> Any:
            return await mem.count(user, **given)

        def pages(verb: str) -> Verb:
            async def read(mem: AsyncMemory, names: Names) -> Any:
                found, cursor = [], None
                while True:
                    page = await getattr(mem, verb)(
                        user_id=user, limit=limit, cursor=cursor, **given
                    )
                    found.append(list(page))
                    cursor = page.cursor
                    if cursor is None:
                        return found

            return read

        many = self.read(user, count)
        assert sum(map(len, self.read(user, pages("get_all")))) == many
        assert sum(map(len, self.read(user, pages("timeline")))) >= many

    @rule(user=users, pick=picks)
    def by_id(self, user: str, pick: int) -> None:
        if not self.shared.names[user].of:
            return
        self.read(user, lambda mem, names: mem.get(names[pick], user_id=user))
        self.read(user, lambda mem, names: mem.history(names[pick], user_id=user))
        self.read(user, lambda mem, names: mem.receipt(names[pick], user_id=user))

    @rule(user=users, other=users, pick=picks, erased=st.booleans())
    def foreign_ids_are_unknown_ids(self, user, other, pick, erased) -> None:  # type: ignore[no-untyped-def]
        """Another's id, or one of a time that was erased, does what no id at all does."""
        theirs = sorted(self.past) if erased else list(self.shared.names[other].of)
        if (other == user and not erased) or not theirs:
            return
        given = theirs[pick % len(theirs)]
        mem = self.shared.mem if pick % 2 else self.shared.warm
        before = self.run(dump(self.shared.mem, other))
        assert self.run(answers(mem, user, given)) == self.run(
            answers(mem, user, UNKNOWN[pick % len(UNKNOWN)])
        )
        page = self.run(mem.get_all(user_id=other, limit=1))
        if page.cursor and other != user:
            stolen = self.run(outcome(mem.get_all(user_id=user, cursor=page.cursor)))
            made_up = self.run(outcome(mem.get_all(user_id=user, cursor="MDE=")))
            assert isinstance(stolen, HmemError)
            assert str(stolen) == str(made_up)
        assert self.run(dump(self.shared.mem, other)) == before

    @rule()
    def what_an_operator_sees_holds_no_text(self) -> None:
        mem = self.shared.mem
        seen = self.run(operators_view(mem))
        assert seen[1]["ok"], seen[1]["problems"]
        whole = "\0".join(leaves(seen))
        assert not any(word in whole for word in (*WORDS.values(), *USERS[1:]))
        assert not UUID_SHAPE.search(whole)
        assert not hasattr(mem.scoped(user_id="ana"), "admin")

    def teardown(self) -> None:
        for place in self.places:
            if hasattr(place, "warm"):
                self.run(place.close())
        self.runner.close()
        self.folder.cleanup()


async def answers(mem: AsyncMemory, user: str, given: str) -> list[str]:
    """All that a user can do with an id, as text without the id."""
    made = [
        await outcome(mem.get(given, user_id=user)),
        await outcome(mem.history(given, user_id=user)),
        await outcome(mem.receipt(given, user_id=user)),
        await outcome(mem.delete(given, user_id=user)),
        await outcome(mem.update(given, user_id=user, text="Mine now")),
    ]
    return [f"{type(one).__name__}: {one}".replace(given, "?") for one in made]


async def operators_view(mem: AsyncMemory) -> list[dict[str, Any]]:
    return [await mem.admin.stats(), await mem.admin.health()]


async def dump(mem: AsyncMemory, user: str) -> list[str]:
    return [repr(row) for row in await mem.get_all(user_id=user, limit=1000)]


@pytest.mark.timeout(3600 if LONG else 60)
def test_no_step_shows_a_user_anything_of_another() -> None:
    run_state_machine_as_test(
        Tenants,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            deadline=None,
            print_blob=True,
            phases=[Phase.generate, *([Phase.shrink] if LONG else [])],
            suppress_health_check=list(HealthCheck),
        ),
    )


# ------------------------------------------------- who came, went and came again


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path / "m", FrozenClock())
    await made.open()
    yield made
    await made.close()


NEAR = "UPDATE users SET {} WHERE user_id = 'bo'"


def counters(place: Place, sql: str, *args: object) -> None:
    """Change a counter in the file behind everybody's back."""
    (path,) = place.config.folder.glob("*.db")
    with closing(sqlite3.connect(path)) as conn, conn:
        assert conn.execute(sql, args).rowcount > 0


async def all_of(mem: AsyncMemory, user: str) -> list[str]:
    """Texts of a user, by listing and by searching; they must agree."""
    rows = [row.text for row in await mem.get_all(user_id=user, limit=1000)]
    hits = (await mem.search("word", user_id=user, k=1000)).hits
    assert sorted(hit.text for hit in hits) == sorted(rows)
    return rows


async def test_a_user_who_comes_back_meets_nothing_of_before(place: Place) -> None:
    """Erased and recreated again and again, beside a warm view that missed the erasure."""
    seen: set[str] = set()
    for n in range(40):
        user, next_one = f"u{n % 3}", f"u{(n + 1) % 3}"
        said = [f"word {n} {m}" for m in range(1 + n % 4)]
        # Now fewer, now as many rows as before: a view cannot tell by the counts.
        receipt = await place.mem.add(said, user_id=user, infer=False)
        turns = await place.mem.add(f"word of {n}", user_id=user)
        result = await place.job(user, receipt)
        ids = {*result, receipt.id, turns.id}
        assert not ids & seen
        seen |= ids
        for mem in (place.warm, place.mem):
            assert await all_of(mem, user) == [*said, f"word of {n}"]
            assert await all_of(mem, next_one) == []
        if n % 2:
            await place.mem.delete_user(user)
            await place.mem.add(["word again"], user_id=user, infer=False)
            assert await all_of(place.warm, user) == ["word again"]
            assert await place.warm.get(result[0], user_id=user) is None
            await place.warm.delete_user(user)
            assert await all_of(place.mem, user) == []
        else:
            await place.warm.delete_user(user)


async def test_a_job_that_waits_marks_nobody_elses_turn(place: Place) -> None:
    for n in range(3):
        await place.mem.add(f"word {n}", user_id="ana")
    await place.work()
    await place.mem.add("word 3", user_id="ana")
    for n in range(3):
        await place.mem.add(f"word {n}", user_id="bo")
    for mem in (place.mem, place.warm):
        found = await mem.search("word", user_id="ana")
        assert [hit.text for hit in found if hit.pending] == ["word 3"]
        assert found.pending == 1
        rows: list[Any] = list(await mem.get_all(user_id="ana"))
        assert [row.pending for row in rows] == [False, False, False, True]


async def test_user_numbers_at_their_end_touch_nobody_who_is_there(
    place: Place,
) -> None:
    counters(
        place, "UPDATE sqlite_sequence SET seq = ? WHERE name = 'users'", UID_MAX - 2
    )
    for user in ("ana", "bo"):
        await place.mem.add([f"word of {user}"], user_id=user, infer=False)
    for _ in range(2):
        with pytest.raises(CapacityError):
            await place.mem.add("word", user_id="late")
        assert await all_of(place.warm, "late") == []
        await place.mem.delete_user("ana")  # her number is not given again
        with pytest.raises(CapacityError):
            await place.mem.add("word", user_id="ana")
    await place.mem.add("word two", user_id="bo")
    for mem in (place.mem, place.warm):
        assert await all_of(mem, "ana") == []
        assert await all_of(mem, "bo") == ["word of bo", "word two"]


@pytest.mark.parametrize("counter", ["memory_seq", "turn_seq", "job_seq", "label_seq"])
async def test_a_sequence_at_its_end_stops_one_user_before_anything_is_written(
    place: Place, counter: str
) -> None:
    users = ("ana", "bo", "cy")  # neighbours in one shard
    for user in users:
        await place.mem.add([f"word of {user}"], user_id=user, infer=False)
        await place.mem.add(f"word by {user}", user_id=user, session_id="s")
        await all_of(place.warm, user)
    kept = {user: await dump(place.mem, user) for user in users}
    counters(place, NEAR.format(f"{counter} = {SEQ_MAX - 2}"))

    async def both(n: int) -> None:
        mem, bound = place.mem, place.mem.scoped(user_id="bo", session_id=f"s{n}")
        await bound.add(f"word turn {n}")
        await mem.add([f"word fact {n}"], user_id="bo", infer=False)

    last: list[str] = []
    refused = None
    for n in range(9):
        last = await dump(place.mem, "bo")
        refused = await outcome(both(n))
        if refused is not None:
            break
    assert isinstance(refused, CapacityError)
    bo = await dump(place.mem, "bo")
    assert set(kept["bo"]) <= set(bo)
    assert len(bo) - len(last) <= 1  # the one that fitted before the one that did not
    assert len(bo) > len(kept["bo"])
    for mem in (place.mem, place.warm):
        assert len(await all_of(mem, "bo")) == len(bo)
        for user in ("ana", "cy"):
            await all_of(mem, user)
            assert await dump(mem, user) == kept[user]
    await place.mem.add("word more", user_id="cy")
    await place.warm.delete_user("bo")
    assert await all_of(place.mem, "bo") == []
    await both(1)  # a new bo starts anew
    assert len(await all_of(place.warm, "bo")) == 2
    assert await dump(place.warm, "ana") == kept["ana"]
    await place.work()
    assert len(await dump(place.mem, "cy")) == len(kept["cy"]) + 1


async def test_a_whole_life_at_the_end_of_every_counter(place: Place) -> None:
    """Everything a user can do works on the last numbers, and stays that user's."""
    for user in ("ana", "bo", "cy"):
        await place.mem.add([f"word of {user}"], user_id=user, infer=False)
    near = SEQ_MAX - 6
    names = ("memory_seq", "turn_seq", "job_seq", "label_seq", "history_seq")
    counters(place, NEAR.format(", ".join(f"{n} = {near}" for n in names)))
    receipt = await place.mem.add(["word one", "word two"], user_id="bo", infer=False)
    await place.work()
    one, two = (await receipt.result(timeout=5)).added
    newer = await place.mem.update(one, user_id="bo", text="word three")
    assert await place.mem.delete(two, user_id="bo")
    await place.mem.add("word said", user_id="bo", session_id="s", agent_id="a")
    await place.work()
    for mem in (place.mem, place.warm):
        assert await all_of(mem, "bo") == ["word of bo", "word three", "word said"]
        assert await all_of(mem, "ana") == ["word of ana"]
        assert await all_of(mem, "cy") == ["word of cy"]
        old = await mem.get(one, user_id="bo")
        assert isinstance(old, MemoryRecord)
        assert old.superseded_by == newer.id
        assert [e.event for e in await mem.history(one, user_id="bo")] == [
            *("ADD", "SUPERSEDE", "ADD")
        ]
        assert await outcome(mem.get(one, user_id="cy")) is None
