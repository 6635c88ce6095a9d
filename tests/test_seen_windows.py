"""A turn's window holds what the question may see: neither words nor vectors of turns that
were said later, recorded later, or are another agent's."""

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from numpy.typing import NDArray

from hmem import AsyncMemory, Config
from hmem.filters.rows import read_row_filter
from hmem.protocols import Space, TurnRow
from hmem.rank import Ask, rank
from hmem.rank.words import window_words
from hmem.scoring import Floats, Weights
from hmem.testing.deltas import HOUR, Deltas, turn, vector_rows
from hmem.testing.fakes import HashEmbedder
from hmem.text import query_tokens
from hmem.vectors import index
from hmem.views import View

DIM = 32
MAYA = {"user_id": "maya"}
TALK = (
    *("we planted beans", "the gate is green", "a new ladder came"),
    *("rain all day", "the ladder broke", "soup for lunch"),
)
SECRET, OTHER = "zorple zorple opens the safe", "nothing nothing happens the week"


def vectors_of(texts: list[str], seed: int = 1) -> Floats:
    rng = np.random.default_rng([seed, len(texts)])
    out = rng.normal(size=(len(texts), DIM)).astype(np.float32)
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def view_of(rows: list[TurnRow], vectors: Floats) -> View:
    view = View(
        "ana", Space(id=1, model="m", dim=DIM), lambda dim: index("float32", dim)
    )
    keys = [(row.seq, 0) for row in rows]
    blocks = [vector_rows("turn", keys, vectors)]
    view.apply(Deltas().next(whole=True, turns=rows, vectors=blocks))
    return view


def ranked(
    view: View, query: str, vector: Floats | None, **more: Any
) -> list[tuple[str, float, float]]:
    """(id, words of the window, its meaning) of what a question finds, the best first."""
    ask = Ask(query=query, terms=query_tokens(query), k=99, asked_at=999 * HOUR, **more)
    return [
        (
            view.record(f.kind, f.at).id,
            f.parts.get("window_words", 0.0),
            f.parts.get("window_dense", 0.0),
        )
        for f in rank(view, ask, vector, Weights())
    ]


HIDDEN = [
    pytest.param({"observed_at": 900 * HOUR}, {"as_of": 500 * HOUR}, id="said later"),
    pytest.param(
        {"recorded_at": 900 * HOUR}, {"known_at": 500 * HOUR}, id="stored later"
    ),
    pytest.param({"agent_id": "b"}, {"agent_id": "a"}, id="another agent's"),
    pytest.param({"metadata": {"x": 1}}, {"filters": {"x": 0}}, id="filtered out"),
]


@pytest.mark.parametrize(("hidden", "asked"), HIDDEN)
def test_a_secret_in_a_turn_that_is_not_seen_changes_no_rank(
    hidden: dict[str, Any], asked: dict[str, Any]
) -> None:
    own = {"agent_id": "a", "metadata": {"x": 0}}
    rows = [turn(n, text, **own) for n, text in enumerate(TALK, 1)]
    rows[2] = turn(3, SECRET, **(own | hidden))
    blank = [*rows]
    blank[2] = rows[2]._replace(text="hm", ends=(2,))
    vectors = vectors_of([row.text for row in rows])
    query = vectors[2]
    other = vectors.copy()
    other[2] = vectors_of(["else"], seed=9)[0]
    more = dict(asked)
    if "filters" in more:
        more = {"keep": read_row_filter(more["filters"], zone=ZoneInfo("UTC"))}
    with_it = ranked(view_of(rows, vectors), "zorple ladder", query, **more)
    without = ranked(view_of(blank, other), "zorple ladder", query, **more)
    assert [id_ for id_, *_ in with_it] == [id_ for id_, *_ in without]
    assert "t3" not in {id_ for id_, *_ in with_it}
    for (_, _, meaning), (_, _, same) in zip(with_it, without, strict=True):
        assert meaning == pytest.approx(same)
    words = {id_: words for id_, words, _ in with_it}
    assert words["t1"] == 0  # its window is t1 and t2; t3 told of the secret
    seen = {
        id_: words for id_, words, _ in ranked(view_of(rows, vectors), "zorple", None)
    }
    assert min(seen[f"t{n}"] for n in range(1, 6)) > 0  # to who may see it


def brute(
    rows: list[TurnRow], vectors: Floats, seen: NDArray[np.bool_], query: Floats
) -> list[float]:
    """Cosines of the sums of what is seen of each turn and the two beside it."""
    out = []
    for at, row in enumerate(rows):
        mine = [n for n, other in enumerate(rows) if other.session_id == row.session_id]
        place = mine.index(at)
        there = mine[max(0, place - 1) : place + 2]
        total = sum((vectors[n] for n in there if seen[n]), np.zeros(DIM, np.float32))
        out.append(float(total @ query / max(np.linalg.norm(total), 1e-6)))
    return out


@pytest.mark.parametrize("seed", range(8))
def test_windows_are_sums_of_what_is_seen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sessions = [str(s) for s in rng.choice(["a", "b"], 40)]
    rows = [turn(n, f"w{n}", session_id=s) for n, s in enumerate(sessions, 1)]
    vectors = vectors_of([row.text for row in rows], seed)
    view = view_of(rows, vectors)
    seen = rng.random(40) < (0.2, 0.5, 0.8, 1.0)[seed % 4]
    query = vectors_of(["q"], seed)[0]
    got = view.turns.windows(view.turns.dense(query), seen)
    wanted = brute(rows, vectors, seen, query)
    np.testing.assert_allclose(got[seen], np.array(wanted)[seen], atol=1e-5)


def test_windows_follow_vectors_that_come_later() -> None:
    rows = [turn(n, f"w{n}", session_id="s") for n in range(1, 13)]
    vectors = vectors_of([row.text for row in rows])
    view, deltas = view_of([], vectors[:0]), Deltas(generation=1)
    seen, query = np.arange(12) % 3 > 0, vectors[4]
    for first, last in ((0, 6), (6, 12)):
        view.apply(deltas.next(turns=rows[first:last]))
        for at in range(first, last):
            block = vector_rows("turn", [(at + 1, 0)], vectors[at : at + 1])
            view.apply(deltas.next(vectors=[block]))
            held = np.where(np.arange(last)[:, None] <= at, vectors[:last], 0)
            got = view.turns.windows(view.turns.dense(query), seen[:last])
            wanted = brute(rows[:last], held, seen, query)
            there = seen[:last]
            np.testing.assert_allclose(got[there], np.array(wanted)[there], atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_words_of_windows_are_those_that_are_seen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [
        " ".join(rng.choice(["bean", "gate", "rain", "soup"], 5)) for _ in range(40)
    ]
    seen = rng.random(40) < 0.5
    rows = [turn(n, text, session_id="s") for n, text in enumerate(texts, 1)]
    view = view_of(rows, vectors_of(texts, seed))
    turns, terms = view.turns, query_tokens("bean soup")
    found = turns.lexicon.postings(terms)
    got = window_words(turns, found, seen)
    # By the formula: what is seen of each window, against all windows' worth and mean.
    counts = turns.lexicon.counts(terms)[:, :-1]
    reach = np.array(
        [[max(0.0, 1 - abs(i - j) / 4) for j in range(40)] for i in range(40)]
    )
    reach[reach < 0.5] = 0
    held = np.count_nonzero(counts @ reach, axis=1)
    rare = np.log1p((40 - held + 0.5) / (held + 0.5))
    lengths = turns.lexicon.lengths.view
    norm = 1.2 * (0.25 + 0.75 * (lengths * seen) @ reach / (lengths @ reach).mean())
    tf = (counts * seen) @ reach
    wanted = (rare / rare.sum()) @ (2.2 * tf / (tf + norm))
    np.testing.assert_allclose(got, np.minimum(wanted, 1), atol=1e-5)


def test_a_question_that_sees_all_is_answered_as_one_that_asks_for_all() -> None:
    rows = [turn(n, text) for n, text in enumerate(TALK, 1)]
    vectors = vectors_of(list(TALK))
    view = view_of(rows, vectors)
    plain = ranked(view, "ladder", vectors[1])
    assert ranked(view, "ladder", vectors[1], as_of=998 * HOUR) == plain


async def test_what_an_agent_may_not_see_lifts_nothing_of_its_own(
    tmp_path: Path,
) -> None:
    orders = []
    for here, elsewhere in ((SECRET, OTHER), (OTHER, SECRET)):
        config = Config(path=tmp_path / here[:4], shards=1, mode="raw")
        async with AsyncMemory(config, embedder=HashEmbedder(64)) as mem:
            for n, text in enumerate(TALK):
                await mem.add(text, **MAYA, session_id="s", agent_id="a")
                if n == 2:
                    await mem.add(here, **MAYA, session_id="s", agent_id="b")
            # As far from others as here: what a word is worth stays the same.
            for text in ("one", "two", elsewhere, "three", "four"):
                await mem.add(text, **MAYA, session_id="t", agent_id="b")
            await mem.flush()
            found = await mem.search("zorple safe ladder", **MAYA, agent_id="a")
            orders.append([hit.text for hit in found])
            assert len(found) == len(TALK)
    assert orders[0] == orders[1]
