"""Embeddings from an OpenAI-compatible endpoint."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import openai
from numpy.typing import NDArray

from hmem.config import Config
from hmem.embed.checks import checked_texts, unit_rows
from hmem.embed.reply import read_reply
from hmem.endpoint import MOVED, OPENAI, checked_address, code_word, make_client, passes
from hmem.errors import ClosedError, EmbedderError

_ADDRESS = "Config.embed_base_url or base_url (HMEM_EMBED_BASE_URL, HMEM_BASE_URL)"
WINDOWS = {
    "text-embedding-3-small": 8191,
    "text-embedding-3-large": 8191,
    "text-embedding-ada-002": 8191,
}
DEFAULT_WINDOW = 512
# What a server says when it will not take this input; smaller pieces may pass.
_REFUSED = frozenset({400, 413, 422})
# Bytes per token tried for a text that is too long: of English, then of anything.
_BYTES_PER_TOKEN = (4.0, 1.0, 0.25)

Rows = NDArray[np.float32]


class RemoteEmbedder:
    """An embedder behind `POST {base_url}/embeddings`.

    Requests are bounded in texts and estimated tokens and are halved when the endpoint
    refuses them, down to single texts; a text too long for the model is shortened, for
    the embedding alone. Retries are the SDK's own. Bound to the event loop it is first
    used in. `aclose` when done.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dim: int | None = None,
        window: int | None = None,
        timeout: float = 60.0,
        max_retries: int = 2,
        batch: int = 256,
        batch_tokens: int = 100_000,
        encoding: Literal["float", "base64"] | None = None,
    ) -> None:
        """No base_url: OpenAI's own, which needs a key. Another one is used as it is, and
        nothing is ever sent elsewhere. `dim` is checked, and asked for where the model can
        shorten its vectors. `timeout` is per attempt, in seconds.

        `encoding` None: base64 from OpenAI, which is quick to read; float from others,
        some of which know nothing else. Raises ConfigError.
        """
        address = checked_address(
            base_url, api_key, whose=f"the embedder {model!r}", setting=_ADDRESS
        )
        self.model = model
        self.dim = dim
        self.window = window or WINDOWS.get(_bare(model), DEFAULT_WINDOW)
        self._asked_dim = dim if _bare(model).startswith("text-embedding-3") else None
        self._encoding = encoding or ("base64" if address == OPENAI else "float")
        self._batch = batch
        self._batch_tokens = batch_tokens
        self._closed = False
        self._client = make_client(
            address, api_key, timeout=timeout, max_retries=max_retries
        )

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: Literal["passage", "query"] = "passage",  # noqa: ARG002 - all the same there
    ) -> Rows:
        """(n, dim) unit rows, in order.

        Raises EmbedderError, with the text's position where one text is to blame (refused
        even when shortened, blank, or given no usable vector); ClosedError;
        InputTypeError.
        """
        if self._closed:
            raise ClosedError("the embedder is closed")
        whole = checked_texts(texts)
        if blank := [i for i, text in enumerate(whole) if not text.strip()]:
            raise EmbedderError(
                f"text {blank[0]} is blank", retryable=False, position=blank[0]
            )
        parts = [
            await self._some(whole[start:stop], start)
            for start, stop in self._cut(whole)
        ]
        if not parts:
            return np.empty((0, self.dim or 0), dtype=np.float32)
        if len({part.shape[1] for part in parts}) > 1:
            raise EmbedderError("the endpoint's replies differ in dimension")
        self.dim = parts[0].shape[1]
        return np.concatenate(parts)

    def count(self, text: str) -> int:
        """An upper bound of the text's tokens: its bytes in UTF-8."""
        return len(text.encode("utf-8", "replace"))

    async def aclose(self) -> None:
        """Close the connections. Idempotent."""
        if not self._closed:
            self._closed = True
            await self._client.close()

    def _cut(self, texts: list[str]) -> Iterator[tuple[int, int]]:
        """Ranges of at most `batch` texts and about `batch_tokens` tokens."""
        start, used = 0, 0
        for i, text in enumerate(texts):
            size = min(self.count(text) // 3 + 1, self.window)
            full = i - start >= self._batch or used + size > self._batch_tokens
            if full and i > start:
                yield start, i
                start, used = i, 0
            used += size
        if start < len(texts):
            yield start, len(texts)

    async def _some(self, texts: list[str], first: int) -> Rows:
        """Rows of a batch, halved when it is refused."""
        if len(texts) == 1:
            return await self._one(texts[0], first)
        try:
            return await self._ask(
                [self._front(t, _BYTES_PER_TOKEN[0]) for t in texts], first
            )
        except _RefusedError:
            pass
        half = len(texts) // 2
        left = await self._some(texts[:half], first)
        right = await self._some(texts[half:], first + half)
        return np.concatenate((left, right))

    async def _one(self, text: str, position: int) -> Rows:
        """One text's row, shortened further each time it is refused."""
        fronts = dict.fromkeys(self._front(text, share) for share in _BYTES_PER_TOKEN)
        refusal: _RefusedError | None = None
        for front in fronts:
            try:
                return await self._ask([front], position)
            except _RefusedError as e:
                refusal = e
        raise EmbedderError(
            f"the endpoint refuses text {position}, also when shortened to "
            f"{self.window // 4} bytes{refusal or ''}",
            retryable=False,
            position=position,
        ) from refusal

    def _front(self, text: str, bytes_per_token: float) -> str:
        """As much of the text's front as fits the window at that density."""
        limit = max(1, int(self.window * bytes_per_token))
        if len(text) * 4 <= limit:
            return text
        raw = text.encode()
        return text if len(raw) <= limit else raw[:limit].decode("utf-8", "ignore")

    async def _ask(self, texts: list[str], first: int) -> Rows:
        """One request. Raises _RefusedError for what smaller pieces may mend."""
        try:
            raw = await self._client.embeddings.with_raw_response.create(
                model=self.model,
                input=texts,
                encoding_format=self._encoding,
                dimensions=openai.omit if self._asked_dim is None else self._asked_dim,
            )
        except openai.APIStatusError as e:
            # Not chained: what the endpoint says may quote what was sent.
            if e.status_code in _REFUSED:
                raise _RefusedError(e) from None
            raise self._status_error(e) from None
        except openai.APITimeoutError as e:
            raise EmbedderError("the embeddings endpoint timed out") from e
        except openai.APIConnectionError as e:
            raise EmbedderError(
                "the embeddings endpoint cannot be reached (HMEM_EMBED_BASE_URL, "
                "HMEM_BASE_URL)"
            ) from e
        reply = read_reply(raw.http_response.content, len(texts))
        return unit_rows(reply, dim=self.dim, first=first)

    def _status_error(self, e: openai.APIStatusError) -> EmbedderError:
        """The endpoint's status as an error that names the setting to look at."""
        status = e.status_code
        hint = {
            401: ": check HMEM_API_KEY",
            403: ": check HMEM_API_KEY",
            404: f": check HMEM_BASE_URL, and whether it serves {self.model!r} (HMEM_EMBED)",
            501: ": this server was started without embeddings",
        }.get(status, MOVED if status < 400 else "")
        return EmbedderError(
            f"the embeddings endpoint answered {status}{code_word(e)}{hint}",
            retryable=passes(status),
        )


def from_config(config: Config) -> RemoteEmbedder:
    """The embedder that the settings describe. The key meant for the language model goes
    to its own endpoint alone. Raises ConfigError."""
    own = config.embed_base_url
    return RemoteEmbedder(
        config.embed.strip(),
        base_url=own or config.base_url,
        api_key=config.embed_api_key or (None if own else config.api_key),
        dim=config.embed_dim,
        timeout=config.embed_timeout,
    )


class _RefusedError(Exception):
    """The endpoint will not take this input. Its words are left out: they may quote it."""

    def __init__(self, e: openai.APIStatusError) -> None:
        super().__init__(f" (HTTP {e.status_code}{code_word(e)})")


def _bare(model: str) -> str:
    """The model's name without a router's prefix."""
    return model.rsplit("/", 1)[-1]
