"""The `hmem` command: which subcommands there are. Each is imported when it is called,
so that `hmem --help` loads nothing but click."""

from importlib import import_module
from typing import Any

import click

from hmem import __version__
from hmem.cli.failing import in_one_line

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("cmd_demo:demo", "Remember a bundled conversation and ask about it."),
    "add": ("cmd_write:add", "Remember what was said."),
    "search": ("cmd_read:search", "Find memories and turns."),
    "context": ("cmd_read:context", "Print a block for a prompt."),
    "list": ("cmd_list:list_rows", "List what is stored of a user."),
    "timeline": ("cmd_list:timeline", "List memories and turns by when they happened."),
    "count": ("cmd_list:count", "Count what is stored of a user."),
    "get": ("cmd_read:get", "Show one memory or turn."),
    "history": ("cmd_read:history", "Show what happened to a memory."),
    "delete": ("cmd_write:delete", "Close a memory."),
    "erase": ("cmd_erase:erase", "Destroy one memory or one turn."),
    "stats": ("cmd_operate:stats", "Count what is stored."),
    "jobs": (
        "cmd_jobs:jobs",
        "Show what is queued, or how a job ended; try one again.",
    ),
    "doctor": ("cmd_doctor:doctor", "Check this machine, the folder and the models."),
    "worker": ("cmd_operate:worker", "Work on the queue of a data folder."),
    "models": ("cmd_models:models", "List and install local models."),
}
"""Name: where it is (in this package), and its first line of help."""


class Commands(click.Group):
    """Subcommands by name; what went wrong is one line, never a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the one that is called."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(f"hmem.cli.{module}"), attribute)
        return found

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """The table, without importing what it names."""
        with formatter.section("Commands"):
            formatter.write_dl([(n, COMMANDS[n][1]) for n in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of ours or of the system's is told in one line."""
        try:
            return super().invoke(ctx)
        except Exception as e:
            told = in_one_line(e)
            if told is None:
                raise
            raise told from e


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hmem")
def hmem() -> None:
    """Memory for LLM agents: durable, dated, per user.

    Settings come from HMEM_ variables (HMEM_PATH, HMEM_EMBED, ...); options override
    them. Exit codes: 0 all went well, 1 it failed, 2 it was called wrongly.
    """
