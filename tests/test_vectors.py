"""Every registered codec and index passes its suite; their bytes never change."""

import inspect
import threading

import numpy as np
import pytest

from hmem.config import Config
from hmem.errors import (
    BadVectorError,
    DamagedStoreError,
    InputError,
    UnknownBackendError,
)
from hmem.protocols import ScoresAll, VectorCodec
from hmem.testing.codec_suite import VectorCodecSuite
from hmem.testing.extras import or_skip
from hmem.testing.vector_machine import directions
from hmem.testing.vector_suites import MakeIndex, VectorIndexSuite
from hmem.vectors import CODECS, INDEXES, auto, codec, index, unit
from hmem.vectors.slots import Slots, Snapshot
from tests.forms import many

# What these rows are stored as, for ever. A change here breaks every store there is.
ROWS = np.array([[3, -4, 0], [0.25, 0.5, -1], [-7, 0, 0], [1, 1.25, -2.5]], np.float32)
GOLDEN = {
    "float32": "9a99193fcdcc4cbf0000000082745f3e8274df3e82745fbf"
    "000080bf00000000000000000479ac3e4597d73e459757bf",
    "int8": "5f81008f9bce3b204081bbcae03b8100000402013c33408144e3d83b",
    "turboquant:2": "14bc50143f0a78fc173f1f3f63e53e0a22a3123f",
    "turboquant:3.5": "6803336b133f0b015d22073fd503178f193f0a011c71083f",
    "turboquant:4": "2c054c6e1c3fa102cc9b053fe40732590f3fa002c049083f",
}


class TestEveryCodec(VectorCodecSuite):
    @pytest.fixture(params=sorted(CODECS))
    def codec(self, request: pytest.FixtureRequest) -> VectorCodec:
        return codec(request.param)


class TestEveryIndex(VectorIndexSuite):
    edits, histories = many(150, 400), many(15, 40)

    @pytest.fixture(params=sorted(INDEXES))
    def make_index(self, request: pytest.FixtureRequest) -> MakeIndex:
        or_skip(lambda: index(request.param, 1))
        return lambda dim: index(request.param, dim)


@pytest.mark.parametrize("name", sorted(CODECS))
def test_the_bytes_of_a_codec_never_change(name: str) -> None:
    assert codec(name).encode(ROWS).tobytes().hex() == GOLDEN[name]


@pytest.mark.parametrize("name", sorted(CODECS))
def test_bytes_written_long_ago_are_read(name: str) -> None:
    codes = np.frombuffer(bytes.fromhex(GOLDEN[name]), np.uint8).reshape(len(ROWS), -1)
    cosines = (codec(name).decode(codes, 3) * unit(ROWS)).sum(axis=1)
    assert cosines.min() > getattr(codec(name), "cosine_floor", 0.9999)


def test_an_int8_vector_takes_one_byte_a_dimension_and_four() -> None:
    assert codec("int8").row_bytes(384) == 388
    assert codec("float32").row_bytes(384) == 1536


@pytest.mark.parametrize("scale", [np.nan, np.inf, -np.inf, 0.0, -0.01, 1.0, 1e-9])
def test_an_impossible_int8_scale_is_damage(scale: float) -> None:
    codes = codec("int8").encode(directions(3, 8))
    codes[1, 8:] = np.frombuffer(np.float32(scale).tobytes(), np.uint8)
    with pytest.raises(DamagedStoreError):
        codec("int8").decode(codes, 8)


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38, 5.0])
def test_a_float32_row_that_is_no_unit_row_is_damage(value: float) -> None:
    rows = directions(3, 8)
    rows[1, 2] = value
    with pytest.raises(DamagedStoreError):
        codec("float32").decode(rows.view(np.uint8), 8)


def test_the_int8_index_keeps_what_the_int8_codec_stored_bit_by_bit() -> None:
    codes = codec("int8").encode(directions(300, 384))
    assert (codec("int8").encode(codec("int8").decode(codes, 384)) == codes).all()


def test_unit_refuses_what_is_not_a_matrix_of_numbers() -> None:
    for bad in ([[1.0], [1.0, 2.0]], [["a"]], [[None]], [[1j]], [[True]], 3.0, [1.0]):
        with pytest.raises(BadVectorError):
            unit(bad)
    with pytest.raises(BadVectorError):
        unit([[1.0, 2.0]], dim=3)
    assert unit([[3, 4]]).tolist() == [[np.float32(0.6), np.float32(0.8)]]
    assert unit(np.array([[3, 4]], np.float16)).dtype == np.float32


def test_unit_gives_each_row_alone_and_leaves_its_argument() -> None:
    rows = directions(90, 77) * 3
    rows[5] *= np.float32(1e-30)
    before = rows.copy()
    assert (unit(rows) == np.concatenate([unit(r[None]) for r in rows])).all()
    assert (rows == before).all()


@pytest.mark.parametrize("ids", [[-1], [1.5], ["1"], [[1]], 1])
def test_ids_that_are_no_ids_are_refused(ids: object) -> None:
    made = index("float32", 4)
    with pytest.raises(InputError):
        made.add(ids, np.ones((1, 4), np.float32))  # type: ignore[arg-type]


def test_a_wrong_count_of_ids_and_a_wrong_mask_are_refused() -> None:
    made = index("float32", 4)
    with pytest.raises(InputError, match="2 ids for 1"):
        made.add(np.array([1, 2], np.uint64), np.ones((1, 4), np.float32))
    made.add(np.array([1], np.uint64), np.ones((1, 4), np.float32))
    with pytest.raises(InputError, match="mask"):
        made.search(np.ones(4, np.float32), 1, allowed=np.ones(2, np.bool_))


def test_names_are_looked_up_and_unknown_ones_named() -> None:
    with pytest.raises(UnknownBackendError, match="float32, int8"):
        codec("int7")
    with pytest.raises(UnknownBackendError, match=r"auto, .*float32, int8"):
        index("faiss", 8)
    assert all(codec(name).name == name for name in CODECS)
    assert all(auto(8, expect=n) in INDEXES for n in (0, 10, 10**9))
    assert Config().stored in CODECS
    assert Config().vectors == "auto"
    with pytest.raises(InputError):
        index("float32", 0)


@pytest.mark.parametrize("name", sorted(INDEXES))
def test_every_index_scores_everything(name: str) -> None:
    assert isinstance(or_skip(lambda: index(name, 8)), ScoresAll)
    assert "expect" in inspect.signature(index).parameters


def test_adding_one_by_one_copies_each_row_a_few_times_at_most() -> None:
    slots = Slots((np.empty((0, 4), np.float32),))
    arrays = set()
    for i in range(2000):
        slots.put(np.array([i], np.uint64), (np.ones((1, 4), np.float32),))
        arrays.add(slots.read(lambda now: id(now.columns[0])))
    assert len(arrays) < 40
    assert slots.nbytes < 2 * 2000 * 24


def test_a_read_that_an_edit_overtakes_is_read_again() -> None:
    slots = Slots((np.empty((0, 1), np.float32),))
    slots.put(np.arange(4, dtype=np.uint64), (np.zeros((4, 1), np.float32),))
    looks = []

    def edit() -> None:
        slots.put(np.arange(4, dtype=np.uint64), (np.ones((4, 1), np.float32),))

    def look(now: Snapshot) -> float:
        before = float(now.columns[0][:2].sum())
        if not looks:  # an edit lands in the middle of the first look
            other = threading.Thread(target=edit)
            other.start()
            other.join()
        looks.append(before)
        return before + float(now.columns[0][2:4].sum())

    assert slots.read(look) == 4.0
    assert looks == [0.0, 2.0]


def test_a_read_beside_appends_is_not_repeated() -> None:
    slots = Slots((np.empty((0, 1), np.float32),))
    slots.put(np.arange(4, dtype=np.uint64), (np.zeros((4, 1), np.float32),))
    seen = []

    def look(now: Snapshot) -> int:
        slots.put(np.array([10 + len(seen)], np.uint64), (np.ones((1, 1), np.float32),))
        seen.append(now)
        return len(seen)

    assert slots.read(look) == 1
    assert len(slots) == 5
