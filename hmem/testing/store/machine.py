"""Random histories of three users, checked against the model after every step."""

import asyncio
import tempfile
from collections.abc import Awaitable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from hmem.protocols import JobEnd, Outcome, Store
from hmem.testing.store.making import (
    accept,
    add,
    cite,
    close,
    code,
    item,
    plan,
    put,
    quiet,
    reinstate,
    tokens,
    turn,
)
from hmem.testing.store.model import Fact, Person, as_fact
from hmem.testing.store.view import Kept, kept
from hmem.testing.store.world import MODEL, Maker

USERS = ("ana", "ben", "c\u00e9dric")
TEXTS = ("A", "B", "C", "D", "E f g")
NAMES = ("ghent", "l\u00e9a")

users = st.sampled_from(USERS)
texts = st.sampled_from(TEXTS)
days = st.integers(0, 6)
picks = st.integers(0, 40)
links = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
cited = st.lists(st.sampled_from(("s1", "s2", "s3")), max_size=3)
positions = st.lists(st.integers(-1, 4), max_size=3)


class StoreMachine(RuleBasedStateMachine):
    """Two handles write by turns; a view of each takes delta after delta."""

    maker: Maker

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.people = {user: Person() for user in USERS}
        self.past: dict[str, list[int]] = {user: [] for user in USERS}
        self.steps = 0
        self.stores: list[Store] = []
        self.views: list[dict[str, Kept]] = []

    @initialize()
    def open_both(self) -> None:
        """Two handles on one folder."""
        for _ in range(2):
            store = self.maker.make_store(Path(self.folder.name) / "data")
            self.run(store.open())
            self.stores.append(store)
            self.views.append({user: Kept() for user in USERS})
        self.run(self.stores[0].adopt_space(MODEL, 2))

    def run(self, call: Awaitable[Any]) -> Any:
        """A call, to its end."""
        assert isinstance(call, Coroutine)
        return self.runner.run(call)

    @property
    def store(self) -> Store:
        """The handle whose turn it is."""
        self.steps += 1
        return self.stores[self.steps % 2]

    @rule(user=users, said=st.lists(texts, min_size=1, max_size=3), queue=st.booleans())
    def accept_turns(self, user: str, *, said: list[str], queue: bool) -> None:
        """Turns, to be worked on or not."""
        make = accept if queue else quiet
        done = self.run(self.store.accept(user, make(*map(turn, said))))
        person = self.people[user]
        person.turns |= {person.take("turn"): text for text in said}
        if queue:
            self.people[user].jobs.append(done.job_id)
            self.people[user].deferred = False

    @rule(user=users, text=texts, at=days, names=links, sources=cited)
    def accept_item(
        self, user: str, text: str, at: int, names: list[str], sources: list[str]
    ) -> None:
        """A fact by way of accept; a duplicate is skipped."""
        person = self.people[user]
        equal = person.equal(text)
        given = quiet(item(text, at=at, entities=names, source_ids=tuple(sources)))
        done = self.run(self.store.accept(user, given))
        assert [s.id for s in done.skipped] == ([] if equal is None else [equal.id])
        if equal is not None:
            person.cite(equal, sources)
        for id_ in done.added:
            person.insert(id_, text, at, None, sources)
            self._link(person, id_, names)

    @rule(
        user=users,
        text=texts,
        at=days,
        pick=picks,
        names=links,
        sources=cited,
        coded=st.booleans(),
    )
    def apply_fact(
        self,
        user: str,
        text: str,
        at: int,
        pick: int,
        names: list[str],
        sources: list[str],
        *,
        coded: bool,
    ) -> None:
        """A fact by way of a plan, with or without a target."""
        person = self.people[user]
        target = self._target(person, pick)
        vector = code(text) if coded else None
        op = add(
            text,
            at=at,
            supersedes=None if target is None else target.id,
            entities=names,
            source_ids=tuple(sources),
            vector=vector,
        )
        (outcome,) = self.run(self.store.apply(user, plan(op))).outcomes
        equal = person.equal(text)
        if equal is not None:
            assert outcome == Outcome(status="duplicate", id=equal.id)
            person.cite(equal, sources)
            return
        assert outcome.status == person.insert(outcome.id, text, at, target, sources)
        self._link(person, outcome.id, names)
        if vector is not None:
            person.codes["memory", person.facts[outcome.id].seq] = vector

    @rule(
        user=users, said=st.lists(st.tuples(texts, positions), min_size=2, max_size=4)
    )
    def apply_linked_facts(self, user: str, said: list[tuple[str, list[int]]]) -> None:
        """Facts of one plan that belong together."""
        person = self.people[user]
        ops = [add(text, links=belongs) for text, belongs in said]
        outcomes = self.run(self.store.apply(user, plan(*ops))).outcomes
        for (text, _), outcome in zip(said, outcomes, strict=True):
            equal = person.equal(text)
            if equal is not None:
                assert outcome == Outcome(status="duplicate", id=equal.id)
            else:
                assert outcome.status == person.insert(outcome.id, text, 0, None)
        ids = dict(enumerate(outcome.id for outcome in outcomes))
        for (_, belongs), outcome in zip(said, outcomes, strict=True):
            if outcome.status == "applied":
                others = {ids[n] for n in belongs if n in ids} - {outcome.id}
                fact = person.facts[outcome.id]
                person.facts[fact.id] = replace(fact, belongs=frozenset(others))

    @rule(user=users, pick=picks, sources=cited)
    def cite_fact(self, user: str, pick: int, sources: list[str]) -> None:
        """Sources for a fact."""
        person = self.people[user]
        if not person.facts:
            return
        fact = self._pick(person, pick)
        op = cite(fact.id, *sources)
        (outcome,) = self.run(self.store.apply(user, plan(op))).outcomes
        assert outcome == Outcome(status=person.cite(fact, sources), id=fact.id)  # type: ignore[arg-type]

    @rule(user=users, pick=picks)
    def reinstate_fact(self, user: str, pick: int) -> None:
        """Open a fact again. Every version of it still tells of all of them."""
        person = self.people[user]
        if not person.facts:
            return
        fact = self._pick(person, pick)
        (outcome,) = self.run(self.store.apply(user, plan(reinstate(fact.id)))).outcomes
        assert (outcome.status, outcome.id) == person.reinstate(fact)
        family = person.family(fact)
        told = self.run(self.store.chain(user, family[pick % len(family)]))
        assert [row.id for row in told] == family
        if outcome.status != "applied":
            return
        notes = self.run(self.store.notes(user, family[-1 - pick % len(family)]))
        own = [(note.event, note.by) for note in notes if note.id == fact.id]
        closing = "CLOSE" if fact.successor is None else "SUPERSEDE"
        assert own[-2:] == [(closing, fact.successor), ("REINSTATE", None)]

    @rule(user=users, pick=picks, later=days)
    def close_fact(self, user: str, pick: int, later: int) -> None:
        """An end without successor."""
        person = self.people[user]
        if not person.facts:
            return
        fact = self._pick(person, pick)
        at = fact.since + later
        (outcome,) = self.run(
            self.store.apply(user, plan(close(fact.id, at=at)))
        ).outcomes
        assert outcome == Outcome(status=person.close(fact, at), id=fact.id)  # type: ignore[arg-type]

    @rule(user=users, pick=picks, text=texts)
    def put_a_vector(self, user: str, pick: int, text: str) -> None:
        """For a turn that is there, or was never."""
        person = self.people[user]
        seq = 1 + pick % (person.taken["turn"] + 1)
        self.run(self.store.apply(user, plan(put("turn", {(seq, 0): code(text)}))))
        if seq in person.turns:
            person.codes["turn", seq] = code(text)

    @precondition(
        lambda self: any(p.jobs and not p.deferred for p in self.people.values())
    )
    @rule(
        how=st.sampled_from(("end", "release", "defer", "end some")),
        chosen=st.sets(st.integers(0, 3)),
        defers=st.booleans(),
        status=st.sampled_from(("done", "partial", "dead")),
    )
    def work(
        self,
        how: str,
        chosen: set[int],
        status: Literal["done", "partial", "dead"],
        *,
        defers: bool,
    ) -> None:
        """Claim one user's jobs; end them, put them off, or give them back."""
        (claim,) = self.run(self.store.claim(worker="w", lease=60.0, limit=1))
        person = self.people[claim.user_id]
        assert not person.deferred
        ids = [job.id for job in claim.jobs]
        assert ids == person.jobs[: len(ids)]
        assert {job.attempts for job in claim.jobs} == {1}
        if how == "release":
            self.run(self.store.release(claim, attempted=False))
            return
        ended = {"end": ids, "defer": []}.get(
            how, [id_ for n, id_ in enumerate(ids) if n in chosen]
        )
        end = None if how == "defer" else JobEnd(status=status, jobs=tuple(ended))
        wait = 1_000.0 if defers or end is None else None
        done = self.run(
            self.store.apply(claim.user_id, plan(claim=claim, end=end, defer=wait))
        )
        assert done.refused is None
        person.jobs = [id_ for id_ in person.jobs if id_ not in ended]
        person.deferred = wait is not None and bool(person.jobs)
        person.past_jobs |= dict.fromkeys(ended, status)

    @rule(user=users, pick=picks)
    def retry(self, user: str, pick: int) -> None:
        """Try a job again that failed; no other."""
        person = self.people[user]
        jobs = sorted([*person.jobs, *person.past_jobs])
        if not jobs:
            return
        job_id = jobs[pick % len(jobs)]
        failed = person.past_jobs.get(job_id) in ("partial", "dead")
        assert self.run(self.store.retry(user, job_id)) == failed
        if failed:
            del person.past_jobs[job_id]
            person.jobs = sorted([*person.jobs, job_id])
            person.deferred = False
        listed = self.run(self.store.jobs(statuses=("partial", "dead"), limit=1_000))
        found = {e.id: e.status for e in listed if e.user_id == user}
        expected = {k: v for k, v in person.past_jobs.items() if v != "done"}
        assert found == expected

    @rule(user=users)
    def hurry(self, user: str) -> None:
        """End a deferral, if there is one."""
        assert self.run(self.store.hurry(user)) == self.people[user].deferred
        self.people[user].deferred = False

    @rule(user=users, pick=picks)
    def erase_a_fact(self, user: str, pick: int) -> None:
        """One version of a fact; those that are left still tell of all of them."""
        person = self.people[user]
        if not person.facts:
            return
        fact = self._pick(person, pick)
        erased = self.run(self.store.erase(user, fact.id))
        assert erased.rows["memories"] == 1
        person.erase(fact)
        for left in person.family(fact):
            told = self.run(self.store.chain(user, left))
            assert [row.id for row in told] == person.family(fact)

    @rule(user=users, pick=picks)
    def erase_a_turn(self, user: str, pick: int) -> None:
        """One turn. The job that it came with waits on."""
        person = self.people[user]
        seq = 1 + pick % (person.taken["turn"] + 1)
        rows = self.run(self.store.page(user, "turn", after=seq - 1, limit=1))
        if seq not in person.turns:
            assert [row.seq for row in rows] != [seq]
            return
        assert self.run(self.store.erase(user, rows[0].id)).rows["episodes"] == 1
        assert self.run(self.store.erase(user, rows[0].id)).total == 0
        del person.turns[seq]
        person.codes.pop(("turn", seq), None)

    @rule(user=users)
    def erase(self, user: str) -> None:
        """Everything of one user."""
        erased = self.run(self.store.erase_user(user))
        person = self.people[user]
        assert (erased.total > 0) == any(person.taken.values())
        self.people[user] = Person()
        for views in self.views:
            mark = views[user].mark
            if mark is not None:
                self.past[user].append(mark.incarnation)

    @invariant()
    def both_views_are_what_a_rebuilt_one_is(self) -> None:
        """And each is what the model believes."""
        for user in USERS if self.stores else ():
            whole = self.run(kept(self.stores[0], user)).dump()
            for store, views in zip(self.stores, self.views, strict=True):
                self.run(views[user].refresh(store, user))
                assert views[user].dump() == whole
            self._compare(self.people[user], self.views[0][user])
            assert whole["incarnation"] not in self.past[user]

    def _compare(self, person: Person, view: Kept) -> None:
        rows = view.memories.values()
        found = {row.id: as_fact(row, person.facts.get(row.id)) for row in rows}
        assert found == person.facts
        assert {row.seq: row.text for row in view.turns.values()} == person.turns
        assert {k: set(v) for k, v in view.entities.items() if v} == person.links
        assert {(k[0], k[1]): c[2] for k, c in view.codes.items()} == person.codes
        assert len(view.pending) == len(person.jobs)
        for (kind, seq, _), words in view.tokens.items():
            table = view.turns if kind == "turn" else view.memories
            assert words == tuple(tokens(table[seq].text).tolist())
        assert len(view.tokens) == len(view.turns) + len(view.memories)

    def _target(self, person: Person, pick: int) -> Fact | None:
        """A fact of a line that has an open head, or none."""
        if not person.facts or pick % 3 == 0:
            return None
        fact = self._pick(person, pick)
        return None if person.ended(fact.line) else fact

    @staticmethod
    def _pick(person: Person, pick: int) -> Fact:
        return list(person.facts.values())[pick % len(person.facts)]

    @staticmethod
    def _link(person: Person, id_: str, names: list[str]) -> None:
        for name in names:
            person.links.setdefault(name, set()).add(person.facts[id_].seq)

    def teardown(self) -> None:
        """Close, and leave no file."""
        for store in self.stores:
            self.run(store.aclose())
        self.runner.close()
        self.folder.cleanup()
