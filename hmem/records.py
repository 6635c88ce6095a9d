"""The values hmem hands out. Frozen, keyword-only, times always UTC-aware."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Category = Literal["semantic", "episodic", "procedural"]
Kind = Literal["memory", "turn"]
JobStatus = Literal["queued", "running", "done", "partial", "dead"]


class _Empty(Mapping[str, Any]):
    """The default mapping. Hashable, since a dataclass refuses other defaults."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


EMPTY: Mapping[str, Any] = _Empty()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """A fact, with the two times it has.

    `event_start`..`event_end` is when it happened; `valid_from`..`valid_to` (half-open)
    is when it was believed, in observed time; `recorded_at` and `closed_recorded_at` are
    wall times of the database. A row is *open* while `valid_to` is None.
    """

    id: str
    user_id: str
    text: str
    agent_id: str | None = None
    session_id: str | None = None
    category: Category = "semantic"
    importance: int = 5
    event_start: datetime | None = None
    event_end: datetime | None = None
    event_precision: str | None = None
    valid_from: datetime
    valid_to: datetime | None = None
    recorded_at: datetime
    closed_recorded_at: datetime | None = None
    superseded_by: str | None = None
    source_ids: tuple[str, ...] = ()
    quote: str | None = None
    verified: bool = True
    hash: str = ""
    expires_at: datetime | None = None
    forgotten_at: datetime | None = None
    last_accessed: datetime | None = None
    metadata: Mapping[str, Any] = EMPTY
    prompt_version: str | None = None
    links: tuple[str, ...] = ()
    kind: Literal["memory"] = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One raw turn, verbatim. `name` is the speaker where the message gave one."""

    id: str
    user_id: str
    text: str
    role: str
    name: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    message_id: str | None = None
    observed_at: datetime
    recorded_at: datetime
    pending: bool = False
    metadata: Mapping[str, Any] = EMPTY
    kind: Literal["turn"] = "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One thing found. `score` is on a fixed scale in [0, 1]; `explain` adds up to it."""

    id: str
    kind: Kind
    text: str
    score: float
    at: datetime
    speaker: str | None = None
    role: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    pending: bool = False
    explain: Mapping[str, float] = EMPTY
    source_ids: tuple[str, ...] = ()
    replaced: tuple[MemoryRecord, ...] = ()
    memory: MemoryRecord | None = None
    episode: Episode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A prompt block under a hard cap. `text == stable + dynamic`.

    `tokens` is an upper bound that holds for cl100k and o200k. `citations` maps the short
    id printed in a line to the public id of what it shows. `degraded` and `answerability`
    are the search's, in a block of `context`.
    """

    text: str
    stable: str
    dynamic: str
    citations: Mapping[str, str]
    tokens: int
    degraded: tuple[str, ...] = field(default=(), compare=False)
    answerability: float | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """What came close to a question that has probably no answer. `lacks` are words of the
    question that its passage does not have, as the question has them: often what is wrong
    with it ("Melanie", where somebody else said it)."""

    hit: Hit
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found, and how well it could look.

    `answerability` in 0..1 is how likely the question has its answer in what it may see,
    whatever `k` and `min_score` are (None with `k=0`); below a half `near_misses` are the
    few rows whose own words are most like it. It is fitted on English questions, and lower
    where words alone are searched. See docs/retrieval.md for what it is worth.
    `pending` counts the user's accepted turns that are not processed yet. `degraded` names
    what was missing, and is empty when nothing was:

        lexical_only           no embedder or no vectors yet: it went by words alone
        no_embedder            ... and the store has vectors (`Config.allow_degraded`)
        other_embedding_space  the store's vectors are another model's: words alone
        embedder_timeout       the embedder was late: words alone
        embedder_failed        the embedder failed: words alone
        query_unread           the embedder knows few of the question's words: words alone
        not_all_embedded       some rows have no vector yet: found by words alone
        reranker_timeout       the reranker was late: the hits keep their order
        reranker_failed        the reranker failed: the hits keep their order
        unknown_filter_key:K   K is no label, and none of the user's rows has such a key
    """

    hits: tuple[Hit, ...]
    pending: int = 0
    degraded: tuple[str, ...] = ()
    answerability: float | None = None
    near_misses: tuple[NearMiss, ...] = ()
    asked_at: datetime
    render: Callable[[int | None], Block] = field(repr=False, compare=False)

    def block(self, *, max_tokens: int | None = None) -> Block:
        """The hits as a dated prompt block of at most `max_tokens` tokens (default
        `Config.context_tokens`). Raises InputError for what is no such number."""
        return self.render(max_tokens)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one job cost.

    `llm_calls` counts requests that were answered, `retries` those that were sent again.
    `rung` is the last form of JSON asked for. `cost` is in the currency of
    `Config.llm_price_in` and `llm_price_out`, None where they are not set.
    """

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    retries: int = 0
    rung: str | None = None
    embedded_texts: int = 0
    milliseconds: float = 0.0
    cost: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Both together; the later rung stands."""
        costs = [c for c in (self.cost, other.cost) if c is not None]
        return Usage(
            llm_calls=self.llm_calls + other.llm_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            retries=self.retries + other.retries,
            rung=other.rung or self.rung,
            embedded_texts=self.embedded_texts + other.embedded_texts,
            milliseconds=self.milliseconds + other.milliseconds,
            cost=sum(costs) if costs else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that was not stored as it came, and why, in words for a person: "no text",
    "system message", "already in session", "duplicate", "redacted: ...", a fact of a model's
    that was dropped. `id` is the row that it repeats or was to replace, if there is one."""

    reason: str
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A fact that `add` would store, and what it would do with it.

    `action`: "add", "supersede" or "cite" (the fact `target` says it already), "close" (it
    ends `target`), "drop"; `reason` says why. `messages` are the positions of the messages
    it rests on, among those that would be stored.
    """

    text: str
    action: Literal["add", "supersede", "cite", "close", "drop"]
    target: str | None = None
    reason: str | None = None
    category: Category = "semantic"
    importance: int = 5
    event_start: datetime | None = None
    event_end: datetime | None = None
    event_precision: str | None = None
    entities: tuple[str, ...] = ()
    quote: str | None = None
    verified: bool = True
    messages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResult:
    """How an accepted job ended. `dead` and `partial` carry a readable `reason`."""

    status: JobStatus
    turns: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    usage: Usage = field(default_factory=Usage)
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some rows, and the `cursor` that fetches the next ones (None: that was all).
    `degraded` names unknown keys of the filters, as a SearchResult's."""

    rows: tuple[MemoryRecord | Episode, ...]
    cursor: str | None = None
    degraded: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[MemoryRecord | Episode]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """Something in time. `at` is when it happened: of a turn when it was said, of a memory
    when its event began, else since when it was believed.

    A memory that is believed no more ended at `until`, and `replaced_by` is what took its
    place, if anything did; both as of the times that were asked about. `record` is the
    row as it is stored today.
    """

    id: str
    kind: Kind
    text: str
    at: datetime
    until: datetime | None = None
    replaced_by: MemoryRecord | None = None
    record: MemoryRecord | Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Some entries, the oldest first, and the `cursor` that fetches the next ones (None:
    that was all). `degraded` names unknown keys of the filters, as a SearchResult's."""

    rows: tuple[TimelineEntry, ...]
    cursor: str | None = None
    degraded: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[TimelineEntry]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as an operator sees it. `ended_at` and `reason` are of its end: None while it
    has not come."""

    id: str
    user_id: str
    status: JobStatus
    attempts: int
    created_at: datetime
    ended_at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Some jobs, and the `cursor` that fetches the next ones (None: that was all)."""

    jobs: tuple[JobRecord, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[JobRecord]:
        return iter(self.jobs)

    def __len__(self) -> int:
        return len(self.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure removed, by table. `pending` says what still lies in a file, and why."""

    rows: Mapping[str, int]
    pending: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Rows removed over all tables."""
        return sum(self.rows.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One thing that happened to a memory, in the order it was recorded.

    `by` is what superseded it. `reason` is why, where one was given. CITE: it was said
    again; only citations with a reason are told.
    """

    event: Literal["ADD", "SUPERSEDE", "CLOSE", "REINSTATE", "CITE", "EXPIRE", "FORGET"]
    id: str
    at: datetime
    text: str
    by: str | None = None
    reason: str | None = None
