"""The report of `hmem demo --reconcile` as plain text of at most 80 columns, and as JSON
values."""

from collections.abc import Iterator
from typing import Any

from hmem.cli.reconciled import Decision, Found, Reconciled, Turn
from hmem.cli.show import headed, indented, usage_line


def as_text(report: Reconciled) -> Iterator[str]:
    """The report's lines: what ran, each turn with its decisions, what is known."""
    title = "Reconcile: what each turn does to what is known"
    yield from headed(title, report.ran)
    for turn in report.turns:
        yield ""
        yield from _turn(turn)
    yield ""
    yield "Known in the end:"
    for text in report.known:
        yield indented("  - ", text)
    for found in report.found:
        yield ""
        yield from _found(found)
    yield ""
    yield usage_line(report.usage)


def as_json(report: Reconciled) -> dict[str, Any]:
    """The report as JSON values."""
    usage = report.usage
    return {
        "ok": report.ok,
        "ran": dict(report.ran),
        "turns": [_turn_json(turn) for turn in report.turns],
        "known": list(report.known),
        "answers": [
            {"ask": f.ask, "as_of": f.as_of, "fact": f.text, "wrong": f.wrong}
            for f in report.found
        ],
        "calls": usage.llm_calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }


def _turn_json(turn: Turn) -> dict[str, Any]:
    return {
        "day": turn.day,
        "said": turn.said,
        "status": turn.result.status,
        "reason": turn.result.reason,
        "decisions": [
            {"action": d.verb, "fact": d.text, "old": d.old, "reason": d.reason}
            for d in turn.decisions
        ],
        "left": list(turn.left),
        "calls": turn.result.usage.llm_calls,
        "wrong": turn.wrong,
    }


def _turn(turn: Turn) -> Iterator[str]:
    """One turn: what was said, what was decided, in how many calls."""
    yield indented(f"{turn.day} ", f'"{turn.said}"')
    for one in turn.decisions:
        yield from _decision(one)
    if not turn.decisions:
        yield "  nothing to keep"
    for why in turn.left:
        yield indented("  note   ", why)
    calls = turn.result.usage.llm_calls
    ended = "" if turn.result.status == "done" else f", {turn.result.status}"
    yield f"  ({calls} call{'' if calls == 1 else 's'}{ended})"
    if turn.result.reason:
        yield indented("  ", turn.result.reason)
    if turn.wrong:
        yield indented("  WRONG: ", turn.wrong)


def _decision(one: Decision) -> Iterator[str]:
    """A verb, its fact, and why."""
    why = f" [{one.reason}]" if one.reason else ""
    yield indented(f"  {one.verb:<6} ", one.text + ("" if one.old else why))
    if one.old:
        yield indented("         was: ", one.old + why)


def _found(found: Found) -> Iterator[str]:
    """One question with its answer."""
    when = f" (as of {found.as_of})" if found.as_of else ""
    yield f'"{found.ask}"{when}'
    yield indented("  -> ", found.text or "nothing")
    if found.wrong:
        yield indented("  WRONG: ", found.wrong)
