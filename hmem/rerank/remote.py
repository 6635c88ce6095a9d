"""A reranking model behind an endpoint of the common form."""

import logging
from collections.abc import Sequence
from typing import Any

import anyio
import numpy as np
import openai
from numpy.typing import NDArray

from hmem.chat.faults import retry_after
from hmem.config import Config
from hmem.embed.checks import checked_texts
from hmem.endpoint import MOVED, checked_address, code_word, make_client, passes
from hmem.errors import ClosedError, ConfigError, ModelError
from hmem.rerank.reply import read_reply

log = logging.getLogger("hmem.rerank")

_ADDRESS = "Config.rerank_base_url or base_url (HMEM_RERANK_BASE_URL, HMEM_BASE_URL)"
_ATTEMPTS = 3
"""A call's deadline, in timeouts of one attempt."""
_STEEPEST = 60.0
"""A logit beyond which the logistic is 0 or 1."""
_SLACK = 1e-3
"""How far outside [0, 1] a probability may come out of half precision."""

Scores = NDArray[np.float32]


class RemoteReranker:
    """A reranker behind `POST {base_url}/rerank` with `model`, `query` and `documents`:
    Cohere, Jina, Voyage, vLLM, Infinity, a llama.cpp server. (Mixedbread's own API is of
    another form; its models are served by the last three.)

    Some servers answer with logits. From the first score outside [0, 1] on, this object
    maps all of an endpoint's scores by the logistic, 1 / (1 + e**-x); their order stays.

    A call is over after three times `timeout`; cancelling it ends its request. Retries
    are the SDK's own, but for a server that asks to wait for longer than `timeout`. Bound
    to the event loop it is first used in. `aclose` when done.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None,
        api_key: str | None = None,
        timeout: float = 10.0,
        max_retries: int = 2,
        batch: int = 250,
        query_chars: int = 1_000,
        text_chars: int = 2_000,
    ) -> None:
        """`timeout` is per attempt, in seconds. Of a query and of a text the front is sent,
        so many characters: many such models read 512 tokens of both. Nothing is ever sent
        to another address. Raises ConfigError."""
        if base_url is None:
            raise ConfigError(f"the reranker {model!r} needs {_ADDRESS}")
        address = checked_address(
            base_url, api_key, whose=f"the reranker {model!r}", setting=_ADDRESS
        )
        self.model = model
        self._timeout = timeout
        self._batch = batch
        self._query_chars = query_chars
        self._text_chars = text_chars
        self._logits = False
        self._closed = False

        async def no_long_waits(response: Any) -> None:
            """The caller has the order without it: better now than in a minute."""
            if response.is_error and (retry_after(response.headers) or 0.0) > timeout:
                response.headers["x-should-retry"] = "false"

        self._client = make_client(
            address,
            api_key,
            timeout=timeout,
            max_retries=max_retries,
            on_response=[no_long_waits],
        )

    async def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """(n,) scores in [0, 1], in order. What is blank is not sent, and scores 0.

        Raises ModelError, ClosedError, InputTypeError.
        """
        if self._closed:
            raise ClosedError("the reranker is closed")
        (asked,) = checked_texts([query])
        fronts = [text[: self._text_chars] for text in checked_texts(texts)]
        sent = [i for i, text in enumerate(fronts) if text.strip()]
        scores = np.zeros(len(fronts), dtype=np.float32)
        if not sent or not asked.strip():
            return scores
        found: list[NDArray[np.float64]] = []
        with anyio.move_on_after(self._timeout * _ATTEMPTS) as scope:
            for start in range(0, len(sent), self._batch):
                some = [fronts[i] for i in sent[start : start + self._batch]]
                found.append(await self._ask(asked[: self._query_chars], some))
        if scope.cancelled_caught:
            limit = self._timeout * _ATTEMPTS
            raise ModelError(f"the rerank endpoint gave no answer in {limit:g} s")
        scores[sent] = self._scaled(np.concatenate(found))
        return scores

    async def aclose(self) -> None:
        """Close the connections. Idempotent."""
        if not self._closed:
            self._closed = True
            await self._client.close()

    def _scaled(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores in [0, 1]."""
        if not self._logits and (raw.min() < -_SLACK or raw.max() > 1.0 + _SLACK):
            self._logits = True
            log.info("the reranker %s answers with logits", self.model)
        if self._logits:
            return 1.0 / (1.0 + np.exp(-np.clip(raw, -_STEEPEST, _STEEPEST)))
        return np.clip(raw, 0.0, 1.0)

    async def _ask(self, query: str, texts: list[str]) -> NDArray[np.float64]:
        """One request. How many are to come back is not said: servers differ in the name
        for it, and give all when they are not asked for fewer."""
        body = {"model": self.model, "query": query, "documents": texts}
        try:
            reply = await self._client.post("/rerank", cast_to=str, body=body)
        except openai.APIStatusError as e:
            # Not chained: what the endpoint says may quote what was sent.
            raise self._status_error(e) from None
        except openai.APITimeoutError as e:
            raise ModelError("the rerank endpoint timed out") from e
        except openai.APIConnectionError as e:
            raise ModelError(
                "the rerank endpoint cannot be reached (HMEM_RERANK_BASE_URL, "
                "HMEM_BASE_URL)"
            ) from e
        return read_reply(reply, len(texts))

    def _status_error(self, e: openai.APIStatusError) -> ModelError:
        """The endpoint's status as an error that names the setting to look at."""
        status = e.status_code
        key = ": check HMEM_RERANK_API_KEY or HMEM_API_KEY"
        hint = {
            401: key,
            403: key,
            404: f": check HMEM_RERANK_BASE_URL, and whether it serves {self.model!r} "
            "(HMEM_RERANK)",
            501: ": this server was started without reranking",
        }.get(status, MOVED if status < 400 else "")
        return ModelError(
            f"the rerank endpoint answered {status}{code_word(e)}{hint}",
            retryable=passes(status),
        )


def from_config(config: Config) -> RemoteReranker:
    """The reranker that the settings describe. The key meant for the language model goes
    to its own endpoint alone. Raises ConfigError."""
    own = config.rerank_base_url
    return RemoteReranker(
        config.rerank.strip(),
        base_url=own or config.base_url,
        api_key=config.rerank_api_key or (None if own else config.api_key),
        timeout=config.rerank_timeout,
        max_retries=1,  # somebody waits, and has an answer without it
    )
