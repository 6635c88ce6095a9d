"""`hmem erase`: one memory or one turn, for good."""

import sys
from pathlib import Path

import click

from hmem.cli import options
from hmem.cli.failing import Failed, Misused
from hmem.cli.opening import editing
from hmem.cli.printing import print_json, progress_line


@click.command()
@click.argument("row_id", metavar="ID")
@options.user
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.path
@options.json
def erase(
    *, row_id: str, user_id: str, yes: bool, path: Path | None, as_json: bool
) -> None:
    """Destroy one memory or one turn.

    Its words are in no file afterwards; what still holds them is named. Nothing brings it
    back. `hmem delete` closes a memory and keeps it as history.
    """
    if not yes and not _somebody_is_there():
        raise Misused("nothing brings back what is erased: say --yes")
    with editing(path) as mem:
        row = mem.get(row_id, user_id=user_id)
        if row is not None and not yes:
            click.confirm(f"Erase this {row.kind} for good?", abort=True, err=True)
        erased = mem.erase(row_id, user_id=user_id)
    if not erased.total:
        raise Failed("no memory or turn of this user has that id; nothing was erased")
    for where in erased.pending:
        progress_line(f"not gone yet from {where}")
    if as_json:
        print_json({"id": row_id, "rows": erased.rows, "pending": erased.pending})
    else:
        click.echo(f"erased {row_id}")


def _somebody_is_there() -> bool:
    return sys.stdin.isatty()
