"""What the documents show runs, and their links lead somewhere."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from hmem import AsyncMemory, Config
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import ScriptedLLM, facts
from hmem.testing.standin import StandInLLM

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
COMING = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")


def examples(path: Path) -> list[str]:
    """The Python of a document, in order."""
    text = path.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.S | re.M)


def rows() -> list[tuple[str, ...]]:
    """(library, there, here, note) of each row of docs/coming-from.md."""
    found = []
    for part in COMING.split("\n## ")[1:]:
        library, _, rest = part.partition("\n")
        for line in re.findall(r"^\|(.*)\|$", rest, flags=re.M)[2:]:
            there, here, note = (cell.strip() for cell in line.split("|"))
            found.append((library, there, here, note))
    return found


def calls(*cells: str) -> list[str]:
    """The calls in cells: what is marked as code and is called, awaited or not."""
    marked = [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
    return [code for code in marked if re.match(r"(await |\(await |[\w.]+\()", code)]


async def run(code: str, names: dict[str, Any]) -> Any:
    """Execute code in which `await` may stand outside of functions."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    done = eval(compile(code, "a document", "exec", flags=flags), names)
    return await done if inspect.iscoroutine(done) else done


async def said(mem: AsyncMemory) -> dict[str, Any]:
    """Somebody's turn and the fact in it, as the examples name them."""
    await mem.delete_user("maya")
    told = await mem.add("I moved to Ghent.", user_id="maya", wait=True)
    assert told.seen is not None
    return {
        "receipt": told,
        "fact": told.seen.added[0],
        "turn": told.seen.turns[0],
        "messages": [{"role": "user", "content": "I moved to Ghent."}],
    }


@pytest.fixture
async def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the examples take for granted: an open memory of somebody."""
    monkeypatch.chdir(tmp_path)
    llm = ScriptedLLM(then=facts("Maya lives in Ghent"))
    config = Config(path=tmp_path / "m", shards=1, durability="normal")
    async with AsyncMemory(config, embedder=HashEmbedder(), llm=llm) as mem:
        known = {"mem": mem, "AsyncMemory": AsyncMemory, "Config": Config}
        yield {**known, **await said(mem)}


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.stem)
async def test_the_python_of_a_document_runs(path: Path, names: dict[str, Any]) -> None:
    for code in examples(path):
        await run(code, names)


async def test_the_functions_of_the_testing_document_do_what_they_say(
    names: dict[str, Any], tmp_path: Path
) -> None:
    for code in examples(ROOT / "docs" / "testing.md"):
        await run(code, names)
    (tmp_path / "tests").mkdir()
    for kind in ("recorded", "replayed"):
        given = (StandInLLM(), HashEmbedder()) if kind == "recorded" else ()
        llm, embedder = names[kind](*given)
        async with AsyncMemory(
            Config(path=tmp_path / kind, shards=1), llm=llm, embedder=embedder
        ) as mem:
            told = await mem.add(
                "I keep bees in Ghent.",
                user_id="u",
                observed_at="2026-05-08",
                wait=True,
            )
            assert told.seen is not None
            assert len(told.seen.added) == 1
        await llm.aclose()
    config = Config(path=tmp_path / "all" / "memories", worker="off", shards=1)
    async with AsyncMemory(config, llm=StandInLLM()) as mem:
        await mem.add("I keep bees in Ghent.", user_id="u", session_id="s")
    done = await names["extract_all"](tmp_path / "all", StandInLLM())
    assert (done.rounds, done.left) == (1, 0)


def test_every_call_that_is_named_is_one_of_these() -> None:
    found = [row for row in rows() if not row[2]]
    assert {row[0] for row in rows()} == {
        *("mem0", "Zep and Graphiti", "langmem", "hindsight")
    }
    assert len(rows()) > 50
    assert all("not here" in note for *_, note in found), found
    assert all(calls(here) for _, _, here, _ in rows() if here)


@pytest.mark.parametrize("library", sorted({row[0] for row in rows()}))
async def test_the_calls_that_stand_for_another_library_s_work(
    library: str, names: dict[str, Any]
) -> None:
    mem: AsyncMemory = names["mem"]
    wanted = [row for row in rows() if row[0] == library]
    for code in dict.fromkeys(code for row in wanted for code in calls(*row[2:])):
        names |= await said(mem)
        if "reinstate" in code:
            await mem.delete(names["fact"], user_id="maya")
        try:
            await run(f"value = {code}", names)
        except Exception as e:
            e.add_note(code)
            raise
        assert names["value"] not in (None, False), code
        narrowed = set(re.findall(r"\w+(?==)", code))
        if ".search(" in code and not narrowed & {"filters", "known_at", "as_of"}:
            assert names["value"].hits or "during" in code, code


@pytest.mark.parametrize(
    "path", [*DOCS, *ROOT.glob("*.md")], ids=lambda path: path.stem
)
def test_every_local_link_of_a_document_leads_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?://)([^)\s]+)\)", text):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        assert target.exists(), link
        if anchor:
            heads = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), flags=re.M)
            slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads}
            assert anchor in slugs, link


def test_no_document_names_a_machine() -> None:
    for path in (*DOCS, *ROOT.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(work|root|home|opt|tmp|Users)/\w", text), (
            path
        )
