"""Makes hmem/data/demo.cassette of hmem/data/demo-facts.json: run it when the prompt, the
conversation or the facts change.

    python tools/record_demo.py
"""

import asyncio
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hmem import Config, LLMError
from hmem.cli.demo import load_script
from hmem.cli.loop import PLAYED, RECORDING, load_facts, run
from hmem.protocols import Completion, Rung
from hmem.replay import Cassette, ReplayLLM

DATA = Path(__file__).resolve().parents[1] / "hmem" / "data"
_MEMORY = re.compile(r"^\[(\d+)\] (.*) \(since \d{4}-\d\d-\d\d\)$", re.MULTILINE)


class Writer:
    """Answers with the facts that were written for the session whose turns are asked
    about."""

    def __init__(self) -> None:
        told = load_facts()
        self.model = told["model"]
        self._facts = told["facts"]
        self._sessions = load_script()["sessions"]

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """See `LLM.complete`."""
        known, _, new = messages[-1]["content"].partition("NEW TURNS\n")
        shown = {text: int(n) for n, text in _MEMORY.findall(known)}
        (session,) = [s for s in self._sessions if s["turns"][0][1] in new]
        facts = [self._fact(fact, shown) for fact in self._facts[session["session_id"]]]
        text = json.dumps({"facts": facts}, ensure_ascii=False)
        # What these messages would cost: four characters a token, as English has.
        asked = sum(len(message["content"]) for message in messages)
        return Completion(
            content=text, prompt_tokens=asked // 4, completion_tokens=len(text) // 4
        )

    def _fact(
        self, fact: Mapping[str, Any], shown: Mapping[str, int]
    ) -> dict[str, Any]:
        if fact["replaces"] and fact["replaces"] not in shown:
            raise LLMError(f"not shown: {fact['replaces']!r} among {list(shown)}")
        replaces = [shown[fact["replaces"]]] if fact["replaces"] else []
        return {**fact, "replaces": replaces}

    async def aclose(self) -> None:
        """Nothing to release."""


def main() -> None:
    """Record."""
    path = DATA / RECORDING
    path.unlink(missing_ok=True)
    cassette = Cassette(path)
    with tempfile.TemporaryDirectory() as folder:
        config = Config(path=folder, embed="none", mode="append", **PLAYED)
        report = asyncio.run(run(config, llm=ReplayLLM(cassette, llm=Writer())))
    cassette.tidy()
    if not report.ok:
        wrong = [one.wrong for one in report.found]
        reasons = [one.result.reason for one in report.learned]
        raise SystemExit(f"not as it should be: {wrong} {reasons}")
    print(f"{path}: {len(cassette)} replies, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
