"""A store's deltas made by hand, for tests of what stands above a store."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmem.protocols import (
    Delta,
    LexicalRows,
    Mark,
    MemoryRow,
    TurnRow,
    VectorRows,
)
from hmem.records import Kind
from hmem.text import lexical
from hmem.vectors import codec

HOUR = 3_600_000_000


def turn(seq: int, text: str, **changes: Any) -> TurnRow:
    """A turn of one passage, said at `seq` hours unless told otherwise."""
    row = TurnRow(
        seq=seq,
        id=f"t{seq}",
        text=text,
        ends=(len(text),),
        agent_id=None,
        session_id="s",
        role="user",
        name=None,
        observed_at=seq * HOUR,
        recorded_at=seq * HOUR,
        message_id=None,
        job=seq,
        metadata={},
    )
    return row._replace(**changes)


def fact(seq: int, text: str, **changes: Any) -> MemoryRow:
    """An open fact of one passage, believed since `seq` hours unless told otherwise."""
    row = MemoryRow(
        seq=seq,
        id=f"m{seq}",
        text=text,
        ends=(len(text),),
        agent_id=None,
        session_id=None,
        category="semantic",
        importance=5,
        event_start=None,
        event_end=None,
        event_precision=None,
        valid_from=seq * HOUR,
        valid_to=None,
        recorded_at=seq * HOUR,
        closed_recorded_at=None,
        superseded_by=None,
        source_ids=(),
        quote=None,
        verified=True,
        hash=b"",
        expires_at=None,
        forgotten_at=None,
        last_accessed=None,
        metadata={},
        prompt_version=None,
    )
    return row._replace(**changes)


def passages_of(row: TurnRow | MemoryRow) -> list[str]:
    """A row's passages."""
    starts = (0, *row.ends[:-1])
    return [row.text[a:b] for a, b in zip(starts, row.ends, strict=True)]


def lexical_rows(kind: Kind, rows: Sequence[TurnRow | MemoryRow]) -> LexicalRows:
    """Postings of rows' passages, as an accept stores them."""
    keys = [(r.seq, n) for r in rows for n in range(len(r.ends))]
    tokens = [lexical(p) for r in rows for p in passages_of(r)]
    return LexicalRows(
        kind,
        np.array(keys, np.uint32).reshape(-1, 2),
        np.array([len(t) for t in tokens], np.uint32),
        np.concatenate([np.empty(0, np.uint32), *tokens]),
    )


def vector_rows(
    kind: Kind,
    keys: Sequence[tuple[int, int]],
    vectors: NDArray[np.float32],
    *,
    space: int = 1,
    stored: str = "float32",
) -> VectorRows:
    """Codes for (seq, passage) keys."""
    codes = codec(stored).encode(vectors)
    return VectorRows(kind, space, stored, np.array(keys, np.uint32), codes)


@dataclass
class Deltas:
    """Deltas of one imaginary user, in order."""

    generation: int = 0
    incarnation: int = 1
    _seen: dict[str, int] = field(default_factory=dict)

    def next(
        self,
        *,
        turns: Sequence[TurnRow] = (),
        memories: Sequence[MemoryRow] = (),
        vectors: Sequence[VectorRows] = (),
        whole: bool = False,
        **more: Any,
    ) -> Delta:
        """The next delta; postings of rows seen for the first time come with it."""
        self.generation += 1
        new = [m for m in memories if whole or m.seq > self._seen.get("memory", 0)]
        lexical: list[LexicalRows] = []
        if turns:
            lexical.append(lexical_rows("turn", turns))
        if new:
            lexical.append(lexical_rows("memory", new))
            self._seen["memory"] = max(m.seq for m in new)
        mark = Mark(self.incarnation, self.generation, 0, 0, (0, 0), (0, 0))
        return Delta(
            mark=mark,
            whole=whole,
            turns=turns,
            memories=memories,
            lexical=lexical,
            vectors=vectors,
            **more,
        )
