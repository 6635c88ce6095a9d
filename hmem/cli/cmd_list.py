"""`hmem list | timeline | count`: what is stored, without a question or a model."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hmem.cli import options
from hmem.cli.opening import looking
from hmem.cli.printing import print_entry, print_json, print_notes, print_row

if TYPE_CHECKING:
    from hmem import Page, Timeline

    Listed = Page | Timeline

MOST = 1_000
"""Rows in a page."""


@click.command("list")
@options.user
@options.choice
@options.pages
@options.path
@options.json
def list_rows(
    *, path: Path | None, limit: int, everything: bool, as_json: bool, **asked: Any
) -> None:
    """List what is stored of a user.

    Open memories first, then turns, in the order they were stored.
    """
    with looking(path) as mem:
        _show(
            partial(mem.get_all, limit=MOST if everything else limit, **asked),
            lambda row: print_row(row, mem.config.zone),
            everything=everything,
            as_json=as_json,
        )


@click.command()
@options.user
@options.choice
@options.pages
@options.path
@options.json
def timeline(
    *, path: Path | None, limit: int, everything: bool, as_json: bool, **asked: Any
) -> None:
    """List memories and turns by when they happened.

    The oldest first. Memories that are believed no more are marked with what replaced
    them. With --entity: only what names it.
    """
    with looking(path) as mem:
        _show(
            partial(mem.timeline, limit=MOST if everything else limit, **asked),
            lambda entry: print_entry(entry, mem.config.zone),
            everything=everything,
            as_json=as_json,
        )


@click.command()
@options.user
@options.choice
@options.path
@options.json
def count(*, path: Path | None, as_json: bool, **asked: Any) -> None:
    """Count what is stored of a user.

    As many as `hmem list --all` lists with the same options.
    """
    with looking(path) as mem:
        found = mem.count(**asked)
    if as_json:
        print_json({"count": found})
    else:
        click.echo(found)


def _show(
    fetch: "Callable[..., Listed]",
    show: Callable[[Any], None],
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """Print a page, or all of them from there on."""
    rows: list[Any] = []
    page = fetch()
    while True:
        if as_json:
            rows += page.rows
        else:
            for row in page.rows:
                show(row)
        if not everything or page.cursor is None:
            break
        page = fetch(cursor=page.cursor)
    if as_json:
        print_json({"rows": rows, "cursor": page.cursor, "degraded": page.degraded})
        return
    print_notes(page.degraded)
    if page.cursor is not None:
        click.echo(f"there are more: --cursor {page.cursor}", err=True)
