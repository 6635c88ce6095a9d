"""A chat model at an OpenAI-compatible endpoint."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import openai

from hmem.chat.envelope import read_reply
from hmem.chat.faults import fault, filtered, quirk, retry_after
from hmem.chat.request import Dialect
from hmem.config import Config
from hmem.endpoint import OPENAI, checked_address, make_client
from hmem.errors import ClosedError, ConfigError, LLMError
from hmem.protocols import Completion, Rung
from hmem.records import Usage

log = logging.getLogger("hmem.chat")

_PROBE = 10.0
_ATTEMPTS = 3
"""A call's deadline, in timeouts of one attempt."""
_PATIENCE = 8.0
"""Seconds of a Retry-After up to which the SDK waits; a longer one is the caller's."""
_RETRIES = "x-stainless-retry-count"


class RemoteLLM:
    """A chat model behind `POST {base_url}/chat/completions`.

    At most `parallel` requests are under way at once. A call is over after three times
    `timeout`, whatever the endpoint does; cancelling it ends its request. Retries are the
    SDK's own. Besides, what the endpoint refuses (temperature, max_tokens, lengths in a
    schema) is left out or renamed, at most three times in the life of this object. Used
    from one event loop. `aclose` when done.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 2,
        parallel: int = 8,
    ) -> None:
        """No base_url: OpenAI's own, which needs a key. Another one is used as it is, and
        nothing is ever sent elsewhere. `timeout` is per attempt, in seconds. Raises
        ConfigError."""
        self.endpoint = checked_address(
            base_url, api_key, whose=f"the chat model {model!r}"
        )
        self.model = model
        self._timeout = timeout
        self._slots = anyio.CapacityLimiter(parallel)
        self._running: set[anyio.CancelScope] = set()
        self._closed = False
        self._dialect = Dialect(openai=self.endpoint == OPENAI)
        self._client = make_client(
            self.endpoint,
            api_key,
            timeout=timeout,
            max_retries=max_retries,
            on_response=[_long_waits],
        )

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """Answer a chat. Raises LLMError and ClosedError."""
        async with self._slot(self._timeout * _ATTEMPTS):
            return await self._answer(messages, schema, rung, max_tokens, self._client)

    async def probe(self) -> bool:
        """Whether the endpoint answers: one small request, of 10 s at most. Raises
        ClosedError."""
        client = self._client.with_options(max_retries=0, timeout=_PROBE)
        ping = [{"role": "user", "content": "ping"}]
        try:
            with anyio.fail_after(_PROBE):  # waiting for a slot included
                async with self._slot(_PROBE):
                    await self._answer(ping, None, "plain", 1, client)
        except TimeoutError:
            return False
        except LLMError as e:
            return e.why not in ("down", "busy", "setup")
        return True

    async def aclose(self) -> None:
        """Close the connections; running calls raise ClosedError. Idempotent."""
        if not self._closed:
            self._closed = True
            for scope in self._running:
                scope.cancel()
            await self._client.close()

    @asynccontextmanager
    async def _slot(self, seconds: float) -> AsyncIterator[None]:
        """One of `parallel` places, for at most so many seconds once it is had."""
        async with self._slots:
            if self._closed:
                raise ClosedError("the chat model is closed")
            with anyio.move_on_after(seconds) as scope:
                self._running.add(scope)
                try:
                    yield
                finally:
                    self._running.discard(scope)
            if scope.cancelled_caught:
                if self._closed:
                    raise ClosedError("the chat model was closed")
                raise LLMError(f"the chat endpoint gave no answer in {seconds:g} s")

    async def _answer(
        self,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None,
        rung: Rung,
        max_tokens: int | None,
        client: openai.AsyncOpenAI,
    ) -> Completion:
        """One answer, without what this endpoint will not take."""
        while True:
            sent = self._dialect.body(
                self.model, messages, schema=schema, rung=rung, max_tokens=max_tokens
            )
            try:
                raw = await client.chat.completions.with_raw_response.create(**sent)
            except openai.APIStatusError as e:
                if filtered(e):
                    return Completion(content=None, finish="refused")
                found = quirk(e, sent)
                if found is None:
                    # Not chained: what the endpoint says may quote what was sent.
                    raise self._refusal(e, sent) from None
                self._dialect.give_way(found)
                log.info("the endpoint of %s does not take %s", self.model, found)
            except openai.APIConnectionError as e:
                raise self._unreached(e) from e
            else:
                body = raw.http_response.content
                return read_reply(body, retries=raw.retries_taken)

    def _refusal(self, e: openai.APIStatusError, sent: Mapping[str, Any]) -> LLMError:
        error = fault(e, model=self.model, formatted="response_format" in sent)
        error.usage = Usage(retries=_retries(e))
        return error

    def _unreached(self, e: openai.APIConnectionError) -> LLMError:
        if isinstance(e, openai.APITimeoutError):
            error = LLMError("the chat endpoint timed out")
        else:
            error = LLMError("the chat endpoint cannot be reached (HMEM_BASE_URL)")
        error.usage = Usage(retries=_retries(e))
        return error


def from_config(config: Config) -> RemoteLLM:
    """The chat model that the settings describe. Raises ConfigError."""
    if config.llm is None or not config.llm.strip():
        raise ConfigError("Config.llm (HMEM_LLM) must name a model")
    return RemoteLLM(
        config.llm.strip(),
        base_url=config.base_url,
        api_key=config.api_key,
        timeout=config.llm_timeout,
        parallel=config.llm_parallel,
    )


async def _long_waits(response: Any) -> None:
    """A long wait is not waited out in a slot: the caller is told how long it is."""
    if response.is_error and (retry_after(response.headers) or 0.0) > _PATIENCE:
        response.headers["x-should-retry"] = "false"


def _retries(e: openai.APIError) -> int:
    """How often the request of an error had been sent before."""
    count = e.request.headers.get(_RETRIES, "0")
    return int(count) if count.isdecimal() else 0
