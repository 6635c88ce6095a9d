"""`hmem demo --reconcile`: a short talk, and after each turn what was decided about the
facts in it: ADD, UPDATE, DELETE or NOOP.

The decisions are told from receipts and histories alone, as any program may. By default
the model's replies are played back from a recording; `live` asks the configured endpoint.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hmem import AddResult, AsyncMemory, Config, HistoryEvent
from hmem.cli import played
from hmem.cli.played import load_data, model_line
from hmem.protocols import LLM
from hmem.records import MemoryRecord, Usage

RECORDING = "demo-reconcile.cassette"
_SESSION = "talk"
_PATIENCE = 120.0
"""Seconds for one turn's job; a demo must not hang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What became of one fact. `text` is the fact; of a NOOP or DELETE it is the memory
    that says it already, or that ended. `old` is what an UPDATE replaced."""

    verb: Literal["ADD", "UPDATE", "DELETE", "NOOP"]
    text: str
    old: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn, its receipt, and what was decided; `left` tells what was not taken, or was
    proposed and not carried out. `wrong` is empty if all is well."""

    day: str
    said: str
    result: AddResult
    decisions: tuple[Decision, ...]
    left: tuple[str, ...] = ()
    wrong: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best fact for a question, as of a day or now."""

    ask: str
    as_of: str | None
    text: str
    wrong: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Everything that this part did."""

    ran: Mapping[str, str]
    turns: tuple[Turn, ...]
    known: tuple[str, ...]
    found: tuple[Found, ...]

    @property
    def usage(self) -> Usage:
        """What all turns cost."""
        return sum((turn.result.usage for turn in self.turns), Usage())

    @property
    def ok(self) -> bool:
        """Whether every job ended well and all was decided as expected."""
        ended = all(turn.result.status == "done" for turn in self.turns)
        wrong = [turn.wrong for turn in self.turns] + [one.wrong for one in self.found]
        return ended and not any(wrong)


def load_talk() -> dict[str, Any]:
    """The talk, what the recording was made from, and the questions about it."""
    return load_data("demo-reconcile.json")


def play(config: Config, *, live: bool) -> Reconciled:
    """Play the talk in a folder that is removed afterwards. Raises ConfigError for `live`
    without a configured model."""
    # Without vectors the second call is shown all facts while they are few, so that what
    # was recorded does not hang on how likenesses are measured.
    return played.play(run, config, RECORDING, mode="reconcile", live=live)


async def run(
    config: Config, *, llm: LLM | None = None, live: bool = False
) -> Reconciled:
    """The talk itself."""
    talk = load_talk()
    user = talk["user_id"]
    async with AsyncMemory(config, llm=llm) as mem:
        turns = [await _turn(mem, user, turn, check=not live) for turn in talk["turns"]]
        found = [
            await _ask(mem, user, question, talk["asked_at"], check=not live)
            for question in talk["questions"]
        ]
        page = await mem.get_all(user_id=user, kinds="memory")
        stats = await mem.admin.stats()
    return Reconciled(
        ran={
            "mode": "reconcile: a second call decides about the facts of each turn",
            "model": model_line(talk, stats["llm"], RECORDING, live=live),
            "embedder": stats["embedder"] or "none: all facts are shown, they are few",
        },
        turns=tuple(turns),
        known=tuple(row.text for row in page),
        found=tuple(found),
    )


async def _turn(
    mem: AsyncMemory, user: str, turn: Mapping[str, Any], *, check: bool
) -> Turn:
    """Add one turn, wait for its receipt, and tell what was decided."""
    receipt = await mem.add(
        {"role": "user", "name": user.capitalize(), "content": turn["said"]},
        user_id=user,
        session_id=_SESSION,
        observed_at=turn["at"],
    )
    result = await receipt.result(timeout=_PATIENCE)
    changed = await _changed(mem, user, result)
    cited, left = await _skipped(mem, user, result)
    decisions = (*changed, *cited)
    return Turn(
        day=turn["at"][:10],
        said=turn["said"],
        result=result,
        decisions=decisions,
        left=left,
        wrong=_wrong(turn["facts"], decisions) if check else "",
    )


async def _changed(mem: AsyncMemory, user: str, result: AddResult) -> list[Decision]:
    """What a receipt says was added and closed: ADD, UPDATE, DELETE."""
    closed = [await _closed(mem, user, id_) for id_ in result.superseded]
    found: list[Decision] = []
    for id_ in result.added:
        text = await _text(mem, user, id_)
        ended = [old for by, old in closed if by == id_]
        found += [replace(old, verb="UPDATE", text=text) for old in ended]
        found += [] if ended else [Decision(verb="ADD", text=text)]
    found += [
        replace(old, text=old.old, old="")
        for by, old in closed
        if by not in result.added
    ]
    return found


async def _skipped(
    mem: AsyncMemory, user: str, result: AddResult
) -> tuple[list[Decision], tuple[str, ...]]:
    """What a receipt says was not stored: a NOOP where a memory rests on the turn now,
    too; and the other reasons."""
    cited, left = list[Decision](), list[str]()
    for one in result.skipped:
        row = None if one.id is None else await mem.get(one.id, user_id=user)
        if isinstance(row, MemoryRecord) and set(row.source_ids) & set(result.turns):
            cited.append(Decision(verb="NOOP", text=row.text, reason=one.reason))
        else:
            left.append(one.reason)
    return cited, tuple(left)


async def _closed(mem: AsyncMemory, user: str, id_: str) -> tuple[str | None, Decision]:
    """What a fact was superseded by, if by any, and its end."""
    events = [e for e in await mem.history(id_, user_id=user) if e.id == id_]
    last = _last(events)
    old = Decision(verb="DELETE", text="", old=last.text, reason=last.reason or "")
    return last.by, old


def _last(events: Sequence[HistoryEvent]) -> HistoryEvent:
    """The event that closed a fact."""
    return [e for e in events if e.event in ("SUPERSEDE", "CLOSE")][-1]


async def _text(mem: AsyncMemory, user: str, id_: str) -> str:
    row = await mem.get(id_, user_id=user)
    return row.text if isinstance(row, MemoryRecord) else ""


def _wrong(facts: Sequence[Mapping[str, Any]], decisions: Sequence[Decision]) -> str:
    """What is wrong with these decisions, or nothing."""
    wanted = sorted(_expected(fact) for fact in facts)
    found = sorted((one.verb, one.text, one.old) for one in decisions)
    return "" if found == wanted else f"expected {wanted}"


def _expected(fact: Mapping[str, Any]) -> tuple[str, str, str]:
    verb, memory, _ = fact["decision"]
    if verb in ("DELETE", "NOOP"):
        return verb, memory, ""
    return verb, fact["fact"], memory


async def _ask(
    mem: AsyncMemory,
    user: str,
    question: Mapping[str, Any],
    asked_at: str,
    *,
    check: bool,
) -> Found:
    """The first fact that is found for a question and, with a recording, whether it is
    the one."""
    result = await mem.search(
        question["ask"],
        user_id=user,
        k=1,
        kinds="memory",
        asked_at=asked_at,
        as_of=question["as_of"],
    )
    text = next((hit.text for hit in result), "")
    missed = check and question["expect"] not in text
    return Found(
        ask=question["ask"],
        as_of=question["as_of"],
        text=text,
        wrong=f"{question['expect']!r} should have been found" if missed else "",
    )
