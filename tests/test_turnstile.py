"""Bursts are let past a few at a time, in order, and nobody is forgotten."""

import asyncio
import time

import pytest

from hmem.running.turnstile import Turnstile


async def _turns(gate: Turnstile, count: int) -> list[int]:
    """In which turn of the loop each of `count` callers got past."""
    turn, passed = 0, []

    async def call() -> None:
        await gate.enter()
        passed.append(turn)

    tasks = [asyncio.create_task(call()) for _ in range(count)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        turn += 1
    return passed


async def test_a_burst_is_spread_over_turns_of_the_loop() -> None:
    passed = await _turns(Turnstile(4), 42)
    assert len(passed) == 42
    assert passed == sorted(passed)
    assert max(passed.count(turn) for turn in set(passed)) <= 8
    assert len(set(passed)) >= 9


async def test_one_caller_does_not_wait() -> None:
    gate = Turnstile(1)
    for _ in range(3):
        entering = gate.enter()
        try:
            entering.send(None)
        except StopIteration:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            continue
        raise AssertionError("a lone caller was made to wait")


async def test_a_cancelled_caller_gives_its_place_away() -> None:
    gate, passed = Turnstile(1), []

    async def call(n: int) -> None:
        await gate.enter()
        passed.append(n)

    tasks = [asyncio.create_task(call(n)) for n in range(6)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert passed == [0, 1, 2, 4, 5]


async def test_no_more_pass_in_one_turn_however_long_their_steps_take() -> None:
    gate, turn, passed = Turnstile(8), 0, []

    async def call() -> None:
        await gate.enter()
        time.sleep(0.001)  # noqa: ASYNC251  # a step that takes long
        passed.append(turn)

    tasks = [asyncio.create_task(call()) for _ in range(40)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        turn += 1
    assert max(passed.count(turn) for turn in set(passed)) <= 16


async def test_those_who_come_one_by_one_are_let_past_at_once_for_ever() -> None:
    gate = Turnstile(4)
    for _ in range(30):
        entering = gate.enter()
        with pytest.raises(StopIteration):
            entering.send(None)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
