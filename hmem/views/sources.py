"""Which turns a fact was made from, as positions in the two tables."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import MemoryRow, TurnRow
from hmem.views.grow import Grow

_Entry = tuple[int, str | None]
_Known = dict[str, _Entry | list[_Entry]]
"""A list only where a name stands for several: the garbage collector goes through lists,
and most names stand for one."""


class Sources:
    """Pairs of a fact and a turn that it cites, by the turn's id or by its message's id.

    A message id counts within the fact's session, for a fact without one everywhere:
    clients number their messages anew in each session. It does not matter which of the
    two came first.
    """

    def __init__(self) -> None:
        self.fact, self.turn = Grow(np.int64), Grow(np.int64)
        self._turns: _Known = {}
        self._citing: _Known = {}
        self._held = 0

    def add_turns(self, first: int, rows: Sequence[TurnRow]) -> None:
        """Take over new turns, of which the first stands at `first`."""
        for at, row in enumerate(rows, first):
            self._note(self._turns, row.id, (at, None))
            for fact, _ in _entries(self._citing, row.id):
                self._pair(fact, at)
            if row.message_id is None or row.message_id == row.id:
                continue
            self._note(self._turns, row.message_id, (at, row.session_id))
            for fact, session in _entries(self._citing, row.message_id):
                if _fits(session, row.session_id):
                    self._pair(fact, at)

    def add_facts(self, rows: Iterable[tuple[int, MemoryRow]]) -> None:
        """Take over facts, new or with more sources than before, with their positions."""
        for at, row in rows:
            for source in row.source_ids:
                mine = (at, row.session_id)
                if mine in _entries(self._citing, source):
                    continue
                self._note(self._citing, source, mine)
                for turn, session in _entries(self._turns, source):
                    if session is None or _fits(row.session_id, session):
                        self._pair(at, turn)

    def of_facts(
        self, facts: int, turns: NDArray[np.floating], seen: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(facts,) the best value of the turns that each fact cites, and which facts cite
        one at all. `seen` are the turns that count; None is all."""
        fact, turn = self.fact.view, self.turn.view
        if seen is not None:
            there = seen[turn]
            fact, turn = fact[there], turn[there]
        return _best(facts, fact, turns[turn])

    def of_turns(
        self, turns: int, facts: NDArray[np.floating]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(turns,) the best value of the facts that cite each turn, and which are cited."""
        return _best(turns, self.turn.view, facts[self.fact.view])

    def _pair(self, fact: int, turn: int) -> None:
        self.fact.extend([fact])
        self.turn.extend([turn])

    def _note(self, known: _Known, name: str, entry: _Entry) -> None:
        there = known.setdefault(name, entry)
        if isinstance(there, list):
            there.append(entry)
        elif there is not entry:
            known[name] = [there, entry]
        self._held += 1

    @property
    def nbytes(self) -> int:
        """Bytes held, 250 a name for its objects."""
        return self.fact.nbytes + self.turn.nbytes + 250 * self._held


def _entries(known: _Known, name: str) -> Sequence[_Entry]:
    there = known.get(name)
    if there is None:
        return ()
    return there if isinstance(there, list) else (there,)


def _fits(fact_session: str | None, turn_session: str | None) -> bool:
    return fact_session is None or fact_session == turn_session


def _best(
    n: int, at: NDArray[np.int64], values: NDArray[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    best = np.zeros(n)
    np.maximum.at(best, at, values)
    there = np.zeros(n, np.bool_)
    there[at] = True
    return best, there
