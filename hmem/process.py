"""WRITE PATH, second half: a claim of queued jobs -> the plan that ends them.

Embeds every passage that the jobs came with, in slices, and decides what a failure means:

    the embedder is down        Outage: nobody's fault, no attempt is counted
    it refuses these texts      they are embedded one by one, halves of halves; what it
                                still refuses has no vector, and the job is `partial`, or
                                `dead` when nothing could be embedded
    it fails on these texts     Retry, until the attempts are used up; then as above

Down or not is decided by asking it for the vector of one plain word: that bounds a poison
job (its attempts count while the word gets its vector) and spares an outage's jobs.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from hmem.config import Config
from hmem.errors import BadVectorError, EmbedderError, EmbeddingSpaceError, ModelError
from hmem.ingest import fact_texts, turn_texts
from hmem.protocols import (
    Claim,
    Clock,
    Embedder,
    JobEnd,
    PutVectors,
    Space,
    Store,
    VectorCodec,
    VectorRows,
    WritePlan,
)
from hmem.records import Kind, Usage
from hmem.times import to_micros
from hmem.vectors import codec

SLICE = 512
"""Passages per call of the embedder."""
_PROBE_TIMEOUT = 10.0
_HEAVY = 2_000
"""Vectors from which encoding leaves the event loop."""
STILL_TRUE = "the turns and facts are stored and searchable by words"

Matrix = NDArray[np.float32]


class Outage(Exception):  # noqa: N818  # a state of the world, not a mistake
    """The embedder is down."""


class Retry(Exception):  # noqa: N818
    """This claim failed; it may work later."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One text to embed and where its vector belongs."""

    kind: Kind
    seq: int
    part: int
    text: str


@dataclass(slots=True)
class Work:
    """What came of embedding: codes by position, and why some have none."""

    codes: dict[int, NDArray[np.uint8]] = field(default_factory=dict)
    space: Space | None = None
    why: str = ""
    until: float | None = None


class Processor:
    """Plans claims. Writes nothing but the embedding space, at the first vectors."""

    def __init__(
        self,
        config: Config,
        *,
        store: Store,
        embedder: Embedder | None,
        clock: Clock,
        on_space: Callable[[Space], None] = lambda _: None,
    ) -> None:
        self._config = config
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._on_space = on_space
        self._codec: VectorCodec = codec(config.stored)

    async def plan(self, claim: Claim) -> WritePlan:
        """The plan that ends the claim's jobs. Raises Outage, Retry, and
        EmbeddingSpaceError when the store's vectors are another model's."""
        began = time.perf_counter()
        if max(job.attempts for job in claim.jobs) > self._config.max_attempts:
            return self._ended(claim, _crashed(self._config.max_attempts))
        passages = self._passages(claim)
        if self._embedder is None or not passages:
            return self._ended(claim, JobEnd(status="done"))
        last = max(job.attempts for job in claim.jobs) >= self._config.max_attempts
        work = await self.embed(passages, last=last)
        usage = Usage(
            embedded_texts=len(work.codes),
            milliseconds=(time.perf_counter() - began) * 1000,
        )
        return self._ended(
            claim,
            _end(work, len(passages), usage),
            self.puts(passages, work),
        )

    async def probe(self) -> bool:
        """Whether the embedder answers at all."""
        if self._embedder is None:
            return True
        try:
            with anyio.fail_after(min(_PROBE_TIMEOUT, self._config.embed_timeout)):
                await self._embedder.embed(["hello"])
        except (ModelError, TimeoutError):
            return False
        return True

    # ---------------------------------------------------------------- embedding

    async def embed(self, passages: Sequence[Passage], *, last: bool) -> Work:
        """Embed what can be embedded. Raises Outage, EmbeddingSpaceError, and Retry for
        a failure that may pass, unless this is the `last` attempt."""
        work, embedder = Work(), self._embedder
        if embedder is None:
            return work
        for start in range(0, len(passages), SLICE):
            numbers = range(start, min(start + SLICE, len(passages)))
            if work.until is not None and anyio.current_time() > work.until:
                break
            try:
                await self._slice(work, passages, numbers, embedder)
            except ModelError as e:
                if not await self.probe():
                    raise Outage(str(e)) from e
                if e.retryable and not last:
                    raise Retry(str(e)) from e
                work.why = str(e)
                await self._halves(work, passages, numbers, embedder)
        return work

    async def _slice(
        self,
        work: Work,
        passages: Sequence[Passage],
        numbers: Sequence[int],
        embedder: Embedder,
    ) -> None:
        """Embed and encode these passages. A timeout is a ModelError here."""
        texts = [passages[n].text for n in numbers]
        try:
            with anyio.fail_after(self._config.embed_timeout):
                vectors = await embedder.embed(texts)
        except TimeoutError as e:
            limit = self._config.embed_timeout
            raise EmbedderError(f"the embedder took over {limit:g} s") from e
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbedderError("the embedder returned another number of vectors")
        if embedder.dim not in (None, vectors.shape[1]):
            # Not what it says of itself: a broken reply, not another model.
            raise EmbedderError("the embedder returned vectors of another dimension")
        work.space = await self._space(embedder, vectors.shape[1])
        codes = await self._encode(vectors)
        work.codes.update(zip(numbers, codes, strict=True))

    async def _encode(self, vectors: Matrix) -> NDArray[np.uint8]:
        try:
            if len(vectors) < _HEAVY:
                return self._codec.encode(vectors)
            return await anyio.to_thread.run_sync(self._codec.encode, vectors)
        except BadVectorError as e:
            raise EmbedderError(f"an unusable vector: {e}", retryable=False) from e

    async def _space(self, embedder: Embedder, dim: int) -> Space:
        space = await self._store.adopt_space(embedder.model, dim)
        if (space.model, space.dim) != (embedder.model, dim):
            raise other_space(space, embedder.model, dim)
        self._on_space(space)
        return space

    async def _halves(
        self,
        work: Work,
        passages: Sequence[Passage],
        numbers: Sequence[int],
        embedder: Embedder,
    ) -> None:
        """Embed what can be embedded of a slice that failed, in a time that is bounded
        for the whole claim. Raises Outage when the embedder went down meanwhile."""
        if work.until is None:
            work.until = anyio.current_time() + 3 * self._config.embed_timeout
        waiting = _halved(numbers)
        while waiting and anyio.current_time() < work.until:
            part = waiting.pop()
            try:
                await self._slice(work, passages, part, embedder)
            except ModelError as e:
                work.why = str(e)
                waiting.extend(_halved(part))
        if not all(n in work.codes for n in numbers) and not await self.probe():
            raise Outage(work.why)

    # --------------------------------------------------------------------- plan

    def puts(self, passages: Sequence[Passage], work: Work) -> tuple[PutVectors, ...]:
        """What is to be stored of it. Passages of one kind stand together."""
        return _puts(passages, work, self._codec.name)

    def _passages(self, claim: Claim) -> list[Passage]:
        zone = self._config.zone
        found: list[Passage] = []
        for job in claim.jobs:
            for turn in job.turns:
                texts = enumerate(turn_texts(turn, zone))
                found.extend(Passage("turn", turn.seq, n, text) for n, text in texts)
            for row in job.items:
                texts = enumerate(fact_texts(row))
                found.extend(Passage("memory", row.seq, n, text) for n, text in texts)
        return sorted(found, key=lambda p: p.kind)

    def _ended(
        self, claim: Claim, end: JobEnd, ops: tuple[PutVectors, ...] = ()
    ) -> WritePlan:
        return WritePlan(
            at=to_micros(self._clock()),
            ops=ops,
            incarnation=claim.incarnation,
            claim=claim,
            end=end,
        )

    def given_up(self, claim: Claim, reason: str) -> WritePlan:
        """The plan that ends a claim as dead."""
        return self._ended(
            claim, JobEnd(status="dead", reason=f"{STILL_TRUE}; {reason}")
        )


def other_space(space: Space, model: str, dim: int | None) -> EmbeddingSpaceError:
    """The store's vectors are another model's: names both, and the way out."""
    size = "" if dim is None else f" ({dim} dimensions)"
    return EmbeddingSpaceError(
        f"the store holds vectors of {space.model!r} ({space.dim} dimensions), the "
        f"embedder is {model!r}{size}. Use the model of the store, move the store with "
        f"`hmem reembed --to {model}` (not in this version yet), or open it with "
        "allow_degraded=True to search by words alone"
    )


def _halved(numbers: Sequence[int]) -> list[Sequence[int]]:
    """Both halves; nothing of a single one."""
    middle = len(numbers) // 2
    return [numbers[:middle], numbers[middle:]] if middle else []


def _puts(
    passages: Sequence[Passage], work: Work, codec_name: str
) -> tuple[PutVectors, ...]:
    """The codes as operations, one per kind. Passages are sorted by kind."""
    if work.space is None:
        return ()
    puts: list[PutVectors] = []
    for kind, numbers in groupby(sorted(work.codes), key=lambda n: passages[n].kind):
        own = list(numbers)
        rows = VectorRows(
            kind=kind,
            space=work.space.id,
            codec=codec_name,
            keys=np.array(
                [(passages[n].seq, passages[n].part) for n in own], np.uint32
            ),
            codes=np.stack([work.codes[n] for n in own]),
        )
        puts.append(PutVectors(rows=rows))
    return tuple(puts)


def _end(work: Work, wanted: int, usage: Usage) -> JobEnd:
    """How the jobs end, given how many of the wanted vectors there are."""
    missing = wanted - len(work.codes)
    if not missing:
        return JobEnd(status="done", usage=usage)
    reason = f"{STILL_TRUE}; embedding failed for {missing} of {wanted}: {work.why}"
    return JobEnd(
        status="partial" if work.codes else "dead", reason=reason, usage=usage
    )


def _crashed(times: int) -> JobEnd:
    reason = f"{STILL_TRUE}; the worker stopped {times} times while it was at it"
    return JobEnd(status="dead", reason=reason)
