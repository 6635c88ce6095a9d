"""One user's row in a shard: counters, queue state, and the labels interned for it."""

import secrets
import sqlite3
from dataclasses import dataclass
from typing import Final

from hmem.errors import CapacityError
from hmem.stores.keys import UID_MAX, span, take

_COLUMNS: Final = (
    "incarnation",
    "generation",
    "memory_seq",
    "turn_seq",
    "job_seq",
    "label_seq",
    "history_seq",
    "lex_memory",
    "lex_turn",
    "vec_memory",
    "vec_turn",
    "entity_generation",
    "log_floor",
    "work",
    "due",
    "hold_from",
    "hold_until",
    "token",
    "holder",
    "deferral",
)
_FIND: Final = f"SELECT uid, {', '.join(_COLUMNS)} FROM users WHERE user_id = ?"  # noqa: S608
_SAVE: Final = (
    f"UPDATE users SET {', '.join(f'{c} = ?' for c in _COLUMNS[1:])} WHERE uid = ?"  # noqa: S608
)
# Words that every user has need no row each; a user's own labels count from 17.
_FIXED: Final = {
    "user": 1,
    "assistant": 2,
    "system": 3,
    "tool": 4,
    "developer": 5,
    "function": 6,
}
_FIXED_TEXT: Final = {n: text for text, n in _FIXED.items()}
_FEW: Final = 16

_USED: Final = """SELECT 1 FROM episodes WHERE id BETWEEN :low AND :high
        AND :n IN (agent, session, role, name)
    UNION ALL SELECT 1 FROM memories WHERE id BETWEEN :low AND :high
        AND :n IN (agent, session, event_precision, prompt)
    UNION ALL SELECT 1 FROM jobs WHERE id BETWEEN :low AND :high AND session = :n
    UNION ALL SELECT 1 FROM sessions WHERE id = :low + :n LIMIT 1"""

IDLE: Final = 0
LIVE: Final = 1
IMPORT: Final = 2

DEFERRED: Final = 1
HURRIED: Final = 2


@dataclass(slots=True)
class Account:
    """A user's row. Change it inside a write transaction, then `save`.

    `work` says whether jobs have not ended, and whether a live one is queued; `hold_from`
    to `hold_until` is when nobody may claim: a lease, or a delay after a release. Its
    `deferral` is 0, DEFERRED for a delay that the next job ends, or HURRIED when a job came
    while it lasted, so that no deferral may follow.
    """

    uid: int
    incarnation: int
    generation: int
    memory_seq: int
    turn_seq: int
    job_seq: int
    label_seq: int
    history_seq: int
    lex_memory: int
    lex_turn: int
    vec_memory: int
    vec_turn: int
    entity_generation: int
    log_floor: int
    work: int
    due: int | None
    hold_from: int | None
    hold_until: int | None
    token: int
    holder: str | None
    deferral: int

    @property
    def span(self) -> tuple[int, int]:
        """The user's lowest and highest row key."""
        return span(self.uid)

    def save(self, conn: sqlite3.Connection) -> None:
        """Write every counter back."""
        conn.execute(
            _SAVE,
            (
                self.generation,
                self.memory_seq,
                self.turn_seq,
                self.job_seq,
                self.label_seq,
                self.history_seq,
                self.lex_memory,
                self.lex_turn,
                self.vec_memory,
                self.vec_turn,
                self.entity_generation,
                self.log_floor,
                self.work,
                self.due,
                self.hold_from,
                self.hold_until,
                self.token,
                self.holder,
                self.deferral,
                self.uid,
            ),
        )

    def take(self, counter: str, n: int = 1) -> int:
        """Count `n` more and return the first of them. Raises CapacityError."""
        first: int = getattr(self, counter)
        setattr(self, counter, take(first, n, counter.removesuffix("_seq") + " rows"))
        return first + 1

    def room(self, *, turns: int, memories: int) -> None:
        """Raise CapacityError if so many rows and a job have no place any more."""
        take(self.turn_seq, turns, "turns")
        take(self.memory_seq, memories, "memories")
        take(self.job_seq, 1, "jobs")

    def label(self, conn: sqlite3.Connection, text: str | None) -> int | None:
        """The number that stands for the text, made if it is new. None for None."""
        if text is None:
            return None
        if text in _FIXED:
            return _FIXED[text]
        n = self.known_label(conn, text)
        if n is None:
            n = self.take("label_seq")
            conn.execute("INSERT INTO labels VALUES(?, ?, ?)", (self.uid, text, n))
        return n

    def drop_labels(self, conn: sqlite3.Connection, numbers: set[int | None]) -> int:
        """Forget those of these labels that nothing of the user's has any more: how many
        that are."""
        dropped = 0
        for n in numbers - {None, *_FIXED_TEXT}:
            used = conn.execute(
                _USED, {"n": n, "low": self.span[0], "high": self.span[1]}
            )
            if used.fetchone() is None:
                sql = "DELETE FROM labels WHERE uid = ? AND n = ?"
                dropped += conn.execute(sql, (self.uid, n)).rowcount
        return dropped

    def known_label(self, conn: sqlite3.Connection, text: str) -> int | None:
        """The number that stands for the text, None if there is none."""
        found = conn.execute(
            "SELECT n FROM labels WHERE uid = ? AND text = ?", (self.uid, text)
        ).fetchone()
        return int(found[0]) if found else None


def find(conn: sqlite3.Connection, user_id: str) -> Account | None:
    """The user's row, or None."""
    row = conn.execute(_FIND, (user_id,)).fetchone()
    return Account(*row) if row else None


def find_or_create(conn: sqlite3.Connection, user_id: str) -> Account:
    """The user's row, made if there is none. Raises CapacityError."""
    account = find(conn, user_id)
    if account is None:
        last = conn.execute("SELECT seq FROM sqlite_sequence WHERE name='users'")
        row = last.fetchone()
        if row and row[0] >= UID_MAX:
            raise CapacityError("this shard's user numbers are used up: reshard")
        conn.execute(
            "INSERT INTO users(user_id, incarnation) VALUES(?, ?)",
            (user_id, secrets.randbits(63)),
        )
        account = find(conn, user_id)
        assert account is not None
    return account


class Labels:
    """Numbers to texts, for one user and one read."""

    def __init__(self, conn: sqlite3.Connection, uid: int) -> None:
        self._conn = conn
        self._uid = uid
        self._texts: dict[int, str] = dict(_FIXED_TEXT)

    def load(self, numbers: set[int | None]) -> None:
        """Fetch the texts of these numbers."""
        missing = [n for n in numbers if n is not None and n not in self._texts]
        if not missing:
            return
        sql, args = "SELECT n, text FROM labels WHERE uid = ?", [self._uid]
        if len(missing) <= _FEW:
            sql += f" AND n IN ({', '.join('?' * len(missing))})"
            args += missing
        self._texts.update(self._conn.execute(sql, args))

    def text(self, n: int | None) -> str | None:
        """The text; None for None."""
        return None if n is None else self._texts.get(n)
