"""One run of the bench, whatever the data set: flags, systems, questions, one report."""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.baselines import Baseline
from bench.cache import CachedEmbedder, RememberedReranks
from bench.hmem_system import HmemSystem
from bench.measure import Outcome, Shown, outcome
from bench.report import asked, report, table
from bench.talks import Conversation, Question
from hmem import AsyncMemory, Config
from hmem.backends import make_reranker
from hmem.errors import HmemError
from hmem.protocols import Embedder

SYSTEMS = ("hmem", "bm25", "dense", "recency", "oracle")
_CACHE_HELP = "keep embeddings here between runs (default: %(default)s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """What the bench has to know of a data set.

    `load(path, only=names)` reads it; `categories` are asked, those of `apart` averaged by
    themselves besides. `facts` are what `--facts` may be.
    """

    name: str
    about: str
    form: str
    load: Callable[..., list[Conversation]]
    categories: tuple[str, ...]
    budgets: tuple[int, ...]
    apart: tuple[str, ...] = ()
    facts: tuple[str, ...] = ("none",)


class System(Protocol):
    """Something that remembers conversations and shows blocks."""

    name: str

    async def ingest(self, conversation: Conversation) -> None:
        """Take a conversation in; when this returns it can be asked about."""
        ...

    async def show(
        self, conversation: Conversation, question: Question, budget: int
    ) -> Shown:
        """The block for a question, of at most `budget` tokens."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to run."""

    data: Path
    system: str = "hmem"
    facts: str = "none"
    budgets: tuple[int, ...] = (500, 1000, 2000, 4000)
    conversations: tuple[str, ...] = ()
    cache: Path | None = None
    store: Path | None = None
    stored: str = "int8"
    vectors: str = "auto"
    rerank: str = "none"
    candidates: int = 30


def parse(dataset: DataSet, argv: Sequence[str] | None = None) -> tuple[Options, bool]:
    """The options, and whether to print JSON. Exits on bad ones."""
    parser = argparse.ArgumentParser(
        prog=f"python -m bench.{dataset.name}",
        description=dataset.about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help=dataset.form)
    add("--retrieval-only", action="store_true", help="no answers, no model (required)")
    add("--facts", choices=dataset.facts, default="none")
    add("--system", choices=SYSTEMS, default="hmem")
    add(
        "--budget", type=int, nargs="+", default=list(dataset.budgets), metavar="TOKENS"
    )
    add("--conversations", nargs="+", default=[], metavar="ID", help="default: all")
    add("--cache", type=Path, default=cache_folder(), metavar="DIR", help=_CACHE_HELP)
    add(
        "--store",
        type=Path,
        metavar="DIR",
        help="keep hmem's store here (a new folder)",
    )
    add("--stored", default="int8", metavar="CODEC", help="how hmem stores vectors")
    add("--vectors", default="auto", metavar="INDEX", help="how hmem searches vectors")
    add_reranking(parser)
    add("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(argv)
    if not given.retrieval_only:
        parser.error("only --retrieval-only is here: answers need a language model")
    if min(given.budget) < 1:
        parser.error("a budget must be 1 token or more")
    return (
        Options(
            data=given.data,
            system=given.system,
            facts=given.facts,
            budgets=tuple(sorted(set(given.budget))),
            conversations=tuple(given.conversations),
            cache=given.cache,
            store=given.store,
            stored=given.stored,
            vectors=given.vectors,
            rerank=given.rerank,
            candidates=given.candidates,
        ),
        given.json,
    )


def add_reranking(parser: argparse.ArgumentParser) -> None:
    """The flags by which hmem's best hits are read again."""
    about = "local, or a model at HMEM_RERANK_BASE_URL (default: %(default)s)"
    parser.add_argument("--rerank", default="none", metavar="NAME", help=about)
    parser.add_argument(
        "--candidates",
        type=int,
        default=30,
        metavar="N",
        help="hits that the reranker reads (default: %(default)s)",
    )


def cache_folder() -> Path:
    """Where embeddings are kept between runs."""
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "hmem-bench"
    )


async def run(
    dataset: DataSet, options: Options, *, embedder: Embedder | None = None
) -> dict[str, Any]:
    """Measure one system. `embedder` stands in for the local model (tests).

    Raises ValueError for data or options that cannot be used.
    """
    conversations = dataset.load(options.data, only=options.conversations)
    asking = {c.id: asked(c, dataset.categories) for c in conversations}
    if not any(asking.values()):
        raise ValueError(f"there are no questions of {', '.join(dataset.categories)}")
    async with AsyncExitStack() as stack:
        if options.system in ("hmem", "dense"):
            embedder = await cached(options, embedder, stack)
        if embedder is not None:
            # Asked once before the clock runs: search times are without embedding.
            texts = [q.text for questions in asking.values() for q in questions]
            await embedder.embed(texts, purpose="query")
        system = await make_system(options, embedder, stack)
        began = time.perf_counter()
        for conversation in conversations:
            await system.ingest(conversation)
        ingest_s = time.perf_counter() - began
        shown, outcomes = await ask_all(system, conversations, asking, options.budgets)
        found = report(
            system.name,
            conversations=conversations,
            categories=dataset.categories,
            apart=dataset.apart,
            facts=options.facts == "observations",
            budgets=options.budgets,
            outcomes=outcomes,
            shown=shown,
            ingest_s=ingest_s,
        )
        if isinstance(embedder, CachedEmbedder):
            found["embedder"] = embedder.about()
        if isinstance(system, HmemSystem):
            found["config"] = system.about()
            found["problems"].update(system.problems())
        return found


def main(dataset: DataSet, argv: Sequence[str] | None = None) -> int:
    """Run and print. 1 when a block was over budget or the figures cannot be trusted."""
    options, as_json = parse(dataset, argv)
    try:
        found = asyncio.run(run(dataset, options))
    except (HmemError, ValueError, OSError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=2) if as_json else table(found))
    bad = {name: value for name, value in found["problems"].items() if value}
    if bad:
        print(f"THESE FIGURES CANNOT BE TRUSTED: {json.dumps(bad)}", file=sys.stderr)
    return 1 if bad else 0


async def cached(
    options: Options, embedder: Embedder | None, stack: AsyncExitStack
) -> Embedder:
    """The embedder, or the local model, remembering on disk what it has embedded."""
    if embedder is None:
        from hmem.embed.minilm import MiniLM  # noqa: PLC0415  an extra

        embedder = MiniLM.load()
    folder = options.cache
    if folder is None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    cached = CachedEmbedder(embedder, folder)
    stack.push_async_callback(cached.aclose)
    return cached


async def make_system(
    options: Options,
    embedder: Embedder | None,
    stack: AsyncExitStack,
    *,
    again: bool = False,
) -> System:
    """The system that the options name. `again`: it is asked the same more than once, and
    what a reranker says is remembered. Raises ValueError."""
    facts = options.facts == "observations"
    if options.system != "hmem":
        return Baseline(options.system, facts=facts, embedder=embedder)
    folder = options.store
    if folder is None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "store"
    elif folder.exists():
        raise ValueError(f"--store {folder} exists: a bench starts from an empty store")
    # A loaded machine may be slow; a search that gave up on its query vector would
    # measure the machine. One message of BEAM is far longer than people's are.
    settings = Config.from_env()
    config = Config(
        max_message_chars=10_000_000,
        max_messages=100_000,
        path=folder,
        stored=options.stored,
        vectors=options.vectors,
        query_embed_timeout=60.0,
        rerank=options.rerank,
        rerank_base_url=settings.rerank_base_url,
        rerank_api_key=settings.rerank_api_key,
        rerank_candidates=options.candidates,
        rerank_timeout=60.0,
    )
    reranker = make_reranker(config, embedder) if again else None
    if reranker is not None:
        reranker = RememberedReranks(reranker)
        stack.push_async_callback(reranker.aclose)
    memory = AsyncMemory(config, embedder=embedder, reranker=reranker)
    await stack.enter_async_context(memory)
    return HmemSystem(memory, facts)


async def ask_all(
    system: System,
    conversations: Sequence[Conversation],
    asking: Mapping[str, Sequence[Question]],
    budgets: Sequence[int],
) -> tuple[list[dict[int, Shown]], list[Outcome]]:
    """Every question at every budget: the blocks, and what they are worth."""
    shown: list[dict[int, Shown]] = []
    outcomes: list[Outcome] = []
    for conversation in conversations:
        for question in asking[conversation.id]:
            blocks = {b: await system.show(conversation, question, b) for b in budgets}
            shown.append(blocks)
            outcomes.append(outcome(conversation.id, question, blocks))
    return shown, outcomes
