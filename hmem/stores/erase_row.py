"""One memory or one turn destroyed, and with it what repeats its words."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hmem.records import Kind
from hmem.stores import account as accounts
from hmem.stores import chains, holds, jobs, journal, refs, streams
from hmem.stores.account import Account
from hmem.stores.keys import MEMORY, SEQ_MAX, TURN, pack
from hmem.stores.reads import row_key

_RUN: Final = 12
"""Characters in a row that make a text repeat another."""
_ERASED: Final = "erased"
_KINDS: Final[Mapping[int, Kind]] = {MEMORY: "memory", TURN: "turn"}


def erase_row(
    conn: sqlite3.Connection, user_id: str, name: str
) -> tuple[Mapping[str, int], bool]:
    """Destroy the row with this public id: how many rows went, by table, and whether jobs
    that were in work are queued again. Nothing for an id that the user has not."""
    account = accounts.find(conn, user_id)
    found = None if account is None else row_key(conn, account, name)
    if account is None or found is None:
        return {}, False
    kind, key = found
    account.generation += 1
    streams.begin_anew(conn, account)
    removed: Counter[str] = Counter()
    erase = _erase_memory if kind == MEMORY else _erase_turn
    text, labels = erase(conn, account, key, name, removed)
    for table in ("lex", "vec"):
        seq = key & SEQ_MAX
        removed[table] = streams.remove(conn, account, table, _KINDS[kind], seq)
    # It may quote the row; the next turns make a new one.
    profile = conn.execute("DELETE FROM profiles WHERE id = ?", (pack(account.uid, 0),))
    removed["profiles"] = profile.rowcount
    _unsay(conn, account, text)
    # A claim that is out was shown the row, and may write of it yet.
    queued_again = holds.interrupt(conn, account)
    runs = _runs(text)
    jobs.drop_replies(
        conn, account, lambda reply: _repeats(reply.decode("utf-8", "replace"), runs)
    )
    removed["labels"] = account.drop_labels(conn, labels)
    account.save(conn)
    return {table: n for table, n in removed.items() if n}, queued_again


def _erase_memory(
    conn: sqlite3.Connection,
    account: Account,
    key: int,
    name: str,  # noqa: ARG001 - as with turns
    removed: Counter[str],
) -> tuple[str, set[int | None]]:
    """The row, its names and its history; its text and labels."""
    text, *labels = conn.execute(
        "SELECT text, agent, session, event_precision, prompt FROM memories"
        " WHERE id = ?",
        (key,),
    ).fetchone()
    row = chains.version(conn, key)
    assert row is not None
    chains.unlink(conn, account, row)
    removed["history"] = journal.remove(conn, account, key)
    removed["entities"] = streams.remove_entities(conn, account, key & SEQ_MAX)
    gone = conn.execute("DELETE FROM memories WHERE id = ?", (key,))
    removed["memories"] = gone.rowcount
    return text, set(labels)


def _erase_turn(
    conn: sqlite3.Connection,
    account: Account,
    key: int,
    name: str,
    removed: Counter[str],
) -> tuple[str, set[int | None]]:
    """The row, and what facts have of it; its text and labels."""
    text, *labels = conn.execute(
        "SELECT text, agent, session, role, name FROM episodes WHERE id = ?", (key,)
    ).fetchone()
    gone = conn.execute("DELETE FROM episodes WHERE id = ?", (key,))
    removed["episodes"] = gone.rowcount
    _uncite(conn, account, name)
    return text, set(labels)


# ----------------------------------------------------------------------- what cites it


def _uncite(conn: sqlite3.Connection, account: Account, name: str) -> None:
    """Take a turn from the sources of all facts. A quote goes with it, unless another
    source says the same; and what rests on nothing more is not verified."""
    packed = refs.pack_sources([name], account.incarnation)
    rows = conn.execute(
        "SELECT id, sources, quote FROM memories WHERE id BETWEEN ? AND ?"
        " AND instr(sources, CASE typeof(sources) WHEN 'blob' THEN ? ELSE ? END)",
        (*account.span, packed if isinstance(packed, bytes) else name, name),
    ).fetchall()
    for key, held, quote in rows:
        before = list(refs.unpack_sources(held, account.incarnation))
        left = [source for source in before if source != name]
        if len(left) == len(before):
            continue
        stands = bool(left) and (quote is None or _says(conn, account, left, quote))
        conn.execute(
            "UPDATE memories SET sources = ?, quote = CASE WHEN ? THEN quote END,"
            " unverified = CASE WHEN ? THEN unverified ELSE 1 END WHERE id = ?",
            (refs.pack_sources(left, account.incarnation), stands, stands, key),
        )


def _says(
    conn: sqlite3.Connection, account: Account, sources: list[str], quote: str
) -> bool:
    """Whether one of these turns holds the words."""
    for name in sources:
        found = row_key(conn, account, name)
        if found is None or found[0] != TURN:
            continue
        sql = "SELECT instr(text, ?) FROM episodes WHERE id = ?"
        if conn.execute(sql, (quote, found[1])).fetchone()[0]:
            return True
    return False


# --------------------------------------------------------------------- what repeats it


def _unsay(conn: sqlite3.Connection, account: Account, text: str) -> None:
    """Drop the reasons, of the journal and of job records, that repeat the text: models
    word them, and may quote."""
    runs = _runs(text)
    reasons = conn.execute(
        "SELECT id, reason FROM history WHERE id BETWEEN ? AND ? AND reason IS NOT NULL",
        account.span,
    ).fetchall()
    conn.executemany(
        "UPDATE history SET reason = NULL WHERE id = ?",
        [(key,) for key, reason in reasons if _repeats(reason, runs)],
    )
    results = conn.execute(
        "SELECT id, result FROM jobs WHERE id BETWEEN ? AND ? AND result IS NOT NULL",
        account.span,
    ).fetchall()
    for key, packed in results:
        result = jobs.Results.load(packed)
        if any(_repeats(skip.reason, runs) for skip in result.skipped):
            result.skipped = [
                replace(s, reason=_ERASED) if _repeats(s.reason, runs) else s
                for s in result.skipped
            ]
            conn.execute(
                "UPDATE jobs SET result = ? WHERE id = ?", (result.dump(), key)
            )


def _runs(text: str) -> frozenset[str]:
    """All runs of so many characters; a shorter text is one."""
    folded = _folded(text)
    ends = range(_RUN, max(_RUN, len(folded)) + 1)
    return frozenset(folded[max(0, end - _RUN) : end] for end in ends) - {""}


def _repeats(said: str, runs: frozenset[str]) -> bool:
    folded = _folded(said)
    size = max(map(len, runs), default=0)
    starts = range(len(folded) - size + 1)
    return size > 0 and any(folded[at : at + size] in runs for at in starts)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
