"""What every `Reranker` must do.

    class TestMyReranker(RerankerSuite):
        @pytest.fixture
        def make_reranker(self):
            return MyReranker         # called without arguments; closed by the suite

Needs pytest and pytest-asyncio in its auto mode.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import numpy as np
import pytest

from hmem.errors import ClosedError, InputTypeError
from hmem.protocols import Reranker
from hmem.testing.embedder_suite import STRANGE

MakeReranker = Callable[[], Reranker]

QUERY = "When does the ferry to the island leave?"
TEXTS = [
    "(3 March 2024) Ines: We moved the piano twice, as the floor of the hall is soft.",
    "(3 March 2024) Ines: The ferry to the island does leave at seven.",
    "Her brother repairs violins in a cellar near the old market.",
    "(9 May 2024) Tomas: Seven",
    "¿Dónde está la llave?",
]
ANSWER = 1


@asynccontextmanager
async def opened(make: MakeReranker) -> AsyncIterator[Reranker]:
    """A reranker that is closed at the end."""
    reranker = make()
    try:
        yield reranker
    finally:
        await reranker.aclose()


class RerankerSuite:
    """Subclass it and provide a `make_reranker` fixture."""

    @pytest.fixture
    def make_reranker(self) -> MakeReranker:
        """Makes a reranker."""
        raise NotImplementedError

    async def test_scores_lie_in_0_to_1_one_per_text(
        self, make_reranker: MakeReranker
    ) -> None:
        """float32, (n,), finite."""
        async with opened(make_reranker) as reranker:
            scores = await reranker.rerank(QUERY, TEXTS)
            assert scores.dtype == np.float32
            assert scores.shape == (len(TEXTS),)
            assert np.isfinite(scores).all()
            assert scores.min() >= 0.0
            assert scores.max() <= 1.0
            assert reranker.model

    async def test_the_text_that_answers_is_first(
        self, make_reranker: MakeReranker
    ) -> None:
        """Wherever it stands among the others."""
        async with opened(make_reranker) as reranker:
            scores = await reranker.rerank(QUERY, TEXTS)
            assert int(scores.argmax()) == ANSWER
            backwards = await reranker.rerank(QUERY, TEXTS[::-1])
            assert int(backwards.argmax()) == len(TEXTS) - 1 - ANSWER

    async def test_scores_follow_their_texts(self, make_reranker: MakeReranker) -> None:
        """In another order the same scores, each with its text."""
        async with opened(make_reranker) as reranker:
            scores = await reranker.rerank(QUERY, TEXTS)
            backwards = await reranker.rerank(QUERY, TEXTS[::-1])
            assert np.allclose(scores, backwards[::-1], atol=1e-4)

    async def test_equal_texts_score_equally(self, make_reranker: MakeReranker) -> None:
        """And both are there."""
        async with opened(make_reranker) as reranker:
            twice = [TEXTS[1], TEXTS[0], TEXTS[1]]
            scores = await reranker.rerank(QUERY, twice)
            assert scores[0] == pytest.approx(scores[2], abs=1e-5)
            assert scores[0] > scores[1]

    async def test_the_same_call_gives_the_same_scores(
        self, make_reranker: MakeReranker
    ) -> None:
        """Of one object and of two."""
        async with opened(make_reranker) as one, opened(make_reranker) as two:
            scores = await one.rerank(QUERY, TEXTS)
            assert np.allclose(scores, await one.rerank(QUERY, TEXTS), atol=1e-5)
            assert np.allclose(scores, await two.rerank(QUERY, TEXTS), atol=1e-5)
            assert one.model == two.model

    async def test_no_texts_give_no_scores(self, make_reranker: MakeReranker) -> None:
        """Also before the first real call."""
        async with opened(make_reranker) as reranker:
            assert (await reranker.rerank(QUERY, [])).shape == (0,)

    async def test_many_texts_keep_their_order(
        self, make_reranker: MakeReranker
    ) -> None:
        """More than any one request or batch holds."""
        texts = [f"parcel {i} weighs {i * 7} grams" for i in range(300)]
        texts[217] = TEXTS[ANSWER]
        async with opened(make_reranker) as reranker:
            scores = await reranker.rerank(QUERY, texts)
            assert scores.shape == (300,)
            assert int(scores.argmax()) == 217

    async def test_a_text_far_too_long_gets_its_score(
        self, make_reranker: MakeReranker
    ) -> None:
        """And costs its neighbours nothing."""
        async with opened(make_reranker) as reranker:
            scores = await reranker.rerank(QUERY, ["word " * 60_000, *TEXTS])
            assert scores.shape == (len(TEXTS) + 1,)
            assert int(scores[1:].argmax()) == ANSWER

    async def test_a_query_far_too_long_gets_its_scores(
        self, make_reranker: MakeReranker
    ) -> None:
        """Its front counts."""
        async with opened(make_reranker) as reranker:
            scores = await reranker.rerank(QUERY + " please" * 20_000, TEXTS)
            assert np.isfinite(scores).all()
            assert scores.shape == (len(TEXTS),)

    @pytest.mark.parametrize("name", sorted(STRANGE))
    async def test_any_text_gets_a_score(
        self, make_reranker: MakeReranker, name: str
    ) -> None:
        """Whatever people or programs write, on either side."""
        async with opened(make_reranker) as reranker:
            scores = await reranker.rerank(QUERY, [STRANGE[name], TEXTS[ANSWER], ""])
            assert int(scores.argmax()) == 1
            again = await reranker.rerank(STRANGE[name], TEXTS)
            assert again.shape == (len(TEXTS),)
            assert ((scores >= 0) & (scores <= 1)).all()
            assert ((again >= 0) & (again <= 1)).all()

    async def test_one_string_is_refused(self, make_reranker: MakeReranker) -> None:
        """It would be read letter by letter."""
        async with opened(make_reranker) as reranker:
            with pytest.raises(InputTypeError):
                await reranker.rerank(QUERY, "a single string")

    async def test_calls_at_one_time_do_not_mix(
        self, make_reranker: MakeReranker
    ) -> None:
        """Each waiter gets its own scores."""
        queries = [QUERY, "Who repairs violins?", "Where is the piano now?"]
        async with opened(make_reranker) as reranker:
            expected = [await reranker.rerank(query, TEXTS) for query in queries]
            found = await asyncio.gather(
                *(reranker.rerank(query, TEXTS) for query in queries * 3)
            )
            for scores, wanted in zip(found, expected * 3, strict=True):
                assert np.allclose(scores, wanted, atol=1e-4)

    async def test_a_cancelled_call_harms_nobody(
        self, make_reranker: MakeReranker
    ) -> None:
        """The next one gets its scores."""
        async with opened(make_reranker) as reranker:
            expected = await reranker.rerank(QUERY, TEXTS)
            call = asyncio.ensure_future(reranker.rerank(QUERY, TEXTS * 20))
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            scores = await reranker.rerank(QUERY, TEXTS)
            assert np.allclose(scores, expected, atol=1e-4)

    async def test_closing_twice_is_fine_and_using_it_then_is_not(
        self, make_reranker: MakeReranker
    ) -> None:
        """ClosedError, not a call that hangs."""
        reranker = make_reranker()
        await reranker.rerank(QUERY, TEXTS)
        await reranker.aclose()
        await reranker.aclose()
        with pytest.raises(ClosedError):
            await reranker.rerank(QUERY, TEXTS)
