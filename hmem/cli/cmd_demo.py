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
    help="Keep the first part's store here (default: a temporary one).",
)
@click.option("--install", is_flag=True, help="Fetch the local embedding model first.")
@click.option(
    "--live", is_flag=True, help="Let the configured model read, not a recording."
)
@options.json
def demo(*, path: Path | None, install: bool, live: bool, as_json: bool) -> None:
    """Remember a bundled conversation and ask about it.

    First word for word, with no language model. Then with one that reads facts out of it,
    of which later ones replace earlier ones: its replies are played back from a recording,
    or with --live asked of HMEM_LLM. Exits with 0 only if all that was expected was found.
    """
    from hmem.cli import show, show_loop
    from hmem.cli.demo import demonstrate
    from hmem.cli.loop import play
    from hmem.config import Config

    if install:
        from hmem.embed.install import install_minilm

        install_minilm(progress=progress_line)
    config = Config.from_env()
    raw = demonstrate(config, path=path)
    if not as_json:
        click.echo("\n".join([*show.as_text(raw), ""]))
    loop = play(config, live=live)
    if as_json:
        print_json({**show.as_json(raw), "loop": show_loop.as_json(loop)})
    else:
        click.echo("\n".join(show_loop.as_text(loop)))
    if not (raw.ok and loop.ok):
        raise Failed("the demo did not find what it should have found")
