"""The turboquant codecs: their levels, their rotation, their bytes."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hmem.errors import DamagedStoreError
from hmem.testing.vector_machine import directions
from hmem.vectors import codec
from hmem.vectors.rotation import Rotation, column_sums, rotation
from hmem.vectors.turboquant import LEVELS, TurboQuant4Codec, TurboQuant35Codec, _table
from tests.forms import many

Wide = NDArray[np.float64]
NAMES = ("turboquant:2", "turboquant:3.5", "turboquant:4")


def whole_rows(n: int, dim: int) -> NDArray[np.float32]:
    """Vectors of whole numbers that no random generator can change."""
    drawn = hashlib.shake_256(b"rows").digest(n * dim)
    return np.frombuffer(drawn, np.int8).reshape(n, dim).astype(np.float32)


def digest(array: NDArray[np.float32] | NDArray[np.uint8]) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


# ------------------------------------------------------------------------- levels


def normal_cells(levels: Wide) -> tuple[Wide, Wide]:
    """Probability and mean of N(0, 1) in each level's cell."""
    edges = [-math.inf, *((levels[1:] + levels[:-1]) / 2), math.inf]
    below = np.array([0.5 * (1 + math.erf(e / math.sqrt(2))) for e in edges])
    density = np.array([math.exp(-e * e / 2) / math.sqrt(2 * math.pi) for e in edges])
    share = np.diff(below)
    return share, -np.diff(density) / share


def normal_error(levels: Wide) -> float:
    """Mean squared error of N(0, 1) on its best levels."""
    share, means = normal_cells(levels)
    return float(1.0 - (share * means**2).sum())


def lloyd_max(n: int) -> Wide:
    levels = np.linspace(-2.0, 2.0, n)
    for _ in range(5000):
        levels, before = normal_cells(levels)[1], levels
        if np.abs(levels - before).max() < 1e-14:
            break
    return levels


@pytest.mark.parametrize("n", sorted(LEVELS))
def test_the_levels_are_the_optimal_ones_of_the_normal_distribution(n: int) -> None:
    table = _table(n)
    assert table.shape == (n,)
    assert (table == -table[::-1]).all()
    assert np.abs(np.array(LEVELS[n]) - lloyd_max(n)[n // 2 :]).max() < 1e-9


def test_the_errors_are_those_of_the_literature() -> None:
    errors = {n: normal_error(lloyd_max(n)) for n in (4, 8, 11, 16)}
    assert [round(errors[n], 4) for n in (4, 8, 16)] == [0.1175, 0.0345, 0.0095]
    assert errors[11] < 0.88 * (errors[8] + errors[16]) / 2  # both are 3.5 bits


@pytest.mark.parametrize("n", sorted(LEVELS))
def test_the_exact_density_at_384_dimensions_is_served_as_well(n: int) -> None:
    def error(levels: Wide) -> float:
        near = np.abs(grid[:, None] - levels).argmin(axis=1)
        return float((weight * (grid - levels[near]) ** 2).sum())

    grid = np.linspace(-6.5, 6.5, 40_001)
    weight = (1 - grid**2 / 384) ** ((384 - 3) / 2)
    weight /= weight.sum()
    best = ours = _table(n).astype(np.float64)
    for _ in range(60):  # Lloyd's steps from ours towards the optimum of this density
        near = np.abs(grid[:, None] - best).argmin(axis=1)
        best = np.bincount(near, weight * grid) / np.bincount(near, weight)
    assert error(best) <= error(ours) < 1.001 * error(best)


# ----------------------------------------------------------------------- rotation


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 9, 96, 384, 511])
def test_the_rotation_is_orthogonal_and_its_inverse_undoes_it(dim: int) -> None:
    turned = rotation(dim).forward(np.eye(dim, dtype=np.float32))
    assert np.abs(turned @ turned.T - np.eye(dim)).max() < 1e-5
    back = rotation(dim).backward(turned)
    assert np.abs(back - np.eye(dim)).max() < 1e-6


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (1, "2e13c921a818baf6"),
        (3, "91db424ce38ba63f"),
        (8, "643f9d33bd3c4fc9"),
        (384, "4d60ca9b416ed41b"),
        (769, "c10c091aa7856da3"),
    ],
)
def test_the_rotation_is_the_same_to_the_last_bit_for_ever(
    dim: int, expected: str
) -> None:
    columns = np.ascontiguousarray(whole_rows(40, dim).T)
    assert digest(rotation(dim).forward(columns)) == expected


@pytest.mark.parametrize("dim", [384, 768, 1023])
def test_a_vector_with_one_component_is_spread_like_any_other(dim: int) -> None:
    turned = rotation(dim).forward(np.eye(dim, dtype=np.float32)) * math.sqrt(dim)
    assert np.abs(turned).max() < 6.0
    assert abs((turned**4).mean() - 3.0 * dim / (dim + 2)) < 0.1  # as on the sphere
    thirds = (turned.reshape(3, -1, dim) ** 2).mean(axis=1)
    assert np.abs(thirds - 1.0).max() < 0.35


def test_another_seed_is_another_rotation() -> None:
    eye = np.eye(16, dtype=np.float32)
    other = Rotation(16, seed=b"another").forward(eye)
    assert np.abs(other - rotation(16).forward(eye)).max() > 0.1


@pytest.mark.parametrize("n", [1, 2, 3, 7, 384])
def test_sums_do_not_depend_on_what_stands_beside(n: int) -> None:
    columns = directions(50, n).T
    sums = column_sums(columns.copy())
    assert np.abs(sums - columns.astype(np.float64).sum(axis=0)).max() < 1e-5
    for i in (0, 31, 49):
        assert column_sums(columns[:, i : i + 1].copy())[0] == sums[i]


# -------------------------------------------------------------------------- bytes


@pytest.mark.parametrize(
    ("name", "eighths"),
    [("turboquant:2", 2), ("turboquant:3.5", 3.5), ("turboquant:4", 4)],
)
def test_a_row_takes_its_bits_and_four_bytes(name: str, eighths: float) -> None:
    made = codec(name)
    for dim in [*range(1, 70), 384, 768, 769, 1023, 1536]:
        assert made.row_bytes(dim) == math.ceil(eighths * dim / 8) + 4
    assert made.row_bytes(384) == {2: 100, 3.5: 172, 4: 196}[eighths]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("turboquant:2", "5dd9f20d88cd19fb"),
        ("turboquant:3.5", "5f158bc7784527d1"),
        ("turboquant:4", "2fca01da45ad3d3a"),
    ],
)
def test_the_codes_are_the_same_to_the_last_bit_for_ever(
    name: str, expected: str
) -> None:
    rows = whole_rows(300, 384)
    assert digest(codec(name).encode(rows)) == expected
    assert digest(codec(name).encode(rows.astype(np.float64) * 2.0**-70)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_scale_is_the_least_squares_one(name: str) -> None:
    rows = directions(200, 96)
    codes = codec(name).encode(rows)
    scales = codes[:, -4:].copy().view("<f4")[:, 0]
    levels = codec(name)._unpacked(codes[:, :-4], 96) / math.sqrt(96)  # type: ignore[attr-defined]
    held = rotation(96).backward(levels.astype(np.float32)).T
    for factor in (0.999, 1.001):
        fitted = held * (scales * math.sqrt(96))[:, None]
        better = ((rows - fitted) ** 2).sum(axis=1)
        worse = ((rows - factor * fitted) ** 2).sum(axis=1)
        assert (better < worse).all()


@settings(max_examples=many(60, 150), deadline=None, derandomize=True)
@given(
    st.sampled_from(NAMES),
    st.integers(1, 70).flatmap(
        lambda dim: st.lists(
            st.lists(st.integers(-1000, 1000), min_size=dim, max_size=dim).filter(any),
            min_size=1,
            max_size=6,
        )
    ),
    st.integers(-60, 60),
)
def test_any_rows_of_any_dimension(
    name: str, numbers: list[list[int]], power: int
) -> None:
    rows, made = np.array(numbers, np.float32), codec(name)
    dim = rows.shape[1]
    codes = made.encode(rows * np.float32(2.0**power))
    assert (codes == np.concatenate([made.encode(r[None]) for r in rows])).all()
    assert (codes == made.encode(rows.astype(np.float64))).all()
    back = made.decode(codes, dim)
    lengths = np.linalg.norm(rows, axis=1)
    cosines = (back * rows).sum(axis=1) / lengths
    assert np.abs(np.linalg.norm(back, axis=1) - 1).max() < 1e-5
    assert cosines.min() > 0.9 if name != "turboquant:2" else cosines.min() > 0.6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dim", [1, 2, 9, 384])
def test_blocks_of_rows_decode_to_what_each_row_decodes_to(name: str, dim: int) -> None:
    made, rows = codec(name), directions(301, dim)
    codes = made.encode(rows)
    alone = np.concatenate([made.decode(row[None], dim) for row in codes[::30]])
    assert (made.decode(codes, dim)[::30] == alone).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_vector_of_a_real_size_is_worn_down_by_moving(name: str) -> None:
    made, rows = codec(name), directions(400, 384)
    once = made.encode(rows)
    assert (made.encode(made.decode(once, 384))[:, :-4] == once[:, :-4]).all()


# ------------------------------------------------------------------------- damage


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [np.nan, np.inf, -np.inf, 0.0, -0.05, 0.5, 1e-9])
def test_an_impossible_scale_is_damage(name: str, scale: float) -> None:
    codes = codec(name).encode(directions(3, 384))
    codes[1, -4:] = np.frombuffer(np.float32(scale).tobytes(), np.uint8)
    with pytest.raises(DamagedStoreError, match=name):
        codec(name).decode(codes, 384)


@pytest.mark.parametrize(("dim", "number"), [(2, 121), (2, 127), (1, 11), (3, 15)])
def test_numbers_that_stand_for_no_levels_are_damage(dim: int, number: int) -> None:
    made = TurboQuant35Codec()
    codes = made.encode(directions(3, dim))
    if dim == 2:
        codes[1, 0] = number
    else:  # the last number stands alone, its bits in the last places of 4 planes
        width = (dim + 1) // 2
        bits = np.unpackbits(codes[1, :-4], bitorder="little")
        for plane in range(4):
            bits[plane * width + width - 1] = number >> plane & 1
        codes[1, :-4] = np.packbits(bits, bitorder="little")
    with pytest.raises(DamagedStoreError, match="unknown levels"):
        made.decode(codes, dim)


def test_the_worst_row_passes_the_check_of_its_own_scale() -> None:
    """One component in the rotated space: the lowest cosine that there is."""
    made = TurboQuant4Codec()
    worst = rotation(384).backward(np.eye(384, dtype=np.float32)).T
    cosines = (made.decode(made.encode(worst), 384) * worst).sum(axis=1)
    assert 1 / 384 < cosines.min() < 0.8
