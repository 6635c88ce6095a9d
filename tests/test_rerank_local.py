"""Late interaction on the local weights, against arithmetic done by hand; and the names by
which rerankers are made."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hmem import (
    AsyncMemory,
    Config,
    ConfigError,
    MissingExtraError,
    MissingModelError,
    register_reranker,
    run_worker,
)
from hmem.backends import make_reranker
from hmem.embed.minilm import MiniLM
from hmem.rerank.local import LocalReranker, beside
from hmem.testing.fakes import HashEmbedder, WordReranker

HERE = "http://127.0.0.1:9/v1"
TEXTS = [
    "Ines: the ferry leaves at seven",
    "Tomas: my violin is being repaired",
    "Ines: seven boats, no ferry",
]


@pytest.fixture
def no_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HMEM_MINILM_DIR", str(tmp_path / "none"))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A third party's module, to be filled."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "acme_reranker.py"
    sys.modules.pop("acme_reranker", None)


@pytest.fixture
def noting(module: Path) -> None:
    """A third party's module that keeps what it made."""
    module.write_text(
        "from hmem.testing.fakes import WordReranker\n"
        "made = []\n"
        "def make(config):\n    made.append(WordReranker())\n    return made[-1]\n"
    )


# ------------------------------------------------------------------ token vectors


@pytest.fixture
async def minilm() -> AsyncIterator[MiniLM]:
    model = MiniLM.load()
    yield model
    await model.aclose()


@pytest.mark.model
async def test_token_vectors_are_unit_rows_whose_text_is_what_is_embedded(
    minilm: MiniLM,
) -> None:
    texts = [*TEXTS, "a", "word " * 400, TEXTS[0]]
    tokens = await minilm.read(texts, lambda ids, rows: (list(ids), rows.copy()))
    for text, (ids, rows) in zip(texts, tokens, strict=True):
        assert rows.shape == (min(minilm.count(text), 256), 384)
        assert len(ids) == len(rows)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert minilm.words(tokens[3][0]) == ["[CLS]", "a", "[SEP]"]
    assert np.allclose(tokens[0][1], tokens[-1][1], atol=1e-4)
    assert await minilm.read([], lambda ids, rows: 1) == []


@pytest.mark.model
async def test_a_score_is_the_weighed_mean_of_the_nearest_cosines(
    minilm: MiniLM,
) -> None:
    query = "When does the ferry leave?"
    (ids, asked), *rest = await minilm.read(
        [query, *TEXTS], lambda ids, rows: (list(ids), rows.copy())
    )
    kept = [i for i, word in enumerate(minilm.words(ids)) if word.strip("#").isalpha()]
    expected = []
    for _, rows in rest:
        total = weights = 0.0
        for i in kept:
            n = sum(ids[i] in held for held, _ in rest)
            weight = np.log1p((len(rest) - n + 0.5) / (n + 0.5))
            total += weight * max(float(asked[i] @ row) for row in rows)
            weights += weight
        expected.append(total / weights)
    scores = await LocalReranker(minilm, owned=False).rerank(query, TEXTS)
    assert scores.tolist() == pytest.approx(expected, abs=1e-4)
    assert int(scores.argmax()) == 0


@pytest.mark.model
async def test_a_date_in_front_changes_nothing(minilm: MiniLM) -> None:
    reranker = LocalReranker(minilm, owned=False)
    dated = [f"(8 May 2023) {text}" for text in TEXTS]
    plain = await reranker.rerank("the ferry in May 2023", TEXTS)
    assert np.array_equal(await reranker.rerank("the ferry in May 2023", dated), plain)
    inside = [f"{text} (8 May 2023) then" for text in TEXTS]
    other = await reranker.rerank("the ferry in May 2023", inside)
    assert not np.allclose(other, plain, atol=1e-3)


@pytest.mark.model
async def test_it_uses_the_embedders_own_weights_and_leaves_them_open(
    minilm: MiniLM, tmp_path: Path
) -> None:
    shared = beside(minilm)
    await shared.rerank("ferry", TEXTS)
    await shared.aclose()
    assert len(await minilm.embed(["still open"])) == 1
    config = Config(
        path=tmp_path / "m",
        rerank="local",
        shards=1,
        query_embed_timeout=30.0,
        rerank_timeout=30.0,
    )
    async with AsyncMemory(config) as mem:
        parts = mem._rooms.parts
        assert parts.reranker is not None
        assert parts.reranker._minilm is parts.embedder
        await mem.add(TEXTS, user_id="u", wait=True)
        found = await mem.search(
            "when does the ferry leave?", user_id="u", explain=True
        )
        assert not found.degraded
        assert all("rerank" in hit.explain for hit in found.hits)


@pytest.mark.model
async def test_beside_another_embedder_it_loads_and_closes_its_own(
    tmp_path: Path,
) -> None:
    config = Config(path=tmp_path / "m", rerank="local", shards=1)
    async with AsyncMemory(config, embedder=HashEmbedder()) as mem:
        reranker = mem._rooms.parts.reranker
        assert reranker is not None
        await reranker.rerank("ferry", TEXTS)
    with pytest.raises(Exception, match="closed"):
        await reranker._minilm.embed(["a"])


# --------------------------------------------------------------------------- names


def test_none_means_none_and_is_the_default() -> None:
    assert Config().rerank == "none"
    assert make_reranker(Config()) is None
    assert make_reranker(Config(rerank=" none ")) is None


@pytest.mark.parametrize("name", ["", "  ", None, 7])
def test_what_is_no_name_is_a_config_error(name: object) -> None:
    with pytest.raises(ConfigError, match="HMEM_RERANK"):
        Config(rerank=name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rerank_candidates", 0),
        ("rerank_candidates", 1_001),
        ("rerank_timeout", 0.0),
        ("rerank_timeout", "2"),
        ("rerank_timeout", float("nan")),
        ("fusion", "max"),
    ],
)
def test_a_setting_out_of_range_names_its_variable(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"HMEM_{field.upper()}"):
        Config(**{field: value})  # type: ignore[arg-type]


def test_the_environment_sets_them_all() -> None:
    config = Config.from_env(
        {
            "HMEM_RERANK": "bge",
            "HMEM_RERANK_BASE_URL": HERE,
            "HMEM_RERANK_API_KEY": "k",
            "HMEM_RERANK_CANDIDATES": "50",
            "HMEM_RERANK_TIMEOUT": "0.5",
            "HMEM_FUSION": "rrf",
        }
    )
    assert (config.rerank, config.rerank_base_url) == ("bge", HERE)
    assert (config.rerank_api_key, config.rerank_candidates) == ("k", 50)
    assert (config.rerank_timeout, config.fusion) == (0.5, "rrf")


async def test_the_key_goes_to_its_own_endpoint_alone() -> None:
    sent = []
    base = Config(rerank="m", api_key="k", base_url="http://a/v1")
    for config in (
        base,
        replace(base, rerank_base_url="http://b/v1"),
        replace(base, rerank_base_url="http://b/v1", rerank_api_key="r"),
        replace(base, rerank_api_key="r"),
    ):
        reranker = make_reranker(config)
        assert reranker is not None
        assert reranker.model == "m"
        sent.append((reranker._client.api_key, str(reranker._client.base_url)))
        await reranker.aclose()
    assert sent == [
        ("k", "http://a/v1/"),
        ("none", "http://b/v1/"),
        ("r", "http://b/v1/"),
        ("r", "http://a/v1/"),
    ]


def test_a_remote_model_without_an_endpoint_names_the_variables() -> None:
    with pytest.raises(ConfigError, match=r"HMEM_RERANK_BASE_URL, HMEM_BASE_URL"):
        make_reranker(Config(rerank="bge-reranker", api_key="k"))


async def test_a_reranker_that_cannot_be_made_stops_the_opening(
    tmp_path: Path,
) -> None:
    config = Config(path=tmp_path / "m", embed="none", rerank="bge", shards=1)
    mem = AsyncMemory(config)
    with pytest.raises(ConfigError, match="HMEM_RERANK_BASE_URL"):
        await mem.open()
    async with AsyncMemory(config, reranker=WordReranker()):
        pass  # one that is brought stands in for the name


def test_local_without_weights_names_how_to_get_them(no_weights: None) -> None:
    with pytest.raises(MissingModelError, match=r"hmem models install minilm"):
        make_reranker(Config(rerank="local"))


@pytest.mark.parametrize(
    ("name", "missing", "module", "extra"),
    [
        ("local", "tokenizers", "hmem.embed.minilm", "local"),
        ("bge", "openai", "hmem.endpoint", "openai"),
    ],
)
def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, missing: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for loaded in (module, "hmem.rerank.local", "hmem.rerank.remote"):
        monkeypatch.delitem(sys.modules, loaded, raising=False)
    with pytest.raises(MissingExtraError) as caught:
        make_reranker(Config(rerank=name, rerank_base_url=HERE))
    assert caught.value.extra == extra


def test_a_third_partys_reranker_is_made_by_name(module: Path) -> None:
    module.write_text(
        "from hmem.testing.fakes import WordReranker\n"
        "def make(config):\n    return WordReranker(model=config.path)\n"
    )
    register_reranker("acme", "acme_reranker:make")
    reranker = make_reranker(Config(rerank="acme", path="here"))
    assert isinstance(reranker, WordReranker)
    assert reranker.model == "here"
    with pytest.raises(ConfigError, match="already registered"):
        register_reranker("acme", "acme_reranker:other")
    for name in ("none", "local", "", " acme "):
        with pytest.raises(ConfigError):
            register_reranker(name, "acme_reranker:make")


async def test_one_that_was_made_by_name_is_closed_with_the_memory(
    noting: None, tmp_path: Path
) -> None:
    register_reranker("acme-2", "acme_reranker:make")
    config = Config(path=tmp_path / "m", embed="none", rerank="acme-2", shards=1)
    async with AsyncMemory(config) as mem:
        await mem.add("a shed", user_id="u")
        assert (await mem.search("shed", user_id="u")).hits
    (made,) = sys.modules["acme_reranker"].made
    assert made.closed
    assert len(made.calls) == 1


async def test_a_worker_makes_none(noting: None, tmp_path: Path) -> None:
    register_reranker("acme-2", "acme_reranker:make")
    config = Config(path=tmp_path / "m", embed="none", rerank="acme-2", shards=1)
    stop = asyncio.Event()
    stop.set()
    await run_worker(config, stop=stop)
    assert "acme_reranker" not in sys.modules


def test_a_search_without_a_reranker_loads_none() -> None:
    script = (
        "import asyncio, sys, tempfile\n"
        "from hmem import AsyncMemory, Config\n"
        "async def main():\n"
        "    config = Config(path=tempfile.mkdtemp() + '/m', embed='none')\n"
        "    async with AsyncMemory(config) as mem:\n"
        "        await mem.add('a', user_id='u')\n"
        "        await mem.search('a', user_id='u')\n"
        "asyncio.run(main())\n"
        "late = ('openai', 'tokenizers', 'hmem.rerank.local', 'hmem.rerank.remote')\n"
        "print([name for name in late if name in sys.modules])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30
    )
    assert ran.stdout.strip() == "[]", ran.stderr
