"""Chunks: what goes in comes out, damage is seen, and pages are filled."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmem.errors import DamagedStoreError
from hmem.stores.chunks import (
    LEXICAL,
    MAX_ROWS,
    MIN_ROWS,
    VECTOR,
    Row,
    extend,
    read,
    without,
)

rows = st.lists(
    st.builds(
        Row,
        st.integers(1, 2**24 - 1),
        st.one_of(st.integers(0, 4), st.integers(0, 200_000)),
        st.integers(0, 40).map(lambda n: bytes(range(4)) * n),
    ),
    min_size=1,
    max_size=150,
).map(lambda found: sorted(found, key=lambda row: row.seq))


def stored(given_rows: list[Row], layout: int, batch: int) -> list[bytes]:
    """The chunks after the rows came in batches."""
    chunks: list[bytes] = []
    for start in range(0, len(given_rows), batch):
        tail = chunks[-1] if chunks else None
        part = given_rows[start : start + batch]
        label = "" if layout == LEXICAL else "int8"
        for continued, _, blob in extend(tail, part, layout, 3, label):
            if continued:
                chunks[-1] = blob
            else:
                chunks.append(blob)
    return chunks


@settings(max_examples=60, deadline=None)
@given(rows, st.integers(1, 40))
def test_rows_come_out_as_they_went_in(given_rows: list[Row], batch: int) -> None:
    found = []
    for blob in stored(given_rows, LEXICAL, batch):
        columns = read(blob, LEXICAL)
        assert len(columns.keys) <= MAX_ROWS
        at = 0
        for (seq, passage), n in zip(
            columns.keys.tolist(), columns.lengths.tolist(), strict=True
        ):
            found.append(Row(seq, passage, columns.body[at : at + 4 * n]))
            at += 4 * n
        assert at == len(columns.body)
    assert found == given_rows


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.integers(1, 40), st.sampled_from([4, 192, 388, 1536]))
def test_codes_come_out_as_they_went_in(n: int, batch: int, width: int) -> None:
    rng = np.random.default_rng(n)
    given_rows = [Row(i + 1, i % 3, rng.bytes(width)) for i in range(n)]
    found = []
    for blob in stored(given_rows, VECTOR, batch):
        columns = read(blob, VECTOR)
        assert (columns.extra, columns.label) == (3, "int8")
        codes = np.frombuffer(columns.body, np.uint8).reshape(-1, width)
        found += [
            Row(seq, passage, code.tobytes())
            for (seq, passage), code in zip(columns.keys.tolist(), codes, strict=True)
        ]
    assert found == given_rows


def taken_out(blob: bytes, layout: int, width: int) -> list[Row]:
    """What a chunk holds. `width`: of a code."""
    columns, at, found = read(blob, layout), 0, []
    sizes = (columns.lengths * 4).tolist() or [width] * len(columns.keys)
    for (seq, passage), size in zip(columns.keys.tolist(), sizes, strict=True):
        found.append(Row(seq, passage, columns.body[at : at + size]))
        at += size
    assert at == len(columns.body)
    return found


@settings(max_examples=60, deadline=None)
@given(rows, st.integers(1, 40), st.sampled_from([LEXICAL, VECTOR]), st.data())
def test_a_row_can_be_taken_out_and_the_rest_goes_on(
    given_rows: list[Row], batch: int, layout: int, data: st.DataObject
) -> None:
    if layout == VECTOR:
        given_rows = [
            row._replace(data=bytes([n]) * 8) for n, row in enumerate(given_rows)
        ]
    for _ in range(3):
        seq = data.draw(st.sampled_from([row.seq for row in given_rows] + [7]))
        left, lost = [], 0
        for blob in stored(given_rows, layout, batch):
            kept, gone = without(blob, layout, seq)
            lost += gone
            left += [] if kept is None else taken_out(kept, layout, 8)
        assert left == [row for row in given_rows if row.seq != seq]
        assert lost == len(given_rows) - len(left)
        given_rows = left
        if not left:
            return
    tail = Row(left[-1].seq, 9, b"\x07" * 8)
    blob, _ = without(stored(left, layout, 64)[-1], layout, left[0].seq)
    label = "" if layout == LEXICAL else "int8"
    ((_, _, grown),) = extend(blob, [tail], layout, 3, label)
    assert taken_out(grown, layout, 8)[-1] == tail


def test_another_space_or_codec_starts_another_chunk() -> None:
    ((_, _, first),) = extend(None, [Row(1, 0, b"a" * 8)], VECTOR, 1, "int8")
    for space, codec in ((2, "int8"), (1, "float32")):
        ((continued, added, _),) = extend(
            first, [Row(2, 0, b"b" * 8)], VECTOR, space, codec
        )
        assert (continued, added) == (False, 1)
    ((continued, added, _),) = extend(first, [Row(2, 0, b"b" * 8)], VECTOR, 1, "int8")
    assert (continued, added) == (True, 1)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_changed_byte_is_seen(data: st.DataObject) -> None:
    given_rows = [Row(n, 0, bytes([n]) * 12) for n in range(1, 20)]
    (blob,) = stored(given_rows, LEXICAL, 50)
    at = data.draw(st.integers(0, len(blob) - 1))
    bit = data.draw(st.integers(0, 7))
    broken = blob[:at] + bytes([blob[at] ^ 1 << bit]) + blob[at + 1 :]
    for bad in (broken, blob[:at], blob + b"x"):
        with pytest.raises(DamagedStoreError):
            read(bad, LEXICAL)


@pytest.mark.parametrize(
    ("layout", "sizes", "waste"),
    [
        pytest.param(VECTOR, [388], 1, id="int8, d=384"),
        pytest.param(VECTOR, [200], 4, id="4 bits, d=384"),
        pytest.param(VECTOR, [1536], 30, id="float32, d=384"),
        pytest.param(LEXICAL, [40, 60, 80], 2, id="short facts"),
        pytest.param(LEXICAL, [20], 1, id="very short facts"),
        pytest.param(LEXICAL, [400, 700, 560], 36, id="long turns"),
    ],
)
def test_a_full_chunk_wastes_few_bytes_of_its_pages(
    layout: int, sizes: list[int], waste: int
) -> None:
    given_rows = [Row(n + 1, 0, bytes(sizes[n % len(sizes)])) for n in range(400)]
    for blob in stored(given_rows, layout, 7)[:-1]:
        count = len(read(blob, layout).keys)
        assert MIN_ROWS <= count <= MAX_ROWS
        assert unused(len(blob) + 10) / count <= waste


def unused(row: int) -> int:
    """Bytes that a row leaves empty in the pages that nothing else may use: up to 4061
    bytes it lies in one page, else 489 stay local and the rest fills pages of 4092."""
    if row <= 4061:
        return 4061 - row if row > 3000 else 0
    return -(row - 489) % 4092
