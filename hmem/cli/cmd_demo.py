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
@click.option(
    "--reconcile",
    is_flag=True,
    help="Another short talk instead: what a second call decides about each turn's facts.",
)
@options.json
def demo(
    *, path: Path | None, install: bool, live: bool, reconcile: bool, as_json: bool
) -> None:
    """Remember a bundled conversation and ask about it.

    First word for word, with no language model. Then with one that reads facts out of it,
    of which later ones replace earlier ones: its replies are played back from a recording,
    or with --live asked of HMEM_LLM. Exits with 0 only if all that was expected was found.
    """
    if reconcile and path is not None:
        raise click.UsageError("--path is for the first part; --reconcile has none")
    if install:
        from hmem.embed.install import install_minilm

        install_minilm(progress=progress_line)
    done = (
        _reconciled(live=live, as_json=as_json)
        if reconcile
        else _demonstrated(path, live=live, as_json=as_json)
    )
    if not done:
        raise Failed("the demo did not find what it should have found")


def _demonstrated(path: Path | None, *, live: bool, as_json: bool) -> bool:
    """Both parts. Whether all was found."""
    from hmem.cli import show, show_loop
    from hmem.cli.demo import demonstrate
    from hmem.cli.loop import play
    from hmem.cli.played import needs_model
    from hmem.config import Config

    config = Config.from_env()
    if live:
        needs_model(config)
    raw = demonstrate(config, path=path)
    if not as_json:
        click.echo("\n".join([*show.as_text(raw), ""]))
    loop = play(config, live=live)
    if as_json:
        print_json({**show.as_json(raw), "loop": show_loop.as_json(loop)})
    else:
        click.echo("\n".join(show_loop.as_text(loop)))
    return raw.ok and loop.ok


def _reconciled(*, live: bool, as_json: bool) -> bool:
    """The talk of reconcile mode. Whether all was decided as expected."""
    from hmem.cli import show_reconciled
    from hmem.cli.reconciled import play
    from hmem.config import Config

    talk = play(Config.from_env(), live=live)
    if as_json:
        print_json(show_reconciled.as_json(talk))
    else:
        click.echo("\n".join(show_reconciled.as_text(talk)))
    return talk.ok
