"""Does random things to a user's facts, and looks whether they stand as they should."""

import itertools
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from hmem import AsyncMemory, BadTimeError, Config, InputError
from hmem.protocols import (
    AddMemory,
    CiteMemory,
    CloseMemory,
    NewMemory,
    Outcome,
    WritePlan,
)
from hmem.rank import Ask
from hmem.rank.masks import fact_mask
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import FrozenClock
from hmem.text import content_hash, lexical, query_tokens
from hmem.times import from_micros, to_micros
from hmem.views import View
from tests.bitemporal_model import Fact, Person

HOUR = 3_600_000_000
DAY = 24 * HOUR
TEXTS = tuple(f"a fact about {name}" for name in "bcdfghjklmnp")
FIRST, LAST = -6, 6
"""Days around the clock's start on which things are observed."""
LIFE = 60
"""Steps in one user's life."""


@dataclass(slots=True)
class Life:
    """One user: what the memory was told, and what it should believe."""

    name: str
    person: Person = field(default_factory=Person)
    steps: int = 0


class Machine:
    """Does random things to two memories of one folder. `seen` counts what it met;
    "moved": questions whose answer would be another, if `known_at` undid how late
    arrivals moved the ends of facts."""

    def __init__(
        self, memories: Sequence[AsyncMemory], clock: FrozenClock, seed: int
    ) -> None:
        self.memories = memories
        self.clock = clock
        self.dice = random.Random(seed)
        self.start = to_micros(clock.now)
        self.seen: Counter[str] = Counter()
        self.log: list[str] = []
        self.lives: list[Life] = []
        self.born = 0
        self.life = Life("nobody")

    # ------------------------------------------------------------------------ chance

    @property
    def now(self) -> int:
        return to_micros(self.clock.now)

    @property
    def memory(self) -> AsyncMemory:
        return self.dice.choice(self.memories)

    def day(self) -> int:
        """A day on which something was observed; few, so that equal times are common."""
        return self.start + self.dice.randint(FIRST, LAST) * DAY

    def moment(self) -> int:
        """Just before, at, or after such a day, or any hour."""
        if self.dice.random() < 0.7:
            return self.day() + self.dice.choice((-1, 0, 0, 1))
        return self.start + self.dice.randint(FIRST * 24 - 5, LAST * 24 + 5) * HOUR

    def reason(self) -> str | None:
        return self.dice.choice((None, "because", "it seems so"))

    def fact(self, life: Life) -> Fact:
        """A fact of a user's, more often an open or a recent one."""
        facts = list(life.person.facts.values())
        still = [f for f in facts if f.until is None]
        chance = self.dice.random()
        if still and chance < 0.45:
            return self.dice.choice(still)
        return self.dice.choice(facts[-6:] if chance < 0.7 else facts)

    # ------------------------------------------------------------------------- steps

    async def step(self) -> None:
        """Do something, and look at what came of it."""
        if len(self.lives) < 3:
            self.lives.append(Life(f"user {self.born}"))
            self.born += 1
        life = self.life = self.dice.choice(self.lives)
        doing = self.dice.choices(*zip(*_DOINGS.items(), strict=True))[0]
        doing = doing if life.person.facts else "add"
        if self.dice.random() < 0.5:
            self.clock.advance(hours=self.dice.choice((1, 5, 24)))
        self.seen[doing] += 1
        await getattr(self, f"_{doing}")(life)
        life.steps += 1
        await self.check(life)
        if life.steps >= LIFE:
            await self.check_all(life)
            self.lives.remove(life)

    @property
    def doing(self) -> str:
        """All that was done in the life that is lived."""
        own = [line for line in self.log if line.startswith(f"{self.life.name} ")]
        return "\n".join(own)

    def note(self, life: Life, *what: object) -> None:
        said = " ".join(map(str, what))
        self.log.append(f"{life.name} {self.clock.now:%m-%d %H}h {said}")

    async def _add(self, life: Life) -> None:
        text, since = self.dice.choice(TEXTS), self.day()
        twin = life.person.twin(text, self.now)
        receipt = await self.memory.add(
            text, user_id=life.name, infer=False, observed_at=from_micros(since)
        )
        result = await receipt
        self.note(life, "add", text, from_micros(since))
        if twin is not None:
            assert (result.added, [s.id for s in result.skipped]) == ((), [twin.id])
            self.seen["duplicate"] += 1
            return
        (id_,) = result.added
        life.person.add(id_, text, since, self.now)

    async def apply(self, life: Life, *ops: Any) -> tuple[Outcome, ...]:
        store = self.memory._rooms.parts.store
        return (await store.apply(life.name, WritePlan(at=self.now, ops=ops))).outcomes

    async def _supersede(self, life: Life) -> None:
        """What a worker's plan does; also to what is closed, and late."""
        await self._superseding(life, self.fact(life), self.dice.choice(TEXTS))

    async def _expire(self, life: Life) -> None:
        """A fact that ends by itself, alone or in place of another."""
        target = self.fact(life) if self.dice.random() < 0.5 else None
        expires = self.now + self.dice.randint(-2, 6) * DAY
        await self._superseding(life, target, self.dice.choice(TEXTS), expires)

    async def _superseding(
        self, life: Life, target: Fact | None, text: str, expires: int | None = None
    ) -> None:
        since, reason = self.day(), self.reason()
        op = AddMemory(
            memory=new_memory(text, since, expires),
            supersedes=None if target is None else target.id,
            reason=reason,
        )
        twin = life.person.twin(text, self.now)
        (outcome,) = await self.apply(life, op)
        by = "" if target is None else f"for {target.seq}"
        self.note(life, "supersede", text, from_micros(since), by, outcome.status)
        self.seen[outcome.status] += 1
        if twin is not None:
            assert outcome == Outcome(status="duplicate", id=twin.id)
            return
        assert outcome.id is not None
        assert outcome.status == life.person.add(
            outcome.id,
            text,
            since,
            self.now,
            target=target,
            expires=expires,
            reason=None if target is None else reason,
        )

    async def _two_at_once(self, life: Life) -> None:
        """Two of one plan that supersede one fact."""
        target, person = self.fact(life), life.person
        texts = self.dice.sample(TEXTS, 2)
        days = self.day(), self.day()
        ops = [
            AddMemory(memory=new_memory(text, since), supersedes=target.id)
            for text, since in zip(texts, days, strict=True)
        ]
        outcomes = await self.apply(life, *ops)
        self.note(life, "two for", target.seq, texts, *map(from_micros, days))
        for text, since, outcome in zip(texts, days, outcomes, strict=True):
            twin = person.twin(text, self.now)
            if twin is not None:
                assert outcome == Outcome(status="duplicate", id=twin.id)
                continue
            assert outcome.id is not None
            assert outcome.status == person.add(
                outcome.id, text, since, self.now, target=target
            )

    async def _close(self, life: Life) -> None:
        fact, at, reason = self.fact(life), self.moment(), self.reason()
        (outcome,) = await self.apply(
            life, CloseMemory(id=fact.id, at=at, reason=reason)
        )
        self.note(life, "close", fact.seq, from_micros(at), outcome.status)
        assert outcome.status == life.person.close(fact, at, self.now, reason)

    async def _cite(self, life: Life) -> None:
        fact, reason = self.fact(life), self.reason()
        op = CiteMemory(id=fact.id, source_ids=("turn",), reason=reason)
        (outcome,) = await self.apply(life, op)
        self.note(life, "cite", fact.seq, reason, outcome.status)
        assert outcome.status == life.person.cite(fact, self.now, reason)

    async def _delete(self, life: Life) -> None:
        fact = self.fact(life)
        at = self.moment() if self.dice.random() < 0.6 else None
        given = None if at is None else from_micros(at)
        self.note(life, "delete", fact.seq, given)
        verb = self.memory.delete(fact.id, user_id=life.name, observed_at=given)
        if fact.until is None and at is not None and at < fact.since:
            with pytest.raises(BadTimeError):
                await verb
            return
        assert await verb == (fact.until is None)
        life.person.close(fact, self.now if at is None else at, self.now, "deleted")

    async def _update(self, life: Life) -> None:
        fact, text = self.fact(life), self.dice.choice(TEXTS)
        if fact.until is None and not fact.lives(self.now):
            return  # whether a fact that has expired may be edited is not settled
        at = self.moment() if self.dice.random() < 0.6 else None
        given = None if at is None else from_micros(at)
        since = max(self.now, fact.since) if at is None else at
        self.note(life, "update", fact.seq, text, given)
        verb = self.memory.update(
            fact.id, user_id=life.name, text=text, observed_at=given
        )
        if fact.until is not None or since < fact.since:
            with pytest.raises(InputError):
                await verb
            return
        new, twin = await verb, life.person.twin(text, self.now)
        if twin is not None and twin is not fact:  # another fact says it already
            assert new.id == twin.id
            why = f"says the same as {twin.id}"
            life.person.close(fact, self.now, self.now, why)
            self.seen["merged"] += 1
            return
        life.person.add(
            new.id,
            text,
            since,
            self.now,
            target=fact,
            expires=fact.expires,
            reason="updated",
        )

    async def _reinstate(self, life: Life) -> None:
        fact, reason = self.fact(life), self.reason()
        self.note(life, "reinstate", fact.seq, reason)
        verb = self.memory.reinstate(fact.id, user_id=life.name, reason=reason)
        why = reason or "reinstated"
        if life.person.reinstate(fact, self.now, why) == "duplicate":
            with pytest.raises(InputError):
                await verb
            return
        assert (await verb).id == fact.id
        self.seen["reinstated"] += 1

    # ------------------------------------------------------------------------ checks

    async def check(self, life: Life) -> None:
        """One memory's answer to one question, the open facts, one fact's history."""
        memory = self.memory
        if self.dice.random() < 0.05:
            memory._rooms.retriever.forget(life.name)  # read whole once more
        as_of = self.moment() if self.dice.random() < 0.75 else None
        known_at = None
        if self.dice.random() < 0.6:
            known_at = self.start + self.dice.randint(-3, self.hours) * HOUR
            known_at += self.dice.choice((-1, 0, 0, 1))
        asked_at = self.moment() if self.dice.random() < 0.3 else self.now
        await self.ask(memory, life, asked_at, as_of, known_at)
        if self.dice.random() < 0.3:
            await self.facts(memory, life, self.fact(life))

    @property
    def hours(self) -> int:
        return (self.now - self.start) // HOUR + 2

    async def ask(
        self,
        memory: AsyncMemory,
        life: Life,
        asked_at: int,
        as_of: int | None,
        known_at: int | None,
    ) -> None:
        """Search through the face, and the masks of the view behind it."""
        found = await memory.search(
            "fact",
            user_id=life.name,
            k=1_000,
            kinds="memory",
            asked_at=from_micros(asked_at),
            as_of=_given(as_of),
            known_at=_given(known_at),
        )
        wanted = life.person.visible(asked_at, as_of, known_at)
        assert len(found.hits) == len({hit.id for hit in found})
        assert {hit.id for hit in found} == wanted
        for hit in found:
            fact = life.person.facts[hit.id]
            older = life.person.replaced(fact, asked_at, as_of, known_at)
            assert [m.id for m in hit.replaced] == older
        if asked_at == self.now and (as_of, known_at) != (None, None):
            page = await memory.get_all(
                user_id=life.name,
                kind="memory",
                limit=1_000,
                as_of=_given(as_of),
                known_at=_given(known_at),
            )
            assert {row.id for row in page} == wanted
        ask = Ask(
            query="fact",
            terms=query_tokens("fact"),
            k=1,
            asked_at=asked_at,
            as_of=as_of,
            known_at=known_at,
        )

        def look(view: View) -> set[str]:
            rows = view.facts.rows
            return {rows[n].id for n in fact_mask(view.facts, ask).nonzero()[0]}

        assert await memory._rooms.retriever.views.read(life.name, look) == wanted
        self.seen["questions"] += 1
        self.seen["hits"] += len(wanted)
        self.seen["moved"] += wanted != life.person.held(asked_at, as_of, known_at)

    async def facts(self, memory: AsyncMemory, life: Life, fact: Fact) -> None:
        """How a fact and its family stand, and all that happened to them."""
        store, person = memory._rooms.parts.store, life.person
        rows = await store.chain(life.name, fact.id)
        family = [person.facts[id_] for id_ in fact.family]
        family.sort(key=lambda f: (f.since, f.seq))
        assert [row.id for row in rows] == [f.id for f in family]
        for row, own in zip(rows, family, strict=True):
            following = None if own.next is None else own.next.id
            assert (row.valid_from, row.valid_to) == (own.since, own.until)
            assert (row.superseded_by, row.text) == (following, own.text)
            assert (row.recorded_at, row.closed_recorded_at) == (
                own.recorded,
                own.closed,
            )
            assert row.valid_to is None or row.valid_from <= row.valid_to
        events = await memory.history(fact.id, user_id=life.name)
        for own in family:
            told = [(e.event, e.by, e.reason) for e in events if e.id == own.id]
            assert told == own.told
        assert [e.at for e in events] == sorted(e.at for e in events)
        self.one_head(family)

    def one_head(self, family: Sequence[Fact]) -> None:
        """Of each line at most its last version is open, and no way leads back."""
        lines = {id(f.line): f.line for f in family}
        for line in lines.values():
            assert all(f.until is not None for f in line[:-1])
            for f, after in itertools.pairwise(line):
                assert f.until is not None
                assert f.since <= f.until <= after.since

    async def check_all(self, life: Life) -> None:
        """Everything of a user, at the end of a life."""
        person, (one, other) = life.person, self.memories
        other._rooms.retriever.forget(life.name)
        for memory in (one, other):
            page = await memory.get_all(user_id=life.name, kind="memory")
            assert {row.id for row in page} == person.visible(self.now)
            stamps = {f.since for f in person.facts.values()}
            for as_of in (None, *sorted(stamps)):
                await self.ask(memory, life, self.now, as_of, None)
        for fact in {min(f.family): f for f in person.facts.values()}.values():
            await self.facts(one, life, fact)
        known = {f.recorded for f in person.facts.values()}
        for known_at in sorted(
            known | {f.closed for f in person.facts.values() if f.closed}
        ):
            await self.ask(one, life, self.now, None, known_at)
            await self.ask(one, life, self.now, self.moment(), known_at)


_DOINGS = {
    "add": 3,
    "supersede": 6,
    "two_at_once": 1,
    "expire": 1,
    "close": 1,
    "cite": 1,
    "delete": 2,
    "update": 3,
    "reinstate": 2,
}


def _given(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def new_memory(text: str, since: int, expires: int | None = None) -> NewMemory:
    return NewMemory(
        text=text,
        hash=content_hash(text),
        tokens=(lexical(text),),
        ends=(len(text),),
        valid_from=since,
        expires_at=expires,
    )


async def live(seed: int, steps: int) -> Counter[str]:
    """Random lives of so many steps. What was met."""
    clock = FrozenClock()
    with tempfile.TemporaryDirectory() as folder:
        config = Config(
            path=folder, shards=1, embed="none", durability="normal", worker="off"
        )
        memories = [
            AsyncMemory(config, store=EmbeddedStore(config, clock=clock), clock=clock)
            for _ in range(2)
        ]
        for memory in memories:
            await memory.open()
        machine = Machine(memories, clock, seed)
        try:
            for _ in range(steps):
                await machine.step()
        except AssertionError as e:
            raise AssertionError(f"seed {seed}: {machine.doing}\n{e}") from e
        finally:
            for memory in memories:
                await memory.aclose()
    return machine.seen
