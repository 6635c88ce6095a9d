"""Which turns of a resent list a session already holds."""

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from hmem.protocols import NewTurn
from hmem.stores.account import Account
from hmem.stores.keys import pack

TAIL: Final = 64
_D: Final = 8
_START: Final = bytes(_D)


class Session(NamedTuple):
    """What is kept of a session: how many turns, the chain digest of those before the
    tail, and the digests of the last `TAIL` turns, 8 bytes each."""

    key: int
    turns: int = 0
    base: bytes = _START
    tail: bytes = b""

    def held(self, digests: Sequence[bytes]) -> int:
        """How many leading digests repeat what the session holds.

        The list and the session start alike, or the list starts as the session ends. One
        turn alone proves nothing, unless it is the whole session.
        """
        if not self.turns:
            return 0
        known = _split(self.tail)
        before = self.turns - len(known)
        start = 0
        if len(digests) >= before and _chain(digests[:before]) == self.base:
            start = before + _alike(digests[before:], known)
        if start == 1 < self.turns:
            start = 0
        ends = range(min(len(known), len(digests)), 1, -1)
        end = next((n for n in ends if known[-n:] == list(digests[:n])), 0)
        return max(start, end)

    def extended(self, digests: Sequence[bytes]) -> "Session":
        """The session with these turns after it."""
        known = _split(self.tail) + list(digests)
        spill = max(0, len(known) - TAIL)
        base = _chain(known[:spill], self.base)
        return Session(
            self.key, self.turns + len(digests), base, b"".join(known[spill:])
        )


def load(conn: sqlite3.Connection, account: Account, label: int | None) -> Session:
    """The session of this label; an empty one if there is none. Turns without a session
    share one."""
    key = pack(account.uid, label or 0)
    row = conn.execute(
        "SELECT turns, base, tail FROM sessions WHERE id = ?", (key,)
    ).fetchone()
    return Session(key, *row) if row else Session(key)


def save(conn: sqlite3.Connection, session: Session) -> None:
    """Write the session's row."""
    conn.execute("INSERT OR REPLACE INTO sessions VALUES(?, ?, ?, ?)", session)


def digest_of(turn: NewTurn) -> bytes:
    """The turn's digest, always 8 bytes."""
    return turn.digest[:_D].ljust(_D, b"\0")


def message_key(session: Session, message_id: str) -> int:
    """What stands for a client's message id within a session."""
    data = session.key.to_bytes(8, "big") + message_id.encode()
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)


def new_turns(
    conn: sqlite3.Connection,
    account: Account,
    session: Session,
    turns: Sequence[NewTurn],
) -> tuple[NewTurn, ...]:
    """The turns that the session does not hold.

    Where a turn has a message id that decides, wherever in the list it stands. Turns
    without one are told by their digests; in a list without any id only leading ones are.
    """
    digests = [digest_of(turn) for turn in turns]
    known = [_is_known(conn, account, session, turn) for turn in turns]
    if True not in known:
        held = session.held(digests) if None in known else 0
        return tuple(turns[held:])
    tail = _split(session.tail)
    last = max(at for at, is_known in enumerate(known) if is_known)
    end = last + 1 + _follow(digests[last:], known[last + 1 :], tail)
    all_told = session.turns == len(tail)

    def is_held(at: int) -> bool:
        if at > last:
            return at < end
        if known[at] is None:
            return not all_told or digests[at] in tail
        return bool(known[at])

    return tuple(turn for at, turn in enumerate(turns) if not is_held(at))


def _is_known(
    conn: sqlite3.Connection, account: Account, session: Session, turn: NewTurn
) -> bool | None:
    """Whether the session holds the turn's message id; None where it has none."""
    if turn.message_id is None:
        return None
    key = message_key(session, turn.message_id)
    found = conn.execute(
        "SELECT 1 FROM message_ids WHERE uid = ? AND digest = ?", (account.uid, key)
    ).fetchone()
    return found is not None


def _follow(
    digests: Sequence[bytes], known: Sequence[bool | None], tail: list[bytes]
) -> int:
    """How many turns without an id go on after the first digest as the tail does."""
    if digests[0] not in tail:
        return 0
    at = len(tail) - tail[::-1].index(digests[0])
    nameless = next((n for n, k in enumerate(known) if k is not None), len(known))
    return _alike(digests[1 : 1 + nameless], tail[at:])


def _alike(a: Sequence[bytes], b: Sequence[bytes]) -> int:
    """The length of the common beginning."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((n for n, (x, y) in pairs if x != y), min(len(a), len(b)))


def _split(tail: bytes) -> list[bytes]:
    return [tail[at : at + _D] for at in range(0, len(tail), _D)]


def _chain(digests: Sequence[bytes], start: bytes = _START) -> bytes:
    for digest in digests:
        start = blake2b(start + digest, digest_size=_D).digest()
    return start
