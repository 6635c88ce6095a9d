"""Makes hmem/data/demo.cassette and demo-reconcile.cassette of demo-facts.json and
demo-reconcile.json beside them: run it when a prompt, a talk or the facts change.

    python tools/record_demo.py
"""

import asyncio
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hmem import Config, LLMError
from hmem.cli import loop, reconciled
from hmem.cli.demo import load_script
from hmem.cli.played import PLAYED
from hmem.protocols import Completion, Rung
from hmem.replay import Cassette, ReplayLLM

DATA = Path(__file__).resolve().parents[1] / "hmem" / "data"
_LINE = re.compile(r"^\[(\d+)\] (.*) \((?:since|said) \d{4}-\d\d-\d\d\)$", re.MULTILINE)


class Writer:
    """Answers with what was written by hand, as `answer` finds it for a user message."""

    def __init__(self, model: str, answer: Callable[[str], Any]) -> None:
        self.model = model
        self._answer = answer

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """See `LLM.complete`."""
        text = json.dumps(self._answer(messages[-1]["content"]), ensure_ascii=False)
        # What these messages would cost: four characters a token, as English has.
        asked = sum(len(message["content"]) for message in messages)
        return Completion(
            content=text, prompt_tokens=asked // 4, completion_tokens=len(text) // 4
        )

    async def aclose(self) -> None:
        """Nothing to release."""


def numbered(text: str) -> dict[str, int]:
    """The numbers of the texts in a list of a prompt."""
    return {line: int(n) for n, line in _LINE.findall(text)}


def position(text: str, shown: Mapping[str, int]) -> list[int]:
    """The number of a text, [] for none. Raises LLMError for one that is not shown."""
    if text and text not in shown:
        raise LLMError(f"not shown: {text!r} among {list(shown)}")
    return [shown[text]] if text else []


def loop_answer(user: str) -> Any:
    """The facts of the session whose turns are asked about."""
    known, _, new = user.partition("NEW TURNS\n")
    (session,) = [s for s in load_script()["sessions"] if s["turns"][0][1] in new]
    facts = loop.load_facts()["facts"][session["session_id"]]
    shown = numbered(known)
    return {"facts": [f | {"replaces": position(f["replaces"], shown)} for f in facts]}


def reconcile_answer(user: str) -> Any:
    """The facts of the turn that is asked about, or the decisions about its facts."""
    turns = reconciled.load_talk()["turns"]
    if not user.startswith("CANDIDATES"):
        new = user.partition("NEW TURNS\n")[2]
        (turn,) = [turn for turn in turns if turn["said"] in new]
        return {"facts": [_read(fact) for fact in turn["facts"]]}
    candidates, _, memories = user.partition("MEMORIES\n")
    shown = numbered(memories)
    told = {fact["fact"]: fact["decision"] for turn in turns for fact in turn["facts"]}
    return {
        "decisions": [
            {
                "candidate": n,
                "reason": told[text][2],
                "action": told[text][0],
                "memory": position(told[text][1], shown),
            }
            for text, n in numbered(candidates).items()
        ]
    }


def _read(fact: Mapping[str, Any]) -> dict[str, Any]:
    """A fact as an extraction reply has it."""
    said = {key: value for key, value in fact.items() if key != "decision"}
    return {"turns": [0], **said, "replaces": [], "reason": ""}


def record(name: str, mode: str, llm: Writer, run: Callable[..., Any]) -> Any:
    """Make one recording, and the report of the run that made it."""
    path = DATA / name
    path.unlink(missing_ok=True)
    cassette = Cassette(path)
    with tempfile.TemporaryDirectory() as folder:
        config = Config(path=folder, embed="none", mode=mode, **PLAYED)  # type: ignore[arg-type]
        report = asyncio.run(run(config, llm=ReplayLLM(cassette, llm=llm)))
    cassette.tidy()
    print(f"{path}: {len(cassette)} replies, {path.stat().st_size} bytes")
    return report


def main() -> None:
    """Record."""
    told = loop.load_facts()
    looped = record(
        loop.RECORDING, "append", Writer(told["model"], loop_answer), loop.run
    )
    if not looped.ok:
        wrong = [one.wrong for one in looped.found]
        reasons = [one.result.reason for one in looped.learned]
        raise SystemExit(f"not as it should be: {wrong} {reasons}")
    told = reconciled.load_talk()
    talked = record(
        reconciled.RECORDING,
        "reconcile",
        Writer(told["model"], reconcile_answer),
        reconciled.run,
    )
    if not talked.ok:
        wrong = [one.wrong for one in (*talked.turns, *talked.found)]
        reasons = [turn.result.reason for turn in talked.turns]
        raise SystemExit(f"not as it should be: {wrong} {reasons}")


if __name__ == "__main__":
    main()
