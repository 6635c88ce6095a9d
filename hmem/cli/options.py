"""Options that several commands share."""

import json as json_text
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


def count(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:  # noqa: ARG001
    """A callback for how many: at least one."""
    if value is not None and value < 1:
        raise Misused(f"{param.opts[-1]} must be at least 1")
    return value


def seconds(
    ctx: click.Context,  # noqa: ARG001
    param: click.Parameter,
    value: float | None,
) -> float | None:
    """A callback for a time limit."""
    from hmem.inputs.deadline import read_timeout

    return read_timeout(value, param.opts[-1])


def labels(function: F) -> F:
    """--agent-id and --session-id."""
    agent = click.option("--agent-id", metavar="ID", help="The agent's label.")
    session = click.option("--session-id", metavar="ID", help="The session's label.")
    return agent(session(function))


def stretch(
    ctx: click.Context,  # noqa: ARG001
    param: click.Parameter,  # noqa: ARG001
    during: str | None,
) -> str | tuple[str, str] | None:
    """A callback for `--during`: what `search(during=)` takes."""
    if during is None or ".." not in during:
        return during
    start, _, end = during.partition("..")
    return start, end


def filter_of(
    ctx: click.Context,  # noqa: ARG001
    param: click.Parameter,  # noqa: ARG001
    text: str | None,
) -> Any:
    """A callback for `--filter`: what `search(filters=)` takes."""
    if text is None:
        return None
    try:
        return json_text.loads(text)
    except (ValueError, RecursionError) as e:
        raise Misused('--filter must be JSON, such as {"city": "Ghent"}') from e


_WHICH = (
    click.option("--as-of", metavar="TIME", help="What was believed then."),
    click.option("--known-at", metavar="TIME", help="What was stored by then."),
    click.option(
        "--during",
        metavar="DATE",
        callback=stretch,
        help="When it happened: DATE or START..END.",
    ),
    click.option(
        *("--kind", "kinds"),
        type=click.Choice(["memory", "turn"]),
        help="Only memories, or only turns.",
    ),
    click.option(
        "--category",
        metavar="NAME",
        help="Only memories of it: semantic, episodic or procedural.",
    ),
    click.option(
        "--filter",
        "filters",
        metavar="JSON",
        callback=filter_of,
        help="Labels and metadata, as in docs/filters.md.",
    ),
)
_ASKED = (
    click.option("--asked-at", metavar="TIME", help="When it is asked (default: now)."),
    click.option("--min-score", type=float, help="A least score, 0 to 1."),
)
_NAMED = (
    click.option(
        "--entity", metavar="NAME", callback=words, help="Only what names it."
    ),
)
_PAGED = (
    click.option(
        *("-n", "--limit"),
        default=100,
        show_default=True,
        callback=count,
        help="How many, to 1,000.",
    ),
    click.option("--cursor", metavar="TEXT", help="Go on where an earlier list ended."),
    click.option("--all", "everything", is_flag=True, help="List all there is."),
)


def question(function: F) -> F:
    """What narrows a search, and the times it is about."""
    return labels(_with((*_WHICH, *_ASKED), function))


def choice(function: F) -> F:
    """What narrows a list."""
    return labels(_with((*_WHICH, *_NAMED), function))


def pages(function: F) -> F:
    """How much of a list is shown."""
    return _with(_PAGED, function)


def _with(options: tuple[Callable[[F], F], ...], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function
