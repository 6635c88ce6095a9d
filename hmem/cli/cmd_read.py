"""`hmem search | context | get | history`: what is stored, read and never changed."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hmem.cli import options
from hmem.cli.failing import A_TURN, Failed
from hmem.cli.opening import looking
from hmem.cli.printing import (
    print_event,
    print_json,
    print_notes,
    print_row,
    visible,
)

if TYPE_CHECKING:
    from hmem import SearchResult

_DOUBT = 0.5
"""Below it a search tells of near misses, too."""
_UNKNOWN = "no memory or turn of this user has that id"


@click.command()
@click.argument("query", callback=options.words)
@options.user
@click.option(
    "-k", default=10, show_default=True, callback=options.count, help="How many."
)
@options.question
@click.option("--explain", is_flag=True, help="Say what each score is made of.")
@options.path
@options.json
def search(
    *, query: str, k: int, explain: bool, path: Path | None, as_json: bool, **asked: Any
) -> None:
    """Find memories and turns.

    A TIME is a date or an ISO 8601 time; a date without a time means its end. Prints the
    best first, each with its score (0 to 1), when it was said, its words and its id.
    """
    with looking(path, by_meaning=True) as mem:
        found = mem.search(query, k=k, explain=explain, **asked)
        zone = mem.config.zone
    if as_json:
        print_json(found)
        return
    for hit in found:
        print_row(hit, zone)
    print_notes(found.degraded)
    if found.pending:
        click.echo(f"{found.pending} turns wait to be worked on", err=True)
    if not found.hits:
        click.echo("nothing was found", err=True)
    elif (likely := found.answerability) is not None and likely < _DOUBT:
        _doubt(found, likely)


@click.command()
@click.argument("query", callback=options.words)
@options.user
@click.option(
    "--max-tokens",
    type=int,
    callback=options.count,
    help="The most it may be (HMEM_CONTEXT_TOKENS).",
)
@options.question
@options.path
@options.json
def context(
    *,
    query: str,
    max_tokens: int | None,
    path: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Print a block for a prompt.

    It holds what is known for the question, dated, in at most --max-tokens tokens.
    """
    with looking(path, by_meaning=True) as mem:
        block = mem.context(query, max_tokens=max_tokens, **asked)
    if as_json:
        print_json(block)
        return
    print_notes(block.degraded)
    shown = visible(block.text) if sys.stdout.isatty() else block.text
    click.echo(shown, nl=not shown.endswith("\n"))


@click.command()
@click.argument("row_id", metavar="ID")
@options.user
@options.path
@options.json
def get(*, row_id: str, user_id: str, path: Path | None, as_json: bool) -> None:
    """Show one memory or turn.

    Closed memories are shown, too.
    """
    with looking(path) as mem:
        row = mem.get(row_id, user_id=user_id)
    if row is None:
        raise Failed(_UNKNOWN)
    if as_json:
        print_json(row)
    else:
        print_row(row, mem.config.zone)


@click.command()
@click.argument("row_id", metavar="ID")
@options.user
@options.path
@options.json
def history(*, row_id: str, user_id: str, path: Path | None, as_json: bool) -> None:
    """Show what happened to a memory.

    And to those it replaced, and to those that replaced it, oldest first.
    """
    with looking(path) as mem:
        events = mem.history(row_id, user_id=user_id)
        row = None if events else mem.get(row_id, user_id=user_id)
    if row is not None and row.kind == "turn":
        raise Failed(A_TURN)
    if not events:
        raise Failed("no memory of this user has that id")
    if as_json:
        print_json(events)
        return
    for event in events:
        print_event(event, mem.config.zone)


def _doubt(found: "SearchResult", likely: float) -> None:
    """Say that the answer may not be there, and what the nearest row lacks."""
    lacked = found.near_misses[0].lacks if found.near_misses else ()
    without = f"; what is nearest does not say: {', '.join(lacked)}" if lacked else ""
    line = f"the answer may not be stored (answerability {likely:.2f}){without}"
    click.echo(visible(line), err=True)
