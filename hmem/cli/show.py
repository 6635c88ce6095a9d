"""The demo's report as plain text of at most 80 columns, and as JSON values."""

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any

from hmem.cli.demo import Answer, Report
from hmem.records import AddResult, Block, Hit, Usage

WIDTH = 78


def as_text(report: Report) -> Iterator[str]:
    """The report's lines: what ran, the receipts, the answers, the block, the verdict."""
    yield from headed("hmem demo", report.ran)
    yield ""
    yield f"Remembered in {report.add_ms:.0f} ms; one receipt a session:"
    for session, result in report.receipts.items():
        yield f"  {session:<10} {_ended(result)}"
    for number, answer in enumerate(report.answers, start=1):
        yield ""
        yield from _answered(number, answer)
    yield ""
    yield from block_lines(report.asked, report.block, report.max_tokens)
    found = sum(not answer.wrong for answer in report.answers)
    yield (
        f"{found} of {len(report.answers)} expected turns found,"
        f" {report.search_ms:.1f} ms a question."
    )


def headed(title: str, ran: Mapping[str, str]) -> Iterator[str]:
    """A report's first lines: what it is of, and what ran."""
    yield title
    for name, value in ran.items():
        yield indented(f"  {name:<9} ", value)


def usage_line(usage: Usage) -> str:
    """What a report's model calls cost."""
    return (
        f"{usage.llm_calls} calls, {usage.prompt_tokens:,} tokens in,"
        f" {usage.completion_tokens:,} out."
    )


def block_lines(asked: str, block: Block, max_tokens: int) -> Iterator[str]:
    """A block as it would stand in a prompt."""
    yield f'A block for a prompt: "{asked}"'
    yield f"{block.tokens} tokens, at most {max_tokens} were allowed:"
    yield ""
    for line in block.text.splitlines():
        yield indented("  | ", line, hanging="  |   ")
    yield ""


def as_json(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "ok": report.ok,
        "ran": dict(report.ran),
        "receipts": {
            session: {
                "status": result.status,
                "turns": len(result.turns),
                "skipped": len(result.skipped),
                "reason": result.reason,
            }
            for session, result in report.receipts.items()
        },
        "answers": [
            {
                "title": answer.title,
                "ask": answer.ask,
                "found": not answer.wrong,
                "wrong": answer.wrong,
                "hits": [
                    {
                        "id": hit.id,
                        "at": hit.at.isoformat(),
                        "speaker": hit.speaker or hit.role,
                        "text": hit.text,
                        "score": round(hit.score, 4),
                    }
                    for hit in answer.hits
                ],
            }
            for answer in report.answers
        ],
        "block": {"text": report.block.text, "tokens": report.block.tokens},
        "add_ms": round(report.add_ms, 1),
        "search_ms": round(report.search_ms, 2),
    }


def _ended(result: AddResult) -> str:
    """A receipt's end in a few words."""
    known = f", {len(result.skipped)} known before" if result.skipped else ""
    why = f" ({result.reason})" if result.reason else ""
    return f"{result.status}: {len(result.turns)} turns{known}{why}"


def _answered(number: int, answer: Answer) -> Iterator[str]:
    """One question with what was found."""
    yield f"{number}. {answer.title}"
    yield f'   "{answer.ask}"'
    for hit in answer.hits:
        mark = "->" if answer.expect in hit.text else "  "
        yield indented(f"   {mark} {hit.at.date()} ", _said(hit))
    if answer.wrong:
        yield indented("   WRONG: ", answer.wrong)


def _said(hit: Hit) -> str:
    """A turn as who said what."""
    return f"{hit.speaker or hit.role}: {hit.text}"


def indented(first: str, text: str, *, hanging: str | None = None) -> str:
    """The text wrapped, its further lines under its first one."""
    return fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first) if hanging is None else hanging,
        break_on_hyphens=False,
    )
