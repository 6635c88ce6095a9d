"""The contracts between the rooms. Bring any object that fits; the suites in
`hmem.testing` prove it.

Inside these contracts times are *micros*: whole microseconds since 1970 UTC, as int. A
user's rows are named by `(kind, seq)`: `seq` counts from 1 per user and kind and is never
reused. How a store packs them is its own affair and never shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hmem.records import EMPTY, Category, Erased, JobStatus, Kind, Skipped, Usage

Micros = int
Priority = Literal["live", "import"]
Rung = Literal["json_schema", "json_object", "plain"]
"""The form in which a model is asked for JSON, the strictest first."""
Tokens = NDArray[np.uint32]
"""Token hashes of one passage, in order, repeats kept."""


# ---------------------------------------------------------------- what goes in


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """One raw turn to store. Passages cover the text: passage i ends at `ends[i]`.

    `tokens` holds one array per passage. `digest` (8 bytes) names role, speaker and text,
    so that a resent history is recognised.
    """

    role: str
    text: str
    observed_at: Micros
    digest: bytes
    tokens: tuple[Tokens, ...]
    ends: tuple[int, ...]
    name: str | None = None
    message_id: str | None = None
    metadata: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """One fact to store. `hash` (8 bytes) is of the normalised text: exact duplicates
    among a user's open rows of the same agent are decided by it, inside the
    transaction."""

    text: str
    hash: bytes
    tokens: tuple[Tokens, ...]
    ends: tuple[int, ...]
    valid_from: Micros
    category: Category = "semantic"
    importance: int = 5
    event_start: Micros | None = None
    event_end: Micros | None = None
    event_precision: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    source_ids: tuple[str, ...] = ()
    quote: str | None = None
    verified: bool = True
    expires_at: Micros | None = None
    entities: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = EMPTY
    prompt_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """One `add()`, validated and tokenised: what `Store.accept` makes durable.

    `queue=False` ends the job at once (nothing is left to do). `extract` says that a model
    is to read the turns. `skipped` is what of the call is not stored, kept with the job. An
    accept whose job is queued ends a deferral of its user's (see `WritePlan`). `key` is the
    caller's idempotency key and `body_hash` what it stands for. `resend` asks the store to drop the
    turns that the session already holds: those whose message id it knows, and without ids
    the leading ones.
    """

    turns: tuple[NewTurn, ...] = ()
    items: tuple[NewMemory, ...] = ()
    agent_id: str | None = None
    session_id: str | None = None
    recorded_at: Micros
    key: str | None = None
    body_hash: bytes = b""
    queue: bool = True
    resend: bool = False
    extract: bool = False
    priority: Priority = "live"
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """`created` is False when an idempotency key was seen before: then `job_id` is the
    earlier job's. Ids are in the order given; skipped turns and items are left out.
    `skipped` is what the job's will be: the accept's own first, then turns that the session
    held, then items that are duplicates. Such an item adds its `source_ids` to the row that
    it repeats, as AddMemory's does."""

    job_id: str
    created: bool
    status: JobStatus
    turns: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()


# --------------------------------------------------------------- what comes out


class MemoryRow(NamedTuple):
    """A stored fact. Times in micros. `links` are ids of facts that are still there."""

    seq: int
    id: str
    text: str
    ends: tuple[int, ...]
    agent_id: str | None
    session_id: str | None
    category: Category
    importance: int
    event_start: Micros | None
    event_end: Micros | None
    event_precision: str | None
    valid_from: Micros
    valid_to: Micros | None
    recorded_at: Micros
    closed_recorded_at: Micros | None
    superseded_by: str | None
    source_ids: tuple[str, ...]
    quote: str | None
    verified: bool
    hash: bytes
    expires_at: Micros | None
    forgotten_at: Micros | None
    last_accessed: Micros | None
    metadata: Mapping[str, Any]
    prompt_version: str | None
    links: tuple[str, ...] = ()


class TurnRow(NamedTuple):
    """A stored raw turn. Times in micros. `job` is the sequence of the job it came with."""

    seq: int
    id: str
    text: str
    ends: tuple[int, ...]
    agent_id: str | None
    session_id: str | None
    role: str
    name: str | None
    observed_at: Micros
    recorded_at: Micros
    message_id: str | None
    job: int
    metadata: Mapping[str, Any]


class Former(NamedTuple):
    """How a fact stood until its end was changed at the wall time `until` (micros): it was
    believed until `valid_to`, None while it was open, and `superseded_by` took its place."""

    until: Micros
    valid_to: Micros | None
    superseded_by: str | None = None


class Note(NamedTuple):
    """An entry of the journal: what was done to a fact, when (micros), and why. `by` is
    the fact that superseded it; None for other events, and where that one was erased."""

    event: Literal["SUPERSEDE", "CLOSE", "REINSTATE", "CITE"]
    id: str
    at: Micros
    by: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a view has read. Opaque above the store but for `incarnation`."""

    incarnation: int
    generation: int
    memory_seq: int
    turn_seq: int
    lexical: tuple[int, int]
    vectors: tuple[int, int]


class LexicalRows(NamedTuple):
    """Passages' tokens. `keys` (n, 2) uint32: seq, passage. `tokens` are all passages'
    tokens one after the other; passage i has `lengths[i]` of them."""

    kind: Kind
    keys: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    tokens: Tokens


class VectorRows(NamedTuple):
    """Passages' codes. `keys` (n, 2) uint32: seq, passage; `codes` (n, row_bytes) uint8.
    A later row for the same key replaces an earlier one."""

    kind: Kind
    space: int
    codec: str
    keys: NDArray[np.uint32]
    codes: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What changed for a user since a mark. `whole=True`: forget what you had.

    `memories` holds new and changed rows; `turns` new ones. `pending` are the job sequences
    that have not ended: a turn whose `job` is among them is pending. `entities` maps a
    normalised name to all memory sequences it occurs in, for names that changed.

    `former` tells, by the sequence of those rows in `memories` whose end was moved, whose
    successor changed, or that were opened again, how they stood before, in the order in
    which it changed. At a wall time the first state whose `until` is later holds; after
    the last, the row's own, which is open before `closed_recorded_at`. An erased row is
    nobody's `superseded_by`.
    """

    mark: Mark
    whole: bool
    memories: Sequence[MemoryRow] = ()
    turns: Sequence[TurnRow] = ()
    lexical: Sequence[LexicalRows] = ()
    vectors: Sequence[VectorRows] = ()
    entities: Mapping[str, Sequence[int]] = field(default_factory=dict)
    pending: frozenset[int] = frozenset()
    former: Mapping[int, Sequence[Former]] = field(default_factory=dict)


# ------------------------------------------------------------------- the queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as a receipt sees it."""

    id: str
    status: JobStatus
    attempts: int
    created_at: Micros
    ended_at: Micros | None = None
    reason: str | None = None
    turns: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    usage: Usage = field(default_factory=Usage)


class JobPlace(NamedTuple):
    """Where a job stands among those of all users: by when it came, the oldest first."""

    created_at: Micros
    user_id: str
    seq: int


class JobEntry(NamedTuple):
    """A job as an operator sees it, whoever's it is. Times in micros."""

    id: str
    user_id: str
    seq: int
    status: JobStatus
    attempts: int
    created_at: Micros
    ended_at: Micros | None = None
    reason: str | None = None

    @property
    def place(self) -> JobPlace:
        """Where it stands."""
        return JobPlace(self.created_at, self.user_id, self.seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedJob:
    """A job in work: the rows it came with. `reply` is a model's reply stored before.
    `extract`: a model is to read its turns."""

    id: str
    seq: int
    attempts: int
    session_id: str | None
    created_at: Micros = 0
    extract: bool = False
    turns: tuple[TurnRow, ...] = ()
    items: tuple[MemoryRow, ...] = ()
    reply: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One user's next jobs, leased. `token` fences: a later claim makes it worthless."""

    user_id: str
    incarnation: int
    token: int
    jobs: tuple[ClaimedJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How a claim's jobs end: those of `jobs` (ids), or all of them when it is None; ids of
    other jobs are ignored. The usage is that of the last one that ends, beside what it cost
    before it was tried again, and `skipped` is added to what that one skipped."""

    status: Literal["done", "partial", "dead"]
    reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    jobs: tuple[str, ...] | None = None
    skipped: tuple[Skipped, ...] = ()


# --------------------------------------------------------------------- the plan


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMemory:
    """Insert a fact. Precondition: no open row of the user and the agent has its hash.

    With `supersedes` (a public id) the open target is closed at the new row's `valid_from`
    and points to it. A target closed meanwhile: the new row chains onto the open head of
    the target's chain, or after its last version where that was closed without successor
    (which keeps its end). An unknown target: the fact is added alone, and the outcome is
    "unknown" with the new row's id; with `needs_target` nothing is added and the id is
    None, so that an edit never brings back what was erased meanwhile. A target that is
    newer than the new row: the row is inserted closed, its `valid_to` the newer one's
    start. A row that has expired at `WritePlan.at` or was forgotten is not open. The
    sequence in the keys of `vectors` is not known yet and not read.

    A duplicate adds its `source_ids` to the row that it repeats, after those that are
    there and once each; new ones that would make more than 256 are left out. A row that
    gets any counts as changed. `links` are positions among the plan's operations, earlier
    or later: of AddMemory ones, whose rows (or the rows those repeat) the new row is
    linked to. Others, and the row itself, are ignored; a duplicate gets no links.
    """

    memory: NewMemory
    supersedes: str | None = None
    needs_target: bool = False
    reason: str | None = None
    vectors: VectorRows | None = None
    links: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CiteMemory:
    """Add sources to an open fact, which was said again, as a duplicate adds them.
    Precondition: it is open, and has not expired at `WritePlan.at` nor been forgotten:
    else `otherwise` is carried out where it is given, and the outcome is that one's. With
    a reason it is journalled."""

    id: str
    source_ids: tuple[str, ...]
    reason: str | None = None
    otherwise: AddMemory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReinstateMemory:
    """Open a closed fact again, as if it had never been closed but for who asks what was
    known meanwhile; what superseded it stays, and is its successor no more. Precondition:
    it is closed, and no open row of the user and the agent has its hash ("duplicate", with
    that row's id; an open fact is its own). Always journalled, with how it had been closed.
    `Store.chain` still gives both sides of the parting. Expiry and forgetting are not
    undone."""

    id: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutProfile:
    """Replace the user's profile. `turn_seq`: the last turn that it takes account of. For
    a user of whom nothing is stored it is "unknown" and makes none."""

    text: str
    turn_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseMemory:
    """Close an open fact without successor. Precondition: it is open. An `at` before
    its start counts as its start. With a reason it is journalled."""

    id: str
    at: Micros
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutVectors:
    """Store codes for passages. Rows whose memory or turn is gone are dropped; the
    outcome is "unknown" when all of them are."""

    rows: VectorRows


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReply:
    """Keep a model's reply with its job, before it is applied."""

    job_id: str
    reply: bytes


Op = (
    AddMemory
    | CiteMemory
    | CloseMemory
    | PutProfile
    | PutVectors
    | ReinstateMemory
    | StoreReply
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """Everything one unit of work does to one user, in one transaction.

    Preconditions of the whole: the user still has `incarnation` (None: whichever), and
    `claim`, where given, still holds its lease. `end` ends the claim's jobs, or some of
    them: the others are queued again where they stood, their attempt not counted. `defer`,
    with or without `end`, gives up the claim likewise and keeps the user's jobs from being
    claimed for so many seconds at most: the user's next accept that queues a job, or
    `Store.hurry`, ends the deferral at once and wakes workers, of other processes too. One
    that came while the claim was out counts: then there is no deferral. Other holds (a
    lease, the delay of a `Store.release`) are ended by neither. With neither `end` nor
    `defer` the claim goes on; without a claim both mean nothing.
    """

    at: Micros
    ops: tuple[Op, ...] = ()
    incarnation: int | None = None
    claim: Claim | None = None
    end: JobEnd | None = None
    defer: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one operation. `id` is the row written, or the one that it met."""

    status: Literal["applied", "duplicate", "chained", "late", "not_open", "unknown"]
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """`refused` names a failed precondition of the whole: then nothing was written."""

    outcomes: tuple[Outcome, ...] = ()
    refused: Literal["lease", "incarnation"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A user's running summary: as of which turn, and when it was made."""

    text: str
    turn_seq: int
    at: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """An embedding space: whose vectors can be compared with each other."""

    id: int
    model: str
    dim: int


class Store(Protocol):
    """Keeps users' rows, chunks and jobs. It stores; it does not rank.

    Every read and write names its user. Writes are durable when they return. All methods
    raise the errors of `hmem.errors` and no other on purpose.
    """

    async def open(self) -> None:
        """Open or create. Idempotent."""
        ...

    async def aclose(self) -> None:
        """Release everything. Idempotent; running calls finish or raise ClosedError."""
        ...

    async def accept(self, user_id: str, accept: Accept) -> Accepted:
        """Make one add durable: rows, their lexical rows and the job, in one transaction.

        Raises IdempotencyError for a key used with another body, QueueFullError.
        """
        ...

    async def delta(self, user_id: str, since: Mark | None = None) -> Delta | None:
        """What changed since `since` (None: everything), read at one moment.

        None when nothing of the user is stored. When nothing changed, `delta.mark ==
        since` and the rest is empty but for `pending`. Creates no file.
        """
        ...

    async def rows(
        self, user_id: str, ids: Sequence[str]
    ) -> list[MemoryRow | TurnRow | None]:
        """Rows by public id, in order; None for an unknown one, another user's included."""
        ...

    async def page(
        self, user_id: str, kind: Kind, *, after: int, limit: int, closed: bool = False
    ) -> list[MemoryRow] | list[TurnRow]:
        """Rows in sequence order with `seq > after`; memories open ones only unless
        `closed`."""
        ...

    async def chain(self, user_id: str, id: str) -> list[MemoryRow]:
        """All versions of the fact that `id` is one of, oldest first. [] if unknown.

        One line, each version ending where the next begins, but where a fact was
        reinstated: from there on there are two.
        """
        ...

    async def notes(self, user_id: str, id: str) -> list[Note]:
        """What the journal says of the versions in `chain(id)`; of each in the order in
        which it happened. [] if unknown.

        It holds every closing, superseding and citing that had a reason, every
        reinstatement, and each closing that the row itself tells no more, because it was
        moved by a late arrival, followed by a successor later, or undone. So a row's
        present closing is among its notes, or else happened at `closed_recorded_at`.
        """
        ...

    async def claim(self, *, worker: str, lease: float, limit: int) -> list[Claim]:
        """Lease the oldest queued jobs of up to `limit` users; live before imports.

        At most one claim per user is out at a time, and its jobs are in order: that keeps
        a user's order. Attempts are counted here. A lapsed lease may be claimed again.
        """
        ...

    async def renew(self, claim: Claim, lease: float) -> bool:
        """Extend the lease. False: it was lost, stop working."""
        ...

    async def release(
        self, claim: Claim, *, delay: float = 0.0, attempted: bool = True
    ) -> None:
        """Give the jobs back, not to be claimed for `delay` seconds.

        `attempted=False` takes the attempt counted at the claim back (shutdown).
        """
        ...

    async def hurry(self, user_id: str) -> bool:
        """End a deferral of the user's jobs (see `WritePlan`). False: there was none."""
        ...

    async def profile(self, user_id: str) -> Profile | None:
        """The user's profile, or None."""
        ...

    async def apply(self, user_id: str, plan: WritePlan) -> Applied:
        """Carry out a plan in one transaction; one outcome per operation."""
        ...

    async def job(self, user_id: str, job_id: str) -> Job | None:
        """One job of the user, or None."""
        ...

    async def jobs(
        self,
        *,
        statuses: Sequence[JobStatus],
        limit: int,
        after: JobPlace | None = None,
    ) -> list[JobEntry]:
        """Up to `limit` jobs of all users that are in one of these states and stand past
        `after`, in the order of their places. For operators."""
        ...

    async def retry(self, user_id: str, job_id: str) -> bool:
        """Queue a job again that ended as partial or dead, as new work: with no attempts,
        and no stored reply, its rows, priority and `extract` as they are. False, and
        nothing changed, for any other, also one whose record has gone. Raises
        QueueFullError.

        It stands where it stood among its user's jobs and ends a deferral as an accept
        does. What it did before stays done and stays told by `Job`; its usage adds up. A
        fact that is open already is met as a duplicate; one that is said in other words,
        or was closed since, is added again.
        """
        ...

    async def queued(self, user_id: str | None = None) -> int:
        """Jobs not ended, of one user or of all."""
        ...

    async def wait_for_work(self, timeout: float) -> bool:
        """Return True when there may be jobs to claim, False after `timeout` seconds."""
        ...

    async def erase(self, user_id: str, id: str) -> Erased:
        """Destroy one memory (the one version) or one turn, and leave no copy of its words
        in the files: its passages, vectors, names, what the journal says of it, and reasons
        elsewhere that repeat it. Nothing for an unknown id. The user's profile goes, too.

        A memory's neighbours stay as they were closed; what it replaced is followed by what
        replaced it, or by nothing, and `chain` still tells of all that are left. A fact
        loses an erased turn as its source, and its quote unless another source holds the
        words; one that has then lost its quote or its last source is `verified` no more.
        What facts say in words of their own stays. So does what a session holds: a resent
        history does not bring the turn back.

        A claim of the user's that is out is worth nothing from then on, its attempt not
        counted, and replies that are stored with jobs are gone: what was made of the row
        cannot be written any more. Views have to read the user whole.
        """
        ...

    async def erase_user(self, user_id: str) -> Erased:
        """Destroy every row, chunk and job of the user and leave no copy in the files."""
        ...

    async def space(self) -> Space | None:
        """The target embedding space, None for a store without vectors."""
        ...

    async def adopt_space(self, model: str, dim: int) -> Space:
        """Make this the target if there is none; return the target there is then."""
        ...

    async def stats(self) -> Mapping[str, Any]:
        """Counts over all users: users, memories, turns, jobs by status, bytes."""
        ...

    async def health(self) -> Mapping[str, Any]:
        """Checks that can find damage: `{"ok": bool, "problems": [...], ...}`."""
        ...


# --------------------------------------------------------------------- vectors


class VectorCodec(Protocol):
    """Encodes vectors for storage; a name is versioned for ever. Rows are encoded alone."""

    name: str

    def row_bytes(self, dim: int) -> int:
        """Bytes per vector."""
        ...

    def encode(self, vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
        """(n, dim) -> (n, row_bytes). Raises BadVectorError for NaN, Inf and zero rows."""
        ...

    def decode(self, codes: NDArray[np.uint8], dim: int) -> NDArray[np.float32]:
        """(n, row_bytes) -> (n, dim), unit rows. Raises DamagedStoreError."""
        ...


class VectorIndex(Protocol):
    """Searches vectors in memory. Synchronous; the caller decides where it runs.

    Scores are cosines. Ties are ordered by id.
    """

    dim: int

    def add(self, ids: NDArray[np.uint64], vectors: NDArray[np.float32]) -> None:
        """(n,) and (n, dim); normalised here; an id that is present is replaced."""
        ...

    def remove(self, ids: NDArray[np.uint64]) -> int:
        """How many were removed; unknown ids are ignored."""
        ...

    def search(
        self,
        query: NDArray[np.float32],
        k: int,
        *,
        allowed: NDArray[np.uint64] | NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.uint64]]:
        """Scores and ids, best first, min(k, allowed) of them. `allowed` is ids or a mask
        in the order of `ids`. Unknown or no ids: fewer rows, never an exception."""
        ...

    @property
    def ids(self) -> NDArray[np.uint64]:
        """The ids held, in slot order."""
        ...

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        ...


@runtime_checkable
class ScoresAll(VectorIndex, Protocol):
    """An index that can give every vector's score at the price of a scan."""

    def scores(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines in the order of `ids`."""
        ...

    def vectors(self, ids: NDArray[np.uint64]) -> NDArray[np.float32]:
        """(n, dim) the vectors of ids as held, zero rows for unknown ones."""
        ...


@runtime_checkable
class TakesCodes(VectorIndex, Protocol):
    """An index that takes rows as a codec stored them."""

    def add_codes(
        self, ids: NDArray[np.uint64], codes: NDArray[np.uint8], codec_name: str
    ) -> None:
        """Like `add` of the decoded rows, without decoding where it can do without.
        Raises DamagedStoreError."""
        ...


# ---------------------------------------------------------------------- models


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def model(self) -> str:
        """Names the space: two embedders of one name give comparable vectors."""
        ...

    @property
    def dim(self) -> int | None:
        """Of the vectors; may be None until the first call."""
        ...

    @property
    def window(self) -> int:
        """The longest text, in the embedder's tokens."""
        ...

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage"
    ) -> NDArray[np.float32]:
        """(n, dim) unit rows, in order. Raises EmbedderError, never returns fewer."""
        ...

    def count(self, text: str) -> int:
        """Tokens of the text, or an upper bound of them."""
        ...

    async def aclose(self) -> None:
        """Release clients and threads. Idempotent."""
        ...


@runtime_checkable
class KnowsWords(Protocol):
    """An embedder that can tell when a text says nothing to it. Without it, all texts are
    taken to say something."""

    def known(self, text: str) -> float:
        """The share of the text's tokens that are not the one for what is unknown, 0..1; a
        long text may be judged by its front. Takes microseconds: no model is run."""
        ...


class Clock(Protocol):
    """The wall clock. Tests bring their own."""

    def __call__(self) -> datetime:
        """Now, UTC-aware."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer of a chat model.

    `content` is its text, or the JSON value where the client has read it already; None or
    blank where the model said nothing. `finish`: "length" when it was cut off, "refused"
    when the model or a filter declined. `retries` were sent beyond the first request.
    """

    content: object
    finish: Literal["stop", "length", "refused"] = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    retries: int = 0


class LLM(Protocol):
    """A chat model."""

    @property
    def model(self) -> str:
        """Its name, in usage and in recordings."""
        ...

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        rung: Rung = "json_schema",
        max_tokens: int | None = None,
    ) -> Completion:
        """Answer a chat of `{"role", "content"}` messages.

        With `schema` (JSON Schema of an object) an answer of that form is asked for, as
        `rung` says: "json_schema" and "json_object" by the endpoint's own means, which may
        not work; for "plain" and "json_object" the messages describe the form. Without it
        the answer is prose. Raises LLMError; its `why` "form" makes the caller try the
        next rung.
        """
        ...

    async def aclose(self) -> None:
        """Release clients. Idempotent."""
        ...


class Reranker(Protocol):
    """Reorders hits by reading query and text together."""

    @property
    def model(self) -> str:
        """Its name, for logs and reports."""
        ...

    async def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n,) one score in [0, 1] per text, in order, the more relevant the higher; a text's
        may depend on the others. Raises ModelError, never returns fewer."""
        ...

    async def aclose(self) -> None:
        """Release clients and threads. Idempotent."""
        ...
