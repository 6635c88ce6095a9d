"""The names that Python's own errors call a verb by."""

import inspect
from typing import TypeVar

Face = TypeVar("Face", bound=type)


def face(cls: Face) -> Face:
    """A class decorator: the public methods that a class inherits are called its own, so
    that "AsyncMemory.search() got an unexpected keyword argument" names what callers
    know. For bases that have no other heir."""
    for base in cls.__mro__[1:-1]:
        for name, value in vars(base).items():
            if inspect.isfunction(value) and not name.startswith("_"):
                value.__qualname__ = f"{cls.__qualname__}.{name}"
    return cls
