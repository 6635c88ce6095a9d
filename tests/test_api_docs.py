"""docs/api.md is what `tools/build_api_docs.py` makes of the program today."""

import ast
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import hmem
from hmem.admin import Admin

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = ROOT / "tools" / "build_api_docs.py"
    spec = importlib.util.spec_from_file_location("build_api_docs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def text(tool: ModuleType) -> str:
    return str(tool.document())


def test_it_is_up_to_date(tool: ModuleType, text: str) -> None:
    told = tool.TARGET.read_text(encoding="utf-8")
    assert told == text, "run: python tools/build_api_docs.py"


def test_every_public_name_is_told_of(text: str) -> None:
    missing = [name for name in hmem.__all__ if not re.search(rf"\b{name}\b", text)]
    assert missing == []
    headed = set(re.findall(r"^#+ (\w+)$", text, flags=re.M))
    errors = set(re.findall(r"^\| `(\w+Error)` \|", text, flags=re.M))
    assert set(hmem.__all__) - headed - errors == {"UNCHANGED", "__version__"}


def test_every_word_that_degraded_can_hold_is_told_of(text: str) -> None:
    said: set[str] = set()
    for module in ("parts", "reranking", "retrieve"):
        tree = ast.parse((ROOT / "hmem" / f"{module}.py").read_text(encoding="utf-8"))
        said |= {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"[a-z]+(_[a-z]+)+:?", node.value)
        }
    part = text.split("### SearchResult\n")[1].split("| field")[0]
    told = re.findall(r"^    ([a-z_]+:?)K? +\S", part, flags=re.M)
    assert {"lexical_only", "reranker_failed", "unknown_filter_key:"} <= said
    assert sorted(told) == sorted(said)


@pytest.mark.parametrize("kind", [hmem.AsyncMemory, Admin])
def test_every_verb_is_told_of_with_its_arguments(kind: type, text: str) -> None:
    verbs = [name for name, _ in inspect.getmembers(kind, inspect.isfunction)]
    for name in (verb for verb in verbs if not verb.startswith("_")):
        part = text.split(f"### {kind.__name__}.{name}\n")[1].split("\n#")[0]
        code, prose = part.split("```text\n")[1].split("```\n")
        assert prose.strip()
        for argument in list(inspect.signature(getattr(kind, name)).parameters)[1:]:
            assert re.search(rf"\b{argument}\b: ", code), f"{name}({argument})"


def test_a_changed_signature_changes_it(
    tool: ModuleType, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flush(self: object, *, patience: float = 2.5) -> "None":
        """Another promise."""

    monkeypatch.setattr(hmem.AsyncMemory, "flush", flush)
    changed = tool.document()
    assert changed != text
    assert "flush(*, patience: float = 2.5) -> None" in changed
    assert "Another promise." in changed


def test_nothing_of_this_machine_or_this_run_is_in_it(text: str) -> None:
    assert str(ROOT) not in text
    assert " at 0x" not in text
    assert "```python" not in text, "only examples that run are marked so"
