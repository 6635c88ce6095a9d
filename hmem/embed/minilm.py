"""all-MiniLM-L6-v2 on this machine: numpy and `tokenizers`, no torch, no hub."""

import asyncio
import json
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
from tokenizers import Tokenizer

from hmem.config import Config
from hmem.embed.bert import Bert
from hmem.embed.checks import checked_texts
from hmem.embed.lane import Forward, Lane, Purpose
from hmem.embed.weights import (
    HOW_TO_GET_IT,
    MINILM,
    MINILM_SHA256,
    SETTINGS,
    TOKENIZER,
    WEIGHTS,
    find_weights,
    missing_files,
    read_tensors,
    sha256_of,
)
from hmem.errors import ConfigError, EmbedderError, MissingModelError

__all__ = ["MiniLM", "find_weights"]

T = TypeVar("T")

WINDOW = 256
_BATCH_TOKENS = 256  # about 70 ms on one core: what a query may have to wait for
_FIRST_CUT = 8 * WINDOW  # characters tokenised first of a long text
_FRONT = 512  # characters by which a text is judged
_UNKNOWN = "[UNK]"
_LONGEST_WORD = 100  # WordPiece's pieces per word, at most; longer words are unknown


class MiniLM:
    """The local embedder: unit vectors of 384 dimensions from the first 256 tokens.

    One daemon thread does the work; queries go before passages. Usable from several
    event loops. `aclose` when done.
    """

    model = MINILM
    window = WINDOW

    def __init__(self, bert: Bert, tokenizer: Tokenizer, *, threads: int = 1) -> None:
        self.dim: int | None = bert.dim
        self._tokenizer = tokenizer
        self._passes = _Passes(bert, threads)
        self._lane = Lane(
            forward=self._passes.encode,
            tokenize=_truncating(tokenizer),
            dim=bert.dim,
            budget=_BATCH_TOKENS,
        )
        # A forgotten embedder must not leave its thread waiting for work.
        weakref.finalize(self, self._lane.close)

    @classmethod
    def load(cls, folder: Path | None = None, *, threads: int = 1) -> Self:
        """Read and verify the weights in `folder` (None: where `find_weights` finds them).

        Takes about 0.15 s, so call it off the event loop where that matters; a read-only
        folder will do. `threads` caps the BLAS while it embeds. Raises MissingModelError.
        """
        found = folder or find_weights()
        if found is None:
            raise MissingModelError(
                f"the weights of {MINILM} are not here: {HOW_TO_GET_IT}"
            )
        if missing := missing_files(found):
            raise MissingModelError(
                f"{found} lacks {', '.join(missing)}: {HOW_TO_GET_IT}"
            )
        with ThreadPoolExecutor(1, thread_name_prefix="hmem-verify") as other:
            digest = other.submit(sha256_of, found / WEIGHTS)
            bert = _bert(found)
            if digest.result() != MINILM_SHA256:
                raise MissingModelError(
                    f"{found / WEIGHTS} is not the genuine {MINILM}: {HOW_TO_GET_IT}"
                )
        return cls(bert, _tokenizer(found), threads=threads)

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        """(n, 384) unit rows, in order. Only the first 256 tokens of a text count.

        Raises EmbedderError, ClosedError, ForkedError, InputTypeError.
        """
        checked = checked_texts(texts)
        if not checked:
            await asyncio.sleep(0)
            return np.empty((0, self.dim or 0), dtype=np.float32)
        return await self._lane.run(checked, purpose)

    async def read(
        self,
        texts: Sequence[str],
        make: Callable[[Sequence[int], NDArray[np.float32]], T],
        *,
        purpose: Purpose = "passage",
    ) -> list[T]:
        """What `make(ids, vectors)` gives for each text, in order: `ids` are its first 256
        tokens, [CLS] and [SEP] among them, `vectors` (tokens, 384) their unit rows.

        `make` is called in the model's thread. Raises what `embed` raises.
        """
        checked = checked_texts(texts)
        if not checked:
            await asyncio.sleep(0)
            return []
        each = self._passes.each(make)
        return await self._lane.run_each(checked, purpose, each)

    def words(self, ids: Sequence[int]) -> list[str]:
        """The tokens that ids stand for."""
        return [self._tokenizer.id_to_token(i) or "" for i in ids]

    def count(self, text: str) -> int:
        """Tokens of the whole text, [CLS] and [SEP] included. Exact."""
        (checked,) = checked_texts([text])
        return len(self._tokenizer.encode(checked))

    def known(self, text: str) -> float:
        """The share of a text's first tokens that are words to the model. Most emoji are
        not, nor are words of Thai, Khmer or Chinese: to it they are all the same."""
        if text.isascii():
            return 1.0
        (checked,) = checked_texts([text[:_FRONT]])
        tokens = self._tokenizer.encode(checked).tokens[1:-1]
        unknown = tokens.count(_UNKNOWN)
        return 1.0 - unknown / len(tokens) if tokens else 0.0

    async def aclose(self) -> None:
        """End the thread; waiting calls raise ClosedError. Idempotent."""
        await self._lane.aclose()


def from_config(config: Config) -> MiniLM:
    """The local embedder. Raises MissingModelError; ConfigError for another dimension."""
    embedder = MiniLM.load()
    if config.embed_dim not in (None, embedder.dim):
        raise ConfigError(
            f"{MINILM} gives {embedder.dim} dimensions, and HMEM_EMBED_DIM says "
            f"{config.embed_dim}"
        )
    return embedder


def _bert(folder: Path) -> Bert:
    """The encoder; MissingModelError when the files do not describe this model."""
    tensors = read_tensors(folder / WEIGHTS)
    try:
        settings: dict[str, Any] = json.loads((folder / SETTINGS).read_bytes())
        return Bert(
            tensors,
            layers=settings["num_hidden_layers"],
            heads=settings["num_attention_heads"],
            eps=settings["layer_norm_eps"],
            max_tokens=_BATCH_TOKENS,
        )
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise MissingModelError(
            f"{folder} does not hold {MINILM}: {HOW_TO_GET_IT}"
        ) from e


def _tokenizer(folder: Path) -> Tokenizer:
    """The WordPiece tokenizer, without truncation and padding."""
    try:
        # from_file raises a bare Exception for a broken file; from_buffer a ValueError.
        tokenizer = Tokenizer.from_buffer((folder / TOKENIZER).read_bytes())
    except (OSError, ValueError) as e:
        raise MissingModelError(
            f"{folder / TOKENIZER} cannot be read: {HOW_TO_GET_IT}"
        ) from e
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _truncating(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    """text -> the ids of its first WINDOW tokens, [CLS] and [SEP] among them.

    Of a long text only the front is tokenised: as much as yields a window and one whole
    word more, since the cut may have broken the last word.
    """

    def ids_of(text: str) -> list[int]:
        cut = _FIRST_CUT
        ids = tokenizer.encode(text[:cut]).ids
        while cut < len(text) and len(ids) < WINDOW + _LONGEST_WORD:
            cut *= 4
            ids = tokenizer.encode(text[:cut]).ids
        return ids if len(ids) <= WINDOW else [*ids[: WINDOW - 1], ids[-1]]

    return ids_of


class _Passes:
    """The forward passes, with the BLAS capped while they run."""

    def __init__(self, bert: Bert, threads: int) -> None:
        self._bert = bert
        self._threads = threads
        self._controller = ThreadpoolController()

    def encode(self, texts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """A unit row for each text."""
        with _cap(self._controller, self._threads):
            rows = self._bert.encode(texts)
        _check(rows)
        return rows

    def each(
        self, make: Callable[[Sequence[int], NDArray[np.float32]], Any]
    ) -> Forward:
        """A pass that hands each text's tokens to `make`."""

        def forward(texts: Sequence[Sequence[int]]) -> list[Any]:
            with _cap(self._controller, self._threads):
                found = self._bert.tokens(texts)
                for rows in found:
                    _check(rows)
                return [make(*one) for one in zip(texts, found, strict=True)]

        return forward


def _check(rows: NDArray[np.float32]) -> None:
    if not np.isfinite(rows).all():
        raise EmbedderError("the local model gave NaN", retryable=False)


class _Cap:
    """The BLAS's thread count is one per process. The first in sets it and the last out
    restores it, so that two embedders do not restore each other's cap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    @contextmanager
    def __call__(
        self, controller: ThreadpoolController, threads: int
    ) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._limit = controller.limit(limits=threads, user_api="blas")
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limit.restore_original_limits()


_cap = _Cap()
