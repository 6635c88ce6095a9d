"""Vectors in chunks and stores: old chunks open, flipped bits are seen, codecs mix."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmem import AsyncMemory, Config, ConfigError
from hmem.errors import DamagedStoreError, UnknownBackendError
from hmem.stores.chunks import VECTOR, Row, extend, read
from hmem.testing.fakes import HashEmbedder
from hmem.vectors import CODECS, codec, unit

FILE = Path(__file__).with_name("data") / "vector_chunks.json"
STORED: dict[str, list[str]] = json.loads(FILE.read_text())
KEYS = [(1, 0), (2, 0), (2, 1), (5, 0), (70_000, 3)]  # as in make_vector_chunks.py


def test_every_codec_has_a_chunk_of_format_1_that_must_open_for_ever() -> None:
    assert set(STORED) == set(CODECS)


@pytest.mark.parametrize("name", sorted(STORED))
def test_a_chunk_written_long_ago_opens(name: str) -> None:
    exact = decoded("float32")
    assert exact.shape == (5, 20)
    assert np.abs(np.linalg.norm(exact, axis=1) - 1).max() < 1e-5
    floor = getattr(codec(name), "cosine_floor", 0.9998)
    assert (decoded(name) * exact).sum(axis=1).min() > floor


@pytest.mark.parametrize("name", sorted(STORED))
def test_a_chunk_written_long_ago_is_still_written_so(name: str) -> None:
    codes = codec(name).encode(decoded("float32"))
    rows = [Row(*key, code.tobytes()) for key, code in zip(KEYS, codes, strict=True)]
    made = [read(blob, VECTOR) for _, _, blob in extend(None, rows, VECTOR, 7, name)]
    old = [read(bytes.fromhex(blob), VECTOR) for blob in STORED[name]]
    for ours, theirs in zip(made, old, strict=True):
        assert (ours.keys == theirs.keys).all()
        assert (ours.extra, ours.label) == (theirs.extra, theirs.label)
        assert len(ours.body) == len(theirs.body)
    if name != "float32":  # whose rows are made unit rows once more
        packed = [b"".join(c.body for c in columns) for columns in (made, old)]
        now, then = (split(p, codec(name).row_bytes(20)) for p in packed)
        assert (now[:, :-4] == then[:, :-4]).all()


@pytest.mark.parametrize("name", sorted(STORED))
def test_every_flipped_bit_of_a_chunk_is_seen(name: str) -> None:
    blob = bytes.fromhex(STORED[name][0])
    for bit in range(8 * len(blob)):
        bad = bytearray(blob)
        bad[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedStoreError):
            read(bytes(bad), VECTOR)


def decoded(name: str) -> Any:
    """The vectors of a stored fixture, its keys checked."""
    found, keys = [], []
    for text in STORED[name]:
        columns = read(bytes.fromhex(text), VECTOR)
        assert (columns.extra, columns.label) == (7, name)
        keys += columns.keys.tolist()
        codes = split(columns.body, codec(name).row_bytes(20))
        found.append(codec(name).decode(codes, 20))
    assert keys == [list(key) for key in KEYS]
    return np.concatenate(found)


def split(body: bytes, width: int) -> Any:
    return np.frombuffer(body, np.uint8).reshape(-1, width)


# ------------------------------------------------------------------------- stores


def config(where: Path, stored: str) -> Config:
    return Config(
        path=where / "m", shards=1, embed="none", durability="normal", stored=stored
    )


TURNS = ["I keep bees behind the barn", "The ferry leaves at nine", "Rain all week"]


@pytest.mark.parametrize("name", sorted(CODECS))
async def test_a_store_keeps_and_finds_vectors_of_every_codec(
    tmp_path: Path, name: str
) -> None:
    embedder = HashEmbedder(96)
    async with AsyncMemory(config(tmp_path, name), embedder=embedder) as mem:
        for turn in TURNS:
            await mem.add(turn, user_id="u", wait=True)
    exact = unit([embedder.vector(text) for call in embedder.calls for text in call])
    async with AsyncMemory(config(tmp_path, name), embedder=embedder) as mem:
        found = await mem.search("bees barn", user_id="u", k=1)
        assert [hit.text for hit in found] == TURNS[:1]
        assert found.degraded == ()
    ((body,),) = stored_chunks(tmp_path)
    columns = read(body, VECTOR)
    assert columns.label == name
    width = codec(name).row_bytes(96)
    rows = codec(name).decode(split(columns.body, width), 96)
    near = getattr(codec(name), "cosine_floor", 0.9998)
    assert (rows * exact).sum(axis=1).min() > near


@pytest.mark.parametrize("name", sorted(CODECS))
async def test_a_bit_that_flips_in_a_stores_codes_is_damage(
    tmp_path: Path, name: str
) -> None:
    async with AsyncMemory(config(tmp_path, name), embedder=HashEmbedder(96)) as mem:
        for turn in TURNS:
            await mem.add(turn, user_id="u", wait=True)
    ((body,),) = stored_chunks(tmp_path)
    for at in (len(body) - codec(name).row_bytes(96) - 1, len(body) - 6, len(body) - 1):
        bad = bytearray(body)
        bad[at] ^= 0x10
        stored_chunks(tmp_path, "UPDATE vec SET body = ?", bytes(bad))
        async with AsyncMemory(
            config(tmp_path, name), embedder=HashEmbedder(96)
        ) as mem:
            with pytest.raises(DamagedStoreError, match="checksum"):
                await mem.search("bees", user_id="u")


async def test_codecs_may_change_and_what_was_stored_is_still_found(
    tmp_path: Path,
) -> None:
    for turn, name in zip(TURNS, ("int8", "turboquant:2", "float32"), strict=True):
        async with AsyncMemory(
            config(tmp_path, name), embedder=HashEmbedder(96)
        ) as mem:
            await mem.add(turn, user_id="u", wait=True)
    async with AsyncMemory(
        config(tmp_path, "turboquant:4"), embedder=HashEmbedder(96)
    ) as mem:
        for turn in TURNS:
            found = await mem.search(turn, user_id="u", k=1)
            assert [hit.text for hit in found] == [turn]
    labels = [read(body, VECTOR).label for (body,) in stored_chunks(tmp_path)]
    assert labels == ["int8", "turboquant:2", "float32"]


@pytest.mark.parametrize("name", ["int7", "turboquant", "turboquant:3", "INT8", ""])
async def test_an_unknown_codec_is_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    mem = AsyncMemory(config(tmp_path, name), embedder=HashEmbedder(96))
    with pytest.raises(UnknownBackendError, match=r"HMEM_STORED.*turboquant:3\.5") as e:
        await mem.open()
    assert isinstance(e.value, ConfigError)
    assert not (tmp_path / "m").exists()


def stored_chunks(where: Path, sql: str = "SELECT body FROM vec", *args: Any) -> Any:
    """Run a statement behind the store's back."""
    with closing(sqlite3.connect(where / "m" / "shard-00.db")) as conn, conn:
        return conn.execute(sql, args).fetchall()
