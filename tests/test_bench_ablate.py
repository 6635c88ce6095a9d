"""The ablation leaves out what it says, and nothing else."""

import json
from pathlib import Path

import pytest

import bench.ablate
from bench.ablate import ablate, table, variants, without
from bench.running import Options
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


def test_a_missing_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.ablate.main(["--data", str(DATA / "nothing.json")]) == 2
    assert capsys.readouterr().err.startswith("error: ")
