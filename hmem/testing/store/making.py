"""Rows, plans and vectors for the tests of a Store: small, and fixed by their text."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any
from zlib import crc32

import numpy as np

from hmem.protocols import (
    Accept,
    AddMemory,
    CiteMemory,
    Claim,
    CloseMemory,
    JobEnd,
    NewMemory,
    NewTurn,
    Op,
    PutVectors,
    ReinstateMemory,
    Tokens,
    VectorRows,
    WritePlan,
)
from hmem.records import EMPTY, Kind

DAY = 86_400_000_000
T0 = 1_700_000_000_000_000
CODEC = "float32"
DIM = 2
ROW_BYTES = 8


def day(n: int) -> int:
    """Micros of the n-th day of the suite's calendar."""
    return T0 + n * DAY


def short_hash(*parts: object) -> bytes:
    """Eight bytes that stand for the parts."""
    text = "\0".join(map(str, parts))
    return blake2b(text.encode("utf-8"), digest_size=8).digest()


def tokens(text: str) -> Tokens:
    """One hash per word."""
    return np.array([crc32(w.encode()) for w in text.lower().split()], dtype=np.uint32)


def _passages(text: str, count: int) -> tuple[tuple[Tokens, ...], tuple[int, ...]]:
    """The text in `count` passages of about one length."""
    cuts = [len(text) * (i + 1) // count for i in range(count)]
    starts = [0, *cuts[:-1]]
    return tuple(tokens(text[a:b]) for a, b in zip(starts, cuts, strict=True)), tuple(
        cuts
    )


def turn(
    text: str,
    *,
    at: int = 0,
    role: str = "user",
    name: str | None = None,
    message_id: str | None = None,
    passages: int = 1,
    metadata: Mapping[str, Any] = EMPTY,
) -> NewTurn:
    """A turn said on the given day."""
    parts, ends = _passages(text, passages)
    return NewTurn(
        role=role,
        text=text,
        observed_at=day(at),
        digest=short_hash(role, name, text),
        tokens=parts,
        ends=ends,
        name=name,
        message_id=message_id,
        metadata=metadata,
    )


def item(
    text: str,
    *,
    at: int = 0,
    entities: Sequence[str] = (),
    passages: int = 1,
    **fields: Any,
) -> NewMemory:
    """A fact believed from the given day on."""
    parts, ends = _passages(text, passages)
    return NewMemory(
        text=text,
        hash=short_hash(text),
        tokens=parts,
        ends=ends,
        valid_from=day(at),
        entities=tuple(entities),
        **fields,
    )


def accept(
    *things: NewTurn | NewMemory,
    session: str | None = "s1",
    at: int = 0,
    **fields: Any,
) -> Accept:
    """One add of these turns and items."""
    return Accept(
        turns=tuple(t for t in things if isinstance(t, NewTurn)),
        items=tuple(t for t in things if isinstance(t, NewMemory)),
        session_id=session,
        recorded_at=day(at),
        **fields,
    )


def quiet(*things: NewTurn | NewMemory, **fields: Any) -> Accept:
    """The same with nothing left to do."""
    return accept(*things, queue=False, **fields)


def code(text: str) -> bytes:
    """A vector's code that stands for a text."""
    return short_hash("code", text)


def vectors(
    kind: Kind, codes: Mapping[tuple[int, int], bytes], *, space: int = 1
) -> VectorRows:
    """Codes by (seq, passage)."""
    flat = np.frombuffer(b"".join(codes.values()), dtype=np.uint8)
    return VectorRows(
        kind=kind,
        space=space,
        codec=CODEC,
        keys=np.array(list(codes), dtype=np.uint32).reshape(-1, 2),
        codes=flat.reshape(len(codes), ROW_BYTES),
    )


def put(
    kind: Kind, codes: Mapping[tuple[int, int], bytes], *, space: int = 1
) -> PutVectors:
    """The operation that stores codes."""
    return PutVectors(rows=vectors(kind, codes, space=space))


def add(
    text: str,
    *,
    at: int = 0,
    supersedes: str | None = None,
    vector: bytes | None = None,
    reason: str | None = None,
    links: Sequence[int] = (),
    **fields: Any,
) -> AddMemory:
    """The operation that adds a fact. Its sequence is not known yet: key 0."""
    rows = None if vector is None else vectors("memory", {(0, 0): vector})
    return AddMemory(
        memory=item(text, at=at, **fields),
        supersedes=supersedes,
        vectors=rows,
        reason=reason,
        links=tuple(links),
    )


def close(memory_id: str, *, at: int, reason: str | None = None) -> CloseMemory:
    """The operation that closes a fact on the given day."""
    return CloseMemory(id=memory_id, at=day(at), reason=reason)


def cite(memory_id: str, *sources: str, reason: str | None = None) -> CiteMemory:
    """The operation that adds sources to a fact."""
    return CiteMemory(id=memory_id, source_ids=sources, reason=reason)


def reinstate(memory_id: str, *, reason: str | None = None) -> ReinstateMemory:
    """The operation that opens a closed fact again."""
    return ReinstateMemory(id=memory_id, reason=reason)


def plan(
    *ops: Op,
    at: int = 0,
    claim: Claim | None = None,
    incarnation: int | None = None,
    end: JobEnd | None = None,
    defer: float | None = None,
) -> WritePlan:
    """A plan of these operations, carried out on the given day."""
    return WritePlan(
        at=day(at),
        ops=ops,
        claim=claim,
        incarnation=incarnation,
        end=end,
        defer=defer,
    )


DONE = JobEnd(status="done")
