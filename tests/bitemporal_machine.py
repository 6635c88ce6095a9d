"""Does random things to a user's facts, and looks whether they stand as they should."""

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

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
from hmem.stores import formers
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import FrozenClock
from hmem.text import content_hash, lexical
from hmem.times import from_micros, to_micros
from tests.bitemporal_checks import Checks
from tests.bitemporal_model import Fact, Person, When

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


class Machine(Checks):
    """Does random things to two memories of one folder."""

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
        if text == fact.text:  # nothing new
            assert new.id == fact.id
            return
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

    async def _erase(self, life: Life) -> None:
        """One version, for all times."""
        fact = self.fact(life)
        self.note(life, "erase", fact.seq)
        erased = await self.memory.erase(fact.id, user_id=life.name)
        assert erased.rows["memories"] == 1
        life.person.erase(fact)

    # ------------------------------------------------------------------------ checks

    async def check(self, life: Life) -> None:
        """One memory's answer to one question, the open facts, one fact's history."""
        memory, person = self.memory, life.person
        if self.dice.random() < 0.05:
            memory._rooms.retriever.forget(life.name)  # read whole once more
        when = self.when(person)
        await self.ask(memory, life.name, person, when)
        if self.dice.random() < 0.3:
            when = self.when(person)._replace(asked_at=self.now)
            await self.lists(memory, life.name, person, when)
        if person.facts and self.dice.random() < 0.3:
            await self.facts(memory, life.name, person, self.fact(life))

    def when(self, person: Person) -> When:
        """The times of a question: `known_at` mostly at, before or after a change."""
        known_at = None
        if self.dice.random() < 0.7:
            walls = [s.wall for f in person.facts.values() for s in f.was]
            known_at = self.start + self.dice.randint(-3, self.hours) * HOUR
            if walls and self.dice.random() < 0.7:
                known_at = self.dice.choice(walls)
            known_at += self.dice.choice((-1, 0, 0, 1))
        during = None
        if self.dice.random() < 0.4:
            first = self.moment()
            during = first, first + self.dice.randint(2, 12) * DAY
        return When(
            self.moment() if self.dice.random() < 0.3 else self.now,
            self.moment() if self.dice.random() < 0.75 else None,
            known_at,
            during,
        )

    @property
    def hours(self) -> int:
        return (self.now - self.start) // HOUR + 2

    async def check_all(self, life: Life) -> None:
        """Everything of a user, at the end of a life."""
        person, (one, other) = life.person, self.memories
        other._rooms.retriever.forget(life.name)
        for memory in (one, other):
            page = await memory.get_all(user_id=life.name, kinds="memory")
            assert {row.id for row in page} == person.visible(When(self.now))
            stamps = {f.since for f in person.facts.values()}
            for as_of in (None, *sorted(stamps)):
                await self.ask(memory, life.name, person, When(self.now, as_of))
        for fact in {min(f.family): f for f in person.facts.values()}.values():
            await self.facts(one, life.name, person, fact)
        walls = {s.wall for f in person.facts.values() for s in f.was}
        for wall in sorted(self.dice.sample(sorted(walls), min(20, len(walls)))):
            first = self.moment()
            all_three = self.moment(), (first, first + 6 * DAY)
            for as_of, during in ((None, None), (self.moment(), None), all_three):
                known_at = wall - self.dice.randint(0, 1)
                when = When(self.now, as_of, known_at, during)
                await self.ask(one, life.name, person, when)
                await self.lists(one, life.name, person, when)


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
    "erase": 1,
}


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
    # Whole users are read in one go, changes one by one, also of as few rows as here.
    few = patch.object(formers, "_FEW", 5)
    with few, tempfile.TemporaryDirectory() as folder:
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
