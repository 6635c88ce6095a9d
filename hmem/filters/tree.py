"""The tree that a filter is, and what fits it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from hmem.filters.values import Operand

Row = Mapping[str, Any]
Check = Callable[[Row], bool]
ORDERED = ("gt", "gte", "lt", "lte")
_WHOLE = frozenset({"ne", "nin", "contains", "icontains", "exists"})
"""Operators that ask about a value as it is; the others about one element of a list."""
_SCALARS = frozenset({str, int, float, bool, type(None), datetime})


def found(row: Row, key: str) -> Any:
    """What a row holds under a key, or under a path through its objects; None if nothing."""
    if key in row or "." not in key:
        return row.get(key)
    inner: Any = row
    for name in key.split("."):
        if not isinstance(inner, Mapping):
            return None
        inner = inner.get(name)
    return inner


@dataclass(frozen=True, slots=True)
class Test:
    """One operator and what it compares with."""

    op: str
    operands: tuple[Operand, ...]

    def check(self) -> Callable[[object], bool]:
        """Whether a value, of a row or one element of its list, passes."""
        first = self.operands[0]
        match self.op:
            case "exists":
                return lambda value: (value is not None) == first.value
            case "eq" if first.type == "text" and first.period is None:
                return lambda value: value.__class__ is str and value == first.value
            case "eq":
                return first.equals
            case "in":
                return self._listed
            case "ne" | "nin":
                return lambda value: not any(map(self._listed, _elements(value)))
            case "contains":
                return self._contained
            case "icontains":
                return self._contained_in_any_case
            case _:
                return partial(first.orders, self.op)

    def _listed(self, value: object) -> bool:
        return any(operand.equals(value) for operand in self.operands)

    def _contained(self, value: object) -> bool:
        operand = self.operands[0]
        if isinstance(value, str):
            return operand.type == "text" and str(operand.value) in value
        return _is_list(value) and any(map(operand.equals, _elements(value)))

    def _contained_in_any_case(self, value: object) -> bool:
        part = str(self.operands[0].value).casefold()
        if isinstance(value, str):
            return part in value.casefold()
        texts = (e for e in _elements(value) if isinstance(e, str))
        return any(text.casefold() == part for text in texts)


@dataclass(frozen=True, slots=True)
class Field:
    """All operators of one key."""

    key: str
    tests: tuple[Test, ...]

    def check(self) -> Check:
        """Whether a row passes every test, of a list with one and the same element."""
        key, plain = self.key, "." not in self.key
        whole = [test.check() for test in self.tests if test.op in _WHOLE]
        single = [test.check() for test in self.tests if test.op not in _WHOLE]

        def fits(row: Row) -> bool:
            value = row.get(key) if plain else found(row, key)
            for test in whole:
                if not test(value):
                    return False
            if value.__class__ in _SCALARS:
                return all(test(value) for test in single)
            return not single or any(
                all(test(e) for test in single) for e in _elements(value)
            )

        return fits

    def keys(self) -> Iterator[str]:
        """Its key."""
        yield self.key

    def impossible(self, *, moments: bool = False) -> str | None:
        """Why no row can fit, None if one may. `moments`: what rows hold under the key are
        datetimes, of which one falls into a date without being equal to it."""
        tests = {test.op: test for test in self.tests}
        exists = tests.get("exists")
        if exists is not None and not exists.operands[0].value and len(tests) > 1:
            return "what does not exist cannot be compared"
        if not moments:
            return _empty_order(tests) or _no_value_left(tests)
        same = tests.get("eq")
        if same is not None:  # it begins and ends with its date
            for op in ("gte", "lte"):
                why = _empty_order({**tests, op: Test(op, same.operands)})
                if why is not None:
                    return why
        return _empty_order(tests)


def _no_value_left(tests: Mapping[str, Test]) -> str | None:
    """Why none of the values that `eq` and `in` name passes the other tests."""
    for name in ("eq", "in"):
        if name not in tests:
            continue
        # Of a list one element may be equal and another contained.
        others = [
            test.check()
            for op, test in tests.items()
            if op not in (name, "contains", "icontains")
        ]
        values = [operand.value for operand in tests[name].operands]
        if not any(all(test(value) for test in others) for value in values):
            return f"no value of {name} passes the other operators"
    return None


def _empty_order(tests: Mapping[str, Test]) -> str | None:
    """Why nothing lies between the bounds."""
    bounds = {op: tests[op].operands[0] for op in ORDERED if op in tests}
    kinds = {"number" if b.type == "number" else "text" for b in bounds.values()}
    if len(kinds) > 1:
        return "its bounds are of different types"
    lows = [(op, b) for op, b in bounds.items() if op in ("gt", "gte")]
    highs = [(op, b) for op, b in bounds.items() if op in ("lt", "lte")]
    if any(_crossed(low, high) for low in lows for high in highs):
        return "nothing lies between its bounds"
    return None


def _crossed(low: tuple[str, Operand], high: tuple[str, Operand]) -> bool:
    (low_op, first), (high_op, last) = low, high
    if first.period is not None and last.period is not None:
        begin = first.period[0 if low_op == "gte" else 1]
        end = last.period[1 if high_op == "lte" else 0]
        return begin >= end
    both: list[Any] = [first.value, last.value]
    if (low_op, high_op) == ("gte", "lte"):
        return bool(both[0] > both[1])
    return bool(both[0] >= both[1])


@dataclass(frozen=True, slots=True)
class Every:
    """All of its parts; with none of them everything fits."""

    parts: tuple["Node", ...]

    def check(self) -> Check:
        """Whether a row fits all parts."""
        checks = [part.check() for part in self.parts]
        return lambda row: all(check(row) for check in checks)

    def keys(self) -> Iterator[str]:
        """The keys of its parts."""
        for part in self.parts:
            yield from part.keys()


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of its parts."""

    parts: tuple["Node", ...]

    def check(self) -> Check:
        """Whether a row fits a part."""
        checks = [part.check() for part in self.parts]
        return lambda row: any(check(row) for check in checks)

    def keys(self) -> Iterator[str]:
        """The keys of its parts."""
        for part in self.parts:
            yield from part.keys()


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of its part."""

    part: "Node"

    def check(self) -> Check:
        """Whether a row does not fit the part."""
        check = self.part.check()
        return lambda row: not check(row)

    def keys(self) -> Iterator[str]:
        """The keys of its part."""
        yield from self.part.keys()


Node = Field | Every | Some | Not


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | frozenset | set) and not isinstance(value, str)


def _elements(value: Any) -> tuple[object, ...]:
    """The elements of a list, else the value alone."""
    return tuple(value) if _is_list(value) else (value,)
