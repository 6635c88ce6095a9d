"""The bench's figures mean what they say: on a hand-made file with LoCoMo's traps."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import bench.running
from bench.baselines import Baseline, fill, pieces
from bench.cache import CachedEmbedder
from bench.hmem_system import HmemSystem, squash
from bench.locomo import LOCOMO
from bench.locomo_data import load
from bench.measure import Shown, words
from bench.report import table
from bench.running import SYSTEMS, Options, main, parse, run
from bench.talks import Conversation, Question
from bench.tokens import _encoding, count
from hmem import AsyncMemory, Config

DATA = Path(__file__).parent / "data" / "locomo_shape.json"
ROOT = Path(__file__).parents[1]


class WordVectors:
    """Texts that share words are near each other; nothing else is promised."""

    model = "words-32"
    window = 256

    def __init__(self) -> None:
        self.dim: int | None = 32
        self.asked: list[str] = []
        self.closed = 0

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        self.asked += texts
        rows = np.full((len(texts), 32), 0.01, np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in words(text):
                row += np.random.default_rng(list(word.encode())).standard_normal(32)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit.astype(np.float32)

    def count(self, text: str) -> int:
        return len(text.split()) + 2

    async def aclose(self) -> None:
        self.closed += 1


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.fixture
def talks() -> list[Conversation]:
    return load(DATA)


# ------------------------------------------------------------------- the baselines


def test_baselines_use_nothing_of_hmem_but_a_protocol() -> None:
    tree = ast.parse((ROOT / "bench" / "baselines.py").read_text("utf-8"))
    modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {m for m in modules if m and m.startswith("hmem")} == {"hmem.protocols"}


@pytest.mark.parametrize("budget", [1, 20, 40, 60, 90, 140, 1000])
def test_a_baselines_block_never_exceeds_its_exact_budget(
    talks: list[Conversation], budget: int
) -> None:
    text, covered = fill(pieces(talks[0], facts=True), budget)
    assert count(text) <= budget
    assert bool(covered) == bool(text)
    headings = [line for line in text.splitlines() if line.startswith("[")]
    assert len(headings) == len(set(headings))


def test_a_baselines_block_shows_what_it_covers(talks: list[Conversation]) -> None:
    text, covered = fill(pieces(talks[0], facts=False), 1000)
    lines = text.splitlines()
    assert lines[0] == "[2024-03-03]"
    assert (
        "Tomasz: How was the shop? [photo: a photo of a lighthouse under snow]" in lines
    )
    assert covered == {t.id for t in talks[0].turns}
    short, some = fill(pieces(talks[0], facts=False)[::-1], 40)
    assert {t.id for t in talks[0].turns if t.text in short} == some != set()


@pytest.mark.parametrize(
    ("kind", "question", "first"),
    [
        ("bm25", 0, "D1:1"),
        ("bm25", 2, "D10:2"),
        ("dense", 0, "D1:1"),
        ("recency", 0, "D10:2"),
        ("oracle", 3, "D2:1"),
    ],
)
async def test_a_baseline_puts_its_best_turn_first(
    talks: list[Conversation], kind: str, question: int, first: str
) -> None:
    system = Baseline(kind, facts=False, embedder=WordVectors())
    await system.ingest(talks[0])
    block = await system.show(talks[0], talks[0].questions[question], 35)
    assert first in block.covered
    assert block.tokens <= 35


async def test_the_oracle_shows_gold_and_nothing_else(
    talks: list[Conversation],
) -> None:
    system = Baseline("oracle", facts=True, embedder=None)
    await system.ingest(talks[0])
    for question in talks[0].questions:
        block = await system.show(talks[0], question, 1000)
        turns = {t.id for t in talks[0].turns if t.text in block.text}
        assert set(question.gold) == turns


# ----------------------------------------------------------------------- the cache


async def test_a_text_is_embedded_once_and_comes_back_bit_by_bit(
    tmp_path: Path,
) -> None:
    inner = WordVectors()
    cached = CachedEmbedder(inner, tmp_path)
    first = await cached.embed(["canoe", "barn", "canoe"])
    assert inner.asked == ["canoe", "barn"]
    await cached.aclose()
    again = CachedEmbedder(WordVectors(), tmp_path)
    second = await again.embed(["barn", "canoe"])
    assert (second == first[[1, 0]]).all()
    assert (again.hits, again.misses) == (2, 0)
    await again.embed(["canoe"], purpose="query")  # some models embed queries otherwise
    assert again.misses == 1
    assert (await again.embed([])).shape == (0, 32)
    await again.aclose()
    await again.aclose()


async def test_two_models_never_share_vectors(tmp_path: Path) -> None:
    one, other = WordVectors(), WordVectors()
    one.model, other.model = "lab/m:1", "lab/m_1"
    for inner in (one, other):
        cached = CachedEmbedder(inner, tmp_path)
        await cached.embed(["canoe"])
        await cached.aclose()
    assert one.asked == other.asked == ["canoe"]
    assert len(files(tmp_path)) == 2


# ----------------------------------------------------------------------- whole runs

KEYS = {
    "system",
    "n_questions",
    "evidence_recall",
    "all_evidence",
    "containment",
    "per_category",
    "context_tokens",
    "search_ms",
    "ingest_s",
    "ci95",
}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("facts", ["none", "observations"])
async def test_every_system_gives_every_figure(
    tmp_path: Path, system: str, facts: str
) -> None:
    options = Options(
        data=DATA, system=system, facts=facts, budgets=(60, 1000), cache=tmp_path
    )
    found = await run(LOCOMO, options, embedder=WordVectors())
    assert found.keys() >= KEYS
    assert json.loads(json.dumps(found)) == found
    assert (found["n_questions"], found["n_with_evidence"]) == (7, 6)
    assert found["dropped_evidence"] == {"n": 3, "strings": ["D:11:26", "D", "D99:9"]}
    assert not any(found["problems"].values())
    assert 0 < found["context_tokens"]["by_budget"]["60"]["max"] <= 60
    assert found["search_ms"]["p50"] > 0
    if system != "bm25":  # a question may share no word with its evidence
        assert found["evidence_recall"]["1000"] == 1.0
    assert "95% interval of recall at 60" in table(found)


async def test_hmem_is_asked_through_blocks_whose_citations_are_true(
    tmp_path: Path, talks: list[Conversation]
) -> None:
    talk = talks[0]
    async with AsyncMemory(
        Config(path=tmp_path / "m"), embedder=WordVectors()
    ) as memory:
        system = HmemSystem(memory, facts=False)
        for one in talks:
            await system.ingest(one)
        for question in talk.questions:
            for budget in (30, 60, 400):
                block = await system.show(talk, question, budget)
                stands = {
                    t.id for t in talk.turns if squash(t.text) in squash(block.text)
                }
                assert set(block.covered) == stands
                assert block.tokens <= budget
                assert block.claimed is not None
                assert block.tokens <= block.claimed <= budget
                assert "Quill" not in block.text
        assert not any(system.problems().values())


async def test_a_fact_covers_the_turns_it_cites(
    tmp_path: Path, talks: list[Conversation]
) -> None:
    talk = talks[0]
    async with AsyncMemory(
        Config(path=tmp_path / "m"), embedder=WordVectors()
    ) as memory:
        system = HmemSystem(memory, facts=True)
        await system.ingest(talk)
        block = await system.show(talk, talk.questions[2], 2000)
        assert "orchard of 14 cherry trees" in block.text
        facts = {r.text: r.covers for r in system._rows.values() if "owns" in r.text}
        assert facts == {"Ines owns a green canoe.": ("D1:1",)}  # said twice, kept once
        memories = await memory.get_all(user_id=talk.id, kinds="memory")
        assert sorted(m.text for m in memories) == sorted({f.text for f in talk.facts})


class Overfull:
    """A system that does not keep to its budget."""

    name = "overfull"

    async def ingest(self, conversation: Conversation) -> None: ...

    async def show(
        self, conversation: Conversation, question: Question, budget: int
    ) -> Shown:
        text = "canoe " * (budget + 1)
        return Shown(text=text, covered=(), tokens=count(text), ms=1.0, claimed=budget)


def test_a_block_over_its_budget_is_reported_loudly_and_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def overfull(*given: Any) -> Overfull:
        return Overfull()

    monkeypatch.setattr(bench.running, "make_system", overfull)
    command = ["--data", str(DATA), "--retrieval-only", "--system", "bm25"]
    assert main(LOCOMO, [*command, "--budget", "50", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["problems"] == {"over_budget": 7, "claimed_fewer_tokens": 7}
    assert "CANNOT BE TRUSTED" in err


# --------------------------------------------------------------------- the command


def test_the_command_prints_json_and_explains_itself() -> None:
    command = [sys.executable, "-m", "bench.locomo"]
    given = ["--data", str(DATA), "--retrieval-only", "--system", "bm25", "--json"]
    done = subprocess.run(
        [*command, *given, "--budget", "500", "100", "--conversations", "talk-2"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["n_questions"] == 1
    assert list(found["evidence_recall"]) == ["100", "500"]
    text = subprocess.run(
        [*command, "--help"], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout
    for flag in ("--retrieval-only", "--facts", "--system", "--budget", "--cache"):
        assert flag in text


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["--retrieval-only", "--budget", "0"],
        ["--retrieval-only", "--system", "elastic"],
        ["--retrieval-only", "--facts", "all"],
    ],
)
def test_options_that_make_no_sense_are_refused(given: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse(LOCOMO, ["--data", str(DATA), *given])
    assert stopped.value.code == 2


def test_data_that_cannot_be_read_is_an_error_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["--retrieval-only", "--system", "bm25", "--data"]
    assert main(LOCOMO, [*command, str(tmp_path / "none.json")]) == 2
    assert main(LOCOMO, [*command, str(DATA), "--conversations", "talk-9"]) == 2
    assert capsys.readouterr().err.count("error: ") == 2


def test_a_missing_exact_tokenizer_names_the_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    monkeypatch.setattr("bench.tokens._encoding", _encoding.__wrapped__)
    monkeypatch.setattr("bench.baselines._COSTS", {})
    command = ["--retrieval-only", "--system", "bm25", "--data", str(DATA)]
    assert main(LOCOMO, command) == 2
    told = capsys.readouterr().err
    assert "the extra 'bench' (matplotlib" in told
    assert re.search(r"pip install .*\[bench\]'", told)
