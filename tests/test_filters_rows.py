"""Filters over stored rows: which labels there are, and what is no label."""

import json
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hmem.errors import InputError, InputTypeError
from hmem.filters.rows import LABELS, RowFilter, read_row_filter
from hmem.protocols import MemoryRow, TurnRow
from hmem.times import to_micros

UTC_ZONE = ZoneInfo("UTC")


def micros(text: str) -> int:
    return to_micros(datetime.fromisoformat(text).replace(tzinfo=UTC))


FACT = MemoryRow(
    seq=1,
    id="f1",
    text="Ana lives in Ghent",
    ends=(18,),
    agent_id=None,
    session_id="s1",
    category="semantic",
    importance=7,
    event_start=micros("2026-03-01"),
    event_end=None,
    event_precision="day",
    valid_from=micros("2026-03-05T10:00"),
    valid_to=None,
    recorded_at=micros("2026-03-06"),
    closed_recorded_at=None,
    superseded_by=None,
    source_ids=("t1", "t2"),
    quote=None,
    verified=True,
    hash=b"12345678",
    expires_at=None,
    forgotten_at=None,
    last_accessed=None,
    metadata={"role": "admin", "city": "Ghent", "a.b": 1, "a": {"c": {"d": 2}}},
    prompt_version=None,
)
TURN = TurnRow(
    seq=1,
    id="t1",
    text="I live in Ghent",
    ends=(15,),
    agent_id="a1",
    session_id="s1",
    role="user",
    name="Ana",
    observed_at=micros("2026-03-05T23:30"),
    recorded_at=micros("2026-03-06"),
    message_id="m1",
    job=1,
    metadata={"city": "Lyon", "metadata": 3},
)


def read(filters: Any, zone: ZoneInfo = UTC_ZONE) -> RowFilter:
    found = read_row_filter(filters, zone=zone)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        pytest.param({"kind": "memory"}, "F", id="kind"),
        pytest.param({"id": ["t1", "f9"]}, "T", id="id"),
        pytest.param({"agent_id": "a1"}, "T", id="agent"),
        pytest.param({"agent_id": None}, "F", id="no-agent"),
        pytest.param({"session_id": "s1"}, "FT", id="session"),
        pytest.param({"category": "semantic"}, "F", id="category"),
        pytest.param({"category": {"ne": "semantic"}}, "T", id="a-turn-has-none"),
        pytest.param({"importance": {"gte": 7}}, "F", id="importance"),
        pytest.param({"verified": True}, "F", id="verified"),
        pytest.param({"role": "user"}, "T", id="role"),
        pytest.param({"role": {"exists": False}}, "F", id="metadata-is-no-label"),
        pytest.param({"metadata.role": "admin"}, "F", id="metadata-by-its-path"),
        pytest.param({"metadata.metadata": 3}, "T", id="a-key-called-metadata"),
        pytest.param({"metadata.a.b": 1}, "F", id="a-dotted-key-by-its-path"),
        pytest.param({"a.b": 1}, "F", id="a-dotted-key"),
        pytest.param({"a.c.d": 2}, "F", id="an-inner-object"),
        pytest.param({"metadata.a.c.d": 2}, "F", id="an-inner-object-by-its-path"),
        pytest.param({"speaker": "Ana"}, "T", id="speaker"),
        pytest.param({"message_id": {"exists": True}}, "T", id="message"),
        pytest.param({"source_ids": {"contains": "t2"}}, "F", id="sources"),
        pytest.param({"city": ["Lyon", "Oslo"]}, "T", id="metadata"),
        pytest.param({"at": "2026-03-05"}, "FT", id="at-is-of-both"),
        pytest.param({"observed_at": {"gte": "2026"}}, "T", id="observed"),
        pytest.param({"valid_from": {"lt": "2026-03-05T11"}}, "F", id="since"),
        pytest.param({"recorded_at": date(2026, 3, 6)}, "FT", id="a-date"),
        pytest.param(
            {"recorded_at": {"lt": datetime(2026, 3, 6, tzinfo=UTC)}}, "", id="instant"
        ),
        pytest.param({"event_start": "2026-03"}, "F", id="a-month-is-its-days"),
        pytest.param(
            {"event_start": {"gte": "2026-03", "lte": "2026-03"}}, "F", id="event"
        ),
        pytest.param(
            {"at": {"eq": "2026-03", "gt": "2026-03-05T12"}}, "T", id="part-of-a-month"
        ),
        pytest.param({"event_end": None}, "FT", id="no-end"),
        pytest.param({"expires_at": {"exists": True}}, "", id="expires"),
        pytest.param({"NOT": {"kind": "turn"}}, "F", id="not"),
    ],
)
def test_a_label_is_what_the_row_says(filters: Any, kept: str) -> None:
    mask = read(filters).fits([FACT, TURN])
    assert "".join(name for name, fits in zip("FT", mask, strict=True) if fits) == kept


def test_times_are_read_in_the_callers_zone() -> None:
    late = {"at": {"gte": "2026-03-06"}}  # half past eleven in London is the sixth here
    assert read(late, ZoneInfo("Europe/Brussels")).fits([TURN]).tolist() == [True]
    assert read(late).fits([TURN]).tolist() == [False]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        *(("sesion_id", "session_id"), ("sessionId", "session_id")),
        *(("session", "session_id"), ("run_id", "session_id"), ("agent", "agent_id")),
        *(("agnet_id", "agent_id"), ("AGENT_ID", "agent_id"), ("categry", "category")),
        *(("Category", "category"), ("importence", "importance"), ("Role", "role")),
        *(("kinds", "kind"), ("name", "speaker"), ("verifed", "verified")),
        *(("recorded-at", "recorded_at"), ("observedAt", "observed_at")),
        ("user", "user_id="),
    ],
)
@pytest.mark.parametrize("op", ["eq", "ne", "exists"])
def test_what_is_almost_a_label_says_which_one_was_meant(
    key: str, meant: str, op: str
) -> None:
    value = True if op == "exists" else "x"
    for filters in ({key: {op: value}}, {"OR": [{"city": 1}, {"NOT": {key: value}}]}):
        with pytest.raises(InputError) as failed:
            read_row_filter(filters, zone=UTC_ZONE)
        assert meant in str(failed.value)
        assert f"metadata.{key}" in str(failed.value)
    assert read({f"metadata.{key}": 1}).lacking([FACT]) == (f"metadata.{key}",)


@pytest.mark.parametrize(
    "key",
    [
        *("city", "categories", "event", "roles", "ids", "kid", "rolle", "topic"),
        *("importance_score", "agent_name", "category_id", "a.role", "sesion_id.x"),
    ],
)
def test_a_name_of_ones_own_is_a_key_of_the_metadata(key: str) -> None:
    assert read({key: "x"}).filter.keys == {key}


@pytest.mark.parametrize(
    "key",
    [
        *("user_id", "valid_to", "superseded_by", "closed_recorded_at"),
        *("forgotten_at", "hash", "last_accessed", "incarnation"),
    ],
)
def test_a_column_that_is_no_label_is_refused(key: str) -> None:
    with pytest.raises(InputError, match="is no label"):
        read_row_filter({key: {"exists": True}}, zone=UTC_ZONE)


@pytest.mark.parametrize(
    ("filters", "error"),
    [
        pytest.param({"category": "semantics"}, InputError, id="category"),
        pytest.param({"category": {"ne": "semantics"}}, InputError, id="not-category"),
        pytest.param({"category": {"in": ["semantic", "x"]}}, InputError, id="one-of"),
        pytest.param({"kind": "fact"}, InputError, id="kind"),
        pytest.param({"kind": {"gt": "turn"}}, InputError, id="after-all-kinds"),
        pytest.param({"kind": None}, InputError, id="no-kind"),
        pytest.param({"importance": {"gt": 10}}, InputError, id="over-ten"),
        pytest.param({"importance": "7"}, InputTypeError, id="text-for-number"),
        pytest.param({"importance": {"contains": 7}}, InputError, id="no-list"),
        pytest.param({"verified": "yes"}, InputTypeError, id="text-for-bool"),
        pytest.param({"agent_id": 7}, InputTypeError, id="number-for-id"),
        pytest.param({"role": {"in": ["user", True]}}, InputTypeError, id="bool-in"),
        pytest.param({"at": {"gt": "yesterday"}}, InputTypeError, id="no-date"),
        pytest.param({"at": {"ne": 1767225600}}, InputTypeError, id="epoch"),
        pytest.param({"at": {"contains": "2026"}}, InputTypeError, id="time-contains"),
        pytest.param({"at": {"gt": "2027", "lt": "2026"}}, InputError, id="inverted"),
        pytest.param({"at": {"eq": "2026", "gt": "2026"}}, InputError, id="after-it"),
        pytest.param(
            {"at": {"eq": "2026-05", "lt": "2026-05"}}, InputError, id="before"
        ),
        pytest.param({"city": {"gt": 5, "lt": 3}}, InputError, id="impossible"),
        pytest.param({"kind": "memory", "role": "user"}, InputError, id="memory-role"),
        pytest.param(
            {"AND": [{"kind": {"ne": "memory"}}, {"importance": {"gte": 3}}]},
            InputError,
            id="turn-importance",
        ),
        pytest.param({"speaker": "Ana", "verified": True}, InputError, id="of-two"),
        pytest.param({"source_ids": 3}, InputTypeError, id="sources"),
        pytest.param({"city": {"is": 1}}, InputError, id="operator"),
        pytest.param([("city", 1)], InputTypeError, id="no-mapping"),
    ],
)
def test_what_no_row_can_fit_is_refused(filters: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as failed:
        read_row_filter(filters, zone=UTC_ZONE)
    assert "filters" in str(failed.value)


@pytest.mark.parametrize(
    "filters",
    [
        {"kind": "memory", "role": None},
        {"kind": "memory", "role": {"ne": "user"}},
        {"kind": "turn", "category": {"exists": False}},
        {"OR": [{"role": "user"}, {"category": "semantic"}]},
        {"kind": "memory", "NOT": {"role": "user"}},
        {"kind": "memory", "metadata.role": "user"},
        {"kind": ["memory", "turn"], "role": "user"},
    ],
    ids=json.dumps,
)
def test_labels_of_one_kind_may_be_asked_of_the_other_where_a_row_may_fit(
    filters: Any,
) -> None:
    assert read_row_filter(filters, zone=UTC_ZONE) is not None


def test_a_filter_that_leaves_nothing_out_is_none() -> None:
    assert read_row_filter(None, zone=UTC_ZONE) is None
    assert read_row_filter({}, zone=UTC_ZONE) is None


def test_equal_filters_are_one_filter() -> None:
    one = read({"city": ["a", "b"], "at": {"gte": "2026"}})
    assert one == read({"city": ["a", "b"], "at": {"gte": "2026"}})
    assert hash(one) == hash(read({"city": ["a", "b"], "at": {"gte": "2026"}}))
    assert one != read({"city": ["a", "c"], "at": {"gte": "2026"}})
    assert read({"city": {"in": {"a", "b"}}}) == read({"city": {"in": {"b", "a"}}})


def test_keys_that_no_row_has_are_told_and_labels_never() -> None:
    asked = read({"city": 1, "cty": 2, "a.c.d": 3, "metadata.x": 4, "expires_at": None})
    assert asked.lacking([FACT, TURN]) == ("cty", "metadata.x")
    assert asked.lacking([TURN]) == ("a.c.d", "cty", "metadata.x")
    every = [{label: {"exists": True}} for label in (*sorted(LABELS), "metadata")]
    assert read({"OR": every}).lacking([]) == ()
