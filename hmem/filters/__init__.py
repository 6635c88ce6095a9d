"""A small typed language for filters over labels and metadata.

    {"city": "Ghent"}                                     equal
    {"age": {"gte": 30, "lt": 40}, "city": "Ghent"}       all of it
    {"OR": [{"city": "Ghent"}, {"tags": {"contains": "work"}}], "NOT": {"draft": True}}

Operators: eq ne in nin gt gte lt lte contains icontains exists. A bare value is `eq`, a
bare list `in`. AND and OR take a list of filters, NOT one filter or a list of which none
may hold. What stands beside each other must all hold. `a.b` is `b` in the object `a`,
where no key is called `a.b`.

- A key that a row lacks and one that is null are the same: `exists` is false, `eq` null
  holds, `ne` and `nin` hold, nothing else does. NOT turns the answer around, so a row
  without an age fits NOT {"age": {"gt": 3}}.
- Types are strict: True is no 1, "30" is no number, 1 is 1.0. Values of different types
  are unequal and in no order.
- Of a list in a row one element has to fit all operators of a key; `ne` and `nin` hold
  when no element is equal. `contains` asks for an element of a list or a part of a text,
  `icontains` the same whatever the case. Objects are equal to nothing.
- ISO dates compare as times when both sides are dates. A day, month or year is all of it:
  `lte` "2026-05-08" holds for any time of that day, `gt` for none. What carries no offset
  is read in `zone`. A datetime or date of Python's is taken like its ISO form.

A filter that no row can fit ({"gt": 5, "lt": 3}) is an error. One on a key that no row of
the user has is none, since what is stored may still come, but it must not go unnoticed:
see `unknown_keys`. `hmem.filters.rows` filters stored rows: which labels they have.
"""

from hmem.filters.read import (
    MAX_DEPTH,
    MAX_PARTS,
    MAX_VALUES,
    OPERATORS,
    Filter,
    read_filter,
    unknown_keys,
)

__all__ = [
    "MAX_DEPTH",
    "MAX_PARTS",
    "MAX_VALUES",
    "OPERATORS",
    "Filter",
    "read_filter",
    "unknown_keys",
]
