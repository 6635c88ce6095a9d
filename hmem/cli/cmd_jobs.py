"""`hmem jobs`: what is queued, how jobs ended, and trying them again."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hmem.cli import options
from hmem.cli.failing import Failed, Misused
from hmem.cli.opening import editing, looking
from hmem.cli.printing import print_job, print_json, receipt_line, receipt_values

if TYPE_CHECKING:
    from hmem import Memory
    from hmem.records import JobStatus

_STATES: "tuple[JobStatus, ...]" = ("queued", "running", "done", "partial", "dead")
_LIMIT = 20


@click.command()
@click.argument("job_id", metavar="[ID]", required=False)
@click.option("-u", "--user-id", metavar="ID", help="Whose job it is.")
@click.option("--retry", is_flag=True, help="Queue this job again.")
@click.option(
    "--status",
    "states",
    type=click.Choice(_STATES),
    multiple=True,
    help="List jobs in this state; may be given several times.",
)
@click.option(
    *("-n", "--limit"),
    type=int,
    callback=options.count,
    help=f"How many, to 1,000 (default: {_LIMIT}).",
)
@click.option("--cursor", metavar="TEXT", help="Go on where an earlier list ended.")
@options.path
@options.json
def jobs(
    *,
    job_id: str | None,
    user_id: str | None,
    retry: bool,
    states: "tuple[JobStatus, ...]",
    limit: int | None,
    cursor: str | None,
    path: Path | None,
    as_json: bool,
) -> None:
    """Show what is queued, or how a job ended; try one again.

    Without an ID: how many jobs of all users are in which state, or with --status which
    ones, the oldest first. With one (`hmem add` prints it) and --user-id: that job. --retry
    queues it again, if it ended as partial or dead.
    """
    if (job_id is None) != (user_id is None):
        raise Misused("one job is shown by its ID and --user-id, both")
    if job_id is None:
        if retry:
            raise Misused("--retry takes a job's ID and --user-id")
        if not states and (limit, cursor) != (None, None):
            raise Misused("--limit and --cursor go with --status")
    elif states or (limit, cursor) != (None, None):
        raise Misused("--status, --limit and --cursor go without an ID")
    with editing(path) if retry else looking(path) as mem:
        if job_id is not None:
            _one(mem, job_id, user_id, retry=retry, as_json=as_json)
        elif states:
            _list(mem, states, _LIMIT if limit is None else limit, cursor, as_json)
        else:
            _count(mem, as_json=as_json)


def _one(
    mem: "Memory", job_id: str, user_id: str | None, *, retry: bool, as_json: bool
) -> None:
    """Raises Failed when it is not there, or is not to be tried again: then the call was
    right."""
    from hmem.errors import InputError

    again = retry and mem.admin.retry(job_id, user_id=user_id)
    try:
        receipt = mem.receipt(job_id, user_id=user_id)
    except InputError as e:
        raise Failed(str(e)) from e
    if retry and not again:
        raise Failed(
            f"this job is {receipt.status}: only one that ended as partial or dead can be"
            " tried again"
        )
    if as_json:
        print_json(receipt_values(receipt))
    else:
        click.echo(receipt_line(receipt))


def _list(
    mem: "Memory",
    states: "tuple[JobStatus, ...]",
    limit: int,
    cursor: str | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    page = mem.admin.jobs(status=states, limit=limit, cursor=cursor)
    if as_json:
        print_json(page)
        return
    for job in page:
        print_job(job, mem.config.zone)
    if page.cursor is not None:
        click.echo(f"there are more: --cursor {page.cursor}", err=True)


def _count(mem: "Memory", *, as_json: bool) -> None:
    counted = mem.admin.stats()["jobs"]
    if as_json:
        print_json(counted)
        return
    for state, n in counted.items():
        click.echo(f"{state:<8} {n}")
