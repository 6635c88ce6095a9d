"""A chat model that says what a test tells it to.

    llm = ScriptedLLM(["first", LLMError("no", why="busy"), Hang(), Late(0.5, "second")])
    llm = ScriptedLLM({"Ghent": facts("Maya lives in Ghent"), "": facts()})
    llm = ScriptedLLM(lambda messages: messages[-1]["content"].upper())

It understands nothing; `hmem.testing.standin.StandInLLM` at least copies.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hmem.errors import ClosedError, LLMError
from hmem.protocols import Completion, Rung

Messages = Sequence[Mapping[str, str]]
Step = object
"""What to do at a call: a text, a JSON value or None is the content of the answer, a
Completion the whole of it, an exception is raised; `Hang`, `Late`, `Cut`, `Refused`."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Answer nothing until `release()`, and then `step`."""

    step: Step = None


@dataclass(frozen=True, slots=True)
class Late:
    """Wait so many seconds before the step."""

    seconds: float
    step: Step


@dataclass(frozen=True, slots=True)
class Cut:
    """An answer that ends at the token limit."""

    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The model, or a filter, declines."""

    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What was asked."""

    messages: tuple[Mapping[str, str], ...]
    schema: Mapping[str, Any] | None = field(repr=False)
    rung: Rung
    max_tokens: int | None

    @property
    def text(self) -> str:
        """The contents of all messages."""
        return "\n".join(message["content"] for message in self.messages)


class ScriptedLLM:
    """An LLM that follows a script and records its `calls`.

    The script is a list of steps, one per call; or a mapping whose first key that occurs
    in a message decides ("" always does), for calls in any order; or a function of the
    messages, which may be a coroutine function. When a list is at its end or no key
    occurs, `then` is the step; without it the call raises LLMError, `why="input"`, and is
    counted in `unexpected`, so that a test can tell.

    Tokens are words, but where a step is a Completion. `rungs` are the
    forms of JSON that it takes: a schema on another one raises LLMError, `why="form"`.
    """

    def __init__(
        self,
        script: Iterable[Step] | Mapping[str, Step] | Callable[[Messages], Step] = (),
        *,
        then: Step = ...,
        model: str = "scripted",
        rungs: Iterable[Rung] = ("json_schema", "json_object", "plain"),
    ) -> None:
        self.model = model
        self.then = then
        self.rungs = tuple(rungs)
        self.calls: list[Call] = []
        self.unexpected = 0
        self.waiting = 0
        self.closed = False
        self._choose: Mapping[str, Step] | Callable[[Messages], Step] | None = None
        self._steps: list[Step] = []
        self._released = asyncio.Event()
        if isinstance(script, Mapping) or callable(script):
            self._choose = script
        else:
            self.say(*script)

    def say(self, *steps: Step) -> None:
        """Add steps, which come before what a mapping or a function says."""
        self._steps.extend(steps)

    def release(self) -> None:
        """Let all calls that hang through, and those that would. `waiting` counts those
        that hang now."""
        self._released.set()

    async def complete(
        self,
        messages: Messages,
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """Do the next step."""
        if self.closed:
            raise ClosedError("the chat model is closed")
        said = tuple(dict(message) for message in messages)
        self.calls.append(
            Call(messages=said, schema=schema, rung=rung, max_tokens=max_tokens)
        )
        await asyncio.sleep(0)  # a real one would wait, too
        if schema is not None and rung not in self.rungs:
            raise LLMError(f"no {rung} here", why="form", retryable=False)
        step = self._next(said)
        step = await step if inspect.isawaitable(step) else step
        return await self._do(step, sum(len(m["content"].split()) for m in said))

    async def aclose(self) -> None:
        """Refuse further calls."""
        self.closed = True

    def _next(self, messages: Messages) -> Step:
        if self._steps:
            return self._steps.pop(0)
        if callable(self._choose):
            return self._choose(messages)
        text = "\n".join(message["content"] for message in messages)
        for key, step in (self._choose or {}).items():
            if key in text:
                return step
        if self.then is not ...:
            return self.then
        self.unexpected += 1
        return LLMError("the script has no step for this call", why="input")

    async def _do(self, step: Step, asked: int) -> Completion:
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, Late):
            await asyncio.sleep(step.seconds)
            return await self._do(step.step, asked)
        if isinstance(step, Hang):
            await self._hang()
            return await self._do(step.step, asked)
        if isinstance(step, Completion):
            return step
        content, finish = _content(step)
        return Completion(
            content=content,
            finish=finish,
            prompt_tokens=asked,
            completion_tokens=len(str(content or "").split()),
        )

    async def _hang(self) -> None:
        self.waiting += 1
        try:
            await self._released.wait()
        finally:
            self.waiting -= 1


def _content(step: Step) -> tuple[object, Literal["stop", "length", "refused"]]:
    if isinstance(step, Cut):
        return step.text, "length"
    if isinstance(step, Refused):
        return step.text, "refused"
    return step, "stop"


def fact(
    text: str,
    *,
    turns: Sequence[int] = (0,),
    quote: str = "",
    category: Literal["semantic", "episodic", "procedural"] = "semantic",
    when: str = "",
    importance: int = 5,
    entities: Sequence[str] = (),
    group: int = 0,
    replaces: int | None = None,
    reason: str = "",
) -> dict[str, Any]:
    """One fact as an extraction reply has it. `turns` are positions among the new turns of
    the prompt, `replaces` one among its memories."""
    return {
        "turns": list(turns),
        "quote": quote,
        "fact": text,
        "category": category,
        "when": when,
        "importance": importance,
        "entities": list(entities),
        "group": group,
        "replaces": [] if replaces is None else [replaces],
        "reason": reason,
    }


def facts(*found: str | Mapping[str, Any]) -> dict[str, Any]:
    """An extraction reply with these facts (none: there was nothing to keep)."""
    return {"facts": [fact(f) if isinstance(f, str) else dict(f) for f in found]}
