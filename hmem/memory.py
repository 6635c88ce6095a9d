"""`AsyncMemory`: the face. It wires the rooms and decides nothing."""

from hmem.admin import Admin
from hmem.asking import read_flag
from hmem.config import Config
from hmem.inputs.deadline import deadline
from hmem.inputs.events import UNCHANGED, Unchanged
from hmem.inputs.scope import read_id, scope_of
from hmem.inputs.settings import read_settings
from hmem.protocols import LLM, Clock, Embedder, Priority, Reranker, Store
from hmem.reading import Reading
from hmem.receipts import Receipt
from hmem.records import Erased, MemoryRecord, Preview
from hmem.running.naming import face
from hmem.saying import read_call
from hmem.scoped import Scoped
from hmem.times import Time, utc_now

_LATE = "the timeout ran out before the model had answered"


@face
class AsyncMemory(Reading):
    """Durable, dated memory per user, for asyncio.

        async with AsyncMemory(Config(path="memories")) as mem:
            receipt = await mem.add("I moved to Ghent", user_id="maya")
            found = await mem.search("where does Maya live?", user_id="maya")

    The constructor does no I/O; `config=None` reads the environment. A store that is
    handed in is opened and closed with the memory; an embedder, llm or reranker stays the
    caller's to close. One object serves any number of tasks of one event loop.

    All verbs raise NotOpenError, ClosedError, ForkedError or WrongLoopError when they are
    called at the wrong moment or place, and InputErrors before anything is written.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        store: Store | None = None,
        llm: LLM | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            read_settings(config),
            store=store,
            embedder=embedder,
            llm=llm,
            reranker=reranker,
            clock=clock or utc_now,
        )

    # ------------------------------------------------------------------- writing

    async def add(
        self,
        messages: object,
        *,
        user_id: object,
        agent_id: object = None,
        session_id: object = None,
        observed_at: Time | None = None,
        infer: bool = True,
        metadata: object = None,
        idempotency_key: str | None = None,
        priority: Priority = "live",
        wait: bool = False,
        timeout: float | None = None,
    ) -> Receipt:
        """Make messages durable and return; what is left to do is queued.

        `messages`: see `hmem.inputs.messages`; with `infer=False` finished facts, see
        `hmem.inputs.items`. `observed_at` is when it was said (default: now), of a message
        with its own `timestamp` that. What is added with `priority="import"` is worked on
        when nothing of the user's that is "live" waits.

        A list with a `session_id` that repeats what the session already holds adds only
        what is new: by message ids, else where it begins with the session's turns or with
        its last ones (give ids where histories are edited). With an `idempotency_key` the
        same call sent again gives the first one's receipt; another call raises
        IdempotencyError.

        When nothing is left to store (system messages, blanks) nothing is written: the
        receipt is done, its result says why in `skipped`, and its id is "". `wait=True`
        returns once the job ended; then a DeadlineError leaves it going on.
        """
        read_flag(wait, "wait")
        await self._enter()
        rooms = self._rooms
        call, skipped = read_call(
            messages,
            scope=scope_of(user_id=user_id, agent_id=agent_id, session_id=session_id),
            config=self.config,
            observed_at=observed_at,
            infer=infer,
            metadata=metadata,
            key=idempotency_key,
            priority=priority,
        )
        with deadline(timeout, "the timeout ran out; what was accepted goes on"):
            with self._life.call():
                receipt = await rooms.accept(call, skipped)
            if wait:
                async with rooms.hurrying({receipt.user_id}):
                    await receipt
        return receipt

    async def preview(
        self,
        messages: object,
        *,
        user_id: object,
        agent_id: object = None,
        session_id: object = None,
        observed_at: Time | None = None,
        timeout: float | None = None,
    ) -> list[Preview]:
        """What `add` of the same messages would store as facts, and what it would do with
        each. Calls the model and writes nothing.

        Raises ConfigError without a model, LLMError when it fails or cannot be
        understood, and what `add` raises for bad input.
        """
        await self._enter()
        rooms = self._rooms
        call, _ = read_call(
            messages,
            scope=scope_of(user_id=user_id, agent_id=agent_id, session_id=session_id),
            config=self.config,
            observed_at=observed_at,
            infer=True,
            metadata=None,
            key=None,
        )
        with deadline(timeout, _LATE), self._life.call():
            return await rooms.preview(call)

    async def update(
        self,
        id: str,
        *,
        user_id: object,
        text: str,
        metadata: object = None,
        event_start: Time | Unchanged | None = UNCHANGED,
        event_end: Time | Unchanged | None = UNCHANGED,
        observed_at: Time | None = None,
        timeout: float | None = None,
    ) -> MemoryRecord:
        """Replace an open memory's text: a new memory supersedes it and keeps its other
        fields (`metadata`, where given, replaces the old). The old one stays as history,
        believed until `observed_at` (default: now; BadTimeError before the old one). Where
        text, metadata and event stay the same nothing is stored, and the memory comes back
        as it is.

        When it happened stays, too, unless it is given (in the forms of finished facts):
        `event_start` says all of it anew, None clears it; `event_end` alone moves its end,
        None takes that away. Not given is `hmem.UNCHANGED`.

        Raises InputError when the id is not an open memory of the user (a turn never is),
        and EmbedderError, with nothing changed, when its vector cannot be had.
        """
        user = read_id(user_id, "user_id")
        late = "the timeout ran out; the update may still come about"
        with self._life.call(), deadline(timeout, late):
            editor = self._rooms.editor
            return await editor.update(
                user,
                id,
                text=text,
                metadata=metadata,
                event_start=event_start,
                event_end=event_end,
                observed_at=observed_at,
            )

    async def delete(
        self, id: str, *, user_id: object, observed_at: Time | None = None
    ) -> bool:
        """Close a memory: it is no longer believed from `observed_at` on (default: now;
        BadTimeError before the memory), and stays as history.

        False when there is nothing to close: an unknown id, another user's, a memory that
        is closed already, and a turn (what was said stays said; `erase` destroys).
        """
        user = read_id(user_id, "user_id")
        with self._life.call():
            editor = self._rooms.editor
            return await editor.delete(user, id, observed_at=observed_at)

    async def reinstate(
        self, id: str, *, user_id: object, reason: str | None = None
    ) -> MemoryRecord:
        """Open a closed memory again, as if it had never been closed: undoes a
        `delete`, or a superseding that was wrong. What superseded it stays.

        Raises InputError when the id is not a closed memory of the user, or when another
        open memory says the same.
        """
        user = read_id(user_id, "user_id")
        with self._life.call():
            return await self._rooms.editor.reinstate(user, id, reason=reason)

    async def erase(self, id: str, *, user_id: object) -> Erased:
        """Destroy one memory or one turn: its words, vectors, names and journal are in no
        file afterwards, or `pending` says where and why. Nothing for an unknown id.

        Of a memory this one version goes. What it replaced stays closed, followed by what
        replaced it, if anything did; `history` tells of those that are left. The turns that
        say the same stay: erase them, too, or `admin.retry` may read them anew.

        Of a turn go the words, also where memories quote it. Memories that were made of it
        stand, without it as a source; one that has no source left, or lost its quote, is
        not `verified` any more. A list that is resent does not bring the turn back.

        The user's profile goes with either, and is made anew in time.
        """
        user = read_id(user_id, "user_id")
        with self._life.call():
            return await self._rooms.erase_row(user, id)

    async def delete_user(self, user_id: object) -> Erased:
        """Destroy all that is stored of a user, in every file. Others are untouched."""
        user = read_id(user_id, "user_id")
        with self._life.call():
            return await self._rooms.erase(user)

    async def receipt(self, id: str, *, user_id: object) -> Receipt:
        """The receipt of an earlier `add`, also of another process or before a restart.

        Raises InputError, one and the same for an unknown id, another user's, and one past
        `Config.receipt_days`.
        """
        user = read_id(user_id, "user_id")
        with self._life.call():
            return await self._rooms.find_receipt(id, user)

    async def flush(self, *, timeout: float | None = None) -> None:
        """Wait until all that this process accepted before has ended, well or not.

        With `worker="off"` some other process has to do the work. Raises DeadlineError.
        """
        rooms = self._rooms
        with deadline(timeout, "accepted jobs are still queued; they go on"):
            await rooms.flush()

    # -------------------------------------------------------------------- others

    def scoped(
        self, *, user_id: object, agent_id: object = None, session_id: object = None
    ) -> Scoped:
        """The same verbs with the scope bound."""
        return Scoped(
            self, scope_of(user_id=user_id, agent_id=agent_id, session_id=session_id)
        )

    @property
    def admin(self) -> Admin:
        """What spans users: `stats()`, `health()`, `queued()`, `jobs()`, `retry()`."""
        rooms = self._rooms
        views = rooms.retriever.views
        return Admin(
            self._life.call, rooms.parts, rooms.worker, views.stats, rooms.retry
        )
