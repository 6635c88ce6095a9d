"""`hmem demo`, second part: the whole loop. A model reads the conversation, its facts are
stored, and later ones take the place of earlier ones.

By default the model's replies are played back from a recording, which the report names;
`live` asks the configured endpoint instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hmem import AddResult, AsyncMemory, Block, Config, Hit
from hmem.cli import played
from hmem.cli.demo import embedder_line, load_script, remember
from hmem.cli.played import load_data, model_line
from hmem.protocols import LLM
from hmem.records import MemoryRecord, Usage

RECORDING = "demo.cassette"
SHOWN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What came of one session. `replaced` holds (old, new, why) texts."""

    session: str
    result: AddResult
    facts: tuple[str, ...]
    replaced: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found for one question; `wrong` is empty if all is well."""

    title: str
    ask: str
    hits: tuple[Hit, ...]
    wrong: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Everything that the second part did."""

    ran: Mapping[str, str]
    learned: tuple[Learned, ...]
    found: tuple[Found, ...]
    asked: str
    block: Block
    max_tokens: int
    usage: Usage

    @property
    def ok(self) -> bool:
        """Whether every job ended well and every expected fact was found."""
        ended = all(one.result.status == "done" for one in self.learned)
        return ended and not any(one.wrong for one in self.found)


def load_facts() -> dict[str, Any]:
    """What the recording was made from, and the questions about it."""
    return load_data("demo-facts.json")


def play(config: Config, *, live: bool) -> Loop:
    """Run the loop in a folder that is removed afterwards. Raises ConfigError for `live`
    without a configured model."""
    # Facts this few are all shown to the model: the recorded prompts are the same with
    # vectors and without. Another embedder than the local one is not asked, since what
    # counts as a repetition was settled for that one.
    embed = config.embed if config.embed in ("auto", "minilm") else "none"
    return played.play(run, config, RECORDING, mode="append", live=live, embed=embed)


async def run(config: Config, *, llm: LLM | None = None, live: bool = False) -> Loop:
    """The loop itself."""
    script, facts = load_script(), load_facts()
    user = script["user_id"]
    async with AsyncMemory(config, llm=llm) as mem:
        learned = [await _learn(mem, user, session) for session in script["sessions"]]
        found = [
            await _ask(mem, user, question, script["asked_at"], check=not live)
            for question in facts["questions"]
        ]
        wanted = facts["context"]
        block = await mem.context(
            wanted["ask"],
            user_id=user,
            max_tokens=wanted["max_tokens"],
            asked_at=script["asked_at"],
        )
        stats = await mem.admin.stats()
    return Loop(
        ran=_ran(config, stats, facts, live=live),
        learned=tuple(learned),
        found=tuple(found),
        asked=wanted["ask"],
        block=block,
        max_tokens=wanted["max_tokens"],
        usage=sum((one.result.usage for one in learned), Usage()),
    )


async def _learn(mem: AsyncMemory, user: str, session: Mapping[str, Any]) -> Learned:
    """Add one session, wait for its receipt, and look at what it changed."""
    result = await remember(mem, user, session)
    added = [await mem.get(id_, user_id=user) for id_ in result.added]
    replaced = []
    for id_ in result.superseded:
        for event in await mem.history(id_, user_id=user):
            if event.id == id_ and event.event == "SUPERSEDE" and event.by:
                new = await mem.get(event.by, user_id=user)
                told = new.text if new is not None else ""
                replaced.append((event.text, told, event.reason or ""))
    return Learned(
        session=session["session_id"],
        result=result,
        facts=tuple(row.text for row in added if isinstance(row, MemoryRecord)),
        replaced=tuple(replaced),
    )


async def _ask(
    mem: AsyncMemory,
    user: str,
    question: Mapping[str, Any],
    asked_at: str,
    *,
    check: bool,
) -> Found:
    """Ask one question among the facts and, with a recording, check the answer."""
    found = await mem.search(
        question["ask"],
        user_id=user,
        k=SHOWN,
        kinds="memory",
        asked_at=asked_at,
        as_of=question.get("as_of"),
    )
    return Found(
        title=question["title"],
        ask=question["ask"],
        hits=found.hits,
        wrong=_wrong(question, found.hits) if check else "",
    )


def _wrong(question: Mapping[str, Any], hits: tuple[Hit, ...]) -> str:
    """What is wrong with these hits, or nothing."""
    hit = next((hit for hit in hits if question["expect"] in hit.text), None)
    if hit is None:
        return f"no fact with {question['expect']!r} was found"
    old = question.get("replaced")
    if old and not any(old in before.text for before in hit.replaced):
        return f"it should have replaced the fact with {old!r}"
    return ""


def _ran(
    config: Config, stats: Mapping[str, Any], facts: Mapping[str, Any], *, live: bool
) -> dict[str, str]:
    """What this run consisted of, by name."""
    model = model_line(facts, stats["llm"], RECORDING, live=live)
    return {
        "mode": "append: facts are read out of the turns",
        "model": model,
        "embedder": embedder_line(config, stats),
    }
