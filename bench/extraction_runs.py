"""The runs of `bench.extraction`: dialogues with proposals that are right or wrong, and
LoCoMo's conversations, each through the write path of an open memory."""

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import truth
from bench.cache import CachedEmbedder
from bench.cost import CountingLLM, fixed_prompt, per_turns
from bench.dialogues import Dialogue, load
from bench.locomo_data import load as load_locomo
from bench.matching import calibration
from bench.proposals import ATTACKS, Adversary, Perfect, Tally
from bench.running import cache_folder
from bench.sessions import Told, tell
from bench.supersession import (
    Closer,
    Played,
    by_text,
    judge,
    lost,
    play_all,
    strangers,
    summary,
    wrong_closings,
)
from hmem import AsyncMemory, Config
from hmem.backends import make_llm
from hmem.config import Mode
from hmem.prompts import EXTRACT, PROMPT_VERSION
from hmem.protocols import LLM, Embedder
from hmem.replay import Cassette, ReplayLLM
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import ScriptedLLM
from hmem.testing.standin import StandInLLM

_RECALL = 0.95
_TOLD = 20
_ALONE = 1_000_000  # tokens that turns never reach: only their number decides


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to run."""

    dialogues: bool = False
    locomo: Path | None = None
    reader: str = "perfect"
    cassette: Path | None = None
    adversarial: bool = False
    attacks: tuple[str, ...] = ATTACKS
    seeds: int = 1
    part: str = "all"
    only: tuple[str, ...] = ()
    after_turns: tuple[int, ...] = (1, 4, 10)
    mode: Mode = "append"
    embedder: str = "hash"


async def run(
    options: Options, *, llm: LLM | None = None, embedder: Embedder | None = None
) -> dict[str, Any]:
    """Measure. `llm` and `embedder` stand in for those of the options (tests).

    Raises ValueError for data or options that cannot be used.
    """
    async with AsyncExitStack() as stack:
        if embedder is None:
            embedder = _embedder(options.embedder)
            stack.push_async_callback(embedder.aclose)
        about = {
            "mode": options.mode,
            "embedder": embedder.model,
            "prompt": PROMPT_VERSION,
            "fixed_prompt": fixed_prompt(EXTRACT),
        }
        if options.locomo is not None:
            found = await _locomo(options, llm, embedder)
        elif options.adversarial:
            found = await _adversarial(options, embedder)
        else:
            found = await _dialogues(options, llm, embedder)
        return {**found, **about}


# ------------------------------------------------------------------------- the parts


def _embedder(name: str) -> Embedder:
    if name == "hash":
        return HashEmbedder(256)
    from hmem.embed.minilm import MiniLM  # noqa: PLC0415  an extra

    return CachedEmbedder(MiniLM.load(), cache_folder())


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads the turns, and how the output calls it; the script, where it is one."""

    llm: LLM
    called: str
    script: Perfect | None = None


@asynccontextmanager
async def _reading(
    options: Options, llm: LLM | None, dialogues: Sequence[Dialogue] = ()
) -> AsyncIterator[Reader]:
    """The reader of the options, or the one handed in, which is the caller's to close.
    Raises ValueError, ConfigError."""
    if llm is not None:
        yield Reader(llm, f"handed in: {llm.model}")
        return
    reader = _reader(options, dialogues)
    try:
        yield reader
    finally:
        await reader.llm.aclose()


def _reader(options: Options, dialogues: Sequence[Dialogue]) -> Reader:
    match options.reader:
        case "perfect":
            script = Perfect(dialogues)
            return Reader(ScriptedLLM(script), "perfect proposals, by script", script)
        case "standin":
            called = "a stand-in that copies sentences: no quality may be read off it"
            return Reader(StandInLLM(), called)
        case "cassette":
            assert options.cassette is not None
            if not options.cassette.exists():
                raise ValueError(f"there is no cassette {options.cassette}")
            replay = ReplayLLM(Cassette(options.cassette))
            return Reader(replay, f"replayed: {options.cassette}")
    made = make_llm(Config.from_env())
    if made is None:
        raise ValueError("--live needs HMEM_LLM and HMEM_BASE_URL")
    if options.cassette is None:
        return Reader(made, f"live: {made.model}")
    replay = ReplayLLM(Cassette(options.cassette), llm=made)
    return Reader(replay, f"live: {made.model}, recorded in {options.cassette}")


@asynccontextmanager
async def _memory(
    options: Options, llm: LLM, embedder: Embedder, after_turns: int = 1
) -> AsyncIterator[AsyncMemory]:
    """An empty memory that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        config = Config(
            path=Path(folder) / "store",
            shards=4,
            durability="normal",
            users_in_parallel=8,
            embed="none",
            mode=options.mode,
            extract_after_turns=after_turns,
            extract_after_tokens=_ALONE,
            query_embed_timeout=60.0,
        )
        async with AsyncMemory(config, llm=llm, embedder=embedder) as memory:
            yield memory


def _chosen(options: Options) -> list[Dialogue]:
    """The dialogues asked for. Raises ValueError."""
    every = load()
    if unknown := set(options.only) - {one.id for one in every}:
        raise ValueError(f"no dialogue {', '.join(sorted(unknown))}")
    return [
        one
        for one in every
        if (options.part == "all" or one.held == (options.part == "held"))
        and (not options.only or one.id in options.only)
    ]


# ------------------------------------------------------------------------- the runs


async def _dialogues(
    options: Options, llm: LLM | None, embedder: Embedder
) -> dict[str, Any]:
    """Each dialogue as a user of its own."""
    dialogues = _chosen(options)
    async with _reading(options, llm, dialogues) as reader:
        counting = CountingLLM(reader.llm)
        perfect = reader.script is not None
        key_of = by_text if perfect else truth.by_match
        async with _memory(options, counting, embedder) as memory:
            groups = [[one] for one in dialogues]
            played = await play_all(memory, groups, key_of=key_of)
    verdicts = [judge(one) for one in played]
    parts = {
        "dev": [v for v in verdicts if not v.dialogue.held],
        "held": [v for v in verdicts if v.dialogue.held],
    }
    whole = summary(verdicts)
    found: dict[str, Any] = {
        "run": "dialogues",
        "read_by": reader.called,
        "supersession": whole,
        "parts": {n: _brief(summary(some)) for n, some in parts.items() if some},
        "facts": truth.scores(*truth.of_dialogues(played)),
        "dates": truth.dates(played),
        "cost": per_turns(counting.tokens, _n_turns(dialogues)),
        "matcher": calibration(),
        "problems": _problems(played, reader),
    }
    if perfect:
        found["targets"] = {
            "precision is 1": whole["precision"] == 1.0,
            f"recall is at least {_RECALL}": (whole["recall"] or 0.0) >= _RECALL,
            "no fact is lost": whole["lost_facts"] == 0,
        }
    return found


async def _adversarial(options: Options, embedder: Embedder) -> dict[str, Any]:
    """Each attack on all dialogues, with each seed."""
    dialogues = _chosen(options)
    attacks: dict[str, dict[str, Any]] = {}
    for attack in options.attacks:
        total = Tally()
        wrong: list[str] = []
        wrong_held = closed = gone = 0
        for seed in range(options.seeds):
            played, tally = await attacked(options, dialogues, attack, seed, embedder)
            total.proposed += tally.proposed
            total.wrong += tally.wrong
            closed += sum(len(one.pairs()) for one in played)
            gone += sum(len(list(lost(one))) for one in played)
            held = {one.id for one in dialogues if one.held}
            for one in played:
                for of, old, by in wrong_closings(one):
                    wrong.append(f"seed {seed}, {of}: {old} by {by or 'nothing'}")
                    wrong_held += of in held
        attacks[attack] = {
            "proposed": total.proposed,
            "wrong_proposals": total.wrong,
            "closed_in_the_end": closed,
            "wrong_closings": len(wrong),
            "of_them_held_out": wrong_held,
            "lost_facts": gone,
            "which": wrong,
        }
    return {
        "run": "adversarial",
        "read_by": "adversarial proposals, by script",
        "seeds": options.seeds,
        "dialogues": len(dialogues),
        "attacks": attacks,
        "targets": {
            f"{name}: nothing is closed wrongly": not one["wrong_closings"]
            for name, one in attacks.items()
        },
        "problems": {},
    }


async def attacked(
    options: Options,
    dialogues: Sequence[Dialogue],
    attack: str,
    seed: int,
    embedder: Embedder,
) -> tuple[list[Played], Tally]:
    """All dialogues under one attack."""
    closer = Closer()
    model = Adversary(dialogues, attack=attack, seed=seed, close=closer)
    groups: Sequence[Sequence[Dialogue]] = (
        strangers(dialogues) if attack == "subject" else [[one] for one in dialogues]
    )
    async with _memory(options, ScriptedLLM(model), embedder) as memory:
        played = await play_all(
            memory,
            groups,
            backwards=attack == "newer",
            closer=closer if attack == "closed" else None,
        )
    return played, model.tally


async def _locomo(
    options: Options, llm: LLM | None, embedder: Embedder
) -> dict[str, Any]:
    """The conversations, once for each number of turns that are read together."""
    assert options.locomo is not None
    conversations = load_locomo(_file(options.locomo), only=options.only)
    by_turns: dict[str, Any] = {}
    problems: dict[str, Any] = {}
    called = ""
    for n in options.after_turns:
        async with _reading(options, llm) as reader:
            called = reader.called
            counting = CountingLLM(reader.llm)
            async with _memory(options, counting, embedder, n) as memory:
                told = [await tell(memory, one) for one in conversations]
        by_turns[str(n)] = _of_told(told, counting)
        for status, times in by_turns[str(n)]["jobs"].items():
            if status != "done":
                problems[f"jobs {status} at {n}"] = times
    return {
        "run": "locomo",
        "read_by": called,
        "conversations": [one.id for one in conversations],
        "after_turns": by_turns,
        "matcher": calibration(),
        "problems": problems,
    }


def _of_told(told: Sequence[Told], counting: CountingLLM) -> dict[str, Any]:
    stored = [one for each in told for one in each.stored]
    references = {k: v for each in told for k, v in each.references().items()}
    jobs: dict[str, int] = {}
    for each in told:
        for status, times in each.statuses.items():
            jobs[status] = jobs.get(status, 0) + times
    return {
        "facts": truth.scores(stored, references),
        "superseded": sum(each.superseded for each in told),
        "unverified": sum(each.unverified for each in told),
        "jobs": jobs,
        "cost": per_turns(
            counting.tokens, sum(len(each.conversation.turns) for each in told)
        ),
    }


def _file(where: Path) -> Path:
    """LoCoMo's file, or the one in a folder. Raises ValueError."""
    if where.is_file():
        return where
    found = sorted(where.glob("*.json"))
    if len(found) != 1:
        raise ValueError(f"{where} holds {len(found)} JSON files; name the one meant")
    return found[0]


def _brief(whole: dict[str, Any]) -> dict[str, Any]:
    kept = ("dialogues", "passed", "closings", "right", "wrong", "precision", "recall")
    return {name: whole[name] for name in kept}


def _problems(played: Sequence[Played], reader: Reader) -> dict[str, Any]:
    """What must be nothing for the figures to mean anything."""
    jobs = [r.status for one in played for r in one.results if r.status != "done"]
    found: dict[str, Any] = {"jobs_not_done": len(jobs)}
    if reader.script is not None:
        tally = reader.script.tally
        found["targets_not_shown"] = [": ".join(x) for x in tally.not_shown[:_TOLD]]
        found["turns_unknown_to_the_script"] = tally.unknown_turns
    return found


def _n_turns(dialogues: Sequence[Dialogue]) -> int:
    return sum(len(add.turns) for one in dialogues for add in one.adds)
