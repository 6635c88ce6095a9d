"""How long a search does without what kept one waiting."""

import anyio

from hmem.breaker import Rest


def pause(rest: Rest) -> float:
    return rest.until - anyio.current_time()


async def test_searches_that_waited_together_are_one_failure() -> None:
    rest = Rest(base=10.0, cap=1_000.0)
    assert not rest.lasts
    for _ in range(20):
        assert rest.failed("late") == "late"
    assert rest.lasts
    assert 7.0 < pause(rest) < 13.0


async def test_a_failure_after_a_pause_makes_a_longer_one_up_to_the_cap() -> None:
    rest = Rest(base=10.0, cap=40.0)
    for least, most in ((7.0, 13.0), (14.0, 26.0), (28.0, 52.0), (28.0, 52.0)):
        rest.failed("late")
        assert least < pause(rest) < most
        rest.until = 0.0
        assert not rest.lasts


async def test_an_answer_ends_it() -> None:
    rest = Rest(base=10.0, cap=1_000.0)
    rest.failed("late")
    rest.until = 0.0
    rest.failed("late")
    rest.worked()
    assert not rest.lasts
    rest.failed("late")
    assert pause(rest) < 13.0
