"""Late interaction on the local weights (MaxSim: ColBERT, Khattab and Zaharia 2020).

Each token of the query is worth its cosine to the nearest token of the text; a text's
score is the mean of these, tokens weighed by how few of the texts have them (their IDF
among the texts at hand), clipped to [0, 1]. The weights were not trained for it.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmem.embed.checks import checked_texts
from hmem.embed.minilm import MiniLM
from hmem.errors import ClosedError
from hmem.protocols import Embedder
from hmem.scoring import idf

Array = NDArray[np.float32]

# A turn's date in front says little of what it is about and lies near to much: on LoCoMo's
# dev conversations the gain in the first 300 tokens was twice as large without it.
_DATE = re.compile(r"\(\d{1,2} \w{3,9} \d{4}\) ")
_HAS_WORD = re.compile(r"\w")


class _Met(NamedTuple):
    """What a text has of a query: (tokens,) the nearest cosines, and which stand in it."""

    nearest: Array
    holds: NDArray[np.bool_]


class LocalReranker:
    """MaxSim over the token vectors of a MiniLM.

    Runs in the model's thread: queries of any kind go first, then what is read here, then
    passages that are embedded. Of query and texts the first 256 tokens count. `aclose`
    when done.
    """

    def __init__(self, minilm: MiniLM, *, owned: bool = True) -> None:
        """`owned`: the MiniLM is closed with this object."""
        self.model = f"{minilm.model}:maxsim"
        self._minilm = minilm
        self._owned = owned
        self._closed = False

    async def rerank(self, query: str, texts: Sequence[str]) -> Array:
        """(n,) scores in [0, 1], in order.

        Raises ModelError, ClosedError, ForkedError, InputTypeError.
        """
        if self._closed:
            raise ClosedError("the reranker is closed")
        checked = [
            _DATE.sub("", t, count=1) if t[:1] == "(" else t
            for t in checked_texts(texts)
        ]
        ((ids, wanted),) = await self._minilm.read([query], _both, purpose="query")
        kept = self._words_of(ids)
        asked, wanted = np.asarray(ids)[kept], wanted[kept]

        def meet(ids: Sequence[int], rows: Array) -> _Met:
            return _Met((wanted @ rows.T).max(axis=1), np.isin(asked, ids))

        met = await self._minilm.read(checked, meet, purpose="hit")
        if not met:
            return np.empty(0, dtype=np.float32)
        held = np.count_nonzero(np.stack([m.holds for m in met]), axis=0)
        weights = idf(held, len(met)).astype(np.float32)
        nearest = np.stack([m.nearest for m in met])
        scores: Array = nearest @ (weights / weights.sum())
        return np.clip(scores, np.float32(0.0), np.float32(1.0))

    async def aclose(self) -> None:
        """Close the model, if it was loaded for this. Idempotent."""
        self._closed = True
        if self._owned:
            await self._minilm.aclose()

    def _words_of(self, ids: Sequence[int]) -> list[int]:
        """Where the query has a word: neither [CLS], [SEP] nor punctuation. Of a query
        without one all tokens count."""
        names = self._minilm.words(ids)
        last = len(ids) - 1
        kept = [i for i in range(1, last) if _HAS_WORD.search(names[i])]
        return kept or list(range(len(ids)))


def beside(embedder: Embedder | None) -> LocalReranker:
    """A reranker on the embedder's own weights, where it is the local model; else it loads
    them. Reads files. Raises MissingModelError."""
    if isinstance(embedder, MiniLM):
        return LocalReranker(embedder, owned=False)
    return LocalReranker(MiniLM.load())


def _both(ids: Sequence[int], rows: Array) -> tuple[Sequence[int], Array]:
    return ids, rows
