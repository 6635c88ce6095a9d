"""What `hmem doctor` asks the models: each one thing, which tells whether it can be used."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from hmem.cli.checks import Check, broken, note, ok
from hmem.config import Config
from hmem.errors import HmemError
from hmem.protocols import Space

PATIENCE = 60.0
"""Seconds for one model, however often it is asked."""
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "maxLength": 20}},
    "required": ["colour"],
    "additionalProperties": False,
}
_ASKED = [
    {"role": "system", "content": 'Answer with JSON of the form {"colour": "..."}.'},
    {"role": "user", "content": "Which colour has the sky?"},
]


async def of_the_models(config: Config) -> AsyncIterator[Check]:
    """The embedder, the reranker where one is wanted, and the chat model, each asked
    once."""
    yield await _guarded("embedder", _embedder(config))
    if config.rerank.strip() != "none":
        yield await _guarded("reranker", _reranker(config))
    yield await _guarded("chat model", _chat_model(config))


async def _guarded(name: str, check: Any) -> Check:
    """What a check found; an error of a model or of the settings is what it found."""
    try:
        async with asyncio.timeout(PATIENCE):
            found: Check = await check
    except HmemError as e:
        return broken(name, " ".join(str(e).split()))
    except TimeoutError:
        return broken(name, f"no answer within {PATIENCE:.0f} s")
    return found


async def _embedder(config: Config) -> Check:
    from hmem.backends import make_embedder

    embedder = await asyncio.to_thread(make_embedder, config)
    if embedder is None:
        return _no_embedder(config)
    try:
        begun = time.perf_counter()
        vectors = await embedder.embed(["hello"], purpose="query")
        took = (time.perf_counter() - begun) * 1000
    finally:
        await embedder.aclose()
    detail = (
        f"{embedder.model}, {vectors.shape[1]} dimensions, {took:.0f} ms a question"
    )
    return _fits(config, embedder.model, int(vectors.shape[1]), detail)


def _no_embedder(config: Config) -> Check:
    """Whether that matters, and what can be done."""
    from hmem.embed.weights import HOW_TO_GET_IT

    space = _space(config)
    if space is not None and not config.allow_degraded:
        return broken(
            "embedder",
            f"none, but the store holds vectors of {space.model}: {HOW_TO_GET_IT};"
            " name that model in HMEM_EMBED; or HMEM_ALLOW_DEGRADED=1",
        )
    how = "" if config.embed == "none" else f": {HOW_TO_GET_IT}"
    return note("embedder", f"none, so searches go by words alone{how}")


def _fits(config: Config, model: str, dim: int, detail: str) -> Check:
    """Whether it is the model of the store's vectors."""
    space = _space(config)
    if space is not None and (space.model, space.dim) != (model, dim):
        return broken(
            "embedder",
            f"{detail}; but the store holds vectors of {space.model} ({space.dim})",
        )
    return ok("embedder", detail)


def _space(config: Config) -> Space | None:
    """The model of the store's vectors."""
    from hmem.stores.manifest import read_manifest

    manifest = read_manifest(config.folder)
    return None if manifest is None else manifest.space


async def _reranker(config: Config) -> Check:
    """Whether it answers. What it says is not judged."""
    from hmem.backends import make_reranker
    from hmem.rerank.checks import rerank

    reranker = await asyncio.to_thread(make_reranker, config)
    assert reranker is not None
    begun = time.perf_counter()
    try:
        await rerank(reranker, "hello", ["hello", "goodbye"])
    finally:
        await reranker.aclose()
    took = (time.perf_counter() - begun) * 1000
    return ok("reranker", f"{reranker.model}, {took:.0f} ms for two texts")


async def _chat_model(config: Config) -> Check:
    """Whether the model answers, and the strictest form of JSON that it gives."""
    from hmem.backends import make_llm
    from hmem.chat.ladder import Ladder, Schema
    from hmem.errors import ExtractionError

    llm = await asyncio.to_thread(make_llm, config)
    if llm is None:
        return note("chat model", "none (HMEM_LLM): what is said is kept word for word")
    schema = Schema("doctor", "1", _SCHEMA)
    begun = time.perf_counter()
    try:
        answer = await Ladder(llm).ask(
            _ASKED, schema=schema, read=_colour, purpose="doctor", max_tokens=200
        )
    except ExtractionError as e:
        return broken("chat model", f"{llm.model} answers, without usable JSON: {e}")
    finally:
        await llm.aclose()
    took = (time.perf_counter() - begun) * 1000
    return ok("chat model", f"{llm.model}: JSON as {answer.usage.rung}, {took:.0f} ms")


def _colour(value: Any) -> str:
    """What was asked for. Raises Unreadable for anything else."""
    from hmem.chat.peel import Unreadable

    if isinstance(value, dict) and isinstance(value.get("colour"), str):
        return str(value["colour"])
    raise Unreadable("an object with a colour was asked for")
