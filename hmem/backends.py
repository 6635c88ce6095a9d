"""Names to parts: the one place that imports what may not be installed.

    register_embedder("acme", "acme_hmem:make_embedder")
    AsyncMemory(Config(embed="acme"))

A target is `module:attribute`; the attribute is called with the Config. It is imported
when it is first asked for, never before.
"""

import importlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from hmem.config import Config
from hmem.embed.weights import HOW_TO_GET_IT, MINILM, find_weights, wanted_folder
from hmem.errors import (
    ConfigError,
    MissingExtraError,
    MissingModelError,
    UnknownBackendError,
)
from hmem.protocols import LLM, Embedder, Reranker, Store

log = logging.getLogger("hmem.backends")

_ENDPOINT = "HMEM_API_KEY, or HMEM_BASE_URL for an endpoint of your own"


@dataclass(frozen=True, slots=True)
class Backend:
    """Where a part is made, and the extra that brings what it imports."""

    name: str
    target: str
    extra: str | None = None

    def load(self) -> Callable[..., Any]:
        """Import the target. Raises MissingExtraError when a dependency is not there.

        Any other failure to import is a bug in the target and passes as it is.
        """
        module, _, attribute = self.target.partition(":")
        try:
            found: Callable[..., Any] = getattr(
                importlib.import_module(module), attribute
            )
        except ModuleNotFoundError as e:
            missing, ours = (e.name or "").partition(".")[0], module.partition(".")[0]
            if self.extra is None or missing == ours:
                raise
            raise MissingExtraError(self.name, self.extra) from e
        return found


REMOTE = Backend("openai", "hmem.embed.remote:from_config", "openai")
REMOTE_LLM = Backend("openai", "hmem.chat.remote:from_config", "openai")
REMOTE_RERANKER = Backend("openai", "hmem.rerank.remote:from_config", "openai")
LOCAL_RERANKER = Backend("local", "hmem.rerank.local:beside", "local")
EMBEDDERS: dict[str, Backend] = {}
LLMS: dict[str, Backend] = {}
RERANKERS: dict[str, Backend] = {}
STORES: dict[str, Backend] = {}


def register_embedder(name: str, target: str, *, extra: str | None = None) -> None:
    """Make `Config(embed=name)` mean the Embedder that `target(config)` returns."""
    _register(EMBEDDERS, name, target, extra)


def register_llm(name: str, target: str, *, extra: str | None = None) -> None:
    """Make `Config(llm=name)` mean the LLM that `target(config)` returns."""
    _register(LLMS, name, target, extra)


def register_reranker(name: str, target: str, *, extra: str | None = None) -> None:
    """Make `Config(rerank=name)` mean the Reranker that `target(config)` returns."""
    _register(RERANKERS, name, target, extra)


def register_store(name: str, target: str, *, extra: str | None = None) -> None:
    """Make `make_store(config, name=name)` mean the Store that `target(config)` returns."""
    _register(STORES, name, target, extra)


def make_embedder(config: Config) -> Embedder | None:
    """The embedder that `config.embed` names; None for "none".

    "auto" is the local model where its weights and its extra are here, else None: whether
    a store may be opened without vectors is the caller's to decide. A name that is not
    registered is a model's, at an OpenAI-compatible endpoint. Reads files and imports:
    call it in a thread. Raises ConfigError and its kinds: UnknownBackendError, with the
    names there are, where no endpoint is configured.
    """
    name = config.embed.strip()
    if not name:
        raise ConfigError(
            "Config.embed (HMEM_EMBED) must name an embedder, or be 'none'"
        )
    if name == "none":
        return None
    if name == "auto":
        return _local_if_here(config)
    if name == "minilm" and find_weights() is None:
        raise MissingModelError(
            f"the weights of {MINILM} are not in {wanted_folder()}: {HOW_TO_GET_IT}"
        )
    own = config.embed_base_url or config.base_url
    if not own and not config.embed_api_key and not config.api_key:
        _known(name, "embed", (*EMBEDDERS, "auto", "none"), _ENDPOINT)
    made: Embedder = EMBEDDERS.get(name, REMOTE).load()(config)
    return made


def make_llm(config: Config) -> LLM | None:
    """The chat model that `config.llm` names; None without one, and for "none".

    A name that is not registered is a model's, at an OpenAI-compatible endpoint. Imports:
    call it in a thread. Raises ConfigError and its kinds.
    """
    name = config.llm
    if name is None or name.strip() == "none":
        return None
    if not config.base_url and not config.api_key:
        _known(name.strip(), "llm", (*LLMS, "none"), _ENDPOINT)
    made: LLM = LLMS.get(name.strip(), REMOTE_LLM).load()(config)
    return made


def make_reranker(config: Config, embedder: Embedder | None = None) -> Reranker | None:
    """The reranker that `config.rerank` names; None for "none".

    "local" is late interaction on the local model's weights, the `embedder`'s own where it
    is that model. A name that is not registered is a model's, at an endpoint. Reads files
    and imports: call it in a thread. Raises ConfigError and its kinds.
    """
    name = config.rerank.strip()
    if name == "none":
        return None
    if not config.rerank_base_url and not config.base_url:
        _known(
            name,
            "rerank",
            (*RERANKERS, "local", "none"),
            "Config.rerank_base_url or base_url (HMEM_RERANK_BASE_URL, HMEM_BASE_URL)",
        )
    made: Reranker
    if name == "local":
        made = LOCAL_RERANKER.load()(embedder)
    else:
        made = RERANKERS.get(name, REMOTE_RERANKER).load()(config)
    return made


def make_store(config: Config, *, name: str = "embedded") -> Store:
    """The store of that name, not yet open. Raises UnknownBackendError."""
    if name not in STORES:
        known = ", ".join(sorted(STORES))
        raise UnknownBackendError(f"no store is named {name!r}; there are: {known}")
    made: Store = STORES[name].load()(config)
    return made


def _known(name: str, field: str, names: Iterable[str], endpoint: str) -> None:
    """Raises UnknownBackendError for a name of ours that there is not. Called where no
    endpoint could have a model of that name."""
    known = sorted(names)
    if name in known:
        return
    near = get_close_matches(name.casefold(), known, 1)
    asked = f"; did you mean {near[0]!r}?" if near else "."
    raise UnknownBackendError(
        f"Config.{field} (HMEM_{field.upper()}) is {name!r}; there are"
        f" {', '.join(known)}{asked} A model of an endpoint needs {endpoint}"
    )


def _local_if_here(config: Config) -> Embedder | None:
    if find_weights() is None:
        log.info("no embedder: %s", HOW_TO_GET_IT)
        return None
    try:
        load = EMBEDDERS["minilm"].load()
    except MissingExtraError as e:
        log.warning("the local weights are here, but %s", e)
        return None
    made: Embedder = load(config)
    return made


def _register(
    registry: dict[str, Backend], name: str, target: str, extra: str | None
) -> None:
    """Add a backend. A name is registered once, so that a clash is noticed."""
    if name in {"", "auto", "local", "none"} or name != name.strip():
        raise ConfigError(f"a backend cannot be named {name!r}")
    if not all(target.partition(":")):
        raise ConfigError(f"{name!r} needs a target like 'module:attribute'")
    backend = Backend(name, target, extra)
    if registry.setdefault(name, backend) != backend:
        raise ConfigError(f"{name!r} is already registered for {registry[name].target}")


register_embedder("minilm", "hmem.embed.minilm:from_config", extra="local")
register_store("embedded", "hmem.stores.embedded:EmbeddedStore")
