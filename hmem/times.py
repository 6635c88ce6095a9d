"""Times: datetimes at the face, whole microseconds (micros) inside."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


def utc_now() -> datetime:
    """The default clock."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Aware datetime -> micros. Exact."""
    return (moment - EPOCH) // _MICRO


def from_micros(micros: int) -> datetime:
    """Micros -> UTC datetime. Exact."""
    return EPOCH + timedelta(microseconds=micros)
