"""What every `VectorCodec` must do.

    class TestMyCodec(VectorCodecSuite):
        @pytest.fixture
        def codec(self):
            return MyCodec()

A lossy codec lowers `recall_floor` and `cosine_floor`, nothing else. Needs pytest.
"""

import numpy as np
import pytest

from hmem.errors import BadVectorError, DamagedStoreError
from hmem.protocols import VectorCodec
from hmem.testing.vector_machine import directions, recall_at_10

BAD_ROWS: dict[str, list[float]] = {
    "NaN": [1.0, float("nan"), 0.0, 0.0],
    "infinity": [1.0, float("inf"), 0.0, 0.0],
    "minus infinity": [float("-inf"), 0.0, 0.0, 1.0],
    "zero": [0.0, 0.0, 0.0, 0.0],
}


class VectorCodecSuite:
    """Subclass it and provide a `codec` fixture."""

    recall_floor: float = 1.0
    cosine_floor: float = 0.9998

    @pytest.fixture
    def codec(self) -> VectorCodec:
        """The codec under test."""
        pytest.fail("a codec suite needs a `codec` fixture")

    def floor(self, codec: VectorCodec) -> float:
        """The recall that this codec declares."""
        return float(getattr(codec, "recall_floor", self.recall_floor))

    def nearness(self, codec: VectorCodec) -> float:
        """The cosine of decoded rows to the encoded ones that this codec declares."""
        return float(getattr(codec, "cosine_floor", self.cosine_floor))

    @pytest.mark.parametrize("dim", [1, 3, 8, 384, 769])
    def test_a_row_takes_the_bytes_it_declares(
        self, codec: VectorCodec, dim: int
    ) -> None:
        """Also for one dimension and odd ones."""
        codes = codec.encode(directions(5, dim))
        assert codes.dtype == np.uint8
        assert codes.shape == (5, codec.row_bytes(dim))

    @pytest.mark.parametrize("dim", [1, 3, 8, 384, 769])
    def test_decoded_rows_are_unit_rows_in_the_same_directions(
        self, codec: VectorCodec, dim: int
    ) -> None:
        """Whatever the length of what was encoded."""
        rows = directions(40, dim)
        back = codec.decode(codec.encode(rows * np.float32(37.5)), dim)
        assert back.dtype == np.float32
        assert back.shape == rows.shape
        assert np.abs(np.linalg.norm(back, axis=1) - 1.0).max() < 1e-5
        assert (back * rows).sum(axis=1).min() >= self.nearness(codec) - 1e-6

    def test_no_rows_are_encoded_as_no_rows(self, codec: VectorCodec) -> None:
        """An empty batch is no error."""
        codes = codec.encode(np.empty((0, 6), np.float32))
        assert codes.shape == (0, codec.row_bytes(6))
        assert codec.decode(codes, 6).shape == (0, 6)

    def test_rows_are_encoded_alone(self, codec: VectorCodec) -> None:
        """The batch a row comes in changes none of its bytes; nor does memory order."""
        rows = directions(70, 77)
        whole = codec.encode(rows)
        assert (whole == np.concatenate([codec.encode(r[None]) for r in rows])).all()
        assert (whole == codec.encode(np.asfortranarray(rows))).all()
        assert (whole[13:] == codec.encode(rows[13:])).all()

    def test_a_decoded_row_is_encoded_to_the_same_direction_again(
        self, codec: VectorCodec
    ) -> None:
        """Moving rows from store to store must not wear them down."""
        once = codec.decode(codec.encode(directions(50, 96)), 96)
        twice = codec.decode(codec.encode(once), 96)
        assert np.abs(once - twice).max() < 1e-6

    @pytest.mark.parametrize("row", BAD_ROWS.values(), ids=BAD_ROWS.keys())
    def test_a_bad_row_is_refused(self, codec: VectorCodec, row: list[float]) -> None:
        """Alone, and among good ones."""
        with pytest.raises(BadVectorError):
            codec.encode(np.array([row], np.float32))
        with pytest.raises(BadVectorError):
            codec.encode(np.array([[1, 2, 3, 4], row], np.float32))

    @pytest.mark.parametrize("shape", [(4,), (2, 3, 4), (3, 0)])
    def test_another_shape_is_refused(
        self, codec: VectorCodec, shape: tuple[int, ...]
    ) -> None:
        """Only (n, dim) is a batch."""
        with pytest.raises(BadVectorError):
            codec.encode(np.ones(shape, np.float32))

    @pytest.mark.parametrize("scale", [1e-30, 1e-42, 1e30])
    def test_very_long_and_very_short_rows_keep_their_direction(
        self, codec: VectorCodec, scale: float
    ) -> None:
        """Squares that float32 cannot hold are no zero and no infinity."""
        rows = np.array([[3, -4, 0, 0]], np.float32) * np.float32(scale)
        back = codec.decode(codec.encode(rows), 4)
        apart = np.linalg.norm(back - [[0.6, -0.8, 0, 0]])
        assert apart <= np.sqrt(2.0 - 2.0 * self.nearness(codec)) + 1e-6

    @pytest.mark.parametrize("change", [-1, 1, 4])
    def test_codes_of_another_size_are_damage(
        self, codec: VectorCodec, change: int
    ) -> None:
        """A row of the wrong number of bytes is never read."""
        wrong = np.zeros((2, codec.row_bytes(8) + change), np.uint8)
        with pytest.raises(DamagedStoreError):
            codec.decode(wrong, 8)

    @pytest.mark.parametrize("byte", [0x00, 0xFF])
    def test_a_row_of_equal_bytes_is_damage(
        self, codec: VectorCodec, byte: int
    ) -> None:
        """Blank storage does not decode to vectors."""
        codes = codec.encode(directions(3, 8))
        codes[1] = byte
        with pytest.raises(DamagedStoreError):
            codec.decode(codes, 8)

    def test_recall_is_at_least_what_is_declared(self, codec: VectorCodec) -> None:
        """Recall@10 of float queries over decoded rows, d=384."""
        rows, queries = directions(600, 384), directions(100, 384, seed=1)
        back = codec.decode(codec.encode(rows), 384)
        best = np.argsort(-(queries @ back.T), axis=1)[:, :10]
        found = [set(b.tolist()) for b in best]
        assert recall_at_10(found, rows, queries) >= self.floor(codec)
