"""Answering outside: the requests of all users as one file per round.

A chat model that is no endpoint: somebody, or another program, that reads a file of
questions and hands in a file of answers. By hand it is done in steps, each in a process of
its own if need be:

    llm = RoundsLLM(Cassette("talks/answers.txt"))
    async with AsyncMemory(config, llm=llm) as mem:
        await quiet(mem, llm)
    llm.write_round("talks")                       # talks/round-0001.jsonl
    ...
    llm.take_round("talks/my-answers.jsonl")       # and open the memory again

`hmem.replay.driver.run_rounds` is the loop of these.
"""

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmem.errors import InputError, LLMError
from hmem.protocols import Completion, Rung
from hmem.replay.cassette import Cassette
from hmem.replay.edges import as_llm_error, in_thread
from hmem.replay.entries import Chat, ChatRequest, chat_request
from hmem.replay.roundfile import Line, named, read_lines, rounds_in, write_requests
from hmem.replay.talks import Talks, same_talk, talk_of

log = logging.getLogger("hmem.replay")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a file of answers held: `new` ones, the `same` as were known, `other` ones than
    those known (which stand), requests left `blank`; and whether its last line was `cut`
    off."""

    new: int = 0
    same: int = 0
    other: int = 0
    blank: int = 0
    cut: bool = False


class RoundsLLM:
    """An LLM whose answers are given in rounds.

    What the cassette holds is answered from it; anything else is noted as pending, and
    raises LLMError, `why="waiting"`: the caller sets its job aside. A request is pending
    until it was answered, however often it is asked, and in memory alone: jobs that are
    set aside ask again when they are opened again.

    An answer is taken as it is, whatever it looks like; whoever asked judges it. A rung
    makes no difference to one who answers outside: a talk that was answered on one rung
    has that answer on each.
    """

    def __init__(
        self,
        cassette: Cassette,
        *,
        model: str = "outside",
        on_pending: Callable[[int], None] | None = None,
    ) -> None:
        """`on_pending` is called with the number of pending requests when there is one
        more; it may be set later."""
        self.cassette = cassette
        self.model = model
        self.on_pending = on_pending
        self.endpoint = f"rounds:{cassette.path}"
        self.calls = 0
        self._talks = Talks(cassette)
        self._waiting: dict[int, list[ChatRequest]] = {}

    @property
    def pending(self) -> int:
        """How many requests wait for an answer."""
        return sum(map(len, self._waiting.values()))

    def requests(self) -> list[ChatRequest]:
        """The requests that wait, in an order that depends on nothing but them: those
        that resemble each other stand together."""
        every = [one for some in self._waiting.values() for one in some]
        return sorted(every, key=lambda r: ([m["content"] for m in r.messages], r.key))

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """The answer, if it was given. Raises LLMError, `why="waiting"` if it was not."""
        self.calls += 1
        asked = chat_request(
            self.model, messages, schema=schema, rung=rung, max_tokens=max_tokens
        )
        with as_llm_error():
            known = await in_thread(self._known, asked)
        if known is not None:
            return known.give()
        self._note(asked)
        raise LLMError(f"request {asked.key} waits for its round", why="waiting")

    async def probe(self) -> bool:
        """True: it is never down, and a trial question would stand in a round."""
        return True

    async def aclose(self) -> None:
        """Put the cassette in order."""
        with as_llm_error():
            await in_thread(self.cassette.tidy)

    # ------------------------------------------------------------------ the rounds

    def write_round(self, folder: str | os.PathLike[str]) -> Path | None:
        """Write all pending requests to `round-NNNN.jsonl` in `folder`; None if there is
        none. Called again with the same pending, it is the same file. Does I/O."""
        requests = self.requests()
        return write_requests(Path(folder), requests) if requests else None

    def take_round(self, file: str | os.PathLike[str]) -> Taken:
        """Record the answers of a file: a round that was filled in, or lines of keys and
        replies, in any order, of any part of it. Does I/O.

        All of it or nothing: raises InputError for a line that is none, and for keys that
        are no request's of these rounds, naming them. A request is known when it is
        pending, answered, in the file, or in a round beside it. The first answer to a
        request stands, so that a file may be taken twice.
        """
        path = Path(file)
        lines, cut = read_lines(path)
        requests = self._asked(lines, path.parent)
        counts = {"new": 0, "same": 0, "other": 0}
        fresh: dict[str, Chat] = {}
        for line in lines:
            if line.answer is None:
                continue
            known = fresh.get(line.key) or self.cassette.find(line.key)
            if known is None:
                chat = Chat(key=line.key, request=requests[line.key], reply=line.answer)
                fresh[line.key] = chat
                counts["new"] += 1
            else:
                same = isinstance(known, Chat) and known.reply == line.answer
                counts["same" if same else "other"] += 1
        self.cassette.record(*fresh.values())
        self._forget(fresh.values())
        if counts["other"]:
            log.warning("%s: %d answers are not the first ones", path, counts["other"])
        return Taken(**counts, blank=sum(a.answer is None for a in lines), cut=cut)

    # -------------------------------------------------------------------- inside

    def _known(self, asked: ChatRequest) -> Chat | None:
        exact = self.cassette.find(asked.key)
        if isinstance(exact, Chat):
            return exact
        stricter, laxer = self._talks.other_rungs(asked)
        return next(iter([*stricter, *laxer]), None)

    def _note(self, asked: ChatRequest) -> None:
        waiting = self._waiting.setdefault(talk_of(asked), [])
        if not any(same_talk(one, asked) for one in waiting):
            waiting.append(asked)
            if self.on_pending is not None:
                self.on_pending(self.pending)

    def _forget(self, answered: Iterable[Chat]) -> None:
        for chat in answered:
            talk = talk_of(chat.request)
            left = [
                r for r in self._waiting.pop(talk, []) if not same_talk(r, chat.request)
            ]
            if left:
                self._waiting[talk] = left

    def _asked(self, lines: Sequence[Line], folder: Path) -> dict[str, ChatRequest]:
        """The requests of these lines. Raises InputError naming keys of none."""
        known = {request.key: request for request in self.requests()}
        for line in lines:
            if line.request is not None:
                known[line.key] = line.request
        wanted = {line.key for line in lines}
        missing = {key for key in wanted - known.keys() if key not in self.cassette}
        for path in reversed(rounds_in(folder).values()) if missing else ():
            for line in read_lines(path)[0]:
                if line.key in missing and line.request is not None:
                    known[line.key] = line.request
            missing -= known.keys()
        if missing:
            raise InputError(f"no request of these rounds is named {named(missing)}")
        return known
