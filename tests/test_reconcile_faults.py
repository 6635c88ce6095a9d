"""Reconcile mode where something goes wrong: replies that are no use, a model that is
down, crashes, and what others do meanwhile."""

import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hmem import AsyncMemory, Config, LLMError
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import Cut, Hang, fact, facts
from hmem.testing.yard import eventually
from tests.judge import (
    BRISTOL,
    GHENT,
    JANUARY,
    MARCH,
    MOVES,
    Judge,
    Open,
    config,
    known,
    moved,
    one,
    opened,
    quick,
    says,
    told,
    verdict,
)

__all__ = ["config", "opened", "quick"]


# --------------------------------------------------------- replies that are no use


async def test_a_second_reply_that_cannot_be_read_is_asked_for_again_and_the_first_not(
    opened: Open,
) -> None:
    asked = 0

    def decide(*_: object) -> object:
        nonlocal asked
        asked += 1  # one asking goes four times: three forms, one asking again
        return "I would rather not." if asked <= 4 else [verdict(0, "UPDATE", 0)]

    llm = Judge(MOVES, decide)
    mem = await opened(llm, max_attempts=3)
    result = await moved(mem)
    assert (result.status, len(result.superseded)) == ("done", 1)
    assert len(llm.extracted) == 2
    assert len(llm.judged) == 5
    assert result.usage.llm_calls == 6  # also those that were of no use
    assert await known(mem) == ["Maya lives in Ghent now"]


async def test_a_second_reply_that_can_never_be_read_ends_the_job_and_closes_nothing(
    opened: Open,
) -> None:
    llm = Judge(MOVES, "I would rather not.")
    mem = await opened(llm, max_attempts=2)
    result = await moved(mem)
    assert result.status == "dead"
    assert result.reason is not None
    assert "searchable" in result.reason
    assert "could not be read by the model" in result.reason
    assert (result.added, result.superseded) == ((), ())
    assert await known(mem) == ["Maya lives in Bristol"]
    assert len(llm.extracted) == 2
    assert len(llm.judged) > 4
    found = await mem.search("Ghent", user_id="maya")
    assert any("Ghent" in hit.text for hit in found)


async def test_of_two_parts_one_of_which_cannot_be_judged_the_other_is_stored(
    opened: Open,
) -> None:
    def decide(candidates: list[str], memories: list[str]) -> object:
        if "Ghent" in candidates[0]:
            return "I would rather not."
        return [verdict(0, "UPDATE", memories.index("Maya's bike is red"))]

    held = facts(
        fact("Maya lives in Bristol", entities=["Maya", "Bristol"]),
        fact("Maya's bike is red", entities=["Maya"]),
    )
    bike = facts(fact("Maya's bike is green now", entities=["Maya"]))
    llm = Judge({"Bristol": held, "Ghent": GHENT, "green": bike}, decide)
    mem = await opened(llm, max_attempts=2, extract_input_tokens=500)
    await says(mem, "I live in Bristol and my bike is red", JANUARY)
    filler = "many words stand here to fill the room " * 30
    receipt = await mem.add(
        [
            {"role": "user", "name": "Maya", "content": f"{text} {filler}"}
            for text in ("I live in Ghent now", "My bike is green now")
        ],
        user_id="maya",
        session_id="s",
        observed_at=MARCH,
    )
    result = await receipt.result(timeout=20)
    assert result.status == "partial"
    assert result.reason is not None
    assert "1 of 2 parts could not be read" in result.reason
    assert await known(mem) == ["Maya lives in Bristol", "Maya's bike is green now"]


async def test_a_second_reply_that_is_cut_off_splits_the_turns(opened: Open) -> None:
    def extract(new: str) -> object:
        numbers = re.findall(r"^\[(\d)\].*\n  I play the (\w+)", new, re.M)
        return facts(
            *(
                fact(f"Maya plays the {x}", turns=[int(n)], entities=["Maya"])
                for n, x in numbers
            )
        )

    class Reader(Judge):
        def _answer(self, messages: Sequence[Mapping[str, str]]) -> object:
            made = super()._answer(messages)
            text = messages[-1]["content"]
            return extract(text) if "I play" in text else made

    def decide(candidates: list[str], _: list[str]) -> object:
        if len(candidates) > 2:
            return Cut('{"decisions": [{"cand')
        return [verdict(n, "ADD") for n in range(len(candidates))]

    llm = Reader({}, decide)
    mem = await opened(llm)
    await says(mem, "I play the cello", JANUARY)
    receipt = await mem.add(
        [
            {"role": "user", "name": "Maya", "content": f"I play the {x}"}
            for x in ("flute", "harp", "viola", "tuba")
        ],
        user_id="maya",
        session_id="s",
        observed_at=MARCH,
    )
    result = await receipt.result(timeout=20)
    assert (result.status, len(result.added)) == ("done", 4)
    assert sorted(len(candidates) for candidates, _ in llm.judged) == [2, 2, 4]
    assert len(await known(mem)) == 5


async def test_while_the_model_is_down_for_the_second_call_the_first_reply_is_kept(
    opened: Open,
) -> None:
    down = True
    llm = Judge(
        MOVES,
        lambda *_: (
            LLMError("it is down", why="down") if down else [verdict(0, "UPDATE", 0)]
        ),
    )
    mem = await opened(llm)
    await says(mem, "I live in Bristol.", JANUARY)
    receipt = await mem.add(
        {"role": "user", "name": "Maya", "content": "I live in Ghent now!"},
        user_id="maya",
        observed_at=MARCH,
    )
    await eventually(lambda: len(llm.judged) >= 3)
    assert await known(mem) == ["Maya lives in Bristol"]
    found = await mem.search("Ghent", user_id="maya")
    assert (found.pending, next(hit.pending for hit in found)) == (1, True)
    down = False
    result = await receipt.result(timeout=20)
    assert (result.status, len(result.superseded)) == ("done", 1)
    assert len(llm.extracted) == 2
    job = await mem._rooms.parts.store.job("maya", receipt.id)
    assert job is not None
    assert job.attempts == 1  # being down is nobody's fault


# ------------------------------------------------------------------------- crashes

_DIES = """
import asyncio, os, sys
from hmem import AsyncMemory, Config
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import ScriptedLLM, fact, facts

def answer(messages):
    if messages[-1]["content"].startswith("CANDIDATES"):
        return {"decisions": [{"candidate": 0, "reason": "she moved",
                               "action": "UPDATE", "memory": [0]}]}
    return facts(fact("Maya lives in Ghent now", entities=["Maya", "Ghent"]))

async def main():
    config = Config(path=sys.argv[1], shards=1, embed="none", mode="reconcile", lease=0.5)
    mem = AsyncMemory(config, llm=ScriptedLLM(answer), embedder=HashEmbedder(256))
    await mem.open()
    store = mem._rooms.parts.store
    applied = store.apply
    async def apply(user_id, plan):
        if plan.end is not None:
            os._exit(9)
        return await applied(user_id, plan)
    store.apply = apply
    receipt = await mem.add({"role": "user", "name": "Maya", "content": "I live in Ghent now!"},
                            user_id="maya", observed_at="2026-03-01")
    print(receipt.id, flush=True)
    await receipt
asyncio.run(main())
"""


async def killed_before_the_end(folder: str | os.PathLike[str]) -> str:
    """The id of a job whose process died with both replies kept, and nothing applied."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _DIES, str(folder), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 9
    return said.decode().strip()


async def test_after_a_crash_neither_reply_is_asked_for_again(
    opened: Open, config: Config
) -> None:
    mem = await opened(Judge(MOVES))
    await says(mem, "I live in Bristol.", JANUARY)
    await mem.aclose()
    job = await killed_before_the_end(config.folder)
    mute = Judge({})
    mem = await opened(mute)
    result = await (await mem.receipt(job, user_id="maya")).result(timeout=20)
    assert (result.status, len(result.added), len(result.superseded)) == ("done", 1, 1)
    assert mute.calls == []
    assert result.usage.llm_calls == 2
    assert await known(mem) == ["Maya lives in Ghent now"]
    history = [("ADD", None), ("SUPERSEDE", "she moved"), ("ADD", None)]
    assert await told(mem, result.added[0]) == history


async def test_a_kept_reply_ends_nothing_that_was_closed_since(
    opened: Open, config: Config
) -> None:
    mem = await opened(Judge(MOVES))
    first = await says(mem, "I live in Bristol.", JANUARY)
    await mem.aclose()
    job = await killed_before_the_end(config.folder)
    async with AsyncMemory(
        replace(config, worker="off"), embedder=HashEmbedder(256)
    ) as door:
        assert await door.delete(first.added[0], user_id="maya")
    mute = Judge({})
    mem = await opened(mute)
    result = await (await mem.receipt(job, user_id="maya")).result(timeout=20)
    assert (result.status, len(result.added), result.superseded) == ("done", 1, ())
    assert mute.calls == []
    assert await told(mem, first.added[0]) == [("ADD", None), ("CLOSE", "deleted")]
    assert await known(mem) == ["Maya lives in Ghent now"]


async def test_what_is_added_while_the_model_thinks_is_not_lost(opened: Open) -> None:
    llm = Judge(MOVES, lambda *_: Hang({"decisions": [verdict(0, "UPDATE", 0)]}))
    mem = await opened(llm)
    first = await says(mem, "I live in Bristol.", JANUARY)
    receipt = await mem.add(
        {"role": "user", "name": "Maya", "content": "I live in Ghent now!"},
        user_id="maya",
        observed_at=MARCH,
    )
    await eventually(lambda: llm.waiting == 1)
    mine = [f"Maya owns kayak number {n}" for n in range(5)]
    await mem.add(mine, user_id="maya", infer=False)
    llm.release()
    result = await receipt.result(timeout=20)
    assert (result.status, result.superseded) == ("done", first.added)
    assert set(await known(mem)) == {*mine, "Maya lives in Ghent now"}


async def replaced_while_the_model_thinks(opened: Open) -> tuple[AsyncMemory, str]:
    """A fact that a second opinion is to replace is replaced by somebody else first."""
    llm = Judge(MOVES, lambda *_: Hang({"decisions": [verdict(0, "UPDATE", 0)]}))
    mem = await opened(llm)
    first = await says(mem, "I live in Bristol.", JANUARY)
    receipt = await mem.add(
        {"role": "user", "name": "Maya", "content": "I live in Ghent now!"},
        user_id="maya",
        observed_at=MARCH,
    )
    await eventually(lambda: llm.waiting == 1)
    await mem.update(
        first.added[0], user_id="maya", text="Maya lives in Bath", observed_at=MARCH
    )
    llm.release()
    assert (await receipt.result(timeout=20)).status == "done"
    return mem, first.added[0]


async def test_of_two_that_replace_one_fact_at_once_neither_is_lost(
    opened: Open,
) -> None:
    mem, first = await replaced_while_the_model_thinks(opened)
    assert "Maya lives in Ghent now" in await known(mem)
    chain = await mem.history(first, user_id="maya")
    assert {"Maya lives in Bristol", "Maya lives in Bath"} <= {e.text for e in chain}


async def test_who_comes_too_late_to_replace_a_fact_follows_what_did(
    opened: Open,
) -> None:
    mem, first = await replaced_while_the_model_thinks(opened)
    assert await known(mem) == ["Maya lives in Ghent now"]
    chain = await mem.history(first, user_id="maya")
    assert {event.text for event in chain} == {
        "Maya lives in Bristol",
        "Maya lives in Bath",
        "Maya lives in Ghent now",
    }


async def test_what_one_part_did_is_told_though_the_next_had_to_be_tried_again(
    opened: Open,
) -> None:
    tries = 0

    def decide(candidates: list[str], memories: list[str]) -> object:
        nonlocal tries
        if "Bristol" in candidates[0]:
            return [verdict(0, "NOOP", 0, why="known"), verdict(1, "ADD")]
        tries += 1
        return "I would rather not." if tries <= 4 else [verdict(0, "ADD")]

    again = facts(
        fact("Maya still lives in Bristol", entities=["Maya", "Bristol"]),
        fact("Maya lives in a house in Bristol", entities=["Maya", "Bristol"]),
    )
    llm = Judge({"still": again, "Bristol.": BRISTOL, "Ghent": GHENT}, decide)
    mem = await opened(llm, max_attempts=3, extract_input_tokens=500)
    first = await says(mem, "I live in Bristol.", JANUARY)
    filler = "many words stand here to fill the room " * 30
    receipt = await mem.add(
        [
            {"role": "user", "name": "Maya", "content": f"{text} {filler}"}
            for text in ("I still live in a house in Bristol", "I live in Ghent now")
        ],
        user_id="maya",
        session_id="s",
        observed_at=MARCH,
    )
    result = await receipt.result(timeout=20)
    assert tries == 5
    assert result.status == "done"
    texts = [(await one(mem, id_)).text for id_ in result.added]
    assert texts == ["Maya lives in a house in Bristol", "Maya lives in Ghent now"]
    assert ("known", first.added[0]) in [(s.reason, s.id) for s in result.skipped]
