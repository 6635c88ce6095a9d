from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from hmem.errors import BadTimeError, InputError, InputTypeError
from hmem.times import from_micros, interval, moment, span, to_micros

PARIS = ZoneInfo("Europe/Paris")
HAVANA = ZoneInfo("America/Havana")  # its clocks change at midnight
MICRO = timedelta(microseconds=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def start(value: object, zone: ZoneInfo = PARIS) -> datetime:
    return moment(value, zone, end_of_day=False)


def end(value: object, zone: ZoneInfo = PARIS) -> datetime:
    return moment(value, zone, end_of_day=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("2026-05-08T14:30:00+02:00", "2026-05-08T12:30", id="offset"),
        pytest.param("2026-05-08T12:30:00Z", "2026-05-08T12:30", id="zulu"),
        pytest.param("2026-05-08t12:30z", "2026-05-08T12:30", id="lower-case"),
        pytest.param("2026-05-08 14:30", "2026-05-08T12:30", id="naive-in-the-zone"),
        pytest.param("2026-05-08T14", "2026-05-08T12:00", id="hour-alone"),
        pytest.param("  2026-05-08T14:30  ", "2026-05-08T12:30", id="blanks-around"),
        pytest.param(
            "2026-05-08T14:30:00.25", "2026-05-08T12:30:00.250", id="fraction"
        ),
    ],
)
def test_a_timestamp_is_an_instant_whichever_end_is_asked_for(
    value: str, expected: str
) -> None:
    assert start(value) == end(value) == at(expected)


def test_datetimes_aware_and_naive_become_plain_utc() -> None:
    class Stamp(datetime):
        pass

    aware = Stamp(2026, 5, 8, 14, 30, tzinfo=timezone(timedelta(hours=2)))
    read = start(aware)
    assert read == at("2026-05-08T12:30")
    assert type(read) is datetime
    assert read.tzinfo is UTC
    assert start(datetime(2026, 5, 8, 14, 30)) == read  # noqa: DTZ001


@pytest.mark.parametrize(
    ("value", "first", "after"),
    [
        pytest.param("2026-05-08", "2026-05-07T22:00", "2026-05-08T22:00", id="day"),
        pytest.param(
            date(2026, 5, 8), "2026-05-07T22:00", "2026-05-08T22:00", id="date"
        ),
        pytest.param(
            "2024-02", "2024-01-31T23:00", "2024-02-29T23:00", id="leap-month"
        ),
        pytest.param("2026-12", "2026-11-30T23:00", "2026-12-31T23:00", id="december"),
        pytest.param("2026", "2025-12-31T23:00", "2026-12-31T23:00", id="year"),
        pytest.param(
            "2026-03-29", "2026-03-28T23:00", "2026-03-29T22:00", id="23-hours"
        ),
        pytest.param(
            "2026-10-25", "2026-10-24T22:00", "2026-10-25T23:00", id="25-hours"
        ),
    ],
)
def test_a_date_means_its_first_or_its_last_microsecond(
    value: object, first: str, after: str
) -> None:
    assert start(value) == at(first)
    assert end(value) == at(after) - MICRO
    assert interval(value, PARIS) == (at(first), at(after))


def test_a_day_whose_midnight_the_clocks_skip_starts_when_it_starts() -> None:
    # 2026-03-08 has no 00:00 in Havana: 23:59:59 -05 is followed by 01:00:00 -04.
    assert start("2026-03-08", HAVANA) == at("2026-03-08T05:00")
    assert end("2026-03-07", HAVANA) == at("2026-03-08T05:00") - MICRO


def test_times_in_a_gap_and_in_a_fold_are_defined() -> None:
    assert start("2026-03-29T02:30") == at("2026-03-29T01:30")  # read as 03:30 summer
    assert start("2026-10-25T02:30") == at("2026-10-25T00:30")  # the first of the two
    second = datetime(2026, 10, 25, 2, 30, fold=1)  # noqa: DTZ001
    assert start(second) == at("2026-10-25T01:30")


def test_the_ends_of_the_calendar_do_not_overflow() -> None:
    utc = ZoneInfo("UTC")
    assert start("0001-01-01", utc) == datetime.min.replace(tzinfo=UTC)
    assert (
        end("9999", utc) == end("9999-12-31", utc) == datetime.max.replace(tzinfo=UTC)
    )
    assert from_micros(to_micros(end("9999", utc))) == end("9999", utc)
    with pytest.raises(BadTimeError):
        start("0001-01-01")  # Paris was ahead of UTC
    with pytest.raises(BadTimeError):
        start(datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))))


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "   ",
            "yesterday",
            "10:30",
            "2026-13",
            "2026-02-30",
            "2026-5-8",
            "202605",
        ),
        *("20260508", "2026-W19-5", "2026-05-08T25:00", "2026-05-08T10:00:60", "0000"),
        *("2026-05-08T", "2026-05-08T10:00+99:00", "1778243400", "nan", "\u0662\u0660"),
        "2026-05-08T10:00Zjunk",
    ],
)
def test_what_is_no_iso_time_is_refused_without_being_quoted(value: str) -> None:
    with pytest.raises(BadTimeError, match=r"^observed_at cannot be read") as e:
        moment(value, PARIS, end_of_day=False, name="observed_at")
    assert not value.strip() or value == "2026-05-08T" or value not in str(e.value)
    assert isinstance(e.value, InputError)


@pytest.mark.parametrize(
    "value", [0, 1778243400, 1.5, float("nan"), True, None, b"2026", []]
)
def test_numbers_and_other_types_are_refused_by_type(value: object) -> None:
    with pytest.raises(InputTypeError):
        start(value)


def test_a_zone_that_fails_is_refused() -> None:
    class Broken(tzinfo):
        def utcoffset(self, dt: datetime | None) -> timedelta:
            raise RuntimeError("secret")

    with pytest.raises(BadTimeError):
        moment(datetime(2026, 1, 1, tzinfo=Broken()), PARIS, end_of_day=False)


def test_not_a_time_is_refused() -> None:
    class NaT(datetime):
        def __ne__(self, other: object) -> bool:
            return True

    with pytest.raises(BadTimeError):
        start(NaT(2026, 1, 1))


@pytest.mark.parametrize(
    ("value", "first", "after"),
    [
        pytest.param(
            ("2026-01", "2026-03"), "2025-12-31T23:00", "2026-03-31T22:00", id="m"
        ),
        pytest.param(
            ("2026-01-01T10:00Z", "2026-01-01T11:00Z"),
            *("2026-01-01T10:00", "2026-01-01T11:00"),
            id="instants",
        ),
        pytest.param(
            ["2026", date(2026, 1, 1)], "2025-12-31T23:00", "2026-01-01T23:00", id="l"
        ),
    ],
)
def test_a_pair_runs_from_its_start_to_the_end_of_its_end(
    value: object, first: str, after: str
) -> None:
    assert interval(value, PARIS) == (at(first), at(after))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("2026-05-08T10:00", id="one-instant"),
        pytest.param(("2026-03", "2026-01"), id="inverted"),
        pytest.param(("2026-01-01T10:00", "2026-01-01T10:00"), id="empty"),
        pytest.param(("2026",), id="one"),
        pytest.param(("2026", "2026", "2026"), id="three"),
        pytest.param((), id="none"),
        pytest.param(("2026", "soon"), id="unreadable"),
    ],
)
def test_an_interval_that_holds_no_time_is_refused(value: object) -> None:
    with pytest.raises(BadTimeError):
        interval(value, PARIS)


def test_the_wrong_type_in_a_pair_is_refused_by_type() -> None:
    with pytest.raises(InputTypeError):
        interval(("2026", None), PARIS)


def test_a_span_says_how_exact_it_is() -> None:
    read = [span(v, PARIS, name="x") for v in ("2026", "2026-05", "2026-05-08")]
    assert [getattr(r, "precision", None) for r in read] == ["year", "month", "day"]
    assert isinstance(span("2026-05-08T10:00", PARIS, name="x"), datetime)
