"""A text of the program that names a command names one that is there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from hmem.cli.commands import COMMANDS
from hmem.cli.commands import hmem as command

ROOT = Path(__file__).resolve().parents[1]


def quoted(text: str) -> Iterator[tuple[str, list[str]]]:
    """`hmem NAME ... --option`, as the program's texts mark commands."""
    marked = re.findall(r"`(hmem [^`]+)`", text)
    plain = re.findall(r"(?:run|get it:|with) (hmem [a-z]+(?: install minilm)?)", text)
    for code in (*marked, *plain):
        first, *more = code.removeprefix("hmem ").split()
        yield first, more


def texts() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "hmem").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\bhmem [a-z]", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.relative_to(ROOT).as_posix(), node.value
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        yield path.name, path.read_text(encoding="utf-8")


def test_every_command_that_is_named_is_there_with_its_options() -> None:
    seen = 0
    for where, text in texts():
        for name, more in quoted(" ".join(text.split())):
            if name == "COMMAND" or name.startswith("-"):
                continue
            assert name in COMMANDS, f"{where}: hmem {name}"
            found = command.get_command(click.Context(command), name)
            if isinstance(found, click.Group):
                if not more:
                    continue
                assert more[0] in found.commands, f"{where}: hmem {name} {more[0]}"
                found = found.commands[more[0]]
            assert found is not None
            known = {opt for param in found.params for opt in param.opts} | {"--help"}
            used = {word.rstrip(".,") for word in more if word.startswith("-")} - {"-"}
            assert used <= known, f"{where}: hmem {name} {' '.join(more)}"
            seen += 1
    assert seen > 20
