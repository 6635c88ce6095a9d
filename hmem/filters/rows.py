"""Filters over stored rows: their labels under stated names, and their metadata.

    both       id kind ("memory", "turn") agent_id session_id at recorded_at
    memories   category importance verified valid_from event_start event_end expires_at
               source_ids
    turns      role speaker message_id observed_at

`at` is `Hit.at`: when a turn was said, since when a memory has been believed. Labels are
typed: a value that a label never has is an error. Times are moments, and a date equals
each moment of it: {"at": "2026-05-08"} is that day. The other names are keys of the
metadata. A label comes before a key of that name; `metadata.role` is always the key `role`.
A memory has no role, whatever its metadata says.

What is almost a label's name is an error that says which one was meant, since a filter on
a key that nobody has leaves nothing, or under `ne` everything.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from operator import attrgetter
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from hmem.errors import InputError, InputTypeError
from hmem.filters.read import Filter, read_filter, unknown_keys
from hmem.filters.tree import Every, Field, Node, Not, Some, Test
from hmem.filters.values import Type
from hmem.protocols import MemoryRow, TurnRow
from hmem.times import from_micros

Row = MemoryRow | TurnRow
METADATA = "metadata"
_PREFIX = f"{METADATA}."
_TEXTS = ("id", "agent_id", "session_id", "role", "speaker", "message_id")
_STAMPS = (
    *("at", "recorded_at", "observed_at", "valid_from"),
    *("event_start", "event_end", "expires_at"),
)
_DOMAINS: Mapping[str, tuple[object, ...]] = {
    "kind": ("memory", "turn"),
    "category": ("semantic", "episodic", "procedural"),
    "verified": (True, False),
    "importance": tuple(range(1, 11)),
}
_NAMED = ("kind", "category")
_TYPES: Mapping[str, Type] = {"verified": "bool", "importance": "number"}
LABELS = frozenset((*_TEXTS, *_STAMPS, *_DOMAINS, "source_ids"))
"""What a row may be asked for besides its metadata."""
_OF_ONE: Mapping[str, frozenset[str]] = {
    "memory": frozenset(
        (
            *("category", "importance", "verified", "source_ids"),
            *("valid_from", "event_start", "event_end", "expires_at"),
        )
    ),
    "turn": frozenset(("role", "speaker", "message_id", "observed_at")),
}
"""The labels that only one kind of row has."""

_MEANT = {
    "agent": "agent_id",
    "session": "session_id",
    "run_id": "session_id",
    "name": "speaker",
    "kinds": "kind",
}
_INSTEAD = {
    "user": f"the user is user_id=; a key of the metadata is '{_PREFIX}user'",
    "user_id": "the user is user_id=",
    **dict.fromkeys(
        ("valid_to", "superseded_by", "closed_recorded_at", "forgotten_at"),
        "what was believed when is as_of= and known_at=",
    ),
    **dict.fromkeys(
        ("hash", "last_accessed", "incarnation"),
        f"there are {', '.join(sorted(LABELS))}",
    ),
}
_NEAR = 0.85
_WORD = re.compile(r"[^a-z0-9]")


@dataclass(frozen=True)
class RowFilter:
    """Which rows to keep. Equal filters are equal; made by `read_row_filter`."""

    filter: Filter

    def fits(self, rows: Sequence[Row]) -> NDArray[np.bool_]:
        """(n,) which rows fit, in order. 1 to 4 microseconds a row and operator."""
        return self.filter.mask(list(_labelled(rows)))

    def lacking(self, rows: Iterable[Row]) -> tuple[str, ...]:
        """The keys it asks for which are no label and which none of the rows has."""
        known = (*LABELS, METADATA)
        return unknown_keys(self.filter, _labelled(rows), known=known)


def read_row_filter(
    value: object, *, zone: ZoneInfo, name: str = "filters"
) -> RowFilter | None:
    """A RowFilter from what the caller gave; None where it leaves nothing out. A Filter of
    `read_filter` is checked for its names and values alone.

    Raises what `read_filter` raises, and InputError for what is almost a label's name, for
    a row's column that is no label, and for a value that the label never has.
    """
    found = read_filter(value, zone=zone, name=name, moments=_STAMPS)
    for field in _fields(found.root):
        _check_name(field.key, name)
        if field.key in LABELS:
            _check_values(field, f"{name}: '{field.key}'")
    if not any(_may_fit(found.root, kind) for kind in _OF_ONE):
        raise InputError(
            f"{name} can fit no row: what it asks of memories no turn has, and the reverse"
        )
    return RowFilter(found) if found else None


class _Labelled(Mapping[str, Any]):
    """A row as a filter sees it: labels by name, the rest is metadata."""

    __slots__ = ("_row",)
    _readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def __init__(self, row: Row) -> None:
        self._row = row

    def get(self, key: str, default: Any = None) -> Any:
        """What the row holds under a name; `default` where that is nothing."""
        reader = self._readers.get(key)
        if reader is not None:
            found = reader(self._row)
        else:
            found = self._row.metadata.get(key)
            if found is None and _inner(key):
                found = self._row.metadata.get(key[len(_PREFIX) :])
        return default if found is None else found

    def __contains__(self, key: object) -> bool:
        metadata = self._row.metadata
        if key in self._readers or key in metadata:
            return True
        return isinstance(key, str) and _inner(key) and key[len(_PREFIX) :] in metadata

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(key)
        return self.get(key)

    def __iter__(self) -> Iterator[str]:
        yield from self._readers
        yield from (key for key in self._row.metadata if key not in self._readers)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _inner(key: str) -> bool:
    return key.startswith(_PREFIX)


def _stamp(name: str) -> Callable[[Any], Any]:
    column = attrgetter(name)

    def read(row: Any) -> Any:
        micros = column(row)
        return None if micros is None else from_micros(micros)

    return read


_Readers = dict[str, Callable[[Any], Any]]
_NOTHING: _Readers = dict.fromkeys(LABELS, lambda _: None)
_OF_BOTH: _Readers = {
    **_NOTHING,
    METADATA: attrgetter("metadata"),
    "recorded_at": _stamp("recorded_at"),
    **{name: attrgetter(name) for name in ("id", "agent_id", "session_id")},
}


class _Memory(_Labelled):
    __slots__ = ()
    _readers: ClassVar[_Readers] = {
        **_OF_BOTH,
        "kind": lambda _: "memory",
        "at": _stamp("valid_from"),
        **{
            name: attrgetter(name)
            for name in ("category", "importance", "verified", "source_ids")
        },
        **{
            name: _stamp(name)
            for name in ("valid_from", "event_start", "event_end", "expires_at")
        },
    }


class _Turn(_Labelled):
    __slots__ = ()
    _readers: ClassVar[_Readers] = {
        **_OF_BOTH,
        "kind": lambda _: "turn",
        "at": _stamp("observed_at"),
        "observed_at": _stamp("observed_at"),
        "role": attrgetter("role"),
        "speaker": attrgetter("name"),
        "message_id": attrgetter("message_id"),
    }


def _labelled(rows: Iterable[Row]) -> Iterator[_Labelled]:
    return (_Turn(r) if r.__class__ is TurnRow else _Memory(r) for r in rows)


# ----------------------------------------------------------------------- checks


def _fields(node: Node) -> Iterator[Field]:
    """All fields of a tree."""
    match node:
        case Field():
            yield node
        case Not():
            yield from _fields(node.part)
        case Every() | Some():
            for part in node.parts:
                yield from _fields(part)


def _check_name(key: str, name: str) -> None:
    """Refuse what is almost a label, and what is no label although rows have it."""
    if key in LABELS or key == METADATA or "." in key:
        return
    asked = f"{name}: '{key}' is no label"
    if key in _INSTEAD:
        raise InputError(f"{asked}: {_INSTEAD[key]}")
    meant = _label_meant(key)
    if meant is not None:
        raise InputError(
            f"{asked}; did you mean '{meant}'? A key of the metadata is '{_PREFIX}{key}'"
        )


def _label_meant(key: str) -> str | None:
    """The label that a key was probably meant to be."""
    lower = key.lower()
    bare = _WORD.sub("", lower)
    for label in sorted(LABELS | _MEANT.keys()):
        near = len(label) > 5 and SequenceMatcher(None, lower, label).ratio() > _NEAR
        if near or bare == _WORD.sub("", label):
            return _MEANT.get(label, label)
    return None


def _check_values(field: Field, where: str) -> None:
    """Refuse values that the label never has."""
    for test in field.tests:
        if test.op != "exists":
            _check_test(field.key, test, where)
    values = _DOMAINS.get(field.key)
    if values is not None:
        fits = field.check()
        if field.key != "kind":  # every row has one
            values = (*values, None)
        if not any(fits({field.key: value}) for value in values):
            raise InputError(f"{where} can fit no row")


def _may_fit(root: Node, kind: str) -> bool:
    """Whether a row of this kind may fit, by the labels that it has. What stands under OR
    and NOT is not looked at."""
    others = set().union(*(of for name, of in _OF_ONE.items() if name != kind))
    for field in _needed(root):
        held = {"kind": kind}.get(field.key)
        if (held or field.key in others) and not field.check()({field.key: held}):
            return False
    return True


def _needed(node: Node) -> Iterator[Field]:
    """The fields that every row must fit."""
    if isinstance(node, Field):
        yield node
    elif isinstance(node, Every):
        for part in node.parts:
            yield from _needed(part)


def _check_test(label: str, test: Test, where: str) -> None:
    given = [operand for operand in test.operands if operand.type != "null"]
    if label in _STAMPS:
        if test.op in ("contains", "icontains"):
            raise InputTypeError(f"{where} is a time and contains nothing")
        if any(operand.period is None for operand in given):
            raise InputTypeError(f"{where} takes times: ISO 8601, datetimes or dates")
        return
    wanted = _TYPES.get(label, "text")
    if any(operand.type != wanted for operand in given):
        raise InputTypeError(f"{where} takes {wanted}")
    if label in _NAMED and test.op in ("eq", "ne", "in", "nin"):
        values = _DOMAINS[label]
        if any(operand.value not in values for operand in given):
            raise InputError(f"{where} must be among {', '.join(map(str, values))}")
