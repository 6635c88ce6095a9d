"""What every reading verb must answer of a user's facts, by the plain model."""

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from hmem import AsyncMemory
from hmem.rank import Ask
from hmem.rank.masks import fact_mask
from hmem.text import query_tokens
from hmem.times import from_micros
from hmem.views import View
from tests.bitemporal_model import Fact, Person, When


class Checks:
    """Holds a memory against the model. `seen` counts what it met; "moved": questions whose
    answer would be another by the ends of today."""

    dice: random.Random
    seen: Counter[str]

    async def ask(
        self, memory: AsyncMemory, user: str, person: Person, when: When
    ) -> None:
        """One question on every verb, and on the masks of the view behind them."""
        wanted = person.visible(when)
        times = {
            "as_of": given(when.as_of),
            "known_at": given(when.known_at),
            "during": when.during and tuple(map(from_micros, when.during)),
        }
        found = await memory.search(
            "fact",
            user_id=user,
            k=1_000,
            kinds="memory",
            asked_at=from_micros(when.asked_at),
            **times,
        )
        assert sorted(hit.id for hit in found) == sorted(wanted), when
        for hit in found:
            older = person.replaced(person.facts[hit.id], when)
            told = [
                (m.id, m.valid_to, m.superseded_by, m.closed_recorded_at)
                for m in hit.replaced
            ]
            assert told == [known(f, when.known_at) for f in older], when
        ask = Ask(
            query="fact",
            terms=query_tokens("fact"),
            k=1,
            asked_at=when.asked_at,
            as_of=when.as_of,
            known_at=when.known_at,
            during=when.during,
        )

        def look(view: View) -> set[str]:
            rows = view.facts.rows
            return {rows[n].id for n in fact_mask(view.facts, ask).nonzero()[0]}

        assert await memory._rooms.retriever.views.read(user, look) == wanted
        self.seen["questions"] += 1
        self.seen["hits"] += len(wanted)
        moved = wanted != person.visible_by_todays_ends(when)
        self.seen["moved"] += moved
        self.seen["moved within all three times"] += moved and None not in when

    async def lists(
        self, memory: AsyncMemory, user: str, person: Person, when: When
    ) -> None:
        """Listing, counting and the timeline, which ask now."""
        times = {
            "as_of": given(when.as_of),
            "known_at": given(when.known_at),
            "during": when.during and tuple(map(from_micros, when.during)),
        }
        wanted = person.visible(when)
        page = await memory.get_all(user_id=user, kinds="memory", limit=1_000, **times)
        assert [row.id for row in page] == [f for f in person.facts if f in wanted]
        counted = await memory.count(user_id=user, kinds="memory", **times)
        assert counted == len(wanted)
        line = await memory.timeline(user_id=user, kinds="memory", limit=1_000, **times)
        told = [
            (row.id, row.until, row.replaced_by and row.replaced_by.id) for row in line
        ]
        facts = sorted(person.told_of(when), key=lambda f: (f.since, f.seq))
        ended = [(f.id, *person.ended(f, when)) for f in facts]
        assert told == [(id_, given(end), by) for id_, end, by in ended], when
        self.seen["lists"] += 1
        self.seen["ends"] += len([end for _, end, _ in ended if end is not None])

    async def facts(
        self, memory: AsyncMemory, user: str, person: Person, fact: Fact
    ) -> None:
        """How a fact and its family stand, and all that happened to them."""
        store = memory._rooms.parts.store
        rows = await store.chain(user, fact.id)
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
        events = await memory.history(fact.id, user_id=user)
        for own in family:
            told = [(e.event, e.by, e.reason) for e in events if e.id == own.id]
            assert told == own.told
        # What follows an erased fact's forerunner now may have come after that was closed.
        if not any(f.inherited for f in family):
            assert [e.at for e in events] == sorted(e.at for e in events)
        one_head(family)


def one_head(family: Sequence[Fact]) -> None:
    """Of each line at most its last version is open, and no way leads back."""
    lines = {id(f.line): f.line for f in family}
    for line in lines.values():
        assert all(f.until is not None for f in line[:-1])
        for f, after in itertools.pairwise(line):
            assert f.until is not None
            assert f.since <= f.until <= after.since


def known(fact: Fact, known_at: int | None) -> tuple[object, ...]:
    _, until, by = fact.known(known_at)
    return fact.id, given(until), by, given(fact.known_closed(known_at))


def given(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
