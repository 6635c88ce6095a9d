"""What runs in one hop: a read transaction, or all waiting writes in one commit."""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from hmem.errors import ClosedError
from hmem.stores.faults import is_busy, translate

T = TypeVar("T")
Function = Callable[[sqlite3.Connection], T]
Outcomes = list[tuple[Any, BaseException | None]]


class Write(NamedTuple):
    """A function that waits to be committed, and whom to tell."""

    fn: Function[Any]
    future: asyncio.Future[Any]
    wakes: Callable[[Any], bool]


@dataclass(slots=True)
class Batch:
    """What one commit did: a result or an error per function, in order."""

    outcomes: Outcomes
    queued: int = 0


def answer(batch: list[Write], outcomes: Outcomes | None) -> bool:
    """Tell those who wait; whether there is work to do now. Without outcomes nobody knows
    what was committed."""
    wakes = False
    for at, write in enumerate(batch):
        result, error = outcomes[at] if outcomes else (None, ClosedError("cut off"))
        wakes = wakes or (error is None and write.wakes(result))
        if write.future.done():
            continue
        if error is None:
            write.future.set_result(result)
        else:
            write.future.set_exception(error)
    return wakes


def in_read(fn: Function[T], conn: sqlite3.Connection) -> T:
    """Run `fn` in one read transaction."""
    conn.execute("BEGIN")
    try:
        return fn(conn)
    finally:
        if conn.in_transaction:
            conn.execute("COMMIT")


def in_commit(fns: list[Function[Any]], conn: sqlite3.Connection) -> Batch | None:
    """Run all in one transaction, each in a savepoint. None: another holds the lock.
    Raises what made the whole transaction fail."""
    try:
        conn.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as e:
        if is_busy(e):
            return None
        raise
    try:
        outcomes = [_guarded(fn, conn) for fn in fns]
        queued = conn.execute("SELECT queued FROM queue").fetchone()[0]
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
    return Batch(outcomes, queued)


def _guarded(
    fn: Function[T], conn: sqlite3.Connection
) -> tuple[T | None, BaseException | None]:
    """One function's result, or its error with nothing of it left in the transaction."""
    conn.execute("SAVEPOINT one")
    try:
        result = fn(conn)
    except Exception as e:
        if not conn.in_transaction:
            raise  # SQLite gave up the whole transaction
        conn.execute("ROLLBACK TO one")
        conn.execute("RELEASE one")
        if isinstance(e, sqlite3.Error):
            wrapped = translate(e, "the shard")
            wrapped.__cause__ = e
            return None, wrapped
        return None, e
    conn.execute("RELEASE one")
    return result, None
