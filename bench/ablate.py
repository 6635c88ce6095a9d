"""What each signal of hmem's read path is worth: all of them, then all but one.

    python -m bench.ablate --data locomo.json [--facts observations]
    python -m bench.ablate --data 100K

A file is read as LoCoMo's, a folder as BEAM's. Conversations are taken in once and asked
again with other weights. Where a signal of a row's own is left out, the others of its kind
are scaled up to their old sum. Signals that are off by default are put in instead. With
--rerank the variants are the reranker's share of a score.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.beam import BEAM
from bench.hmem_system import HmemSystem
from bench.locomo import LOCOMO
from bench.measure import Outcome
from bench.report import asked
from bench.running import (
    Options,
    add_reranking,
    ask_all,
    cache_folder,
    cached,
    make_system,
)
from hmem.errors import HmemError
from hmem.protocols import Embedder
from hmem.scoring import Weights

_OWN = {
    "turn": ("dense", "window_dense", "words", "window_words", "speaker"),
    "fact": ("dense", "words", "named"),
}
_PUT_IN: Mapping[str, Mapping[str, Any]] = {
    "with facts lending to their turns": {"turn_facts": 0.3},
    "with hops by names and links": {"fact_hops": 0.2},
    "with restatements shown": {"restatements": True},
    "with ranks for values, k = 10": {"fusion": "rrf", "rrf_k": 10.0},
    "with ranks for values, k = 60": {"fusion": "rrf", "rrf_k": 60.0},
}
_LEFT_OUT: Mapping[str, Mapping[str, Any]] = {
    "without what turns lend near them": {"turn_near": 0.0},
    "without what turns lend their facts": {"fact_sources": 0.0},
    "without times": {"time": 0.0},
    "without a prior for the user": {"role_any": 1.0, "role_user": 1.0},
    "with one prior for all questions": {"role_user": Weights().role_any},
    "without cutting long lines": {"gist_chars": 0},
    "without cutting but for questions for all": {"whole_tokens": 1_000_000},
    "without a spread over sessions": {"spread_toll": 0.0},
}


_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def variants(*, reranked: bool = False) -> dict[str, Weights]:
    """Weights by what is different about them; where hits are `reranked` that is how much
    of a score the reranker has."""
    usual = Weights()
    if reranked:
        shares = {f"share {s:g}": replace(usual, rerank=s) for s in _SHARES}
        return {"all": usual, **shares}
    found = {"all": usual}
    for kind, signals in _OWN.items():
        for signal in signals:
            name = f"{kind}_{signal}"
            found[f"without {name}"] = without(usual, kind, (signal,))
    found["without windows"] = without(usual, "turn", ("window_dense", "window_words"))
    for name, change in {**_LEFT_OUT, **_PUT_IN}.items():
        found[name] = replace(usual, **change)
    return found


def without(weights: Weights, kind: str, signals: Sequence[str]) -> Weights:
    """Weights whose other signals of a kind add up to what all of them did."""
    held = {s: getattr(weights, f"{kind}_{s}") for s in _OWN[kind]}
    left = {s: v for s, v in held.items() if s not in signals}
    scale = sum(held.values()) / sum(left.values())
    changes = {f"{kind}_{s}": left.get(s, 0.0) * scale for s in held}
    return replace(weights, **changes)


async def ablate(
    options: Options, names: Sequence[str] = (), *, embedder: Embedder | None = None
) -> dict[str, Any]:
    """Recall by variant and budget, and by conversation. Raises ValueError."""
    dataset = BEAM if options.data.is_dir() else LOCOMO
    conversations = dataset.load(options.data, only=options.conversations)
    asking = {c.id: asked(c, dataset.categories) for c in conversations}
    found: dict[str, Any] = {}
    async with AsyncExitStack() as stack:
        embedder = await cached(options, embedder, stack)
        system = await make_system(options, embedder, stack, again=True)
        if not isinstance(system, HmemSystem):
            raise ValueError("only hmem's signals can be left out")
        for conversation in conversations:
            await system.ingest(conversation)
        for name, weights in variants(reranked=options.rerank != "none").items():
            if names and name != "all" and name not in names:
                continue
            system.weigh(weights)
            _, outcomes = await ask_all(system, conversations, asking, options.budgets)
            found[name] = {
                "evidence_recall": _recall(outcomes, options.budgets),
                "by_conversation": {
                    c.id: _recall(
                        [o for o in outcomes if o.conversation == c.id],
                        options.budgets,
                    )
                    for c in conversations
                },
                "per_category": {
                    category: _recall(
                        [o for o in outcomes if o.category == category],
                        options.budgets,
                    )
                    for category in dataset.categories
                },
            }
    return found


def table(found: Mapping[str, Any]) -> str:
    """Recall of each variant, and what it lacks to that of all signals."""
    usual = found["all"]["evidence_recall"]
    lines = [f"{'':40}" + "".join(f"{b:>16}" for b in usual)]
    for name, one in found.items():
        cells = [
            f"{value:.3f} ({value - usual[budget]:+.3f})"
            for budget, value in one["evidence_recall"].items()
        ]
        lines.append(f"{name:40}" + "".join(f"{c:>16}" for c in cells))
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.ablate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="a file of LoCoMo, a folder of BEAM")
    add("--facts", choices=LOCOMO.facts, default="none")
    add("--budget", type=int, nargs="+", default=[500, 1000, 2000], metavar="TOKENS")
    add("--conversations", nargs="+", default=[], metavar="ID", help="default: all")
    add("--only", nargs="+", default=[], metavar="VARIANT", help="beside 'all'")
    add("--cache", type=Path, default=cache_folder(), metavar="DIR")
    add_reranking(parser)
    add("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(argv)
    options = Options(
        data=given.data,
        facts=given.facts,
        budgets=tuple(sorted(set(given.budget))),
        conversations=tuple(given.conversations),
        cache=given.cache,
        rerank=given.rerank,
        candidates=given.candidates,
    )
    try:
        found = asyncio.run(ablate(options, given.only))
    except (HmemError, ValueError, OSError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=2) if given.json else table(found))
    return 0


def _recall(outcomes: Sequence[Outcome], budgets: Sequence[int]) -> dict[str, float]:
    scored = [o.recall for o in outcomes if o.recall is not None]
    if not scored:
        return {}
    return {str(b): round(fmean(r[b] for r in scored), 4) for b in budgets}


if __name__ == "__main__":
    sys.exit(main())
