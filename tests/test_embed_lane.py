"""The embedding thread: who goes first, and what happens when things end early."""

import asyncio
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from hmem.embed.lane import Lane, Rows
from hmem.errors import ClosedError, EmbedderError


class Model:
    """A forward pass that notes its batches and can be held up."""

    def __init__(self) -> None:
        self.batches: list[list[list[int]]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None

    def __call__(self, texts: Sequence[Sequence[int]]) -> Rows:
        self.batches.append([list(ids) for ids in texts])
        assert self.gate.wait(10)
        if self.error is not None:
            raise self.error
        return np.array([[ids[0], len(ids)] for ids in texts], dtype=np.float32)


def tokenize(text: str) -> list[int]:
    """`"7 x 3"` is three tokens of number 7."""
    if text == "unreadable":
        raise ValueError("unreadable is the user's own word")
    number, _, times = text.partition(" x ")
    return [int(number)] * int(times)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def lane(model: Model) -> AsyncIterator[Lane]:
    lane = Lane(forward=model, tokenize=tokenize, dim=2, budget=10)
    yield lane
    model.gate.set()
    await lane.aclose()


async def busy(model: Model, batches: int) -> None:
    """Wait until the thread is in its n-th batch."""
    for _ in range(2_000):
        if len(model.batches) >= batches:
            return
        await asyncio.sleep(0.001)
    raise AssertionError("the thread did not get there")


async def test_rows_come_back_in_the_callers_order(lane: Lane, model: Model) -> None:
    rows = await lane.run(["1 x 5", "2 x 1", "3 x 9", "4 x 2"], "passage")
    assert rows.tolist() == [[1, 5], [2, 1], [3, 9], [4, 2]]
    for batch in model.batches:
        lengths = [len(ids) for ids in batch]
        assert lengths == sorted(lengths)
        assert sum(lengths) <= 10


async def test_a_text_over_the_budget_runs_alone(lane: Lane, model: Model) -> None:
    await lane.run(["1 x 2", "2 x 30", "3 x 2"], "passage")
    assert [[2] * 30] in model.batches


async def test_a_query_waits_behind_one_batch_only(lane: Lane, model: Model) -> None:
    model.gate.clear()
    passages = asyncio.ensure_future(
        lane.run([f"{i} x 10" for i in range(9)], "passage")
    )
    await busy(model, 1)
    query = asyncio.ensure_future(lane.run(["77 x 1"], "query"))
    await asyncio.sleep(0.01)
    model.gate.set()
    await query
    await passages
    assert model.batches[1] == [[77]]


async def test_hits_are_read_after_queries_and_before_passages(
    lane: Lane, model: Model
) -> None:
    order: list[int] = []

    def note(texts: Sequence[Sequence[int]]) -> list[str]:
        order.extend(ids[0] for ids in texts)
        return [f"{ids[0]}:{len(ids)}" for ids in texts]

    model.gate.clear()
    first = asyncio.ensure_future(lane.run(["1 x 10"] * 2, "passage"))
    await busy(model, 1)
    later = [
        asyncio.ensure_future(lane.run_each(["3 x 2"], "passage", note)),
        asyncio.ensure_future(lane.run_each(["4 x 2", "5 x 1"], "hit", note)),
        asyncio.ensure_future(lane.run_each(["6 x 2"], "query", note)),
    ]
    await asyncio.sleep(0.01)
    model.gate.set()
    assert await asyncio.gather(*later) == [["3:2"], ["4:2", "5:1"], ["6:2"]]
    assert order == [6, 5, 4, 3]
    await first


async def test_calls_for_another_forward_pass_share_no_batch(
    lane: Lane, model: Model
) -> None:
    def double(texts: Sequence[Sequence[int]]) -> list[int]:
        return [2 * ids[0] for ids in texts]

    model.gate.clear()
    first = asyncio.ensure_future(lane.run(["1 x 1"], "query"))
    await busy(model, 1)
    rest = [
        asyncio.ensure_future(lane.run(["2 x 1"], "query")),
        asyncio.ensure_future(lane.run_each(["3 x 1"], "query", double)),
        asyncio.ensure_future(lane.run(["4 x 1"], "query")),
    ]
    await asyncio.sleep(0.01)
    model.gate.set()
    two, three, four = await asyncio.gather(*rest)
    assert (two.tolist(), three, four.tolist()) == ([[2, 1]], [6], [[4, 1]])
    await first


async def test_a_failure_of_another_pass_reaches_its_own_call(lane: Lane) -> None:
    def fail(texts: Sequence[Sequence[int]]) -> list[int]:
        raise ValueError("the user's words")

    with pytest.raises(EmbedderError) as caught:
        await lane.run_each(["1 x 2"], "hit", fail)
    assert "user" not in str(caught.value)
    assert len(await lane.run(["1 x 2"], "query")) == 1


async def test_queries_that_wait_share_a_batch(lane: Lane, model: Model) -> None:
    model.gate.clear()
    first = asyncio.ensure_future(lane.run(["1 x 1"], "query"))
    await busy(model, 1)
    rest = [asyncio.ensure_future(lane.run([f"{i} x 2"], "query")) for i in range(2, 6)]
    await asyncio.sleep(0.01)
    model.gate.set()
    rows = await asyncio.gather(first, *rest)
    assert [row[0, 0] for row in rows] == [1, 2, 3, 4, 5]
    assert len(model.batches) == 2


async def test_passage_calls_take_turns(lane: Lane, model: Model) -> None:
    model.gate.clear()
    long = asyncio.ensure_future(lane.run(["1 x 10"] * 20, "passage"))
    await busy(model, 1)
    short = asyncio.ensure_future(lane.run(["2 x 10"], "passage"))
    await asyncio.sleep(0.01)
    model.gate.set()
    await asyncio.gather(short, long)
    assert model.batches.index([[2] * 10]) <= 2


async def test_what_a_cancelled_call_had_not_begun_is_dropped(
    lane: Lane, model: Model
) -> None:
    model.gate.clear()
    call = asyncio.ensure_future(lane.run(["1 x 10"] * 50, "passage"))
    await busy(model, 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    model.gate.set()
    await lane.run(["2 x 1"], "passage")
    assert len(model.batches) == 2


async def test_a_failure_reaches_its_waiters_and_the_thread_goes_on(
    lane: Lane, model: Model
) -> None:
    model.error = ValueError("the user's words")
    with pytest.raises(EmbedderError) as caught:
        await lane.run(["1 x 2"], "passage")
    assert "user" not in str(caught.value)
    assert not caught.value.retryable
    model.error = MemoryError()
    with pytest.raises(EmbedderError) as caught:
        await lane.run(["1 x 2"], "passage")
    assert caught.value.retryable
    model.error = None
    assert len(await lane.run(["1 x 2"], "passage")) == 1


async def test_a_text_that_cannot_be_tokenised_fails_its_own_call(lane: Lane) -> None:
    good, bad = await asyncio.gather(
        lane.run(["1 x 1"], "passage"),
        lane.run(["unreadable"], "passage"),
        return_exceptions=True,
    )
    assert isinstance(good, np.ndarray)
    assert isinstance(bad, EmbedderError)
    assert "unreadable" not in str(bad)


async def test_closing_ends_the_thread_and_fails_what_waits(
    lane: Lane, model: Model
) -> None:
    model.gate.clear()
    calls = [
        asyncio.ensure_future(lane.run([f"{i} x 10"] * 2, "passage")) for i in range(3)
    ]
    await busy(model, 1)
    closing = asyncio.ensure_future(lane.aclose())
    await asyncio.sleep(0.01)
    model.gate.set()
    await closing
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [ClosedError] * 3
    assert "hmem-embed" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ClosedError):
        await lane.run(["1 x 1"], "query")
    await lane.aclose()


def test_a_call_of_a_loop_that_is_gone_does_not_stop_the_thread(model: Model) -> None:
    lane = Lane(forward=model, tokenize=tokenize, dim=2, budget=10)

    async def leave() -> None:
        model.gate.clear()
        call = asyncio.ensure_future(lane.run(["1 x 10"] * 3, "passage"))
        await busy(model, 1)
        call.cancel()

    asyncio.run(leave())
    model.gate.set()
    assert asyncio.run(lane.run(["5 x 1"], "query")).tolist() == [[5, 1]]
    asyncio.run(lane.aclose())


def run_python(script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_busy_thread_does_not_keep_the_interpreter_alive() -> None:
    done = run_python("""
        import asyncio, time
        from hmem.embed.lane import Lane
        async def main():
            lane = Lane(forward=lambda texts: time.sleep(120), tokenize=lambda t: [1],
                        dim=2, budget=9)
            call = asyncio.ensure_future(lane.run(["a"], "query"))
            await asyncio.sleep(0.05)
            call.cancel()
        asyncio.run(main())
        print("over")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


def test_use_in_a_forked_child_is_refused() -> None:
    done = run_python("""
        import asyncio, os, warnings
        import numpy as np
        from hmem.embed.lane import Lane
        from hmem.errors import ForkedError
        warnings.simplefilter("ignore")
        lane = Lane(forward=lambda texts: np.zeros((len(texts), 2), np.float32),
                    tokenize=lambda t: [1], dim=2, budget=9)
        asyncio.run(lane.run(["a"], "query"))
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(lane.run(["a"], "query"))
            except ForkedError:
                asyncio.run(lane.aclose())
                os._exit(7)
            os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert done.stdout == "7\n", done.stderr
