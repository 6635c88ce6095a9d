"""The bench's result as one JSON object, and as a table for a reader."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from bench.measure import Outcome, Shown, means, percentiles, summary
from bench.talks import Conversation, Question


def asked(conversation: Conversation, categories: Sequence[str]) -> list[Question]:
    """The questions of some categories."""
    return [q for q in conversation.questions if q.category in categories]


def report(
    system: str,
    *,
    conversations: Sequence[Conversation],
    categories: Sequence[str],
    apart: Sequence[str],
    facts: bool,
    budgets: Sequence[int],
    outcomes: Sequence[Outcome],
    shown: Sequence[Mapping[int, Shown]],
    ingest_s: float,
) -> dict[str, Any]:
    """What one run measured. `problems` must be all zero for it to be believed. The
    categories of `apart` are averaged by themselves besides, and so are the others."""
    questions = [q for c in conversations for q in asked(c, categories)]
    dropped = [piece for q in questions for piece in q.dropped]
    return {
        "system": system,
        **summary(outcomes, budgets, categories),
        **_apart(outcomes, budgets, apart),
        "context_tokens": _tokens(shown, budgets),
        "search_ms": percentiles(s.ms for each in shown for s in each.values()),
        "search_ms_includes_embedding": False,
        "ingest_s": round(ingest_s, 3),
        "facts": "observations" if facts else "none",
        "conversations": [c.id for c in conversations],
        "n_turns": sum(len(c.turns) for c in conversations),
        "n_facts": sum(len(c.facts) for c in conversations) if facts else 0,
        "dropped_evidence": {"n": len(dropped), "strings": dropped},
        "problems": _problems(shown),
    }


def table(found: Mapping[str, Any]) -> str:
    """A report for a reader."""
    measures = {
        "evidence recall": found["evidence_recall"],
        "all evidence": found["all_evidence"],
        "containment": found["containment"],
        **{f"  {k}": v["evidence_recall"] for k, v in _groups(found).items()},
    }
    lines = [
        f"{found['system']}, facts: {found['facts']}",
        f"{found['n_questions']} questions, {found['n_with_evidence']} with evidence",
        f"{'tokens':24}" + "".join(f"{b:>9}" for b in found["evidence_recall"]),
    ]
    for name, by_budget in measures.items():
        cells = ("-" if v is None else f"{v:.3f}" for v in by_budget.values())
        lines.append(f"{name:24}" + "".join(f"{c:>9}" for c in cells))
    for budget, interval in found["ci95"]["evidence_recall"].items():
        lines.append(f"95% interval of recall at {budget}: {interval}")
    return "\n".join(
        [
            *lines,
            f"intervals: {found['ci95']['method']}",
            f"search ms {found['search_ms']}, ingest {found['ingest_s']} s",
            f"dropped evidence: {found['dropped_evidence']}",
        ]
    )


def _groups(found: Mapping[str, Any]) -> dict[str, Any]:
    return {**found["per_category"], **found.get("apart", {})}


def _apart(
    outcomes: Sequence[Outcome], budgets: Sequence[int], apart: Sequence[str]
) -> dict[str, Any]:
    if not apart:
        return {}
    groups = {
        "spread evidence": [o for o in outcomes if o.category in apart],
        "the others": [o for o in outcomes if o.category not in apart],
    }
    return {"apart": {name: means(some, budgets) for name, some in groups.items()}}


def _tokens(
    shown: Sequence[Mapping[int, Shown]], budgets: Sequence[int]
) -> dict[str, Any]:
    by_budget = {b: [each[b].tokens for each in shown] for b in budgets}
    return {
        "mean": round(fmean(t for tokens in by_budget.values() for t in tokens), 1),
        "by_budget": {
            str(b): {"mean": round(fmean(tokens), 1), "max": max(tokens)}
            for b, tokens in by_budget.items()
        },
        "counted": "exact cl100k",
    }


def _problems(shown: Sequence[Mapping[int, Shown]]) -> dict[str, Any]:
    every = [(budget, s) for each in shown for budget, s in each.items()]
    return {
        "over_budget": sum(s.tokens > budget for budget, s in every),
        "claimed_fewer_tokens": sum(
            s.claimed is not None and s.claimed < s.tokens for _, s in every
        ),
    }
