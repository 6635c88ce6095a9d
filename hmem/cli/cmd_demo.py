"""`hmem demo`."""

from pathlib import Path

import click

from hmem.cli import options
from hmem.cli.failing import Failed
from hmem.cli.printing import print_json, progress_line


@click.command()
@click.option(
    "--path",
    type=options.Folder,
    help="Keep the store here (default: a temporary one).",
)
@click.option("--install", is_flag=True, help="Fetch the local embedding model first.")
@options.json
def demo(*, path: Path | None, install: bool, as_json: bool) -> None:
    """Remember a bundled conversation and ask about it.

    Exits with 0 only if every expected turn was found.
    """
    from hmem.cli.demo import demonstrate
    from hmem.cli.show import as_json as values
    from hmem.cli.show import as_text
    from hmem.config import Config

    if install:
        from hmem.embed.install import install_minilm

        install_minilm(progress=progress_line)
    report = demonstrate(Config.from_env(), path=path)
    if as_json:
        print_json(values(report))
    else:
        click.echo("\n".join(as_text(report)))
    if not report.ok:
        raise Failed("the demo did not find what it should have found")
