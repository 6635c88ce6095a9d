"""BEAM's traps, read from a hand-made folder, and whole runs over it."""

import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.baselines import pieces
from bench.beam import BEAM
from bench.beam_data import CATEGORIES, ids_in, load
from bench.hmem_system import _Row
from bench.measure import words
from bench.report import asked, table
from bench.running import SYSTEMS, Options, parse, run
from bench.talks import Conversation
from bench.tokens import count

DATA = Path(__file__).parent / "data" / "beam_shape"
ROOT = Path(__file__).parents[1]


class WordVectors:
    """Texts that share words are near each other; nothing else is promised."""

    model = "words-32"
    window = 256
    dim: int | None = 32

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        rows = np.full((len(texts), 32), 0.01, np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in words(text):
                row += np.random.default_rng(list(word.encode())).standard_normal(32)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit.astype(np.float32)

    def count(self, text: str) -> int:
        return len(text.split()) + 2

    async def aclose(self) -> None: ...


@pytest.fixture
def chats() -> list[Conversation]:
    return load(DATA)


# ---------------------------------------------------------------------- the data


def test_chats_come_in_the_order_of_their_numbers(chats: list[Conversation]) -> None:
    assert [c.id for c in chats] == ["1", "2", "10"]
    assert [c.id for c in load(DATA / "2")] == ["2"]  # a chat's own folder
    assert [c.id for c in load(DATA, only=["10"])] == ["10"]
    with pytest.raises(ValueError, match="77"):
        load(DATA, only=["77"])
    with pytest.raises(ValueError, match="no folder"):
        load(DATA / "nowhere")


def test_the_shortened_chat_is_read_where_there_is_one(
    chats: list[Conversation],
) -> None:
    assert [t.text for t in chats[1].turns][:2] == ["I keep two goats.", "Lovely."]


def test_marks_are_stripped_and_empty_messages_dropped(
    chats: list[Conversation],
) -> None:
    turns = {t.id: t for t in chats[0].turns}
    assert turns["0"].text == "I rent a studio with a small kiln on Mill Lane."
    assert turns["3"].text == "Dry them longer."
    assert "5" not in turns
    assert [(t.role, t.speaker, t.session) for t in (turns["3"], turns["6"])] == [
        ("assistant", "assistant", 1),
        ("user", "user", 2),
    ]


def test_a_message_is_dated_by_the_last_date_named_before_it(
    chats: list[Conversation],
) -> None:
    days = {t.id: t.at.strftime("%m-%d") for t in chats[0].turns}
    assert [days[i] for i in ("0", "3", "4", "6", "7")] == [
        "05-02",
        "05-02",
        "06-10",
        "06-20",
        "06-20",
    ]
    assert chats[1].turns[0].at == datetime(2024, 7, 4, tzinfo=UTC)  # the first named
    assert chats[2].turns[0].at.tzinfo is UTC  # none named at all


def test_evidence_is_found_in_lists_mappings_and_nests() -> None:
    assert list(ids_in([3, [4, ["5"]], {"a": [6], "b": 7}, None])) == list("34567")
    assert list(ids_in(None)) == []


def test_abstention_is_not_asked_and_ids_that_name_no_message_are_dropped(
    chats: list[Conversation],
) -> None:
    questions = {q.category: q for q in asked(chats[0], CATEGORIES)}
    assert "abstention" not in questions
    assert questions["event_ordering"].gold == ("2", "4")
    assert questions["contradiction_resolution"].gold == ("0", "6")
    assert questions["contradiction_resolution"].answer == "Both were said."
    assert questions["summarization"].gold == ("2",)
    assert questions["summarization"].dropped == ("5", "99")
    assert questions["preference_following"].gold == ()
    assert questions["knowledge_update"].worded
    assert not questions["summarization"].worded


def test_a_long_message_is_several_pieces_that_each_cover_it(
    chats: list[Conversation],
) -> None:
    found = pieces(chats[0], facts=False)
    long = [p for p in found if p.covers == ("1",)]
    assert len(long) > 3
    assert all(count(p.line) <= 210 for p in long)
    shown = "\n".join(p.line.removeprefix("assistant: ").strip() for p in long)
    assert shown == chats[0].turns[1].text
    assert [len([p for p in found if p.covers == (t,)]) for t in "02"] == [1, 1]


def test_a_line_without_line_ends_is_cut_between_words(
    chats: list[Conversation],
) -> None:
    words_of_it = " ".join(f"word{n}" for n in range(400))
    turn = chats[0].turns[0]
    talk = Conversation(
        id="x",
        turns=(type(turn)(id="0", text=words_of_it, session=1, at=turn.at),),
        facts=(),
        questions=(),
    )
    found = pieces(talk, facts=False)
    assert len(found) > 3
    shown = " ".join(p.line.removeprefix("user: ").strip() for p in found)
    assert shown == words_of_it


def test_a_citation_is_true_when_what_its_line_shows_was_said() -> None:
    turn = _Row(text="Dry them, slowly! Then fire.", covers=("3",))
    assert turn.stands_in("assistant: Dry them, slowly! Then fire.")
    assert turn.stands_in("assistant: Dry them \u2026 fire.")
    assert not turn.stands_in("assistant: Wet them \u2026 fire.")
    assert not turn.stands_in("assistant: ")
    assert not turn.stands_in(None)
    fact = _Row(text="Rents a studio.", covers=("0",), kind="memory")
    assert fact.stands_in("Rents a studio (before: Owns one)")
    assert fact.stands_in("Rents a \u2026")
    assert not fact.stands_in("Owns a studio")


# ----------------------------------------------------------------------- whole runs


@pytest.mark.parametrize("system", SYSTEMS)
async def test_every_system_gives_every_figure(tmp_path: Path, system: str) -> None:
    options = Options(data=DATA, system=system, budgets=(300, 2000), cache=tmp_path)
    found = await run(BEAM, options, embedder=WordVectors())
    assert json.loads(json.dumps(found)) == found
    assert (found["n_questions"], found["n_with_evidence"]) == (7, 6)
    assert found["dropped_evidence"] == {"n": 2, "strings": ["5", "99"]}
    assert not any(found["problems"].values())
    assert list(found["per_category"]) == list(CATEGORIES)
    assert found["apart"]["spread evidence"]["n"] == 2
    assert found["apart"]["the others"]["n"] == 5
    assert found["facts"] == "none"
    if system in ("hmem", "dense", "oracle"):
        assert found["evidence_recall"]["2000"] == 1.0
    assert "spread evidence" in table(found)


def test_flags_are_those_of_the_other_data_set() -> None:
    given = ["--data", str(DATA), "--retrieval-only", "--budget", "9", "--json"]
    options, as_json = parse(BEAM, given)
    assert (options.budgets, options.data, as_json) == ((9,), DATA, True)
    assert parse(BEAM, given[:3])[0].budgets == (1000, 2000, 7000)
    with pytest.raises(SystemExit):
        parse(BEAM, [*given, "--facts", "observations"])


def test_the_command_prints_json() -> None:
    done: Any = subprocess.run(
        [
            *(sys.executable, "-m", "bench.beam", "--data", str(DATA), "--json"),
            *("--retrieval-only", "--system", "bm25", "--conversations", "2"),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["evidence_recall"]["1000"] == 1.0


async def test_a_folder_without_questions_to_ask_is_an_error(tmp_path: Path) -> None:
    options = Options(data=DATA, conversations=("10",), system="bm25", cache=tmp_path)
    with pytest.raises(ValueError, match="no questions"):
        await run(BEAM, options, embedder=WordVectors())
