"""A memory in reconcile mode whose model says what a test wrote for it."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hmem import AddResult, AsyncMemory, Config, HistoryEvent, MemoryRecord
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import ScriptedLLM, fact, facts

Open = Callable[..., Any]
_NUMBERED = re.compile(r"^\[(\d+)\] (.*) \((said|since) \d{4}-\d\d-\d\d\)$", re.M)
JANUARY, MARCH, MAY = "2026-01-05", "2026-03-01", "2026-05-08"


def defect(what: str) -> pytest.MarkDecorator:
    """What is known to be wrong. Once it is right, the test fails until this is gone."""
    return pytest.mark.xfail(reason=what, strict=True, raises=AssertionError)


class Judge(ScriptedLLM):
    """Extracts what is written for a turn, and decides as told. `judged` holds the lists
    of each second call."""

    def __init__(self, told: Mapping[str, object], decide: object = ()) -> None:
        super().__init__(self._answer)
        self.told = dict(told)
        self.decide = decide
        self.extracted: list[str] = []
        self.judged: list[tuple[list[str], list[str]]] = []

    def _answer(self, messages: Sequence[Mapping[str, str]]) -> object:
        text = messages[-1]["content"]
        if "Say OK" in text:
            return "OK"
        if not text.startswith("CANDIDATES"):
            new = text.split("NEW TURNS\n")[1]
            self.extracted.append(new)
            return next((f for key, f in self.told.items() if key in new), facts())
        known = text.partition("MEMORIES\n")
        lists = tuple([m[2] for m in _NUMBERED.finditer(p)] for p in known[::2])
        self.judged.append((lists[0], lists[1]))
        made = self.decide(*lists) if callable(self.decide) else self.decide
        return {"decisions": made} if isinstance(made, (list, tuple)) else made


def verdict(candidate: int, action: str, *memory: int, why: str = "") -> dict[str, Any]:
    return {
        "candidate": candidate,
        "reason": why,
        "action": action,
        "memory": list(memory),
    }


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(
        path=tmp_path / "m",
        shards=1,
        embed="none",
        mode="reconcile",
        durability="normal",
        lease=5,
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of milliseconds."""
    for name in ("hmem.worker._BASE", "hmem.parts._BASE", "hmem.parts._CAP"):
        monkeypatch.setattr(name, 0.01)


@pytest.fixture
async def opened(config: Config) -> AsyncIterator[Open]:
    open_: list[AsyncMemory] = []

    async def make(llm: Any, *, lexical: bool = False, **changes: Any) -> AsyncMemory:
        embedder = None if lexical else HashEmbedder(256)
        mem = AsyncMemory(replace(config, **changes), llm=llm, embedder=embedder)
        open_.append(await mem.open())
        return mem

    yield make
    for mem in open_:
        await mem.aclose(timeout=0.1)


async def says(
    mem: AsyncMemory, text: str, day: str, *, user: str = "maya"
) -> AddResult:
    """What came of one turn."""
    receipt = await mem.add(
        {"role": "user", "name": user.capitalize(), "content": text},
        user_id=user,
        observed_at=day,
    )
    return await receipt.result(timeout=20)


async def known(mem: AsyncMemory, user: str = "maya") -> list[str]:
    """The texts of the open facts."""
    page = await mem.get_all(user_id=user, kinds="memory")
    return [row.text for row in page]


async def one(mem: AsyncMemory, id_: str | None, user: str = "maya") -> MemoryRecord:
    row = await mem.get(str(id_), user_id=user)
    assert isinstance(row, MemoryRecord)
    return row


async def told(mem: AsyncMemory, id_: str) -> list[tuple[str, str | None]]:
    """The history that one version tells: events with their reasons."""
    events: list[HistoryEvent] = await mem.history(id_, user_id="maya")
    return [(event.event, event.reason) for event in events]


BRISTOL = facts(fact("Maya lives in Bristol", entities=["Maya", "Bristol"]))
GHENT = facts(fact("Maya lives in Ghent now", entities=["Maya", "Ghent"]))
MOVES = {"Bristol.": BRISTOL, "Ghent": GHENT}


async def moved(mem: AsyncMemory) -> AddResult:
    """Somebody lives in one city, and says in March that it is another."""
    first = await says(mem, "I live in Bristol.", JANUARY)
    assert (first.status, len(first.added)) == ("done", 1)
    return await says(mem, "I live in Ghent now!", MARCH)
