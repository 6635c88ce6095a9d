"""The `hmem` command. It needs the `cli` extra (click), which nothing else loads."""

import io
import sys
from importlib import import_module

from hmem.installed import how_to_add


def main() -> None:
    """The entry point of `hmem`. Exits with 0, with 1 for an error, 2 for a misuse."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # LC_ALL=C must not break a print
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        commands = import_module("hmem.cli.commands")
    except ModuleNotFoundError as e:
        if e.name != "click":
            raise
        sys.stderr.write(f"hmem: the command line needs {how_to_add('cli')}\n")
        raise SystemExit(1) from None
    commands.hmem.main(prog_name="hmem")
