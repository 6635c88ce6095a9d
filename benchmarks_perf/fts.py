"""The baseline: all users' texts in one FTS5 table, ranked by its bm25()."""

import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks_perf.houses import FACTS, OTHERS, TURNS, K
from benchmarks_perf.people import Person, person
from hmem.text import _STOPWORDS

_WORD = re.compile(r"\w+")
_SEQ_BITS = 24
_BY_RANGE = """SELECT rowid, bm25(t) AS score FROM t WHERE t MATCH ?
    AND rowid BETWEEN ? AND ? ORDER BY score LIMIT ?"""
_BY_COLUMN = (
    "SELECT rowid, bm25(t) AS score FROM t WHERE t MATCH ? ORDER BY score LIMIT ?"
)


class Fts:
    """The same people as in a House, one row per fact and turn, in the caller's thread.

    Rows of a user lie together (`user << 24 | n`), and each names its user in a column of
    its own besides: the two ways to keep a user apart.
    """

    def __init__(self, path: Path, others: int) -> None:
        self.others = others
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute(
            "CREATE VIRTUAL TABLE t USING fts5(user, text, tokenize='porter unicode61')"
        )
        began = time.perf_counter()
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO t(rowid, user, text) VALUES(?, ?, ?)", self._rows()
        )
        self._db.execute("COMMIT")
        self._db.execute("INSERT INTO t(t) VALUES('optimize')")
        self.filled_s = round(time.perf_counter() - began, 1)

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        facts, turns = OTHERS
        models = [_texts(person(1000 + i, facts=facts, turns=turns)) for i in range(16)]
        for user in range(self.others):
            for n, text in enumerate(models[user % 16]):
                yield (user + 1) << _SEQ_BITS | n, f"u{user}", text
        self._me = self.others + 1
        for n, text in enumerate(_texts(person(1, facts=FACTS, turns=TURNS))):
            yield self._me << _SEQ_BITS | n, "me", text

    def by_range(self, query: str) -> int:
        """Rows found: the user by a range of rowids."""
        low = self._me << _SEQ_BITS
        values = (_any_of(query), low, low + (1 << _SEQ_BITS) - 1, K)
        return len(self._db.execute(_BY_RANGE, values).fetchall())

    def by_column(self, query: str) -> int:
        """Rows found: the user by a word of the column `user`."""
        match = f"user:me AND text:({_any_of(query)})"
        return len(self._db.execute(_BY_COLUMN, (match, K)).fetchall())

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _texts(who: Person) -> list[str]:
    return [*(fact.text for fact in who.facts), *(turn.text for turn in who.turns)]


def _any_of(query: str) -> str:
    """A MATCH for any of the query's words, function words left out as hmem does."""
    words = [w for w in _WORD.findall(query) if w.casefold() not in _STOPWORDS]
    return " OR ".join(f'"{word}"' for word in words)
