"""The loop of rounds: open, work until nothing moves, hand out what waits, take answers."""

import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import anyio

from hmem.errors import LLMError
from hmem.protocols import LLM
from hmem.replay.cassette import Cassette
from hmem.replay.edges import in_thread
from hmem.replay.roundfile import Line, line_of, read_lines
from hmem.replay.rounds import RoundsLLM

log = logging.getLogger("hmem.replay")
_LOOK = 0.05
"""Seconds between two looks at the queue."""
SETTLE = 2.5
"""Seconds without a change that end a round: more than a waiting job is set aside for, so
that a round holds what all users wait for."""
_RUNNING = 10


class Counts(Protocol):
    """What of `mem.admin` is used."""

    async def stats(self) -> Mapping[str, Any]:
        """Its `jobs` count jobs by status."""
        ...


class Working(Protocol):
    """What of an AsyncMemory is used."""

    async def open(self) -> Any:
        """Begin to work off what is queued."""
        ...

    async def aclose(self, *, timeout: float) -> None:
        """Stop; what is not done stays queued."""
        ...

    @property
    def admin(self) -> Counts:
        """Its counts."""
        ...


Respond = Callable[[Path], Awaitable[Path | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a loop did: `rounds` written, `answers` taken; `left` counts the jobs that are
    still queued, 0 when all is done."""

    rounds: int
    answers: int
    left: int


async def run_rounds(
    make_memory: Callable[[RoundsLLM], Working],
    respond: Respond,
    folder: Path,
    *,
    llm: RoundsLLM | None = None,
    most: int | None = None,
    settle: float = SETTLE,
    patience: float = 60.0,
) -> Ran:
    """Work off what is queued in a memory with answers from outside.

    `make_memory` makes the memory, not open yet, with the LLM that it is given: one and
    the same `llm` each time, by default one over `folder/answers.txt`. `respond` gets each
    round's file and returns a file of answers, which may be the same, filled in; with None
    the loop ends, and goes on where it stopped when it is run again.

    Ends too when nothing is queued, after `most` rounds, when a round brought no new
    answer, and when for `patience` seconds nothing moved although nothing is pending.
    """
    llm = llm or RoundsLLM(Cassette(folder / "answers.txt"))
    rounds = answers = 0
    while True:
        left = await _work(lambda: make_memory(llm), llm, settle, patience)
        if not left or (most is not None and rounds >= most):
            break
        file = await in_thread(llm.write_round, folder)
        if file is None:
            break
        rounds += 1
        replies = await respond(file)
        if replies is None:
            break
        taken = await in_thread(llm.take_round, replies)
        answers += taken.new
        if not taken.new:
            break
    await llm.aclose()
    return Ran(rounds=rounds, answers=answers, left=left)


async def quiet(
    memory: Working, llm: RoundsLLM, *, settle: float = SETTLE, patience: float = 60.0
) -> int:
    """Wait until nothing is queued, or nothing moves any more; return what is queued.

    Nothing moves when for `settle` seconds (ten times that while a job runs) none ended
    and nothing new was asked, and requests are pending. Without pending ones it takes
    `patience` seconds, since then jobs wait for something else. To stop too early costs
    nothing but a smaller round.
    """
    last: tuple[int, int] | None = None
    since = time.monotonic()
    while True:
        jobs = (await memory.admin.stats())["jobs"]
        running = int(jobs.get("running", 0))
        left = int(jobs.get("queued", 0)) + running
        if not left:
            return 0
        if (left, llm.pending) != last:
            last, since = (left, llm.pending), time.monotonic()
        limit = settle * (_RUNNING if running else 1) if llm.pending else patience
        if time.monotonic() - since >= limit:
            return left
        await anyio.sleep(min(_LOOK, settle))


def answered_by(llm: LLM, *, parallel: int = 8) -> Respond:
    """A `respond` that asks another chat model; see `answer_round`."""

    async def respond(file: Path) -> Path:
        return await answer_round(file, llm, parallel=parallel)

    return respond


async def answer_round(
    file: Path, llm: LLM, *, to: Path | None = None, parallel: int = 8
) -> Path:
    """Have a chat model answer a round; return the file of its answers.

    By default that is `round-NNNN.answers.jsonl` beside it. Each answer is appended when it
    is there, and what the file holds is not asked again, so that a round may be broken off.
    What the model fails at (LLMError) is left out: it is asked again in the next round.
    """
    to = to or file.with_suffix(".answers.jsonl")
    lines = (await in_thread(read_lines, file))[0]
    have = await in_thread(_mend, to)
    limiter, turn = anyio.CapacityLimiter(parallel), anyio.Lock()

    async def answer(line: Line) -> None:
        async with limiter:
            reply = await _reply(llm, line)
        if reply is not None:
            async with turn:
                await in_thread(_append, to, reply)

    async with anyio.create_task_group() as group:
        for line in lines:
            if line.key not in have:
                group.start_soon(answer, line)
    return to


async def _work(
    make: Callable[[], Working], llm: RoundsLLM, settle: float, patience: float
) -> int:
    """Open a memory, work until nothing moves, close it; return what is left."""
    memory = make()
    await memory.open()
    try:
        return await quiet(memory, llm, settle=settle, patience=patience)
    finally:
        await memory.aclose(timeout=0.0)


async def _reply(llm: LLM, line: Line) -> str | None:
    """A request's answer as a line; None where there is none."""
    asked = line.request
    if asked is None:
        return None
    try:
        reply = await llm.complete(
            asked.messages,
            schema=asked.schema,
            rung=asked.rung,
            max_tokens=asked.max_tokens,
        )
    except LLMError as e:
        log.warning("request %s was not answered: %s", line.key, e)
        return None
    return line_of(
        {
            "key": line.key,
            "reply": reply.content,
            "finish": reply.finish,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
        }
    )


def _mend(answers: Path) -> set[str]:
    """Make the file of answers, or an end of one that breaks off; the keys it holds."""
    _append(answers, "")
    lines, cut = read_lines(answers)
    if cut:
        whole = answers.read_bytes()
        os.truncate(answers, whole.rindex(b"\n") + 1 if b"\n" in whole else 0)
    return {line.key for line in lines if line.answer is not None}


def _append(answers: Path, line: str) -> None:
    fd = os.open(answers, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open(fd, "a", encoding="utf-8", newline="\n") as file:
        file.write(line)
