"""One frozen Config. `Config.from_env()` is the only place that reads the environment."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hmem.errors import ConfigError

Durability = Literal["full", "normal"]
WorkerMode = Literal["inline", "off"]
Mode = Literal["auto", "raw", "append", "reconcile"]
Guard = Literal["off", "redact", "refuse"]
Fusion = Literal["sum", "rrf"]
EventSink = Callable[[str, Mapping[str, Any]], None]

MAX_INSTRUCTIONS = 4_000
"""Characters of `Config.instructions`, some 1,000 tokens."""
MAX_CATEGORIES = 32
MAX_CATEGORY_CHARS = 64
_LANGUAGE = re.compile("[a-z]{2,3}", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting, with its default. Raises ConfigError when one cannot be used.

    Times are seconds, sizes bytes unless the name says otherwise; prices are per million
    tokens.
    """

    # where and how it is stored
    path: str | os.PathLike[str] = "memories"
    shards: int = 16
    durability: Durability = "full"
    read_only: bool = False
    allow_network_folder: bool = False
    open_shards: int = 64
    checkpoint_pages: int = 1000
    busy_timeout: float = 5.0

    # models: any OpenAI-compatible endpoint; None or "auto" picks what is there
    base_url: str | None = None
    api_key: str | None = None
    llm: str | None = None
    embed: str = "auto"
    embed_base_url: str | None = None
    embed_api_key: str | None = None
    embed_dim: int | None = None
    rerank: str = "none"
    rerank_base_url: str | None = None
    rerank_api_key: str | None = None
    allow_degraded: bool = False
    mode: Mode = "auto"
    llm_timeout: float = 60.0
    llm_parallel: int = 8
    llm_price_in: float = 0.0
    llm_price_out: float = 0.0

    # extraction
    instructions: str = ""
    categories: tuple[str, ...] = ()
    extract_after_turns: int = 1
    extract_after_idle: float = 20.0
    extract_after_tokens: int = 2_000
    extract_input_tokens: int = 2_000
    profile: bool = False

    # privacy: what is done before anything is stored
    secrets: Guard = "redact"
    pii: Guard = "off"

    # vectors
    stored: str = "int8"
    vectors: str = "auto"

    # writing
    worker: WorkerMode = "inline"
    queue_limit: int = 100_000
    lease: float = 60.0
    max_attempts: int = 5
    users_in_parallel: int = 4
    receipt_days: float = 7.0
    max_message_chars: int = 200_000
    max_messages: int = 1_000
    max_item_chars: int = 8_000
    passage_chars: int = 450
    embed_timeout: float = 60.0

    # reading
    timezone: str = "UTC"
    languages: tuple[str, ...] = ("en",)
    query_embed_timeout: float = 1.0
    fusion: Fusion = "sum"
    rerank_candidates: int = 30
    rerank_timeout: float = 2.0
    context_tokens: int = 1_500
    max_k: int = 1_000
    view_cache_bytes: int = 256 * 2**20
    query_cache: int = 1_024

    on_event: EventSink | None = None

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ConfigError(f"{_named(name)} must be a number")
            if not low <= value <= high:
                raise ConfigError(f"{_named(name)} must lie in {low}..{high}")
        _check_types(self)
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{_named(name)} must be one of {', '.join(allowed)}")
        self._check_words()

    def _check_words(self) -> None:
        """What is neither a number nor a choice."""
        _check_instructions(self.instructions)
        _check_categories(self.categories)
        _check_languages(self.languages)
        _check_reranker(self.rerank)
        if not str(self.path).strip() or "\0" in str(self.path):
            raise ConfigError(f"{_named('path')} must name a folder")
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as e:
            raise ConfigError(f"{_named('timezone')} is not an IANA time zone") from e

    @property
    def folder(self) -> Path:
        """The data folder as a path."""
        return Path(self.path)

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which naive datetimes are read."""
        return ZoneInfo(self.timezone)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> "Config":
        """Read HMEM_PATH, HMEM_BASE_URL, HMEM_API_KEY, HMEM_LLM, HMEM_EMBED, ...

        Lists (HMEM_CATEGORIES, HMEM_LANGUAGES) are separated by commas.

        Every field but `on_event` has a variable: HMEM_ and its name in capitals. An empty
        variable counts as unset. Raises ConfigError naming the variable.
        """
        source = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        for f in fields(cls):
            raw = source.get(f"HMEM_{f.name.upper()}", "")
            if f.name != "on_event" and raw.strip():
                values[f.name] = _read(f.name, raw.strip(), f.default)
        return cls(**values)


_RANGES: tuple[tuple[str, float, float], ...] = (
    ("shards", 1, 4096),
    ("open_shards", 1, 1024),
    ("checkpoint_pages", 1, 1_000_000),
    ("busy_timeout", 0.0, 3600.0),
    ("queue_limit", 1, 2**31),
    ("lease", 0.1, 86_400.0),
    ("max_attempts", 1, 1_000),
    ("users_in_parallel", 1, 1_024),
    ("receipt_days", 0.0, 36_500.0),
    ("max_message_chars", 1, 10_000_000),
    ("max_messages", 1, 1_000_000),
    ("max_item_chars", 1, 1_000_000),
    ("passage_chars", 100, 100_000),
    ("embed_timeout", 0.01, 86_400.0),
    ("llm_timeout", 0.01, 86_400.0),
    ("llm_parallel", 1, 1_024),
    ("llm_price_in", 0.0, 1e6),
    ("llm_price_out", 0.0, 1e6),
    ("extract_after_turns", 1, 200),
    ("extract_after_idle", 0.0, 86_400.0),
    ("extract_after_tokens", 1, 1_000_000),
    ("extract_input_tokens", 500, 1_000_000),
    ("query_embed_timeout", 0.001, 3_600.0),
    ("rerank_candidates", 1, 1_000),
    ("rerank_timeout", 0.001, 3_600.0),
    ("context_tokens", 1, 1_000_000),
    ("max_k", 1, 1_000_000),
    ("view_cache_bytes", 0, 2**40),
    ("query_cache", 0, 10_000_000),
)
_Kinds = type | tuple[type, ...]
_KINDS: dict[type, tuple[_Kinds, str]] = {
    bool: (bool, "True or False"),
    int: (int, "a whole number"),
    float: ((int, float), "a number"),
    str: (str, "a text"),
    tuple: (tuple, "a tuple"),
    type(None): (str, "a text"),
}
_TYPES: dict[str, tuple[_Kinds, str]] = {
    "path": ((str, os.PathLike), "a path"),
    "embed_dim": (int, "a whole number"),
    "on_event": (object, "a function"),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "durability": get_args(Durability),
    "worker": get_args(WorkerMode),
    "mode": get_args(Mode),
    "secrets": get_args(Guard),
    "pii": get_args(Guard),
    "fusion": get_args(Fusion),
}


def _check_types(config: Config) -> None:
    """Each setting is of its default's type; those that are None by default may be so."""
    for f in fields(config):
        value = getattr(config, f.name)
        if value is None and value is f.default:
            continue
        kind, what = _TYPES.get(f.name) or _KINDS[type(f.default)]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ConfigError(f"{_named(f.name)} must be {what}")
    if config.embed_dim is not None and config.embed_dim < 1:
        raise ConfigError(f"{_named('embed_dim')} must be at least 1")
    if config.on_event is not None and not callable(config.on_event):
        raise ConfigError("Config.on_event must be a function")


def _check_reranker(name: str) -> None:
    if not name.strip():
        raise ConfigError(f"{_named('rerank')} must name a reranker, or be 'none'")


def _check_instructions(text: str) -> None:
    if len(text) > MAX_INSTRUCTIONS:
        limit = f"{MAX_INSTRUCTIONS} characters: they go into every call"
        raise ConfigError(f"{_named('instructions')} must not exceed {limit}")


def _check_categories(names: tuple[str, ...]) -> None:
    where = _named("categories")
    if not all(isinstance(n, str) for n in names):
        raise ConfigError(f"{where} must be a tuple of names")
    if len(names) > MAX_CATEGORIES:
        raise ConfigError(f"{where} must not hold more than {MAX_CATEGORIES} names")
    if not all(n.strip() and len(n) <= MAX_CATEGORY_CHARS for n in names):
        limit = f"1..{MAX_CATEGORY_CHARS} characters"
        raise ConfigError(f"{where} must be names of {limit}")
    if len({" ".join(n.casefold().split()) for n in names}) < len(names):
        raise ConfigError(f"{where} holds a name twice")


def _check_languages(codes: tuple[str, ...]) -> None:
    where = _named("languages")
    if not codes:
        raise ConfigError(f"{where} must be a tuple of codes such as 'en'")
    if not all(_LANGUAGE(str(code)) for code in codes):
        raise ConfigError(f"{where} must be codes of two or three letters")
    if len(set(codes)) < len(codes):
        raise ConfigError(f"{where} holds a code twice")


def _named(name: str) -> str:
    """How an error speaks of a setting."""
    return f"Config.{name} (HMEM_{name.upper()})"


def _read(name: str, raw: str, default: Any) -> Any:
    """A variable's text as the type of the field's default."""
    if isinstance(default, bool):
        if raw.lower() in {"1", "true", "yes", "on"}:
            return True
        if raw.lower() in {"0", "false", "no", "off"}:
            return False
        raise ConfigError(f"{_named(name)} must be true or false")
    if isinstance(default, tuple):
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    kind: type = int if name == "embed_dim" else type(default)
    if kind in (int, float):
        try:
            return kind(raw.replace("_", ""))
        except ValueError as e:
            raise ConfigError(f"{_named(name)} must be a number") from e
    return raw
