"""The loop's report as plain text of at most 80 columns, and as JSON values."""

from collections.abc import Iterator
from typing import Any

from hmem.cli.loop import Found, Learned, Loop
from hmem.cli.show import block_lines, headed, indented, usage_line


def as_text(report: Loop) -> Iterator[str]:
    """The report's lines: what ran, what each session taught, the answers, the block."""
    title = "The whole loop: a model reads the turns, facts replace facts"
    yield from headed(title, report.ran)
    for one in report.learned:
        yield ""
        yield from _learned(one)
    for number, found in enumerate(report.found, start=1):
        yield ""
        yield from _found(number, found)
    yield ""
    yield from block_lines(report.asked, report.block, report.max_tokens)
    yield usage_line(report.usage)


def as_json(report: Loop) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "ok": report.ok,
        "ran": dict(report.ran),
        "sessions": [
            {
                "session": one.session,
                "status": one.result.status,
                "reason": one.result.reason,
                "facts": list(one.facts),
                "replaced": [
                    {"old": old, "new": new, "reason": why}
                    for old, new, why in one.replaced
                ],
                "skipped": [s.reason for s in one.result.skipped],
                "calls": one.result.usage.llm_calls,
                "prompt_tokens": one.result.usage.prompt_tokens,
                "completion_tokens": one.result.usage.completion_tokens,
            }
            for one in report.learned
        ],
        "answers": [
            {
                "title": one.title,
                "ask": one.ask,
                "wrong": one.wrong,
                "facts": [
                    {
                        "text": hit.text,
                        "since": hit.at.isoformat(),
                        "replaced": [old.text for old in hit.replaced],
                    }
                    for hit in one.hits
                ],
            }
            for one in report.found
        ],
        "block": {"text": report.block.text, "tokens": report.block.tokens},
    }


def _learned(one: Learned) -> Iterator[str]:
    """One session: its receipt, its facts, what they replaced."""
    result = one.result
    why = f" ({result.reason})" if result.reason else ""
    yield (
        f"  {one.session}: {result.status}{why}, {len(result.turns)} turns,"
        f" {len(one.facts)} facts, {len(one.replaced)} replaced"
    )
    for fact in one.facts:
        yield indented("    + ", fact)
    for old, _, reason in one.replaced:
        yield indented("    - ", f"{old} [{reason}]")


def _found(number: int, found: Found) -> Iterator[str]:
    """One question with the facts that were found."""
    yield f'{number}. {found.title}: "{found.ask}"'
    for hit in found.hits[:1]:
        yield indented(f"   since {hit.at.date()} ", hit.text)
        for old in hit.replaced:
            yield indented("     before: ", old.text)
    if found.wrong:
        yield indented("   WRONG: ", found.wrong)
