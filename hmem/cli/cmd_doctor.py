"""`hmem doctor`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hmem.cli import options
from hmem.cli.failing import Failed
from hmem.cli.opening import settings
from hmem.cli.printing import print_json, visible

if TYPE_CHECKING:
    from hmem.cli.checks import Check


@click.command()
@click.option("--offline", is_flag=True, help="Ask no model and no endpoint.")
@options.path
@options.json
def doctor(*, offline: bool, path: Path | None, as_json: bool) -> None:
    """Check this machine, the folder and the models.

    The models are asked once each, which costs a few tokens at an endpoint. Exits with 1
    when something is broken.
    """
    checks = list(_look(path, offline=offline))
    broken = [check for check in checks if check.state == "broken"]
    if as_json:
        print_json({"ok": not broken, "checks": checks})
    else:
        wide = max(len(check.name) for check in checks)
        for check in checks:
            click.echo(
                visible(f"{check.state:<6} {check.name:<{wide}}  {check.detail}")
            )
    if broken:
        raise Failed("something is broken: " + ", ".join(c.name for c in broken))


def _look(path: Path | None, *, offline: bool) -> "Iterator[Check]":
    """All checks; one that cannot be made is broken, and the others go on."""
    import asyncio

    from hmem.cli.checks import Check, of_the_folder, of_the_machine
    from hmem.cli.checks_models import of_the_models
    from hmem.errors import HmemError

    yield from of_the_machine()
    try:
        config = settings(path)
    except HmemError as e:
        yield Check(name="settings", state="broken", detail=str(e))
        return
    try:
        yield from of_the_folder(config)
    except (HmemError, OSError) as e:
        yield Check(name="folder", state="broken", detail=" ".join(str(e).split()))
    if offline:
        return

    async def models() -> "list[Check]":
        return [check async for check in of_the_models(config)]

    yield from asyncio.run(models())
