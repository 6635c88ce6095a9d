"""hmem: async-first memory for LLM agents. Durable, dated, per user, in SQLite files."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hmem.backends import (
        register_embedder,
        register_llm,
        register_reranker,
        register_store,
    )
    from hmem.config import Config
    from hmem.daemon import run_worker
    from hmem.errors import (
        BadTimeError,
        BadVectorError,
        CapacityError,
        ClosedError,
        ConfigError,
        DamagedStoreError,
        DeadlineError,
        DiskFullError,
        EmbedderError,
        EmbeddingSpaceError,
        ExtractionError,
        ForeignFolderError,
        ForkedError,
        HmemError,
        IdempotencyError,
        InputError,
        InputTypeError,
        LifecycleError,
        LLMError,
        MissingExtraError,
        MissingModelError,
        ModelError,
        NetworkFolderError,
        NewerFormatError,
        NotOpenError,
        QueueFullError,
        ReadOnlyStoreError,
        RefusedError,
        ScopeError,
        StoreBusyError,
        StoreError,
        TextTooLongError,
        TruncatedError,
        UnknownBackendError,
        WrongLoopError,
    )
    from hmem.inputs.events import UNCHANGED
    from hmem.memory import AsyncMemory
    from hmem.receipts import Receipt
    from hmem.records import (
        AddResult,
        Block,
        Episode,
        Erased,
        HistoryEvent,
        Hit,
        JobPage,
        JobRecord,
        MemoryRecord,
        NearMiss,
        Page,
        Preview,
        SearchResult,
        Skipped,
        Timeline,
        TimelineEntry,
        Usage,
    )
    from hmem.scoped import Scoped
    from hmem.sync import Memory, SyncReceipt, SyncScoped

__version__ = "0.1.0"

_ERRORS = (
    *("BadTimeError", "BadVectorError", "CapacityError", "ClosedError"),
    *("ConfigError", "DamagedStoreError", "DeadlineError", "DiskFullError"),
    *("EmbedderError", "EmbeddingSpaceError", "ExtractionError"),
    *("ForeignFolderError", "ForkedError", "HmemError", "IdempotencyError"),
    *("InputError", "InputTypeError", "LLMError", "LifecycleError"),
    *("MissingExtraError", "MissingModelError", "ModelError", "NetworkFolderError"),
    *("NewerFormatError", "NotOpenError", "QueueFullError", "ReadOnlyStoreError"),
    *("RefusedError", "ScopeError", "StoreBusyError", "StoreError"),
    *("TextTooLongError", "TruncatedError", "UnknownBackendError", "WrongLoopError"),
)
_RECORDS = (
    *("AddResult", "Block", "Episode", "Erased", "HistoryEvent", "Hit", "JobPage"),
    *("JobRecord", "MemoryRecord", "NearMiss", "Page", "Preview", "SearchResult"),
    *("Skipped", "Timeline", "TimelineEntry", "Usage"),
)
# Resolved when first used: `import hmem` costs milliseconds and loads neither numpy nor
# any extra.
_HOMES = {
    **dict.fromkeys(_ERRORS, "hmem.errors"),
    **dict.fromkeys(_RECORDS, "hmem.records"),
    "UNCHANGED": "hmem.inputs.events",
    "AsyncMemory": "hmem.memory",
    "Config": "hmem.config",
    "Memory": "hmem.sync",
    "Receipt": "hmem.receipts",
    "Scoped": "hmem.scoped",
    "SyncReceipt": "hmem.sync",
    "SyncScoped": "hmem.sync",
    "register_embedder": "hmem.backends",
    "register_llm": "hmem.backends",
    "register_reranker": "hmem.backends",
    "register_store": "hmem.backends",
    "run_worker": "hmem.daemon",
}

__all__ = [  # noqa: RUF022  (in the order of `sorted`)
    "AddResult",
    "AsyncMemory",
    "BadTimeError",
    "BadVectorError",
    "Block",
    "CapacityError",
    "ClosedError",
    "Config",
    "ConfigError",
    "DamagedStoreError",
    "DeadlineError",
    "DiskFullError",
    "EmbedderError",
    "EmbeddingSpaceError",
    "Episode",
    "Erased",
    "ExtractionError",
    "ForeignFolderError",
    "ForkedError",
    "HistoryEvent",
    "Hit",
    "HmemError",
    "IdempotencyError",
    "InputError",
    "InputTypeError",
    "JobPage",
    "JobRecord",
    "LLMError",
    "LifecycleError",
    "Memory",
    "MemoryRecord",
    "MissingExtraError",
    "MissingModelError",
    "ModelError",
    "NearMiss",
    "NetworkFolderError",
    "NewerFormatError",
    "NotOpenError",
    "Page",
    "Preview",
    "QueueFullError",
    "ReadOnlyStoreError",
    "Receipt",
    "RefusedError",
    "ScopeError",
    "Scoped",
    "SearchResult",
    "Skipped",
    "StoreBusyError",
    "StoreError",
    "SyncReceipt",
    "SyncScoped",
    "TextTooLongError",
    "Timeline",
    "TimelineEntry",
    "TruncatedError",
    "UNCHANGED",
    "UnknownBackendError",
    "Usage",
    "WrongLoopError",
    "__version__",
    "register_embedder",
    "register_llm",
    "register_reranker",
    "register_store",
    "run_worker",
]


def __getattr__(name: str) -> Any:
    """A public name, from the room that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'hmem' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
