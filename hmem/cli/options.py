"""Options that several commands share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hmem.cli.failing import Misused

F = TypeVar("F", bound=Callable[..., Any])

Folder = click.Path(path_type=Path, file_okay=False)

path = click.option("--path", type=Folder, help="The data folder (default: HMEM_PATH).")
user = click.option("-u", "--user-id", required=True, metavar="ID", help="Whose it is.")
json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
observed_at = click.option(
    "--observed-at", metavar="TIME", help="When it was said (default: now)."
)


def words(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:  # noqa: ARG001
    """A callback for an argument of words: read as UTF-8 whatever the locale is, or
    refused; hmem would drop what is not text."""
    if text is None or not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    try:
        return os.fsencode(text).decode()
    except UnicodeError as e:
        raise Misused(f"{param.human_readable_name} is not UTF-8") from e


def labels(function: F) -> F:
    """--agent-id and --session-id."""
    agent = click.option("--agent-id", metavar="ID", help="The agent's label.")
    session = click.option("--session-id", metavar="ID", help="The session's label.")
    return agent(session(function))


def question(function: F) -> F:
    """What narrows a search, and the times it is about."""
    options = (
        click.option("--as-of", metavar="TIME", help="What was believed then."),
        click.option("--known-at", metavar="TIME", help="What was stored by then."),
        click.option(
            "--during", metavar="DATE", help="When it happened: DATE or START..END."
        ),
        click.option(
            "--asked-at", metavar="TIME", help="When it is asked (default: now)."
        ),
        click.option(
            "--kind", type=click.Choice(["memory", "turn"]), help="Only these."
        ),
        click.option("--category", metavar="NAME", help="Only memories of this kind."),
        click.option("--min-score", type=float, help="A least score, 0 to 1."),
    )
    for option in reversed(options):
        function = option(function)
    return labels(function)


def stretch(during: str | None) -> str | tuple[str, str] | None:
    """What `--during` was given, as `search(during=)` takes it."""
    if during is None or ".." not in during:
        return during
    start, _, end = during.partition("..")
    return start, end
