"""A chat model that answers from a cassette.

    cassette = Cassette("recorded.txt")
    llm = ReplayLLM(cassette, llm=RemoteLLM(...))    # asks, and records what is new
    llm = ReplayLLM(cassette)                        # only what is recorded

What was recorded is given back as it was: content, finish, token counts and retries. So a
replayed job reports the usage that it once had, though nothing was asked.
"""

import asyncio
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from hmem.errors import ConfigError, InputTypeError, LLMError
from hmem.protocols import LLM, Completion, Rung
from hmem.replay.cassette import Cassette
from hmem.replay.edges import as_llm_error, in_thread, only_one
from hmem.replay.entries import (
    VERDICTS,
    Chat,
    ChatRequest,
    Refusal,
    chat_request,
    plain,
)
from hmem.replay.talks import Talks, nearest
from hmem.threads import to_its_end


class ReplayLLM:
    """An LLM that answers from a cassette.

    `strict`: only from it, also where there is an `llm` to ask; by default where there is
    none. Else what is new is asked of `llm` and recorded before it is handed out, refusals
    of a request (`VERDICTS`) included, so that the ladder of forms is replayed too; that
    an endpoint was down or busy is not. Equal requests at one moment are asked once. An
    answer that says nothing is asked for again, and the next one stands.

    Recorded requests may come in any order. On another rung than the recorded one the
    talk is still the recorded one: asked less strictly it has the same answer, asked more
    strictly the form is refused, as a model does that never answered in it.

    A miss raises LLMError, `why="waiting"`, whose message names the request's key and
    what is most different in the nearest recorded one. Of what was said nothing is in
    it; see the logger `hmem.replay` at DEBUG.
    """

    def __init__(
        self,
        cassette: Cassette,
        *,
        llm: LLM | None = None,
        strict: bool | None = None,
        model: str | None = None,
    ) -> None:
        """`model`: default the inner one's, or the one of which the cassette holds
        answers. Raises ConfigError where there is nobody to ask."""
        if llm is None and strict is False:
            raise ConfigError("ReplayLLM(strict=False) needs an llm to ask what is new")
        self.cassette = cassette
        self.inner = llm
        self.strict = llm is None if strict is None else strict
        self.endpoint = f"cassette:{cassette.path}"
        self._model = model if llm is None or model is not None else llm.model
        self._talks = Talks(cassette)
        self._asking: weakref.WeakValueDictionary[str, asyncio.Lock] = (
            weakref.WeakValueDictionary()
        )

    @property
    def model(self) -> str:
        """The model whose answers these are. Reads the cassette where it was not said;
        raises ConfigError unless that holds one model's answers."""
        if self._model is None:
            models = {chat.request.model for chat in self.cassette.chats()}
            self._model = only_one(models, f"{self.cassette.path} holds answers of")
        return self._model

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """The recorded answer, or else the inner model's. Raises LLMError."""
        with as_llm_error():
            await in_thread(self.cassette.load)
            asked = chat_request(
                self.model, messages, schema=schema, rung=rung, max_tokens=max_tokens
            )
            key = asked.key
            if self.strict or self.inner is None:
                known = self.cassette.find(key)
                if isinstance(known, Chat):
                    return known.give()
                return await in_thread(lambda: self._missed(asked, key))
            async with self._asking.setdefault(key, asyncio.Lock()):
                known = self.cassette.find(key)
                if isinstance(known, Chat) and not _says_nothing(known):
                    return known.give()
                return await self._ask(self.inner, asked, key)

    async def probe(self) -> bool:
        """Whether answers can be had: of the inner model where that is asked (True where
        it cannot say), else True. Records nothing."""
        probe = None if self.strict else getattr(self.inner, "probe", None)
        return True if probe is None else bool(await probe())

    async def aclose(self) -> None:
        """Put the cassette in order if it was added to, and close the inner model."""
        with as_llm_error():
            await in_thread(self.cassette.tidy)
        if self.inner is not None:
            await self.inner.aclose()

    async def _ask(self, llm: LLM, asked: ChatRequest, key: str) -> Completion:
        try:
            answer = await llm.complete(
                asked.messages,
                schema=asked.schema,
                rung=asked.rung,
                max_tokens=asked.max_tokens,
            )
            reply: Completion | Refusal = _recordable(answer)
        except LLMError as e:
            if e.why not in VERDICTS:
                raise
            reply = Refusal(why=e.why, message=str(e))
        chat = Chat(key=key, request=asked, reply=reply)
        stands = await to_its_end(  # it was paid for
            lambda: self.cassette.record(chat, replace=key in self.cassette)
        )
        return next(c for c in stands if isinstance(c, Chat)).give()

    def _missed(self, asked: ChatRequest, key: str) -> Completion:
        """What another rung's recording says. Raises LLMError."""
        stricter, laxer = self._talks.other_rungs(asked)
        if stricter:
            return stricter[0].give()
        if laxer:
            raise LLMError(
                f"this was answered as {laxer[0].request.rung} when it was recorded",
                why="form",
                retryable=False,
            )
        found = nearest(self.cassette.chats(), asked)
        if found is None:
            hint = f"{self.cassette.path} holds no answer of a chat model"
        else:
            hint = f"the nearest, {found.key}, differs in {', '.join(found.parts)}"
        raise LLMError(
            f"no answer is recorded for request {key}: {hint}", why="waiting"
        )


def _recordable(reply: Completion) -> Completion:
    """The reply, if a file can hold it."""
    if not isinstance(reply.content, str | None):
        try:
            plain(reply.content)
        except InputTypeError as e:
            raise LLMError(f"the reply: {e}", why="reply") from e
    return reply


def _says_nothing(chat: Chat) -> bool:
    content = None if isinstance(chat.reply, Refusal) else chat.reply.content
    return not isinstance(chat.reply, Refusal) and (
        content is None or (isinstance(content, str) and not content.strip())
    )
