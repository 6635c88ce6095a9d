"""What extraction costs: calls and exact tokens, and money at stated example prices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from bench.tokens import count
from hmem.protocols import LLM, Completion, Rung

MEM0_PROMPT = {"tokens": 8_400, "characters": 33_700}
"""The fixed system prompt of mem0's extraction, as measured in its open version."""
EXAMPLE_PRICES: Mapping[str, tuple[float, float]] = {
    "a small hosted model": (0.15, 0.60),
    "a large hosted model": (2.50, 10.00),
}
"""Per million tokens in and out. Examples of the order of magnitude, no offers."""


@dataclass(slots=True)
class Tokens:
    """Requests that were answered and their exact cl100k tokens; of the prompts' tokens,
    those of system messages apart."""

    calls: int = 0
    prompt: int = 0
    system: int = 0
    completion: int = 0


@dataclass(slots=True)
class CountingLLM:
    """An LLM that counts what passes through another one, whatever that one reports."""

    inner: LLM
    tokens: Tokens = field(default_factory=Tokens)

    @property
    def model(self) -> str:
        """The inner model's name."""
        return self.inner.model

    @property
    def endpoint(self) -> str:
        """Where the inner one asks; its name where it asks nowhere."""
        return str(getattr(self.inner, "endpoint", f"inner:{self.inner.model}"))

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """The inner model's answer, counted."""
        answer = await self.inner.complete(
            messages, schema=schema, rung=rung, max_tokens=max_tokens
        )
        system = [m["content"] for m in messages if m["role"] == "system"]
        fixed = sum(map(_count, system))  # the same text again and again
        others = (m["content"] for m in messages if m["role"] != "system")
        self.tokens.calls += 1
        self.tokens.prompt += fixed + sum(map(count, others))
        self.tokens.system += fixed
        self.tokens.completion += count(_text(answer.content))
        return answer

    async def aclose(self) -> None:
        """Close the inner one."""
        await self.inner.aclose()


def per_turns(tokens: Tokens, turns: int) -> dict[str, Any]:
    """What was counted, per 100 turns, and money per 1,000."""
    share = 100 / turns if turns else 0.0
    return {
        "turns": turns,
        "calls": tokens.calls,
        "per_100_turns": {
            "calls": round(tokens.calls * share, 1),
            "prompt_tokens": round(tokens.prompt * share),
            "of_them_fixed_prompt": round(tokens.system * share),
            "completion_tokens": round(tokens.completion * share),
        },
        "dollars_per_1000_turns": {
            name: round(dollars(tokens, price) * share * 10, 4)
            for name, price in EXAMPLE_PRICES.items()
        },
        "counted": "exact cl100k, by the bench",
    }


def dollars(tokens: Tokens, price: tuple[float, float]) -> float:
    """The price of the tokens at so much per million in and out."""
    return (tokens.prompt * price[0] + tokens.completion * price[1]) / 1e6


def fixed_prompt(prompt: str) -> dict[str, Any]:
    """The size of a fixed system prompt beside mem0's."""
    tokens = count(prompt)
    return {
        "tokens": tokens,
        "characters": len(prompt),
        "mem0": dict(MEM0_PROMPT),
        "share_of_mem0": round(tokens / MEM0_PROMPT["tokens"], 3),
    }


@lru_cache(maxsize=16)
def _count(text: str) -> int:
    return count(text)


def _text(content: object) -> str:
    return "" if content is None else str(content)
