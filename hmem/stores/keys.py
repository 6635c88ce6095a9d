"""Row keys and public ids. Packed keys stay inside the store; public ids are derived.

A key packs its user: `uid << 24 | seq`, so that one user's rows lie together. A public id
is shaped like a uuid7: 48 bits of `recorded_at` in milliseconds, the row's sequence and
kind, and 48 bits mixed from the user's incarnation. Nothing of it is stored: reading a
row by id means decoding the sequence, and comparing the id the row there really has.
"""

from typing import Final, NamedTuple
from uuid import UUID

from hmem.errors import CapacityError

SEQ_BITS: Final = 24
SEQ_MAX: Final = 2**24 - 1
UID_MAX: Final = 2**39 - 1

MEMORY: Final = 0
TURN: Final = 1
JOB: Final = 2

_MASK64: Final = 2**64 - 1
_MASK48: Final = 2**48 - 1


class Ref(NamedTuple):
    """What a public id says: milliseconds, kind, sequence."""

    ms: int
    kind: int
    seq: int


def pack(uid: int, seq: int) -> int:
    """The row key of a user's sequence."""
    return uid << SEQ_BITS | seq


def span(uid: int) -> tuple[int, int]:
    """The lowest and the highest key that a user's rows can have."""
    return uid << SEQ_BITS, uid << SEQ_BITS | SEQ_MAX


def take(counter: int, n: int, what: str) -> int:
    """The counter after `n` more. Raises CapacityError past the end: none is reused."""
    if counter + n > SEQ_MAX:
        raise CapacityError(f"this user's {what} are used up ({SEQ_MAX} at most)")
    return counter + n


def mix(x: int) -> int:
    """splitmix64: 64 bits in, 64 well mixed bits out, one to one."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK64
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & _MASK64
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & _MASK64
    return x ^ x >> 31


def public_id(incarnation: int, kind: int, seq: int, recorded_at: int) -> str:
    """The id of a row recorded at `recorded_at` micros. Sorts by time, then sequence."""
    ms = recorded_at // 1000
    return _spell(incarnation, kind, seq, 0 if ms < 0 else min(ms, _MASK48))


def _spell(incarnation: int, kind: int, seq: int, ms: int) -> str:
    tail = mix(mix(incarnation ^ (kind << SEQ_BITS | seq)) ^ ms) & _MASK48
    high = ms << 16 | 7 << 12 | seq >> 12
    low = 2 << 62 | (seq & 0xFFF) << 50 | kind << 48 | tail
    h = f"{high << 64 | low:032x}"
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def decode(incarnation: int, text: str) -> Ref | None:
    """What the id says, if this incarnation's user could have been given it."""
    if len(text) != 36 or not text.isascii():
        return None
    try:
        value = int(text.replace("-", ""), 16)
    except ValueError:
        return None
    ms, seq = value >> 80, (value >> 64 & 0xFFF) << 12 | value >> 50 & 0xFFF
    ref = Ref(ms, value >> 48 & 3, seq)
    return ref if text == _spell(incarnation, ref.kind, seq, ms) else None


def row_id(
    incarnation: int, kind: int, key: int, recorded_at: int, uuid: bytes | None
) -> str:
    """A row's public id from its columns."""
    if uuid:
        return str(UUID(bytes=uuid))
    return public_id(incarnation, kind, key & SEQ_MAX, recorded_at)


def dedup_key(uid: int, digest: bytes) -> int:
    """A fact's 8-byte hash and its user as one signed 64-bit integer, reversibly."""
    value = int.from_bytes(digest[:8].ljust(8, b"\0"), "big") ^ mix(uid)
    return value - 2**64 if value >= 2**63 else value


def dedup_digest(uid: int, key: int) -> bytes:
    """The hash that `dedup_key` was made from."""
    return ((key & _MASK64) ^ mix(uid)).to_bytes(8, "big")
