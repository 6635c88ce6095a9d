"""The ablation leaves out what it says, and nothing else."""

import json
import sys
from pathlib import Path

import pytest

import bench.ablate
from bench.ablate import ablate, table, variants, without
from bench.beam import BEAM
from bench.running import Options, parse
from hmem import register_reranker
from hmem.scoring import Weights
from hmem.testing.fakes import HashEmbedder

DATA = Path(__file__).parent / "data"


def test_every_variant_differs_from_all_and_from_each_other() -> None:
    found = variants()
    assert found["all"] == Weights()
    assert len(set(map(repr, found.values()))) == len(found)


def test_what_is_left_of_a_kind_adds_up_to_what_it_was() -> None:
    usual = Weights()
    one = without(usual, "turn", ("speaker",))
    names = ("dense", "window_dense", "words", "window_words", "speaker")
    sums = [sum(getattr(w, f"turn_{n}") for n in names) for w in (usual, one)]
    assert one.turn_speaker == 0
    assert sums[0] == pytest.approx(sums[1])
    assert one.fact_dense == usual.fact_dense


def test_a_kinds_own_signals_add_up_to_one() -> None:
    w = Weights()
    turns = w.turn_dense + w.turn_window_dense + w.turn_words + w.turn_window_words
    assert turns + w.turn_speaker == pytest.approx(1)
    assert w.fact_dense + w.fact_words + w.fact_named == pytest.approx(1)


@pytest.mark.parametrize("data", ["locomo_shape.json", "beam_shape"])
async def test_a_run_gives_each_variant_by_budget_and_conversation(
    tmp_path: Path, data: str
) -> None:
    facts = "observations" if data.endswith("json") else "none"
    options = Options(data=DATA / data, facts=facts, budgets=(40, 900), cache=tmp_path)
    wanted = ["without windows", "without a prior for the user"]
    found = await ablate(options, wanted, embedder=HashEmbedder(32))
    assert list(found) == ["all", *wanted]
    assert found["all"]["evidence_recall"]["900"] == 1.0
    assert json.loads(json.dumps(found)) == found
    assert "without windows" in table(found)
    other = Options(data=DATA / data, system="bm25", cache=tmp_path)
    with pytest.raises(ValueError, match="only hmem"):
        await ablate(other, embedder=HashEmbedder(32))


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_bench.py").write_text(
        "from hmem.testing.fakes import WordReranker\n"
        "made = []\n"
        "def make(config):\n    made.append(WordReranker())\n    return made[-1]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


async def test_with_a_reranker_its_share_is_what_varies(
    tmp_path: Path, acme: None
) -> None:
    register_reranker("acme-bench", "acme_bench:make")
    options = Options(
        data=DATA / "locomo_shape.json",
        budgets=(40, 900),
        cache=tmp_path,
        rerank="acme-bench",
        candidates=7,
    )
    found = await ablate(options, ["share 0", "share 0.5"], embedder=HashEmbedder(32))
    assert list(found) == ["all", "share 0", "share 0.5"]
    assert found["all"]["evidence_recall"]["900"] == 1.0
    (reranker,) = sys.modules.pop("acme_bench").made
    assert reranker.closed
    assert 0 < max(len(texts) for _, texts in reranker.calls) <= 7
    assert len(reranker.calls) == len(set(reranker.calls))


def test_the_flags_of_reranking_are_read() -> None:
    given = ["--data", str(DATA), "--retrieval-only"]
    options, _ = parse(BEAM, [*given, "--rerank", "local", "--candidates", "9"])
    assert (options.rerank, options.candidates) == ("local", 9)
    options, _ = parse(BEAM, given)
    assert (options.rerank, options.candidates) == ("none", 30)


def test_a_missing_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.ablate.main(["--data", str(DATA / "nothing.json")]) == 2
    assert capsys.readouterr().err.startswith("error: ")
