"""Every error hmem raises, in one tree.

    HmemError
    ├── InputError (ValueError)            a bad argument; nothing was written
    │   ├── InputTypeError (TypeError)     ... of the wrong type
    │   ├── ScopeError                     a user, agent or session id that cannot be used
    │   ├── TextTooLongError               over a documented limit
    │   ├── BadTimeError                   a time that cannot be read, or an empty interval
    │   ├── BadVectorError                 NaN, Inf, zero or of the wrong dimension
    │   └── IdempotencyError               one key, two different bodies
    ├── ConfigError (ValueError)           names the setting and its variable
    │   ├── MissingExtraError (ImportError)  names the line that installs it
    │   ├── UnknownBackendError            no backend of that name
    │   ├── MissingModelError              the local weights are not installed
    │   └── EmbeddingSpaceError            the store holds vectors of another model
    ├── LifecycleError (RuntimeError)
    │   ├── NotOpenError                   used before it was opened
    │   ├── ClosedError                    used after it was closed
    │   ├── ForkedError                    used in a child of the process that opened it
    │   └── WrongLoopError                 used from another event loop, or under trio
    ├── StoreError
    │   ├── ForeignFolderError             the folder holds something else
    │   ├── NewerFormatError               written by a newer hmem
    │   ├── DamagedStoreError              a file that cannot be read as ours
    │   ├── ReadOnlyStoreError             a write to a store opened for reading
    │   ├── NetworkFolderError             SQLite's locks do not hold there
    │   ├── CapacityError                  a counter is at its end
    │   ├── StoreBusyError                 another process holds the lock (retryable)
    │   ├── DiskFullError                  no space or quota (retryable)
    │   └── QueueFullError                 too many jobs wait (retryable)
    ├── ModelError                         an endpoint or a model failed
    │   ├── EmbedderError
    │   └── LLMError                       the chat model failed, or its endpoint
    │       ├── ExtractionError            its reply cannot be read, also when asked again
    │       ├── TruncatedError             its reply was cut off: the input must be split
    │       └── RefusedError               it declined to answer
    └── DeadlineError (TimeoutError)       a timeout of the caller's ran out (retryable)

Each has `.code` (a stable word for programs) and `.retryable` (whether the same call
may succeed later). A message names the fix and never holds the user's text.
"""

from typing import Any, ClassVar, Literal

from hmem.installed import how_to_add

LLMFault = Literal[
    "down", "busy", "setup", "waiting", "form", "too_long", "input", "reply"
]


class HmemError(Exception):
    """The root. `except HmemError` catches all that hmem raises on purpose."""

    code: ClassVar[str] = "hmem"
    retryable: bool = False


class InputError(HmemError, ValueError):
    """A bad argument. Nothing was written."""

    code = "input"


class InputTypeError(InputError, TypeError):
    """An argument of the wrong type. Nothing was written."""

    code = "input_type"


class ScopeError(InputError):
    """A user, agent or session id that cannot be used."""

    code = "scope"


class TextTooLongError(InputError):
    """A text or a list over its documented limit."""

    code = "text_too_long"


class BadTimeError(InputError):
    """A time that cannot be read, or an interval that is empty."""

    code = "bad_time"


class BadVectorError(InputError):
    """A vector with NaN, Inf, no length, or of the wrong dimension."""

    code = "bad_vector"


class IdempotencyError(InputError):
    """The idempotency key was used before, for a different body."""

    code = "idempotency"


class ConfigError(HmemError, ValueError):
    """A setting that cannot be used; the message names it and its variable."""

    code = "config"


class MissingExtraError(ConfigError, ImportError):
    """An optional dependency is not installed. The message names the extra, its packages
    and the command that installs them here."""

    code = "missing_extra"

    def __init__(self, backend: str, extra: str) -> None:
        super().__init__(f"{backend!r} needs {how_to_add(extra)}")
        self.extra = extra


class UnknownBackendError(ConfigError):
    """No backend is registered under that name."""

    code = "unknown_backend"


class MissingModelError(ConfigError):
    """The local model's weights are not on this machine."""

    code = "missing_model"


class EmbeddingSpaceError(ConfigError):
    """The store holds vectors of another model or dimension."""

    code = "embedding_space"


class LifecycleError(HmemError, RuntimeError):
    """Used at a moment when it cannot be."""

    code = "lifecycle"


class NotOpenError(LifecycleError):
    """Used before it was opened: `async with AsyncMemory(...) as mem:`."""

    code = "not_open"


class ClosedError(LifecycleError):
    """Used after it was closed."""

    code = "closed"


class ForkedError(LifecycleError):
    """Used in a child of the process that opened it; open it anew there."""

    code = "forked"


class WrongLoopError(LifecycleError):
    """Used from another event loop than the one that opened it, or under trio."""

    code = "wrong_loop"


class StoreError(HmemError):
    """The store could not do what was asked."""

    code = "store"


class ForeignFolderError(StoreError):
    """The folder holds files that are not hmem's."""

    code = "foreign_folder"


class NewerFormatError(StoreError):
    """A file was written by a newer hmem; upgrade the library."""

    code = "newer_format"


class DamagedStoreError(StoreError):
    """A file cannot be read as ours. Other shards go on."""

    code = "damaged"


class ReadOnlyStoreError(StoreError):
    """A write to a store that can only be read."""

    code = "read_only"


class NetworkFolderError(StoreError):
    """The folder lies on a network file system, where SQLite's locks do not hold."""

    code = "network_folder"


class CapacityError(StoreError):
    """A counter that is never reused is at its end."""

    code = "capacity"


class StoreBusyError(StoreError):
    """Another process held the write lock for too long."""

    code = "busy"
    retryable = True


class DiskFullError(StoreError):
    """No space left, or a quota reached. Works again once there is space."""

    code = "disk_full"
    retryable = True


class QueueFullError(StoreError):
    """As many jobs wait as `Config.queue_limit` allows."""

    code = "queue_full"
    retryable = True


class ModelError(HmemError):
    """A model or its endpoint failed. `retryable` says whether to try again."""

    code = "model"

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.retryable = retryable


class EmbedderError(ModelError):
    """The embedder failed, or returned what cannot be used.

    `position` is the text among those given that is to blame, when it is one alone.
    """

    code = "embedder"

    def __init__(
        self, message: str, *, retryable: bool = True, position: int | None = None
    ) -> None:
        super().__init__(message, retryable=retryable)
        self.position = position


class LLMError(ModelError):
    """The chat model failed. `why` is one of the words below and says what can be done;
    `usage` is what the attempt cost all the same (a Usage, or None where that is not known).

    down      it cannot be reached, timed out, or answers 5xx: wait
    busy      too many requests: wait, `retry_after` seconds if it said so
    setup     the key, the model or the address is wrong: wait until that is mended
    waiting   its answer is to be given elsewhere (see `hmem.replay`)
    form      it will not take this `response_format`
    too_long  the input does not fit its window: split it
    input     it refuses this input
    reply     what it answered cannot be used
    """

    code = "llm"

    def __init__(
        self,
        message: str,
        *,
        why: LLMFault = "down",
        retryable: bool = True,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, retryable=retryable)
        self.why: LLMFault = why
        self.retry_after = retry_after
        self.usage: Any = None


class ExtractionError(LLMError):
    """The model's reply cannot be read as what was asked for, also when asked again."""

    code = "extraction"

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message, why="reply", retryable=retryable)


class TruncatedError(ExtractionError):
    """The model's reply was cut off. The same input would be cut off again: split it."""

    code = "truncated"


class RefusedError(ExtractionError):
    """The model, or a filter in front of it, declined to answer."""

    code = "refused"


class DeadlineError(HmemError, TimeoutError):
    """The caller's `timeout=` ran out. What was accepted goes on."""

    code = "deadline"
    retryable = True
