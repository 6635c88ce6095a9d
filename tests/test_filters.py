"""Filters over labels and metadata."""

import json
import random
import time
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from hmem.errors import InputError, InputTypeError
from hmem.filters import (
    MAX_DEPTH,
    MAX_PARTS,
    MAX_VALUES,
    OPERATORS,
    Filter,
    read_filter,
    unknown_keys,
)

ROWS: tuple[Mapping[str, Any], ...] = (
    {"city": "Ghent", "age": 30, "tags": ["work", "sea"], "done": True},
    {"city": "Lyon", "age": 41.5, "tags": [], "done": False, "due": "2026-05-08"},
    {"city": None, "age": "30", "due": "2026-05-08T23:30:00+02:00"},
    {"address": {"city": "Ghent", "no": 7}, "a.b": 1, "age": [20, 50]},
    {},
)


def kept(value: object, rows: tuple[Mapping[str, Any], ...] = ROWS) -> list[int]:
    mask = read_filter(value).mask(rows)
    assert mask.dtype == np.bool_
    assert mask.shape == (len(rows),)
    assert mask.tolist() == [read_filter(value).matches(row) for row in rows]
    return np.flatnonzero(mask).tolist()


@pytest.mark.parametrize(
    ("value", "positions"),
    [
        pytest.param(None, [0, 1, 2, 3, 4], id="nothing asked"),
        pytest.param({}, [0, 1, 2, 3, 4], id="empty"),
        pytest.param({"city": "Ghent"}, [0], id="a bare value is eq"),
        pytest.param({"city": {"eq": "Ghent"}}, [0], id="eq"),
        pytest.param({"city": "ghent"}, [], id="case counts"),
        pytest.param(
            {"city": {"ne": "Ghent"}}, [1, 2, 3, 4], id="ne holds without key"
        ),
        pytest.param({"city": ["Ghent", "Lyon"]}, [0, 1], id="a bare list is in"),
        pytest.param({"city": {"in": ["Ghent", "Lyon"]}}, [0, 1], id="in"),
        pytest.param({"city": {"nin": ["Ghent", "Oslo"]}}, [1, 2, 3, 4], id="nin"),
        pytest.param({"city": None}, [2, 3, 4], id="null is missing"),
        pytest.param({"city": {"ne": None}}, [0, 1], id="not null"),
        pytest.param(
            {"city": {"in": [None, "Lyon"]}}, [1, 2, 3, 4], id="null in a list"
        ),
        pytest.param({"city": {"exists": True}}, [0, 1], id="exists"),
        pytest.param({"city": {"exists": False}}, [2, 3, 4], id="does not exist"),
        pytest.param({"age": {"gte": 30, "lt": 41.5}}, [0], id="a half-open range"),
        pytest.param({"age": {"gt": 30}}, [1, 3], id="gt, also in a list"),
        pytest.param({"age": {"lte": 30}}, [0, 3], id="a text is no number"),
        pytest.param(
            {"age": {"gt": 20, "lt": 50}}, [0, 1], id="one element fits it all"
        ),
        pytest.param({"age": 30}, [0], id="30 is not '30'"),
        pytest.param({"age": 30.0}, [0], id="30 is 30.0"),
        pytest.param({"done": 1}, [], id="True is no 1"),
        pytest.param({"done": True}, [0], id="True is True"),
        pytest.param({"done": {"gt": 0}}, [], id="True is in no order"),
        pytest.param({"tags": "work"}, [0], id="an element of a list"),
        pytest.param({"tags": {"ne": "work"}}, [1, 2, 3, 4], id="no element of a list"),
        pytest.param({"tags": {"contains": "work"}}, [0], id="contains an element"),
        pytest.param({"tags": {"contains": "wor"}}, [], id="not a part of an element"),
        pytest.param({"city": {"contains": "hen"}}, [0], id="contains a part"),
        pytest.param({"city": {"icontains": "LY"}}, [1], id="whatever the case"),
        pytest.param({"tags": {"icontains": "WORK"}}, [0], id="elements likewise"),
        pytest.param({"age": {"contains": 20}}, [3], id="contains a number"),
        pytest.param({"city": {"gt": "Ghent"}}, [1], id="texts have an order"),
        pytest.param({"address.city": "Ghent"}, [3], id="a path"),
        pytest.param({"address.no": {"lt": 8}}, [3], id="a number at a path"),
        pytest.param({"address.no.x": 7}, [], id="a path that leads nowhere"),
        pytest.param({"a.b": 1}, [3], id="a key with a dot"),
        pytest.param({"address": {"exists": True}}, [3], id="an object exists"),
        pytest.param({"city": "Ghent", "age": 41.5}, [], id="keys beside each other"),
        pytest.param({"AND": [{"city": "Ghent"}, {"age": 30}]}, [0], id="AND"),
        pytest.param({"OR": [{"city": "Ghent"}, {"age": 41.5}]}, [0, 1], id="OR"),
        pytest.param({"NOT": {"city": "Ghent"}}, [1, 2, 3, 4], id="NOT"),
        pytest.param(
            {"NOT": [{"city": "Ghent"}, {"age": 41.5}]}, [2, 3, 4], id="NOT a list"
        ),
        pytest.param({"NOT": {"age": {"gt": 30}}}, [0, 2, 4], id="NOT turns around"),
        pytest.param(
            {
                "OR": [{"city": "Lyon"}, {"NOT": {"age": {"exists": True}}}],
                "done": False,
            },
            [1],
            id="all together",
        ),
        pytest.param({"due": {"lte": "2026-05-08"}}, [1, 2], id="any time of the day"),
        pytest.param({"due": {"lt": "2026-05-08"}}, [], id="before the day"),
        pytest.param({"due": {"gt": "2026-05-08"}}, [], id="after the day"),
        pytest.param({"due": {"gte": "2026-05"}}, [1, 2], id="from the month on"),
        pytest.param({"due": {"lt": "2026-05-08T21:31Z"}}, [1, 2], id="by the minute"),
        pytest.param({"due": "2026-05-08T21:30:00Z"}, [2], id="the same instant"),
        pytest.param({"due": {"gt": "2026-05-08T21:29:59Z"}}, [2], id="by the second"),
        pytest.param({"due": date(2026, 5, 8)}, [1], id="a date of Python's"),
        pytest.param(
            {"due": datetime(2026, 5, 8, 21, 30, tzinfo=UTC)}, [2], id="a datetime"
        ),
        pytest.param({"due": {"gt": "2026-05-07"}}, [1, 2], id="after the day before"),
        pytest.param({"due": {"lt": date(2027, 1, 1)}}, [1, 2], id="before a date"),
        pytest.param({"city": {"gt": date(2020, 1, 1)}}, [], id="no date: no order"),
        pytest.param({"due": {"gt": "soon"}}, [], id="no date: compared as text"),
    ],
)
def test_a_filter_keeps_what_it_says(value: object, positions: list[int]) -> None:
    assert kept(value) == positions


def test_dates_without_an_offset_are_read_in_the_zone() -> None:
    row = {"due": "2026-05-07T23:30:00Z"}  # half past one on the 8th in Brussels
    brussels = ZoneInfo("Europe/Brussels")
    assert not read_filter({"due": {"gte": "2026-05-08"}}).matches(row)
    assert read_filter({"due": {"gte": "2026-05-08"}}, zone=brussels).matches(row)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        pytest.param("city", InputTypeError, "mapping", id="no mapping"),
        pytest.param([("city", 1)], InputTypeError, "mapping", id="a list"),
        pytest.param({1: "x"}, InputTypeError, "key", id="a key that is no str"),
        pytest.param({"": 1}, InputError, "key", id="an empty key"),
        pytest.param({"k" * 600: 1}, InputError, "key", id="a long key"),
        pytest.param(
            {"age": {"gte": 1, "less": 3}}, InputError, "'age'", id="operator"
        ),
        pytest.param({"age": {"gtr": 1}}, InputError, "did you mean gt", id="near"),
        pytest.param({"age": {"$gt": 1}}, InputError, "did you mean gt", id="a $"),
        pytest.param({"$and": [{"a": 1}]}, InputError, "write AND", id="$and"),
        pytest.param({"or": [{"a": 1}]}, InputError, "write OR", id="or"),
        pytest.param({"age": {}}, InputError, "no operator", id="no operator"),
        pytest.param({"a": {"city": "x"}}, InputError, "'a.b'", id="an object"),
        pytest.param({"city": "*"}, InputError, "exists", id="no wildcard"),
        pytest.param({"AND": {"a": 1}}, InputTypeError, "AND", id="AND of no list"),
        pytest.param({"OR": []}, InputError, "OR", id="OR of nothing"),
        pytest.param({"OR": [{}]}, InputError, "empty", id="an empty part"),
        pytest.param({"NOT": {}}, InputError, "empty", id="NOT of nothing"),
        pytest.param({"OR": [3]}, InputTypeError, "mapping", id="OR of a number"),
        pytest.param({"a": {"in": "abc"}}, InputTypeError, "list", id="in a text"),
        pytest.param({"a": {"in": []}}, InputError, "values", id="in nothing"),
        pytest.param({"a": []}, InputError, "values", id="a bare empty list"),
        pytest.param({"a": {"in": [1] * 1001}}, InputError, "values", id="too many"),
        pytest.param(
            {"a": {"in": [[1]]}}, InputTypeError, "list", id="lists in a list"
        ),
        pytest.param({"a": {"gt": True}}, InputTypeError, "bool", id="gt a bool"),
        pytest.param({"a": {"gt": None}}, InputTypeError, "null", id="gt null"),
        pytest.param({"a": {"eq": b"x"}}, InputTypeError, "bytes", id="bytes"),
        pytest.param({"a": object()}, InputTypeError, "object", id="an object of ours"),
        pytest.param({"a": float("nan")}, InputTypeError, "NaN", id="NaN"),
        pytest.param({"a": float("inf")}, InputTypeError, "infinity", id="Inf"),
        pytest.param({"a": {"exists": "yes"}}, InputTypeError, "bool", id="exists yes"),
        pytest.param({"a": {"contains": None}}, InputTypeError, "null", id="contains"),
        pytest.param({"a": {"icontains": 3}}, InputTypeError, "text", id="icontains"),
        pytest.param({"a": "x" * 20_000}, InputError, "characters", id="a long text"),
        pytest.param({"a": {"gt": 5, "lt": 5}}, InputError, "no row", id="no number"),
        pytest.param(
            {"a": {"gt": 5, "lte": 5}}, InputError, "no row", id="an empty one"
        ),
        pytest.param({"a": {"gte": 6, "lt": 5}}, InputError, "no row", id="crossed"),
        pytest.param({"a": {"gt": 5, "lt": "z"}}, InputError, "no row", id="two types"),
        pytest.param(
            {"a": {"gt": "2026-05-08", "lte": "2026-05-08T10:00"}},
            InputError,
            "no row",
            id="after a day and in it",
        ),
        pytest.param(
            {"a": {"gte": "2026-05-09", "lt": "2026-05-09"}},
            *(InputError, "no row"),
            id="from a day on and before it",
        ),
        pytest.param({"a": {"eq": 5, "gt": 7}}, InputError, "no row", id="eq beyond"),
        pytest.param({"a": {"eq": 5, "ne": 5}}, InputError, "no row", id="eq and ne"),
        pytest.param(
            {"a": {"in": [1, 2], "nin": [2, 1]}}, InputError, "no row", id="nin"
        ),
        pytest.param(
            {"a": {"exists": False, "gt": 1}}, InputError, "no row", id="none"
        ),
        pytest.param(
            {"a": {"exists": True, "eq": None}}, InputError, "no row", id="null"
        ),
    ],
)
def test_a_filter_that_cannot_be_is_an_error(
    value: object, error: type[InputError], words: str
) -> None:
    with pytest.raises(error) as raised:
        read_filter(value)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "value",
    [
        {"a": {"gte": 5, "lte": 5}},
        {"a": {"gt": 5, "lt": 6}},
        {"a": {"gte": "2026-05-08", "lte": "2026-05-08"}},
        {"a": {"in": [1, 2], "nin": [2]}},
        {"a": {"in": [1, 9], "gt": 5}},
        {"a": {"eq": "x", "contains": "y"}},
        {"a": {"exists": True, "ne": 3}},
    ],
)
def test_a_filter_that_some_row_may_fit_is_none(value: object) -> None:
    assert read_filter(value)


def test_an_error_shows_no_text_of_the_user() -> None:
    for value in (
        {"my secret diary!": {"gt": None}},
        {"a": {"my secret diary": 1}},
        {"a": {"gt": "my secret diary", "lt": "a"}},
    ):
        with pytest.raises(InputError) as raised:
            read_filter(value)
        assert "secret" not in str(raised.value)


def test_the_limits_are_where_they_are_said_to_be() -> None:
    def nested(depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {"a": 1}
        for _ in range(depth):
            value = {"NOT": value}
        return value

    assert read_filter(nested(MAX_DEPTH)).keys == {"a"}
    with pytest.raises(InputError, match="deeper"):
        read_filter(nested(MAX_DEPTH + 1))
    read_filter({f"k{i}": i for i in range(MAX_PARTS // 2)})
    with pytest.raises(InputError, match="parts"):
        read_filter({f"k{i}": i for i in range(MAX_PARTS)})
    read_filter({"a": list(range(MAX_VALUES))})
    endless: dict[str, Any] = {}
    endless["AND"] = [endless, endless]
    with pytest.raises(InputError):
        read_filter(endless)


def test_filters_are_values() -> None:
    one = read_filter({"a": {"gte": 1}, "OR": [{"b": 2}, {"c": "x"}]})
    same = read_filter({"a": {"gte": 1}, "OR": [{"b": 2}, {"c": "x"}]})
    assert one == same
    assert hash(one) == hash(same)
    assert read_filter(one) is one
    assert one.keys == {"a", "b", "c"}
    assert one
    assert not read_filter(None)
    assert not read_filter({})
    with pytest.raises(AttributeError):
        one.root = same.root  # type: ignore[misc]


def test_keys_that_no_row_has_are_told() -> None:
    keep = read_filter(
        {"categry": "semantic", "NOT": {"address.zip": 9000}, "city": "x"}
    )
    assert unknown_keys(keep, ROWS) == ("address.zip", "categry")
    assert unknown_keys(keep, ROWS, known={"categry"}) == ("address.zip",)
    assert unknown_keys(read_filter({"address.city": "x"}), ROWS) == ()
    assert unknown_keys(read_filter({"due": None}), []) == ("due",)
    assert unknown_keys(read_filter(None), ROWS) == ()


# ------------------------------------------------ against one written the other way


def reference(value: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """The rules again, by cases, for texts and numbers."""
    results = []
    for key, inner in value.items():
        if key == "AND":
            results.append(all(reference(v, row) for v in inner))
        elif key == "OR":
            results.append(any(reference(v, row) for v in inner))
        elif key == "NOT":
            results.append(not reference(inner, row))
        else:
            results += [_one(op, v, row.get(key)) for op, v in inner.items()]
    return all(results)


def _same(a: object, b: object) -> bool:
    return json.dumps(a) == json.dumps(b)


def _one(op: str, v: Any, x: Any) -> bool:
    if op == "exists":
        return (x is not None) is v
    if op in ("ne", "nin"):
        return not _one({"ne": "eq", "nin": "in"}[op], v, x)
    if op == "in":
        return any(_same(x, y) for y in v)
    if op == "eq":
        return _same(x, v)
    if op == "contains":
        return isinstance(x, str) and v in x
    if isinstance(x, bool) or x is None or isinstance(x, str) != isinstance(v, str):
        return False
    return {"gt": x > v, "gte": x >= v, "lt": x < v, "lte": x <= v}[op]


SCALARS: tuple[Any, ...] = (None, True, False, 0, 1, 2, 3, "a", "b", "ab", "1")


def some_filter(rng: random.Random, depth: int) -> dict[str, Any]:
    if depth and rng.random() < 0.5:
        kind = rng.choice(("AND", "OR", "NOT"))
        if kind == "NOT":
            return {"NOT": some_filter(rng, depth - 1)}
        return {kind: [some_filter(rng, depth - 1) for _ in range(rng.randint(1, 3))]}
    op = rng.choice([op for op in OPERATORS if op != "icontains"])
    value: Any = rng.choice(SCALARS)
    if op in ("in", "nin"):
        value = rng.sample(SCALARS, rng.randint(1, 3))
    elif op == "exists":
        value = rng.random() < 0.5
    elif op == "contains":
        value = rng.choice(("a", "b"))
    elif op not in ("eq", "ne"):
        value = rng.choice((0, 1, 2, "a", "ab"))
    return {rng.choice("xyz"): {op: value}}


def test_any_filter_agrees_with_the_rules_written_by_cases() -> None:
    rng = random.Random(11)
    rows = [
        {k: rng.choice(SCALARS) for k in "xyz" if rng.random() < 0.8} for _ in range(40)
    ]
    for _ in range(500):
        value = some_filter(rng, 3)
        keep = read_filter(value)
        assert keep.mask(rows).tolist() == [reference(value, row) for row in rows], (
            value
        )


def test_a_filter_over_many_rows_is_quick() -> None:
    rows = [{"city": "Ghent", "age": i, "due": "2026-05-08"} for i in range(5_000)]
    keep = read_filter(
        {"age": {"gte": 10}, "OR": [{"city": "Lyon"}, {"due": {"lt": "2027"}}]}
    )
    begun = time.thread_time()
    assert int(keep.mask(rows).sum()) == 4_990
    assert time.thread_time() - begun < 2.0


def test_what_a_row_holds_never_raises() -> None:
    odd: tuple[Any, ...] = (
        *({"a": {"b": []}}, [[1]], (1, "x"), {"s"}, 10**400, -0.0, "9999-12-31"),
        *(
            "2023-02-30",
            "0000",
            "\ud800",
            "2026-05-08T25:00",
            b"x",
            object(),
            float("nan"),
        ),
    )
    rows = [{"a": value} for value in odd]
    for op in OPERATORS:
        for value in (1, "a", True, "2026-05-08", 1e308):
            given: Any = [value] if op in ("in", "nin") else value
            try:
                keep = read_filter({"a": {op: given}})
            except InputTypeError:
                continue
            assert keep.mask(rows).shape == (len(rows),)
    assert isinstance(read_filter({"a": 1}), Filter)
