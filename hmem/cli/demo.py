"""`hmem demo`: a bundled conversation is remembered, questions are answered, checked.

The answers are found turns, nothing else: no language model runs. Each question names the
turn that has to be among the first, so that the demo can fail.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from hmem import AddResult, AsyncMemory, Block, Config, Hit
from hmem.embed.weights import MINILM, find_weights
from hmem.installed import how_to_add

PATIENCE = 120.0
"""Seconds for one session's job; a demo must not hang."""
SHOWN = 3
"""How many turns are shown, and among how many the expected one has to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was found for one of the script's questions. `wrong` is empty if all is well."""

    title: str
    ask: str
    expect: str
    hits: tuple[Hit, ...]
    wrong: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that the demo did."""

    ran: Mapping[str, str]
    receipts: Mapping[str, AddResult]
    answers: tuple[Answer, ...]
    asked: str
    block: Block
    max_tokens: int
    add_ms: float
    search_ms: float

    @property
    def ok(self) -> bool:
        """Whether every job ended well and every expected turn was found."""
        ended = all(result.status == "done" for result in self.receipts.values())
        fits = 0 < self.block.tokens <= self.max_tokens
        return ended and fits and not any(answer.wrong for answer in self.answers)


def load_script() -> dict[str, Any]:
    """The bundled conversation and its questions."""
    script: dict[str, Any] = json.loads(
        (files("hmem") / "data" / "demo.json").read_text(encoding="utf-8")
    )
    return script


def demonstrate(config: Config, *, path: Path | None = None) -> Report:
    """Run the demo in `path`, or in a folder that is removed afterwards."""
    place = (
        nullcontext(str(path)) if path else tempfile.TemporaryDirectory(prefix="hmem-")
    )
    with place as folder:
        here = replace(
            config, path=folder, mode="raw", worker="inline", read_only=False
        )
        return asyncio.run(_run(here, load_script(), kept=path is not None))


async def _run(config: Config, script: Mapping[str, Any], *, kept: bool) -> Report:
    async with AsyncMemory(config) as mem:
        started = time.perf_counter()
        receipts = {
            session["session_id"]: await remember(mem, script["user_id"], session)
            for session in script["sessions"]
        }
        added = time.perf_counter()
        stats = await mem.admin.stats()
        vectors = stats["space"] is not None and stats["embedder"] is not None
        questions = [
            question
            for question in script["questions"]
            if vectors or not question.get("needs_vectors")
        ]
        asked = time.perf_counter()
        answers = [await _answer(mem, script, question) for question in questions]
        answered = time.perf_counter()
        wanted = script["context"]
        block = await mem.context(
            wanted["ask"],
            user_id=script["user_id"],
            max_tokens=wanted["max_tokens"],
            asked_at=script["asked_at"],
        )
    return Report(
        ran=_what_ran(config, script, stats, kept=kept),
        receipts=receipts,
        answers=tuple(answers),
        asked=wanted["ask"],
        block=block,
        max_tokens=wanted["max_tokens"],
        add_ms=(added - started) * 1000,
        search_ms=(answered - asked) * 1000 / len(answers),
    )


async def remember(
    mem: AsyncMemory, user_id: str, session: Mapping[str, Any]
) -> AddResult:
    """Add one session and wait for its receipt."""
    receipt = await mem.add(
        [
            {"role": role, "content": text, "id": f"{session['session_id']}-{n}"}
            | ({"name": user_id.capitalize()} if role == "user" else {})
            for n, (role, text) in enumerate(session["turns"])
        ],
        user_id=user_id,
        session_id=session["session_id"],
        observed_at=session["observed_at"],
    )
    return await receipt.result(timeout=PATIENCE)


async def _answer(
    mem: AsyncMemory, script: Mapping[str, Any], question: Mapping[str, Any]
) -> Answer:
    """Ask one question and check what came back."""
    during = question.get("during")
    found = await mem.search(
        question["ask"],
        user_id=script["user_id"],
        k=SHOWN,
        asked_at=script["asked_at"],
        as_of=question.get("as_of"),
        during=tuple(during) if during else None,
    )
    return Answer(
        title=question["title"],
        ask=question["ask"],
        expect=question["expect"],
        hits=found.hits,
        wrong=_wrong(question, found.hits),
    )


def _wrong(question: Mapping[str, Any], hits: tuple[Hit, ...]) -> str:
    """What is wrong with these hits, or nothing."""
    days = [hit.at.date().isoformat() for hit in hits]
    first, last = question.get("during") or ("", question.get("as_of") or "9999")
    if any(not first <= day <= last for day in days):
        return "a turn from outside the time asked for was found"
    if not any(question["expect"] in hit.text for hit in hits):
        return f"no turn with {question['expect']!r} was found"
    return ""


def _what_ran(
    config: Config, script: Mapping[str, Any], stats: Mapping[str, Any], *, kept: bool
) -> dict[str, str]:
    """What this run consisted of, by name."""
    sessions = script["sessions"]
    turns = sum(len(session["turns"]) for session in sessions)
    first, last = (sessions[i]["observed_at"][:10] for i in (0, -1))
    end = "kept" if kept else "removed at the end; --path DIR keeps one"
    return {
        "mode": "raw: turns are kept word for word; no language model ran",
        "embedder": embedder_line(config, stats),
        "codec": f"{config.stored}, as vectors are stored",
        "store": f"{config.folder} ({end})",
        "turns": f"{turns} in {len(sessions)} sessions, {first} to {last}",
    }


def embedder_line(config: Config, stats: Mapping[str, Any]) -> str:
    """Which embedder ran, or why none did."""
    if stats["embedder"] is not None and stats["space"] is not None:
        where = "on this machine" if stats["embedder"] == MINILM else "by configuration"
        return f"{stats['embedder']} {where}, {stats['space']['dim']} dimensions"
    if config.embed == "none":
        return "lexical only: no embedder is asked here (HMEM_EMBED)"
    if find_weights() is None:
        return "lexical only: no weights found, run hmem models install minilm"
    return f"lexical only: the weights need {how_to_add('local')}"
