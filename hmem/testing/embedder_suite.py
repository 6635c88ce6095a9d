"""What every `Embedder` must do.

    class TestMyEmbedder(SemanticEmbedderSuite):
        @pytest.fixture
        def make_embedder(self):
            return MyEmbedder         # called without arguments; closed by the suite

One that does not understand texts takes `EmbedderSuite`. Needs pytest and
pytest-asyncio in its auto mode.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from hmem.errors import ClosedError, InputTypeError
from hmem.protocols import Embedder

MakeEmbedder = Callable[[], Embedder]

TEXTS = [
    "The ferry to the island leaves at seven.",
    "Her brother repairs violins in a cellar near the old market.",
    "Seven",
    "We moved the piano twice, into the hall and back, as its floor proved too soft.",
    "¿Dónde está la llave?",
]
STRANGE = {
    "a lone surrogate": "left \ud83d right",
    "a NUL": "before\0after",
    "an emoji family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "right to left": "\u202e\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd\u202c",
    "no spaces": "他昨天搬到了一个靠海的小镇" * 20,
    "one endless word": "x" * 5_000,
    "punctuation": "?!" * 40,
    "controls": "\x01\x02 bell\x07",
}


@asynccontextmanager
async def opened(make: MakeEmbedder) -> AsyncIterator[Embedder]:
    """An embedder that is closed at the end."""
    embedder = make()
    try:
        yield embedder
    finally:
        await embedder.aclose()


def cosines(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
    """Row by row."""
    result: NDArray[np.float64] = np.einsum("ij,ij->i", a, b, dtype=np.float64)
    return result


class EmbedderSuite:
    """Subclass it and provide a `make_embedder` fixture."""

    @pytest.fixture
    def make_embedder(self) -> MakeEmbedder:
        """Makes an embedder."""
        raise NotImplementedError

    async def test_rows_are_unit_vectors_one_per_text(
        self, make_embedder: MakeEmbedder
    ) -> None:
        """float32, (n, dim), length 1; `dim` is known by then."""
        async with opened(make_embedder) as embedder:
            rows = await embedder.embed(TEXTS)
            assert rows.dtype == np.float32
            assert rows.shape == (len(TEXTS), embedder.dim)
            assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
            assert embedder.model
            assert embedder.window > 0

    async def test_no_texts_give_no_rows(self, make_embedder: MakeEmbedder) -> None:
        """Also before the first real call."""
        async with opened(make_embedder) as embedder:
            assert len(await embedder.embed([])) == 0

    async def test_a_row_does_not_depend_on_its_neighbours(
        self, make_embedder: MakeEmbedder
    ) -> None:
        """Alone, reversed or together: the same vector in the right place."""
        async with opened(make_embedder) as embedder:
            together = await embedder.embed(TEXTS)
            alone = np.concatenate([await embedder.embed([t]) for t in TEXTS])
            backwards = (await embedder.embed(TEXTS[::-1]))[::-1]
            assert cosines(together, alone).min() > 0.99999
            assert cosines(together, backwards).min() > 0.99999
            assert cosines(together[1:], together[:-1]).max() < 0.9999

    async def test_two_of_one_name_agree(self, make_embedder: MakeEmbedder) -> None:
        """Vectors stored today compare with tomorrow's."""
        async with opened(make_embedder) as one, opened(make_embedder) as two:
            assert one.model == two.model
            rows = cosines(await one.embed(TEXTS), await two.embed(TEXTS))
            assert rows.min() > 0.99999

    async def test_many_texts_keep_their_order(
        self, make_embedder: MakeEmbedder
    ) -> None:
        """More than any one request or batch holds."""
        texts = [f"parcel {i} weighs {i * 7} grams" for i in range(120)]
        async with opened(make_embedder) as embedder:
            rows = await embedder.embed(texts)
            some = [0, 1, 57, 119]
            again = await embedder.embed([texts[i] for i in some])
            assert len(rows) == len(texts)
            assert cosines(rows[some], again).min() > 0.99999

    async def test_a_text_far_over_the_window_gets_its_row(
        self, make_embedder: MakeEmbedder
    ) -> None:
        """And costs its neighbours nothing."""
        async with opened(make_embedder) as embedder:
            rows = await embedder.embed([TEXTS[0], "word " * 60_000, TEXTS[1]])
            expected = await embedder.embed([TEXTS[0], TEXTS[1]])
            assert cosines(rows[[0, 2]], expected).min() > 0.99999
            assert np.linalg.norm(rows[1]) == pytest.approx(1.0, abs=1e-5)

    @pytest.mark.parametrize("name", sorted(STRANGE))
    async def test_any_text_gets_a_row(
        self, make_embedder: MakeEmbedder, name: str
    ) -> None:
        """Whatever people or programs write."""
        async with opened(make_embedder) as embedder:
            rows = await embedder.embed([STRANGE[name], TEXTS[0]])
            assert rows.shape[0] == 2
            assert np.isfinite(rows).all()
            assert embedder.count(STRANGE[name]) >= 0

    async def test_one_string_is_refused(self, make_embedder: MakeEmbedder) -> None:
        """It would be embedded letter by letter."""
        async with opened(make_embedder) as embedder:
            with pytest.raises(InputTypeError):
                await embedder.embed("a single string")

    async def test_queries_and_passages_are_comparable(
        self, make_embedder: MakeEmbedder
    ) -> None:
        """One space, and a text is nearest to itself."""
        async with opened(make_embedder) as embedder:
            passages = await embedder.embed(TEXTS)
            queries = await embedder.embed(TEXTS, purpose="query")
            nearest = (queries @ passages.T).argmax(axis=1)
            assert nearest.tolist() == list(range(len(TEXTS)))

    async def test_a_longer_text_counts_more(self, make_embedder: MakeEmbedder) -> None:
        """`count` sees the whole text, also past the window."""
        async with opened(make_embedder) as embedder:
            short, long = (
                embedder.count("one word"),
                embedder.count("one word " * 2_000),
            )
            assert 0 < short < long
            assert long > embedder.window

    async def test_calls_at_one_time_do_not_mix(
        self, make_embedder: MakeEmbedder
    ) -> None:
        """Each waiter gets its own rows."""
        async with opened(make_embedder) as embedder:
            expected = await embedder.embed(TEXTS)
            results = await asyncio.gather(
                *(
                    embedder.embed([text], purpose="query" if i % 2 else "passage")
                    for i, text in enumerate(TEXTS * 3)
                )
            )
            rows = np.concatenate(results)
            assert cosines(rows, np.tile(expected, (3, 1))).min() > 0.99999

    async def test_a_cancelled_call_harms_nobody(
        self, make_embedder: MakeEmbedder
    ) -> None:
        """The next one gets its rows."""
        async with opened(make_embedder) as embedder:
            expected = await embedder.embed(TEXTS[:1])
            call = asyncio.ensure_future(embedder.embed(TEXTS * 20))
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert cosines(expected, await embedder.embed(TEXTS[:1])).min() > 0.99999

    async def test_closing_twice_is_fine_and_using_it_then_is_not(
        self, make_embedder: MakeEmbedder
    ) -> None:
        """ClosedError, not a call that hangs."""
        embedder = make_embedder()
        await embedder.embed(TEXTS[:1])
        await embedder.aclose()
        await embedder.aclose()
        with pytest.raises(ClosedError):
            await embedder.embed(TEXTS[:1])


class SemanticEmbedderSuite(EmbedderSuite):
    """For embedders that understand texts."""

    async def test_meaning_is_near_meaning(self, make_embedder: MakeEmbedder) -> None:
        """No shared words, and still nearer than what shares some."""
        async with opened(make_embedder) as embedder:
            query, near, far = await embedder.embed(
                [
                    "How do people get to the isle?",
                    TEXTS[0],
                    "How do people get a good night's rest?",
                ]
            )
            assert query @ near > query @ far + 0.05
