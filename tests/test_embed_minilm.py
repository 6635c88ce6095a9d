"""The local model: its arithmetic, its files, and the genuine weights' vectors."""

import asyncio
import gc
import json
import math
import threading
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from hmem.embed.bert import Bert, gelu
from hmem.embed.minilm import MiniLM, find_weights
from hmem.embed.weights import default_folder, read_tensors
from hmem.errors import MissingModelError

REFERENCE = json.loads(
    (Path(__file__).parent / "data" / "minilm_vectors.json").read_text()
)
HEADS, DIM, WIDE, WORDS = 2, 8, 16, 40
Tensors = dict[str, np.ndarray]


def tiny_tensors(layers: int = 2) -> Tensors:
    """A BERT too small to know anything, with every tensor that a real one has."""
    rng = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, DIM),
        "embeddings.position_embeddings.weight": (300, DIM),
        "embeddings.token_type_embeddings.weight": (2, DIM),
        "embeddings.LayerNorm.weight": (DIM,),
        "embeddings.LayerNorm.bias": (DIM,),
    }
    for i in range(layers):
        layer = f"encoder.layer.{i}"
        for part in ("query", "key", "value"):
            shapes[f"{layer}.attention.self.{part}.weight"] = (DIM, DIM)
            shapes[f"{layer}.attention.self.{part}.bias"] = (DIM,)
        for part, shape in (
            ("attention.output.dense", (DIM, DIM)),
            ("intermediate.dense", (WIDE, DIM)),
            ("output.dense", (DIM, WIDE)),
        ):
            shapes[f"{layer}.{part}.weight"] = shape
            shapes[f"{layer}.{part}.bias"] = shape[:1]
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{layer}.{part}.weight"] = (DIM,)
            shapes[f"{layer}.{part}.bias"] = (DIM,)
    return {
        name: rng.normal(0, 0.6, s).astype(np.float32) for name, s in shapes.items()
    }


def tiny_bert(tensors: Tensors | None = None) -> Bert:
    return Bert(
        tensors or tiny_tensors(), layers=2, heads=HEADS, eps=1e-12, max_tokens=256
    )


def tiny_tokenizer() -> Tokenizer:
    vocab = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
    for letter in "abcdefghij":
        vocab[letter] = len(vocab)
        vocab[f"##{letter}"] = len(vocab)
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def naive(t: Tensors, ids: list[int]) -> np.ndarray:
    """One text's vector by the book: float64, token by token, head by head."""

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * t[f"{name}.weight"] + t[f"{name}.bias"]

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return x @ t[f"{name}.weight"].astype(np.float64).T + t[f"{name}.bias"]

    erf = np.vectorize(math.erf)
    x = t["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x = x + t["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(
        x + t["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm"
    )
    for i in range(2):
        layer = f"encoder.layer.{i}"
        q, k, v = (
            dense(x, f"{layer}.attention.self.{part}")
            for part in ("query", "key", "value")
        )
        heads = []
        for h in range(HEADS):
            part = slice(h * DIM // HEADS, (h + 1) * DIM // HEADS)
            weights = np.exp(q[:, part] @ k[:, part].T / math.sqrt(DIM // HEADS))
            heads.append(weights / weights.sum(1, keepdims=True) @ v[:, part])
        mixed = dense(np.concatenate(heads, 1), f"{layer}.attention.output.dense")
        x = norm(x + mixed, f"{layer}.attention.output.LayerNorm")
        wide = dense(x, f"{layer}.intermediate.dense")
        wide = 0.5 * wide * (1 + erf(wide / math.sqrt(2)))
        x = norm(x + dense(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean = x.mean(0)
    return np.asarray(mean / np.linalg.norm(mean))


def test_the_forward_pass_is_berts() -> None:
    tensors = tiny_tensors()
    texts = [[2, 3], [2, 9, 3], [2, 30, 3], [2, *range(4, 20), 3], [2, *[5, 6] * 90, 3]]
    rows = tiny_bert(tensors).encode(texts)
    expected = np.stack([naive(tensors, ids) for ids in texts])
    assert np.abs(rows - expected).max() < 2e-5


def test_large_attention_scores_do_not_overflow() -> None:
    tensors = tiny_tensors()
    for name in tensors:
        if name.endswith("query.weight"):
            tensors[name] *= 100  # scores of 300: float32 exp ends at 88
    ids = [2, *range(4, 20), 3]
    row = tiny_bert(tensors).encode([ids])[0]
    assert np.abs(row - naive(tensors, ids)).max() < 1e-3


def test_a_row_is_the_same_alone_and_after_another_batch() -> None:
    bert = tiny_bert()
    alone = bert.encode([[2, 9, 8, 3]])
    bert.encode([[2, 5, 3], [2, *range(4, 39), 3]])
    assert np.abs(bert.encode([[2, 7, 3], [2, 9, 8, 3]])[1] - alone[0]).max() < 1e-6


def test_gelu_is_exact_to_a_millionth() -> None:
    x = np.concatenate([np.linspace(-9, 9, 40_001), [-300.0, -40.0, 0.0, 40.0, 300.0]])
    expected = [v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x]
    got = x.astype(np.float32)
    scratch = (np.empty(4_096, np.float32), np.empty(4_096, np.float32))
    gelu(got, scratch)
    assert np.abs(got[:-5] - expected[:-5]).max() < 1e-6
    assert got[-5:].tolist() == [0.0, 0.0, 0.0, 40.0, 300.0]


async def test_a_text_is_cut_to_the_window_for_the_embedding_alone() -> None:
    embedder = MiniLM(tiny_bert(), tiny_tokenizer())
    long = "a b c d e " * 400
    rows = await embedder.embed([long, " ".join(long.split()[:254]), "j " * 5])
    assert embedder.count(long) == 2_002
    assert np.abs(rows[0] - rows[1]).max() < 1e-6
    assert np.abs(rows[0] - rows[2]).max() > 1e-3
    await embedder.aclose()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(" " * 30_000 + "a b c", id="after much space"),
        pytest.param("abcdefghij" * 12 + " b" * 300, id="words too long to know"),
        pytest.param(("x" * 120 + " ") * 300 + "b", id="only such words"),
        pytest.param(("x" * 3_000 + " ") * 5 + "a b", id="endless words"),
        pytest.param("a" * 2_047 + " b c d", id="a word across the first cut"),
    ],
)
async def test_cutting_a_long_text_early_changes_no_token(text: str) -> None:
    tokenizer = tiny_tokenizer()
    whole = tokenizer.encode(text).ids
    expected = whole if len(whole) <= 256 else [*whole[:255], whole[-1]]
    embedder = MiniLM(tiny_bert(), tokenizer)
    rows = await embedder.embed([text])
    assert np.abs(rows[0] - tiny_bert().encode([expected])[0]).max() < 1e-6
    await embedder.aclose()


async def test_the_loop_turns_while_a_batch_runs() -> None:
    embedder = MiniLM(tiny_bert(), tiny_tokenizer())
    call = asyncio.ensure_future(embedder.embed(["a b c d e f g"] * 2_000))
    turns = 0
    while not call.done():
        await asyncio.sleep(0)
        turns += 1
    assert len(call.result()) == 2_000
    assert turns > 5
    await embedder.aclose()


async def test_a_forgotten_embedder_leaves_no_thread() -> None:
    embedder = MiniLM(tiny_bert(), tiny_tokenizer())
    await embedder.embed(["a"])
    before = [t for t in threading.enumerate() if t.name == "hmem-embed"]
    assert before
    del embedder
    gc.collect()
    for thread in before:
        await asyncio.to_thread(thread.join, 5)
    assert not any(t.is_alive() for t in before)


# ---------------------------------------------------------------------- files


def write_safetensors(path: Path, tensors: Tensors, **changes: object) -> None:
    """The format by hand: length, header, numbers."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, tensor in tensors.items():
        start, body = len(body), body + tensor.astype("<f4").tobytes()
        offsets = [start, len(body)]
        header[name] = {
            "dtype": "F32",
            "shape": list(tensor.shape),
            "data_offsets": offsets,
            **changes,
        }
    raw = json.dumps(header).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + body)


def test_tensors_are_read_as_they_were_written(tmp_path: Path) -> None:
    tensors = tiny_tensors(1)
    write_safetensors(tmp_path / "w", tensors)
    read = read_tensors(tmp_path / "w")
    assert set(read) == set(tensors)
    assert all(np.array_equal(read[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"data_offsets": [0, 10**9]}, id="past the end"),
        pytest.param({"data_offsets": [8, 4]}, id="backwards"),
        pytest.param({"data_offsets": [-8, 32]}, id="before the start"),
        pytest.param({"data_offsets": "0"}, id="not a range"),
        pytest.param({"shape": [3, 3]}, id="of another shape"),
    ],
)
def test_a_tensor_that_lies_about_itself_is_refused(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    write_safetensors(tmp_path / "w", {"a": np.ones(8, np.float32)}, **changes)
    with pytest.raises(MissingModelError, match="not a whole safetensors file"):
        read_tensors(tmp_path / "w")


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"\xff" * 64, (4).to_bytes(8, "little") + b"[1,]", b"\0" * 99],
)
def test_a_file_that_is_none_of_ours_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w").write_bytes(content)
    with pytest.raises(MissingModelError, match="hmem models install minilm"):
        read_tensors(tmp_path / "w")


def tiny_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "model.safetensors", tiny_tensors())
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    settings = {
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "layer_norm_eps": 1e-12,
    }
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


def test_weights_that_are_not_the_genuine_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingModelError, match="not the genuine"):
        MiniLM.load(tiny_folder(tmp_path))


async def test_loading_reads_a_folder_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hmem.embed.minilm as module
    from hmem.embed.weights import sha256_of

    folder = tiny_folder(tmp_path / "model")
    digest = sha256_of(folder / "model.safetensors")
    monkeypatch.setattr(module, "MINILM_SHA256", digest)
    before = {p: p.stat().st_mtime_ns for p in [folder, *folder.iterdir()]}
    folder.chmod(0o555)
    embedder = MiniLM.load(folder)
    assert (await embedder.embed(["a b"])).shape == (1, DIM)
    await embedder.aclose()
    assert {p: p.stat().st_mtime_ns for p in [folder, *folder.iterdir()]} == before


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_folder_that_lacks_a_file_says_which(tmp_path: Path, name: str) -> None:
    (tiny_folder(tmp_path) / name).unlink()
    with pytest.raises(MissingModelError, match=name):
        MiniLM.load(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json"])
def test_a_file_that_is_garbage_is_a_missing_model(tmp_path: Path, name: str) -> None:
    (tiny_folder(tmp_path) / name).write_text("{}")
    with pytest.raises(MissingModelError):
        MiniLM.load(tmp_path)


def test_the_folder_is_found_where_it_should_be(tmp_path: Path) -> None:
    home, data, own = (tmp_path / name for name in ("home", "data", "own"))
    environ = {"HOME": str(home)}
    assert find_weights(environ) is None
    assert default_folder(environ) == home / ".local/share/hmem/models/minilm"
    assert find_weights({"HOME": str(home), "XDG_DATA_HOME": "relative"}) is None
    tiny_folder(home / ".local/share/hmem/models/minilm")
    assert find_weights(environ) == home / ".local/share/hmem/models/minilm"
    environ["XDG_DATA_HOME"] = str(data)
    assert find_weights(environ) is None
    tiny_folder(data / "hmem/models/minilm")
    assert find_weights(environ) == data / "hmem/models/minilm"
    environ["HMEM_MINILM_DIR"] = str(own)
    assert find_weights(environ) is None, "a folder that was named is not passed over"
    assert find_weights({"HMEM_MINILM_DIR": str(tiny_folder(own))}) == own


def test_a_machine_without_a_home_has_no_weights_and_no_error() -> None:
    assert find_weights({"HOME": "/nonexistent"}) is None


# ------------------------------------------------------------- the genuine weights


@pytest.mark.model
async def test_vectors_are_those_of_the_reference_implementation() -> None:
    embedder = MiniLM.load()
    rows = await embedder.embed([entry["text"] for entry in REFERENCE])
    await embedder.aclose()
    i = np.arange(384, dtype=np.float64)
    directions = np.stack([np.cos(0.7 * i + 0.1), np.sin(1.3 * i * i + 0.4)])
    for entry, row in zip(REFERENCE, rows, strict=True):
        front = np.array(entry["vector"])
        part = row[: len(front)].astype(np.float64)
        cosine = part @ front / np.linalg.norm(part) / np.linalg.norm(front)
        assert cosine >= 0.99999, entry["name"]
        assert np.abs(part - front).max() < 1e-5, entry["name"]
        assert np.abs(directions @ row - entry["sums"]).max() < 1e-4, entry["name"]


@pytest.mark.model
async def test_the_count_is_the_reference_tokenizers() -> None:
    embedder = MiniLM.load()
    counts = {entry["name"]: embedder.count(entry["text"]) for entry in REFERENCE}
    assert counts == {entry["name"]: entry["tokens"] for entry in REFERENCE}
    await embedder.aclose()


@pytest.mark.model
async def test_the_genuine_model_says_what_it_is() -> None:
    embedder = MiniLM.load()
    assert (embedder.model, embedder.dim, embedder.window) == (
        "all-MiniLM-L6-v2",
        384,
        256,
    )
    await embedder.aclose()
