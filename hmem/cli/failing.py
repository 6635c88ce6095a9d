"""What went wrong, in one line: exit code 1 where it failed, 2 where the call was wrong."""

import click

A_TURN = "that id is a turn's: what was said stays as it was; `hmem erase` destroys it"


class Failed(click.ClickException):
    """It could not be done."""

    exit_code = 1


class Misused(click.ClickException):
    """An argument or an input file that cannot be used."""

    exit_code = 2


def in_one_line(error: Exception) -> click.ClickException | None:
    """The error as the command line tells it; None for one that passes as it is: click's
    own, a reader of our output that has gone (click ends quietly then), and a bug."""
    from hmem.errors import EmbeddingSpaceError, HmemError, InputError

    if isinstance(error, (click.ClickException, BrokenPipeError)):
        return None
    line = " ".join(str(error).split())
    if isinstance(error, InputError):
        return Misused(line)
    if isinstance(error, EmbeddingSpaceError):
        line = line.replace("allow_degraded=True", "HMEM_ALLOW_DEGRADED=1")
    if isinstance(error, (HmemError, OSError)):
        return Failed(line or type(error).__name__)
    return None
