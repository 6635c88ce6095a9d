"""Names to parts, and what is said when something is not installed."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hmem.backends as backends
from hmem.backends import (
    Backend,
    make_embedder,
    make_llm,
    make_reranker,
    register_embedder,
)
from hmem.config import Config
from hmem.embed.weights import find_weights
from hmem.errors import (
    ClosedError,
    ConfigError,
    EmbedderError,
    MissingExtraError,
    MissingModelError,
    UnknownBackendError,
)
from hmem.testing.fakes import (
    FailingEmbedder,
    FrozenClock,
    HangingEmbedder,
    HashEmbedder,
)


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test registers for itself."""
    monkeypatch.setattr(backends, "EMBEDDERS", dict(backends.EMBEDDERS))
    monkeypatch.setattr(backends, "STORES", dict(backends.STORES))


@pytest.fixture
def no_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HMEM_MINILM_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "empty"))
    return tmp_path


@pytest.fixture
def fake_weights(no_weights: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of the right names, enough to be found."""
    folder = no_weights / "weights"
    folder.mkdir()
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        (folder / name).write_bytes(b"{}")
    monkeypatch.setenv("HMEM_MINILM_DIR", str(folder))
    return folder


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A third party's module, to be filled."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "acme_parts.py"
    sys.modules.pop("acme_parts", None)


def test_none_means_none() -> None:
    assert make_embedder(Config(embed="none")) is None


def test_auto_without_weights_is_none(no_weights: Path) -> None:
    assert make_embedder(Config()) is None
    assert make_embedder(Config(base_url="http://127.0.0.1:9/v1", llm="any")) is None


def test_auto_without_the_extra_is_none_and_says_why(
    fake_weights: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    monkeypatch.delitem(sys.modules, "hmem.embed.minilm", raising=False)
    with caplog.at_level(logging.WARNING, "hmem"):
        assert make_embedder(Config()) is None
    assert "the extra 'local' (tokenizers" in caplog.text


def test_auto_does_not_pass_over_weights_that_are_not_genuine(
    fake_weights: Path,
) -> None:
    with pytest.raises(MissingModelError):
        make_embedder(Config())


def test_minilm_without_weights_names_both_ways_to_get_them(no_weights: Path) -> None:
    with pytest.raises(
        MissingModelError, match=r"hmem models install minilm.*HMEM_MINILM_DIR"
    ):
        make_embedder(Config(embed="minilm"))


def test_minilm_without_the_extra_names_the_pip_line(
    fake_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.delitem(sys.modules, "hmem.embed.minilm", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[local\]'"):
        make_embedder(Config(embed="minilm"))


@pytest.mark.model
@pytest.mark.parametrize("name", ["auto", "minilm"])
async def test_the_local_model_is_made(name: str) -> None:
    embedder = make_embedder(Config(embed=name))
    assert embedder is not None
    assert embedder.model == "all-MiniLM-L6-v2"
    assert len(await embedder.embed(["a"])) == 1
    await embedder.aclose()


@pytest.mark.model
def test_another_dimension_than_the_local_models_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="HMEM_EMBED_DIM"):
        make_embedder(Config(embed="minilm", embed_dim=768))


async def test_any_other_name_is_a_model_at_the_endpoint() -> None:
    config = Config(embed="bge-m3", base_url="http://127.0.0.1:9/v1", embed_dim=1024)
    embedder = make_embedder(config)
    assert embedder is not None
    assert (embedder.model, embedder.dim) == ("bge-m3", 1024)
    await embedder.aclose()


def test_a_remote_model_without_endpoint_names_the_variables() -> None:
    with pytest.raises(ConfigError, match=r"HMEM_API_KEY.*HMEM_BASE_URL"):
        make_embedder(Config(embed="bge-m3"))


@pytest.mark.parametrize(
    ("make", "field", "name", "near"),
    [
        (make_reranker, "rerank", "locl", "local"),
        (make_reranker, "rerank", "bge-reranker", None),
        (make_embedder, "embed", "minlm", "minilm"),
        (make_embedder, "embed", "nosuch", None),
        (make_llm, "llm", "non", "none"),
        (make_llm, "llm", "my-model", None),
    ],
)
def test_a_name_that_there_is_not_names_those_there_are(
    make: Any, field: str, name: str, near: str | None
) -> None:
    with pytest.raises(UnknownBackendError) as told:
        make(Config(**{field: name}))
    says = str(told.value)
    assert says.startswith(f"Config.{field} (HMEM_{field.upper()}) is {name!r}; there")
    there = says.partition("there are ")[2].partition("did you mean")[0]
    assert "none" in there
    assert (f"did you mean {near!r}?" in says) is (near is not None)
    assert "HMEM_BASE_URL" in says


async def test_the_key_goes_to_its_own_endpoint_alone() -> None:
    keys = []
    for config in (
        Config(embed="m", api_key="k"),
        Config(embed="m", api_key="k", base_url="http://a/v1"),
        Config(
            embed="m", api_key="k", base_url="http://a/v1", embed_base_url="http://b/v1"
        ),
        Config(embed="m", api_key="k", embed_base_url="http://b/v1", embed_api_key="e"),
    ):
        embedder = make_embedder(config)
        keys.append((embedder._client.api_key, str(embedder._client.base_url)))
        await embedder.aclose()
    assert keys == [
        ("k", "https://api.openai.com/v1/"),
        ("k", "http://a/v1/"),
        ("none", "http://b/v1/"),
        ("e", "http://b/v1/"),
    ]


def test_the_openai_extra_is_named_when_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "hmem.embed.remote", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[openai\]'"):
        make_embedder(Config(embed="m", api_key="k"))


def test_an_empty_name_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="HMEM_EMBED"):
        make_embedder(Config(embed="  "))


def test_a_third_partys_embedder_is_made_by_name(module: Path) -> None:
    module.write_text(
        "from hmem.testing.fakes import HashEmbedder\n"
        "def make(config):\n    return HashEmbedder(config.embed_dim)\n"
    )
    register_embedder("acme", "acme_parts:make")
    register_embedder("acme", "acme_parts:make")
    embedder = make_embedder(Config(embed="acme", embed_dim=16))
    assert isinstance(embedder, HashEmbedder)
    assert embedder.dim == 16
    with pytest.raises(ConfigError, match="already registered"):
        register_embedder("acme", "acme_parts:other")


@pytest.mark.parametrize("name", ["", "auto", "none", " padded "])
def test_a_name_that_means_something_else_cannot_be_taken(name: str) -> None:
    with pytest.raises(ConfigError):
        register_embedder(name, "acme_parts:make")


@pytest.mark.parametrize("target", ["acme_parts", ":make", "acme_parts:"])
def test_a_target_that_is_none_is_refused(target: str) -> None:
    with pytest.raises(ConfigError, match="module:attribute"):
        register_embedder("acme", target)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param("import surely_not_installed", MissingExtraError, id="dependency"),
        pytest.param("import acme_parts.inner", ModuleNotFoundError, id="own module"),
        pytest.param("from os import no_such_name", ImportError, id="own mistake"),
        pytest.param("1 / 0", ZeroDivisionError, id="own bug"),
        pytest.param("pass", AttributeError, id="no such attribute"),
    ],
)
def test_only_a_missing_dependency_is_called_one(
    module: Path, body: str, error: type[Exception]
) -> None:
    module.write_text(body)
    with pytest.raises(error) as caught:
        Backend("acme", "acme_parts:make", "acme").load()
    assert type(caught.value) is error


def test_an_unknown_store_names_the_known_ones() -> None:
    with pytest.raises(UnknownBackendError, match="embedded"):
        backends.make_store(Config(), name="etched in stone")


def test_names_alone_import_nothing_that_may_be_missing() -> None:
    script = (
        "import sys, hmem, hmem.backends, hmem.embed.install, hmem.embed.cache\n"
        "print([m for m in ('openai', 'pydantic', 'tokenizers', 'threadpoolctl', 'click',"
        " 'starlette', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "[]\n"


# ------------------------------------------------------------------------- fakes


async def test_the_hash_fake_is_the_same_on_every_machine() -> None:
    rows = await HashEmbedder(8).embed(["the red house", "The RED house!", ""])
    assert np.array_equal(rows[0], rows[1])
    assert rows[2].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    third = 1 / np.sqrt(3)
    assert np.allclose(rows[0], [0, -third, 0, third, -third, 0, 0, 0])


async def test_the_failing_fake_fails_as_often_as_told() -> None:
    embedder = FailingEmbedder(times=2, retryable=False)
    for _ in range(2):
        with pytest.raises(EmbedderError) as caught:
            await embedder.embed(["a"])
        assert not caught.value.retryable
    assert len(await embedder.embed(["a"])) == 1


async def test_the_hanging_fake_refuses_use_after_close_once_released() -> None:
    embedder = HangingEmbedder()
    embedder.release()
    assert len(await embedder.embed(["a"])) == 1
    await embedder.aclose()
    with pytest.raises(ClosedError):
        await embedder.embed(["a"])


def test_the_frozen_clock_moves_only_when_told() -> None:
    start = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    clock = FrozenClock(start)
    assert clock() == clock() == datetime(2024, 1, 1, tzinfo=UTC)
    assert clock.advance(30, hours=1, days=1) == datetime(
        2024, 1, 2, 1, 0, 30, tzinfo=UTC
    )
    assert clock().tzinfo is UTC
    with pytest.raises(ValueError, match="aware"):
        FrozenClock(datetime(2024, 1, 1))  # noqa: DTZ001


def test_the_weights_are_looked_for_each_time(
    no_weights: Path, fake_weights: Path
) -> None:
    assert find_weights() == fake_weights
    (fake_weights / "config.json").unlink()
    assert find_weights() is None
