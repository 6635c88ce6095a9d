"""The demo of reconcile mode, asked of a real endpoint."""

import json
from typing import Any

from hmem.cli import reconciled, show_reconciled
from hmem.config import Config
from hmem.testing.chat_endpoint import Body, ChatEndpoint
from hmem.testing.llms import fact, facts


def judged(body: Body) -> dict[str, Any]:
    """A model of its own mind: reads a home out of every turn that names Turku, and says
    of all that a memory says it already."""
    text = body["messages"][-1]["content"]
    if text.startswith("CANDIDATES"):
        return {
            "decisions": [
                {"candidate": 0, "reason": "known", "action": "NOOP", "memory": [0]}
            ]
        }
    new = text.partition("NEW TURNS")[2]
    if "Porto, in a flat" in new:
        return facts(fact("Priska lives in Porto", entities=["Priska", "Porto"]))
    if "Turku" in new:
        return facts(fact("Priska lives in Turku", entities=["Priska", "Turku"]))
    return facts()


def test_live_the_model_decides_and_what_is_refused_is_a_note() -> None:
    with ChatEndpoint() as endpoint:
        endpoint.answer = lambda body: endpoint.reply(json.dumps(judged(body)))
        config = Config(
            embed="none", llm="small", base_url=endpoint.url, api_key="none"
        )
        report = reconciled.play(config, live=True)
    assert report.ran["model"] == "small, asked now"
    assert report.ok, [turn.result.reason for turn in report.turns]
    verbs = [[one.verb for one in turn.decisions] for turn in report.turns]
    assert verbs[:3] == [["ADD"], [], ["ADD"]]
    assert report.turns[2].left, "the memory does not say that she lives in Turku"
    assert "  note   " in "\n".join(show_reconciled.as_text(report))
