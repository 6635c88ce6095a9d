"""How well a search tells whether it found an answer, without a language model.

    python -m bench.answerable --locomo locomo.json --beam 100K

Questions that have an answer against three kinds that have none: those the data sets made
up for it (LoCoMo's adversarial ones, BEAM's abstention), questions about other people's
conversations, and questions asked of somebody who had only another session, or a few
turns of one. These stand for users of whom little is stored yet. AUROC is the chance that a question
with an answer gets the higher figure; it is of hmem as it is, and of coefficients that
were fitted on all conversations but the one asked. `fitted` are those fitted on all.
"""

import argparse
import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import beam_data, locomo_data
from bench.hmem_system import HmemSystem
from bench.running import Options, cache_folder, cached, make_system
from bench.talks import Conversation, Question
from hmem.errors import HmemError
from hmem.protocols import Embedder
from hmem.rank.answer import Signs
from hmem.scoring import HALF, Answering, answerability

UNANSWERABLE = ("adversarial", "abstention")
_FOREIGN = 80
_FEW = 8
_RIDGE = 1.0
_ROUNDS = 100
_SIGNS = Signs._fields
Floats = NDArray[np.float64]
Case = tuple[Conversation, Question, str]
"""Whom to ask what, and why there is no answer ("own" where there is)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question that was asked. `group` tells what was stored, `conversation` what must
    not be fitted on together with it, `kind` is a Case's."""

    group: str
    conversation: str
    kind: str
    signs: Signs
    value: float


# ---------------------------------------------------------------------- what is asked


def whole(conversations: Sequence[Conversation]) -> Iterator[Case]:
    """Every conversation's questions, and some of the others'."""
    chance = random.Random(5)
    for one in conversations:
        for question in one.questions:
            none = question.category in UNANSWERABLE
            yield one, question, "made up" if none else "own"
        others = [q for c in conversations if c is not one for q in c.questions]
        for question in chance.sample(others, min(_FOREIGN, len(others))):
            yield one, question, "of others"


def sessions(one: Conversation) -> dict[int, Conversation]:
    """Each session as a conversation of its own."""
    return {
        number: replace(
            one,
            id=f"{one.id}/{number}",
            turns=tuple(turns),
            facts=tuple(f for f in one.facts if f.session == number),
            questions=(),
        )
        for number, turns in one.sessions().items()
    }


def few(conversations: Sequence[Conversation]) -> Iterator[Case]:
    """Questions whose evidence is one turn, asked of who had it and a few turns around it
    alone, and of who had a few others."""
    chance = random.Random(11)
    for one in conversations:
        parts = list(_pieces(one, _FEW))
        for question in one.questions:
            if question.category in UNANSWERABLE or len(question.gold) != 1:
                continue
            (gold,) = question.gold
            here = [p for p in parts if any(t.id == gold for t in p.turns)]
            others = [p for p in parts if p not in here]
            yield here[0], question, "own"
            if others:
                yield chance.choice(others), question, "another session"


def _pieces(one: Conversation, size: int) -> Iterator[Conversation]:
    """Every few turns as a conversation of their own, with the facts made of them."""
    for number, turns in one.sessions().items():
        for start in range(0, len(turns), size):
            some = tuple(turns[start : start + size])
            ids = {turn.id for turn in some}
            yield replace(
                one,
                id=f"{one.id}/{number}/{start}",
                turns=some,
                facts=tuple(f for f in one.facts if ids & set(f.source_ids)),
                questions=(),
            )


def short(conversations: Sequence[Conversation]) -> Iterator[Case]:
    """Questions whose evidence lies in one session, asked of who had that session alone
    and of who had another one alone."""
    chance = random.Random(7)
    for one in conversations:
        parts = sessions(one)
        if len(parts) == 1:
            continue
        where = {t.id: t.session for t in one.turns}
        for question in one.questions:
            held = {where[turn] for turn in question.gold}
            if question.category in UNANSWERABLE or len(held) != 1:
                continue
            (number,) = held
            yield parts[number], question, "own"
            other = chance.choice([n for n in parts if n != number])
            yield parts[other], question, "another session"


# ------------------------------------------------------------------------- asking it


async def ask_all(
    options: Options,
    cases: Sequence[Case],
    group: str,
    *,
    embedder: Embedder,
) -> list[Asked]:
    """Take in whoever is asked, and ask. Raises what hmem raises."""
    found: list[Asked] = []
    async with AsyncExitStack() as stack:
        system = await make_system(options, embedder, stack)
        if not isinstance(system, HmemSystem):
            raise ValueError("only hmem tells how likely an answer is")
        for one in {case[0].id: case[0] for case in cases}.values():
            await system.ingest(one)
        for one, question, kind in cases:
            judged = await system.judge(one, question)
            found.append(
                Asked(
                    group=group,
                    conversation=one.id.partition("/")[0],
                    kind=kind,
                    signs=judged.signs,
                    value=judged.answerability,
                )
            )
    return found


# --------------------------------------------------------------------------- fitting


def fit(cases: Sequence[Asked]) -> Answering:
    """Coefficients by a ridge logistic regression in which every kind of every group
    weighs the same, and an answer as much as none. Raises ValueError without both."""
    answers = np.array([c.kind == "own" for c in cases], np.float64)
    if not 0 < answers.sum() < len(answers):
        raise ValueError("questions with an answer and without are needed")
    weights = _weights(cases)
    middles = np.array([_middle(cases, weights, i) for i in range(len(_SIGNS))])
    rows = np.array([_told(c.signs, middles) for c in cases])
    scale = np.sqrt((weights[:, None] * rows**2).sum(axis=0) / weights.sum())
    scale[scale == 0.0] = 1.0  # a sign that never told
    bias, *slopes = _logistic(rows / scale, answers, weights)
    return Answering(
        bias=float(bias),
        middles=tuple(middles.tolist()),
        slopes=tuple((np.array(slopes) / scale).tolist()),
    )


def _weights(cases: Sequence[Asked]) -> Floats:
    """What each case counts; a group's answers together as much as its others. Those that
    the data sets made up count double: they are the hard ones."""
    kinds = Counter((c.group, c.kind) for c in cases)
    without = Counter(group for group, kind in kinds if kind != "own")
    each = [
        1.0
        / kinds[c.group, c.kind]
        / (1 if c.kind == "own" else without[c.group])
        * (2 if c.kind == "made up" else 1)
        for c in cases
    ]
    return np.array(each) * len(cases) / sum(each)


def _middle(cases: Sequence[Asked], weights: Floats, at: int) -> float:
    """Half way between a sign's mean where there is an answer and where there is none."""
    sums = np.zeros((2, 2))
    for case, weight in zip(cases, weights, strict=True):
        value = case.signs[at]
        if value is not None:
            sums[int(case.kind == "own")] += weight * value, weight
    return float((sums[:, 0] / np.maximum(sums[:, 1], 1e-9)).mean())


def _told(signs: Signs, middles: Floats) -> list[float]:
    return [
        0.0 if sign is None else sign - middle
        for sign, middle in zip(signs, middles, strict=True)
    ]


def _logistic(rows: Floats, answers: Floats, weights: Floats) -> Floats:
    """Bias and slopes, by Newton's method."""
    x = np.column_stack([np.ones(len(rows)), rows])
    ridge = _RIDGE * np.eye(x.shape[1])
    ridge[0, 0] = 0.0
    at = np.zeros(x.shape[1])
    for _ in range(_ROUNDS):
        p = 1.0 / (1.0 + np.exp(-x @ at))
        curve = (x * (weights * p * (1.0 - p))[:, None]).T @ x + ridge
        at += np.linalg.solve(curve, x.T @ (weights * (answers - p)) - ridge @ at)
    return at


def left_out(cases: Sequence[Asked]) -> list[float]:
    """Each case's answerability by coefficients fitted without its conversation."""
    by = {
        name: fit([c for c in cases if c.conversation != name])
        for name in {c.conversation for c in cases}
    }
    return [answerability(c.signs, by[c.conversation]) for c in cases]


# ------------------------------------------------------------------------- reporting


def auroc(answers: Sequence[float], others: Sequence[float]) -> float:
    """The chance that one of `answers` is above one of `others`, a tie counting half."""
    a, b = np.array(answers)[:, None], np.array(others)[None]
    return float((a > b).mean() + (a == b).mean() / 2)


def report(cases: Sequence[Asked]) -> dict[str, Any]:
    """AUROC by group and kind, and the coefficients."""
    unseen = left_out(cases)
    found: dict[str, Any] = {}
    for group in dict.fromkeys(c.group for c in cases):
        own = [i for i, c in enumerate(cases) if (c.group, c.kind) == (group, "own")]
        for kind in dict.fromkeys(c.kind for c in cases if c.group == group):
            none = [
                i for i, c in enumerate(cases) if (c.group, c.kind) == (group, kind)
            ]
            if kind != "own":
                found[f"{group}: {kind}"] = _row(cases, unseen, own, none)
    return {"auroc": found, "fitted": asdict(fit(cases))}


def _row(
    cases: Sequence[Asked], unseen: Sequence[float], own: list[int], none: list[int]
) -> dict[str, Any]:
    values = [c.value for c in cases]
    return {
        "answers": len(own),
        "without": len(none),
        "as_it_is": round(_auroc(values, own, none), 3),
        "leave_one_conversation_out": round(_auroc(unseen, own, none), 3),
        "mean": [round(fmean(values[i] for i in some), 3) for some in (own, none)],
        "answers_below_half": round(fmean(values[i] < HALF for i in own), 3),
        "others_above_half": round(fmean(values[i] >= HALF for i in none), 3),
    }


def _auroc(values: Sequence[float], own: list[int], none: list[int]) -> float:
    return auroc([values[i] for i in own], [values[i] for i in none])


async def run(
    locomo: Path | None,
    beam: Path | None,
    cache: Path | None,
    *,
    embedder: Embedder | None = None,
) -> dict[str, Any]:
    """Ask everything of everybody and report. `embedder` stands in for the local model."""
    options = Options(data=Path(), cache=cache)
    cases: list[Asked] = []
    async with AsyncExitStack() as stack:
        one = await cached(options, embedder, stack)
        talks = [] if locomo is None else locomo_data.load(locomo)
        for facts in ("none", "observations") if talks else ():
            given = replace(options, facts=facts)
            name = "locomo" if facts == "none" else "locomo with facts"
            for asking, more in ((whole, ""), (short, ", short"), (few, ", few")):
                asked = list(asking(talks))
                cases += await ask_all(given, asked, name + more, embedder=one)
        if beam is not None:
            asked = list(whole(beam_data.load(beam)))
            cases += await ask_all(options, asked, "beam", embedder=one)
    return report(cases)


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.answerable",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--locomo", type=Path, metavar="FILE")
    parser.add_argument("--beam", type=Path, metavar="DIR")
    parser.add_argument("--cache", type=Path, default=cache_folder(), metavar="DIR")
    given = parser.parse_args(argv)
    if given.locomo is None and given.beam is None:
        parser.error("--locomo or --beam is needed")
    try:
        found = asyncio.run(run(given.locomo, given.beam, given.cache))
    except (HmemError, ValueError, OSError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
