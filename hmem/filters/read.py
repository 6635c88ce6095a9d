"""A mapping as the caller gives it -> a Filter."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from hmem.errors import InputError, InputTypeError
from hmem.filters.tree import ORDERED, Check, Every, Field, Node, Not, Some, Test, found
from hmem.filters.values import Operand, Type, operand

OPERATORS = (
    *("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte"),
    *("contains", "icontains", "exists"),
)
MAX_DEPTH = 16
"""How deep AND, OR and NOT may be nested."""
MAX_PARTS = 500
"""How many operators a filter may hold."""
MAX_VALUES = 1_000
"""How many values `in` and `nin` may list."""
MAX_KEY = 512
_UTC = ZoneInfo("UTC")
_PLAIN_KEY = re.compile(r"[\w.\-]{1,64}")


@dataclass(frozen=True)
class Filter:
    """Which rows to keep. Equal filters are equal; made by `read_filter`."""

    root: Node

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether one row fits. Never raises for what a row holds."""
        return self._check(row)

    def mask(self, rows: Sequence[Mapping[str, Any]]) -> NDArray[np.bool_]:
        """(n,) which rows fit, in order."""
        return np.fromiter(map(self._check, rows), np.bool_, count=len(rows))

    @cached_property
    def _check(self) -> Check:
        return self.root.check()

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys it asks for."""
        return frozenset(self.root.keys())

    def __bool__(self) -> bool:
        """Whether it leaves anything out at all."""
        return self.root != Every(())


def read_filter(
    value: object,
    *,
    zone: ZoneInfo = _UTC,
    name: str = "filters",
    moments: Collection[str] = (),
) -> Filter:
    """A Filter from what the caller gave; None and {} keep everything.

    `zone` reads dates without an offset. Under the keys `moments` rows hold datetimes. Raises InputError and InputTypeError, which name
    the key: for unknown operators, wrong types, filters that no row can fit, and ones
    that are nested too deep or too large.
    """
    if isinstance(value, Filter):
        return value
    if value is None:
        return Filter(Every(()))
    return Filter(_Reader(zone, name, moments).mapping(value, depth=0))


def unknown_keys(
    keep: Filter,
    rows: Iterable[Mapping[str, Any]],
    *,
    known: Collection[str] = (),
) -> tuple[str, ...]:
    """The keys a filter asks for which none of a user's rows has, sorted.

    `known` are labels that count as there though no row may have one. The caller reports
    them: a misspelt key would else pass for "nothing found", or under `ne` and NOT for
    "everything".
    """
    left = set(keep.keys).difference(known)
    for row in rows:
        if not left:
            break
        left = {key for key in left if found(row, key) is None}
    return tuple(sorted(left))


class _Reader:
    """One reading: what is left to spend, and how errors speak of it."""

    def __init__(self, zone: ZoneInfo, name: str, moments: Collection[str]) -> None:
        self._zone = zone
        self._moments = moments
        self._name = name
        self._left = MAX_PARTS

    def mapping(self, value: object, *, depth: int) -> Node:
        """All parts of a mapping."""
        if not isinstance(value, Mapping):
            raise InputTypeError(
                f"{self._name} must be a mapping, not {type(value).__name__}"
            )
        if depth > MAX_DEPTH:
            raise InputError(f"{self._name} is nested deeper than {MAX_DEPTH}")
        parts = [self._part(key, inner, depth) for key, inner in value.items()]
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _part(self, key: object, value: object, depth: int) -> Node:
        if not isinstance(key, str):
            raise InputTypeError(f"{self._name} has a key that is not a str")
        self._spend()
        if key in ("AND", "OR"):
            parts = tuple(self._list(key, value, depth))
            return Every(parts) if key == "AND" else Some(parts)
        if key == "NOT":
            if isinstance(value, Mapping):
                return Not(self._inner(value, key, depth))
            return Not(Some(tuple(self._list(key, value, depth))))
        self._check_key(key, value)
        return self._field(key, value)

    def _check_key(self, key: str, value: object) -> None:
        if not key or len(key) > MAX_KEY:
            raise InputError(f"{self._name} has a key that is empty or over {MAX_KEY}")
        bare = key.lstrip("$").upper()
        nested = isinstance(value, (list, tuple)) and any(
            isinstance(part, Mapping) for part in value
        )
        if bare in ("AND", "OR", "NOT") and (key[0] == "$" or nested):
            raise InputError(f"{self._name}: write {bare}, not {self._shown(key)}")
        if key[0] == "$":
            raise InputError(f"{self._name}: {self._shown(key)} is no key")

    def _list(self, key: str, value: object, depth: int) -> Iterable[Node]:
        if not isinstance(value, (list, tuple)):
            raise InputTypeError(f"{self._name}: {key} takes a list of filters")
        if not value:
            raise InputError(f"{self._name}: {key} must not be empty")
        return [self._inner(part, key, depth) for part in value]

    def _inner(self, value: object, key: str, depth: int) -> Node:
        if isinstance(value, Mapping) and not value:
            raise InputError(f"{self._name}: {key} holds an empty filter")
        return self.mapping(value, depth=depth + 1)

    def _field(self, key: str, value: object) -> Field:
        where = f"{self._name}: {self._shown(key)}"
        if isinstance(value, Mapping):
            given: Mapping[Any, object] = value
        else:
            given = {"in" if isinstance(value, (list, tuple)) else "eq": value}
            if isinstance(value, str) and value == "*":
                raise InputError(
                    f"{where}: '*' is no wildcard; write {{'exists': True}}, "
                    "or {'eq': '*'} for the text"
                )
        if not given:
            raise InputError(f"{where} has no operator")
        tests = tuple(self._test(op, inner, where) for op, inner in given.items())
        field = Field(key, tests)
        why = field.impossible(moments=key in self._moments)
        if why is not None:
            raise InputError(f"{where} can fit no row: {why}")
        return field

    def _test(self, op: object, value: object, where: str) -> Test:
        if not isinstance(op, str) or op not in OPERATORS:
            raise InputError(f"{where}: unknown operator{_meant(op)}")
        self._spend()
        return Test(op, _operands(op, value, f"{where}.{op}", self._zone))

    def _shown(self, key: str) -> str:
        """A key as an error may show it."""
        return f"'{key}'" if _PLAIN_KEY.fullmatch(key.lstrip("$")) else "a key"

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise InputError(f"{self._name} has more than {MAX_PARTS} parts")


def _meant(op: object) -> str:
    """A hint for an operator that there is not, which may be a text of the user's."""
    if not isinstance(op, str):
        return ", which is not a str"
    near = get_close_matches(op.lstrip("$").lower(), OPERATORS, 1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there are {', '.join(OPERATORS)}. For an object's inside write 'a.b'"


def _operands(
    op: str, value: object, where: str, zone: ZoneInfo
) -> tuple[Operand, ...]:
    """What an operator compares with, of the types that it can compare."""
    if op in ("in", "nin"):
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise InputTypeError(f"{where} takes a list, not {type(value).__name__}")
        if not 1 <= len(value) <= MAX_VALUES:
            raise InputError(f"{where} takes 1 to {MAX_VALUES} values")
        if isinstance(value, (set, frozenset)):
            value = sorted(
                value, key=repr
            )  # a set's own order differs between processes
        return tuple(operand(inner, zone, where) for inner in value)
    made = operand(value, zone, where)
    allowed = _ALLOWED.get(op)
    if allowed is not None and made.type not in allowed:
        raise InputTypeError(f"{where} takes {' or '.join(allowed)}, not {made.type}")
    return (made,)


_ALLOWED: dict[str, tuple[Type, ...]] = {
    **dict.fromkeys(ORDERED, ("number", "text", "date")),
    "contains": ("text", "number", "bool"),
    "icontains": ("text",),
    "exists": ("bool",),
}
