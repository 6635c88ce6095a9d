"""Builds docs/api.md from the signatures and docstrings of the public names.

    python tools/build_api_docs.py            writes it
    python tools/build_api_docs.py --check    says whether it is up to date

Annotations are taken from the source, so that aliases keep their names and every Python
gives the same file.
"""

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import hmem

TARGET = Path(__file__).parent.parent / "docs" / "api.md"
HEAD = """\
# The public names

Made from the program by `tools/build_api_docs.py`; change the docstrings, not this file. A
test compares the two. Unless something else is said times are seconds, sizes bytes, and
[what an argument may be](#arguments) stands at the end. The settings are explained in the
[README](../README.md#settings), filters in [filters.md](filters.md), what the block looks
like in [retrieval.md](retrieval.md).
"""
FACES = ("AsyncMemory", "Memory", "Scoped", "SyncScoped", "Receipt", "SyncReceipt")
ARGUMENTS = {
    "Messages": "hmem.inputs.messages",
    "Facts": "hmem.inputs.items",
    "Ids": "hmem.inputs.scope",
    "Times": "hmem.times",
}
ALIASES = "hmem.times hmem.records hmem.protocols hmem.config hmem.daemon"
"""Rooms whose names stand in signatures."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


# ------------------------------------------------------------------------ what is there


@cache
def tree_of(module: str) -> ast.Module:
    """A module's source as a tree."""
    return ast.parse(inspect.getsource(import_module(module)))


def node_of(thing: Any) -> Any:
    """The tree of a class or a function."""
    return ast.parse(dedent(inspect.getsource(thing))).body[0]


def verbs(kind: type) -> list[tuple[str, Any]]:
    """The public methods and properties, a base's after its heirs', as they are written."""
    found: dict[str, Any] = {}
    for base in kind.__mro__[:-1]:
        for name, value in vars(base).items():
            if not name.startswith("_") and (
                inspect.isfunction(value) or isinstance(value, property)
            ):
                found.setdefault(name, value)
    return list(found.items())


def signature(function: Callable[..., Any], name: str, *, bound: bool) -> str:
    """A call as it is declared, on one line or with an argument on each."""
    node: Function = node_of(function)
    parts = list(_parameters(node, function))[bound:]
    back = f" -> {ast.unparse(node.returns)}".replace("'", "") if node.returns else ""
    lead = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    line = f"{lead}{name}({', '.join(parts)}){back}"
    if len(line) <= 80:
        return line
    inner = "".join(f"    {part},\n" for part in parts)
    return f"{lead}{name}(\n{inner}){back}"


def _parameters(node: Function, function: Callable[..., Any]) -> Iterator[str]:
    """Each parameter with its annotation and the value of its default."""
    defaults = inspect.signature(function).parameters
    plain = [*node.args.posonlyargs, *node.args.args]
    for argument in plain:
        yield _parameter(argument, defaults[argument.arg].default)
    if node.args.kwonlyargs:
        yield "*"
    for argument in node.args.kwonlyargs:
        yield _parameter(argument, defaults[argument.arg].default)


def _parameter(argument: ast.arg, default: Any) -> str:
    said = argument.arg
    if argument.annotation is not None:
        said += f": {ast.unparse(argument.annotation)}".replace("'", "")
    if default is inspect.Parameter.empty:
        return said
    value = getattr(default, "__name__", None) or repr(default)
    return f"{said} = {value}".replace("'", '"')


def fields(kind: Any) -> Iterator[tuple[str, str, str]]:
    """Name, type and default of a dataclass's fields."""
    declared = {
        node.target.id: ast.unparse(node.annotation)
        for node in node_of(kind).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for field in dataclasses.fields(kind):
        yield field.name, declared[field.name], _default(field)


def _default(field: Any) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.default_factory.__name__}()"
    return "" if field.default is dataclasses.MISSING else repr(field.default)


# ------------------------------------------------------------------------ how it is told


def document() -> str:
    """The whole file."""
    parts = [HEAD, *_faces(), *_settings(), *_records(), *_errors(), *_functions()]
    text = "\n".join([*parts, *_arguments()])
    used = (row for row in _aliases() if re.search(rf"\b{row[0]}\b", text))
    return f"{text}\n### Names of types\n\n{_table(('name', 'is'), used)}"


def prose(doc: str | None) -> str:
    """A docstring as Markdown: its indented parts are code there, too."""
    return inspect.cleandoc(doc or "")


def _faces() -> Iterator[str]:
    for name in FACES:
        kind = getattr(hmem, name)
        yield f"## {name}\n\n{prose(kind.__doc__)}\n"
        if name in ("AsyncMemory", "Memory"):
            yield _code(signature(kind.__init__, name, bound=True))
        yield from _verbs(kind)
        if name in ("AsyncMemory", "Memory"):
            admin = inspect.signature(kind.admin.fget).return_annotation
            yield f"## {name}.admin\n\n{prose(admin.__doc__)}\n"
            yield from _verbs(admin)


def _verbs(kind: type) -> Iterator[str]:
    """Each verb; those that are another class's are only named."""
    others: dict[str, list[str]] = {}
    notes: list[str] = []
    for name, value in verbs(kind):
        if isinstance(value, property):
            back = ast.unparse(node_of(value.fget).returns).replace("'", "")
            said, doc = f"{name}: {back}", prose(value.fget.__doc__)
        else:
            said, doc = signature(value, name, bound=True), prose(value.__doc__)
        if other := re.fullmatch(r"See `(\w+)\.\w+`[.;] ?(.*)", doc):
            others.setdefault(other[1], []).append(f"`{name}`")
            notes += [f"- `{name}`: {other[2]}"] if other[2] else []
        else:
            yield f"### {kind.__name__}.{name}\n\n{_code(said)}\n{doc}\n"
    for there, names in others.items():
        yield f"As of {there}: {', '.join(names)}.\n"
    if notes:
        yield "\n".join([*notes, ""])


def _settings() -> Iterator[str]:
    yield f"## Config\n\n{prose(hmem.Config.__doc__)}\n"
    yield _table(("field", "type", "default"), fields(hmem.Config))
    yield from _verbs(hmem.Config)


def _records() -> Iterator[str]:
    yield "## Records\n"
    for name in hmem.__all__:
        kind = getattr(hmem, name)
        if getattr(kind, "__module__", "") == "hmem.records":
            yield f"### {name}\n\n{prose(kind.__doc__)}\n"
            yield _table(("field", "type", "default"), fields(kind))
            yield from _verbs(kind)


def _errors() -> Iterator[str]:
    yield "## Errors\n"
    yield prose(import_module("hmem.errors").__doc__) + "\n"
    found = [getattr(hmem, name) for name in hmem.__all__]
    kinds = [k for k in found if inspect.isclass(k) and issubclass(k, hmem.HmemError)]
    rows = [(k.__name__, k.code, _again(k), _first(k.__doc__)) for k in kinds]
    yield _table(("error", "code", "retryable", "raised"), rows, plain=(2, 3))
    for kind in kinds:
        if "\n\n" in (doc := prose(kind.__doc__)):
            yield f"### {kind.__name__}\n\n{_as_code(doc)}"


def _again(kind: type[hmem.HmemError]) -> str:
    """Whether the same call may succeed later."""
    if issubclass(kind, hmem.ModelError):
        return "it says"
    return "yes" if kind.retryable else "no"


def _first(doc: str | None) -> str:
    """The first paragraph, on one line."""
    return " ".join(prose(doc).partition("\n\n")[0].split())


def _as_code(doc: str) -> str:
    """Columns are kept."""
    return "".join(
        f"{'    ' if re.search('[a-z]  +[a-z]', line) else ''}{line}\n"
        for line in doc.splitlines()
    )


def _functions() -> Iterator[str]:
    yield "## Functions\n"
    for name in hmem.__all__:
        value = getattr(hmem, name)
        if inspect.isfunction(value):
            said = signature(value, name, bound=False)
            yield f"### {name}\n\n{_code(said)}\n{prose(value.__doc__)}\n"
    yield "`__version__` is the version as a text. `UNCHANGED` is what an argument of\n`update` is where it is not given.\n"


def _arguments() -> Iterator[str]:
    yield "## Arguments\n"
    for title, module in ARGUMENTS.items():
        yield f"### {title}\n\n{prose(import_module(module).__doc__)}\n"


def _aliases() -> Iterator[tuple[str, str]]:
    """What the names in the signatures stand for."""
    for module in ALIASES.split():
        for node in tree_of(module).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if name[0].isupper() and not name.isupper() and _is_type(node.value):
                    yield name, ast.unparse(node.value)
            elif isinstance(node, ast.ClassDef) and _is_protocol(node):
                yield node.name, f"`{module}`: {_first(ast.get_docstring(node))}"


def _is_type(value: ast.expr) -> bool:
    return isinstance(value, (ast.Subscript, ast.BinOp))


def _is_protocol(node: ast.ClassDef) -> bool:
    return [ast.unparse(base) for base in node.bases] == ["Protocol"]


def _code(text: str) -> str:
    return f"```text\n{text}\n```\n"


def _table(head: tuple[str, ...], rows: Any, *, plain: tuple[int, ...] = ()) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [
            cell if n in plain or not cell or "`" in cell else f"`{cell}`"
            for n, cell in enumerate(row)
        ]
        lines.append(
            f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file, or compare it."""
    text = document()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != text:
        raise SystemExit("docs/api.md is out of date: python tools/build_api_docs.py")


if __name__ == "__main__":
    main()
