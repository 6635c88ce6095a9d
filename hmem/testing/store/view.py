"""One user's rows as a reader keeps them, extended delta by delta."""

from dataclasses import dataclass, field
from typing import Any

from hmem.protocols import Delta, Former, Mark, MemoryRow, Store, TurnRow
from hmem.records import Kind

Key = tuple[Kind, int, int]


@dataclass(slots=True)
class Kept:
    """What a reader holds after the deltas it took. Equal to a rebuilt one, always."""

    mark: Mark | None = None
    memories: dict[int, MemoryRow] = field(default_factory=dict)
    turns: dict[int, TurnRow] = field(default_factory=dict)
    tokens: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    codes: dict[Key, tuple[int, str, bytes]] = field(default_factory=dict)
    entities: dict[str, tuple[int, ...]] = field(default_factory=dict)
    pending: frozenset[int] = frozenset()
    former: dict[int, tuple[Former, ...]] = field(default_factory=dict)

    async def refresh(self, store: Store, user_id: str) -> Delta | None:
        """Take what is new; an erased user leaves nothing."""
        delta = await store.delta(user_id, self.mark)
        if delta is None:
            self._forget()
        else:
            self.take(delta)
        return delta

    def take(self, delta: Delta) -> None:
        """Extend by a delta. A later row for the same key replaces an earlier one."""
        if delta.whole:
            self._forget()
        self.mark = delta.mark
        self.memories |= {row.seq: row for row in delta.memories}
        self._take_former(delta)
        self.turns |= {row.seq: row for row in delta.turns}
        for name, seqs in delta.entities.items():
            self.entities[name] = tuple(sorted(seqs))
        self.pending = delta.pending
        self._take_tokens(delta)
        self._take_codes(delta)

    def _take_former(self, delta: Delta) -> None:
        changed = {row.seq for row in delta.memories}
        assert set(delta.former) <= changed
        assert all(delta.former.values())
        for seq in changed:
            self.former.pop(seq, None)
            if seq in delta.former:
                self.former[seq] = tuple(delta.former[seq])

    def _take_tokens(self, delta: Delta) -> None:
        for rows in delta.lexical:
            assert len(rows.keys) == len(rows.lengths)
            assert len(rows.tokens) == int(rows.lengths.sum())
            start = 0
            for (seq, passage), length in zip(
                rows.keys.tolist(), rows.lengths.tolist(), strict=True
            ):
                part = rows.tokens[start : start + length]
                self.tokens[rows.kind, seq, passage] = tuple(part.tolist())
                start += length

    def _take_codes(self, delta: Delta) -> None:
        for rows in delta.vectors:
            assert len(rows.keys) == len(rows.codes)
            for (seq, passage), code in zip(
                rows.keys.tolist(), rows.codes, strict=True
            ):
                self.codes[rows.kind, seq, passage] = (
                    rows.space,
                    rows.codec,
                    code.tobytes(),
                )

    def dump(self) -> dict[str, Any]:
        """All that can be compared: everything but the mark's own numbers."""
        return {
            "incarnation": None if self.mark is None else self.mark.incarnation,
            "memories": dict(sorted(self.memories.items())),
            "turns": dict(sorted(self.turns.items())),
            "tokens": dict(sorted(self.tokens.items())),
            "codes": dict(sorted(self.codes.items())),
            "entities": {k: v for k, v in sorted(self.entities.items()) if v},
            "pending": sorted(self.pending),
            "former": dict(sorted(self.former.items())),
        }

    def known(self, id_: str, at: int) -> tuple[int | None, str | None]:
        """Until when the database believed a fact at a wall time, and what had superseded
        it."""
        (row,) = (row for row in self.memories.values() if row.id == id_)
        for state in self.former.get(row.seq, ()):
            if state.until > at:
                return state.valid_to, state.superseded_by
        if row.closed_recorded_at is not None and row.closed_recorded_at > at:
            return None, None
        return row.valid_to, row.superseded_by

    def text_of(self, seq: int) -> str:
        """The text of a fact."""
        return self.memories[seq].text

    def by_text(self) -> dict[str, MemoryRow]:
        """Facts by their text; of several versions the latest."""
        return {row.text: row for _, row in sorted(self.memories.items())}

    def _forget(self) -> None:
        fresh = Kept()
        for name in Kept.__slots__:
            setattr(self, name, getattr(fresh, name))


async def kept(store: Store, user_id: str) -> Kept:
    """Everything of a user, read at one moment."""
    view = Kept()
    await view.refresh(store, user_id)
    return view


async def dump(store: Store, user_id: str) -> dict[str, Any]:
    """Everything of a user, to be compared."""
    return (await kept(store, user_id)).dump()
