"""Texts -> vectors that can be stored. What a failure means:

    the embedder is down        Outage: nobody's fault, no attempt is counted
    it refuses these texts      they are embedded one by one, halves of halves; what it
                                still refuses has no vector
    it fails on these texts     Retry, until the attempts are used up; then as above

Down or not is decided by asking it for the vector of one plain word: that bounds a poison
job (its attempts count while the word gets its vector) and spares an outage's jobs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from hmem.config import Config
from hmem.embed.checks import embed
from hmem.errors import BadVectorError, EmbedderError, EmbeddingSpaceError, ModelError
from hmem.protocols import Embedder, PutVectors, Space, Store, VectorCodec, VectorRows
from hmem.records import Kind
from hmem.setbacks import Outage, Retry
from hmem.vectors import codec

SLICE = 512
"""Passages per call of the embedder."""
_PROBE_TIMEOUT = 10.0
_HEAVY = 2_000
"""Vectors from which encoding leaves the event loop."""

Matrix = NDArray[np.float32]


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

    def missing(self, wanted: Sequence[int]) -> tuple[int, str]:
        """How many of the wanted vectors there are not, and the words for it."""
        missing = sum(n not in self.codes for n in wanted)
        if not missing:
            return 0, ""
        return missing, f"embedding failed for {missing} of {len(wanted)}: {self.why}"


@dataclass(frozen=True, slots=True)
class Fact:
    """What is to be stored of a fact's vectors, and (dim,) the first of them."""

    rows: VectorRows | None = None
    vector: Matrix | None = None


class Embedding:
    """Embeds for storage. Writes nothing but the embedding space, at the first vectors."""

    def __init__(
        self,
        config: Config,
        *,
        store: Store,
        embedder: Embedder | None,
        on_space: Callable[[Space], None] = lambda _: None,
    ) -> None:
        self._config = config
        self._store = store
        self.embedder = embedder
        self._on_space = on_space
        self._codec: VectorCodec = codec(config.stored)

    async def probe(self) -> bool:
        """Whether the embedder answers at all."""
        if self.embedder is None:
            return True
        try:
            with anyio.fail_after(min(_PROBE_TIMEOUT, self._config.embed_timeout)):
                await embed(self.embedder, ["hello"])
        except (ModelError, TimeoutError):
            return False
        return True

    async def embed(self, passages: Sequence[Passage], *, last: bool) -> Work:
        """Embed what can be embedded. Raises Outage, EmbeddingSpaceError, and Retry for
        a failure that may pass, unless this is the `last` attempt."""
        work, embedder = Work(), self.embedder
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
                vectors = await embed(embedder, texts)
        except TimeoutError as e:
            limit = self._config.embed_timeout
            raise EmbedderError(f"the embedder took over {limit:g} s") from e
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

    def puts(self, passages: Sequence[Passage], work: Work) -> tuple[PutVectors, ...]:
        """What is to be stored of it. Passages of one kind stand together."""
        return _puts(passages, work, self._codec.name)

    async def look(self, texts: Sequence[str]) -> list[Matrix | None]:
        """Vectors that are not to be stored, None for those that cannot be had. Writes
        nothing, not even the embedding space."""
        if self.embedder is None or not texts:
            return [None for _ in texts]
        space = await self._store.space()
        try:
            with anyio.fail_after(self._config.embed_timeout):
                rows = await embed(self.embedder, list(texts))
        except (EmbedderError, TimeoutError):
            return [None for _ in texts]
        if space is not None and rows.shape[1] != space.dim:
            return [None for _ in texts]
        return list(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    async def facts(self, texts: Sequence[Sequence[str]], *, last: bool) -> list[Fact]:
        """Vectors of facts that are not stored yet, given each one's passages. One that
        cannot be embedded has none. Raises what `embed` raises."""
        passages = [
            Passage("memory", n, part, text)
            for n, own in enumerate(texts)
            for part, text in enumerate(own)
        ]
        work = await self.embed(passages, last=last)
        if work.space is None:
            return [Fact() for _ in texts]
        found: list[Fact] = []
        start = 0
        for own in texts:
            numbers = range(start, start + len(own))
            start += len(own)
            if not own or not all(n in work.codes for n in numbers):
                found.append(Fact())
                continue
            codes = np.stack([work.codes[n] for n in numbers])
            keys = np.array([(0, part) for part in range(len(own))], np.uint32)
            rows = VectorRows("memory", work.space.id, self._codec.name, keys, codes)
            found.append(Fact(rows, self._codec.decode(codes[:1], work.space.dim)[0]))
        return found


def other_space(space: Space, model: str, dim: int | None) -> EmbeddingSpaceError:
    """The store's vectors are another model's: names both, and the way out."""
    size = "" if dim is None else f" ({dim} dimensions)"
    return EmbeddingSpaceError(
        f"the store holds vectors of {space.model!r} ({space.dim} dimensions), the "
        f"embedder is {model!r}{size}. Moving a store to another model is not in "
        "this version yet. Use the model of the store (Config.embed, HMEM_EMBED), or open "
        "it with allow_degraded=True to search by words alone"
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
