"""Processes killed at random moments: see benchmarks_perf/kills.py, which also has the long
form and the seed's meaning."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.forms import forms

ROOT = Path(__file__).resolve().parent.parent


def harness(*arguments: str) -> dict[str, Any]:
    """What the harness printed, its seed among it."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks_perf.kills", "--json", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        timeout=110,
        check=False,
    )
    assert done.stdout, "the harness itself failed"
    result: dict[str, Any] = json.loads(done.stdout)
    print(json.dumps(result))  # noqa: T201 - the seed, for whoever has to look
    return result


@pytest.mark.timeout(120)
@forms("rounds", short=8, long=20)
def test_rounds_of_kills_lose_nothing_and_double_nothing(rounds: int) -> None:
    result = harness("--rounds", str(rounds))
    assert result["wrong"] == {}, f"again with --seed {result['seed']}"
    assert result["rounds"] == rounds
    assert result["killed"] >= rounds
    assert result["acknowledged"] > 5 * rounds


@pytest.mark.timeout(120)
@forms("seconds", short=4, long=8)
def test_rolling_restarts_of_four_processes_keep_every_receipt_readable(
    seconds: int,
) -> None:
    result = harness("--rolling", str(seconds))
    assert result["wrong"] == {}, f"again with --seed {result['seed']}"
    assert result["receipts_asked_elsewhere"] > 0
    assert result["restarts"] >= 4  # each of them
    assert result["acknowledged"] > 50
    # A lease is lost with its process, not to a process that is merely in a hurry.
    assert result["plans_refused"] <= result["acknowledged"] / 100
