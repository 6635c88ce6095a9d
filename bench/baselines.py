"""What hmem is measured against: plain rankings, one way of filling a block.

Written apart from hmem on purpose: no tokeniser, scorer or renderer of it is used here.
A block has one `[date]` line per session and one line per turn or fact, filled greedily in
rank order under the exact budget.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bench.measure import Shown, words
from bench.talks import Conversation, Question
from bench.tokens import count
from hmem.protocols import Embedder

Rank = Callable[[Question, NDArray[np.float32] | None], Iterable[int]]

_GIVE_UP = 8  # pieces that did not fit, after which no more are tried
_PART = 200  # tokens of a long turn's parts
_K1, _B = 1.5, 0.75
_STOPWORDS = frozenset(
    words(
        "a an the and or but if of at by for with about to from in on is are was were be "
        "been being am do does did have has had having i you he she it we they me him her "
        "us them my your his its our their this that these those what which who whom when "
        "where why how so than too very can will just s t not no as up out then there here"
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One line that can be shown. `place` is its order.

    `terms` is what BM25 searches and `meaning` what is embedded: both name the date, each
    in the form that measured best.
    """

    line: str
    terms: str
    meaning: str
    covers: tuple[str, ...]
    heading: str
    place: tuple[int, int, int]


def pieces(conversation: Conversation, *, facts: bool) -> list[Piece]:
    """The turns, and the facts if asked for, in order. A long turn is several pieces,
    each of which covers it."""
    found = [
        Piece(
            line=f"{t.speaker}: {text}\n",
            terms=f"{t.at:%B %Y} {t.speaker}: {text}",
            meaning=f"({t.at:%d %B %Y}) {t.speaker}: {text}",
            covers=(t.id,),
            heading=_heading(t.at),
            place=(t.session, i, j),
        )
        for i, t in enumerate(conversation.turns)
        for j, text in enumerate(_parts(t.text))
    ]
    if facts:
        found += [
            Piece(
                line=f"{f.text}\n",
                terms=f.text,
                meaning=f.text,
                covers=f.source_ids,
                heading=_heading(f.at),
                place=(f.session, len(conversation.turns) + i, 0),
            )
            for i, f in enumerate(conversation.facts)
        ]
    return found


def fill(ranked: Iterable[Piece], budget: int) -> tuple[str, set[str]]:
    """Rank order in, a dated block and the turns it covers out."""
    chosen: list[Piece] = []
    headings: set[str] = set()
    left, missed = budget, 0
    for piece in ranked:
        # A line ends in a newline, and no token spans one into the next line's first
        # letter: the parts' counts add up to the whole's.
        cost = _cost(piece.line)
        if piece.heading not in headings:
            cost += _cost(piece.heading)
        if cost > left:
            missed += 1
            if missed == _GIVE_UP:
                break
            continue
        left -= cost
        headings.add(piece.heading)
        chosen.append(piece)
    lines: list[str] = []
    for piece in sorted(chosen, key=lambda p: p.place):
        if piece.heading in headings:
            headings.remove(piece.heading)
            lines.append(piece.heading)
        lines.append(piece.line)
    return "".join(lines), {i for p in chosen for i in p.covers}


class Baseline:
    """`bm25`, `dense`, `recency` or `oracle` over turns (long ones in parts) and facts."""

    def __init__(self, kind: str, *, facts: bool, embedder: Embedder | None) -> None:
        self.name = kind
        self._facts = facts
        self._embedder = embedder
        self._pieces: dict[str, list[Piece]] = {}
        self._ranks: dict[str, Rank] = {}

    async def ingest(self, conversation: Conversation) -> None:
        """Make a conversation searchable."""
        found = pieces(conversation, facts=self._facts)
        self._pieces[conversation.id] = found
        self._ranks[conversation.id] = await self._ranking(found)

    async def show(
        self, conversation: Conversation, question: Question, budget: int
    ) -> Shown:
        """The block for a question."""
        found = self._pieces[conversation.id]
        query = None
        began = time.perf_counter()
        if self.name == "dense" and self._embedder is not None:
            query = (await self._embedder.embed([question.text], purpose="query"))[0]
        order = self._ranks[conversation.id](question, query)
        text, covered = fill((found[i] for i in order), budget)
        ms = (time.perf_counter() - began) * 1e3
        return Shown(text=text, covered=covered, tokens=count(text), ms=ms)

    async def _ranking(self, found: Sequence[Piece]) -> Rank:
        if self.name == "bm25":
            return bm25([p.terms for p in found])
        if self.name == "oracle":
            return partial(_gold_first, found)
        if self.name == "recency":
            latest = sorted(range(len(found)), key=lambda i: found[i].place)
            return lambda _question, _query: reversed(latest)
        if self._embedder is None:
            raise ValueError("the dense baseline needs an embedder")
        return dense(await self._embedder.embed([p.meaning for p in found]))


def bm25(texts: Sequence[str]) -> Rank:
    """Stemmed BM25 without function words, in numpy. Texts without a word of the
    question's are not shown."""
    documents = [Counter(_content(text)) for text in texts]
    lengths = np.array([sum(d.values()) for d in documents], np.float64)
    vocabulary = {w: i for i, w in enumerate(sorted(set().union(*documents)))}
    counts = np.zeros((len(vocabulary), len(documents)))
    for j, document in enumerate(documents):
        for word, times in document.items():
            counts[vocabulary[word], j] = times
    norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0))
    weights = counts * (_K1 + 1) / (counts + norm)
    held = (counts > 0).sum(axis=1)
    weights *= np.log1p((len(documents) - held + 0.5) / (held + 0.5))[:, None]

    def rank(question: Question, _query: NDArray[np.float32] | None) -> Iterable[int]:
        asked = [vocabulary[w] for w in _content(question.text) if w in vocabulary]
        scores = weights[asked].sum(axis=0)
        order = np.argsort(-scores, kind="stable")
        return [int(i) for i in order if scores[i] > 0]

    return rank


def dense(rows: NDArray[np.float32]) -> Rank:
    """Cosine over unit rows."""

    def rank(_question: Question, query: NDArray[np.float32] | None) -> Iterable[int]:
        if query is None:
            raise ValueError("dense ranking needs the question's vector")
        return [int(i) for i in np.argsort(-(rows @ query), kind="stable")]

    return rank


def _gold_first(
    found: Sequence[Piece], question: Question, _query: NDArray[np.float32] | None
) -> Iterable[int]:
    """The gold turns alone, shortest first, so that most fit; first parts before others."""
    gold = [
        i for i, p in enumerate(found) if p.covers[:1] and p.covers[0] in question.gold
    ]
    return sorted(gold, key=lambda i: (found[i].place[2], len(found[i].line)))


def _parts(text: str) -> list[str]:
    """A text cut at line ends into parts of at most 200 tokens, where its lines allow."""
    if _cost(text) <= _PART:
        return [text]
    parts: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        joined = f"{parts[-1]}\n{line}" if parts else line
        if parts and count(joined) <= _PART:
            parts[-1] = joined
        else:
            parts += _words_of(line)
    return parts


def _words_of(line: str) -> list[str]:
    """A line, cut between words while it is longer than a part."""
    line = line.strip()
    at = line.find(" ", len(line) // 2)
    at = line.rfind(" ") if at < 0 else at
    if at < 0 or count(line) <= _PART:
        return [line]
    return _words_of(line[:at]) + _words_of(line[at:])


def _heading(at: datetime) -> str:
    return f"[{at:%Y-%m-%d}]\n"


def _content(text: str) -> list[str]:
    return [w for w in words(text) if w not in _STOPWORDS]


def _cost(line: str) -> int:
    cost = _COSTS.get(line)
    if cost is None:
        cost = _COSTS[line] = count(line)
    return cost


_COSTS: dict[str, int] = {}
