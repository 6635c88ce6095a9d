"""`hmem stats | worker`: what spans users."""

from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from hmem.cli import options
from hmem.cli.opening import looking, needs_store, settings
from hmem.cli.printing import print_json, visible

if TYPE_CHECKING:
    from hmem.config import Config

_OF_A_PROCESS = ("embedder", "worker", "views")
"""What `stats()` says of the process that asks: nothing to know about a command."""


@click.command()
@options.path
@options.json
def stats(*, path: Path | None, as_json: bool) -> None:
    """Count what is stored.

    Users, memories, turns, jobs and bytes, over all users.
    """
    with looking(path) as mem:
        counted = mem.admin.stats()
    for name in _OF_A_PROCESS:
        counted.pop(name, None)
    if as_json:
        print_json(counted)
        return
    for name, value in counted.items():
        if name.endswith("_by_table"):  # for programs
            continue
        click.echo(f"{name.replace('_', ' '):<18} {_flat(value)}")


@click.command()
@options.path
def worker(*, path: Path | None) -> None:
    """Work on the queue of a data folder.

    Beside or instead of the processes that add; the folder must hold a store. Runs until SIGTERM or Ctrl-C; then it
    gives back what it has not finished and exits with 0. A second signal ends it at once.
    """
    import asyncio

    config = settings(path)
    needs_store(config)
    asyncio.run(_work(config))


async def _work(config: "Config") -> None:
    """Run a worker until a signal asks it to stop."""
    import asyncio
    import signal

    from hmem import run_worker

    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def ask_to_stop(signum: int, _: FrameType | None) -> None:
        signal.signal(signum, signal.SIG_DFL)
        loop.call_soon_threadsafe(stop.set)

    both = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(signum, ask_to_stop) for signum in both]
    click.echo(f"hmem worker: {config.folder.absolute()}", err=True)
    try:
        await run_worker(config, stop=stop)
    finally:  # the loop that the handler speaks to ends here
        for signum, handler in zip(both, before, strict=True):
            signal.signal(signum, handler)
    click.echo("hmem worker: stopped", err=True)


def _flat(value: object) -> str:
    """A count, or several with their names."""
    if isinstance(value, Mapping):
        said = ", ".join(f"{name} {_flat(n)}" for name, n in value.items())
        return visible(said) or "none"
    if isinstance(value, (list, tuple)):
        return visible(", ".join(map(str, value))) or "none"
    return "none" if value is None else visible(str(value))
